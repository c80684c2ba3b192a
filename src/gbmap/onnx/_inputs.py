"""Rows as a graph takes them."""

from __future__ import annotations

import re
from itertools import chain, count
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.compose import ColumnTransformer

from gbmap._fitted.model import FittedModel
from gbmap._utils.frames import names_of
from gbmap._utils.missing import is_missing
from gbmap._utils.optional import require
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array

onnx = require("onnx", "onnx")


_TEXT = {nw.String, nw.Categorical, nw.Enum}
_as_text = np.vectorize(str, otypes=[object])
_are_missing = np.vectorize(is_missing, otypes=[bool])
# The entry of the metadata with the text that stands for a missing one.
MISSING_TEXT = "missing_text"


def as_inputs(onnx_model: Any, X: Any) -> dict[str, Array]:
    """Return rows in the form that a runtime wants them: an array for each input of the graph.

    Parameters
    ----------
    onnx_model : onnx.ModelProto
        The graph. Its inputs take the columns of X in order, each as many as it is wide.
    X : frame or array of shape (n, p)

    Returns
    -------
    inputs : dict of str to array
        Numbers in the graph's type, missing ones as NaN. Values of text columns as ``str`` gives them, so
        that a missing one is "nan", or "None", as in the categories that skl2onnx writes; for a GBMAP that
        was fitted to text, the one that the graph's metadata tell.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.onnx import as_inputs, to_onnx
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> onnx_model = to_onnx(GBMAPRegressor(n_components=3, random_state=0).fit(X, y))
    >>> as_inputs(onnx_model, X)["X"].dtype
    dtype('float32')
    """
    X = table(X)
    missing = {each.key: each.value for each in onnx_model.metadata_props}.get(MISSING_TEXT)
    tensors = {value.name: value.type.tensor_type for value in onnx_model.graph.input}
    ends = np.cumsum([tensor.shape.dim[1].dim_value for tensor in tensors.values()])
    if X.shape[1] != ends[-1]:
        raise ValueError(f"X must have {ends[-1]} columns, as the graph has, got {X.shape[1]}.")
    inputs = {}
    for (name, tensor), end in zip(tensors.items(), ends):
        columns = list(range(end - tensor.shape.dim[1].dim_value, end))
        values = np.asarray(safe_indexing(X, columns, axis=1))
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if kind.kind == "O":
            inputs[name] = _as_text(_filled(values, missing) if missing is not None else values)
        else:
            inputs[name] = (_filled(values, np.nan) if values.dtype == object else values).astype(kind)
    return inputs


def _filled(values: Array, fill: Any) -> Array:
    """Return values with another in place of missing ones."""
    with np.errstate(invalid="ignore"):  # some builds of Python raise the flag where NaN is compared
        return np.where(_are_missing(values), np.array(fill, dtype=object), values)


def table(X: Any) -> Any:
    """Return a frame as it is, anything else as a dense array."""
    if hasattr(X, "columns"):
        return X
    return X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)


def column_names(X: Any) -> list[Any]:
    """Return the names of a table's columns."""
    return names_of(X) if hasattr(X, "columns") else [f"x{k}" for k in range(X.shape[1])]


def tensor_names(columns: list[Any]) -> list[str]:
    """Return names for the inputs of a graph, as skl2onnx makes them of columns: letters and the like."""
    names: list[str] = []
    for column in columns:
        wish = re.sub(r"\W", "_", str(column)) or "_"
        wish = f"_{wish}" if wish[0].isdigit() else wish
        names.append(
            next(each for each in chain([wish], (f"{wish}{k}" for k in count(1))) if each not in names)
        )
    return names


def input_types(fitted: FittedModel, X: Any, kind: np.dtype[Any]) -> list[tuple[str, Any]]:
    """Return the inputs of a pipeline's graph, as skl2onnx wants to be told.

    That is one for all columns, or one for each if the pipeline tells them apart or they differ in type.
    Integers enter as floats, since skl2onnx does not join columns of both.
    """
    names = column_names(X)
    types = [_tensor_type(name, column, kind) for name, column in zip(names, _column_kinds(X))]
    by_name = hasattr(X, "columns") and isinstance(fitted.first_step, ColumnTransformer)
    if by_name or len(set(types)) > 1:
        return [(str(name), type_of([None, 1])) for name, type_of in zip(names, types)]
    return [("X", types[0]([None, len(types)]))]


def _column_kinds(X: Any) -> list[Any]:
    if hasattr(X, "columns"):
        return list(nw.from_native(X).schema.values())
    return [nw.Float64() if X.dtype.kind in "biuf" else nw.Object()] * X.shape[1]


def _tensor_type(name: Any, column: Any, kind: np.dtype[Any]) -> Any:
    types = require("skl2onnx.common.data_types", "onnx")
    if name == "":
        raise ValueError(
            "X must not have a column with an empty name, which ONNX has no place for; rename it."
        )
    if column in _TEXT:
        return types.StringTensorType
    if not column.is_numeric() and column != nw.Boolean:
        raise TypeError(
            f"X must be an array of numbers or a frame of numbers and text, but its column {name!r} holds "
            f"{column}; convert that, or pass initial_types."
        )
    return types.FloatTensorType if kind == np.float32 else types.DoubleTensorType
