"""What counts as a missing value, one at a time; in tables of text see `gbmap.tables._values` too."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._utils.typing import Array, IntArray


def is_missing(value: Any) -> bool:
    """Return whether a value is None, or not equal to itself, as NaN and NaT; pandas' NA does not say."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # an array does not say either
        return type(value).__name__ == "NAType"


def known_labels(values: Array) -> IntArray:
    """Return the positions of labels of which no part is missing."""
    if not len(values) or values.dtype.kind in "iubUS":
        return np.arange(len(values))
    if values.dtype.kind == "f":
        return np.flatnonzero(~np.isnan(values.reshape(len(values), -1)).any(axis=1))
    is_known = [not any(map(is_missing, np.atleast_1d(each))) for each in values]
    return np.flatnonzero(np.array(is_known, dtype=bool))


def plain_labels(y: Array) -> Array:
    """Return labels that are all there as they are without gaps: of one target as a vector."""
    if y.dtype == object:  # as lists with None in them are read
        y = np.array(y.tolist())
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
