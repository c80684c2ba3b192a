"""Models as ONNX graphs of standard operators, alone or behind scikit-learn's preprocessing."""

from gbmap.onnx._inputs import as_inputs
from gbmap.onnx._skl2onnx import register
from gbmap.onnx.export import to_onnx

__all__ = ["as_inputs", "register", "to_onnx"]
