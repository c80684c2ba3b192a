"""f_0, the model that boosting starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from gbmap._core.arrays import to_numpy
from gbmap._utils.typing import Array

# Probabilities beyond these would give log-odds that no later learner can take back.
CLIP = 1e-6


@dataclass(frozen=True)
class InitialModel:
    """f_0: an estimator, a function of rows, or None for zero.

    Attributes
    ----------
    model : estimator, callable or None
    n_outputs : int
        K.
    classes : array or None
        The labels that f_0 gives scores of, or None for numbers.
    """

    model: Any
    n_outputs: int
    classes: Array | None = None

    def fitted_to(self, X: Any, y: Array, sample_weight: Array | None) -> InitialModel:
        """Return the same with a fitted clone of an estimator; a callable stays as it is."""
        if not hasattr(self.model, "fit"):
            return self
        weighted = sample_weight is not None and has_fit_parameter(self.model, "sample_weight")
        weight = {"sample_weight": sample_weight} if weighted else {}
        return replace(self, model=clone(self.model).fit(X, y, **weight))

    def score(self, X: Any) -> Array | float:
        """Return f_0(X), of shape (n, K): a prediction, or for classes a score (log-odds); 0 for none."""
        if self.model is None:
            return 0.0
        if not hasattr(self.model, "fit"):
            score = _numbers(self.model(X))
        elif self.classes is None:
            score = _numbers(self.model.predict(X))
        else:
            self._check_classes(self.classes)
            score = class_score(self.model, X)
        score = score.reshape(len(score), -1)
        if score.shape[1] != self.n_outputs or not np.isfinite(score).all():
            raise ValueError(
                f"init must give {self.n_outputs} finite score(s) for each row, got an array of shape "
                f"{score.shape}{'' if np.isfinite(score).all() else ' with values that are not finite'}."
            )
        return score

    def _check_classes(self, classes: Array) -> None:
        if not np.array_equal(self.model.classes_, classes):
            raise ValueError(
                f"init must have been fitted to the same classes as y, {list(classes)}, "
                f"but its classes_ are {list(self.model.classes_)}."
            )


def class_score(classifier: Any, X: Any) -> Array:
    """Return the log-odds of the second of two classes, or of each of several against the rest."""
    if hasattr(classifier, "predict_proba"):
        p = np.clip(_numbers(classifier.predict_proba(X)), CLIP, 1 - CLIP)
        score: Array = np.log(p / (1 - p))
        return score[:, 1] if len(classifier.classes_) == 2 else score
    return _numbers(classifier.decision_function(X))


def _numbers(array: Any) -> Array:
    return to_numpy(array).astype(np.float64)
