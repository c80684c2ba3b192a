"""GBMAPClassifier: y holds labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from gbmap._core import losses
from gbmap._core.activation import softplus
from gbmap._core.arrays import asarray_like, is_foreign, namespace, to_numpy, wide
from gbmap._rows.dask import is_collection
from gbmap._utils.scikit_learn import StrOptions
from gbmap._utils.typing import Array
from gbmap.estimators.base import BaseGBMAP, ScoresInMemory


def _gives_probabilities(model: GBMAPClassifier) -> bool:
    return model._make_loss().log_odds_per_score is not None


class GBMAPClassifier(ScoresInMemory, ClassifierMixin, BaseGBMAP):  # type: ignore[misc]
    """Gradient Boosting Mapping for two or more classes: classifier and supervised embedding in one.

    For two classes f is the score of the second one, with the log-odds as its meaning under the
    logistic loss. For K > 2 classes each has an f of its own, fitted to it against the rest.

    Parameters
    ----------
    n_components : int, default=20
        The number of learners m for each score; the embedding has m columns for two classes, K m
        for more.
    beta : float, default=5.0
        The sharpness of softplus, log(1 + exp(beta z)) / beta.
    l2_regularization : float, default=1e-3
        lambda of the ridge term ``lambda (|w|^2 + c^2) / (p + 1)`` of each learner.
    loss : {"log_loss", "exponential", "hinge"} or gbmap.losses.Loss, default="log_loss"
        The loss of a label -1 or +1 and a score. "hinge" is smoothed within half a unit of margin
        and gives no probabilities.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as elsewhere in scikit-learn.
    activation : {"softplus", "identity"}, default="softplus"
        With "identity" the first learner is logistic regression, and further ones correct its
        shrinkage.
    init : estimator, callable or None, default=None
        f_0, a score. A classifier is cloned and fitted, and enters by the logit of its
        probabilities, clipped to [1e-6, 1 - 1e-6], else by its decision function; wrap it in
        ``sklearn.frozen.FrozenEstimator`` to keep it as it is. A callable maps X to scores.
    standardize : bool, default=True
        Whether the ridge term counts in standard deviations of X's columns. X is not copied for it.
    n_init : int, default=1
        Random starts of each learner, gentle and steep in turn, of which the best is kept.
    refine : bool or int, default=False
        Whether to optimise all learners together after boosting, as in `GBMAPRegressor`.
    refine_starts : int, default=5
        How often to boost and refine, to keep the best, as in `GBMAPRegressor`.
    max_iter : int, default=500
        The most L-BFGS iterations of one solve.
    tol : float, default=1e-6
        A solve ends when an iteration lowers the objective by less than ``tol`` times its value, or
        times the loss that the fit started with, if that is larger, and Newton's step promises less than
        ten times as much.
    early_stopping : bool, default=False
        Whether to stop when the validation loss has not improved for ``n_iter_no_change`` stages,
        and to keep the learners up to the best. Uses ``X_val, y_val`` of `fit` if given, else sets
        rows aside, stratified by class.
    validation_fraction : float, default=0.1
        The share of rows to set aside, or to hold out of more than 20,000 for ``refine=True``.
    n_iter_no_change : int, default=5
        The patience of early stopping, in stages.
    monotonic_cst : array-like of int, dict of str to int, or None, default=None
        +1, -1 or 0 for a score that rises, falls or does either along a feature; two classes only.
        It holds everywhere, for f - f_0.
    warm_start : bool, default=False
        Whether a further `fit` adds learners to those there are, with a larger ``n_components``.
    n_jobs : int or None, default=None
        Threads. None means all cores for large data, or as many as ``joblib.parallel_config`` allows,
        and one for small. The result is the same to the last bit for every number of threads.
    random_state : int, RandomState instance or None, default=None
        Seeds starts and samples. None draws fresh entropy, never NumPy's global state.
    verbose : int, default=0
        If positive, each stage is logged at level INFO to the logger "gbmap".

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    ensemble_ : Ensemble
        The learners as arrays, in the units of X.
    n_components_ : int
        The number of stages kept.
    loss_curve_ : array of shape (``n_components_`` + 1,)
        Mean training loss from f_0 on, averaged over the scores. It never rises, unless learners were
        refined.
    validation_loss_curve_ : array of shape (``n_components_`` + 1,) or None
        The same on validation rows.
    history_ : list of StageRecord
        The same and more, record by record.
    n_iter_ : int
        The most solver iterations of any stage.
    n_refinements_ : integer array of shape (n_outputs,)
        The iterations by which learners were refined, as in `GBMAPRegressor`.
    refinement_curves_ : array of shape (n_outputs, n_folds, n_iterations + 1) or None
        With ``refine=True``: mean losses of unseen rows by iterations of refinement, without the 0.5 %
        of rows with the largest: from one start, or with ``X_val`` from the one that was kept.
    feature_importances_ : array of shape (n_features,)
        How much each feature adds to the score over that of the average training row: the mean size of
        ``gbmap.inspection.attributions(model, X, model.mean_)`` over the training rows, or a sample of
        them. With more than two classes, the mean over their scores.
    mean_, scale_ : arrays of shape (n_features,)
        Mean and standard deviation of X's columns (1 for a constant column).
    init_ : estimator, callable or None
        The fitted f_0.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)

    See Also
    --------
    GBMAPRegressor : The same for numbers.

    Examples
    --------
    >>> from gbmap import GBMAPClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GBMAPClassifier(n_components=2, random_state=0).fit(X, y)
    >>> model.transform(X).shape, model.predict_proba(X).shape
    ((150, 6), (150, 3))
    >>> model.score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **BaseGBMAP._parameter_constraints,
        "loss": [StrOptions({"log_loss", "exponential", "hinge"}), losses.Loss],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    _y_rules: dict[str, Any] = {}

    def __init__(
        self,
        n_components: int = 20,
        *,
        beta: float = 5.0,
        l2_regularization: float = 1e-3,
        loss: str | losses.Loss = "log_loss",
        class_weight: Any = None,
        activation: str = "softplus",
        init: Any = None,
        standardize: bool = True,
        n_init: int = 1,
        refine: bool | int = False,
        refine_starts: int = 5,
        max_iter: int = 500,
        tol: float = 1e-6,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        monotonic_cst: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.beta = beta
        self.l2_regularization = l2_regularization
        self.loss = loss
        self.class_weight = class_weight
        self.activation = activation
        self.init = init
        self.standardize = standardize
        self.n_init = n_init
        self.refine = refine
        self.refine_starts = refine_starts
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.monotonic_cst = monotonic_cst
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, X: Any) -> Array:
        """Return the score f(X): of the second class, or of each of more than two.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        score : array of shape (n_samples,) or (n_samples, n_classes)
        """
        if is_collection(X):
            return self._lazily("decision_function", X)  # type: ignore[no-any-return]
        return self._of_classes(self._scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores of the first 1, 2, ..., ``n_components_`` stages.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        score : array of shape (n_samples,) or (n_samples, n_classes)
        """
        for score in self._staged_scores(X):
            yield self._of_classes(score)

    def _of_classes(self, score: Array) -> Array:
        return score[:, 0] if len(self.classes_) == 2 else score

    def predict(self, X: Any) -> Array:
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        return self._lazily("predict", X) if is_collection(X) else self._decide(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the first 1, 2, ..., ``n_components_`` stages.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : array of shape (n_samples,)
        """
        for score in self._staged_scores(X):
            yield self._decide(score)

    def _decide(self, score: Array) -> Array:
        xp = namespace(score)
        two = len(self.classes_) == 2
        winner = xp.astype(score[:, 0] > 0, xp.int32) if two else xp.argmax(score, axis=1)
        return _labels(self.classes_, winner)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        For more than two classes, the probabilities of each class against the rest, normalised.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        p : array of shape (n_samples, n_classes)
            Rows sum to one.
        """
        if is_collection(X):
            return self._lazily("predict_proba", X)  # type: ignore[no-any-return]
        return self._probabilities(self._scores(X))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield the probabilities of the first 1, 2, ..., ``n_components_`` stages.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        p : array of shape (n_samples, n_classes)
            Rows sum to one.
        """
        for score in self._staged_scores(X):
            yield self._probabilities(score)

    def _probabilities(self, score: Array) -> Array:
        xp, log_odds = namespace(score), score * self._make_loss().log_odds_per_score
        if len(self.classes_) == 2:
            log_odds = xp.concat([-log_odds, log_odds], axis=1)
        log_p = -softplus(-log_odds, 1.0)  # in log space, since all of them may be tiny
        p = xp.exp(log_p - xp.max(log_p, axis=1, keepdims=True))
        shares: Array = p / xp.sum(p, axis=1, keepdims=True)
        return shares

    def _make_loss(self) -> losses.Loss:
        if isinstance(self.loss, losses.Loss):
            return self.loss
        return {"log_loss": losses.LogLoss, "exponential": losses.Exponential, "hinge": losses.Hinge}[
            self.loss
        ]()

    def _read_targets(self, y: Array, name: str, *, fitting: bool) -> Array:
        if is_foreign(y) and len(y.shape) != 1:
            raise ValueError(f"{name} must have one dimension, got an array of shape {tuple(y.shape)}.")
        found = _distinct(y) if is_foreign(y) or y.dtype.kind in "biuf" else y
        _refuse_mixed_labels(found, name)
        if fitting:
            # scikit-learn doubts a y in which most labels occur but once: it sees as many rows as tell that.
            check_classification_targets(np.resize(found, min(y.shape[0], 3 * len(found))))
            self.classes_ = np.unique(found)
            if len(self.classes_) < 2:
                raise ValueError(
                    f"y must hold at least 2 classes, got 1 class only: {self.classes_[0]!r}; "
                    "check how the rows were selected."
                )
            if self.monotonic_cst is not None and len(self.classes_) > 2:
                raise ValueError(
                    "monotonic_cst is for two classes only; drop it, or pose the problem as one of two."
                )
        elif len(unknown := np.setdiff1d(found, self.classes_)):
            raise ValueError(
                f"{name} must hold classes of the fit only, {self.classes_.tolist()}, "
                f"got {unknown.tolist()} too."
            )
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        if is_foreign(y):
            xp = namespace(y)
            is_positive = y[:, None] == asarray_like(positive, y)[None, :]
            targets: Array = 2.0 * xp.astype(is_positive, wide(y)) - 1.0
            return targets
        return np.where(y[:, None] == positive, 1.0, -1.0)

    def _all_classes_count(self) -> bool:
        return self.class_weight is None

    def _weigh_classes(self, y: Array, weight: Array | None) -> Array | None:
        if self.class_weight is None:
            return weight
        y = to_numpy(y)
        of_row: Array = self._weight_of_classes(y, weight)[np.searchsorted(self.classes_, y)]
        return of_row if weight is None else of_row * weight

    def _weight_of_classes(self, y: Array, weight: Array | None) -> Array:
        """Return a factor for each class, given labels and their weights, or each label and its total."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            of_class: Array = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y, sample_weight=weight
            )
        of_class[np.isinf(of_class)] = 0.0  # "balanced" for a class whose rows weigh next to nothing
        share = 1.0 if weight is None else weight
        if not (of_class >= 0).all() or not (of_class[np.searchsorted(self.classes_, y)] * share).any():
            raise ValueError(
                f"class_weight must be non-negative and leave some row a weight, got {self.class_weight!r}."
            )
        return of_class

    def _strata(self, y: Array) -> Array | None:
        return y


def _distinct(y: Any) -> Array:
    """Return the distinct labels of an array of numbers, in memory, the quick way if there are two."""
    xp = namespace(y)
    ends = xp.stack([xp.all(y), xp.any(y)] if xp.isdtype(y.dtype, "bool") else [xp.min(y), xp.max(y)])
    if bool(xp.all((y == ends[0]) | (y == ends[1]))):
        return np.unique(to_numpy(ends))
    return to_numpy(xp.unique_values(y))


def _labels(classes: Array, winner: Any) -> Array:
    """Return classes by their position, where that is; labels that no device can hold, in memory."""
    if not is_foreign(winner) or classes.dtype.kind not in "biuf":
        labels: Array = classes[to_numpy(winner)]
        return labels
    xp = namespace(winner)
    return xp.take(xp.asarray(classes, device=winner.device), winner, axis=0)  # type: ignore[no-any-return]


def _refuse_mixed_labels(y: Array, name: str) -> None:
    kinds = {str if isinstance(label, str) else type(label) for label in y} if y.dtype == object else set()
    if str in kinds and len(kinds) > 1:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"{name} must hold labels of one kind, got {names}; leave out rows without a label.")
