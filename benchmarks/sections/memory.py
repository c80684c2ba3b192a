"""Memory beyond X."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.markdown import number, size, table
from benchmarks.records import OK, Row
from benchmarks.verdicts import Target

MB = 1e6

INTRODUCTION = """\
How far the peak resident size of a process rises during a fit with the settings of the [runtime
table](speed.md), the data already in memory; the largest over the repeats. The bound is a
quarter of X and 100 MB."""


def section(rows: Sequence[Row]) -> str:
    """One line per problem."""
    done = [row for row in rows if row["status"] == OK]
    header = ["n x p", "type", "X, MB", "beyond X, MB", "at most, MB", ""]
    lines = [_line(done, problem) for problem in dict.fromkeys(row["problem"] for row in done)]
    return "\n\n".join(["## Memory", INTRODUCTION, table(header, lines)])


def finding(rows: Sequence[Row]) -> str:
    """The most that a fit took beyond its data."""
    extras = [json.loads(row["extra"]) for row in rows if row["status"] == OK]
    most = max(extras, key=lambda extra: extra["beyond_bytes"], default=None)
    if most is None:
        return ""
    beyond, x = (number(most[name] / MB) for name in ("beyond_bytes", "x_bytes"))
    return f"A fit takes at most {beyond} MB beyond X, which has {x} MB there."


def _line(rows: Sequence[Row], problem: str) -> list[str]:
    mine = [row for row in rows if row["problem"] == problem]
    peaks = [json.loads(row["extra"]) for row in mine]
    n, p = int(mine[0]["n"]), int(mine[0]["p"])
    x_bytes = peaks[0]["x_bytes"]
    beyond = max(peak["beyond_bytes"] for peak in peaks)
    target = Target("memory beyond X", x_bytes / 4 + 100 * MB, at_most=True)
    megabytes = [number(value / MB) for value in (x_bytes, beyond, target.bound)]
    return [size(n, p), f"float{8 * x_bytes // (n * p)}", *megabytes, target.mark(beyond)]
