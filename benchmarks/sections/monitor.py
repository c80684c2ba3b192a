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
from benchmarks.pictures import LOOKS, Glance, titled
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
the calibration rows first; so are nonconform's ranks among all rows before, on which its Simple Jumper bets.
NannyML estimates (DLE for numbers, CBPE for classes) or computes the mean
squared error or the AUC of chunks of 100 rows; alibi-detect's Kolmogorov-Smirnov test looks at the columns of
100 rows, Evidently's preset for data drift at those of 500. All are as they come. Synthetic lives were not
used to choose anything in gbmap; the bets were settled on normal draws without a model."""

NO_DRIFT = """\
10,000 rows without drift. *Lives with an alarm* is what a level bounds; *alarms* is their mean number over a
life, of a method that goes on after an alarm. gbmap's and nonconform's stand once they are raised."""

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
NannyML and Evidently had fewer lives, since they take long. KSWIN was given the paper's indicator, the
others that by default, to which the embedding distance is added."""


def section(rows: Sequence[Row]) -> str:
    """False alarms, delays, real sets and the targets."""
    done = [row for row in rows if row["status"] == OK]
    known = [name for name in OF_LABELS if any(matches(row, method=name) for row in done)]
    picture = f"![{headline(rows)}](figures/monitor.png)"
    parts = ["## Drift over time", picture, INTRODUCTION, NO_DRIFT, table(*_no_drift(done, known))]
    if any(row["problem"] in CHANGED for row in done):
        parts += [DELAYS, table(*_delays(done, known))]
    if any(row["problem"].startswith(REAL) for row in done):
        parts += [ON_REAL, table(*_real(done, known))]
    return "\n\n".join([*parts, table(HEADER, _targets(done, known)), CAVEATS])


def finding(rows: Sequence[Row]) -> str:
    """The share of false alarms, and the delays of sudden changes."""
    done = [row for row in rows if row["status"] == OK]
    shares = {name: share_of_lives(done, NULL, name) for name in OURS}
    told = ", ".join(f"{name} {_percent(share)}" for name, share in shares.items())
    columns, relation = (median_delay(done, problem, OURS[1]) for problem in (CHANGED[0], CHANGED[3]))
    return (
        f"Lives of 10,000 rows without drift with an alarm, at level {LEVEL}: {told}. Sudden changes are "
        f"told after {number(columns, 2)} rows (columns) and {number(relation, 2)} (relation)."
    )


def headline(rows: Sequence[Row]) -> str:
    """How often there is a false alarm, and how soon true ones come beside those of the peers."""
    done = [row for row in rows if row["status"] == OK]
    share = max((share_of_lives(done, NULL, name) or 0.0 for name in OURS), default=0.0)
    known = [name for name in OF_LABELS if any(matches(row, method=name) for row in done)]
    ranks = [rank for problem in CHANGED if (rank := _rank(done, problem, known)) is not None]
    first = sum(rank <= 1 for rank in ranks)
    return (
        f"Over 10,000 rows without drift gbmap has a false alarm in {_percent(share)} of lives at most; of "
        f"methods that keep the level of {_percent(LEVEL)} none is sooner on {first} of {len(ranks)} changes"
    )


def glance(rows: Sequence[Row]) -> Glance:
    """What the first page says: false alarms beside delays."""
    done = [row for row in rows if row["status"] == OK]
    slow = median_delay(done, CHANGED[1], OURS[1])
    return Glance(
        "Alarms",
        headline(rows),
        "monitor",
        "Each watcher as it comes, on streams drawn from one model: left, how often it is wrong in a life "
        "without drift; right, the rows from a sudden change to its alarm. *Weak spots*: without labels no "
        "method that keeps the level notices a changed relation, and a change that grows over 1,000 rows "
        f"takes {number(slow)} of them.",
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """False alarms of every watcher, and its delays after sudden changes."""
    import matplotlib.pyplot as plt

    done = [row for row in rows if row["status"] == OK]
    names = [name for name in OF_LABELS if share_of_lives(done, NULL, name) is not None][::-1]
    if not names:
        return {}
    colors = [LOOKS["gbmap"][0] if name in OURS else "0.65" for name in names]
    figure, axes = plt.subplots(
        1, 3, figsize=(10, 1.6 + 0.32 * len(names)), layout="constrained", sharey=True
    )
    shares = [100 * (share_of_lives(done, NULL, name) or 0.0) for name in names]
    _bars(axes[0], names, shares, colors, [f"{share:.0f} %" for share in shares])
    axes[0].set_title(f"lives with a false alarm; allowed: {_percent(LEVEL)}", loc="left", fontsize=10)
    for ax, problem in zip(axes[1:], (CHANGED[0], CHANGED[3])):
        delays_found = [median_delay(done, problem, name) for name in names]
        told = ["rarely or never" if delay is None else fixed(delay, 0) for delay in delays_found]
        _bars(ax, names, [delay or 0.0 for delay in delays_found], colors, told)
        ax.set_title(f"rows to an alarm: {problem}", loc="left", fontsize=10)
    titled(figure, headline(rows))
    return {"monitor": figure}


def _bars(ax: Any, names: Sequence[str], values: Sequence[float], colors: Sequence[str], told: Any) -> None:
    bars = ax.barh(names, values, color=colors)
    ax.bar_label(bars, told, padding=3, fontsize=8)
    ax.set_xlim(0, 1.35 * max(*values, 1.0))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _extra(rows: Sequence[Row], problem: str, method: str) -> dict[str, Any] | None:
    found = [row for row in rows if matches(row, problem=problem, method=method)]
    return json.loads(found[0]["extra"]) if found else None


def share_of_lives(rows: Sequence[Row], problem: str, method: str) -> float | None:
    extra = _extra(rows, problem, method)
    return None if extra is None else sum(count > 0 for count in extra["counts"]) / extra["lives"]


def _before(rows: Sequence[Row], method: str) -> float | None:
    """The share of lives with an alarm before the change, over all changes."""
    alarms = [
        found for problem in CHANGED for found in (_extra(rows, problem, method) or {"alarms": []})["alarms"]
    ]
    return sum(bool(found) and found[0] < 2000 for found in alarms) / len(alarms) if alarms else None


def median_delay(rows: Sequence[Row], problem: str, method: str) -> float | None:
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
            cells = [str(extra["lives"]), _percent(share_of_lives(rows, NULL, name)), number(mean, 2)]
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
            cells += [_percent(share_of_lives(rows, f"{problem}, {SHUFFLED}", name)), told]
        lines.append([name, *cells])
    return ["method", *(f"{name}, {what}" for name in REAL for what in (SHUFFLED, IN_TIME))], lines


def _targets(rows: Sequence[Row], known: Sequence[str]) -> list[list[str]]:
    """Whether the level is held, and the rank of the delay among methods that hold it on the same streams."""
    held = {
        f"{name}, {problem}": share_of_lives(rows, problem, name)
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
    ours = median_delay(rows, problem, OURS[0] if is_columns else OURS[1])
    if ours is None:
        return None
    peers = [name for name in known if not name.startswith("gbmap")]
    holding = [name for name in peers if (share_of_lives(rows, NULL, name) or 0) <= LEVEL]
    times = [median_delay(rows, problem, name) for name in holding]
    return 1 + sum(time is not None and time < ours for time in times)


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.0f} %"
