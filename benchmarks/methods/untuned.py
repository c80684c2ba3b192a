"""Predictors as they come: default settings, no search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.data import Data
from benchmarks.methods import xgboost
from benchmarks.methods.chosen import estimator
from benchmarks.methods.linear import linear_model


@dataclass(frozen=True)
class Untuned:
    """A name, and what makes the unfitted model of a task and a seed, on one thread."""

    name: str
    make: Callable[[Data, int], Any]


def _gbmap(data: Data, seed: int) -> Any:
    return estimator(data.task, knots="auto", refine="auto", random_state=seed)


def _trees(data: Data, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if data.task == "classification" else HistGradientBoostingRegressor
    return kind(random_state=seed)


def _ebm(data: Data, seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    is_classes = data.task == "classification"
    kind = ExplainableBoostingClassifier if is_classes else ExplainableBoostingRegressor
    return kind(n_jobs=1, random_state=seed)


def _realmlp(data: Data, seed: int) -> Any:
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    kind = RealMLP_TD_Classifier if data.task == "classification" else RealMLP_TD_Regressor
    return kind(device="cpu", n_threads=1, random_state=seed)


UNTUNED = (
    Untuned("gbmap", _gbmap),
    Untuned("gbmap-auto", lambda data, seed: _gbmap(data, seed).set_params(n_components="auto")),
    Untuned("gbmap-plain", lambda data, seed: _gbmap(data, seed).set_params(knots=0)),
    Untuned("gbmap-boosted", lambda data, seed: _gbmap(data, seed).set_params(refine=False)),
    Untuned("linear", lambda data, seed: linear_model(data.task, 1.0)),
    Untuned("hist-gradient-boosting", _trees),
    Untuned("xgboost", lambda data, seed: xgboost.estimator(data, n_jobs=1, random_state=seed)),
    Untuned("ebm", _ebm),
    Untuned("realmlp", _realmlp),
)
