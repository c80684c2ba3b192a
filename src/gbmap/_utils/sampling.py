"""Seeds, and rows drawn at random: never by NumPy's global state."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from gbmap._utils.typing import IntArray


def seed_of(random_state: Any) -> int:
    """Return a seed: the integer given, one drawn from a RandomState, or fresh entropy."""
    if random_state is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random_state.randint(np.iinfo(np.int32).max))


def sample_rows(n_rows: int, size: int, random_state: int | np.random.Generator) -> IntArray:
    """Return the positions of all rows, or of so many drawn at random, in order."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(random_state).choice(n_rows, size, replace=False, shuffle=False))
