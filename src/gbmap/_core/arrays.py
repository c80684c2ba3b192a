"""Arrays of any library with the Python array API: NumPy's, and those that may live on a device.

What the standard leaves open, or takes many calls for, is a method of `ArrayLibrary`. A library that needs
more than the standard has a class of its own in the seam, which is found by the name of its package.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from gbmap._utils.typing import Array

if TYPE_CHECKING:
    from gbmap._core.objective import Objective

_LIBRARIES = "gbmap._rows.libraries"  # where those are that need more than the standard, by name
# The most for which all of OpenBLAS's kernels treat a row alike wherever it lies (except those of float32 for
# Sandy Bridge). Twice as many would save a tenth of the time of a prediction.
_ROWS_AT_A_TIME = 8


class ArrayLibrary:
    """A library of arrays, by what the Python array API says of it."""

    def namespace(self, array: Any) -> Any:
        """Return the functions of the library, by their names in the array API."""
        return array.__array_namespace__()

    def softplus(self, t: Any) -> Any:
        """Return log(1 + exp(t)) without overflow or loss of the tail."""
        xp = self.namespace(t)
        return xp.maximum(t, 0.0) + xp.log1p(xp.exp(-xp.abs(t)))

    def sigmoid(self, t: Any) -> Any:
        """Return 1 / (1 + exp(-t)), accurate in both tails."""
        xp = self.namespace(t)
        e = xp.exp(-xp.abs(t))
        return xp.where(t >= 0, 1.0, e) / (1 + e)

    def product(self, first: Any, second: Any) -> Any:
        """Return a matrix product in the full precision of its type."""
        return first @ second

    def wide(self, array: Any) -> Any:
        """Return float64, or float32 if the library has no other."""
        return _widest(self.namespace(array))

    def asarray_like(self, array: Array, other: Any, dtype: Any) -> Any:
        """Return a NumPy array as one of this library, of a type, on the device of another."""
        return self.namespace(other).asarray(array, dtype=dtype, device=other.device)

    def to_numpy(self, array: Any) -> Array:
        """Return an array as one of NumPy's."""
        return np.from_dlpack(array)

    def settled(self, array: Any) -> Any:
        """Return an array as a fit can take it: of a type that all libraries know."""
        xp = self.namespace(array)
        usual = array.dtype in (xp.float32, xp.float64) or not xp.isdtype(array.dtype, "real floating")
        return array if usual else in_wide(array)

    def argument_like(self, array: Array, other: Any) -> Any:
        """Return a NumPy array as `block_sums` takes it in the least time, beside another."""
        return self.asarray_like(array, other, other.dtype)

    def block_sums(self, objective: Objective) -> Callable[..., Any]:
        """Return `Objective.block_sums`, or a program that does the same."""
        return objective.block_sums

    def fused_pass(self, array: Any) -> Any:
        """Return a class whose instances pass over rows in few calls (see `_torch_cuda`), or None."""
        return None


class _NumPy(ArrayLibrary):
    def namespace(self, array: Any) -> Any:
        return np

    def wide(self, array: Any) -> Any:
        return np.float64

    def asarray_like(self, array: Array, other: Any, dtype: Any) -> Any:
        return array.astype(dtype, copy=False)

    def to_numpy(self, array: Any) -> Array:
        return np.asarray(array)

    def settled(self, array: Any) -> Any:
        return array


_NUMPY = _NumPy()
_of_type: dict[type, ArrayLibrary] = {np.ndarray: _NUMPY}


def library_of(array: Any) -> ArrayLibrary:
    """Return the library of an array; NumPy for numbers and sparse matrices too."""
    found = _of_type.get(type(array))
    if found is None:
        found = _NUMPY if isinstance(array, np.ndarray | np.generic) else _library_of(array)
        _of_type[type(array)] = found
    return found


def _library_of(array: Any) -> ArrayLibrary:
    package = type(array).__module__.partition(".")[0]
    own = _own_library(package)
    if own is not None:
        return own
    return _standard_library(package) if hasattr(array, "__array_namespace__") else _NUMPY


@cache
def _own_library(package: str) -> ArrayLibrary | None:
    name = f"{_LIBRARIES}.{package}"
    if find_spec(name) is None:
        return None
    return import_module(name).Library()


@cache
def _standard_library(package: str) -> ArrayLibrary:
    return ArrayLibrary()


@cache
def _widest(xp: Any) -> Any:
    return xp.__array_namespace_info__().dtypes(kind="real floating").get("float64", xp.float32)


def is_foreign(array: Any) -> bool:
    """Return whether this is an array of another library than NumPy: CuPy, JAX, PyTorch and the like."""
    return library_of(array) is not _NUMPY


def namespace(array: Any) -> Any:
    """Return the functions of an array's library, by their names in the array API."""
    return library_of(array).namespace(array)


def product(first: Any, second: Any) -> Any:
    """Return a matrix product in the full precision of its type."""
    return library_of(first).product(first, second)


def with_one(X: Array, scale: Array) -> Array:
    """Return rows scale (x, 1), (n, p + 1), in the type of the scale."""
    out = np.empty((X.shape[0], X.shape[1] + 1), scale.dtype)
    np.multiply(X, scale[:, None], out=out[:, :-1])
    out[:, -1] = scale
    return out


def product_by_rows(rows: Any, matrix: Any) -> Any:
    """Return a product whose rows do not depend on how many there are: not in the last bit either.

    BLAS adds up in another order for other shapes, so dense rows of NumPy's are given to it some at a time,
    the last ones with zeros below them. Sparse rows are added up one by one anyway. Arrays of other libraries
    are left to those.
    """
    if not isinstance(rows, np.ndarray):
        return product(rows, matrix)
    rows = np.ascontiguousarray(rows)
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
    return library_of(other).asarray_like(array, other, other.dtype if dtype is None else dtype)


def wide(array: Any) -> Any:
    """Return float64 of an array's library, or float32 if it has no other, as JAX by default."""
    return library_of(array).wide(array)


def in_wide(array: Any) -> Any:
    """Return an array in that type."""
    return array if array.dtype == wide(array) else namespace(array).astype(array, wide(array))


def to_numpy(array: Any) -> Array:
    """Return an array of any library as one of NumPy's."""
    return library_of(array).to_numpy(array)


def settled(array: Any) -> Any:
    """Return an array as a fit can take it, and what is no array of another library as it is."""
    return library_of(array).settled(array)


def in_memory(array: Any) -> Any:
    """Return an array of another library as one of NumPy's, and anything else as it is."""
    return to_numpy(settled(array)) if is_foreign(array) else array
