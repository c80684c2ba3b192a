"""GBMAPClassifier: y holds labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from gbmap._core import losses
from gbmap._fit.targets import LabelReader
from gbmap._utils.scikit_learn import StrOptions
from gbmap._utils.typing import Array
from gbmap.estimators import other_words
from gbmap.estimators.base import BaseGBMAP
from gbmap.estimators.lazy import lazy_for_dask
from gbmap.estimators.other_words import answering
from gbmap.estimators.parameters import PARAMETERS
from gbmap.estimators.predictor import ScoresInMemory


class GBMAPClassifier(ScoresInMemory, ClassifierMixin, BaseGBMAP):  # type: ignore[misc]
    """Gradient Boosting Mapping for two or more classes: classifier and supervised embedding in one.

    For two classes f is the score of the second one, with the log-odds as its meaning under the
    logistic loss. For K > 2 classes each has an f of its own, fitted to it against the rest.

    Parameters
    ----------
    n_components : int or "auto", default=20
        The number of learners m for each score; the embedding has m columns for two classes, K m
        for more. With "auto" the fit finds how many, as in `GBMAPRegressor`.
    beta : float, default=5.0
        The sharpness of softplus, log(1 + exp(beta z)) / beta.
    l2_regularization : float or "auto", default="auto"
        lambda of the ridge term ``lambda (|w|^2 + c^2) / (p + 1)`` of each learner. With "auto" the fit
        finds it on the way: the ridge is the width of a prior, which the learners so far tell (pooled
        evidence). Whole numbers up to ten as weights then count as repetitions of rows, others as shares,
        and so do all where ``class_weight`` is given.
    loss : {"log_loss", "exponential", "hinge"} or gbmap.losses.Loss, default="log_loss"
        The loss of a label -1 or +1 and a score. "hinge" is smoothed within half a unit of margin
        and gives no probabilities.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as elsewhere in scikit-learn.
    activation : {"softplus", "identity"}, default="softplus"
        With "identity" the first learner is logistic regression, and further ones correct its
        shrinkage.
    knots : int or "auto", default="auto"
        At how many values the effect of a numeric column on a learner may bend: quantiles of it, which
        then enters as itself and by a hinge max(x - t, 0) for each knot t. Bends have a ridge of their own,
        which a fit finds too. Far beyond all rows such a column counts as if it went no further. 0 is the
        paper's form. By "auto" there are 8, or 5 with less than 2,000 rows, fewer with many columns or very
        few rows, and none if ``l2_regularization`` is a number. Sparse X does not bend.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, default="from_dtype"
        Which columns hold categories, as in scikit-learn's gradient boosting: by default those of a frame
        that hold text or are categorical. Named ones may hold any numbers, and text in an array of objects;
        sparse X has none. A category is an input of its own if it has two rows, at most 100 of a column;
        others, and new ones in ``predict``, count as none of them.
    init : estimator, callable or None, default=None
        f_0, a score. A classifier is cloned and fitted, and enters by the logit of its
        probabilities, clipped to [1e-6, 1 - 1e-6], else by its decision function; wrap it in
        ``sklearn.frozen.FrozenEstimator`` to keep it as it is. A callable maps X to scores.
    standardize : bool, default=True
        Whether the ridge term counts in standard deviations of X's columns. X is not copied for it.
    n_init : int, default=1
        Random starts of each learner, gentle and steep in turn, of which the best is kept.
    refine : "auto", bool or int, default="auto"
        Whether to optimise all learners together after boosting, as in `GBMAPRegressor`. By "auto" it is done
        for two classes, if the fit finds its ridge, and kept if the rows gain more than by learning noise.
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
        The share of rows to set aside.
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
        Seeds starts and samples. None draws fresh entropy, never NumPy's global state. Where the ridge is
        found it has no part in the first two learners and in the samples, so that maps do not change with it.
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
    l2_regularization_ : float or array of shape (n_outputs,)
        lambda of the last learner of each output; ``history_`` has those of all.
    n_iter_ : int
        The most solver iterations of any stage.
    n_refinements_ : integer array of shape (n_outputs,)
        The iterations by which learners were refined, as in `GBMAPRegressor`.
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
        **PARAMETERS,
        "loss": [StrOptions({"log_loss", "exponential", "hinge"}), losses.Loss],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @answering(other_words.PARAMETERS)
    def __init__(
        self,
        n_components: int | str = 20,
        *,
        beta: float = 5.0,
        l2_regularization: float | str = "auto",
        loss: str | losses.Loss = "log_loss",
        class_weight: Any = None,
        activation: str = "softplus",
        knots: int | str = "auto",
        categorical_features: Any = "from_dtype",
        init: Any = None,
        standardize: bool = True,
        n_init: int = 1,
        refine: bool | int | str = "auto",
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
        self.knots = knots
        self.categorical_features = categorical_features
        self.init = init
        self.standardize = standardize
        self.n_init = n_init
        self.refine = refine
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

    @lazy_for_dask
    def decision_function(self, X: Any) -> Array:
        """Return the score f(X): of the second class, or of each of more than two.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        score : array of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._of_classes(self.predictor_.scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores of the first 1, 2, ..., ``n_components_`` stages.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        score : array of shape (n_samples,) or (n_samples, n_classes)
        """
        for score in self.predictor_.staged_scores(X):
            yield self._of_classes(score)

    def _of_classes(self, score: Array) -> Array:
        return score[:, 0] if len(self.classes_) == 2 else score

    @lazy_for_dask
    def predict(self, X: Any) -> Array:
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        predictor = self.predictor_
        return predictor.labels.decided(predictor.scores(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the first 1, 2, ..., ``n_components_`` stages.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : array of shape (n_samples,)
        """
        predictor = self.predictor_
        for score in predictor.staged_scores(X):
            yield predictor.labels.decided(score)

    @available_if(lambda self: self._gives_probabilities())  # type: ignore[untyped-decorator]
    @lazy_for_dask
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
        predictor = self.predictor_
        return predictor.probabilities(predictor.scores(X))

    @available_if(lambda self: self._gives_probabilities())  # type: ignore[untyped-decorator]
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
        predictor = self.predictor_
        for score in predictor.staged_scores(X):
            yield predictor.probabilities(score)

    def _gives_probabilities(self) -> bool:
        return self._make_loss().log_odds_per_score is not None

    def _make_loss(self) -> losses.Loss:
        if isinstance(self.loss, losses.Loss):
            return self.loss
        return {"log_loss": losses.LogLoss, "exponential": losses.Exponential, "hinge": losses.Hinge}[
            self.loss
        ]()

    def _target_reader(self, *, fitted: bool) -> LabelReader:
        classes = self.classes_ if fitted else None
        return LabelReader(self.class_weight, two_only=self.monotonic_cst is not None, classes=classes)

    def _keep_targets(self, reader: LabelReader) -> None:  # type: ignore[override]
        self.classes_ = reader.labels
