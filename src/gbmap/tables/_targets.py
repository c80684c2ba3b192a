"""What is to be predicted: whether the target is a number or a class, why, and its values."""

from __future__ import annotations

import numpy as np

from gbmap._utils.typing import Array
from gbmap.tables import _values as values
from gbmap.tables._batches import Batch
from gbmap.tables._inference import NUMBERS_COUNTED, Watch
from gbmap.tables.errors import TableError, shown

MOST_CLASSES = 100
_MOST_WHOLE_NUMBERS = 20
_LEAST_ROWS_A_CLASS = 5  # on average, for whole numbers to be classes


def guess_task(watch: Watch, task: str | None) -> tuple[str, str, str]:
    """Return the task, why it is that, and what the values of the target are."""
    kind = _kind_of_values(watch)
    if watch.holds_dates and (task == "regression" or len(watch.levels) > MOST_CLASSES):
        raise TableError(
            f"{watch.label}: the target {shown(watch.name)} holds dates, which cannot be predicted; make it "
            "a column of numbers, such as the days since a date."
        )
    if task is None and watch.doubt:
        raise TableError(f"{watch.doubt}; {_way_out(watch)}.")
    task, reason = _guess(watch, kind) if task is None else (task, "asked for")
    if task == "regression":
        if kind == "text":
            raise TableError(f"{watch.about_text}, which is no number; {_way_out(watch)}.")
        if watch.lowest == watch.highest:
            raise TableError(f"{_always(watch)} as a number; there is nothing to predict.")
        return task, reason, "number"
    _check_classes(watch)
    return task, reason, "text" if kind == "number" else kind


def _way_out(watch: Watch) -> str:
    """Return what to do about a target that is no number; classes are one way if they are not too many."""
    is_class = len(watch.levels) <= MOST_CLASSES
    return f"mend the target, or {'ask for --task classification' if is_class else 'choose another'}"


def _kind_of_values(watch: Watch) -> str:
    if watch.odd_type or not watch.n_present:
        what = f"values of type {watch.odd_type}" if watch.odd_type else "no values"
        raise TableError(
            f"{watch.label}: the target {shown(watch.name)} has {what}, which cannot be predicted."
        )
    kind = watch.kind
    if kind != "number":
        return "text"
    return "boolean" if watch.is_boolean else "integer" if watch.is_whole else "number"


def _guess(watch: Watch, kind: str) -> tuple[str, str]:
    n_levels, name = len(watch.levels), shown(watch.name)
    if kind == "text":
        return "classification", f"{name} holds text, {n_levels:,} different values"
    if kind == "boolean":
        return "classification", f"{name} holds true and false"
    if kind == "number":
        return "regression", f"{name} holds numbers with decimals"
    if n_levels <= _MOST_WHOLE_NUMBERS and n_levels * _LEAST_ROWS_A_CLASS <= watch.n_present:
        return "classification", f"{name} holds only {n_levels} different whole numbers"
    at_least = "more than " if n_levels > NUMBERS_COUNTED else ""
    return "regression", f"{name} holds {at_least}{min(n_levels, NUMBERS_COUNTED):,} different whole numbers"


def _always(watch: Watch) -> str:
    return f"{watch.label}: the target {shown(watch.name)} is always {shown(next(iter(watch.levels)))}"


def _check_classes(watch: Watch) -> None:
    n_classes = len(watch.levels)
    if watch.is_constant:
        raise TableError(f"{_always(watch)}; there is nothing to predict.")
    if n_classes > MOST_CLASSES:
        is_number = watch.kind == "number"
        way_out = "ask for --task regression" if is_number else "group them, or choose another target"
        raise TableError(
            f"{watch.label}: the target {shown(watch.name)} has {n_classes:,} different values, more "
            f"than the {MOST_CLASSES} classes that there may be; {way_out}."
        )


def read_targets(batch: Batch, name: str, kind: str) -> tuple[Array, Array]:
    """Return the values of the target, and which of them are not missing."""
    batch.need([name])
    column = values.plain(batch.rows.column(name))
    is_present = values.present(column)
    if kind == "text":
        return np.asarray(values.texts(column).fill_null("").to_pylist(), dtype=str), is_present
    numbers = values.numbers(column)
    if (bad := is_present & np.isnan(numbers)).any():
        row = int(np.argmax(bad))
        raise TableError(
            f"{batch.about(name, row, column[row].as_py())}, which is no number, as the target was."
        )
    if kind == "number":
        return numbers, is_present
    return np.where(is_present, numbers, 0).astype(np.int64 if kind == "integer" else bool), is_present
