"""Rows on their way through, from files and frames alike: arrow batches that know where they lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from gbmap._utils.missing import is_missing
from gbmap._utils.optional import require
from gbmap.tables.errors import TableError, listed, listed_near, shown


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, with what is needed to name one of them in a message."""

    rows: Any
    label: str = "the frame"  # what the table is called
    offset: int = 0  # the number of rows before these
    decimal: str = ""  # the mark before decimals that goes with the format of the file, "" if none does

    @classmethod
    def of(cls, frame: Any) -> Batch:
        """Return the rows of a frame of pandas, polars or arrow."""
        if isinstance(frame, Batch):
            return frame
        pa = require("pyarrow", "cli")
        if isinstance(frame, pa.Table | pa.RecordBatch):
            batch = cls(frame)
        elif type(frame).__module__.partition(".")[0] == "pandas":
            attrs = frame.attrs
            known = {name: attrs[name] for name in ("label", "offset", "decimal") if name in attrs}
            batch = cls(_of_pandas(frame), **known)
        else:
            batch = cls(_of_other(frame))
        check_names(batch.rows.schema.names, batch.label)
        return batch

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def about(self, column: str, row: int, value: Any) -> str:
        """Return the beginning of a message about one value."""
        return f"{self.label}: column {shown(column)} holds {shown(value)} in row {self.offset + row + 1:,}"

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise an error unless all of these columns are here."""
        check_columns(names, self.rows.schema.names, self.label)


def check_columns(names: Sequence[str], known: Sequence[str], label: str) -> None:
    """Raise an error unless all of these columns are among those known."""
    found = set(known)
    if absent := [name for name in names if name not in found]:
        has = listed_near(known, absent[0])
        columns = "column" if len(absent) == 1 else "columns"
        raise TableError(f"{label} lacks the {columns} {listed(absent)}; it has {has}.")


def check_names(names: Sequence[str], label: str) -> None:
    """Raise an error unless every column has a name of its own."""
    if not names:
        raise TableError(f"{label} has no columns.")
    for k, name in enumerate(names):
        if not name.strip():
            raise TableError(
                f"{label} has no name for column {k + 1} of {len(names)}; give it one, or leave it out "
                "(pandas: to_csv(index=False))."
            )
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise TableError(f"{label} has more than one column {listed(twice)}; give each a name of its own.")


def in_parts(batch: Batch, max_rows: int) -> Iterator[Batch]:
    """Yield a batch in parts of at most so many rows."""
    for start in range(0, len(batch), max_rows):
        yield replace(batch, rows=batch.rows.slice(start, max_rows), offset=batch.offset + start)


def _of_pandas(frame: Any) -> Any:
    pa = require("pyarrow", "cli")
    if frame.ndim != 2:
        raise TypeError(
            f"data must be a Table, or a frame of pandas or polars, got {type(frame).__name__}; "
            "one row as a frame is frame.iloc[[k]]."
        )
    columns = [_of_series(frame.iloc[:, k]) for k in range(frame.shape[1])]
    return pa.Table.from_arrays(columns, names=[str(name) for name in frame.columns])


def _of_series(series: Any) -> Any:
    pa, pd = require("pyarrow", "cli"), require("pandas", "cli")
    categories = getattr(series.dtype, "categories", None)
    if categories is not None and isinstance(categories.dtype, pd.IntervalDtype | pd.PeriodDtype):
        series = series.cat.rename_categories(categories.astype(str))
    try:
        return pa.chunked_array(pa.array(series, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # objects of several types
        return pa.array([None if is_missing(value) else str(value) for value in series], pa.string())


def _of_other(frame: Any) -> Any:
    import narwhals

    try:
        return narwhals.from_native(frame, eager_only=True).to_arrow()
    except TypeError as error:
        way_out = "; gbmap.tables.open_table reads files" if isinstance(frame, str | PathLike) else ""
        raise TypeError(
            f"data must be a Table, or a frame of pandas or polars, got {type(frame).__name__}{way_out}."
        ) from error
