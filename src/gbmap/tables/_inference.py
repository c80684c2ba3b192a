"""What a column is, from all of its values, in one pass and bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from gbmap._fit.columns import CATEGORY_ROWS, MOST_CATEGORIES
from gbmap._utils.optional import require
from gbmap._utils.text import counted
from gbmap._utils.typing import Array
from gbmap.tables import _dates as dates
from gbmap.tables import _values as values
from gbmap.tables._batches import Batch
from gbmap.tables._written import MOSTLY, Elsewhere, Written, reading
from gbmap.tables.errors import TableError, shown
from gbmap.tables.schema import EMPTY, FREE_TEXT, IDENTIFIER, PLAIN, RUNNING, UNREADABLE, Column, Form

MOST_LEVELS = MOST_CATEGORIES  # that become inputs of an estimator
_LEVELS_COUNTED = 10_000
NUMBERS_COUNTED = 1_000  # while all values are numbers
# Text is a category if values that so many rows have, or such a share of few, are such a share of all.
_OFTEN, _OFTEN_OF_FEW, _LEAST_COVERAGE = 10, 0.02, 0.1
_LONG = 2**53
_SURELY_TWICE = 10.0  # minus the logarithm of the chance that numbers all differ


class ColumnProfile:
    """What has been seen of one column.

    Parameters
    ----------
    name, label : str
        What messages call it and the table.
    asked : {"", "number", "date", "category"}
        What the user says that it is.
    form : Form
        How its values are written, if that is known.
    """

    def __init__(self, name: str, label: str, *, asked: str = "", form: Form | None = None):
        self.name, self.label, self.asked = name, label, asked
        self.form = form or PLAIN  # by which the values are read
        self._is_form_known = form is not None
        self._is_category = asked == "category"  # whatever its values are
        self.n_rows = self.n_valid = self.n_numbers = self.n_dates = self.n_infinite = 0
        self.levels: Counter[str] = Counter()
        self.is_whole = self.is_boolean = True  # all numbers are; all are truth values
        self.odd_type = self._suggested = self._read_as = ""
        self.unit = ""  # that the type of the values tells: what has one is measured, and numbers no rows
        self.lowest, self.highest = np.inf, -np.inf
        self._sums = np.zeros(2, dtype=np.uint64)
        self._not_number = self._not_date = ""
        self._parts: dict[str, tuple[float, float]] = {}
        self._last: float | None = None  # of the moments so far
        self._steps = set[float]()  # 1 if one is later than that before it, -1 if one is earlier
        self.written = Written(name, asked)

    def see(self, batch: Batch) -> None:
        """Take in a batch of rows."""
        raw = batch.rows.column(self.name)
        self._is_category |= bool(require("pyarrow", "cli").types.is_dictionary(raw.type))
        self._suggested = batch.decimal
        self._note_type(raw.type)
        column = values.plain(raw)
        is_present = values.present(column)
        self.n_rows += len(column)
        if not is_present.any():
            return
        if not values.is_known(column):
            self.odd_type = str(column.type)
            return
        if values.is_text(column):
            numbers, days = self._read_text(column, is_present, batch)
        else:
            numbers, days = values.numbers(column), values.days(column, self.form)
            self.is_boolean = self.is_boolean and values.is_boolean(column)
        self._see_numbers(column, numbers, is_present, batch)
        if days is not None:
            self._see_dates(column, days, is_present, batch)
        self.n_valid += int(is_present.sum())
        self._count_levels(column)

    def _note_type(self, kind: Any) -> None:
        """Keep what the type of the values tells of how they are read."""
        self._read_as = values.read_as(kind)
        if unit := values.unit_of(kind):
            self.unit = unit
        if unit and not self._is_form_known:
            self.form, self._is_form_known = Form(unit=unit, lenient=self.asked == "number"), True

    def _read_text(self, column: Any, is_present: Array, batch: Batch) -> tuple[Array, Array | None]:
        """Return text as numbers, and as dates unless all are numbers."""
        machine = values.machine_numbers(column)
        if self.written.is_settled(column.drop_null(), None if machine is None else machine[is_present]):
            self.is_boolean = False
            return values.numbers(column, self.form, batch.decimal, machine=machine), None
        found = values.Texts.of(column)

        def about(marked: Array) -> str:
            return _first(batch, self.name, column, found.by_row(marked)) if marked.any() else ""

        parsed, moments = self.written.see(found, batch.decimal, about)
        if not (self._is_form_known or self.n_valid):  # the first rows mostly tell; if not, see survey
            self.form = self.written.form(int(is_present.sum()), Elsewhere()) or PLAIN
        self.is_boolean = self.is_boolean and values.is_boolean(found.texts, any_words=self.form.truth)
        numbers = found.by_row(values.read_numbers(found.texts, parsed, self.form, batch.decimal))
        if moments is None:
            return numbers, None
        is_custom = "%" in self.form.date
        days = dates.read(found.texts, self.form) if is_custom else moments.read(self.form.date)
        return numbers, found.by_row(days)

    def _see_numbers(self, column: Any, numbers: Array, is_present: Array, batch: Batch) -> None:
        is_odd = is_present & np.isnan(numbers)
        self.n_numbers += int(is_present.sum()) - int(is_odd.sum())
        if is_odd.any():
            is_infinite = values.is_infinite(column)
            self.n_infinite += int(is_infinite.sum())
            self._not_number = self._not_number or _first(batch, self.name, column, is_odd & ~is_infinite)
            numbers = numbers[~np.isnan(numbers)]
        elif not is_present.all():
            numbers = numbers[is_present]
        if len(numbers):
            self.lowest, self.highest = min(self.lowest, numbers.min()), max(self.highest, numbers.max())
            self.is_whole &= bool((numbers == np.floor(numbers)).all() and np.abs(numbers).max() < _LONG)
            if self.is_whole:
                # Modulo 2^64, enough to tell whether the numbers are those of a range, each once.
                whole = numbers.astype(np.int64).view(np.uint64)
                self._sums += np.array([whole.sum(), (whole * whole).sum()], dtype=np.uint64)

    def _see_dates(self, column: Any, when: Array, is_present: Array, batch: Batch) -> None:
        is_date = ~np.isnan(when)
        self.n_dates += int(is_date.sum())
        self._see_order(when[is_date])
        self._not_date = self._not_date or _first(batch, self.name, column, is_present & ~is_date)
        for part, numbers in values.date_parts(when[is_date]).items():
            if len(numbers):
                low, high = self._parts.get(part, (np.inf, -np.inf))
                self._parts[part] = (min(low, numbers.min()), max(high, numbers.max()))

    def _see_order(self, moments: Array) -> None:
        if len(moments):
            steps = np.diff(moments, prepend=moments[0] if self._last is None else self._last)
            self._steps |= set(np.unique(np.sign(steps[steps != 0])).tolist())
            self._last = moments[-1]

    def _count_levels(self, column: Any) -> None:
        is_number = self.n_numbers + self.n_infinite == self.n_valid and not self._is_category
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

    def decided(self, elsewhere: Elsewhere) -> Form:
        """Return how the values are written, as far as all of them and other columns tell, or ask for it."""
        if self._is_form_known:
            return self.form
        form = self.written.form(self.n_valid, elsewhere)
        if form is None:
            raise self.written.question()
        return form

    @property
    def kind(self) -> str:
        """What the values are: "number", "date", "text" or "none"."""
        if not self.n_valid or self.odd_type:
            return "none"
        if self.asked in ("number", "date"):
            return self.asked if (self.n_numbers if self.asked == "number" else self.n_dates) else "text"
        if self.n_numbers + self.n_infinite == self.n_valid:
            return "text" if self.written.numbers.mixes_measures else "number"
        return "date" if self.n_dates == self.n_valid else "text"

    @property
    def n_present(self) -> int:
        """The rows with a value: of numbers, without infinite ones."""
        if self.asked == "date":
            return self.n_dates
        return self.n_numbers if self.kind == "number" else self.n_valid

    @property
    def n_missing(self) -> int:
        """The rows without a value."""
        return self.n_rows - self.n_present

    @property
    def holds_dates(self) -> bool:
        """Whether the values are dates but for a few mistakes."""
        is_date = 0 < self.n_valid * MOSTLY <= self.n_dates
        return self.kind not in ("number", "none") and is_date

    @property
    def doubt(self) -> str:
        """The beginning of a message about a value unlike nearly all others, "" if there is none."""
        if not self.asked and (units := self.written.about_units(self.n_valid)):
            return f"{self.label}: column {shown(self.name)} holds {units}"
        if self.kind != "text":
            return ""
        for kind, n, odd in (
            ("finite numbers", self.n_numbers + self.n_infinite, self._not_number),
            ("dates", self.n_dates, self._not_date),
        ):
            if n < self.n_valid and n >= MOSTLY * self.n_valid:
                return f"{odd}, while {n:,} of its {self.n_valid:,} values are {kind}"
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
    def _may_number_rows(self) -> bool:
        """Whether whole numbers that lie close never come twice, as those of some rows of a longer table.

        Of n numbers drawn from m, none comes twice with a chance of about exp(-n^2 / 2m).
        """
        if not self.is_whole or max(self.levels.values(), default=2) > 1:
            return False
        return len(self.levels) ** 2 >= 2 * _SURELY_TWICE * (self.highest - self.lowest + 1)

    @property
    def _is_long_code(self) -> bool:
        """Whether the values are whole numbers too long for floats, each once: nobody measures such."""
        is_long = self._has_long_numbers and max(self.levels.values()) == 1
        return is_long and all(re.fullmatch(r"[+-]?\d+", level) for level in self.levels)

    def column(self) -> Column:
        """Return what the column is, for a model."""
        if self.odd_type:
            return self._dropped(f"{UNREADABLE} {self.odd_type} are neither numbers, text nor dates")
        if not self.n_valid:
            return self._dropped(EMPTY)
        if self.kind == "number" and not self.n_numbers:
            return self._dropped("infinite wherever it is not missing")
        if self.is_constant and not self.n_missing:
            value = next(iter(self.levels))
            return self._dropped(f"constant: always {shown(value)}", (value,))
        if self._is_category:
            return self._category(forced=True)
        if self.asked and self.kind == "text":
            odd = self._not_number if self.asked == "number" else self._not_date
            raise TableError(
                f"{odd}, and none of its values is a {self.asked} (--{self.asked}); leave that out"
                f"{', or name their format, as in --date NAME=%d.%m.%Y' * (self.asked == 'date')}."
            )
        if self.doubt:
            raise TableError(
                f"{self.doubt}; mend it, drop the column, or take it for a category "
                f"(--category {shown(self.name)}){self._or_as_asked()}."
            )
        of_kind = {"number": self._number, "date": self._date, "text": self._category}
        return of_kind[self.kind]()

    def _or_as_asked(self) -> str:
        kind = "date" if self.n_dates > self.n_numbers else "number"
        return f" or for {kind}s, of which what is none is missing (--{kind} {shown(self.name)})"

    def reading(self, kind: str) -> str:
        """Return an example of what was recognised, "" if the values are written as programs do."""
        return self._read_as or reading(self.form, self.written, kind, self._suggested)

    def _dropped(self, reason: str, levels: tuple[str, ...] = ()) -> Column:
        return Column(self.name, "dropped", reason, self.n_missing, levels)

    def _number(self) -> Column:
        if self.is_running_number and not (self.asked or self.unit):
            return self._dropped(f"{RUNNING}, from {self.lowest:.0f} to {self.highest:.0f}")
        if self._is_long_code and not (self.asked or self.unit):
            return self._dropped(f"{IDENTIFIER}: whole numbers of 16 digits or more that differ in every row")
        found = self._used("number", "all of its values are numbers")
        if self._may_number_rows and not (self.asked or found.reading):
            told = f"no number comes twice from {self.lowest:.0f} to {self.highest:.0f}: if they count rows"
            return replace(found, reading=f"{told}, --drop {shown(self.name)}")
        return found

    def _date(self) -> Column:
        varying = tuple(part for part, (low, high) in self._parts.items() if low < high)
        if not varying:
            return self._dropped("constant where it is not missing")
        found = self._used("date", "all of its values are dates", varying)
        if len(self._steps) > 1:
            return found
        # Rows held out at random lie between those of the fit, those to come do not.
        told = (
            "the rows are in its order, and those after the last may be predicted worse than the ones held "
            "out: a fit to the rows before a day, evaluated on those from it on, tells"
        )
        return replace(found, reading=f"{found.reading}; {told}" if found.reading else told)

    def _used(self, kind: str, reason: str, parts: tuple[str, ...] = ()) -> Column:
        reason = "asked for" if self.asked else reason
        n_odd = self.n_valid - self.n_present - self.n_infinite
        reason += (
            f"; {counted(n_odd, 'value')} that {'is' if n_odd == 1 else 'are'} none count as missing"
            * (n_odd > 0)
        )
        if kind == "number" and self.n_infinite:
            reason += (
                f"; {counted(self.n_infinite, 'infinite one')} count{'s' * (self.n_infinite == 1)} as missing"
            )
        return Column(
            self.name, kind, reason, self.n_missing, parts=parts, form=self.form, reading=self.reading(kind)
        )

    def _category(self, *, forced: bool = False) -> Column:
        repeated = {level: n for level, n in self.levels.most_common(MOST_LEVELS) if n >= CATEGORY_ROWS}
        least = min(_OFTEN, _OFTEN_OF_FEW * self.n_rows)
        is_covered = sum(n for n in repeated.values() if n >= least) >= _LEAST_COVERAGE * self.n_present
        if not repeated and self.asked == "category":
            raise TableError(
                f"{self.label}: column {shown(self.name)} cannot be a category (--category), since none of "
                f"its values occurs in {CATEGORY_ROWS} rows or more; leave that out, or drop the column."
            )
        if not repeated or not (is_covered or forced):
            if max(self.levels.values()) == 1:
                return self._dropped(f"{IDENTIFIER}: it differs in every row")
            return self._dropped(f"{FREE_TEXT}: hardly any of its values occurs often")
        reason = "its type or the user says so" if forced else "its values are text"
        mixed = ""
        if not forced and self.n_valid <= 2 * self.n_numbers < 2 * self.n_valid:  # were numbers meant?
            mixed = (
                f"{self.n_numbers:,} of its {self.n_valid:,} values are numbers, which count as categories"
            )
        return Column(self.name, "category", reason, self.n_missing, levels=tuple(repeated), reading=mixed)


def _first(batch: Batch, name: str, column: Any, marked: Array) -> str:
    """Return the beginning of a message about the first marked value, "" if there is none."""
    if not marked.any():
        return ""
    row = int(np.argmax(marked))
    return batch.about(name, row, column[row].as_py())
