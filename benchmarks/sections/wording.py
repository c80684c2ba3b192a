"""Sentences about figures beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.scores import Case, Scores, Tally
from benchmarks.splits import at_paper_split, plain

# The paper has one sample of HIGGS.
STAND_INS = ("higgs-10k-h2o", "higgs-10k-openml-sample")
STAND_IN = "a stand-in for the paper's sample"


def verdict(what: str, tally: Tally) -> str:
    """How many of the paper's figures are at most our mean plus two standard deviations."""
    rest = f" {tally.missing} more are not measured." if tally.missing else ""
    return (
        f"Of {tally.known} {what} with rows, the paper's figure is at most the mean plus two standard "
        f"deviations of ours in {tally.within}, at most the mean in {tally.by_mean}.{rest}"
    )


def reached(tally: Tally) -> str:
    """The same in short."""
    cells = f"{tally.within} of {tally.known} cells"
    return f"The paper's figures are reached within two standard deviations in {cells}."


def lines_below(
    scores: Scores, cells: Mapping[Case, float], notes: Mapping[Case, str] | None = None
) -> list[str]:
    """The figures that are not reached, one by one, whether they are on the paper's own split, and notes.

    Notes are by the name of the problem, whatever its split.
    """
    below = []
    for (problem, method), figure in cells.items():
        if scores.reached(problem, method, figure) is False:
            there = scores.reached(at_paper_split(problem), method, figure)
            below.append(_told(scores, problem, method, figure, there, notes or {}))
    return ["Below the paper's by more:\n\n" + "\n".join(below)] if below else []


def lines_apart(
    what: str, scores: Scores, cells: Mapping[Case, float], notes: Mapping[Case, str]
) -> list[str]:
    """The figures of peers that are far from the paper's, above or below, likewise."""
    known = {case: figure for case, figure in cells.items() if scores.mean(*case) is not None}
    lines = []
    for (problem, method), figure in known.items():
        if scores.apart(problem, method, figure):
            apart = scores.apart(at_paper_split(problem), method, figure)
            lines.append(_told(scores, problem, method, figure, None if apart is None else not apart, notes))
    head = f"Cells of {what} further from the paper's figure than two standard deviations of ours"
    count = f"{head}, above or below: {len(lines)} of {len(known)}."
    return ["\n\n".join([count, *(["\n".join(lines)] if lines else [])])] if known else []


def _told(
    scores: Scores, problem: str, method: str, figure: float, there: bool | None, notes: Mapping[Case, str]
) -> str:
    """A line about a figure; there says whether ours is close to it on the paper's own split, if known."""
    told = f"- {problem}, {method}: {scores.shortfall(problem, method, figure)}"
    if there is not None:
        text = scores.text(at_paper_split(problem), method)
        told += f"; {'not so' if there else 'so too'} on the paper's own split: {text}"
    note = notes.get((plain(problem), method))
    return f"{told}; {note}." if note else f"{told}."
