"""Path distances against embedding distances."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.experiments.distances import EMBEDDING, PATH, TOL
from benchmarks.markdown import NOTHING, number, ratio, table
from benchmarks.records import OK, Row, matches, median_of
from benchmarks.verdicts import Target

INTRODUCTION = f"""\
Milliseconds of all distances between 1,000 and 1,000 rows, 20 learners, path distances certified to {TOL:g}
of the embedding distance; median of alternating calls and of the repeats."""

HEADER = ["problem", "embedding, ms", "path, ms", "ratio", "at most", ""]
TARGET = Target("path / embedding", 150, at_most=True, least=400)


def section(rows: Sequence[Row]) -> str:
    """One line per problem."""
    lines = []
    for problem, (embedding, path) in _seconds(rows).items():
        quotient = ratio(path, embedding)
        times = [number(None if s is None else 1000 * s) for s in (embedding, path)]
        lines.append([problem, *times, number(quotient), number(TARGET.bound), TARGET.mark(quotient)])
    return "\n\n".join(["## Path distances", INTRODUCTION, table(HEADER, lines)])


def finding(rows: Sequence[Row]) -> str:
    """How long path distances take beside embedding distances."""
    ratios = [ratio(path, embedding) for embedding, path in _seconds(rows).values()]
    known = [quotient for quotient in ratios if quotient is not None]
    span = f"{number(min(known))} to {number(max(known))}" if known else NOTHING
    return f"Path distances, times as long as embedding distances: {span}."


def _seconds(rows: Sequence[Row]) -> dict[str, tuple[float | None, float | None]]:
    """Of every problem, the time of embedding and of path distances."""
    problems = dict.fromkeys(row["problem"] for row in rows if matches(row, method=PATH, status=OK))
    return {
        problem: (
            median_of(rows, "seconds", problem=problem, method=EMBEDDING),
            median_of(rows, "seconds", problem=problem, method=PATH),
        )
        for problem in problems
    }
