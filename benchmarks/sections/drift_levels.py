"""Whether the levels of the verdict on drift hold where nothing has changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.experiments.drift_levels import CONFIDENCE, LEVEL, SIZES, TASKS
from benchmarks.markdown import NOTHING, fixed, table
from benchmarks.records import OK, Row, matches
from benchmarks.verdicts import HEADER, Target

INTRODUCTION = f"""\
Where nothing has changed: calibration rows and a batch are drawn anew each time, from one distribution,
for five models of each task that were fitted to 400 rows each. The synthetic rows have a category of 20
levels and a column with a tenth of its values missing; the noise of the target is normal, t with 3 degrees
of freedom (its squares have no variance) or lognormal. *Found* is the share of verdicts other than "none" at
`level={LEVEL}`, with labels; *by* counts what was found. *Mean* is the share of intervals of
{CONFIDENCE:.0%} by `DriftDetector.estimate_loss` that hold the mean loss of the batch, *RMSE or accuracy* and
*MAE or log loss* the same of these, *rows* the share of rows whose loss lies in its own interval."""

CAVEATS = """\
Intervals of a mean assume that the largest losses have a tail like a generalised Pareto distribution, and
draw from what the calibration says of it. With 20 calibration rows nothing tells how far the tail of
lognormal noise reaches, and the interval of its mean squared error is too short; those of MAE and of single
rows hold. The squares of t3 noise have no variance, so that no number of rows makes theirs quite hold. Of 300
draws a share of 0.90 is known to within 0.035."""

TITLES = {
    "prediction": "mean prediction",
    "alarms": "alarms",
    "expected_loss": "expected loss",
    "loss": "loss",
    "columns": "columns",
}
TARGETS = {
    "any": Target("verdicts other than none, at most the level asked for", LEVEL, at_most=True),
}


def section(rows: Sequence[Row]) -> str:
    """One line per task and size."""
    header = ["task", "calibration rows", "rows", "draws", "found", "by"]
    header += ["mean", "RMSE or accuracy", "MAE or log loss", "rows covered"]
    found = {f"{task}, {n} x {m}": (task, n, m) for task in TASKS for n, m in SIZES}
    told = {name: _told(rows, name) for name in found}
    lines = [_line(*found[name], one) for name, one in told.items() if one]
    shares = {name: one["found"]["any"] / one["draws"] for name, one in told.items() if one}
    return "\n\n".join(
        [
            "## Verdicts on drift where there is none",
            INTRODUCTION,
            table(header, lines),
            table(HEADER, [TARGETS["any"].judge(shares)]),
            CAVEATS,
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """How often something is found where there is nothing."""
    told = [one for task in TASKS for n, m in SIZES if (one := _told(rows, f"{task}, {n} x {m}"))]
    n_found, n_all = (sum(values) for values in zip(*((one["found"]["any"], one["draws"]) for one in told)))
    return f"Of {n_all} batches in which nothing had changed, {n_found} had a verdict other than none."


def _told(rows: Sequence[Row], problem: str) -> dict[str, Any]:
    """All that was counted, over the repeats; nothing if there was none."""
    known = [row for row in rows if row["status"] == OK and matches(row, problem=problem)]
    parts = [json.loads(row["extra"]) for row in known]
    if not parts:
        return {}
    return {"draws": sum(part["draws"] for part in parts)} | {
        group: {name: sum(part[group][name] for part in parts) for name in parts[0][group]}
        for group in ("found", "covered")
    }


def _line(task: str, n_calibration: int, n_rows: int, told: dict[str, Any]) -> list[str]:
    n_draws, found, covered = told["draws"], told["found"], told["covered"]
    by = ", ".join(f"{title} {found[kind]}" for kind, title in TITLES.items() if found[kind]) or NOTHING
    shares = [fixed(covered[name] / n_draws, 2) for name in ("mean", "first", "second", "rows")]
    return [
        task, str(n_calibration), str(n_rows), str(n_draws), fixed(found["any"] / n_draws, 3), by, *shares
    ]  # fmt: skip
