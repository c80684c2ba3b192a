"""One raw column as numbers, days or text, with marks for the values that are none of it.

All arrays here are arrow's; frames of pandas and polars come in through `Batch.of`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables.schema import DATE_PARTS

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_DAY = r"^\d{4}-\d{2}-\d{2}"
_TIME = r"([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?( ?(Z|[+-]\d{2}(:?\d{2})?))?)?$"
_SECONDS_A_DAY = 86_400


def plain(column: Any) -> Any:
    """Return a column as one array without a dictionary, text trimmed, and null where it is missing."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column.cast(pa.float64())), None, column)
    if not is_text(column):
        return column
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return _without_missing(text, text)


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


def is_boolean(column: Any) -> bool:
    """Return whether the values of a plain column that are not missing are truth values, or their words."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if not is_text(column):
        return bool(pa.types.is_boolean(column.type))
    words = pc.is_in(pc.utf8_lower(column.drop_null()), pa.array(["true", "false"]))
    return bool(pc.all(words, min_count=0).as_py())


def present(column: Any) -> Array:
    """Return which values of a plain column are not missing."""
    return column.is_valid().to_numpy(zero_copy_only=False)


def numbers(column: Any) -> Array:
    """Return a plain column as float64: NaN where a value is missing, or is no finite number.

    The words true and false count as 1 and 0.
    """
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if is_numbers(column):
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        return _finite(column.cast(pa.float64(), safe=False))
    if not is_text(column):
        return np.full(len(column), np.nan)
    try:
        values = column.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    else:
        return _finite(values)
    text = column
    for word, digit in (("true", "1"), ("false", "0")):
        text = pc.if_else(pc.equal(pc.utf8_lower(text), word), digit, text)
    text = pc.if_else(pc.match_substring_regex(text, _NUMBER), text, pa.scalar(None, pa.string()))
    return _finite(pc.replace_substring_regex(text, r"^\+", "").cast(pa.float64()))


def n_infinite(column: Any) -> int:
    """Return how many values of a plain column are infinite numbers, or their words."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if is_text(column):
        is_infinite = pc.match_substring_regex(column, _INFINITE)
    elif pa.types.is_floating(column.type):
        is_infinite = pc.is_inf(column.cast(pa.float64()))
    else:
        return 0
    return int(pc.sum(is_infinite, min_count=0).as_py())


def _finite(values: Any) -> Array:
    array: Array = values.fill_null(np.nan).to_numpy(zero_copy_only=False)
    return np.where(np.isfinite(array), array, np.nan)


def days(column: Any) -> Array:
    """Return a plain column as days since 1970 in UTC: NaN where a value is missing, or is no ISO date."""
    pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if is_dates(column):
        count = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
        return _finite(count.cast(pa.float64(), safe=False)) / _units_a_day(column.type)
    if not is_text(column):
        return np.full(len(column), np.nan)
    is_iso = pc.match_substring_regex(column, _DAY + _TIME)
    if not pc.any(is_iso).as_py():
        return np.full(len(column), np.nan)
    text = pc.if_else(is_iso, column, pa.scalar(None, pa.string())).to_pandas()
    moments = require("pandas", "cli").to_datetime(text, format="ISO8601", utc=True, errors="coerce")
    instants = moments.dt.as_unit("us").to_numpy("datetime64[us]")
    values = instants.astype(np.int64) / 1e6 / _SECONDS_A_DAY
    return np.where(np.isnat(instants), np.nan, values)


def _units_a_day(kind: Any) -> int:
    types = require("pyarrow", "cli").types
    if types.is_date32(kind):
        return 1
    unit = "ms" if types.is_date64(kind) else kind.unit
    return _SECONDS_A_DAY * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


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
