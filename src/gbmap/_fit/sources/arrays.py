"""Arrays of other libraries than NumPy, as a fit can take them, and the way to memory."""

from __future__ import annotations

from typing import Any

from gbmap._core.arrays import in_wide, is_foreign, namespace, to_numpy


def in_memory(array: Any) -> Any:
    """Return an array of another library as one of NumPy's, and anything else as it is."""
    return to_numpy(settled(array)) if is_foreign(array) else array


def settled(array: Any) -> Any:
    """Return an array without PyTorch's gradients, and of a type that all know."""
    if not is_foreign(array):
        return array
    if getattr(array, "is_sparse", False) or getattr(array, "is_sparse_csr", False):
        raise ValueError(
            f"X and y must be dense in PyTorch, got the layout {array.layout}; pass X.to_dense(), or a SciPy "
            "sparse matrix."
        )
    xp = namespace(array)
    array = array.detach() if hasattr(array, "detach") else array
    usual = array.dtype in (xp.float32, xp.float64) or not xp.isdtype(array.dtype, "real floating")
    return array if usual else in_wide(array)
