"""Random search of settings, by folds of the rows it is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ParameterSampler, StratifiedKFold

from benchmarks.data import Data, quality
from benchmarks.methods.base import Predictor, worked


@dataclass(frozen=True)
class Budget:
    """How many settings are drawn, and by how many of five folds each is judged.

    A draw is judged at every size that its fit holds, so that the size itself need not be drawn.
    """

    draws: int
    folds: int = 5


class Found(NamedTuple):
    """The settings that were chosen, and the processor seconds of the fits that were tried, if any were."""

    settings: dict[str, Any]
    seconds: float | None = None


FOLDS = 5


def tune(method: Predictor, data: Data, budget: Budget, seed: int) -> Found:
    """The settings with the best mean R2 or accuracy; the first drawn, and the smallest, among equals."""
    space = dict(method.space(data))
    if not space:
        return Found({})
    drawn = list(ParameterSampler(space, budget.draws, random_state=seed))
    judged, seconds = [], 0.0
    for nth, settings in enumerate(drawn):
        took, scores = _by_size(method, data, settings, budget.folds, seed)
        judged += [(score, -nth, -size) for size, score in scores.items()]
        seconds += took
    _, nth, size = max(judged)
    return Found({**drawn[-nth], **({"size": -size} if size else {})}, seconds)


def _by_size(
    method: Predictor, data: Data, settings: dict[str, Any], folds: int, seed: int
) -> tuple[float, dict[int, float]]:
    """The processor seconds of the fits, and the mean score of every size."""
    total, scores = 0.0, defaultdict[int, list[float]](list)
    for known, new in _folds(data, folds, seed):
        seconds, model = worked(partial(method.train, data.part(known), settings, seed=seed))
        total += seconds
        for size, score in method.path(model, data.X[new]).items():
            scores[size].append(quality(data.task, data.y[new], score))
    return total, {size: float(np.mean(values)) for size, values in scores.items()}


def _folds(data: Data, folds: int, seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    kind = StratifiedKFold if data.task == "classification" else KFold
    cut = kind(FOLDS, shuffle=True, random_state=seed).split(data.X, data.y)
    return (pair for _, pair in zip(range(folds), cut))
