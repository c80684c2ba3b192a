"""GBMAPRegressor: y holds numbers."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

from sklearn.base import RegressorMixin

from gbmap._core import losses
from gbmap._fit.targets import NumberReader
from gbmap._utils.scikit_learn import Interval, StrOptions
from gbmap._utils.typing import Array
from gbmap.estimators import other_words
from gbmap.estimators.base import BaseGBMAP
from gbmap.estimators.lazy import lazy_for_dask
from gbmap.estimators.other_words import answering
from gbmap.estimators.parameters import PARAMETERS
from gbmap.estimators.predictor import ScoresInMemory


class GBMAPRegressor(ScoresInMemory, RegressorMixin, BaseGBMAP):  # type: ignore[misc]
    """Gradient Boosting Mapping for regression: predictor and supervised embedding in one.

    f(x) = f_0(x) + sum_j f_j(x) with weak learners f_j(x) = a_j + b_j g(w_j . x + c_j), b_j = -1 or
    +1, and g the softplus function. ``predict`` returns f, ``transform`` the vector of the f_j.

    Parameters
    ----------
    n_components : int or "auto", default=20
        The number of learners m, which is the dimension of the embedding (per target). With "auto" the fit
        ends when three stages in a row have learned noise, by the evidence that finds the ridge, and leaves
        them out; there are at least 2, and at most 100.
    beta : float, default=5.0
        The sharpness of softplus, log(1 + exp(beta z)) / beta. With ``standardize=True`` z counts
        in standard deviations of y - f_0.
    l2_regularization : float or "auto", default="auto"
        lambda of the ridge term ``lambda (|w|^2 + c^2) / (p + 1)`` of each learner. With "auto" the fit
        finds it on the way: the ridge is the width of a prior, which the learners so far tell (pooled
        evidence). Whole numbers up to ten as weights then count as repetitions of rows, others as shares.
    loss : {"squared_error", "huber", "quantile"} or gbmap.losses.Loss, default="squared_error"
        The loss; "quantile" is smoothed within a hundredth of y's spread.
    quantile : float, default=0.5
        The quantile of ``loss="quantile"``.
    huber_delta : float, default=1.0
        Where ``loss="huber"`` turns linear; with ``standardize=True`` in standard deviations of
        y - f_0, and then the ridge is multiplied by it below one, since the loss falls with it too.
    activation : {"softplus", "identity"}, default="softplus"
        With "identity" the first learner is ridge regression, and further ones correct its
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
        f_0. An estimator is cloned and fitted; wrap it in ``sklearn.frozen.FrozenEstimator`` to
        keep one as it is. A callable maps X to predictions. None is f_0 = 0.
    standardize : bool, default=True
        Whether beta and the ridge term count in standard deviations of X's columns and of y - f_0. With a
        ridge that is found, a bend counts in those of what is left of its hinge beside a line. What is
        minimised is then the same whatever units X and y come in, and so is the fit: to the last bit
        where units differ by powers of two, else up to rounding, which can lead later learners to other
        minima. X is not copied for it.
    n_init : int, default=1
        Random starts of each learner, gentle and steep in turn, of which the best is kept.
    refine : "auto", bool or int, default="auto"
        Whether to go on after boosting and optimise all learners together, their signs held fixed and with
        ridges between their own and the last one, until an iteration lowers the objective by less than
        0.01 %. A number asks for so many iterations at most. By "auto" it is done if the fit finds its ridge,
        and kept if the rows gain more by it than they would by learning noise. A refined model with more
        components does not begin with one of fewer; see ``n_refinements_``.
    max_iter : int, default=500
        The most L-BFGS iterations of one solve.
    tol : float, default=1e-6
        A solve ends when an iteration lowers the objective by less than ``tol`` times its value, or
        times the loss that the fit started with, if that is larger, and Newton's step promises less than
        ten times as much.
    early_stopping : bool, default=False
        Whether to stop when the validation loss has not improved for ``n_iter_no_change`` stages,
        and to keep the learners up to the best. Uses ``X_val, y_val`` of `fit` if given, else sets
        rows aside.
    validation_fraction : float, default=0.1
        The share of rows to set aside.
    n_iter_no_change : int, default=5
        The patience of early stopping, in stages.
    monotonic_cst : array-like of int, dict of str to int, or None, default=None
        +1, -1 or 0 for a prediction that rises, falls or does either along a feature, as in
        scikit-learn's gradient boosting. It holds everywhere, for f - f_0.
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
    ensemble_ : Ensemble
        The learners as arrays, in the units of X and y.
    n_components_ : int
        The number of stages kept.
    loss_curve_ : array of shape (``n_components_`` + 1,)
        Mean training loss from f_0 on, in the units of y. It never rises, unless learners were refined.
    validation_loss_curve_ : array of shape (``n_components_`` + 1,) or None
        The same on validation rows.
    history_ : list of StageRecord
        The same and more, record by record.
    l2_regularization_ : float or array of shape (n_outputs,)
        lambda of the last learner of each output; ``history_`` has those of all.
    n_iter_ : int
        The most solver iterations of any stage.
    n_refinements_ : integer array of shape (n_outputs,)
        The iterations by which the learners of each target were refined. If there are any, the learners
        stand in the order in which they help most on some of the rows: the first is the one that, with a
        constant, best predicts alone, the second the next best alone, and each later one helps those
        before it most.
    feature_importances_ : array of shape (n_features,)
        How much each feature adds to the prediction over that of the average training row: the mean size of
        ``gbmap.inspection.attributions(model, X, model.mean_)`` over the training rows, or a sample of
        them, in standard deviations of y - f_0. With several targets, the mean over them.
    mean_, scale_ : arrays of shape (n_features,)
        Mean and standard deviation of X's columns (1 for a constant column).
    init_ : estimator, callable or None
        The fitted f_0.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)

    See Also
    --------
    GBMAPClassifier : The same for classes.

    References
    ----------
    Patron, Prasad, Luu, Puolamaki. Gradient Boosting Mapping for Dimensionality Reduction and
    Feature Extraction.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> model.transform(X).shape
    (442, 4)
    >>> bool(abs(model.predict(X) - model.transform(X).sum(axis=1)).max() < 1e-9)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **PARAMETERS,
        "loss": [StrOptions({"squared_error", "huber", "quantile"}), losses.Loss],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "huber_delta": [Interval(Real, 0, None, closed="neither")],
    }

    @answering(other_words.PARAMETERS)
    def __init__(
        self,
        n_components: int | str = 20,
        *,
        beta: float = 5.0,
        l2_regularization: float | str = "auto",
        loss: str | losses.Loss = "squared_error",
        quantile: float = 0.5,
        huber_delta: float = 1.0,
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
        self.quantile = quantile
        self.huber_delta = huber_delta
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

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return f(X), and how far a new y spreads around it if asked to.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the standard deviation of y given x too.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        y_std : array of the same shape
            With ``return_std=True``. Its square is the sum of two variances: that of f(x), which is larger
            the farther x is from the data, and that of y around f, as the training rows tell it, the same
            for all x. ``y - 1.645 * y_std`` to ``y + 1.645 * y_std`` holds about 90 % of new targets; of
            fewer than about 50 rows it can hold less, and with fewer rows than columns it tells nothing.

        Notes
        -----
        The variance of f is that of Laplace's approximation: the weights of a learner are about normal around
        those that were found, as far as the ridge term and the curvature of the loss allow; learners count as
        independent, but for one factor that their common freedom gives. The error of ``init`` does not
        count. The variance of y around f is the mean of ``(y - f)**2`` over training rows, 2,000 of them
        or 20 a column, whatever the loss, made larger by what the fit has learned by heart:
        ``1 / ((1 - k)**2 (1 + k))`` times if the data determines k n numbers of the model.

        Examples
        --------
        >>> import numpy as np
        >>> from gbmap import GBMAPRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 2))
        >>> y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=300)
        >>> model = GBMAPRegressor(4, random_state=0).fit(X, y)
        >>> mean, std = model.predict([[0.0, 0.0], [20.0, 20.0]], return_std=True)
        >>> bool(std[1] > 3 * std[0])  # far from the data, and amid it
        True
        """
        if not return_std:
            return self._predict(X)
        deviations = self._predict_std(X)  # which may be refused: first
        return self._predict(X), deviations

    @lazy_for_dask
    def _predict(self, X: Any) -> Array:
        score = self.predictor_.scores(X)
        return self._target_reader(fitted=True).shaped(score)

    @lazy_for_dask
    def _predict_std(self, X: Any) -> Array:
        deviations = self.predictor_.deviations(X)
        return self._target_reader(fitted=True).shaped(deviations)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the first 1, 2, ..., ``n_components_`` stages.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        """
        for score in self.predictor_.staged_scores(X):
            yield self._target_reader(fitted=True).shaped(score)

    def _make_loss(self) -> losses.Loss:
        if isinstance(self.loss, losses.Loss):
            return self.loss
        if self.loss == "huber":
            return losses.Huber(self.huber_delta)
        return losses.Quantile(self.quantile) if self.loss == "quantile" else losses.SquaredError()

    def _target_reader(self, *, fitted: bool) -> NumberReader:
        return NumberReader(fitted and self._targets_2d)

    def _keep_targets(self, reader: NumberReader) -> None:  # type: ignore[override]
        self._targets_2d = reader.are_2d

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
