"""Rows as the columns that a model takes: numbers as float64, categories as text, dates as numbers."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.drift import ConstantColumn
from gbmap.tables import _values as values
from gbmap.tables._batches import Batch
from gbmap.tables._progress import Progress
from gbmap.tables._targets import check_unit, read_targets
from gbmap.tables._written import not_as_fitted
from gbmap.tables.errors import TableError, shown
from gbmap.tables.reading import batches_of
from gbmap.tables.schema import Column, Schema

Arrays = dict[str, Array]

_LARGEST = 1e150  # squares of larger numbers leave the range of float64


class FeatureReader:
    """Reads the features that a schema names; equal texts are one object in memory, whatever the batch.

    Infinite numbers are missing. That is said, unless the schema is of these rows and says it.
    """

    def __init__(self, schema: Schema, *, is_of_these: bool = False):
        self._schema, self._is_of_these = schema, is_of_these
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
                check_unit(batch, column.name, column.form)
                numbers = values.numbers(raw, column.form, batch.decimal)
                found[column.name] = _checked(numbers, raw, column, batch)
                if not self._is_of_these and raw.null_count < np.isnan(numbers).sum():
                    _note_missing(column, raw, batch)
            else:
                parts = values.date_parts(_checked(values.days(raw, column.form), raw, column, batch))
                found |= {name: parts[part] for name, part in zip(column.features, column.parts)}
        return found

    def _category(self, raw: Any) -> Array:
        """Return a column as an array of str, NaN where it is missing."""
        encoded = values.texts(raw).dictionary_encode()
        texts = [self._texts.setdefault(text, text) for text in encoded.dictionary.to_pylist()]
        levels = np.array([*texts, np.nan], dtype=object)
        codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        return levels[codes]


def constants_of(batch: Batch, schema: Schema) -> tuple[ConstantColumn, ...]:
    """Return those columns of a batch that had one value in the fit, and what they hold now."""
    found = []
    for column in schema.columns:
        if column.is_constant and column.name in batch.rows.schema.names:
            value = next(iter(column.levels), None)
            n_same = _n_equal(values.plain(batch.rows.column(column.name)), value)
            found.append(ConstantColumn(column.name, value, schema.n_rows, len(batch), len(batch) - n_same))
    return tuple(found)


def _n_equal(raw: Any, value: str | None) -> int:
    """Return how many values are this one, as a text or as a number; missing ones for None."""
    is_present = values.present(raw)
    if value is None or not values.is_known(raw):
        return int((~is_present).sum())
    is_same = np.array([text == value for text in values.texts(raw).to_pylist()], dtype=bool)
    with suppress(ValueError):  # of a text, which is no number
        is_same |= values.numbers(raw) == float(value)
    return int((is_same & is_present).sum())


def as_frame(arrays: Arrays, n_rows: int, schema: Schema) -> Any:
    """Return features as a pandas frame, without copying numbers, that says which of them count days."""
    pd = require("pandas", "cli")
    columns = {name: pd.Series(array, dtype=array.dtype, copy=False) for name, array in arrays.items()}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(n_rows), copy=False)
    frame.attrs["days"] = schema.days
    return frame


def gather(data: Any, schema: Schema, progress: Progress) -> tuple[Any, Array]:
    """Return the features and the targets of all rows that have a target.

    Numbers take 8 bytes a value, and so do categories.
    """
    reader, n_rows = FeatureReader(schema, is_of_these=True), 0
    parts: dict[str, list[Array]] = {name: [] for name in schema.features}
    targets: list[Array] = []
    for batch in batches_of(data, [schema.target, *(column.name for column in schema.used)]):
        y, is_present = read_targets(batch, schema)
        targets.append(y[is_present])
        for name, array in reader.read(batch).items():
            parts[name].append(array[is_present])
        n_rows += len(batch)
        progress("reading", n_rows, schema.n_rows)
    y = np.concatenate(targets)
    # A column at a time, so that only one of them is in memory twice.
    return as_frame({name: np.concatenate(parts.pop(name)) for name in schema.features}, len(y), schema), y


def _note_missing(column: Column, raw: Any, batch: Batch) -> None:
    """Say that some numbers count as missing, once for a table, since the text does not change."""
    what = "infinite numbers" if values.is_infinite(raw).any() else "values that are no numbers"
    warnings.warn(
        f"{batch.label}: column {shown(column.name)} holds {what}, which count as missing.", stacklevel=2
    )


def _known(raw: Any, column: Column, batch: Batch) -> Any:
    if not (values.is_known(raw) or raw.null_count == len(raw)):
        raise TableError(
            f"{batch.label}: column {shown(column.name)} has values of type {raw.type}, where the "
            "fit had text."
        )
    return raw


def _checked(found: Array, raw: Any, column: Column, batch: Batch) -> Array:
    bad = np.isnan(found) & values.present(raw)
    if bad.any() and column.kind == "number":
        bad &= ~values.is_infinite(raw)
    if bad.any() and not column.form.lenient:
        row = int(np.argmax(bad))
        value = raw[row].as_py()
        fitted = "" if column.form.truth else f"; the model was fitted to {column.kind}s there"
        about = batch.about(column.name, row, value)
        raise TableError(f"{about}, which is no {not_as_fitted(column, value)}{fitted}.")
    if (large := np.abs(found) > _LARGEST).any():
        row = int(np.argmax(large))
        raise TableError(
            f"{batch.about(column.name, row, raw[row].as_py())}, beyond {_LARGEST:g}, the largest number "
            "that a model takes; rescale the column."
        )
    return found
