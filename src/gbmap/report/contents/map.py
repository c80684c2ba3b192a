"""The map: where the rows lie, what they hold, and why each is predicted as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from gbmap._fitted.axes import axis_signs
from gbmap._fitted.model import dense
from gbmap._utils.missing import plain_labels
from gbmap._utils.typing import Array
from gbmap.report._material import Material, Rows
from gbmap.report._rounding import rounded, significant, spread_of
from gbmap.report.contents.columns import Column, read_columns
from gbmap.report.contents.explanations import Explanations

_BYTES, _BYTES_OF_NUMBER = 4_300_000, 6.5  # of the rows on the page
_MOST_EIGENVECTORS = 1000
_MOST_COORDINATES, _MOST_OF_MANY = 40, 24  # of one output, of several
_MOST_FEATURES = 8  # of one explanation
_FINE_CELLS = 150_000  # of columns, up to which there is room for one more digit


@dataclass(frozen=True)
class Plane:
    """Two principal components (one if there is no second): a list of values each, and shares of variance."""

    values: list[list[Any]]
    shares: list[float | None]


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of the embedding: what the learner of that name adds to each row."""

    name: str
    values: list[Any]


@dataclass(frozen=True)
class Reasons:
    """Why each row has its score, for one output: score = initial + base + sum of adds + rest."""

    base: float | None  # h of the average training row
    features: list[list[int]]  # the features that add the most to a row, the largest first
    adds: list[list[Any]]  # what they add
    # The change of the score per unit of the feature at the row; for a category, what it adds over the
    # average training row on the local linear model.
    coefficients: list[list[Any]]
    rest: list[Any]  # what all other features add
    initial: list[Any] | None  # what the initial model f_0 gives; None if there is none


@dataclass(frozen=True)
class Map:
    """The rows on the map, column by column; new rows come last."""

    kinds: list[str]  # "training", "held out" and perhaps "new"
    # Rows of each kind that there are, and that are on the map.
    n_given: list[int]
    n_shown: list[int]
    kind: list[int]  # of each row, as a position in `kinds`
    labels: list[str]  # the label of each row in the index of its frame, else its position
    # Numbers; for classes, positions among the classes. None for a row without a target.
    target: list[Any]
    prediction: list[Any]
    # Target less prediction; for classes, one less the probability of the true class, or the loss if there
    # are no probabilities.
    error: list[Any]
    error_name: str
    scores: list[list[Any]]  # f of each output shown; for classes, a score (log-odds for the log loss)
    probability: list[list[Any]] | None  # of the class of each output shown
    coordinates: list[Coordinate]
    n_coordinates: int  # how many there are; those that vary the most are shown
    # Of the embedding; of the model's inputs in standard deviations.
    embedding_pca: Plane
    original_pca: Plane
    columns: list[Column]  # as many as there is room for, the most important first
    reasons: list[Reasons]  # for each output shown


def draw_map(material: Material, explained: Explanations, order: Array) -> Map:
    """Place the rows, in the order of importance of the columns."""
    points = material.points
    n_rows, n_outputs = explained.score.shape
    most_features = min(_MOST_FEATURES, max(4, 40 // n_outputs), len(order))
    coordinates = _coordinates(material)
    used = n_rows * (len(coordinates) + n_outputs * (3 * most_features + 2) + 8) * _BYTES_OF_NUMBER
    digits = 3 if n_rows * len(order) <= _FINE_CELLS else 2
    return Map(
        kinds=[rows.kind for rows in points],
        n_given=[rows.n_given for rows in points],
        n_shown=[len(rows) for rows in points],
        kind=[kind for kind, rows in enumerate(points) for _ in range(len(rows))],
        labels=[label for rows in points for label in rows.labels],
        **_outcomes(material, explained),
        scores=[rounded(score) for score in explained.score.T],
        coordinates=coordinates,
        n_coordinates=len(material.fitted.ensemble),
        embedding_pca=_plane(material, _embedding),
        original_pca=_plane(material, _standard),
        columns=read_columns(material, order, digits, _BYTES - int(used)),
        reasons=[_reasons(explained, k, material, most_features) for k in range(n_outputs)],
    )


def _outcomes(material: Material, explained: Explanations) -> dict[str, Any]:
    """Return targets, predictions, errors and probabilities."""
    if not material.is_classifier:
        y = material.stack(lambda rows: np.full(len(rows), np.nan) if rows.y is None else rows.y)
        y, f = y.astype(np.float64), explained.score[:, 0]
        spread = spread_of(y)
        return {
            "target": rounded(y, spread=spread),
            "prediction": rounded(f, spread=spread),
            "error": rounded(y - f, spread=spread),
            "error_name": "target less prediction",
            "probability": None,
        }
    model: Any = material.fitted.model
    truth = material.stack(lambda rows: _codes(model, rows))
    score = material.stack(lambda rows: material.fitted.full_score(rows.X))
    decided = np.searchsorted(model.classes_, material.fitted.predictor.labels.decided(score))
    return {
        "target": [None if code < 0 else code for code in truth.tolist()],
        "prediction": decided.tolist(),
        **_class_errors(material, score, truth),
    }


def _codes(model: Any, rows: Rows) -> Array:
    codes = np.full(len(rows), -1)
    if rows.y is not None:
        known = rows.known(model)
        codes[known] = np.searchsorted(model.classes_, plain_labels(rows.y[known]))
    return codes


def _class_errors(material: Material, score: Array, truth: Array) -> dict[str, Any]:
    predictor = material.fitted.predictor
    missing = np.where(truth < 0, np.nan, 0.0)
    if not predictor.gives_probabilities:
        sides = truth == 1 if score.shape[1] == 1 else truth[:, None] == np.arange(score.shape[1])
        targets = np.where(sides, 1.0, -1.0).reshape(score.shape)
        loss = predictor.row_losses(targets, score).mean(axis=1)
        return {"error": rounded(loss + missing), "error_name": "loss", "probability": None}
    p = predictor.probabilities(score)
    shown = [k + (score.shape[1] == 1) for k in material.outputs]
    return {
        "error": rounded(1 - p[np.arange(len(p)), truth] + missing, spread=1.0),
        "error_name": "one less the probability of the true class",
        "probability": [rounded(p[:, k], spread=1.0) for k in shown],
    }


def _embedding(material: Material, rows: Rows) -> Array:
    ensemble = material.fitted.ensemble
    return material.fitted.map(ensemble.embed, material.fitted.read(rows.X), len(ensemble))


def _standard(material: Material, rows: Rows) -> Array:
    fitted = material.fitted
    return (dense(fitted.read(rows.X)) - fitted.input_mean) / fitted.input_scale


def _coordinates(material: Material) -> list[Coordinate]:
    phi = material.stack(lambda rows: _embedding(material, rows))
    n_outputs = material.fitted.ensemble.n_outputs
    shown = np.flatnonzero(np.isin(np.arange(phi.shape[1]) % n_outputs, material.outputs))
    largest = np.argsort(-phi[:, shown].std(axis=0), kind="stable")[
        : _MOST_COORDINATES if n_outputs == 1 else _MOST_OF_MANY
    ]
    spread, names = spread_of(phi), material.fitted.coordinate_names
    return [
        Coordinate(str(names[j]), rounded(phi[:, j], spread=spread)) for j in np.sort(shown[largest]).tolist()
    ]


def _plane(material: Material, place: Callable[[Material, Rows], Array]) -> Plane:
    """Return principal components of the rows that are not new, and where all rows lie on them."""
    known = np.concatenate([place(material, rows) for rows in material.points[:2]])
    n_components = min(2, *known.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        pca = PCA(n_components, svd_solver=_solver(known), random_state=0).fit(known)
    signs = axis_signs(pca.transform(known), known.sum(axis=1) if place is _embedding else None)
    values = material.stack(lambda rows: signs * pca.transform(place(material, rows)))
    return Plane(
        values=[rounded(column, digits=3) for column in values.T],
        shares=[significant(share, 4) for share in pca.explained_variance_ratio_],
    )


def _solver(values: Array) -> str:
    """Return the fast way: by the covariance of the columns, unless there is none or they are too many."""
    if len(values) == 1:
        return "full"
    return "covariance_eigh" if values.shape[1] <= _MOST_EIGENVECTORS else "randomized"


def _reasons(explained: Explanations, k: int, material: Material, most: int) -> Reasons:
    """Return the largest shares of each row, rounded, and a rest that makes them add up to the score."""
    adds = explained.adds[:, :, k]
    largest = np.argsort(-np.abs(adds), axis=1, kind="stable")[:, :most]
    spread = spread_of(explained.score[:, k]) or 1.0
    shown = np.take_along_axis(adds, largest, axis=1)
    slopes = np.take_along_axis(explained.coefficients[:, :, k], largest, axis=1)
    has_initial = material.fitted.model.init_ is not None
    return Reasons(
        base=significant(explained.base[k]),
        features=largest.tolist(),
        adds=rounded(shown, digits=3, spread=spread),
        coefficients=[[significant(slope, 3) for slope in row] for row in slopes],
        rest=rounded(adds.sum(axis=1) - shown.sum(axis=1), digits=3, spread=spread),
        initial=rounded(explained.initial[:, k], digits=3, spread=spread) if has_initial else None,
    )
