"""The random direction u of synth-cos: the share of the target's variance that its largest columns hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

# A cosine is even: a learner for each side. So m coordinates of single columns are those of m / 2 columns.
SIDES = 2
# The norm of the coefficients, and the variance of the cosine of a standard normal number.
ALPHA, COSINE_VARIANCE = 5.0, (1 + np.exp(-2)) / 2 - np.exp(-1)


def largest_shares(p: int, seed: int, sizes: tuple[int, ...]) -> dict[str, float]:
    """The share of the m / 2 largest columns for every m: that of u^2, since all cosines vary equally."""
    squares = np.sort(direction(p, seed) ** 2)[::-1]
    shares = np.cumsum(squares) / squares.sum()
    return {str(m): round(float(shares[m // SIDES - 1]), 4) for m in sizes}


def accuracy_by(share: float) -> float:
    """How many labels of synth-cos-c a part of the score with so much of its variance tells, by its sign.

    The part and the rest are taken for normal, as sums of many cosines nearly are.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    known, rest = np.meshgrid(np.sqrt(share) * nodes, np.sqrt(1 - share) * nodes, indexing="ij")
    positive = expit(ALPHA * np.sqrt(COSINE_VARIANCE) * (known + rest))
    right = np.where(known > 0, positive, 1 - positive)
    together = np.outer(weights, weights)
    return float((right * together).sum() / together.sum())


def direction(p: int, seed: int) -> NDArray[np.float64]:
    """u times a constant, found from the columns before rotation: it depends on the seed alone."""
    from gbmap.datasets import make_synth_cos

    X, y = make_synth_cos(5 * p, p, random_state=seed)
    cosines = np.cos(X)
    found: NDArray[np.float64] = np.linalg.lstsq(cosines - cosines.mean(axis=0), y - y.mean(), rcond=None)[0]
    return found
