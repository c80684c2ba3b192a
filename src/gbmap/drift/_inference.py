"""Tests whose levels hold: by how much a batch may differ if its rows are like the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import betabinom, hypergeom, rankdata, t

from gbmap._utils.typing import Array, IntArray

# Draws of a permutation test: further ones if so many have left it open, by no more than so many above. The
# smallest p-value is one in ten thousand.
_DRAWS, _ABOVE = (199, 800, 9_000), (40, 100, np.inf)
_COUNTED = 500  # rows up to which drawing them is quicker than drawing how many are of each group
_GROUPS = 128  # different values that count in it; half of them are the largest, one by one
_NEARLY = 1e-9  # by which counts that are equal may differ, having been multiplied


def shift_p_values(
    size: Array, tolerated: Array, spreads: tuple[Array, Array], numbers: tuple[int, int]
) -> tuple[Array, Array]:
    """Return p-values that means differ by no more than tolerated, and the standard errors, by Student's t.

    The variance of a batch counts as at least that of the reference. So the statistic is at most the one made
    with the latter alone, which follows t with its degrees of freedom, for a batch of one row too.

    Parameters
    ----------
    size : array of shape (K,)
        The absolute differences of the means.
    tolerated : array of shape (K,)
    spreads : two arrays of shape (K,)
        The variances of the batch and of the reference.
    numbers : two of int
        Their numbers of rows.
    """
    of_batch, of_reference = np.maximum(*spreads), spreads[1]
    error = np.sqrt(of_batch / numbers[0] + of_reference / numbers[1])
    scale, freedom = np.maximum(error, np.finfo(np.float64).tiny), max(numbers[1] - 1, 1)
    with np.errstate(over="ignore"):
        p = t.sf((size - tolerated) / scale, freedom) + t.sf((size + tolerated) / scale, freedom)
    return np.minimum(p, 1.0), error


def excess_of_alarms(n_alarms: int, n_rows: int, rate: float, n_calibration: int) -> float:
    """Return the chance of at least so many alarms if a share `rate` of rows like the old ones raises one.

    The threshold was set by n calibration rows, so that the share above it is itself uncertain: it follows a
    beta distribution of weight n + 1.
    """
    rate, weight = min(max(rate, 1e-9), 1 - 1e-9), n_calibration + 1
    return float(betabinom.sf(n_alarms - 1, n_rows, rate * weight, (1 - rate) * weight))


def more_marked(marked: int, n_rows: int, marked_before: int, n_before: int) -> float:
    """Return the chance that so many of all marked rows, or more, are in the batch: Fisher's exact test."""
    total = marked + marked_before
    return float(hypergeom.sf(marked - 1, n_rows + n_before, total, n_rows))


def one_is_new(count: int, n_rows: int, n_before: int) -> float:
    """Return the chance that any value is in so many rows of the batch, or more, and in none before.

    Of one that many rows have, all are in the batch with a chance that depends on nothing else; and no more
    than so many values can be in so many rows.
    """
    n = n_rows + n_before
    return min(1.0, n / count * more_marked(count, n_rows, 0, n_before)) if count else 1.0


def larger_losses(values: Array, reference: Array, strata: tuple[IntArray, IntArray] | None = None) -> float:
    """Return the p-value that values are no larger than those of a reference: by mean, and by rank.

    A permutation test: it holds at any size and for any skew, as long as the values are exchangeable. The
    mean is what is lost, and the rank sees what single large values hide; of both p-values twice the smaller
    one counts. All but the largest are put in groups of like ones, and count by the mean of their group.

    `strata`, of the values and of the reference, tell which are to be exchanged with each other only.
    """
    pooled = np.concatenate([values, reference])
    strata = strata or (np.zeros(len(values), np.intp), np.zeros(len(reference), np.intp))
    stratum, is_new = np.concatenate(strata), np.arange(len(pooled)) < len(values)
    parts = [
        _Exchanged.of(np.stack([pooled, rankdata(pooled)])[:, here], _grouped(pooled[here]), is_new[here])
        for here in (stratum == each for each in np.unique(strata[0]))
    ]
    seen = np.sum([part.seen for part in parts], axis=0)
    smallest = 1 / (sum(_DRAWS) + 1)
    if _largest_chance(parts, seen).min() <= smallest:
        return 2 * smallest
    p = _chance_of(seen, lambda n, rng: np.sum([part.draw(n, rng) for part in parts], axis=0))
    return min(1.0, 2 * p)


def moved_mean(values: Array, reference: Array) -> float:
    """Return the p-value that the mean of values is no other than that of a reference.

    A permutation test by how far it is from the mean of all, for values too few and too skewed for
    Student's t: of n values one is the largest with a chance of 1 / n.
    """
    pooled = np.concatenate([values, reference])
    away, is_new = pooled - pooled.mean(), np.arange(len(pooled)) < len(values)
    _, group = np.unique(2 * _grouped(np.abs(away)) + (away > 0), return_inverse=True)
    part = _Exchanged.of(away[None], group, is_new)
    return _chance_of(np.abs(part.seen), lambda n, rng: np.abs(part.draw(n, rng)))


def _chance_of(seen: Array, draw: Callable[[int, np.random.Generator], Array]) -> float:
    """Return the smallest share of draws that are as large as what was seen, of several sizes at once.

    Parameters
    ----------
    seen : array of shape (k,)
    draw : callable
        Returns so many draws, (n, k).
    """
    rng, n_more, n_done = np.random.default_rng(0), np.zeros(len(seen)), 0
    for n_draws, most in zip(_DRAWS, _ABOVE):
        n_more += (draw(n_draws, rng) >= seen * (1 - _NEARLY)).sum(axis=0)
        n_done += n_draws
        if n_more.min() > most:
            break
    return float((n_more.min() + 1) / (n_done + 1))


@dataclass(frozen=True)
class _Exchanged:
    """Values in groups of like ones, any of which may be those of a batch.

    Attributes
    ----------
    counts : integer array of shape (g,)
        How many values each group has.
    sizes : array of shape (k, g)
        The mean of the values in each, of k kinds.
    n_new : integer array of shape (g,)
        How many of them are of the batch.
    """

    counts: IntArray
    sizes: Array
    n_new: IntArray

    @classmethod
    def of(cls, sizes: Array, group: IntArray, is_new: Array) -> _Exchanged:
        counts = np.bincount(group)
        means = np.stack([np.bincount(group, each) / counts for each in sizes])
        return cls(counts, means, np.bincount(group[is_new], minlength=len(counts)))

    @property
    def seen(self) -> Array:
        """The sums of the batch, (k,)."""
        return np.asarray(self.sizes @ self.n_new)

    @property
    def expected(self) -> Array:
        """The sums to expect, (k,)."""
        return np.asarray(self.n_new.sum() * (self.sizes @ self.counts) / self.counts.sum())

    @property
    def spread(self) -> Array:
        """What bounds how far the sums may be off, (k,)."""
        return np.asarray(np.sqrt(self._n_free) * np.ptp(self.sizes, axis=1))

    @property
    def _n_free(self) -> int:
        return int(min(self.n_new.sum(), (self.counts - self.n_new).sum()))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Return as many sums as they may have been, (n, k)."""
        drawn = rng.multivariate_hypergeometric(
            self.counts,
            int(self.n_new.sum()),
            size=n,
            method="count" if self._n_free <= _COUNTED else "marginals",
        )
        return np.asarray(drawn @ self.sizes.T)


def _largest_chance(parts: list[_Exchanged], seen: Array) -> Array:
    """Return bounds on the chance that sums of the batch are as large as those seen, by Hoeffding.

    They hold without replacement too, and for the rows that are left out as for those that are drawn.
    """
    expected = np.sum([part.expected for part in parts], axis=0)
    excess = np.maximum(seen * (1 - _NEARLY) - expected, 0.0)
    spread = np.maximum(np.hypot.reduce([part.spread for part in parts]), np.finfo(np.float64).tiny)
    return np.asarray(np.exp(-2 * (excess / spread) ** 2))


def _grouped(values: Array) -> IntArray:
    """Return the group of each value, 0, 1 and so on: the largest values are groups of their own.

    The others are cut by how many they are and by what they add up to, half and half: by their number alone,
    a few large ones of the batch would share a group with many small ones, and count as little as these.
    """
    levels, level, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(levels) > _GROUPS:
        alone = _GROUPS // 2
        n_below, sizes = counts[:-alone], levels[:-alone] - levels[0]
        position = (_middles(n_below) + _middles(n_below * sizes)) / 2
        groups = np.minimum((position * alone).astype(np.intp), alone - 1)
        level = np.append(groups, alone + np.arange(alone))[level]
        _, level = np.unique(level, return_inverse=True)
    return np.asarray(level, dtype=np.intp)


def _middles(parts: Array) -> Array:
    """Return where the middle of each part lies if all of them, laid end to end, go from zero to one."""
    ends = np.cumsum(parts, dtype=np.float64)
    return np.asarray((ends - parts / 2) / (ends[-1] if ends[-1] > 0 else 1.0))
