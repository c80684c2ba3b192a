"""Estimates of the mean loss without labels."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from statistics import mean, median, stdev
from typing import Any

from benchmarks.experiments.drift_loss import HELD_OUT, SHIFTED
from benchmarks.markdown import NOTHING, fixed, number, table
from benchmarks.problems import CLASSIFICATION_SETS, REAL_SETS, REGRESSION_SETS
from benchmarks.records import OK, Row, matches

OURS = "gbmap"
TITLES = {OURS: "gbmap", "trees": "trees", "constant": "constant"}

INTRODUCTION = """\
The mean loss of rows, estimated without their labels, on the splits and models of [drift without
labels](drift.md). A random half of a2 calibrates; the other half, distributed like it, and b, which has
drifted, are estimated.
*gbmap* is `DriftDetector.estimate_loss`, *trees* are boosted trees fitted to the losses of the calibration
rows (the idea of NannyML's DLE; scikit-learn's, with default settings, cut at zero), *constant* is the mean
calibration loss. The figures are log10(estimate / true mean loss), mean and standard deviation over the
repeats: 0 is exact, 1 ten times too much, -1 ten times too little. *Held* counts the repeats whose interval
of 90 % around gbmap's estimate holds the true mean; *upper / lower* is the ratio of its ends, the median."""

CAVEATS = """\
The form of gbmap's estimate was chosen among a dozen by trials on splits of these very sets. Beyond the
border of the data the upper end of the interval assumes the largest error that the embedding distance allows
and the lower end none, so it is wide on b; 90 % is promised only for rows like those of the calibration. A
single row far beyond the border can dominate the estimate of the mean: one does on a2 of abalone and of
eeg-eye-state, in the worst repeat of each."""

# A factor of two.
FAR = 0.3


def section(rows: Sequence[Row]) -> str:
    """One line per set for b and for a2, and the medians."""
    done = [row for row in rows if row["status"] == OK]
    sets = [name for name in REAL_SETS if any(matches(row, problem=name) for row in done)]
    header = ["data set", "true, b", *TITLES.values(), "held", "upper / lower"]
    header += ["true, a2", *TITLES.values(), "held"]
    return "\n\n".join(
        [
            "## The loss without labels",
            INTRODUCTION,
            table(header, [_line(done, name) for name in sets]),
            "The absolute value of log10(estimate / true), mean over the repeats, median over the sets:",
            table(["rows", "sets", *TITLES.values(), "held"], _medians(done, sets)),
            _far_off(done, sets),
            CAVEATS,
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """How far the estimates are off on rows that drifted."""
    done = [row for row in rows if row["status"] == OK]
    sets = [name for name in REAL_SETS if any(matches(row, problem=name) for row in done)]
    errors = {
        title: median(_size(done, name, method, SHIFTED) for name in sets) for method, title in TITLES.items()
    }
    told = ", ".join(f"{title} by {number(10**error, 2)}" for title, error in errors.items())
    return f"On rows that drifted, estimates are off by these factors, median over the sets: {told}."


def _told(rows: Sequence[Row], name: str, method: str, lot: str) -> list[dict[str, Any]]:
    """The estimate and the truth in every repeat."""
    chosen = [row for row in rows if matches(row, problem=name, method=method)]
    return [json.loads(row["extra"])[lot] for row in chosen]


def _errors(rows: Sequence[Row], name: str, method: str, lot: str) -> list[float]:
    """log10(estimate / truth) in every repeat."""
    return [math.log10(one["mean"] / one["true"]) for one in _told(rows, name, method, lot)]


def _size(rows: Sequence[Row], name: str, method: str, lot: str) -> float:
    """The mean size of the error."""
    return mean(map(abs, _errors(rows, name, method, lot)))


def _far_off(rows: Sequence[Row], sets: Sequence[str]) -> str:
    """Where gbmap's estimates are off by more than a factor of two."""
    told = []
    for lot in (SHIFTED, HELD_OUT):
        sizes = {name: _size(rows, name, OURS, lot) for name in sets}
        far = ", ".join(f"{name} ({size:.2f})" for name, size in sizes.items() if size > FAR)
        told.append(f"on {lot}: {far or 'none'}")
    return (
        f"Sets where gbmap's estimate is off by more than a factor of two by this measure, {'; '.join(told)}."
    )


def _holds(rows: Sequence[Row], name: str, lot: str) -> list[bool]:
    return [one["lower"] <= one["true"] <= one["upper"] for one in _told(rows, name, OURS, lot)]


def _line(rows: Sequence[Row], name: str) -> list[str]:
    cells = [name]
    for lot in (SHIFTED, HELD_OUT):
        told, holds = _told(rows, name, OURS, lot), _holds(rows, name, lot)
        cells += [number(mean(one["true"] for one in told))]
        cells += [_with_spread(_errors(rows, name, method, lot)) for method in TITLES]
        cells += [f"{sum(holds)} of {len(holds)}"]
        cells += [_width(told)] if lot == SHIFTED else []
    return cells


def _with_spread(values: Sequence[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else fixed(values[0], 2)


def _width(told: Sequence[dict[str, Any]]) -> str:
    """How wide the interval is: the median ratio of its ends."""
    widths = [one["upper"] / one["lower"] for one in told if one["lower"] > 0]
    return number(median(widths), 2) if widths else NOTHING


def _medians(rows: Sequence[Row], sets: Sequence[str]) -> list[list[str]]:
    groups = {"all": REAL_SETS, "regression": REGRESSION_SETS, "classes": CLASSIFICATION_SETS}
    lines = []
    for lot in (SHIFTED, HELD_OUT):
        for title, group in groups.items():
            chosen = [name for name in sets if name in group]
            if not chosen:
                continue
            errors = [median(_size(rows, name, method, lot) for name in chosen) for method in TITLES]
            holds = [held for name in chosen for held in _holds(rows, name, lot)]
            share = f"{sum(holds)} of {len(holds)}"
            lines.append([lot, title, *(fixed(error, 2) for error in errors), share])
    return lines
