"""Drift over time: false alarms, and rows until a change is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.experiments.monitor import (
    CHANGED,
    IN_TIME,
    LEVEL,
    NULL,
    REAL,
    REAL_LIVES,
    SHUFFLED,
    WATCHERS,
    delays,
)
from benchmarks.markdown import NOTHING, fixed, number, table
from benchmarks.records import OK, Row, matches
from benchmarks.verdicts import HEADER, Target

OURS = ("gbmap, rows", "gbmap, rows and labels")
OF_LABELS = {watcher.name: watcher.labels for watcher in WATCHERS}

INTRODUCTION = """\
Streams of rows after a fit, looked at as they come. A GBMAP as it comes is fitted to 1,000 rows, 500 others
calibrate; y = abs(x1) + x2 + noise, of five columns. *gbmap* is `DriftMonitor` at level 0.05, by the
indicator alone or by labels too, which come with their rows; *fixed reference* makes the same bets on
p-values against the calibration rows alone, raised by what 500 rows may be wrong by (Massart's inequality).
River's detectors (ADWIN, Page-Hinkley, KSWIN) are given gbmap's indicator, or the loss of each row, and
the calibration rows first. NannyML estimates (DLE for numbers, CBPE for classes) or computes the mean
squared error or the AUC of chunks of 100 rows; alibi-detect's Kolmogorov-Smirnov test looks at the columns of
100 rows, Evidently's preset for data drift at those of 500. All are as they come. Synthetic lives were not
used to choose anything in gbmap; the bets were settled on normal draws without a model."""

NO_DRIFT = """\
10,000 rows without drift. *Lives with an alarm* is what a level bounds; *alarms* is their mean number over a
life, of a method that goes on after an alarm. gbmap's stands once it is raised."""

DELAYS = """\
Rows from a change, after 2,000 rows, to the first alarm that follows: the median over the lives that had one
within 2,000 rows, and how many these were, where not all. *before* is the share of lives with an alarm in the
2,000 rows before: where it is large, an alarm soon after the change may be one of those. *sudden* changes
stay, *gradual* ones grow over 1,000 rows, *recurring* ones come and go every 200 rows. x1 is spread twice as
wide (columns), or x3 begins to count for y (relation), which rows without labels cannot show. gbmap was
asked every 10 rows, which is the grain of its delays; chunks have theirs."""

ON_REAL = """\
Real sets whose rows are ordered in time: 3,000 rows to learn and calibrate from, the rest as the stream.
Shuffled, there is no drift: the share of lives with an alarm. In time, the row of the first alarm: these
rows depend on those before them and the world changed, so that there is drift, and no true row of its
beginning. gbmap was asked every 100 rows here."""

CAVEATS = """\
A level for a whole life is more than the peers promise: ADWIN bounds each test, chunks are judged one by one.
So a method with many alarms here is not wrong; it is one whose alarms must be counted, not followed. KSWIN,
NannyML and Evidently had fewer lives, since they take long. The indicator was the paper's, before the
embedding distance was added to it by default."""


def section(rows: Sequence[Row]) -> str:
    """False alarms, delays, real sets and the targets."""
    done = [row for row in rows if row["status"] == OK]
    known = [name for name in OF_LABELS if any(matches(row, method=name) for row in done)]
    parts = ["## Drift over time", INTRODUCTION, NO_DRIFT, table(*_no_drift(done, known))]
    if any(row["problem"] in CHANGED for row in done):
        parts += [DELAYS, table(*_delays(done, known))]
    if any(row["problem"].startswith(REAL) for row in done):
        parts += [ON_REAL, table(*_real(done, known))]
    return "\n\n".join([*parts, table(HEADER, _targets(done, known)), CAVEATS])


def finding(rows: Sequence[Row]) -> str:
    """The share of false alarms, and the delays of sudden changes."""
    done = [row for row in rows if row["status"] == OK]
    shares = {name: _share(done, NULL, name) for name in OURS}
    told = ", ".join(f"{name} {_percent(share)}" for name, share in shares.items())
    columns, relation = (_median(done, problem, OURS[1]) for problem in (CHANGED[0], CHANGED[3]))
    return (
        f"Lives of 10,000 rows without drift with an alarm, at level {LEVEL}: {told}. Sudden changes are "
        f"told after {number(columns, 2)} rows (columns) and {number(relation, 2)} (relation)."
    )


def _extra(rows: Sequence[Row], problem: str, method: str) -> dict[str, Any] | None:
    found = [row for row in rows if matches(row, problem=problem, method=method)]
    return json.loads(found[0]["extra"]) if found else None


def _share(rows: Sequence[Row], problem: str, method: str) -> float | None:
    extra = _extra(rows, problem, method)
    return None if extra is None else sum(count > 0 for count in extra["counts"]) / extra["lives"]


def _before(rows: Sequence[Row], method: str) -> float | None:
    """The share of lives with an alarm before the change, over all changes."""
    alarms = [
        found for problem in CHANGED for found in (_extra(rows, problem, method) or {"alarms": []})["alarms"]
    ]
    return sum(bool(found) and found[0] < 2000 for found in alarms) / len(alarms) if alarms else None


def _median(rows: Sequence[Row], problem: str, method: str) -> float | None:
    """The median delay; None where fewer than half of the lives had an alarm."""
    extra = _extra(rows, problem, method)
    if extra is None:
        return None
    found = [delay for delay in delays(problem, extra["alarms"]) if delay is not None]
    missing = [float("inf")] * (extra["lives"] - len(found))
    middle = median([*found, *missing])
    return None if middle == float("inf") else middle


def _no_drift(rows: Sequence[Row], known: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    lines = []
    for name in known:
        extra = _extra(rows, NULL, name)
        if extra is not None:
            mean = sum(extra["counts"]) / extra["lives"]
            cells = [str(extra["lives"]), _percent(_share(rows, NULL, name)), number(mean, 2)]
            lines.append([name, "yes" if OF_LABELS[name] else "no", *cells])
    return ["method", "labels", "lives", "lives with an alarm", "alarms"], lines


def _delays(rows: Sequence[Row], known: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    lines = [
        [name, _percent(_before(rows, name)), *(_delay(rows, problem, name) for problem in CHANGED)]
        for name in known
    ]
    return ["method", "before", *CHANGED], lines


def _delay(rows: Sequence[Row], problem: str, method: str) -> str:
    extra = _extra(rows, problem, method)
    if extra is None:
        return NOTHING
    found = [delay for delay in delays(problem, extra["alarms"]) if delay is not None]
    if not found:
        return "none"
    text = fixed(median(found), 0)
    return text if len(found) == extra["lives"] else f"{text} ({len(found)} of {extra['lives']})"


def _real(rows: Sequence[Row], known: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    lines = []
    for name in known:
        cells = []
        for problem in REAL:
            extra = _extra(rows, f"{problem}, {IN_TIME}", name)
            first = None if extra is None else next(iter(extra["alarms"][0]), None)
            told = NOTHING if extra is None else "none" if first is None else str(first + 1)
            cells += [_percent(_share(rows, f"{problem}, {SHUFFLED}", name)), told]
        lines.append([name, *cells])
    return ["method", *(f"{name}, {what}" for name in REAL for what in (SHUFFLED, IN_TIME))], lines


def _targets(rows: Sequence[Row], known: Sequence[str]) -> list[list[str]]:
    """Whether the level is held, and the rank of the delay among methods that hold it on the same streams."""
    held = {
        f"{name}, {problem}": _share(rows, problem, name)
        for name in OURS
        for problem in (NULL, *(f"{real}, {SHUFFLED}" for real in REAL))
    }
    bound = LEVEL + 2 * (LEVEL * (1 - LEVEL) / REAL_LIVES) ** 0.5  # two standard errors of the fewest lives
    lines = [Target("lives without drift with an alarm, up to chance", bound, at_most=True).judge(held)]
    ranks = {problem: _rank(rows, problem, known) for problem in CHANGED}
    text = "rank of the delay among methods that hold the level"
    return [*lines, Target(text, 2, at_most=True).judge(ranks)]


def _rank(rows: Sequence[Row], problem: str, known: Sequence[str]) -> float | None:
    """One more than the methods that hold the level, see the same, and are faster in the median."""
    is_columns = problem.startswith("columns")
    ours = _median(rows, problem, OURS[0] if is_columns else OURS[1])
    if ours is None:
        return None
    peers = [name for name in known if not name.startswith("gbmap")]
    holding = [name for name in peers if (_share(rows, NULL, name) or 0) <= LEVEL]
    times = [_median(rows, problem, name) for name in holding]
    return 1 + sum(time is not None and time < ours for time in times)


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.0f} %"
