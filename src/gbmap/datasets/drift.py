"""A split of a data set such that one part has drifted."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import column_or_1d

from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.shown import Result, Shown
from gbmap.datasets._random import RandomState, seed_sequence


@dataclass(frozen=True, eq=False, repr=False)
class DriftSplit(Result):
    """Rows of a data set, cut by one feature such that a part of them has drifted.

    Attributes
    ----------
    train : ndarray of int
        The paper's a1: a random half of the rows where the feature is small.
    test : ndarray of int
        The paper's a2: the other rows where the feature is small, distributed as the training rows.
    shifted : ndarray of int
        The paper's b: the rows where the feature is large.
    feature : column name or int
        The column that the rows were cut by: its name in a frame, its index in an array. Models are to be
        fitted without it.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.datasets import drift_split
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> split = drift_split(X, y, GBMAPRegressor(n_components=2), feature="bmi", random_state=0)
    >>> bool(X["bmi"].iloc[split.train].max() <= X["bmi"].iloc[split.shifted].min())
    True
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    shifted: NDArray[np.intp]
    feature: Hashable

    def _shown(self) -> Shown:
        parts = [f"{len(getattr(self, part)):,} {part}" for part in ("train", "test", "shifted")]
        return Shown(f"{', '.join(parts)} rows, cut by {self.feature}")


def drift_split(
    X: Any, y: Any, estimator: Any, *, feature: Hashable = None, random_state: RandomState = None
) -> DriftSplit:
    """Split a data set by the feature that induces the most drift.

    For each column the rows are sorted by it and cut into a lower half a and an upper half b; a is split at
    random into a1 and a2. Without the column, a clone of `estimator` is fitted on a1. The column whose mean
    loss on b exceeds that on a2 by most is kept.

    Parameters
    ----------
    X : ndarray or dataframe of shape (n_samples, n_features)
        The features. Text and unordered categories sort by their characters, ordered categories by their
        order; missing values come last and ties keep the order of the rows.
    y : array-like of shape (n_samples,)
        The target.
    estimator : classifier or regressor
        The model whose loss measures drift: the squared error of ``predict``, or for two classes the logistic
        loss of ``decision_function``; without that method or for more classes, the log loss of
        ``predict_proba``. As each column is missing once, a pipeline must not ask for columns by name.
    feature : column name or int, default=None
        Cut by this column at once, without a search and without a fit.
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed of the split of a. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    DriftSplit
        Sorted index arrays `train` (a1), `test` (a2) and `shifted` (b), and the `feature`.

    Notes
    -----
    A column is passed over if a1 lacks one of the classes.

    Examples
    --------
    The target rises most steeply where the second column is large.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from gbmap.datasets import drift_split
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = X[:, 0] + np.exp(2 * X[:, 1])
    >>> split = drift_split(X, y, LinearRegression(), random_state=0)
    >>> split.feature, len(split.train), len(split.test), len(split.shifted)
    (1, 100, 100, 200)
    """
    X, names = _as_table(X)
    y = column_or_1d(y)
    n = X.shape[0]
    if n < 4 or len(y) != n:
        raise ValueError(f"X and y must have the same number of rows, at least 4, got {n} and {len(y)}.")
    shuffled = np.random.default_rng(seed_sequence(random_state)).permutation(n // 2)

    if feature is not None:
        if feature not in names:
            raise ValueError(f"feature must be a column of X, one of {reprlib.repr(names)}, got {feature!r}.")
        return _split_at_half(X, names.index(feature), feature, shuffled)
    if len(names) < 2:
        raise ValueError(
            "X must have at least 2 columns to search for a feature, got 1; pass `feature` to cut by it."
        )

    if not hasattr(estimator, "fit") or not (is_regressor(estimator) or is_classifier(estimator)):
        raise ValueError(f"estimator must be a classifier or a regressor, got {type(estimator).__name__}.")
    best: DriftSplit | None = None
    largest = -math.inf
    for j, name in enumerate(names):
        split = _split_at_half(X, j, name, shuffled)
        others = [k for k in range(len(names)) if k != j]
        drift = _drift(split, safe_indexing(X, others, axis=1), y, estimator)
        if drift > largest:
            best, largest = split, drift
    if best is None:
        raise ValueError(
            "No column of X gives a split with a finite drift whose training rows hold every class of y; "
            "pass `feature` to cut by a column of your choice."
        )
    return best


def _as_table(X: Any) -> tuple[Any, list[Hashable]]:
    """Return X as a frame or a 2-D array, and its column names, which are indices for an array."""
    if nw.dependencies.is_into_dataframe(X):
        return X, list(nw.from_native(X, eager_only=True).columns)
    if issparse(X):
        raise ValueError("X must be a dense array or a dataframe, got a sparse one; pass `X.toarray()`.")
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D array or a dataframe, got {X.ndim} dimension(s).")
    return X, list(range(X.shape[1]))


def _split_at_half(X: Any, column: int, name: Hashable, shuffled: NDArray[np.int64]) -> DriftSplit:
    order = _ascending(X, column)
    half = len(shuffled)
    mixed = order[:half][shuffled]
    cut = (half + 1) // 2
    return DriftSplit(np.sort(mixed[:cut]), np.sort(mixed[cut:]), np.sort(order[half:]), name)


def _ascending(X: Any, column: int) -> NDArray[np.intp]:
    """Return the rows by increasing value of a column: stable, missing values last, text by characters."""
    missing: NDArray[np.bool_] | None = None
    if isinstance(X, np.ndarray):
        values = X[:, column]
    else:
        series = nw.from_native(X, eager_only=True)[:, column]
        if series.dtype == nw.Enum:
            rank = {category: i for i, category in enumerate(series.cat.get_categories().to_list())}
            return np.argsort([rank.get(v, len(rank)) for v in series.to_list()], kind="stable")
        values, missing = series.to_numpy(), series.is_null().to_numpy()
    if values.dtype != object:  # NaN and NaT sort last by themselves
        return np.argsort(values, kind="stable")
    if missing is None:
        missing = np.array([v is None or v != v for v in values], dtype=bool)
    present = np.flatnonzero(~missing)
    # Numbers and dates that came as objects compare as such; a mixture with text only compares as text.
    text = any(isinstance(v, str) for v in values[present])
    ordered = sorted(present, key=lambda i: str(values[i]) if text else values[i])
    return np.concatenate([np.asarray(ordered, dtype=np.intp), np.flatnonzero(missing)])


def _drift(split: DriftSplit, X: Any, y: NDArray[Any], estimator: Any) -> float:
    """Return the mean loss on the shifted rows less that on the test rows, or NaN if a1 lacks a class."""
    if is_classifier(estimator) and len(np.unique(y[split.train])) < max(2, len(np.unique(y))):
        return math.nan
    model = clone(estimator).fit(safe_indexing(X, split.train), y[split.train])
    test, shifted = (
        _losses(model, safe_indexing(X, rows), y[rows]).mean() for rows in (split.test, split.shifted)
    )
    return float(shifted - test)


def _losses(model: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the loss of each row: squared error, or logistic loss."""
    if is_regressor(model):
        error: NDArray[np.float64] = y.astype(np.float64) - np.ravel(model.predict(X))
        return error**2
    if len(model.classes_) == 2 and hasattr(model, "decision_function"):
        margin = np.where(y == model.classes_[1], 1.0, -1.0) * np.ravel(model.decision_function(X))
        return np.asarray(np.logaddexp(0.0, -margin), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            "estimator must have predict_proba, or decision_function if there are two classes, "
            f"got {type(model).__name__}; wrap it in CalibratedClassifierCV."
        )
    columns = np.searchsorted(model.classes_, y)
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)[np.arange(len(y)), columns]
    # The smallest positive number keeps a certain mistake finite, so that mean losses stay comparable.
    return -np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
