"""Fits on Dask: rounds, scaling, and what follows for larger clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.experiments.dask import COLUMNS, DASK, FEW_ROWS, MEMORY, M
from benchmarks.internals import PART_BYTES
from benchmarks.markdown import NOTHING, count, number, ratio, table
from benchmarks.records import OK, Row

Fits = Sequence[Mapping[str, Any]]

INTRODUCTION = f"""\
Fits of normal rows of {COLUMNS} columns in float32, m = {M}, squared error. Workers are processes of one
thread on this machine, which scheduler and client share. A round is one question to all rows: a task for each
part, and the answers brought to the client; a pass is a round that evaluates the objective. Milliseconds are
those of the fastest one, which nothing else disturbed; the rest are medians over the repeats."""

OVERHEAD = f"Rounds of {FEW_ROWS} rows in so many parts on two workers, where there is next to no work to do:"
OVERHEAD_HEADER = ["parts", "ms a round", "ms a part", "rounds of a fit"]

FITS = "Fits of many rows, one part for each worker:"
FITS_HEADER = ["rows", "where", "ms a pass", "passes", "s a fit"]

SCALING_HEADER = ["scaling", "a pass", "a fit"]

LEARNERS = 20
CLUSTERS = ((10**8, 100, 1), (10**8, 25, 4), (10**9, 100, 1), (10**9, 25, 4), (10**9, 100, 4))
MODEL = f"""\
What that makes of larger clusters is a calculation: the constants were measured here, that they hold where
messages cross a network was not. X stays in the workers' memory, in one part for each worker or in parts of
{number(PART_BYTES / 1e9)} GB, whichever are more. Threads share the rows of their worker without loss.
*Dask* is the rounds without their work; *work* is passes and scores; *client* is the samples that learners
are found on. Reading the rows and cutting them into parts comes on top. Fits with {LEARNERS} learners:"""
MODEL_HEADER = ["rows", "workers x threads", "parts", "s a pass", "Dask, s", "work, s", "client, s", "fit, s"]


def section(rows: Sequence[Row]) -> str:
    """Rounds, fits, and the model."""
    fits = [_read(row) for row in rows if row["status"] == OK]
    parts = ["## Rounds on Dask", INTRODUCTION]
    parts += [OVERHEAD, table(OVERHEAD_HEADER, _overhead(fits))]
    parts += [FITS, table(FITS_HEADER, _fits(fits)), _same_models(fits)]
    base = _rows_of_one_worker(fits)
    if base is not None:
        parts.append(table(SCALING_HEADER, _scaling(fits, base)))
        costs = Costs.measured(fits, base)
        parts += [] if costs is None else [costs.told(), MODEL, table(MODEL_HEADER, _model(costs))]
    return "\n\n".join(parts)


@dataclass(frozen=True)
class Costs:
    """Seconds of rounds, and how many of them fits have.

    A pass takes `fixed`, plus `per_part` for each part, plus `per_row` for each row of a thread. What else is
    asked for a learner takes `other_per_row`.
    """

    fixed: float
    per_part: float
    per_row: float
    other_per_row: float
    first_rounds: float
    rounds_of_learner: float
    passes_of_learner: float
    client_of_learner: float

    @classmethod
    def measured(cls, fits: Fits, base: int) -> Costs | None:
        """Return what more parts add to a round of few rows, and what more rows add to one of one worker."""
        few = {parts: _fastest(_few(fits, parts)) for parts in _numbers_of_parts(fits)}
        if len(few) < 2:
            return None
        least, most = min(few), max(few)
        per_part = max(few[most] - few[least], 0.0) / (most - least)
        small, large = (_chosen(fits, DASK, n, 1) for n in (base, 2 * base))
        other = min(fit["other_seconds"] for fit in large) - min(fit["other_seconds"] for fit in small)
        rounds, first, passes, client = (
            _median(large, name) for name in ("rounds", "first_rounds", "passes", "client_seconds")
        )
        return cls(
            fixed=max(few[least] - least * per_part, 0.0),
            per_part=per_part,
            per_row=max(_fastest(large) - _fastest(small), 0.0) / base,
            other_per_row=max(other, 0.0) / base / M,
            first_rounds=first,
            rounds_of_learner=(rounds - first) / M,
            passes_of_learner=passes / M,
            client_of_learner=client / M,
        )

    def told(self) -> str:
        """The constants in words."""
        milliseconds = [number(1e3 * seconds) for seconds in (self.fixed, self.per_part)]
        nanoseconds = [number(1e9 * seconds) for seconds in (self.per_row, self.other_per_row)]
        return (
            f"So a pass takes {milliseconds[0]} ms, {milliseconds[1]} ms for each part and {nanoseconds[0]} "
            f"ns for each row of a thread; what else is asked for a learner takes {nanoseconds[1]} ns a row. "
            f"A fit has {self.first_rounds:g} rounds and {self.rounds_of_learner:g} for each learner, "
            f"{self.passes_of_learner:g} of them passes; the client works "
            f"{number(self.client_of_learner)} s on each learner."
        )

    def empty_round(self, parts: int) -> float:
        """Seconds of a round without work."""
        return self.fixed + self.per_part * parts


def finding(rows: Sequence[Row]) -> str:
    """What a second worker gains, and whether the model is the same."""
    fits = [_read(row) for row in rows if row["status"] == OK]
    base = _rows_of_one_worker(fits)
    gain = _scaling(fits, base)[0][-1] if base is not None else NOTHING
    return f"Two workers of one machine are {gain} times as fast as one. {_same_models(fits)}"


def _read(row: Row) -> dict[str, Any]:
    """A row, with its numbers as such."""
    words = {name: row[name] for name in ("problem", "method", "repeat", "loss")}
    numbers = {name: float(row[name]) for name in ("seconds", "passes")}
    few = row["problem"].startswith("few-")
    return (
        json.loads(row["extra"])
        | words
        | numbers
        | {"n": int(row["n"]), "threads": int(row["threads"]), "few": few}
    )


def _few(fits: Fits, parts: int) -> Fits:
    return [fit for fit in fits if fit["few"] and fit["parts"] == parts]


def _numbers_of_parts(fits: Fits) -> list[int]:
    return sorted({fit["parts"] for fit in fits if fit["few"]})


def _chosen(fits: Fits, method: str, n: int, threads: int) -> Fits:
    wanted = (method, n, threads, False)
    return [fit for fit in fits if (fit["method"], fit["n"], fit["threads"], fit["few"]) == wanted]


def _fastest(fits: Fits) -> float:
    return float(min(fit["round_seconds"] for fit in fits))


def _median(fits: Fits, name: str) -> float:
    return float(median(fit[name] for fit in fits))


def _rows_of_one_worker(fits: Fits) -> int | None:
    """The largest number of rows that one worker had, and had twice."""
    known = {fit["n"] for fit in fits if fit["method"] == DASK and fit["threads"] == 1 and not fit["few"]}
    return max((n for n in known if 2 * n in known), default=None)


def _overhead(fits: Fits) -> list[list[str]]:
    lines = []
    for parts in _numbers_of_parts(fits):
        mine = _few(fits, parts)
        each = 1e3 * _fastest(mine)
        lines.append([str(parts), number(each), number(each / parts), f"{_median(mine, 'rounds'):g}"])
    return lines


def _fits(fits: Fits) -> list[list[str]]:
    known = sorted({(fit["n"], fit["method"], fit["threads"]) for fit in fits if not fit["few"]})
    lines = []
    for n, method, threads in known:
        mine, unit = _chosen(fits, method, n, threads), "worker" if method == DASK else "thread"
        where = f"{'in memory, ' if method == MEMORY else ''}{threads} {unit}{'s' if threads > 1 else ''}"
        passes, seconds = (_median(mine, name) for name in ("passes", "seconds"))
        lines.append([count(n), where, number(1e3 * _fastest(mine)), f"{passes:g}", number(seconds)])
    return lines


def _same_models(fits: Fits) -> str:
    """For how many seeds the loss is the same wherever the rows are."""
    losses: dict[tuple[str, str], list[str]] = {}
    for fit in fits:
        if not fit["few"]:
            losses.setdefault((fit["problem"], fit["repeat"]), []).append(fit["loss"])
    shared = [found for found in losses.values() if len(found) > 1]
    same = sum(len(set(found)) == 1 for found in shared)
    return f"Wherever the same rows are, the same seed ends with the same loss: {same} of {len(shared)}."


def _scaling(fits: Fits, base: int) -> list[list[str]]:
    """Times as fast, or as long, with two workers or threads as with one."""
    many = count(2 * base)
    one, two = (_chosen(fits, DASK, 2 * base, workers) for workers in (1, 2))
    alone, together = (_chosen(fits, MEMORY, 2 * base, threads) for threads in (1, 2))
    weak = f"weak: {many} rows on 2 workers / {count(base)} rows on 1"
    return [
        _quotients(f"strong: {many} rows on 1 worker / on 2", one, two),
        _quotients(f"strong: {many} rows in memory, 1 thread / 2", alone, together),
        _quotients(weak, two, _chosen(fits, DASK, base, 1)),
    ]


def _quotients(what: str, numerator: Fits, denominator: Fits) -> list[str]:
    if not numerator or not denominator:
        return [what, NOTHING, NOTHING]
    passes = ratio(_fastest(numerator), _fastest(denominator))
    return [
        what,
        number(passes),
        number(ratio(_median(numerator, "seconds"), _median(denominator, "seconds"))),
    ]


def _model(costs: Costs) -> list[list[str]]:
    lines = []
    for n, workers, threads in CLUSTERS:
        parts = max(workers, -(-4 * COLUMNS * n // PART_BYTES))
        rows = rows_of_thread(n, workers * threads, parts)
        dask = (costs.first_rounds + LEARNERS * costs.rounds_of_learner) * costs.empty_round(parts)
        work = LEARNERS * (costs.passes_of_learner * costs.per_row + costs.other_per_row) * rows
        client = LEARNERS * costs.client_of_learner
        one_pass = costs.empty_round(parts) + costs.per_row * rows
        figures = [number(value) for value in (one_pass, dask, work, client, dask + work + client)]
        lines.append([count(n), f"{workers} x {threads}", str(parts), *figures])
    return lines


def rows_of_thread(n: int, threads: int, parts: int) -> float:
    """The rows that the busiest thread visits: its share of a part, or the parts that it has."""
    return n / parts / max(1, threads // parts) * -(-parts // threads)
