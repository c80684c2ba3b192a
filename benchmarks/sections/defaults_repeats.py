"""Models as they come, where rows of one thing stay on one side of the split."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.markdown import fixed, table
from benchmarks.records import Row
from benchmarks.scores import Scores
from benchmarks.splits import REPEATING, apart

METHODS = {"gbmap": "gbmap", "hist-gradient-boosting": "HistGradientBoosting", "xgboost": "XGBoost"}

INTRODUCTION = """\
Some sets hold one thing in many rows: a mixture of concrete that was tested at several ages, a compound or a
wine that was measured more than once. A random split puts such rows on both sides, where a model that knows
training rows by heart is right. Here R2 of the random splits above, and of splits that keep rows of one thing
together."""


def section(rows: Sequence[Row]) -> str:
    """Scores of both kinds of splits beside each other; nothing where there are none."""
    scores = Scores.of(rows)
    if not _known(scores):
        return ""
    header = ["data set", *(f"{title}, {kind}" for kind in ("random", "apart") for title in METHODS.values())]
    lines = [
        [name, *(fixed(scores.mean(each, m, "score"), 3) for each in (name, apart(name)) for m in METHODS)]
        for name in _known(scores)
    ]
    return "\n\n".join(["### Rows of one thing", INTRODUCTION, table(header, lines), finding(scores)])


def finding(scores: Scores) -> str:
    """On how many sets gbmap is ahead of both kinds of trees, by either kind of splits."""
    known = _known(scores)
    if not known:
        return ""
    random, kept_apart = (
        sum(_is_best(scores, each) for each in names) for names in (known, [apart(name) for name in known])
    )
    return (
        f"Of {len(known)} sets that hold one thing in several rows, gbmap is ahead of both kinds of trees on "
        f"{random} by random splits, and on {kept_apart} where these rows stay together."
    )


def _known(scores: Scores) -> list[str]:
    return [name for name in REPEATING if scores.mean(apart(name), "gbmap", "score") is not None]


def _is_best(scores: Scores, name: str) -> bool:
    values = [scores.mean(name, method, "score") or 0.0 for method in METHODS]
    return values[0] == max(values)
