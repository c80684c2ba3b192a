"""How the user's columns reach the learners: a number by its weights, a category by the inputs it sets."""

from __future__ import annotations

from collections.abc import Iterator
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


def column_weights(fitted: FittedModel) -> Array:
    """Return how much w_j . x gains per unit of each of the user's numeric columns, of shape (M, p)."""
    columns = fitted.columns
    return columns.collect(fitted.ensemble.weights * np.where(columns.kind == "number", columns.slope, 0.0))


def states(columns: Columns, column: int) -> tuple[IntArray, Array]:
    """Return the inputs of a column that are not numbers, (r,), and all values that they may take, (S, r).

    There is a state for each category, the first first, and one of zeros if a category may have no input.
    A column of categories may also be missing, where the model has a mark of that; a number is there.
    """
    inputs = columns.inputs_of(column)
    inputs = inputs[columns.kind[inputs] != "number"]
    is_mark = columns.kind[inputs] == "missing"
    names = levels(columns, column)
    active = np.array([(columns.level[inputs] == name) & ~is_mark for name in names], dtype=float)
    active = active.reshape(len(names), len(inputs))
    if columns.has_rest[column] or not names:
        active = np.vstack([active, np.zeros(len(inputs))])
    if is_mark.any() and not columns.is_number[column]:
        active = np.vstack([active, np.where(is_mark, 1.0, active)])
    return inputs, active * columns.slope[inputs] + columns.offset[inputs]


def levels(columns: Columns, column: int) -> list[Any]:
    """Return the names of a column's categories, each once."""
    inputs = columns.inputs_of(column)
    return list(dict.fromkeys(columns.level[inputs][columns.kind[inputs] == "category"]))


def example(fitted: FittedModel, column: int) -> Any:
    """Return the first category of a column as the user writes it, or None if that is not known."""
    first = levels(fitted.columns, column)[:1]
    return next((each for each in categories(fitted).get(column, []) if str(each) in first), None)


def categories(fitted: FittedModel) -> dict[int, list[Any]]:
    """Return the categories of each one-hot encoded column, as the user writes them."""
    found: dict[int, list[Any]] = {}
    plain = Columns.plain(fitted.feature_names)
    for k, names in _encoded(fitted.preprocessing, plain, frozenset()):
        found.setdefault(int(k), []).extend(names)
    return found


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
