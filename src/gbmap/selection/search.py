"""Parameters chosen by cross-validation along the path of learners: one fit holds every smaller one."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, indexable

from gbmap._core.arrays import in_memory
from gbmap._core.refinement import is_automatic
from gbmap._fit.reading import Given
from gbmap._fit.refining import best_step, same_length
from gbmap._rows.threads import effective_threads
from gbmap._utils.random import seed_of
from gbmap._utils.refitting import whole_or_undone
from gbmap._utils.scikit_learn import HasMethods, Interval, check_sample_weight, check_y, num_samples
from gbmap._utils.typing import Array
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.estimators.base import BaseGBMAP, ScoresInMemory
from gbmap.selection.race import FINALISTS, Cut, Folds, race, refined_losses

__all__ = ["GBMAPClassifierCV", "GBMAPRegressorCV"]

# Smooth and sharp, and from next to no ridge to that of few rows and many columns.
_BETAS = (2.0, 10.0)
_L2_REGULARIZATIONS = (1e-3, 3e-2, 1.0)
# Learners times numbers in X below which it takes longer to start processes than they save.
_WORTH_PROCESSES = 5_000_000
# Learners that a fold of a candidate grows on average, of the hundred that it may.
_USUAL_LEARNERS = 40


class BaseGBMAPCV(
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """What both share: everything but the meaning of y."""

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "betas": ["array-like"],
        "l2_regularizations": ["array-like"],
        "estimator": [HasMethods(["fit", "transform"]), None],
        "cv": ["cv_object"],
        "one_standard_error": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # Groups are the splitter's to ask for, not the search's.
    __metadata_request__fit = {"groups": UNUSED}
    _kind: type[BaseGBMAP]
    cv_losses_: Array
    best_index_: int
    n_components_: int
    best_loss_: float

    def __init__(
        self,
        n_components: int = 100,
        *,
        betas: Any = _BETAS,
        l2_regularizations: Any = _L2_REGULARIZATIONS,
        estimator: Any = None,
        cv: Any = 5,
        one_standard_error: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.betas = betas
        self.l2_regularizations = l2_regularizations
        self.estimator = estimator
        self.cv = cv
        self.one_standard_error = one_standard_error
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @whole_or_undone
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **params: Any) -> Self:
        """Choose by cross-validation, and fit all rows with what was chosen.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None
            What a row counts, in the fits and where it is held out. A fold is left out if the rows that it
            holds out have no weight.
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, for a ``cv`` that keeps them together, such as
            `sklearn.model_selection.GroupKFold`.
        **params : dict
            What else ``cv`` asks for by its ``set_split_request``, if scikit-learn's
            ``enable_metadata_routing`` is set.

        Returns
        -------
        self : object
        """
        self._validate_params()
        seed = seed_of(self.random_state) % 2**32
        template = self._template(seed)
        folds = self._folds(template, (X, y, sample_weight), groups, params, seed)
        self.__dict__.pop("refinement_losses_", None)
        grown, self.cv_losses_, finalists = race(
            template, self.candidates_, self.n_components, folds, keeps_all=self.one_standard_error
        )
        self._choose(folds)
        settings = {}
        if is_automatic(template.refine):
            settings["refine"] = self._refine(grown, finalists[:FINALISTS], folds)
        best = self.candidates_[self.best_index_]
        self.beta_, self.l2_regularization_ = best["beta"], best["l2_regularization"]
        self.best_estimator_ = clone(template).set_params(
            **best, **settings, n_components=self.n_components_, n_jobs=self.n_jobs
        )
        self.best_estimator_.fit(folds.X, folds.y, folds.row_weight)
        return self

    def _folds(self, template: Any, given: Given, groups: Any, params: dict[str, Any], seed: int) -> Folds:
        """Return the rows in folds, and set the candidates; refuse what no fold could be fitted to."""
        X, y, sample_weight = given
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y, sample_weight = in_memory(y), in_memory(sample_weight)
        X, y, groups = indexable(X, y, groups)
        n_rows = num_samples(X)
        if n_rows < 3:  # a fold is held out, and a fit takes two
            raise ValueError(f"X must have at least 3 rows for folds, got n_samples={n_rows}.")
        targets = template._target_reader(fitted=False)
        targets.learn(check_y(y, estimator=self, **targets.rules), "y")
        self.candidates_ = [
            {"beta": float(beta), "l2_regularization": float(ridge)}
            for beta in self._grid("betas", lowest_is_allowed=False)
            for ridge in self._grid("l2_regularizations", lowest_is_allowed=True)
        ]
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, n_rows)
        cuts = self._cuts(X, y, sample_weight, seed, self._routed(sample_weight, groups, params))
        n_learners = len(self.candidates_) * len(cuts) * min(self.n_components, _USUAL_LEARNERS)
        n_jobs = _processes(self.n_jobs, n_learners * math.prod(np.shape(X)))
        return Folds(X, y, sample_weight, cuts, n_jobs, self.verbose)

    def _refine(self, grown: Array, finalists: Array, folds: Folds) -> int:
        """Set which model to refine, the best of a few, each at its best size, and return by how much."""
        mean = folds.mean(self.cv_losses_)
        tried = np.array([self.best_index_]) if self.one_standard_error else finalists
        sizes = {i: int(np.argmin(mean[i])) + 1 for i in tried} | {self.best_index_: self.n_components_}
        curves = folds.each(refined_losses, grown[tried], [sizes[i] for i in tried])
        losses = same_length(list(curves.flat)).reshape(*curves.shape, -1)
        self.refinement_losses_ = {int(i): each for i, each in zip(tried, losses)}
        refined = folds.mean(losses)
        nth, step = np.unravel_index(int(np.argmin(refined)), refined.shape)
        without = self.cv_losses_[self.best_index_, :, self.n_components_ - 1]
        if not best_step(np.column_stack([without, losses[nth, :, step]]), folds.weights):
            return 0
        self.best_index_, self.n_components_ = int(tried[nth]), sizes[tried[nth]]
        self.best_loss_ = float(refined[nth, step])
        return int(step)

    def _template(self, seed: int) -> Any:
        template = self._kind() if self.estimator is None else clone(self.estimator)
        if not isinstance(template, self._kind):
            raise TypeError(
                f"estimator must be a {self._kind.__name__} or None, got {type(template).__name__}; put "
                "preprocessing before it into a pipeline around this search."
            )
        return template.set_params(n_components=self.n_components, early_stopping=False, random_state=seed)

    def _grid(self, name: str, *, lowest_is_allowed: bool) -> Array:
        values = np.asarray(getattr(self, name), dtype=object).reshape(-1)
        if not len(values):
            raise ValueError(f"{name} must hold at least one number, got none.")
        for value in values:
            is_number = isinstance(value, Real) and np.isfinite(float(value))
            if not is_number or not (float(value) > 0 or (lowest_is_allowed and value == 0)):
                rule = "non-negative" if lowest_is_allowed else "positive"
                raise ValueError(f"{name} must hold {rule} finite numbers, got {value!r}.")
        return values

    def _cuts(self, X: Any, y: Any, weight: Array | None, seed: int, routed: dict[str, Any]) -> list[Cut]:
        splitter = check_cv(self.cv, y, classifier=self._kind is GBMAPClassifier)
        if isinstance(self.cv, Integral):  # rows may come sorted
            splitter = type(splitter)(self.cv, shuffle=True, random_state=seed)
        cuts = list(splitter.split(X, y, **routed))
        if self._kind is GBMAPClassifier:
            _check_classes(y, cuts)
        if weight is not None:
            cuts = [(train, test) for train, test in cuts if weight[test].any()]
            if not cuts:
                raise ValueError(
                    "sample_weight must leave weight on held-out rows of a fold, got zeros there."
                )
        return cuts

    def _routed(self, sample_weight: Any, groups: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return what the splitter gets beside X and y."""
        if groups is not None:
            params = {"groups": groups, **params}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed["splitter"]["split"])
        unknown = params.keys() - {"groups"}
        if unknown:
            raise TypeError(
                f"fit must get no parameters beside X, y, sample_weight and groups, got {sorted(unknown)}; "
                "set scikit-learn's enable_metadata_routing to pass others to cv."
            )
        return params

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is asked for by the search itself, a weight, and by its ``cv``, such as groups.

        Returns
        -------
        routing : sklearn.utils.metadata_routing.MetadataRouter
        """
        to_splitter = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=to_splitter)

    def _choose(self, folds: Folds) -> None:
        """Set which candidate and how many learners: the lowest mean loss, or the simplest model near it."""
        mean = folds.mean(self.cv_losses_)
        spread = np.sqrt(folds.mean((self.cv_losses_ - mean[:, None]) ** 2))
        best = tuple(np.unravel_index(int(np.argmin(mean)), mean.shape))
        if self.one_standard_error:
            limit = mean[best] + spread[best] / np.sqrt(max(len(folds.cuts) - 1, 1))
            best = min(map(tuple, np.argwhere(mean <= limit)), key=self._complexity)
        self.best_index_, self.n_components_ = int(best[0]), int(best[1]) + 1
        self.best_loss_ = float(mean[best])

    def _complexity(self, place: tuple[Any, ...]) -> tuple[float, float, float]:
        candidate = self.candidates_[place[0]]
        return place[1], -candidate["l2_regularization"], candidate["beta"]

    def predict(self, X: Any) -> Any:
        """Return the prediction of the chosen model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._fitted().predict(X)

    def transform(self, X: Any) -> Any:
        """Return the embedding by the chosen model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        phi : array of shape (n_samples, ``n_components_`` * n_outputs)
        """
        return self._fitted().transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the coordinates, as `GBMAPRegressor` gives them.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns of X. They change nothing, but must be those of the fit.

        Returns
        -------
        names : array of str of shape (``n_components_`` * n_outputs,)
        """
        return self._fitted().get_feature_names_out(input_features)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""
        return int(self._of_best("n_features_in_"))

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns of X, if they had any."""
        return self._of_best("feature_names_in_")

    @property
    def ensemble_(self) -> Any:
        """The learners of the chosen model."""
        return self._of_best("ensemble_")

    @property
    def feature_importances_(self) -> Array:
        """How much each column adds to the chosen model's prediction, as in `GBMAPRegressor`."""
        return self._of_best("feature_importances_")

    def _of_best(self, name: str) -> Any:
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return getattr(self.best_estimator_, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class GBMAPRegressorCV(ScoresInMemory, RegressorMixin, BaseGBMAPCV):  # type: ignore[misc]
    """`GBMAPRegressor` with the number of learners, beta and the ridge chosen by cross-validation.

    One fit for each fold and pair of beta and ridge tells the losses of all numbers of learners, since the
    first k learners of a fit are the fit with k. So pairs can be compared on the way: the better half
    of them goes on after 10 learners, the best two after 30.

    Parameters
    ----------
    n_components : int, default=100
        The most learners to try.
    betas : sequence of float, default=(2.0, 10.0)
    l2_regularizations : sequence of float, default=(0.001, 0.03, 1.0)
    estimator : GBMAPRegressor, default=None
        The other parameters; None is those by default. Its own ``n_components``, ``beta``,
        ``l2_regularization``, ``early_stopping`` and ``random_state`` do not count. With ``refine=True`` the
        best models of the best two pairs are refined in every fold too, and ``refine`` of the chosen one
        is the number of iterations that was best. A number is passed on to the chosen one.
    cv : int, splitter or iterable, default=5
        A number of folds, which are drawn at random; or as in scikit-learn. A splitter by groups gets
        those that `fit` was given.
    one_standard_error : bool, default=False
        Whether to take the fewest learners whose mean loss is within one standard error of the lowest,
        instead of the lowest.
    n_jobs : int, default=None
        Processes for the folds, as in joblib, but None is one for each core where that saves time, or as
        many as ``joblib.parallel_config`` allows.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    best_estimator_ : GBMAPRegressor
        Fitted to all rows.
    n_components_, beta_, l2_regularization_ : int, float, float
        What was chosen.
    best_loss_ : float
        Its mean loss on held-out rows, in the units of y.
    candidates_ : list of dict
        The pairs of beta and ridge.
    best_index_ : int
        Which of them was chosen.
    cv_losses_ : array of shape (n_candidates, n_folds, n_components)
        Mean losses of the held-out rows, by the number of learners, without the 0.5 % of rows with the
        largest: rows far from all others do not decide. A fold ends when ten learners in a row have not
        helped, or its pair has fallen behind; its last loss stands for those that follow.
    refinement_losses_ : dict of arrays of shape (n_folds, n_iterations + 1)
        If models were refined: the same by iterations of refinement from one start, for the candidates that
        were tried, by number.

    See Also
    --------
    GBMAPRegressor : The estimator itself.

    Examples
    --------
    >>> from gbmap import GBMAPRegressorCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = GBMAPRegressorCV(10, cv=3, random_state=0).fit(X, y)
    >>> search.n_components_ < 10, search.transform(X).shape[1] == search.n_components_
    (True, True)
    """

    _kind = GBMAPRegressor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _has_probabilities(search: GBMAPClassifierCV) -> bool:
    template = GBMAPClassifier() if search.estimator is None else search.estimator
    return hasattr(template, "predict_proba")


class GBMAPClassifierCV(ScoresInMemory, ClassifierMixin, BaseGBMAPCV):  # type: ignore[misc]
    """`GBMAPClassifier` with the number of learners, beta and the ridge chosen by cross-validation.

    Pairs of beta and ridge race along the path of learners, as in `GBMAPRegressorCV`.

    Parameters
    ----------
    n_components : int, default=100
        The most learners to try.
    betas : sequence of float, default=(2.0, 10.0)
    l2_regularizations : sequence of float, default=(0.001, 0.03, 1.0)
    estimator : GBMAPClassifier, default=None
        The other parameters, as in `GBMAPRegressorCV`.
    cv : int, splitter or iterable, default=5
        A number of folds, which are drawn at random, with the classes in proportion; or as in
        scikit-learn.
    one_standard_error : bool, default=False
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    best_estimator_ : GBMAPClassifier
        Fitted to all rows.
    classes_ : array of shape (n_classes,)
    n_components_, beta_, l2_regularization_ : int, float, float
        What was chosen.
    best_loss_ : float
    candidates_ : list of dict
    best_index_ : int
    cv_losses_ : array of shape (n_candidates, n_folds, n_components)
    refinement_losses_ : dict of arrays of shape (n_folds, n_iterations + 1)
        As in `GBMAPRegressorCV`.

    See Also
    --------
    GBMAPClassifier : The estimator itself.

    Examples
    --------
    >>> from gbmap import GBMAPClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GBMAPClassifierCV(5, cv=3, random_state=0).fit(X, y)
    >>> search.score(X, y) > 0.95
    True
    """

    _kind = GBMAPClassifier

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self._of_best("classes_")

    def decision_function(self, X: Any) -> Any:
        """Return the score of the chosen model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        score : array of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._fitted().decision_function(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class by the chosen model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        p : array of shape (n_samples, n_classes)
        """
        return self._fitted().predict_proba(X)


def _check_classes(y: Any, cuts: list[Cut]) -> None:
    """Refuse folds in which a class is held out that is nowhere to learn."""
    labels = np.asarray(y)
    for train, test in cuts:
        unknown = np.setdiff1d(labels[test], labels[train])
        if len(unknown):
            raise ValueError(
                f"cv must leave rows of every class to learn in each fold, got none of {unknown.tolist()}; "
                "leave out classes with few rows, or pass another cv."
            )


def _processes(n_jobs: int | None, work: int) -> int:
    """Return the number of processes for learners times numbers in X, where None is to choose."""
    if n_jobs is None and work < _WORTH_PROCESSES:
        return 1
    return effective_threads(n_jobs, work)
