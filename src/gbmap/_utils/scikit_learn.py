"""What is used of scikit-learn's private interface, which may change with any minor release.

No other module imports a private name of scikit-learn or asks a fitted step for one. What stays with the
estimators are the attributes that scikit-learn's own base classes read, such as ``_parameter_constraints``;
`tests/test_dependencies.py` names them.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.compose import ColumnTransformer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils import check_array, column_or_1d
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    make_constraint,
)
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_monotonic_cst as check_monotonic_cst
from sklearn.utils.validation import _num_samples as num_samples

from gbmap._utils.typing import Array

__all__ = [
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "check_feature_names_in",
    "check_monotonic_cst",
    "check_sample_weight",
    "check_y",
    "columns_of_parts",
    "dropped_group",
    "fit_context",
    "groups_of_categories",
    "make_constraint",
    "n_inputs_of_columns",
    "num_samples",
    "safe_indexing",
]


def check_y(y: Any, *, multi_output: bool = False, y_numeric: bool = False, estimator: Any = None) -> Array:
    """Return y as `sklearn.utils.check_X_y` would, without an X beside it."""
    if not multi_output:
        y = column_or_1d(y, warn=True)
    y = check_array(y, accept_sparse="csr", ensure_2d=False, dtype=None, input_name="y", estimator=estimator)
    return y.astype(np.float64) if y_numeric and y.dtype.kind == "O" else y


def check_sample_weight(weight: Any, n_rows: int, *, allow_zeros: bool = False) -> Array:
    """Return weights of rows in float64, of which one must not be zero; a number is that of each row."""
    if isinstance(weight, Real):
        weight = np.full(n_rows, weight, dtype=np.float64)
    checked: Array = check_array(
        weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    if checked.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be a number, or hold one for each of the {n_rows} rows, got an array of "
            f"shape {checked.shape}."
        )
    if checked.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {checked.min():g}.")
    if not (allow_zeros or checked.any()):
        raise ValueError("sample_weight must leave some row a weight, got zeros only.")
    return checked


def validate_params(estimator: Any) -> None:
    """Refuse parameters that break the rules of their class."""
    estimator._validate_params()


def columns_of_parts(step: ColumnTransformer) -> dict[str, Array]:
    """Return the columns that each part gets, by its name."""
    return {
        name: np.asarray(columns, dtype=np.intp)
        for name, columns in step._transformer_to_input_indices.items()
    }


def n_inputs_of_columns(step: OneHotEncoder) -> Array:
    """Return how many marks each column becomes."""
    return np.asarray(step._n_features_outs)


def groups_of_categories(step: OneHotEncoder, column: int) -> Array | None:
    """Return which mark each category has, the infrequent ones the last; None if none is infrequent."""
    return step._default_to_infrequent_mappings[column] if step._infrequent_enabled else None


def dropped_group(step: OneHotEncoder, column: int) -> int | None:
    """Return which mark of a column is left out, if one is."""
    return None if step._drop_idx_after_grouping is None else step._drop_idx_after_grouping[column]
