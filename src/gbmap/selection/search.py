"""Parameters chosen by cross-validation along the path of learners: one fit holds every smaller one."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
)
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import indexable

from gbmap._core.arrays import in_memory
from gbmap._fit.reading import Given
from gbmap._fit.records import logger
from gbmap._utils.refitting import whole_or_undone
from gbmap._utils.sampling import seed_of
from gbmap._utils.scikit_learn import (
    HasMethods,
    Interval,
    check_sample_weight,
    check_y,
    num_samples,
    validate_params,
)
from gbmap._utils.typing import Array
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor, other_words
from gbmap.estimators.base import BaseGBMAP
from gbmap.estimators.other_words import AnsweringAttributes, answering
from gbmap.estimators.parameters import PARAMETERS
from gbmap.estimators.predictor import ScoresInMemory
from gbmap.selection.chosen import PassesOn
from gbmap.selection.race import Cut, Folds, check_classes, n_processes, race

__all__ = ["GBMAPClassifierCV", "GBMAPRegressorCV"]

# The estimators' own, and a sharper one; a fit finds the ridge better than a few numbers would.
_BETAS = (5.0, 10.0)
_L2_REGULARIZATIONS = ("auto",)
# What is not searched, and what is by another name.
_ELSEWHERE = {
    name: f"write estimator=GBMAPRegressor({name}=...), or GBMAPClassifier" for name in PARAMETERS
} | {
    "beta": "write betas=[...]",
    "l2_regularization": "write l2_regularizations=[...]",
    "param_grid": "write betas=[...], l2_regularizations=[...]; n_components is the most learners to try",
}
# Of fewer different numbers every one is at the edge.
_NUMBERS_WITH_INSIDE = 3


class BaseGBMAPCV(
    AnsweringAttributes,
    PassesOn,
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
    _other_words = other_words.ATTRIBUTES
    cv_losses_: Array
    best_index_: int
    n_components_: int
    best_loss_: float

    @answering(_ELSEWHERE)
    def __init__(
        self,
        n_components: int = 100,
        *,
        betas: Any = _BETAS,
        l2_regularizations: Any = _L2_REGULARIZATIONS,
        estimator: Any = None,
        cv: Any = 3,
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
        self.cv_losses_ = race(template, self.candidates_, self.n_components, folds)
        self._choose(folds)
        best = self.candidates_[self.best_index_]
        self.beta_ = best["beta"]
        self.edges_ = list(self._edges(best))
        for sentence in self.edges_:
            logger.warning(sentence)
        self.best_estimator_ = clone(template).set_params(
            **best, n_components=self.n_components_, n_jobs=self.n_jobs
        )
        self.best_estimator_.fit(folds.X, folds.y, folds.row_weight)
        return self

    def _edges(self, best: dict[str, Any]) -> Iterator[str]:
        """Yield a sentence for each number that was chosen at the edge of those tried."""
        if self.n_components_ == self.n_components:
            yield f"n_components_={self.n_components_} is the most that was tried; raise n_components."
        for name, grid in (("beta", "betas"), ("l2_regularization", "l2_regularizations")):
            numbers = {each[name] for each in self.candidates_} - {"auto"}
            if len(numbers) < _NUMBERS_WITH_INSIDE or best[name] not in (min(numbers), max(numbers)):
                continue
            if best[name] > 0:
                end, side = ("smallest", "smaller") if best[name] == min(numbers) else ("largest", "larger")
                yield f"{name}={best[name]:g} is the {end} of {grid}; add {side} ones."

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
        self.candidates_ = list(
            ParameterGrid({"beta": self.betas, "l2_regularization": self.l2_regularizations})
        )
        for each in self.candidates_:
            validate_params(clone(template).set_params(**each))
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, n_rows)
        cuts = self._cuts(X, y, sample_weight, seed, self._routed(sample_weight, groups, params))
        n_jobs = n_processes(self.n_jobs, len(self.candidates_) * len(cuts), self.n_components, np.shape(X))
        return Folds(X, y, sample_weight, cuts, n_jobs, self.verbose)

    def _template(self, seed: int) -> Any:
        template = self._kind() if self.estimator is None else clone(self.estimator)
        if not isinstance(template, self._kind):
            raise TypeError(
                f"estimator must be a {self._kind.__name__} or None, got {type(template).__name__}; put "
                "preprocessing before it into a pipeline around this search."
            )
        return template.set_params(n_components=self.n_components, early_stopping=False, random_state=seed)

    def _cuts(self, X: Any, y: Any, weight: Array | None, seed: int, routed: dict[str, Any]) -> list[Cut]:
        splitter = check_cv(self.cv, y, classifier=self._kind is GBMAPClassifier)
        if isinstance(self.cv, Integral):  # rows may come sorted
            splitter = type(splitter)(self.cv, shuffle=True, random_state=seed)
        cuts = list(splitter.split(X, y, **routed))
        if self._kind is GBMAPClassifier:
            check_classes(y, cuts)
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
        """Set which candidate and how many learners: the lowest mean loss, or the fewest learners near it."""
        mean = folds.mean(self.cv_losses_)
        spread = np.sqrt(folds.mean((self.cv_losses_ - mean[:, None]) ** 2))
        best = tuple(np.unravel_index(int(np.argmin(mean)), mean.shape))
        if self.one_standard_error:
            limit = mean[best] + spread[best] / np.sqrt(max(len(folds.cuts) - 1, 1))
            best = min(map(tuple, np.argwhere(mean <= limit)), key=lambda place: (place[1], mean[place]))
        self.best_index_, self.n_components_ = int(best[0]), int(best[1]) + 1
        self.best_loss_ = float(mean[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class GBMAPRegressorCV(ScoresInMemory, RegressorMixin, BaseGBMAPCV):  # type: ignore[misc]
    """`GBMAPRegressor` with the number of learners and beta chosen by cross-validation.

    One fit for each fold and candidate tells the losses of all numbers of learners, since the first k
    learners of a fit are the fit with k. So candidates can be compared on the way: the better half of them,
    but no fewer than two, goes on after 10 learners, and the best after 30.

    Parameters
    ----------
    n_components : int, default=100
        The most learners to try.
    betas : sequence of float, default=(5.0, 10.0)
    l2_regularizations : sequence of float or "auto", default=("auto",)
        Every pair of a beta and a ridge is a candidate. By "auto" each fit finds its ridge.
    estimator : GBMAPRegressor, default=None
        The other parameters; None is those by default. Its own ``n_components``, ``beta``,
        ``l2_regularization``, ``early_stopping`` and ``random_state`` do not count. ``refine`` is that of the
        chosen one; candidates are compared without.
    cv : int, splitter or iterable, default=3
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
    n_components_, beta_ : int, float
        What was chosen.
    l2_regularization_ : float or array of shape (n_outputs,)
        The ridge of its last learner.
    edges_ : list of str
        A sentence, which is logged too, for each of these that is at the edge of what was tried: the most
        learners, or the first or last of three numbers or more.
    best_loss_ : float
        Its mean loss on held-out rows, in the units of y.
    candidates_ : list of dict
        Those that were compared.
    best_index_ : int
        Which of them was chosen.
    cv_losses_ : array of shape (n_candidates, n_folds, n_components)
        Mean losses of the held-out rows, by the number of learners, without the 0.5 % of rows with the
        largest: rows far from all others do not decide. A fold ends when ten learners in a row have not
        helped, or its candidate has fallen behind; its last loss stands for those that follow.

    See Also
    --------
    GBMAPRegressor : The estimator itself.

    Examples
    --------
    >>> from gbmap import GBMAPRegressorCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = GBMAPRegressorCV(10, cv=3, random_state=0).fit(X, y)
    >>> search.n_components_ <= 10, search.transform(X).shape[1] == search.n_components_
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
    """`GBMAPClassifier` with the number of learners and beta chosen by cross-validation.

    Candidates race along the path of learners, as in `GBMAPRegressorCV`.

    Parameters
    ----------
    n_components : int, default=100
        The most learners to try.
    betas : sequence of float, default=(5.0, 10.0)
    l2_regularizations : sequence of float or "auto", default=("auto",)
    estimator : GBMAPClassifier, default=None
        The other parameters, as in `GBMAPRegressorCV`.
    cv : int, splitter or iterable, default=3
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
    n_components_, beta_ : int, float
        What was chosen.
    l2_regularization_ : float or array of shape (n_outputs,)
    edges_ : list of str
    best_loss_ : float
    candidates_ : list of dict
    best_index_ : int
    cv_losses_ : array of shape (n_candidates, n_folds, n_components)
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
