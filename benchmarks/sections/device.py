"""Fits on a CUDA device."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.experiments.device import METHODS, PASS, READ, RECIPE
from benchmarks.markdown import fixed, number, ratio, size, table
from benchmarks.records import OK, Row, matches, median_of
from benchmarks.verdicts import HEADER as VERDICTS
from benchmarks.verdicts import Target

INTRODUCTION = """\
Seconds of one fit of data that is on the device, and the training loss that it reaches, medians over seeds
after fits that warm it up for a second: synth-cos-c, unrotated, float32, logistic loss, beta = 1, lambda =
1e-3, at most 100 iterations. Which minima a fit finds depends on its seed, so that the range of the losses is
given too. The recipe is the paper's in JAX, compiled beforehand, on the same device. A pass is one evaluation
of the objective and its gradient on all rows; one read of X is a sum over it."""

HEADER = ["n x p", "m", "what", "seconds", "first fit", "loss", "from", "to", "passes", "recipe / it"]
PASSES = ["n x p", "one read, ms", "one pass, ms", "pass / read", "at most", ""]
QUICK = Target("10^7 x 25, m = 2, PyTorch: seconds", 0.08, at_most=True)
NEAR = Target("one pass / one read of X", 4, at_most=True, digits=3)
FASTER = Target("recipe's seconds / PyTorch's, where the recipe learns", 1)
LOWER = Target("PyTorch's loss / the recipe's, where it learns", 1, at_most=True, digits=5)
CHANCE = 0.6931


def section(rows: Sequence[Row]) -> str:
    """A table of fits, one of passes, and the targets."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    return "\n\n".join(
        [
            "## On a CUDA device",
            INTRODUCTION,
            table(HEADER, [line for problem in problems for line in _fits(rows, problem)]),
            table(PASSES, [_pass(rows, problem) for problem in problems if problem.endswith("-m2")]),
            table(VERDICTS, _verdicts(rows, problems)),
            _failures(rows),
            f"Device and driver: {', '.join(sorted(_devices(rows)))}.",
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """The time of the largest problem's fit beside the recipe's."""
    problems = list(dict.fromkeys(row["problem"] for row in rows if row["status"] == OK))
    if not problems:
        return ""
    ours, recipe = (
        median_of(rows, "seconds", problem=problems[0], method=name) for name in ("gbmap-torch", RECIPE)
    )
    shape, times = _shape(rows, problems[0]), number(ratio(recipe, ours))
    return f"{shape} take PyTorch's arrays {number(ours)} s, the recipe {times} times as long."


def _shape(rows: Sequence[Row], problem: str) -> str:
    row = next(row for row in rows if matches(row, problem=problem, status=OK))
    return size(int(row["n"]), int(row["p"]))


def _fits(rows: Sequence[Row], problem: str) -> list[list[str]]:
    recipe = median_of(rows, "seconds", problem=problem, method=RECIPE)
    lines = []
    for name in METHODS:
        mine = [row for row in rows if matches(row, problem=problem, method=name, status=OK)]
        if name in (READ, PASS) or not mine:
            continue
        seconds, loss, passes = (
            median_of(rows, each, problem=problem, method=name) for each in ("seconds", "loss", "passes")
        )
        first = json.loads(mine[0]["extra"])["first_fit_seconds"]
        losses = [float(row["loss"]) for row in mine]
        figures = [
            number(seconds),
            number(first),
            fixed(loss, 5),
            fixed(min(losses), 5),
            fixed(max(losses), 5),
        ]
        figures += [fixed(passes, 0), number(ratio(recipe, seconds))]
        lines.append([_shape(rows, problem), mine[0]["m"], name, *figures])
    return lines


def _pass(rows: Sequence[Row], problem: str) -> list[str]:
    read, one = (median_of(rows, "seconds", problem=problem, method=name) for name in (READ, PASS))
    quotient = ratio(one, read)
    times = [fixed(None if value is None else 1000 * value, 3) for value in (read, one)]
    return [_shape(rows, problem), *times, number(quotient), number(NEAR.bound, 1), NEAR.mark(quotient)]


def _verdicts(rows: Sequence[Row], problems: list[str]) -> list[list[str]]:
    def figure(name: str, problem: str, method: str) -> float | None:
        return median_of(rows, name, problem=problem, method=method)

    learned = [problem for problem in problems if (figure("loss", problem, RECIPE) or 1.0) < CHANCE]
    quotient = {p: ratio(figure("seconds", p, PASS), figure("seconds", p, READ)) for p in problems}
    faster = {p: ratio(figure("seconds", p, RECIPE), figure("seconds", p, "gbmap-torch")) for p in learned}
    lower = {p: ratio(figure("loss", p, "gbmap-torch"), figure("loss", p, RECIPE)) for p in learned}
    starts = {p: ratio(figure("loss", p, "gbmap-torch-2-starts"), figure("loss", p, RECIPE)) for p in learned}
    return [
        QUICK.judge({problems[0]: figure("seconds", problems[0], "gbmap-torch")}),
        NEAR.judge(quotient),
        FASTER.judge(faster),
        LOWER.judge(lower),
        Target("the same with 2 starts", 1, at_most=True, digits=5).judge(starts),
    ]


def _failures(rows: Sequence[Row]) -> str:
    failed = [f"{row['problem']}, {row['method']}: {row['status']}" for row in rows if row["status"] != OK]
    return "\n".join(f"- {line}" for line in failed) if failed else "Nothing failed."


def _devices(rows: Sequence[Row]) -> set[str]:
    return {json.loads(row["extra"])["device"] for row in rows if row["status"] == OK}
