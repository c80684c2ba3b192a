"""Three clusters of which two mean the same for the target: the paper's Figure 8 (Appendix F), with numbers.

b1 and b2 differ only in columns without influence. Each repeat draws the data and u anew. The silhouette of
two clusters is near one where they lie apart and near zero where they are one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score

from benchmarks.data import Data
from benchmarks.methods.base import Result, timed
from benchmarks.methods.gbmap import GBMAP
from benchmarks.runner import Settings, base_row, measured, progress
from gbmap.datasets import make_clusters

APPENDIX_F = GBMAP(m=10, params={"beta": 5.0, "l2_regularization": 1e-3, "standardize": False})
COLUMNS, EMBEDDING = "columns", "embedding"
METRICS = {COLUMNS: "euclidean", EMBEDDING: "manhattan"}
PAIRS = {"b1, b2": ("b1", "b2"), "a, b1": ("a", "b1"), "a, b2": ("a", "b2")}
PROBLEM, KEPT, THREADS = "clusters", 150, 1


def run(settings: Settings) -> None:
    """Measure each repeat that is not there yet."""
    table = settings.table("clusters")
    for repeat in range(settings.repeats):
        if not settings.fresh and table.finished(base_row(PROBLEM, EMBEDDING, repeat, THREADS)):
            continue
        X, y, clusters = make_clusters(random_state=repeat)
        data = Data(X, y, "regression")
        model = APPENDIX_F.estimator(data.task, repeat, THREADS)
        seconds, _ = timed(lambda model=model, data=data: model.fit(data.X, data.y))
        for method, rows in ((COLUMNS, X), (EMBEDDING, model.transform(X))):
            result = Result(seconds, extra=_seen(rows, clusters, METRICS[method], keep=repeat == 0))
            row = base_row(PROBLEM, method, repeat, THREADS) | {"m": str(APPENDIX_F.m)}
            row |= measured(data, result)
            table.put(row)
            print(progress(row), result.extra["silhouette"], flush=True)


def _seen(rows: NDArray[Any], clusters: NDArray[Any], metric: str, *, keep: bool) -> dict[str, Any]:
    """Silhouettes of each pair of clusters, and for a picture two principal components of some rows."""
    plane = PCA(2).fit(rows)
    extra: dict[str, Any] = {
        "silhouette": {
            title: round(_silhouette(rows, clusters, pair, metric), 4) for title, pair in PAIRS.items()
        }
    }
    if keep:
        extra["plane"] = {
            name: np.round(plane.transform(rows[clusters == name][:KEPT]).T, 3).tolist()
            for name in np.unique(clusters)
        }
    return extra


def _silhouette(rows: NDArray[Any], clusters: NDArray[Any], pair: tuple[str, str], metric: str) -> float:
    chosen = np.isin(clusters, pair)
    return float(silhouette_score(rows[chosen], clusters[chosen], metric=metric))
