"""Frames of pandas, polars and Arrow, and arrays of objects, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array


@dataclass(frozen=True)
class ObjectColumn:
    """A column of an array of objects, with what is asked of a series of narwhals."""

    name: str
    values: list[Any]
    dtype: Any = nw.Object

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def to_list(self) -> list[Any]:
        """Return the values."""
        return self.values

    def unique(self) -> ObjectColumn:
        """Return each value at least once."""
        return self

    def null_count(self) -> int:
        """Return how many values are None."""
        return sum(value is None for value in self.values)


def columns_of(X: Any) -> list[Any]:
    """Return the columns of a frame as series of narwhals, or those of an array of objects."""
    if not hasattr(X, "columns"):
        return [ObjectColumn(f"x{k}", X[:, k].tolist()) for k in range(X.shape[1])]
    return list(nw.from_native(X, eager_only=True).iter_columns())


def names_of(frame: Any) -> list[Any]:
    """Return the names of a frame's columns; a table of Arrow has the columns themselves for `columns`."""
    names = getattr(frame, "column_names", None)
    return list(frame.columns if names is None else names)


def numbers_of(column: Any) -> Array:
    """Return a column as numbers, NaN where they are missing; refuse what is no number."""
    try:
        if column.dtype == nw.Object or column.dtype == nw.Boolean:
            return np.array([np.nan if is_missing(value) else float(value) for value in column.to_list()])
        if column.null_count() == len(column):
            return np.full(len(column), np.nan)
        # Sparse columns of pandas are of no type that narwhals knows.
        if column.dtype == nw.Unknown and column.to_numpy().dtype.kind in "biuf":
            return np.asarray(column.to_numpy(), dtype=np.float64)
        if not column.dtype.is_numeric():
            raise TypeError
        single = column.dtype == nw.Float32
        return np.asarray(column.to_numpy() if single else column.cast(nw.Float64).to_numpy())
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must hold numbers or categories, but column {column.name!r} is of type {column.dtype}; turn "
            "it into numbers, such as days since a date, into text, or name it in categorical_features."
        ) from error


def is_lazy(X: Any) -> bool:
    """Return whether this is a frame that has yet to be computed, such as polars' LazyFrame."""
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def is_objects(X: Array) -> bool:
    """Return whether this is a table of Python's objects or of text, in an array."""
    return hasattr(X, "dtype") and getattr(X.dtype, "kind", "") in "OU" and getattr(X, "ndim", 0) == 2
