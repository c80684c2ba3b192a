"""The range of predictions that unknown features leave open, with bounds that hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse

from gbmap._core.ensemble import Ensemble
from gbmap._drawing import IntervalDisplay
from gbmap._fitted.column_values import (
    Pieces,
    bent_columns,
    column_weights,
    example,
    inputs_at,
    is_coded,
    levels,
    moves_with_number,
    states,
)
from gbmap._fitted.columns import Columns
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.results import frame, one_row, squeeze
from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray
from gbmap.inspection._branch_and_bound import Learners, largest

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
    model: Any, X: Any, unknown: Any, *, reference: Any = None, tol: float = 1e-3, max_boxes: int = 2000
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
    max_boxes : int, default=2000
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
    X, asked = fitted.as_asked(X), _read_unknown(fitted, unknown)
    fillers = {column: value for column in asked if (value := _filler(fitted, column)) is not None}
    inputs = fitted.read(_filled(X, fitted, fillers))
    seen = None if reference is None else _read_reference(fitted, reference)
    choices = [_choices(fitted, column, asked, seen, X, fillers) for column in asked]
    n_choices = prod(len(values) for _, values in choices)
    if n_choices > max_boxes:
        raise ValueError(
            f"unknown must leave at most max_boxes={max_boxes} combinations of categories, got {n_choices}; "
            "raise max_boxes, or pass lists of the categories that are possible."
        )
    box = _Box.of(fitted, {column: _range(fitted, column, asked, seen) for column in asked}, choices)
    widest = max(len(fitted.ensemble), len(box.sides[0][0].start))
    n_rows = max(1, _WORK_NUMBERS // (max_boxes * widest))
    with single_threaded_blas():  # its threads cost more than they bring to small matrices
        chunks = [
            _chunk_interval(fitted, box, inputs[start : start + n_rows], tol, max_boxes)
            for start in range(0, inputs.shape[0], n_rows)
        ]
    lower, upper, gap = (squeeze(np.concatenate(parts)) for parts in zip(*chunks))
    return PredictionInterval(lower, upper, gap, fitted.output_names)


class _Seen(NamedTuple):
    """The reference rows, as the GBMAP is given them and as the inputs of its learners."""

    given: Any
    inputs: Any


def _read_unknown(fitted: FittedModel, unknown: Any) -> dict[int, Any]:
    """Return what each unknown column may be: a pair of floats, a list of categories, or None for all."""
    if isinstance(unknown, str) or not isinstance(unknown, Iterable):
        raise TypeError(
            f"unknown must be a list of features or a dict, got {unknown!r}; write [{unknown!r}]."
        )
    asked: dict[int, Any] = {}
    for feature, allowed in unknown.items() if isinstance(unknown, Mapping) else ((f, None) for f in unknown):
        column = fitted.feature_index(feature, "unknown")
        name = fitted.feature_names[column]
        if column in asked:
            raise ValueError(f"unknown must name each column once, got {name!r} twice.")
        read = _read_range if fitted.columns.is_number[column] else _read_categories
        asked[column] = None if allowed is None else read(name, allowed)
    return asked


def _read_range(name: Any, allowed: Any) -> tuple[float, float]:
    try:
        low, high = map(float, allowed)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not (low <= high and low < np.inf and high > -np.inf):
        raise ValueError(
            f"unknown[{name!r}] must be a pair (low, high) of numbers with low <= high, or None, "
            f"got {allowed!r}."
        )
    return low, high


def _read_categories(name: Any, allowed: Any) -> list[Any]:
    categories = [] if isinstance(allowed, str) or not isinstance(allowed, Iterable) else list(allowed)
    if not categories:
        raise ValueError(f"unknown[{name!r}] must be a list of categories, or None, got {allowed!r}.")
    return categories


def _read_reference(fitted: FittedModel, reference: Any) -> _Seen:
    try:
        given = fitted.read_given(reference)
    except ValueError as error:
        raise ValueError(f"reference must hold rows with the columns of X: {error}") from error
    return _Seen(given, fitted.inputs.of(given))


def _filler(fitted: FittedModel, column: int) -> Any:
    """Return a value that the model can read, for a column whose values do not count; None if not known."""
    category = example(fitted, column)
    if category is None and fitted.columns.is_number[column]:
        return float(fitted.column_mean[column])
    return category


def _filled(X: Any, fitted: FittedModel, values: dict[int, Any]) -> Any:
    """Return a copy of X with columns replaced; of odd shape, X itself, for the model to refuse."""
    if hasattr(X, "columns"):
        return _filled_frame(X, fitted.feature_names, values)
    is_sparse = scipy.sparse.issparse(X)
    copied: Any = X.tocsc(copy=True) if is_sparse else np.array(X, dtype=getattr(X, "dtype", object))
    if copied.ndim != 2 or copied.shape[1] != len(fitted.feature_names):
        return X
    for column, value in values.items():
        if is_sparse:
            copied.data[copied.indptr[column] : copied.indptr[column + 1]] = 0
        else:
            copied[:, column] = value
    return copied


def _filled_frame(X: Any, names: Array, values: dict[int, Any]) -> Any:
    frame = nw.from_native(X, eager_only=True)
    schema = frame.schema
    by_position = dict(enumerate(schema))
    for column, value in values.items():
        label = names[column] if names[column] in schema else by_position.get(column)
        if label is not None:
            # A plain float would turn a column of float32, and with it all of X, into float64.
            kind = schema[label] if schema[label].is_float() else None
            frame = frame.with_columns(nw.lit(value, kind).alias(label))
    return frame.to_native()


def _range(
    fitted: FittedModel, column: int, asked: dict[int, Any], seen: _Seen | None
) -> tuple[float, float] | None:
    """Return the ends of a numeric column, None for others."""
    if not fitted.columns.is_number[column]:
        return None
    low, high = (-np.inf, np.inf) if asked[column] is None else asked[column]
    if asked[column] is None and seen is not None:
        low, high = _seen_range(fitted.given, column, seen.given)
    return _clipped(fitted, column, low, high) if column in bent_columns(fitted.columns) else (low, high)


def _seen_range(given: Columns, column: int, rows: Any) -> tuple[float, float]:
    """Return the ends of a numeric column in rows that the GBMAP is given; none if it is missing in all."""
    numbers = np.flatnonzero((given.source == column) & (given.kind == "number") & (given.slope != 0))
    if not len(numbers):
        return -np.inf, np.inf
    k = numbers[0]
    values = (dense(rows[:, [k]]) - given.offset[k]) / given.slope[k]
    values = values[~np.isnan(values)]
    return (float(values.min()), float(values.max())) if len(values) else (-np.inf, np.inf)


def _clipped(fitted: FittedModel, column: int, low: float, high: float) -> tuple[float, float]:
    """Return a range without the parts on which h is flat, beyond the first and the last break."""
    pieces = Pieces.of(fitted.columns, column)
    least = -np.inf if pieces.slopes[0].any() else pieces.breaks[0]
    most = np.inf if pieces.slopes[-1].any() else pieces.breaks[-1]
    ends = float(np.clip(low, least, most)), float(np.clip(high, least, most))
    if not np.isfinite(ends).all():
        name = fitted.feature_names[column]
        raise ValueError(
            f"unknown[{name!r}] must be a pair (low, high) of finite numbers, since the column enters the "
            f"model with bends and also without, got {(low, high)!r}."
        )
    return ends


def _choices(
    fitted: FittedModel,
    column: int,
    asked: dict[int, Any],
    seen: _Seen | None,
    X: Any,
    fillers: dict[int, Any],
) -> tuple[IntArray, Array]:
    """Return the inputs of a column that are not numbers, (r,), and the values that they may have, (S, r)."""
    inputs, values = states(fitted.columns, column, is_coded=is_coded(fitted, column))
    if fitted.columns.is_number[column]:
        return inputs, values
    if asked[column] is not None:
        by_name = dict(zip(levels(fitted.columns, column), values))
        rows = [
            by_name[str(category)]
            if str(category) in by_name
            else _read_category(fitted, column, category, X, fillers)[inputs]
            for category in asked[column]
        ]
        return inputs, np.stack(rows)
    return inputs, values if seen is None else np.unique(dense(seen.inputs[:, inputs]), axis=0)


def _read_category(fitted: FittedModel, column: int, category: Any, X: Any, fillers: dict[int, Any]) -> Array:
    """Return the inputs of the first row with a category that has none of its own, of shape (q,)."""
    first = safe_indexing(X, [0])
    try:
        row: Array = dense(fitted.read(_filled(first, fitted, fillers | {column: category})))[0]
    except (TypeError, ValueError) as error:
        name = fitted.feature_names[column]
        raise ValueError(
            f"unknown[{name!r}] must hold categories that the model knows, got {category!r}; "
            f"it knows {', '.join(map(str, levels(fitted.columns, column)))}."
        ) from error
    return row


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
        ranges: dict[int, tuple[float, float] | None],
        choices: list[tuple[IntArray, Array]],
    ) -> _Box:
        """Return the box of the ranges of numbers, and of all combinations of choices."""
        columns, ensemble = fitted.columns, fitted.ensemble
        ends = {column: pair for column, pair in ranges.items() if pair is not None}
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
