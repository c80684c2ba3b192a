"""Drift by every feature, on the sets where the paper's AUC is not reached."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.experiments.drift_cuts import BY, SETS
from benchmarks.experiments.drift_points import DRIFTERS
from benchmarks.markdown import fixed, number, table
from benchmarks.paper import DRIFT_AUC
from benchmarks.records import Row
from benchmarks.scores import Scores

INTRODUCTION = """\
## Drift by every feature

On the sets where gbmap's AUC is below the paper's by more than two standard deviations: the same, by the loss
of the model, with the sets cut by each feature in turn. The paper does not say which one it took. Mean and
standard deviation over the repeats; the features whose two figures are closest to the paper's come first."""

HEADER = ["data set", "cut by", "over", "b / a2", "gbmap", "paper", "Euclid", "paper", "both as in the paper"]


def section(rows: Sequence[Row]) -> str:
    """One line per set and feature, and which of them give the paper's figures."""
    scores = Scores.of(rows)
    cuts = {name: _by_distance(scores, name) for name in SETS}
    lines = [_line(scores, name, problem) for name, problems in cuts.items() for problem in problems]
    told = [_told(scores, name, problems) for name, problems in cuts.items() if problems]
    return "\n\n".join([INTRODUCTION, table(HEADER, lines), "\n".join(told)])


def _by_distance(scores: Scores, name: str) -> list[str]:
    """The problems of a set, those with the paper's figures first."""

    def distance(problem: str) -> float:
        ours = (scores.mean(problem, method) for method in DRIFTERS)
        return sum(abs((mean or 0.0) - figure) for mean, figure in zip(ours, DRIFT_AUC[name]))

    known = dict.fromkeys(problem for problem, _ in scores.found if problem.startswith(name + BY))
    return sorted(known, key=distance)


def _line(scores: Scores, name: str, problem: str) -> list[str]:
    figures = []
    for method, figure in zip(DRIFTERS, DRIFT_AUC[name]):
        figures += [scores.text(problem, method, 2), fixed(figure, 2)]
    drift = [fixed(scores.mean(problem, DRIFTERS[0], "share"), 2)]
    drift.append(number(scores.mean(problem, DRIFTERS[0], "ratio"), 2))
    return [name, _feature(problem), *drift, *figures, "yes" if _agrees(scores, name, problem) else "no"]


def _told(scores: Scores, name: str, problems: Sequence[str]) -> str:
    same = [_feature(problem) for problem in problems if _agrees(scores, name, problem)]
    return (
        f"- {name}: both of the paper's figures are within two standard deviations of ours if it is cut by "
        f"{len(same)} of {len(problems)} features ({', '.join(same) or 'none'})."
    )


def _agrees(scores: Scores, name: str, problem: str) -> bool:
    apart = [scores.apart(problem, method, figure) for method, figure in zip(DRIFTERS, DRIFT_AUC[name])]
    return not any(apart)


def _feature(problem: str) -> str:
    return problem.partition(BY)[2]
