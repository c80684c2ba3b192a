"""One weak learner: both signs race on a sample, the winner is polished on all rows, by L-BFGS-B."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gbmap._core.lockstep import Search, Solves
from gbmap._core.minimise import DAMPING, Hessian, Solve, Stopping, minimising
from gbmap._core.objective import Objective
from gbmap._core.problem import BoostingProblem
from gbmap._core.rows import Rows, Sample
from gbmap._utils.typing import Array

# Found by trial on the paper's data sets. With 10 iterations the race picks the worse sign now and
# then (cpu-small ends 20 % higher); with more it only takes longer.
_RACE_ITER = 20
# The winner then meets the bends, for so many iterations as plain as those: whitened ones from the start end
# higher where a column rises and falls.
_BEND_ITER = 10
# How far z spreads at the starts, in turn. Steep starts find what gentle ones miss (HIGGS, synth-cos); alone
# they end higher where columns have long tails (cpu-small).
_LENGTHS = (1.0, 3.0)
# A tolerance of so many rounding errors of a sample asks for no more digits than it has.
_DIGITS = 8
# Rows a column of a sample below which its race is shortened in proportion.
_ROWS_PER_COLUMN = 50
# A solve on the sample need not come nearer to its minimum than that is to the minimum of all rows,
# which is of the order of parameters over rows. Five times this stops on plateaus.
_SAMPLING_ERROR = 0.02


# All of many rows take time for hinges, each pass over them. So their matrix is one of a share of them, which
# takes as long as a part of a pass, and is hardly damped: with hinges side by side it is nearly singular, and
# slow along what is damped.
_SHARE_FOR_MATRIX, _BENT_DAMPING = 16, 1e-3


class Whitening(NamedTuple):
    """Of how many rows the matrix is to be that whitens, at least, and by which share it is damped."""

    least_rows: int = 0
    damping: float = DAMPING


_OF_FEW_ROWS = Whitening()


@dataclass(frozen=True)
class Solution:
    """A learner theta = (a, w, c) with its sign, and how it was found."""

    theta: Array
    sign: int
    value: float
    n_iter: int  # of all solves on the way
    n_evaluations: int  # of the last one
    converged: bool


Fit = Callable[[BoostingProblem, int, float, np.random.Generator], Search[Solution]]


def fit_weak_learner(
    problem: BoostingProblem, output: int, unit: float, rng: np.random.Generator
) -> Search[Solution]:
    """Minimise the objective over (a, b, w, c) (Eq. 3 of the paper).

    First all starts race with both signs for a few iterations on the smallest sample, without bends, which
    the winner then takes in. It goes on there, on larger samples and at last on all rows, where few
    iterations remain to be done, now in variables in which the sample's Gauss-Newton matrix is the identity.

    `unit` is the value below which a decrease counts as small by its size, not its share.
    """
    found = yield from find_on_samples(problem, output, unit, rng)
    return (yield from polish_on_all_rows(problem, output, unit, found))


def find_on_samples(
    problem: BoostingProblem, output: int, unit: float, rng: np.random.Generator
) -> Search[Solution]:
    """Return a learner without its last iterations on all rows, if samples have told enough of it."""
    samples, solver = problem.samples, problem.solver
    stage = StageProblem.of(problem, output, unit)
    coarse, n_columns = samples[0], len(problem.rows.units.mean)
    best = yield from _winner(problem, output, unit, rng)
    # A sample with few rows a column is soon learned by heart, and no place to start from then.
    begins_there = coarse.complete or (_plenty(coarse, n_columns) >= 1 and not best.converged)
    chosen = samples if begins_there else samples[1:]
    for sample in chosen:
        tol = _sample_tol(sample, n_columns, solver.tol)
        best = yield from stage.polish(sample, coarse, best, tol, solver.max_iter)
    return best if chosen else (yield from polish_on_all_rows(problem, output, unit, best))


def polish_on_all_rows(
    problem: BoostingProblem, output: int, unit: float, found: Solution
) -> Search[Solution]:
    """Go on from a learner on all rows, unless a sample that it was found on holds them all."""
    rows, coarse, solver = problem.rows, problem.samples[0], problem.solver
    if any(sample.complete and _tells(sample, rows, solver.tol) for sample in problem.samples):
        return found
    stage = StageProblem.of(problem, output, unit)
    if coarse.complete or not problem.is_bend.any():
        return (yield from stage.polish(rows, coarse, found, solver.tol, solver.max_iter))
    for some in (rows,) if problem.part is None else (problem.part, rows):
        tol = max(solver.tol, _SAMPLING_ERROR * (rows.n_columns + 2) / some.n_rows)
        whitening = Whitening(some.n_rows // _SHARE_FOR_MATRIX, _BENT_DAMPING)
        found = yield from stage.polish(some, problem.samples[-1], found, tol, solver.max_iter, whitening)
    return found


def _tells(sample: Sample, rows: Rows, tol: float) -> bool:
    """Return whether the digits of a sample, maybe fewer than those of the rows, do for a tolerance."""
    return sample.eps == rows.eps or _do(sample.eps, tol)


def digits_do(tol: float, dtype: np.dtype[Any]) -> bool:
    """Return whether the digits of a type do for a tolerance."""
    return _do(float(np.finfo(dtype).eps), tol)


def _do(eps: float, tol: float) -> bool:
    return tol >= _DIGITS * eps


def _winner(problem: BoostingProblem, output: int, unit: float, rng: np.random.Generator) -> Search[Solution]:
    """Return the end of the best start and sign after a few iterations on the smallest sample.

    What it says of its convergence is not to be trusted: it knows no Hessian.
    """
    straight = problem.without_bends()
    best = yield from _best_end(straight, output, unit, _starts(straight, rng), _RACE_ITER)
    if straight is problem:
        return best
    theta = np.zeros(len(problem.is_bend) + 2)
    theta[np.concatenate([[True], ~problem.is_bend, [True]])] = best.theta
    bent = yield from _best_end(problem, output, unit, [(best.sign, theta)], _BEND_ITER)
    return replace(bent, n_iter=best.n_iter + bent.n_iter)


def _best_end(
    problem: BoostingProblem, output: int, unit: float, starts: list[tuple[int, Array]], n_iter: int
) -> Search[Solution]:
    coarse, solver = problem.samples[0], problem.solver
    n_columns = coarse.n_columns
    most = min(max(int(n_iter * _plenty(coarse, n_columns)), 3), solver.max_iter)
    stage, tol = StageProblem.of(problem, output, unit), _sample_tol(coarse, n_columns, solver.tol)
    ends = yield from stage.race(coarse, starts, tol, most)
    return min(ends, key=lambda solution: solution.value)  # the first of equals, so a tie goes to +1


def _plenty(coarse: Sample, n_columns: int) -> float:
    """Return how far rows of a sample suffice for its columns, one at most."""
    return 1.0 if coarse.complete else min(coarse.n_rows / (_ROWS_PER_COLUMN * n_columns), 1.0)


def _starts(problem: BoostingProblem, rng: np.random.Generator) -> list[tuple[int, Array]]:
    """Return signs and points to start from: both signs for each of the random directions, or zero."""
    objective, active, starts = problem.objective, problem.rows.units.inverse_scale != 0, []
    if problem.solver.n_init == 0:
        return [(1, np.zeros(len(active) + 2))]
    for nth in range(problem.solver.n_init):
        w = _LENGTHS[nth % 2] * _random_direction(active, rng)
        signs = (1, -1) if objective.activation.both_signs else (1,)
        starts += [(sign, _start(objective, sign, w)) for sign in signs]
    return starts


def _sample_tol(sample: Sample, n_columns: int, tol: float) -> float:
    return tol if sample.complete else max(tol, _SAMPLING_ERROR * (n_columns + 2) / sample.n_rows)


def null_learner(objective: Objective, sign: int, n_columns: int) -> Array:
    """Return the theta of a learner that is zero everywhere."""
    theta = np.zeros(n_columns + 2)
    theta[0] = -sign * float(objective.activation.value(np.zeros(1))[0])
    return theta


def _random_direction(active: Array, rng: np.random.Generator) -> Array:
    """Draw a w for which z has unit spread if the columns are uncorrelated."""
    w = np.zeros(len(active))
    w[active] = rng.standard_normal(active.sum())
    return w / (np.linalg.norm(w) or 1.0)


def _start(objective: Objective, sign: int, w: Array) -> Array:
    """Return (0, w, 0), with an a that makes up for g(0) where that is large, as it is for a small beta."""
    a = null_learner(objective, sign, 0)[0]
    return np.concatenate([[a if abs(a) > 1 else 0.0], w, [0.0]])


@dataclass(frozen=True)
class StageProblem:
    """One output's objective, to be minimised over (a, w, c) for a given sign."""

    objective: Objective
    output: int
    unit: float
    monotone: Array | None

    @classmethod
    def of(cls, problem: BoostingProblem, output: int, unit: float) -> StageProblem:
        """Return that of a problem."""
        return cls(problem.objective, output, unit, problem.solver.monotone)

    def polish(
        self,
        rows: Rows,
        coarse: Sample,
        found: Solution,
        tol: float,
        max_iter: int,
        whitening: Whitening = _OF_FEW_ROWS,
    ) -> Search[Solution]:
        """Go on from a solution, preconditioned by the sample's Gauss-Newton matrix there."""
        hessian = partial(
            coarse.gauss_newton,
            self.objective,
            self.output,
            sign=found.sign,
            least_rows=whitening.least_rows,
        )
        stopping = replace(self._stopping(rows, tol, max_iter), by_promise=whitening is not _OF_FEW_ROWS)
        solve = self._solve(found.sign, found.theta, stopping, hessian, whitening.damping)
        (further,) = yield Solves(rows, self.objective, self.output, [found.sign], [solve])
        return replace(further, n_iter=found.n_iter + further.n_iter)

    def race(
        self, rows: Sample, starts: list[tuple[int, Array]], tol: float, max_iter: int
    ) -> Search[list[Solution]]:
        """Solve from all starts, each with its sign."""
        stopping = self._stopping(rows, tol, max_iter)
        solves = [self._solve(sign, start, stopping, None) for sign, start in starts]
        return (yield Solves(rows, self.objective, self.output, [sign for sign, _ in starts], solves))

    def _stopping(self, rows: Rows, tol: float, max_iter: int) -> Stopping:
        return Stopping(self.unit, max(tol, 10 * rows.eps), max_iter)

    def _solve(
        self,
        sign: int,
        start: Array,
        stopping: Stopping,
        hessian: Hessian | None,
        damping: float = DAMPING,
    ) -> Solve[Solution]:
        bounds = monotone_bounds(self.monotone, np.array([sign]))
        found = yield from minimising(start, stopping, hessian=hessian, bounds=bounds, damping=damping)
        return Solution(found.x, sign, found.value, found.n_iter, found.n_evaluations, found.converged)


def monotone_bounds(monotone: Array | None, signs: Array) -> tuple[Array, Array] | None:
    """Return bounds on a and then (w, c) of each learner by which b w has the signs asked for, if any.

    Scaling the variables leaves them as they are.
    """
    if monotone is None:
        return None
    direction = np.concatenate([[0.0], *(np.append(sign * monotone, 0.0) for sign in signs)])
    return np.where(direction > 0, 0.0, -np.inf), np.where(direction < 0, 0.0, np.inf)
