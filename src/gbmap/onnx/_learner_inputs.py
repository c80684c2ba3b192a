"""From what a GBMAP is given to the inputs of its learners, as nodes of a graph; see `gbmap._core.inputs`.

Inputs come less a center near their mean, which is taken off before they are clipped:

    clip(x, low, high) - origin - center  =  clip(x - t, low - t, high - t),        t = origin + center,

since fences are far away, and the difference of two large numbers would lose digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gbmap._fitted.model import FittedModel
from gbmap._utils.typing import Array
from gbmap.onnx._columns import category_numbers
from gbmap.onnx._graph import Graph


class CenteredInputs(NamedTuple):
    """The inputs of rows less a center.

    Attributes
    ----------
    tensor : str
        Of shape (n, q).
    center : array of shape (q,)
        What has been taken off, in digits of the graph's type.
    """

    tensor: str
    center: Array


def centered_inputs(graph: Graph, fitted: FittedModel, given: str) -> CenteredInputs:
    """Return the inputs of rows that are what the GBMAP is given, (n, p), in the graph's type."""
    inputs, largest = fitted.inputs, float(np.finfo(graph.kind).max)
    low, high, origin, fill = _of_inputs(fitted)
    shift = origin + fitted.input_mean
    parts = _parts(graph, fitted, given)
    tensor = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)
    tensor = graph.add("Sub", tensor, graph.constant(shift))
    shift = shift.astype(graph.kind).astype(np.float64)
    tensor = graph.add("Where", graph.add("IsNaN", tensor), graph.constant(fill - shift), tensor)
    if inputs.has_limits.any():
        tensor = graph.add("Max", tensor, graph.constant((low - shift).clip(-largest, largest)))
        tensor = graph.add("Min", tensor, graph.constant((high - shift).clip(-largest, largest)))
    return CenteredInputs(tensor, shift - origin)


def inside_limits(graph: Graph, fitted: FittedModel, given: str) -> str:
    """Return whether inputs that are numbers move with their columns, of shape (n, q).

    Training rows are knots: limits are rounded as rows are, so that a row at a knot stays there, and its
    slope is the one to the right.
    """
    low, high, _, fill = _of_inputs(fitted)
    x = _columns_of(graph, given, fitted.inputs.source)
    filled = graph.add("Where", graph.add("IsNaN", x), graph.constant(_nearest(fill, graph.kind)), x)
    above = graph.add("GreaterOrEqual", filled, graph.constant(_nearest(low, graph.kind)))
    below = graph.add("Less", filled, graph.constant(_nearest(high, graph.kind)))
    return graph.add("And", above, below)


def _of_inputs(fitted: FittedModel) -> Array:
    """Return limits, origin and fill of all inputs, of shape (4, q); marks have no limits and no gaps."""
    inputs = fitted.inputs
    found = np.zeros((4, len(inputs)))
    found[:2] = [[-np.inf], [np.inf]]
    numbers = inputs.low, inputs.high, inputs.origin, inputs.fill[inputs.number_source]
    found[:, : len(inputs.number_source)] = numbers
    return found


def _parts(graph: Graph, fitted: FittedModel, given: str) -> list[str]:
    """Return columns of numbers, marks of missing values and of categories, of those that there are any."""
    inputs, parts = fitted.inputs, []
    if np.array_equal(inputs.number_source, np.arange(inputs.n_columns)):
        parts.append(given)
    elif len(inputs.number_source):
        parts.append(_columns_of(graph, given, inputs.number_source))
    if len(inputs.missing_source):
        marks = graph.add("IsNaN", _columns_of(graph, given, inputs.missing_source))
        parts.append(graph.cast(marks, graph.kind))
    if len(inputs.category_source):
        numbers = graph.constant(category_numbers(fitted, graph.kind))
        is_there = graph.add("Equal", _columns_of(graph, given, inputs.category_source), numbers)
        parts.append(graph.cast(is_there, graph.kind))
    return parts


def _columns_of(graph: Graph, rows: str, which: Array) -> str:
    return graph.add("Gather", rows, graph.tensor(which.astype(np.int64)), axis=1)


def _nearest(values: Array, kind: np.dtype[Any]) -> Array:
    """Return the nearest finite numbers of a type."""
    largest = float(np.finfo(kind).max)
    return values.clip(-largest, largest).astype(kind)
