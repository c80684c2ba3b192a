"""How the values of a column are written: recognised from all of them, or asked for in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables import _dates as dates
from gbmap.tables import _numbers as numbers
from gbmap.tables import _values as values
from gbmap.tables.errors import TableError, listed, shown
from gbmap.tables.schema import PLAIN, Column, Form

# A column with so large a share of numbers (or dates), but not all, is taken for one with mistakes in it.
MOSTLY = 0.99


@dataclass(frozen=True)
class Elsewhere:
    """What other columns of a table prove of how it is written."""

    marks: Collection[str] = ()
    orders: Collection[str] = ()


class Written:
    """What the texts of one column tell of how they are written."""

    def __init__(self, name: str, asked: str):
        self.name, self._asked = name, asked
        self.numbers, self.dates = numbers.NumberEvidence(), dates.DateEvidence()
        self._n_numbers = self._n_dates = 0  # in whatever form
        self._n_truth, self._n_others = [0, 0], 0  # words for false, for true, and what is neither nor 0 or 1
        self._truth_words = ["", ""]
        self._has_other_words = False  # than true and false, which always count
        self._open_number = self._open_date = ""  # the beginnings of messages about the first of each
        self._suggested = ""

    def is_settled(self, text: Any, plain: Array | None) -> bool:
        """Take in texts without missing ones, if they are written as programs write numbers, and tell so."""
        if self._asked == "date" or not self.numbers.tells_nothing_new(text, plain):
            return False
        self._n_numbers += len(text)
        self._n_others += len(text)
        return True

    def see(
        self, found: values.Texts, suggested: str, about: Callable[[Array], str]
    ) -> tuple[numbers.Parsed, dates.Parsed | None]:
        """Take in texts, and return what they were parsed to; no dates if all are numbers.

        `suggested` is the decimal mark that goes with the file, and `about` begins a message about the first
        of those that are marked.
        """
        self._suggested = suggested
        texts, counts = found.texts, found.counts
        parsed = numbers.parse(texts)
        self.numbers.take(texts, counts, parsed)
        self._n_numbers += int(counts[parsed.is_number].sum())
        self._open_number = self._open_number or about(parsed.is_open)
        truth = values.truth_of(texts)
        for value in (0, 1):
            which = truth == value
            self._n_truth[value] += int(counts[which].sum())
            if which.any() and not self._truth_words[value]:
                self._truth_words[value] = texts[int(np.argmax(which))].as_py()
        self._has_other_words |= not values.is_boolean(
            texts.filter(require("pyarrow", "cli").array(~np.isnan(truth)))
        )
        self._n_others += int(counts[np.isnan(truth) & (parsed.point != 0) & (parsed.point != 1)].sum())
        if parsed.is_number.all() and self._asked != "date":
            return parsed, None
        moments = dates.parse(texts)
        self.dates.see(texts, counts, moments)
        self._n_dates += int(counts[moments.is_date].sum())
        self._open_date = self._open_date or about(moments.is_open)
        return parsed, moments

    @property
    def is_truth(self) -> bool:
        """Whether all values are words for yes and no, or 0 and 1, but for missing ones."""
        return all(self._n_truth) and self._has_other_words and not self._n_others

    @property
    def truth_words(self) -> list[str]:
        """The first words that count as 0 and as 1."""
        return self._truth_words

    def form(self, n_present: int, elsewhere: Elsewhere) -> Form | None:
        """Return how the values are written, None where that is open."""
        if self._asked == "category" or not n_present:
            return PLAIN
        if self._asked != "date" and self.is_truth:
            return Form(truth=True, lenient=self._asked == "number")
        is_number = self._asked == "number" or self._n_numbers >= MOSTLY * n_present
        if is_number and self._asked != "date" and self._n_numbers:
            form = self.numbers.form(elsewhere.marks, self._suggested)
            if form is None or self._asked != "number":
                return form
            return replace(form, lenient=True, unit="any" if self.numbers.has_mixed_units else form.unit)
        if self._asked == "date" or self._n_dates >= MOSTLY * n_present:
            form = self.dates.form(elsewhere.orders)
            return form and replace(form, lenient=self._asked == "date")
        return Form(lenient=self._asked != "")

    def proves(self, n_present: int) -> Elsewhere:
        """Return what the column proves by itself, for others of its table."""
        mark = self.numbers.decimal() if self._n_numbers >= MOSTLY * n_present else ""
        order = self.dates.order() if self._n_dates >= MOSTLY * n_present else ""
        return Elsewhere([mark] if mark else [], [order] if order else [])

    def question(self) -> TableError:
        """Return the error that asks for what is open."""
        name = shown(self.name)
        if self._n_numbers >= self._n_dates:
            return TableError(
                f"{self._open_number}, in which the mark may set off thousands or decimals, and nothing else "
                f"in the table tells; say --number {name}=point if 1,234 is 1234, or --number {name}=comma "
                "if it is 1.234."
            )
        return TableError(
            f"{self._open_date}, of which the day or the month may come first, and nothing else in the table "
            f"tells; say --date {name}=dmy or --date {name}=mdy."
        )

    def about_units(self, n_present: int) -> str:
        """Return what is wrong with the units of so many values, "" if they are no numbers or nothing is."""
        is_amount = self.numbers.has_mixed_units and not self.numbers.mixes_measures
        if self._n_numbers < MOSTLY * n_present or not is_amount:
            return ""
        units = sorted(unit for unit in self.numbers.units if unit)
        if units == [numbers.PERCENT]:
            return "numbers with and without a percent sign"
        return f"numbers of several units, {listed(units)}"


def reading(form: Form, written: Written, kind: str, suggested: str) -> str:
    """Return an example of how the texts of a column are read, "" where they are as programs write them."""
    if kind == "number" and form.truth:
        false, true = written.truth_words
        return f"{shown(true)} counts as 1, {shown(false)} as 0"
    example = {"number": written.numbers.example(form), "date": written.dates.example}.get(kind, "")
    if not example:
        return ""
    pa = require("pyarrow", "cli")
    text = pa.array([example])
    if kind == "number":
        value = float(numbers.parse(text).read(form, suggested)[0])
        return f"{shown(example)} is read as {value:.15g}"
    day = float(dates.read(text, form)[0])
    if np.isnan(day):
        return ""
    moment = np.datetime64(round(day * dates.SECONDS_A_DAY), "s")
    return f"{shown(example)} is read as {str(moment).replace('T00:00:00', '').replace('T', ' ')}"


def not_as_fitted(column: Column, value: Any) -> str:
    """Return what a value is not that cannot be read as those of the fit were."""
    form, text = column.form, require("pyarrow", "cli").array([str(value)])
    if column.kind == "date":
        if "%" in form.date:
            return f"date as {form.date}"
        orders = {
            "": ", of which the day or the month may come first",
            "mdy": " with the month before the day",
        }
        is_other = bool(dates.parse(text).is_date[0])
        return "date" + orders.get(form.date, " with the day before the month") * is_other
    if not numbers.parse(text).is_number[0]:
        return "word for yes or no, as all were in the fit" if form.truth else "finite number"
    unit = "" if form.unit in ("", "any") else f" and in {form.unit}"
    return f"number with a decimal {'comma' if form.decimal == ',' else 'point'}{unit}, as those of the fit"
