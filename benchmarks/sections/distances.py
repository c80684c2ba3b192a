"""Path distances against embedding distances."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.experiments.distances import EMBEDDING, PATH, TOL
from benchmarks.markdown import number, ratio, table
from benchmarks.records import OK, Row, matches, median_of
from benchmarks.verdicts import Target

INTRODUCTION = f"""\
Milliseconds of all distances between 1,000 and 1,000 rows, 20 learners, path distances certified to {TOL:g}
of the embedding distance; median of alternating calls and of the repeats."""

HEADER = ["problem", "embedding, ms", "path, ms", "ratio", "at most", ""]
TARGET = Target("path / embedding", 150, at_most=True, least=400)


def section(rows: Sequence[Row]) -> str:
    """One line per problem."""
    problems = dict.fromkeys(row["problem"] for row in rows if matches(row, method=PATH, status=OK))
    lines = []
    for problem in problems:
        embedding, path = (
            median_of(rows, "seconds", problem=problem, method=each) for each in (EMBEDDING, PATH)
        )
        quotient = ratio(path, embedding)
        times = [number(None if s is None else 1000 * s) for s in (embedding, path)]
        lines.append([problem, *times, number(quotient), number(TARGET.bound), TARGET.mark(quotient)])
    return "\n\n".join(["## Path distances", INTRODUCTION, table(HEADER, lines)])
