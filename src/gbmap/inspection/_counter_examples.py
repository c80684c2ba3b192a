"""Points where h = f - f_0 rises along a column, and where it falls: what shows that it is not monotone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp, minimize

from gbmap._core.activation import sigmoid
from gbmap._fitted.column_values import example, inputs_at, limits, moves_with_number
from gbmap._fitted.model import FittedModel
from gbmap._utils.typing import Array, IntArray

_MARGIN = 1e-3  # how clearly a ray must leave each learner's hyperplane, its weights adding up to one
_NODES = 100  # of the search tree for a ray: a second or two with a hundred learners
_SATURATED = 40.0  # beta z beyond which a learner's slope is 0 or 1 to the last bit
_NEAR = 4.0  # standard deviations from the training mean
_RANDOM_POINTS, _STARTS = 200, 5
_FAR = 1e9  # standard deviations beyond which a piece of a column need not be looked at
_INSIDE = 1e-3  # the part of a piece of a column that is left out at its ends, where slopes change
_ROUNDING = 1e-9  # slopes of this part of the range of slopes are not told from zero


def counter_examples(fitted: FittedModel, column: int, output: int) -> tuple[Array, Array]:
    """Return a point with a positive slope and one with a negative, if they are found, and the slopes."""
    slope = _Slope.of(fitted, column, output)
    least = _ROUNDING * slope.size / fitted.column_scale[column]
    found: dict[int, tuple[Array, float]] = {}
    for search in (partial(_local_points, reach=_NEAR), _far_points, partial(_local_points, reach=np.inf)):
        if len(found) < 2:
            points = search(slope)
            true = _true_slopes(fitted, points, column, output)
            for sign, point, value in zip((1, -1), _as_given(fitted, points), true):
                if sign * value > least:
                    found.setdefault(sign, (point, value))
    chosen = [found[sign] for sign in (1, -1) if sign in found]
    points = np.array([point for point, _ in chosen]).reshape(len(chosen), len(fitted.feature_names))
    return points, np.array([value for _, value in chosen])


@dataclass(frozen=True)
class _Slope:
    """The slope of one output along one column, sum_j b_j r_j g'(z_j), r_j the gain of z_j along the column.

    z = origin + weights v, where v are the numeric inputs, less what they are at the training means. Columns
    u are in deviations from these, in standard deviations.

    Attributes
    ----------
    column : int
    signs, beta, origin : arrays of shape (M,)
    weights : array of shape (M, r)
        Of the inputs, per standard deviation of their columns.
    source : integer array of shape (r,)
        The columns of the inputs.
    start, stop : arrays of shape (r,)
        Between which values of its column an input moves with it.
    n_columns : int
    activation : "softplus" or "identity"
    """

    column: int
    signs: Array
    beta: Array
    origin: Array
    weights: Array
    source: IntArray
    start: Array
    stop: Array
    n_columns: int
    activation: str

    @classmethod
    def of(cls, fitted: FittedModel, column: int, output: int) -> _Slope:
        """Return the slope of an output along a column, of the learners that the column moves."""
        ensemble, columns = fitted.ensemble, fitted.columns
        inputs = np.flatnonzero(moves_with_number(columns))
        source = columns.source[inputs]
        mean, scale = fitted.column_mean, fitted.column_scale
        weights = ensemble.weights[:, inputs] * columns.slope[inputs] * scale[source]
        which = (ensemble.outputs == output) & (weights[:, source == column] != 0).any(axis=1)
        origin = ensemble.project(inputs_at(fitted, mean[None]))[0]
        start, stop = ((end[inputs] - mean[source]) / scale[source] for end in limits(columns))
        return cls(
            column=column,
            signs=ensemble.signs[which],
            beta=ensemble.beta[which],
            origin=origin[which],
            weights=weights[which],
            source=source,
            start=start,
            stop=stop,
            n_columns=len(mean),
            activation=ensemble.activation,
        )

    @cached_property
    def size(self) -> float:
        """The sum of the sizes of all that is added up."""
        return float(np.abs(self.weights[:, self.source == self.column]).sum())

    @cached_property
    def is_free(self) -> Array:
        """Which columns z_j is linear in, everywhere, of shape (p,)."""
        has_limits = np.isfinite(self.start) | np.isfinite(self.stop)
        moves = np.bincount(self.source, minlength=self.n_columns) > 0
        bends = np.bincount(self.source, has_limits, minlength=self.n_columns) > 0
        return moves & ~bends

    def pieces(self, reach: float) -> Array:
        """Return the ends of the column's pieces that move learners, (t, 2), a little inside, within a reach.

        On each the inputs of the column are linear; the whole line is one if it does not bend.
        """
        own = self.source == self.column
        ends = np.unique(np.concatenate([self.start[own], self.stop[own]]).clip(-reach, reach))
        margin = np.where(self.is_free[self.column], 0.0, _INSIDE * np.minimum(np.diff(ends), 1.0))
        return np.column_stack([ends[:-1] + margin, ends[1:] - margin])

    def moving(self, u: Array) -> Array:
        """Return which inputs move with their columns at points of shape (..., p), of shape (..., r)."""
        x = u[..., self.source]
        return (self.start <= x) & (x < self.stop)

    def gains(self, u: Array) -> Array:
        """Return how much each z_j gains along the column at points, of shape (..., M)."""
        return (self.moving(u) & (self.source == self.column)) @ self.weights.T

    def z(self, u: Array) -> Array:
        """Return what the learners see at points, of shape (..., M)."""
        at_mean = np.clip(0.0, self.start, self.stop)
        return self.origin + (np.clip(u[..., self.source], self.start, self.stop) - at_mean) @ self.weights.T

    def linear(self, u: Array) -> Array:
        """Return how much each z_j gains along each column at a point, of shape (M, p)."""
        out = np.zeros((self.n_columns, len(self.weights)))
        np.add.at(out, self.source, (self.weights * self.moving(u)).T)
        return out.T

    def value(self, u: Array) -> Array:
        """Return the slopes at points of shape (n, p), per standard deviation, of shape (n,)."""
        slopes: Array = (self._derivatives(self.z(u))[0] * self.gains(u)) @ self.signs
        return slopes

    def value_and_gradient(self, u: Array) -> tuple[float, Array]:
        """Return the slope at one point, and how it changes on the same pieces of columns."""
        first, second = self._derivatives(self.z(u))
        rates = self.signs * self.gains(u)
        of_inputs = ((rates * second) @ self.weights) * self.moving(u)
        return float(first @ rates), np.bincount(self.source, of_inputs, minlength=self.n_columns)

    def _derivatives(self, z: Array) -> tuple[Array, Array]:
        """Return g' and g''."""
        if self.activation == "identity":
            return np.ones_like(z), np.zeros_like(z)
        t = self.beta * z
        return sigmoid(t), self.beta * sigmoid(t) * sigmoid(-t)


def _far_points(slope: _Slope) -> Array:
    """Return points far out, (2, p), of the largest and of the least slope on rays without end.

    Rays go along columns that do not bend; the others stay at their means. If the column itself bends, it
    stays where its slope could be largest, or least.
    """
    starts = np.zeros((2, slope.n_columns))
    if not slope.is_free[slope.column]:
        pieces = slope.pieces(_FAR)
        middles = np.zeros((len(pieces), slope.n_columns))
        middles[:, slope.column] = pieces.mean(axis=1)
        parts = slope.gains(middles) * slope.signs
        most, least = np.maximum(parts, 0.0).sum(axis=1), np.minimum(parts, 0.0).sum(axis=1)
        starts = middles[[np.argmax(most), np.argmin(least)]]
    up = _ends_of_rays(slope, starts[0])
    down = up if (starts[0] == starts[1]).all() else _ends_of_rays(slope, starts[1])
    return np.stack([up[0], down[1]])


def _ends_of_rays(slope: _Slope, start: Array) -> Array:
    """Return points far from one, (2, p), of the largest and of the least slope on rays without end.

    Along a ray d learner j ends up on if w_j . d > 0, else off, and the slope ends up as the sum of the rates
    that are on. The binary s_j, which says so, is tied to d by -1 <= w_j . d - (1 + margin) s_j <= -margin,
    with |w_j| scaled to a sum of one and d within [-1, 1]. On the opposite ray the other learners are on, and
    the slope is the sum of all rates less this one: if the one is largest, the other is least.
    """
    free = np.flatnonzero(slope.is_free)
    weights = slope.linear(start)[:, free]
    moved = np.flatnonzero((weights != 0).any(axis=1))
    n_learners, size = len(moved), len(free)
    if not n_learners:
        return np.stack([start, start])
    weights, rates = weights[moved], (slope.signs * slope.gains(start))[moved]
    directions = weights / np.abs(weights).sum(axis=1, keepdims=True)
    is_binary = np.concatenate([np.zeros(size), np.ones(n_learners)])
    result = milp(
        np.concatenate([np.zeros(size), -rates]),
        integrality=is_binary,
        bounds=Bounds(is_binary - 1, np.ones(size + n_learners)),
        constraints=LinearConstraint(
            np.hstack([directions, -(1 + _MARGIN) * np.eye(n_learners)]), -1, -_MARGIN
        ),
        options={"node_limit": _NODES},
    )
    if result.x is None:
        return np.stack([start, start])
    ray = np.zeros_like(start)
    ray[free] = result.x[:size]
    distance = np.abs(slope.z(start)[moved]) + _SATURATED / slope.beta[moved]
    far = (distance / np.abs(weights @ ray[free])).max()
    return np.stack([start + far * ray, start - far * ray])


def _local_points(slope: _Slope, reach: float) -> Array:
    """Return points, (2, p), of the largest and of the least slope that local searches find.

    They stay within a reach of the training mean, in standard deviations, and start from the best of: the
    mean, random points around it, the two sides of the point of each learner's hyperplane nearest to it, and
    random points within each piece of the column.
    """
    drawn = np.random.default_rng(0).standard_normal((2, _RANDOM_POINTS, slope.n_columns))
    weights = slope.linear(np.zeros(slope.n_columns))
    norm = (weights**2).sum(axis=1, keepdims=True)
    across = np.divide(weights, norm, out=np.zeros_like(weights), where=norm > 0)
    foot, side = -slope.origin[:, None] * across, 3 / slope.beta[:, None] * across
    points = np.concatenate([np.zeros_like(across[:1]), drawn[0], 3 * drawn[1], foot + side, foot - side])
    pieces = slope.pieces(reach)
    if not slope.is_free[slope.column]:
        points = np.concatenate([points, drawn[0], 3 * drawn[1]])
        low, high = pieces[np.arange(len(points)) % len(pieces)].T
        points[1:, slope.column] = (low + (high - low) * sigmoid(points[:, slope.column]))[1:]
    points = points.clip(-reach, reach)
    order = np.argsort(slope.value(points), kind="stable")
    most, least = points[order[-_STARTS:]], points[order[:_STARTS]]
    return np.stack([_climb(slope, each, sign, reach) for each, sign in ((most, 1), (least, -1))])


def _climb(slope: _Slope, starts: Array, sign: int, reach: float) -> Array:
    """Return the best of the points where L-BFGS-B ends, of shape (p,), each on its start's piece."""

    def objective(u: Array) -> tuple[float, Array]:
        value, gradient = slope.value_and_gradient(u)
        return -sign * value, -sign * gradient

    pieces, ends = slope.pieces(reach), []
    for start in starts:
        place = np.searchsorted(pieces[:, 1], start[slope.column]).clip(max=len(pieces) - 1)
        low, high = np.full((2, slope.n_columns), [[-reach], [reach]])
        low[slope.column], high[slope.column] = pieces[place]
        inside = start.clip(low, high)
        ends.append(minimize(objective, inside, jac=True, method="L-BFGS-B", bounds=Bounds(low, high)))
    return min(ends, key=lambda end: end.fun).x


def _true_slopes(fitted: FittedModel, u: Array, column: int, output: int) -> Array:
    """Return the slopes of h along a column, by the gradient of the model, of shape (n,)."""
    inputs = inputs_at(fitted, fitted.column_mean + u * fitted.column_scale)
    gradient = fitted.ensemble.gradient(inputs)[:, :, output]
    slopes: Array = fitted.columns.collect(gradient * fitted.moves(inputs))
    return slopes[:, column]


def _as_given(fitted: FittedModel, u: Array) -> Array:
    """Return points in the columns of X, of shape (n, p)."""
    values: Array = fitted.column_mean + u * fitted.column_scale
    categorical = np.flatnonzero(fitted.columns.is_used & ~fitted.columns.is_number).tolist()
    if categorical:
        values = values.astype(object)
        for column in categorical:
            values[:, column] = example(fitted, column)
    return values
