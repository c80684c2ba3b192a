"""How good a model is on rows that it has not seen, beside a linear model and a constant."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from gbmap._fitted.model import FittedModel
from gbmap._utils.references import fit_references
from gbmap._utils.typing import Array


def split(y: Array, share: float, *, classes: bool, seed: int) -> tuple[Array, Array]:
    """Return rows to fit and rows to hold out, at random: of every class the same share, but never all."""
    order = np.random.default_rng(seed).permutation(len(y))
    groups = np.unique(y[order], return_inverse=True)[1] if classes else np.zeros(len(y), dtype=int)
    held_out = np.zeros(len(y), dtype=bool)
    for group in range(int(groups.max()) + 1):
        members = order[groups == group]
        held_out[members[: min(round(share * len(members)), len(members) - 1)]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


@contextmanager
def without_doubts_about_classes() -> Iterator[None]:
    """Leave out what scikit-learn warns of few rows in a class, which a fit says once, of all rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        yield


def metrics(
    y: Array, predicted: Array, probabilities: Array | None, classes: Array | None
) -> dict[str, float]:
    """Return how good predictions are: r2, rmse, mae; or accuracy, log_loss, roc_auc, where they exist."""
    if classes is None:
        found = {"rmse": root_mean_squared_error(y, predicted), "mae": mean_absolute_error(y, predicted)}
        if len(y) > 1:
            found = {"r2": r2_score(y, predicted), **found}
        return {name: float(value) for name, value in found.items()}
    found = {"accuracy": accuracy_score(y, predicted)}
    if probabilities is not None and np.isin(y, classes).all():
        found["log_loss"] = log_loss(y, probabilities, labels=classes)
        if len(classes) == 2 and len(np.unique(y)) == 2:
            found["roc_auc"] = roc_auc_score(y == classes[1], probabilities[:, 1])
    return {name: float(value) for name, value in found.items()}


@without_doubts_about_classes()
def scores(model: Any, X: Any, y: Array, X_test: Any, y_test: Array) -> dict[str, dict[str, float]]:
    """Return the metrics on held-out rows of a fitted model, of a linear one and of a constant.

    The linear model meets the columns as the fitted one does, but for their bends.
    """
    classes, fitted = getattr(model, "classes_", None), FittedModel.of(model)
    straight = np.flatnonzero(fitted.columns.kind != "bend")
    inputs, inputs_test = (fitted.read(rows)[:, straight] for rows in (X, X_test))
    linear, constant = fit_references(inputs, y, is_classifier=classes is not None, max_iter=500)
    each = (("gbmap", model, X_test), ("linear", linear, inputs_test), ("constant", constant, inputs_test))
    return {
        name: metrics(y_test, one.predict(rows), probabilities(one, rows), classes)
        for name, one, rows in each
    }


def probabilities(model: Any, X: Any) -> Array | None:
    """Return the probabilities of the classes, None for a model that gives none."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else None
