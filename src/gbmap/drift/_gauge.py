"""A fitted detector as others ask it: how rows are measured, what held-out rows were like, and the alarm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.typing import Array
from gbmap.drift._alarm import Alarm
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._drifter import Drifter
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import MonitoredModel, ScoredRows, chunks
from gbmap.drift.loss_estimate import Beyond, LossEstimate, estimate_losses


@dataclass(frozen=True)
class Gauge:
    """What monitors, reports and verdicts ask of a detector. Rows come as `read_rows` returns them.

    Attributes
    ----------
    drifter : Measuring
    known : Calibration or None
        What held-out rows were like.
    alarm : Alarm
    """

    drifter: Measuring
    known: Calibration | None
    alarm: Alarm

    @property
    def monitored(self) -> MonitoredModel:
        """The model that is monitored."""
        return self.drifter.monitored

    @property
    def calibration(self) -> Calibration:
        """What held-out rows were like; an error if there were none."""
        if self.known is None:
            raise ValueError(
                "this needs calibration rows: pass X_cal and y_cal to fit, rows that the estimator was not "
                "trained on; or an unfitted estimator with enough rows, of each class, to be cross-fitted."
            )
        return self.known

    @property
    def calibration_indicators(self) -> Array:
        """The drift indicators of held-out rows, of shape (n,)."""
        return self.indicators(self.calibration.measures)

    @property
    def n_calibration_alarms(self) -> int:
        """How many of the held-out rows raise the alarm."""
        return self.alarm.n_above(self.calibration.indicators)

    def reference(self, what: str) -> Drifter:
        """Return the drifter if it has reference rows, which something needs."""
        if not isinstance(self.drifter, Drifter):
            raise ValueError(
                f"{what} needs reference rows, which a detector with measure='spread' does not keep; fit one "
                "with measure='neighbours'."
            )
        return self.drifter

    def look(self, X: Any) -> Iterator[tuple[Any, ScoredRows, Measures]]:
        """Yield rows in chunks, as they are, as the model sees them and as they are measured."""
        self.drifter.check_model()
        for some in chunks(X):
            rows, measures, _ = self.drifter.read_and_measure(some)
            yield some, rows, measures

    def measure(self, X: Any) -> Measures:
        """Return the measures of rows."""
        self.drifter.check_model()
        return self.drifter.measure(X)

    def indicators(self, measures: Measures) -> Array:
        """Return the drift indicators of rows."""
        return measures.indicators(self.alarm.distance_weight)

    def ranks(self, measures: Measures) -> Array:
        """Return what rows are ranked by."""
        return measures.ranks(self.alarm.distance_weight)

    def p_values(self, ranks: Array) -> Array:
        """Return the conformal p-values of rows."""
        return self.calibration.p_values(ranks, self.alarm.rounding)

    def estimate(self, measures: Measures, confidence: float) -> LossEstimate:
        """Return the loss to expect of rows, and what people speak of."""
        monitored, rounding = self.monitored, self.drifter.rounding
        beyond = Beyond(monitored.loss_of_error), monitored.beyond
        return estimate_losses(self.calibration, *beyond, rounding, measures, confidence)

    @property
    def marks(self) -> tuple[Array, ...]:
        """What two detectors share only if they are the same one."""
        calibration, threshold = self.calibration, self.alarm.threshold
        level = np.array([np.nan if threshold is None else threshold])
        return level, calibration.indicators, calibration.losses, self.monitored.fitted.ensemble.weights
