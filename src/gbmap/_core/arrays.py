"""Arrays of any library with the Python array API: NumPy's, and those that may live on a device."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def is_foreign(array: Any) -> bool:
    """Return whether this is an array of another library than NumPy: CuPy, JAX, PyTorch and the like."""
    if isinstance(array, np.ndarray | np.generic):
        return False
    return hasattr(array, "__array_namespace__") or type(array).__module__.partition(".")[0] == "torch"


def namespace(array: Any) -> Any:
    """Return the functions of an array's library, by their names in the array API."""
    if not is_foreign(array):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError('PyTorch tensors need array-api-compat; pip install "gbmap[device]".') from error
    return array_api_compat.array_namespace(array)


def native(array: Any, name: str) -> Any:
    """Return a library's own function of that name, or None: one call to a device instead of many."""
    library = type(array).__module__.partition(".")[0]
    if library == "torch":
        from torch.nn import functional

        # By default softplus is linear from 20 on, which is too early for float64.
        return partial(functional.softplus, threshold=50.0) if name == "softplus" else functional.sigmoid
    if library in ("jax", "jaxlib"):
        import jax

        return getattr(jax.nn, name)
    return None


def beside(array: Array, other: Any, dtype: Any = None) -> Any:
    """Return a NumPy array as one of another's library, on its device, and of its type unless told."""
    if not is_foreign(other):
        return array.astype(other.dtype if dtype is None else dtype, copy=False)
    xp = namespace(other)
    return xp.asarray(array, dtype=other.dtype if dtype is None else dtype, device=other.device)


def wide(array: Any) -> Any:
    """Return float64 of an array's library, or the widest type that its device has."""
    if not is_foreign(array):
        return np.float64
    return _wide(namespace(array), array.device)


@lru_cache
def _wide(xp: Any, device: Any) -> Any:
    types = xp.__array_namespace_info__().dtypes(device=device, kind="real floating")
    return types.get("float64", xp.float32)


def to_numpy(array: Any) -> Array:
    """Return an array of any library as one of NumPy's."""
    if not is_foreign(array):
        return np.asarray(array)
    if hasattr(array, "get"):  # CuPy's way off the device
        return np.asarray(array.get())
    if hasattr(array, "detach"):  # PyTorch's
        return np.asarray(array.detach().cpu())
    return np.asarray(array) if hasattr(array, "__array__") else np.from_dlpack(array)
