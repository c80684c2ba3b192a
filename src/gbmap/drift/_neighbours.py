"""The nearest reference rows in the embedding distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from gbmap.inspection._results import need

Array = NDArray[Any]


@dataclass(frozen=True)
class Neighbours:
    """Reference rows, searchable by the Manhattan distance of their embedding.

    Attributes
    ----------
    values : array of shape (n, K)
        What each reference row contributes to the prediction of its neighbours.
    index : fitted NearestNeighbors or NNDescent
    n_neighbors : int
    """

    values: Array
    index: Any
    n_neighbors: int

    @classmethod
    def of(
        cls, phi: Array, values: Array, n_neighbors: int, algorithm: str, n_jobs: int | None
    ) -> Neighbours:
        """Return the reference rows with an embedding phi."""
        if algorithm == "approximate":
            pynndescent = need("pynndescent", "approximate")
            index = pynndescent.NNDescent(phi, metric="manhattan", random_state=0, n_jobs=n_jobs)
            index.prepare()
        else:
            index = NearestNeighbors(metric="manhattan", algorithm=algorithm, n_jobs=n_jobs).fit(phi)
        return cls(values, index, n_neighbors)

    def find(self, phi: Array) -> tuple[Array, Array]:
        """Return distances and positions of the nearest reference rows, of shape (n, k)."""
        if isinstance(self.index, NearestNeighbors):
            found: tuple[Array, Array] = self.index.kneighbors(phi, self.n_neighbors)
            return found
        positions, distances = self.index.query(phi, self.n_neighbors)
        return np.asarray(distances, dtype=np.float64), positions

    def mean(self, positions: Array) -> Array:
        """Return f_kNN, the mean of the neighbours' values, of shape (n, K)."""
        mean: Array = self.values[positions].mean(axis=1)
        return mean
