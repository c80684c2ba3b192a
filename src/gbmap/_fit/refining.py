"""How far to refine a fit: as far as rows that its learners have not seen say, and no further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from gbmap._core.arrays import to_numpy
from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import mean_and_error
from gbmap._core.refinement import MOST_STEPS, Refinement, is_automatic, refine, refined_ensemble
from gbmap._fit.initial import fit_initial
from gbmap._fit.log import logger
from gbmap._fit.problem import AnyRows, Problem
from gbmap._fit.records import Refined
from gbmap._fit.validation import Data
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array

# Of more rows one part is held out, once: it says enough. Of fewer each is held out once, in five folds.
_MANY_ROWS, _FOLDS = 20_000, 5
# With fewer rows for each number of the learners, the start with the lowest loss is the one that learned most
# of them by heart: on the paper's concrete further starts then cost R2.
_ROWS_PER_NUMBER = 4


def refine_fit(estimator: Any, data: Data, problem: Problem, origin: Any, team: ThreadTeam) -> Refined:
    """Optimise the learners of a fit together; `origin` are the scores that boosting began with."""
    ensemble, curves, is_open = estimator.ensemble_, None, is_automatic(estimator.refine)
    _check_beta(problem, ensemble)
    limits = np.full(ensemble.n_outputs, MOST_STEPS if is_open else int(estimator.refine))
    watched = problem.watched if is_open else None
    if is_open and watched is None:
        folds = _folds(estimator, data)
        curves = _curves_of_folds(estimator, data, folds, team)
        weight = data.scaled_weight
        of_fold = np.array([1.0 if weight is None else weight[test].sum() for _, test in folds])
        limits = np.array([best_step(each, of_fold) for each in curves])
    found: list[Refinement] = []
    for start in _starts(estimator, problem, origin, limits):
        problem.restore(origin)
        refined = _refine_outputs(problem, watched, start, limits)
        found = list(map(_better, found, refined)) if found else refined
    if watched is not None:
        curves = same_length([problem.loss_unit[k] * each.curve for k, each in enumerate(found)])[:, None]
    n_steps = np.array([each.n_steps for each in found])
    logger.info("refined by %s iterations", ", ".join(map(str, n_steps)))
    if n_steps.any():
        ensemble = refined_ensemble(
            ensemble, found, problem.samples[0], problem.rows.units, problem.objective
        )
    return Refined(ensemble, n_steps, curves)


def _starts(estimator: Any, problem: Problem, origin: Any, limits: Array) -> Iterator[Ensemble]:
    """Yield the learners of boosting, and of boosting again with other random numbers."""
    yield estimator.ensemble_
    n_stages = estimator.ensemble_.n_stages
    n_numbers = n_stages * (problem.rows.units.n_active + 1)
    if not limits.any() or problem.rows.n_rows < _ROWS_PER_NUMBER * n_numbers:
        return
    (seeds,) = np.random.SeedSequence(estimator._seed).spawn(1)
    for seed in seeds.generate_state(estimator.refine_starts - 1):
        problem.restore(origin)
        yield problem.boosted(estimator.activation, n_stages, int(seed))


def _better(best: Refinement, other: Refinement) -> Refinement:
    """Return the first, unless the other moved and reached less."""
    return other if other.n_steps and other.reached < best.reached else best


def _check_beta(problem: Problem, ensemble: Ensemble) -> None:
    bends = ensemble.beta * problem.rows.units.target_scale[ensemble.outputs]
    if not np.allclose(bends, problem.objective.activation.beta, rtol=1e-6, atol=0.0):
        raise ValueError(
            "refine must be False when learners of an earlier fit have another beta, or come from a y of "
            "another spread: learners that bend alike are optimised together. Set warm_start=False to start "
            "anew."
        )


def best_step(curves: Array, weight: Array) -> int:
    """Return where the mean of the folds' curves is lowest, or 0 if that may be chance."""
    if not len(curves):
        return 0
    best = int(np.argmin(np.average(curves, axis=0, weights=weight)))
    gain, error = mean_and_error(curves[:, 0] - curves[:, best], weight)
    if len(curves) > 1 and gain < error * np.sqrt(len(curves) / (len(curves) - 1)):
        return 0
    return best


def _refine_outputs(
    problem: Problem, watched: AnyRows | None, ensemble: Ensemble, limits: Array
) -> list[Refinement]:
    for_engine = problem.for_engine(watched)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows does not lower the loss
        return [refine(for_engine, ensemble, output, int(limit)) for output, limit in enumerate(limits)]


def _curves_of_folds(estimator: Any, data: Data, folds: list[tuple[Array, Array]], team: ThreadTeam) -> Array:
    """Return the held-out losses of fits to parts of the rows, refined; see `Refined`."""
    if not folds:
        return np.empty((data.n_outputs, 0, 1))
    curves = [curve for fold in folds for curve in _curves_of_fold(estimator, data, *fold, team)]
    return same_length(curves).reshape(len(folds), data.n_outputs, -1).swapaxes(0, 1)


def _curves_of_fold(estimator: Any, data: Data, train: Array, test: Array, team: ThreadTeam) -> list[Array]:
    part, rest = data.take(train), data.take(test)
    init = None if estimator.init is None else fit_initial(estimator.init, part.raw, part.y, part.weight)
    problem = Problem.of(estimator, part, rest, init, team)
    origin = problem.remember()
    ensemble = problem.boosted(estimator.activation, estimator.ensemble_.n_stages, estimator._seed)
    problem.restore(origin)
    limits = np.full(data.n_outputs, MOST_STEPS)
    found = _refine_outputs(problem, problem.watched, ensemble, limits)
    return [problem.loss_unit[k] * each.curve for k, each in enumerate(found)]


def same_length(curves: Sequence[Array], length: int | None = None) -> Array:
    """Return curves as rows of a matrix; the last value of each stands for those that follow."""
    length = length or max(map(len, curves))
    return np.array([np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves])


def _folds(estimator: Any, data: Data) -> list[tuple[Array, Array]]:
    """Return rows to fit and rows to hold out; none if there are too few."""
    kept = np.arange(data.X.shape[0]) if data.weight is None else np.flatnonzero(data.weight)
    if len(kept) < 2 * _FOLDS:
        return []
    strata = estimator._strata(to_numpy(data.y))
    if strata is not None and np.unique(strata[kept], return_counts=True)[1].min() < _FOLDS:
        strata = None  # too few of a class for every fold to have one
    seed = estimator._seed % 2**32
    if len(kept) > _MANY_ROWS:
        once = ShuffleSplit if strata is None else StratifiedShuffleSplit
        cut = once(1, test_size=estimator.validation_fraction, random_state=seed)
    else:
        every = KFold if strata is None else StratifiedKFold
        cut = every(_FOLDS, shuffle=True, random_state=seed)
    pairs = cut.split(kept, None if strata is None else strata[kept])
    return [(np.sort(kept[train]), np.sort(kept[test])) for train, test in pairs]
