"""The two sides of a comparison, a batch and the reference rows: what is kept of many rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._fitted.model import dense
from gbmap._fitted.patterns import patterns_of
from gbmap._utils.scikit_learn import num_samples
from gbmap._utils.typing import Array
from gbmap.drift._drifter import Drifter, chunks

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
    def of_batch(cls, drifter: Drifter, X: Any) -> Side:
        """Return the side of new rows, read chunk by chunk."""
        monitored = drifter.monitored

        def read(rows: Any) -> tuple[Any, Array, Array]:
            inputs = monitored.fitted.read(rows)
            phi = monitored.embed(inputs)
            return inputs, phi, monitored.score(rows, phi)

        return cls._of(drifter, num_samples(X), map(read, chunks(X)))

    @classmethod
    def of_reference(cls, drifter: Drifter) -> Side:
        """Return the side of the reference rows."""
        parts = drifter.inputs, drifter.neighbours.phi, drifter.scores
        return cls._of(drifter, len(drifter.scores), zip(*map(chunks, parts)))

    @classmethod
    def _of(cls, drifter: Drifter, n: int, parts: Iterable[tuple[Any, Array, Array]]) -> Side:
        fitted, center = drifter.monitored.fitted, _mean_row(drifter.inputs)
        ensemble, n_outputs = fitted.ensemble, fitted.ensemble.n_outputs
        scores, phi, patterns, shares = [], [], [], np.zeros_like(ensemble.weights.T)
        for (inputs, of_rows, score), is_kept in zip(
            parts, chunks(_sample(n, _KEPT_NUMBERS // len(ensemble)))
        ):
            scores.append(score)
            phi.append(of_rows[is_kept])
            patterns.append([patterns_of(fitted, ensemble[k::n_outputs], inputs) for k in range(n_outputs)])
            shares += _sum_of_shares(ensemble, inputs, center)
        joined = [np.concatenate(of_output) for of_output in zip(*patterns)]
        return cls(np.concatenate(scores), np.concatenate(phi), joined, shares / n)

    @property
    def mean(self) -> Array:
        """The mean of h, of shape (K,)."""
        mean: Array = self.scores.mean(axis=0)
        return mean

    @property
    def variance(self) -> Array:
        """The variance of h, of shape (K,); zero for one row."""
        variance: Array = self.scores.var(axis=0, ddof=min(1, len(self.scores) - 1))
        return variance


def _sample(n: int, size: int) -> Array:
    """Return which of n rows are in a sample, the same each time, as a boolean array."""
    is_kept = np.ones(n, dtype=bool)
    if n > size:
        is_kept[np.random.default_rng(0).choice(n, n - max(size, 1), replace=False)] = False
    return is_kept


def _sum_of_shares(ensemble: Ensemble, inputs: Any, center: Array) -> Array:
    """Return the sum over rows of (x_k - c_k) w_jk b_j (g(z_j) - g(z'_j)) / (z_j - z'_j), of shape (q, M).

    Summed over k it is f_j(x) - f_j(c), over j the integrated gradients from the center c.
    """
    total, at_center = np.zeros_like(ensemble.weights.T), ensemble.project(center[None])
    size = max(1, _WORK_NUMBERS // max(total.shape))
    for start in range(0, inputs.shape[0], size):
        rows = dense(inputs[start : start + size])
        total += (rows - center).T @ ensemble.secants(ensemble.project(rows), at_center)
    shares: Array = total * ensemble.weights.T
    return shares


def _mean_row(inputs: Any) -> Array:
    return np.asarray(inputs.mean(axis=0, dtype=np.float64)).reshape(-1)
