"""What the columns of X hold, and the inputs that a fit makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from gbmap._core.inputs import ColumnSample, Inputs
from gbmap._rows.moments import Moments, careful_moments
from gbmap._utils.frames import columns_of, numbers_of, numbers_side_by_side, some_columns
from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array

# By "auto" a column has so many knots, fewer with few rows, and as many as leave a learner so many numbers
# for all its bends, and so many rows for each.
_KNOTS, _KNOTS_OF_FEW, _FEW_ROWS, _MOST_BENDS, _ROWS_PER_BEND = 8, 5, 2_000, 300, 10
# A category has an input of its own if it has so many rows; so many of a column may.
CATEGORY_ROWS, MOST_CATEGORIES = 2, 100
# Beyond its fences a column counts as if it were at them. They lie this many times as far beyond nearly all
# of it, but for such a share on either side, as that reaches: columns of long tails are not cut.
_SHARE_BEYOND, _FENCE = 0.005, 5.0
# Of fewer rows, less than five of which are beyond nearly all, these do not tell how far a column reaches.
FEW_TO_TELL_FENCES = 1_000
# Knots that are closer than this share of the range of a column are one: slopes between them would be noise.
_CLOSE_KNOTS = 1e-6
_WHOLE = (-np.inf, np.inf, False)  # the one piece of a column that does not bend
# A bend counts as one that differs from a linear function by this share of its spread at least; of that of
# the rows amid the column, if a few others have most of it, but for so small a share.
_LEAST_BENT, _LEAST_MIDDLE = 0.1, 1e-3
# The quartiles of a normal column lie so many deviations apart.
_QUARTILES = 1.35
_SMALLEST = np.finfo(np.float64).tiny
# So few values of a column are looked up one by one; of more, each different one.
_FEW_VALUES = 50
# The code of a category that the fit did not see.
UNKNOWN = -1.0


@dataclass(frozen=True)
class Coding:
    """The columns of a frame as numbers: categories as codes.

    Attributes
    ----------
    categories : tuple of arrays of shape (L,), or None for columns of numbers
        A category has its position as its code; one that is not there has -1, a missing one NaN.
    """

    categories: tuple[Array | None, ...]

    @classmethod
    def of(cls, frame: Any, is_category: Array | None) -> Coding:
        """Return the coding of a frame, whose columns of text hold categories unless told which do."""
        return cls(
            tuple(
                _categories(column)
                if (_holds_text(column) if is_category is None else is_category[k])
                else None
                for k, column in enumerate(columns_of(frame))
            )
        )

    def with_categories(self, columns: list[Any]) -> Coding:
        """Return the coding with the categories that there are in columns; None leaves one as it is."""
        found = (
            levels if column is None else _categories(nw.from_native(column, series_only=True))
            for levels, column in zip(self.categories, columns)
        )
        return Coding(tuple(found))

    @property
    def is_category(self) -> Array:
        """Which columns hold categories, of shape (p,)."""
        return np.array([levels is not None for levels in self.categories], dtype=bool)

    def encode(self, frame: Any, *, as_fitted: bool = True) -> Array:
        """Return the columns as numbers, (n, p): of float32 if all of them are numbers of that type."""
        is_category = self.is_category
        numbers = numbers_side_by_side(frame, ~is_category)
        if not is_category.any():
            return _one_by_one(columns_of(frame), as_fitted) if numbers is None else numbers
        out = np.empty((frame.shape[0], len(is_category)))
        if numbers is None:
            numbers = _one_by_one(some_columns(frame, ~is_category), as_fitted)
        out[:, ~is_category] = numbers
        for k, column in zip(np.flatnonzero(is_category).tolist(), some_columns(frame, is_category)):
            levels = self.categories[k]
            assert levels is not None
            out[:, k] = _codes(column, levels)
        return out


def _one_by_one(columns: list[Any], as_fitted: bool) -> Array:
    is_single = all(column.dtype == nw.Float32 for column in columns)
    out = np.empty((len(columns[0]) if columns else 0, len(columns)), np.float32 if is_single else np.float64)
    for k, column in enumerate(columns):
        out[:, k] = numbers_of(column, as_fitted=as_fitted)
    return out


def named_columns(categorical_features: Any, n_columns: int, names: Any) -> Array | None:
    """Return which columns are said to hold categories, of shape (p,); None if their types are to say."""
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return None
    is_category = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return is_category
    given = np.asarray(categorical_features)
    if given.dtype.kind == "b" and given.shape == (n_columns,):
        return given
    known = {} if names is None else {name: k for k, name in enumerate(names)}
    for each in given.tolist() if given.ndim == 1 and given.dtype.kind != "b" else [categorical_features]:
        position = known.get(each, each)
        if not isinstance(position, int) or not -n_columns <= position < n_columns:
            raise ValueError(
                "categorical_features must be 'from_dtype', None, or name columns of X by names, positions "
                f"below {n_columns} or a truth value for each; got {each!r}."
            )
        is_category[position] = True
    return is_category


def _holds_text(column: nw.Series[Any]) -> bool:
    if column.dtype == nw.Object:
        return any(isinstance(value, str) for value in column.to_list())
    return column.dtype in (nw.String, nw.Categorical, nw.Enum)


def _categories(column: nw.Series[Any]) -> Array:
    """Return the values there are, in order if they have one."""
    try:
        values = {_plain(value) for value in column.unique().to_list()} - {None}
    except TypeError as error:
        raise ValueError(
            f"categories of X must be text, numbers or other values with a hash, but column {column.name!r} "
            f"is of type {column.dtype}; turn it into text."
        ) from error
    try:
        ordered = sorted(values)
    except TypeError:
        ordered = sorted(values, key=str)
    levels = np.empty(len(ordered), dtype=object)
    levels[:] = ordered
    return levels


def _plain(value: Any) -> Any:
    """Return None for what is missing, and whole numbers as such: 1 and 1.0 are one category."""
    if is_missing(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _codes(column: nw.Series[Any], levels: Array) -> Array:
    known = {level: float(code) for code, level in enumerate(levels.tolist())} | {None: np.nan}
    values = column.unique().to_list() if len(column) > _FEW_VALUES else []
    if not values or len(values) * 2 > len(column):
        return np.array([known.get(_plain(value), UNKNOWN) for value in column.to_list()])
    places = {value: known.get(_plain(value), UNKNOWN) for value in values if not is_missing(value)}
    return np.array([np.nan if is_missing(value) else places[value] for value in column.to_list()])


def plan_inputs(
    sample: ColumnSample, n_rows: float, knots: int | str, is_category: Array, monotone: Array | None
) -> Inputs:
    """Return the inputs for rows like these, if all of them count as so many."""
    n_columns, fill = sample.X.shape[1], np.zeros(sample.X.shape[1])
    most = _n_knots(knots, int((~is_category & _varies(sample.X)).sum()), n_rows)
    pieces: list[tuple[float, ...]] = []
    codes: list[tuple[float, float]] = []
    for k in range(n_columns):
        is_there = ~np.isnan(sample.X[:, k])
        x, weight = sample.X[is_there, k].astype(np.float64), sample.weight[is_there]
        if is_category[k]:
            n_there = n_rows * weight.sum() / sample.weight.sum()
            codes += [(k, code) for code in _frequent(x, weight, n_there)]
            continue
        if not len(x):
            pieces.append((k, *_WHOLE))
            continue
        spread = _Spread.of(x, weight)
        fill[k] = spread.quantiles(np.array([0.5]))[0]
        must_rise = monotone is not None and monotone[k] != 0
        n_knots = most if spread.fits(sample.X.dtype) else 0
        pieces += [(k, *piece) for piece in _pieces(spread, n_knots, must_rise)]
    found = np.array(pieces, dtype=np.float64).reshape(-1, 4)
    if not (pieces or codes or sample.has_missing.any()):
        codes = [(0, 0.0)]  # a learner has at least one input
    category = np.array(codes, dtype=np.float64).reshape(-1, 2)
    return Inputs(
        fill=fill,
        number_source=found[:, 0].astype(np.intp),
        low=found[:, 1],
        high=found[:, 2],
        bends=found[:, 3] > 0,
        missing_source=np.flatnonzero(sample.has_missing),
        category_source=category[:, 0].astype(np.intp),
        code=category[:, 1],
    )


def shares_of_spread(sample: ColumnSample, inputs: Inputs) -> Array:
    """Return by which share of its spread each input counts, (q,): one of most of them.

    A bend counts by what is none of a linear function of its column: a hinge near the end that it begins at
    is almost its column. Categories of a column share one unit, the mean of their variances: else the prior
    would hold the effect of a rare one, of which the rows tell little, no more than that of a frequent one.
    """
    shares = np.ones(len(inputs))
    for k in np.unique(inputs.number_source[inputs.bends]).tolist():
        own = np.flatnonzero(inputs.number_source == k)
        bends, (whole,) = own[inputs.bends[own]], own[~inputs.bends[own]]
        is_there = ~np.isnan(sample.X[:, k])
        x, weight = sample.X[is_there, k].astype(np.float64), sample.weight[is_there]
        hinges = np.array([np.clip(x, inputs.low[j], inputs.high[j]) for j in (whole, *bends)])
        hinges -= (hinges @ weight / weight.sum())[:, None]
        hinges /= np.abs(hinges).max(axis=1, keepdims=True).clip(min=_SMALLEST)
        products = (hinges * weight) @ hinges.T
        lengths = products[0, 0] * np.diagonal(products)[1:]
        alike = np.divide(products[0, 1:] ** 2, lengths, out=np.zeros(len(bends)), where=lengths > 0)
        amid = _Spread.of(x, weight).middle / max(careful_moments(x, weight)[1], _SMALLEST)
        least = _LEAST_BENT * float(np.clip(amid, _LEAST_MIDDLE, 1.0))
        shares[bends] = np.sqrt((1 - alike).clip(min=least**2))
    of_categories = shares[len(inputs) - len(inputs.code) :]
    for k in np.unique(inputs.category_source).tolist():
        own = inputs.category_source == k
        frequency = (sample.X[:, [k]] == inputs.code[own]).T @ sample.weight / sample.weight.sum()
        variance = frequency * (1 - frequency)
        of_categories[own] = np.sqrt(variance.mean() / variance.clip(min=_SMALLEST))
    return shares


def closer_fences(sample: ColumnSample, inputs: Inputs) -> Inputs:
    """Return the inputs with fences as far beyond all rows, which the sample holds, as nearly all reach.

    Those of few rows that bend: a slope that changes where rows are is not followed far beyond them.
    """
    low, high = inputs.low.copy(), inputs.high.copy()
    for k in np.unique(inputs.number_source[inputs.has_limits]).tolist():
        own, is_there = inputs.number_source == k, ~np.isnan(sample.X[:, k])
        near = _Spread.of(sample.X[is_there, k].astype(np.float64), sample.weight[is_there]).near_fences
        low[own], high[own] = np.maximum(low[own], near[0]), np.minimum(high[own], near[1])
    return replace(inputs, low=low, high=high)


def moments_of_sample(sample: ColumnSample) -> Moments:
    """Return mean and deviation of the columns, of what there is of them."""
    found = [(0.0, 0.0)] * sample.X.shape[1]
    for k in range(len(found)):
        is_there = ~np.isnan(sample.X[:, k])
        if is_there.any():
            found[k] = careful_moments(sample.X[is_there, k], sample.weight[is_there])
    return Moments(*np.array(found).T)


def _varies(X: Array) -> Array:
    """Return which columns have two values or more: others have no knots, and leave theirs to these."""
    least, largest = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
    found: Array = least < largest
    return found


def _n_knots(knots: int | str, n_columns: int, n_rows: float) -> int:
    if not isinstance(knots, str):
        return knots
    most = min(_MOST_BENDS, int(n_rows / _ROWS_PER_BEND)) // max(n_columns, 1)
    return min(_KNOTS if n_rows >= _FEW_ROWS else _KNOTS_OF_FEW, most)


@dataclass(frozen=True)
class _Spread:
    """The values that a column has, ascending, and the share of the weight up to each."""

    values: Array
    share: Array

    @classmethod
    def of(cls, x: Array, weight: Array) -> _Spread:
        if (weight == weight[0]).all():
            return cls(np.sort(x), np.arange(1, len(x) + 1) / len(x))
        values, group = np.unique(x, return_inverse=True)
        share = np.cumsum(np.bincount(group, weight))
        return cls(values, share / share[-1])

    def quantiles(self, levels: Array) -> Array:
        """Return values below which such shares of the weight lie: for repeated rows the same."""
        places = np.searchsorted(self.share, levels * (1 - 1e-12))
        found: Array = self.values[np.minimum(places, len(self.values) - 1)]
        return found

    @property
    def nearly_all(self) -> tuple[float, float]:
        """The ends of nearly all of the column."""
        low, high = self.quantiles(np.array([_SHARE_BEYOND, 1 - _SHARE_BEYOND])).tolist()
        return low, high

    @property
    def middle(self) -> float:
        """The deviation that a normal column of the same quartiles has."""
        low, high = self.quantiles(np.array([0.25, 0.75])).tolist()
        return (high - low) / _QUARTILES

    @property
    def fences(self) -> tuple[float, float]:
        """Where the column ends to count: as far beyond nearly all of it as this reaches."""
        low, high = self.nearly_all
        beyond = _FENCE * (high - low)
        return low - beyond, high + beyond

    @property
    def near_fences(self) -> tuple[float, float]:
        """As far beyond all of the column as nearly all of it reaches."""
        low, high = self.nearly_all
        return float(self.values[0]) - (high - low), float(self.values[-1]) + (high - low)

    def fits(self, dtype: Any) -> bool:
        """Return whether a type can hold how far values are from the fences, wherever these lie."""
        largest = np.abs(self.values[[0, -1]]).max()
        return bool(2 * (1 + 2 * _FENCE) * largest < np.finfo(dtype).max)

    def knots(self, most: int) -> Array:
        """Return at most so many knots: values amid the column, between which as many rows lie."""
        if most == 0:
            return np.empty(0)
        values = np.unique(self.quantiles(np.arange(1, most + 1) / (most + 1)))
        (low, high), (least, largest) = self.nearly_all, self.values[[0, -1]].tolist()
        close, kept = _CLOSE_KNOTS * (high - low), [least]
        for value in values[(values > least) & (values <= largest - close) & (values < largest)].tolist():
            if value - kept[-1] >= close:
                kept.append(value)
        return np.array(kept[1:])


def _pieces(spread: _Spread, most: int, must_rise: bool) -> list[tuple[float, float, bool]]:
    """Return the ends of the numbers that a column enters by, and which are bends.

    A column that must rise or fall enters by its pieces between knots in place of hinges, whose slopes add
    up: so that each of them can be held to a sign.
    """
    knots = spread.knots(most)
    if not len(knots):
        return [_WHOLE]
    low, high = spread.fences
    if must_rise:
        ends = [low, *knots, high]
        return [(*piece, False) for piece in pairwise(ends)]
    return [(low, high, False), *((knot, high, True) for knot in knots)]


def _frequent(x: Array, weight: Array, n_rows: float) -> Array:
    """Return the codes that have rows enough."""
    values, group = np.unique(x, return_inverse=True)
    if not len(values):
        return values
    rows = np.bincount(group, weight) * (n_rows / weight.sum())
    kept = np.argsort(-rows, kind="stable")[:MOST_CATEGORIES]
    return np.sort(values[kept[rows[kept] >= CATEGORY_ROWS]])
