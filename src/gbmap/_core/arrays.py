"""Arrays of any library with the Python array API: NumPy's, and those that may live on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array

JAX = ("jax", "jaxlib")
_BY_COMPAT = ("cupy", "torch")  # whose functions array-api-compat brings to the array API
# The most for which all of OpenBLAS's kernels treat a row alike wherever it lies (except those of float32 for
# Sandy Bridge). Twice as many would save a tenth of the time of a prediction.
_ROWS_AT_A_TIME = 8


def is_foreign(array: Any) -> bool:
    """Return whether this is an array of another library than NumPy: CuPy, JAX, PyTorch and the like."""
    if isinstance(array, np.ndarray | np.generic):
        return False
    return hasattr(array, "__array_namespace__") or library_of(array) in _BY_COMPAT


def namespace(array: Any) -> Any:
    """Return the functions of an array's library, by their names in the array API."""
    if not is_foreign(array):
        return np
    if library_of(array) not in _BY_COMPAT:
        return array.__array_namespace__()
    return require("array_api_compat", "device").array_namespace(array)


def library_of(array: Any) -> str:
    """Return the name of the package that an array comes from."""
    return type(array).__module__.partition(".")[0]


def native(array: Any, name: str) -> Any:
    """Return a library's own function of that name, or None: one call to a device instead of many."""
    library = library_of(array)
    if library == "torch":
        from torch.nn import functional

        # By default softplus is linear from 20 on, which is too early for float64.
        return partial(functional.softplus, threshold=50.0) if name == "softplus" else functional.sigmoid
    if library in JAX:
        import jax

        return getattr(jax.nn, name)
    if library == "cupy":
        import cupy
        from cupyx.scipy.special import expit

        return partial(cupy.logaddexp, 0.0) if name == "softplus" else expit
    return None


def product(first: Any, second: Any) -> Any:
    """Return a matrix product in the full precision of its type.

    JAX does not take it by itself, and PyTorch not where the user has chosen less.
    """
    if library_of(first) in JAX:
        return namespace(first).matmul(first, second, precision="highest")
    if library_of(first) == "torch":
        with full_precision():
            return first @ second
    return first @ second


@contextmanager
def full_precision() -> Iterator[None]:
    """Let PyTorch multiply matrices of float32 in float32, whatever the user has chosen."""
    import torch

    chosen = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(chosen)


def product_by_rows(rows: Any, matrix: Any) -> Any:
    """Return a product whose rows do not depend on how many there are: not in the last bit either.

    BLAS adds up in another order for other shapes, so dense rows of NumPy's are given to it some at a time,
    the last ones with zeros below them. Sparse rows are added up one by one anyway. Arrays of other libraries
    are left to those.
    """
    if not isinstance(rows, np.ndarray):
        return product(rows, matrix)
    n, p = rows.shape
    whole = n - n % _ROWS_AT_A_TIME
    out = np.empty((n, matrix.shape[1]), rows.dtype)
    if whole:
        blocks = rows[:whole].reshape(-1, _ROWS_AT_A_TIME, p)
        np.matmul(blocks, matrix, out=out[:whole].reshape(len(blocks), _ROWS_AT_A_TIME, -1))
    if whole < n:
        last = np.zeros((_ROWS_AT_A_TIME, p), rows.dtype)
        last[: n - whole] = rows[whole:]
        out[whole:] = (last @ matrix)[: n - whole]
    return out


def asarray_like(array: Array, other: Any, dtype: Any = None) -> Any:
    """Return a NumPy array as one of another's library, on its device, and of its type unless told."""
    if not is_foreign(other):
        return array.astype(other.dtype if dtype is None else dtype, copy=False)
    array = np.require(array, requirements=["C", "W"])  # PyTorch takes no other
    dtype = other.dtype if dtype is None else dtype
    return namespace(other).asarray(array, dtype=dtype, device=other.device)


def wide(array: Any) -> Any:
    """Return float64 of an array's library, or float32 if it has no other, as JAX by default."""
    if not is_foreign(array):
        return np.float64
    if library_of(array) in JAX:
        import jax

        return jax.numpy.result_type(float)
    return _wide(namespace(array))


def in_wide(array: Any) -> Any:
    """Return an array in that type."""
    return array if array.dtype == wide(array) else namespace(array).astype(array, wide(array))


@lru_cache
def _wide(xp: Any) -> Any:
    return xp.__array_namespace_info__().dtypes(kind="real floating").get("float64", xp.float32)


def to_numpy(array: Any) -> Array:
    """Return an array of any library as one of NumPy's."""
    if not is_foreign(array):
        return np.asarray(array)
    if hasattr(array, "get"):  # CuPy's way off the device
        return np.asarray(array.get())
    if hasattr(array, "detach"):  # PyTorch's
        return np.asarray(array.numpy(force=True))
    return np.asarray(array) if library_of(array) in JAX else np.from_dlpack(array)
