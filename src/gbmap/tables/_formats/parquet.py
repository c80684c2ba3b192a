"""Tables in Parquet files: their rows as batches, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gbmap._utils.optional import require
from gbmap.tables._sources import Source
from gbmap.tables.errors import readable

_ROWS = 1 << 16
_BUFFER = 1 << 16  # bytes of a column that are read at once, instead of all of a group of rows


class ParquetRows:
    """The rows of a Parquet file.

    Attributes
    ----------
    names : list of str
    decimal : str
        The mark before decimals that goes with the format: none does, since numbers are typed.
    """

    decimal = ""

    def __init__(self, source: Source):
        self._source = source
        with self._open() as file:
            schema = file.schema_arrow
        self.names = list(schema.names)
        if any(b"ARROW:extension:name" in (field.metadata or {}) for field in schema):
            _let_arrow_know_pandas_types()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns."""
        with self._open() as file:
            for batch in file.iter_batches(_ROWS, columns=list(names), use_threads=False):
                batch.validate(full=True)
                yield batch.select(list(names))

    @contextmanager
    def _open(self) -> Iterator[Any]:
        parquet = require("pyarrow.parquet", "cli")
        with readable(self._source.label, "a Parquet file"), self._source.seekable() as file:
            yield parquet.ParquetFile(file, buffer_size=_BUFFER)


def _let_arrow_know_pandas_types() -> None:
    """Let arrow know periods and intervals, which pandas tells it of only when it first writes some."""
    pa, pd = require("pyarrow", "cli"), require("pandas", "cli")
    pa.array(pd.array([], dtype="period[D]"))
