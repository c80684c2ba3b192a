"""ConstantColumn: a column that had one value in training, and so was not given to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted


@dataclass(frozen=True, repr=False)
class ConstantColumn(Result):
    """A column that had one value in training, in new rows.

    A model learns nothing from such a column and is not given it, but `DriftDetector.verdict` is to say if it
    holds other values now.

    Attributes
    ----------
    name : str
    value : str or None
        The one value; None if it was always missing.
    n_before : int
        Rows of the training.
    n_rows : int
        New rows.
    n_other : int
        Those of them that hold something else.

    Examples
    --------
    >>> from gbmap.drift import ConstantColumn
    >>> ConstantColumn("country", "NO", n_before=1000, n_rows=200, n_other=3)
    ConstantColumn: 'country' was always 'NO' in 1,000 rows and is not in 3 of 200
    """

    name: str
    value: str | None
    n_before: int
    n_rows: int
    n_other: int

    def _shown(self) -> Shown:
        was = "missing" if self.value is None else repr(cell(self.value))
        return Shown(
            f"{cell(self.name)!r} was always {was} in {counted(self.n_before, 'row')} and is not in "
            f"{self.n_other:,} of {self.n_rows:,}"
        )


def joined(parts: Sequence[Sequence[ConstantColumn]]) -> tuple[ConstantColumn, ...]:
    """Return the columns of several batches as those of all their rows."""
    found: dict[str, ConstantColumn] = {}
    for column in (column for part in parts for column in part):
        before = found.get(column.name)
        n_rows, n_other = (0, 0) if before is None else (before.n_rows, before.n_other)
        found[column.name] = ConstantColumn(
            column.name, column.value, column.n_before, n_rows + column.n_rows, n_other + column.n_other
        )
    return tuple(found.values())
