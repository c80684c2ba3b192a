"""Tables as objects of JSON, one for each row: a line each, or in one array; read and written."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gbmap._utils.missing import is_missing
from gbmap._utils.optional import require
from gbmap.tables._encodings import UTF_8, decoded_head, text_of
from gbmap.tables._sources import HEAD, Source
from gbmap.tables.errors import TableError, listed, readable, shown

ENDINGS = (".jsonl", ".ndjson", ".json")
_BEGIN = re.compile(r'\s*(\[\s*)?\{\s*("|\})')
_ROWS = 10_000  # in a batch
_AT_ONCE = 1 << 20  # characters
_LONGEST_ROW = 1 << 23
_BETWEEN = re.compile(r"[\s,]*")
# Numbers stay the texts that they are, so that none loses digits.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def is_json(text: str) -> bool:
    """Return whether a text begins with an object of JSON, or with an array of such."""
    return _BEGIN.match(text) is not None


class JsonRows:
    """The rows of objects of JSON. What is nested has names with points, as in "customer.city".

    Attributes
    ----------
    names : list of str
        Those in the first 2^20 bytes, in their order.
    decimal : str
        The mark before decimals that goes with the format.
    """

    decimal = "."

    def __init__(self, source: Source, encoding: str = UTF_8):
        self._source, self._encoding = source, encoding
        head = decoded_head(source, encoding)
        is_whole = len(source.head) < HEAD
        names: dict[str, None] = {}
        for row in _rows(io.StringIO(head), source.label, may_be_cut=not is_whole):
            names |= dict.fromkeys(row)
        self.names = list(names)
        if not names:
            raise TableError(f"{source.label} has no object with keys, which would name columns.")

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns as text."""
        label, known, new = self._source.label, set(self.names), dict[str, None]()
        with readable(label, "JSON"), text_of(self._source, self._encoding) as stream:
            text = io.TextIOWrapper(io.BufferedReader(stream, _AT_ONCE), encoding="utf-8-sig")
            columns: list[list[str | None]] = [[] for _ in names]
            for row in _rows(text, label):
                new |= dict.fromkeys(key for key in row if key not in known)
                for name, column in zip(names, columns):
                    column.append(row.get(name))
                if columns and len(columns[0]) == _ROWS:
                    yield _batch(columns, names)
                    columns = [[] for _ in names]
            if columns and columns[0]:
                yield _batch(columns, names)
        if new:
            warnings.warn(
                f"{label}: keys were left out that none of the first rows has: {listed(new)}.", stacklevel=2
            )


def _batch(columns: list[list[str | None]], names: Sequence[str]) -> Any:
    pa = require("pyarrow", "cli")
    return pa.RecordBatch.from_arrays([pa.array(each, pa.string()) for each in columns], names=list(names))


def _rows(file: Any, label: str, *, may_be_cut: bool = False) -> Iterator[dict[str, str | None]]:
    """Yield the objects of a file, flat; one that is cut at the end may be left out."""
    text, place, n_rows = file.read(_AT_ONCE), 0, 0
    if (start := re.match(r"\s*\[", text)) is not None:
        place = start.end()
    while True:
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
        if place == len(text):
            text, place = file.read(_AT_ONCE), 0
            if not text:
                return
            continue
        if start is not None and text[place] == "]":
            if text[place + 1 :].strip() or file.read(_AT_ONCE).strip():
                raise TableError(f"{label} goes on after the array of its rows.")
            return
        try:
            row, end = _DECODER.raw_decode(text, place)
        except RecursionError:
            raise TableError(f"{label}: row {n_rows + 1:,} is nested too deeply.") from None
        except json.JSONDecodeError as error:
            more = file.read(_AT_ONCE) if len(text) - place <= _LONGEST_ROW else ""
            if more:
                text, place = text[place:] + more, 0
                continue
            if may_be_cut:
                return
            raise TableError(
                f"{label}: row {n_rows + 1:,} is no whole object of JSON: {error.msg}, near "
                f"{shown(text[error.pos : error.pos + 40])}."
            ) from None
        n_rows += 1
        if not isinstance(row, dict):
            raise TableError(
                f"{label}: row {n_rows:,} is {shown(text[place:end])}, where a row is an object, as in "
                '{"column": 1}.'
            )
        yield _flat(row, label, n_rows)
        place = end


def _flat(row: dict[str, Any], label: str, number: int) -> dict[str, str | None]:
    """Return the values of an object as text, those of objects in it by their paths, lists as JSON."""
    flat: dict[str, str | None] = {}
    rest = [("", row)]
    while rest:
        before, part = rest.pop()
        for key, value in part.items():
            name = before + key
            if isinstance(value, dict):
                rest.append((f"{name}.", value))
                continue
            if name in flat:
                raise TableError(f"{label}: row {number:,} has the key {shown(name)} twice, once as a path.")
            flat[name] = _text(value)
    return flat


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def write_json_lines(write: Any, frames: Iterable[Any]) -> int:
    """Write frames as objects, one in a line, and return the number of rows."""
    n_rows = 0
    for frame in frames:
        names = [str(name) for name in frame.columns]
        for values in zip(*(_plain(frame.iloc[:, k]) for k in range(len(names)))):
            write(json.dumps(dict(zip(names, values)), ensure_ascii=False, allow_nan=False) + "\n")
        n_rows += len(frame)
    return n_rows


def _plain(series: Any) -> list[Any]:
    """Return the values of a column as JSON has them; infinite numbers as text, since it has none."""
    return [
        None if is_missing(value) else value if isinstance(value, bool | int | str) else _of_other(value)
        for value in series.tolist()
    ]


def _of_other(value: Any) -> Any:
    if isinstance(value, float):
        return value if abs(value) != float("inf") else str(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
