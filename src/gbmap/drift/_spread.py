"""The spread of the prediction as a measure of drift: it is wide off the training rows, and needs none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Measures
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import MonitoredModel, ScoredRows

_ULPS = 16  # by which numbers that are equal may differ
_UNIFORM = np.sqrt(3.0)  # an error that is uniform up to so many times a spread spreads as far


@dataclass(frozen=True)
class SpreadDrifter(Measuring):
    """A fitted model whose learners' own spread tells how far to trust it.

    Attributes
    ----------
    monitored : MonitoredModel
    ensemble : Ensemble
        The learners that the GBMAP had when the detector was fitted.
    rounding : float
        In the units of y: spreads that differ by no more are equal.
    """

    monitored: MonitoredModel
    ensemble: Ensemble
    rounding: float

    @classmethod
    def of(cls, monitored: MonitoredModel, rows: ScoredRows) -> SpreadDrifter:
        """Return the drifter, given the training rows, of which nothing is kept."""
        drifter = cls(monitored, monitored.fitted.ensemble, 0.0)
        eps = np.finfo(np.float64 if monitored.fitted.preprocessing is None else rows.inputs.dtype).eps
        return cls(monitored, drifter.ensemble, _ULPS * float(eps * np.median(drifter._spreads(rows))))

    def is_same_model(self) -> bool:
        return self.monitored.fitted.ensemble is self.ensemble

    def _measures(self, rows: ScoredRows) -> Measures:
        spreads = self._spreads(rows)
        return Measures(spreads, _UNIFORM * spreads, rows.strange, rows.gap)

    def _spreads(self, rows: ScoredRows) -> Array:
        """Return the standard deviation of f, summed over outputs."""
        fitted = self.monitored.fitted
        deviation = partial(fitted.predictor.known_posterior.deviation, self.ensemble)
        return fitted.map(deviation, rows.inputs, self.ensemble.n_outputs).sum(axis=1)
