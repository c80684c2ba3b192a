"""The columns of a table as they are spoken of: numbers, dates, categories, and conditions on one of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel
from gbmap._fitted.terms import Terms
from gbmap._utils.text import plain_number, roundest
from gbmap._utils.typing import Array

OTHER, MISSING = -1, -2  # codes of categories without an input, and of none at all
_PART_OF_DATE = re.compile(r"(.+) \((days|day of year|weekday|hour)\)")
_MOST, _FEW = 0.8, 3  # a share of rows that is told as most of them; categories that are named
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOOKED_THROUGH = 3_660  # days, for the first of a year or a month
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Saying:
    """A column as it is spoken of.

    Attributes
    ----------
    name : str
    feature : int
        The position of the user's column.
    number : int or None
        The term that holds its numbers; None for categories.
    levels : tuple of str
        The names of its categories.
    terms : tuple of int
        Those of the categories.
    marks : tuple of int
        The terms that say that it is missing.
    kind : {"number", "category", "days", "day of year", "weekday", "hour"}
        Those after the second are parts of a date, as `gbmap.tables.TableModel` reads it.
    """

    name: str
    feature: int
    number: int | None
    levels: tuple[str, ...]
    terms: tuple[int, ...]
    marks: tuple[int, ...]
    kind: str

    @property
    def is_category(self) -> bool:
        """Whether it holds categories."""
        return self.number is None

    def values(self, terms: Terms, inputs: Any) -> Array:
        """Return what rows hold, (n,): numbers, NaN where missing; or codes of categories."""
        own = [*self.terms, *self.marks] if self.number is None else [self.number, *self.marks]
        found = terms.take(np.array(own, dtype=np.intp)).values(inputs)
        n_others = len(self.marks)
        is_missing = (found[:, len(own) - n_others :] > 0.5).any(axis=1)
        if self.number is not None:
            return np.where(is_missing, np.nan, found[:, 0])
        is_level = found[:, : len(own) - n_others] > 0.5
        codes = np.where(is_level.any(axis=1), is_level.argmax(axis=1), OTHER)
        return np.where(is_missing, MISSING, codes)

    def shown(self, value: float) -> str:
        """Return a number of the column as a reader knows it, in three digits."""
        if self.kind == "days":
            return _moment(math.floor(value))
        if self.kind == "weekday":
            return WEEKDAYS[int(value) % 7]
        if self.kind == "day of year" and value >= 1:
            return day_of_year(value)
        is_whole = value == round(value) or abs(value) >= 1e4
        return plain_number(round(value) if is_whole else float(f"{value:.3g}"))

    def typical(self, values: Array) -> str:
        """Return what most of some values are: between which numbers, or one of which few categories.

        "" where that is many categories.
        """
        is_missing = values == MISSING if self.is_category else np.isnan(values)
        if 2 * is_missing.sum() >= len(values):
            return f"{self.name} missing ({100 * is_missing.mean():.0f} %)"
        if not self.is_category:
            low, high = np.quantile(values[~is_missing], [0.1, 0.9], method="nearest").tolist()
            ends = dict.fromkeys([self.shown(low), self.shown(high)])
            return f"{self.name} {' to '.join(ends)}"
        codes, counts = np.unique(values[~is_missing], return_counts=True)
        largest = np.argsort(-counts, kind="stable")[:_FEW]
        shares = counts[largest].cumsum() / len(values)
        if shares[-1] < _MOST:
            return ""
        n_named = int(np.argmax(shares >= _MOST)) + 1
        *others, last = [
            "other" if code == OTHER else self.levels[int(code)] for code in codes[largest[:n_named]]
        ]
        named = f"{', '.join(others)} or {last}" if others else last
        return f"{self.name} {named} ({100 * shares[n_named - 1]:.0f} %)"

    def limit(self, low: float, high: float) -> float:
        """Return the limit that reads best of those from a low one on and below a high one."""
        if self.kind != "days":
            return roundest(low, high)
        first, last = math.floor(low) + 1, math.floor(high)  # midnights, after the low one and up to the high
        if first > last:
            return low
        days = [_EPOCH + timedelta(days=day) for day in range(first, min(last, first + _LOOKED_THROUGH) + 1)]
        starts = [day for day in days if day.day == 1] or [days[len(days) // 2]]
        chosen = next((day for day in starts if day.month == 1), starts[len(starts) // 2])
        return math.nextafter((chosen - _EPOCH).days, -math.inf)

    def between(
        self, above: float | None, up_to: float | None, *, is_binary: bool = False, is_whole: bool = False
    ) -> str:
        """Return that a number is above one and up to another; either may be None.

        `is_binary` and `is_whole` say that the column holds 0 and 1, or whole numbers, only.
        """
        if is_binary:
            return f"{self.name} is {1 if up_to is None else 0}"
        if self.kind == "weekday":
            return self._on_weekdays(above, up_to)
        if self.kind == "days":
            return self._on_days(above, up_to)
        if above is not None and up_to is not None:
            if is_whole:
                first, last = math.floor(above) + 1, math.floor(up_to)
                ends = dict.fromkeys([self._shown(first), self._shown(last)])
                return f"{self.name} is {' to '.join(ends)}"
            return f"{self._shown(above)} < {self.name} <= {self._shown(up_to)}"
        if above is None:
            return "" if up_to is None else f"{self.name} <= {self._shown(up_to)}"
        return f"{self.name} > {self._shown(above)}"

    def among(self, levels: Sequence[str], *, is_not: bool = False) -> str:
        """Return that a category is one of some."""
        if len(levels) == 1:
            return f"{self.name} is {'not ' if is_not else ''}{levels[0]}"
        return f"{self.name} is {'none' if is_not else 'one'} of {', '.join(levels)}"

    def _shown(self, limit: float) -> str:
        is_day = self.kind == "day of year" and limit >= 1
        return plain_number(limit) + (f" ({day_of_year(limit)})" if is_day else "")

    def _on_weekdays(self, above: float | None, up_to: float | None) -> str:
        first = 0 if above is None else math.floor(above) + 1
        last = 6 if up_to is None else math.floor(up_to)
        if first == last:
            return f"{self.name} is a {WEEKDAYS[first]}"
        return f"{self.name} is {WEEKDAYS[first]} {'or' if last == first + 1 else 'to'} {WEEKDAYS[last]}"

    def _on_days(self, above: float | None, up_to: float | None) -> str:
        """Return that a date is from one on and before another; limits lie just before these."""
        start, end = (None if each is None else _moment(each) for each in (above, up_to))
        if start is None:
            return f"{self.name} before {end}"
        return f"{self.name} from {start} on" + ("" if end is None else f" and before {end}")


def sayings_of(fitted: FittedModel, terms: Terms, features: Iterable[int]) -> list[Saying]:
    """Return some of the user's columns, by position, as they are spoken of."""
    columns, names = terms.columns, fitted.feature_names
    dated = parts_of_dates(names)
    found = list[Saying]()
    for feature in features:
        own = [t for t in columns.inputs_of(feature).tolist() if columns.slope[t] != 0]
        kinds = {t: columns.kind[t] for t in own}
        marks = tuple(t for t in own if kinds[t] == "missing")
        categories = tuple(t for t in own if kinds[t] == "category")
        numbers = [t for t in own if kinds[t] in ("number", "bend")][:1]
        name, kind = dated.get(feature, (str(names[feature]), "number"))
        found += [Saying(name, feature, t, (), (), marks, kind) for t in numbers]
        if categories or (marks and not numbers):
            levels = tuple(_level(columns.level[t]) for t in categories)
            found.append(Saying(name, feature, None, levels, categories, marks, "category"))
    return found


def parts_of_dates(names: Iterable[str]) -> dict[int, tuple[str, str]]:
    """Return what features are called that are one of several parts of a date, and which part."""
    matches = {k: _PART_OF_DATE.fullmatch(str(name)) for k, name in enumerate(names)}
    parts = {k: match.groups() for k, match in matches.items() if match}
    several = {base for base, part in parts.values() if part == "days"}
    several &= {base for base, part in parts.values() if part != "days"}
    called = {"days": "{}", "weekday": "{}", "hour": "hour of {}", "day of year": "day of the year of {}"}
    return {k: (called[part].format(base), part) for k, (base, part) in parts.items() if base in several}


def _level(level: Any) -> str:
    """Return a category; one of numbers without a fraction as a whole number."""
    return re.sub(r"^(-?\d+)\.0$", r"\1", str(level))


def day_of_year(number: float) -> str:
    """Return the day of a year that is no leap year, such as "28 Feb"."""
    day = datetime(2001, 1, 1, tzinfo=UTC) + timedelta(days=number - 1)
    return f"{day.day} {_MONTHS[day.month - 1]}"


def _moment(limit: float) -> str:
    """Return the moment after a limit, in days since 1970, as a date, with the time if there is one."""
    moment = _EPOCH + timedelta(seconds=round(limit * 86_400))
    return moment.strftime("%Y-%m-%d" if moment.time() == time() else "%Y-%m-%d %H:%M")
