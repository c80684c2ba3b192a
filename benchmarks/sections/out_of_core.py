"""A file larger than memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.markdown import number, size, table
from benchmarks.records import OK, Row

INTRODUCTION = """\
One fit of a memory-mapped file of float32 by a process that is held to less memory than the file takes;
regression, m = 2, standardised. The limit is what y, the scores and the samples take: 55 bytes a row and
400 MB."""
HEADER = ["n x p", "file, GB", "limit, GB", "held to it", "seconds", "passes", "mean loss"]


def section(rows: Sequence[Row]) -> str:
    """One line per fit."""
    lines = []
    for row in rows:
        if row["status"] == OK:
            extra = json.loads(row["extra"])
            gigabytes = [number(extra[name] / 1e9) for name in ("x_bytes", "limit_bytes")]
            figures = [number(float(row["seconds"])), row["passes"], row["loss"]]
            lines.append([size(int(row["n"]), int(row["p"])), *gigabytes, extra["limit"], *figures])
    return "\n\n".join(["## A file larger than memory", INTRODUCTION, table(HEADER, lines)])
