"""One pass over the data, for loss and gradient, against merely reading X with as many threads.

Reading is done in three simple ways, each thread over its own contiguous range of rows; the report compares
with the fastest. "read-sum" adds up the range in one call. "read-dot" multiplies pieces that fit the cache
with a vector of ones by BLAS. "read-matvec" is X times a vector of ones, which also writes one number per
row. BLAS has one thread throughout, since the threads are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.data import Data, Task
from benchmarks.environment import usable_cores
from benchmarks.internals import Loss, one_pass
from benchmarks.methods.base import Result
from benchmarks.problems import Size, synth_cos
from benchmarks.records import Table
from benchmarks.runner import Settings, base_row, measured, progress
from benchmarks.timing import alternating_medians

Call = Callable[[], object]
Reader = Callable[[NDArray[Any]], Call]

PASS = "pass"
SIZES: tuple[Size, ...] = ((1_000_000, 25), (100_000, 800))
TASKS: dict[Task, Loss] = {"regression": "squared_error", "classification": "log_loss"}
ROUNDS = 100

# A quarter of a megabyte of float32: far larger than the cost of a call, and within the second-level cache.
PIECE = 1 << 16


def run(settings: Settings) -> None:
    """Measure both losses at every size that is asked for."""
    table = settings.table("passes")
    for size in settings.sizes or SIZES:
        for task in TASKS:
            _run_problem(table, size, task, settings)


def _run_problem(table: Table, size: Size, task: Task, settings: Settings) -> None:
    problem, threads = synth_cos(size, task), usable_cores()
    repeats = [
        repeat
        for repeat in range(settings.repeats)
        if settings.fresh or not table.finished(base_row(problem.name, PASS, repeat, threads))
    ]
    if not repeats:
        print(f"{problem.name}: all done before")
        return
    data = problem.load()
    for repeat in repeats:
        for name, seconds in measure(data, threads).items():
            row = base_row(problem.name, name, repeat, threads)
            row |= measured(data, Result(seconds, extra={"loss": TASKS[task], "rounds": ROUNDS}))
            table.put(row)
            print(progress(row), flush=True)


def measure(data: Data, threads: int) -> dict[str, float]:
    """Median seconds of a pass and of each way of reading, all in turn."""
    with ThreadPoolExecutor(threads) as pool, threadpool_limits(1):
        calls = {name: _shared_out(reader, data.X, threads, pool) for name, reader in READERS.items()}
        calls[PASS] = one_pass(data.X, data.y, TASKS[data.task], threads)
        return alternating_medians(calls, ROUNDS)


def _shared_out(reader: Reader, X: NDArray[Any], threads: int, pool: ThreadPoolExecutor) -> Call:
    """A call that reads X once, each thread its own range of rows."""
    parts = [reader(part) for part in np.array_split(X, threads)]
    return lambda: [future.result() for future in [pool.submit(part) for part in parts]]


def _read_sum(X: NDArray[Any]) -> Call:
    flat = X.reshape(-1)
    return lambda: np.add.reduce(flat)


def _read_dot(X: NDArray[Any]) -> Call:
    flat, ones = X.reshape(-1), np.ones(PIECE, X.dtype)
    pieces = [flat[start : start + PIECE] for start in range(0, flat.size, PIECE)]
    return lambda: [np.dot(piece, ones[: piece.size]) for piece in pieces]


def _read_matvec(X: NDArray[Any]) -> Call:
    ones, out = np.ones(X.shape[1], X.dtype), np.empty(len(X), X.dtype)
    return lambda: np.dot(X, ones, out=out)


READERS: dict[str, Reader] = {"read-sum": _read_sum, "read-dot": _read_dot, "read-matvec": _read_matvec}
