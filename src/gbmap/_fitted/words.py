"""A learner's half-space in words: a few terms, named, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._fitted.columns import Columns
from gbmap._fitted.model import FittedModel, dense
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
    training means; with `rows` of `standard_rows`, those that best tell there where the learner is active.
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
    inputs : integer array of shape (k,)
        The inputs of the terms.
    columns : Columns
        Those of the terms.
    names : array of shape (k,)
    coefficients : array of shape (k,)
        The first is one.
    threshold : float
        Infinite, of either sign, for a half-space without terms.
    is_above : bool
        Whether the learner is active above the threshold, or below it.
    """

    inputs: IntArray
    columns: Columns
    names: Array
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
        ensemble, mean, scale = fitted.ensemble, fitted.input_mean, fitted.input_scale
        weights = ensemble.weights[learner]
        at_mean = ensemble.offsets[learner] + weights @ mean
        rows = np.empty((0, len(weights))) if rows is None else rows
        usable = (fitted.columns.slope != 0) & (ensemble.activation != "identity")
        kept, slopes = _terms(weights * scale, usable, rows, n_terms)
        columns, names = fitted.columns.take(kept), fitted.input_names[kept]
        if len(kept) == 0:
            is_everywhere = ensemble.activation == "identity" or at_mean > 0
            return cls(kept, columns, names, slopes, -np.inf if is_everywhere else np.inf, True)
        slopes = slopes / scale[kept] * columns.slope
        coefficients = np.array([float(f"{c:.2g}") for c in slopes / slopes[0]])
        threshold = coefficients @ ((mean[kept] - columns.offset) / columns.slope) - at_mean / slopes[0]
        spread = scale[kept[0]] / abs(columns.slope[0])
        return cls(kept, columns, names, coefficients, _rounded(threshold, spread), bool(slopes[0] > 0))

    def holds(self, inputs: Any) -> Array:
        """Return whether each row of the GBMAP's inputs, (n, q), lies in the half-space as written."""
        values = (dense(inputs[:, self.inputs]) - self.columns.offset) / self.columns.slope
        return self._is_active(values @ self.coefficients)

    def words(self, *, active: bool = True) -> str:
        """Return the half-space, or if not `active` its complement, as a short text."""
        if len(self.inputs) == 0 or (len(self.inputs) == 1 and self.columns.kind[0] != "number"):
            return self._of_two_values(active)
        named = zip(self.coefficients, self.names)
        terms = [_term(coefficient, name, first=i == 0) for i, (coefficient, name) in enumerate(named)]
        sign = {(True, True): ">", (True, False): "<=", (False, True): "<", (False, False): ">="}
        return f"{' '.join(terms)} {sign[self.is_above, active]} {self.threshold:.15g}"

    def _of_two_values(self, active: bool) -> str:
        """Return the words for no term, or for one that is 1 or 0, such as "city=Oslo" or "not city=Oslo"."""
        at_zero, at_one = (bool(self._is_active(value)) == active for value in (0.0, 1.0))
        if at_zero == at_one:
            return "everywhere" if at_zero else "nowhere"
        return f"{'' if at_one else 'not '}{self.names[0]}"

    def _is_active(self, value: Any) -> Any:
        return value > self.threshold if self.is_above else value < self.threshold


def standard_rows(fitted: FittedModel, inputs: Any) -> Array:
    """Return some of the inputs, drawn at random but the same each time, in standard units."""
    n, q = inputs.shape
    chosen = sample_rows(n, max(1, _SAMPLE_NUMBERS // q), 0)
    return (dense(inputs[chosen]) - fitted.input_mean) / fitted.input_scale


def _terms(weights: Array, usable: Array, rows: Array, n_terms: int) -> tuple[IntArray, Array]:
    """Return a few of the inputs, and coefficients with which they follow w . x over standard rows.

    Orthogonal matching pursuit on the covariance of the rows, to which as many rows as there are columns
    are added that know nothing of each other: a few rows say little about how columns go together.
    """
    q = len(weights)

    def covary(direction: Array) -> Array:
        return (rows.T @ (rows @ direction) + q * direction) / (len(rows) + q)

    variance = (np.square(rows).sum(axis=0) + q) / (len(rows) + q)
    size = np.abs(weights) * usable
    usable = (size > 0) & (size >= _WORTH_SAYING * size.max())
    kept, of_kept = list[int](), np.empty((0, q))
    coefficients: Array = np.empty(0)
    target = left = covary(weights)
    while len(kept) < n_terms:
        explains = np.where(usable, left**2 / variance, 0.0)
        best = int(np.argmax(explains))
        if explains[best] <= _WORTH_SAYING**2 * (weights @ target):
            break
        kept.append(best)
        of_kept = np.vstack([of_kept, covary(np.eye(1, q, best)[0])])
        coefficients = np.linalg.solve(of_kept[:, kept], target[kept])
        left = target - coefficients @ of_kept
    order = np.argsort(-np.abs(coefficients), kind="stable")
    return np.array(kept, dtype=np.intp)[order], coefficients[order]


def _rounded(value: float, spread: float) -> float:
    """Return a number to within a hundredth of a spread."""
    return round(float(value), 2 - int(np.floor(np.log10(spread)))) + 0.0


def _term(coefficient: float, name: str, *, first: bool) -> str:
    sign = "- " if coefficient < 0 else "" if first else "+ "
    factor = "" if abs(coefficient) == 1 else f"{abs(coefficient):.15g} "
    return f"{sign}{factor}{name}"
