"""The smallest move that takes a sum of learners past a goal, by mixed-integer linear programs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import logit

from gbmap._core.activation import secant, sigmoid, softplus
from gbmap._utils.typing import Array

# How far to search, in standard deviations, where some feature has no bounds, and where all have.
_FARTHEST, _FARTHEST_IN_BOUNDS = 1e3, 1e6
# More than the solver's tolerance, and than rounding, in units of the steepest learner's slope.
_SLACK, _HAIR = 2e-6, 1e-9
_INFEASIBLE = 2  # a status of scipy.optimize.milp
_POLISHING_STEPS = 20
_NEAR_KNOT = 0.1  # of the distance between two knots
_SHARE_OF_GAP = 0.02  # learners with less of the whole gap get no knot, which would cost a binary variable


@dataclass(frozen=True)
class MoveProblem:
    """Minimise the sum of |v_k| subject to  sum_j sign_j g_j(start_j + effects_j . v) + slope . v >= goal.

    Learners with a sign of -1 bound a convex set; those with +1 make the problem a hard one.

    Attributes
    ----------
    start, signs, beta : arrays of shape (M,)
    effects : array of shape (M, n)
    slope, low, high : arrays of shape (n,)
        The linear part of the constraint, and the bounds of v.
    goal : float
    step, shift : arrays of shape (n,)
        v is shift plus a multiple of step, where step is not zero.
    group : integer array of shape (n,)
        At most one move of a group can be made; -1 for moves without.
    """

    start: Array
    effects: Array
    signs: Array
    beta: Array
    slope: Array
    goal: float
    low: Array
    high: Array
    step: Array
    shift: Array
    group: Array

    @property
    def base(self) -> Array:
        """The least that has to be moved to be within bounds."""
        nearest: Array = np.clip(0.0, self.low, self.high)
        return nearest

    @property
    def starts_inside(self) -> bool:
        """Whether no move at all is one of those allowed."""
        return not self.base.any() and not self.shift.any()

    @property
    def span(self) -> float:
        """The cost of the farthest point within bounds."""
        ends = np.maximum(np.abs(self.low), np.abs(self.high))
        return float(ends[self.group < 0].sum() + len(np.unique(self.group[self.group >= 0])))

    @property
    def is_bounded(self) -> bool:
        """Whether all points within bounds can be searched."""
        return self.span <= _FARTHEST_IN_BOUNDS

    def project(self, v: Array) -> Array:
        """Return where the learners stand, of shape (M,)."""
        z: Array = self.start + self.effects @ v
        return z

    def passes(self, v: Array) -> bool:
        """Return whether the constraint holds, in the model itself."""
        value = self.signs @ softplus(self.project(v), self.beta) + self.slope @ v
        return bool(value >= self.goal + _HAIR)

    def snap(self, v: Array) -> Array:
        """Return a solver's v within bounds, with whole numbers that are whole and zeros that are zero."""
        step = np.where(self.step > 0, self.step, 1.0)
        whole = self.shift + step * np.rint((v - self.shift) / step)
        near = np.clip(np.where(np.abs(v) < _HAIR, 0.0, v), self.low, self.high)
        return np.where(self.step > 0, whole, near)

    def reach(self, budget: float) -> tuple[Array, Array]:
        """Return the least and the most that each learner's z can be at a cost of up to the budget.

        The steepest moves are made first, each as far as its bounds and what is left allow.
        """
        left = max(budget - float(np.abs(self.base).sum()), 0.0)
        order = np.argsort(-np.abs(self.effects), axis=1, kind="stable")
        rate = np.take_along_axis(np.abs(self.effects), order, axis=1)
        middle, ends = self.project(self.base), []
        for sign in (-1, 1):
            room = np.where(sign * self.effects > 0, self.high - self.base, self.base - self.low)
            room = np.take_along_axis(np.minimum(room, left), order, axis=1)
            spent_before = np.cumsum(room, axis=1) - room
            ends.append(middle + sign * (rate * np.clip(left - spent_before, 0, room)).sum(axis=1))
        return ends[0], ends[1]


class Program:
    """A mixed-integer linear program in a problem's moves v = up - down, and its learners' z and g.

    What is known of g is up to the caller.
    """

    def __init__(self, problem: MoveProblem, budget: float, goal: float):
        self._costs: list[Array] = []
        self._ends: list[tuple[Array, Array]] = []
        self._whole: list[Array] = []
        self._entries: list[tuple[Array, Array, Array]] = []
        self._sides: list[tuple[float, float]] = []
        self.problem = problem
        self.low, self.high = problem.reach(budget)
        self._add_moves(budget)
        self.z = self.columns(self.low, self.high)
        self.g = self.columns(np.full(len(self.z), -np.inf), np.inf)
        for j, effects in enumerate(problem.effects):
            start = problem.start[j]
            self.row(start, start, (self.z[j], 1.0), (self.up, -effects), (self.down, effects))
        self.row(goal, np.inf, (self.g, problem.signs), (self.up, problem.slope), (self.down, -problem.slope))

    def _add_moves(self, budget: float) -> None:
        problem, base = self.problem, self.problem.base
        low = np.minimum(np.maximum(problem.low, -budget), base)
        high = np.maximum(np.minimum(problem.high, budget), base)
        self.up = self.columns(np.maximum(low, 0), np.maximum(high, 0), cost=1.0)
        self.down = self.columns(np.maximum(-high, 0), np.maximum(-low, 0), cost=1.0)
        self.row(-np.inf, budget, (self.up, 1.0), (self.down, 1.0))
        for k in np.flatnonzero(problem.step):
            step, shift = problem.step[k], problem.shift[k]
            least, most = np.ceil((low[k] - shift) / step - _HAIR), np.floor((high[k] - shift) / step + _HAIR)
            count = self.columns(np.array([least]), most, whole=True)
            self.row(shift, shift, (self.up[k], 1.0), (self.down[k], -1.0), (count, -step))
        for group in np.unique(problem.group[problem.group >= 0]):
            self.row(-np.inf, 1.0, (self.up[problem.group == group], 1.0))

    def columns(self, low: Array, high: Array | float, *, cost: float = 0.0, whole: bool = False) -> Array:
        """Add variables, and return their places."""
        n, before = len(low), sum(map(len, self._costs))
        self._costs.append(np.full(n, cost))
        self._ends.append((low, np.broadcast_to(high, n)))
        self._whole.append(np.full(n, whole))
        return np.arange(before, before + n)

    def row(self, lower: float, upper: float, *terms: tuple[Any, Any]) -> None:
        """Add the constraint lower <= sum of coefficients times variables <= upper."""
        for places, coefficients in terms:
            places, coefficients = np.broadcast_arrays(np.atleast_1d(places), coefficients)
            self._entries.append((np.full(len(places), len(self._sides)), places, coefficients))
        self._sides.append((lower, upper))

    def above_tangents(self, j: int, points: Array) -> None:
        """Hold g_j above the tangents of learner j at some points: it is no less than that."""
        for lower, slope in zip(*_tangents(points, self.problem.beta[j])):
            self.row(lower, np.inf, (self.g[j], 1.0), (self.z[j], -slope))

    def below_tangent(self, j: int, point: float) -> None:
        """Hold g_j below the tangent of learner j at a point: every solution is one of the model."""
        upper, slope = _tangents(point, self.problem.beta[j])
        self.row(-np.inf, upper, (self.g[j], 1.0), (self.z[j], -slope))

    def below_chords(self, j: int, knots: Array) -> None:
        """Hold g_j below the chords of learner j between knots: it is no more than that.

        z is the first knot plus a length on each chord, of which one is only begun once the one
        before it is full; a binary variable for each inner knot says so.
        """
        knots = _within(knots, self.low[j], self.high[j])
        sizes, beta = np.diff(knots), self.problem.beta[j]
        lengths = self.columns(np.zeros(len(sizes)), sizes)
        self.row(knots[0], knots[0], (self.z[j], 1.0), (lengths, -1.0))
        slopes = secant(knots[1:], knots[:-1], beta)
        self.row(-np.inf, float(softplus(knots[0], beta)), (self.g[j], 1.0), (lengths, -slopes))
        full = self.columns(np.zeros(len(sizes) - 1), 1.0, whole=True)
        for k, is_full in enumerate(full):
            self.row(0.0, np.inf, (lengths[k], 1.0), (is_full, -sizes[k]))
            self.row(-np.inf, 0.0, (lengths[k + 1], 1.0), (is_full, -sizes[k + 1]))

    def solve(self, gap: float, deadline: float) -> Any:
        """Return SciPy's result, with the move found, or None, and a lower bound of the cost."""
        rows, places, coefficients = (np.concatenate(each) for each in zip(*self._entries))
        lower, upper = np.array(self._sides).T
        low, high = (np.concatenate(each) for each in zip(*self._ends))
        matrix = scipy.sparse.csr_array((coefficients, (rows, places)), shape=(len(lower), len(low)))
        result = milp(
            np.concatenate(self._costs),
            integrality=np.concatenate(self._whole),
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, lower, upper),
            # With presolve HiGHS is a little faster, but prints lines of its own to standard output.
            options={
                "time_limit": max(deadline - time.monotonic(), 0.01),
                "mip_rel_gap": gap,
                "presolve": False,
            },
        )
        result.move = None if result.x is None else self.problem.snap(result.x[self.up] - result.x[self.down])
        result.bound = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
        return result


def _tangents(points: Any, beta: float) -> tuple[Any, Any]:
    """Return intercepts and slopes of the tangents of softplus."""
    slopes = sigmoid(beta * points)
    return softplus(points, beta) - slopes * points, slopes


def _within(knots: Array, low: float, high: float) -> Array:
    """Return knots in order: the ends, and those between them that are not too near to one."""
    near = 1e-7 * max(high - low, _HAIR)
    inner = np.unique(knots)
    inner = inner[(inner > low + near) & (inner < high - near)]
    apart = np.diff(inner, prepend=-np.inf) > near
    return np.concatenate([[low], inner[apart], [high]])


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
                continue
            if relaxed.move is None:
                break
            self.prove(relaxed.bound)
            n_knots = sum(map(len, self.knots))
            self.polish(relaxed.move)
            if self.best is not None and self.cost - self.lower <= self.tol * self.cost:
                return Answer(self.best, self.lower, settled=True)
            budget = min(budget, self.cost)
            self.refine(relaxed.move, budget)
            if sum(map(len, self.knots)) == n_knots:
                if self.strict or self.best is not None:
                    break
                self.strict = True
        return Answer(self.best, self.lower, settled=False)

    def prove(self, bound: float) -> None:
        """Raise the lower bound, unless that is a bound for moves that pass by more than is asked for."""
        if not self.strict:
            self.lower = max(self.lower, bound)

    def relax(self, budget: float) -> Any:
        """Solve the relaxed problem among moves that cost no more than the budget."""
        slack = -_SLACK if self.strict else _SLACK
        program = Program(self.problem, budget, self.problem.goal - slack)
        for j, sign in enumerate(self.problem.signs):
            if sign > 0:
                program.below_chords(j, self.knots[j])
            else:
                program.above_tangents(j, self.knots[j])
        return program.solve(self.tol / 2, self.deadline)

    def restrict(self, move: Array) -> Any:
        """Solve the restricted problem whose pieces meet the learners where a move leads."""
        program = Program(self.problem, self.farthest, self.problem.goal + _SLACK)
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
            knots = _within(self.knots[j], *ends[j])
            after = np.clip(np.searchsorted(knots, z[j]), 1, len(knots) - 1)
            left, right = knots[after - 1], knots[after]
            slope = secant(right, left, beta[j])
            gaps[j] = softplus(left, beta[j]) + slope * (z[j] - left) - softplus(z[j], beta[j])
            if min(z[j] - left, right - z[j]) < _NEAR_KNOT * (right - left):
                best[j] = np.clip(logit(slope) / beta[j], left, right)
        self.add_knots(best, gaps > max(_HAIR, _SHARE_OF_GAP * gaps.sum()))

    def add_knots(self, z: Array, learners: Array) -> None:
        """Add knots to some of the learners, where they are new."""
        for j in np.flatnonzero(learners):
            if np.abs(self.knots[j] - z[j]).min() > _HAIR:
                self.knots[j] = np.append(self.knots[j], z[j])
