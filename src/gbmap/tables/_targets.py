"""What is to be predicted: whether the target is a number or a class, why, and its values."""

from __future__ import annotations

import numpy as np

from gbmap._utils.typing import Array
from gbmap.tables import _values as values
from gbmap.tables._batches import Batch
from gbmap.tables._inference import NUMBERS_COUNTED, ColumnProfile
from gbmap.tables.errors import TableError, shown
from gbmap.tables.schema import Form, Schema

MOST_CLASSES = 100
_MOST_WHOLE_NUMBERS = 20
_LEAST_ROWS_A_CLASS = 5  # on average, for whole numbers to be classes


def guess_task(profile: ColumnProfile, task: str | None) -> tuple[str, str, str]:
    """Return the task, why it is that, and what the values of the target are."""
    kind = _kind_of_values(profile)
    if profile.holds_dates and (task == "regression" or len(profile.levels) > MOST_CLASSES):
        raise TableError(
            f"{profile.label}: the target {shown(profile.name)} holds dates, which cannot be predicted; "
            "make it a column of numbers, such as the days since a date."
        )
    if task is None and profile.doubt:
        raise TableError(f"{profile.doubt}; {_way_out(profile)}.")
    task, reason = _guess(profile, kind) if task is None else (task, "asked for")
    if task == "regression":
        if kind == "text":
            raise TableError(f"{profile.about_text}, which is no number; {_way_out(profile)}.")
        if profile.lowest == profile.highest:
            raise TableError(f"{_always(profile)} as a number; there is nothing to predict.")
        return task, reason, "number"
    _check_classes(profile)
    return task, reason, "text" if kind == "number" else kind


def _way_out(profile: ColumnProfile) -> str:
    """Return what to do about a target that is no number; classes are one way if they are not too many."""
    is_class = len(profile.levels) <= MOST_CLASSES
    return f"mend the target, or {'ask for --task classification' if is_class else 'choose another'}"


def _kind_of_values(profile: ColumnProfile) -> str:
    if profile.odd_type or not profile.n_present:
        what = f"values of type {profile.odd_type}" if profile.odd_type else "no values"
        raise TableError(
            f"{profile.label}: the target {shown(profile.name)} has {what}, which cannot be predicted."
        )
    kind = profile.kind
    if kind != "number":
        return "text"
    if profile.is_boolean:
        return "boolean"
    return "integer" if profile.is_whole and not profile.unit else "number"


def _guess(profile: ColumnProfile, kind: str) -> tuple[str, str]:
    n_levels, name = len(profile.levels), shown(profile.name)
    if kind == "text":
        return "classification", f"{name} holds text, {n_levels:,} different values"
    if kind == "boolean":
        return "classification", f"{name} holds true and false"
    if kind == "number":
        measured = "that are measured" if profile.unit else "with decimals"
        return "regression", f"{name} holds numbers {measured}"
    if n_levels <= _MOST_WHOLE_NUMBERS and n_levels * _LEAST_ROWS_A_CLASS <= profile.n_present:
        return "classification", f"{name} holds only {n_levels} different whole numbers"
    at_least = "more than " if n_levels > NUMBERS_COUNTED else ""
    return "regression", f"{name} holds {at_least}{min(n_levels, NUMBERS_COUNTED):,} different whole numbers"


def _always(profile: ColumnProfile) -> str:
    return f"{profile.label}: the target {shown(profile.name)} is always {shown(next(iter(profile.levels)))}"


def _check_classes(profile: ColumnProfile) -> None:
    n_classes = len(profile.levels)
    if profile.is_constant:
        raise TableError(f"{_always(profile)}; there is nothing to predict.")
    if n_classes > MOST_CLASSES:
        is_number = profile.kind == "number"
        way_out = "ask for --task regression" if is_number else "group them, or choose another target"
        raise TableError(
            f"{profile.label}: the target {shown(profile.name)} has {n_classes:,} different values, more "
            f"than the {MOST_CLASSES} classes that there may be; {way_out}."
        )


def n_with_target(profile: ColumnProfile, kind: str) -> int:
    """Return how many rows `read_targets` finds a target in."""
    return profile.n_valid if kind == "text" else profile.n_present


def check_unit(batch: Batch, name: str, form: Form) -> None:
    """Refuse spans or times where the fit had numbers of some other unit, which nothing tells."""
    unit = values.unit_of(batch.rows.column(name).type)
    if unit and form.unit not in (unit, "any"):
        what = "spans of time" if unit == "s" else "times of day"
        raise TableError(
            f"{batch.label}: column {shown(name)} holds {what}, where the fit had numbers; turn them into "
            "numbers of the same unit."
        )


def read_targets(batch: Batch, schema: Schema) -> tuple[Array, Array]:
    """Return the values of the target, and which of them are not missing."""
    name, kind, form = schema.target, schema.target_kind, schema.target_form
    batch.check_columns([name])
    column = values.plain(batch.rows.column(name))
    is_present = values.present(column)
    if kind == "text":
        return np.asarray(values.texts(column).fill_null("").to_pylist(), dtype=str), is_present
    check_unit(batch, name, form)
    numbers = values.numbers(column, form, batch.decimal)
    if (bad := is_present & np.isnan(numbers)).any():
        is_infinite = values.is_infinite(column)
        is_present &= ~(bad if form.lenient else is_infinite)
        bad &= is_present
    if bad.any():
        row = int(np.argmax(bad))
        raise TableError(
            f"{batch.about(name, row, column[row].as_py())}, which is no number, as the target was."
        )
    if kind == "number":
        return numbers, is_present
    return np.where(is_present, numbers, 0).astype(np.int64 if kind == "integer" else bool), is_present
