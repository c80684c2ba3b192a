"""Tests and intervals whose levels hold: by how much a batch may differ if its rows are like the others."""

from __future__ import annotations

import numpy as np
from scipy.stats import betabinom, hypergeom, rankdata, t

from gbmap._utils.typing import Array

# Draws of a permutation test: further ones if so many have left it open, by no more than so many above. The
# smallest p-value is one in ten thousand.
_DRAWS, _ABOVE = (199, 800, 9_000), (40, 100, np.inf)
_GROUPS = 128  # different values that count in it; half of them are the largest, one by one
_RESAMPLES = 1_000  # of an interval
_MOST_PAIRS = 256  # different rows that count in these
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


def larger_losses(values: Array, reference: Array) -> float:
    """Return the p-value that values are no larger than those of a reference: by mean, and by rank.

    A permutation test: it holds at any size and for any skew, as long as the values are exchangeable. The
    mean is what is lost, and the rank sees what single large values hide; of both p-values twice the smaller
    one counts. All but the largest are put in groups of like ones, and count by the mean of their group.
    """
    n = len(values)
    pooled = np.concatenate([values, reference])
    group, counts = _grouped(pooled)
    n_groups = len(counts)
    size = np.stack([np.bincount(group, each) / counts for each in (pooled, rankdata(pooled))])
    seen = size @ np.bincount(group[:n], minlength=n_groups)
    rng, n_more = np.random.default_rng(0), np.zeros(2)
    n_done = 0
    for n_draws, most in zip(_DRAWS, _ABOVE):
        drawn = rng.multivariate_hypergeometric(counts, n, size=n_draws, method="marginals")
        n_more += ((drawn @ size.T) >= seen * (1 - _NEARLY)).sum(axis=0)
        n_done += n_draws
        if n_more.min() > most:
            break
    return min(1.0, 2 * float((n_more.min() + 1) / (n_done + 1)))


def _grouped(values: Array) -> tuple[Array, Array]:
    """Return the group of each value, and how many each has: the largest values are groups of their own."""
    _, level = np.unique(values, return_inverse=True)
    n_levels = level.max() + 1
    if n_levels > _GROUPS:
        alone = _GROUPS // 2
        below = np.cumsum(np.bincount(level))[: n_levels - alone]
        groups = np.minimum((below - 1) * alone // below[-1], alone - 1)
        level = np.append(groups, alone + np.arange(alone))[level]
        _, level = np.unique(level, return_inverse=True)
    return level, np.bincount(level)


def ratio_interval(losses: Array, expected: Array, n_rows: float, confidence: float) -> tuple[float, float]:
    """Return by what to multiply the expected mean loss of a batch for an interval of its mean.

    Calibration rows say how losses scatter around what was expected of them. Pairs of both are drawn anew,
    as a calibration and as a batch, and their difference is divided by its standard error: Student's
    bootstrap, which follows the skew. The upper end is that of Student's t at least, since few rows of two
    values may all be drawn alike.

    Parameters
    ----------
    losses, expected : arrays of shape (n,)
        Of calibration rows; what was expected of each was found without it.
    n_rows : float
        Of the batch: so many rows of the same expected loss scatter as much.
    confidence : float
    """
    n, m = len(losses), max(1, round(n_rows))
    if n < 2 or expected.sum() <= 0:
        return 1.0, 1.0
    losses, expected, share = _pairs(losses, expected)
    rest = losses - share @ losses / (share @ expected) * expected
    level = share @ expected
    spread = np.sqrt(share @ rest**2 * n / (n - 1) * (1 / n + 1 / m)) / level
    if not spread > 0:
        return 1.0, 1.0
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n, share, size=_RESAMPLES)
    of_before = _ratio(counts, losses, expected)
    of_after = _ratio(rng.multinomial(m, share, size=_RESAMPLES), losses, expected)
    error = _error(counts, losses, expected, of_before) * np.sqrt(1 / n + 1 / m)
    some = (error > 0) & (of_before > 0)
    half = float(t.ppf((1 + confidence) / 2, n - 1))
    if some.sum() < _RESAMPLES / 2:
        return float(np.exp(-half * spread)), 1 + half * spread
    before, after, error = of_before[some], of_after[some], error[some]
    upper = np.quantile((after - before) / error, (1 + confidence) / 2)
    logs = np.log(np.maximum(after, np.finfo(np.float64).tiny) / before)
    lower = np.quantile(logs * before / error, (1 - confidence) / 2)
    return float(np.exp(min(lower, 0.0) * spread)), float(1 + max(upper, half) * spread)


def _pairs(losses: Array, expected: Array) -> tuple[Array, Array, Array]:
    """Return losses, expected losses and the shares of rows that have them: of many, small ones by groups."""
    n = len(losses)
    if n <= _MOST_PAIRS:
        return losses, expected, np.full(n, 1 / n)
    order, alone = np.argsort(losses, kind="stable"), _MOST_PAIRS // 2
    group = np.append(np.arange(n - alone) * alone // (n - alone), alone + np.arange(alone))
    counts = np.bincount(group)
    return (
        np.bincount(group, losses[order]) / counts,
        np.bincount(group, expected[order]) / counts,
        counts / n,
    )


def _ratio(counts: Array, losses: Array, expected: Array) -> Array:
    below = counts @ expected
    return np.divide(counts @ losses, below, out=np.ones(len(counts)), where=below > 0)


def _error(counts: Array, losses: Array, expected: Array, ratio: Array) -> Array:
    """Return the standard deviation of the losses around what is expected, over the mean of this."""
    n = counts.sum(axis=1)
    squares = (
        counts @ losses**2 - 2 * ratio * (counts @ (losses * expected)) + ratio**2 * (counts @ expected**2)
    )
    below = counts @ expected / n
    error = np.sqrt(np.maximum(squares, 0.0) / np.maximum(n - 1, 1))
    return np.divide(error, below, out=np.zeros(len(counts)), where=below > 0)
