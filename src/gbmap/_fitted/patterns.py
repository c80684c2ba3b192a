"""Which learners are active, as bits; and what sets the rows of one pattern apart, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.words import HalfSpace
from gbmap._rows.mapping import map_rows
from gbmap._utils.typing import Array

_MOST_TERMS = 3  # half-spaces in a description
_PRECISE = 0.95  # a description that holds for so few other rows needs no further half-space


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


def active_names(patterns: Array, names: Array) -> list[str]:
    """Return the names of the learners that are active in each pattern, (R, m), such as "f1, f4"."""
    return [", ".join(names[row]) or "none" for row in patterns]


def describe(
    patterns: Array, labels: Array, words: list[HalfSpace], inputs: Any
) -> tuple[Array, Array, Array]:
    """Return the regions in words, and the precision and coverage of those, each of shape (R,)."""
    active = np.array([np.packbits(half_space.holds(inputs)) for half_space in words])
    found = []
    for label, pattern in enumerate(patterns):
        chosen, precision, coverage = _choose(np.packbits(labels == label), pattern, active, len(labels))
        sides = [words[j].words(active=bool(pattern[j])) for j in chosen]
        found.append((" and ".join(sides) or "everywhere", precision, coverage))
    descriptions, precisions, coverages = zip(*found)
    return np.array(descriptions, dtype=object), np.array(precisions), np.array(coverages)


def _choose(inside: Array, pattern: Array, active: Array, n: int) -> tuple[list[int], float, float]:
    """Choose half-spaces that tell the rows inside a region from the others, greedily; all rows as bits.

    Each is the one that makes the harmonic mean of precision and coverage largest. Half-spaces to the last
    digit would keep all rows inside, and the best would be the one that excludes most of those outside.

    Returns
    -------
    chosen : list of learners
    precision, coverage : float
    """
    sides = np.where(pattern[:, None], active, ~active)
    satisfying, chosen = np.packbits(np.ones(n, dtype=bool)), list[int]()
    n_inside = right = _count(inside)
    total = n
    while right < _PRECISE * total and len(chosen) < _MOST_TERMS:
        rights, totals = _count(sides & (satisfying & inside)), _count(sides & satisfying)
        quality = rights / (totals + n_inside)
        best = int(np.argmax(quality))
        if quality[best] <= right / (total + n_inside):
            break
        chosen.append(best)
        satisfying = satisfying & sides[best]
        right, total = rights[best], totals[best]
    return chosen, float(right / total), float(right / n_inside)


def _count(bits: Array) -> Any:
    """Return how many bits are set, along the last axis."""
    return np.bitwise_count(bits).sum(axis=-1, dtype=np.intp)
