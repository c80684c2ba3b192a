"""Explanations beside SHAP: seconds a row, and how far their sums are from the predictions.

One set, every model as it comes, on one thread. `attributions` and SHAP's permutations explain the same gbmap
against the same background rows; SHAP's exact values of trees explain an XGBoost, against these rows and, as
people ask for them, without any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.data import Split
from benchmarks.methods import xgboost
from benchmarks.methods.base import MissingPeerError, Result, peer_versions, timed, worked
from benchmarks.methods.gbmap import AS_IT_COMES, GBMAP
from benchmarks.problems import DATA_SEED
from benchmarks.records import Row
from benchmarks.runner import Settings, base_row, failure, measured, progress
from benchmarks.splits import split

PROBLEM, TEST_SIZE, M, THREADS = "california", 0.3, 20, 1
BACKGROUND = 100
ATTRIBUTIONS, PERMUTATIONS, TREES, TREES_BESIDE = "attributions", "permutations", "trees", "trees, background"


@dataclass(frozen=True)
class Explained:
    """What a method says of rows: shares of columns, where they start, and what they should add up to."""

    values: NDArray[Any]
    base: NDArray[Any]
    predictions: NDArray[Any]

    def gap(self) -> float:
        """The largest distance of a sum to its prediction, in standard deviations of the predictions."""
        off = self.base + self.values.sum(axis=1) - self.predictions
        return float(np.abs(off).max() / self.predictions.std())


@dataclass(frozen=True)
class Asked:
    """A method, of how many rows it is asked, and what explains them by a fitted model and a background."""

    name: str
    n_rows: int
    explain: Callable[[Any, NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]


def _attributions(model: Any, X: NDArray[Any], background: NDArray[Any]) -> tuple[Any, Any]:
    from gbmap.inspection import attributions

    found = attributions(model, X, background)
    return found.values, found.base_values


def _permutations(model: Any, X: NDArray[Any], background: NDArray[Any]) -> tuple[Any, Any]:
    shap = _shap()
    explainer = shap.PermutationExplainer(model.predict, shap.maskers.Independent(background, BACKGROUND))
    found = explainer(X, silent=True)
    return found.values, found.base_values


def _trees(model: Any, X: NDArray[Any], background: NDArray[Any]) -> tuple[Any, Any]:
    found = _shap().TreeExplainer(model)(X, check_additivity=False)
    return found.values, found.base_values


def _trees_beside(model: Any, X: NDArray[Any], background: NDArray[Any]) -> tuple[Any, Any]:
    found = _shap().TreeExplainer(model, background)(X, check_additivity=False)
    return found.values, found.base_values


METHODS = (
    Asked(ATTRIBUTIONS, 1000, _attributions),
    Asked(PERMUTATIONS, 50, _permutations),
    Asked(TREES, 1000, _trees),
    Asked(TREES_BESIDE, 1000, _trees_beside),
)


def run(settings: Settings) -> None:
    """Explain by every method and split what is not there yet."""
    table = settings.table("shapley")
    for repeat in range(settings.repeats):
        todo = [
            method
            for method in METHODS
            if settings.fresh or not table.finished(base_row(PROBLEM, method.name, repeat, THREADS))
        ]
        for name, found in measure(todo, repeat).items():
            row = base_row(PROBLEM, name, repeat, THREADS) | found
            table.put(row)
            print(progress(row), row.get("extra", ""), flush=True)


def measure(methods: list[Asked], seed: int) -> dict[str, Row]:
    """A row for every method; shares of the same gbmap are compared where both are there."""
    if not methods:
        return {}
    parts, rows, shares = split(PROBLEM, seed, TEST_SIZE), {}, {}
    background = parts.train.X[np.random.default_rng(DATA_SEED).permutation(len(parts.train.y))[:BACKGROUND]]
    with threadpool_limits(THREADS):
        models = {is_trees: _fitted(parts, is_trees, seed) for is_trees in {_asks_trees(m) for m in methods}}
        for method in methods:
            model, X = models[_asks_trees(method)], parts.test.X[: method.n_rows]
            try:
                cpu, (_, (values, base)) = worked(
                    lambda ask=method, model=model, X=X: timed(lambda: ask.explain(model, X, background))
                )
                found = Explained(values, np.asarray(base), model.predict(X))
            except Exception as error:
                rows[method.name] = {"status": failure(error)}
                continue
            shares[method.name] = values
            extra = {"rows": method.n_rows, "gap": found.gap(), **_beside(shares, method.name)}
            peer = "" if method.name == ATTRIBUTIONS else peer_versions("shap")
            rows[method.name] = measured(parts.train, Result(cpu / method.n_rows, peer=peer, extra=extra))
    return rows


def _asks_trees(method: Asked) -> bool:
    return method.name in (TREES, TREES_BESIDE)


def _fitted(parts: Split, is_trees: bool, seed: int) -> Any:
    if is_trees:
        model = xgboost.estimator(parts.train, n_jobs=THREADS, random_state=seed)
    else:
        model = GBMAP(M, AS_IT_COMES).estimator(parts.task, seed, THREADS)
    return model.fit(parts.train.X, parts.train.y)


def _beside(shares: dict[str, NDArray[Any]], name: str) -> dict[str, float]:
    """The correlation of SHAP's shares with the attributions of the same rows by the same model."""
    if name != PERMUTATIONS or ATTRIBUTIONS not in shares:
        return {}
    theirs = shares[name]
    ours = shares[ATTRIBUTIONS][: len(theirs)]
    return {"correlation": float(np.corrcoef(ours.ravel(), theirs.ravel())[0, 1])}


def _shap() -> Any:
    try:
        import shap
    except ImportError as error:
        raise MissingPeerError("shap is not installed") from error
    return shap
