"""A learner's half-space in words: a few terms, named, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.terms import Terms
from gbmap._utils.sampling import sample_rows
from gbmap._utils.typing import Array, IntArray

# Terms of less than this share of the largest, in standard deviations, are not worth a reader's time.
_WORTH_SAYING = 0.05
_SAMPLE_NUMBERS = 1 << 20  # in the rows that words are fitted to: 8 MB


def half_space(
    fitted: FittedModel, learner: int, *, n_terms: int = 3, active: bool = True, rows: Array | None = None
) -> str:
    """Return the half-space on which a learner is active (or not), such as "income - 0.3 age > 20".

    The terms are the inputs of the largest weight in standard deviations, with the other inputs at their
    training means; with `rows` of `standard_rows`, those that best tell there where the learner is active. A
    column that bends is one term, told by its slope on average.
    It is "everywhere" or "nowhere" for a learner without weights, and for the identity activation, whose
    learners are active everywhere.
    """
    return HalfSpace.of(fitted, learner, rows, n_terms=n_terms).words(active=active)


@dataclass(frozen=True)
class HalfSpace:
    """A learner's half-space as it is written: sum_k coefficient_k * value_k > threshold, or < threshold.

    A value is that of the user's column, or for a category or a mark of missing values 1 or 0. The numbers
    are rounded as they are written, so that what is measured of the words holds for the words.

    Attributes
    ----------
    terms : Terms
        k of them.
    coefficients : array of shape (k,)
        The first is one.
    threshold : float
        Infinite, of either sign, for a half-space without terms.
    is_above : bool
        Whether the learner is active above the threshold, or below it.
    """

    terms: Terms
    coefficients: Array
    threshold: float
    is_above: bool

    @classmethod
    def of(
        cls, fitted: FittedModel, learner: int, rows: Array | None = None, *, n_terms: int = 3
    ) -> HalfSpace:
        """Return the half-space on which a learner is active, in at most so many terms.

        Parameters
        ----------
        fitted : FittedModel
        learner : int
        rows : array of shape (n, q), default=None
            Standard rows on which the terms are to follow w . x + c, so that one column may stand
            for others that go with it. Without rows columns count as independent.
        n_terms : int, default=3
        """
        ensemble, terms = fitted.ensemble, Terms.of(fitted)
        weights = ensemble.weights[learner]
        at_mean = ensemble.offsets[learner] + weights @ fitted.input_mean
        rows = np.empty((0, len(weights))) if rows is None else rows
        usable = (terms.columns.slope != 0) & (ensemble.activation != "identity")
        of_terms = rows if terms.is_plain else terms.standard(rows * fitted.input_scale + fitted.input_mean)
        part = weights * fitted.input_scale
        kept, slopes = _choose(part, terms, usable, rows @ part, of_terms, n_terms)
        is_bent, terms = not terms.is_plain, terms.take(kept)
        if len(kept) == 0:
            is_everywhere = ensemble.activation == "identity" or at_mean > 0
            return cls(terms, slopes, -np.inf if is_everywhere else np.inf, True)
        slopes = slopes / terms.scale * terms.columns.slope
        coefficients = np.array([float(f"{c:.2g}") for c in slopes / slopes[0]])
        at_means = (terms.mean - terms.columns.offset) / terms.columns.slope
        threshold = coefficients @ at_means - at_mean / slopes[0]
        spread = terms.scale[0] / abs(terms.columns.slope[0])
        is_above = bool(slopes[0] > 0)
        if is_bent and len(rows):
            places = coefficients @ (at_means + of_terms[:, kept] * terms.scale / terms.columns.slope).T
            threshold = _best_threshold(places, (at_mean + rows @ part > 0) == is_above, threshold)
        return cls(terms, coefficients, _rounded(threshold, spread), is_above)

    @property
    def inputs(self) -> IntArray:
        """The inputs of the terms, the first of each, of shape (k,)."""
        return np.array([part[0] for part in self.terms.parts], dtype=np.intp)

    def holds(self, inputs: Any) -> Array:
        """Return whether each row of the GBMAP's inputs, (n, q), lies in the half-space as written."""
        return self._is_active(self.terms.values(inputs) @ self.coefficients)

    def words(self, *, active: bool = True) -> str:
        """Return the half-space, or if not `active` its complement, as a short text."""
        n_terms = len(self.coefficients)
        if n_terms == 0 or (n_terms == 1 and self.terms.columns.kind[0] != "number"):
            return self._of_two_values(active)
        named = zip(self.coefficients, self.terms.names)
        terms = [_term(coefficient, name, first=i == 0) for i, (coefficient, name) in enumerate(named)]
        sign = {(True, True): ">", (True, False): "<=", (False, True): "<", (False, False): ">="}
        return f"{' '.join(terms)} {sign[self.is_above, active]} {self.threshold:.15g}"

    def _of_two_values(self, active: bool) -> str:
        """Return the words for no term, or for one that is 1 or 0, such as "city=Oslo" or "not city=Oslo"."""
        at_zero, at_one = (bool(self._is_active(value)) == active for value in (0.0, 1.0))
        if at_zero == at_one:
            return "everywhere" if at_zero else "nowhere"
        return f"{'' if at_one else 'not '}{self.terms.names[0]}"

    def _is_active(self, value: Any) -> Any:
        return value > self.threshold if self.is_above else value < self.threshold


def standard_rows(fitted: FittedModel, inputs: Any) -> Array:
    """Return some of the inputs, drawn at random but the same each time, in standard units."""
    n, q = inputs.shape
    chosen = sample_rows(n, max(1, _SAMPLE_NUMBERS // q), 0)
    return (dense(inputs[chosen]) - fitted.input_mean) / fitted.input_scale


def _choose(
    weights: Array, terms: Terms, usable: Array, projections: Array, rows: Array, n_terms: int
) -> tuple[IntArray, Array]:
    """Return a few of the terms, and coefficients with which they follow w . x over standard rows.

    Orthogonal matching pursuit on the covariance of the rows, to which as many rows as there are terms
    are added that know nothing of each other: a few rows say little about how columns go together. The
    inputs of one column do go together in them.
    """
    n, r = rows.shape
    of_terms = terms.collect(weights)
    variance = (np.square(rows).sum(axis=0) + r) / (n + r)
    size = terms.collect(np.abs(weights)) * usable
    usable = (size > 0) & (size >= _WORTH_SAYING * size.max())
    kept, of_kept = list[int](), np.empty((0, r))
    coefficients: Array = np.empty(0)
    target = left = (rows.T @ projections + r * of_terms) / (n + r)
    total = (projections @ projections + r * (of_terms @ of_terms)) / (n + r)
    while len(kept) < n_terms:
        explains = np.where(usable, left**2 / variance, 0.0)
        best = int(np.argmax(explains))
        if explains[best] <= _WORTH_SAYING**2 * total:
            break
        kept.append(best)
        of_best = (rows.T @ rows[:, best] + r * np.eye(1, r, best)[0]) / (n + r)
        of_kept = np.vstack([of_kept, of_best])
        coefficients = np.linalg.solve(of_kept[:, kept], target[kept])
        left = target - coefficients @ of_kept
    order = np.argsort(-np.abs(coefficients), kind="stable")
    return np.array(kept, dtype=np.intp)[order], coefficients[order]


def _best_threshold(places: Array, is_active: Array, first: float) -> float:
    """Return the threshold that tells the most rows rightly, active above and not below: the next to a first.

    Where columns bend, w . x + c is no straight line of the terms, and its mean tells little of its sign.
    """
    values, group = np.unique(places, return_inverse=True)
    gained = np.cumsum(np.bincount(group, np.where(is_active, -1, 1)))  # by all up to a value left out
    right = np.append(0, gained)
    ends = np.concatenate([values[:1] - np.ptp(values), values, values[-1:] + np.ptp(values)])
    candidates = (ends[1:] + ends[:-1]) / 2
    best = candidates[right == right.max()]
    return float(best[np.argmin(np.abs(best - first))])


def _rounded(value: float, spread: float) -> float:
    """Return a number to within a hundredth of a spread."""
    return round(float(value), 2 - int(np.floor(np.log10(spread)))) + 0.0


def _term(coefficient: float, name: str, *, first: bool) -> str:
    sign = "- " if coefficient < 0 else "" if first else "+ "
    factor = "" if abs(coefficient) == 1 else f"{abs(coefficient):.15g} "
    return f"{sign}{factor}{name}"
