"""Inputs of rows of NumPy's, made fast: column by column, by one maximum for all hinges of columns alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gbmap._utils.typing import Array, IntArray

if TYPE_CHECKING:
    from gbmap._core.inputs import Inputs


@dataclass(frozen=True)
class InputWriter:
    """Writes the inputs of rows, plus a constant each, in one type.

    A hinge max(x, t) - t takes two steps, max(x, t) one. So passes over many rows take inputs plus `shift`,
    with columns told from their middle so that no digits are lost, and count the shift in afterwards.

    Attributes
    ----------
    middle : array of shape (p, 1)
        What columns are told from.
    shift : array of shape (q,)
        What is added to the inputs.
    fill : array of shape (p, 1)
        What stands for a missing number.
    low, high, top : arrays of shape (q_1, 1), (q_1, 1) and (p, 1), or None
        Between what numbers lie, and the largest that columns may be; None where there is no such limit.
    marks, categories : integer arrays
        The columns of these inputs.
    code : array of shape (q_3, 1)
    runs : tuple of (first column, last column + 1, numbers of each)
        Columns side by side that have as many numbers each.
    """

    middle: Array
    shift: Array
    fill: Array
    low: Array
    high: Array | None
    top: Array | None
    marks: IntArray
    categories: IntArray
    code: Array
    runs: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, inputs: Inputs, dtype: Any, rows_dtype: Any, *, from_middle: bool = False) -> InputWriter:
        """Return the writer of some inputs in a type, made of rows that may be in another."""
        source = inputs.number_source
        middle = inputs.fill if from_middle else np.zeros(inputs.n_columns)
        middle = middle.astype(rows_dtype).astype(np.float64)
        low, high = inputs.low - middle[source], inputs.high - middle[source]
        top = np.full(inputs.n_columns, -np.inf)
        np.maximum.at(top, source, high)
        goes_on = bool((high == top[source]).all())
        of_others = np.zeros(len(inputs) - len(source))

        def column(values: Array, dtype: Any = dtype) -> Array:
            return values[:, None].astype(dtype)

        return cls(
            middle=column(middle, rows_dtype),
            shift=np.append(inputs.origin - middle[source], of_others),
            fill=column(inputs.fill - middle),
            low=column(low),
            high=None if goes_on else column(high),
            top=column(top) if np.isfinite(high).any() else None,
            marks=inputs.missing_source,
            categories=inputs.category_source,
            code=column(inputs.code, rows_dtype),
            runs=tuple(_runs(np.bincount(source, minlength=inputs.n_columns))),
        )

    def lows(self, n_rows: int) -> Array:
        """Return `low` once for each of so many rows: the maximum of arrays takes two thirds of the time."""
        return np.ascontiguousarray(np.broadcast_to(self.low, (len(self.low), n_rows)))

    def write(self, X: Array, out: Array, lows: Array | None = None) -> Array:
        """Write the inputs of rows into `out`, (q, n), and return it; `lows` may be of more rows."""
        low = self.low if lows is None or lows.shape[1] < len(X) else lows[:, : len(X)]
        columns = np.empty(X.shape[::-1], out.dtype)
        if X.dtype == out.dtype:
            np.subtract(X.T, self.middle, out=columns)
        else:
            with np.errstate(over="ignore"):  # what is beyond float32 is beyond the limits of its column
                np.copyto(columns, np.subtract(X, self.middle.T).T, casting="same_kind")
        n_numbers = len(self.low)
        numbers, others = out[:n_numbers], out[n_numbers:]
        if len(others):
            n_marks = len(self.marks)
            np.isnan(columns[self.marks], out=others[:n_marks], casting="unsafe")
            np.equal(X.T[self.categories], self.code, out=others[n_marks:], casting="unsafe")
        if has_missing(columns):
            columns = np.where(np.isnan(columns), self.fill, columns)
        if self.top is not None:
            np.minimum(columns, self.top, out=columns)
        first = 0
        for start, stop, n_each in self.runs:
            own = slice(first, first + (stop - start) * n_each)
            shape = stop - start, n_each, -1
            np.maximum(columns[start:stop, None], low[own].reshape(shape), out=numbers[own].reshape(shape))
            first = own.stop
        if self.high is not None:
            np.minimum(numbers, self.high, out=numbers)
        return out


def _runs(counts: IntArray) -> Iterator[tuple[int, int, int]]:
    """Yield columns side by side with as many numbers each, but for those that have none."""
    ends = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    for start, stop in pairwise(ends):
        if start < stop and counts[start]:
            yield start, stop, int(counts[start])


def has_missing(X: Array) -> bool:
    """Return whether any number is missing: the sum is the fastest way to find out that there is none."""
    with np.errstate(all="ignore"):
        return not np.isfinite(X.sum()) and bool(np.isnan(X).any())
