"""The models that one is compared with, on the same rows, each with the seconds that its fit took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

from gbmap._fitted.model import dense
from gbmap._utils.references import fit_references
from gbmap._utils.sampling import sample_rows
from gbmap._utils.typing import Array
from gbmap.report._material import FitMaterial

TREES = "scikit-learn's HistGradientBoosting"
# A tree takes as long as it has rows and columns, and each class has a hundred of its own. Of many classes or
# columns even few rows would take seconds.
_TREE_ROWS, _TREE_CELLS = 20_000, 300_000
_MOST_CLASSES, _MOST_COLUMNS = 10, 700  # columns of all classes together
_MOST_CODES = 255  # of a column of categories, as many as there may be


@dataclass(frozen=True)
class Reference:
    """A fitted model of comparison, and what it predicts the held-out rows from."""

    name: str
    model: Any
    inputs: Any
    n_rows: int  # that it was fitted to
    seconds: float | None


def references(material: FitMaterial) -> Iterator[Reference]:
    """Yield trees on the model's columns, and a linear model and a constant on its inputs but for bends."""
    yield from _trees(material)
    training, held_out = material.training, material.held_out
    inputs, inputs_test = (_straight_inputs(material, rows.X) for rows in (training, held_out))
    start = perf_counter()
    fitted = fit_references(inputs, training.y, is_classifier=material.is_classifier, max_iter=200)
    seconds = (perf_counter() - start, None)
    for name, model, each in zip((linear_name(material), "a constant"), fitted, seconds):
        yield Reference(name, model, inputs_test, len(training), each)


def linear_name(material: Any) -> str:
    """Return what the linear model is called."""
    return "logistic regression" if material.is_classifier else "ridge regression"


def _straight_inputs(material: FitMaterial, X: Any) -> Any:
    """Return the inputs that a linear model has: with bends it would be none."""
    return material.fitted.read(X)[:, np.flatnonzero(material.fitted.columns.kind != "bend")]


def _trees(material: FitMaterial) -> Iterator[Reference]:
    """Yield boosted trees with their defaults, on no more rows than take a moment."""
    training, fitted = material.training, material.fitted
    n_trees = fitted.ensemble.n_outputs
    n_columns = n_trees * fitted.inputs.n_columns
    if n_trees > _MOST_CLASSES or n_columns > _MOST_COLUMNS:
        return
    most = min(_TREE_ROWS // n_trees, _TREE_CELLS // n_columns)
    chosen = sample_rows(len(training), most, 0)
    y = np.asarray(training.y)[chosen]
    counts = np.unique(y, return_counts=True)[1]
    if material.is_classifier and len(counts) < 2:
        return
    X = dense(fitted.read_given(training.X)[chosen])
    kind = HistGradientBoostingClassifier if material.is_classifier else HistGradientBoostingRegressor
    settings: dict[str, Any] = {"random_state": 0}
    if material.is_classifier and counts.min() < 2:
        settings["early_stopping"] = False  # which would hold out a row of each class
    is_known = ~np.isnan(X).all(axis=0)  # trees find no bins in nothing
    if not is_known.any():
        return
    is_category = _categories(material) & is_known
    coded = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MOST_CODES
    )
    before = make_column_transformer(
        (coded, np.flatnonzero(is_category)), ("passthrough", np.flatnonzero(is_known & ~is_category))
    )
    trees = make_pipeline(before, kind(categorical_features=np.arange(is_category.sum()), **settings))
    start = perf_counter()
    # Threads that wait for each other at each node are a hundred times slower on a machine that is busy.
    with threadpool_limits(1, user_api="openmp"):
        trees.fit(X, y)
    seconds = perf_counter() - start
    inputs = dense(fitted.read_given(material.held_out.X))
    yield Reference(TREES, trees, inputs, len(chosen), seconds)


def _categories(material: FitMaterial) -> Array:
    """Return which columns that the GBMAP is given hold codes of categories."""
    inputs, known = material.fitted.inputs, material.fitted.predictor.fitted_inputs.categories
    is_category = np.zeros(inputs.n_columns, dtype=bool)
    is_category[inputs.category_source] = True
    return is_category if known is None else np.array([levels is not None for levels in known])
