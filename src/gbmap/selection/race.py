"""Candidates of a search race along the path of learners: on the way, those that fall behind drop out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from gbmap._core.ensemble import Ensemble
from gbmap._fit.refining import Boosted
from gbmap._fit.sources.device import take
from gbmap._rows.threads import effective_threads
from gbmap._utils.typing import Array

# Rows to fit, and rows held out.
Cut = tuple[Array, Array]

# A fold ends when so many learners in a row have not helped its held-out rows.
_PATIENCE = 10
# After so many learners the better half of the candidates goes on, but no fewer than two, and later the best.
_HALVED_AFTER, _DECIDED_AFTER = 10, 30

# Learners times numbers in X below which it takes longer to start processes than they save.
_WORTH_PROCESSES = 5_000_000
# Learners that a fold of a candidate grows on average, of the hundred that it may.
_USUAL_LEARNERS = 40


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

    def curve(self, length: int) -> Array:
        """Return the losses, the last of them for those that would follow."""
        return np.pad(np.array(self.losses), (0, length - len(self.losses)), mode="edge")


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

    def each(self, function: Callable[..., Any], grown: Array, n_components: int) -> Array:
        """Call a function with what was grown, by candidate and fold, and how far to grow it."""
        # A new one for each call: called again, it counts the users of a large X, which it shares through a
        # file, one too low, and joblib's resource tracker prints a KeyError for the last of them.
        parallel = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)
        answers = parallel(
            delayed(function)(each, n_components, self.X, self.y, self.row_weight, cut)
            for of_candidate in grown
            for each, cut in zip(of_candidate, self.cuts, strict=True)
        )
        together = np.empty(grown.shape, dtype=object)
        for place, answer in zip(np.ndindex(grown.shape), answers):
            together[place] = answer
        return together


def race(template: Any, candidates: Sequence[dict[str, Any]], n_components: int, folds: Folds) -> Array:
    """Grow a model for each candidate and fold, and return the losses of their held-out rows.

    Returns
    -------
    losses : array of shape (n_candidates, n_folds, n_components)
        The last loss of a fold stands for those that would have followed.
    """
    models = [clone(template).set_params(refine=False, **each) for each in candidates]
    grown = np.array([[Grown(model) for _ in folds.cuts] for model in models], dtype=object)
    left, losses = np.arange(len(grown)), np.empty((*grown.shape, n_components))
    for n_learners, n_left in heats(len(grown), n_components):
        left = left[:n_left]
        grown[left] = folds.each(_grow, grown[left], n_learners)
        losses[left] = [[each.curve(n_components) for each in of_folds] for of_folds in grown[left]]
        lowest = folds.mean(losses[left]).min(axis=1)
        left = left[np.argsort(lowest, kind="stable")]
    return losses


def heats(n_candidates: int, n_components: int) -> list[tuple[int, int]]:
    """Return up to how many learners to grow, and how many candidates."""
    plan = [(_HALVED_AFTER, n_candidates), (_DECIDED_AFTER, max(2, -(-n_candidates // 2))), (n_components, 1)]
    if n_candidates <= 2:
        plan = plan[1:] if n_candidates == 2 else plan[2:]
    # Those that begin before there are enough learners; the last of them goes to the end.
    begun = [heat for heat, before in zip(plan, [(0, 0), *plan]) if before[0] < n_components]
    return [*begun[:-1], (n_components, begun[-1][1])]


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


def _opened(model: Any, X: Any, y: Any, weight: Array | None, fold: Cut) -> AbstractContextManager[Boosted]:
    """Return what a fit to a fold begins with, its held-out rows for validation."""
    to_fit, held_out = (
        (take(X, rows), take(y, rows), None if weight is None else weight[rows]) for rows in fold
    )
    return model._opened(to_fit, held_out)


def _is_past_best(losses: Sequence[float]) -> bool:
    return len(losses) > 0 and len(losses) - 1 - int(np.argmin(losses)) >= _PATIENCE


def check_classes(y: Any, cuts: list[Cut]) -> None:
    """Refuse folds in which a class is held out that is nowhere to learn."""
    labels = np.asarray(y)
    for train, test in cuts:
        unknown = np.setdiff1d(labels[test], labels[train])
        if len(unknown):
            raise ValueError(
                f"cv must leave rows of every class to learn in each fold, got none of {unknown.tolist()}; "
                "leave out classes with few rows, or pass another cv."
            )


def n_processes(n_jobs: int | None, n_fits: int, n_components: int, shape: tuple[int, ...]) -> int:
    """Return the number of processes for so many fits to rows of this shape, where None is to choose."""
    work = n_fits * min(n_components, _USUAL_LEARNERS) * math.prod(shape)
    if n_jobs is None and work < _WORTH_PROCESSES:
        return 1
    return effective_threads(n_jobs, work)
