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
    """

    def __init__(self, source: Source):
        self._source = source
        with self._open() as file:
            self.names = list(file.schema_arrow.names)

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
