"""GBMAP itself, through its public estimators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Data, mean_loss
from benchmarks.internals import passes_of
from benchmarks.methods.base import Result, timed

# The settings of the paper's runtime table. Its synthetic data come unscaled.
TABLE_3 = MappingProxyType({"beta": 1.0, "l2_regularization": 1e-3, "max_iter": 100, "standardize": False})

# Scores are taken in blocks so that judging a fit needs no more memory than the fit.
SCORE_ROWS = 1 << 18


@dataclass(frozen=True)
class GBMAP:
    """``GBMAPClassifier`` or ``GBMAPRegressor``, as the task asks; the whole ``fit`` is timed."""

    m: int
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str = "gbmap"

    def estimator(self, task: str, seed: int, threads: int | None) -> Any:
        """The unfitted estimator."""
        import gbmap

        kind = gbmap.GBMAPClassifier if task == "classification" else gbmap.GBMAPRegressor
        return kind(n_components=self.m, n_jobs=threads, random_state=seed, **self.params)

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        model = self.estimator(data.task, seed, threads)
        seconds, _ = timed(lambda: model.fit(data.X, data.y))
        loss = mean_loss(data.task, data.y, scores(model, data))
        return Result(seconds, loss, passes_of(model))


def scores(model: Any, data: Data) -> NDArray[Any]:
    """f(x) of every row."""
    score = model.decision_function if data.task == "classification" else model.predict
    starts = range(0, len(data.X), SCORE_ROWS)
    return np.concatenate([score(data.X[start : start + SCORE_ROWS]) for start in starts])
