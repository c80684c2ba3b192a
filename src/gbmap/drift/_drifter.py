"""The paper's drifter: a model beside the mean of its neighbours in the embedding (Section 4.5)."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._fitted.model import dense
from gbmap._fitted.patterns import rows_of_learner
from gbmap._fitted.results import squeeze
from gbmap._fitted.words import Teller
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Measures
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import MonitoredModel, ScoredRows, chunks
from gbmap.drift._neighbours import Neighbours
from gbmap.drift._sides import Side
from gbmap.drift.explanation import DriftExplanation

_PROBED_ROWS = 8  # whose scores tell whether the model is still the same
_SAME = 1e-6  # the part of their spread by which scores of the same model may differ
_WORK_NUMBERS = 1 << 18  # explained together: a dozen arrays of them stay small


@dataclass(frozen=True)
class Drifter(Measuring):
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
        cls,
        monitored: MonitoredModel,
        rows: ScoredRows,
        X: Any,
        y: Array,
        search: tuple[int, str, int | None],
    ) -> Drifter:
        """Return the drifter with reference rows X, y, read already; k, algorithm and threads of a search."""
        inputs, scores = _own(rows.inputs, X), rows.scores
        if len(scores) < search[0]:
            raise ValueError(
                f"n_neighbors={search[0]} must be at most the number of reference rows, got "
                f"n_samples={len(scores)}; fit more rows, or lower n_neighbors."
            )
        values = monitored.values(X, y, scores)
        neighbours = Neighbours(rows.phi, values, *search, monitored.rounding(inputs, scores))
        probe = None if monitored.foreign is None else deepcopy(safe_indexing(X, slice(0, _PROBED_ROWS)))
        return cls(monitored, inputs, scores, neighbours, probe)

    @property
    def rounding(self) -> float:
        """In the units of y: measures that differ by no more are equal."""
        return self.neighbours.rounding

    def is_same_model(self) -> bool:
        """Return whether the model is the one that it was, by its scores of the first reference rows."""
        before, ensemble = self.scores[:_PROBED_ROWS], self.monitored.fitted.ensemble
        if ensemble.weights.shape != (self.neighbours.phi.shape[1], self.inputs.shape[1]):
            return False
        now = self.monitored.score(self.probe, self.inputs[:_PROBED_ROWS]).scores
        most = self.rounding + _SAME * self.scores.std()
        return now.shape == before.shape and bool((np.abs(now - before) <= most).all())

    def _measures(self, rows: ScoredRows) -> Measures:
        shares, distances = self.neighbours.find(rows.phi)
        differences = np.abs(rows.scores - self.neighbours.mean(shares)).sum(axis=1)
        return Measures(differences, distances, rows.strange, rows.gap)

    def explain(self, X: Any) -> DriftExplanation:
        """Split f - f_kNN of rows, chunk by chunk."""
        monitored, fitted = self.monitored, self.monitored.fitted
        n, p, K = num_samples(X), len(fitted.feature_names), fitted.ensemble.n_outputs
        values, (extrapolation, misfit, remainder) = np.empty((n, p, K)), np.empty((3, n, K))
        strange = np.empty((n, p), dtype=bool)
        numbers_a_row = max(len(fitted.columns.source) * K, len(fitted.ensemble))
        start = 0
        for rows in chunks(X, max(1, _WORK_NUMBERS // numbers_a_row)):
            here = slice(start, start := start + num_samples(rows))
            values[here], extrapolation[here], misfit[here], remainder[here] = self._explain(rows)
            strange[here] = monitored.strange_columns(rows)
        return DriftExplanation(
            values=squeeze(values),
            extrapolation=squeeze(extrapolation),
            misfit=squeeze(misfit),
            remainder=squeeze(remainder),
            differences=squeeze(extrapolation + misfit),
            strange=strange,
            feature_names=fitted.feature_names,
            output_names=monitored.output_names,
        )

    def _explain(self, X: Any) -> tuple[Array, Array, Array, Array | float]:
        """Return values, extrapolation, misfit and remainder of some rows."""
        fitted, neighbours, rows = self.monitored.fitted, self.neighbours, self.monitored.read(X)
        shares, _ = neighbours.find(rows.phi)
        near = shares @ self._place_scores
        extrapolation = rows.scores - near
        gradients = self._gradients(rows, shares)
        remainder = 0.0 if self.monitored.foreign is None else extrapolation - gradients.sum(axis=1)
        return fitted.columns.collect(gradients), extrapolation, near - neighbours.mean(shares), remainder

    @cached_property
    def _place_scores(self) -> Array:
        return self.neighbours.places.means(self.scores)

    def _gradients(self, rows: ScoredRows, shares: Any) -> Array:
        """Return the mean of integrated gradients from the neighbours to each row, of shape (n, q, K).

        A place counts by the first reference row there; each is projected once, however many rows are near.
        """
        ensemble, first = self.monitored.fitted.ensemble, self.neighbours.places.first
        inputs, counts = dense(rows.inputs), np.diff(shares.indptr)
        places, of_entry = np.unique(shares.indices, return_inverse=True)
        reference = dense(self.inputs[first[places]])
        reference_z = ensemble.project(reference)
        total = np.zeros((*inputs.shape, ensemble.n_outputs))
        for nth in range(counts.max()):
            which = np.flatnonzero(counts > nth)
            entries = shares.indptr[which] + nth
            near = of_entry[entries]
            slopes = ensemble.pull_back(ensemble.secants(rows.z[which], reference_z[near]))
            moved = (inputs[which] - reference[near])[:, :, None]
            total[which] += shares.data[entries][:, None, None] * (moved * slopes)
        return total

    @cached_property
    def teller(self) -> Teller:
        """What tells rows in words, by conditions that are measured on the reference rows."""
        return Teller(self.monitored.fitted, self.inputs)

    @cached_property
    def half_spaces(self) -> Array:
        """Where each learner is active, in words."""
        rows = map(self.active_rows, range(len(self.monitored.fitted.ensemble)))
        return np.array([self.teller.learner(j, each).words for j, each in enumerate(rows)], dtype=object)

    def active_rows(self, learner: int) -> Array:
        """Return the reference rows for which a learner is active, as booleans."""
        n_outputs = self.monitored.fitted.ensemble.n_outputs
        return rows_of_learner(self.reference.patterns[learner % n_outputs], learner // n_outputs)

    @cached_property
    def active_shares(self) -> Array:
        """The share of the reference rows for which each learner is active, of shape (M,)."""
        rows = map(self.active_rows, range(len(self.monitored.fitted.ensemble)))
        return np.array([each.mean() for each in rows])

    @cached_property
    def reference(self) -> Side:
        """Return the reference rows as one side of a comparison."""
        fitted = self.monitored.fitted
        ensemble, known = fitted.ensemble, (self.inputs, self.neighbours.phi, self.scores)
        parts = (
            ScoredRows(inputs, fitted.map(ensemble.project, inputs, len(ensemble)), phi, scores)
            for inputs, phi, scores in zip(*map(chunks, known))
        )
        return self.side(len(self.scores), parts)

    def side(self, n: int, parts: Iterable[ScoredRows]) -> Side:
        """Return one side of a comparison, of n rows that come in chunks."""
        center = np.asarray(self.inputs.mean(axis=0, dtype=np.float64)).reshape(-1)
        return Side.of(self.monitored.fitted.ensemble, center, n, parts)


def _own(inputs: Any, X: Any) -> Any:
    """Return the inputs in memory that is not the caller's, who may change what is there."""
    if scipy.sparse.issparse(inputs):
        is_shared = scipy.sparse.issparse(X) and np.may_share_memory(inputs.data, X.data)
    else:
        is_shared = inputs is X or not inputs.flags.owndata
    return inputs.copy() if is_shared else inputs
