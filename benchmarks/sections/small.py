"""Small data beside XGBoost."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import verdicts
from benchmarks.markdown import NOTHING, fixed, number, ratio, table
from benchmarks.problems import REAL_SETS
from benchmarks.records import OK, Row, matches, median_of
from benchmarks.verdicts import Target

TARGET = Target("every data set, same number of threads: XGBoost / gbmap, at least 1", 1)

INTRODUCTION = """\
Seconds of one fit on all rows of each real data set, strings one-hot encoded, median over the repeats:
gbmap with m = 20 and `knots=0`, XGBoost with 500 trees of depth 4, both with the number of threads
that is given.

Where gbmap falls short, the sets are so small that most of its time is the cost of calls, not of numbers; on
qm9-10k and german-credit it also takes many passes over the rows."""


def section(rows: Sequence[Row]) -> str:
    """One line per data set and number of threads."""
    cases = [
        (name, threads)
        for threads in sorted({row["threads"] for row in rows}, key=int)
        for name in REAL_SETS
        if any(matches(row, problem=name, threads=threads) for row in rows)
    ]
    ratios = {f"{name}, threads: {threads}": _ratio(rows, name, threads) for name, threads in cases}
    return "\n\n".join(
        [
            "## Small data",
            INTRODUCTION,
            table(
                ["data set", "threads", "n x p", "gbmap", "its passes", "XGBoost", "XGBoost / gbmap", ""],
                [_line(rows, name, threads) for name, threads in cases],
            ),
            table(verdicts.HEADER, [TARGET.judge(ratios)]),
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """On how many real sets a fit takes less time than XGBoost's."""
    cases = sorted({(row["problem"], row["threads"]) for row in rows})
    ratios = [_ratio(rows, *case) for case in cases]
    known = [TARGET.mark(quotient) == verdicts.PASS for quotient in ratios if quotient is not None]
    return (
        f"On real sets, twenty learners take no longer than 500 trees in {sum(known)} of {len(known)} lines."
    )


def _seconds(rows: Sequence[Row], name: str, threads: str, method: str) -> float | None:
    return median_of(rows, "seconds", problem=name, threads=threads, method=method)


def _ratio(rows: Sequence[Row], name: str, threads: str) -> float | None:
    return ratio(_seconds(rows, name, threads, "xgboost"), _seconds(rows, name, threads, "gbmap"))


def _short(status: str) -> str:
    """The kind of trouble; its message, which may name places on a machine, stays in the row."""
    return ":".join(status.split(":")[:2])


def _line(rows: Sequence[Row], name: str, threads: str) -> list[str]:
    mine = [row for row in rows if matches(row, problem=name, threads=threads)]
    shape = next((f"{row['n']} x {row['p']}" for row in mine if row["status"] == OK), NOTHING)
    trouble = next((_short(row["status"]) for row in mine if row["status"] != OK), "")
    ours, theirs = (number(_seconds(rows, name, threads, method)) for method in ("gbmap", "xgboost"))
    passes = fixed(median_of(rows, "passes", problem=name, threads=threads, method="gbmap"), 0)
    quotient = _ratio(rows, name, threads)
    figures = [ours, passes, theirs, number(quotient)]
    return [name, threads, shape, *figures, trouble or TARGET.mark(quotient)]
