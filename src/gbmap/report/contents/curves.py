"""The curves of the features: the prediction along one of them, on average and for single rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.sampling import sample_rows
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array
from gbmap.inspection import ColumnCurve, column_curve
from gbmap.report._material import Material
from gbmap.report._rounding import rounded, significant, spread_of
from gbmap.report.contents.columns import numbers, raw_values
from gbmap.report.contents.explanations import Explanations

_SINGLE_ROWS = 8
_ROWS, _POINTS = 500, 40  # to average over, and of a curve beside its knots


@dataclass(frozen=True)
class Curve:
    """The score with a feature at one value or another and all else as it is, less its mean over the rows."""

    feature: int
    # Numbers from the least to the most, or names of categories, with "other" and "missing" among them.
    values: list[Any]
    shares: list[Any] | None  # of the rows that have each category; None for numbers
    knots: list[Any]  # where it may bend
    average: list[list[Any]]  # over training rows on the map, for each output shown
    rows: list[int]  # rows of the map of different predictions
    local: list[list[list[Any]]]  # the curves of these rows about the same mean, for each output shown
    # The average where the number is missing, for each output shown; None if there is no mark of that.
    missing: list[float | None] | None


def study_curves(material: Material, explained: Explanations, features: list[int]) -> list[Curve]:
    """Return the curves of features that training rows on the map have values of."""
    training = material.points[0]
    drawn = sample_rows(len(training), _ROWS, 0)
    order = drawn[np.argsort(explained.score[drawn, 0], kind="stable")]
    rows = np.unique(order[np.linspace(0, len(order) - 1, min(_SINGLE_ROWS, len(order))).astype(int)])
    X = safe_indexing(training.X, drawn)
    places = np.searchsorted(drawn, rows).tolist()
    found = []
    for feature in features:
        if material.fitted.columns.is_number[feature]:
            values = numbers(raw_values(material, training, feature)[drawn])
            if not np.isfinite(values).any():
                continue
        of_outputs = [
            column_curve(material.model, X, feature, output=name, rows=places, n_points=_POINTS)
            for name in _outputs(material)
        ]
        found.append(_curve(feature, rows, of_outputs))
    return found


def _outputs(material: Material) -> list[Any]:
    names = material.fitted.output_names
    return [None] if names is None else [names[k] for k in material.outputs]


def _curve(feature: int, rows: Array, of_outputs: list[ColumnCurve]) -> Curve:
    first = of_outputs[0]
    curves = np.array([[each.average, *each.local] for each in of_outputs])
    level = curves.mean(axis=2, keepdims=True)
    curves -= level - level[:, :1]
    spread = spread_of(curves)
    values = [str(value) for value in first.values] if first.is_category else rounded(first.values, digits=3)
    return Curve(
        feature=feature,
        values=values,
        shares=None if first.share is None else rounded(first.share, digits=3),
        knots=[] if first.is_category else rounded(first.knots, digits=3, spread=spread_of(first.values)),
        average=[rounded(each[0], digits=3, spread=spread) for each in curves],
        rows=rows.tolist(),
        local=[rounded(each[1:], digits=3, spread=spread) for each in curves],
        missing=None if first.missing is None else [significant(each.missing) for each in of_outputs],
    )
