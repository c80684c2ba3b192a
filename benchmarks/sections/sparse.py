"""Sparse rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import mean

from benchmarks.markdown import fixed, number, size, table
from benchmarks.records import OK, Row, matches, median_of

INTRODUCTION = """\
Text-like counts of 100 words a row, drawn by Zipf's law, in CSR form, and two classes. The ridge is the best
of three by validation rows, in the same way for both; 70 % of the rows are fitted, 15 % are for that choice,
15 % for the score. *Beyond X* is how far the peak resident size of the process rose over gbmap's three fits,
which came first."""
HEADER = ["n x p", "method", "seconds", "accuracy", "X, MB", "beyond X, MB"]


def section(rows: Sequence[Row]) -> str:
    """One line per method."""
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if matches(row, problem=problem, method=method, status=OK)]
            if mine:
                extras = [json.loads(row["extra"]) for row in mine]
                shape = size(int(mine[0]["n"]), int(mine[0]["p"]))
                seconds = median_of(mine, "seconds", method=method)
                accuracy = mean(extra["accuracy"] for extra in extras)
                beyond = extras[0]["beyond_bytes"] / 1e6 if method == "gbmap" else None
                megabytes = [number(extras[0]["x_bytes"] / 1e6), number(beyond)]
                lines.append([shape, method, number(seconds), fixed(accuracy, 3), *megabytes])
    return "\n\n".join(["## Sparse rows", INTRODUCTION, table(HEADER, lines)])
