"""The features: how much each moves the prediction, and how, along its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.typing import Array
from gbmap.report._material import Material
from gbmap.report._rounding import rounded, significant, spread_of
from gbmap.report.contents.columns import numbers, raw_values, scales
from gbmap.report.contents.curves import Curve, study_curves
from gbmap.report.contents.explanations import Explanations

_MOST_IMPORTANCES = 30
_MOST_DEPENDENCES, _MOST_OF_MANY = 8, 12  # of one output, of several
_POINTS, _FEWEST_POINTS = 2_000, 400  # of one dependence, shared by the outputs
_BINS = 20


@dataclass(frozen=True)
class Importance:
    """The mean size of what a feature adds to the score over the average training row.

    For each output shown, and the mean of those. ``feature_importances_`` is the same of training rows, in
    standard deviations of y.
    """

    feature: int
    mean: float | None
    of_outputs: list[float | None]


@dataclass(frozen=True)
class Dependence:
    """What a feature adds, along its values."""

    feature: int
    rows: list[int]  # rows of the map that are drawn as points
    adds: list[list[Any]]  # what the feature adds to those rows, for each output shown
    # The mean value in each of at most twenty equally filled bins; None for a category.
    middles: list[Any] | None
    # The mean of what the feature adds in each bin, or in each category in the order of its column's levels,
    # for each output shown.
    means: list[list[Any]]


@dataclass(frozen=True)
class Features:
    """All features by name, and the important ones in detail."""

    names: list[str]
    scales: list[str]  # what its numbers count: "number", or "days", "weekday" and the like of a date
    importances: list[Importance]  # the largest first
    dependences: list[Dependence]  # of the most important ones
    curves: list[Curve]  # of the same, if training rows on the map have values of them
    n_rows: int  # rows that these are averages over: those on the map that are not new


def importance_order(explained: Explanations) -> Array:
    """Return the features from the most to the least important."""
    return np.argsort(-explained.importances.mean(axis=1), kind="stable")


def study_features(material: Material, explained: Explanations, columns: list[Any]) -> Features:
    """Say how much the features move the prediction, and how."""
    order = importance_order(explained)
    of_feature = {column.feature: column for column in columns}
    n_known, importances = explained.n_known, explained.importances
    moving = [k for k in order.tolist() if importances[k].max() > 0]
    drawn = [k for k in _leading(importances) if k in of_feature and k in moving]
    return Features(
        names=[str(name) for name in material.fitted.feature_names],
        scales=scales(material),
        importances=[_importance(k, importances[k]) for k in moving[:_MOST_IMPORTANCES]],
        dependences=[_dependence(material, explained.adds[:n_known, k], of_feature[k]) for k in drawn],
        curves=study_curves(material, explained, drawn),
        n_rows=n_known,
    )


def _leading(importances: Array) -> list[int]:
    """Return the features that are the most important ones of any output, those of each in turn."""
    ranks = np.argsort(np.argsort(-importances, axis=0, kind="stable"), axis=0, kind="stable")
    order = np.lexsort((-importances.mean(axis=1), ranks.min(axis=1)))
    n_features = _MOST_DEPENDENCES if importances.shape[1] == 1 else _MOST_OF_MANY
    return order[:n_features].tolist()


def _importance(feature: int, of_outputs: Array) -> Importance:
    mean = significant(of_outputs.mean())
    return Importance(feature, mean, [significant(value) for value in of_outputs])


def _dependence(material: Material, adds: Array, column: Any) -> Dependence:
    n_rows = min(len(adds), max(_FEWEST_POINTS, _POINTS // adds.shape[1]))
    rows = np.unique(np.linspace(0, len(adds) - 1, n_rows).astype(int))
    if column.kind == "category":
        middles, means = None, _means_of_levels(adds, column)
    else:
        known = [numbers(raw_values(material, part, column.feature)) for part in material.points[:2]]
        middles, means = _means_of_bins(adds, np.concatenate(known))
    spread = spread_of(adds)
    return Dependence(
        feature=column.feature,
        rows=rows.tolist(),
        adds=[rounded(each, digits=3, spread=spread) for each in adds[rows].T],
        middles=None if middles is None else rounded(middles, digits=3),
        means=[rounded(each, digits=3, spread=spread) for each in means.T],
    )


def _means_of_levels(adds: Array, column: Any) -> Array:
    codes = np.array([-1 if code is None else code for code in column.values[: len(adds)]])
    return np.array(
        [
            adds[codes == level].mean(axis=0) if (codes == level).any() else np.full(adds.shape[1], np.nan)
            for level in range(len(column.levels))
        ]
    ).reshape(-1, adds.shape[1])


def _means_of_bins(adds: Array, values: Array) -> tuple[Array, Array]:
    """Return the mean value and the mean share in bins of equally many rows; equal values share a bin."""
    known = np.isfinite(values)
    values, adds = values[known], adds[known]
    if len(values) == 0:
        return np.empty(0), np.empty((0, adds.shape[1]))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1]))
    of_row = np.searchsorted(edges, values, side="left")
    bins, of_row, counts = np.unique(of_row, return_inverse=True, return_counts=True)
    middles = np.bincount(of_row, values, len(bins)) / counts
    means = [np.bincount(of_row, column, len(bins)) / counts for column in adds.T]
    return middles, np.array(means).T
