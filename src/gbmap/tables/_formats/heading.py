"""Where a table begins in a file: below titles, dates and other lines that people put above it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

from gbmap.tables.errors import shown

LOOKED_AT = 40  # records
_NUMBER = re.compile(r"[\d.,+-]+\Z")
_ROW_NAMES = "row name"
_LEAST_SHARE = 2 / 3  # of the records below that must have as many cells as the names


def place_of_names(records: Sequence[Sequence[str | None]], *, all_as_long: bool) -> int:
    """Return which of the first records of a file holds the names of the columns.

    It is the first that has more than half as many filled cells as the fullest. With `all_as_long`, most
    records below must have as many cells. If it is not the first of all, it must not look like values.
    """
    n_filled = [sum(bool(cell and cell.strip()) for cell in record) for record in records]
    place = next((k for k, n in enumerate(n_filled) if n > max(n_filled) / 2), 0)
    if place == 0:
        return 0
    names, below = records[place], records[place + 1 :]
    is_long = [len(record) == len(names) for record in below]
    looks_like_names = not any(_NUMBER.match(cell.strip()) for cell in names if cell)
    is_table = len(below) > 1 and (not all_as_long or sum(is_long) >= _LEAST_SHARE * len(below))
    return place if looks_like_names and is_table else 0


def with_row_names(names: Sequence[str]) -> list[str]:
    """Return the names, with one for the first if it alone has none: row names of pandas and R."""
    is_alone = len(names) > 1 and not names[0].strip() and all(name.strip() for name in names[1:])
    return [_ROW_NAMES, *names[1:]] if is_alone and _ROW_NAMES not in names else list(names)


def say_skipped(label: str, n_skipped: int, names: Sequence[str]) -> None:
    """Say that the table was found to begin farther down."""
    what = "line was" if n_skipped == 1 else "lines were"
    warnings.warn(
        f"{label}: {n_skipped} {what} left out above the names of the columns, which begin with "
        f"{shown(names[0])}.",
        stacklevel=2,
    )
