"""GBMAP whose learners start from several random places, watched as it is fitted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import entropy

from benchmarks.data import Data
from benchmarks.internals import passes_of
from benchmarks.methods.base import Result, timed
from benchmarks.methods.gbmap import GBMAP, quiet_fit


@dataclass(frozen=True)
class Starts:
    """GBMAP with so many random starts of each learner.

    After each learner it notes the processor seconds and the loss, as a share of the best constant's.
    """

    n_init: int
    m: int = 16

    @property
    def name(self) -> str:
        return f"starts-{self.n_init}"

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        model = GBMAP(self.m, {"n_init": self.n_init, "refine": False}).estimator(data.task, seed, threads)
        clock = Clock()
        model.set_callbacks(clock)
        seconds, _ = timed(lambda: quiet_fit(model, data))
        losses = np.asarray(model.loss_curve_[1:])
        extra = {
            "cpu_seconds": np.round(clock.seconds[: len(losses)], 4).tolist(),
            "shares": np.round(losses / constant_loss(data), 6).tolist(),
        }
        return Result(seconds, float(losses[-1]), passes_of(model), extra=extra)


def constant_loss(data: Data) -> float:
    """The mean loss of the best constant score."""
    if data.task == "regression":
        return float(np.var(data.y))
    share = float(np.mean(data.y > 0))
    return float(entropy([share, 1 - share]))


@dataclass
class Clock:
    """A callback that notes the processor seconds since the fit began, after each learner and at the end."""

    seconds: list[float] = field(default_factory=list)
    began: float = 0.0

    def setup(self, estimator: Any, context: Any) -> None:
        self.began = time.process_time()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing is noted."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        self.seconds.append(time.process_time() - self.began)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing is noted."""
