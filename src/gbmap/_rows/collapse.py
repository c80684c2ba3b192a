"""Repeated rows as one row of their total weight, in an order that does not depend on theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from gbmap._utils.typing import Array


def collapse(
    X: Any, targets: Array, score: Array, weight: Array | None
) -> tuple[Any, Array, Array, Array | None]:
    """Return the distinct rows of positive weight, ordered by their content alone.

    The weight returned is the total one of each set of equal rows; None where all are equal.
    """
    kept = np.arange(len(targets)) if weight is None else np.flatnonzero(weight)
    keys = _row_keys(X[kept], np.hstack([targets, score])[kept] + 0.0)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    share = np.ones(len(kept)) if weight is None else weight[kept]
    order = np.lexsort((share, group))  # sums must not depend on the order of rows either
    total = np.bincount(group[order], share[order])
    distinct = kept[first]
    equal = bool((total == total[0]).all())
    return X[distinct], targets[distinct], score[distinct], None if equal else total


def _row_keys(X: Any, columns: Array) -> Array:
    """Return for each row bytes, which are equal if and only if the numbers are.

    Their order is that of the numbers, which other units leave as it is.
    """
    if scipy.sparse.issparse(X):
        X = X.tocsr().sorted_indices()
        X.sum_duplicates()
        X.eliminate_zeros()
        rows = zip(
            np.split(X.indices, X.indptr[1:-1]),
            np.split(_ordered(X.data), X.indptr[1:-1]),
            _ordered(columns),
            strict=True,
        )
        return np.array([b"".join(part.tobytes() for part in row) for row in rows], dtype=object)
    numbers = _ordered(np.hstack([X, columns]))
    return numbers.view(f"V{numbers.shape[1] * numbers.itemsize}")[:, 0]


def _ordered(numbers: Array) -> Array:
    """Return integers whose bytes, from the first on, have the order of the numbers."""
    bits = np.ascontiguousarray(numbers.astype(np.float64) + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return np.where(bits < 0, ~bits, bits ^ np.iinfo(np.int64).min).astype(">i8")
