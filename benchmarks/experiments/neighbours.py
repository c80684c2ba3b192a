"""Finding the nearest rows in the embedding: exact by trees or all pairs, and approximate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Data
from benchmarks.environment import usable_cores
from benchmarks.methods.base import MissingPeerError, Result, peer_versions, timed
from benchmarks.runner import Settings, base_row, failure, measured, progress
from gbmap import GBMAPRegressor

Array = NDArray[Any]
Search = Callable[[Array], Array]

M, K, P = 20, 5, 25
N_REFERENCE = (10_000, 100_000, 1_000_000)
N_QUERIES = 1000
EXACT = ("kd_tree", "ball_tree", "brute")
APPROXIMATE = "pynndescent"
METHODS = (*EXACT, APPROXIMATE)


def few_directions(X: Array, noise: Array) -> Array:
    """A target of five columns: its embedding varies along few directions."""
    target: Array = np.abs(X[:, 0] + X[:, 1] / 2) + np.tanh(X[:, 2]) + X[:, 3] * X[:, 4] + 0.3 * noise
    return target


def many_directions(X: Array, noise: Array) -> Array:
    """A sum of cosines of all columns: each learner looks elsewhere."""
    target: Array = np.cos(1.5 * X).sum(axis=1)
    return target


TARGETS = {"few directions": few_directions, "many directions": many_directions}


def run(settings: Settings) -> None:
    """Measure each size and method that is not there yet; one repeat, since building takes minutes."""
    table, threads = settings.table("neighbours"), usable_cores()
    sizes = N_REFERENCE[:2] if settings.quick else N_REFERENCE
    for kind in TARGETS:
        rows = None
        for n in sizes:
            name = f"{kind}, {n} reference rows"
            todo = [
                method
                for method in METHODS
                if settings.fresh or not table.finished(base_row(name, method, 0, threads))
            ]
            if not todo:
                continue
            rows = embedded(kind) if rows is None else rows
            reference, queries = rows[:n], rows[-N_QUERIES:]
            truth = _search("kd_tree", reference)[1](queries)
            for method in todo:
                row = base_row(name, method, 0, threads) | {"m": str(M)}
                data = Data(reference, np.zeros(n), "regression")
                try:
                    row |= measured(data, measure(method, reference, queries, truth))
                except Exception as error:
                    row |= {"status": failure(error)}
                table.put(row)
                print(progress(row), flush=True)


def embedded(kind: str) -> Array:
    """The embedding of a million rows and some queries, by a model of the first 10^5."""
    rng = np.random.default_rng(0)
    n = max(N_REFERENCE) + N_QUERIES
    X = rng.normal(size=(n, P)).astype(np.float32)
    y = TARGETS[kind](X, rng.normal(size=n))
    model = GBMAPRegressor(M, tol=1e-3, knots=0, random_state=0).fit(X[:100_000], y[:100_000])
    phi: Array = model.transform(X)
    return phi


def measure(method: str, reference: Array, queries: Array, truth: Array) -> Result:
    """Seconds to find the neighbours of all queries; seconds to build, and the share of neighbours found."""
    build, search = _search(method, reference)
    search(queries[:10])  # compiles, where there is something to compile
    seconds, found = timed(lambda: search(queries))
    recall = float(np.mean([len(set(a) & set(b)) / K for a, b in zip(truth, found)]))
    peer = peer_versions(APPROXIMATE) if method == APPROXIMATE else ""
    return Result(seconds, peer=peer, extra={"build": build, "recall": recall})


def _search(method: str, reference: Array) -> tuple[float, Search]:
    """The seconds to build an index, and a function that gives the positions of the nearest rows."""
    if method != APPROXIMATE:
        from sklearn.neighbors import NearestNeighbors

        exact = NearestNeighbors(n_neighbors=K, metric="manhattan", algorithm=method, n_jobs=-1)
        build, _ = timed(lambda: exact.fit(reference))
        return build, lambda queries: exact.kneighbors(queries)[1]
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise MissingPeerError("pynndescent is not installed") from error
    build, index = timed(lambda: NNDescent(reference, metric="manhattan", random_state=0))
    index.prepare()
    return build, lambda queries: index.query(queries, k=K)[0]
