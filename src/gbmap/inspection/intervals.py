"""The range of predictions that unknown features leave open, with bounds that hold."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._drawing import IntervalDisplay
from gbmap._fitted.column_values import Pieces, bent_columns, column_weights, inputs_at, moves_with_number
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import frame, one_row, squeeze
from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray
from gbmap.inspection._branch_and_bound import Learners, largest
from gbmap.inspection._unknown import Unknown

_WORK_NUMBERS = 1 << 21  # learners, or pieces, times boxes held at a time: 16 MB an array
_ULPS = 16.0  # by which bounds are widened, of the sizes of all that is added up
_ULPS_OF_LIMITS = 4.0  # and of the limits of inputs, which are less exact in the type of X


@dataclass(frozen=True, repr=False)
class PredictionInterval(Result):
    """The range of h of each row over all values that its unknown features may have.

    Shapes are those of one output; with K outputs there is a last axis of length K.

    Attributes
    ----------
    lower, upper : arrays of shape (n,)
        In the units of y (or log-odds). h lies between them whatever the unknown values are.
    gap : array of shape (n,)
        At most so far is an end from a value that h really has, as `predict` computes it: `tol` times the
        spread of y, or more where the boxes ran out or rounding is larger; zero where h is known to grow
        without end.
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import prediction_interval_missing
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GBMAPRegressor(n_components=3, random_state=0).fit(X, y)
    >>> prediction_interval_missing(model, X.head(5), ["bmi"], reference=X).to_frame().shape
    (5, 3)
    """

    lower: Array
    upper: Array
    gap: Array
    output_names: Array | None

    def _shown(self) -> Shown:
        width = (self.upper - self.lower).mean(axis=0) if len(self.lower) else np.nan
        about = f"{counted(len(self.lower), 'row')}, {cell(width)} wide on average"
        rows = np.arange(len(self.lower))
        return Shown(about, {"row": rows, "lower": self.lower, "upper": self.upper, "gap": self.gap})

    def to_frame(self) -> Any:
        """Return lower, upper and gap as a pandas frame, a row per row (and output).

        Returns
        -------
        frame : pandas.DataFrame
        """
        ends = {name: getattr(self, name).ravel() for name in ("lower", "upper", "gap")}
        return frame(ends, "row", range(len(self.lower)), self.output_names)

    def plot(self, *, output: Any = None, n_rows: int = 20, ax: Any = None) -> IntervalDisplay:
        """Draw the intervals of the first rows.

        Parameters
        ----------
        output : default=None
            The output, if there are several.
        n_rows : int, default=20
            The most rows.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : IntervalDisplay
        """
        lower, upper = (
            one_row(end[None, :n_rows], 0, output, self.output_names) for end in (self.lower, self.upper)
        )
        names = [f"row {i}" for i in range(len(lower))]
        return IntervalDisplay(lower, upper, names, "prediction", show_zero=False).plot(ax=ax)


def prediction_interval_missing(
    model: Any, X: Any, unknown: Any, *, reference: Any = None, tol: float = 1e-3, max_boxes: int = 10_000
) -> PredictionInterval:
    """Return the range of h = f - f_0 of each row when some features are unknown.

    The bounds are sound: whatever values the unknown features have, within the ranges allowed, h lies between
    them, up to rounding far out. They are tight as far as `tol` and `max_boxes` go: the ranges are cut into
    boxes, on which each learner is bounded by lines, until an end is close to a value that h really has.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Through a pipeline the features are the columns of X as given; `explain` lists the
        steps that it may have.
    X : array-like or sparse matrix of shape (n, p)
        The rows. What the unknown columns hold is ignored; it may be missing.
    unknown : list of features, or dict of feature to what it may be
        Features are names or positions of columns. In a dict, a numeric column has a range
        ``(low, high)`` with finite or infinite ends, a categorical one a list of categories, and
        None stands for any value, as in a list. Any value of a numeric column is there, not missing.
        Any category may be one that the model does not know, or missing, if it can tell.
    reference : array-like of shape (n', p), default=None
        Rows like those of X, such as the training data. If given, any value means: in the range of a
        numeric column in these rows, or among its categories there. Else a numeric column is without
        limits, and an end of the interval may well be infinite, unless the column bends: far out the
        model is then flat.
    tol : float, default=1e-3
        How far an end may be from a value that h really has, in standard deviations of y - f_0 in
        training (for classes, in units of the log-odds).
    max_boxes : int, default=10_000
        A row's search for an end stops after about so many boxes. The end still holds, but is less
        tight, which `gap` tells. One or two unknown features rarely need as many.

    Returns
    -------
    interval : PredictionInterval

    Notes
    -----
    With an ``init`` model the interval is that of what the GBMAP adds to it. Without one, it is that of
    the prediction. It says nothing of noise in y. If two or more columns are without limits, an end may
    be given as infinite although it is not, then with a `gap` that is infinite too.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.inspection import prediction_interval_missing
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> model = GBMAPRegressor(n_components=5, random_state=0).fit(X, y)
    >>> interval = prediction_interval_missing(model, X, {"x0": (0, 1), "x3": (0.5, 1)})
    >>> inside = X[:, 3] >= 0.5
    >>> bool(((interval.lower <= model.predict(X)) & (model.predict(X) <= interval.upper))[inside].all())
    True
    """
    if not 0 < tol < np.inf:
        raise ValueError(f"tol must be positive and finite, got {tol!r}.")
    if not (isinstance(max_boxes, Integral) and max_boxes >= 1):
        raise ValueError(f"max_boxes must be an integer of at least 1, got {max_boxes!r}.")
    fitted = FittedModel.of(model)
    asked = Unknown.of(fitted, X, unknown, reference)
    choices = [asked.choices(column) for column in asked.allowed]
    n_choices = prod(len(values) for _, values in choices)
    if n_choices > max_boxes:
        raise ValueError(
            f"unknown must leave at most max_boxes={max_boxes} combinations of categories, got {n_choices}; "
            "raise max_boxes, or pass lists of the categories that are possible."
        )
    box = _Box.of(fitted, asked.ranges(), choices)
    widest = max(len(fitted.ensemble), len(box.sides[0][0].start))
    n_rows = max(1, _WORK_NUMBERS // (max_boxes * widest))
    with single_threaded_blas():  # its threads cost more than they bring to small matrices
        chunks = [
            _chunk_interval(fitted, box, asked.inputs[start : start + n_rows], tol, max_boxes)
            for start in range(0, asked.inputs.shape[0], n_rows)
        ]
    lower, upper, gap = (squeeze(np.concatenate(parts)) for parts in zip(*chunks))
    return PredictionInterval(lower, upper, gap, fitted.output_names)


@dataclass(frozen=True)
class _Box:
    """What the unknown features may be, alike for all rows: a box of numbers, and choices of categories.

    Attributes
    ----------
    inputs, origin : arrays of shape (r,)
        The inputs that are unknown, and their values at the origin: first choices, training means, or the low
        ends of columns that bend.
    shifts : array of shape (S, M)
        How much w_j . x gains by each combination of choices.
    limits : array of shape (M,)
        The sizes of the limits of unknown inputs, times their weights.
    sides : list of K lists of two Learners
        -h and h of each output, without intercepts, of the numbers as deviations from their means.
    """

    inputs: IntArray
    origin: Array
    shifts: Array
    limits: Array
    sides: list[list[Learners]]

    @classmethod
    def of(
        cls,
        fitted: FittedModel,
        ends: dict[int, tuple[float, float]],
        choices: list[tuple[IntArray, Array]],
    ) -> _Box:
        """Return the box between the ends of numbers, and of all combinations of choices."""
        columns, ensemble = fitted.columns, fitted.ensemble
        values = fitted.column_mean.copy()
        bent = [column for column in bent_columns(columns) if column in ends]
        values[bent] = [ends[column][0] for column in bent]
        origin = inputs_at(fitted, values[None])[0]
        is_free = np.isin(columns.source, list(ends)) & moves_with_number(columns)
        shifts = np.zeros((1, len(ensemble)))
        for inputs, each in choices:
            is_free[inputs], origin[inputs] = True, each[0]
            shift = (each - each[0]) @ ensemble.weights[:, inputs].T
            shifts = (shifts[:, None] + shift).reshape(-1, len(ensemble))
        limits = _sizes_of_limits(fitted, {column: ends[column] for column in bent})
        return cls(np.flatnonzero(is_free), origin[is_free], shifts, limits, _sides(fitted, ends, bent))


def _sides(
    fitted: FittedModel, ends: dict[int, tuple[float, float]], bent: list[int]
) -> list[list[Learners]]:
    """Return -h and h of each output, as functions of the numbers within their ends."""
    ensemble, numbers = fitted.ensemble, np.array(list(ends), dtype=np.intp)
    mean, straight = fitted.column_mean[numbers], column_weights(fitted)
    parts = [
        _pieces_within(fitted, column, *pair)
        if column in bent
        else (straight[:, [column]], np.array([-np.inf, np.inf]))
        for column, pair in ends.items()
    ]
    edges = [cuts - center for (_, cuts), center in zip(parts, mean)]
    weights = np.hstack([np.empty((len(ensemble), 0)), *(each for each, _ in parts)])
    coordinate = np.repeat(np.arange(len(parts)), [each.shape[1] for each, _ in parts])
    start, stop = (
        np.concatenate([np.empty(0), *each]) for each in ([e[:-1] for e in edges], [e[1:] for e in edges])
    )
    low, high = np.reshape(list(ends.values()), (-1, 2)).T - mean
    box = coordinate, start, stop, low, high, fitted.column_scale[numbers]
    return [
        [
            Learners(sign * ensemble.signs[which], ensemble.beta[which], weights[which], *box)
            for sign in (-1, 1)
        ]
        for which in ensemble.outputs == np.arange(ensemble.n_outputs)[:, None]
    ]


def _pieces_within(fitted: FittedModel, column: int, low: float, high: float) -> tuple[Array, Array]:
    """Return the weights of a column's pieces within a range, (M, r), and the ends of these, (r + 1,)."""
    pieces = Pieces.of(fitted.columns, column)
    inside = pieces.breaks[(pieces.breaks > low) & (pieces.breaks < high)]
    edges = np.array([low, *inside, high])
    slopes = pieces.slopes[np.searchsorted(pieces.breaks, edges[:-1], side="right")]
    return fitted.ensemble.weights[:, pieces.inputs] @ slopes.T, edges


def _sizes_of_limits(fitted: FittedModel, ends: dict[int, tuple[float, float]]) -> Array:
    """Return the sizes of the limits of inputs, and of the values within them, times weights, (M,)."""
    columns, sizes = fitted.columns, np.zeros(len(fitted.ensemble))
    for column, (low, high) in ends.items():
        inputs = Pieces.of(columns, column).inputs
        slope, offset = columns.slope[inputs], columns.offset[inputs]
        largest_value = np.maximum(np.abs(slope * low + offset), np.abs(slope * high + offset))
        limit = np.where(np.isfinite(columns.low[inputs]), np.abs(columns.low[inputs]), 0.0)
        sizes += np.abs(fitted.ensemble.weights[:, inputs]) @ (
            np.maximum(largest_value, limit) + np.abs(offset)
        )
    return sizes


def _chunk_interval(
    fitted: FittedModel, box: _Box, inputs: Any, tol: float, max_boxes: int
) -> tuple[Array, Array, Array]:
    """Return lower, upper and gap of some rows, each of shape (n, K)."""
    ensemble = fitted.ensemble
    rows = np.array(dense(inputs))  # a frame may hand out an array that cannot be written to
    rows[:, box.inputs] = box.origin
    z = ensemble.project(rows)
    row = np.repeat(np.arange(len(rows)), len(box.shifts))
    ends, gaps = np.empty((2, 2, len(rows), ensemble.n_outputs))
    blur = _ULPS * np.finfo(inputs.dtype).eps * _sizes(ensemble, rows, box)
    for k, sides in enumerate(box.sides):
        which = ensemble.outputs == k
        z_k = (z[:, None, which] + box.shifts[:, which]).reshape(len(row), -1)
        limit = tol * fitted.predictor.target_deviation[k]
        limit = np.maximum(limit - 2 * blur[:, k], 0.5 * limit)  # which leaves room for rounding
        for side, learners in enumerate(sides):
            if ensemble.activation == "identity":
                ends[side, :, k], gaps[side, :, k] = _largest_linear(learners, z_k, len(rows)), 0.0
            else:
                ends[side, :, k], gaps[side, :, k] = largest(
                    learners, z_k, row, tol=limit, max_boxes=max_boxes
                )
    level = ensemble.sum_outputs(ensemble.intercepts[None])
    # An end is moved out by the blur, and what `predict` returns may be as far in.
    gaps += np.where(np.isfinite(ends), 2 * blur, 0.0)
    return level - ends[0] - blur, level + ends[1] + blur, gaps.max(axis=0)


def _largest_linear(learners: Learners, z: Array, n_rows: int) -> Array:
    """Return the largest sum of linear learners of each row."""
    slope = learners.signs @ learners.weights
    straight = learners.straight[slope[learners.straight] != 0]
    coordinate = learners.coordinate[straight]
    end = np.where(slope[straight] > 0, learners.high[coordinate], learners.low[coordinate])
    most = (z @ learners.signs).reshape(n_rows, -1).max(axis=1) + slope[straight] @ end
    for pieces in learners.bent:
        most += max(np.cumsum(slope[pieces] * learners.reach[pieces]).max(), 0.0)
    return most


def _sizes(ensemble: Ensemble, rows: Array, box: _Box) -> Array:
    """Return the sums of the sizes of all that is added up on the way to h, of shape (n, K)."""
    sizes = ensemble.sizes(rows) + np.abs(box.shifts).max(axis=0) + _ULPS_OF_LIMITS / _ULPS * box.limits
    reaches = [
        np.abs(side.weights).sum(axis=0) @ np.nan_to_num(side.reach, posinf=0.0) for side, _ in box.sides
    ]
    return ensemble.sum_outputs(sizes) + np.array(reaches)
