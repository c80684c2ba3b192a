"""The model that is monitored for drift: its score, its embedding and its loss, whatever kind it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import expit
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from gbmap._core.arrays import in_memory
from gbmap._fit.initial import class_score
from gbmap._fitted.model import FittedModel
from gbmap._fitted.table_reader import is_table_model
from gbmap._utils.missing import known_labels, plain_labels
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Outcome
from gbmap.drift._profile import BatchColumns, Profile
from gbmap.drift.loss_estimate import Beyond
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.estimators.base import BaseGBMAP, coordinate_names

_ULPS = 16  # by which numbers that are equal may differ, of the sizes of all that is added up
_ROWS_AT_A_TIME = 1 << 15  # scored together: bounds the memory for any number of rows
_LARGEST_LOG_ODDS = 14.0  # probabilities are clipped below
_COMPLETIONS = 8  # values that a missing one is tried with
_MOST_CLASSES = 20  # whole numbers with more different values are counts or amounts, not classes


@dataclass(frozen=True)
class ScoredRows:
    """Rows as the model sees them: read, projected, embedded and scored once.

    Attributes
    ----------
    inputs : array or CSR matrix of shape (n, q)
        The inputs of the GBMAP.
    z, phi : arrays of shape (n, M)
        The learners' w . x + c, and the embedding.
    scores : array of shape (n, K)
        f - f_0; f itself of a foreign model.
    gap : array of shape (n,), or None if no values are missing
        How far f is from where it might be were these known: the root of the mean square, over all outputs.
    strange : boolean array of shape (n,), or None if nothing is known of the columns
        Rows with categories that were not seen, or that miss values which were never missing.
    """

    inputs: Any
    z: Array
    phi: Array
    scores: Array
    gap: Array | None = None
    strange: Array | None = None


@dataclass(frozen=True)
class MonitoredModel:
    """A fitted model f and the GBMAP whose embedding says which rows are near.

    Attributes
    ----------
    model : estimator
        What makes the predictions, pipeline and all.
    fitted : FittedModel
        The GBMAP: the model itself, or one fitted to the predictions of a foreign model.
    profile : Profile or None
        What the columns held in training; None in files of before, and where they are sparse.
    completions : array of shape (S, p), or None
        Values that columns have, each by itself at even shares of its rows: what a missing one may have been.
    """

    model: Any
    fitted: FittedModel
    profile: Profile | None = None
    completions: Array | None = None

    def met(self, X: Any, given: Any) -> MonitoredModel:
        """Return the model with what is to be kept of the columns of the training rows, read already."""
        p = n_columns(X)
        known: list[Any] = [None] * p
        may_miss = np.zeros(p, dtype=bool)
        if self.foreign is None and self.fitted.preprocessing is None:
            categories = self.fitted.predictor.fitted_inputs.categories
            known = known if categories is None else list(categories)
            may_miss[self.fitted.inputs.missing_source] = True
        return replace(self, profile=Profile.of(X, known, may_miss), completions=_completions(given))

    @property
    def foreign(self) -> Any:
        """The model, if it is no GBMAP, else None."""
        return None if is_gbmap(self.model) else self.model

    @property
    def classes(self) -> Array | None:
        """The classes, or None for regression."""
        return getattr(self.model, "classes_", None)

    @property
    def output_names(self) -> Array | None:
        """The classes, or the numbers of the targets, of shape (K,); None if there is one output only."""
        names = self.fitted.output_names
        return names if names is None or self.classes is None else self.classes

    @property
    def coordinate_names(self) -> Array:
        """The names of the coordinates, of shape (M,); after the classes of a foreign model."""
        return coordinate_names(self.fitted.ensemble.n_stages, self.output_names)

    def columns_in(self, X: Any) -> BatchColumns | None:
        """Return what the columns of a batch hold; None if nothing is known of those of the fit."""
        return None if self.profile is None else self.profile.batch(X)

    def read(self, X: Any, given: Any = None) -> ScoredRows:
        """Return what is to be known of rows of the user's, of which may be known what the GBMAP is given."""
        given = self.fitted.read_given(X) if given is None else given
        rows = self.score(X, self.fitted.inputs.of(given))
        return replace(rows, gap=self._gap(given, rows.phi), strange=self._strange(X, given))

    def _strange(self, X: Any, given: Any) -> Array | None:
        """Return which rows are strange, told by what the GBMAP is given if that tells it."""
        if self.profile is None:
            return None
        if self._codes_tell:
            return self.profile.strange_codes(given)
        return np.asarray(self.profile.strange_columns(X).any(axis=1))

    def strange_columns(self, X: Any) -> Array | bool:
        """Return by which columns rows are strange, (n, p); False if nothing is known of the columns."""
        return False if self.profile is None else self.profile.strange_columns(X)

    @cached_property
    def _codes_tell(self) -> bool:
        """Whether the GBMAP is given the columns themselves, and codes of the categories of the profile."""
        if self.profile is None or self.foreign is not None or self.fitted.preprocessing is not None:
            return False
        categories = self.fitted.predictor.fitted_inputs.categories
        known = [None] * len(self.profile.names) if categories is None else categories
        return all(
            kind == "number" if of_model is None else levels is not None and len(levels) == len(of_model)
            for kind, levels, of_model in zip(self.profile.kinds, self.profile.levels, known)
        )

    def _gap(self, given: Any, phi: Array) -> Array | None:
        """Return how far f is from where it might be, were values that are not known those of other rows."""
        if self.completions is None or scipy.sparse.issparse(given):
            return None
        unknown = np.isnan(given)
        categories = self.fitted.predictor.fitted_inputs.categories
        if categories is not None:
            unknown |= (given < 0) & np.array([levels is not None for levels in categories])
        incomplete = np.flatnonzero(unknown.any(axis=1))
        if not len(incomplete):
            return None
        ensemble = self.fitted.ensemble
        here, squares = ensemble.sum_outputs(phi[incomplete]), np.zeros(len(incomplete))
        for values in self.completions:
            filled = np.where(unknown[incomplete], values, given[incomplete]).astype(given.dtype)
            there = self.fitted.score(self.fitted.inputs.of(filled))
            squares += np.abs(there - here).sum(axis=1) ** 2 / len(self.completions)
        gap = np.zeros(len(given))
        gap[incomplete] = np.sqrt(squares)
        return gap

    def score(self, X: Any, inputs: Any) -> ScoredRows:
        """Return what is to be known of rows of which the GBMAP's inputs are known."""
        ensemble = self.fitted.ensemble

        def project_and_embed(rows: Array) -> Array:
            z = ensemble.project(rows)
            return np.hstack([z, ensemble.embed_projected(z)])

        both = self.fitted.map(project_and_embed, inputs, 2 * len(ensemble))
        z, phi = (np.ascontiguousarray(half) for half in np.hsplit(both, 2))
        own = self.foreign is None
        return ScoredRows(
            inputs, z, phi, ensemble.sum_outputs(phi) if own else _foreign_score(self.foreign, X)
        )

    def rounding(self, inputs: Any, score: Array) -> float:
        """Return how far rounding may move a score, or an embedding distance, of most rows.

        The GBMAP's arithmetic runs in float64. Numbers that come from elsewhere, prepared inputs and foreign
        scores, have the digits of the inputs' type.
        """
        is_own = self.foreign is None and self.fitted.preprocessing is None
        eps = float(np.finfo(np.float64 if is_own else inputs.dtype).eps)

        def of_rows(rows: Array) -> Array:
            return self.fitted.ensemble.sizes(rows).sum(axis=1, keepdims=True)

        sizes = self.fitted.map(of_rows, inputs, 1)[:, 0]
        if self.foreign is not None:
            sizes += np.abs(score).sum(axis=1)
            if self.classes is not None:  # the log-odds of p lose digits as p comes near 0 or 1
                sizes += np.cosh(np.minimum(np.abs(score), _LARGEST_LOG_ODDS)).sum(axis=1)
        return _ULPS * eps * float(np.median(sizes))

    def initial_score(self, X: Any) -> Array | float:
        """Return f_0 of the GBMAP, of shape (n, K), or zero."""
        return 0.0 if self.fitted.model.init_ is None else self.fitted.initial_score(X)

    def values(self, X: Any, y: Array, score: Array) -> Array:
        """Return what rows contribute as neighbours, (n, K): y - f_0, or for classes their scores."""
        targets = self.targets(y, "y")
        if self.classes is not None:
            return score
        return targets if self.foreign is not None else targets - self.initial_score(X)

    def targets(self, y: Array, name: str) -> Array:
        """Return y as numbers, or -1 and +1 for classes, of shape (n, K); an error if they do not suit."""
        if self.foreign is None:
            return self.fitted.predictor.read_targets(y, len(y), name)
        if self.classes is None:
            numbers: Array = np.array(y, dtype=np.float64).reshape(len(y), -1)  # the caller's may change
            n_outputs = self.fitted.ensemble.n_outputs
            if numbers.shape[1] != n_outputs:
                raise ValueError(
                    f"{name} must have as many targets as the estimator predicts, {n_outputs}, "
                    f"got {numbers.shape[1]}."
                )
            return numbers
        known = self.classes.tolist()
        if unknown := [label for label in np.unique(y).tolist() if label not in known]:
            raise ValueError(f"{name} must hold classes of the estimator only, {known}, got {unknown} too.")
        positive = self.classes[1:] if len(self.classes) == 2 else self.classes
        return np.where(y[:, None] == positive, 1.0, -1.0)

    def outcome(self, X: Any, y: Array, scores: Array, name: str = "y") -> Outcome:
        """Return what became of rows: the model's own loss, a mean over outputs, and what people speak of."""
        f, known = self.outputs(X, scores), known_labels(y)
        if len(known) == len(y):
            return self.outcome_of(f, y, name)
        if not len(known):
            return Outcome(np.full(len(y), np.nan), {})
        return self.outcome_of(f[known], plain_labels(y[known]), name).among(known, len(y))

    def outputs(self, X: Any, scores: Array) -> Array:
        """Return what losses are taken of, (n, K): f of a GBMAP, the score of a foreign model."""
        return scores if self.foreign is not None else scores + self.initial_score(X)

    def outcome_of(self, f: Array, y: Array, name: str = "y") -> Outcome:
        """Return what became of rows of which the outputs are known."""
        targets = self.targets(y, name)
        if self.foreign is None:
            each = self.fitted.predictor.row_losses(targets, f)
        elif self.classes is None:
            each = (targets - f) ** 2
        else:
            each = np.logaddexp(0.0, -targets * f)
        metrics = self._metrics_of_numbers(targets, f) if self.classes is None else self._of_classes(y, f)
        return Outcome(each.mean(axis=1), metrics)

    @staticmethod
    def _metrics_of_numbers(targets: Array, f: Array) -> dict[str, Array]:
        errors = targets - f
        return {
            "squared_error": np.mean(errors**2, axis=1),
            "absolute_error": np.abs(errors).mean(axis=1),
        }

    def _of_classes(self, y: Array, f: Array) -> dict[str, Array]:
        assert self.classes is not None
        position = {label: k for k, label in enumerate(self.classes.tolist())}
        true = np.array([position[label] for label in y.tolist()], dtype=np.intp)
        predicted = (f[:, 0] > 0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)
        found = {"error": (predicted != true).astype(np.float64)}
        if self.foreign is None and not self.fitted.predictor.gives_probabilities:
            return found
        if self.foreign is None:
            p = self.fitted.predictor.probabilities(f)
        else:
            p = expit(np.hstack([-f, f]) if f.shape[1] == 1 else f)
        likely = np.clip(p[np.arange(len(true)), true], np.finfo(np.float64).tiny, 1.0)
        return found | {"log_loss": -np.log(likely)}

    def loss_of_error(self, size: Array) -> Array:
        """Return the loss if one output is off by `size`, (n,) -> (n,); the mean over both directions.

        A score of classes that is off by one costs at most one, by the logistic loss. Errors that sum to
        `size` over the outputs cost the most, by a convex loss, if all of it falls to one of them.
        """
        n_outputs = self.fitted.ensemble.n_outputs
        if self.classes is not None or self.foreign is not None:
            each: Array = size if self.classes is not None else size**2
            return each / n_outputs
        error = np.repeat(size[:, None], n_outputs, axis=1)
        zero = np.zeros_like(error)
        both = self.fitted.predictor.row_losses(zero, error) + self.fitted.predictor.row_losses(zero, -error)
        return both.mean(axis=1) / 2 / n_outputs

    @property
    def beyond(self) -> dict[str, Beyond]:
        """What an error of a size can add to each metric.

        Log-odds that are off by d change a probability by at most tanh(d / 4), and who guesses among K
        classes is wrong in a share 1 - 1 / K.
        """
        n_outputs = self.fitted.ensemble.n_outputs
        n_classes = 2 if self.classes is None else len(self.classes)
        return {
            "squared_error": Beyond(lambda size: size**2 / n_outputs),
            "absolute_error": Beyond(lambda size: size / n_outputs),
            "log_loss": Beyond(lambda size: size),
            "error": Beyond(lambda size: np.tanh(size / 4), 1.0, 1 - 1 / n_classes),
        }

    def faithfulness(self, X: Any, phi: Array, scores: Array) -> float | None:
        """Return R2 of the GBMAP on a foreign model's predictions; None if the model is a GBMAP."""
        if self.foreign is None:
            return None
        surrogate = self.fitted.ensemble.sum_outputs(phi) + self.initial_score(X)
        return float(r2_score(scores, surrogate, multioutput="variance_weighted"))


def monitor(estimator: Any, X: Any, y: Array, surrogate: Any, seed: int) -> MonitoredModel:
    """Return the model to monitor: fitted, if it is not yet, and with an embedding, if it has none."""
    if isinstance(estimator, FrozenEstimator):
        check_is_fitted(estimator)
        estimator = estimator.estimator
    if estimator is None:
        estimator = (GBMAPClassifier if _holds_classes(y) else GBMAPRegressor)(random_state=seed)
    if not is_fitted(estimator):
        estimator = clone(estimator).fit(X, y)
    if is_gbmap(estimator):
        return MonitoredModel(estimator, FittedModel.of(estimator))
    if is_table_model(estimator):
        raise TypeError(
            "estimator must take numbers and text, got a TableModel, which has an alarm of its own: take its "
            "detector_, with rows as its features() returns them."
        )
    if not is_classifier(estimator) and not is_regressor(estimator):
        raise TypeError(
            f"estimator must be a classifier or a regressor, got {type(estimator).__name__}; "
            "wrap other models in one."
        )
    surrogate = GBMAPRegressor(random_state=0) if surrogate is None else clone(surrogate)
    if not is_gbmap(surrogate) or is_classifier(surrogate):
        raise TypeError("surrogate must be a GBMAPRegressor, or a pipeline that ends in one.")
    score = _foreign_score(estimator, X)
    try:
        surrogate.fit(X, score if score.shape[1] > 1 else score[:, 0])
    except ValueError as error:
        raise ValueError(
            f"no GBMAP could be fitted to the predictions of this {type(estimator).__name__}: {error} Pass "
            "`surrogate`, a pipeline that prepares X as the estimator does and ends in a GBMAPRegressor."
        ) from error
    return MonitoredModel(estimator, FittedModel.of(surrogate))


def n_columns(X: Any) -> int:
    """Return how many columns rows have."""
    return len(X.columns) if hasattr(X, "columns") else int(X.shape[1])


def _completions(given: Any) -> Array | None:
    """Return values of each column at even shares of its rows, (S, p), in an order of its own.

    Together they are no row: each column is shuffled by itself.
    """
    if scipy.sparse.issparse(given):
        return None
    values, rng = np.full((_COMPLETIONS, given.shape[1]), np.nan), np.random.default_rng(0)
    shares = (np.arange(_COMPLETIONS) + 0.5) / _COMPLETIONS
    for k, column in enumerate(given.T):
        present = np.sort(column[~np.isnan(column)])
        if len(present):
            values[:, k] = rng.permutation(present[(shares * len(present)).astype(np.intp)])
    return values


def labels_of(y: Any) -> Array:
    """Return labels as an array, as they are."""
    values = np.asarray(in_memory(y))
    if values.ndim == 0:
        raise ValueError(f"y must have a label for each row, got {str(y)[:50]!r} alone; put it in a list.")
    return values


def chunks(X: Any, size: int | None = None) -> Iterator[Any]:
    """Yield the rows of X, some at a time; at least once."""
    size = _ROWS_AT_A_TIME if size is None else size
    for start in range(0, max(1, num_samples(X)), size):
        yield safe_indexing(X, slice(start, start + size))


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
    except AttributeError as error:  # it is none of scikit-learn's, and does not say what it is
        raise TypeError(
            "estimator must derive from sklearn.base.BaseEstimator, and from RegressorMixin or "
            f"ClassifierMixin before it, got {type(estimator).__name__}; wrap it in a class that does."
        ) from error
    return True


def _holds_classes(y: Array) -> bool:
    """Whether y holds text, truth values, or a few whole numbers that come again and again."""
    if y.ndim > 1 or y.dtype.kind not in "iuf":
        return y.ndim == 1
    values = np.unique(y)
    return len(values) <= min(_MOST_CLASSES, len(y) // 2) and bool((values == np.round(values)).all())


def _foreign_score(model: Any, X: Any) -> Array:
    """Return the predictions of a model, or for classes its scores, of shape (n, K)."""
    score = class_score(model, X) if is_classifier(model) else np.asarray(model.predict(X), dtype=np.float64)
    return score.reshape(len(score), -1)
