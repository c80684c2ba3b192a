"""The data sets beside the paper's Table 1."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.markdown import NOTHING, table
from benchmarks.paper import TABLE_1
from benchmarks.records import OK, Row

INTRODUCTION = """\
Rows n and columns p, ours and the paper's. *Encoded* counts the columns after text is one-hot encoded. The
paper's higgs-10k is the head of OpenML 23512, which could not be had at full precision: two samples stand in
for it, the first 10^4 rows of the original file rounded to three digits (h2o), and 10^4 other rows of OpenML
23512 at full precision (openml-sample)."""

HEADER = ["data set", "target", "n", "paper", "p", "paper", "encoded", "as in the paper"]


def section(rows: Sequence[Row]) -> str:
    """One line per set, and which differ."""
    counted = [row for row in rows if row["status"] == OK]
    differ = [row["problem"] for row in counted if TABLE_1[row["problem"]] != _shape(row)]
    return "\n\n".join(
        [
            "## Data (Table 1)",
            INTRODUCTION,
            table(HEADER, [_line(row) for row in rows]),
            f"Other numbers of rows or columns than the paper's: {', '.join(differ) or 'none'}. Whether the "
            "linear model of these columns gives the paper's figure on the paper's split is told under "
            "[regression and classification](predictions.md): where it does, its Table 1, not the data, "
            "seems to be off.",
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """How many sets have the paper's numbers of rows and columns."""
    counted = [row for row in rows if row["status"] == OK]
    same = sum(TABLE_1[row["problem"]] == _shape(row) for row in counted)
    return f"{same} of {len(counted)} sets have the paper's numbers of rows and columns."


def _shape(row: Row) -> tuple[int, int]:
    return int(row["n"]), int(row["p"])


def _line(row: Row) -> list[str]:
    """The counts, or why there are none: a set that could not be read is not left out."""
    name, paper = row["problem"], TABLE_1[row["problem"]]
    if row["status"] != OK:
        status = row["status"].partition(":")[0]
        return [name, status, NOTHING, str(paper[0]), NOTHING, str(paper[1]), NOTHING, NOTHING]
    (n, p), extra = _shape(row), json.loads(row["extra"])
    target = "number" if extra["task"] == "regression" else "two classes"
    same = "yes" if paper == (n, p) else "no"
    return [name, target, str(n), str(paper[0]), str(p), str(paper[1]), str(extra["encoded"]), same]
