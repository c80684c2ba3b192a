"""The one place that knows gbmap's internals: everything else in the benchmarks uses the public interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gbmap._core.activation import Softplus
from gbmap._core.losses import LogLoss, SquaredError
from gbmap._core.objective import Objective
from gbmap._rows.dask import cluster as dask_cluster
from gbmap._rows.dask import table as dask_table
from gbmap._rows.memory import MemoryRows
from gbmap._rows.standard import MemoryTable, in_standard_units
from gbmap._rows.threads import ThreadTeam
from gbmap.drift._martingale import Martingale

Loss = Literal["squared_error", "log_loss"]

EVALUATION = "block_sums"  # the round that evaluates the objective
PART_BYTES = dask_cluster._PART_BYTES  # the largest part of X that a worker gets


def one_pass(X: NDArray[Any], y: NDArray[Any], loss: Loss, n_jobs: int) -> Callable[[], object]:
    """A call that visits all rows once, as a fit does, for the loss and the gradient of one weak learner.

    Whatever a fit does once (checks, buffers, threads) is done here, not in the call.
    """
    pointwise = SquaredError() if loss == "squared_error" else LogLoss()
    team = ThreadTeam(n_jobs)
    residual = loss == "squared_error"
    rows = in_standard_units(MemoryTable(X, y[:, None]), team, standardize=False, residual=residual).rows
    objective = Objective(pointwise, Softplus(1.0), 1e-3 / (X.shape[1] + 1))
    theta = np.random.default_rng(0).standard_normal((1, X.shape[1] + 2)) / np.sqrt(X.shape[1])
    return lambda: rows.value_and_gradient(objective, 0, theta, np.ones(1))


def passes_of(model: Any) -> float:
    """How often a fit visited all the rows; visits of the sample do not count."""
    return float(sum(record.n_evaluations for record in model.history_))


@dataclass(frozen=True)
class Round:
    """One question to all rows: its name, how many parts were asked, and when."""

    what: str
    parts: int
    start: float
    stop: float

    @property
    def seconds(self) -> float:
        return self.stop - self.start


@contextmanager
def watched_rounds() -> Iterator[list[Round]]:
    """Record the rounds of fits on Dask."""
    collect, rounds = dask_table.collect, []

    def watched(planned: list[Any]) -> list[Any]:
        start = time.perf_counter()
        results = collect(planned)
        rounds.append(Round(planned[0].key.split("-")[1], len(planned), start, time.perf_counter()))
        return results

    dask_table.collect = watched
    try:
        yield rounds
    finally:
        dask_table.collect = collect


@contextmanager
def watched_passes(n_rows: int) -> Iterator[list[Round]]:
    """Record the evaluations on so many rows in memory, which are all of them: samples have fewer."""
    evaluate, rounds = MemoryRows.value_and_gradient, []

    def watched(self: MemoryRows, *args: Any) -> Any:
        start = time.perf_counter()
        result = evaluate(self, *args)
        if self.n_rows == n_rows:
            rounds.append(Round(EVALUATION, 1, start, time.perf_counter()))
        return result

    MemoryRows.value_and_gradient = watched
    try:
        yield rounds
    finally:
        MemoryRows.value_and_gradient = evaluate


def first_alarm_by_fixed_reference(
    calibration: NDArray[Any], scores: NDArray[Any], level: float
) -> list[int]:
    """The first alarm of the same bets on p-values against the calibration rows alone, made safe.

    By Massart's inequality their distribution is nowhere further than epsilon below the true one, but for a
    chance of half the level; p-values are raised by epsilon, and the other half of the level is for the bets.
    """
    n = len(calibration)
    epsilon = np.sqrt(np.log(2 / level) / (2 * n))
    ordered, martingale = np.sort(calibration), Martingale.new()
    above = n - np.searchsorted(ordered, scores, side="left")
    for row, p in enumerate(np.minimum(above / n + epsilon, 1.0)):
        martingale.bet(float(p), row)
        if martingale.log_peak >= np.log(2 / level):
            return [row]
    return []
