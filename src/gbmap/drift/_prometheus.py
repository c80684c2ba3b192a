"""What a monitor knows, in the text format that Prometheus reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gbmap.drift.monitor import DriftMonitor

_PREFIX = "gbmap_monitor"


def exposition(monitor: DriftMonitor, labels: dict[str, str]) -> str:
    """Return one metric a paragraph; what is not known is left out."""
    timeline, of_rows, of_labels = monitor._timeline, monitor._of_rows, monitor._of_labels
    last = timeline.numbers[-1, 0] if len(timeline) else 0
    found: list[tuple[str, str, str, dict[str, Any]]] = [
        ("rows_total", "counter", "Rows so far.", {"": monitor.n_rows_}),
        ("labelled_rows_total", "counter", "Rows whose labels have come.", {"": monitor.n_labelled_}),
        ("waiting_rows", "gauge", "Rows that wait for their labels.", {"": monitor.n_waiting_}),
        ("drift", "gauge", "1 once the alarm has been raised.", {"": int(bool(monitor.alarms_))}),
        ("level", "gauge", "The chance of a false alarm over the whole life.", {"": monitor.level}),
        (
            "p_value",
            "gauge",
            "The chance of as much evidence without a change, at any time so far.",
            {source: monitor._p_value(source) for source in ("rows", "labels")},
        ),
        (
            "log_capital",
            "gauge",
            "The logarithm of the capital that bets against no change.",
            {"rows": of_rows.martingale.log_capital, "labels": of_labels.martingale.log_capital},
        ),
        (
            "alarm_share",
            "gauge",
            "The share of alarmed rows.",
            {"": timeline.mean("n_alarms", "n_rows", last)},
        ),
        ("expected_loss", "gauge", "The expected loss.", {"": timeline.mean("expected", "n_rows", last)}),
        (
            "mean_loss",
            "gauge",
            "The mean of known losses.",
            {"": timeline.mean("realised", "n_labelled", last)},
        ),
        ("calibration_loss", "gauge", "That of calibration rows.", {"": monitor._calibration_loss}),
    ]
    text = []
    for name, kind, words, values in found:
        about = f"{words} Of the last batch." if name in _OF_BATCH else words
        lines = [_line(f"{_PREFIX}_{name}", source, value, labels) for source, value in values.items()]
        known = [line for line in lines if line]
        if known:
            text += [f"# HELP {_PREFIX}_{name} {about}", f"# TYPE {_PREFIX}_{name} {kind}", *known]
    return "\n".join([*text, ""])


_OF_BATCH = ("alarm_share", "expected_loss", "mean_loss")


def _line(name: str, source: str, value: float | None, labels: dict[str, str]) -> str:
    if value is None or math.isnan(value):
        return ""
    all_labels = labels | ({"source": source} if source else {})
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in all_labels.items())
    return f"{name}{{{inside}}} {value!r}" if inside else f"{name} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
