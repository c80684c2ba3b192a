"""Run methods on problems and keep a row of each fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from benchmarks.data import Data
from benchmarks.environment import describe, usable_cores
from benchmarks.methods.base import Method, MissingPeerError, Result
from benchmarks.problems import Problem, Size
from benchmarks.records import OK, RESULTS, Row, Table


class Named(Protocol):
    @property
    def name(self) -> str: ...


M = TypeVar("M", bound=Named)


@dataclass(frozen=True)
class Settings:
    """What the command line asks for; an empty choice means all."""

    quick: bool = False
    fresh: bool = False
    repeats: int = 3
    only: tuple[str, ...] = ()
    sizes: tuple[Size, ...] = ()
    datasets: tuple[str, ...] = ()
    threads: tuple[int, ...] = ()
    draws: int = 0
    results: Path = RESULTS

    def table(self, name: str) -> Table:
        """The rows of an experiment."""
        return Table(self.results / f"{name}.csv")

    def choose(self, methods: Iterable[M], on_request: Iterable[M] = ()) -> list[M]:
        """The methods to run: all that are not on request, or those named."""
        if not self.only:
            return list(methods)
        known = {method.name: method for method in (*methods, *on_request)}
        unknown = set(self.only) - set(known)
        if unknown:
            raise SystemExit(f"no method {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return [known[name] for name in self.only]


def run_problem(
    table: Table, problem: Problem, methods: Sequence[Method], settings: Settings, threads: int | None = None
) -> None:
    """Fit every method ``repeats`` times, in turn; the repeat's number is the seed of its random start."""
    todo = [
        (method, repeat)
        for repeat in range(settings.repeats)
        for method in _rotated(methods, repeat)
        if settings.fresh or not table.finished(base_row(problem.name, method.name, repeat, threads))
    ]
    if not todo:
        print(f"{problem.name}: all done before")
        return
    data = _load(problem)
    for method, repeat in todo:
        row = base_row(problem.name, method.name, repeat, threads) | {"m": _text(method.m)}
        row |= _attempt(method, data, repeat, threads)
        table.put(row)
        print(progress(row), flush=True)


def base_row(problem: str, method: str, repeat: int, threads: int | None) -> Row:
    """The columns that are known before anything is measured; the seed is the repeat's number."""
    return describe() | {
        "problem": problem,
        "method": method,
        "repeat": str(repeat),
        "seed": str(repeat),
        "threads": str(threads or usable_cores()),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def measured(data: Data, result: Result) -> Row:
    """The columns of a finished measurement."""
    n, p = data.X.shape
    return {
        "status": OK,
        "n": str(n),
        "p": str(p),
        "seconds": f"{result.seconds:.6g}",
        "loss": "" if result.loss is None else f"{result.loss:.8g}",
        "passes": "" if result.passes is None else f"{result.passes:.6g}",
        "peer": result.peer,
        "extra": json.dumps(result.extra) if result.extra else "",
    }


def progress(row: Row) -> str:
    """One line about a row."""
    outcome = f"{float(row['seconds']):.4g} s" if row["status"] == OK else row["status"]
    loss = f", loss {float(row['loss']):.5f}" if row.get("loss") else ""
    return f"{row['problem']}  {row['method']}  repeat {row['repeat']}: {outcome}{loss}"


def _attempt(method: Method, data: Data | Exception, seed: int, threads: int | None) -> Row:
    """Measure one fit. What goes wrong becomes a row too: a peer's failure is a result, not the end."""
    try:
        if isinstance(data, Exception):
            raise data
        return measured(data, method.fit(data, seed=seed, threads=threads))
    except Exception as error:
        return {"status": failure(error)}


def failure(error: Exception) -> str:
    """The status of a row whose method is missing or failed."""
    if isinstance(error, MissingPeerError):
        return f"missing: {error}"
    return f"failed: {type(error).__name__}: {_first_line(error)}"


def _load(problem: Problem) -> Data | Exception:
    """The data, or why there is none."""
    try:
        return problem.load()
    except Exception as error:
        return error


def _rotated(methods: Sequence[Method], by: int) -> list[Method]:
    """Each repeat begins with another method, so that none always follows the same one."""
    by %= len(methods)
    return [*methods[by:], *methods[:by]]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


def _text(value: int | None) -> str:
    return "" if value is None else str(value)
