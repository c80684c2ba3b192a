"""Coordinates as features, beside the paper's Table 5."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.experiments.features import LINEAR, PROBLEMS, label, sizes_of
from benchmarks.markdown import NOTHING, table
from benchmarks.paper import TABLE_5, Spread
from benchmarks.pictures import PALETTE
from benchmarks.problems import task_of
from benchmarks.records import Row
from benchmarks.scores import Scores, Tally
from benchmarks.sections.features_reasons import reasons
from benchmarks.sections.features_refined import REFINED, refined_coordinates
from benchmarks.sections.wording import lines_below, reached, verdict

TITLES = {
    "gbmap": "gbmap",
    "gbmap-70": "gbmap, 70 %",
    "gbmap-starts": "gbmap, 5 starts",
    "gbmap-refined": "gbmap, refined",
    "pca": "PCA",
    "ivis": "ivis",
    "lol": "LOL",
    "umap": "UMAP, supervised",
}
IN_PAPER = ("gbmap", "pca", "ivis", "lol")
OURS, AS_RUN, STARTS = "gbmap", "gbmap-70", "gbmap-starts"
PICTURED = ("qm9-10k", "higgs-10k-h2o")

INTRODUCTION = """\
R2, or accuracy for classes, on held-out rows of a linear model of m coordinates (OLS, or logistic regression
with C = 100 on standardised coordinates), mean and standard deviation over random half/half splits; a number
of splits below five stands in brackets. The encoder and the scaler see training rows only. gbmap has lambda =
1e-3, at most 400 iterations and the logistic loss for classes; beta is the best of 10 draws from U(1, 20) at
m = 32 by a third of the training rows (of at most 3*10^4 of them). ivis: at most 1000 epochs, an end after 5
without progress, supervised by the mean absolute error. LOL needs classes, and with PCA at most p
coordinates. UMAP is supervised and otherwise as it comes: training rows have the coordinates of its fit, test
rows those of `transform`, which sees no labels; the paper does not have it. On synth-cos ivis and refined
gbmap, which take minutes a fit there, have the two sizes at which the paper has ivis, and UMAP none. A dash
stands where the paper has no figure, perhaps since its ivis crashed. Synthetic data are rotated. *Linear*
reads the columns themselves. The paper's figures stand beside ours, its own spread after them; *gbmap, 70 %*
learns from 70 % of the rows, as the code behind those figures did, although the text says half; *gbmap, 5
starts* has `n_init=5`, on synth-cos; *gbmap, refined* is told of below."""

FIGURE = """\
![Score against the number of coordinates](figures/features.png)

Score against m as in the paper's Figure 1; bars are standard deviations over the splits, the dashed line is
the median of the linear model of all columns."""


def section(rows: Sequence[Row]) -> str:
    """One line per problem and number of coordinates, and where ours is below the paper's."""
    scores = Scores.of(rows)
    problems = [name for name in PROBLEMS if scores.mean(name, LINEAR) is not None]
    header = ["data set", "m", "linear"]
    for method, title in TITLES.items():
        header += [title, "paper"] if method in IN_PAPER else [title]
    lines = [_line(scores, name, m) for name in problems for m in sizes_of(name, OURS)]
    return "\n\n".join(
        [
            "## Coordinates as features (Table 5, Figure 1)",
            INTRODUCTION,
            table([*header, "paper reached"], lines),
            verdict("cells of gbmap", scores.tally(_cells(PROBLEMS))),
            *lines_below(scores, _cells(problems)),
            _explained(scores, problems),
            *_below_otherwise(scores),
            *reasons(scores, problems),
            _beside_ivis(scores, problems),
            *refined_coordinates(scores),
            FIGURE,
        ]
    )


def summary(rows: Sequence[Row]) -> list[tuple[str, Tally]]:
    """How many cells of gbmap reach the paper's: with half of the rows, with 70 %, and refined."""
    scores = Scores.of(rows)
    return [
        (title, scores.tally(_cells(PROBLEMS, method)))
        for title, method in (
            ("Table 5, features, learning from half of the rows", OURS),
            ("Table 5, features, learning from 70 % as the paper's code did", AS_RUN),
            ("Table 5, features, from half of the rows, refined", REFINED),
        )
    ]


def finding(rows: Sequence[Row]) -> str:
    """How many of the paper's figures are reached, and how often gbmap is above ivis."""
    scores, (_, tally) = Scores.of(rows), summary(rows)[0]
    return f"{reached(tally)} {_beside_ivis(scores, PROBLEMS)}"


def _cells(problems: Sequence[str], method: str = OURS) -> dict[tuple[str, str], float]:
    """The paper's figures for gbmap, by problem and by the rows of a form of gbmap that are held to them."""
    return {
        (name, label(method, m)): line.gbmap[0]
        for name in problems
        for m, line in TABLE_5[name].items()
        if line.gbmap is not None and m in sizes_of(name, method)
    }


def _explained(scores: Scores, problems: Sequence[str]) -> str:
    """What becomes of the cells below the paper's with as many training rows as the paper's code had."""
    told: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for (name, method), figure in _cells(problems).items():
        if scores.reached(name, method, figure) is False:
            m = int(method.rpartition("m")[2])
            told[scores.reached(name, label(AS_RUN, m), figure)].append(f"{name} m = {m}")
    parts = [
        f"{len(told[True])} are reached",
        f"{len(told[False])} are not ({', '.join(told[False]) or 'none'})",
        f"{len(told[None])} are not measured",
    ]
    return f"Of these, learning from 70 % of the rows as the paper's code did, {'; '.join(parts)}."


def _below_otherwise(scores: Scores) -> list[str]:
    """The cells that the other forms of gbmap miss."""
    return [
        f"*{TITLES[method]}.* {text}"
        for method in (AS_RUN, REFINED)
        for text in lines_below(scores, _cells(PROBLEMS, method))
    ]


def _line(scores: Scores, name: str, m: int) -> list[str]:
    paper = TABLE_5[name][m]
    cells = [name, str(m), scores.text(name, LINEAR)]
    for method in TITLES:
        cells.append(scores.text(name, label(method, m)))
        if method in IN_PAPER:
            cells.append(_paper(getattr(paper, method)))
    figure = paper.gbmap
    reached = None if figure is None else scores.reached(name, label(OURS, m), figure[0])
    return [*cells, NOTHING if reached is None else "yes" if reached else "no"]


def _paper(figure: Spread) -> str:
    return NOTHING if figure is None else f"{figure[0]:.2f} ± {figure[1]:.2f}"


def _beside_ivis(scores: Scores, problems: Sequence[str]) -> str:
    """How often gbmap is above ivis, here and in the paper."""
    ours, papers = [], []
    for name in problems:
        for m, line in TABLE_5[name].items():
            above = scores.above(name, label(OURS, m), label("ivis", m))
            if above is not None and line.ivis is not None and line.gbmap is not None:
                ours.append(above)
                papers.append(line.gbmap[0] > line.ivis[0])
    return (
        f"Of the {len(ours)} cells where both have a figure here and in the paper, gbmap is above ivis in "
        f"{sum(ours)} here and in {sum(papers)} there, where both learned from more rows."
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Figure 1."""
    import matplotlib.pyplot as plt

    scores = Scores.of(rows)
    pictured = {method: title for method, title in TITLES.items() if method not in (AS_RUN, STARTS)}
    figure, axes = plt.subplots(1, len(PICTURED), figsize=(9, 3.4), layout="constrained")
    for ax, name in zip(axes, PICTURED):
        for style, (method, title) in zip(zip("oPsDv^", PALETTE, strict=True), pictured.items(), strict=True):
            _curve(ax, scores, name, method, title, *style)
        baseline = scores.values(name, LINEAR)
        if baseline:
            look = {"color": "0.4", "linestyle": "--", "linewidth": 1}
            ax.axhline(median(baseline), label="linear model of all columns", **look)
        ax.set(title=name, xlabel="coordinates m", xticks=sizes_of(name, OURS))
        ax.set_ylabel("R2" if task_of(name) == "regression" else "accuracy")
    handles = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, frameon=False)
    return {"features": figure}


def _curve(ax: Any, scores: Scores, name: str, method: str, title: str, marker: str, color: str) -> None:
    ms = [m for m in sizes_of(name, method) if scores.mean(name, label(method, m)) is not None]
    if ms:
        means = [scores.mean(name, label(method, m)) for m in ms]
        spreads = [scores.spread(name, label(method, m)) for m in ms]
        look = {"marker": marker, "color": color, "markersize": 4, "capsize": 2}
        ax.errorbar(ms, means, spreads, label=title, **look)
