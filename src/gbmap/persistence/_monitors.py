"""What is asked of the state of a monitor, written or read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from gbmap._files.checks import need, need_members, need_numbers, need_one_of
from gbmap.drift import DriftMonitor, MonitorAlarm
from gbmap.drift._martingale import Martingale
from gbmap.drift._state import MonitorState
from gbmap.drift._stream import Stream
from gbmap.drift._suspects import Suspects
from gbmap.drift._timeline import Timeline
from gbmap.drift._urn import Urn

_HEX = re.compile("(?:[0-9a-f]{2})*")
_MOST_ROWS = 2**53  # which a float counts exactly
_WAITING = 3  # what a waiting row has before its outputs: row, season, active learners


def _check_urn(urn: Urn) -> None:
    need_members(urn, levels=np.ndarray, counts=np.ndarray, rounding=float)
    shape, what = urn.levels.shape, "an urn whose places do not fit"
    need(len(shape) == 1, what)
    for values in (urn.levels, urn.ties):
        need_numbers(values, shape, what)
    need(urn.counts.dtype.kind == "i" and urn.counts.shape == (shape[0] + 1,), what)
    need(bool((urn.counts >= 1).all()) and bool((np.diff(urn.levels) >= 0).all()), what)
    need(0 <= urn.rounding < np.inf, f"a rounding of {urn.rounding}")


def _check_martingale(martingale: Martingale) -> None:
    need_members(martingale, n=int, log_peak=float, starts=np.ndarray)
    fresh, what = Martingale.new(), "a martingale of other bets"
    for values in (martingale.in_play, martingale.rises):
        need_numbers(values, fresh.rises.shape, what)
    need(martingale.starts.dtype.kind == "i" and martingale.starts.shape == fresh.starts.shape, what)
    need(_is_count(martingale.n) and martingale.log_peak >= 0, "a martingale that cannot be")


def _check_stream(stream: Stream) -> None:
    need_members(stream, seed=int, block=int, seasons=list, urns=list, waiting=list, martingale=Martingale)
    need(0 <= stream.seed <= 2**64 and 1 <= stream.block < _MOST_ROWS, "stream of no blocks")
    need(_are(stream.seasons, str) and _are(stream.urns, Urn), "seasons that are none")
    need(len(stream.seasons) == len(stream.urns) == len(stream.waiting), "seasons without urns")
    for part in stream.waiting:
        need(_are(part, float) and len(part) <= stream.block, "a block that is none")
        need(not part or _is_count(part[0]), "a block that begins nowhere")


def _check_timeline(timeline: Timeline) -> None:
    need_members(timeline, numbers=np.ndarray, begins=list, ends=list)
    need_numbers(timeline.numbers, (len(timeline), Timeline.new().numbers.shape[1]), "records that are none")
    for times in (timeline.begins, timeline.ends):
        need(_are(times, str) and len(times) == len(timeline), "times of other records")


def _check_suspects(suspects: Suspects) -> None:
    need_members(suspects, rows=np.ndarray, shares=np.ndarray, activity=np.ndarray)
    n, what = suspects.rows.shape, "alarmed rows that do not fit"
    need(len(n) == 1 and suspects.rows.dtype.kind == "i", what)
    need(suspects.shares.ndim == 2 and suspects.activity.ndim == 2, what)
    need_numbers(suspects.shares, (*n, suspects.shares.shape[1]), what)
    need(suspects.activity.dtype == np.uint8 and suspects.activity.shape[:1] == n, what)
    need_members(suspects, strange=np.ndarray | None)
    strange = suspects.strange
    need(strange is None or (strange.dtype == bool and strange.shape == suspects.shares.shape), what)


def _check_alarm(alarm: MonitorAlarm) -> None:
    need_one_of(alarm.source, ("rows", "labels"), "source of an alarm")
    need_one_of(alarm.metric, ("rmse", "log_loss", "loss"), "metric of an alarm")
    need_members(alarm, row=int, since_row=int, time=str, since_time=str, p_value=float)
    need_members(alarm, calibration_loss=float, expected_loss_interval=tuple | None)
    need_members(alarm, **dict.fromkeys(("share_of_alarms", "expected_loss", "mean_loss"), float | None))
    for names, *shares in (
        (alarm.columns, alarm.shares),
        (alarm.regions, alarm.region_shares, alarm.region_reference_shares),
    ):
        need(_are(names, str) and all(_are(each, float) for each in shares), "an alarm without words")
        need(all(len(each) == len(names) for each in shares), "an alarm of other columns")
    ends = alarm.expected_loss_interval
    need(ends is None or (len(ends) == 2 and _are(list(ends), float)), "an interval that is none")


def _check_state(state: MonitorState) -> None:
    need_members(state, waiting=dict, start_times=dict)
    times = state.start_times
    need(_are([*times, *times.values()], str) and all(map(str.isdecimal, times)), "times that are none")
    kinds = {"of_rows": Stream, "of_labels": Stream, "timeline": Timeline}
    need_members(state, **kinds, alarmed=Suspects, wrong=Suspects, is_seasonal=bool, alarms=list, marks=list)
    need_members(state, n_labelled=int, n_calibration=int, n_above=int)
    need_members(state, calibration_loss=float, high_loss=float)
    need(_are(state.alarms, MonitorAlarm), "alarms that are none")
    need(_are(state.marks, str), "marks of rows that are none")
    need(0 <= state.n_above <= state.n_calibration < _MOST_ROWS, "a calibration that cannot be")
    need(_is_count(state.n_labelled) and _is_count(state.n_rows), "rows that cannot be")


def _check_monitor(monitor: DriftMonitor) -> None:
    """Ask whether the state is one of this model."""
    need_members(monitor, state_=MonitorState)
    state, ensemble = monitor.state_, monitor.detector.gauge_.monitored.fitted.ensemble
    n_bytes, size = -(-len(ensemble) // 8), _WAITING + ensemble.n_outputs
    for suspects in (state.alarmed, state.wrong):
        need(not len(suspects.rows) or suspects.activity.shape[1] == n_bytes, "rows of another model")
    for name, row in state.waiting.items():
        need(type(name) is str and type(row) is list and len(row) == size, "a waiting row that is none")
        need(
            type(row[0]) is int and _is_count(row[0]) and type(row[1]) is str and _are(row[_WAITING:], float),
            "no outputs",
        )
        need(type(row[2]) is str and len(row[2]) == 2 * n_bytes, "learners that are none")
        need(_HEX.fullmatch(row[2]) is not None, "learners that are none")


def gathered(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a monitor whose state was not yet an object of its own, as they are now."""
    names = {field.name: f"_{field.name}" for field in fields(MonitorState)}
    names |= {"n_labelled": "n_labelled_", "alarms": "alarms_"}
    del names["marks"]  # which there were not
    if "_of_rows" not in members or not members.keys() >= set(names.values()):
        return members
    state = MonitorState(**{now: members[before] for now, before in names.items()}, marks=[])
    _check_state(state)
    rest = {name: value for name, value in members.items() if name not in {*names.values(), "n_rows_"}}
    return rest | {"state_": state}


def _is_count(value: float) -> bool:
    return 0 <= value < _MOST_ROWS


def _are(values: Any, kind: type) -> bool:
    return type(values) is list and all(type(each) is kind for each in values)


MONITOR_CHECKS: tuple[tuple[type, str, Callable[[Any], None]], ...] = (
    (Urn, "", _check_urn),
    (Martingale, "", _check_martingale),
    (Stream, "", _check_stream),
    (Timeline, "", _check_timeline),
    (Suspects, "", _check_suspects),
    (MonitorAlarm, "", _check_alarm),
    (MonitorState, "", _check_state),
    (DriftMonitor, "state_", _check_monitor),
)
