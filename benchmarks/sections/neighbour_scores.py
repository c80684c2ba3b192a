"""k-NN in the embedding against k-NN in the columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import mean, stdev

from benchmarks.experiments.neighbour_scores import DRAWS, EMBEDDING, EUCLID
from benchmarks.markdown import number, table
from benchmarks.paper import TABLE_4_NEIGHBOURS
from benchmarks.problems import REAL_SETS
from benchmarks.records import OK, Row, matches

INTRODUCTION = f"""\
R2, or accuracy for classes, of the ten nearest neighbours on held-out rows, mean and standard deviation over
random 70/30 splits, beside the paper's one split. Euclid: standardised columns. Embedding: the Manhattan
distance of `transform`, its settings the best of {DRAWS} draws within the paper's Table 2, by three folds of
the training rows (the paper: 50 draws)."""

HEADER = ["set", "Euclid", "paper", "embedding", "paper", "embedding above Euclid", "paper reached"]


def section(rows: Sequence[Row]) -> str:
    """One line per set, and how many favour the embedding."""
    lines, above, reached = [], 0, 0
    for name in REAL_SETS:
        euclid, ours = (_scores(rows, name, method) for method in (EUCLID, EMBEDDING))
        if len(ours) < 2:
            continue
        paper = TABLE_4_NEIGHBOURS[name]
        better, there = mean(ours) > mean(euclid), paper.embedding <= mean(ours) + 2 * stdev(ours)
        above, reached = above + better, reached + there
        figures = [_text(euclid), number(paper.euclid), _text(ours), number(paper.embedding)]
        lines.append([name, *figures, *("yes" if each else "no" for each in (better, there))])
    verdict = (
        f"The embedding is above Euclid on {above} of {len(lines)} sets; its figure in the paper is at most "
        f"the mean plus two standard deviations on {reached}."
    )
    return "\n\n".join(["## Neighbours as predictors (Table 4)", INTRODUCTION, table(HEADER, lines), verdict])


def _scores(rows: Sequence[Row], name: str, method: str) -> list[float]:
    chosen = (row for row in rows if matches(row, problem=name, method=method, status=OK))
    return [float(json.loads(row["extra"])["score"]) for row in chosen]


def _text(scores: Sequence[float]) -> str:
    return f"{mean(scores):.3f} ± {stdev(scores):.3f}"
