"""An ONNX graph in the making: nodes and constants under names that are free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gbmap._utils.optional import require
from gbmap._utils.typing import Array

onnx = require("onnx", "onnx")


class Graph:
    """Nodes and constants; each method adds some and returns the name of the tensor they give.

    Parameters
    ----------
    kind : dtype
        float32 or float64, the type of all numbers.
    unique : callable
        Turns a wish into a name that is free.
    """

    def __init__(self, kind: np.dtype[Any], unique: Callable[[str], str]):
        self.kind, self.unique = kind, unique
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add one node."""
        name = self.unique(f"gbmap_{operator}") if output is None else output
        self.nodes.append(onnx.helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def tensor(self, values: Array) -> str:
        """Add an array as it is."""
        name = self.unique("gbmap_constant")
        self.constants.append(onnx.numpy_helper.from_array(values, name))
        return name

    def constant(self, values: Any) -> str:
        """Add numbers, which take on the graph's type."""
        with np.errstate(over="ignore"):
            numbers = np.asarray(values).astype(self.kind)
        if not np.isfinite(numbers).all():
            raise ValueError(
                f"dtype must be able to hold the model's numbers, of up to {np.abs(values).max():.3g}, "
                f"got {self.kind}; use float64, or rescale X and y."
            )
        return self.tensor(numbers)

    def cast(self, tensor: str, kind: DTypeLike) -> str:
        """Change the type."""
        return self.add("Cast", tensor, to=tensor_type(kind))

    def drop_axis(self, tensor: str, axis: int) -> str:
        """Drop an axis of length one."""
        return self.add("Squeeze", tensor, self.tensor(np.array([axis])))

    def softplus(self, t: str) -> str:
        """Return log(1 + exp(t)); ONNX's own Softplus has no float64 in onnxruntime."""
        return self.add("Add", self.add("Relu", t), self.add("Log", self._one_plus(self._tail(t))))

    def sigmoid(self, t: str) -> str:
        """Return 1 / (1 + exp(-t)), accurate in both tails."""
        tail = self._tail(t)
        above = self.add("GreaterOrEqual", t, self.constant(0.0))
        return self.add("Div", self.add("Where", above, self.constant(1.0), tail), self._one_plus(tail))

    def _tail(self, t: str) -> str:
        return self.add("Exp", self.add("Neg", self.add("Abs", t)))

    def _one_plus(self, t: str) -> str:
        return self.add("Add", self.constant(1.0), t)


def tensor_type(kind: DTypeLike) -> int:
    """Return ONNX's number for a NumPy type; object stands for text."""
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def rows_of(name: str, kind: DTypeLike, shape: list[int]) -> Any:
    """Return the description of an input or output: any number of rows of a shape."""
    return onnx.helper.make_tensor_value_info(name, tensor_type(kind), ["rows", *shape])


def namer(graph: Any) -> Callable[[str], str]:
    """Return what finds names that are free in a finished graph."""
    taken = {value.name for value in (*graph.input, *graph.initializer)}
    taken.update(name for node in graph.node for name in (*node.input, *node.output))

    def unique(wish: str) -> str:
        name, count = wish, 1
        while name in taken:
            name, count = f"{wish}_{count}", count + 1
        taken.add(name)
        return name

    return unique
