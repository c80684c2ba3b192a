"""The model that is watched for drift: its score, its embedding and its loss, whatever kind it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from gbmap._base import BaseGBMAP
from gbmap._initial import class_score
from gbmap._subject import Subject
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor

Array = NDArray[Any]


@dataclass(frozen=True)
class Watched:
    """A fitted model f and the GBMAP whose embedding says which rows are near.

    Attributes
    ----------
    subject : Subject
        The GBMAP: the model itself, or one fitted to the predictions of a foreign model.
    foreign : estimator or None
        The model, if it is no GBMAP.
    """

    subject: Subject
    foreign: Any = None

    @property
    def classes(self) -> Array | None:
        """The classes, or None for regression."""
        classes: Array | None = getattr(self.model, "classes_", None)
        return classes

    @property
    def output_names(self) -> Array | None:
        """The classes, or the numbers of the targets, of shape (K,); None if there is one output only."""
        names = self.subject.output_names
        return names if names is None or self.classes is None else self.classes

    @property
    def model(self) -> Any:
        """The estimator that makes the predictions."""
        return self.subject.model if self.foreign is None else self.foreign

    def embed(self, inputs: Any) -> Array:
        """Return phi of the GBMAP's inputs, of shape (n, M)."""
        ensemble = self.subject.ensemble
        return self.subject.map(ensemble.embed, inputs, len(ensemble))

    def score(self, X: Any, inputs: Any) -> Array:
        """Return f - f_0 of rows, of shape (n, K); f itself for a foreign model."""
        if self.foreign is None:
            return self.subject.score(inputs)
        return _foreign_score(self.foreign, X)

    def values(self, X: Any, y: Array, score: Array) -> Array:
        """Return what rows contribute as neighbours, (n, K): y - f_0, or for classes their scores."""
        if self.classes is not None:
            return score
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        return targets if self.foreign is not None else targets - self.subject.initial_score(X)

    def losses(self, X: Any, y: Array) -> Array:
        """Return the loss of each row, of shape (n,): the model's own, averaged over outputs."""
        if self.foreign is None:
            targets = self.subject.read_targets(y, len(y))
            each: Array = self.subject.row_losses(targets, self.subject.full_score(X)).mean(axis=1)
            return each
        score = _foreign_score(self.foreign, X)
        if self.classes is None:
            squares: Array = ((np.asarray(y, dtype=np.float64).reshape(len(y), -1) - score) ** 2).mean(axis=1)
            return squares
        positive = self.classes[1:] if len(self.classes) == 2 else self.classes
        sign = np.where(np.asarray(y)[:, None] == positive, 1.0, -1.0)
        logistic: Array = np.logaddexp(0.0, -sign * score).mean(axis=1)
        return logistic

    def loss_of_error(self, size: Array) -> Array:
        """Return the loss if every output is off by `size`, (n,) -> (n,); the mean over both directions.

        A score of classes that is off by one costs at most one, by the logistic loss.
        """
        if self.classes is not None:
            return size
        if self.foreign is not None:
            squares: Array = size**2
            return squares
        error = np.repeat(size[:, None], self.subject.ensemble.n_outputs, axis=1)
        zero = np.zeros_like(error)
        both = self.subject.row_losses(zero, error) + self.subject.row_losses(zero, -error)
        each: Array = both.mean(axis=1) / 2
        return each

    def faithfulness(self, X: Any) -> float | None:
        """Return R2 of the GBMAP on a foreign model's predictions; None if the model is a GBMAP."""
        if self.foreign is None:
            return None
        score = _foreign_score(self.foreign, X)
        return float(r2_score(score, self.subject.full_score(X), multioutput="variance_weighted"))


def watch(estimator: Any, X: Any, y: Array, surrogate: Any = None) -> Watched:
    """Return the model to watch: fitted, if it is not yet, and with an embedding, if it has none."""
    if isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if estimator is None:
        estimator = GBMAPRegressor() if _is_continuous(y) else GBMAPClassifier()
    if not is_fitted(estimator):
        estimator = clone(estimator).fit(X, y)
    if is_gbmap(estimator):
        return Watched(Subject.of(estimator))
    if not is_classifier(estimator) and not is_regressor(estimator):
        raise TypeError(
            f"estimator must be a classifier or a regressor, got {type(estimator).__name__}; "
            "wrap other models in one."
        )
    surrogate = GBMAPRegressor(random_state=0) if surrogate is None else clone(surrogate)
    if not is_gbmap(surrogate) or is_classifier(surrogate):
        raise TypeError("surrogate must be a GBMAPRegressor, or a pipeline that ends in one.")
    score = _foreign_score(estimator, X)
    return Watched(Subject.of(surrogate.fit(X, score if score.shape[1] > 1 else score[:, 0])), estimator)


def is_gbmap(estimator: Any) -> bool:
    """Whether an estimator, fitted or not, is a GBMAP or a pipeline that ends in one."""
    while isinstance(estimator, Pipeline) and len(estimator):
        estimator = estimator[-1]
    if hasattr(estimator, "best_estimator_"):
        return is_gbmap(estimator.best_estimator_)
    return isinstance(estimator, BaseGBMAP)


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator is fitted."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _is_continuous(y: Array) -> bool:
    return bool(type_of_target(y).startswith("continuous"))


def _foreign_score(model: Any, X: Any) -> Array:
    """Return the predictions of a model, or for classes its scores, of shape (n, K)."""
    score = class_score(model, X) if is_classifier(model) else np.asarray(model.predict(X), dtype=np.float64)
    return score.reshape(len(score), -1)
