"""From the columns of X to the inputs of learners: pieces of numbers, marks of missing values, categories.

A learner is g(w . u + c) with u the inputs. A numeric column x enters as itself or, where it may bend, as

    clip(x, low, high)      what it is within its fences,
    clip(x, t, high) - t    a hinge at each knot t between them,

so that w . u is a sum of piecewise linear functions of the columns, flat where no rows tell how they go on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gbmap._core.arrays import asarray_like, in_wide, namespace, wide
from gbmap._core.input_writer import InputWriter, has_missing
from gbmap._utils.typing import Array, IntArray

# The groups of inputs that have a prior of their own. Marks of missing values are among the numbers.
NUMBERS, BENDS, CATEGORIES = 0, 1, 2


# Closer to a knot than this share of the stretch, a row is at it: what float32 leaves open.
_AT_A_KNOT = 1e-6


class ColumnSample(NamedTuple):
    """What rows tell of the columns of X: some of them in memory, and their weights.

    `has_missing`, of shape (p,), tells of which columns any of all rows has nothing.
    """

    X: Any
    weight: Array
    has_missing: Array


@dataclass(frozen=True)
class Inputs:
    """What the q inputs are made of: first numbers, then marks of missing values, then categories.

    Attributes
    ----------
    fill : array of shape (p,)
        The number that stands for a missing one, column by column.
    number_source : integer array of shape (q_1,)
        The column of each number, which is clip(x, low, high), less low if that is finite.
    low, high : arrays of shape (q_1,)
        Of a column as it is: no limits.
    bends : boolean array of shape (q_1,)
        Which numbers are bends of their columns, beside others that tell of it as a whole.
    missing_source : integer array of shape (q_2,)
        The column of each mark, which is 1 where x is NaN and else 0.
    category_source : integer array of shape (q_3,)
        The column of each category, which is 1 where x has its code and else 0.
    code : array of shape (q_3,)
    """

    fill: Array
    number_source: IntArray
    low: Array
    high: Array
    bends: Array
    missing_source: IntArray
    category_source: IntArray
    code: Array

    @classmethod
    def plain(cls, n_columns: int) -> Inputs:
        """Return the inputs that are the columns themselves."""
        none, limit = np.empty(0, np.intp), np.full(n_columns, np.inf)
        whole = np.zeros(n_columns, dtype=bool)
        return cls(np.zeros(n_columns), np.arange(n_columns), -limit, limit, whole, none, none, np.empty(0))

    def without_bends(self) -> Inputs:
        """Return the inputs without those that are bends."""
        low, high, bends, source = (
            each[~self.bends] for each in (self.low, self.high, self.bends, self.number_source)
        )
        return replace(self, low=low, high=high, bends=bends, number_source=source)

    @property
    def n_columns(self) -> int:
        """p."""
        return len(self.fill)

    def __len__(self) -> int:
        """Return q."""
        return len(self.source)

    @cached_property
    def source(self) -> IntArray:
        """The column of each input, of shape (q,)."""
        return np.concatenate([self.number_source, self.missing_source, self.category_source])

    @cached_property
    def is_plain(self) -> bool:
        """Whether the inputs are the columns themselves."""
        return len(self) == len(self.low) == self.n_columns and not self.has_limits.any()

    @cached_property
    def has_limits(self) -> Array:
        """Whether each number stands still somewhere, of shape (q_1,)."""
        return np.isfinite(self.low) | np.isfinite(self.high)

    @cached_property
    def groups(self) -> IntArray:
        """The group of each input, of shape (q,); groups that there are, from 0 on."""
        others = [NUMBERS] * len(self.missing_source) + [CATEGORIES] * len(self.category_source)
        kinds = np.concatenate([np.where(self.bends, BENDS, NUMBERS), others]).astype(np.intp)
        present = np.unique(np.append(kinds, NUMBERS))  # offsets are always there
        return np.searchsorted(present, kinds)

    @cached_property
    def origin(self) -> Array:
        """The value of the column at which each number is zero, of shape (q_1,)."""
        return np.where(np.isfinite(self.low), self.low, 0.0)

    def of(self, X: Any) -> Any:
        """Return the inputs of rows, (n, q), where these are and in their type, if it can hold them.

        X itself if they are plain. A missing number is filled, one of a column with marks or not.
        """
        if scipy.sparse.issparse(X):
            if self.is_plain:
                return X
            X = X.toarray()
        if self.is_plain and not _has_missing(X):
            return X
        if X.dtype != wide(X) and not self.fits_float32:
            X = in_wide(X)
        if namespace(X) is np:
            return self._of_array(X)
        xp, columns = namespace(X), X.T
        is_missing = xp.isnan(columns)
        filled = xp.where(is_missing, asarray_like(self.fill[:, None], X), columns)
        low, high, origin = (asarray_like(each[:, None], X) for each in (self.low, self.high, self.origin))
        parts = [xp.minimum(xp.maximum(_take(filled, self.number_source), low), high) - origin]
        if len(self.missing_source):
            parts.append(xp.astype(_take(is_missing, self.missing_source), X.dtype))
        if len(self.category_source):
            is_there = _take(columns, self.category_source) == asarray_like(self.code[:, None], X)
            parts.append(xp.astype(is_there, X.dtype))
        return (parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)).T

    @cached_property
    def fits_float32(self) -> bool:
        """Whether float32 can hold all limits and how far they lie apart; those of float64 may be beyond."""
        ends = np.abs(np.concatenate([self.low, self.high, self.fill]))
        return bool(ends[np.isfinite(ends)].max(initial=0.0) < np.finfo(np.float32).max / 2)

    def _of_array(self, X: Array) -> Array:
        """Return the inputs of rows of NumPy's, as columns that are contiguous: these are made fastest."""
        writer = self._single_writer if X.dtype == np.float32 else self._double_writer
        made = writer.write(X, np.empty((len(self), len(X)), X.dtype))
        if self.has_limits.any():
            made[: len(self.origin)] -= self.origin.astype(X.dtype)[:, None]
        return made.T

    @cached_property
    def _single_writer(self) -> InputWriter:
        return InputWriter.of(self, np.float32, np.float32)

    @cached_property
    def _double_writer(self) -> InputWriter:
        return InputWriter.of(self, np.float64, np.float64)

    def filled(self, X: Array) -> Array:
        """Return rows in memory with numbers in place of missing ones; X itself if there are none."""
        return np.where(np.isnan(X), self.fill, X) if _has_missing(X) else X

    def of_column(self, x: Array, k: int) -> Array:
        """Return the k-th input, given its column in memory, (n,) both."""
        if self.is_plain:
            return x
        rows = np.zeros((len(x), self.n_columns), x.dtype)
        rows[:, self.source[k]] = x
        found: Array = self.of(rows)[:, k]
        return found

    def are_moving(self, of_rows: Array) -> Array:
        """Return which numbers move with their columns, given the values of inputs, (n, q).

        At a knot, those to the right of it. Marks and categories are all told to.
        """
        moving, width = np.ones(of_rows.shape, dtype=bool), self.high - self.low
        for k in np.unique(self.number_source[self.has_limits]).tolist():
            own = np.flatnonzero(self.number_source == k)
            whole = own[~self.bends[own]]  # pieces one after the other, often one for all
            whole = whole[np.argsort(self.low[whole])]
            is_full = of_rows[:, whole] >= width[whole] * (1 - _AT_A_KNOT)
            begun = np.column_stack([of_rows[:, whole[:1]] > 0, is_full[:, :-1]])
            moving[:, whole] = begun & ~is_full
            hinges = own[self.bends[own]]
            if len(hinges):
                from_low = self.low[hinges] - self.low[whole[0]] - _AT_A_KNOT * width[whole[0]]
                moving[:, hinges] = moving[:, whole] & (of_rows[:, whole] >= from_low)
        return moving

    def slopes(self, X: Array) -> Array:
        """Return the derivative of each input in its column, (n, q); zero of a mark or a category.

        At a knot it is the one to the right; where a number is missing there is none.
        """
        x = X[:, self.number_source]
        inside = (x >= self.low) & (x < self.high)
        return np.hstack([inside, np.zeros((len(X), len(self) - x.shape[1]))])

    def knots(self) -> list[Array]:
        """Return the knots of each column."""
        of_column = [self.number_source == k for k in range(self.n_columns)]
        return [np.unique(self.low[own])[1:] for own in of_column]

    def signs(self, of_columns: Array) -> Array:
        """Return the signs that the weights of inputs are held to, (q,), given those of slopes along columns.

        Of a column that is held to one, inputs are its pieces between knots, each with a slope of its own.
        """
        n_others = len(self) - len(self.number_source)
        return np.append(of_columns[self.number_source], np.zeros(n_others, of_columns.dtype))

    def collect(self, of_inputs: Array) -> Array:
        """Return the sums over the inputs of each column, (n, p), given numbers of the inputs, (n, q)."""
        if self.is_plain:
            return of_inputs
        shape, places = (len(self), self.n_columns), (np.arange(len(self)), self.source)
        return of_inputs @ scipy.sparse.csr_array((np.ones(len(self)), places), shape)


def _take(columns: Any, source: IntArray) -> Any:
    xp = namespace(columns)
    return xp.take(columns, source if xp is np else xp.asarray(source, device=columns.device), axis=0)


def _has_missing(X: Any) -> bool:
    xp = namespace(X)
    return has_missing(X) if xp is np else bool(xp.any(xp.isnan(X)))
