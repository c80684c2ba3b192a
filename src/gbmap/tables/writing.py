"""Frames as files: CSV, Parquet, Excel or JSON lines, written as they come, put in place when whole."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from gbmap._utils.optional import require
from gbmap._utils.replacing import is_place_of_file, replacing
from gbmap.tables._formats.excel import write_excel
from gbmap.tables._formats.json_lines import write_json_lines
from gbmap.tables.errors import TableError

# Of names, which say what to write.
ENDINGS = (
    ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq", ".xlsx",
    ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz",
)  # fmt: skip


def write_table(destination: str | os.PathLike[str], frames: Iterable[Any]) -> int:
    """Store frames one after another in one file, and return the number of their rows.

    Parameters
    ----------
    destination : str or path-like
        A path, or "-" for standard output. Parquet if it ends in ``.parquet`` or ``.pq``, a workbook of
        Excel if in ``.xlsx``, JSON lines if in ``.jsonl`` or ``.ndjson``; CSV if in ``.csv``, with tabs if
        in ``.tsv``. What is text is compressed if ``.gz`` follows. Standard output is CSV, and so
        are devices and pipes of other names. The file is written beside its place and then moved there.
    frames : iterable of pandas.DataFrame
        All with the same columns. The index is not stored.

    Returns
    -------
    n_rows : int

    Raises
    ------
    TableError
        If the file cannot be written, its name ends otherwise, or there are no frames.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from gbmap.tables import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.csv")
    ...     write_table(path, [pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})])
    ...     pd.read_csv(path)["a"].tolist()
    2
    [1, 2]
    """
    if destination == "-":
        return _write_standard_output(frames)
    path = Path(destination)
    if path.is_dir():
        raise TableError(f"{destination} is a folder; name a file to write.")
    if is_place_of_file(path) and not path.name.lower().endswith(ENDINGS):
        raise TableError(f"{destination} must end in one of {', '.join(ENDINGS)}.")
    write = _writer(path.name.lower())
    try:
        frames = _at_least_one(frames, destination)
        with replacing(path) as file:
            return write(file, frames)
    except OSError as error:
        raise TableError(f"{destination} cannot be written: {error.strerror or error}.") from error


def _at_least_one(frames: Iterable[Any], destination: Any) -> Iterable[Any]:
    """Return the frames; an error if there are none, since nothing would tell what their columns are."""
    frames = iter(frames)
    first = next(frames, None)
    if first is None:
        raise TableError(f"there are no rows to write to {destination}.")
    return chain([first], frames)


def _writer(name: str) -> Callable[[Any, Iterable[Any]], int]:
    if name.endswith((".parquet", ".pq")):
        return _write_parquet
    if name.endswith(".xlsx"):
        return write_excel
    plain, packed = name.removesuffix(".gz"), name.endswith(".gz")
    if plain.endswith((".jsonl", ".ndjson")):
        return lambda file, frames: _write_bytes(file, frames, write_json_lines, packed=packed)
    delimiter = "\t" if plain.endswith(".tsv") else ","

    def write_text(write: Callable[[str], Any], frames: Iterable[Any]) -> int:
        return _write_text(write, frames, delimiter)

    return lambda file, frames: _write_bytes(file, frames, write_text, packed=packed)


def _write_bytes(file: Any, frames: Iterable[Any], write_text: Callable[..., int], *, packed: bool) -> int:
    # Without a name and a time inside, the same frames give the same bytes.
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else nullcontext(file) as outer:
        return write_text(lambda text: outer.write(text.encode()), frames)


def _write_standard_output(frames: Iterable[Any]) -> int:
    """Write to standard output: as UTF-8 like a file, but in the encoding of a terminal."""
    stream = sys.stdout
    if not hasattr(stream, "buffer"):  # what stands in for it takes text
        return _write_text(stream.write, frames, ",")
    stream.flush()
    encoding = (stream.encoding, "backslashreplace") if stream.isatty() else ("utf-8",)
    return _write_text(lambda text: stream.buffer.write(text.encode(*encoding)), frames, ",")


def _write_text(write: Callable[[str], Any], frames: Iterable[Any], delimiter: str) -> int:
    n_rows = 0
    for k, frame in enumerate(frames):
        write(frame.to_csv(index=False, header=k == 0, sep=delimiter, lineterminator="\n"))
        n_rows += len(frame)
    return n_rows


def _write_parquet(file: Any, frames: Iterable[Any]) -> int:
    pa, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
    n_rows, writer = 0, None
    try:
        for frame in frames:
            rows = pa.Table.from_pandas(frame, schema=writer and writer.schema, preserve_index=False)
            writer = writer or parquet.ParquetWriter(file, rows.schema)
            writer.write_table(rows)
            n_rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    return n_rows
