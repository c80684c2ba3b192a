"""Parts of rows that live with Dask, and what can be asked of all of them at once.

A column (X, y, F, weights) is a list of delayed objects, one for each part. `keep` lets the results stay
where they were computed, `collect` brings them here. Dask remembers how each part came about, and computes it
anew if the worker that had it is lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from tempfile import TemporaryFile
from typing import Any
from uuid import uuid4
from weakref import finalize, ref

import numpy as np

from gbmap._rows.blocks import layout_of
from gbmap._rows.dask.cluster import current_client, current_worker, fits_memory, part_bytes, slots
from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.typing import Array

Column = list[Any] | None


@dataclass(frozen=True)
class Place:
    """Where a part lies among the rows."""

    what: str = "rows"
    start: int = 0
    stop: int = 0
    block_rows: int = 1
    n_threads: int = 1
    n_all_rows: int | None = None

    def __str__(self) -> str:
        return f"{self.what} (rows {self.start} to {self.stop - 1})" if self.stop else self.what


@dataclass(frozen=True)
class Layout:
    """How rows are cut into parts, and these into blocks.

    Attributes
    ----------
    bounds : tuple of int
        The first row of each part, and the number of all rows.
    block_rows : tuple of int
        The rows of a block, part by part.
    recut : bool
        Whether the parts are whole numbers of the blocks that rows in memory have, so that sums over blocks
        have the same bits; else they are the chunks as they came.
    n_threads : int
        The threads that work on one part.
    """

    bounds: tuple[int, ...]
    block_rows: tuple[int, ...]
    recut: bool
    n_threads: int

    @classmethod
    def of(cls, lengths: list[int], n_columns: int, dtype: np.dtype[Any], *, recut: bool) -> Layout:
        """Return the layout for chunks of such lengths: one part for each worker, unless that is too large.

        A task costs the scheduler about a millisecond, so that few parts with many threads each are best. A
        worker that cannot hold its share of the rows needs parts small enough to come and go (`OnDisk`).
        """
        n_workers, n_threads = slots()
        if recut:
            n_rows = sum(lengths)
            rows = layout_of(n_rows, n_columns, dtype)
            n_blocks, most = -(-n_rows // rows), part_bytes() // (rows * n_columns * dtype.itemsize)
            length = rows * max(1, min(-(-n_blocks // n_workers), most))
            bounds = [*range(0, n_rows, length), n_rows]
            block_rows = [rows] * (len(bounds) - 1)
        else:
            lengths = [length for length in lengths if length]
            bounds = np.cumsum([0, *lengths]).tolist()
            block_rows = [layout_of(length, n_columns, dtype) for length in lengths]
        return cls(tuple(bounds), tuple(block_rows), recut, max(1, n_threads // len(block_rows)))

    @property
    def lengths(self) -> list[int]:
        """The rows of each part."""
        return [j - i for i, j in pairwise(self.bounds)]

    def places(self) -> list[Place]:
        """Return where each part lies."""
        spans, n_parts = pairwise(self.bounds), len(self.bounds) - 1
        return [
            Place(f"partition {number} of {n_parts}", i, j, rows, self.n_threads, self.bounds[-1])
            for number, ((i, j), rows) in enumerate(zip(spans, self.block_rows))
        ]


class OnDisk:
    """A part in a file of its worker instead of its memory; the file has no name, and goes with this object.

    Dask would put parts on disk by itself, and write them anew at every round. Tasks get the part as an array
    that is mapped while they run: pages that stay mapped would count as the worker's memory.
    """

    def __init__(self, part: Array):
        self.dtype, self.shape = part.dtype, part.shape
        folder = getattr(
            current_worker(), "local_directory", None
        )  # where Dask puts what has no room in memory
        self.file = TemporaryFile(dir=folder)  # noqa: SIM115, closed by the next line
        finalize(self, self.file.close)
        np.asarray(part).tofile(self.file)
        self.file.flush()

    def array(self) -> Array:
        """Return the part, mapped."""
        return np.memmap(self.file, self.dtype, "r", shape=self.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return OnDisk, (np.asarray(self.array()),)


def on_disk_if_tight(part: Array) -> Array | OnDisk:
    """Return a part as it is, or in a file if its worker's memory is half full and it is made of numbers."""
    worker = current_worker()
    limit = worker and worker.memory_manager.memory_limit
    if not limit or part.size == 0 or part.dtype.hasobject:
        return part
    return OnDisk(part) if worker.monitor.get_process_memory() > limit / 2 else part


class _Call:
    """A function with its arguments, which Dask takes as one thing and does not look into."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]):
        self.function, self.args = function, args

    def __call__(self, place: Place, *data: Any) -> Any:
        data = tuple(each.array() if isinstance(each, OnDisk) else each for each in data)
        try:
            with single_threaded_blas(), np.errstate(all="ignore"):
                return self.function(*data, *self.args)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        except Exception as error:
            raise RuntimeError(f"{place}: {type(error).__name__}: {error}") from error


def plan(
    function: Callable[..., Any], places: Sequence[Place], columns: Sequence[Column], *args: Any
) -> list[Any]:
    """Return ``function(part of each column, *args)`` of each part, to be computed; errors tell its place."""
    from dask.delayed import delayed

    run = delayed(_Call(function, args), pure=False, traverse=False)
    name = f"gbmap-{getattr(function, 'func', function).__name__.strip('_')}-{uuid4().hex}"
    data = zip(*([None] * len(places) if column is None else column for column in columns), strict=True)
    return [
        run(place, *parts, dask_key_name=f"{name}-{number}")
        for number, (place, parts) in enumerate(zip(places, data, strict=True))
    ]


# The futures of what has been kept in the fit that is going on.
_kept: ContextVar[list[ref[Any]] | None] = ContextVar("kept", default=None)


@contextmanager
def one_fit() -> Iterator[None]:
    """Let a cluster drop at the end all that was kept, which the traceback of an error still refers to."""
    kept: list[ref[Any]] = []
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)
        for future in (weak() for weak in kept):
            if future is not None:
                future.release()


def keep(planned: list[Any]) -> list[Any]:
    """Start to compute, and leave the results where they are."""
    from dask.base import persist

    kept = list(persist(*planned))  # type: ignore[no-untyped-call]
    registered, distributed = _kept.get(), sys.modules.get("distributed")
    if registered is not None and distributed is not None:
        registered.extend(map(ref, distributed.futures_of(kept)))
    return kept


def keep_rows(parts: list[Any], n_bytes: int) -> list[Any]:
    """Keep parts of X, so many bytes in all, in files if the workers' memory is too small for them."""
    if not fits_memory(n_bytes):
        parts = plan(OnDisk, [Place()] * len(parts), [parts])
    return keep(parts)


def collect(planned: list[Any]) -> list[Any]:
    """Compute, and return the results."""
    from dask.base import compute

    return list(compute(*planned, optimize_graph=False))  # type: ignore[no-untyped-call]


def spread(column: list[Any]) -> list[Any]:
    """Return a kept column with its parts shared out evenly over the workers; few of them have to move.

    Dask puts a part where most of its rows are, so that one worker may get two parts and another none.
    """
    from dask.base import annotate

    client, column = current_client(), list(column)
    if client is None:
        return column
    futures = sys.modules["distributed"].futures_of(column)
    sys.modules["distributed"].wait(futures)
    homes, load = client.who_has(futures), dict.fromkeys(client.nthreads(), 0)
    fair, surplus = -(-len(column) // len(load)), []
    for number, part in enumerate(column):
        home = next(iter(homes.get(part.key, ())), None)
        if home in load and load[home] < fair:
            load[home] += 1
        else:
            surplus.append(number)
    for number in surplus:
        target = min(load, key=lambda worker: load[worker])
        load[target] += 1
        with annotate(workers=[target], allow_other_workers=True):
            column[number] = plan(_moved, [Place()], [[column[number]]])[0]
    return keep(column)


def _moved(part: Any) -> Any:
    return OnDisk(part) if isinstance(part, np.memmap) else part
