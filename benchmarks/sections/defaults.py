"""Models as they come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, median
from typing import Any

from benchmarks.markdown import fixed, number, table
from benchmarks.methods.untuned import UNTUNED
from benchmarks.pictures import LOOKS, Glance, titled
from benchmarks.problems import REAL_SETS, task_of
from benchmarks.records import Row
from benchmarks.scores import Scores
from benchmarks.sections import defaults_repeats
from benchmarks.textbook import TABLES

NAMES = tuple(method.name for method in UNTUNED)
TITLES = {
    "gbmap": "gbmap",
    "gbmap-auto": 'gbmap, `n_components="auto"`',
    "gbmap-plain": "gbmap, `knots=0`",
    "gbmap-boosted": "gbmap, `refine=False`",
    "linear": "linear",
    "hist-gradient-boosting": "HistGradientBoosting",
    "xgboost": "XGBoost",
    "ebm": "explainable boosting",
    "realmlp": "RealMLP",
}
# Those whose defaults are compared with gbmap's by rank.
TREES = ("hist-gradient-boosting", "xgboost")
# Those that take long: they are run on fewer splits.
SLOW = ("ebm", "realmlp")
# Those that the picture shows, and their looks.
PICTURED = {"linear": "linear", "hist-gradient-boosting": "trees", "xgboost": "xgboost", "gbmap": "gbmap"}
TITLES_PICTURED = TITLES | {"linear": "linear model"}
FAR = 0.05  # what counts as far behind, in R2 or log loss

INTRODUCTION = """\
Models with the settings that they come with, and no search: R2, or for classes the log loss, where lower is
better, on held-out rows, mean over random 70/30 splits: five, or one of what takes minutes. *linear* is
least squares, or logistic regression of standardised columns. Categories are one-hot encoded for all. Below,
the processor seconds of one fit, means over the same splits."""
OF_TEXTBOOK = """\
The tables that come with *An Introduction to Statistical Learning* of James, Witten, Hastie, Tibshirani and
Taylor and have a target that is asked about there; the same splits and figures. No setting of gbmap was
settled on them."""


def section(rows: Sequence[Row]) -> str:
    """Two tables: what is predicted how well, and what it takes."""
    scores = Scores.of(rows)
    seconds = [
        [name, *(number(scores.mean(name, method, "cpu_seconds")) for method in NAMES)]
        for name in _known(scores)
    ]
    parts = [
        "## Without tuning",
        f"![{headline(scores)}](figures/defaults.png)",
        INTRODUCTION,
        _scores(scores, REAL_SETS, NAMES),
        finding(rows),
        table(["data set", *(TITLES[method] for method in NAMES)], seconds),
        defaults_repeats.section(rows),
        _of_textbook(scores),
    ]
    return "\n\n".join(filter(None, parts))


def _scores(scores: Scores, names: Sequence[str], methods: Sequence[str]) -> str:
    lines = [
        [name, _figure(name)[0], *(fixed(_mean(scores, name, method), 3) for method in methods)]
        for name in _known(scores, names)
    ]
    return table(["data set", "figure", *(TITLES[method] for method in methods)], lines)


def _of_textbook(scores: Scores) -> str:
    if not _known(scores, TABLES):
        return ""
    return "\n\n".join(
        [
            "### Tables of a textbook",
            OF_TEXTBOOK,
            _scores(scores, tuple(TABLES), ("gbmap", "linear", *TREES)),
            _best_of_textbook(scores),
        ]
    )


def _best_of_textbook(scores: Scores) -> str:
    known = _known(scores, TABLES)
    if not known:
        return ""
    best = sum(all(_ahead(scores, name, other) >= 0 for other in ("linear", *TREES)) for name in known)
    return f"Of {len(known)} tables of a textbook, on which no setting was settled, gbmap is best on {best}."


def finding(rows: Sequence[Row]) -> str:
    """How often a fit by defaults is no worse than the others by theirs, and by how much at worst."""
    scores = Scores.of(rows)
    known = _known(scores)
    worst = min((_ahead(scores, name, "linear") for name in known), default=0.0)
    ahead = {other: sum(_ahead(scores, name, other) >= 0 for name in known) for other in ("linear", *TREES)}
    slow = ", ".join(_of_slow(scores, known, other) for other in SLOW)
    close = sum(_ahead(scores, name, "hist-gradient-boosting") >= -0.01 for name in known)
    rank = mean(1 + sum(_ahead(scores, name, other) < 0 for other in TREES) for name in known) if known else 0
    gain = mean([_ahead(scores, name, "gbmap-boosted") for name in known]) if known else 0.0
    return (
        f"As it comes, gbmap is ahead of linear models on {ahead['linear']} of {len(known)} sets (behind by "
        f"{max(-worst, 0):.3f} at most), of HistGradientBoosting on {ahead['hist-gradient-boosting']} "
        f"({close} if it may be behind by 0.01), of XGBoost on {ahead['xgboost']}; {slow}, "
        f"on the same splits. Its mean rank among the three that boost is {rank:.2f}. "
        f"Refinement brings {gain:+.3f} on average. "
        f"{defaults_repeats.finding(scores)} {_best_of_textbook(scores)}"
    )


def _of_slow(scores: Scores, known: Sequence[str], other: str) -> str:
    there = [name for name in known if _mean(scores, name, other) is not None]
    wins = sum(_ahead(scores, name, other) >= 0 for name in there)
    return f"of {TITLES[other]} on {wins} of the {len(there)} that it was run on"


def glance(rows: Sequence[Row]) -> Glance:
    """What the first page says: wins, and where and at what price not."""
    scores = Scores.of(rows)
    behind = {name: max(-_ahead(scores, name, other) for other in TREES) for name in _known(scores)}
    far = [name for name, gap in sorted(behind.items(), key=lambda item: -item[1]) if gap > FAR]
    slow = _times_as_long(scores, "hist-gradient-boosting")
    return Glance(
        "Accuracy without tuning",
        headline(scores),
        "defaults",
        f"{len(behind)} real tables, five random 70/30 splits each, every model with the settings that it "
        "comes with: R2 of numbers, log loss of classes. *Weak spots*: a tree-based model is ahead by more "
        f"than {FAR} on {len(far)} of them ({', '.join(far) or 'none'}), and a fit takes {number(slow, 2)} "
        f"times the processor time of HistGradientBoosting (median over the tables). "
        f"{defaults_repeats.finding(scores)} {_best_of_textbook(scores)}".rstrip(),
    )


def headline(scores: Scores) -> str:
    """The wins of defaults over defaults."""
    known = _known(scores)
    wins = {other: sum(_ahead(scores, name, other) >= 0 for name in known) for other in ("linear", *TREES)}
    return (
        f"Without tuning, gbmap is ahead of linear models on {wins['linear']} of {len(known)} tables, of "
        f"XGBoost on {wins['xgboost']}, of HistGradientBoosting on {wins['hist-gradient-boosting']}"
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Scores of every table, the better to the right."""
    import matplotlib.pyplot as plt

    scores = Scores.of(rows)
    groups: dict[str, list[str]] = {}
    for name in _known(scores):
        groups.setdefault(_figure(name)[0], []).append(name)
    heights = [len(names) + 1 for names in groups.values()]
    figure, axes = plt.subplots(
        len(groups),
        figsize=(9, 1.6 + 0.36 * sum(heights)),
        layout="constrained",
        squeeze=False,
        height_ratios=heights,
    )
    for ax, (what, names) in zip(axes[:, 0], groups.items()):
        _dots(ax, scores, sorted(names, key=lambda name: _mean(scores, name, "gbmap") or 0.0))
        ax.set_xlabel(f"{what} on held-out rows, better to the right")
        if what == "log loss":
            ax.invert_xaxis()
    handles, texts = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=len(PICTURED), frameon=False)
    titled(figure, headline(scores))
    return {"defaults": figure}


def _dots(ax: Any, scores: Scores, names: Sequence[str]) -> None:
    places = range(len(names))
    for method, look in PICTURED.items():
        color, marker = LOOKS[look]
        ours = method == "gbmap"
        style = {"color": color, "marker": marker, "s": 75 if ours else 40, "zorder": 3 if ours else 2}
        values = [_mean(scores, name, method) for name in names]
        ax.scatter(values, places, label=TITLES_PICTURED[method], linewidths=0, alpha=0.9, **style)
    ax.set_yticks(places, names)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.grid(axis="y", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _known(scores: Scores, names: Iterable[str] = REAL_SETS) -> list[str]:
    return [name for name in names if scores.mean(name, "gbmap") is not None]


def _times_as_long(scores: Scores, other: str) -> float | None:
    """The median over the tables of our processor time in units of another's."""
    ratios = []
    for name in _known(scores):
        mine, theirs = (scores.mean(name, method, "cpu_seconds") for method in ("gbmap", other))
        if mine is not None and theirs:
            ratios.append(mine / theirs)
    return median(ratios) if ratios else None


def _figure(name: str) -> tuple[str, str, int]:
    """What is shown, its field, and its sign: +1 if higher is better."""
    return ("log loss", "log_loss", -1) if task_of(name) == "classification" else ("R2", "score", 1)


def _mean(scores: Scores, name: str, method: str) -> float | None:
    return scores.mean(name, method, _figure(name)[1])


def _ahead(scores: Scores, name: str, other: str) -> float:
    _, field, sign = _figure(name)
    return sign * (scores.gain(name, "gbmap", other, field) or 0.0)
