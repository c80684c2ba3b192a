"""Models as they come."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.markdown import fixed, number, table
from benchmarks.methods.untuned import UNTUNED
from benchmarks.problems import REAL_SETS, task_of
from benchmarks.records import Row
from benchmarks.scores import Scores

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
}
# Those whose defaults are compared with gbmap's by rank.
TREES = ("hist-gradient-boosting", "xgboost")

INTRODUCTION = """\
Models with the settings that they come with, and no search: R2, or for classes the log loss, where lower is
better, on held-out rows, mean over random 70/30 splits. *linear* is least squares, or logistic regression of
standardised columns. Categories are one-hot encoded for all. Below, the processor seconds of one fit, means
over the same splits."""


def section(rows: Sequence[Row]) -> str:
    """Two tables: what is predicted how well, and what it takes."""
    scores = Scores.of(rows)
    known = [name for name in REAL_SETS if scores.mean(name, "gbmap") is not None]
    header = ["data set", "figure", *(TITLES[method] for method in NAMES)]
    lines = [[name, _figure(name)[0], *(fixed(_mean(scores, name, m), 3) for m in NAMES)] for name in known]
    seconds = [
        [name, *(number(scores.mean(name, method, "cpu_seconds")) for method in NAMES)] for name in known
    ]
    return "\n\n".join(
        [
            "## Without tuning",
            INTRODUCTION,
            table(header, lines),
            finding(rows),
            table(["data set", *(TITLES[method] for method in NAMES)], seconds),
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """How often a fit by defaults is no worse than the others by theirs, and by how much at worst."""
    scores = Scores.of(rows)
    known = [name for name in REAL_SETS if scores.mean(name, "gbmap") is not None]
    worst = min((_ahead(scores, name, "linear") for name in known), default=0.0)
    ahead = {other: sum(_ahead(scores, name, other) >= 0 for name in known) for other in ("linear", *TREES)}
    slow = [_ahead(scores, name, "ebm") >= 0 for name in known if _mean(scores, name, "ebm") is not None]
    close = sum(_ahead(scores, name, "hist-gradient-boosting") >= -0.01 for name in known)
    rank = mean(1 + sum(_ahead(scores, name, other) < 0 for other in TREES) for name in known) if known else 0
    gain = mean([_ahead(scores, name, "gbmap-boosted") for name in known]) if known else 0.0
    return (
        f"As it comes, gbmap is ahead of linear models on {ahead['linear']} of {len(known)} sets (behind by "
        f"{max(-worst, 0):.3f} at most), of HistGradientBoosting on {ahead['hist-gradient-boosting']} "
        f"({close} if it may be behind by 0.01), of XGBoost on {ahead['xgboost']}, of explainable boosting "
        f"on {sum(slow)} of the {len(slow)} that it was run on. Its mean rank among the three "
        f"that boost is {rank:.2f}. Refinement brings {gain:+.3f} on average."
    )


def _figure(name: str) -> tuple[str, str, int]:
    """What is shown, its field, and its sign: +1 if higher is better."""
    return ("log loss", "log_loss", -1) if task_of(name) == "classification" else ("R2", "score", 1)


def _mean(scores: Scores, name: str, method: str) -> float | None:
    return scores.mean(name, method, _figure(name)[1])


def _ahead(scores: Scores, name: str, other: str) -> float:
    mine, theirs = _mean(scores, name, "gbmap"), _mean(scores, name, other)
    return 0.0 if mine is None or theirs is None else _figure(name)[2] * (mine - theirs)
