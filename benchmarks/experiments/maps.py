"""Maps: two coordinates of every method, half of the rows to learn from and half to draw and to judge.

OLS, or logistic regression with C = 100, reads the two coordinates. The first split keeps some of its points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import methods
from benchmarks.data import Data, Split
from benchmarks.experiments.features import TEST_SIZE, THREADS
from benchmarks.methods.base import Coordinates, Embedding, Result
from benchmarks.methods.linear import read_out
from benchmarks.problems import DATA_SEED
from benchmarks.records import Row
from benchmarks.runner import Settings, base_row, failure, measured, progress
from benchmarks.splits import split

PROBLEMS = ("concrete", "california", "german-credit")
QUICK = ("concrete",)
SIZE, DRAWN = 2, 600


def run(settings: Settings) -> None:
    """Make the map of every method, problem and split that is not there yet, the first splits first."""
    table = settings.table("maps")
    for repeat in range(settings.repeats):
        for name in settings.datasets or (QUICK if settings.quick else PROBLEMS):
            for method in settings.choose(methods.MAPS):
                row = base_row(name, method.name, repeat, THREADS) | {"m": str(SIZE)}
                if settings.fresh or not table.finished(row):
                    row |= _attempt(name, method, repeat)
                    table.put(row)
                    print(progress(row), flush=True)


def _attempt(name: str, method: Embedding, repeat: int) -> Row:
    parts = split(name, repeat, TEST_SIZE)
    try:
        found = next(iter(method.embed(parts, [SIZE], seed=repeat)))
    except Exception as error:
        return {"status": failure(error)}
    train = Data(found.train, parts.train.y, parts.task)
    extra: dict[str, Any] = {"score": read_out(train, Data(found.test, parts.test.y, parts.task))}
    if repeat == 0:
        extra["points"] = _points(parts, found)
    return measured(parts.train, Result(found.seconds, peer=found.peer, extra=extra))


def _points(parts: Split, found: Coordinates) -> dict[str, list[float]]:
    """Both coordinates and the target of some test rows, the same ones for every method."""
    few = np.random.default_rng(DATA_SEED).permutation(len(parts.test.y))[:DRAWN]
    columns = {"first": found.test[few, 0], "second": found.test[few, 1], "target": parts.test.y[few]}
    return {name: [float(f"{value:.3g}") for value in values] for name, values in columns.items()}
