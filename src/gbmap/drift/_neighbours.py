"""The nearest reference rows in the embedding distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
    phi : array of shape (n, M)
        The embedding of the reference rows.
    values : array of shape (n, K)
        What each reference row contributes to the prediction of its neighbours.
    n_neighbors : int
    algorithm : str
    n_jobs : int or None
    """

    phi: Array
    values: Array
    n_neighbors: int
    algorithm: str
    n_jobs: int | None

    @cached_property
    def _index(self) -> Any:
        if self.algorithm == "approximate":
            pynndescent = need("pynndescent", "approximate")
            index = pynndescent.NNDescent(self.phi, metric="manhattan", random_state=0, n_jobs=self.n_jobs)
            index.prepare()
            return index
        neighbours = NearestNeighbors(metric="manhattan", algorithm=self.algorithm, n_jobs=self.n_jobs)
        return neighbours.fit(self.phi)

    def find(self, phi: Array) -> tuple[Array, Array]:
        """Return distances and positions of the nearest reference rows, of shape (n, k)."""
        if isinstance(self._index, NearestNeighbors):
            found: tuple[Array, Array] = self._index.kneighbors(phi, self.n_neighbors)
            return found
        positions, distances = self._index.query(phi, self.n_neighbors)
        return np.asarray(distances, dtype=np.float64), positions

    def mean(self, positions: Array) -> Array:
        """Return f_kNN, the mean of the neighbours' values, of shape (n, K)."""
        mean: Array = self.values[positions].mean(axis=1)
        return mean
