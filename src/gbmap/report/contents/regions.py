"""The regions: rows for which the same learners are active, in words, with their predictions and errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._utils.typing import Array
from gbmap.inspection import Regions as RegionTable
from gbmap.inspection import regions
from gbmap.report._material import FitMaterial
from gbmap.report._rounding import significant

_MOST_REGIONS = 8


@dataclass(frozen=True)
class Region:
    """One region."""

    words: str
    # Of the training rows looked at.
    n_rows: int
    share: float | None
    mean_prediction: float | None  # of the score f; for classes see `mean_probability`
    mean_target: float | None  # for classes, the share of rows that are of the class
    # For classes, if the loss gives probabilities; without, the share of rows predicted as the class.
    mean_probability: float | None
    bias: float | None  # mean target less mean prediction, or less mean probability
    # The model's own loss on these rows, and on held-out rows of the region; None if there are none.
    mean_loss: float | None
    held_out_loss: float | None
    n_held_out_rows: int
    # The share of rows that the words hold for which lie in the region, and the share of the region's rows
    # that the words hold for.
    precision: float | None
    coverage: float | None
    features: list[str]  # the columns of the largest mean local coefficient, per standard deviation
    coefficients: list[float | None]  # those coefficients, per unit


@dataclass(frozen=True)
class OutputRegions:
    """The regions of one output."""

    regions: list[Region]  # the most populated first
    n_patterns: int  # how many there are in all
    # The region of each row on the map; -1 for one that is not listed, -2 for one never seen.
    of_points: list[int]


@dataclass(frozen=True)
class Regions:
    """The regions of each output shown, and how many training rows were looked at."""

    outputs: list[OutputRegions]
    n_rows: int


def study_regions(material: FitMaterial) -> Regions:
    """Group the rows by the learners that are active."""
    return Regions([_of_output(material, k) for k in material.outputs], len(material.study))


def _of_output(material: FitMaterial, k: int) -> OutputRegions:
    study, names = material.study, material.fitted.output_names
    output = None if names is None else names[k]
    table = regions(material.model, study.X, study.y, output=output, max_regions=_MOST_REGIONS)
    losses, counts = _held_out_losses(material, table, k)
    return OutputRegions(
        regions=[_region(material, table, r, losses[r], counts[r]) for r in range(len(table.n_rows))],
        n_patterns=int(table.n_patterns),
        of_points=material.stack(lambda rows: table.assign(rows.X)).tolist(),
    )


def _held_out_losses(material: FitMaterial, table: RegionTable, k: int) -> tuple[Array, Array]:
    """Return the mean loss of held-out rows in each region, and how many there are."""
    rows, fitted = material.held_out, material.fitted
    labels = table.assign(rows.X)
    losses = fitted.predictor.losses_of(rows.y, fitted.full_score(rows.X))[:, k]
    known, n_regions = labels >= 0, len(table.n_rows)
    counts = np.bincount(labels[known], minlength=n_regions)
    sums = np.bincount(labels[known], losses[known], n_regions)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), counts


def _region(
    material: FitMaterial, table: RegionTable, r: int, held_out_loss: float, n_held_out: int
) -> Region:
    target, bias, loss = (np.asarray(each) for each in (table.mean_target, table.bias, table.mean_loss))
    slopes = table.coefficients[r] * material.fitted.column_scale
    largest = [k for k in np.argsort(-np.abs(slopes), kind="stable")[:3] if slopes[k] != 0]
    return Region(
        words=str(table.descriptions[r]),
        n_rows=int(table.n_rows[r]),
        share=significant(table.share[r]),
        mean_prediction=significant(table.mean_prediction[r]),
        mean_target=significant(target[r]),
        mean_probability=significant(target[r] - bias[r]) if material.is_classifier else None,
        bias=significant(bias[r]),
        mean_loss=significant(loss[r]),
        held_out_loss=significant(held_out_loss),
        n_held_out_rows=int(n_held_out),
        precision=significant(table.precision[r]),
        coverage=significant(table.coverage[r]),
        features=[str(table.feature_names[k]) for k in largest],
        coefficients=[significant(table.coefficients[r][k]) for k in largest],
    )
