"""From features to the inputs of a GBMAP: scikit-learn's parts, which model files can hold."""

from __future__ import annotations

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from gbmap._utils.typing import Array
from gbmap.tables.schema import Column, Schema

_MISSING = "missing"


def make_columns(schema: Schema) -> ColumnTransformer:
    """Return what fills in and marks missing numbers, and makes an input of each frequent category.

    Rare categories and unknown ones have no input: they share the place where all of them are zero.
    """
    as_numbers = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    levels = [_with_missing(column) for column in schema.used if column.kind == "category"]
    encoder = OneHotEncoder(categories=levels, handle_unknown="ignore")
    as_categories = make_pipeline(SimpleImputer(strategy="constant", fill_value=_MISSING), encoder)
    numbers = [name for name in schema.features if name not in schema.categories]
    parts = [("number", as_numbers, numbers), ("category", as_categories, schema.categories)]
    return ColumnTransformer([part for part in parts if part[2]])


def _with_missing(column: Column) -> Array:
    levels = dict.fromkeys([*column.levels, *([_MISSING] if column.n_missing else [])])
    return np.array(list(levels), dtype=object)
