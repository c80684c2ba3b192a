"""Numbers as people write them, such as 1,234.56 or 1.234,56 EUR, (5.00) or 12 %; and how columns write them.

A mark before exactly three digits, as in 1,234, may set off thousands or decimals. Such a value is open; all
others say themselves what their marks mean. What an open one means is decided by the rest of its column, then
by the other columns of the table, and else not at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables.errors import TableError, shown
from gbmap.tables.schema import Form

MARKS = {"point": ".", "comma": ","}
PERCENT = "%"

_SIGNS = "$€£¥₹₽₩₺₴₫₪฿₱₦₿"
_CODES = (
    "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK", "ISK", "PLN",
    "CZK", "HUF", "RON", "BGN", "TRY", "RUB", "UAH", "ILS", "ZAR", "BRL", "MXN", "ARS", "CLP", "COP", "PEN",
    "KRW", "TWD", "HKD", "SGD", "THB", "MYR", "IDR", "PHP", "VND", "AED", "SAR", "EGP", "NGN", "KES", "BTC",
    "Euro", "DM", "TL", "Fr.", "kr", "kr.", "Kč", "zł", "Ft", "Rs", "Rs.",
    "R$", "US$", "A$", "C$", "CA$", "AU$", "NZ$", "HK$", "S$",
)  # fmt: skip
# Units of measure, which are told by their case. Most letters that stand alone are parts of codes.
_MEASURES = (
    "mm", "cm", "m", "km", "in", "ft", "mi", "m²", "m2", "m^2", "km²", "km2", "ha", "sqft", "sqm", "m³",
    "m3", "ml", "cl", "l", "hl", "mg", "g", "kg", "t", "lb", "lbs", "oz", "ms", "s", "sec", "min", "h",
    "hrs", "hours", "days", "months", "years", "yrs", "km/h", "kph", "m/s", "mph", "rpm", "°C", "°F", "°",
    "kW", "kWh", "MW", "MWh", "GWh", "hp", "PS", "kV", "mA", "Hz", "kHz", "MHz", "GHz", "kB", "KB", "MB",
    "GB", "TB", "bar", "mbar", "hPa", "kPa", "psi", "ppm", "pcs", "pts", "kcal", "kJ",
)  # fmt: skip
_SAME = {
    "€": "EUR",
    "EURO": "EUR",
    "£": "GBP",
    "US$": "USD",
    "₹": "INR",
    "RS": "INR",
    "RS.": "INR",
    "FR.": "CHF",
}
_LETTERS = "|".join(code.replace(".", r"\.").replace("$", r"\$") for code in sorted(_CODES, key=len)[::-1])
_CURRENCY = rf"(?i:{_LETTERS})|[{_SIGNS}]"
_MEASURE = "|".join(sorted(map(re.escape, _MEASURES), key=len)[::-1])
_NUMBER = (
    r"^(?P<open>\(?) ?(?P<before>[+-]?) ?"
    rf"(?P<unit>{_CURRENCY}|) ?(?P<sign>[+-]?) ?"
    r"(?P<digits>[0-9][0-9.,' ]*|[.,][0-9]+)(?P<exponent>(?:[eE][+-]?[0-9]+)?) ?"
    rf"(?P<unit_after>%|{_MEASURE}|{_CURRENCY}|) ?(?P<after>-?)(?P<close>\)?)$"
)
_SPACES = "[ \u00a0\u2007\u2009\u202f\t]+"
_OPEN = r"^[1-9][0-9]{0,2}[.,][0-9]{3}$"
_SPACED = r"^[1-9][0-9]{0,2}((?: [0-9]{3})+|(?:'[0-9]{3})+)([.,][0-9]*)?$"
_LOOKED_AT = 1_000  # values that mostly tell what all tell
_LEAST_OPEN = 10  # values, by which a column of decimals would have shown others than three of them
# Different ones, of points. Programs write these, and leave out zeros at the end: that each number has three
# decimals or none is chance in .9^50 of their columns.
_LEAST_POINTED = 50


@dataclass(frozen=True)
class Parsed:
    """Texts as numbers: NaN where one is none."""

    point: Array  # with a decimal point, in which commas set off thousands
    comma: Array  # with a decimal comma
    is_open: Array  # the two differ, and the text does not say which holds
    has_point: Array  # whether there is such a mark
    has_comma: Array
    units: Array  # "" where there is none, and where there is no number
    is_odd: Array  # whether a program would have written it otherwise, but for marks and unit

    @property
    def is_number(self) -> Array:
        """Which are numbers, by one of the marks or both."""
        return ~np.isnan(self.point) | ~np.isnan(self.comma)

    def read(self, form: Form, suggested: str) -> Array:
        """Return the numbers as a form says that they are written, NaN where it does not tell."""
        by_mark = {".": self.point, ",": self.comma}
        other = _other(form.decimal)
        own, others = by_mark[form.decimal], by_mark[other]
        if form.group:  # the other mark sets off thousands, so that it does nothing else
            values = own
        else:
            has_other = {".": self.has_point, ",": self.has_comma}[other]
            of_open = np.where(has_other, others if suggested == other else np.nan, own)
            values = np.where(self.is_open, of_open, np.where(np.isnan(own), others, own))
        is_share = self.units == PERCENT
        is_bare = (self.units == "") & (values != 0)
        if form.unit == PERCENT:
            wrong = ~is_share & ((self.units != "") | is_bare)
        elif form.unit == "any":
            wrong = np.zeros(len(values), dtype=bool)
        else:
            wrong = is_share | ((self.units != "") & (self.units != form.unit) & (form.unit != ""))
        return np.where(wrong, np.nan, np.where(is_share, values / 100, values))


def parse(text: Any) -> Parsed:
    """Return an array of text, without missing ones, as numbers."""
    pc = require("pyarrow.compute", "cli")
    text = pc.replace_substring_regex(text, _SPACES, " ")
    for odd, plain in (("\u2212", "-"), ("\u2019", "'")):
        text = pc.replace_substring(text, odd, plain)
    parts = pc.extract_regex(text, _NUMBER)
    found = {name: pc.fill_null(pc.struct_field(parts, name), "") for name in _FIELDS}
    signs = [found[name].to_numpy(zero_copy_only=False) for name in ("before", "sign", "after", "open")]
    n_signs = sum((each != "").astype(int) for each in signs)
    is_minus = (signs[0] == "-") | (signs[1] == "-") | (signs[2] == "-") | (signs[3] == "(")
    closed = np.equal(signs[3] == "(", found["close"].to_numpy(zero_copy_only=False) == ")")
    before, after = (_units(found[name]) for name in ("unit", "unit_after"))
    is_number = parts.is_valid().to_numpy(zero_copy_only=False)
    is_number &= (n_signs <= 1) & closed & ((before == "") | (after == ""))
    digits, is_spaced = _without_spaces(pc.utf8_rtrim_whitespace(found["digits"]))
    has_exponent = found["exponent"].to_numpy(zero_copy_only=False) != ""
    by_mark = {}
    for mark in MARKS.values():
        values = _values(digits, found["exponent"], mark, may_group=~(is_spaced | has_exponent))
        by_mark[mark] = np.where(is_number, np.where(is_minus, -values, values), np.nan)
    is_open = _matches(digits, _OPEN) & ~is_spaced & ~has_exponent & is_number
    has_point, has_comma = (
        pc.match_substring(digits, mark).to_numpy(zero_copy_only=False) for mark in (".", ",")
    )
    units = np.where(is_number, np.where(before == "", after, before), "")
    is_odd = is_spaced | (signs[2] != "") | (signs[3] != "")
    return Parsed(by_mark["."], by_mark[","], is_open, has_point, has_comma, units, is_odd)


_FIELDS = ("open", "before", "unit", "sign", "digits", "exponent", "unit_after", "after", "close")


def _without_spaces(digits: Any) -> tuple[Any, Array]:
    """Return digits without what sets off thousands and can mean nothing else, and which of them had some."""
    pc = require("pyarrow.compute", "cli")
    is_spaced = pc.match_substring_regex(digits, "[ ']")
    spaced = is_spaced.to_numpy(zero_copy_only=False)
    if spaced.any():
        groups = pc.match_substring_regex(digits, _SPACED)
        together = pc.replace_substring_regex(digits, "[ ']", "")
        digits = pc.if_else(is_spaced, pc.if_else(groups, together, ""), digits)
    return digits, spaced


def _values(digits: Any, exponent: Any, mark: str, *, may_group: Array) -> Array:
    """Return digits as numbers, with a mark before decimals; the other one may set off thousands."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    d, g = f"[{mark}]", f"[{_other(mark)}]"
    is_one = pc.match_substring_regex(digits, rf"^([0-9]+{d}?[0-9]*|{d}[0-9]+)$")
    groups = rf"[1-9][0-9]{{0,2}}({g}[0-9]{{3}})+"
    if mark == ".":  # as in India; points in pairs are rather dates or addresses
        groups += rf"|[1-9][0-9]?({g}[0-9]{{2}})+{g}[0-9]{{3}}"
    is_grouped = _matches(digits, rf"^({groups})({d}[0-9]*)?$") & may_group
    whole = pc.replace_substring(digits, _other(mark), "")
    text = pc.binary_join_element_wise(pc.replace_substring(whole, mark, "."), exponent, "")
    is_number = pc.or_(is_one, pa.array(is_grouped))
    values = pc.if_else(is_number, text, pa.scalar(None, pa.string())).cast(pa.float64())
    array: Array = values.to_numpy(zero_copy_only=False)
    return np.where(np.isfinite(array), array, np.nan)


def _units(column: Any) -> Array:
    each = column.to_numpy(zero_copy_only=False)
    if not (each != "").any():
        return np.full(len(each), "", dtype=object)
    known = {unit: unit if unit in _MEASURES else _SAME.get(unit.upper(), unit.upper()) for unit in set(each)}
    return np.array([known[unit] for unit in each], dtype=object)


def _matches(text: Any, pattern: str) -> Array:
    pc = require("pyarrow.compute", "cli")
    return pc.match_substring_regex(text, pattern).to_numpy(zero_copy_only=False)


def _other(mark: str) -> str:
    return "," if mark == "." else "."


class NumberEvidence:
    """What the values of a column tell of how its numbers are written."""

    def __init__(self) -> None:
        self.needs = {".": 0, ",": 0}  # values that are numbers only with this decimal mark
        self.open = {".": 0, ",": 0}  # those that this mark leaves open
        self._pointed = set[str]()  # of the open ones with points, as many as have to be seen
        self._groups = {".": False, ",": False}  # whether the mark is sure to have set off thousands
        self._bare = {"small": 0, "large": 0}  # whole numbers without a mark, below and from 1000 on
        self.units: Counter[str] = Counter()
        self._example = ""  # a value that is not written as programs do

    def tells_nothing_new(self, text: Any, plain: Array | None) -> bool:
        """Count values that are written as programs do, if there is no more to learn from them.

        Parameters
        ----------
        text : array of arrow's
            Without missing values.
        plain : array or None
            They as numbers, if all are written as programs do.
        """
        pc = require("pyarrow.compute", "cli")
        has_points = pc.any(pc.match_substring(text, ".")).as_py()
        if plain is None:
            return False
        if has_points and not self.needs["."] and len(text) > _LOOKED_AT:
            first = text.slice(0, _LOOKED_AT)
            self.take(first, np.ones(len(first), dtype=np.int64), parse(first))
        if has_points and not self.needs["."]:
            return False
        is_small = int((np.abs(plain) < 1000).sum()) * (not has_points)
        self._bare["small"] += is_small
        self._bare["large"] += (len(plain) - is_small) * (not has_points)
        self.units[""] += int((plain != 0).sum())
        return True

    def take(self, texts: Any, counts: Array, found: Parsed) -> None:
        """Take in different texts, how often they occur and what they were parsed to."""
        is_point, is_comma = ~np.isnan(found.point), ~np.isnan(found.comma)
        for mark, has, one, two in (
            (".", found.has_point, is_point, is_comma),
            (",", found.has_comma, is_comma, is_point),
        ):
            self.needs[mark] += int(counts[one & ~two].sum())
            self.open[mark] += int(counts[found.is_open & has].sum())
            self._groups[mark] |= bool((two & ~one & has).any())
        is_bare = is_point & ~found.has_point & ~found.has_comma
        is_small = is_bare & (np.abs(found.point) < 1000)
        self._bare["small"] += int(counts[is_small].sum())
        self._bare["large"] += int(counts[is_bare & ~is_small].sum())
        is_number = found.is_number
        is_counted = is_number & (found.point != 0) & (found.comma != 0)
        for unit in set(found.units[is_counted]):
            self.units[unit] += int(counts[is_counted & (found.units == unit)].sum())
        self._note_example(texts, is_number & (found.has_comma | (found.units != "") | found.is_odd))
        may_group = (found.is_open | ~is_point) & found.has_point & is_comma
        if len(self._pointed) < _LEAST_POINTED and may_group.any():
            self._pointed.update(texts.filter(require("pyarrow", "cli").array(may_group)).to_pylist())

    def _note_example(self, texts: Any, marked: Array) -> None:
        """Keep the longest of the first marked texts, which shows the most."""
        if marked.any():
            pa = require("pyarrow", "cli")
            near = texts.filter(pa.array(marked)).slice(0, _LOOKED_AT).to_pylist()
            self._example = max(self._example, max(near, key=len), key=len)

    def example(self, form: Form) -> str:
        """Return a value that is not read as a program would, "" if there is none."""
        if self._example or form.group != ".":
            return self._example
        return max(sorted(self._pointed), key=len, default="")

    def decimal(self) -> str:
        """Return the decimal mark that the values prove, "" if they prove none, or both."""
        proven = [mark for mark, n in self.needs.items() if n]
        if not proven and not self._bare["large"] and self._bare["small"]:  # no number is that long without
            is_grouped = {
                ",": self.open[","] >= _LEAST_OPEN and not self.open["."],
                ".": len(self._pointed) >= _LEAST_POINTED and not self.open[","],
            }
            proven = [_other(mark) for mark in is_grouped if is_grouped[mark]]
        return proven[0] if len(proven) == 1 else ""

    def form(self, elsewhere: Collection[str], suggested: str) -> Form | None:
        """Return how numbers are written, by the marks that other columns prove too; None where it is open.

        `suggested` is the mark that goes with the format of the file, "" if none does.
        """
        mark = self.decimal()
        if not mark:
            mark = next(iter(elsewhere)) if len(elsewhere) == 1 else ""
            if all(self.needs.values()) and any(self.open.values()):
                return None
            if all(self.needs.values()):
                mark = ""
            if not mark and self.open[","]:
                return None
            if self.open["."] and (not mark or suggested == "."):
                mark = "."
        mark = mark or "."
        other = _other(mark)
        is_group = self._groups[other] or (self.open[other] and not self.needs[other])
        return Form(decimal=mark, group=other if is_group else "", unit=self._unit())

    def _unit(self) -> str:
        units = [unit for unit in self.units if unit]
        return units[0] if len(units) == 1 else ""

    @property
    def mixes_measures(self) -> bool:
        """Whether the values are of several units of measure, as sizes of packets are."""
        return self.has_mixed_units and any(unit in _MEASURES for unit in self.units)

    @property
    def has_mixed_units(self) -> bool:
        """Whether the values are of several currencies, or some in percent and others not."""
        named = [unit for unit in self.units if unit]
        return len(named) > 1 or (named == [PERCENT] and self.units[""] > 0)


def asked_form(how: str, name: str) -> Form:
    """Return the form that a user asked for: "", "point" or "comma"."""
    if how and how not in MARKS:
        raise TableError(
            f"the form of the numbers in {shown(name)} must be point or comma, the mark before the decimals, "
            f"got {shown(how)}; {name}=point reads 1,234 as 1234, and {name}=comma as 1.234."
        )
    mark = MARKS.get(how, ".")
    return Form(decimal=mark, group=_other(mark) if how else "", unit="any", lenient=True)
