"""What is kept of the batches that a monitor has seen: numbers that add up, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._utils.typing import Array

_MOST = 2000  # records; then each two neighbouring ones become one
SUMS = ("n_rows", "n_alarms", "expected", "lower", "upper", "n_labelled", "realised")
LEVELS = ("log_capital", "label_log_capital")  # at the end of a record
_COLUMNS = ("first_row", *SUMS, *LEVELS)


@dataclass
class Timeline:
    """Records of batches, one after the other.

    Attributes
    ----------
    numbers : array of shape (n, 10)
        The first row of a record; the numbers of its rows, alarms and labels; the sums of the expected
        losses, of the ends of their intervals, and of the losses known; the logarithms of the capitals
        after it.
    begins, ends : lists of n str
        The times of the first and of the last row; empty where they are not known.
    """

    numbers: Array
    begins: list[str]
    ends: list[str]

    @classmethod
    def new(cls) -> Timeline:
        """Return the records before the first batch."""
        return cls(np.empty((0, len(_COLUMNS))), [], [])

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, begin: str, end: str, **numbers: float) -> None:
        """Add the record of a batch."""
        record = np.array([[numbers.get(name, 0.0) for name in _COLUMNS]])
        self.numbers = np.concatenate([self.numbers, record])
        self.begins.append(begin)
        self.ends.append(end)
        if len(self) >= _MOST:
            self._merge()

    def add_label(self, row: int, loss: float) -> None:
        """Add the loss of a row that came before."""
        record = self.record_of(row)
        self.numbers[record, _COLUMNS.index("n_labelled")] += 1.0
        self.numbers[record, _COLUMNS.index("realised")] += loss

    def set_levels(self, **levels: float) -> None:
        """Set the capitals at the end of the last record."""
        for name, level in levels.items():
            self.numbers[-1, _COLUMNS.index(name)] = level

    def __getitem__(self, name: str) -> Array:
        """Return a column, of shape (n,)."""
        column: Array = self.numbers[:, _COLUMNS.index(name)]
        return column

    def mean(self, name: str, of: str, since: int = 0) -> float | None:
        """Return a sum divided by a number, over the records from that of a row on; None of nothing."""
        first = self.record_of(since)
        total = float(self[of][first:].sum())
        return float(self[name][first:].sum()) / total if total else None

    def begin_of(self, row: int) -> str:
        """Return the time at which the record of a row begins; empty if it is not known."""
        if not len(self):
            return ""
        return self.begins[self.record_of(row)]

    def record_of(self, row: int) -> int:
        """Return the position of the record that holds a row."""
        return max(int(np.searchsorted(self["first_row"], row, side="right")) - 1, 0)

    def means(self, name: str, of: str) -> Array:
        """Return a sum divided by a number in each record, of shape (n,); NaN of nothing."""
        counts = self[of]
        return np.divide(self[name], counts, out=np.full(len(self), np.nan), where=counts > 0)

    def of_at_most(self, n: int) -> Timeline:
        """Return the records, neighbouring ones as one while there are more than so many."""
        merged = Timeline(self.numbers, self.begins, self.ends)
        while len(merged) > n:
            merged._merge()
        return merged

    def _merge(self) -> None:
        n = len(self) // 2 * 2
        pairs = self.numbers[:n].reshape(-1, 2, len(_COLUMNS))
        merged = pairs.sum(axis=1)
        merged[:, 0] = pairs[:, 0, 0]
        n_levels = len(LEVELS)
        merged[:, -n_levels:] = pairs[:, 1, -n_levels:]
        self.numbers = np.concatenate([merged, self.numbers[n:]])
        self.begins = self.begins[:n:2] + self.begins[n:]
        self.ends = self.ends[1:n:2] + self.ends[n:]
