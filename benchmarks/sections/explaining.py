"""Explaining against predicting."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.experiments.explaining import ATTRIBUTIONS, EXPLAIN, PREDICT
from benchmarks.markdown import number, ratio, size, table
from benchmarks.records import OK, Row, matches, median_of
from benchmarks.verdicts import Target

INTRODUCTION = """\
Milliseconds to explain every row, by its local linear model and by integrated gradients from one baseline,
and to predict every row, float32, median of alternating calls and of the repeats."""

HEADER = ["n x p", "m", "what", "ms", "predict, ms", "ratio", "at most", ""]
TARGET = Target("explaining / predicting", 20, at_most=True)


def section(rows: Sequence[Row]) -> str:
    """One line per kind of explanation."""
    first = next(row for row in rows if matches(row, method=PREDICT, status=OK))
    predict = median_of(rows, "seconds", method=PREDICT)
    lines = []
    for name in (EXPLAIN, ATTRIBUTIONS):
        seconds = median_of(rows, "seconds", method=name)
        quotient = ratio(seconds, predict)
        times = [number(None if s is None else 1000 * s) for s in (seconds, predict)]
        verdict = [number(quotient), number(TARGET.bound, 2), TARGET.mark(quotient)]
        lines.append([size(int(first["n"]), int(first["p"])), first["m"], name, *times, *verdict])
    return "\n\n".join(["## Explaining", INTRODUCTION, table(HEADER, lines)])


def finding(rows: Sequence[Row]) -> str:
    """How long explanations take beside predictions."""
    predict = median_of(rows, "seconds", method=PREDICT)
    ratios = {
        name: ratio(median_of(rows, "seconds", method=name), predict) for name in (EXPLAIN, ATTRIBUTIONS)
    }
    told = ", ".join(f"{name} {number(quotient)}" for name, quotient in ratios.items())
    return f"Times as long as predicting: {told}."
