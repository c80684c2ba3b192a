"""Boosted trees by XGBoost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import randint

from benchmarks.data import Data, Split, mean_loss
from benchmarks.methods.base import MissingPeerError, Outcome, Result, Settings, peer_versions, timed

# The ranges of the paper's Table 2, where the number of trees goes from 100 to the largest.
TABLE_2 = MappingProxyType({"max_depth": randint(1, 6), "subsample": np.linspace(0.5, 1, 6).tolist()})
LARGEST, STEP = 2000, 100


@dataclass(frozen=True)
class XGBoost:
    """``XGBRegressor`` or ``XGBClassifier`` with a fixed number of trees, otherwise as it comes."""

    n_trees: int = 500
    max_depth: int = 4
    name: str = "xgboost"
    m: int | None = None

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        model = estimator(
            data, n_estimators=self.n_trees, max_depth=self.max_depth, n_jobs=threads, random_state=seed
        )
        y = labels(data)
        seconds, _ = timed(lambda: model.fit(data.X, y))
        loss = mean_loss(data.task, data.y, model.predict(data.X, output_margin=True))
        return Result(seconds, loss, peer=peer_versions("xgboost-cpu"))


@dataclass(frozen=True)
class XGBoostPredictor:
    """XGBoost with the settings of the paper's Table 2; one fit holds the scores of fewer trees."""

    name: str = "xgboost"

    def space(self, data: Data) -> Mapping[str, Any]:
        return TABLE_2

    def train(self, data: Data, settings: Settings, *, seed: int) -> Any:
        params = {name: value for name, value in settings.items() if name != "size"}
        trees = settings.get("size", LARGEST)
        model = estimator(data, n_estimators=trees, n_jobs=1, random_state=seed, **params)
        return model.fit(data.X, labels(data))

    def path(self, model: Any, X: NDArray[Any]) -> dict[int, NDArray[Any]]:
        sizes = range(STEP, model.n_estimators + 1, STEP)
        return {size: model.predict(X, output_margin=True, iteration_range=(0, size)) for size in sizes}

    def told(self, model: Any) -> Mapping[str, float]:
        return {}

    def peer(self) -> str:
        return peer_versions("xgboost-cpu")


@dataclass(frozen=True)
class XGBoostSized:
    """XGBoost with so many trees of depth 4; a split is a column and a threshold, a leaf a value."""

    name: str = "xgboost"
    sizes: tuple[int, ...] = (3, 10, 30, 100, 300, 1000)

    def at(self, size: int, split: Split, *, seed: int) -> Outcome:
        model = estimator(split.train, n_estimators=size, max_depth=4, random_state=seed)
        y = labels(split.train)
        seconds, _ = timed(lambda: model.fit(split.train.X, y))
        nodes = "\n".join(model.get_booster().get_dump()).splitlines()
        leaves = sum("leaf=" in node for node in nodes)
        margin = model.predict(split.test.X, output_margin=True)
        return Outcome(seconds, 2 * (len(nodes) - leaves) + leaves, margin, peer_versions("xgboost-cpu"))


def estimator(data: Data, **params: Any) -> Any:
    """The unfitted model."""
    try:
        import xgboost
    except ImportError as error:
        raise MissingPeerError("pip install -r benchmarks/requirements.txt") from error
    kind = xgboost.XGBClassifier if data.task == "classification" else xgboost.XGBRegressor
    return kind(**params)


def labels(data: Data) -> NDArray[Any]:
    """XGBoost takes no labels but 0 and 1."""
    return (data.y > 0).astype(int) if data.task == "classification" else data.y
