"""Rows of a batch and of the reference, grouped by the learners that are active."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._fitted.patterns import active_names, unpack
from gbmap._fitted.words import Teller
from gbmap._utils.typing import Array

_MOST_REGIONS = 20  # in the table of an output


@dataclass(frozen=True)
class Groups:
    """Rows of both sides by their pattern of one output's active learners.

    Attributes
    ----------
    patterns : array of shape (R,)
        The patterns that have a region of their own, as strings of bits.
    labels, reference_labels : integer arrays of shape (n,) and (n_ref,)
        The position of each row's pattern; R for others, R + 1 for those that no reference row has.
    expected_unseen_share : float
        The share of reference rows whose pattern no other one has (Good and Turing's estimate).
    """

    patterns: Array
    labels: Array
    reference_labels: Array
    expected_unseen_share: float

    @classmethod
    def of(cls, patterns: Array, reference: Array) -> Groups:
        seen, of_reference, counts = np.unique(reference, return_inverse=True, return_counts=True)
        position = np.minimum(np.searchsorted(seen, patterns), len(seen) - 1)
        is_seen = seen[position] == patterns
        new_counts = np.bincount(position[is_seen], minlength=len(seen))
        share = np.maximum(counts / len(reference), new_counts / len(patterns))
        largest = np.argsort(-share, kind="stable")[:_MOST_REGIONS]
        ranks = np.full(len(seen), len(largest))
        ranks[largest] = np.arange(len(largest))
        labels = np.where(is_seen, ranks[position], len(largest) + 1)
        return cls(seen[largest], labels, ranks[of_reference], float((counts == 1).sum() / len(reference)))

    @property
    def unseen_share(self) -> float:
        """The share of rows of the batch with a pattern that no reference row has."""
        return float((self.labels == len(self.patterns) + 1).mean())

    def table(self, teller: Teller, names: Array) -> dict[str, Array]:
        """Return what the regions are, in words and by the names of learners, and how many rows they have."""
        patterns = unpack(self.patterns, len(names))
        told = [teller.tell(self.reference_labels == label) for label in range(len(patterns))]
        descriptions = [each.words for each in told]
        n_rows, n_reference_rows = self._sums(self.labels), self._sums(self.reference_labels)
        return {
            "active_learners": np.array([*active_names(patterns, names), "", ""], dtype=object),
            "descriptions": np.array([*descriptions, "other patterns", "never seen"], dtype=object),
            "n_rows": n_rows,
            "share": n_rows / len(self.labels),
            "n_reference_rows": n_reference_rows,
            "reference_share": n_reference_rows / len(self.reference_labels),
        }

    def means(self, indicators: Array, losses: Array | None) -> dict[str, Array]:
        """Return the means of what is known of the rows of the batch only; losses may be NaN."""
        known = {"mean_indicator": indicators} | ({} if losses is None else {"mean_loss": losses})
        return {name: self._means(self.labels, values) for name, values in known.items()}

    def shifts(self, score: Array, reference: Array) -> dict[str, Array]:
        """Return how h of this output, (n,) and (n_ref,), has changed."""
        center = reference.mean()
        new, old = (
            self._sums(self.labels, score - center),
            self._sums(self.reference_labels, reference - center),
        )
        return {
            "prediction_shift": self._means(self.labels, score)
            - self._means(self.reference_labels, reference),
            "contributions": new / len(score) - old / len(reference),
        }

    def _sums(self, labels: Array, values: Array | None = None) -> Array:
        return np.bincount(labels, values, len(self.patterns) + 2)

    def _means(self, labels: Array, values: Array) -> Array:
        is_known = ~np.isnan(values)
        labels, values = labels[is_known], values[is_known]
        counts = self._sums(labels)
        return np.where(counts > 0, self._sums(labels, values) / np.maximum(counts, 1), np.nan)
