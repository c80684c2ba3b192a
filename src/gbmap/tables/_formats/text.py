"""Tables of text (CSV): delimiter, header, and rows as batches of text, in bounded memory."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from gbmap._utils.optional import require
from gbmap.tables._encodings import UTF_8, decoded_head, text_of
from gbmap.tables._formats.heading import LOOKED_AT, place_of_names, say_skipped, with_row_names
from gbmap.tables._sources import HEAD, Source
from gbmap.tables.errors import TableError, readable, shown

DELIMITERS = (",", ";", "\t", "|")
LONGEST_ROW = 1 << 23  # bytes; rows are read in blocks of so many
_ROWS_TO_GUESS_FROM = 20
_ZERO = "{} holds bytes of value zero, so it is neither text nor Parquet."


class TextRows:
    """The rows of a table of text.

    Attributes
    ----------
    names : list of str
    delimiter : str
    decimal : str
        The mark before decimals that goes with the delimiter, "" if both do.
    """

    def __init__(self, source: Source, encoding: str = UTF_8):
        self._source, self._encoding = source, encoding
        text = decoded_head(source, encoding)
        if "\0" in text:
            raise TableError(_ZERO.format(source.label))
        if not text.strip("\r\n"):
            raise TableError(f"{source.label} is empty; a table begins with a line of column names.")
        self.delimiter, start = _layout(text, "\t" if source.suffix == ".tsv" else "".join(DELIMITERS))
        self.decimal = "," if self.delimiter == ";" else ""
        lines = _lines_before(text, self.delimiter, start)
        mark = codecs.BOM_UTF8 if source.head.startswith(codecs.BOM_UTF8) else b""
        self._n_skipped = len(mark + lines.encode()) if start else 0
        self._cells, ends_here = _header(text[len(lines) :] if start else text, self.delimiter)
        if not self._cells or (ends_here and len(source.head) == HEAD):
            raise TableError(f"{source.label} begins with a line that is too long for names of columns.")
        self.names = with_row_names(self._cells[: _n_named(self._cells, text, self.delimiter, start)])
        if start:
            say_skipped(source.label, lines.count("\n") or lines.count("\r"), self.names)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns as text, cells that say that they are missing included."""
        label = self._source.label
        with readable(label, "a table of text"), self._text_stream(label) as stream:
            seen = -1  # the header comes as a row
            for batch in self._raw_batches(stream, names):
                rows = batch.slice(1) if seen < 0 else batch
                if len(rows):
                    yield self._as_text(rows, names, max(seen, 0))
                seen += len(batch)

    def _text_stream(self, label: str) -> _Text:
        stream = _Text(text_of(self._source, self._encoding), label)
        stream.read(self._n_skipped)
        return stream

    def _raw_batches(self, stream: _Text, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of bytes that are not empty."""
        pa, arrow_csv = require("pyarrow", "cli"), require("pyarrow.csv", "cli")
        places = [str(k) for k in range(len(self._cells))]
        ragged: list[Any] = []
        seen = 0

        def note(row: Any) -> str:
            ragged.append(row)
            return "error"

        try:
            for batch in arrow_csv.open_csv(
                stream,
                arrow_csv.ReadOptions(use_threads=False, block_size=LONGEST_ROW, column_names=places),
                arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(places, pa.binary()),
                    include_columns=[places[self.names.index(name)] for name in names],
                    strings_can_be_null=False,
                ),
            ):
                if len(batch):
                    yield batch
                    seen += len(batch)
        except pa.ArrowInvalid as error:
            if ragged:
                raise TableError(self._about_ragged(ragged[-1])) from error
            if "straddl" in str(error):
                raise TableError(
                    f"{self._source.label} has a row of more than {LONGEST_ROW:,} bytes after row "
                    f"{max(seen - 1, 0):,}; perhaps a quotation mark is not closed."
                ) from error
            raise

    def _as_text(self, rows: Any, names: Sequence[str], first: int) -> Any:
        columns = [self._text(column, name, first) for column, name in zip(rows.columns, names)]
        return require("pyarrow", "cli").RecordBatch.from_arrays(columns, names=list(names))

    def _about_ragged(self, row: Any) -> str:
        return (
            f"{self._source.label}: {self.delimiter!r} cuts row {row.number - 1:,} into "
            f"{row.actual_columns:,} cells, but the header into {row.expected_columns:,}: {shown(row.text)}."
        )

    def _text(self, column: Any, name: str, first: int) -> Any:
        """Return a column of bytes as text."""
        pa = require("pyarrow", "cli")
        try:
            return column.cast(pa.string())
        except pa.ArrowInvalid:
            row, value = _first_undecodable(column)
            raise TableError(
                f"{self._source.label}: column {shown(name)} holds {shown(value)} in row "
                f"{first + row + 1:,}, which is not UTF-8; store the file in that, or name its encoding "
                "(--encoding cp1252, for instance)."
            ) from None


class _Text(io.RawIOBase):
    """A stream of bytes that refuses those which no table of text holds."""

    def __init__(self, stream: Any, label: str):
        self._stream, self._label = stream, label

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._stream.readinto(buffer)
        if b"\0" in bytes(buffer[:n]):
            raise TableError(_ZERO.format(self._label))
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()


def _layout(text: str, delimiters: str) -> tuple[str, int]:
    """Return the delimiter, and which record holds the names.

    The delimiter is that which cuts most of the first rows like the names, next by which names come first,
    next that which cuts rows into the most cells: decimal commas cut every row but the names.
    """

    def fits(delimiter: str) -> tuple[int, int, int]:
        rows = records[delimiter][places[delimiter] :][: _ROWS_TO_GUESS_FROM + 1]
        n_names = len(rows[0]) if rows else 0
        n_alike = sum(len(row) == n_names for row in rows) if n_names > 1 else 0
        return n_alike, -places[delimiter], n_names

    records = {each: list(islice(_records(text, each), LOOKED_AT)) for each in delimiters}
    places = {each: place_of_names(rows, all_as_long=True) if rows else 0 for each, rows in records.items()}
    best = max(delimiters, key=fits)
    return best, places[best]


def _lines_before(text: str, delimiter: str, place: int) -> str:
    """Return the lines before a record."""
    lines = io.StringIO(text, newline="")
    rows = filter(None, csv.reader(lines, delimiter=delimiter))
    for _ in range(place):
        next(rows)
    return text[: lines.tell()]


def _n_named(cells: list[str], text: str, delimiter: str, start: int) -> int:
    """Return how many columns there are without those at the end that have neither a name nor values."""
    below = list(islice(_records(text, delimiter), start + 1, LOOKED_AT))
    n_named = len(cells)
    while (
        n_named > 1
        and not cells[n_named - 1].strip()
        and not any("".join(row[n_named - 1 :]) for row in below)
    ):
        n_named -= 1
    return n_named


def _header(text: str, delimiter: str) -> tuple[list[str], bool]:
    """Return the first record, and whether the text ends with it."""
    lines = io.StringIO(text, newline="")
    try:
        names = next(filter(None, csv.reader(lines, delimiter=delimiter)), [])
    except csv.Error:
        names = []
    return names, lines.tell() == len(text)


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the records of a text but for empty lines, as far as they can be read."""
    try:
        yield from filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        return


def _first_undecodable(column: Any) -> tuple[int, str]:
    for row, value in enumerate(column.to_pylist()):
        try:
            value.decode()
        except UnicodeDecodeError:
            return row, value.decode(errors="replace")
    raise AssertionError("all values can be decoded")
