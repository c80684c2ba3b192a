"""Fits on Dask: what a round costs, and how rounds and fits grow with rows and workers.

A round is one question to all rows: a task for each part, and the answers brought to the client. Workers are
processes of one thread on this machine. Fits in memory, on one thread and two, have the same rows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Data
from benchmarks.internals import EVALUATION, Round, watched_passes, watched_rounds
from benchmarks.methods.base import Result, peer_versions
from benchmarks.problems import DATA_SEED
from benchmarks.runner import Settings, base_row, measured, progress

COLUMNS, M = 25, 2
DASK, MEMORY = "dask", "memory"
ROWS_PER_WORKER, QUICK_ROWS_PER_WORKER = 4_000_000, 200_000
CHUNKS = 16
# More than a fit brings to the client as a whole, and next to no work.
FEW_ROWS = 20_480
PARTS, QUICK_PARTS = (2, 16, 64), (2, 16)


@dataclass(frozen=True)
class Case:
    """One fit: so many rows, on so many workers or threads, cut anew unless `parts` says how they stay."""

    n_rows: int
    threads: int
    parts: int = 0
    method: str = DASK

    @property
    def problem(self) -> str:
        """The name in the results."""
        return f"{f'few-{self.parts}-parts' if self.parts else 'normal'}-{self.n_rows}x{COLUMNS}"


def cases(settings: Settings) -> dict[int, list[Case]]:
    """What is measured on so many workers; without any, in memory."""
    each = QUICK_ROWS_PER_WORKER if settings.quick else ROWS_PER_WORKER
    few = [Case(FEW_ROWS, 2, parts) for parts in (QUICK_PARTS if settings.quick else PARTS)]
    return {
        1: [Case(each, 1), Case(2 * each, 1)],
        2: [Case(2 * each, 2), *few],
        0: [Case(2 * each, threads, method=MEMORY) for threads in (1, 2)],
    }


def run(settings: Settings) -> None:
    """Measure all of them once, then again."""
    table = settings.table("dask")
    for repeat in range(settings.repeats):
        for n_workers, listed in cases(settings).items():
            blank = {case: base_row(case.problem, case.method, repeat, case.threads) for case in listed}
            todo = {case: row for case, row in blank.items() if settings.fresh or not table.finished(row)}
            with cluster(n_workers if todo else 0):
                for case, row in todo.items():
                    row |= measure(case, repeat) | {"m": str(M)}
                    table.put(row)
                    print(progress(row), row["extra"], flush=True)


@contextmanager
def cluster(n_workers: int) -> Iterator[None]:
    """Have so many workers, which have fitted before."""
    if not n_workers:
        yield
        return
    from distributed import Client, LocalCluster

    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=logging.CRITICAL) as workers, Client(workers):
        measure(Case(FEW_ROWS, n_workers, parts=n_workers), seed=0)
        yield


def measure(case: Case, seed: int) -> dict[str, str]:
    """Fit once; the columns of its row."""
    from gbmap import GBMAPRegressor

    in_memory = case.method == MEMORY
    X, y = rows_in_memory(case) if in_memory else rows_on_workers(case)
    model = GBMAPRegressor(M, knots=0, random_state=seed, n_jobs=case.threads if in_memory else None)
    watched = watched_passes(case.n_rows) if in_memory else watched_rounds()
    with watched as rounds, left_in_parts(bool(case.parts)):
        start = time.perf_counter()
        model.fit(X, y)
        stop = time.perf_counter()
    evaluations = [each for each in rounds if each.what == EVALUATION]
    extra = {"round_seconds": min(each.seconds for each in evaluations)}
    extra |= {} if in_memory else anatomy(rounds, stop)
    peer = "" if in_memory else peer_versions("dask", "distributed")
    result = Result(stop - start, float(model.loss_curve_[-1]), len(evaluations), peer, extra)
    return measured(Data(X, y, "regression"), result)


def anatomy(rounds: list[Round], stop: float) -> dict[str, float]:
    """What a fit that ended at `stop` consists of.

    The first rounds look at the data. From the end of their last one, learners are made: samples on the
    client, evaluations, and other rounds, which wait for the scores to advance.
    """
    first = next(number for number, each in enumerate(rounds) if each.what == EVALUATION)
    learning = rounds[first:]
    return {
        "parts": learning[0].parts,
        "rounds": len(rounds),
        "first_rounds": first,
        "other_seconds": sum(each.seconds for each in learning if each.what != EVALUATION),
        "client_seconds": stop - rounds[first - 1].stop - sum(each.seconds for each in learning),
    }


@contextmanager
def left_in_parts(left: bool) -> Iterator[None]:
    """Have Dask's rows stay in their chunks, or not."""
    if not left:
        yield
        return
    import dask

    with dask.config.set({"gbmap.recut": False}):
        yield


def chunk(number: int, n_rows: int) -> NDArray[np.float32]:
    """One of the chunks that X consists of, wherever it is."""
    rng = np.random.default_rng([DATA_SEED, number])
    return rng.standard_normal((n_rows, COLUMNS), dtype=np.float32)


def target(X: Any) -> Any:
    """A wave and a saddle."""
    return np.cos(X[:, 0]) + X[:, 1] * X[:, 2]


def rows_in_memory(case: Case) -> tuple[Any, Any]:
    """X and y as arrays."""
    X = np.empty((case.n_rows, COLUMNS), np.float32)
    for number, part in enumerate(np.split(X, CHUNKS)):
        part[:] = chunk(number, len(part))
    return X, target(X)


def rows_on_workers(case: Case) -> tuple[Any, Any]:
    """The same as Dask's arrays, computed."""
    import dask
    import dask.array as da
    from distributed import wait

    n_rows = case.n_rows // CHUNKS
    lazy = [dask.delayed(chunk)(number, n_rows) for number in range(CHUNKS)]
    X = da.concatenate([da.from_delayed(each, (n_rows, COLUMNS), np.float32) for each in lazy])
    if case.parts:
        X = X.rechunk((case.n_rows // case.parts, COLUMNS))
    X, y = dask.persist(X, target(X))
    wait([X, y])
    return X, y
