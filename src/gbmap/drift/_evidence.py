"""What is known of a batch, gathered for the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from gbmap._utils.typing import Array
from gbmap.drift._calibration import Calibration, Measures, Outcome
from gbmap.drift._judging import Evidence
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import MonitoredModel, chunks
from gbmap.drift._profile import BatchColumns


@dataclass(frozen=True)
class Alarm:
    """When a row raises the alarm.

    Attributes
    ----------
    threshold : float or None
    distance_weight : float
    rounding : float
    """

    threshold: float | None
    distance_weight: float
    rounding: float

    def raised(self, measures: Measures) -> Array | None:
        """Return which rows raise it; None without a threshold."""
        if self.threshold is None:
            return None
        with np.errstate(invalid="ignore"):  # of infinite ones, which are equal
            return self.threshold - measures.ranks(self.distance_weight) < -self.rounding

    def evidence(
        self,
        mean: Array,
        variance: Array,
        measures: Measures,
        outcome: Outcome | None,
        columns: BatchColumns | None,
    ) -> Evidence:
        """Return what is known of a batch."""
        return Evidence(mean, variance, measures, self.raised(measures), outcome, columns)

    def shares(self, evidence: Evidence, calibration: Calibration | None) -> dict[str, Any]:
        """Return the shares of rows that raise it, of a batch and of the calibration."""
        before = None
        if calibration is not None and self.threshold is not None:
            before = float((calibration.indicators > self.threshold + self.rounding).mean())
        alarms = evidence.alarms
        return {
            "share_over_threshold": None if alarms is None else float(alarms.mean()),
            "calibration_share_over_threshold": before,
        }


def columns_in(monitored: MonitoredModel, X: Any) -> BatchColumns | None:
    """Return what the columns of a batch hold; None if nothing is known of those of the fit."""
    return None if monitored.profile is None else monitored.profile.batch(X)


def gather(
    drifter: Measuring, X: Any, y: Array | None, alarm: Alarm, columns: BatchColumns | None
) -> Evidence:
    """Return what is known of a batch, read chunk by chunk."""
    scores, measures, outcomes = [], [], []
    for rows, known in zip(chunks(X), repeat(None) if y is None else chunks(y)):
        scored, measured, outcome = drifter.read_and_measure(rows, known)
        scores.append(scored.scores)
        measures.append(measured)
        outcomes += [] if outcome is None else [outcome]
    of_all = np.concatenate(scores)
    return alarm.evidence(
        of_all.mean(axis=0),
        of_all.var(axis=0, ddof=min(1, len(of_all) - 1)),
        Measures.join(measures),
        Outcome.join(outcomes) if outcomes else None,
        columns,
    )
