"""Seeds, of any kind that NumPy users pass."""

from __future__ import annotations

from numbers import Integral

import numpy as np

RandomState = int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Turn a seed into a SeedSequence that may be spawned from.

    A Generator or RandomState is advanced, so that two calls with it give two data sets.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4, dtype=np.uint32))
    if isinstance(random_state, np.random.SeedSequence):
        # Not the sequence itself: spawning would change it, and its children may serve others already.
        return np.random.SeedSequence(random_state.generate_state(4))
    if random_state is None or (isinstance(random_state, Integral) and random_state >= 0):
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    raise ValueError(
        "random_state must be a non-negative int, a RandomState, a Generator, a SeedSequence or None, "
        f"got {random_state!r}."
    )
