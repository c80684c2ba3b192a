"""Predictions beside the truth: of numbers with their errors, of classes with what is taken for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from gbmap._utils.missing import plain_labels
from gbmap._utils.sampling import sample_rows
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array
from gbmap.report._material import Material, Rows
from gbmap.report._rounding import rounded, significant, spread_of

_MOST_POINTS = 1000  # rows drawn one by one
_MOST_STEPS = 120  # of a curve
_GROUPS = 10  # of equally many rows each
_FEW_ROWS = 5  # fewer than this in a group tell nothing
_CURVES = ("false_positive_rate", "true_positive_rate", "recall", "precision")


@dataclass(frozen=True)
class Group:
    """Rows of similar predictions."""

    n_rows: int
    mean_prediction: float | None
    mean_target: float | None
    typical_error: float | None  # the root of the mean squared error
    # Between which errors, target less prediction, the middle half of the rows lies.
    lower_quartile: float | None
    upper_quartile: float | None


@dataclass(frozen=True)
class Numbers:
    """Predicted numbers."""

    # Of some of the rows.
    target: list[Any]
    prediction: list[Any]
    groups: list[Group]  # from the lowest predictions to the highest
    # Errors, whichever sign they have, that half of the rows, and nine in ten, do not exceed.
    half_within: float | None
    nine_in_ten_within: float | None


@dataclass(frozen=True)
class Share:
    """Rows that are given similar probabilities of a class."""

    n_rows: int
    mean_probability: float | None
    share: float | None  # of the rows that are of the class
    # The interval that holds the share of all such rows with a confidence of 95 %, by Wilson.
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class OneClass:
    """One class against all others; curves go from the surest rows to the least sure."""

    n_rows: int  # that are of the class
    area: float | None  # under the ROC curve
    average_precision: float | None
    false_positive_rate: list[Any]
    true_positive_rate: list[Any]
    recall: list[Any]
    precision: list[Any]
    calibration: list[Share] | None  # None if the loss gives no probabilities


@dataclass(frozen=True)
class Classes:
    """Predicted classes."""

    names: list[str]  # of the rows and columns of the confusion; the last is for all others, if there are
    confusion: list[list[int]]  # how many rows of one class are predicted as which
    found: list[float | None]  # the share of the rows of a class that are predicted as it
    right: list[float | None]  # the share of the rows predicted as a class that are of it
    outputs: list[OneClass]  # of each output shown


@dataclass(frozen=True)
class Predictions:
    """Predictions of rows whose targets are known."""

    kind: str  # "held out" or "new"
    n_rows: int
    numbers: Numbers | None
    classes: Classes | None


def study_predictions(material: Material, rows: Rows | None) -> Predictions | None:
    """Compare predictions with the targets of rows that the model was not fitted to; None without any."""
    if rows is None or rows.y is None:
        return None
    known = rows.known(material.fitted.model)
    if not len(known):
        return None
    y, X = plain_labels(rows.y[known]), safe_indexing(rows.X, known)
    score = material.fitted.full_score(X)
    return Predictions(
        kind=rows.kind,
        n_rows=len(known),
        numbers=None if material.is_classifier else _numbers(y.astype(np.float64), score[:, 0]),
        classes=_classes(material, y, score) if material.is_classifier else None,
    )


def _numbers(y: Array, predicted: Array) -> Numbers:
    shown, spread = sample_rows(len(y), _MOST_POINTS, 0), spread_of(y)
    size = np.abs(y - predicted)
    return Numbers(
        target=rounded(y[shown], digits=3, spread=spread),
        prediction=rounded(predicted[shown], digits=3, spread=spread),
        groups=[_group(y[rows], predicted[rows]) for rows in _groups_by(predicted)],
        half_within=significant(np.quantile(size, 0.5)),
        nine_in_ten_within=significant(np.quantile(size, 0.9)),
    )


def _groups_by(values: Array) -> list[Array]:
    """Return the rows in groups of equally many, in the order of their values."""
    order = np.argsort(values, kind="stable")
    n_groups = max(1, min(_GROUPS, len(values) // _FEW_ROWS))
    return np.array_split(order, n_groups)


def _group(y: Array, predicted: Array) -> Group:
    error = y - predicted
    lower, upper = np.quantile(error, [0.25, 0.75])
    return Group(
        n_rows=len(y),
        mean_prediction=significant(predicted.mean()),
        mean_target=significant(y.mean()),
        typical_error=significant(np.sqrt(np.square(error).mean())),
        lower_quartile=significant(lower),
        upper_quartile=significant(upper),
    )


def _classes(material: Material, y: Array, score: Array) -> Classes:
    predictor, classes = material.fitted.predictor, material.fitted.model.classes_
    truth = np.searchsorted(classes, y)
    decided = np.searchsorted(classes, predictor.labels.decided(score))
    p = predictor.probabilities(score) if predictor.gives_probabilities else None
    n_outputs = score.shape[1]
    of_output = [k + (n_outputs == 1) for k in material.outputs]
    shown = [0, 1] if n_outputs == 1 else material.outputs
    names = [material.classes[k] for k in shown]
    rest = len(shown) < len(classes)
    counts = _confusion(truth, decided, shown, len(classes), has_rest=rest)
    with np.errstate(invalid="ignore"):
        found, right = (np.diag(counts) / counts.sum(axis=axis) for axis in (1, 0))
    return Classes(
        names=[*names, "(other)"] if rest else names,
        confusion=counts.tolist(),
        found=[significant(share, 4) for share in found],
        right=[significant(share, 4) for share in right],
        outputs=[
            _one_class(truth == k, score[:, output] if p is None else p[:, k], is_share=p is not None)
            for output, k in zip(material.outputs, of_output)
        ],
    )


def _confusion(truth: Array, decided: Array, shown: list[int], n: int, *, has_rest: bool) -> Array:
    place = np.full(n, len(shown))
    place[shown] = np.arange(len(shown))
    size = len(shown) + has_rest
    counts = np.bincount(place[truth] * size + place[decided], minlength=size * size)
    return counts.reshape(size, size)


def _one_class(is_class: Array, rank: Array, *, is_share: bool) -> OneClass:
    n = int(is_class.sum())
    steps: dict[str, list[Any]] = {name: [] for name in _CURVES}
    area = average = None
    if 0 < n < len(is_class):
        false, true, _ = roc_curve(is_class, rank)
        precision, recall, _ = precision_recall_curve(is_class, rank)
        area, average = auc(false, true), average_precision_score(is_class, rank)
        # The precision of no rows at all, which ends this curve, is one by definition alone.
        steps = _thinned(false_positive_rate=false, true_positive_rate=true)
        steps |= _thinned(recall=recall[-2::-1], precision=precision[-2::-1])
    return OneClass(
        n_rows=n,
        area=significant(area),
        average_precision=significant(average),
        **steps,
        calibration=[_share(is_class[rows], rank[rows]) for rows in _groups_by(rank)] if is_share else None,
    )


def _thinned(**curve: Array) -> dict[str, list[Any]]:
    """Return a curve by fewer points, as far apart as can be told on a picture."""
    along, up = curve.values()
    way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(along)) + np.abs(np.diff(up)))])
    wanted = np.linspace(0, way[-1], _MOST_STEPS)
    kept = np.unique(np.minimum(np.searchsorted(way, wanted), len(way) - 1))
    return {name: rounded(values[kept], digits=3, spread=1.0) for name, values in curve.items()}


def _share(is_class: Array, p: Array) -> Share:
    interval = binomtest(int(is_class.sum()), len(p)).proportion_ci(method="wilson")
    return Share(
        n_rows=len(p),
        mean_probability=significant(p.mean(), 4),
        share=significant(is_class.mean(), 4),
        lower=significant(interval.low, 4),
        upper=significant(interval.high, 4),
    )
