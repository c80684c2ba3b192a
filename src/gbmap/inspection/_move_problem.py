"""The smallest move that takes learners past a goal: as data, and as a mixed-integer linear program."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from gbmap._core.activation import secant, sigmoid, softplus
from gbmap._utils.typing import Array, IntArray

_FARTHEST_IN_BOUNDS = 1e6  # how far to search, in standard deviations, where all features have bounds
# More than the solver's tolerance, and than rounding, in units of the steepest learner's slope.
SLACK, HAIR = 2e-6, 1e-9


@dataclass(frozen=True)
class MoveProblem:
    """Minimise the sum of |v_k| subject to  sum_j sign_j g_j(start_j + effects_j . u) + slope . u >= goal.

    u are the lengths that v goes through each stretch of its moves, negative ones downwards. A move that does
    the same wherever it is has one stretch without ends, whose length is v_k; one that bends has several, one
    after the other.

    Learners with a sign of -1 bound a convex set; those with +1 make the problem a hard one, as bends do.

    Attributes
    ----------
    start, signs, beta : arrays of shape (M,)
    effects : array of shape (M, S)
    slope : array of shape (S,)
        The linear part of the constraint.
    goal : float
    stretch_of : integer array of shape (S,)
        The move that each stretch belongs to; in order, as the stretches of a move are.
    begin, end : arrays of shape (S,)
        Where stretches lie, as values of their move.
    low, high : arrays of shape (n,)
        The bounds of v.
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
    stretch_of: IntArray
    begin: Array
    end: Array
    low: Array
    high: Array
    step: Array
    shift: Array
    group: Array

    @property
    def base(self) -> Array:
        """The least that has to be moved to be within bounds."""
        return np.clip(0.0, self.low, self.high)

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

    def lengths(self, v: Array) -> Array:
        """Return how far v goes through each stretch, of shape (S,)."""
        return np.clip(v[self.stretch_of], self.begin, self.end) - np.clip(0.0, self.begin, self.end)

    def project(self, v: Array) -> Array:
        """Return where the learners stand, of shape (M,)."""
        return self.start + self.effects @ self.lengths(v)

    def passes(self, v: Array) -> bool:
        """Return whether the constraint holds, in the model itself."""
        value = self.signs @ softplus(self.project(v), self.beta) + self.slope @ self.lengths(v)
        return bool(value >= self.goal + HAIR)

    def snap(self, v: Array) -> Array:
        """Return a solver's v within bounds, with whole numbers that are whole and zeros that are zero."""
        step = np.where(self.step > 0, self.step, 1.0)
        whole = self.shift + step * np.rint((v - self.shift) / step)
        near = np.clip(np.where(np.abs(v) < HAIR, 0.0, v), self.low, self.high)
        return np.where(self.step > 0, whole, near)

    def reach(self, budget: float) -> tuple[Array, Array]:
        """Return the least and the most that each learner's z can be at a cost of up to the budget.

        The steepest stretches are taken first, each as far as bounds and what is left allow. Those of a move
        that bends are taken in any order, so that these ends may be out of reach.
        """
        left = max(budget - float(np.abs(self.base).sum()), 0.0)
        order = np.argsort(-np.abs(self.effects), axis=1, kind="stable")
        rate = np.take_along_axis(np.abs(self.effects), order, axis=1)
        middle, ends = self.project(self.base), []
        base, low, high = (self.lengths(v) for v in (self.base, self.low, self.high))
        for sign in (-1, 1):
            room = np.where(sign * self.effects > 0, high - base, base - low)
            room = np.take_along_axis(np.minimum(room, left), order, axis=1)
            spent_before = np.cumsum(room, axis=1) - room
            ends.append(middle + sign * (rate * np.clip(left - spent_before, 0, room)).sum(axis=1))
        return ends[0], ends[1]


class Program:
    """A mixed-integer linear program in a problem's moves v = up - down, and its learners' z and g.

    What is known of g is up to the caller. A move of several stretches goes through them in order, from its
    lower end on, by a binary variable for each place where two meet.
    """

    def __init__(self, problem: MoveProblem, budget: float, goal: float):
        self._variables: list[tuple[Array, ...]] = []  # low, high, cost, and whether they are whole numbers
        self._entries: list[tuple[Array, ...]] = []  # row, column and coefficient
        self._sides: list[tuple[float, float]] = []
        self.problem = problem
        self.low, self.high = problem.reach(budget)
        self._add_moves(budget)
        self.z = self.columns(self.low, self.high)
        self.g = self.columns(np.full(len(self.z), -np.inf), np.inf)
        for j, start in enumerate(problem.project(self._origin).tolist()):
            self.row(start, start, (self.z[j], 1.0), self._by_stretches(-problem.effects[j]))
        goal -= float(problem.slope @ problem.lengths(self._origin))
        self.row(goal, np.inf, (self.g, problem.signs), self._by_stretches(problem.slope))

    def _add_moves(self, budget: float) -> None:
        problem, base = self.problem, self.problem.base
        low = np.minimum(np.maximum(problem.low, -budget), base)
        high = np.maximum(np.minimum(problem.high, budget), base)
        self.up = self.columns(np.maximum(low, 0), np.maximum(high, 0), cost=1.0)
        self.down = self.columns(np.maximum(-high, 0), np.maximum(-low, 0), cost=1.0)
        self.row(-np.inf, budget, (self.up, 1.0), (self.down, 1.0))
        for k in np.flatnonzero(problem.step):
            step, shift = problem.step[k], problem.shift[k]
            least, most = np.ceil((low[k] - shift) / step - HAIR), np.floor((high[k] - shift) / step + HAIR)
            count = self.columns(np.array([least]), most, whole=True)
            self.row(shift, shift, (self.up[k], 1.0), (self.down[k], -1.0), (count, -step))
        for group in np.unique(problem.group[problem.group >= 0]):
            self.row(-np.inf, 1.0, (self.up[problem.group == group], 1.0))
        self._add_stretches(low, high)

    def _add_stretches(self, low: Array, high: Array) -> None:
        """Say what moves between these ends are made of: variables, their stretches, and how much they count.

        Stretches are cut at zero as well: with costs in terms of the same lengths, the program without whole
        numbers is as close as can be to each move by itself.
        """
        stretch_of = self.problem.stretch_of
        is_bent = np.bincount(stretch_of, minlength=len(low)) > 1
        self._origin = np.where(is_bent, low, 0.0)
        stretches = np.flatnonzero(~is_bent[stretch_of])
        straight, one = stretch_of[stretches], np.ones(len(stretches))
        parts = [(self.up[straight], stretches, one), (self.down[straight], stretches, -one)]
        for k in np.flatnonzero(is_bent):
            stretches = np.flatnonzero(stretch_of == k)
            cuts = _cuts(np.append(self.problem.end[stretches], 0.0), low[k], high[k])
            lengths, middles = self.in_order(np.diff(cuts)), (cuts[1:] + cuts[:-1]) / 2
            least, most = max(low[k], 0.0), max(-low[k], 0.0)
            self.row(least, least, (self.up[k], 1.0), (lengths[middles > 0], -1.0))
            self.row(most, most, (self.down[k], 1.0), (lengths[middles <= 0], 1.0))
            within_stretch = stretches[np.searchsorted(self.problem.end[stretches[:-1]], middles)]
            parts.append((lengths, within_stretch, np.ones(len(lengths))))
        self._parts = tuple(map(np.concatenate, zip(*parts)))

    def _by_stretches(self, of_stretches: Array) -> tuple[Array, Array]:
        """Return the term that sums a number for each stretch times its length, less that at the origin."""
        places, stretches, signs = self._parts
        return places, signs * of_stretches[stretches]

    def columns(self, low: Array, high: Array | float, *, cost: float = 0.0, whole: bool = False) -> Array:
        """Add variables, and return their places."""
        before = sum(len(each) for each, *_ in self._variables)
        self._variables.append(tuple(np.broadcast_to(each, len(low)) for each in (low, high, cost, whole)))
        return np.arange(before, before + len(low))

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

        z is the first knot plus a length on each chord, in order.
        """
        knots = within(knots, self.low[j], self.high[j])
        sizes, beta = np.diff(knots), self.problem.beta[j]
        lengths = self.in_order(sizes)
        self.row(knots[0], knots[0], (self.z[j], 1.0), (lengths, -1.0))
        slopes = secant(knots[1:], knots[:-1], beta)
        self.row(-np.inf, float(softplus(knots[0], beta)), (self.g[j], 1.0), (lengths, -slopes))

    def in_order(self, sizes: Array) -> Array:
        """Add lengths of up to some sizes, of which one is only begun once the one before it is full.

        A binary variable for each but the last says whether it is.
        """
        lengths = self.columns(np.zeros(len(sizes)), sizes)
        full = self.columns(np.zeros(len(sizes) - 1), 1.0, whole=True)
        for k, is_full in enumerate(full):
            self.row(0.0, np.inf, (lengths[k], 1.0), (is_full, -sizes[k]))
            self.row(-np.inf, 0.0, (lengths[k + 1], 1.0), (is_full, -sizes[k + 1]))
        return lengths

    def solve(self, gap: float, deadline: float) -> Any:
        """Return SciPy's result, with the move found, or None, and a lower bound of the cost."""
        rows, places, coefficients = map(np.concatenate, zip(*self._entries))
        low, high, cost, whole = map(np.concatenate, zip(*self._variables))
        lower, upper = np.array(self._sides).T
        left = deadline - time.monotonic()
        matrix = scipy.sparse.csr_array((coefficients, (rows, places)), shape=(len(lower), len(low)))
        result = milp(
            cost,
            integrality=whole,
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, lower, upper),
            # With presolve HiGHS is a little faster, but prints lines of its own to standard output.
            options={"presolve": False, "mip_rel_gap": gap, "time_limit": max(0.01, left)},
        )
        result.move = None if result.x is None else self.problem.snap(result.x[self.up] - result.x[self.down])
        result.bound = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
        return result


def _tangents(points: Any, beta: float) -> tuple[Any, Any]:
    """Return intercepts and slopes of the tangents of softplus."""
    slopes = sigmoid(beta * points)
    return softplus(points, beta) - slopes * points, slopes


def _cuts(places: Array, low: float, high: float) -> Array:
    """Return the ends, and the places between them in order, without those next to another."""
    cuts = [low]
    for place in np.unique(places):
        if cuts[-1] + HAIR < place < high - HAIR:
            cuts.append(place)
    return np.array([*cuts, high])


def within(knots: Array, low: float, high: float) -> Array:
    """Return knots in order: the ends, and those between them that are not too near to one."""
    near = 1e-7 * max(high - low, HAIR)
    inner = np.unique(knots)
    inner = inner[(inner > low + near) & (inner < high - near)]
    apart = np.diff(inner, prepend=-np.inf) > near
    return np.concatenate([[low], inner[apart], [high]])
