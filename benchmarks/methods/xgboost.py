"""Boosted trees by XGBoost."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import Data, mean_loss
from benchmarks.methods.base import MissingPeerError, Result, peer_versions, timed


@dataclass(frozen=True)
class XGBoost:
    """``XGBRegressor`` or ``XGBClassifier`` with a fixed number of trees, otherwise as it comes."""

    n_trees: int = 500
    max_depth: int = 4
    name: str = "xgboost"
    m: int | None = None

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        try:
            import xgboost
        except ImportError as error:
            raise MissingPeerError("pip install -r benchmarks/requirements.txt") from error
        classes = data.task == "classification"
        kind = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
        model = kind(n_estimators=self.n_trees, max_depth=self.max_depth, n_jobs=threads, random_state=seed)
        y = (data.y > 0).astype(int) if classes else data.y  # XGBoost takes no labels but 0 and 1
        seconds, _ = timed(lambda: model.fit(data.X, y))
        loss = mean_loss(data.task, data.y, model.predict(data.X, output_margin=True))
        return Result(seconds, loss, peer=peer_versions("xgboost-cpu"))
