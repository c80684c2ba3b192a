"""Rows drawn at random."""

from __future__ import annotations

import numpy as np

from gbmap._utils.typing import IntArray


def sample_rows(n_rows: int, size: int, random_state: int | np.random.Generator) -> IntArray:
    """Return the positions of all rows, or of so many drawn at random, in order."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(random_state).choice(n_rows, size, replace=False))
