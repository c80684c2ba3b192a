"""The distinct places of rows in the embedding, and numbers that are equal up to rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.typing import Array, IntArray


@dataclass(frozen=True)
class Places:
    """Rows grouped by their place, G groups in the order of their first rows.

    Attributes
    ----------
    first : integer array of shape (G,)
        The position of the first row of each place.
    of_row : integer array of shape (n,)
        The place of each row.
    counts : integer array of shape (G,)
        How many rows are there.
    """

    first: IntArray
    of_row: IntArray
    counts: IntArray

    @classmethod
    def of(cls, phi: Array, rounding: float) -> Places:
        """Group rows of an embedding that agree in all coordinates, each in units of the rounding."""
        keys = np.rint(phi / rounding) if rounding > 0 else phi.copy()
        keys += 0.0  # -0.0 becomes 0.0
        as_bytes = keys.view(f"V{keys.shape[1] * keys.itemsize}")[:, 0]
        _, first, of_row, counts = np.unique(
            as_bytes, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(first[order], rank[of_row], counts[order])

    def __len__(self) -> int:
        """Return G, the number of places."""
        return len(self.first)

    def take(self, rows: Any) -> Any:
        """Return the first row of each place; the rows themselves if each has a place of its own."""
        return rows if len(self.first) == len(self.of_row) else rows[self.first]

    def means(self, values: Array) -> Array:
        """Return the mean over the rows at each place of values (n, K), of shape (G, K)."""
        if len(self.first) == len(self.of_row):
            return values
        sums = [np.bincount(self.of_row, column, len(self.first)) for column in values.T]
        return np.column_stack(sums) / self.counts[:, None]


def level_ties(values: Array, rounding: float) -> Array:
    """Return numbers (n,) such that those equal up to rounding are equal: the lowest of them each.

    Where a chain of them is longer than that, it is cut into pieces of that length.
    """
    if rounding == 0 or len(values) == 0:
        return values
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > rounding)
    lowest = np.repeat(ordered[starts], np.diff(starts, append=len(ordered)))
    leveled = np.empty_like(values)
    leveled[order] = lowest + rounding * np.floor((ordered - lowest) / rounding)
    return leveled
