"""Indicators against losses row by row, and ROC curves: the paper's Figures 2 and 4 to 7.

The case is the first repeat of the drift experiment. A sample of the rows of a2 and of b is kept; curves and
AUC are those of all rows. The loss of classes is the logistic one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

from benchmarks.experiments.drift import INDICATORS, TAIL, Case, chosen_sets, keep, make_case, unfinished
from benchmarks.methods.base import Result, timed
from benchmarks.runner import Settings

DRIFTERS = ("gbmap", "euclid")
KEPT, CURVE_POINTS = 150, 60


def run(settings: Settings) -> None:
    """Keep the points of both drifters on every set that is asked for."""
    table = settings.table("drift_points")
    for problem in chosen_sets(settings):
        todo = unfinished(table, settings, problem, DRIFTERS, 0)
        case = make_case(problem, 0) if todo else None
        for name in todo:
            assert case is not None
            seconds, extra = timed(lambda case=case, name=name: points(case, name))
            keep(table, problem, name, case, Result(seconds, extra=extra))
            print(f"{problem}  {name}: AUC {extra['auc']:.3f}", flush=True)


def points(case: Case, name: str) -> dict[str, Any]:
    """A sample of the points, the thresholds, and the curve."""
    values, losses, n_a2 = INDICATORS[name](case), case.losses(case.judged), len(case.split.test)
    threshold = np.quantile(losses[:n_a2], 1 - TAIL)
    outside = losses > threshold
    rng = np.random.default_rng(case.seed)
    lots = {"a2": np.arange(n_a2), "b": np.arange(n_a2, len(values))}
    sampled = {lot: rng.permutation(rows)[:KEPT] for lot, rows in lots.items()}
    return {
        "auc": round(float(roc_auc_score(outside, values)), 6),
        "loss_threshold": _short(threshold),
        "best_f1": _short(_best_f1(outside, values)),
        "roc": _curve(outside, values),
        **{lot: [_list(values[rows]), _list(losses[rows])] for lot, rows in sampled.items()},
    }


def _best_f1(outside: NDArray[Any], values: NDArray[Any]) -> float:
    """The indicator above which an alarm has the best F1 score."""
    precision, recall, thresholds = precision_recall_curve(outside, values)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return float(thresholds[np.argmax(f1[:-1])])


def _curve(outside: NDArray[Any], values: NDArray[Any]) -> list[list[float]]:
    false_alarms, alarms, _ = roc_curve(outside, values)
    # Most of what there is to see lies at small rates of false alarms.
    rates = np.linspace(0, 1, CURVE_POINTS) ** 2
    return [_list(rates), _list(np.interp(rates, false_alarms, alarms))]


def _list(values: NDArray[Any]) -> list[float]:
    return [_short(value) for value in values]


def _short(value: float) -> float:
    return float(f"{value:.3g}")
