"""f_0, the model that boosting starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from gbmap._core.arrays import to_numpy
from gbmap._utils.typing import Array

# Probabilities beyond these would give log-odds that no later learner can take back.
_CLIP = 1e-6


def fit_initial(init: Any, X: Any, y: Array, sample_weight: Array | None) -> Any:
    """Return a fitted clone of an estimator; a callable as it is."""
    if not hasattr(init, "fit"):
        return init
    weighted = sample_weight is not None and has_fit_parameter(init, "sample_weight")
    return clone(init).fit(X, y, **({"sample_weight": sample_weight} if weighted else {}))


def initial_score(init: Any, X: Any, n_outputs: int, classes: Array | None) -> Array | float:
    """Return f_0(X), of shape (n, n_outputs): a prediction, or for classes a score (log-odds); 0 for none."""
    if init is None:
        return 0.0
    if not hasattr(init, "fit"):
        score = _numbers(init(X))
    elif classes is None:
        score = _numbers(init.predict(X))
    else:
        score = _class_score(init, X, classes)
    score = score.reshape(len(score), -1)
    if score.shape[1] != n_outputs or not np.isfinite(score).all():
        raise ValueError(
            f"init must give {n_outputs} finite score(s) for each row, got an array of shape {score.shape}"
            f"{'' if np.isfinite(score).all() else ' with values that are not finite'}."
        )
    return score


def _class_score(init: Any, X: Any, classes: Array) -> Array:
    if not np.array_equal(init.classes_, classes):
        raise ValueError(
            f"init must have been fitted to the same classes as y, {list(classes)}, "
            f"but its classes_ are {list(init.classes_)}."
        )
    return class_score(init, X)


def class_score(classifier: Any, X: Any) -> Array:
    """Return the log-odds of the second of two classes, or of each of several against the rest."""
    if hasattr(classifier, "predict_proba"):
        p = np.clip(_numbers(classifier.predict_proba(X)), _CLIP, 1 - _CLIP)
        score: Array = np.log(p / (1 - p))
        return score[:, 1] if len(classifier.classes_) == 2 else score
    return _numbers(classifier.decision_function(X))


def _numbers(array: Any) -> Array:
    return to_numpy(array).astype(np.float64)
