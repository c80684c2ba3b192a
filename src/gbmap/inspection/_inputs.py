"""How the user's columns reach the learners: a number by its weights, a category by the inputs it sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder

from gbmap._columns import Columns
from gbmap._subject import Subject

Array = NDArray[Any]


def column_weights(subject: Subject) -> Array:
    """Return how much w_j . x gains per unit of each of the user's numeric columns, of shape (M, p)."""
    columns = subject.columns
    return columns.collect(subject.ensemble.weights * np.where(columns.kind == "number", columns.slope, 0.0))


def states(columns: Columns, column: int) -> tuple[NDArray[np.intp], Array]:
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


def example(subject: Subject, column: int) -> Any:
    """Return the first category of a column as the user writes it, or None if that is not known."""
    names = levels(subject.columns, column)
    for categories in _encoded(subject.preprocessing):
        by_name = {str(category): category for category in categories}
        if names and names[0] in by_name and set(names) - set(by_name) <= {"infrequent_sklearn"}:
            category = by_name[names[0]]
            return category.item() if isinstance(category, np.generic) else category
    return None


def _encoded(step: Any) -> Iterator[Array]:
    """Yield the categories of each column that some one-hot encoder in a step has seen."""
    if isinstance(step, OneHotEncoder):
        yield from step.categories_
    elif isinstance(step, Pipeline):
        for _, part in step.steps:
            yield from _encoded(part)
    elif isinstance(step, ColumnTransformer):
        for _, part, _ in step.transformers_:
            yield from _encoded(part)
    elif isinstance(step, FeatureUnion):
        for _, part in step.transformer_list:
            yield from _encoded(part)
