"""The regions: rows for which the same learners are active, in words, with their predictions and errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._fitted.sayings import sayings_of
from gbmap._fitted.terms import Terms
from gbmap._utils.glossary import metric_of_loss
from gbmap._utils.typing import Array
from gbmap.inspection import Regions as RegionTable
from gbmap.inspection import regions
from gbmap.report._material import FitMaterial
from gbmap.report._rounding import significant
from gbmap.report.contents.columns import is_category, raw_values

_MOST_REGIONS = 8
_WITH_SPREADS = 24  # regions of all outputs
_BINS, _MOST_LEVELS = 16, 12  # of a column that is drawn


@dataclass(frozen=True)
class Spread:
    """How one column is spread in a region, and over all rows that were looked at."""

    name: str
    levels: list[str] | None  # categories, those of the most rows; None for numbers
    in_region: list[float | None]  # shares of its rows in bins or of categories, of the largest of all shares
    in_all: list[float | None]
    first: str  # the ends of the numbers; of categories, the one whose share differs the most, and
    last: str  # "more" or "fewer"


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
    # How wrong the model is on these rows, and on held-out rows of the region; None if there are none.
    error: float | None
    held_out_error: float | None
    n_held_out_rows: int
    typical: str  # what its rows hold in the columns of the words
    # The share of rows that the words hold for which lie in the region, and the share of the region's rows
    # that the words hold for; None without a rule, where the words are columns only.
    precision: float | None
    coverage: float | None
    features: list[str]  # the columns of the largest mean local coefficient, per standard deviation
    coefficients: list[float | None]  # those coefficients, per unit
    spreads: list[Spread]  # of the columns that the words name, where there is no rule


@dataclass(frozen=True)
class OutputRegions:
    """The regions of one output."""

    regions: list[Region]  # the most populated first
    n_patterns: int  # how many there are in all
    n_learners: int  # by which the regions are told apart: those that add the most different amounts
    # The region of each row on the map; -1 for one that is not listed, -2 for one never seen.
    of_points: list[int]


@dataclass(frozen=True)
class Regions:
    """The regions of each output shown, and how many training rows were looked at."""

    outputs: list[OutputRegions]
    n_rows: int
    error_name: str  # what the errors of regions are: of the squared error, its root


def study_regions(material: FitMaterial) -> Regions:
    """Group the rows by the learners that are active."""
    name = metric_of_loss(str(material.fitted.model.loss))
    spreads = _WITH_SPREADS // len(material.outputs)
    outputs = [_of_output(material, k, spreads) for k in material.outputs]
    return Regions(outputs, len(material.study), name)


def _of_output(material: FitMaterial, k: int, most_spreads: int) -> OutputRegions:
    study, names = material.study, material.fitted.output_names
    output = None if names is None else names[k]
    table = regions(
        material.model, study.X, study.y, output=output, max_regions=_MOST_REGIONS, n_learners="auto"
    )
    losses, counts = _held_out_losses(material, table, k)
    return OutputRegions(
        regions=[
            _region(material, table, r, losses[r], counts[r], with_spreads=r < most_spreads)
            for r in range(len(table.n_rows))
        ],
        n_patterns=int(table.n_patterns),
        n_learners=len(table.learner_names),
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
    material: FitMaterial,
    table: RegionTable,
    r: int,
    held_out_loss: float,
    n_held_out: int,
    *,
    with_spreads: bool,
) -> Region:
    target, bias, loss = (np.asarray(each) for each in (table.mean_target, table.bias, table.mean_loss))
    as_error = np.sqrt if material.fitted.model.loss == "squared_error" else np.asarray
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
        error=significant(as_error(loss[r])),
        held_out_error=significant(as_error(held_out_loss)),
        n_held_out_rows=int(n_held_out),
        typical=str(table.typical[r]),
        precision=significant(table.precision[r]),
        coverage=significant(table.coverage[r]),
        features=[str(table.feature_names[k]) for k in largest],
        coefficients=[significant(table.coefficients[r][k]) for k in largest],
        spreads=[_spread(material, k, table.labels == r) for k in table.features[r]]
        if with_spreads and np.isnan(table.precision[r])
        else [],
    )


def _spread(material: FitMaterial, feature: int, in_region: Array) -> Spread:
    """Return how a column is spread, in bins between the ends of nearly all rows, or over its categories."""
    values = raw_values(material, material.study, feature)
    saying = sayings_of(material.fitted, Terms.of(material.fitted), [feature])[0]
    levels = None
    if is_category(material, feature, values):
        named, codes, counts = np.unique(values.astype(str), return_inverse=True, return_counts=True)
        kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
        tables = [np.bincount(codes[rows], minlength=len(named))[kept] for rows in (in_region, slice(None))]
        levels = [str(level) for level in named[kept]]
    else:
        numbers = values.astype(np.float64)
        low, high = np.nanquantile(numbers, [0.005, 0.995])
        numbers = np.clip(numbers, low, high)
        tables = [
            np.histogram(rows[~np.isnan(rows)], _BINS, (low, high) if high > low else None)[0]
            for rows in (numbers[in_region], numbers)
        ]
    shares = [table / max(table.sum(), 1) for table in tables]
    largest = max(float(np.max(share)) for share in shares) or 1.0
    differences = shares[0] - shares[1]
    most = int(np.argmax(np.abs(differences)))
    return Spread(
        name=saying.name,
        levels=levels,
        in_region=[significant(each, 3) for each in shares[0] / largest],
        in_all=[significant(each, 3) for each in shares[1] / largest],
        first=saying.shown(low) if levels is None else levels[most],
        last=saying.shown(high) if levels is None else ("more" if differences[most] > 0 else "fewer"),
    )
