"""What a column is, from all of its values, in one pass and bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Any

import numpy as np

from gbmap._fit.columns import MOST_CATEGORIES
from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables import _values as values
from gbmap.tables._batches import Batch
from gbmap.tables.errors import TableError, shown
from gbmap.tables.schema import Column

MOST_LEVELS = MOST_CATEGORIES  # that become inputs of an estimator
_LEVELS_COUNTED = 10_000
NUMBERS_COUNTED = 1_000  # while all values are numbers
# A column with so large a share of numbers (or dates), but not all, is taken for one with mistakes in it.
_MOSTLY = 0.99
_LEAST_COVERAGE = 0.1
_OTHER_DATE = re.compile(r"(\d{1,2}([./-])\d{1,2}\2(\d{4}|\d{2})|\d{4}([./])\d{1,2}\4\d{1,2})(?=[ T]|$)")
_DATES_LOOKED_AT = 100
_LONG = 2**53


def least_frequency(n_rows: int) -> int:
    """Return in how many rows a category must occur to become an input of its own."""
    return min(10, max(2, n_rows // 50))


class ColumnProfile:
    """What has been seen of one column."""

    def __init__(self, name: str, label: str, *, as_category: bool = False):
        self.name, self.label = name, label
        self._is_asked_category = as_category
        self._is_category = as_category  # whatever its values are
        self.n_rows = self.n_present = self.n_numbers = self.n_dates = self._n_infinite = 0
        self.levels: Counter[str] = Counter()
        self.is_whole = self.is_boolean = True  # all numbers are; all are truth values
        self.odd_type = ""
        self.lowest, self.highest = np.inf, -np.inf
        self._sums = np.zeros(2, dtype=np.uint64)
        self._not_number = self._not_date = ""
        self._parts: dict[str, tuple[float, float]] = {}

    def see(self, batch: Batch) -> None:
        """Take in a batch of rows."""
        raw = batch.rows.column(self.name)
        self._is_category |= bool(require("pyarrow", "cli").types.is_dictionary(raw.type))
        column = values.plain(raw)
        is_present = values.present(column)
        self.n_rows += len(column)
        self.n_present += int(is_present.sum())
        if not is_present.any():
            return
        if not values.is_known(column):
            self.odd_type = str(column.type)
            return
        found = self._see_numbers(column, is_present, batch)
        if not found.all():
            self._n_infinite += values.n_infinite(column)
            self._see_dates(column, is_present, batch)
        self._count_levels(column)

    def _see_numbers(self, column: Any, is_present: Array, batch: Batch) -> Array:
        numbers = values.numbers(column)
        is_number = ~np.isnan(numbers)
        found: Array = is_number[is_present]
        self.n_numbers += int(found.sum())
        self._not_number = self._not_number or _first(batch, self.name, column, is_present & ~is_number)
        numbers = numbers[is_number]
        self.is_boolean = self.is_boolean and values.is_boolean(column)
        if len(numbers):
            self.lowest, self.highest = min(self.lowest, numbers.min()), max(self.highest, numbers.max())
            self.is_whole &= bool((numbers == np.floor(numbers)).all() and np.abs(numbers).max() < _LONG)
            if self.is_whole:
                # Modulo 2^64, enough to tell whether the numbers are those of a range, each once.
                whole = numbers.astype(np.int64).view(np.uint64)
                self._sums += np.array([whole.sum(), (whole * whole).sum()], dtype=np.uint64)
        return found

    def _see_dates(self, column: Any, is_present: Array, batch: Batch) -> None:
        when = values.days(column)
        is_date = ~np.isnan(when)
        self.n_dates += int(is_date.sum())
        self._not_date = self._not_date or _first(batch, self.name, column, is_present & ~is_date)
        for part, numbers in values.date_parts(when[is_date]).items():
            if len(numbers):
                low, high = self._parts.get(part, (np.inf, -np.inf))
                self._parts[part] = (min(low, numbers.min()), max(high, numbers.max()))

    def _count_levels(self, column: Any) -> None:
        is_number = self.n_numbers == self.n_present and not self._is_category
        if is_number and len(self.levels) > NUMBERS_COUNTED:
            return
        counts = require("pyarrow.compute", "cli").value_counts(values.texts(column).drop_null())
        texts, numbers = (counts.field(name).to_pylist() for name in ("values", "counts"))
        self.levels.update(dict(zip(texts, numbers)))
        if len(self.levels) > _LEVELS_COUNTED:  # the rarest are forgotten, so that late ones have a chance
            self.levels = Counter(dict(self.levels.most_common(_LEVELS_COUNTED // 2)))

    @property
    def about_text(self) -> str:
        """The beginning of a message about the first value that is no number."""
        return self._not_number

    @property
    def n_missing(self) -> int:
        """The rows without a value."""
        return self.n_rows - self.n_present

    @property
    def kind(self) -> str:
        """What the values are: "number", "date", "text" or "none"."""
        if not self.n_present or self.odd_type:
            return "none"
        if self.n_present in (self.n_numbers, self.n_dates):
            return "number" if self.n_present == self.n_numbers else "date"
        return "text"

    @property
    def holds_dates(self) -> bool:
        """Whether the values are dates, in any way of writing, but for a few mistakes."""
        is_iso = 0 < self.n_present * _MOSTLY <= self.n_dates
        return self.kind not in ("number", "none") and (is_iso or self._looks_like_dates)

    @property
    def doubt(self) -> str:
        """The beginning of a message about a value unlike nearly all others, "" if there is none."""
        for kind, n, n_near, odd in (
            ("finite numbers", self.n_numbers, self.n_numbers + self._n_infinite, self._not_number),
            ("dates", self.n_dates, self.n_dates, self._not_date),
        ):
            if n < self.n_present and n_near >= _MOSTLY * self.n_present:
                return f"{odd}, while {n:,} of its {self.n_present:,} values are {kind}"
        return ""

    @property
    def is_constant(self) -> bool:
        """Whether there is only one value, however it is written."""
        is_one_number = self.kind == "number" and self.lowest == self.highest
        return len(self.levels) == 1 or (is_one_number and not self._has_long_numbers)

    @property
    def _has_long_numbers(self) -> bool:
        """Whether there are numbers so large that floats do not tell neighbouring whole numbers apart."""
        return max(abs(self.lowest), abs(self.highest)) >= _LONG

    @property
    def is_running_number(self) -> bool:
        """Whether the values are the whole numbers of a range, each once."""
        if not (self.is_whole and self.highest - self.lowest + 1 == self.n_present >= 20):
            return False
        low, n = int(self.lowest), self.n_present
        total = n * low + n * (n - 1) // 2
        squares = n * low * low + low * n * (n - 1) + (n - 1) * n * (2 * n - 1) // 6
        return bool((self._sums == np.array([total % 2**64, squares % 2**64], dtype=np.uint64)).all())

    @property
    def _is_long_code(self) -> bool:
        """Whether the values are whole numbers too long for floats, each once: nobody measures such."""
        is_long = self._has_long_numbers and max(self.levels.values()) == 1
        return is_long and all(re.fullmatch(r"[+-]?\d+", level) for level in self.levels)

    def column(self) -> Column:
        """Return what the column is, for a model."""
        if self.odd_type:
            return self._dropped(f"values of type {self.odd_type} are neither numbers, text nor dates")
        if not self.n_present:
            return self._dropped("empty")
        if self.is_constant and not self.n_missing:
            return self._dropped(f"constant: always {shown(next(iter(self.levels)))}")
        if self._is_category:
            return self._category(forced=True)
        if self.doubt:
            raise TableError(
                f"{self.doubt}; mend it, drop the column, or take it for a category "
                f"(--category {shown(self.name)})."
            )
        of_kind = {"number": self._number, "date": self._date, "text": self._category}
        return of_kind[self.kind]()

    @property
    def _looks_like_dates(self) -> bool:
        """Whether the texts are dates in another way of writing, of which day and month cannot be told."""
        return all(_OTHER_DATE.match(level) for level in islice(self.levels, _DATES_LOOKED_AT))

    def _dropped(self, reason: str) -> Column:
        return Column(self.name, "dropped", reason, self.n_missing)

    def _number(self) -> Column:
        if self.is_running_number:
            return self._dropped(f"a running number, from {self.lowest:.0f} to {self.highest:.0f}")
        if self._is_long_code:
            return self._dropped("an identifier: whole numbers of 16 digits or more that differ in every row")
        return Column(self.name, "number", "all of its values are numbers", self.n_missing)

    def _date(self) -> Column:
        varying = tuple(part for part, (low, high) in self._parts.items() if low < high)
        if not varying:
            return self._dropped("constant where it is not missing")
        return Column(self.name, "date", "all of its values are ISO dates", self.n_missing, parts=varying)

    def _category(self, *, forced: bool = False) -> Column:
        least = least_frequency(self.n_rows)
        frequent = {level: n for level, n in self.levels.most_common(MOST_LEVELS) if n >= least}
        is_covered = sum(frequent.values()) >= _LEAST_COVERAGE * self.n_present
        if not frequent and self._is_asked_category:
            raise TableError(
                f"{self.label}: column {shown(self.name)} cannot be a category (--category), since none of "
                f"its values occurs in {least} rows or more; leave that out, or drop the column."
            )
        if not frequent or not (is_covered or forced):
            if self._looks_like_dates:
                return self._dropped("it looks like dates, which are read if written as 2026-03-01")
            if max(self.levels.values()) == 1:
                return self._dropped("an identifier: it differs in every row")
            return self._dropped("free text: hardly any of its values occurs often")
        reason = "its type or the user says so" if forced else "its values are text"
        return Column(self.name, "category", reason, self.n_missing, levels=tuple(frequent))


def _first(batch: Batch, name: str, column: Any, marked: Array) -> str:
    """Return the beginning of a message about the first marked value, "" if there is none."""
    if not marked.any():
        return ""
    row = int(np.argmax(marked))
    return batch.about(name, row, column[row].as_py())
