"""Candidates of a search race along the path of learners: on the way, those that fall behind drop out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from gbmap._core.ensemble import Ensemble
from gbmap._fit.refining import Boosted, refine_fit, same_length
from gbmap._fit.sources.device import take
from gbmap._utils.typing import Array

# Rows to fit, and rows held out.
Cut = tuple[Array, Array]

# A fold ends when so many learners in a row have not helped its held-out rows.
_PATIENCE = 10
# After so many learners the better half of the candidates goes on, and later so many of them: by the curves
# of all candidates on 14 of the paper's data sets, the one that is best in the end was always there.
_HALVED_AFTER, _FINAL_AFTER, FINALISTS = 10, 30, 2


@dataclass(frozen=True)
class Grown:
    """What a candidate has learned in one fold, so far.

    Attributes
    ----------
    model : estimator
        With the candidate's parameters; not fitted.
    ensemble : Ensemble or None
        The learners.
    losses : sequence of float
        Mean losses of the held-out rows after 1, 2, ... of them, without the rows of the largest.
    """

    model: Any
    ensemble: Ensemble | None = None
    losses: Sequence[float] = ()


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
        return np.average(losses, axis=1, weights=self.weights)

    def each(self, function: Callable[..., Any], grown: Array, sizes: Sequence[int]) -> Array:
        """Call a function with what was grown, by candidate and fold; each candidate has a size."""
        # A new one for each call: called again, it counts the users of a large X, which it shares through a
        # file, one too low, and joblib's resource tracker prints a KeyError for the last of them.
        parallel = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)
        answers = parallel(
            delayed(function)(each, size, self.X, self.y, self.row_weight, cut)
            for of_candidate, size in zip(grown, sizes, strict=True)
            for each, cut in zip(of_candidate, self.cuts, strict=True)
        )
        together = np.empty(grown.shape, dtype=object)
        for place, answer in zip(np.ndindex(grown.shape), answers):
            together[place] = answer
        return together


def race(
    template: Any, candidates: Sequence[dict[str, Any]], n_components: int, folds: Folds, *, keeps_all: bool
) -> tuple[Array, Array, Array]:
    """Grow a model for each candidate and fold.

    Returns
    -------
    grown : array of Grown, of shape (n_candidates, n_folds)
        None for candidates that dropped out, unless all are to be kept.
    losses : array of shape (n_candidates, n_folds, n_components)
        The last loss of a fold stands for those that would have followed.
    finalists : array of int
        Who got to the end, the best first.
    """
    models = [clone(template).set_params(refine=False, **each) for each in candidates]
    grown = np.array([[Grown(model) for _ in folds.cuts] for model in models], dtype=object)
    left, losses = np.arange(len(grown)), np.empty((*grown.shape, n_components))
    for n_learners, n_left in heats(len(grown), n_components):
        if not keeps_all:
            grown[left[n_left:]] = None
        left = left[:n_left]
        grown[left] = folds.each(_grow, grown[left], [n_learners] * n_left)
        curves = [np.array(each.losses) for each in grown[left].flat]
        losses[left] = same_length(curves, n_components).reshape(losses[left].shape)
        lowest = folds.mean(losses[left]).min(axis=1)
        left = left[np.argsort(lowest, kind="stable")]
    return grown, losses, left


def heats(n_candidates: int, n_components: int) -> list[tuple[int, int]]:
    """Return up to how many learners to grow, and how many candidates."""
    if n_candidates <= FINALISTS:
        return [(n_components, n_candidates)]
    ends = [end for end in (_HALVED_AFTER, _FINAL_AFTER) if end < n_components] + [n_components]
    return list(zip(ends, (n_candidates, -(-n_candidates // 2), FINALISTS)))


def _grow(grown: Grown, n_components: int, X: Any, y: Any, weight: Array | None, fold: Cut) -> Grown:
    """Return a fold's learners and more, unless they have not helped its held-out rows for a while."""
    if _is_past_best(grown.losses):
        return grown
    ensemble, losses = grown.ensemble, list(grown.losses)
    with _opened(grown.model, X, y, weight, fold) as fit:
        start = fit.ensemble if ensemble is None else ensemble
        for stage in fit.problem.boost(start, n_components, fit.settings.seed):
            ensemble = stage.ensemble
            losses.append(fit.problem.trimmed_loss())
            if _is_past_best(losses):
                break
    return Grown(grown.model, ensemble, losses)


def refined_losses(grown: Grown, n_components: int, X: Any, y: Any, weight: Array | None, fold: Cut) -> Array:
    """Return the held-out losses as the first learners of a fold are refined."""
    assert grown.ensemble is not None
    model = clone(grown.model).set_params(refine=True, refine_starts=1)
    with _opened(model, X, y, weight, fold) as fit:
        first = grown.ensemble[: n_components * grown.ensemble.n_outputs]
        curves = refine_fit(replace(fit, ensemble=first)).curves
    assert curves is not None
    return curves[:, 0].mean(axis=0)


def _opened(model: Any, X: Any, y: Any, weight: Array | None, fold: Cut) -> AbstractContextManager[Boosted]:
    """Return what a fit to a fold begins with, its held-out rows for validation."""
    to_fit, held_out = (
        (take(X, rows), take(y, rows), None if weight is None else weight[rows]) for rows in fold
    )
    return model._opened(to_fit, held_out)


def _is_past_best(losses: Sequence[float]) -> bool:
    return len(losses) > 0 and len(losses) - 1 - int(np.argmin(losses)) >= _PATIENCE
