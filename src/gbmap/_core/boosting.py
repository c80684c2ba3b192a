"""The boosting loop of Section 3.2 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss
from gbmap._core.objective import Objective
from gbmap._core.rows import Rows
from gbmap._core.weak_learner import Solution, Solver, fit_weak_learner, null_learner

Array = NDArray[Any]


@dataclass(frozen=True)
class Stage:
    """The state after one boosting stage: one learner more for each output."""

    ensemble: Ensemble
    losses: Array  # the mean loss of each output, in standard units
    validation_losses: Array  # the same on rows that are only watched; NaN if there are none
    solutions: tuple[Solution, ...]


def boost(
    rows: Rows,
    watched: Rows | None,
    objective: Objective,
    ensemble: Ensemble,
    n_stages: int,
    solver: Solver,
    seed: int,
) -> Iterator[Stage]:
    """Grow an ensemble to `n_stages` learners per output, and yield it after each stage.

    Learner j of output k draws from a random stream of its own, so that the first stages of a long
    fit are a short fit, and a fit that goes on from a stored ensemble is an uninterrupted one.
    """
    sample_rng = np.random.default_rng(np.random.SeedSequence(seed))
    samples = [rows.sample(size, sample_rng) for size in solver.sample_rows]
    # SciPy's ftol is relative to max(|value|, 1); in units of the loss to start with, that is fair.
    units = np.abs(mean_losses(rows, objective.loss))
    units[units == 0] = 1.0
    advance(rows, ensemble)
    advance(watched, ensemble)
    losses = mean_losses(rows, objective.loss)
    for stage in range(ensemble.n_stages, n_stages):
        solutions = []
        for output in range(rows.n_outputs):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(output, stage)))
            solution = fit_weak_learner(rows, samples, objective, output, units[output], rng, solver)
            theta = solution.theta
            if solution.value > losses[output] - 10 * rows.eps * abs(losses[output]):  # no gain but rounding
                theta = null_learner(objective, solution.sign, len(theta) - 2)
            ensemble = ensemble.append(theta, solution.sign, objective.activation.beta, output, rows.units)
            rows.advance(ensemble)
            solutions.append(solution)
        advance(watched, ensemble, len(ensemble) - rows.n_outputs)
        losses = mean_losses(rows, objective.loss)
        yield Stage(ensemble, losses, mean_losses(watched, objective.loss), tuple(solutions))


def advance(rows: Rows | None, ensemble: Ensemble, start: int = 0) -> None:
    """Add the learners from `start` on to the scores, one by one, as they were found."""
    if rows is not None:
        for j in range(start, len(ensemble)):
            rows.advance(ensemble[: j + 1])


def mean_losses(rows: Rows | None, loss: Loss, shift: Array | None = None) -> Array:
    """Return the mean loss of each output at its current score plus a constant."""
    if rows is None:
        return np.array([np.nan])
    shifts = np.zeros(rows.n_outputs) if shift is None else shift
    return np.array([rows.mean_loss(loss, output, shifts[output]) for output in range(rows.n_outputs)])
