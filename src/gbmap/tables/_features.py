"""Rows as the columns that a model takes: numbers as float64, categories as text, dates as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.tables import _values as values
from gbmap.tables._batches import Batch
from gbmap.tables._progress import Progress
from gbmap.tables._targets import read_targets
from gbmap.tables.errors import TableError, shown
from gbmap.tables.reading import batches_of
from gbmap.tables.schema import Column, Schema

Arrays = dict[str, Array]

_LARGEST = 1e150  # squares of larger numbers leave the range of float64


class FeatureReader:
    """Reads the features that a schema names; equal texts are one object in memory, whatever the batch."""

    def __init__(self, schema: Schema):
        self._schema = schema
        self._texts: dict[str, str] = {}

    def read(self, batch: Batch) -> Arrays:
        """Return the features of a batch by their names."""
        batch.check_columns([column.name for column in self._schema.used])
        found: Arrays = {}
        for column in self._schema.used:
            raw = values.plain(batch.rows.column(column.name))
            if column.kind == "category":
                found[column.name] = self._category(_known(raw, column, batch))
            elif column.kind == "number":
                found[column.name] = _checked(values.numbers(raw), raw, column, batch)
            else:
                parts = values.date_parts(_checked(values.days(raw), raw, column, batch))
                found |= {name: parts[part] for name, part in zip(column.features, column.parts)}
        return found

    def _category(self, raw: Any) -> Array:
        """Return a column as an array of str, NaN where it is missing."""
        encoded = values.texts(raw).dictionary_encode()
        texts = [self._texts.setdefault(text, text) for text in encoded.dictionary.to_pylist()]
        levels = np.array([*texts, np.nan], dtype=object)
        codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        return levels[codes]


def as_frame(arrays: Arrays, n_rows: int) -> Any:
    """Return features as a pandas frame, without copying numbers."""
    pd = require("pandas", "cli")
    columns = {name: pd.Series(array, dtype=array.dtype, copy=False) for name, array in arrays.items()}
    return pd.DataFrame(columns, index=pd.RangeIndex(n_rows), copy=False)


def gather(data: Any, schema: Schema, progress: Progress) -> tuple[Any, Array]:
    """Return the features and the targets of all rows that have a target.

    Numbers take 8 bytes a value, and so do categories.
    """
    reader, n_rows = FeatureReader(schema), 0
    parts: dict[str, list[Array]] = {name: [] for name in schema.features}
    targets: list[Array] = []
    for batch in batches_of(data, [schema.target, *(column.name for column in schema.used)]):
        y, is_present = read_targets(batch, schema.target, schema.target_kind)
        targets.append(y[is_present])
        for name, array in reader.read(batch).items():
            parts[name].append(array[is_present])
        n_rows += len(batch)
        progress("reading", n_rows, schema.n_rows)
    y = np.concatenate(targets)
    # A column at a time, so that only one of them is in memory twice.
    return as_frame({name: np.concatenate(parts.pop(name)) for name in schema.features}, len(y)), y


def _known(raw: Any, column: Column, batch: Batch) -> Any:
    if not (values.is_known(raw) or raw.null_count == len(raw)):
        raise TableError(
            f"{batch.label}: column {shown(column.name)} has values of type {raw.type}, where the "
            "fit had text."
        )
    return raw


def _checked(found: Array, raw: Any, column: Column, batch: Batch) -> Array:
    bad = np.isnan(found) & values.present(raw)
    if bad.any():
        row = int(np.argmax(bad))
        what = "finite number" if column.kind == "number" else "ISO date"
        raise TableError(
            f"{batch.about(column.name, row, raw[row].as_py())}, which is no {what}; the model was fitted to "
            f"{column.kind}s there."
        )
    if (large := np.abs(found) > _LARGEST).any():
        row = int(np.argmax(large))
        raise TableError(
            f"{batch.about(column.name, row, raw[row].as_py())}, beyond {_LARGEST:g}, the largest number "
            "that a model takes; rescale the column."
        )
    return found
