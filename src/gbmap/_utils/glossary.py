"""The words of the page, the command line and the documentation: one for each thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """How good predictions are: what it is called, what it means, and which way is better."""

    name: str
    title: str  # the name as a heading has it
    meaning: str
    higher_is_better: bool
    in_units_of_target: bool = False


METRICS: Mapping[str, Metric] = {
    "r2": Metric("R2", "R2", "the share of the variance that is predicted: 1 is perfect, 0 a constant", True),
    "rmse": Metric(
        "RMSE",
        "typical error (RMSE)",
        "the root of the mean squared error, in the target's units",
        False,
        True,
    ),
    "mae": Metric(
        "MAE", "mean absolute error (MAE)", "the mean size of the error, in the target's units", False, True
    ),
    "accuracy": Metric("accuracy", "accuracy", "the share of rows whose class is predicted rightly", True),
    "balanced_accuracy": Metric(
        "balanced accuracy",
        "balanced accuracy",
        "the mean over classes of the share of rows that are right",
        True,
    ),
    "roc_auc": Metric(
        "ROC AUC",
        "ROC AUC",
        "the chance that of two rows of either class the right one is put first; .5 is a coin",
        True,
    ),
    "log_loss": Metric(
        "log loss",
        "log loss",
        "the mean of -log of the probability of the true class; 0 is perfect, .69 a coin",
        False,
    ),
}

TERMS: Mapping[str, str] = {
    "held-out row": "a row with a known target that the fit has not seen; scores are measured on these",
    "new row": "a row that a prediction is wanted for; its target need not be known",
    "learner": "one summand of the prediction: flat on one side, rising or falling on the other",
    "active": "of a learner: on the side on which it rises or falls",
    "region": "the rows for which the same learners are active, which the model treats much alike",
    "precision": "of words: the share of the rows that fit them which are meant",
    "coverage": "of words: the share of the rows that are meant which fit them",
    "map": "the rows as points, which are close if the model treats them alike",
    "score": "of classes, the sum of the learners: log-odds for the log loss; 0 is undecided, +1 is 73 %",
    "indicator": "how far a prediction is from those of the nearest training rows, in the target's units",
    "alarm": "what a row raises whose indicator is above the threshold: training rows do not back it",
    "threshold": "the indicator that 5 % of the calibration rows are above, or another share asked for",
    "calibration row": "a held-out row that tells how large indicators and errors usually are",
    "reference row": "a training row that new rows are compared with",
    "drift": "a change of the rows, or of the target given the rows, since the fit",
    "explained loss": "the share of a constant's loss that learners take away; R2 for squared errors",
    "faithfulness": "of an account of how two models differ: the R2 with which it tells the difference",
}

LOSS_METRICS: Mapping[str, str] = {"squared_error": "rmse", "log_loss": "log_loss"}


def name_of(metric: str) -> str:
    """Return what a metric is called in a sentence."""
    return METRICS[metric].name if metric in METRICS else metric


def metric_of_loss(loss: str) -> str:
    """Return what the mean of a loss is called: of the squared error, the name of its root."""
    key = LOSS_METRICS.get(loss)
    return f"mean loss ({loss})" if key is None else METRICS[key].title


def in_words(keys: Iterable[str]) -> str:
    """Return which way some metrics are better, in one line."""
    groups: dict[str, list[str]] = {}
    for metric in (METRICS[key] for key in keys if key in METRICS):
        way = "higher is better" if metric.higher_is_better else "lower is better"
        way += ", in the target's units" if metric.in_units_of_target else ""
        groups.setdefault(way, []).append(metric.name)
    return "; ".join(f"{', '.join(names)}: {way}" for way, names in groups.items())
