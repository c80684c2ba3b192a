"""PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.utils.dlpack import from_dlpack

from gbmap._rows.libraries._compat import CompatLibrary
from gbmap._utils.typing import Array

_DLPACK_CUDA = 2  # the number of CUDA devices in DLPack


class Library(CompatLibrary):
    """Products in full precision, and on CUDA devices a pass in few kernels."""

    def softplus(self, t: Any) -> Any:
        """Return log(1 + exp(t)); PyTorch's is linear from 20 on by default, too early for float64."""
        return functional.softplus(t, threshold=50.0)

    def sigmoid(self, t: Any) -> Any:
        return functional.sigmoid(t)

    def product(self, first: Any, second: Any) -> Any:
        """Return a matrix product in the full precision of its type, whatever the user has chosen."""
        with full_precision():
            return first @ second

    def to_numpy(self, array: Any) -> Array:
        return np.asarray(array.numpy(force=True))

    def settled(self, array: Any) -> Any:
        """Return a tensor without gradients."""
        if array.layout is not torch.strided:
            raise ValueError(
                f"X and y must be dense in PyTorch, got the layout {array.layout}; pass X.to_dense(), or a "
                "SciPy sparse matrix."
            )
        return super().settled(array.detach())

    def asarray_like(self, array: Array, other: Any, dtype: Any) -> Any:
        """Return an array as a tensor; PyTorch takes only those in C order that can be written to."""
        return super().asarray_like(np.require(array, requirements=["C", "W"]), other, dtype)

    def fused_pass(self, array: Any) -> Any:
        """Return the pass in few kernels, for tensors on a CUDA device."""
        if not array.is_cuda:
            return None
        try:
            from gbmap._rows.libraries._torch_cuda import Pass
        except ImportError:  # Triton is not there
            return None
        return Pass


@contextmanager
def full_precision() -> Iterator[None]:
    """Let PyTorch multiply matrices of float32 in float32, whatever the user has chosen."""
    chosen = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(chosen)


def as_tensors(X: Any, targets: Any) -> tuple[Any, Any] | None:
    """Return arrays on a CUDA device as tensors in the same memory, if they can be lent, else None.

    An array in several parts, as JAX may have it, says that it cannot.
    """
    is_on_cuda = X.__dlpack_device__()[0] == targets.__dlpack_device__()[0] == _DLPACK_CUDA
    if not (is_on_cuda and torch.cuda.is_available()):
        return None
    tensor = from_dlpack(X)
    return tensor, from_dlpack(targets).to(tensor.device)
