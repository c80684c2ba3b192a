"""By how much the mean loss of a batch may differ from what is expected, if nothing has changed.

Losses are skewed, and their largest ones decide about the mean: a calibration of n rows has not met the loss
that one row in 2 n has. So beyond the largest tenths the losses follow a generalised Pareto distribution, as
large values of nearly all distributions do (Pickands; Balkema and de Haan), and how heavy it is remains
uncertain. What a batch may hold is drawn from the posterior: by the heaviness of the tail, the share of rows
in it, the weights of all others (Rubin's Bayesian bootstrap), and the batch itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.typing import Array, IntArray

_DRAWS = 1_000
# The tail: a share of rows within bounds. Settled on squared t4, Laplace and lognormal (0.7) errors, absolute
# normal ones and Weibull draws, as was the prior of its heaviness: 0 is exponential, from 0.5 on there is no
# variance, from 1 on no mean.
_TAIL_SHARE, _FEWEST, _MOST = 0.2, 6, 100
_HEAVINESS = np.linspace(-0.4, 1.2, 17)
_USUAL, _SPREAD = 0.4, 0.3
_SCALES = np.exp(np.linspace(-1.8, 1.2, 21))  # in units of the mean excess
_MOST_BODY = 64  # groups of like losses below the tail
_NEARLY = 1e-9  # by which a heaviness is zero
_ROUND = 1e-4  # what stands for it then: differences of its powers keep eight digits
_SINGLE = 250  # rows of the tail that are drawn one by one


def ratio_interval(losses: Array, expected: Array, n_rows: float, confidence: float) -> tuple[float, float]:
    """Return by what to multiply the expected mean loss of a batch for an interval of its mean.

    Parameters
    ----------
    losses, expected : arrays of shape (n,)
        Of calibration rows; what was expected of each was found without it.
    n_rows : float
        Of the batch: so many rows of the same expected loss scatter as much.
    confidence : float
    """
    n, m = len(losses), max(1, round(n_rows))
    if n < 2 or expected.sum() <= 0 or losses.min() == losses.max():
        return 1.0, 1.0
    rng = np.random.default_rng(0)
    body, tail = _cut(losses, expected)
    in_tail = np.zeros(_DRAWS, dtype=np.intp)
    lost = more = np.zeros(_DRAWS)
    if tail is not None:
        in_tail = rng.binomial(m, rng.beta(len(tail.excess) + 0.5, body.n + 0.5, size=_DRAWS))
        lost, more = tail.draw(in_tail, rng)
    drawn, likely = body.draw(m - in_tail, rng)
    lost, more = lost + drawn, more + likely
    ratios = np.divide(lost, more, out=np.ones(_DRAWS), where=more > 0)
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return min(float(low), 1.0), max(float(high), 1.0)


def _cut(losses: Array, expected: Array) -> tuple[_Body, _Tail | None]:
    """Return the rows below the largest losses, and these; all of them if losses tie."""
    order = np.argsort(losses, kind="stable")
    losses, expected = losses[order], expected[order]
    n = len(losses)
    k = int(np.clip(round(n * _TAIL_SHARE), min(_FEWEST, n // 2), _MOST))
    excess = losses[n - k :] - losses[n - k - 1]
    if len(np.unique(excess)) <= k / 2 or excess.mean() <= np.finfo(np.float64).tiny:
        # Half a row of the least and of the largest loss: Jeffreys' prior for two values.
        ends = np.array([0, n - 1])
        weights = np.append(np.ones(n), [0.5, 0.5])
        return _Body.of(np.append(losses, losses[ends]), np.append(expected, expected[ends]), weights), None
    body = _Body.of(losses[: n - k], expected[: n - k], np.ones(n - k))
    return body, _Tail(float(losses[n - k - 1]), excess, expected[n - k :])


@dataclass(frozen=True)
class _Body:
    """Losses that were met, in groups of like ones.

    Attributes
    ----------
    losses, expected : arrays of shape (g,)
        Their means.
    weights : array of shape (g,)
        How many rows each stands for.
    """

    losses: Array
    expected: Array
    weights: Array

    @classmethod
    def of(cls, losses: Array, expected: Array, weights: Array) -> _Body:
        """Group losses that come in their order."""
        order = np.argsort(losses, kind="stable")
        group = np.arange(len(losses)) * min(len(losses), _MOST_BODY) // len(losses)
        total = np.bincount(group, weights[order])
        sums = [np.bincount(group, (weights * each)[order]) for each in (losses, expected)]
        return cls(sums[0] / total, sums[1] / total, total)

    @property
    def n(self) -> float:
        """The rows."""
        return float(self.weights.sum())

    def draw(self, counts: IntArray, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return sums of losses and of expected ones, over so many rows in each draw."""
        rows = rng.multinomial(counts, rng.dirichlet(self.weights, size=len(counts)))
        return rows @ self.losses, rows @ self.expected


@dataclass(frozen=True)
class _Tail:
    """The largest losses.

    Attributes
    ----------
    begin : float
        The loss at which it begins.
    excess : array of shape (k,)
        By how much losses exceed it.
    expected : array of shape (k,)
        What was expected of these.
    """

    begin: float
    excess: Array
    expected: Array

    def draw(self, counts: IntArray, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return sums of losses and of expected ones, over so many rows in each draw.

        The largest rows are drawn one by one: n exponential variables by size are minus the logarithms of
        G_j / G_(n + 1), where G_j is the sum of j others. The rest, which are iid below the last of them,
        come as their sum, a normal one by then. So a batch of any size takes bounded memory.
        """
        heaviness, scale = self._posterior(len(counts), rng)
        shape = np.where(np.abs(heaviness) < _NEARLY, _ROUND, heaviness)[:, None]
        single = np.minimum(counts, _SINGLE)
        is_drawn = np.arange(single.max()) < single[:, None]
        sums = np.cumsum(rng.exponential(size=is_drawn.shape) * is_drawn, axis=1)
        total = sums[:, -1:] + rng.gamma(counts - single + 1.0)[:, None]
        largest = -np.log(np.maximum(sums / total, np.finfo(np.float64).tiny))
        with np.errstate(over="ignore"):
            excess = np.where(is_drawn, np.expm1(shape * largest) / shape, 0.0).sum(axis=1)
            excess += _sum_below(largest[:, -1], shape[:, 0], counts - single, rng)
        picked = rng.integers(len(self.expected), size=is_drawn.shape)
        expected = np.where(is_drawn, self.expected[picked], 0.0).sum(axis=1)
        expected += _normal_sum(self.expected.mean(), self.expected.var(), counts - single, rng)
        return self.begin * counts + scale * excess, expected

    def _posterior(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return draws of the heaviness of the tail and of its scale."""
        scales = self.excess.mean() * _SCALES
        shapes = np.where(np.abs(_HEAVINESS) < _NEARLY, _NEARLY, _HEAVINESS)[:, None]
        inside = 1 + shapes[:, :, None] * (self.excess / scales[:, None])
        is_possible = inside.min(axis=2) > 0  # a light tail has an end
        logs = np.log(np.maximum(inside, np.finfo(np.float64).tiny)).sum(axis=2)
        likelihood = -len(self.excess) * np.log(_SCALES) - (1 + 1 / shapes) * logs
        prior = -(((shapes - _USUAL) / _SPREAD) ** 2) / 2
        density = np.where(is_possible, likelihood + prior, -np.inf)
        chance = np.exp(density - density.max()).ravel()
        picked = rng.choice(len(chance), size=n, p=chance / chance.sum())
        return _HEAVINESS[picked // len(_SCALES)], scales[picked % len(_SCALES)]


def _sum_below(end: Array, shape: Array, counts: IntArray, rng: np.random.Generator) -> Array:
    """Return sums of so many excesses, of scale one, whose exponential variables lie below an end."""
    end = np.where(counts > 0, end, 1.0)
    whole, once, twice = (_integral(1 - k * shape, end) for k in range(3))
    mean = (once - whole) / shape / whole
    square = (twice - 2 * once + whole) / shape**2 / whole
    return _normal_sum(mean, np.maximum(square - mean**2, 0.0), counts, rng)


def _integral(rate: Array, end: Array) -> Array:
    """Return the integral of exp(-rate x) from zero to an end."""
    safe = np.where(np.abs(rate) < _NEARLY, 1.0, rate)
    return np.where(np.abs(rate) < _NEARLY, end, -np.expm1(-safe * end) / safe)


def _normal_sum(mean: Any, variance: Any, counts: IntArray, rng: np.random.Generator) -> Array:
    return counts * mean + np.sqrt(counts * variance) * rng.standard_normal(len(counts))
