"""One pass over a table to see what its columns are, and what is to be predicted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gbmap._utils.text import counted
from gbmap.tables._inference import ColumnProfile
from gbmap.tables._progress import Progress
from gbmap.tables._targets import guess_task
from gbmap.tables.errors import TableError, listed, listed_near, shown
from gbmap.tables.reading import batches_of, label_of, names_of
from gbmap.tables.schema import Schema

_LEAST_ROWS = 10


def survey(
    data: Any,
    target: str,
    task: str | None,
    *,
    columns: Iterable[str] | None,
    drop: set[str],
    category: set[str],
    progress: Progress,
) -> Schema:
    """Return what the columns of a table or frame are."""
    names, label = names_of(data), label_of(data)
    wanted = names if columns is None else [*columns, target]
    _check_asked(label, names, {"target": [target], "columns": wanted, "drop": drop, "category": category})
    if target in drop:
        raise TableError(f"{shown(target)} is the target and cannot be dropped.")
    if target in category:
        raise TableError(f"{shown(target)} is the target; for classes, ask for --task classification.")
    profiles = {
        name: ColumnProfile(name, label, as_category=name in category)
        for name in names
        if name in wanted and name not in drop
    }
    n_rows = _see_all(data, profiles, progress)
    of_target = profiles.pop(target)
    if of_target.n_present < _LEAST_ROWS:
        raise TableError(
            f"{label} has {counted(of_target.n_present, 'row')} with a value of the target {shown(target)}; "
            f"a fit needs {_LEAST_ROWS}."
        )
    task, reason, kind = guess_task(of_target, task)
    found = tuple(profile.column() for profile in profiles.values())
    schema = Schema(target, task, reason, kind, found, n_rows, of_target.n_missing)
    _check_used(label, schema)
    return schema


def _check_asked(label: str, names: list[str], asked: dict[str, Iterable[str]]) -> None:
    for argument, given in asked.items():
        if unknown := [name for name in given if name not in names]:
            has = listed_near(names, unknown[0])
            raise TableError(f"{label} has no column {listed(unknown)} ({argument}); it has {has}.")


def _see_all(data: Any, profiles: dict[str, ColumnProfile], progress: Progress) -> int:
    n_rows = 0
    for batch in batches_of(data, list(profiles)):
        for profile in profiles.values():
            profile.see(batch)
        n_rows += len(batch)
        progress("reading", n_rows, None)
    return n_rows


def _check_used(label: str, schema: Schema) -> None:
    if not schema.used:
        reasons = "; ".join(
            f"{shown(column.name)} is dropped, {column.reason}" for column in schema.dropped[:3]
        )
        raise TableError(f"{label} has no column to predict from{reasons and f': {reasons}'}.")
    names = schema.features
    if twice := [name for name in names if names.count(name) > 1]:
        raise TableError(
            f"{label} has a column {listed(twice[:1])} named like what is read from a date; rename it."
        )
