"""The paper's drifter: a model beside the mean of its neighbours in the embedding (Section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._sklearn import num_samples, safe_indexing
from gbmap._subject import dense
from gbmap.drift._calibration import Measures
from gbmap.drift._neighbours import Neighbours
from gbmap.drift._watched import Watched
from gbmap.drift.explanation import DriftExplanation
from gbmap.inspection._results import squeeze

Array = NDArray[Any]

_ROWS_AT_A_TIME = 1 << 16  # scored together: bounds the memory for any number of rows


@dataclass(frozen=True)
class Drifter:
    """A fitted model and its reference rows: everything that the indicator needs.

    Attributes
    ----------
    watched : Watched
    inputs : array or CSR matrix of shape (n, q)
        The reference rows as inputs of the GBMAP.
    scores : array of shape (n, K)
        f - f_0 of the reference rows.
    neighbours : Neighbours
    """

    watched: Watched
    inputs: Any
    scores: Array
    neighbours: Neighbours

    @classmethod
    def of(
        cls, watched: Watched, X: Any, y: Array, n_neighbors: int, algorithm: str, n_jobs: int | None
    ) -> Drifter:
        """Return the drifter with reference rows X, y."""
        inputs = watched.subject.read(X)
        scores = watched.score(X, inputs)
        if len(scores) < n_neighbors:
            raise ValueError(
                f"n_neighbors={n_neighbors} must be at most the number of reference rows, got "
                f"n_samples={len(scores)}; fit more rows, or lower n_neighbors."
            )
        values = watched.values(X, y, scores)
        neighbours = Neighbours(watched.embed(inputs), values, n_neighbors, algorithm, n_jobs)
        return cls(watched, inputs, scores, neighbours)

    def measure(self, X: Any) -> Measures:
        """Return the measures of rows, chunk by chunk."""
        return Measures.join([self._measure(rows) for rows in chunks(X)])

    def _measure(self, X: Any) -> Measures:
        inputs = self.watched.subject.read(X)
        distances, positions = self.neighbours.find(self.watched.embed(inputs))
        difference = self.watched.score(X, inputs) - self.neighbours.mean(positions)
        last = distances[:, -1].copy()  # a view would keep the distances to all neighbours alive
        return Measures(np.abs(difference).sum(axis=1), last)

    def calibrate(self, X: Any, y: Array) -> tuple[Measures, Array]:
        """Return the measures and losses of held-out rows."""
        return self.measure(X), self.watched.losses(X, y, "y_cal")

    def explain(self, X: Any) -> DriftExplanation:
        """Split f - f_kNN of rows."""
        watched, subject = self.watched, self.watched.subject
        inputs = subject.read(X)
        _, positions = self.neighbours.find(watched.embed(inputs))
        extrapolation = watched.score(X, inputs) - self.scores[positions].mean(axis=1)
        misfit = (self.scores[positions] - self.neighbours.values[positions]).mean(axis=1)
        shares = self._shares(dense(inputs), positions)
        return DriftExplanation(
            values=squeeze(subject.columns.collect(shares)),
            extrapolation=squeeze(extrapolation),
            misfit=squeeze(misfit),
            remainder=squeeze(
                extrapolation - shares.sum(axis=1) if watched.foreign is not None else 0 * misfit
            ),
            differences=squeeze(extrapolation + misfit),
            feature_names=subject.feature_names,
            output_names=watched.output_names,
        )

    def _shares(self, inputs: Array, positions: Array) -> Array:
        """Return the mean of integrated gradients from the neighbours to each row, of shape (n, q, K)."""
        ensemble, k = self.watched.subject.ensemble, positions.shape[1]
        total = np.zeros((*inputs.shape, ensemble.n_outputs))
        for nth in range(k):
            total += ensemble.integrated_gradient(inputs, dense(self.inputs[positions[:, nth]]))
        total /= k
        return total


def chunks(X: Any) -> Iterator[Any]:
    """Yield the rows of X, some at a time; at least once."""
    for start in range(0, max(1, num_samples(X)), _ROWS_AT_A_TIME):
        yield safe_indexing(X, slice(start, start + _ROWS_AT_A_TIME))
