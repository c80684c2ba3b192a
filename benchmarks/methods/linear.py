"""Ordinary least squares and logistic regression: a predictor, and what reads coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from scipy.stats import uniform
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import Data, Task, quality
from benchmarks.methods.base import Settings

READOUT_C = 100.0


@dataclass(frozen=True)
class Linear:
    """OLS, or logistic regression whose penalty 1 / C is drawn from U(1e-5, 1) as in the paper's Table 2."""

    name: str = "linear"

    def space(self, data: Data) -> Mapping[str, Any]:
        return {} if data.task == "regression" else {"penalty": uniform(1e-5, 1 - 1e-5)}

    def train(self, data: Data, settings: Settings, *, seed: int) -> Any:
        return linear_model(data.task, 1 / settings.get("penalty", 1.0)).fit(data.X, data.y)

    def path(self, model: Any, X: NDArray[Any]) -> dict[int, NDArray[Any]]:
        return {0: score_of(model, X)}

    def told(self, model: Any) -> Mapping[str, float]:
        return {}

    def peer(self) -> str:
        return ""


def linear_model(task: Task, C: float) -> Any:
    """The unfitted model; classes on standardised columns, without which the solver stops early."""
    if task == "regression":
        return LinearRegression()
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=2000))


def score_of(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    """f of every row."""
    scores: NDArray[Any] = (
        model.decision_function if hasattr(model, "decision_function") else model.predict
    )(X)
    return scores


def read_out(train: Data, test: Data) -> float:
    """R2 or accuracy on test rows of the linear model of coordinates: OLS, or logistic with C = 100."""
    model = linear_model(train.task, READOUT_C).fit(train.X, train.y)
    return quality(test.task, test.y, score_of(model, test.X))
