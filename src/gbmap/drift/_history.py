"""The life of a monitor as it is shown: means of each batch, where it lies, and the changes found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.typing import Array, IntArray
from gbmap.drift._state import SOURCES
from gbmap.drift._timeline import Timeline
from gbmap.drift.loss_estimate import as_told, told_loss
from gbmap.drift.monitor import DriftMonitor
from gbmap.drift.monitor_results import MonitorAlarm

_KINDS: dict[str, Any] = {"number": np.float64, "time": "datetime64[ms]"}


@dataclass(frozen=True)
class Axis:
    """Where batches lie, n of them.

    Attributes
    ----------
    kind : {"number", "time", "row"}
        What their times are; "row" if they are neither numbers nor dates, or are not known.
    begins, ends : arrays of shape (n,)
        Of their first and last rows: numbers, or dates.
    begin_texts, end_texts : lists of n str
        The same as they were given.
    """

    kind: str
    begins: Array
    ends: Array
    begin_texts: list[str]
    end_texts: list[str]

    @classmethod
    def of(cls, timeline: Timeline) -> Axis:
        """Return the axis of a timeline."""
        begins, ends = list(timeline.begins), list(timeline.ends)
        for kind in _KINDS:
            try:
                return cls(kind, _values(kind, begins), _values(kind, ends), begins, ends)
            except ValueError:
                continue
        first = timeline["first_row"].astype(np.int64)
        last = first + timeline["n_rows"].astype(np.int64) - 1
        return cls("row", first, last, list(map(str, first.tolist())), list(map(str, last.tolist())))


def _values(kind: str, texts: list[str]) -> Array:
    """Return times as numbers or dates; a ValueError if one is none."""
    values = np.array([text.removesuffix("Z").removesuffix("+00:00") for text in texts], dtype=_KINDS[kind])
    if not np.isfinite(values).all():
        raise ValueError("no time")
    return values


@dataclass(frozen=True)
class MonitorHistory:
    """What pictures and pages show of a monitor, n batches of it.

    Attributes
    ----------
    axis : Axis
    n_rows, n_labelled : integer arrays of shape (n,)
    metric : {"rmse", "log_loss", "loss"}
        What losses are told by.
    expected, lower, upper : arrays of shape (n,)
        The expected loss, and its interval.
    realised : array of shape (n,)
        That of the rows whose labels are known; NaN where none is.
    alarm_share : array of shape (n,)
    log_capitals : dict of arrays of shape (n,)
        For "rows" and "labels", after each batch.
    thresholds : dict of float
        At which of these the alarm is raised; infinite for never.
    calibration_loss, calibration_alarm_share : float
    alarms : list of MonitorAlarm
    since, raised : integer arrays
        The batches in which the changes began, and in which they were found.
    is_merged : bool
        Whether neighbouring batches are shown as one.
    """

    axis: Axis
    n_rows: IntArray
    n_labelled: IntArray
    metric: str
    expected: Array
    lower: Array
    upper: Array
    realised: Array
    alarm_share: Array
    log_capitals: dict[str, Array]
    thresholds: dict[str, float]
    calibration_loss: float
    calibration_alarm_share: float
    alarms: list[MonitorAlarm]
    since: IntArray
    raised: IntArray
    is_merged: bool

    @classmethod
    def of(cls, monitor: Any, most: int | None = None) -> MonitorHistory:
        """Return the history of a monitor that has seen rows, in so many batches at most."""
        if not isinstance(monitor, DriftMonitor):
            raise TypeError(f"monitor must be a DriftMonitor, got {type(monitor).__name__}.")
        if not monitor.n_rows_:
            raise ValueError("monitor must have seen rows, got one that has seen none; call update first.")
        state = monitor.state_
        timeline = state.timeline if most is None else state.timeline.of_at_most(most)
        means = {name: timeline.means(name, "n_rows") for name in ("expected", "lower", "upper", "n_alarms")}
        metric = told_loss(monitor.detector.gauge_.calibration)
        capitals = (timeline["log_capital"], timeline["label_log_capital"])
        alarms = state.alarms
        return cls(
            axis=Axis.of(timeline),
            n_rows=timeline["n_rows"].astype(np.int64),
            n_labelled=timeline["n_labelled"].astype(np.int64),
            metric=metric,
            expected=as_told(metric, means["expected"]),
            lower=as_told(metric, means["lower"]),
            upper=as_told(metric, means["upper"]),
            realised=as_told(metric, timeline.means("realised", "n_labelled")),
            alarm_share=means["n_alarms"],
            log_capitals=dict(zip(SOURCES, capitals)),
            thresholds={
                "rows": _threshold(monitor.level * (1 - monitor.label_share)),
                "labels": _threshold(monitor.level * monitor.label_share),
            },
            calibration_loss=float(as_told(metric, state.calibration_loss)),
            calibration_alarm_share=state.calibration_alarm_share,
            alarms=list(alarms),
            since=np.array([timeline.record_of(each.since_row) for each in alarms], dtype=np.intp),
            raised=np.array([timeline.record_of(each.row) for each in alarms], dtype=np.intp),
            is_merged=len(timeline) < len(state.timeline),
        )

    def evidence(self, source: str) -> Array | None:
        """Return the powers of ten by which a capital is above what raises the alarm.

        None if it cannot raise it, or has not been in play.
        """
        capital, threshold = self.log_capitals[source], self.thresholds[source]
        if not np.isfinite(threshold) or not np.any(capital):
            return None
        above: Array = (capital - threshold) / np.log(10)
        return above


def _threshold(level: float) -> float:
    return float(-np.log(level)) if level else np.inf
