"""How far to refine a fit: as far as rows that its learners have not seen say, and no further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from gbmap._core.arrays import to_numpy
from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import mean_and_error
from gbmap._core.refinement import MOST_STEPS, Refinement, refine, refined_ensemble
from gbmap._fit.initial import InitialModel
from gbmap._fit.log import logger
from gbmap._fit.problem import FitProblem
from gbmap._fit.records import Refined
from gbmap._fit.settings import FitSettings
from gbmap._fit.sources import Source
from gbmap._fit.sources.memory import scaled_weight
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array

# Of more rows one part is held out, once: it says enough. Of fewer each is held out once, in five folds.
_MANY_ROWS, _FOLDS = 20_000, 5
# With fewer rows for each number of the learners, the start with the lowest loss is the one that learned most
# of them by heart: on the paper's concrete further starts then cost R2.
_ROWS_PER_NUMBER = 4


@dataclass(frozen=True)
class Boosted:
    """A boosted fit, with all that it takes to fit parts of its rows again.

    Attributes
    ----------
    ensemble : Ensemble
        The learners.
    problem : FitProblem
    origin : object
        The scores that boosting began with, as `FitProblem.remember` gives them.
    settings : FitSettings
    source : Source
        The rows.
    initial : InitialModel
        f_0, not fitted.
    team : ThreadTeam
    l2_regularizations : tuple of float
        Those of the last learners; empty if there are none, or if all have the same.
    """

    ensemble: Ensemble
    problem: FitProblem
    origin: Any
    settings: FitSettings
    source: Source
    initial: InitialModel
    team: ThreadTeam
    l2_regularizations: tuple[float, ...] = ()

    @property
    def ridges(self) -> Array:
        """The ridge of each output: that of its last learner."""
        if not self.l2_regularizations:
            return np.full(self.ensemble.n_outputs, self.problem.engine.objective.ridge)
        return np.array(self.l2_regularizations) * self.problem.ridge_unit


def refine_fit(fit: Boosted) -> Refined:
    """Optimise the learners of a fit together."""
    ensemble, problem, settings = fit.ensemble, fit.problem, fit.settings
    curves, is_open = None, settings.refines_by_unseen_rows
    _check_beta(problem, ensemble)
    limits = np.full(ensemble.n_outputs, MOST_STEPS if is_open else int(settings.refine))
    validation_rows = problem.engine.validation_rows if is_open else None
    if is_open and validation_rows is None:
        folds = _folds(settings, fit.source)
        curves = _curves_of_folds(fit, folds)
        weight = scaled_weight(fit.source.weight)
        of_fold = np.array([1.0 if weight is None else weight[test].sum() for _, test in folds])
        limits = np.array([best_step(each, of_fold) for each in curves])
    found: list[Refinement] = []
    for start in _starts(fit, limits):
        problem.restore(fit.origin)
        refined = _refine_outputs(problem, validation_rows, start, limits, fit.ridges)
        found = list(map(_better, found, refined)) if found else refined
    if validation_rows is not None:
        curves = same_length([problem.loss_unit[k] * each.curve for k, each in enumerate(found)])[:, None]
    n_steps = np.array([each.n_steps for each in found])
    logger.info("refined by %s iterations", ", ".join(map(str, n_steps)))
    if n_steps.any():
        ensemble = refined_ensemble(
            ensemble, found, problem.engine.samples[0], problem.rows.units, problem.engine.objective
        )
    return Refined(ensemble, n_steps, curves)


def _starts(fit: Boosted, limits: Array) -> Iterator[Ensemble]:
    """Yield the learners of boosting, and of boosting again with other random numbers."""
    yield fit.ensemble
    problem, n_stages = fit.problem, fit.ensemble.n_stages
    n_numbers = n_stages * (problem.rows.units.n_active + 1)
    if not limits.any() or problem.rows.n_rows < _ROWS_PER_NUMBER * n_numbers:
        return
    (seeds,) = np.random.SeedSequence(fit.settings.seed).spawn(1)
    for seed in seeds.generate_state(fit.settings.refine_starts - 1):
        problem.restore(fit.origin)
        yield problem.boosted(n_stages, int(seed))


def _better(best: Refinement, other: Refinement) -> Refinement:
    """Return the first, unless the other moved and reached less."""
    return other if other.n_steps and other.reached < best.reached else best


def _check_beta(problem: FitProblem, ensemble: Ensemble) -> None:
    bends = ensemble.beta * problem.rows.units.target_scale[ensemble.outputs]
    if not np.allclose(bends, problem.engine.objective.activation.beta, rtol=1e-6, atol=0.0):
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
    problem: FitProblem, validation_rows: Any, ensemble: Ensemble, limits: Array, ridges: Array
) -> list[Refinement]:
    engine = replace(problem.engine, validation_rows=validation_rows)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows does not lower the loss
        return [
            refine(engine.with_ridge(ridge), ensemble, output, int(limit))
            for output, (limit, ridge) in enumerate(zip(limits, ridges))
        ]


def _curves_of_folds(fit: Boosted, folds: list[tuple[Array, Array]]) -> Array:
    """Return the held-out losses of fits to parts of the rows, refined; see `Refined`."""
    n_outputs = fit.source.n_outputs
    if not folds:
        return np.empty((n_outputs, 0, 1))
    curves = [curve for fold in folds for curve in _curves_of_fold(fit, *fold)]
    return same_length(curves).reshape(len(folds), n_outputs, -1).swapaxes(0, 1)


def _curves_of_fold(fit: Boosted, train: Array, test: Array) -> list[Array]:
    part, rest, settings = fit.source.take(train), fit.source.take(test), fit.settings
    initial = fit.initial.fitted_to(part.raw, part.y, part.weight)
    problem = FitProblem.of(settings, part, rest, initial, fit.team)
    origin = problem.remember()
    ensemble = problem.boosted(fit.ensemble.n_stages, settings.seed)
    problem.restore(origin)
    limits = np.full(part.n_outputs, MOST_STEPS)
    found = _refine_outputs(problem, problem.engine.validation_rows, ensemble, limits, fit.ridges)
    return [problem.loss_unit[k] * each.curve for k, each in enumerate(found)]


def same_length(curves: Sequence[Array], length: int | None = None) -> Array:
    """Return curves as rows of a matrix; the last value of each stands for those that follow."""
    length = length or max(map(len, curves))
    return np.array([np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves])


def _folds(settings: FitSettings, source: Source) -> list[tuple[Array, Array]]:
    """Return rows to fit and rows to hold out; none if there are too few."""
    kept = np.arange(source.shape[0]) if source.weight is None else np.flatnonzero(source.weight)
    if len(kept) < 2 * _FOLDS:
        return []
    strata = source.reader.strata(to_numpy(source.y))
    if strata is not None and np.unique(strata[kept], return_counts=True)[1].min() < _FOLDS:
        strata = None  # too few of a class for every fold to have one
    if len(kept) > _MANY_ROWS:
        once = ShuffleSplit if strata is None else StratifiedShuffleSplit
        cut = once(1, test_size=settings.validation_fraction, random_state=settings.split_seed)
    else:
        every = KFold if strata is None else StratifiedKFold
        cut = every(_FOLDS, shuffle=True, random_state=settings.split_seed)
    pairs = cut.split(kept, None if strata is None else strata[kept])
    return [(np.sort(kept[train]), np.sort(kept[test])) for train, test in pairs]
