"""What a better score costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from benchmarks import methods
from benchmarks.experiments.costs import PROBLEMS, label
from benchmarks.markdown import NOTHING, number, table
from benchmarks.pictures import LOOKS, Glance, titled
from benchmarks.problems import task_of
from benchmarks.records import Row, dates_of, median_of
from benchmarks.scores import Scores

TITLES = {
    "gbmap": "gbmap",
    "gbmap-refined": "gbmap, refined",
    "xgboost": "XGBoost",
    "mlp": "MLP, one hidden layer",
    "ivis": "ivis, then linear",
}
PICTURED = {
    "gbmap": LOOKS["gbmap"],
    "gbmap-refined": ("#D55E00", "P"),
    "xgboost": LOOKS["xgboost"],
    "mlp": ("#009E73", "D"),
    "ivis": LOOKS["ivis"],
}
# The experiment that has the fits of today's defaults, and what they are called there.
BESIDE, AS_IT_COMES = "defaults", "gbmap"
SIZES = {method.name: method.sizes for method in methods.COSTS}

INTRODUCTION = """\
R2, or accuracy for classes, on held-out rows (random 70/30 splits) against the seconds of training and the
number of parameters, every method with settings as they come: gbmap with 1 to 128 learners of straight
columns (`knots=0`), with 2 to 32 and `refine=True`, XGBoost with 3 to 1000 trees of depth 4, a perceptron
with one hidden layer of 4 to 256 units (scikit-learn, Adam, stopped early), a linear model of 2 to 32
coordinates of ivis. Parameters: p + 3 numbers a learner, two a split and one a leaf of a tree, all weights of
a network. Nothing is tuned. The table has the best score of each method, its mean and standard deviation over
the splits (a number of splits below five stands in brackets), and the least seconds and parameters with which
the mean comes within 0.01 of the best of all methods. Pictures leave out scores far below the best one of
every method. The star is gbmap as it comes, which bends columns and is refined, on one thread, from the rows
of [another page](defaults.md), if they are of the same machine."""

HEADER = ["data set", "method", "best score", "at size", "seconds", "parameters"]
WITHIN = ["seconds within 0.01", "parameters within 0.01"]
CLOSE = 0.01
# What the axes of the picture show, and the limits below which the best method is named.
AXES = {"seconds": (1, "one second"), "parameters": (1000, "1000 parameters")}


class Point(NamedTuple):
    """One size of a method: median seconds, mean parameters and mean score."""

    size: int
    seconds: float
    parameters: float
    score: float


def section(rows: Sequence[Row]) -> str:
    """One line per problem and method."""
    scores = Scores.of(rows)
    problems = [name for name in PROBLEMS if any(problem == name for problem, _ in scores.found)]
    lines = [line for name in problems for line in _lines(rows, scores, name)]
    return "\n\n".join(
        [
            "## What a better score costs",
            f"![{headline(rows)}](figures/costs.png)",
            f"Rows of {dates_of(rows)}.",
            INTRODUCTION,
            table([*HEADER, *WITHIN], lines),
            _leaders(rows, scores, problems),
            "![Score against the number of parameters](figures/sizes.png)",
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """Which method is best among small models."""
    scores = Scores.of(rows)
    return _leaders(rows, scores, PROBLEMS).split("\n\n")[-1]


def _curves(rows: Sequence[Row], scores: Scores, name: str) -> dict[str, list[Point]]:
    """Of every method, the sizes that were measured."""
    curves: dict[str, list[Point]] = {method: [] for method in TITLES}
    for method, curve in curves.items():
        for size in SIZES[method]:
            score = scores.mean(name, label(method, size))
            seconds = median_of(rows, "seconds", problem=name, method=label(method, size))
            if score is not None and seconds is not None:
                parameters = mean(scores.values(name, label(method, size), "parameters"))
                curve.append(Point(size, seconds, parameters, score))
    return curves


def _lines(rows: Sequence[Row], scores: Scores, name: str) -> list[list[str]]:
    curves = _curves(rows, scores, name)
    top = max(point.score for curve in curves.values() for point in curve)
    lines = []
    for method, curve in curves.items():
        if not curve:
            trouble = scores.trouble.get((name, label(method, SIZES[method][0])), NOTHING)
            lines.append([name, TITLES[method], trouble, *[NOTHING] * 5])
            continue
        best = max(curve, key=lambda point: point.score)
        close = [point for point in curve if point.score >= top - CLOSE]
        within = [number(min(getattr(point, axis) for point in close)) if close else NOTHING for axis in AXES]
        text = scores.text(name, label(method, best.size))
        cells = [text, str(best.size), number(best.seconds), number(best.parameters)]
        lines.append([name, TITLES[method], *cells, *within])
    return lines


def _leaders(rows: Sequence[Row], scores: Scores, problems: Sequence[str]) -> str:
    """Which method is best among those that are trained in little time, and among small models."""
    sentences = []
    for axis, (_, words) in AXES.items():
        best = _best_within(rows, scores, problems, axis)
        leaders = [f"{name} {TITLES[method]} ({score:.3f})" for name, (score, method) in best.items()]
        sentences.append(f"Best within {words}: {'; '.join(leaders) or 'none'}.")
    return "\n\n".join(sentences)


def _best_within(
    rows: Sequence[Row], scores: Scores, problems: Sequence[str], axis: str
) -> dict[str, tuple[float, str]]:
    """The best score within the limit of an axis, and its method, where one has any."""
    best = {}
    for name in problems:
        scored = [
            (point.score, method)
            for method, curve in _curves(rows, scores, name).items()
            for point in curve
            if getattr(point, axis) <= AXES[axis][0]
        ]
        if scored:
            best[name] = max(scored)
    return best


def headline(rows: Sequence[Row]) -> str:
    """Who is best of those that take a second, and who of small models."""
    scores = Scores.of(rows)
    told = []
    for axis, (_, words) in AXES.items():
        best = [method for _, method in _best_within(rows, scores, PROBLEMS, axis).values()]
        ours = sum(method.startswith("gbmap") for method in best)
        trees = best.count("xgboost")
        told.append(f"within {words} XGBoost is best on {trees} of {len(best)} tables and gbmap on {ours}")
    return f"{'; '.join(told)}".capitalize().replace("xgboost", "XGBoost")


def glance(rows: Sequence[Row]) -> Glance:
    """What the first page says: what seconds buy."""
    return Glance(
        "Accuracy against seconds",
        headline(rows),
        "costs",
        "Score on held-out rows against the seconds of training, every method at several sizes; the lines "
        "of gbmap are of straight columns, the star is a fit as it comes. *Weak spot*: where trees suit "
        "the table, they reach a score in far less time than gbmap.",
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Score against seconds, and against parameters."""
    drawn = {name: _drawn(rows, axis) for name, axis in (("costs", "seconds"), ("sizes", "parameters"))}
    titled(drawn["costs"], headline(rows))
    return drawn


def _drawn(rows: Sequence[Row], axis: str) -> Any:
    import matplotlib.pyplot as plt

    scores = Scores.of(rows)
    problems = [name for name in PROBLEMS if any(problem == name for problem, _ in scores.found)]
    wide = min(len(problems), 2)
    high = -(-len(problems) // wide)
    figure, axes = plt.subplots(
        high, wide, figsize=(5.2 * wide, 3.1 * high + 0.8), layout="constrained", squeeze=False
    )
    for ax, name in zip(axes.flat, problems):
        if axis == "seconds":
            _draw_default(ax, rows, scores, name)
        curves = _curves(rows, scores, name)
        for method, curve in curves.items():
            color, marker = PICTURED[method]
            points = [getattr(point, axis) for point in curve], [point.score for point in curve]
            ax.plot(*points, color=color, marker=marker, markersize=6, linewidth=1.8, label=TITLES[method])
        ax.set(
            xscale="log", xlabel=f"{axis} of training" if axis == "seconds" else axis, ylim=_limits(curves)
        )
        ax.set_title(name, loc="left")
        ax.set_ylabel("R2" if task_of(name) == "regression" else "accuracy")
        ax.grid(color="0.93")
        ax.spines[["top", "right"]].set_visible(False)
    handles, texts = axes[0][0].get_legend_handles_labels()
    for ax in axes.flat[len(problems) :]:
        ax.set_axis_off()
    if len(problems) < high * wide:
        axes[-1][-1].legend(handles, texts, loc="center", frameon=False, fontsize=11)
    else:
        figure.legend(handles, texts, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_default(ax: Any, rows: Sequence[Row], scores: Scores, name: str) -> None:
    """A fit by today's defaults; an entry of the legend even where there is none."""
    seconds, score = (
        median_of(rows, "seconds", problem=name, method=AS_IT_COMES),
        scores.mean(name, AS_IT_COMES),
    )
    where = ([], []) if seconds is None or score is None else ([seconds], [score])
    ax.scatter(*where, color=LOOKS["gbmap"][0], marker="*", s=220, zorder=3, label="gbmap, as it comes")


def _limits(curves: Mapping[str, Sequence[Point]]) -> tuple[float, float]:
    """Scores that show the best point of every method, and as much again below them."""
    best = [max(point.score for point in curve) for curve in curves.values() if curve]
    low, top = min(best), max(best)
    height = max(top - low, CLOSE)
    return low - height, top + height / 10
