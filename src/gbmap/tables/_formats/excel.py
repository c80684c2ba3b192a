"""Tables in workbooks of Excel (.xlsx), read and written row by row, by openpyxl."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from gbmap._utils.missing import is_missing
from gbmap._utils.optional import require
from gbmap.tables._formats.heading import LOOKED_AT, place_of_names, say_skipped, with_row_names
from gbmap.tables._sources import Source
from gbmap.tables.errors import TableError, listed

_ROWS = 10_000  # in a batch
_MOST_ROWS = 1 << 20  # of a sheet
_MOST_COLUMNS = 1 << 14
_MOST_BYTES = 1 << 32  # of a workbook unpacked
_MOST_BYTES_OF_TEXTS = 1 << 29  # which are held in memory
_LONGEST_TEXT = 32_767
_EXACT = 2**53


class ExcelRows:
    """The rows of the first sheet of a workbook that holds any, as text.

    Attributes
    ----------
    names : list of str
    decimal : str
        The mark before decimals that goes with the format.
    """

    decimal = "."

    def __init__(self, source: Source):
        self._source = source
        with self._workbook() as book:
            sheets = [sheet for sheet in book.worksheets if next(_filled(sheet), None) is not None]
            if not sheets:
                raise TableError(f"{source.label} is a workbook without values.")
            self._sheet = sheets[0].title
            records = [row for _, row in islice(_filled(sheets[0]), LOOKED_AT)]
        width = max(map(len, records))
        records = [row + [None] * (width - len(row)) for row in records]
        self._first = place_of_names(records, all_as_long=False)
        table = records[self._first :]
        self._places = [k for k in range(width) if any(row[k] for row in table)]
        self.names = with_row_names([table[0][k] or "" for k in self._places])
        if len(sheets) > 1:
            warnings.warn(
                f"{source.label} has {len(sheets)} sheets, {listed(each.title for each in sheets)}; the "
                "first was read.",
                stacklevel=2,
            )
        if self._first:
            say_skipped(source.label, self._first, self.names)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns as text."""
        pa = require("pyarrow", "cli")
        places = [self._places[self.names.index(name)] for name in names]
        with self._workbook() as book:
            rows = (row for _, row in _filled(book[self._sheet]))
            for _ in range(self._first + 1):
                next(rows, None)
            while part := list(islice(rows, _ROWS)):
                columns = [[row[k] if k < len(row) else None for row in part] for k in places]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(each, pa.string()) for each in columns], names=list(names)
                )

    @contextmanager
    def _workbook(self) -> Iterator[Any]:
        openpyxl = require("openpyxl", "excel")
        label = self._source.label
        try:
            with self._source.seekable() as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about styles and the like, which are not read
                _check_size(file, label)
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                try:
                    yield book
                finally:
                    book.close()
        except (TableError, GeneratorExit):
            raise
        except Exception as error:  # what others wrote into the archive may raise anything there
            what = str(error).strip().partition("\n")[0][:200].rstrip(".") or type(error).__name__
            raise TableError(f"{label} cannot be read as a workbook of Excel (.xlsx): {what}.") from error


def _check_size(file: Any, label: str) -> None:
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
    names = {part.filename for part in parts}
    if "xl/workbook.xml" not in names:
        kind = "a workbook of another kind" if {"mimetype", "xl/workbook.bin"} & names else "an archive"
        raise TableError(f"{label} is {kind}; save the table in it as .xlsx or CSV.")
    texts = sum(part.file_size for part in parts if part.filename.endswith("sharedStrings.xml"))
    if sum(part.file_size for part in parts) > _MOST_BYTES or texts > _MOST_BYTES_OF_TEXTS:
        raise TableError(f"{label} unpacks to more than a sheet may hold; save the table in it as CSV.")
    file.seek(0)


def _filled(sheet: Any) -> Iterator[tuple[int, list[str | None]]]:
    """Yield the rows with values and their places, as text without empty cells at the end."""
    sheet.reset_dimensions()  # which programs get wrong
    for place, values in enumerate(sheet.iter_rows(values_only=True, max_col=_MOST_COLUMNS)):
        row = [_text(value) for value in values]
        while row and row[-1] is None:
            row.pop()
        if row:
            yield place, row


def _text(value: Any) -> str | None:
    """Return a cell as text, as programs write numbers, truth values and dates."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds").removesuffix(" 00:00:00")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def write_excel(file: Any, frames: Iterable[Any]) -> int:
    """Write frames as one sheet of a workbook, and return the number of rows."""
    openpyxl = require("openpyxl", "excel")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")
    try:
        n_rows = _fill(sheet, frames)
    except BaseException:
        sheet.close()  # openpyxl complains about one that is left open
        raise
    book.save(file)
    return n_rows


def _fill(sheet: Any, frames: Iterable[Any]) -> int:
    n_rows = 0
    for k, frame in enumerate(frames):
        if k == 0:
            sheet.append([_cell(sheet, str(name)) for name in frame.columns])
        n_rows += len(frame)
        if n_rows >= _MOST_ROWS:
            raise TableError(
                f"a sheet of Excel holds {_MOST_ROWS - 1:,} rows; write them to .csv or .parquet."
            )
        for values in zip(*(frame.iloc[:, k].tolist() for k in range(frame.shape[1]))):
            sheet.append([_cell(sheet, value) for value in values])
    return n_rows


def _cell(sheet: Any, value: Any) -> Any:
    """Return a value as a cell; text is never a formula."""
    if is_missing(value):
        return None
    if isinstance(value, bool | int) or (isinstance(value, float) and abs(value) != float("inf")):
        return value if not isinstance(value, int) or abs(value) < _EXACT else _text_cell(sheet, str(value))
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value
    return _text_cell(sheet, value.isoformat() if hasattr(value, "isoformat") else str(value))


def _text_cell(sheet: Any, text: str) -> Any:
    cells = require("openpyxl.cell.cell", "excel")
    plain = cells.ILLEGAL_CHARACTERS_RE.sub("\ufffd", text)
    if len(plain) > _LONGEST_TEXT:
        raise TableError(
            f"a cell of Excel holds {_LONGEST_TEXT:,} characters; write the table to .csv or .parquet."
        )
    cell = cells.WriteOnlyCell(sheet, plain)
    cell.data_type = "s"
    return cell
