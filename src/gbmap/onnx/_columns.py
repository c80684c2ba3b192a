"""The columns that a GBMAP is given, as tensors: numbers, and text that stands for categories."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel
from gbmap._utils.typing import Array
from gbmap.onnx._graph import Graph

# Texts of ONNX are always there; these stand for one that is missing, unless they are categories.
_MISSING_TEXTS = ("", "nan", "None", "<NA>")
_UNKNOWN = -1.0
# Of the operators for text, in which LabelEncoder means what it does here.
ML_OPSET = 3


def text_columns(fitted: FittedModel) -> frozenset[int]:
    """Return which of the columns that a GBMAP is given hold text; refuse categories that are no tensor's."""
    found = set()
    for k, levels in enumerate(_levels(fitted)):
        if levels is None:
            continue
        if all(isinstance(each, str) for each in levels):
            found.add(k)
        elif not all(isinstance(each, Real | np.bool_) for each in levels):
            raise TypeError(
                f"categories must be all text or all numbers in ONNX, but column {column_name(fitted, k)!r} "
                f"has such as {levels[0]!r} and {levels[-1]!r}; fit to their text instead."
            )
    return frozenset(found)


def missing_text(fitted: FittedModel) -> str:
    """Return the text that stands for a missing one in all columns: the empty one, if it is no category."""
    levels = (_levels(fitted)[k] for k in text_columns(fitted))
    known = {text for each in levels if each is not None for text in each}
    others = (f"missing {count}" for count in range(1, len(known) + 2))
    return next(text for text in (*_MISSING_TEXTS, *others) if text not in known)


def joined_columns(graph: Graph, fitted: FittedModel, tensors: Iterable[tuple[str, int, bool]]) -> str:
    """Return columns side by side, of shape (n, p), in the graph's type; text as codes.

    Parameters
    ----------
    tensors : sequence of (name, width, whether it is text)
    """
    parts, first, of_text = [], 0, text_columns(fitted)
    for name, width, is_text in tensors:
        columns = range(first, first + width)
        for k in columns:
            if is_text != (k in of_text):
                raise ValueError(
                    f"column {column_name(fitted, k)!r} must be {'numbers' if is_text else 'text'} in the "
                    f"graph, as in the fit, got {'text' if is_text else 'numbers'}."
                )
        parts += [_codes(graph, fitted, name, k - first, k) for k in columns] if is_text else [name]
        first += width
    return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)


def _codes(graph: Graph, fitted: FittedModel, texts: str, place: int, column: int) -> str:
    """Return the codes of one column of a tensor of text, (n, 1): NaN if missing, -1 without an input."""
    inputs, levels = fitted.inputs, _levels(fitted)[column]
    assert levels is not None
    codes = inputs.code[inputs.category_source == column]
    texts_of_missing = (each for each in (*_MISSING_TEXTS, missing_text(fitted)) if each not in levels)
    values = {levels[int(code)]: code for code in codes} | dict.fromkeys(texts_of_missing, np.nan)
    one = graph.add("Gather", texts, graph.tensor(np.array([place])), axis=1)
    found = graph.add(
        "LabelEncoder",
        one,
        domain="ai.onnx.ml",
        keys_strings=list(values),
        values_floats=list(values.values()),
        default_float=_UNKNOWN,
    )
    return graph.cast(found, graph.kind)


def category_numbers(fitted: FittedModel, kind: np.dtype[Any]) -> Array:
    """Return the number that a column has where each category's input is 1, of shape (q_3,)."""
    inputs, levels, of_text = fitted.inputs, _levels(fitted), text_columns(fitted)
    numbers = inputs.code.copy()
    for k in set(inputs.category_source.tolist()) - of_text:
        own, known = inputs.category_source == k, levels[k]
        if known is not None:
            numbers[own] = [float(known[int(code)]) for code in inputs.code[own]]
        each = numbers[own] if known is None else known.astype(np.float64)
        if len(np.unique(each.astype(kind))) < len(each):
            raise ValueError(
                f"dtype must tell the categories of column {column_name(fitted, k)!r} apart, which {kind} "
                "does not; use float64, or fit to their text instead."
            )
    return numbers


def column_name(fitted: FittedModel, k: int) -> Any:
    """Return the name of a column that the GBMAP is given."""
    return FittedModel.of(fitted.model).feature_names[k]


def _levels(fitted: FittedModel) -> tuple[Array | None, ...]:
    categories = fitted.predictor.fitted_inputs.categories
    return (None,) * fitted.inputs.n_columns if categories is None else categories
