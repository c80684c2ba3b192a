"""The user's columns of the rows on the map, as numbers or as categories."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._fitted.model import dense
from gbmap._utils.frames import columns_of, names_of
from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array
from gbmap.report._material import Material, Rows
from gbmap.report._rounding import rounded

_MOST_LEVELS = 30
_FEWEST = 8


@dataclass(frozen=True)
class Column:
    """One column."""

    feature: int  # its position among the names of the features
    kind: str  # "number" or "category"
    # The categories, the most frequent first; None for a number. Of many, the last is for all others.
    levels: list[str] | None
    values: list[Any]  # numbers, or positions of categories, a row each; None where missing


def read_columns(material: Material, features: Array, digits: int, n_bytes: int) -> list[Column]:
    """Return columns for the rows on the map, as many as so many bytes of JSON hold, but some at least."""
    columns: list[Column] = []
    for k in features:
        column = _column(material, int(k), digits)
        n_bytes -= len(json.dumps([column.levels, column.values], separators=(",", ":")))
        if n_bytes < 0 and len(columns) >= _FEWEST:
            break
        columns.append(column)
    return columns


def raw_values(material: Material, rows: Rows, feature: int) -> Array:
    """Return one column of some rows as the user gave it."""
    X, name = rows.X, material.fitted.feature_names[feature]
    if scipy.sparse.issparse(X):
        return dense(X[:, [feature]])[:, 0]
    if not hasattr(X, "columns"):
        return np.asarray(X[:, feature])
    names = names_of(X)
    position = names.index(name) if name in names else feature
    return np.asarray(columns_of(X)[position].to_numpy())


def is_category(material: Material, feature: int, values: Array) -> bool:
    """Whether a column holds categories: the model takes it so, or it is text or truth values."""
    columns = material.fitted.columns
    if columns.is_used[feature]:
        return not columns.is_number[feature]
    return values.dtype.kind not in "iuf"


def numbers(values: Array) -> Array:
    """Return values as numbers, NaN where they are missing."""
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    out = np.full(len(values), np.nan)
    out[known] = values[known].astype(np.float64)
    return out


def _column(material: Material, feature: int, digits: int) -> Column:
    values = np.concatenate([_objects(raw_values(material, rows, feature)) for rows in material.points])
    if is_category(material, feature, raw_values(material, material.points[0], feature)):
        return _categories(feature, values)
    return Column(feature, "number", None, rounded(numbers(values), digits))


def _objects(values: Array) -> Array:
    return values if values.dtype.kind in "iuf" else values.astype(object)


def _categories(feature: int, values: Array) -> Column:
    names = [None if is_missing(value) else str(value) for value in values]
    order = [name for name, _ in Counter(name for name in names if name is not None).most_common()]
    levels = order if len(order) <= _MOST_LEVELS else [*order[: _MOST_LEVELS - 1], "(other)"]
    code = {name: min(i, len(levels) - 1) for i, name in enumerate(order)}
    return Column(feature, "category", levels, [None if name is None else code[name] for name in names])
