"""Text-like sparse rows: GBMAP beside logistic regression, in time, score and memory.

Words are drawn by Zipf's law; classes depend on one direction linearly and on the size of another. Settings
are chosen by validation rows, in the same way for both.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.environment import peak_bytes
from benchmarks.methods.base import Result, timed
from benchmarks.problems import Size
from benchmarks.records import OK
from benchmarks.runner import Settings, base_row, progress

SIZES: tuple[Size, ...] = ((100_000, 100_000),)
QUICK_SIZES: tuple[Size, ...] = ((20_000, 20_000),)
WORDS = 100
SHARE = 0.05  # of the words that say something about a class
RIDGES = (10.0, 30.0, 100.0)
INVERSE_RIDGES = (0.01, 0.03, 0.1)


def make(size: Size, seed: int) -> tuple[Any, Any]:
    """Return counts of words and classes."""
    (n, p), rng = size, np.random.default_rng(seed)
    share = np.cumsum(1 / np.arange(1, p + 1))
    words = np.searchsorted(share / share[-1], rng.random((n, WORDS))).clip(max=p - 1)
    pointers = np.arange(0, n * WORDS + 1, WORDS)
    X = scipy.sparse.csr_array((np.ones(n * WORDS, np.float32), words.ravel(), pointers), shape=(n, p))
    X.sum_duplicates()
    first, second = (X @ (rng.normal(size=p) * (rng.random(p) < SHARE)) for _ in range(2))
    first, second = ((each - each.mean()) / each.std() for each in (first, second))
    odds = np.exp(3 * (first + np.abs(second) - 0.8))
    return X, (rng.random(n) < odds / (1 + odds)).astype(int)


def candidates() -> dict[str, list[Any]]:
    """Return the models to choose from, by method; gbmap first, since the peak of memory only rises."""
    from gbmap import GBMAPClassifier

    return {
        "gbmap": [
            GBMAPClassifier(3, l2_regularization=ridge, standardize=False, knots=0, random_state=0)
            for ridge in RIDGES
        ],
        "logistic-regression": [LogisticRegression(C=C, max_iter=300) for C in INVERSE_RIDGES],
    }


def run(settings: Settings) -> None:
    """Fit, choose and score."""
    table = settings.table("sparse")
    for size in settings.sizes or (QUICK_SIZES if settings.quick else SIZES):
        for repeat in range(settings.repeats):
            todo = {
                name: models
                for name, models in candidates().items()
                if settings.fresh or not table.finished(base_row(_name(size), name, repeat, None))
            }
            if not todo:
                continue
            X, y = make(size, repeat)
            for name, models in todo.items():
                result = best_of(models, X, y)
                row = base_row(_name(size), name, repeat, None) | {"status": OK, "peer": "", "passes": ""}
                row |= {"n": str(size[0]), "p": str(size[1]), "seconds": f"{result.seconds:.6g}"}
                table.put(row | {"loss": f"{result.loss:.6g}", "extra": json.dumps(result.extra)})
                print(progress(row | {"loss": f"{result.loss:.6g}"}), result.extra, flush=True)


def best_of(models: list[Any], X: Any, y: Any) -> Result:
    """Return the time, the test error and the settings of the model that validation rows prefer."""
    n = X.shape[0]
    train, chosen_by, test = np.split(np.arange(n), [7 * n // 10, 85 * n // 100])
    before, tried = peak_bytes(), []
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds, _ = timed(lambda model=model: model.fit(X[train], y[train]))
        tried.append((model.score(X[chosen_by], y[chosen_by]), seconds, model))
    _, seconds, model = max(tried, key=lambda each: each[0])
    extra = {
        "accuracy": float(model.score(X[test], y[test])),
        "model": str(model),
        "x_bytes": int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes),
        "beyond_bytes": peak_bytes() - before,
    }
    return Result(seconds, 1 - extra["accuracy"], None, "", extra)


def _name(size: Size) -> str:
    return f"words-{size[0]}x{size[1]}"
