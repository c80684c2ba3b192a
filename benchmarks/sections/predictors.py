"""GBMAP, linear models and XGBoost, beside the first block of the paper's Table 4."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.experiments.predictors import FEW_ROWS
from benchmarks.markdown import NOTHING, fixed, table
from benchmarks.paper import TABLE_4_PREDICTORS
from benchmarks.problems import REAL_SETS, SYNTH_COS, SYNTH_COS_UNROTATED
from benchmarks.records import Row
from benchmarks.scores import Case, Scores, Tally
from benchmarks.sections.predictors_peers import (
    OTHER_ROWS,
    as_in_paper,
    budget,
    fewer_draws,
    peers,
    whose_split,
)
from benchmarks.sections.predictors_reasons import reasons
from benchmarks.sections.predictors_refined import CHOSEN, REFINED, chosen_and_refined, refined_cells
from benchmarks.sections.wording import lines_below, reached, verdict
from benchmarks.splits import at_paper_split

TITLES = {"gbmap": "gbmap", "linear": "linear", "xgboost": "XGBoost"}
OURS, LOOSE, TREES = "gbmap", "gbmap-loose", "xgboost"
SPLIT_SETS = (*REAL_SETS, *SYNTH_COS, *SYNTH_COS_UNROTATED)

INTRODUCTION = f"""\
R2, or accuracy for classes, on held-out rows, mean and standard deviation over random 70/30 splits, beside
the paper's one split; a number of splits below five stands in brackets. Settings are drawn within the
paper's Table 2 (gbmap: beta, lambda, the limit of iterations; XGBoost: depth, subsample, while its
learning rate stays at its default; logistic regression: its penalty) and chosen by five folds of the training
rows, of which so many judge as *folds* says: fewer where there are more than {FEW_ROWS} rows. gbmap's m from
2 to 150 and XGBoost's number of trees from 100 to 2000 need not be drawn: one fit holds the smaller ones, and
all are judged. *Draws* is the number of other settings tried, by gbmap, and by XGBoost where it is named; the
paper tried 100 settings in all, 10 for synth-cos. synth-cos is drawn anew for each repeat, and tuned once, on
6*10^4 further rows that belong to no split; where it is not rotated every cosine is of one column, for which
the paper has no figures. *m* and *beta* are medians of what was chosen. Another dash was not measured.

*gbmap, loose* is the same with `tol=1e-3`: a learner ends far from its minimum. gbmap converges; the learners
behind the paper's figures ended when the gradient was below 1e-3, often after ten iterations. *gbmap, chosen*
is `GBMAPRegressorCV` or `GBMAPClassifierCV` with default settings, *gbmap, refined* the same with
`refine=True`; they need no draws. All are of the paper's form, without knots (`knots=0`)."""

PAPER_SPLIT = """\
The paper's figures come from one split, whose seed is known (49). Here is the split of our rows with that
seed; mean and standard deviation over repeats that differ in the settings drawn and in the random starts. A
figure is reached within two standard deviations of the random splits above."""

OURS_HEADER = ["gbmap, refined", "gbmap, chosen", "gbmap", "gbmap, loose", "paper"]
FIGURES_HEADER = [*OURS_HEADER, "linear", "paper", "XGBoost", "paper", "reached", "loose"]
SPLIT_HEADER = ["data set", *FIGURES_HEADER]
HEADER = ["data set", "draws", "folds", "m", "beta"]


def section(rows: Sequence[Row]) -> str:
    """One line per problem, who is best, and where ours is below the paper's."""
    scores = Scores.of(rows)
    problems = [name for name in SPLIT_SETS if any((name, method) in scores.found for method in TITLES)]
    header = [*HEADER, *FIGURES_HEADER]
    cells = {(name, OURS): line.gbmap for name, line in TABLE_4_PREDICTORS.items() if name in problems}
    return "\n\n".join(
        [
            "## Regression and classification (Table 4)",
            INTRODUCTION,
            table(header, [_line(scores, name) for name in problems]),
            fewer_draws(scores, problems),
            verdict("cells of gbmap", scores.tally(cells)),
            *lines_below(scores, cells, OTHER_ROWS),
            _loose(scores, problems),
            _beside_trees(scores, problems),
            *peers(scores, problems),
            *reasons(scores, problems),
            *_paper_split(scores),
            *chosen_and_refined(scores),
        ]
    )


def summary(rows: Sequence[Row]) -> list[tuple[str, Tally]]:
    """How many cells of gbmap reach the paper's, over splits and on the paper's own."""
    scores = Scores.of(rows)
    random = {(name, OURS): line.gbmap for name, line in TABLE_4_PREDICTORS.items()}
    papers = _split_cells(scores, REAL_SETS)
    return [
        ("Table 4, gbmap as a predictor, random splits", scores.tally(random)),
        ("Table 4, gbmap as a predictor, refined, random splits", scores.tally(refined_cells())),
        *(
            (f"Table 4, gbmap as a predictor, the paper's split, {title}", scores.tally(cells))
            for title, cells in papers.items()
        ),
    ]


def finding(rows: Sequence[Row]) -> str:
    """How many of the paper's figures are reached, and how often gbmap is above XGBoost."""
    scores, (_, tally) = Scores.of(rows), summary(rows)[0]
    return f"{reached(tally)} {_beside_trees(scores, SPLIT_SETS)}"


def _split_cells(scores: Scores, sets: Sequence[str]) -> dict[str, dict[Case, float]]:
    """Cells on the paper's split, by whether the linear model says that it is the paper's."""
    same = as_in_paper(scores)
    groups = {
        "linear model reproduced": [name for name in sets if name in same],
        "linear model not reproduced": [name for name in sets if name not in same],
    }
    return {
        title: {(at_paper_split(name), OURS): TABLE_4_PREDICTORS[name].gbmap for name in names}
        for title, names in groups.items()
    }


def _paper_split(scores: Scores) -> list[str]:
    """The same on the split with the paper's seed."""
    sets = [name for name in REAL_SETS if scores.mean(at_paper_split(name), "linear") is not None]
    if not sets:
        return ["*The paper's own split: not measured yet.*"]
    groups = _split_cells(scores, sets)
    cells = {case: figure for group in groups.values() for case, figure in group.items()}
    return [
        "### The paper's own split",
        PAPER_SPLIT,
        whose_split(scores, sets),
        table(SPLIT_HEADER, [_split_line(scores, name) for name in sets]),
        "\n".join(
            f"- *{title.capitalize()}.* {verdict('cells of gbmap', scores.tally(group))}"
            for title, group in groups.items()
        ),
        *lines_below(scores, cells, OTHER_ROWS),
        _loose(scores, list(map(at_paper_split, sets))),
        *peers(scores, sets, at_paper_split),
    ]


def _split_line(scores: Scores, name: str) -> list[str]:
    return [name, *_figures(scores, name, at_paper_split(name))]


def _line(scores: Scores, name: str) -> list[str]:
    budgets = [budget(scores, name, field) for field in ("draws", "folds")]
    chosen = [_median(scores, name, field) for field in ("size", "beta")]
    return [name, *budgets, *chosen, *_figures(scores, name, name)]


def _figures(scores: Scores, name: str, problem: str) -> list[str]:
    """Ours beside the paper's, and whether they reach it, with a tight and with a loose tolerance."""
    paper = TABLE_4_PREDICTORS.get(name)
    cells = [scores.text(problem, method) for method in (REFINED, CHOSEN, OURS)]
    for method, field in ((LOOSE, "gbmap"), ("linear", "linear"), (TREES, "xgboost")):
        cells += [scores.text(problem, method), fixed(paper and getattr(paper, field), 3)]
    for method in (OURS, LOOSE):
        reached = paper and scores.reached(problem, method, paper.gbmap)
        cells.append(NOTHING if reached is None else "yes" if reached else "no")
    return cells


def _median(scores: Scores, name: str, field: str) -> str:
    values = sorted(scores.values(name, OURS, field))
    return f"{values[len(values) // 2]:.3g}" if values else NOTHING


def _loose(scores: Scores, problems: Sequence[str]) -> str:
    """On how many problems a loose tolerance gives the better score."""
    above = [scores.above(name, LOOSE, OURS) for name in problems]
    known = [one for one in above if one is not None]
    return f"The loose tolerance has the higher mean on {sum(known)} of {len(known)} problems."


def _beside_trees(scores: Scores, problems: Sequence[str]) -> str:
    """On how many problems gbmap is above XGBoost, here and in the paper."""
    above = {name: scores.above(name, OURS, TREES) for name in problems if name in TABLE_4_PREDICTORS}
    known = {name: one for name, one in above.items() if one is not None}
    paper = sum(TABLE_4_PREDICTORS[name].gbmap > TABLE_4_PREDICTORS[name].xgboost for name in known)
    return (
        f"gbmap is above XGBoost on {sum(known.values())} of {len(known)} problems here, in the paper on "
        f"{paper} of them."
    )
