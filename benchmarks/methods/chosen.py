"""GBMAP with its parameters chosen by cross-validation, its learners refined together or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedShuffleSplit

from benchmarks.data import Data, Split, Task
from benchmarks.methods.base import Coordinates, Settings, timed
from benchmarks.methods.gbmap import quiet_fit
from benchmarks.methods.linear import score_of
from benchmarks.problems import DATA_SEED, SYNTH_COS, task_of
from benchmarks.splits import load

# What is tried for coordinates of real data: by folds of few rows, by one part of more, which says enough.
FEW_ROWS, FOLDS = 5_000, 5
REFINED = {"refine": True, "n_init": 2}
REAL_GRID = {"betas": (2, 5, 10), "l2_regularizations": (1e-3, 1e-2, 1e-1)}
# Synthetic data have a choice less, made once for all draws: rows are many, fits are slow.
SYNTHETIC_GRID = {"beta": [2, 3, 5], "l2_regularization": [1e-3, 1e-1, 1.0]}
SYNTHETIC = {"standardize": False}


@dataclass(frozen=True)
class ChosenPredictor:
    """``GBMAPRegressorCV`` or ``GBMAPClassifierCV``, without knots: a fit holds the whole choice."""

    name: str = "gbmap-cv"
    refine: bool = False

    def space(self, data: Data) -> Mapping[str, Any]:
        return {}

    def train(self, data: Data, settings: Settings, *, seed: int) -> Any:
        return quiet_fit(search(data.task, seed, {"refine": self.refine}), data)

    def path(self, model: Any, X: NDArray[Any]) -> dict[int, NDArray[Any]]:
        return {model.n_components_: score_of(model, X)}

    def told(self, model: Any) -> Mapping[str, float]:
        return choice(model)

    def peer(self) -> str:
        return ""


@dataclass(frozen=True)
class RefinedFeatures:
    """Refined coordinates. They are not nested, so every m has a fit of its own, which may choose fewer."""

    name: str = "gbmap-refined"

    def embed(self, split: Split, sizes: Sequence[int], *, seed: int) -> Iterator[Coordinates]:
        return (self._at(m, split, seed) for m in sizes)

    def _at(self, m: int, split: Split, seed: int) -> Coordinates:
        model = self._model(m, split, seed)
        seconds, _ = timed(lambda: quiet_fit(model, split.train))
        train, test = model.transform(split.train.X), model.transform(split.test.X)
        return Coordinates(m, train, test, seconds, extra=choice(model))

    def _model(self, m: int, split: Split, seed: int) -> Any:
        if split.synthetic:
            model = estimator(split.task, n_components=m, random_state=seed, **REFINED, **SYNTHETIC)
            return model.set_params(**_chosen_on_reserve(split.task, m))
        folds = FOLDS if len(split.train.y) <= FEW_ROWS else _a_third_held_out(split.task, seed)
        return search(split.task, seed, REFINED, n_components=m, cv=folds, **REAL_GRID)


def estimator(task: Task, **params: Any) -> Any:
    """An unfitted GBMAP on one thread, as the paper's unless told: without knots, not refined."""
    import gbmap

    kind = gbmap.GBMAPClassifier if task == "classification" else gbmap.GBMAPRegressor
    return kind(n_jobs=1, **{"knots": 0, "refine": False, **params})


def search(task: Task, seed: int, template: Mapping[str, Any], **params: Any) -> Any:
    """The unfitted choice among models like the template, on one thread."""
    import gbmap

    kind = gbmap.GBMAPClassifierCV if task == "classification" else gbmap.GBMAPRegressorCV
    return kind(estimator=estimator(task, **template), n_jobs=1, random_state=seed, **params)


def choice(model: Any) -> dict[str, float]:
    """What a fit has chosen, or was given."""
    best = getattr(model, "best_estimator_", model)
    ridge = float(np.mean(best.l2_regularization_))
    told = {"size": model.n_components_, "beta": best.beta, "l2_regularization": ridge}
    steps = getattr(best, "n_refinements_", None)
    return told if steps is None else told | {"refinements": int(steps.sum())}


@cache
def _chosen_on_reserve(task: Task, m: int) -> dict[str, float]:
    """beta and lambda of synthetic data by rows of the first draw that belong to no split."""
    (name,) = (name for name in SYNTH_COS if task_of(name) == task)
    reserve = load(name).reserve
    assert reserve is not None
    model = estimator(task, n_components=m, random_state=DATA_SEED, **REFINED, **SYNTHETIC)
    held_out = _a_third_held_out(task, DATA_SEED)
    tried = quiet_fit(GridSearchCV(model, SYNTHETIC_GRID, cv=held_out, refit=False), reserve)
    found: dict[str, float] = tried.best_params_
    return found


def _a_third_held_out(task: Task, seed: int) -> Any:
    kind = StratifiedShuffleSplit if task == "classification" else ShuffleSplit
    return kind(1, test_size=1 / 3, random_state=seed)
