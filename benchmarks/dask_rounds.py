"""What a round on a cluster costs, on one worker and two: ``python -m benchmarks.dask_rounds``.

A round is one evaluation of the objective on all rows: one task for each part, and their sums brought to the
client. Workers are processes of one thread on this machine. The last table extrapolates to other clusters.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from benchmarks.environment import cpu_model, usable_cores, version_of
from benchmarks.markdown import number, table
from gbmap import GBMAPRegressor
from gbmap._rows.dask import table as rounds_are_asked_here
from gbmap._rows.memory import MemoryRows

COLUMNS = 25
ROWS_PER_WORKER = 4_000_000
FEW_ROWS = 20_000
PARTS = (2, 16, 64)
REPEATS = 3


@dataclass(frozen=True)
class Fit:
    """Fits of one kind: seconds of the fastest one and of its rounds; the number of rounds of any kind."""

    seconds: float
    evaluations: list[float]
    n_rounds: int

    @property
    def round(self) -> float:
        """The seconds of the fastest round of the objective: what it takes when nothing else runs."""
        return min(self.evaluations)


@contextmanager
def watched_rounds() -> Iterator[list[tuple[str, float]]]:
    """Record the name and the seconds of each round."""
    collect, records = rounds_are_asked_here.collect, []

    def watched(planned: list[Any]) -> list[Any]:
        start = time.perf_counter()
        results = collect(planned)
        records.append((planned[0].key, time.perf_counter() - start))
        return results

    rounds_are_asked_here.collect = watched
    try:
        yield records
    finally:
        rounds_are_asked_here.collect = collect


@contextmanager
def cluster(n_workers: int) -> Iterator[Client]:
    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options, silence_logs=logging.CRITICAL) as workers, Client(workers) as client:
        yield client


def rows(n_rows: int, chunk: int) -> tuple[Any, Any]:
    """Return rows on the workers."""
    X = da.random.default_rng(0).normal(size=(n_rows, COLUMNS), chunks=(chunk, COLUMNS)).astype(np.float32)
    X, y = dask.persist(X, da.cos(X[:, 0]) + X[:, 1] * X[:, 2])
    wait([X, y])
    return X, y


def fit(X: Any, y: Any, **settings: Any) -> Fit:
    """Fit several times."""
    seconds, evaluations = [], []
    for _ in range(REPEATS):
        with watched_rounds() as records, dask.config.set(settings):
            start = time.perf_counter()
            GBMAPRegressor(2, random_state=0).fit(X, y)
            seconds.append(time.perf_counter() - start)
        evaluations += [spent for key, spent in records if key.startswith("gbmap-block_sums")]
    return Fit(min(seconds), evaluations, len(records))


def overhead() -> dict[int, Fit]:
    """Return fits of few rows in so many parts: all but nothing of their rounds is work."""
    with cluster(2):
        return {
            n_parts: fit(*rows(FEW_ROWS, FEW_ROWS // n_parts), **{"gbmap.recut": False}) for n_parts in PARTS
        }


def scaling() -> dict[tuple[str, int], Fit]:
    """Return fits of as many rows in all, and of as many a worker, on one worker and two."""
    fits = {}
    for n_workers in (1, 2):
        with cluster(n_workers):
            for kind, n_rows in (("strong", 2 * ROWS_PER_WORKER), ("weak", n_workers * ROWS_PER_WORKER)):
                fits[kind, n_workers] = fit(*rows(n_rows, 250_000))
    return fits


def in_memory() -> dict[tuple[str, int], Fit]:
    """Return the same fits in one process, with one thread and two: what the machine can give just now."""
    n_rows, fits = 2 * ROWS_PER_WORKER, {}
    X = np.random.default_rng(0).standard_normal((n_rows, COLUMNS), dtype=np.float32)
    y = np.cos(X[:, 0]) + X[:, 1] * X[:, 2]
    for n_threads in (1, 2):
        with watched_passes(n_rows) as passes:
            start = time.perf_counter()
            GBMAPRegressor(2, random_state=0, n_jobs=n_threads).fit(X, y)
            seconds = time.perf_counter() - start
        fits["in memory, threads", n_threads] = Fit(seconds, passes * REPEATS, 0)
    return fits


@contextmanager
def watched_passes(n_rows: int) -> Iterator[list[float]]:
    """Record the seconds of each pass over all rows in memory."""
    evaluate, passes = MemoryRows.value_and_gradient, []

    def watched(self: MemoryRows, *args: Any) -> Any:
        start = time.perf_counter()
        result = evaluate(self, *args)
        if self.n_rows == n_rows:
            passes.append(time.perf_counter() - start)
        return result

    MemoryRows.value_and_gradient = watched  # type: ignore[method-assign]
    try:
        yield passes
    finally:
        MemoryRows.value_and_gradient = evaluate  # type: ignore[method-assign]


@dataclass(frozen=True)
class Costs:
    """Seconds of a round: `fixed`, plus `per_task` for each part, plus `per_row` for each row of a worker."""

    fixed: float
    per_task: float
    per_row: float

    @classmethod
    def measured(cls, few: dict[int, Fit], some: Fit, twice_as_many: Fit) -> Costs:
        """Return what more parts add to a round of few rows, and what more rows add to one of one worker."""
        least, most = min(few), max(few)
        per_task = (few[most].round - few[least].round) / (most - least)
        fixed = max(few[least].round - least * per_task, 0.0)
        return cls(fixed, per_task, (twice_as_many.round - some.round) / ROWS_PER_WORKER)

    def of_round(self, n_rows: float, n_workers: int, n_parts: int) -> float:
        return self.fixed + self.per_task * n_parts + self.per_row * n_rows / n_workers


def main() -> None:
    """Measure, and print the tables."""
    few, large = overhead(), scaling() | in_memory()
    costs = Costs.measured(few, large["weak", 1], large["strong", 1])
    few_rows = [
        (str(n), number(1e3 * each.round), number(1e3 * each.round / n), str(each.n_rounds))
        for n, each in few.items()
    ]
    scaled = [
        (kind, str(workers), number(1e3 * each.round), str(len(each.evaluations) // REPEATS),
         number(each.seconds))
        for (kind, workers), each in sorted(large.items())
    ]  # fmt: skip
    modelled = [
        (f"{n:.0e}", str(workers), str(parts), number(costs.of_round(n, workers, parts)),
         number(costs.per_row * n / workers / costs.of_round(n, workers, parts)))
        for n, workers, parts in ((1e7, 10, 10), (1e8, 100, 100), (1e9, 100, 100), (1e9, 100, 1600))
    ]  # fmt: skip
    versions = f"gbmap {version_of('gbmap')}, distributed {version_of('distributed')}"
    sys.stdout.write(
        f"{cpu_model()}, {usable_cores()} cores; {versions}; {COLUMNS} columns of float32\n\n"
        + table(("parts", "ms a round", "ms a task", "rounds of a fit with 2 learners"), few_rows)
        + "\n\n"
        + table(("scaling", "workers", "ms a pass", "passes", "s a fit"), scaled)
        + f"\n\nround = {1e3 * costs.fixed:.3g} ms + {1e3 * costs.per_task:.3g} ms a part"
        f" + {1e9 * costs.per_row:.3g} ns a row of a worker\n\n"
        + table(("rows", "workers", "parts", "s a round", "share of work"), modelled)
        + "\n"
    )


if __name__ == "__main__":
    main()
