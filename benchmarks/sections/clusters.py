"""Clusters that mean the same for the target, before and after the embedding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from benchmarks.experiments.clusters import COLUMNS, EMBEDDING, PAIRS
from benchmarks.markdown import table
from benchmarks.records import OK, Row, matches

TITLES = {COLUMNS: "in the columns (Euclid)", EMBEDDING: "in the embedding (Manhattan)"}
COLOURS = {"a": "#0072B2", "b1": "#E69F00", "b2": "#CC79A7"}
MARKERS = {"a": "o", "b1": "x", "b2": "+"}

INTRODUCTION = """\
Three clusters of a thousand rows in eight columns; b1 and b2 differ only in columns that do not matter to the
target, cos(X) u (the paper's Appendix F; m = 10, beta = 5, lambda = 1e-3, not standardised). The paper shows
a picture; here is a number: the silhouette of two clusters, near 1 where they lie apart, near 0 where they
are one. Mean and standard deviation over repeats that draw the data and u anew."""


def section(rows: Sequence[Row]) -> str:
    """One line per pair of clusters."""
    lines = [[pair, *(_text(rows, method, pair) for method in TITLES)] for pair in PAIRS]
    return "\n\n".join(
        [
            "## Clusters (Figure 8)",
            INTRODUCTION,
            table(["silhouette of", *TITLES.values()], lines),
            "![Two principal components of the embedding and of the columns](figures/clusters.png)",
        ]
    )


def _text(rows: Sequence[Row], method: str, pair: str) -> str:
    chosen = [row for row in rows if matches(row, method=method, status=OK)]
    values = [json.loads(row["extra"])["silhouette"][pair] for row in chosen]
    return f"{mean(values):.3f} ± {stdev(values) if len(values) > 1 else 0.0:.3f}"


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Two principal components of the embedding, and of the columns."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for ax, (method, title) in zip(axes, ((EMBEDDING, "embedding"), (COLUMNS, "columns"))):
        row = next(row for row in rows if matches(row, method=method, repeat=0, status=OK))
        for name, (first, second) in json.loads(row["extra"])["plane"].items():
            ax.scatter(first, second, s=14, marker=MARKERS[name], color=COLOURS[name], alpha=0.7, label=name)
        ax.set(title=f"PCA of the {title}", xlabel="first component", ylabel="second component")
    axes[0].legend(frameon=False)
    return {"clusters": figure}
