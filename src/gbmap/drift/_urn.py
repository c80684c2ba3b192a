"""Which place a new row takes among those before it: p-values that are exact however many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._utils.typing import Array, IntArray
from gbmap.drift._places import level_ties

_FINE, _COARSE = 256, 256  # cells at the top of many calibration rows, and below: enough to tell tails apart


@dataclass
class Urn:
    """The places between n calibration scores, each with the rows that have fallen there.

    If calibration rows and new ones are exchangeable, and no two of their scores are equal, then given the
    places of all rows before it a new row falls between two neighbouring calibration scores with the chance
    (1 + N) / (n + 1 + t), where N of t rows have fallen there so far: Pólya's urn, whatever the
    distribution of the scores. So the share of the urn above its place, and a random part of its place, is
    uniform and independent of all p-values before it. Scores that are equal are told apart by random
    numbers.

    A p-value against n calibration scores alone is not independent of those before: where these n happen to
    lie low, p-values are small for ever, and enough rows make that look like drift.

    Attributes
    ----------
    levels, ties : arrays of shape (k,)
        The scores that part the places, in increasing order, and the random numbers that part equal ones.
    counts : integer array of shape (k + 1,)
        1 + N, summed over the places that are taken together where n is large.
    rounding : float
        Scores that differ by no more are equal.
    """

    levels: Array
    ties: Array
    counts: IntArray
    rounding: float

    @classmethod
    def of(cls, scores: Array, ties: Array, rounding: float) -> Urn:
        """Return the urn of calibration scores (n,) with random numbers (n,)."""
        scores = np.array(scores, dtype=np.float64)
        is_finite = np.isfinite(scores)  # infinite ones, of rows unlike any other, are equal
        scores[is_finite] = level_ties(scores[is_finite], rounding)
        order = np.lexsort((ties, scores))
        kept = _kept(len(scores))
        ends = np.concatenate([[-1], kept, [len(scores)]])
        return cls(scores[order[kept]], ties[order[kept]], np.diff(ends), rounding)

    def p_value(self, score: float, tie: float, part: float) -> float:
        """Return the p-value of a new row, small if its score is large, and remember its place.

        `tie` and `part` are random numbers from [0, 1): among equal scores, and within the place.
        """
        place = self._place(score, tie)
        above = int(self.counts[place + 1 :].sum())
        here = int(self.counts[place])
        p = (above + (1.0 - part) * here) / (above + here + int(self.counts[:place].sum()))
        self.counts[place] += 1
        return p

    def _place(self, score: float, tie: float) -> int:
        first = int(np.searchsorted(self.levels, score - self.rounding, side="left"))
        if first == len(self.levels) or self.levels[first] > score + self.rounding:
            return first
        last = int(np.searchsorted(self.levels, self.levels[first], side="right"))
        return first + int(np.searchsorted(self.ties[first:last], tie, side="right"))


def _kept(n: int) -> IntArray:
    """Return which of n scores in increasing order part places: the highest, and so many of the others.

    That depends on n alone, so that places taken together have the chances of their sum.
    """
    if n <= _FINE + _COARSE:
        return np.arange(n)
    below = np.linspace(0, n - _FINE, _COARSE, endpoint=False).astype(np.intp)
    return np.concatenate([below, np.arange(n - _FINE, n)])
