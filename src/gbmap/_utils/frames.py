"""Frames of pandas, polars and Arrow, and arrays of objects, column by column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array

# So few rows of pandas are taken from their columns as objects, which is quick for one.
_FEW_ROWS = 50


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


def refuse_same_names(frame: Any) -> None:
    """Refuse a frame of which two columns have one name, by which they are found."""
    names = names_of(frame)
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(
            f"X has more than one column {twice!r}; give each a name of its own, or leave all but one out."
        )


def column_of(frame: Any, position: int) -> Any:
    """Return one column of a frame as a series of narwhals."""
    return nw.from_native(frame, eager_only=True)[:, position]


def some_columns(X: Any, which: Array) -> list[Any]:
    """Return some of the columns of a frame or of an array of objects."""
    if _is_pandas(X):
        few = len(X) <= _FEW_ROWS
        return columns_of(X.to_numpy(dtype=object)[:, which] if few else X.iloc[:, which])
    return [column for column, is_asked in zip(columns_of(X), which.tolist()) if is_asked]


def numbers_side_by_side(X: Any, which: Array) -> Array | None:
    """Return some columns of a frame of pandas at once, if all of them are numbers of NumPy's; else None.

    For one row that takes a fraction of the time of going column by column.
    """
    if not _is_pandas(X):
        return None
    dtypes = [dtype for dtype, is_asked in zip(X.dtypes.to_list(), which.tolist()) if is_asked]
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes):
        return None
    dtype = np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64
    if which.all():
        return np.asarray(X.to_numpy(dtype=dtype))
    few = len(X) <= _FEW_ROWS
    return np.asarray(
        X.to_numpy(dtype=object)[:, which].astype(dtype) if few else X.iloc[:, which].to_numpy(dtype=dtype)
    )


def _is_pandas(X: Any) -> bool:
    return bool(nw.dependencies.is_pandas_dataframe(X))


def names_of(frame: Any) -> list[Any]:
    """Return the names of a frame's columns; a table of Arrow has the columns themselves for `columns`."""
    names = getattr(frame, "column_names", None)
    return list(frame.columns if names is None else names)


def numbers_of(column: Any, *, as_fitted: bool = True) -> Array:
    """Return a column as numbers, NaN where they are missing; refuse what is no number.

    `as_fitted` tells whether a fit has found that it holds numbers, or a fit is to find out now.
    """
    dtype = column.dtype
    try:
        if dtype.is_numeric():
            return np.asarray((column if dtype.is_float() else column.cast(nw.Float64)).to_numpy())
        if dtype == nw.Object or dtype == nw.Boolean:
            return np.array([np.nan if is_missing(value) else float(value) for value in column.to_list()])
        if column.null_count() == len(column):
            return np.full(len(column), np.nan)
        # Sparse columns of pandas are of no type that narwhals knows.
        if dtype == nw.Unknown and column.to_numpy().dtype.kind in "biuf":
            return np.asarray(column.to_numpy(), dtype=np.float64)
        raise TypeError
    except (TypeError, ValueError) as error:
        kind = column.to_native().dtype if dtype == nw.Unknown else dtype
        if as_fitted:
            raise ValueError(
                f"column {column.name!r} of X is of type {kind}, where the fit had numbers; turn it into "
                "numbers as they were then, or fit again to rows like these."
            ) from error
        raise ValueError(
            f"X must hold numbers or categories, but column {column.name!r} is of type {kind}; turn "
            "it into numbers, such as days since a date, into text, or name it in categorical_features."
        ) from error


_lazy_types: dict[type, bool] = {}  # narwhals takes longer to tell than a row to be predicted


def is_lazy(X: Any) -> bool:
    """Return whether this is a frame that has yet to be computed, such as polars' LazyFrame."""
    found = _lazy_types.get(type(X))
    if found is None:
        try:
            found = _lazy_types[type(X)] = isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)
        except DuplicateError:
            refuse_same_names(X)
            raise
    return found


def is_objects(X: Array) -> bool:
    """Return whether this is a table of Python's objects or of text, in an array."""
    return hasattr(X, "dtype") and getattr(X.dtype, "kind", "") in "OU" and getattr(X, "ndim", 0) == 2
