"""Which learners are active, as bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._fitted.model import FittedModel, dense
from gbmap._rows.mapping import map_rows
from gbmap._utils.typing import Array


def patterns_of(fitted: FittedModel, learners: Ensemble, inputs: Any) -> Array:
    """Return which learners are active in each row, as a string of bits, of shape (n,)."""

    def pack(rows: Any) -> Array:
        return _pack(learners, learners.project(dense(rows)))

    packed = map_rows(pack, inputs, -(-len(learners) // 8), np.uint8, fitted.model.n_jobs)
    return _as_strings(packed)


def patterns_of_projections(learners: Ensemble, z: Array) -> Array:
    """Return which learners are active in each row, by projections of shape (n, M)."""
    return _as_strings(_pack(learners, z))


def _pack(learners: Ensemble, z: Array) -> Array:
    return np.packbits((z > 0) | (learners.activation == "identity"), axis=1)


def _as_strings(packed: Array) -> Array:
    return packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]


def unpack(bits: Array, n_learners: int) -> Array:
    """Return strings of bits as a boolean array of a row each."""
    packed = np.frombuffer(bits.tobytes(), np.uint8).reshape(len(bits), -1)
    return np.unpackbits(packed, axis=1, count=n_learners).astype(bool)


def rows_of_learner(bits: Array, learner: int) -> Array:
    """Return the rows of some patterns for which a learner is active, as booleans."""
    byte = np.frombuffer(bits.tobytes(), np.uint8).reshape(len(bits), -1)[:, learner // 8]
    return (byte >> (7 - learner % 8)) & 1 == 1


def active_names(patterns: Array, names: Array) -> list[str]:
    """Return the names of the learners that are active in each pattern, (R, m), such as "f1, f4"."""
    return [", ".join(names[row]) or "none" for row in patterns]
