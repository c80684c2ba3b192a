"""The paper's drifter: a model beside the mean of its neighbours in the embedding (Section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._fitted.model import dense
from gbmap._fitted.results import squeeze
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Measures
from gbmap.drift._monitored import MonitoredModel
from gbmap.drift._neighbours import Neighbours
from gbmap.drift.explanation import DriftExplanation

_ROWS_AT_A_TIME = 1 << 15  # scored together: bounds the memory for any number of rows
_PROBED_ROWS = 8  # whose scores tell whether the model is still the same
_SAME = 1e-6  # the part of their spread by which scores of the same model may differ
_WORK_NUMBERS = 1 << 18  # explained together: a dozen arrays of them stay small


@dataclass(frozen=True)
class Drifter:
    """A fitted model and its reference rows: everything that the indicator needs.

    Attributes
    ----------
    monitored : MonitoredModel
    inputs : array or CSR matrix of shape (n, q)
        The reference rows as inputs of the GBMAP.
    scores : array of shape (n, K)
        f - f_0 of the reference rows.
    neighbours : Neighbours
    probe : array, frame or None
        The first reference rows as given, of a foreign model only.
    """

    monitored: MonitoredModel
    inputs: Any
    scores: Array
    neighbours: Neighbours
    probe: Any

    @classmethod
    def of(
        cls, monitored: MonitoredModel, X: Any, y: Array, n_neighbors: int, algorithm: str, n_jobs: int | None
    ) -> Drifter:
        """Return the drifter with reference rows X, y."""
        inputs = _own(monitored.fitted.read(X), X)
        phi = monitored.embed(inputs)
        scores = monitored.score(X, phi)
        if len(scores) < n_neighbors:
            raise ValueError(
                f"n_neighbors={n_neighbors} must be at most the number of reference rows, got "
                f"n_samples={len(scores)}; fit more rows, or lower n_neighbors."
            )
        values = monitored.values(X, y, scores)
        rounding = monitored.rounding(inputs, scores)
        neighbours = Neighbours(phi, values, n_neighbors, algorithm, n_jobs, rounding)
        probe = None if monitored.foreign is None else deepcopy(safe_indexing(X, slice(0, _PROBED_ROWS)))
        return cls(monitored, inputs, scores, neighbours, probe)

    def check_model(self) -> None:
        """Refuse a model that has been fitted again, by its scores of the first reference rows."""
        before, ensemble = self.scores[:_PROBED_ROWS], self.monitored.fitted.ensemble
        if ensemble.weights.shape == (self.neighbours.phi.shape[1], self.inputs.shape[1]):
            now = self.monitored.score(self.probe, self.monitored.embed(self.inputs[:_PROBED_ROWS]))
            most = self.neighbours.rounding + _SAME * self.scores.std()
            if now.shape == before.shape and (np.abs(now - before) <= most).all():
                return
        raise ValueError(
            "the estimator no longer predicts as it did when this detector was fitted: it has been fitted "
            "again; fit the detector again too."
        )

    def measure(self, X: Any) -> Measures:
        """Return the measures of rows, chunk by chunk."""
        return Measures.join([self._measure(rows) for rows in chunks(X)])

    def _measure(self, X: Any) -> Measures:
        phi = self.monitored.embed(self.monitored.fitted.read(X))
        shares, distances = self.neighbours.find(phi)
        difference = self.monitored.score(X, phi) - self.neighbours.mean(shares)
        return Measures(np.abs(difference).sum(axis=1), distances)

    def calibrate(self, X: Any, y: Array) -> tuple[Measures, Array]:
        """Return the measures and losses of held-out rows."""
        return self.measure(X), self.monitored.losses(X, y, "y_cal")

    def explain(self, X: Any) -> DriftExplanation:
        """Split f - f_kNN of rows, chunk by chunk."""
        monitored, fitted = self.monitored, self.monitored.fitted
        n, p, K = num_samples(X), len(fitted.feature_names), fitted.ensemble.n_outputs
        values, (extrapolation, misfit, remainder) = np.empty((n, p, K)), np.empty((3, n, K))
        numbers_a_row = max(len(fitted.columns.source) * K, len(fitted.ensemble))
        start = 0
        for rows in chunks(X, max(1, _WORK_NUMBERS // numbers_a_row)):
            here = slice(start, start := start + num_samples(rows))
            values[here], extrapolation[here], misfit[here], remainder[here] = self._explain(rows)
        return DriftExplanation(
            values=squeeze(values),
            extrapolation=squeeze(extrapolation),
            misfit=squeeze(misfit),
            remainder=squeeze(remainder),
            differences=squeeze(extrapolation + misfit),
            feature_names=fitted.feature_names,
            output_names=monitored.output_names,
        )

    def _explain(self, X: Any) -> tuple[Array, Array, Array, Array | float]:
        """Return values, extrapolation, misfit and remainder of some rows."""
        fitted, neighbours = self.monitored.fitted, self.neighbours
        inputs = fitted.read(X)
        phi = self.monitored.embed(inputs)
        shares, _ = neighbours.find(phi)
        near = shares @ self._place_scores
        extrapolation = self.monitored.score(X, phi) - near
        gradients = self._gradients(dense(inputs), shares)
        remainder = 0.0 if self.monitored.foreign is None else extrapolation - gradients.sum(axis=1)
        return fitted.columns.collect(gradients), extrapolation, near - neighbours.mean(shares), remainder

    @cached_property
    def _place_scores(self) -> Array:
        return self.neighbours.places.means(self.scores)

    def _gradients(self, inputs: Array, shares: Any) -> Array:
        """Return the mean of integrated gradients from the neighbours to each row, of shape (n, q, K).

        A place counts by the first reference row there.
        """
        ensemble, first = self.monitored.fitted.ensemble, self.neighbours.places.first
        total, counts = np.zeros((*inputs.shape, ensemble.n_outputs)), np.diff(shares.indptr)
        for nth in range(counts.max()):
            rows = np.flatnonzero(counts > nth)
            entries = shares.indptr[rows] + nth
            near = dense(self.inputs[first[shares.indices[entries]]])
            gradients = ensemble.integrated_gradient(inputs[rows], near)
            total[rows] += shares.data[entries][:, None, None] * gradients
        return total


def chunks(X: Any, size: int | None = None) -> Iterator[Any]:
    """Yield the rows of X, some at a time; at least once."""
    size = _ROWS_AT_A_TIME if size is None else size
    for start in range(0, max(1, num_samples(X)), size):
        yield safe_indexing(X, slice(start, start + size))


def _own(inputs: Any, X: Any) -> Any:
    """Return the inputs in memory that is not the caller's, who may change what is there."""
    if scipy.sparse.issparse(inputs):
        is_shared = scipy.sparse.issparse(X) and np.may_share_memory(inputs.data, X.data)
    else:
        is_shared = inputs is X or not inputs.flags.owndata
    return inputs.copy() if is_shared else inputs
