"""Two models side by side: what each says of the same rows, as arrays that can be subtracted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gbmap._core.arrays import in_memory
from gbmap._fit.initial import class_score
from gbmap._utils.scikit_learn import num_samples
from gbmap._utils.typing import Array

_ROUNDINGS = 16  # two ways to compute one prediction may end so many units of rounding apart


def shared_classes(first: Any, second: Any) -> Array | None:
    """Return the classes of two models, None if they predict numbers."""
    for name, model in (("first", first), ("second", second)):
        _check_fitted(model, name)
    known = [np.asarray(model.classes_) for model in (first, second) if hasattr(model, "classes_")]
    if len(known) == 1 and hasattr(first, "predict") and hasattr(second, "predict"):
        raise ValueError(
            "first and second must be two classifiers or two regressors, got "
            f"{type(first).__name__} and {type(second).__name__}; a regressor that predicts log-odds can be "
            "given as a callable, model.predict."
        )
    if len(known) == 2 and not np.array_equal(known[0], known[1]):
        raise ValueError(
            "first and second must have been fitted to the same classes, got "
            f"{known[0].tolist()} and {known[1].tolist()}."
        )
    return known[0] if known else None


def _check_fitted(model: Any, name: str) -> None:
    if isinstance(model, BaseEstimator):
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise NotFittedError(
                f"{name} must be fitted, but this {type(model).__name__} is not; call its fit first."
            ) from error


def predictions(model: Any, X: Any, name: str) -> Array:
    """Return what a model says of rows, of shape (n, K): predictions, or log-odds of a classifier."""
    if hasattr(model, "predict"):
        given = class_score(model, X) if hasattr(model, "classes_") else model.predict(X)
    else:
        given = model(X) if callable(model) else model
    given, n = np.asarray(in_memory(given)), num_samples(X)
    if given.ndim not in (1, 2) or len(given) != n:
        raise ValueError(
            f"{name} must give one prediction, or one for each output, for each of the {n} rows of X, got an "
            f"array of shape {given.shape}."
        )
    try:
        values = given if given.dtype == np.float32 else given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must predict numbers, got values such as {given.flat[0]!r}; for classes pass the "
            "classifier itself, or its log-odds."
        ) from error
    n_bad = n - int(np.isfinite(values.reshape(n, -1)).all(axis=1).sum())
    if n_bad:
        raise ValueError(
            f"{name} must predict finite numbers, got NaN or infinity for {n_bad} of the {n} rows of X; "
            "leave those rows out."
        )
    return values.reshape(n, -1)


def subtract(first: Array, second: Array) -> Array:
    """Return second - first, of shape (n, K); one that is constant up to rounding, as that constant."""
    if first.shape != second.shape:
        raise ValueError(
            f"first and second must have the same number of outputs, got {first.shape[1]} and "
            f"{second.shape[1]}."
        )
    eps = max(np.finfo(values.dtype).eps for values in (first, second))
    largest = np.maximum(np.abs(first), np.abs(second)).max(axis=0)
    noise = _ROUNDINGS * eps * largest.astype(np.float64)
    difference = second.astype(np.float64) - first
    mean = difference.mean(axis=0)
    constant = np.where(np.abs(mean) <= noise, 0.0, mean)
    return np.where(np.ptp(difference, axis=0) <= noise, constant, difference)


def output_names(classes: Array | None, n_outputs: int) -> Array | None:
    """Return the names of the outputs, classes or numbers, of shape (K,); None if there is one."""
    if n_outputs == 1:
        return None
    return classes if classes is not None and len(classes) == n_outputs else np.arange(n_outputs)


def refuse_arrays(first: Any, second: Any) -> None:
    """Refuse what cannot predict further rows."""
    for name, model in (("first", first), ("second", second)):
        if not (hasattr(model, "predict") or callable(model)):
            raise TypeError(
                f"lift needs {name} to predict further rows, but model_difference was given an array of "
                "predictions for it; give it the model, or a callable."
            )
