"""Arrays of other libraries than NumPy, on a device or not, on their way into an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._core.arrays import asarray_like, in_wide, is_foreign, library_of, namespace, to_numpy, wide
from gbmap._utils.scikit_learn import check_y
from gbmap._utils.typing import Array

# Fewer rows are fitted in memory: a pass over them there takes no longer than a call to a device.
_FEW_ROWS = 10_000


def in_memory(array: Any) -> Any:
    """Return an array of another library as one of NumPy's, and anything else as it is."""
    return to_numpy(array) if is_foreign(array) else array


def to_memory_if_small(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the data of a fit where it is best fitted: few rows in memory, y where X is."""
    X, y = _settled(X), _settled(y)
    if is_foreign(X) and len(X.shape) == 2 and X.shape[0] <= _FEW_ROWS:
        X = to_numpy(X)
    return X, y if is_foreign(X) else in_memory(y)


def moved_to(X: Any, X_val: Any, y_val: Any) -> tuple[Any, Any]:
    """Return rows for validation where those of the fit are."""
    X_val, y_val = _settled(X_val), _settled(y_val)
    if not is_foreign(X):
        return in_memory(X_val), in_memory(y_val)
    return X_val if _is_beside(X_val, X) else asarray_like(to_numpy(X_val), X), y_val


def _settled(array: Any) -> Any:
    """Return what a fit can take of an array: without PyTorch's gradients, and of a type that all know."""
    if not is_foreign(array):
        return array
    _refuse_sparse(array)
    xp = namespace(array)
    array = array.detach() if hasattr(array, "detach") else array
    usual = array.dtype in (xp.float32, xp.float64) or not xp.isdtype(array.dtype, "real floating")
    return array if usual else in_wide(array)


def _refuse_sparse(array: Any) -> None:
    if getattr(array, "is_sparse", False) or getattr(array, "is_sparse_csr", False):
        raise ValueError(
            f"X and y must be dense in PyTorch, got the layout {array.layout}; pass X.to_dense(), or a SciPy "
            "sparse matrix."
        )


def _is_beside(array: Any, other: Any) -> bool:
    return library_of(array) == library_of(other) and array.device == other.device


def validated(X: Any, *, finite: bool) -> Any:
    """Return X as a matrix of float32 or float64, and refuse what is not finite if that is asked for."""
    xp = namespace(X)
    _refuse_sparse(X)
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X must be a matrix of rows and columns, got an array of shape {tuple(X.shape)}.")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"X must hold real numbers, got {X.dtype}.")
    X = X if X.dtype in (xp.float32, xp.float64) else in_wide(X)
    if finite and not _is_finite(X):
        raise ValueError("X must be finite, but it contains NaN or infinity; impute or drop those rows.")
    return X


def validated_targets(y: Any, X: Any, **rules: Any) -> Any:
    """Return y with as many rows as X: where it is if of another library, else as NumPy's."""
    if not is_foreign(y):
        y = check_y(y, **rules)
    elif len(y.shape) not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got an array of shape {tuple(y.shape)}.")
    elif not _is_finite(y):
        raise ValueError("y must be finite, but it contains NaN or infinity; drop those rows.")
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"y must have as many rows as X, {X.shape[0]}, got {y.shape[0]}.")
    return y


def _is_finite(array: Any) -> bool:
    xp = namespace(array)
    return xp.isdtype(array.dtype, ("bool", "integral")) or bool(xp.all(xp.isfinite(array)))


def targets_beside(targets: Any, X: Any) -> Any:
    """Return targets where X is, as arrays of its library."""
    if not is_foreign(X) or _is_beside(targets, X):
        return targets
    return asarray_like(to_numpy(targets), X, wide(X))


def take(array: Any, indices: Array) -> Any:
    """Return some rows."""
    if not is_foreign(array):
        return array[indices]
    xp = namespace(array)
    return xp.take(array, xp.asarray(indices, device=array.device), axis=0)


def plus(score: Any, further: Array | float) -> Any:
    """Return a sum of scores where the first of them is."""
    if is_foreign(score) and isinstance(further, np.ndarray):
        further = asarray_like(further, score)
    return score + further
