"""What a monitor knows, in the text format that Prometheus reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gbmap.drift._state import SOURCES

if TYPE_CHECKING:
    from gbmap.drift.monitor import DriftMonitor

_PREFIX = "gbmap_monitor"


def exposition(monitor: DriftMonitor, labels: dict[str, str]) -> str:
    """Return one metric a paragraph; what is not known is left out."""
    text = []
    for name, kind, words, values in _found(monitor):
        full = f"{_PREFIX}_{name}"
        lines = [_line(full, source, value, labels) for source, value in values.items()]
        known = [line for line in lines if line]
        if known:
            text += [f"# HELP {full} {words}", f"# TYPE {full} {kind}", *known]
    return "\n".join([*text, ""])


def _found(monitor: DriftMonitor) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Return name, kind, words and values of each metric, the values by their source."""
    state, timeline = monitor.state_, monitor.state_.timeline
    p_values = monitor.p_values_
    capitals = {source: state.evidence(source).martingale.log_capital for source in SOURCES}
    last = timeline.numbers[-1, 0] if len(timeline) else 0
    alarms, expected, known = (
        {"": timeline.mean(name, of, last)}
        for name, of in (("n_alarms", "n_rows"), ("expected", "n_rows"), ("realised", "n_labelled"))
    )
    return [
        ("rows_total", "counter", "Rows so far.", {"": monitor.n_rows_}),
        ("labelled_rows_total", "counter", "Rows whose labels have come.", {"": monitor.n_labelled_}),
        ("waiting_rows", "gauge", "Rows that wait for their labels.", {"": monitor.n_waiting_}),
        ("drift", "gauge", "1 once the alarm has been raised.", {"": int(bool(monitor.alarms_))}),
        ("level", "gauge", "The chance of a false alarm over the whole life.", {"": monitor.level}),
        (
            "p_value",
            "gauge",
            "The chance of as much evidence without a change, at any time.",
            p_values,
        ),
        ("log_capital", "gauge", "The logarithm of what bets against no change have won.", capitals),
        ("alarm_share", "gauge", "The share of alarmed rows of the last batch.", alarms),
        ("expected_loss", "gauge", "The expected loss of the last batch.", expected),
        ("mean_loss", "gauge", "The mean of the known losses of the last batch.", known),
        ("calibration_loss", "gauge", "That of calibration rows.", {"": state.calibration_loss}),
    ]


def _line(name: str, source: str, value: float | None, labels: dict[str, str]) -> str:
    if value is None or math.isnan(value):
        return ""
    all_labels = labels | ({"source": source} if source else {})
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in all_labels.items())
    return f"{name}{{{inside}}} {value!r}" if inside else f"{name} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
