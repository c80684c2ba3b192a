"""The mean loss of rows without labels, estimated: on held-out rows of a2, and on b, which has drifted.

"gbmap" is DriftDetector.estimate_loss, "trees" are boosted trees fitted to the losses of the calibration
rows (NannyML's DLE; as there, the prediction is a feature too), cut at zero; "constant" is the mean loss of
the calibration rows. All calibrate with the same random half of a2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from benchmarks.experiments.drift import NEIGHBOURS, Case, chosen_sets, keep, make_case, unfinished
from benchmarks.methods.base import Result, timed
from benchmarks.methods.gbmap import scores
from benchmarks.records import Table
from benchmarks.runner import Settings
from gbmap.drift import DriftDetector

Estimate = dict[str, float]
Estimator = Callable[[NDArray[Any]], Estimate]

HELD_OUT, SHIFTED = "a2", "b"


def run(settings: Settings) -> None:
    """Estimate the losses of every set that is asked for."""
    table = settings.table("drift_loss")
    for problem in chosen_sets(settings):
        for repeat in range(settings.repeats):
            todo = unfinished(table, settings, problem, ESTIMATORS, repeat)
            if todo:
                _estimate(table, problem, todo, repeat)


def _estimate(table: Table, problem: str, names: list[str], repeat: int) -> None:
    case = make_case(problem, repeat)
    for name in names:
        seconds, extra = timed(partial(_compare, case, name))
        keep(table, problem, name, case, Result(seconds, extra=extra))
    print(f"{problem}  repeat {repeat}: {', '.join(names)}", flush=True)


def _compare(case: Case, name: str) -> dict[str, Estimate]:
    """The estimate beside the true mean loss, of both lots of rows."""
    estimate = ESTIMATORS[name](case)
    lots = {HELD_OUT: case.halves[1], SHIFTED: case.split.shifted}
    return {
        lot: {name: float(f"{value:.6g}") for name, value in estimate(rows).items()}
        | {"true": float(f"{case.losses(rows).mean():.6g}")}
        for lot, rows in lots.items()
    }


def _by_embedding(case: Case) -> Estimator:
    calibration = case.part(case.halves[0])
    detector = DriftDetector(case.model, NEIGHBOURS)
    detector.fit(case.reference.X, case.reference.y, X_cal=calibration.X, y_cal=calibration.y)

    def estimate(rows: NDArray[Any]) -> Estimate:
        found = detector.estimate_loss(case.data.X[rows])
        return {"mean": found.mean, "lower": found.mean_lower, "upper": found.mean_upper}

    return estimate


def _by_trees(case: Case) -> Estimator:
    calibration = case.halves[0]
    # As many threads as cores, each waiting for the others, are slow on a busy machine.
    with threadpool_limits(1):
        trees = HistGradientBoostingRegressor(random_state=case.seed)
        trees.fit(_with_score(case, calibration), case.losses(calibration))

    def estimate(rows: NDArray[Any]) -> Estimate:
        with threadpool_limits(1):
            losses = trees.predict(_with_score(case, rows))
        return {"mean": float(np.maximum(losses, 0.0).mean())}

    return estimate


def _with_score(case: Case, rows: NDArray[Any]) -> NDArray[Any]:
    part = case.part(rows)
    return np.column_stack([part.X, scores(case.model, part)])


def _constant(case: Case) -> Estimator:
    mean = float(case.losses(case.halves[0]).mean())
    return lambda rows: {"mean": mean}


ESTIMATORS: dict[str, Callable[[Case], Estimator]] = {
    "gbmap": _by_embedding,
    "trees": _by_trees,
    "constant": _constant,
}
