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
    strange : boolean array of shape (n, p), or None in files of before
        Which columns make each row strange.
    activity : array of shape (n, B) of uint8
        Which learners are active, eight of them a byte.
    """

    rows: IntArray
    shares: Array
    activity: Array
    strange: Array | None

    @classmethod
    def new(cls) -> Suspects:
        """Return none, before the first one."""
        none = np.empty((0, 0))
        return cls(np.empty(0, dtype=np.intp), none, none.astype(np.uint8), none.astype(bool))

    def add(self, rows: IntArray, shares: Array, activity: Array, strange: Array) -> None:
        """Add rows; the last ones stay."""
        if not len(rows):
            return
        if not len(self.rows):
            self.rows, self.shares, self.activity, self.strange = (
                each[:0] for each in (rows, shares, activity, strange)
            )
        self.strange = np.concatenate([self._is_strange, strange])[-_MOST:]
        self.rows = np.concatenate([self.rows, rows])[-_MOST:]
        self.shares = np.concatenate([self.shares, shares])[-_MOST:]
        self.activity = np.concatenate([self.activity, activity])[-_MOST:]

    @property
    def _is_strange(self) -> Array:
        return np.zeros(self.shares.shape, dtype=bool) if self.strange is None else self.strange

    def columns(self, since: int) -> list[tuple[int, float]]:
        """Return columns with the mean sizes of their shares, over rows from one on, those to blame first.

        A strange row blames the columns that make it so, whatever the shares are; the others blame columns by
        their shares.
        """
        which = self.rows >= since
        shares, strange = self.shares[which], self._is_strange[which]
        if not len(shares):
            return []
        others = ~strange.any(axis=1)
        of_others, sizes = shares[others].sum(axis=0), shares.mean(axis=0)
        blame = strange.sum(axis=0) + others.sum() * of_others / (of_others.sum() or 1.0)
        order = np.lexsort((-sizes, -blame)).tolist()
        return [(k, float(sizes[k])) for k in order if blame[k] > 0 or sizes[k] > 0]

    def regions(self, since: int, drifter: Any) -> list[tuple[str, float, float]]:
        """Return where such rows lie, from one row on: words, their share, and that of the reference rows.

        Those sides of learners that hold more of them than of the reference rows, the largest surplus first.
        """
        activity = self.activity[self.rows >= since]
        if not isinstance(drifter, Drifter) or not len(activity):
            return []
        before = drifter.active_shares
        share = np.unpackbits(activity, axis=1, count=len(before)).mean(axis=0)
        found: dict[str, tuple[str, float, float]] = {}
        for j in np.argsort(-np.abs(share - before), kind="stable"):
            is_active = bool(share[j] > before[j])
            sides = (share[j], before[j]) if is_active else (1 - share[j], 1 - before[j])
            if len(found) == _SHOWN or sides[0] - sides[1] < _SURPLUS:
                break
            rows = drifter.active_rows(int(j))
            told = drifter.teller.learner(int(j), rows if is_active else ~rows)
            if told.has_rule:
                found.setdefault(told.words, (told.words, float(sides[0]), float(sides[1])))
        return list(found.values())


def activity_of(ensemble: Ensemble, rows: ScoredRows) -> Array:
    """Return which learners are active in each row, (n, B): eight of them a byte."""
    packed = patterns_of_projections(ensemble, rows.z)
    return packed.view(np.uint8).reshape(len(rows.z), -1)
