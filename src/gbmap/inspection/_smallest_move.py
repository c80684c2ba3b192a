"""The search for the smallest move that passes, with a proof of how much smaller one could be."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from gbmap._core.activation import secant, softplus
from gbmap._utils.typing import Array
from gbmap.inspection._move_problem import HAIR, SLACK, MoveProblem, Program, within

_FARTHEST = 1e3  # how far to search, in standard deviations, where some feature has no bounds
_INFEASIBLE = 2  # a status of scipy.optimize.milp
_POLISHING_STEPS = 20
_NEAR_KNOT = 0.1  # of the distance between two knots
_SHARE_OF_GAP = 0.02  # learners with less of the whole gap get no knot, which would cost a binary variable


@dataclass(frozen=True)
class Answer:
    """The best move found, if any, a lower bound of the cost of all, and whether there is no more to find."""

    move: Array | None
    lower: float
    settled: bool


@dataclass
class Search:
    """A search from two sides: a relaxed problem bounds the cost from below, a restricted one from above.

    Both replace the learners by straight pieces. In the relaxed problem learners are better than they
    are, so that its optimum costs no more than any move that passes; in the restricted one they are
    worse, so that its moves pass. Pieces meet the learners in knots, which are added where it matters.
    """

    problem: MoveProblem
    tol: float
    deadline: float

    def __post_init__(self) -> None:
        self.farthest = self.problem.span if self.problem.is_bounded else _FARTHEST
        self.knots = [np.zeros(1) for _ in self.problem.signs]
        self.best: Array | None = None
        self.cost = np.inf
        self.lower = float(np.abs(self.problem.base).sum())
        # Whether to leave out moves that pass by no more than the solver's tolerance, where it got stuck.
        self.strict = False

    def run(self) -> Answer:
        """Search ever farther until a move passes, then until it is proved the smallest, or time is up."""
        if not self.problem.low.size:
            return Answer(None, np.inf, settled=True)
        self.polish(self.problem.snap(self.problem.base))
        budget = min(2 * self.lower + 1, self.farthest, self.cost)
        while time.monotonic() < self.deadline:
            relaxed = self.relax(budget)
            if relaxed.status == _INFEASIBLE:
                self.prove(budget)
                if budget >= min(self.farthest, self.cost):
                    return Answer(self.best, self.lower, settled=not self.strict)
                budget = min(4 * budget, self.farthest, self.cost)
            elif relaxed.move is None:  # time is up
                break
            else:
                self.prove(relaxed.bound)
                has_new_knots = self.close_gap(relaxed.move, budget)
                if self.best is not None and self.cost - self.lower <= self.tol * self.cost:
                    return Answer(self.best, self.lower, settled=True)
                budget = min(budget, self.cost)
                if not has_new_knots:
                    if self.strict or self.best is not None:
                        break
                    self.strict = True
        return Answer(self.best, self.lower, settled=False)

    def close_gap(self, move: Array, budget: float) -> bool:
        """Polish a relaxed move and make its pieces finer; return whether any of them became so."""
        n_knots = sum(map(len, self.knots))
        self.polish(move)
        self.refine(move, min(budget, self.cost))
        return sum(map(len, self.knots)) > n_knots

    def prove(self, bound: float) -> None:
        """Raise the lower bound, unless that is a bound for moves that pass by more than is asked for."""
        if not self.strict:
            self.lower = max(self.lower, bound)

    def relax(self, budget: float) -> Any:
        """Solve the relaxed problem among moves that cost no more than the budget."""
        slack = -SLACK if self.strict else SLACK
        program = Program(self.problem, budget, self.problem.goal - slack)
        for j, sign in enumerate(self.problem.signs):
            if sign > 0:
                program.below_chords(j, self.knots[j])
            else:
                program.above_tangents(j, self.knots[j])
        return program.solve(self.tol / 2, self.deadline)

    def restrict(self, move: Array) -> Any:
        """Solve the restricted problem whose pieces meet the learners where a move leads."""
        program = Program(self.problem, self.farthest, self.problem.goal + SLACK)
        z = self.problem.project(move)
        for j, sign in enumerate(self.problem.signs):
            if sign > 0:
                program.below_tangent(j, z[j])
            else:
                program.above_tangents(j, self.knots[j])
        return program.solve(self.tol / 10, self.deadline)

    def polish(self, move: Array | None) -> None:
        """Go from a move to smaller ones that pass, and keep the best.

        Tangents replace those learners of which more is better: with a move that passes, the restricted
        problem has a solution that is no worse (the convex-concave procedure).
        """
        last = np.inf
        for _ in range(_POLISHING_STEPS):
            if move is None:
                return
            self.add_knots(self.problem.project(move), self.problem.signs < 0)
            if self.problem.passes(move):
                cost = float(np.abs(move).sum())
                if cost < self.cost:
                    self.best, self.cost = move, cost
                if cost > (1 - self.tol / 100) * last:
                    return
                last = cost
            move = self.restrict(move).move

    def refine(self, move: Array, budget: float) -> None:
        """Add knots to the learners that are much better at a move in the relaxed problem than they are.

        A knot near another one gains little; the place is then that where chord and learner differ most.
        """
        ends, beta = np.transpose(self.problem.reach(budget)), self.problem.beta
        z, best = self.problem.project(move), self.problem.project(move)
        gaps = np.zeros(len(z))
        for j in np.flatnonzero(self.problem.signs > 0):
            knots = within(self.knots[j], *ends[j])
            after = np.clip(np.searchsorted(knots, z[j]), 1, len(knots) - 1)
            left, right = knots[after - 1], knots[after]
            slope = secant(right, left, beta[j])
            gaps[j] = softplus(left, beta[j]) + slope * (z[j] - left) - softplus(z[j], beta[j])
            if min(z[j] - left, right - z[j]) < _NEAR_KNOT * (right - left):
                best[j] = np.clip(logit(slope) / beta[j], left, right)
        self.add_knots(best, gaps > max(HAIR, _SHARE_OF_GAP * gaps.sum()))

    def add_knots(self, z: Array, learners: Array) -> None:
        """Add knots to some of the learners, where they are new."""
        for j in np.flatnonzero(learners):
            if np.abs(self.knots[j] - z[j]).min() > HAIR:
                self.knots[j] = np.append(self.knots[j], z[j])
