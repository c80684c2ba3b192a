"""The life of a monitor: losses, alarms and evidence of batch after batch, and the changes it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.typing import Array
from gbmap.drift import DriftMonitor, MonitorAlarm
from gbmap.drift._timeline import Timeline
from gbmap.report._rounding import significant

_MOST = 250  # batches on the page; beyond, each two neighbouring ones become one
_NAMED = 3  # columns behind a change
_KINDS: dict[str, Any] = {"number": np.float64, "time": "datetime64[ms]", "row": np.float64}


@dataclass(frozen=True)
class Change:
    """One alarm of the monitor."""

    source: str  # "rows" or "labels": what gave it away
    # Positions among the batches: where the change is likeliest to have begun, and where it was found.
    since: int
    raised: int
    # The same on the axis: where the first of these batches begins, and where the other one ends.
    since_position: float
    raised_position: float
    since_text: str  # the time, or the row, at which it began
    columns: list[str]  # those behind it, the largest share first
    summary: str  # all of it in a sentence


@dataclass(frozen=True)
class OverTime:
    """Batches, one after the other; lists have a value each, None where it is not known."""

    level: float  # the chance of a false alarm over all batches together
    is_merged: bool  # whether there were so many batches that neighbouring ones are shown as one
    axis: str  # what begins and ends are: "time" for dates and times, "number", or "row" for its number
    begins: list[str]
    ends: list[str]  # of the last row
    begin: float  # where the first batch begins on the axis; milliseconds since 1970 for times
    positions: list[float]  # where batches end
    n_rows: list[int]
    n_labelled: list[int]
    expected_loss: list[float | None]
    expected_lower: list[float | None]
    expected_upper: list[float | None]
    known_loss: list[float | None]
    share_alarmed: list[float | None]
    # Powers of ten by which the evidence is above what raises the alarm: below 0 there is none. None if that
    # kind of evidence cannot raise it, or if there has been none.
    evidence_of_rows: list[float | None] | None
    evidence_of_labels: list[float | None] | None
    # The same of calibration rows.
    calibration_loss: float | None
    calibration_share_alarmed: float | None
    changes: list[Change]


def study_over_time(monitor: Any) -> OverTime:
    """Return what a monitor knows of its batches."""
    if not isinstance(monitor, DriftMonitor):
        raise TypeError(f"monitor must be a DriftMonitor, got {type(monitor).__name__}.")
    if not getattr(monitor, "n_rows_", 0):
        raise ValueError("monitor must have seen rows, got one that has seen none; call update first.")
    timeline = _merged(monitor._timeline)
    rows = timeline["n_rows"]
    axis, begins, ends = _ends(timeline)
    starts, positions = _positions(axis, begins), _positions(axis, ends)
    shares = (1 - monitor.label_share, monitor.label_share)
    evidence = [
        _evidence(timeline[name], monitor.level * share)
        for name, share in zip(("log_capital", "label_log_capital"), shares)
    ]
    n_labelled = timeline["n_labelled"]
    return OverTime(
        level=monitor.level,
        is_merged=len(timeline) < len(monitor._timeline),
        axis=axis,
        begins=begins,
        ends=ends,
        begin=starts[0],
        positions=positions,
        n_rows=rows.astype(int).tolist(),
        n_labelled=n_labelled.astype(int).tolist(),
        expected_loss=_means(timeline["expected"], rows),
        expected_lower=_means(timeline["lower"], rows),
        expected_upper=_means(timeline["upper"], rows),
        known_loss=_means(timeline["realised"], n_labelled),
        share_alarmed=_means(timeline["n_alarms"], rows),
        evidence_of_rows=evidence[0],
        evidence_of_labels=evidence[1],
        calibration_loss=significant(monitor._calibration_loss),
        calibration_share_alarmed=significant(monitor._n_above / monitor._n_calibration),
        changes=[_change(timeline, alarm, starts, positions) for alarm in monitor.alarms_],
    )


def _merged(timeline: Timeline) -> Timeline:
    """Return the records of a timeline, neighbouring ones as one while there are too many to tell apart."""
    merged = Timeline(timeline.numbers, timeline.begins, timeline.ends)
    while len(merged) > _MOST:
        merged._merge()
    return merged


def _means(sums: Array, counts: Array) -> list[float | None]:
    return [significant(total / n) if n else None for total, n in zip(sums.tolist(), counts.tolist())]


def _evidence(log_capital: Array, level: float) -> list[float | None] | None:
    """Return the logarithms of a capital over that which raises the alarm, 1 / level."""
    if not level or not np.any(log_capital):
        return None
    return [significant(value) for value in (log_capital + np.log(level)) / np.log(10)]


def _ends(timeline: Any) -> tuple[str, list[str], list[str]]:
    """Return the times at which batches begin and end, or else the numbers of their rows."""
    begins, ends = list(timeline.begins), list(timeline.ends)
    for axis in ("number", "time"):
        try:
            if all(np.isfinite(_positions(axis, [*begins, *ends]))):
                return axis, begins, ends
        except ValueError:
            continue
    first = timeline["first_row"].astype(int)
    last = first + timeline["n_rows"].astype(int) - 1
    return "row", [str(row) for row in first], [str(row) for row in last]


def _positions(axis: str, texts: list[str]) -> list[float]:
    """Return where times or rows lie on the axis; a ValueError if one is none."""
    values = np.array([text.removesuffix("Z").removesuffix("+00:00") for text in texts], dtype=_KINDS[axis])
    if axis != "time":
        return values.tolist()
    return np.where(np.isnat(values), np.nan, values.astype(np.float64)).tolist()


def _change(timeline: Any, alarm: MonitorAlarm, starts: list[float], positions: list[float]) -> Change:
    since, raised = (
        max(int(np.searchsorted(timeline["first_row"], row, side="right")) - 1, 0)
        for row in (alarm.since_row, alarm.row)
    )
    return Change(
        source=alarm.source,
        since=since,
        raised=raised,
        since_position=starts[since],
        raised_position=positions[raised],
        since_text=alarm.since_time or f"row {alarm.since_row:,}",
        columns=alarm.columns[:_NAMED],
        summary=alarm.summary,
    )
