"""The local linear model of one row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.experiments.local_model import NTH, SET
from benchmarks.markdown import table
from benchmarks.records import OK, Row, matches

SMALL, LARGE = "AH", "C6H6(GT)"

INTRODUCTION = f"""\
The coefficients of the local linear model at the {NTH}th training row of {SET}, per standard deviation of a
column (m = 20, beta = 5, lambda = 1e-3, at most 200 iterations; random training rows in each repeat). The
paper finds {LARGE} the largest there and {SMALL} near zero; which rows it trained on is not said, so its 50th
row is none of these. *Of all rows*: the mean size of the coefficient over all training rows."""

HEADER = [
    "repeat",
    f"largest at row {NTH}",
    f"rank of {LARGE}",
    f"size of {SMALL} / largest",
    f"rank of {SMALL}",
]
ALL = [f"rank of {LARGE}, of all rows", f"rank of {SMALL}, of all rows"]


def section(rows: Sequence[Row]) -> str:
    """One line per repeat."""
    done = [row for row in rows if row["status"] == OK]
    told = {row["repeat"]: json.loads(row["extra"]) for row in done}
    lines = [[repeat, *_line(extra)] for repeat, extra in sorted(told.items())]
    columns = len(next(iter(told.values()))["row"])
    return "\n\n".join(
        [
            "## A local model (Figure 3)",
            INTRODUCTION,
            table([*HEADER, *ALL], lines),
            f"Ranks are by size, of {columns} columns: 1 is the largest.",
            f"![Coefficients at row {NTH}](figures/local_model.png)",
        ]
    )


def _rank(sizes: Mapping[str, float], name: str) -> int:
    ordered = sorted(sizes, key=lambda one: -abs(sizes[one]))
    return 1 + ordered.index(name)


def _line(extra: Mapping[str, Any]) -> list[str]:
    row, typical = extra["row"], extra["typical"]
    largest = max(row, key=lambda name: abs(row[name]))
    share = abs(row[SMALL]) / abs(row[largest])
    here = [largest, str(_rank(row, LARGE)), f"{share:.2f}", str(_rank(row, SMALL))]
    return [*here, *(str(_rank(typical, name)) for name in (LARGE, SMALL))]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """The coefficients in the first repeat."""
    import matplotlib.pyplot as plt

    row = next(row for row in rows if matches(row, repeat=0, status=OK))
    coefficients = json.loads(row["extra"])["row"]
    names = sorted(coefficients, key=lambda name: abs(coefficients[name]))
    figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    ax.barh(names, [coefficients[name] for name in names], color="#0072B2")
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="change of the prediction per standard deviation", title=f"{SET}, training row {NTH}")
    return {"local_model": figure}
