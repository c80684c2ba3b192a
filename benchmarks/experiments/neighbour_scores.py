"""k-NN in the embedding against k-NN in the standardised columns: the middle block of the paper's Table 4.

70/30 splits, one a repeat; k = 10. The embedding's settings are drawn within the paper's Table 2 and chosen
by 3 folds of the training rows of each repeat; real sets are cut to 10^4 rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.stats import randint, uniform
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import RandomizedSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.data import Data, Task
from benchmarks.methods.base import Result, timed
from benchmarks.problems import CLASSIFICATION_SETS, REAL_SETS
from benchmarks.runner import Settings, base_row, measured, progress
from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap.datasets import load_paper_dataset

EUCLID, EMBEDDING = "knn", "knn-gbmap"
K, DRAWS, FOLDS, MOST_ROWS = 10, 10, 3, 10_000
TABLE_2 = {
    "map__n_components": randint(2, 51),
    "map__beta": uniform(1, 19),
    "map__l2_regularization": uniform(0, 0.01),
}


def run(settings: Settings) -> None:
    """Score both on every set and split that is not there yet."""
    table = settings.table("neighbour_scores")
    for name in settings.datasets or REAL_SETS:
        for repeat in range(settings.repeats):
            if not settings.fresh and table.finished(base_row(name, EMBEDDING, repeat, 1)):
                continue
            data, *parts = _split(name, repeat)
            for method in (EUCLID, EMBEDDING):
                model = _euclid(name) if method == EUCLID else _embedding(name, repeat)
                seconds, score = timed(lambda model=model, parts=parts: _score(model, *parts))
                row = base_row(name, method, repeat, 1)
                row |= measured(
                    data, Result(seconds, extra={"score": score, **_chosen(name, repeat, method)})
                )
                table.put(row)
                print(progress(row), f"score {score:.3f}", flush=True)


def _split(name: str, seed: int) -> tuple[Any, ...]:
    """The data, and its training and test rows."""
    X, y = load_paper_dataset(name)
    y = np.asarray(y)
    if len(y) > MOST_ROWS:
        kept = np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False)
        X, y = X.iloc[kept], y[kept]
    task: Task = "classification" if name in CLASSIFICATION_SETS else "regression"
    strata = y if task == "classification" else None
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=strata
    )
    shape = np.broadcast_to(0.0, X.shape)  # the record wants n and p only
    return Data(shape, y, task), X_train, X_test, y_train, y_test


def _score(model: Any, X_train: Any, X_test: Any, y_train: Any, y_test: Any) -> float:
    return float(model.fit(X_train, y_train).score(X_test, y_test))


def _steps(name: str, embedding: Any, metric: str) -> Pipeline:
    text = make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text), remainder="passthrough"
    )
    neighbours = KNeighborsClassifier if name in CLASSIFICATION_SETS else KNeighborsRegressor
    return Pipeline([("encode", encoder), ("map", embedding), ("neighbours", neighbours(K, metric=metric))])


def _euclid(name: str) -> Pipeline:
    return _steps(name, StandardScaler(), "euclidean")


def _embedding(name: str, repeat: int) -> Pipeline:
    return _unset(name).set_params(**_search(name, repeat))


def _unset(name: str) -> Pipeline:
    gbmap = GBMAPClassifier if name in CLASSIFICATION_SETS else GBMAPRegressor
    return _steps(name, gbmap(random_state=0, n_jobs=1), "manhattan")


@cache
def _search(name: str, repeat: int) -> dict[str, Any]:
    _, X_train, _, y_train, _ = _split(name, repeat)
    search = RandomizedSearchCV(
        _unset(name), TABLE_2, n_iter=DRAWS, cv=FOLDS, random_state=repeat, refit=False
    )
    best: dict[str, Any] = search.fit(X_train, y_train).best_params_
    return best


def _chosen(name: str, repeat: int, method: str) -> dict[str, float]:
    if method == EUCLID:
        return {}
    return {key.removeprefix("map__"): round(float(value), 4) for key, value in _search(name, repeat).items()}
