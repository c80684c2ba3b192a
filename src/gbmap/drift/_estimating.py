"""The loss to expect of rows that were measured by a model that is monitored."""

from __future__ import annotations

from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._measuring import Measuring
from gbmap.drift.loss_estimate import Beyond, LossEstimate, estimate_losses


def estimated(
    calibration: Calibration, drifter: Measuring, measures: Measures, confidence: float
) -> LossEstimate:
    """Return the loss to expect, and what people speak of."""
    monitored = drifter.monitored
    return estimate_losses(
        calibration, Beyond(monitored.loss_of_error), monitored.beyond, drifter.rounding, measures, confidence
    )
