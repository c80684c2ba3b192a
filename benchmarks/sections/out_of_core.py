"""A file larger than memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.markdown import number, ratio, size, table
from benchmarks.records import OK, Row

INTRODUCTION = """\
One fit of float32 by a process that is held to less memory than the rows take; regression, m = 2,
standardised. *mapped* is a memory-mapped array. *parquet* is a Parquet file of many row groups, which the
process turns into a memory-mapped array by record batches first; *mapping* is the time of that, which
*seconds* contain. *dask* is the same file as a Dask frame, on a worker that shares the limit with its client;
starting them is in its time. The limit is 55 bytes a row for y, the scores and the like, and 400 MB, with
Arrow 600 MB, with Dask 1150 MB. *Peak* is the most that counted towards it, pages of files that the process
was first to read or write among it, but not what it had before, such as modules. *Anonymous* is the most
memory that was no file's, modules included, of worker and client together, looked at every 50 ms."""
HEADER = [
    "file",
    "n x p",
    "rows, GB",
    "limit, GB",
    "held to it",
    "peak, GB",
    "anonymous, GB",
    "mapping, s",
    "seconds",
    "passes",
    "mean loss",
]


def section(rows: Sequence[Row]) -> str:
    """One line per fit."""
    lines = []
    for row in rows:
        if row["status"] == OK:
            extra = json.loads(row["extra"])
            names = ("x_bytes", "limit_bytes", "peak_bytes", "anonymous_bytes")
            x, limit, *peaks = (number(ratio(extra.get(name), 1e9)) for name in names)
            seconds = [number(extra.get("mapping_seconds") or None), number(float(row["seconds"]))]
            file, shape = row["problem"].partition("-")[0], size(int(row["n"]), int(row["p"]))
            memory = [x, limit, extra["limit"], *peaks]
            lines.append([file, shape, *memory, *seconds, row["passes"], row["loss"]])
    return "\n\n".join(["## A file larger than memory", INTRODUCTION, table(HEADER, lines)])


def finding(rows: Sequence[Row]) -> str:
    """The largest file that was fitted, and the memory for it."""
    extras = [json.loads(row["extra"]) for row in rows if row["status"] == OK]
    most = max(extras, key=lambda extra: extra["x_bytes"], default=None)
    if most is None:
        return ""
    x, limit = (number(most[name] / 1e9) for name in ("x_bytes", "limit_bytes"))
    return f"Rows of {x} GB are fitted by a process that is held to {limit} GB."
