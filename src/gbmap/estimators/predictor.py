"""A fitted GBMAP as a function of rows, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gbmap._core.arrays import asarray_like, in_memory
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._core.losses import Loss
from gbmap._core.posterior import Posterior
from gbmap._fit.initial import InitialModel
from gbmap._fit.sources import kind_of
from gbmap._fit.sources.memory import frame_or
from gbmap._fit.targets import LabelReader, NumberReader, TargetReader
from gbmap._utils.scikit_learn import check_y
from gbmap._utils.typing import Array

# Embeddings in the units of a y of smaller spread leave the range of float32.
_FINE_FOR_FLOAT32 = 1e-30


@dataclass(frozen=True)
class FittedInputs:
    """What learners make of the columns of X.

    Attributes
    ----------
    inputs : Inputs
    mean, scale : arrays of shape (q,)
        Mean and spread of the inputs in training.
    categories : tuple of arrays, or None for columns of numbers
        What the codes of columns stand for; None if they stand for themselves.
    """

    inputs: Inputs
    mean: Array
    scale: Array
    categories: tuple[Array | None, ...] | None


@dataclass(frozen=True)
class Predictor:
    """f = f_0 + h, with h the sum of the learners.

    Attributes
    ----------
    estimator : BaseGBMAP
        Whose columns rows must have.
    ensemble : Ensemble
        The learners, of inputs.
    fitted_inputs : FittedInputs
        What these are made of.
    initial : InitialModel
        f_0.
    targets : TargetReader
        What y is.
    loss : Loss
    target_deviation : array of shape (K,)
        The spread of y - f_0 in the fit.
    posterior : Posterior or None
        The spread of the learners; None if the model was fitted before it was kept.
    """

    estimator: Any
    ensemble: Ensemble
    fitted_inputs: FittedInputs
    initial: InitialModel
    targets: TargetReader
    loss: Loss
    target_deviation: Array
    posterior: Posterior | None

    def read(self, X: Any) -> Any:
        """Return rows without targets, validated: categories as codes."""
        return kind_of(X).read_rows(self.estimator, X)

    def _map(self, function: Any, X: Any, n_columns: int, dtype: Any) -> Array:
        inputs = self.fitted_inputs.inputs
        of_rows = partial(_of_inputs, function, inputs)
        return kind_of(X).map(
            of_rows, X, max(n_columns, len(inputs)), n_columns, dtype, self.estimator.n_jobs
        )

    def embed(self, X: Any) -> Array:
        """Return phi, of shape (n, M), in X's type if that can hold it."""
        X = self.read(X)
        if self.target_deviation.min() > _FINE_FOR_FLOAT32:
            with suppress(FloatingPointError), np.errstate(over="raise"):
                return self._map(self.ensemble.embed, X, len(self.ensemble), X.dtype)
        return self._map(self.ensemble.embed, X, len(self.ensemble), np.float64)

    def scores(self, raw: Any) -> Array:
        """Return f, of shape (n, K)."""
        X = self.read(raw)
        h = self._map(self.ensemble.score, X, self.ensemble.n_outputs, np.float64)
        return _plus(h, self.initial.score(frame_or(X, raw)))

    @property
    def known_posterior(self) -> Posterior:
        """The spread of the learners; an error if it was not kept."""
        if self.posterior is None:
            raise ValueError(
                "this model comes from a version of gbmap that did not keep the spread of its learners; "
                "fit it anew to have it."
            )
        return self.posterior

    def deviations(self, X: Any) -> Array:
        """Return the standard deviation of a new y around f, of shape (n, K)."""
        spread = partial(self.known_posterior.deviation, self.ensemble, of_new=True)
        return self._map(spread, self.read(X), self.ensemble.n_outputs, np.float64)

    def staged_scores(self, raw: Any) -> Iterator[Array]:
        """Yield f after 1, 2, ... stages; the last is that of `scores` to the bit, being summed alike."""
        X, ensemble = self.read(raw), self.ensemble
        f_0 = self.initial.score(frame_or(X, raw))
        phi = self._map(ensemble.embed, X, len(ensemble), np.float64)
        for end in range(ensemble.n_outputs, len(ensemble) + 1, ensemble.n_outputs):
            yield _plus(ensemble[:end].sum_outputs(phi[:, :end]), f_0)

    @property
    def gives_probabilities(self) -> bool:
        """Whether scores tell how likely classes are."""
        return self.initial.classes is not None and self.loss.log_odds_per_score is not None

    @property
    def log_odds_per_score(self) -> float:
        """What a score is to be multiplied by to be log-odds."""
        assert self.loss.log_odds_per_score is not None
        return self.loss.log_odds_per_score

    def probabilities(self, score: Array) -> Array:
        """Return the probability of each class, of shape (n, n_classes), given f."""
        return self.labels.probabilities(score, self.loss)

    @property
    def gives_columns(self) -> bool:
        """Whether predictions of numbers have a column for each target."""
        return isinstance(self.targets, NumberReader) and self.targets.are_2d

    @property
    def labels(self) -> LabelReader:
        """What knows the classes."""
        assert isinstance(self.targets, LabelReader)
        return self.targets

    def initial_scores(self, raw: Any) -> Array:
        """Return f_0, of shape (n, K); zeros without an initial model."""
        X = self.read(raw)
        return np.broadcast_to(self.initial.score(frame_or(X, raw)), (X.shape[0], self.ensemble.n_outputs))

    @property
    def output_names(self) -> Array | None:
        """The classes, or the numbers of the targets, of shape (K,); None if there is one output only."""
        n_outputs, classes = self.ensemble.n_outputs, self.initial.classes
        return None if n_outputs == 1 else np.arange(n_outputs) if classes is None else classes

    @property
    def target_unit(self) -> Array:
        """The spread of y - f_0 that the fit divided by, of shape (K,); ones if it did not."""
        deviation = self.target_deviation
        return deviation if self.estimator.standardize else np.ones_like(deviation)

    def read_targets(self, y: Any, n_rows: int, name: str = "y") -> Array:
        """Return y as the engine sees it, of shape (n, K): numbers, or -1 and +1 for classes."""
        y = check_y(in_memory(y), estimator=self.estimator, **self.targets.rules)
        targets, n_outputs = self.targets.read(y, name), self.ensemble.n_outputs
        if len(targets) != n_rows:
            raise ValueError(f"{name} must have as many rows as X, {n_rows}, got {len(targets)}.")
        if targets.shape[1] != n_outputs:
            raise ValueError(
                f"{name} must have as many targets as in the fit, {n_outputs}, got {targets.shape[1]}."
            )
        return targets

    def losses_of(self, y: Any, score: Array) -> Array:
        """Return the loss of each row and output, given y and f."""
        return self.row_losses(self.read_targets(y, len(score)), score)

    def row_losses(self, targets: Array, score: Array) -> Array:
        """Return the loss of each row and output, in the units of y, of shape (n, K).

        The loss counts in standard units, as in the fit: what Huber's loss calls small depends on it.
        """
        unit = self.target_unit
        return unit**self.loss.degree * self.loss.value(targets / unit, score / unit)


def _of_inputs(function: Any, inputs: Inputs, rows: Any) -> Any:
    return function(inputs.of(rows))


def _plus(h: Any, f_0: Array | float) -> Any:
    return h + (asarray_like(f_0, h) if isinstance(f_0, np.ndarray) else f_0)


class ScoresInMemory:
    """What brings arrays of other libraries to scikit-learn's metrics, to stand before its mixins."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return how good predictions are: R2 of numbers, the accuracy of classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        here = (in_memory(each) for each in (X, y, sample_weight))
        return super().score(*here)  # type: ignore[misc]
