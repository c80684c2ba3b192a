"""The life of a monitor: losses, alarms and evidence of batch after batch, and the changes it found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.glossary import METRICS
from gbmap._utils.typing import Array
from gbmap.drift import MonitorAlarm
from gbmap.drift._history import MonitorHistory
from gbmap.report._rounding import significant

_MOST = 250  # batches on the page; beyond, each two neighbouring ones become one
_NAMED = 3  # columns behind a change


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
    error_name: str  # what errors are: of the squared error, its root
    expected_error: list[float | None]
    expected_lower: list[float | None]
    expected_upper: list[float | None]
    known_error: list[float | None]
    share_alarmed: list[float | None]
    # Powers of ten by which the evidence is above what raises the alarm: below 0 there is none. None if that
    # kind of evidence cannot raise it, or if there has been none.
    evidence_of_rows: list[float | None] | None
    evidence_of_labels: list[float | None] | None
    # The same of calibration rows.
    calibration_error: float | None
    calibration_share_alarmed: float | None
    changes: list[Change]


def study_over_time(monitor: Any, loss: str) -> OverTime:
    """Return what a monitor knows of its batches, given the name of its model's loss."""
    history = MonitorHistory.of(monitor, _MOST)
    axis = history.axis
    starts, positions = _numbers(axis.begins), _numbers(axis.ends)
    return OverTime(
        level=monitor.level,
        is_merged=history.is_merged,
        axis=axis.kind,
        begins=axis.begin_texts,
        ends=axis.end_texts,
        begin=starts[0],
        positions=positions,
        n_rows=history.n_rows.tolist(),
        n_labelled=history.n_labelled.tolist(),
        error_name=METRICS[history.metric].title if history.metric in METRICS else f"mean loss ({loss})",
        expected_error=_significant(history.expected),
        expected_lower=_significant(history.lower),
        expected_upper=_significant(history.upper),
        known_error=_significant(history.realised),
        share_alarmed=_significant(history.alarm_share),
        evidence_of_rows=_evidence(history, "rows"),
        evidence_of_labels=_evidence(history, "labels"),
        calibration_error=significant(history.calibration_loss),
        calibration_share_alarmed=significant(history.calibration_alarm_share),
        changes=[
            _change(alarm, since, raised, starts, positions)
            for alarm, since, raised in zip(history.alarms, history.since.tolist(), history.raised.tolist())
        ],
    )


def _numbers(positions: Array) -> list[float]:
    """Return where batches lie: times in milliseconds since 1970."""
    return positions.astype(np.float64).tolist()


def _significant(values: Array) -> list[float | None]:
    return [None if math.isnan(value) else significant(value) for value in values.tolist()]


def _evidence(history: MonitorHistory, source: str) -> list[float | None] | None:
    above = history.evidence(source)
    return None if above is None else _significant(above)


def _change(
    alarm: MonitorAlarm, since: int, raised: int, starts: list[float], positions: list[float]
) -> Change:
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
