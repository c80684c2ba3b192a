"""Exact and approximate neighbours in the embedding."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.markdown import number, table
from benchmarks.records import OK, Row, matches

INTRODUCTION = """\
Seconds to find the five nearest of so many reference rows for 1,000 rows, by the Manhattan distance of 20
coordinates; seconds to build the index (the first one of pynndescent includes compilation); the share of the
true neighbours found. One run each. The default of `DriftDetector` is the k-d tree: exact, far ahead of all
pairs where the embedding varies along few directions, and not far behind where it varies along many."""

HEADER = ["problem", "method", "query, s", "build, s", "recall"]


def section(rows: Sequence[Row]) -> str:
    """One line per problem and method."""
    lines = []
    for row in rows:
        if matches(row, status=OK):
            extra = json.loads(row["extra"])
            figures = [number(float(value)) for value in (row["seconds"], extra["build"], extra["recall"])]
            lines.append([row["problem"], row["method"], *figures])
    return "\n\n".join(["## Neighbours in the embedding", INTRODUCTION, table(HEADER, lines)])
