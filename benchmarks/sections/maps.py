"""Maps of two coordinates, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.experiments.maps import PROBLEMS
from benchmarks.markdown import number, table
from benchmarks.pictures import PALETTE, Glance, titled
from benchmarks.problems import task_of
from benchmarks.records import Row, median_of
from benchmarks.scores import Scores

TITLES = {"pca": "PCA", "umap": "UMAP, supervised", "ivis": "ivis, supervised", "gbmap": "gbmap"}
OURS = "gbmap"

INTRODUCTION = """\
Two coordinates of held-out rows, half of every table, coloured by what was asked for: numbers from low (dark)
to high (light), classes in two colours. PCA never sees it; UMAP, ivis and gbmap learn from it on the other
half. Below each map, R2 or accuracy on the held-out rows of a linear model of its two coordinates, mean over
random splits (the picture is of the first). All are as they come but ivis, which ends after 5 epochs without
progress, as in the paper. gbmap has two learners and no more, as the others have two coordinates; more
coordinates are on [a page of their own](coordinates.md). Seconds are those of a fit on one thread where a
method can be told so, the median, with other work on the machine."""


def section(rows: Sequence[Row]) -> str:
    """The scores of all methods, and the seconds of their fits."""
    scores = Scores.of(rows)
    known = _known(scores)
    figure = {name: "R2" if task_of(name) == "regression" else "accuracy" for name in known}
    lines = [[name, figure[name], *(scores.text(name, method) for method in TITLES)] for name in known]
    seconds = [
        [name, *(number(median_of(rows, "seconds", problem=name, method=method)) for method in TITLES)]
        for name in known
    ]
    return "\n\n".join(
        [
            "## Maps beside PCA, UMAP and ivis",
            f"![{headline(scores)}](figures/maps.png)",
            INTRODUCTION,
            table(["data set", "figure", *TITLES.values()], lines),
            "Seconds of a fit:",
            table(["data set", *TITLES.values()], seconds),
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """On how many tables the map says more than those of the others."""
    return f"{headline(Scores.of(rows))}."


def headline(scores: Scores) -> str:
    """The same, of the picture."""
    known = _known(scores)
    wins = [
        f"{TITLES[other].partition(',')[0]}'s on {sum(verdicts)} of {len(verdicts)}"
        for other in TITLES
        if other != OURS
        and (verdicts := [above for name in known if (above := scores.above(name, OURS, other)) is not None])
    ]
    return f"Two coordinates of gbmap tell more of the target than {', '.join(wins)} tables"


def glance(rows: Sequence[Row]) -> Glance:
    """What the first page says: maps by what they tell."""
    scores = Scores.of(rows)
    behind = [
        f"{TITLES[other].partition(',')[0]} on {name}"
        for name in _known(scores)
        for other in TITLES
        if scores.above(name, OURS, other) is False and other != OURS
    ]
    return Glance(
        "Maps",
        headline(scores),
        "maps",
        "Held-out rows, the same for every method, coloured by the target; below each map the score of a "
        "linear model of its two coordinates. *Weak spots*: ahead of gbmap: "
        f"{', '.join(behind) or 'none of them here'}; and its maps are made for one question, where PCA's "
        "show the table itself.",
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """A line of maps for every table."""
    import matplotlib.pyplot as plt

    scores = Scores.of(rows)
    known = _known(scores)
    figure, axes = plt.subplots(
        len(known), len(TITLES), figsize=(10, 2.75 * len(known) + 0.6), layout="constrained", squeeze=False
    )
    for line, name in zip(axes, known):
        for ax, method in zip(line, TITLES):
            found = scores.values(name, method, "points")
            if found:
                _points(ax, found[0], is_classes=task_of(name) == "classification")
            what = "R2" if task_of(name) == "regression" else "accuracy"
            average = scores.mean(name, method)
            told = scores.text(name, method) if average is None else f"{what} {average:.2f}"
            ax.set_xlabel(told, fontsize=11, fontweight="bold" if method == OURS else "normal")
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("0.85")
        line[0].set_ylabel(name, fontsize=11)
    for ax, title in zip(axes[0], TITLES.values()):
        ax.set_title(title)
    titled(figure, headline(scores))
    return {"maps": figure}


def _points(ax: Any, found: dict[str, list[float]], *, is_classes: bool) -> None:
    """The points of a map; a hundredth of them on each side of it may lie outside."""
    x, y, target = (np.array(found[name]) for name in ("first", "second", "target"))
    if is_classes:
        for value, color in zip(np.unique(target), PALETTE):
            mine = target == value
            ax.scatter(x[mine], y[mine], s=9, color=color, alpha=0.6, linewidths=0)
    else:
        ranks = np.argsort(np.argsort(target))
        ax.scatter(x, y, s=9, c=ranks, cmap="viridis", alpha=0.8, linewidths=0)
    for values, set_limits in ((x, ax.set_xlim), (y, ax.set_ylim)):
        low, high = np.quantile(values, [0.01, 0.99])
        set_limits(low - (high - low) / 10, high + (high - low) / 10)


def _known(scores: Scores) -> list[str]:
    return [name for name in PROBLEMS if scores.mean(name, OURS) is not None]
