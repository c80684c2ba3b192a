"""What the columns of X hold, and the inputs that a fit makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from gbmap._core.inputs import ColumnSample, Inputs
from gbmap._rows.moments import Moments, careful_moments
from gbmap._utils.frames import columns_of, numbers_of
from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array

# By "auto" a column has so many knots, fewer with few rows, and as many as leave a learner so many numbers
# for all its bends, and so many rows for each.
_KNOTS, _KNOTS_OF_FEW, _FEW_ROWS, _MOST_BENDS, _ROWS_PER_BEND = 8, 5, 2_000, 300, 10
# A category has an input of its own if it has so many rows, or such a share of few; so many of a column may.
_CATEGORY_ROWS, _CATEGORY_SHARE, MOST_CATEGORIES = 10, 0.02, 100
# Beyond its fences a column counts as if it were at them. They lie this many times as far beyond nearly all
# of it, but for such a share on either side, as that reaches: columns of long tails are not cut.
_SHARE_BEYOND, _FENCE = 0.005, 5.0
# Knots that are closer than this share of the range of a column are one: slopes between them would be noise.
_CLOSE_KNOTS = 1e-3
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

    def encode(self, frame: Any) -> Array:
        """Return the columns as numbers, (n, p), in C order: of float32 if all columns are."""
        columns = columns_of(frame)
        is_single = all(column.dtype == nw.Float32 for column in columns)
        out = np.empty((frame.shape[0], len(columns)), np.float32 if is_single else np.float64)
        for k, (column, levels) in enumerate(zip(columns, self.categories)):
            out[:, k] = numbers_of(column) if levels is None else _codes(column, levels)
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
    values = column.unique().to_list()
    if len(values) * 2 > len(column):
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
        fill[k] = _quantiles(x, weight, np.array([0.5]))[0] if len(x) else 0.0
        must_rise = monotone is not None and monotone[k] != 0
        n_knots = most if _can_hold(sample.X.dtype, x) else 0
        pieces += [(k, *piece) for piece in _pieces(x, weight, n_knots, must_rise)]
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


def _can_hold(dtype: Any, x: Array) -> bool:
    """Return whether a type can hold how far a column's values are from its fences, wherever these lie."""
    return bool(2 * (1 + 2 * _FENCE) * np.abs(x).max(initial=0.0) < np.finfo(dtype).max)


def _pieces(x: Array, weight: Array, most: int, must_rise: bool) -> list[tuple[float, float, bool]]:
    """Return the ends of the numbers that a column enters by, and which are bends.

    A column that must rise or fall enters by its pieces between knots in place of hinges, whose slopes add
    up: so that each of them can be held to a sign.
    """
    knots = _knots_of(x, weight, most)
    if not len(knots):
        return [(-np.inf, np.inf, False)]
    low, high = _fences(x, weight)
    if must_rise:
        ends = [low, *knots, high]
        return [(*piece, False) for piece in pairwise(ends)]
    return [(low, high, False), *((knot, high, True) for knot in knots)]


def _knots_of(x: Array, weight: Array, most: int) -> Array:
    """Return at most so many knots of a column: values amid it, between which as many rows lie."""
    if most == 0 or not len(x):
        return np.empty(0)
    values = np.unique(_quantiles(x, weight, np.arange(1, most + 1) / (most + 1)))
    low, high = _quantiles(x, weight, np.array([_SHARE_BEYOND, 1 - _SHARE_BEYOND]))
    close, kept = _CLOSE_KNOTS * (high - low), [float(x.min())]
    for value in values[(values > x.min()) & (values <= x.max() - close) & (values < x.max())].tolist():
        if value - kept[-1] >= close:
            kept.append(value)
    return np.array(kept[1:])


def _fences(x: Array, weight: Array) -> tuple[float, float]:
    """Return where a column ends to count: as far beyond nearly all of it as this reaches."""
    low, high = _quantiles(x, weight, np.array([_SHARE_BEYOND, 1 - _SHARE_BEYOND]))
    beyond = _FENCE * (high - low)
    return float(low - beyond), float(high + beyond)


def _quantiles(x: Array, weight: Array, levels: Array) -> Array:
    """Return values below which such shares of the weight lie: the same for repeated rows, in any order."""
    values, group = np.unique(x, return_inverse=True)
    share = np.cumsum(np.bincount(group, weight))
    places = np.searchsorted(share / share[-1], levels * (1 - 1e-12))
    found: Array = values[np.minimum(places, len(values) - 1)]
    return found


def _frequent(x: Array, weight: Array, n_rows: float) -> Array:
    """Return the codes that have rows enough."""
    values, group = np.unique(x, return_inverse=True)
    if not len(values):
        return values
    rows = np.bincount(group, weight) * (n_rows / weight.sum())
    least = min(_CATEGORY_ROWS, _CATEGORY_SHARE * n_rows)
    kept = np.argsort(-rows, kind="stable")[:MOST_CATEGORIES]
    return np.sort(values[kept[rows[kept] >= least]])
