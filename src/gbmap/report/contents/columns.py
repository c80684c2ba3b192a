"""The user's columns of the rows on the map, as numbers or as categories."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._fitted.model import dense
from gbmap._fitted.sayings import parts_of_dates
from gbmap._utils.frames import column_of, names_of
from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array
from gbmap.report._material import Material, Rows
from gbmap.report._rounding import decimals_for, rounded, spread_of

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


def scales(material: Material) -> list[str]:
    """Return what the numbers of each feature count: days since 1970, another part of a date, or nothing."""
    names = [str(name) for name in material.fitted.feature_names]
    found = {k: part for k, (_, part) in parts_of_dates(names).items()}
    if material.table is not None:
        dates = {f"{column.name} (days)" for column in material.table.schema_.used if column.kind == "date"}
        found |= {k: "days" for k, name in enumerate(names) if name in dates}
    return [found.get(k, "number") for k in range(len(names))]


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
    return np.asarray(column_of(X, position).to_numpy())


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


def are_whole(values: Array) -> bool:
    """Whether all of some numbers that are known are whole."""
    known = values[np.isfinite(values)]
    return bool(len(known)) and np.array_equal(known, np.round(known))


def _column(material: Material, feature: int, digits: int) -> Column:
    values = np.concatenate([_objects(raw_values(material, rows, feature)) for rows in material.points])
    if is_category(material, feature, raw_values(material, material.points[0], feature)):
        return _categories(feature, values)
    found = numbers(values)
    if are_whole(found):  # such as an identifier: it is to be found again
        digits = max(digits, -decimals_for(spread_of(found), 0))
    return Column(feature, "number", None, rounded(found, digits))


def _objects(values: Array) -> Array:
    return values if values.dtype.kind in "iuf" else values.astype(object)


def _categories(feature: int, values: Array) -> Column:
    names = [None if is_missing(value) else str(value) for value in values]
    order = [name for name, _ in Counter(name for name in names if name is not None).most_common()]
    levels = order if len(order) <= _MOST_LEVELS else [*order[: _MOST_LEVELS - 1], "(other)"]
    code = {name: min(i, len(levels) - 1) for i, name in enumerate(order)}
    return Column(feature, "category", levels, [None if name is None else code[name] for name in names])
