"""Features of rows whose values are not known: what each may be, as asked for, and as learners see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse

from gbmap._fitted.column_values import Pieces, bent_columns, example, is_coded, levels, states
from gbmap._fitted.columns import Columns
from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array, IntArray


class _Seen(NamedTuple):
    """The reference rows, as the GBMAP is given them and as the inputs of its learners."""

    given: Any
    inputs: Any


@dataclass(frozen=True)
class Unknown:
    """Rows with unknown features, alike in all of them.

    Attributes
    ----------
    fitted : FittedModel
    X : array-like of shape (n, p)
        The rows, as given.
    allowed : dict of int to pair of floats, list of categories, or None
        What each unknown column may be; None for any value.
    fillers : dict of int to object
        Values that the model can read, for unknown columns.
    inputs : array or sparse matrix of shape (n, q)
        What learners see of the rows, with these values.
    seen : _Seen or None
        The rows that tell what any value may be.
    """

    fitted: FittedModel
    X: Any
    allowed: dict[int, Any]
    fillers: dict[int, Any]
    inputs: Any
    seen: _Seen | None

    @classmethod
    def of(cls, fitted: FittedModel, X: Any, unknown: Any, reference: Any) -> Unknown:
        """Read all of it, and refuse what does not belong to the model."""
        X, allowed = fitted.as_asked(X), _read_unknown(fitted, unknown)
        fillers = {column: value for column in allowed if (value := _filler(fitted, column)) is not None}
        inputs = fitted.read(_filled(X, fitted, fillers))
        seen = None if reference is None else _read_reference(fitted, reference)
        return cls(fitted, X, allowed, fillers, inputs, seen)

    def ranges(self) -> dict[int, tuple[float, float]]:
        """Return the ends of each unknown column of numbers."""
        return {
            column: self._range(column) for column in self.allowed if self.fitted.columns.is_number[column]
        }

    def _range(self, column: int) -> tuple[float, float]:
        fitted, allowed = self.fitted, self.allowed[column]
        low, high = (-np.inf, np.inf) if allowed is None else allowed
        if allowed is None and self.seen is not None:
            low, high = _seen_range(fitted.given, column, self.seen.given)
        return _clipped(fitted, column, low, high) if column in bent_columns(fitted.columns) else (low, high)

    def choices(self, column: int) -> tuple[IntArray, Array]:
        """Return the inputs of a column that are not numbers, (r,), and the values they may have, (S, r)."""
        columns, allowed = self.fitted.columns, self.allowed[column]
        inputs, values = states(columns, column, is_coded=is_coded(self.fitted, column))
        if columns.is_number[column]:
            return inputs, values
        if allowed is not None:
            by_name = dict(zip(levels(columns, column), values))
            rows = [
                by_name[str(category)]
                if str(category) in by_name
                else self._read_category(column, category)[inputs]
                for category in allowed
            ]
            return inputs, np.stack(rows)
        return inputs, values if self.seen is None else np.unique(dense(self.seen.inputs[:, inputs]), axis=0)

    def _read_category(self, column: int, category: Any) -> Array:
        """Return the inputs of the first row with a category that has none of its own, of shape (q,)."""
        fitted, first = self.fitted, safe_indexing(self.X, [0])
        try:
            row: Array = dense(fitted.read(_filled(first, fitted, self.fillers | {column: category})))[0]
        except (TypeError, ValueError) as error:
            name = fitted.feature_names[column]
            raise ValueError(
                f"unknown[{name!r}] must hold categories that the model knows, got {category!r}; "
                f"it knows {', '.join(map(str, levels(fitted.columns, column)))}."
            ) from error
        return row


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
