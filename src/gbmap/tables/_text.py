"""Tables of text (CSV): delimiter, header, and rows as batches of text, in bounded memory."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from gbmap._utils.optional import require
from gbmap.tables._sources import HEAD, Source, Stream
from gbmap.tables.errors import TableError, readable, shown

DELIMITERS = (",", ";", "\t", "|")
LONGEST_ROW = 1 << 23  # bytes; rows are read in blocks of so many
_ROWS_TO_GUESS_FROM = 20
_DECIMAL_COMMA = r"^\s*([+-]?\d+),(\d+)\s*$"  # where cells end in semicolons
_OTHER_ENCODINGS = {
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class TextRows:
    """The rows of a table of text.

    Attributes
    ----------
    names : list of str
    delimiter : str
    """

    def __init__(self, source: Source):
        self._source = source
        text = _decoded_head(source)
        self.delimiter = "\t" if source.suffix == ".tsv" else _guess_delimiter(text)
        if not text.strip("\r\n"):
            raise TableError(f"{source.label} is empty; a table begins with a line of column names.")
        self.names, ends_here = _header(text, self.delimiter)
        if not self.names or (ends_here and len(source.head) == HEAD):
            raise TableError(f"{source.label} begins with a line that is too long for names of columns.")

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns as text, cells that say that they are missing included."""
        label = self._source.label
        with readable(label, "a table of text"), _Text(self._source.open(), label) as stream:
            seen = -1  # the header comes as a row
            for batch in self._raw_batches(stream, names):
                rows = batch.slice(1) if seen < 0 else batch
                if len(rows):
                    yield self._as_text(rows, names, max(seen, 0))
                seen += len(batch)

    def _raw_batches(self, stream: _Text, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of bytes that are not empty."""
        pa, arrow_csv = require("pyarrow", "cli"), require("pyarrow.csv", "cli")
        places = [str(k) for k in range(len(self.names))]
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
        pa, pc = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
        try:
            text = column.cast(pa.string())
        except pa.ArrowInvalid:
            row, value = _first_undecodable(column)
            raise TableError(
                f"{self._source.label}: column {shown(name)} holds {shown(value)} in row "
                f"{first + row + 1:,}, which is not UTF-8; store the file in that encoding."
            ) from None
        if self.delimiter == ";":
            text = pc.replace_substring_regex(text, _DECIMAL_COMMA, r"\1.\2")
        return text


class _Text(io.RawIOBase):
    """A stream of bytes that refuses those which no table of text holds."""

    def __init__(self, stream: Stream, label: str):
        self._stream, self._label = stream, label

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._stream.readinto(buffer)
        if b"\0" in bytes(buffer[:n]):
            raise TableError(f"{self._label} holds bytes of value zero, so it is neither text nor Parquet.")
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()


def _decoded_head(source: Source) -> str:
    head = source.head
    for mark, encoding in _OTHER_ENCODINGS.items():
        if head.startswith(mark):
            raise TableError(f"{source.label} is in {encoding}; store it in UTF-8.")
    if b"\0" in head:
        raise TableError(f"{source.label} holds bytes of value zero, so it is neither text nor Parquet.")
    try:
        # The head may end within a character.
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise TableError(
            f"{source.label} is not in UTF-8: line {line:,} holds {head[error.start : error.start + 1]!r}; "
            "store it in that encoding."
        ) from error


def _guess_delimiter(text: str) -> str:
    """Return the delimiter that cuts most of the first rows like the header, into the most cells."""

    def fits(delimiter: str) -> tuple[int, int]:
        rows = list(islice(_records(text, delimiter), _ROWS_TO_GUESS_FROM + 1))
        n_names = len(rows[0]) if rows else 0
        return (sum(len(row) == n_names for row in rows) if n_names > 1 else 0, n_names)

    return max(DELIMITERS, key=fits)


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
