"""One pass against reading X."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.experiments.passes import PASS, READERS
from benchmarks.markdown import number, ratio, size, table
from benchmarks.records import OK, Row, matches, median_of
from benchmarks.verdicts import Target

INTRODUCTION = """\
Milliseconds of one visit of all rows for loss and gradient, and of merely reading X in the fastest of three
simple ways with as many threads, float32, median of alternating calls and of the repeats. Reading is bound by
memory, whose speed changes by a third between repeats on this machine; the ratios change with it."""


HEADER = ["n x p", "loss", "threads", "pass, ms", "reading X, ms", "read by", "pass / reading", "at most", ""]


def section(rows: Sequence[Row]) -> str:
    """One line per problem."""
    problems = dict.fromkeys(row["problem"] for row in rows if matches(row, method=PASS, status=OK))
    lines = [_line(rows, problem) for problem in problems]
    return "\n\n".join(["## One pass over the data", INTRODUCTION, table(HEADER, lines)])


def target(p: int, loss: str) -> Target:
    """The bound on pass / reading: narrow data leave the row-wise work visible, wide data do not."""
    bound = 2 if p >= 800 else {"squared_error": 3, "log_loss": 4}[loss]
    return Target("pass / reading", bound, at_most=True)


def _line(rows: Sequence[Row], problem: str) -> list[str]:
    row = next(row for row in rows if matches(row, problem=problem, method=PASS, status=OK))
    n, p, loss = int(row["n"]), int(row["p"]), json.loads(row["extra"])["loss"]
    one_pass = median_of(rows, "seconds", problem=problem, method=PASS)
    reads = {name: median_of(rows, "seconds", problem=problem, method=name) for name in READERS}
    read, fastest = min((seconds, name) for name, seconds in reads.items() if seconds is not None)
    quotient, bound = ratio(one_pass, read), target(p, loss)
    times = [number(_milliseconds(one_pass)), number(_milliseconds(read)), fastest.removeprefix("read-")]
    verdict = [number(quotient), number(bound.bound, 1), bound.mark(quotient)]
    return [size(n, p), loss, row["threads"], *times, *verdict]


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
