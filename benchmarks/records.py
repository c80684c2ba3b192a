"""Result rows in a CSV file: one row per measurement, with what is needed to judge it later."""

from __future__ import annotations

import csv
import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

Row = dict[str, str]

RESULTS = Path(__file__).parent / "results"

# A measurement is done once per version of gbmap and per machine: times of different machines do not compare.
KEY = ("problem", "method", "repeat", "threads", "gbmap", "cpu", "cores")
MEASURED = ("status", "seconds", "loss", "passes", "n", "p", "m", "seed")
COLUMNS = (*KEY, *MEASURED, "python", "numpy", "scipy", "scikit-learn", "peer", "extra", "date")

OK = "ok"


class Table:
    """The rows of one experiment, saved after each change so that an interrupted run loses nothing.

    A row replaces an earlier one with the same key, so that the file never holds a measurement twice. Runs
    that write to one file at the same time keep each other's rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = {_key(row): row for row in read_rows(path)}

    def finished(self, row: Row, **at_least: float) -> bool:
        """Whether a row with this key was measured; a failed or missing one is tried again.

        So is one whose extra figures are below those that are asked for: it was made with a smaller budget.
        """
        known = self._rows.get(_key(row))
        if known is None or known["status"] != OK:
            return False
        extra = json.loads(known["extra"] or "{}")
        return all(extra.get(name, 0) >= least for name, least in at_least.items())

    def status(self, row: Row) -> str | None:
        """How the row with this key ended, if there is one."""
        known = self._rows.get(_key(row))
        return None if known is None else known["status"]

    def put(self, row: Row) -> None:
        """Store the row and save the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(self.path.parent):
            self._rows |= {_key(known): known for known in read_rows(self.path)}
            self._rows[_key(row)] = row
            self._save()

    def _save(self) -> None:
        draft = self.path.with_suffix(".tmp")
        with draft.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows.values())
        draft.replace(self.path)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: one run writes at a time."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def read_rows(path: Path) -> list[Row]:
    """All rows of a file; none when there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def latest(rows: Iterable[Row]) -> list[Row]:
    """The rows of the version and machine that were measured last: only those may be compared."""
    rows = list(rows)
    if not rows:
        return []
    newest = max(rows, key=lambda row: row["date"])
    same = ("gbmap", "cpu", "cores")
    return [row for row in rows if all(row[name] == newest[name] for name in same)]


def median_of(rows: Iterable[Row], field: str, **where: object) -> float | None:
    """Median of a column over the finished rows that have the given values; None without any."""
    wanted = {"status": OK} | {name: str(value) for name, value in where.items()}
    values = [float(row[field]) for row in rows if row[field] and wanted.items() <= row.items()]
    return median(values) if values else None


def matches(row: Row, **where: object) -> bool:
    """Whether the row has the given values."""
    return all(row[name] == str(value) for name, value in where.items())


def dates_of(rows: Iterable[Row]) -> str:
    """When rows were measured."""
    dates = sorted({row["date"][:10] for row in rows})
    return " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""
