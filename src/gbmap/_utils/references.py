"""Simple models that one is compared with."""

from __future__ import annotations

import warnings
from typing import Any

import scipy.sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def fit_references(X: Any, y: Any, *, is_classifier: bool, max_iter: int) -> tuple[Any, Any]:
    """Return a linear model and a constant, fitted; whether the linear one has converged is not told."""
    linear, constant = Ridge(), DummyRegressor()
    if is_classifier:
        linear, constant = LogisticRegression(max_iter=max_iter), DummyClassifier(strategy="prior")
    scaler = StandardScaler(with_mean=not scipy.sparse.issparse(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(scaler, linear).fit(X, y), constant.fit(X, y)
