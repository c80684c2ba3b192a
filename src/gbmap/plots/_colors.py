"""What a map is coloured by: the target, the prediction, the loss, a column, or values of the user's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.frames import names_of
from gbmap._utils.missing import is_missing
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap._utils.typing import Array


def color_of(
    fitted: FittedModel, model: Any, X: Any, y: Any, color: Any, output: Any, rows: Array
) -> tuple[Array, str]:
    """Return what to colour some of the rows by, and its name; classes as an array of objects."""
    if color is None:
        color = "prediction" if y is None else "target"
    if not isinstance(color, str) and np.ndim(color) == 1:
        return _values(color, num_samples(X), rows), getattr(color, "name", None) or ""
    if not isinstance(color, str) or color not in ("target", "prediction", "loss"):
        return _column(fitted, X, color, rows), str(color)
    if color != "prediction" and y is None:
        raise ValueError(f"color={color!r} needs y.")
    some = safe_indexing(X, rows)
    if color == "prediction":
        return _of_output(fitted, model.predict(some), output), "prediction"
    targets = safe_indexing(y, rows)
    if color == "target":
        return _of_output(fitted, np.asarray(targets), output), "target"
    losses = fitted.predictor.losses_of(targets, fitted.full_score(some))
    return losses.mean(axis=1) if output is None else losses[:, fitted.output_index(output)], "loss"


def _values(color: Any, n_rows: int, rows: Array) -> Array:
    values = np.asarray(color)
    if len(values) != n_rows:
        raise ValueError(f"color must have as many values as X has rows, {n_rows}, got {len(values)}.")
    return values[rows]


def _column(fitted: FittedModel, X: Any, column: Any, rows: Array) -> Array:
    """Return the values of a column by its name, or its position."""
    if hasattr(X, "columns") and column in names_of(X):
        return _numbers_if_all(np.asarray(X[column])[rows])
    position = fitted.feature_index(column, "color")
    values = fitted.as_asked(safe_indexing(X, rows))
    if hasattr(X, "columns"):
        return _numbers_if_all(np.asarray(values[fitted.feature_names[position]]))
    return (
        dense(values[:, [position]])[:, 0] if hasattr(values, "toarray") else np.asarray(values)[:, position]
    )


def _numbers_if_all(values: Array) -> Array:
    """Return a column of objects as numbers if all that it holds are, but for missing ones."""
    missing = np.array([is_missing(value) for value in values])
    if values.dtype != object or not all(isinstance(value, int | float) for value in values[~missing]):
        return values
    return np.where(missing, np.nan, np.where(missing, 0, values).astype(np.float64))


def _of_output(fitted: FittedModel, values: Array, output: Any) -> Array:
    """Return targets or predictions as one column; classes as objects, not to pass for numbers."""
    if hasattr(fitted.model, "classes_"):
        return values.reshape(-1).astype(object)
    if values.ndim == 1:
        return values
    if output is None and values.shape[1] > 1:
        raise ValueError(
            f"output must be given to colour by one of {values.shape[1]} targets, one of "
            f"{list(range(values.shape[1]))}; or pass the values to colour by."
        )
    return values[:, fitted.output_index(output) if values.shape[1] > 1 else 0]
