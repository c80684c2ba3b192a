"""Whether the levels of the verdict on drift hold where nothing has changed, by tasks, noises and sizes.

Calibration rows and a batch are drawn anew each time, from the same distribution. There are
`MODELS` models of each task, fitted to `FITTED` rows each, that take turns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.data import Data
from benchmarks.methods.base import Result, timed
from benchmarks.records import Table
from benchmarks.runner import Settings, base_row, measured
from benchmarks.splits import load
from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap.drift import DriftDetector

Rows = tuple[Any, NDArray[Any]]
# Draws lots of rows of given sizes that share none, for a fit or for what comes later.
Draw = Callable[[np.random.Generator, tuple[int, ...], bool], list[Rows]]

DRAWS, QUICK_DRAWS = 20, 10  # in each repeat
MODELS, FITTED = 5, 400
LEVEL, CONFIDENCE = 0.05, 0.9
SIZES = ((20, 200), (200, 200), (1000, 1000))
THREADS = 1


def run(settings: Settings) -> None:
    """Count what is found, size by size and task by task."""
    table, models = settings.table("drift_levels"), dict[str, Any]()
    for repeat, sizes, task in product(range(settings.repeats), SIZES, TASKS):
        problem = f"{task}, {sizes[0]} x {sizes[1]}"
        row = base_row(problem, "gbmap", repeat, THREADS)
        if not settings.fresh and table.finished(row):
            continue
        with threadpool_limits(1):
            draw = TASKS[task]()
            if task not in models:
                models[task] = [_fit(draw, seed) for seed in range(MODELS)]
            draws = range(repeat * DRAWS, repeat * DRAWS + (QUICK_DRAWS if settings.quick else DRAWS))
            seconds, extra = timed(partial(_count, draw, models[task], sizes, draws))
        _keep(table, row, models[task][0][1], Result(seconds, extra=extra))
        print(f"{problem}: {extra}", flush=True)


def _keep(table: Table, row: dict[str, str], rows: Rows, result: Result) -> None:
    X, y = rows
    task = "regression" if y.dtype.kind == "f" else "classification"
    table.put(row | measured(Data(np.asarray(X, dtype=object), y, task), result))


def _fit(draw: Draw, seed: int) -> tuple[Any, Rows]:
    ((X, y),) = draw(np.random.default_rng(seed), (FITTED,), True)
    model = GBMAPRegressor if y.dtype.kind == "f" else GBMAPClassifier
    return model(n_components=10, random_state=seed, n_jobs=THREADS).fit(X, y), (X, y)


def _count(
    draw: Draw, models: list[tuple[Any, Rows]], sizes: tuple[int, int], draws: range
) -> dict[str, Any]:
    """Return how often what is found and covered."""
    found = dict.fromkeys(("any", "prediction", "alarms", "expected_loss", "loss", "columns"), 0)
    covered = dict.fromkeys(("mean", "rows", "first", "second"), 0.0)
    for seed in draws:
        rng = np.random.default_rng([seed, *sizes])
        model, (X, y) = models[seed % len(models)]
        (X_cal, y_cal), (X_new, y_new) = draw(rng, sizes, False)
        detector = DriftDetector(model).fit(X, y, X_cal=X_cal, y_cal=y_cal)
        verdict = detector.verdict(X_new, y_new, level=LEVEL)
        kinds = {each.kind if each.column is None else "columns" for each in verdict.findings}
        for kind in kinds | ({"any"} if kinds else set()):
            found[kind] += 1
        estimate = detector.estimate_loss(X_new, confidence=CONFIDENCE)
        losses = detector.indicator_and_loss(X_new, y_new)[1]
        covered["mean"] += bool(estimate.mean_lower <= losses.mean() <= estimate.mean_upper)
        covered["rows"] += float(np.mean((estimate.lower <= losses) & (losses <= estimate.upper)))
        for place, (name, (_, lower, upper)) in zip(("first", "second"), estimate.metrics.items()):
            covered[place] += bool(lower <= verdict.metrics[name]["known"] <= upper)
    covered = {name: round(value, 4) for name, value in covered.items()}
    return {"draws": len(draws), "found": found, "covered": covered}


def _numbers(noise: Callable[[np.random.Generator, int], NDArray[Any]], *, classes: bool = False) -> Draw:
    """Return how to draw rows with a category and missing values, and a target with such a noise."""

    def one(n: int, rng: np.random.Generator) -> Rows:
        X = rng.normal(size=(n, 4))
        X[:, 3] = np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(size=n))
        frame = pd.DataFrame(X, columns=list("abcd"))
        frame["kind"] = rng.choice([f"k{i}" for i in range(20)], n)
        y = np.abs(X[:, 0]) + X[:, 1] + noise(rng, n)
        return frame, np.where(y > 0.8, "yes", "no") if classes else y

    return lambda rng, sizes, _: [one(n, rng) for n in sizes]


def _real(name: str) -> Draw:
    """Return how to draw rows of a data set: the first ones are fitted, of the rest each lot has its own."""
    rows = load(name)
    order = np.random.default_rng(0).permutation(len(rows.y))
    X, y = rows.X.iloc[order].reset_index(drop=True), np.asarray(rows.y)[order]
    n_fitted = MODELS * FITTED

    def draw(rng: np.random.Generator, sizes: tuple[int, ...], is_fit: bool) -> list[Rows]:
        known = np.arange(n_fitted) if is_fit else np.arange(n_fitted, len(y))
        drawn = np.split(rng.permutation(known)[: sum(sizes)], np.cumsum(sizes)[:-1])
        return [(X.iloc[lot].reset_index(drop=True), y[lot]) for lot in drawn]

    return draw


TASKS: dict[str, Callable[[], Draw]] = {
    "normal noise": lambda: _numbers(lambda rng, n: 0.5 * rng.normal(size=n)),
    "t3 noise": lambda: _numbers(lambda rng, n: 0.5 * rng.standard_t(3, size=n)),
    "lognormal noise": lambda: _numbers(lambda rng, n: rng.lognormal(size=n) - np.exp(0.5)),
    "two classes": lambda: _numbers(lambda rng, n: rng.logistic(size=n), classes=True),
    "california": lambda: _real("california"),
    "higgs-10k-h2o": lambda: _real("higgs-10k-h2o"),
}
