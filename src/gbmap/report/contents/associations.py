"""How closely columns go together: numbers by their ranks, categories by how much they tell of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from gbmap._utils.typing import Array


@dataclass(frozen=True)
class Ranks:
    """The ranks of numbers, centred and scaled to a variance of one, or codes of categories from 0 on."""

    values: Array  # zero for a missing number, -1 for a missing category
    is_known: Array
    is_number: bool

    @classmethod
    def of_numbers(cls, values: Array) -> Ranks:
        """Return the ranks of numbers, NaN where they are missing."""
        known = np.isfinite(values)
        ranks = np.zeros(len(values))
        if known.any():
            ranks[known] = rankdata(values[known])
            ranks[known] -= ranks[known].mean()
            ranks /= np.sqrt(np.square(ranks[known]).mean()) or 1.0
        return cls(ranks, known, True)

    @classmethod
    def of_codes(cls, codes: Array) -> Ranks:
        """Return categories, -1 where they are missing."""
        return cls(codes, codes >= 0, False)


def rank_correlations(columns: list[Ranks]) -> Array:
    """Return the correlations of the ranks of numbers, over the rows that have both; NaN without any."""
    values = np.array([each.values for each in columns]).T
    known = np.array([each.is_known for each in columns], dtype=float).T
    squares = np.square(values).T @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = (values.T @ values) / np.sqrt(squares * squares.T)
    return found


def association(one: Ranks, other: Ranks) -> float:
    """Return how closely two columns go together: signed for two numbers, else from 0 to 1.

    Of two numbers, Spearman's rank correlation. Of categories and a number, the root of the share of the
    variance of the ranks that lies between categories (the correlation ratio). Of categories, Cramer's V.
    The latter two are corrected for what chance alone brings with many categories. NaN if one is constant.
    """
    if one.is_number and other.is_number:
        return float(rank_correlations([one, other])[0, 1])
    both = one.is_known & other.is_known
    if one.is_number or other.is_number:
        number, codes = (one, other) if one.is_number else (other, one)
        return _correlation_ratio(number.values[both], codes.values[both])
    return _cramers_v(one.values[both], other.values[both])


def _correlation_ratio(values: Array, codes: Array) -> float:
    n, codes = len(values), np.unique(codes, return_inverse=True)[1]
    counts = np.bincount(codes)
    values = values - values.mean() if n else values
    total = np.square(values).sum()
    if len(counts) < 2 or n <= len(counts) or total == 0:
        return np.nan
    between = (np.square(np.bincount(codes, values)) / counts).sum() / total
    return float(np.sqrt(max(0.0, 1 - (1 - between) * (n - 1) / (n - len(counts)))))


def _cramers_v(one: Array, other: Array) -> float:
    """Return Cramer's V as Bergsma corrects it."""
    one, other = (np.unique(each, return_inverse=True)[1] for each in (one, other))
    n = len(one)
    r, k = (int(each.max(initial=-1)) + 1 for each in (one, other))
    if min(r, k) < 2 or n < 2:
        return np.nan
    counts = np.bincount(one * k + other, minlength=r * k).reshape(r, k)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    phi = max(0.0, (np.square(counts - expected) / expected).sum() / n - (r - 1) * (k - 1) / (n - 1))
    smaller = min(each - (each - 1) ** 2 / (n - 1) for each in (r, k)) - 1
    return float(np.sqrt(min(1.0, phi / smaller))) if smaller > 0 else np.nan
