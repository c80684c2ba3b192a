"""Tables as they lie in files: names, and rows in frames of raw values, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gbmap._utils.optional import require
from gbmap.tables._batches import Batch, check_columns, check_names, in_parts
from gbmap.tables._encodings import decoded_head, encoding_of
from gbmap.tables._formats import json_lines
from gbmap.tables._formats.excel import ExcelRows
from gbmap.tables._formats.json_lines import JsonRows
from gbmap.tables._formats.parquet import ParquetRows
from gbmap.tables._formats.text import TextRows
from gbmap.tables._sources import Source
from gbmap.tables._values import with_nulls
from gbmap.tables.errors import TableError, readable

_MAX_ROWS = 50_000
_ZIP, _OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # the first bytes of .xlsx, and of .xls


class Table:
    r"""A table in a file. `open_table` makes them.

    Parameters
    ----------
    source : Source
        Where its bytes come from.
    encoding, fallback : str, default=None
        As those of `open_table`.

    Attributes
    ----------
    names : list of str
        The columns.
    label : str
        What messages call the table.
    encoding : str
        What was said that it is encoded in, "" if nothing was.

    See Also
    --------
    open_table : How to get one.

    Examples
    --------
    >>> import io
    >>> from gbmap.tables import open_table
    >>> table = open_table(io.BytesIO(b"a,b\n1,x\n2,y\n3,z\n"))
    >>> [(frame.attrs["offset"], len(frame)) for frame in table.frames(max_rows=2)]
    [(0, 2), (2, 1)]
    """

    names: list[str]
    label: str
    encoding: str

    def __init__(self, source: Source, encoding: str | None = None, fallback: str | None = None):
        self._source = source
        self.label = source.label
        self.encoding = encoding or fallback or ""
        self._rows = _rows_of(source, encoding, fallback)
        self.names = self._rows.names
        check_names(self.names, self.label)

    def frames(self, max_rows: int = _MAX_ROWS, *, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows as pandas frames of raw values, at most so many at a time.

        Parameters
        ----------
        max_rows : int, default=50_000
        columns : list of str, default=None
            Those to read; None for all.

        Yields
        ------
        frame : pandas.DataFrame
            Typed values from Parquet, text from the others. ``frame.attrs["label"]`` names the table,
            ``frame.attrs["offset"]`` is the number of rows before, for messages.
        """
        for batch in self.batches(max_rows, columns=columns):
            with readable(self.label, "a frame"):
                rows = with_nulls(batch.rows) if not isinstance(self._rows, ParquetRows) else batch.rows
                frame = rows.to_pandas(date_as_object=False, ignore_metadata=True, types_mapper=_exact_type)
            frame.attrs = {"label": batch.label, "offset": batch.offset, "decimal": batch.decimal}
            yield frame

    def batches(self, max_rows: int = _MAX_ROWS, *, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield the rows as batches of Arrow's, at most so many at a time.

        Parameters
        ----------
        max_rows : int, default=50_000
        columns : list of str, default=None
            Those to read; None for all.

        Yields
        ------
        batch : Batch
        """
        names = self.names if columns is None else list(columns)
        check_columns(names, self.names, self.label)
        offset = 0
        for rows in self._rows.batches(names):
            yield from in_parts(Batch(rows, self.label, offset, self._rows.decimal), max_rows)
            offset += len(rows)

    def repeatable(self) -> Table:
        """Return a table that can be read any number of times: itself, or a copy in a temporary file."""
        if not self._source.can_repeat:
            self._source.spool()
        return self


def open_table(source: Any, *, encoding: str | None = None, fallback: str | None = None) -> Table:
    r"""Return the table in a file, of which the names of the columns have been read.

    Parameters
    ----------
    source : str, path-like or binary file
        A path, "-" for standard input, or a file open for reading bytes. Parquet, workbooks of Excel
        (.xlsx) and JSON (an object for each row, one a line or in an array) are told by their first
        bytes, everything else is taken to be text (CSV); gzip is unpacked. The first line of text names the
        columns, or the first that looks like it below titles; the delimiter is that of comma, semicolon,
        tab and bar which cuts the most of the first 20 rows into as many cells as the header (a tab in
        files ``.tsv``). Empty lines are skipped. A cell that is empty or says NA, N/A, n/a, NaN, null, None,
        ?, - or an error of Excel's is missing. A row may take up to 8 MiB.
    encoding : str, default=None
        What text is encoded in. None is UTF-8 or UTF-16, as the file tells, or else, with a warning, cp1252.
    fallback : str, default=None
        What it is encoded in if the file does not tell, in place of cp1252.

    Returns
    -------
    table : Table

    Raises
    ------
    TableError
        If it is no table.

    Examples
    --------
    >>> import io
    >>> from gbmap.tables import open_table
    >>> table = open_table(io.BytesIO(b"age;city\n31;Oslo\n?;Turku\n"))
    >>> table.names
    ['age', 'city']
    >>> for frame in table.frames():
    ...     print(frame.isna().sum().to_dict())
    {'age': 1, 'city': 0}
    """
    return Table(source if isinstance(source, Source) else Source(source), encoding, fallback)


def names_of(data: Any) -> list[str]:
    """Return the names of the columns of a table or frame."""
    return data.names if isinstance(data, Table) else list(Batch.of(data).rows.schema.names)


def label_of(data: Any) -> str:
    """Return what messages call a table or frame."""
    return data.label if isinstance(data, Table) else Batch.of(data).label


def batches_of(data: Any, columns: Sequence[str] | None = None) -> Iterator[Batch]:
    """Yield the rows of a table or frame, a part at a time."""
    if isinstance(data, Table):
        return data.batches(_MAX_ROWS, columns=columns)
    return in_parts(Batch.of(data), _MAX_ROWS)


def _exact_type(kind: Any) -> Any:
    """Return a type for whole numbers of which some are missing; pandas would make them floats."""
    types = require("pyarrow", "cli").types
    is_whole = types.is_integer(kind) or types.is_boolean(kind)
    return require("pandas", "cli").ArrowDtype(kind) if is_whole else None


def _rows_of(source: Source, asked: str | None, fallback: str | None) -> Any:
    if source.head.startswith(b"PAR1"):
        return ParquetRows(source)
    if source.suffix in (".parquet", ".pq"):
        raise TableError(f"{source.label} is no Parquet file: it does not begin with PAR1.")
    if source.head.startswith(_ZIP):
        return ExcelRows(source)
    if source.head.startswith(_OLD_WORKBOOK):
        raise TableError(
            f"{source.label} is a workbook of another kind; save the table in it as .xlsx or CSV."
        )
    encoding = encoding_of(source, asked, fallback)
    is_json = source.suffix in json_lines.ENDINGS or json_lines.is_json(decoded_head(source, encoding))
    return (JsonRows if is_json else TextRows)(source, encoding)
