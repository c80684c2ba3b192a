"""The boosting loop of Section 3.2 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.evidence import Evidence
from gbmap._core.finding import Finder
from gbmap._core.losses import Loss
from gbmap._core.problem import BoostingProblem, Solver
from gbmap._core.rows import Rows, Sample
from gbmap._core.weak_learner import Solution, null_learner
from gbmap._utils.typing import Array

_SMALLEST = 1e-300  # a smaller loss is none: it cannot be divided by
_LARGEST = 1e300  # larger weights, as of a huge y and a tiny column, could not even be summed


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
    fit are a short fit, and a fit that goes on from a stored ensemble is an uninterrupted one.
    """
    rows, loss = problem.rows, problem.objective.loss
    # SciPy's ftol is relative to max(|value|, 1); in units of the loss to start with, that is fair.
    units = _units(rows, loss)
    evidence = Evidence(problem, units)
    for j in range(len(ensemble)):
        add_learners(rows, ensemble[: j + 1], j)
        if problem.evidence is not None:
            evidence.learn(ensemble[: j + 1], rows.mean_loss(loss, int(ensemble.outputs[j])))
    add_learners(problem.validation_rows, ensemble)
    losses = mean_losses(rows, loss)
    levels = np.zeros(rows.n_outputs)
    if len(ensemble) == 0:
        levels, losses = _best_levels(rows, loss, losses)
    for stage in range(ensemble.n_stages, n_stages):
        solutions, losses, ridges = [], losses.copy(), np.zeros((rows.n_outputs, problem.n_groups))
        for output in range(rows.n_outputs):
            stream = _stream(seed, output, stage)
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows does not lower the loss
                finder = Finder(problem, evidence, output, units[output], stream)
                find = finder.first_learner if stage == 0 else finder.learner
                solution, ridges[output] = find(losses[output])
                ensemble, losses[output] = _grow(
                    problem, ensemble, output, solution, losses[output], levels[output]
                )
                evidence.learn(ensemble, losses[output])
            solutions.append(solution)
        add_learners(problem.validation_rows, ensemble, len(ensemble) - rows.n_outputs)
        levels = np.zeros(rows.n_outputs)
        unseen = mean_losses(problem.validation_rows, loss)
        yield Stage(ensemble, losses, unseen, tuple(solutions), ridges, evidence.n_futile)


def linear_outputs(problem: BoostingProblem, seed: int) -> tuple[bool, ...]:
    """Return which outputs `boost` begins with a linear part, before it does."""
    units = _units(problem.rows, problem.objective.loss)
    evidence = Evidence(problem, units)
    with np.errstate(over="ignore", invalid="ignore"):
        return tuple(
            Finder(problem, evidence, output, unit, _stream(seed, output, 0)).is_linear()
            for output, unit in enumerate(units.tolist())
        )


def _units(rows: Rows, loss: Loss) -> Array:
    """Return the mean losses to start with; one in place of none."""
    units = np.abs(mean_losses(rows, loss))
    units[units < _SMALLEST] = 1.0
    return units


def _stream(seed: int, output: int, stage: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(output, stage))


def draw_samples(rows: Rows, solver: Solver, seed: int) -> list[Sample]:
    """Return the samples that learners are found on, the smallest first."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    return [rows.sample(size, rng) for size in solver.sample_rows]


def _best_levels(rows: Rows, loss: Loss, losses: Array) -> tuple[Array, Array]:
    """Return how far below the mean of y - f_0 the better of it and f_0 lies, and the losses there."""
    mean = rows.units.target_mean / rows.units.target_scale
    of_f_0 = mean_losses(rows, loss, -mean)
    return np.where(of_f_0 < losses, mean, 0.0), np.minimum(of_f_0, losses)


def _grow(
    problem: BoostingProblem, ensemble: Ensemble, output: int, solution: Solution, loss: float, level: float
) -> tuple[Ensemble, float]:
    """Append the learner that was found, or a constant if that does not lower the loss, and tell the loss."""
    rows, objective = problem.rows, problem.objective
    beta, rounding = objective.activation.beta, 10 * rows.eps * abs(loss)
    grown = ensemble.append(solution.theta, solution.sign, beta, output, rows.units)
    if solution.value <= loss - rounding and np.abs(grown.weights[-1]).max() < _LARGEST:
        before = rows.remember(output)
        rows.add_last_learner(grown)
        reached = rows.mean_loss(objective.loss, output)
        if reached <= loss + rounding:  # the user's units may have cost the learner its digits
            return grown, reached
        rows.restore(output, before)
    theta = null_learner(objective, solution.sign, len(solution.theta) - 2)
    theta[0] -= level
    grown = ensemble.append(theta, solution.sign, beta, output, rows.units)
    rows.add_last_learner(grown)
    return grown, rows.mean_loss(objective.loss, output)


def add_learners(rows: Rows | None, ensemble: Ensemble, start: int = 0) -> None:
    """Add the learners from `start` on to the scores, one by one, as they were found."""
    if rows is not None:
        for j in range(start, len(ensemble)):
            rows.add_last_learner(ensemble[: j + 1])


def mean_losses(rows: Rows | None, loss: Loss, shift: Array | None = None) -> Array:
    """Return the mean loss of each output at its current score plus a constant."""
    if rows is None:
        return np.array([np.nan])
    shifts = np.zeros(rows.n_outputs) if shift is None else shift
    return np.array([rows.mean_loss(loss, output, shifts[output]) for output in range(rows.n_outputs)])
