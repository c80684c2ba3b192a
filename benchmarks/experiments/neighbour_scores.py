"""k-NN in the embedding against k-NN in the standardised columns: the middle block of the paper's Table 4.

70/30 splits, one a repeat; k = 10. The embedding's m, up to 50, beta and lambda are drawn within the paper's
Table 2 and chosen by 3 folds of the training rows of each repeat; real sets are cut to 10^4 rows. Problems
"NAME+50" have the same rows and 50 columns of standard normal noise more; "NAME@49" are the paper's split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import randint
from sklearn.model_selection import RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import Data, Split
from benchmarks.methods.base import Result, timed
from benchmarks.methods.gbmap import GBMAP, TABLE_2
from benchmarks.problems import REAL_SETS
from benchmarks.runner import Settings, base_row, measured, progress
from benchmarks.splits import at_paper_split, split

EUCLID, EMBEDDING = "knn", "knn-gbmap"
K, DRAWS, FOLDS, MOST_ROWS = 10, 10, 3, 10_000
TEST_SIZE, THREADS = 0.3, 1
# The limit of iterations is not drawn: it stays at gbmap's default.
SPACE = {
    "map__n_components": randint(2, 51),
    "map__beta": TABLE_2["beta"],
    "map__l2_regularization": TABLE_2["l2_regularization"],
}
SYNTHETIC = ("synth-cos-r-10000x20-rotated", "synth-cos-c-10000x20-rotated")
QUICK = ("concrete", "diabetes")
# Sets that are not cut: there the split with the paper's seed is the paper's.
WHOLE_SETS = tuple(
    name for name in REAL_SETS if name not in ("california", "superconductor", "eeg-eye-state")
)
NOISE_SETS = ("concrete", "california", "diabetes", "higgs-10k-h2o")
NOISE_COLUMNS = (10, 50, 200)


def run(settings: Settings) -> None:
    """Score both on every problem and split that is not there yet."""
    table = settings.table("neighbour_scores")
    for problem in chosen(settings):
        for repeat in range(settings.repeats):
            if not settings.fresh and table.finished(base_row(problem, EMBEDDING, repeat, THREADS)):
                continue
            parts = noisy_split(problem, repeat)
            for method in (EUCLID, EMBEDDING):
                row = base_row(problem, method, repeat, THREADS) | measured(
                    parts.train, _scored(parts, method, repeat)
                )
                table.put(row)
                print(progress(row), row["extra"], flush=True)


def chosen(settings: Settings) -> list[str]:
    """The sets that are asked for, and those of them that are judged beside noise too."""
    sets = settings.datasets or (QUICK if settings.quick else (*REAL_SETS, *SYNTHETIC))
    noise = NOISE_COLUMNS[1:2] if settings.quick else NOISE_COLUMNS
    if not settings.datasets and not settings.quick:
        sets = (*sets, *map(at_paper_split, WHOLE_SETS))
    return [*sets, *(with_noise(name, columns) for name in sets if name in NOISE_SETS for columns in noise)]


def with_noise(name: str, columns: int) -> str:
    """The name of the problem with so many columns of noise."""
    return f"{name}+{columns}" if columns else name


def noisy_split(problem: str, seed: int) -> Split:
    """Training and test rows, with columns of noise if the name asks for them."""
    name, _, columns = problem.partition("+")
    parts = split(name, seed, TEST_SIZE, MOST_ROWS)
    if not columns:
        return parts
    noise = np.random.default_rng(seed).normal(size=(len(parts.train.y) + len(parts.test.y), int(columns)))
    train, test = np.split(noise, [len(parts.train.y)])
    return Split(_beside(parts.train, train), _beside(parts.test, test), parts.synthetic)


def _beside(data: Data, noise: NDArray[Any]) -> Data:
    return Data(np.hstack([data.X, noise]), data.y, data.task)


def _scored(parts: Split, method: str, seed: int) -> Result:
    settings = _search(parts, seed) if method == EMBEDDING else {}
    steps = _steps(parts, method).set_params(**settings)
    seconds, model = timed(lambda: steps.fit(parts.train.X, parts.train.y))
    told = {name.removeprefix("map__"): round(float(value), 4) for name, value in settings.items()}
    return Result(seconds, extra={"score": float(model.score(parts.test.X, parts.test.y)), **told})


def _search(parts: Split, seed: int) -> dict[str, Any]:
    search = RandomizedSearchCV(
        _steps(parts, EMBEDDING), SPACE, n_iter=DRAWS, cv=FOLDS, random_state=seed, refit=False
    )
    best: dict[str, Any] = search.fit(parts.train.X, parts.train.y).best_params_
    return best


def _steps(parts: Split, method: str) -> Pipeline:
    neighbours = KNeighborsClassifier if parts.task == "classification" else KNeighborsRegressor
    if method == EUCLID:
        return Pipeline([("map", StandardScaler()), ("neighbours", neighbours(K, metric="euclidean"))])
    mapped = GBMAP(2, {"standardize": not parts.synthetic}).estimator(parts.task, 0, THREADS)
    return Pipeline([("map", mapped), ("neighbours", neighbours(K, metric="manhattan"))])
