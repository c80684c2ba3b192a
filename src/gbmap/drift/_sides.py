"""The two sides of a comparison, a batch and the reference rows: what is kept of many rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._fitted.model import dense
from gbmap._fitted.patterns import patterns_of_projections
from gbmap._utils.typing import Array
from gbmap.drift._monitored import ScoredRows, chunks

_KEPT_NUMBERS = 1 << 25  # of the embedding of either side, to sort: 256 MB
_WORK_NUMBERS = 1 << 18  # per block of rows: its temporaries stay in the cache


@dataclass(frozen=True)
class Side:
    """The rows of the batch, or of the reference.

    Attributes
    ----------
    scores : array of shape (n, K)
        h.
    phi : array of shape (n', M)
        The embedding of all rows, or if they are many of a sample.
    patterns : list of K arrays of shape (n,)
        Which of an output's learners are active, as strings of bits.
    shares : array of shape (q, M)
        The share of each input in f_j less that of the mean reference row, on average.
    """

    scores: Array
    phi: Array
    patterns: list[Array]
    shares: Array

    @classmethod
    def of(cls, ensemble: Ensemble, center: Array, n: int, parts: Iterable[ScoredRows]) -> Side:
        """Return the side of n rows that come in chunks, given the mean reference row."""
        n_outputs = ensemble.n_outputs
        scores, phi, patterns, shares = [], [], [], np.zeros_like(ensemble.weights.T)
        for rows, is_kept in zip(parts, chunks(_sample(n, _KEPT_NUMBERS // len(ensemble)))):
            scores.append(rows.scores)
            phi.append(rows.phi[is_kept])
            patterns.append(
                [
                    patterns_of_projections(ensemble[k::n_outputs], rows.z[:, k::n_outputs])
                    for k in range(n_outputs)
                ]
            )
            shares += _sum_of_shares(ensemble, rows, center)
        joined = [np.concatenate(of_output) for of_output in zip(*patterns)]
        return cls(np.concatenate(scores), np.concatenate(phi), joined, shares / n)

    @property
    def mean(self) -> Array:
        """The mean of h, of shape (K,)."""
        return self.scores.mean(axis=0)

    @property
    def variance(self) -> Array:
        """The variance of h, of shape (K,); zero for one row."""
        return self.scores.var(axis=0, ddof=min(1, len(self.scores) - 1))


def _sample(n: int, size: int) -> Array:
    """Return which of n rows are in a sample, the same each time, as a boolean array."""
    is_kept = np.ones(n, dtype=bool)
    if n > size:
        is_kept[np.random.default_rng(0).choice(n, n - max(size, 1), replace=False)] = False
    return is_kept


def _sum_of_shares(ensemble: Ensemble, rows: ScoredRows, center: Array) -> Array:
    """Return the sum over rows of (x_k - c_k) w_jk b_j (g(z_j) - g(z'_j)) / (z_j - z'_j), of shape (q, M).

    Summed over k it is f_j(x) - f_j(c), over j the integrated gradients from the center c.
    """
    total, at_center = np.zeros_like(ensemble.weights.T), ensemble.project(center[None])
    size = max(1, _WORK_NUMBERS // max(total.shape))
    for start in range(0, len(rows.z), size):
        some = slice(start, start + size)
        total += (dense(rows.inputs[some]) - center).T @ ensemble.secants(rows.z[some], at_center)
    return total * ensemble.weights.T
