"""The nearest reference rows in the embedding distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.neighbors import NearestNeighbors

from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.drift._places import Places

_FEW = 1000  # places among which an exact search is as quick as an approximate one
_WORK_NUMBERS = 1 << 22  # rows times places found, at a time


@dataclass(frozen=True)
class Neighbours:
    """Reference rows, searchable by the Manhattan distance of their embedding.

    Rows that tie for the last of the k places share it. So neither the way of the search nor the last bit of
    a distance decides what is found. Rows that the embedding does not tell apart are one place.

    Attributes
    ----------
    phi : array of shape (n, M)
        The embedding of the reference rows.
    values : array of shape (n, K)
        What each reference row contributes to the prediction of its neighbours.
    n_neighbors : int
    algorithm : str
    n_jobs : int or None
    rounding : float
        In the units of y: coordinates, scores and distances that differ by no more are equal.
    """

    phi: Array
    values: Array
    n_neighbors: int
    algorithm: str
    n_jobs: int | None
    rounding: float

    @cached_property
    def places(self) -> Places:
        """The distinct places of the reference rows, G of them."""
        return Places.of(self.phi, self.rounding)

    @cached_property
    def _place_values(self) -> Array:
        return self.places.means(self.values)

    @cached_property
    def _points(self) -> Array:
        return self.places.take(self.phi)

    @cached_property
    def _index(self) -> Any:
        if self._is_approximate:
            pynndescent = require("pynndescent", "approximate")
            index = pynndescent.NNDescent(
                self._points, metric="manhattan", random_state=0, n_jobs=self.n_jobs
            )
            index.prepare()
            return index
        algorithm = "kd_tree" if self.algorithm == "approximate" else self.algorithm
        return NearestNeighbors(metric="manhattan", algorithm=algorithm, n_jobs=self.n_jobs).fit(self._points)

    @property
    def _is_approximate(self) -> bool:
        return self.algorithm == "approximate" and len(self.places) > _FEW

    def find(self, phi: Array) -> tuple[Any, Array]:
        """Return how much each place counts for each row, and the distance to the k-th neighbour.

        Returns
        -------
        shares : CSR array of shape (n, G)
            Each row adds up to one.
        distances : array of shape (n,)
        """
        found, last = list(self._search(phi)), np.empty(len(phi))
        for rows, distances, _, _ in found:
            last[rows] = distances
        numbers, rows, places = (
            np.concatenate(parts)
            for parts in zip(
                *((shares[shares > 0], np.repeat(rows, (shares > 0).sum(axis=1)), places[shares > 0])
                  for rows, _, shares, places in found)
            )
        )  # fmt: skip
        return scipy.sparse.csr_array((numbers, (rows, places)), (len(phi), len(self.places))), last

    def _search(self, phi: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield positions of rows, distances to the k-th neighbour, shares of places, and these places."""
        rows, n_asked = np.arange(len(phi)), self.n_neighbors + 1
        while len(rows):
            n_asked = min(n_asked, len(self.places))
            step, still = max(1, _WORK_NUMBERS // n_asked), []
            for some in (rows[start : start + step] for start in range(0, len(rows), step)):
                distances, places = self._nearest(phi[some], n_asked)
                last, shares = self._share_out(distances, self.places.counts[places])
                # A place beyond those found may tie too, unless the farthest of them does not.
                is_done = distances[:, -1] > last + self.rounding
                is_done |= n_asked == len(self.places) or self._is_approximate
                yield some[is_done], last[is_done], shares[is_done], places[is_done]
                still.append(some[~is_done])
            rows, n_asked = np.concatenate(still), 4 * n_asked

    def _share_out(self, distances: Array, counts: Array) -> tuple[Array, Array]:
        """Return the distance to the k-th neighbour, (n,), and the share of each place found, (n, places)."""
        k = self.n_neighbors
        at = np.argmax(np.cumsum(counts, axis=1) >= k, axis=1)[:, None]
        last = np.take_along_axis(distances, at, axis=1)
        is_closer, is_found = distances < last - self.rounding, distances <= last + self.rounding
        closer, found = np.where(is_closer, counts, 0), np.where(is_found, counts, 0)
        left, tied = k - closer.sum(axis=1, keepdims=True), found - closer
        return last[:, 0], (closer + tied * (left / tied.sum(axis=1, keepdims=True))) / k

    def _nearest(self, phi: Array, n_asked: int) -> tuple[Array, Array]:
        """Return distances and positions of the nearest places, the nearest first, of shape (n, n_asked)."""
        if not self._is_approximate:
            return self._index.kneighbors(phi, n_asked)

        places, _ = self._index.query(phi, n_asked)  # it measures in float32
        distances = np.empty(places.shape)
        for nth in range(n_asked):
            distances[:, nth] = np.abs(phi - self._points[places[:, nth]]).sum(axis=1)
        order = np.argsort(distances, axis=1, kind="stable")
        return np.take_along_axis(distances, order, axis=1), np.take_along_axis(places, order, axis=1)

    def mean(self, shares: Any) -> Array:
        """Return f_kNN, the mean of the neighbours' values, of shape (n, K)."""
        return shares @ self._place_values
