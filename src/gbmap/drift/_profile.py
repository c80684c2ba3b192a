"""What columns held in training: little enough to be kept, and enough to see plain changes by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse

from gbmap._utils.missing import is_missing
from gbmap._utils.scikit_learn import num_samples
from gbmap._utils.typing import Array, IntArray

_MOST_LEVELS = 10_000  # of a column whose categories are kept
_MOST_NEW = 0.01  # rows with new categories, of all columns that are trusted to have none
DAYS = " (days)"  # how features end that count the days of a date
_EXAMPLES = 3  # of categories that were not seen


@dataclass(frozen=True)
class Values:
    """One column of rows: numbers, NaN where they are missing, or else values of any kind, None there."""

    values: Array

    @classmethod
    def of(cls, column: Any, *, is_category: bool = False) -> Values | None:
        """Return a column of a frame or an array; None if it holds dates or the like."""
        if isinstance(column, np.ndarray):
            kind = column.dtype.kind
            is_number, listed = kind in "biuf", kind in "OUS"
        else:
            dtype = column.dtype
            is_number = bool(dtype.is_numeric() or dtype == nw.Boolean)
            listed = dtype in (nw.Object, nw.String, nw.Categorical, nw.Enum, nw.Unknown)
        if is_number and not is_category:
            return cls(_numbers(column))
        if not (is_number or listed):
            return None
        listing = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
        found = [None if is_missing(each) else _plain(each) for each in listing]
        if not is_category and not any(isinstance(each, str) for each in found):
            try:
                return cls(np.array([np.nan if each is None else float(each) for each in found]))
            except (TypeError, ValueError):
                pass
        values = np.empty(len(found), dtype=object)
        values[:] = found
        return cls(values)

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return bool(self.values.dtype.kind == "f")

    @property
    def missing(self) -> Array:
        """Which values are missing, of shape (n,)."""
        if self.is_number:
            return np.isnan(self.values)
        return np.fromiter((each is None for each in self.values), bool, len(self.values))

    @property
    def present(self) -> Array:
        """The values that are there."""
        return self.values[~self.missing]

    @property
    def counts(self) -> dict[Any, int]:
        """How often each value is there."""
        if not self.is_number:
            return Counter(self.present.tolist())
        values, counts = np.unique(self.present, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist()))


def _plain(value: Any) -> Any:
    """Return whole numbers as such: 1 and 1.0 are one category."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _numbers(column: Any) -> Array:
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    if column.dtype == nw.Boolean:
        return np.array([np.nan if is_missing(each) else float(each) for each in column.to_list()])
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def columns_of(X: Any, is_category: Sequence[bool] | None = None) -> list[Values | None] | None:
    """Return the columns of rows; None if they are sparse, or in no frame or array in memory."""
    if scipy.sparse.issparse(X):
        return None
    if hasattr(X, "columns"):
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return None
        columns = list(frame.iter_columns())
    else:
        array = np.asarray(X)
        if array.ndim != 2:
            return None
        columns = list(array.T)
    marks = [False] * len(columns) if is_category is None else is_category
    return [Values.of(column, is_category=bool(mark)) for column, mark in zip(columns, marks)]


@dataclass(frozen=True)
class Profile:
    """The columns of the reference rows, p of them.

    Attributes
    ----------
    names : array of str of shape (p,)
    kinds : array of shape (p,) of "number", "category" or "other", which nothing is known of
    n_rows : int
        Rows of the training and of the calibration.
    n_missing : integer array of shape (p,)
        How many of their values are missing.
    low, high, middle : arrays of shape (p,)
        The smallest and the largest of their numbers, and the median of their sizes; NaN without numbers.
    constant : array of shape (p,)
        The one value of a column that has no other, None if there is none.
    is_constant : boolean array of shape (p,)
        Whether all rows have the same value, or none has one.
    levels : tuple of arrays, None for numbers
        The categories that the model was fitted to.
    may_miss : boolean array of shape (p,)
        Whether values were missing in training.
    knows_all : boolean array of shape (p,)
        Whether a new category is so rare, by how many came once in training, that its rows are strange.
    n_calibration : int
        Rows of the calibration.
    n_unseen : integer array of shape (p,)
        How many of these had categories that their model was not fitted to.
    days : list of str
        The names of columns that count days since 1970.
    n_most : integer array of shape (p,), or None in files of before
        In how many rows the most frequent value is, or in more: of training and of calibration, added up.
    """

    names: Array
    kinds: Array
    n_rows: int
    n_missing: IntArray
    low: Array
    high: Array
    middle: Array
    constant: Array
    is_constant: Array
    levels: tuple[Array | None, ...]
    may_miss: Array
    knows_all: Array
    n_calibration: int
    n_unseen: IntArray
    days: list[str]
    n_most: IntArray | None

    @classmethod
    def of(cls, X: Any, known: Sequence[Array | None], may_miss: Array) -> Profile | None:
        """Return the profile of training rows; None if they are none of which it can be told.

        `known` are the categories that the model has of its columns besides, and `may_miss` tells which it
        has met without a value.
        """
        names = _names(X)
        columns = columns_of(X, [levels is not None for levels in known])
        if columns is None:
            return None
        p = len(columns)
        kinds = np.array(
            ["other" if each is None else "number" if each.is_number else "category" for each in columns],
            dtype=object,
        )
        levels: list[Array | None] = [None] * p
        for k in np.flatnonzero(kinds == "category").tolist():
            seen = set(columns[k].present.tolist())  # type: ignore[union-attr]
            of_model = known[k]
            seen |= set() if of_model is None else set(of_model.tolist())
            levels[k] = _ordered(seen) if len(seen) <= _MOST_LEVELS else None
        empty = np.full(p, np.nan)
        profile = cls(
            names, kinds, 0, np.zeros(p, np.int64), empty, empty, empty, np.empty(p, dtype=object),
            np.ones(p, bool), tuple(levels), may_miss, _rarely_new(columns, levels), 0, np.zeros(p, np.int64),
            list(getattr(X, "attrs", {}).get("days", [])), np.zeros(p, np.int64),
        )  # fmt: skip
        of_training = profile.with_rows(columns)
        return of_training._replace(may_miss=may_miss | (of_training.n_missing > 0))

    def with_rows(self, columns: list[Values | None]) -> Profile:
        """Return the profile of these rows too; what the model knows of columns stays as it is."""
        low, high, middle = self.low.copy(), self.high.copy(), self.middle.copy()
        n_missing, constant, is_constant = (
            self.n_missing.copy(),
            self.constant.copy(),
            self.is_constant.copy(),
        )
        n_most = None if self.n_most is None else self.n_most.copy()
        n = next((len(each.values) for each in columns if each is not None), 0)
        for k, column in enumerate(columns):
            if column is None or column.is_number != (self.kinds[k] == "number"):
                is_constant[k] = False
                continue
            present = column.present
            first = self.n_rows == 0
            n_missing[k] += n - len(present)
            counts = column.counts
            if n_most is not None:
                n_most[k] += max(counts.values(), default=0)
            values = set(counts)
            values |= {None} if len(present) < n else set()
            values |= set() if first else {constant[k]}
            is_constant[k] &= len(values) <= 1
            constant[k] = next(iter(values)) if is_constant[k] and values else None
            if column.is_number and len(present):
                low[k], high[k] = np.fmin(low[k], present.min()), np.fmax(high[k], present.max())
                middle[k] = np.median(np.abs(present)) if np.isnan(middle[k]) else middle[k]
        return self._replace(
            n_rows=self.n_rows + n, n_missing=n_missing, low=low, high=high, middle=middle,
            constant=constant, is_constant=is_constant, n_most=n_most,
        )  # fmt: skip

    def calibrated(self, others: Any, n_unseen: IntArray, n_calibration: int) -> Profile:
        """Return the profile with what calibration rows were like, and of them if they are other rows."""
        found = self._replace(n_unseen=n_unseen, n_calibration=n_calibration)
        columns = None if others is None else columns_of(others, list(self.kinds == "category"))
        return found if columns is None else found.with_rows(columns)

    def batch(self, X: Any) -> BatchColumns:
        """Return what the columns of a batch hold."""
        columns = columns_of(X, list(self.kinds == "category"))
        if columns is None:
            raise ValueError("X must be a dense array or a frame, as the rows of the fit were.")
        return BatchColumns.of(self, columns, num_samples(X))

    def strange_columns(self, X: Any) -> Array:
        """Return where rows hold categories that were not seen, or miss what was never missing, (n, p)."""
        columns = columns_of(X, list(self.kinds == "category"))
        strange = np.zeros((num_samples(X), len(self.names)), dtype=bool)
        for k, column in enumerate(columns or []):
            if column is None:
                continue
            if not self.may_miss[k]:
                strange[:, k] |= column.missing
            if (levels := self.levels[k]) is not None and self.knows_all[k] and not column.is_number:
                strange[:, k] |= _unseen(column, levels)
        return strange

    def strange_codes(self, given: Array) -> Array:
        """Return which rows are so, of rows as numbers: categories as codes, below zero if not seen."""
        knows_levels = self.knows_all & np.array([levels is not None for levels in self.levels])
        lacks = np.isnan(given[:, ~self.may_miss]).any(axis=1)
        return np.asarray(lacks | (given[:, knows_levels] < 0).any(axis=1))

    def _replace(self, **changes: Any) -> Profile:
        return Profile(**{**vars(self), **changes})


@dataclass(frozen=True)
class BatchColumns:
    """What the columns of a batch hold that a profile can be compared with.

    Attributes
    ----------
    n_rows : int
    has_other_type : boolean array of shape (p,)
        Whether a column of numbers holds text, or dates.
    n_missing, n_unseen, n_first, n_below, n_above, n_other : integer arrays of shape (p,)
        Values that are missing, categories not seen, the most frequent of them alone, numbers beyond the
        range, and values that differ from the constant.
    n_small : integer array of shape (p,)
        Numbers of a size below that of half of the reference.
    middle, lowest, highest : arrays of shape (p,)
        The median of the sizes of numbers, and their range.
    examples : list of p tuples
        The most frequent categories that were not seen.
    only : list of p values
        The one that all rows hold that hold any, None if there are several.
    """

    n_rows: int
    has_other_type: Array
    n_missing: IntArray
    n_unseen: IntArray
    n_first: IntArray
    n_below: IntArray
    n_above: IntArray
    n_other: IntArray
    n_small: IntArray
    middle: Array
    lowest: Array
    highest: Array
    examples: list[tuple[Any, ...]]
    only: list[Any]

    @classmethod
    def of(cls, profile: Profile, columns: list[Values | None], n_rows: int) -> BatchColumns:
        p = len(columns)
        names = ("n_missing", "n_unseen", "n_first", "n_below", "n_above", "n_other", "n_small")
        counts = {name: np.zeros(p, np.int64) for name in names}
        numbers = {name: np.full(p, np.nan) for name in ("middle", "lowest", "highest")}
        other, examples, only = np.zeros(p, bool), [()] * p, [None] * p
        for k, column in enumerate(columns):
            if profile.kinds[k] == "other":
                continue
            if column is None or column.is_number != (profile.kinds[k] == "number"):
                other[k] = True
                continue
            present, found = column.present, {}
            found["n_missing"] = n_rows - len(present)
            only[k] = _the_one(present)
            if profile.is_constant[k]:
                constant = profile.constant[k]
                same = found["n_missing"] if constant is None else int((present == constant).sum())
                found["n_other"] = n_rows - same - (0 if constant is None else found["n_missing"])
            if column.is_number and len(present):
                found["n_below"] = int((present < profile.low[k]).sum())
                found["n_above"] = int((present > profile.high[k]).sum())
                found["n_small"] = int((np.abs(present) < profile.middle[k]).sum())
                numbers["lowest"][k], numbers["highest"][k] = present.min(), present.max()
                numbers["middle"][k] = np.median(np.abs(present))
            elif (levels := profile.levels[k]) is not None and not column.is_number:
                unseen = Counter(column.values[_unseen(column, levels)].tolist())
                found["n_unseen"], found["n_first"] = unseen.total(), max(unseen.values(), default=0)
                examples[k] = tuple(level for level, _ in unseen.most_common(_EXAMPLES))
            for name, count in found.items():
                counts[name][k] = count
        return cls(n_rows=n_rows, has_other_type=other, examples=examples, only=only, **counts, **numbers)


def _the_one(values: Array) -> Any:
    """Return the value that all are, None if there are others or none."""
    return values[0] if len(values) and (values == values[0]).all() else None


def _unseen(column: Values, levels: Array) -> Array:
    known = {*levels.tolist(), None}
    return np.fromiter((each not in known for each in column.values), bool, len(column.values))


def _rarely_new(columns: list[Values | None], levels: list[Array | None]) -> Array:
    """Return the columns of categories in which next to no row is expected to hold a new one.

    A category that came once would have been new to the others: the share of such rows is what to expect
    (Good and Turing). Columns are taken from the smallest on, as long as their shares add up to little.
    """
    shares = np.full(len(columns), np.inf)
    for k, column in enumerate(columns):
        if column is not None and levels[k] is not None:
            shares[k] = sum(count == 1 for count in column.counts.values()) / max(len(column.values), 1)
    order = np.argsort(shares, kind="stable")
    found = np.zeros(len(columns), dtype=bool)
    found[order] = np.cumsum(shares[order]) <= _MOST_NEW
    return found


def _ordered(values: set[Any]) -> Array:
    levels = np.empty(len(values), dtype=object)
    levels[:] = sorted(values, key=lambda value: (str(type(value)), value))
    return levels


def _names(X: Any) -> Array:
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if names is None:
        names = [f"x{k}" for k in range(X.shape[1])]
    return np.array(names, dtype=object)
