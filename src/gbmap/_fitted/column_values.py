"""How the user's columns reach the learners: a number by its weights, a category by the inputs it sets.

The weights of a number may differ from piece to piece of its range.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder

from gbmap._fitted.columns import Columns, trace
from gbmap._fitted.model import FittedModel
from gbmap._utils.missing import is_missing
from gbmap._utils.scikit_learn import columns_of_parts
from gbmap._utils.typing import Array, IntArray


def moves_with_number(columns: Columns) -> Array:
    """Return which inputs move with a numeric column somewhere, of shape (q,)."""
    return np.isin(columns.kind, ("number", "bend")) & (columns.slope != 0)


def limits(columns: Columns) -> tuple[Array, Array]:
    """Return between which values of its column each number moves, in the user's units, of shape (q,)."""
    slope = np.where(columns.slope == 0, 1.0, columns.slope)
    one, other = ((end - columns.offset) / slope for end in (columns.low, columns.high))
    return np.minimum(one, other), np.maximum(one, other)


def bent_columns(columns: Columns) -> list[int]:
    """Return the numeric columns along which what learners see is not a straight line."""
    found: list[int] = np.unique(columns.source[moves_with_number(columns) & columns.has_limits]).tolist()
    return found


@dataclass(frozen=True)
class Pieces:
    """A numeric column cut where its inputs begin and end to move, so that these are linear between.

    Attributes
    ----------
    breaks : array of shape (t,)
        Values of the column, in the user's units, in order.
    inputs : integer array of shape (r,)
        The inputs that move with the column somewhere.
    slopes : array of shape (t + 1, r)
        What they gain per unit of the column before the first break, between breaks, and after the last.
    """

    breaks: Array
    inputs: IntArray
    slopes: Array

    @classmethod
    def of(cls, columns: Columns, column: int) -> Pieces:
        """Return the pieces of a column."""
        inputs = columns.inputs_of(column)
        inputs = inputs[moves_with_number(columns)[inputs]]
        start, stop = (end[inputs] for end in limits(columns))
        ends = np.concatenate([start, stop])
        breaks = np.unique(ends[np.isfinite(ends)])
        left, right = np.append(-np.inf, breaks)[:, None], np.append(breaks, np.inf)[:, None]
        return cls(breaks, inputs, ((start <= left) & (right <= stop)) * columns.slope[inputs])


def inputs_at(fitted: FittedModel, values: Array) -> Array:
    """Return the inputs at values of the numeric columns, (n, p), with first categories; of shape (n, q)."""
    columns = fitted.columns
    line = values[:, columns.source] * columns.slope + columns.offset
    inputs: Array = np.clip(line, columns.low, columns.high)
    inputs -= np.where(np.isfinite(columns.low), columns.low, 0.0)
    for column in np.unique(columns.source[~np.isin(columns.kind, ("number", "bend"))]).tolist():
        others, states_of_others = states(columns, column)
        inputs[:, others] = states_of_others[0]
    return inputs


def column_weights(fitted: FittedModel, values: Array | None = None) -> Array:
    """Return how much w_j . x gains per unit of each of the user's numeric columns, of shape (M, p).

    Where a column bends, that is so at its value, one of shape (p,), by default the mean in training.
    """
    columns = fitted.columns
    start, stop = limits(columns)
    x = (fitted.column_mean if values is None else values)[columns.source]
    is_moving = moves_with_number(columns) & (start <= x) & (x < stop)
    return columns.collect(fitted.ensemble.weights * np.where(is_moving, columns.slope, 0.0))


def states(columns: Columns, column: int, *, is_coded: bool = False) -> tuple[IntArray, Array]:
    """Return the inputs of a column that are not numbers, (r,), and all values that they may take, (S, r).

    There is a state for each category, the first first, and one of zeros if a category may have no input.
    A column of categories may also be missing, where the model has a mark of that; a number is there.
    It then has a category all the same, one that an imputer chose, unless the GBMAP itself codes it.
    """
    inputs = columns.inputs_of(column)
    inputs = inputs[~np.isin(columns.kind[inputs], ("number", "bend"))]
    is_mark = columns.kind[inputs] == "missing"
    names = levels(columns, column)
    active = np.array([(columns.level[inputs] == name) & ~is_mark for name in names], dtype=float)
    active = active.reshape(len(names), len(inputs))
    if columns.has_rest[column] or not names:
        active = np.vstack([active, np.zeros(len(inputs))])
    if is_mark.any() and not columns.is_number[column]:
        filled = active[-1:] if is_coded else active
        active = np.vstack([active, np.where(is_mark, 1.0, filled)])
    return inputs, active * columns.slope[inputs] + columns.offset[inputs]


def is_coded(fitted: FittedModel, column: int) -> bool:
    """Return whether the GBMAP itself, and nothing before it, tells a column's categories apart."""
    given = fitted.given
    of_column = np.flatnonzero(given.source == column).tolist()
    is_plain = bool((given.kind[of_column] == "number").all())
    return is_plain and any(k in _coded(fitted) for k in of_column)


def levels(columns: Columns, column: int) -> list[Any]:
    """Return the names of a column's categories, each once."""
    inputs = columns.inputs_of(column)
    return list(dict.fromkeys(columns.level[inputs][columns.kind[inputs] == "category"]))


def example(fitted: FittedModel, column: int) -> Any:
    """Return the first category of a column as the user writes it, or None if that is not known."""
    first, known = levels(fitted.columns, column)[:1], categories(fitted).get(column, [])
    return next((each for each in known if not first or str(each) in first), None)


def categories(fitted: FittedModel) -> dict[int, list[Any]]:
    """Return the categories of each encoded column, by the GBMAP or before it, as the user writes them."""
    found: dict[int, list[Any]] = {}
    plain = Columns.plain(fitted.feature_names)
    for k, names in _encoded(fitted.preprocessing, plain, frozenset()):
        found.setdefault(int(k), []).extend(names)
    for given, names in _coded(fitted).items():
        found.setdefault(int(fitted.given.source[given]), []).extend(names)
    return found


def _coded(fitted: FittedModel) -> dict[int, list[Any]]:
    """Return the categories of each column that the GBMAP is given as codes; of an array, these."""
    inputs, known = fitted.inputs, fitted.predictor.fitted_inputs.categories
    if known is not None:
        return {k: names.tolist() for k, names in enumerate(known) if names is not None}
    sources = np.unique(inputs.category_source).tolist()
    return {k: inputs.code[inputs.category_source == k].tolist() for k in sources}


def _encoded(step: Any, columns: Columns, filled: frozenset[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yield columns and their categories, without those that only stand for missing values."""
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            yield from _encoded(part, columns, filled)
            if isinstance(part, SimpleImputer) and part.strategy == "constant":
                filled |= set(part.statistics_)
            columns = trace(part, columns)
    elif isinstance(step, FeatureUnion):
        for _, part in step.transformer_list:
            yield from _encoded(part, columns, filled)
    elif isinstance(step, ColumnTransformer):
        of_part = columns_of_parts(step)
        for name, part, _ in step.transformers_:
            yield from _encoded(part, columns.take(of_part[name]), filled)
    elif isinstance(step, OneHotEncoder):
        for k, categories in zip(columns.source, step.categories_):
            yield k, [each for each in categories.tolist() if not is_missing(each) and each not in filled]
