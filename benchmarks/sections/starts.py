"""What more random starts of a learner buy."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np

from benchmarks import methods
from benchmarks.experiments.starts import PROBLEMS
from benchmarks.markdown import NOTHING, number, table
from benchmarks.methods.starts import Starts
from benchmarks.records import Row
from benchmarks.scores import Scores

ONE = methods.STARTS[0]

INTRODUCTION = f"""\
Training loss against processor time on one thread, with 1 to {methods.STARTS[-1].n_init} random starts of
each learner (`n_init`), m = {ONE.m} and `knots=0`, all rows of a set, mean over seeds. The loss is a
share of that of the best constant. Starts race on a sample; only the winner meets all rows. *As good after*
is the number of learners with which the mean loss is down to what {ONE.m} learners of one start reach, and
*in time* what it takes to get there, as a share of theirs: below one, more starts are the faster way to that
loss."""

HEADER = ["data set", "starts", "seconds", "loss", "spread", "time / one start", "loss / one start"]
AS_GOOD = ["as good after", "in time"]
PICTURE = "![Training loss against time, by random starts](figures/starts.png)"
MARKERS = "osD^"
Curve = tuple[Any, Any]


def section(rows: Sequence[Row]) -> str:
    """One line per data set and number of starts."""
    scores = Scores.of(rows)
    problems = _problems(scores)
    lines = [_line(scores, name, method) for name in problems for method in methods.STARTS]
    return "\n\n".join(
        [
            "## Random starts",
            INTRODUCTION,
            table([*HEADER, *AS_GOOD], lines),
            *_told(scores, problems),
            PICTURE,
        ]
    )


def _problems(scores: Scores) -> list[str]:
    return [name for name in PROBLEMS if (name, ONE.name) in scores.found]


def _curve(scores: Scores, name: str, method: Starts) -> Curve | None:
    """Mean processor seconds and mean loss after each learner."""
    seconds, shares = (scores.values(name, method.name, field) for field in ("cpu_seconds", "shares"))
    return (np.mean(seconds, axis=0), np.mean(shares, axis=0)) if seconds else None


def _line(scores: Scores, name: str, method: Starts) -> list[str]:
    curve, one = _curve(scores, name, method), _curve(scores, name, ONE)
    if curve is None or one is None:
        return [name, str(method.n_init), *[NOTHING] * 7]
    ends = [shares[-1] for shares in scores.values(name, method.name, "shares")]
    spread = float(np.std(ends, ddof=1)) if len(ends) > 1 else None
    times, losses = (mine[-1] / its[-1] for mine, its in zip(curve, one))
    figures = [number(curve[0][-1]), f"{curve[1][-1]:.4f}", number(spread, 2)]
    return [name, str(method.n_init), *figures, f"{times:.2f}", f"{losses:.3f}", *_as_good(curve, one)]


def _as_good(curve: Curve, one: Curve) -> list[str]:
    """When a curve is down to the other's end."""
    share = _time_share(curve, one)
    if share is None:
        return ["never", NOTHING]
    return [str(int(np.argmax(curve[1] <= one[1][-1])) + 1), f"{share:.2f}"]


def _time_share(curve: Curve, one: Curve) -> float | None:
    """The time to the other's last loss, as a share of its own; None if that loss is not reached."""
    low_enough = np.flatnonzero(curve[1] <= one[1][-1])
    return float(curve[0][low_enough[0]] / one[0][-1]) if len(low_enough) else None


def _told(scores: Scores, problems: Sequence[str]) -> list[str]:
    """What the starts cost and save on average over the sets."""
    told, shares = [], []
    for method in methods.STARTS[1:]:
        pairs = [(_curve(scores, name, method), _curve(scores, name, ONE)) for name in problems]
        known = [(mine, one) for mine, one in pairs if mine is not None and one is not None]
        shares += [_time_share(mine, one) for mine, one in known]
        if known:
            times, losses = (mean(float(mine[k][-1] / one[k][-1]) for mine, one in known) for k in (0, 1))
            told.append(f"{method.n_init} starts take {times:.2f} times as long for {losses:.3f} of the loss")
    faster = sum(share is not None and share < 1 for share in shares)
    return [
        f"On average over the sets, beside one start: {'; '.join(told)}. More starts are the faster way to "
        f"the loss of one start in {faster} of {len(shares)} lines."
    ]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Loss against seconds, one picture a set."""
    import matplotlib.pyplot as plt

    scores = Scores.of(rows)
    problems = _problems(scores)
    if not problems:
        return {}
    size = (max(4.0, 3.0 * len(problems)), 3.2)
    figure, axes = plt.subplots(1, len(problems), figsize=size, layout="constrained", squeeze=False)
    for ax, name in zip(axes[0], problems):
        for marker, method in zip(MARKERS, methods.STARTS):
            curve = _curve(scores, name, method)
            if curve is not None:
                ax.plot(*curve, marker=marker, markersize=3, label=f"n_init = {method.n_init}")
        ax.set(title=name, xlabel="processor seconds", xscale="log")
    axes[0][0].set_ylabel("loss / a constant's")
    handles, texts = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=4, frameon=False)
    return {"starts": figure}
