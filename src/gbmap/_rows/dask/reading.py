"""From the user's Dask collections to parts of rows: read, check, cut."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_array

from gbmap._rows.dask.parts import Place, collect, keep, on_disk_if_tight, plan
from gbmap._utils.typing import Array


def is_collection(X: Any) -> bool:
    """Return whether this is a collection of Dask's."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_array(collection: Any) -> bool:
    """Return whether this is a Dask array, not a frame or a series."""
    return hasattr(type(collection), "rechunk")


class DaskChunks:
    """The rows of a Dask collection in chunks of their own lengths, which are computed if need be.

    Parameters
    ----------
    collection : dask array, frame or series
    name : str
        What errors call it.
    check : callable
        Turns a chunk into an array, or refuses it; called where the chunk is.
    """

    def __init__(self, collection: Any, name: str, check: Callable[[Any], Array]):
        if is_array(collection) and collection.ndim == 2:
            collection = collection.rechunk({1: -1})
        delayed = collection.to_delayed()
        delayed = list(delayed.ravel()) if is_array(collection) else list(delayed)
        places = [Place(f"partition {number} of {name}") for number in range(len(delayed))]
        self.name, self.chunks = name, plan(check, places, [delayed])
        known = is_array(collection) and not np.isnan(collection.chunks[0]).any()
        if known:
            self.lengths = [int(length) for length in collection.chunks[0]]

    @cached_property
    def lengths(self) -> list[int]:
        """The number of rows of each chunk."""
        places = [Place()] * len(self.chunks)
        self.chunks = keep(plan(on_disk_if_tight, places, [self.chunks]))  # so that they are read once
        return collect(plan(len, places, [self.chunks]))

    @property
    def n_rows(self) -> int:
        """The number of all rows."""
        return sum(self.lengths)


def read_rows(chunk: Any, dtype: np.dtype[Any], encode: Callable[[Any], Array] | None = None) -> Array:
    """Return a chunk of X as an array in C order, and refuse infinity; `encode` makes numbers of a frame."""
    names = list(getattr(chunk, "columns", []))
    chunk = chunk if encode is None else encode(chunk)
    X: Array = check_array(
        chunk, dtype=dtype, order="C", ensure_min_samples=0, ensure_all_finite=False, input_name="X"
    )
    with np.errstate(all="ignore"):
        finite = np.isfinite(X.sum()) or not np.isinf(X).any()
    if not finite:
        row, k = (int(each) for each in np.argwhere(np.isinf(X))[0])
        raise ValueError(
            f"X must be finite or NaN, but row {row} of this partition holds {X[row, k]} in column "
            f"{names[k] if names else k!r}; replace it, or drop such rows."
        )
    return X


def split(values: Array, bounds: tuple[int, ...]) -> list[Array]:
    """Return the parts of an array in memory."""
    return [values[i:j] for i, j in itertools.pairwise(bounds)]


def cut(chunks: list[Any], lengths: list[int], bounds: tuple[int, ...]) -> list[Any]:
    """Return chunks of rows cut anew at other bounds; those that lie between two of them stay as they are."""
    ends = np.cumsum(lengths)
    parts = []
    for i, j in itertools.pairwise(bounds):
        pieces = []
        for c in range(int(np.searchsorted(ends, i, side="right")), len(chunks)):
            start = int(ends[c]) - lengths[c]
            if start >= j:
                break
            if lengths[c]:
                pieces.append((chunks[c], max(i - start, 0), min(j - start, lengths[c]), lengths[c]))
        parts.append(_join([_piece(*piece) for piece in pieces], Place("rows", i, j)))
    return parts


def _piece(chunk: Any, i: int, j: int, length: int) -> Any:
    whole = (i, j) == (0, length)
    return chunk if whole else plan(_some, [Place("rows", i, j)], [[chunk]], i, j)[0]


def _join(pieces: list[Any], place: Place) -> Any:
    return pieces[0] if len(pieces) == 1 else plan(_together, [place], [[piece] for piece in pieces])[0]


def _some(chunk: Array, i: int, j: int) -> Array:
    return chunk[i:j].copy()  # a view would keep all of the chunk


def _together(*pieces: Array) -> Array:
    return np.concatenate(pieces)


def as_column(
    values: Any, name: str, check: Callable[[Any], Array], X: DaskChunks, bounds: tuple[int, ...]
) -> list[Any]:
    """Return a collection or an array with as many rows as X, such as y, in parts."""
    if not is_collection(values):
        values = np.asarray(values)
        _check_rows(name, len(values), X.n_rows)
        places = [Place(name, i, j) for i, j in itertools.pairwise(bounds)]
        return plan(check, places, [split(values, bounds)])
    column = DaskChunks(values, name, check)
    _check_rows(name, column.n_rows, X.n_rows)
    return cut(column.chunks, column.lengths, bounds)


def _check_rows(name: str, n_rows: int, expected: int) -> None:
    if n_rows != expected:
        raise ValueError(f"{name} must have as many rows as X, {expected}, got {n_rows}.")
