"""What a better score costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from benchmarks import methods
from benchmarks.experiments.costs import PROBLEMS, label
from benchmarks.markdown import NOTHING, number, table
from benchmarks.problems import task_of
from benchmarks.records import Row, median_of
from benchmarks.scores import Scores

TITLES = {
    "gbmap": "gbmap",
    "gbmap-refined": "gbmap, refined",
    "xgboost": "XGBoost",
    "mlp": "MLP, one hidden layer",
    "ivis": "ivis, then linear",
}
MARKERS = dict(zip(TITLES, "oPsD^"))
SIZES = {method.name: method.sizes for method in methods.COSTS}

INTRODUCTION = """\
R2, or accuracy for classes, on held-out rows (random 70/30 splits) against the seconds of training and the
number of parameters, every method with settings as they come: gbmap with 1 to 128 learners, with 2 to 32 and
`refine=True`, XGBoost with 3 to 1000 trees of depth 4, a perceptron with one hidden layer of 4 to 256 units
(scikit-learn, Adam, stopped early), a linear model of 2 to 32 coordinates of ivis. Parameters: p + 3 numbers
a learner, two a split and one a leaf of a tree, all weights of a network. Nothing is tuned. The table has the
best score of each method, its mean and standard deviation over the splits (a number of splits below five
stands in brackets), and the least seconds and parameters with which the mean comes within 0.01 of the best of
all methods. The picture leaves out scores far below the best one of every method."""

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
            INTRODUCTION,
            table([*HEADER, *WITHIN], lines),
            _leaders(rows, scores, problems),
            "![Score against training time and model size](figures/costs.png)",
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
    for axis, (limit, words) in AXES.items():
        leaders = []
        for name in problems:
            scored = [
                (point.score, method)
                for method, curve in _curves(rows, scores, name).items()
                for point in curve
                if getattr(point, axis) <= limit
            ]
            if scored:
                score, method = max(scored)
                leaders.append(f"{name} {TITLES[method]} ({score:.3f})")
        sentences.append(f"Best within {words}: {'; '.join(leaders) or 'none'}.")
    return "\n\n".join(sentences)


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Score against seconds, and against parameters."""
    import matplotlib.pyplot as plt

    scores = Scores.of(rows)
    problems = [name for name in PROBLEMS if any(problem == name for problem, _ in scores.found)]
    figure, axes = plt.subplots(
        2,
        len(problems),
        figsize=(max(7.0, 2.6 * len(problems)), 5),
        layout="constrained",
        squeeze=False,
        sharey="col",
    )
    for column, name in enumerate(problems):
        curves = _curves(rows, scores, name)
        for method, curve in curves.items():
            for line, axis in enumerate(AXES):
                points = [getattr(point, axis) for point in curve], [point.score for point in curve]
                axes[line][column].plot(*points, marker=MARKERS[method], markersize=4, label=TITLES[method])
        axes[0][column].set_title(name, fontsize=9)
        axes[0][column].set(xscale="log", xlabel="seconds")
        axes[1][column].set(xscale="log", xlabel="parameters", ylim=_limits(curves))
        axes[0][column].set_ylabel("R2" if task_of(name) == "regression" else "accuracy")
    handles, texts = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=len(TITLES), frameon=False)
    return {"costs": figure}


def _limits(curves: Mapping[str, Sequence[Point]]) -> tuple[float, float]:
    """Scores that show the best point of every method, and as much again below them."""
    best = [max(point.score for point in curve) for curve in curves.values() if curve]
    low, top = min(best), max(best)
    height = max(top - low, CLOSE)
    return low - height, top + height / 10
