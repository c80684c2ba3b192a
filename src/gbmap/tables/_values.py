"""One raw column as numbers, days or text, with marks for the values that are none of it.

All arrays here are arrow's; frames of pandas and polars come in through `Batch.of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables._dates import SECONDS_A_DAY
from gbmap.tables._dates import read as read_dates
from gbmap.tables._numbers import PERCENT
from gbmap.tables._numbers import Parsed as ParsedNumbers
from gbmap.tables._numbers import parse as parse_numbers
from gbmap.tables.schema import DATE_PARTS, PLAIN, Form

MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "Null", "NULL", "None", "?", "-", "--",
    "\u2013", "\u2014", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!",
)  # fmt: skip
TRUE_WORDS = (
    "true",
    "yes",
    "y",
    "t",
    "ja",
    "j",
    "wahr",
    "oui",
    "vrai",
    "si",
    "s\u00ed",
    "sim",
    "vero",
    "kyll\u00e4",
)
FALSE_WORDS = (
    "false",
    "no",
    "n",
    "f",
    "nein",
    "falsch",
    "non",
    "faux",
    "nej",
    "nee",
    "n\u00e3o",
    "nao",
    "falso",
    "ei",
)

_PERIODS, _INTERVALS = "pandas.period", "pandas.interval"
_UNITS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TIME = r"([01]?\d|2[0-3]):[0-5]\d"
_CLOCKS = {  # by unit; what pandas and Arrow write
    "s": rf"^(-?\d+ days?,? )?\+?{_TIME}:[0-5]\d(\.\d+)?$|^-?\d+ days?$|^-?P-?\d+DT.*S$",
    "h": rf"^{_TIME}(:[0-5]\d(\.\d+)?)?$",
}
_INFINITE = r"(?i)^[+-]?(inf(inity)?|\x{221e})$"


def plain(column: Any) -> Any:
    """Return a column as one array without a dictionary, text trimmed, and null where it is missing."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = _of_extension(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if unit := unit_of(column.type):
        return _in_units(column, unit)
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column.cast(pa.float64())), None, column)
    if not is_text(column):
        return column
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return _without_missing(text, text)


def unit_of(kind: Any) -> str:
    """Return the unit that values of a type get: "s" for spans of time, "h" for times of day, else ""."""
    types = require("pyarrow", "cli").types
    return "s" if types.is_duration(kind) else "h" if types.is_time(kind) else ""


def read_as(kind: Any) -> str:
    """Return how values are read that are neither numbers, text nor dates by their type, "" for others."""
    if getattr(kind, "extension_name", "") == _PERIODS:
        return "a period is read as its first moment"
    return {"s": "spans of time count in seconds", "h": "times of day count in hours"}.get(unit_of(kind), "")


def _in_units(column: Any, unit: str) -> Any:
    """Return spans of time as seconds, or times of day as hours."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    whole = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
    ticks = _UNITS_A_SECOND[column.type.unit] * (3600 if unit == "h" else 1)
    return pc.divide(whole.cast(pa.float64(), safe=False), float(ticks))


def _of_extension(column: Any) -> Any:
    """Return a column of a type that is not arrow's own: periods as dates, intervals as text."""
    pa, name = require("pyarrow", "cli"), column.type.extension_name
    if name not in (_PERIODS, _INTERVALS):
        return column.storage
    series = pa.chunked_array([column]).to_pandas()
    if name == _INTERVALS:
        texts = [str(value) for value in series]
        return pa.array(texts, pa.string(), mask=series.isna().to_numpy())
    # In seconds, which reach as far as periods do.
    seconds = series.array.asfreq("s", how="start").asi8
    return pa.array(seconds, pa.timestamp("s"), mask=series.isna().to_numpy())


def with_nulls(rows: Any) -> Any:
    """Return a batch of text with nulls where a cell is empty or says that it is missing."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    columns = [_without_missing(column, pc.utf8_trim_whitespace(column)) for column in rows.columns]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _without_missing(text: Any, trimmed: Any) -> Any:
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    # Not if_else, which before pyarrow 24 takes the bytes of a slice from the wrong place.
    return pc.replace_with_mask(text, pc.is_in(trimmed, pa.array(MISSING)), pa.scalar(None, pa.string()))


def is_text(column: Any) -> bool:
    """Return whether a column holds text."""
    types = require("pyarrow", "cli").types
    return any(test(column.type) for test in (types.is_string, types.is_large_string, types.is_string_view))


def is_dates(column: Any) -> bool:
    """Return whether a column holds dates by its type."""
    types = require("pyarrow", "cli").types
    return bool(types.is_timestamp(column.type) or types.is_date(column.type))


def is_numbers(column: Any) -> bool:
    """Return whether a column holds numbers or truth values by its type."""
    types = require("pyarrow", "cli").types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(column.type) for test in tests)


def is_boolean(column: Any, *, any_words: bool = False) -> bool:
    """Return whether the values of a plain column that are not missing are truth values, or their words.

    These are true and false, and with `any_words` also yes and no and the like.
    """
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if not is_text(column):
        return bool(pa.types.is_boolean(column.type))
    known = (*TRUE_WORDS, *FALSE_WORDS) if any_words else (TRUE_WORDS[0], FALSE_WORDS[0])
    words = pc.is_in(pc.utf8_lower(column.drop_null()), pa.array(known))
    return bool(pc.all(words, min_count=0).as_py())


def truth_of(texts: Any) -> Array:
    """Return 1 for words that say yes, 0 for those that say no, NaN for others."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    lower, found = pc.utf8_lower(texts), np.full(len(texts), np.nan)
    for value, words in ((1.0, TRUE_WORDS), (0.0, FALSE_WORDS)):
        found[pc.is_in(lower, pa.array(words)).to_numpy(zero_copy_only=False)] = value
    return found


def present(column: Any) -> Array:
    """Return which values of a plain column are not missing."""
    return column.is_valid().to_numpy(zero_copy_only=False)


def machine_numbers(column: Any) -> Array | None:
    """Return a plain column of text as float64, if all that is not missing is as programs write numbers."""
    pa = require("pyarrow", "cli")
    try:
        return column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


def numbers(column: Any, form: Form = PLAIN, suggested: str = "", *, machine: Array | None = None) -> Array:
    """Return a plain column as float64: NaN where a value is missing, or is no finite number.

    Parameters
    ----------
    column : array of arrow's
    form : Form
        How numbers are written in it, if it is text. The words true and false always count as 1 and 0.
    suggested : str
        The decimal mark that goes with the format of the file, "" if none does.
    machine : array, default=None
        What `machine_numbers` gave, if that is known.
    """
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if is_numbers(column):
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        return finite(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False))
    if not is_text(column):
        return np.full(len(column), np.nan)
    is_plain = form.unit != PERCENT
    if is_plain and form.decimal == ",":
        is_plain = not pc.any(pc.match_substring(column, ".")).as_py()
        machine = machine_numbers(pc.replace_substring(column, ",", ".")) if is_plain else None
    elif is_plain and machine is None:
        machine = machine_numbers(column)
    if is_plain and machine is not None:
        return finite(machine)
    found = Texts.of(column)
    return found.by_row(read_numbers(found.texts, parse_numbers(found.texts), form, suggested))


def read_numbers(texts: Any, parsed: ParsedNumbers, form: Form, suggested: str) -> Array:
    """Return texts as numbers, by how a column is written, with the words that count as 1 and 0."""
    found = parsed.read(form, suggested)
    if form.unit in _CLOCKS and np.isnan(found).any():
        found = np.where(np.isnan(found), _of_clocks(texts, form.unit), found)
    truth = truth_of(texts) if form.truth else _plain_truth_of(texts)
    return np.where(np.isnan(truth), found, truth)


def _of_clocks(texts: Any, unit: str) -> Array:
    """Return texts as seconds or hours, as frames write spans and times of day in files; NaN for others."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    of_kind = pc.if_else(pc.match_substring_regex(texts, _CLOCKS[unit]), texts, pa.scalar(None, pa.string()))
    whole = pc.replace_substring_regex(of_kind, r"^(\d{1,2}:\d{2})$", r"\1:00").to_pandas()
    spans = require("pandas", "cli").to_timedelta(whole, errors="coerce")
    return spans.dt.total_seconds().to_numpy(np.float64) / (3600 if unit == "h" else 1)


def _plain_truth_of(texts: Any) -> Array:
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    words = pa.array([FALSE_WORDS[0], TRUE_WORDS[0]])
    place = pc.index_in(pc.utf8_lower(texts), words).cast(pa.float64()).fill_null(np.nan)
    return place.to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class Texts:
    """The different texts of a plain column, and where they stand."""

    texts: Any
    codes: Array  # by row; the last is for what is missing

    @classmethod
    def of(cls, column: Any) -> Texts:
        """Return those of a column."""
        encoded = column.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        return cls(encoded.dictionary, codes)

    @property
    def counts(self) -> Array:
        """How often each of them occurs."""
        return np.bincount(self.codes, minlength=len(self.texts) + 1)[:-1]

    def by_row(self, values: Array) -> Array:
        """Return values of the texts as values of the rows: NaN, or False, where one is missing."""
        missing = False if values.dtype == bool else np.nan
        return np.append(values, missing)[self.codes]


def is_infinite(column: Any) -> Array:
    """Return which values of a plain column are infinite numbers, or their words."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if is_text(column):
        words = pc.match_substring_regex(column, _INFINITE).fill_null(False)
        found: Array = words.to_numpy(zero_copy_only=False)
        return found
    if pa.types.is_floating(column.type):
        return pc.is_inf(column.cast(pa.float64())).fill_null(False).to_numpy(zero_copy_only=False)
    return np.zeros(len(column), dtype=bool)


def finite(array: Array) -> Array:
    """Return an array with NaN where a number is infinite."""
    return np.where(np.isfinite(array), array, np.nan)


def days(column: Any, form: Form = PLAIN) -> Array:
    """Return a plain column as days since 1970 in UTC: NaN where a value is missing, or is no date."""
    pa = require("pyarrow", "cli")
    if is_dates(column):
        count = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
        whole = count.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return finite(whole) / _units_a_day(column.type)
    if "%" in form.date and is_numbers(column):
        column = texts(column)
    if not is_text(column):
        return np.full(len(column), np.nan)
    found = Texts.of(column)
    return found.by_row(read_dates(found.texts, form))


def _units_a_day(kind: Any) -> int:
    types = require("pyarrow", "cli").types
    if types.is_date32(kind):
        return 1
    unit = "ms" if types.is_date64(kind) else kind.unit
    return SECONDS_A_DAY * _UNITS_A_SECOND[unit]


def is_known(column: Any) -> bool:
    """Return whether a column is of a type that can be used."""
    return is_text(column) or is_numbers(column) or is_dates(column)


def texts(column: Any) -> Any:
    """Return a plain column as text; whole numbers without a decimal point, truth as true and false."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if is_text(column):
        return column
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64())
        whole = pc.and_(pc.is_finite(values), pc.equal(values, pc.floor(values)))
        whole = pc.and_(whole, pc.less(pc.abs(values), 2.0**53))
        integers = pc.if_else(whole, values, 0.0).cast(pa.int64()).cast(pa.string())
        return pc.if_else(whole, integers, values.cast(pa.string()))
    return column.cast(pa.string())


def date_parts(when: Array) -> dict[str, Array]:
    """Return what a date says as numbers, from days since 1970: NaN where it is missing."""
    whole = np.floor(when)
    dates = np.where(np.isnan(whole), 0, whole).astype("datetime64[D]")
    day_of_year = (dates - dates.astype("datetime64[Y]")).astype(np.float64) + 1
    parts = (when, day_of_year, (whole + 3) % 7, (when - whole) * 24)  # 1970 began on a Thursday
    return {name: np.where(np.isnan(when), np.nan, part) for name, part in zip(DATE_PARTS, parts)}
