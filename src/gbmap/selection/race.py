"""Candidates of a search race along the path of learners: on the way, those that fall behind drop out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from gbmap._core.arrays import is_foreign
from gbmap._fit.refining import same_length
from gbmap._fit.sources.device import take
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array

# Rows to fit, and rows held out.
Cut = tuple[Array, Array]

# A fold ends when so many learners in a row have not helped its held-out rows.
_PATIENCE = 10
# After so many learners the better half of the candidates goes on, and later so many of them: by the curves
# of all candidates on 14 of the paper's data sets, the one that is best in the end was always there.
_HALVED_AFTER, _FINAL_AFTER, FINALISTS = 10, 30, 2


@dataclass(frozen=True)
class Folds:
    """Rows, how they are cut into folds, and how many processes work on these."""

    X: Any
    y: Any
    row_weight: Array | None
    cuts: list[Cut]
    n_jobs: int = 1
    verbose: int = 0

    @property
    def weights(self) -> Array:
        """What each fold counts: the weight of its held-out rows."""
        weight = self.row_weight
        return np.array([len(test) if weight is None else weight[test].sum() for _, test in self.cuts])

    def mean(self, losses: Array) -> Array:
        """Return the mean over the folds, which are the second axis."""
        mean: Array = np.average(losses, axis=1, weights=self.weights)
        return mean

    def each(self, function: Callable[..., Any], models: Array, sizes: Sequence[int]) -> Array:
        """Call a function with models, by candidate and fold; each candidate has a size."""
        # A new one for each call: called again, it counts the users of a large X, which it shares through a
        # file, one too low, and joblib's resource tracker prints a KeyError for the last of them.
        parallel = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)
        answers = parallel(
            delayed(function)(model, size, self.X, self.y, self.row_weight, cut)
            for of_candidate, size in zip(models, sizes, strict=True)
            for model, cut in zip(of_candidate, self.cuts, strict=True)
        )
        together = np.empty(models.shape, dtype=object)
        for place, answer in zip(np.ndindex(models.shape), answers):
            together[place] = answer
        return together


def race(models: Array, n_components: int, folds: Folds, *, keeps_all: bool) -> tuple[Array, Array]:
    """Grow models, by candidate and fold, and return their losses and who got to the end, the best first.

    The grown models take the place of those given. Those of candidates that drop out are let go, unless all
    are to be kept; their last loss stands for those that would have followed.
    """
    left, losses = np.arange(len(models)), np.empty((*models.shape, n_components))
    for n_learners, n_left in heats(len(models), n_components):
        if not keeps_all:
            models[left[n_left:]] = None
        left = left[:n_left]
        models[left] = folds.each(_grow, models[left], [n_learners] * n_left)
        curves = [model._trimmed_curve for model in models[left].flat]
        losses[left] = same_length(curves, n_components).reshape(losses[left].shape)
        lowest = folds.mean(losses[left]).min(axis=1)
        left = left[np.argsort(lowest, kind="stable")]
    return losses, left


def heats(n_candidates: int, n_components: int) -> list[tuple[int, int]]:
    """Return up to how many learners to grow, and how many candidates."""
    if n_candidates <= FINALISTS:
        return [(n_components, n_candidates)]
    ends = [end for end in (_HALVED_AFTER, _FINAL_AFTER) if end < n_components] + [n_components]
    return list(zip(ends, (n_candidates, -(-n_candidates // 2), FINALISTS)))


def _grow(model: Any, n_components: int, X: Any, y: Any, weight: Array | None, fold: Cut) -> Any:
    """Return a fold's model with more learners, unless they have not helped its held-out rows for a while."""
    if model._trimmed_curve is None:
        model._trimmed_curve = []
    elif _is_past_best(model._trimmed_curve):
        return model
    model.set_params(n_components=n_components).set_callbacks(_Patience())
    return _fitted_to(model, X, y, weight, fold)


def refined_losses(model: Any, n_components: int, X: Any, y: Any, weight: Array | None, fold: Cut) -> Array:
    """Return the held-out losses as the first learners of a fold's model are refined."""
    kept = min(n_components, model.n_components_)
    model.ensemble_ = model.ensemble_[: kept * model.ensemble_.n_outputs]
    model.history_ = model.history_[: kept + 1]
    model.set_params(n_components=kept, refine=True, refine_starts=1, warm_start=True)
    model.set_callbacks()
    curves: Array = _fitted_to(model, X, y, weight, fold).refinement_curves_
    mean: Array = curves[:, 0].mean(axis=0)
    return mean


def _fitted_to(model: Any, X: Any, y: Any, weight: Array | None, fold: Cut) -> Any:
    train, test = fold
    X_train, y_train, X_test, y_test = (
        take(each, rows) if is_foreign(each) else safe_indexing(each, rows)
        for rows in (train, test)
        for each in (X, y)
    )
    w_train, w_test = (None, None) if weight is None else (weight[train], weight[test])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit of all rows says it
        return model.fit(X_train, y_train, w_train, X_val=X_test, y_val=y_test, sample_weight_val=w_test)


def _is_past_best(losses: list[float]) -> bool:
    return len(losses) - 1 - int(np.argmin(losses)) >= _PATIENCE


class _Patience:
    """A callback that ends a fit when learners have not helped the validation rows for a while."""

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Tell whether to stop."""
        return _is_past_best(estimator._trimmed_curve)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing."""
