"""The local linear model of one row of airquality: the paper's Figure 3.

m = 20, beta = 5, lambda = 1e-3, at most 200 iterations, as for drift; each repeat fits a random 70 % of the
rows, all columns, and explains the 50th of them. The paper's model and its 50th row cannot be known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.data import Data
from benchmarks.experiments.drift import THREADS, WATCHED
from benchmarks.methods.base import Result, timed
from benchmarks.runner import Settings, base_row, measured, progress
from benchmarks.splits import load
from gbmap.inspection import explain

SET, NTH, METHOD = "airquality", 50, "gbmap"


def run(settings: Settings) -> None:
    """Explain the row in each repeat that is not there yet."""
    table, rows = settings.table("local_model"), load(SET)
    for repeat in range(settings.repeats):
        row = base_row(SET, METHOD, repeat, THREADS) | {"m": str(WATCHED.m)}
        if not settings.fresh and table.finished(row):
            continue
        frame, _, y, _ = train_test_split(rows.X, rows.y, test_size=0.3, random_state=repeat)
        model = WATCHED.estimator(rows.task, repeat, THREADS)
        seconds, _ = timed(lambda model=model, frame=frame, y=y: model.fit(frame, y))
        row |= measured(Data(frame.to_numpy(), y, rows.task), Result(seconds, extra=_told(model, frame)))
        table.put(row)
        print(progress(row), flush=True)


def _told(model: Any, frame: Any) -> dict[str, Any]:
    """Coefficients per standard deviation of the row, and their mean size over all training rows."""
    explained = explain(model, frame, standardized=True)
    row, typical = explained.coefficients[NTH - 1], np.abs(explained.coefficients).mean(axis=0)
    names = [str(name) for name in explained.feature_names]
    return {
        "row": {name: float(f"{value:.4g}") for name, value in zip(names, row)},
        "typical": {name: float(f"{value:.4g}") for name, value in zip(names, typical)},
    }
