"""The boosting loop of Section 3.2 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.evidence import Evidence
from gbmap._core.finding import Finder
from gbmap._core.lockstep import search_side_by_side
from gbmap._core.losses import Loss
from gbmap._core.problem import BoostingProblem, Solver
from gbmap._core.rows import Rows, Sample
from gbmap._core.weak_learner import Solution, null_learner
from gbmap._utils.typing import Array

_SMALLEST = 1e-300  # a smaller loss is none: it cannot be divided by
# Samples of inputs that are made as they are read cannot grow as others do, so that a part of the rows stands
# between the largest of them and all rows: so many times as large as the former.
_PART = 4
_LARGEST = 1e300  # larger weights, as of a huge y and a tiny column, could not even be summed
# Where the ridge is found, so many learners of an output begin from the same starts whatever the seed: a map
# shows them, and beside the first one several do about equally.
_SETTLED, SETTLED_SEED = 2, 0


@dataclass(frozen=True)
class Stage:
    """The state after one boosting stage: one learner more for each output."""

    ensemble: Ensemble
    losses: Array  # the mean loss of each output, in standard units
    validation_losses: Array  # the same of the validation rows; NaN if there are none
    solutions: tuple[Solution, ...]
    ridges: Array  # the ridges of the learner of each output, (K, G)
    n_futile: int  # the last stages in a row that brought noise, if the fit finds its ridge


def boost(problem: BoostingProblem, ensemble: Ensemble, n_stages: int, seed: int) -> Iterator[Stage]:
    """Grow an ensemble to `n_stages` learners per output, and yield it after each stage.

    Learner j of output k draws from a random stream of its own, so that the first stages of a long
    fit are a short fit, and a fit that goes on from a stored ensemble is an uninterrupted one. The seed has
    no part in the first two where the ridge is found.
    """
    rows, loss, outputs = problem.rows, problem.objective.loss, range(problem.rows.n_outputs)
    # SciPy's ftol is relative to max(|value|, 1); in units of the loss to start with, that is fair.
    units = _units(rows, loss)
    evidence = Evidence(problem, units)
    for stage in range(ensemble.n_stages):
        so_far = ensemble[: (stage + 1) * rows.n_outputs]
        add_stages(rows, so_far, stage)
        if problem.evidence is not None:
            evidence.learn_stage(so_far, mean_losses(rows, loss))
    add_stages(problem.validation_rows, ensemble)
    losses = mean_losses(rows, loss)
    levels = np.zeros(rows.n_outputs)
    if len(ensemble) == 0:
        levels, losses = _best_levels(rows, loss, losses)
    for stage in range(ensemble.n_stages, n_stages):
        streams = [_stream(problem, seed, output, stage) for output in outputs]
        finders = [Finder(problem, evidence, k, units[k], stream) for k, stream in enumerate(streams)]
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows does not lower the loss
            searches = [finder.search(stage, losses[finder.output]) for finder in finders]
            solutions, ridges = zip(*search_side_by_side(searches))
            ensemble, losses = _grow(problem, ensemble, solutions, losses, levels)
            evidence.learn_stage(ensemble, losses)
        add_stages(problem.validation_rows, ensemble, stage)
        levels = np.zeros(rows.n_outputs)
        unseen = mean_losses(problem.validation_rows, loss)
        yield Stage(ensemble, losses, unseen, solutions, np.array(ridges), evidence.n_futile)


def linear_outputs(problem: BoostingProblem, seed: int) -> tuple[bool, ...]:
    """Return which outputs `boost` begins with a linear part, before it does."""
    units = _units(problem.rows, problem.objective.loss)
    evidence = Evidence(problem, units)
    finders = [
        Finder(problem, evidence, k, unit, _stream(problem, seed, k, 0))
        for k, unit in enumerate(units.tolist())
    ]
    with np.errstate(over="ignore", invalid="ignore"):
        return tuple(search_side_by_side([finder.is_linear() for finder in finders]))


def _units(rows: Rows, loss: Loss) -> Array:
    """Return the mean losses to start with; one in place of none."""
    units = np.abs(mean_losses(rows, loss))
    units[units < _SMALLEST] = 1.0
    return units


def _stream(problem: BoostingProblem, seed: int, output: int, stage: int) -> np.random.SeedSequence:
    is_settled = stage < _SETTLED and problem.evidence is not None
    return np.random.SeedSequence(SETTLED_SEED if is_settled else seed, spawn_key=(output, stage))


def draw_samples(rows: Rows, solver: Solver, seed: int) -> list[Sample]:
    """Return the samples that learners are found on, the smallest first."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    return [rows.sample(size, rng) for size in solver.sample_rows]


def draw_part(rows: Rows, samples: list[Sample], seed: int) -> Sample | None:
    """Return more rows than the largest sample has, if all rows are many more."""
    size = _PART * samples[-1].n_rows
    if samples[-1].complete or 2 * size > rows.n_rows:
        return None
    return rows.part(size, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,))))


def _best_levels(rows: Rows, loss: Loss, losses: Array) -> tuple[Array, Array]:
    """Return how far below the mean of y - f_0 the better of it and f_0 lies, and the losses there."""
    mean = rows.units.target_mean / rows.units.target_scale
    of_f_0 = mean_losses(rows, loss, -mean)
    return np.where(of_f_0 < losses, mean, 0.0), np.minimum(of_f_0, losses)


def _grow(
    problem: BoostingProblem, ensemble: Ensemble, solutions: Sequence[Solution], losses: Array, levels: Array
) -> tuple[Ensemble, Array]:
    """Append the learners that were found, or a constant where one does not help, and tell the losses."""
    rows, loss, last = problem.rows, problem.objective.loss, slice(-len(solutions), None)
    rounding = 10 * rows.eps * np.abs(losses)
    helps = np.array([solution.value for solution in solutions]) <= losses - rounding
    while True:
        grown = _appended(problem, ensemble, solutions, helps, levels)
        failed = helps & ~(np.abs(grown.weights[last]).max(axis=1) < _LARGEST)
        if not failed.any():
            before, was = [rows.remember(k) for k in range(rows.n_outputs)], problem.row_losses()
            rows.add_last_learners(grown, rows.n_outputs)
            reached = mean_losses(rows, loss)
            failed = helps & ~(reached <= losses + rounding)  # the user's units may have cost one its digits
            failed |= helps & ~problem.help_several(was)
            if not failed.any():
                return grown, reached
            for k, score in enumerate(before):
                rows.restore(k, score)
        helps &= ~failed


def _appended(
    problem: BoostingProblem, ensemble: Ensemble, solutions: Sequence[Solution], helps: Array, levels: Array
) -> Ensemble:
    """Append a learner for each output: the one that was found, if that helps, else a constant."""
    objective, units = problem.objective, problem.rows.units
    for k, solution in enumerate(solutions):
        theta = solution.theta
        if not helps[k]:
            theta = null_learner(objective, solution.sign, len(theta) - 2)
            theta[0] -= levels[k]
        ensemble = ensemble.append(theta, solution.sign, objective.activation.beta, k, units)
    return ensemble


def add_stages(rows: Rows | None, ensemble: Ensemble, start: int = 0) -> None:
    """Add the learners from stage `start` on to the scores, stage by stage, as they were found."""
    if rows is not None:
        for stage in range(start, ensemble.n_stages):
            rows.add_last_learners(ensemble[: (stage + 1) * rows.n_outputs], rows.n_outputs)


def mean_losses(rows: Rows | None, loss: Loss, shift: Array | None = None) -> Array:
    """Return the mean loss of each output at its current score plus a constant."""
    if rows is None:
        return np.array([np.nan])
    shifts = np.zeros(rows.n_outputs) if shift is None else shift
    return np.array([rows.mean_loss(loss, output, shifts[output]) for output in range(rows.n_outputs)])
