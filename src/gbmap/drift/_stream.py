"""What scores of rows that come one by one say against their being like the calibration rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gbmap._utils.typing import Array, IntArray
from gbmap.drift._martingale import Martingale
from gbmap.drift._urn import Urn

_DRAWS = 2  # random numbers that a p-value takes


@dataclass
class Stream:
    """Urns, one of each season, and the martingale on their p-values.

    Attributes
    ----------
    seed : int
        Of the random numbers that tell equal scores apart; those of a p-value follow from how many were
        before.
    block : int
        So many scores of a season, one after the other, count as one: their mean.
    seasons : list of str
    urns : list of Urn
    waiting : list of list
        Of each season, the scores of the block that is not complete yet, after the row it began with.
    martingale : Martingale
    """

    seed: int
    block: int
    seasons: list[str]
    urns: list[Urn]
    waiting: list[list[float]]
    martingale: Martingale

    @classmethod
    def of(cls, seed: int, block: int, scores: Array, seasons: list[str], rounding: float) -> Stream:
        """Return the stream before any new row, with calibration scores in the order of time."""
        names = sorted(set(seasons))
        where, urns = np.array(seasons, dtype=object), []
        for position, name in enumerate(names):
            own = block_means(scores[where == name], block)
            ties = np.random.Generator(np.random.PCG64([seed, 1 + position])).random(len(own))
            urns.append(Urn.of(own, ties, rounding))
        return cls(seed, block, names, urns, [[] for _ in names], Martingale.new())

    def add(self, scores: Array, rows: IntArray, seasons: list[str]) -> None:
        """Bet on scores of rows with numbers, in their order; a season may be new."""
        n_blocks = len(scores) // self.block + len(self.urns) + 1  # at most
        draws = self._draws(n_blocks + len(set(seasons)))
        for score, row, season in zip(scores.tolist(), rows.tolist(), seasons):
            if season not in self.seasons:
                self._add_season(season)
            position = self.seasons.index(season)
            part = self.waiting[position] or [float(row)]
            part.append(score)
            if len(part) <= self.block:
                self.waiting[position] = part
                continue
            self.waiting[position] = []
            mean = _mean(part[1:])
            self.martingale.bet(self.urns[position].p_value(mean, *next(draws)), int(part[0]))

    def _add_season(self, season: str) -> None:
        rounding = self.urns[0].rounding if self.urns else 0.0
        self.seasons.append(season)
        self.urns.append(Urn.of(np.empty(0), np.empty(0), rounding))
        self.waiting.append([])

    def _draws(self, n: int) -> Iterator[list[float]]:
        """Return pairs of random numbers of the next p-values, the same however rows are batched."""
        source = np.random.PCG64([self.seed, 0])
        source.advance(_DRAWS * self.martingale.n)
        return iter(np.random.Generator(source).random((n, _DRAWS)).tolist())


def block_means(scores: Array, block: int) -> Array:
    """Return the means of consecutive blocks; scores that fill none are left out."""
    whole = scores[: len(scores) // block * block]
    return np.array([_mean(part) for part in whole.reshape(-1, block).tolist()])


def _mean(scores: list[float]) -> float:
    return scores[0] if len(scores) == 1 else float(sum(scores) / len(scores))
