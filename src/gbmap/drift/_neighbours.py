"""The nearest reference rows in the embedding distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

Array = NDArray[Any]


@dataclass(frozen=True)
class Neighbours:
    """Reference rows, searchable by the Manhattan distance of their embedding.

    Attributes
    ----------
    values : array of shape (n, K)
        What each reference row contributes to the prediction of its neighbours.
    index : fitted NearestNeighbors
    """

    values: Array
    index: NearestNeighbors

    @classmethod
    def of(
        cls, phi: Array, values: Array, n_neighbors: int, algorithm: str, n_jobs: int | None
    ) -> Neighbours:
        """Return the reference rows with an embedding phi."""
        index = NearestNeighbors(
            n_neighbors=n_neighbors, metric="manhattan", algorithm=algorithm, n_jobs=n_jobs
        )
        return cls(values, index.fit(phi))

    def find(self, phi: Array) -> tuple[Array, Array]:
        """Return distances and positions of the nearest reference rows, of shape (n, k)."""
        found: tuple[Array, Array] = self.index.kneighbors(phi)
        return found

    def mean(self, positions: Array) -> Array:
        """Return f_kNN, the mean of the neighbours' values, of shape (n, K)."""
        mean: Array = self.values[positions].mean(axis=1)
        return mean
