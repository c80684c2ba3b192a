"""Exact and approximate neighbours in the embedding."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.experiments.neighbours import APPROXIMATE, METHODS, N_QUERIES, K, M
from benchmarks.markdown import NOTHING, number, table
from benchmarks.records import OK, Row

TREE = "kd_tree"

INTRODUCTION = f"""\
Seconds to find the {K} nearest of so many reference rows for {N_QUERIES} rows, by the Manhattan distance of
{M} coordinates; seconds to build the index; the share of the true neighbours found. The first index of
{APPROXIMATE} includes compilation, none includes what it prepares for its first search. One run each; a dash
was not measured. The default of `DriftDetector` is the k-d tree."""

HEADER = ["problem", "method", "query, s", "build, s", "recall"]


class Search(NamedTuple):
    """What a search took and found."""

    query: float
    build: float
    recall: float


Found = Mapping[tuple[str, str], Search]


def section(rows: Sequence[Row]) -> str:
    """One line per problem and method, and from where on the approximate search takes less time."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    found = {(row["problem"], row["method"]): _read(row) for row in rows if row["status"] == OK}
    trouble = {(row["problem"], row["method"]): row["status"].partition(":")[0] for row in rows}
    lines = []
    for case in ((problem, method) for problem in problems for method in METHODS):
        figures = map(number, found[case]) if case in found else [trouble.get(case, NOTHING), *[NOTHING] * 2]
        lines.append([*case, *figures])
    return "\n\n".join(
        ["## Neighbours in the embedding", INTRODUCTION, table(HEADER, lines), _pays(found, problems)]
    )


def _read(row: Row) -> Search:
    extra = json.loads(row["extra"])
    return Search(float(row["seconds"]), extra["build"], extra["recall"])


def _pays(found: Found, problems: Sequence[str]) -> str:
    """From how many rows on building and searching takes less time than with the k-d tree."""
    told = []
    for problem in problems:
        tree, other = found.get((problem, TREE)), found.get((problem, APPROXIMATE))
        if tree is not None and other is not None:
            gain = (tree.query - other.query) / N_QUERIES
            rows = f"{float(f'{(other.build - tree.build) / gain:.2g}'):.0f}" if gain > 0 else "never"
            told.append(f"- {problem}: {rows}")
    start = f"Rows from which on {APPROXIMATE} takes less time than the k-d tree, building included:"
    return "\n".join([start, "", *(told or ["- not measured"])])
