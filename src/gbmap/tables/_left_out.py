"""Columns that are left out although they seem to tell of the target: that is said, loudly."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables import _values as values
from gbmap.tables._targets import read_targets
from gbmap.tables.errors import shown
from gbmap.tables.reading import batches_of, label_of
from gbmap.tables.schema import FREE_TEXT, IDENTIFIER, RUNNING, UNREADABLE, Column, Schema

_DOUBTFUL = (RUNNING, IDENTIFIER, FREE_TEXT)
_LOOKED_AT = 5_000  # rows from the beginning of a table
_FEWEST, _LEAST = 100, 0.3  # rows, and a rank correlation that is worth a word
_SURE = 5.0  # times the spread that chance gives a correlation
_CLOCKS = {r"^\d{1,2}:\d{2}$": "%H:%M", r"^\d{1,2}:\d{2}:\d{2}$": "%H:%M:%S"}
_FIRST_NUMBER = r"(?P<number>-?[0-9]+(?:[.,][0-9]+)?)"


def with_tells(data: Any, schema: Schema) -> Schema:
    """Return a schema that says which of the columns left out seem to tell of the target, after a warning.

    Looked at are the first numbers in their values, for what people write without a thought: 12 kg, A-1234.
    """
    _warn_of_unreadable(data, schema)
    doubtful = [each for each in schema.columns if each.kind == "dropped" and _is_doubtful(each)]
    if not doubtful:
        return schema
    batch = next(iter(batches_of(data, [schema.target, *(each.name for each in doubtful)])))
    y, is_present = read_targets(batch, schema)
    rows = np.flatnonzero(is_present)[:_LOOKED_AT]
    said = {each.name: _tells(batch.rows.column(each.name), rows, _sides(y[rows])) for each in doubtful}
    for column in doubtful:
        if said[column.name]:
            what = next(each for each in _DOUBTFUL if column.reason.startswith(each))
            warnings.warn(
                f"{label_of(data)}: column {shown(column.name)} is left out as {what}, but "
                f"{said[column.name]}; {_way_out(column, batch.rows.column(column.name))}.",
                stacklevel=4,
            )
    columns = tuple(replace(each, tells=said.get(each.name, "")) for each in schema.columns)
    return replace(schema, columns=columns)


def _warn_of_unreadable(data: Any, schema: Schema) -> None:
    """Warn of columns that nothing can be made of, although their values differ."""
    unreadable = [each for each in schema.dropped if each.reason.startswith(UNREADABLE)]
    if not unreadable:
        return
    batch = next(iter(batches_of(data, [each.name for each in unreadable])))
    for column in unreadable:
        found = batch.rows.column(column.name).slice(0, _LOOKED_AT).drop_null().to_pylist()
        if len({repr(value) for value in found}) > 1:
            warnings.warn(
                f"{label_of(data)}: column {shown(column.name)} is left out, since {column.reason}; turn "
                "what it tells into columns of these, or drop it.",
                stacklevel=5,
            )


def _is_doubtful(column: Column) -> bool:
    return column.reason.startswith(_DOUBTFUL)


def _are_all(given: Any, pattern: str) -> bool:
    """Whether all texts of a column are of a form."""
    pc, pa = require("pyarrow.compute", "cli"), require("pyarrow", "cli")
    texts = values.texts(values.plain(given)).cast(pa.string()).drop_null()
    return len(texts) > 0 and bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _sides(y: Array) -> list[Array]:
    """Return ranks of the target, or of each class whether a row is of it."""
    if y.dtype.kind == "f" or len(np.unique(y)) > 100:
        return [rankdata(y)]
    return [(y == label).astype(np.float64) for label in np.unique(y)]


def _tells(column: Any, rows: Array, sides: list[Array]) -> str:
    """Return how far the first numbers of a column go with the target, "" if that may be chance."""
    pc, pa = require("pyarrow.compute", "cli"), require("pyarrow", "cli")
    texts = values.texts(values.plain(column)).take(pa.array(rows)).cast(pa.string())
    found = pc.struct_field(pc.extract_regex(texts, _FIRST_NUMBER), "number")
    numbers = pc.replace_substring(found, ",", ".").cast(pa.float64()).to_numpy(zero_copy_only=False)
    is_known = ~np.isnan(numbers)
    n = int(is_known.sum())
    if n < max(_FEWEST, len(rows) / 2) or np.ptp(numbers[is_known]) == 0:
        return ""
    ranks = rankdata(numbers[is_known])
    spread = [side[is_known] for side in sides]
    largest = max((abs(np.corrcoef(ranks, side)[0, 1]) for side in spread if np.ptp(side)), default=0.0)
    if largest < max(_LEAST, _SURE / np.sqrt(n)):
        return ""
    return f"its numbers go with the target (rank correlation {largest:.2f})"


def _way_out(column: Column, given: Any) -> str:
    name = shown(column.name)
    for clock, format_ in _CLOCKS.items():
        if _are_all(given, clock):
            return f"--date {name}={format_} takes its times of day"
    if column.reason.startswith(FREE_TEXT) or "differs" in column.reason:
        return "write them as numbers, or as categories that repeat"
    return f"--number {name} takes it, if later rows have such numbers too"
