"""Accuracy without tuning: models as they come, on the 70/30 splits of the predictors.

All run on one thread; a row keeps the processor seconds of its fit.
"""

from __future__ import annotations

import warnings

from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks.data import quality
from benchmarks.experiments.predictors import TEST_SIZE, THREADS
from benchmarks.methods.base import Result, timed, worked
from benchmarks.methods.linear import score_of
from benchmarks.methods.untuned import UNTUNED, Untuned
from benchmarks.problems import REAL_SETS
from benchmarks.records import Row
from benchmarks.runner import Settings, base_row, failure, measured, progress
from benchmarks.splits import REPEATING, apart, split
from benchmarks.textbook import TABLES

QUICK = ("autompg", "diabetes")
PROBLEMS = (*REAL_SETS, *map(apart, REPEATING), *TABLES)


def run(settings: Settings) -> None:
    """Score every method on every real set and split that is not there yet."""
    table = settings.table("defaults")
    for name in settings.datasets or (QUICK if settings.quick else PROBLEMS):
        for repeat in range(settings.repeats):
            for method in settings.choose(UNTUNED):
                row = base_row(name, method.name, repeat, THREADS)
                if settings.fresh or not table.finished(row):
                    try:
                        row |= _scored(name, method, repeat)
                    except Exception as error:
                        row |= {"status": failure(error)}
                    table.put(row)
                    print(progress(row), row.get("extra", ""), flush=True)


def _scored(name: str, method: Untuned, repeat: int) -> Row:
    rows = split(name, repeat, TEST_SIZE)
    model, labels = method.make(rows.train, repeat), rows.train.y
    if rows.task == "classification":
        labels = (labels > 0).astype(int)
    with warnings.catch_warnings(), threadpool_limits(THREADS):
        warnings.simplefilter("ignore")
        cpu, (seconds, _) = worked(lambda: timed(lambda: model.fit(rows.train.X, labels)))
    if rows.task == "classification":
        found = model.predict_proba(rows.test.X)[:, 1]
        extra = {"score": quality(rows.task, rows.test.y, found - 0.5)}
        extra["log_loss"] = float(log_loss(rows.test.y > 0, found))
    else:
        extra = {"score": quality(rows.task, rows.test.y, score_of(model, rows.test.X))}
    return measured(rows.train, Result(seconds, extra=extra | {"cpu_seconds": round(cpu, 4)}))
