"""Sentences about figures beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.scores import Scores, Tally


def verdict(what: str, tally: Tally) -> str:
    """How many of the paper's figures are at most our mean plus two standard deviations."""
    rest = f" {tally.missing} more are not measured." if tally.missing else ""
    return (
        f"Of {tally.known} {what} with rows, the paper's figure is at most the mean plus two standard "
        f"deviations of ours in {tally.within}, at most the mean in {tally.by_mean}.{rest}"
    )


def lines_below(scores: Scores, cells: Mapping[tuple[str, str], float]) -> list[str]:
    """The figures that are not reached, one by one."""
    below = [
        f"- {problem}, {method}: {scores.shortfall(problem, method, figure)}."
        for (problem, method), figure in cells.items()
        if scores.reached(problem, method, figure) is False
    ]
    return ["Below the paper's by more:\n\n" + "\n".join(below)] if below else []
