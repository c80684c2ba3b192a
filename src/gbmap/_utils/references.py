"""Simple models that one is compared with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap._utils.glossary import METRICS

# Of more rows any small ridge is as good as the best, which leave-one-out finds among these.
_FEW_ROWS, _RIDGES = 20_000, np.logspace(-2, 5, 15)
# A model that explains more of the target than this share is better than another.
_AS_GOOD = 0.01


def fit_references(X: Any, y: Any, *, is_classifier: bool, max_iter: int) -> tuple[Any, Any]:
    """Return a linear model and a constant, fitted; whether the linear one has converged is not told."""
    linear, constant = (RidgeCV(_RIDGES) if len(y) <= _FEW_ROWS else Ridge()), DummyRegressor()
    if is_classifier:
        linear, constant = LogisticRegression(max_iter=max_iter), DummyClassifier(strategy="prior")
    scaler = StandardScaler(with_mean=not scipy.sparse.issparse(X))
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):  # one row tells no ridge
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(scaler, linear).fit(X, y), constant.fit(X, y)


def simpler_as_good(models: Sequence[Mapping[str, float | None]], loss: Any) -> str | None:
    """Return a sentence if a simple model does as well on held-out rows, None if not.

    Given are the scores of a GBMAP of some loss, of a linear model and of a constant. They are compared by
    R2, or by the absolute error if the loss is not the square; of classes by the log loss, or by the accuracy
    without probabilities. Errors count as shares of the constant's.
    """
    keys = (
        ["log_loss", "accuracy"] if "accuracy" in models[0] else ["r2" if loss == "squared_error" else "mae"]
    )
    found = {key: [score for each in models if (score := each.get(key)) is not None] for key in keys}
    key = next((key for key in keys if len(found[key]) == len(models)), None)
    if key is None:
        return None
    scores = found[key]
    unit = -scores[-1] if key in ("mae", "log_loss") else 1.0
    if unit == 0:
        return None
    gains = [score / unit for score in scores]  # higher is better
    best = max(gains[1:])
    if gains[0] > best + _AS_GOOD:
        return None
    name, simple = ("A constant", 2) if gains[2] >= best - _AS_GOOD else ("A linear model", 1)
    verdict = "better" if gains[simple] > gains[0] + _AS_GOOD else "as well"
    difference = scores[simple] - scores[0]
    side = "higher" if difference > 0 else "lower"
    hint = "" if simple == 1 else "; the columns may say nothing about the target"
    shown = f"{scores[simple]:.3g}"
    beside = f"{abs(difference):.2g} {side} than that of the GBMAP"
    if shown == f"{scores[0]:.3g}":
        beside = "as that of the GBMAP"
    return f"{name} does {verdict} on these rows: its {METRICS[key].name} is {shown}, {beside}{hint}."
