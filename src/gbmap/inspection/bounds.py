"""How fast h = f - f_0 can change along a feature, anywhere, and whether it is monotone in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp, minimize

from gbmap._core.activation import sigmoid
from gbmap._drawing import IntervalDisplay
from gbmap._fitted.column_values import (
    Pieces,
    bent_columns,
    column_weights,
    example,
    inputs_at,
    is_coded,
    limits,
    moves_with_number,
    states,
)
from gbmap._fitted.model import FittedModel
from gbmap._fitted.results import frame, one_row, squeeze
from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.shown import Result, Shown, largest_first
from gbmap._utils.typing import Array, IntArray

_MARGIN = 1e-3  # how clearly a ray must leave each learner's hyperplane, its weights adding up to one
_NODES = 100  # of the search tree for a ray: a second or two with a hundred learners
_SATURATED = 40.0  # beta z beyond which a learner's slope is 0 or 1 to the last bit
_NEAR = 4.0  # standard deviations from the training mean
_RANDOM_POINTS, _STARTS = 200, 5
_FAR = 1e9  # standard deviations beyond which a piece of a column need not be looked at
_INSIDE = 1e-3  # the part of a piece of a column that is left out at its ends, where slopes change
_ROUNDING = 1e-9  # slopes of this part of the range of slopes are not told from zero


@dataclass(frozen=True, repr=False)
class CoefficientBounds(Result):
    """The range of the slopes of h, over all points that there are.

    Shapes are those of one output; with K outputs there is a last axis of length K.

    Attributes
    ----------
    lower, upper : arrays of shape (p,)
        The change of h per unit of a feature, or per standard deviation if `standardized`, lies between
        them at every point; so does zero, the slope far out, where a feature bends. For a categorical
        column: the change of h when the column goes from any category to any other (or to missing, where
        the model has a mark of that) and nothing else changes; ``lower = -upper``, since it may go back.
        Zero for a column without use.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.
    standardized : bool
        As asked for.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import coefficient_bounds
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> bounds = coefficient_bounds(GBMAPRegressor(n_components=2, random_state=0).fit(X, y))
    >>> bounds.lower.shape, list(bounds.to_frame().columns)
    ((10,), ['lower', 'upper'])
    """

    lower: Array
    upper: Array
    feature_names: Array
    output_names: Array | None
    standardized: bool

    def _shown(self) -> Shown:
        lower, upper = (each.reshape(len(self.feature_names), -1) for each in (self.lower, self.upper))
        unit = "standard deviation" if self.standardized else "unit"
        table = largest_first(
            np.maximum(-lower, upper).max(axis=1), feature=self.feature_names, lower=lower, upper=upper
        )
        return Shown(f"the change per {unit} of each feature, at every point", table)

    def to_frame(self) -> Any:
        """Return the bounds as a pandas frame, a row per feature (and output).

        Returns
        -------
        frame : pandas.DataFrame
        """
        ends = {"lower": self.lower.ravel(), "upper": self.upper.ravel()}
        return frame(ends, "feature", self.feature_names, self.output_names)

    def plot(self, *, output: Any = None, n_features: int = 12, ax: Any = None) -> IntervalDisplay:
        """Draw the ranges of the slopes, those that reach farthest first.

        Parameters
        ----------
        output : default=None
            The output, if there are several.
        n_features : int, default=12
            The most intervals.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : IntervalDisplay
        """
        lower, upper = (one_row(end[None], 0, output, self.output_names) for end in (self.lower, self.upper))
        unit = "standard deviation" if self.standardized else "unit"
        label = f"change of the prediction per {unit} of a feature, anywhere"
        return IntervalDisplay.largest(lower, upper, self.feature_names, n_features, label).plot(ax=ax)


def coefficient_bounds(model: Any, *, standardized: bool = False) -> CoefficientBounds:
    """Return bounds of the slopes of h = f - f_0 that hold at every point, in closed form.

    The slope of a learner's softplus lies between 0 and 1, so that the slope of h in feature k lies between
    the sum of the negative b_j w_jk and the sum of the positive ones. With ``activation="identity"``
    both ends are the sum of them all. If a feature bends, w_jk is another one between each two knots, and
    zero beyond the outermost ones by far: the bounds are the least and the largest of all these.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the bounds are those of the columns of X as given; `explain`
        lists the steps that it may have.
    standardized : bool, default=False
        Whether slopes count per standard deviation of a feature in training, instead of per unit.

    Returns
    -------
    bounds : CoefficientBounds

    See Also
    --------
    is_monotone : Whether h rises, or falls, in a feature everywhere.
    explain : The slopes at given rows, which lie between these bounds.

    Notes
    -----
    With an ``init`` model the bounds are those of what the GBMAP adds to it. Without one, they are
    those of the prediction.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import coefficient_bounds, explain
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> model = GBMAPRegressor(n_components=3, random_state=0).fit(X, y)
    >>> bounds, slopes = coefficient_bounds(model), explain(model, X).coefficients
    >>> bool((bounds.lower <= slopes).all() and (slopes <= bounds.upper).all())
    True
    """
    fitted = FittedModel.of(model)
    lower, upper = _bounds(fitted)
    if standardized:
        lower, upper = (end * fitted.column_scale[:, None] for end in (lower, upper))
    return CoefficientBounds(
        squeeze(lower), squeeze(upper), fitted.feature_names, fitted.output_names, standardized
    )


def _bounds(fitted: FittedModel) -> tuple[Array, Array]:
    """Return the bounds of each of the user's columns, of shape (p, K)."""
    ensemble, columns = fitted.ensemble, fitted.columns
    parts = (ensemble.signs[:, None] * column_weights(fitted)).T
    lower, upper = (ensemble.sum_outputs(end) for end in _ends(parts, ensemble.activation))
    for column in bent_columns(columns):
        low, high = _bounds_of_pieces(fitted, column)
        lower[column], upper[column] = low.min(axis=0), high.max(axis=0)
    for column in np.flatnonzero(columns.is_used & ~columns.is_number).tolist():
        upper[column] = _largest_change(fitted, column)
        lower[column] = -upper[column]
    return lower, upper


def _bounds_of_pieces(fitted: FittedModel, column: int) -> tuple[Array, Array]:
    """Return the bounds on each piece of a numeric column, of shape (t + 1, K)."""
    ensemble, pieces = fitted.ensemble, Pieces.of(fitted.columns, column)
    parts = ensemble.signs * (pieces.slopes @ ensemble.weights[:, pieces.inputs].T)
    lower, upper = (ensemble.sum_outputs(end) for end in _ends(parts, ensemble.activation))
    return lower, upper


def _ends(parts: Array, activation: str) -> tuple[Array, Array]:
    """Return the least and the most of each b_j w_j g', where g' lies in [0, 1], or is 1."""
    return (parts, parts) if activation == "identity" else (np.minimum(parts, 0.0), np.maximum(parts, 0.0))


def _largest_change(fitted: FittedModel, column: int) -> Array:
    """Return the most that h can gain when a column goes from one category to another, of shape (K,).

    Learner j gains b_j d_j g' on the way, d_j the difference of its z.
    """
    ensemble = fitted.ensemble
    inputs, values = states(fitted.columns, column, is_coded=is_coded(fitted, column))
    z = ensemble.signs * (values @ ensemble.weights[:, inputs].T)
    gains = [ensemble.sum_outputs(_ends(z - start, ensemble.activation)[1]).max(axis=0) for start in z]
    return np.max(gains, axis=0)


@dataclass(frozen=True, repr=False)
class Monotonicity(Result):
    """Whether h is monotone in a feature: the answer, and what it rests on.

    It is true as a condition if h is proved to be monotone, and its text says the answer in a sentence.

    Attributes
    ----------
    feature : object
        The name of the column.
    output : object
        The output, None if there is one only.
    direction : 1, -1, 0 or None
        Whether h is proved to rise, to fall or to be constant along the feature everywhere; None if
        nothing is proved.
    lower, upper : float
        Bounds of the slope that hold everywhere.
    points : array of shape (r, p)
        Where nothing is proved: points with slopes of different signs, the positive one first. Two of
        them show that h is not monotone; with one or none the question is open. Columns are those of
        X, an array of objects if some hold categories.
    slopes : array of shape (r,)
        The slopes of h along the feature at these points.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import is_monotone
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> answer = is_monotone(model, 0)
    >>> answer.direction, np.sign(answer.slopes)
    (None, array([ 1., -1.]))
    """

    feature: Any
    output: Any
    direction: int | None
    lower: float
    upper: float
    points: Array
    slopes: Array

    @property
    def is_proved(self) -> bool:
        """Whether h is proved to be monotone, everywhere."""
        return self.direction is not None

    def _shown(self) -> Shown:
        return Shown(str(self))

    def __bool__(self) -> bool:
        return self.is_proved

    def __str__(self) -> str:
        of_output = "" if self.output is None else f" of output {self.output}"
        bounds = f"its slope lies in [{self.lower:.3g}, {self.upper:.3g}] everywhere"
        if self.direction is not None:
            verb = {1: "rises with", -1: "falls with", 0: "does not depend on"}[self.direction]
            return f"h{of_output} {verb} {self.feature}: {bounds}."
        found = " and ".join(f"{slope:.3g} at points[{i}]" for i, slope in enumerate(self.slopes))
        if len(self.slopes) == 2:
            return f"h{of_output} is not monotone in {self.feature}: its slope is {found}."
        only = f"only one sign was found: {found}" if found else "no slope clear of zero was found"
        return f"It is open whether h{of_output} is monotone in {self.feature}: {bounds}, but {only}."


def is_monotone(model: Any, feature: Any, *, output: Any = None) -> Monotonicity:
    """Return whether h = f - f_0 rises, or falls, in a feature everywhere: a proof or counter-examples.

    If the bounds of the slope (see `coefficient_bounds`) have one sign, that is a proof. Else slopes of both
    signs are looked for: by local searches near the training data, each between two knots of the feature;
    far out along columns that do not bend, where each learner is on or off, along the ray that a
    mixed-integer program finds; then by local searches anywhere. What is found is checked by the gradient of
    the model.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the slope is that along the column of X as given.
    feature : str or int
        The name or the position of a numeric column of X.
    output : default=None
        The class, or the number of the target, if there are several.

    Returns
    -------
    answer : Monotonicity

    See Also
    --------
    coefficient_bounds : The bounds for all features.

    Notes
    -----
    A model fitted with ``monotonic_cst`` is proved to be monotone in these features. Where a feature
    bends, h is flat far out, which goes with rising as with falling. The points that are tried have the
    first category in categorical columns, and no value missing.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import is_monotone
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GBMAPRegressor(n_components=5, monotonic_cst={"bmi": 1}, random_state=0).fit(X, y)
    >>> bool(is_monotone(model, "bmi")), is_monotone(model, "bmi").direction
    (True, 1)
    """
    fitted = FittedModel.of(model)
    column, k = fitted.feature_index(feature), fitted.output_index(output)
    name = fitted.feature_names[column]
    kinds = set(fitted.columns.kind[fitted.columns.inputs_of(column)])
    if "category" in kinds or kinds == {"missing"}:
        raise ValueError(
            f"feature must be a numeric column, got {name!r}, which the model sees as categories; "
            "coefficient_bounds tells how much a change of category can matter."
        )
    lower, upper = (float(end[column, k]) for end in _bounds(fitted))
    direction = 0 if lower == upper == 0 else 1 if lower >= 0 else -1 if upper <= 0 else None
    points, slopes = np.empty((0, len(fitted.feature_names))), np.empty(0)
    if direction is None:
        with single_threaded_blas():  # its threads cost more than they bring to small matrices
            points, slopes = _counter_examples(fitted, column, k)
    return Monotonicity(name, output, direction, lower, upper, points, slopes)


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


def _counter_examples(fitted: FittedModel, column: int, output: int) -> tuple[Array, Array]:
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
