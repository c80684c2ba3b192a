"""The last rows that raised the alarm, or that the model was wrong on: by which columns, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._fitted.patterns import patterns_of_projections
from gbmap._utils.typing import Array, IntArray
from gbmap.drift._drifter import Drifter
from gbmap.drift._monitored import ScoredRows

_MOST = 200  # rows that are kept: enough to tell columns and regions, and few to store
_SHOWN, _SURPLUS = 3, 0.1  # regions that are told of, and by how much more than the reference they hold


@dataclass
class Suspects:
    """What is known of the last of such rows. None of it is what they hold.

    Attributes
    ----------
    rows : integer array of shape (n,)
        Their numbers.
    shares : array of shape (n, p)
        The size of the share of each column in f - f_kNN; p is zero where shares are not known.
    activity : array of shape (n, B) of uint8
        Which learners are active, eight of them a byte.
    """

    rows: IntArray
    shares: Array
    activity: Array

    @classmethod
    def new(cls) -> Suspects:
        """Return none, before the first one."""
        return cls(np.empty(0, dtype=np.intp), np.empty((0, 0)), np.empty((0, 0), dtype=np.uint8))

    def add(self, rows: IntArray, shares: Array, activity: Array) -> None:
        """Add rows; the last ones stay."""
        if not len(rows):
            return
        if not len(self.rows):
            self.rows, self.shares, self.activity = rows[:0], shares[:0], activity[:0]
        self.rows = np.concatenate([self.rows, rows])[-_MOST:]
        self.shares = np.concatenate([self.shares, shares])[-_MOST:]
        self.activity = np.concatenate([self.activity, activity])[-_MOST:]

    def columns(self, since: int) -> Array:
        """Return the mean size of the share of each column, over rows from one on, of shape (p,)."""
        shares = self.shares[self.rows >= since]
        return shares.mean(axis=0) if len(shares) else np.zeros(self.shares.shape[1])

    def regions(self, since: int, drifter: Any) -> list[tuple[str, float, float]]:
        """Return where such rows lie, from one row on: words, their share, and that of the reference rows.

        Those sides of learners that hold more of them than of the reference rows, the largest surplus first.
        """
        activity = self.activity[self.rows >= since]
        if not isinstance(drifter, Drifter) or not len(activity):
            return []
        words = drifter.half_spaces
        share = np.unpackbits(activity, axis=1, count=len(words)).mean(axis=0)
        before = np.array([half_space.holds(drifter.inputs).mean() for half_space in words])
        found: dict[str, tuple[str, float, float]] = {}
        for j in np.argsort(-np.abs(share - before), kind="stable"):
            is_active = bool(share[j] > before[j])
            sides = (share[j], before[j]) if is_active else (1 - share[j], 1 - before[j])
            text = words[j].words(active=is_active)
            is_told = np.isfinite(words[j].threshold)  # a learner that does not bend has no side
            if is_told and sides[0] - sides[1] >= _SURPLUS:
                found.setdefault(text, (text, float(sides[0]), float(sides[1])))
        return list(found.values())[:_SHOWN]


def activity_of(ensemble: Ensemble, rows: ScoredRows) -> Array:
    """Return which learners are active in each row, (n, B): eight of them a byte."""
    packed = patterns_of_projections(ensemble, rows.z)
    return packed.view(np.uint8).reshape(len(rows.z), -1)
