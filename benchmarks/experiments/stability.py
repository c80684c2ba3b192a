"""How far maps depend on the seed: fits of the same rows with other seeds, coordinate by coordinate.

"coordinates" are the first two of `transform`, "map" the two that `EmbeddingDisplay` draws by default, of
fits as they come; the others are first coordinates again, of fits with other settings, or of fits that know
nine tenths of the rows, others for each seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Data
from benchmarks.methods.base import Result, worked
from benchmarks.methods.gbmap import AS_IT_COMES, GBMAP
from benchmarks.problems import real
from benchmarks.records import Row
from benchmarks.runner import Settings, base_row, failure, measured, progress

PROBLEMS = ("wine-red", "california", "concrete", "digits")
QUICK = ("concrete",)
THREADS, M, SEEDS = 1, 20, range(5)
AS_THEY_COME, DRAWN, OTHER_ROWS, KEPT = "coordinates", "map", "other rows", 0.9
# Settings of fits, and what is looked at in those that come by default.
FITS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        AS_THEY_COME: {},
        OTHER_ROWS: {},
        "not refined": {"refine": False},
        "five starts": {"n_init": 5},
        "two learners": {"m": 2},
    }
)


def run(settings: Settings) -> None:
    """Fit with every seed where that is not done yet."""
    table = settings.table("stability")
    for name in settings.datasets or (QUICK if settings.quick else PROBLEMS):
        for fit in FITS:
            if not settings.fresh and table.finished(base_row(name, fit, 0, THREADS)):
                continue
            for method, found in _attempt(name, fit).items():
                row = base_row(name, method, 0, THREADS) | found
                table.put(row)
                print(progress(row), row.get("extra", ""), flush=True)


def _attempt(name: str, fit: str) -> dict[str, Row]:
    try:
        data = _load(name)
        settings = dict(FITS[fit])
        m = settings.pop("m", M)
        parts = [_part(data, seed) if fit == OTHER_ROWS else data for seed in SEEDS]
        seconds, models = worked(lambda: [_fitted(*each, m, settings) for each in zip(parts, SEEDS)])
        looks = {fit: [model.transform(data.X)[:, :2] for model in models]}
        if fit == AS_THEY_COME:
            looks[DRAWN] = [_drawn(model, data.X) for model in models]
    except Exception as error:
        return {fit: {"status": failure(error)}}
    return {
        method: measured(data, Result(seconds / len(SEEDS), extra=_agreement(maps))) | {"m": str(m)}
        for method, maps in looks.items()
    }


def _part(data: Data, seed: int) -> Data:
    chosen = np.random.default_rng(seed).permutation(len(data.y))[: round(KEPT * len(data.y))]
    return data.part(np.sort(chosen))


def _fitted(data: Data, seed: int, m: int, settings: Mapping[str, Any]) -> Any:
    model = GBMAP(m, {**AS_IT_COMES, **settings}).estimator(data.task, seed, THREADS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data.X, data.y)


def _drawn(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    import matplotlib.pyplot as plt

    from gbmap.plots import EmbeddingDisplay

    plt.switch_backend("agg")
    display = EmbeddingDisplay.from_estimator(model, X, max_rows=len(X))
    plt.close(display.figure_)
    coordinates: NDArray[Any] = display.coordinates
    return coordinates


def _agreement(maps: Sequence[NDArray[Any]]) -> dict[str, list[float]]:
    """For either coordinate, the correlation over the rows of every two seeds; a turned sign counts."""
    return {
        place: [round(float(np.corrcoef(a[:, j], b[:, j])[0, 1]), 4) for a, b in combinations(maps, 2)]
        for j, place in enumerate(("first", "second"))
    }


def _load(name: str) -> Data:
    if name != "digits":
        return real(name).load()
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return Data(X, np.where(digit % 2, 1, -1), "classification")
