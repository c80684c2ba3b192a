"""One pass over a table to see what its columns are, and what is to be predicted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gbmap._utils.text import counted
from gbmap.tables import _dates as dates
from gbmap.tables import _numbers as numbers
from gbmap.tables._inference import ColumnProfile
from gbmap.tables._progress import Progress
from gbmap.tables._targets import guess_task, n_with_target
from gbmap.tables._written import Elsewhere
from gbmap.tables.errors import TableError, listed, listed_near, shown
from gbmap.tables.reading import batches_of, label_of, names_of
from gbmap.tables.schema import Form, Schema

_LEAST_ROWS = 10


@dataclass(frozen=True)
class Asked:
    """What a user says of columns: which are used, and what they are."""

    columns: Iterable[str] | None = None  # None for all
    drop: Collection[str] = ()
    category: Collection[str] = ()
    number: Mapping[str, Form | None] = field(default_factory=dict)  # with the form, None where it is found
    date: Mapping[str, Form | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        columns: Iterable[str] | None,
        drop: Iterable[str],
        category: Iterable[str],
        number: Iterable[str] | Mapping[str, str],
        date: Iterable[str] | Mapping[str, str],
    ) -> Asked:
        """Return what was asked for; a mapping from names to forms, or names alone."""
        forms = [
            {name: read(how, name) if how else None for name, how in _forms(given).items()}
            for given, read in ((number, numbers.asked_form), (date, dates.asked_form))
        ]
        wanted = None if columns is None else tuple(columns)
        return cls(wanted, frozenset(drop), frozenset(category), *forms)

    def kind_of(self, name: str) -> str:
        """Return what a column is said to be, "" if nothing is said."""
        for kind in ("number", "date", "category"):
            if name in getattr(self, kind):
                return kind
        return ""

    def form_of(self, name: str) -> Form | None:
        """Return how a column is said to be written, None if that is not said."""
        return {**self.number, **self.date}.get(name)


def _forms(given: Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    return (
        {name: how or "" for name, how in given.items()}
        if isinstance(given, Mapping)
        else dict.fromkeys(given, "")
    )


def survey(data: Any, target: str, task: str | None, asked: Asked, progress: Progress) -> Schema:
    """Return what the columns of a table or frame are."""
    names, label = names_of(data), label_of(data)
    wanted = names if asked.columns is None else [*asked.columns, target]
    _check_asked(label, names, target, asked)
    profiles = {
        name: ColumnProfile(name, label, asked=asked.kind_of(name), form=asked.form_of(name))
        for name in names
        if name in wanted and name not in asked.drop
    }
    n_rows = _see_all(data, profiles, progress)
    _read_by_their_forms(data, profiles, target, progress)
    of_target = profiles.pop(target)
    if of_target.n_present < _LEAST_ROWS and not of_target.odd_type:  # those count as absent: see guess_task
        raise TableError(
            f"{label} has {counted(of_target.n_present, 'row')} with a value of the target {shown(target)}; "
            f"a fit needs {_LEAST_ROWS}."
        )
    task, reason, kind = guess_task(of_target, task)
    found = tuple(profile.column() for profile in profiles.values())
    schema = Schema(
        target, task, reason, kind, found, n_rows, n_rows - n_with_target(of_target, kind),
        of_target.form, of_target.reading(kind) if kind == "number" else "", getattr(data, "encoding", ""),
    )  # fmt: skip
    _check_used(label, schema)
    return schema


def _read_by_their_forms(
    data: Any, profiles: dict[str, ColumnProfile], target: str, progress: Progress
) -> None:
    """Let all columns be read as they are written, which for some only the whole table has told."""
    proven = {name: profile.written.proves(profile.n_valid) for name, profile in profiles.items()}
    again = {}
    for name, profile in profiles.items():
        elsewhere = Elsewhere(
            {mark for other, each in proven.items() for mark in each.marks if other != name},
            {order for other, each in proven.items() for order in each.orders if other != name},
        )
        form = profile.decided(elsewhere)
        if name == target and form.truth and len(profile.levels) == 2:
            form = replace(form, truth=False)  # two words are classes by themselves
        if form != profile.form:
            again[name] = ColumnProfile(name, profile.label, asked=profile.asked, form=form)
    if again:
        _see_all(data, again, progress)
        profiles |= again


def _check_asked(label: str, names: list[str], target: str, asked: Asked) -> None:
    of_each = {name: getattr(asked, name) or () for name in ("columns", "drop", "category", "number", "date")}
    for argument, given in {"target": [target], **of_each}.items():
        if unknown := [name for name in given if name not in names]:
            has = listed_near(names, unknown[0])
            raise TableError(f"{label} has no column {listed(unknown)} ({argument}); it has {has}.")
    if target in asked.drop:
        raise TableError(f"{shown(target)} is the target and cannot be dropped.")
    if target in asked.category:
        raise TableError(f"{shown(target)} is the target; for classes, ask for --task classification.")
    if target in asked.date:
        raise TableError(f"{shown(target)} is the target, and dates cannot be predicted; leave --date out.")
    kinds = ("drop", "category", "number", "date")
    for name in dict.fromkeys(name for kind in kinds for name in of_each[kind]):
        said = [kind for kind in kinds if name in of_each[kind]]
        if len(said) > 1:
            raise TableError(f"{shown(name)} is asked for by --{' and --'.join(said)}; keep one of them.")


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
