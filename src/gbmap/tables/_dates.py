"""Dates as people write them, such as 12.09.2012, 9/12/2012 3:45 pm or 12 Sep 2012; how columns write them.

In 09/12/2012 the day or the month may come first. Such a date is open, unless another one of its column, as
25/12/2012, or of the table tells. With points, the day comes first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables.errors import TableError, shown
from gbmap.tables.schema import Form

ORDERS = ("dmy", "mdy")
SECONDS_A_DAY = 86_400

_ISO = (
    r"^[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?"
    r"( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?)?)?$"
)
_TIME = (
    r"(?:[ T,]{1,2}(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:[.,][0-9]{1,6})?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: Uhr)?(?: ?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?)?$"
)
_NUMERIC = (
    r"^(?P<a>[0-9]{1,2})(?P<mark>[./-]) ?(?P<b>[0-9]{1,2})(?P<again>[./-]) ?(?P<year>[0-9]{4}|[0-9]{2})"
    + _TIME
)
_YEAR_FIRST = r"^(?P<year>[0-9]{4})(?P<mark>[./-])(?P<b>[0-9]{1,2})(?P<again>[./-])(?P<a>[0-9]{1,2})" + _TIME
_WEEKDAY = r"^(?:(?i:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so)[a-zA-Z]{0,7}\.?,? )?"
_NAME = r"(?P<name>[A-Za-zäÄ]{3,9})\.?"
_DAY_NAMED = (
    _WEEKDAY
    + r"(?P<a>[0-9]{1,2})(?:st|nd|rd|th|\.)?[ -]?"
    + _NAME
    + r"(?:, |[ -])?(?P<year>[0-9]{4}|[0-9]{2})"
    + _TIME
)
_NAME_FIRST = _WEEKDAY + _NAME + r"[ -](?P<a>[0-9]{1,2})(?:st|nd|rd|th)?(?:, |[ -])(?P<year>[0-9]{4})" + _TIME
_MONTHS = (
    ("jan", "january", "januar", "jänner"), ("feb", "february", "februar"), ("mar", "march", "mär", "märz"),
    ("apr", "april"), ("may", "mai"), ("jun", "june", "juni"), ("jul", "july", "juli"), ("aug", "august"),
    ("sep", "sept", "september"), ("oct", "october", "okt", "oktober"), ("nov", "november"),
    ("dec", "december", "dez", "dezember"),
)  # fmt: skip
_MONTH_OF = {name: k + 1 for k, names in enumerate(_MONTHS) for name in names}
_CENTURY = 69  # two digits from here on are of the last century, as in POSIX


@dataclass(frozen=True)
class Parsed:
    """Texts as days since 1970 in UTC: NaN where one is no date."""

    day_first: Array
    month_first: Array
    has_points: Array  # in which the day comes first, if it can

    @property
    def is_date(self) -> Array:
        """Which of them are dates, in one order or the other."""
        return ~np.isnan(self.day_first) | ~np.isnan(self.month_first)

    @property
    def is_open(self) -> Array:
        """Which of them are two dates."""
        two = ~np.isnan(self.day_first) & ~np.isnan(self.month_first)
        return two & (self.day_first != self.month_first) & ~self.has_points

    def read(self, order: str) -> Array:
        """Return the days by an order of day and month; without one, NaN where it is open."""
        if order == "mdy":
            return self.month_first
        found = np.where(np.isnan(self.day_first) & (order == ""), self.month_first, self.day_first)
        return np.where(self.is_open & (order == ""), np.nan, found)


def parse(text: Any) -> Parsed:
    """Return an array of text, without missing ones, as dates."""
    days = _iso(text)
    by_order = {order: days.copy() for order in ORDERS}
    has_points = np.zeros(len(text), dtype=bool)
    for pattern in (_NUMERIC, _YEAR_FIRST, _DAY_NAMED, _NAME_FIRST):
        rest = np.flatnonzero(np.isnan(by_order["dmy"]) & np.isnan(by_order["mdy"]))
        parts, found = _parts(text, rest, pattern)
        if not len(found):
            continue
        for order in ORDERS:
            day, month = parts["a"], parts["b"]
            if order == "mdy" and pattern == _NUMERIC:
                day, month = month, day
            by_order[order][found] = _days(parts["year"], month, day) + parts["time"]
        if pattern == _NUMERIC:
            has_points[found] = parts["mark"] == "."
    has_points &= ~np.isnan(by_order["dmy"])
    return Parsed(by_order["dmy"], by_order["mdy"], has_points)


def read(text: Any, form: Form) -> Array:
    """Return an array of text, without missing ones, as days since 1970 in UTC, NaN where one is no date."""
    if "%" in form.date:
        moments = require("pandas", "cli").to_datetime(
            text.to_pandas(), format=form.date, errors="coerce", utc=True
        )
        return _of_moments(moments)
    return parse(text).read(form.date)


def _of_moments(moments: Any) -> Array:
    instants = moments.dt.as_unit("us").to_numpy("datetime64[us]")
    return np.where(np.isnat(instants), np.nan, instants.astype(np.int64) / 1e6 / SECONDS_A_DAY)


def _iso(text: Any) -> Array:
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    is_iso = pc.match_substring_regex(text, _ISO)
    if not pc.any(is_iso).as_py():
        return np.full(len(text), np.nan)
    iso = pc.if_else(is_iso, text, pa.scalar(None, pa.string())).to_pandas()
    return _of_moments(require("pandas", "cli").to_datetime(iso, format="ISO8601", utc=True, errors="coerce"))


def _parts(text: Any, rest: Array, pattern: str) -> tuple[dict[str, Array], Array]:
    """Return what a pattern finds in some of the texts, and in which of them it finds it."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    fields = pc.extract_regex(text.take(pa.array(rest)), pattern)
    matched = fields.is_valid().to_numpy(zero_copy_only=False)
    if not matched.any():
        return {}, rest[:0]
    fields = fields.filter(pa.array(matched))

    def of(name: str) -> Any:
        return pc.fill_null(pc.struct_field(fields, name), "")

    def number(name: str, empty: str = "0") -> Array:
        digits = pc.if_else(pc.equal(of(name), ""), empty, of(name))
        return pc.replace_substring(digits, ",", ".").cast(pa.float64()).to_numpy(zero_copy_only=False)

    parts = {"a": number("a"), "year": _of_century(of("year"), number("year")), "time": _time(of, number)}
    is_fine = ~np.isnan(parts["time"])
    if "(?P<b>" in pattern:
        parts["b"] = number("b")
        parts["mark"] = np.array(of("mark").to_pylist(), dtype=object)
        is_fine &= parts["mark"] == np.array(of("again").to_pylist(), dtype=object)
    else:
        parts["b"] = np.array([_MONTH_OF.get(name, np.nan) for name in pc.utf8_lower(of("name")).to_pylist()])
        is_fine &= ~np.isnan(parts["b"])
    return {name: each[is_fine] for name, each in parts.items()}, rest[matched][is_fine]


def _of_century(year: Any, number: Array) -> Array:
    is_short = require("pyarrow.compute", "cli").utf8_length(year).to_numpy(zero_copy_only=False) == 2
    return np.where(is_short, number + np.where(number < _CENTURY, 2000, 1900), number)


def _time(of: Any, number: Any) -> Array:
    """Return the share of the day that has gone, less what its zone is ahead of UTC; NaN for no time."""
    pc = require("pyarrow.compute", "cli")
    hour, minute, second = number("hour"), number("minute"), number("second")
    half = np.array(pc.utf8_lower(of("half")).to_pylist(), dtype=object)
    is_odd = (hour > 23) | (minute > 59) | (second >= 60) | ((half != "") & ((hour < 1) | (hour > 12)))
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    zones = {zone: _ahead(zone) for zone in of("zone").unique().to_pylist()}
    ahead = np.array([zones[zone] for zone in of("zone").to_pylist()], dtype=np.float64)
    share = ((hour * 60 + minute) * 60 + second - ahead) / SECONDS_A_DAY
    return np.where(is_odd, np.nan, share)


def _ahead(zone: str) -> float:
    if not zone.startswith(("+", "-")):
        return 0.0
    digits = zone[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:])
    seconds = (hours * 60 + minutes) * 60 if hours < 24 and minutes < 60 else np.nan
    return seconds if zone[0] == "+" else -seconds


def _days(year: Array, month: Array, day: Array) -> Array:
    """Return dates as days since 1970, NaN where a year has none such."""
    is_month = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & (year >= 1)
    months = np.where(is_month, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (np.where(is_month, day, 1) - 1).astype("timedelta64[D]")
    is_month &= days.astype("datetime64[M]") == months
    return np.where(is_month, days.astype(np.float64), np.nan)


class DateEvidence:
    """What the values of a column tell of how its dates are written."""

    def __init__(self) -> None:
        self.needs = dict.fromkeys(ORDERS, 0)  # values that are dates only in this order
        self.n_open = self._n_points = 0
        self.example = ""  # a date that is not written as in ISO 8601

    def see(self, texts: Any, counts: Array, found: Parsed) -> None:
        """Take in different texts, how often they occur and what they were parsed to."""
        is_day, is_month = ~np.isnan(found.day_first), ~np.isnan(found.month_first)
        self.needs["dmy"] += int(counts[is_day & ~is_month].sum())
        self.needs["mdy"] += int(counts[is_month & ~is_day].sum())
        self.n_open += int(counts[found.is_open].sum())
        self._n_points += int(
            counts[found.has_points & is_month & (found.day_first != found.month_first)].sum()
        )
        if not self.example and (is_day | is_month).any():
            pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
            odd = pc.and_(pa.array(is_day | is_month), pc.invert(pc.match_substring_regex(texts, _ISO)))
            self.example = max(texts.filter(odd).slice(0, _LOOKED_AT).to_pylist(), key=len, default="")

    def order(self) -> str:
        """Return the order that the values prove, "" if they prove none, or both."""
        proven = [order for order, n in self.needs.items() if n]
        return proven[0] if len(proven) == 1 else ""

    def form(self, elsewhere: Collection[str]) -> Form | None:
        """Return how dates are written, by the orders that other columns prove too; None where it is open."""
        order = self.order()
        if not order and len(elsewhere) == 1 and not any(self.needs.values()):
            order = next(iter(elsewhere)) if self.n_open else ""
        is_open = self.n_open or (all(self.needs.values()) and self._n_points)
        return None if is_open and not order else Form(date=order)


_LOOKED_AT = 1_000


def asked_form(how: str, name: str) -> Form:
    """Return the form that a user asked for: "", "dmy", "mdy", or a format as of strptime."""
    if how and how not in ORDERS and "%" not in how:
        raise TableError(
            f"the form of the dates in {shown(name)} must be dmy, mdy or a format such as %d.%m.%Y, got "
            f"{shown(how)}; {name}=dmy reads 09/12/2012 as the 9th of December."
        )
    return Form(date=how, lenient=True)
