"""Pictures of the drifters: indicator against loss, and ROC curves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.experiments.drift_points import DRIFTERS, KEPT
from benchmarks.paper import DRIFT_AUC
from benchmarks.problems import CLASSIFICATION_SETS, REGRESSION_SETS
from benchmarks.records import OK, Row

Points = dict[tuple[str, str], dict[str, Any]]

TITLES = {"gbmap": "gbmap", "euclid": "Euclid"}
FIRST = "cpu-small"
SPLIT_COLOURS = {"a2": "#0072B2", "b": "#E69F00"}
LEAST_LOSS = 1e-5
MARKERS = {"a2": "o", "b": "x"}

INTRODUCTION = f"""\
The first repeat of drift without labels, row by row, as the paper draws it: blue circles are rows of a2,
orange crosses rows of b ({KEPT} of each at random); the horizontal line is the loss above which a row is out
of distribution, the vertical one the indicator whose alarm has the best F1 score. Beside it the ROC curve of
all rows, with the AUC of this repeat and the paper's in brackets. The loss of classes is the logistic one;
rows with a loss below 1e-5 of the threshold lie below the pictures."""

PICTURES = {
    "drift_example": (f"Figure 2: {FIRST}", (FIRST,), DRIFTERS),
    "drift_regression_gbmap": ("Figure 4: regression, gbmap", REGRESSION_SETS, ("gbmap",)),
    "drift_regression_euclid": ("Figure 5: regression, Euclid", REGRESSION_SETS, ("euclid",)),
    "drift_classes_gbmap": ("Figure 6: classes, gbmap", CLASSIFICATION_SETS, ("gbmap",)),
    "drift_classes_euclid": ("Figure 7: classes, Euclid", CLASSIFICATION_SETS, ("euclid",)),
}


def section(rows: Sequence[Row]) -> str:
    """The pictures."""
    points = _points(rows)
    shown = [
        f"![{text}](figures/{name}.png)"
        for name, (text, sets, drifters) in PICTURES.items()
        if _panels(points, sets, drifters)
    ]
    return "\n\n".join(["## Drift row by row (Figures 2 and 4 to 7)", INTRODUCTION, *shown])


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """A picture for each of the paper's."""
    points = _points(rows)
    drawn = {}
    for name, (_, sets, drifters) in PICTURES.items():
        panels = _panels(points, sets, drifters)
        if panels:
            drawn[name] = _grid(points, panels)
    return drawn


def _points(rows: Iterable[Row]) -> Points:
    return {(row["problem"], row["method"]): json.loads(row["extra"]) for row in rows if row["status"] == OK}


def _panels(points: Points, sets: Sequence[str], drifters: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, drifter) for name in sets for drifter in drifters if (name, drifter) in points]


def _grid(points: Points, panels: Sequence[tuple[str, str]]) -> Any:
    """Two problems in a row, each as points and as a curve."""
    import matplotlib.pyplot as plt

    lines = (len(panels) + 1) // 2
    figure, axes = plt.subplots(lines, 4, figsize=(10, 2.3 * lines), layout="constrained", squeeze=False)
    cells = axes.reshape(-1, 2)
    for (scatter, curve), panel in zip(cells, panels):
        _scatter(scatter, panel, points[panel])
        _roc(curve, panel, points[panel])
    for pair in cells[len(panels) :]:
        for ax in pair:
            ax.set_axis_off()
    return figure


def _scatter(ax: Any, panel: tuple[str, str], found: dict[str, Any]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for lot, colour in SPLIT_COLOURS.items():
        indicator, loss = found[lot]
        ax.scatter(indicator, loss, s=9, marker=MARKERS[lot], color=colour, alpha=0.6, linewidth=0.8)
    ax.axhline(found["loss_threshold"], color="0.3", linewidth=0.8)
    ax.axvline(found["best_f1"], color="0.3", linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel="indicator", ylabel="loss")
    # Rows that the model is sure of have losses of 1e-30: nothing to see.
    ax.set_ylim(bottom=max(ax.get_ylim()[0], LEAST_LOSS * found["loss_threshold"]))
    low, high = ax.get_xlim()
    if high < 100 * low:
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_title(f"{panel[0]}, {TITLES[panel[1]]}", fontsize=9)


def _roc(ax: Any, panel: tuple[str, str], found: dict[str, Any]) -> None:
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    ax.plot(*found["roc"], color="#0072B2")
    paper = getattr(DRIFT_AUC[panel[0]], panel[1])
    ax.set(xlabel="false alarms", ylabel="alarms", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.set_title(f"AUC {found['auc']:.2f} (paper {paper:.2f})", fontsize=9)
