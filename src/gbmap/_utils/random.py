"""Random numbers: never NumPy's global state."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def seed_of(random_state: Any) -> int:
    """Return a seed: the integer given, one drawn from a RandomState, or fresh entropy."""
    if random_state is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random_state.randint(np.iinfo(np.int32).max))
