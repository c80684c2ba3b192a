"""The child processes of the out-of-core experiment.

python -m benchmarks.experiments.out_of_core_child write mapped|parquet|dask FOLDER NxP
python -m benchmarks.experiments.out_of_core_child fit mapped|parquet|dask FOLDER M SEED LIMIT
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from benchmarks.methods.base import timed
from benchmarks.problems import parse_size

CHUNK = 1_000_000
ROW_GROUP, BATCH = 250_000, 50_000
CLIENT_BYTES = 400_000_000
GROUPS = Path("/sys/fs/cgroup/memory")
SAMPLING_SECONDS = 0.05


def write(kind: str, folder: str, size: str) -> None:
    """Write X and y a part at a time, and leave them on disk alone.

    Pages that stayed in the cache would be this process's: no limit of another that reads them counts them.
    """
    writer = write_mapped if kind == "mapped" else write_parquet
    writer(Path(folder), *parse_size(size))
    for path in Path(folder).iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def parts(n: int, p: int, chunk: int) -> Iterator[tuple[Any, Any]]:
    """Yield rows in float32: y is a sum of cosines and noise."""
    rng = np.random.default_rng(0)
    for i in range(0, n, chunk):
        X = rng.standard_normal((min(chunk, n - i), p), dtype=np.float32)
        yield X, (np.cos(X).mean(axis=1) + 0.05 * rng.standard_normal(len(X))).astype(np.float32)


def write_mapped(folder: Path, n: int, p: int) -> None:
    """Write both as arrays."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, p))
    y = np.empty(n, np.float32)
    for number, part in enumerate(parts(n, p, CHUNK)):
        rows = slice(number * CHUNK, (number + 1) * CHUNK)
        X[rows], y[rows] = part
    X.flush()
    np.save(folder / "y.npy", y)


def write_parquet(folder: Path, n: int, p: int) -> None:
    """Write both as one table of many row groups, X with two decimals, as measured numbers have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.float32()) for name in (*(f"x{k}" for k in range(p)), "y")])
    with pq.ParquetWriter(folder / "rows.parquet", schema) as file:
        for X, y in parts(n, p, ROW_GROUP):
            file.write_table(pa.table([*X.round(2).T, y], schema=schema))


def map_parquet(folder: Path) -> None:
    """Turn the table into arrays, batch by batch, in memory for one of them."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(folder / "rows.parquet")
    n, names = file.metadata.num_rows, file.schema_arrow.names[:-1]
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, len(names)))
    y, start = np.empty(n, np.float32), 0
    for batch in file.iter_batches(BATCH):
        rows = slice(start, start + batch.num_rows)
        X[rows], y[rows] = np.column_stack([batch[name] for name in names]), batch["y"]
        start = rows.stop
    X.flush()
    np.save(folder / "y.npy", y)


def fit_mapped(model: Any, folder: Path, limit: int) -> None:
    """Fit rows of a memory-mapped array."""
    model.fit(np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy"))


def fit_dask(model: Any, folder: Path, limit: int) -> None:
    """Fit rows of a Parquet file on a worker of Dask's, which shares the limit with this process."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    options |= {"memory_limit": limit - CLIENT_BYTES, "local_directory": folder}
    with LocalCluster(**options, silence_logs=logging.ERROR) as cluster, Client(cluster):
        rows = dd.read_parquet(folder / "rows.parquet", split_row_groups=1)
        model.fit(rows.drop(columns="y"), rows["y"])


def fit(kind: str, folder: str, m: str, seed: str, limit: str) -> None:
    """Fit the file under the limit, and print what it took."""
    from gbmap import GBMAPRegressor

    model, mapping = GBMAPRegressor(int(m), knots=0, random_state=int(seed)), 0.0
    with held_to(int(limit)) as held, watched_memory() as memory:
        if kind == "parquet":
            mapping, _ = timed(lambda: map_parquet(Path(folder)))
        fitted = fit_dask if kind == "dask" else fit_mapped
        seconds, _ = timed(lambda: fitted(model, Path(folder), int(limit)))
    found = {
        "seconds": mapping + seconds,
        "mapping_seconds": mapping,
        "loss": float(model.loss_curve_[-1]),
        "passes": sum(record.n_evaluations for record in model.history_),
        "limit_bytes": int(limit),
        **held,
        **memory,
    }
    print(json.dumps(found))


@contextmanager
def held_to(limit: int) -> Iterator[dict[str, Any]]:
    """Hold this process to so many bytes, and tell of what; it is killed, or memory refused, beyond them.

    In the end there is the peak too, where it is counted.
    """
    group, process = GROUPS / f"gbmap-{os.getpid()}", str(os.getpid())
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit))
        (group / "cgroup.procs").write_text(process)
    except OSError:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        yield {"limit": "its own data"}
        return
    held: dict[str, Any] = {"limit": "its own data and cached pages of files"}
    yield held
    held["peak_bytes"] = int((group / "memory.max_usage_in_bytes").read_text())
    for each in (group / "cgroup.procs").read_text().split():  # this process, and what it has started
        (GROUPS / "cgroup.procs").write_text(each)
    group.rmdir()


@contextmanager
def watched_memory() -> Iterator[dict[str, int]]:
    """Tell in the end how many anonymous bytes there were at most, where the system counts them."""
    found: dict[str, int] = {}
    ended = Event()

    def watch() -> None:
        largest = anonymous_bytes(os.getpid())
        while not ended.wait(SAMPLING_SECONDS):
            largest = max(largest, anonymous_bytes(os.getpid()))
        if largest:
            found["anonymous_bytes"] = largest

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()


def anonymous_bytes(process: int) -> int:
    """Memory of a process and of those that it started, without pages of files."""
    folder = Path("/proc", str(process))
    lines = dict(line.split(":", 1) for line in _text(folder / "status").splitlines())
    own = 1024 * int(lines.get("RssAnon", "0 kB").split()[0])
    children = " ".join(_text(path) for path in folder.glob("task/*/children"))
    return own + sum(anonymous_bytes(int(child)) for child in children.split())


def _text(path: Path) -> str:
    """What is in a file of /proc; nothing if its process or thread has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    {"write": write, "fit": fit}[sys.argv[1]](*sys.argv[2:])
