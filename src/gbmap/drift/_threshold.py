"""An alarm whose level is set by held-out rows, and can be set anew."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np

from gbmap._utils.typing import Array
from gbmap.drift._alarm import IndicatorAlarm
from gbmap.drift._calibration import Measures
from gbmap.drift._gauge import Gauge


class CalibratedAlarm(IndicatorAlarm):
    """What a detector says of single rows, by what held-out rows were like."""

    offset_: float

    @property
    @abstractmethod
    def gauge_(self) -> Gauge:
        """What the package's other parts ask of a fitted detector."""

    @abstractmethod
    def _measure(self, X: Any) -> Measures:
        """Return the measures of rows of the user's."""

    def _ranks(self, X: Any) -> Array:
        return self.gauge_.ranks(self._measure(X))

    @property
    def _rounding(self) -> float:
        return self.gauge_.alarm.rounding

    def _decide(self, ranks: Array) -> Array:
        if not hasattr(self, "threshold_"):
            _ = self.gauge_.calibration  # which says what is missing
        return super()._decide(ranks)

    def p_values(self, X: Any) -> Array:
        """Return conformal p-values: small for rows unlike the calibration rows.

        For rows exchangeable with the calibration rows the chance of a p-value of at most a is at
        most a. After cross-fitting that holds nearly, since the folds' models differ.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        p : array of shape (n,)
            Multiples of ``1 / (calibration_size_ + 1)``.
        """
        return self.gauge_.p_values(self._ranks(X))

    def alarms(self, X: Any) -> dict[str, Any]:
        """Return all that is known of each row, of one measurement.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        alarms : dict of arrays of shape (n,)
            "indicator"; "p_value", None without calibration rows; "is_alarm", None without a threshold.
        """
        gauge, measures = self.gauge_, self._measure(X)
        ranks = gauge.ranks(measures)
        return {
            "indicator": gauge.indicators(measures),
            "p_value": None if gauge.known is None else gauge.p_values(ranks),
            "is_alarm": self._decide(ranks) < 0 if hasattr(self, "threshold_") else None,
        }

    def set_threshold(
        self,
        threshold: float | None = None,
        *,
        quantile: float | None = None,
        false_alarm_rate: float | None = None,
        tolerated_loss: float | None = None,
    ) -> Self:
        """Set the level of alarm anew; nothing is refitted. Exactly one of the arguments is to be given.

        Parameters
        ----------
        threshold : float, default=None
            The level itself, in the units of the indicator.
        quantile : float, default=None
            The quantile of the calibration indicators, in [0, 1].
        false_alarm_rate : float, default=None
            A row raises the alarm if and only if its p-value is at most this, in [0, 1]: of rows like the
            calibration rows, at most this share. The level is infinite, and no row raises the alarm, if
            there are fewer than ``1 / false_alarm_rate - 1`` calibration rows.
        tolerated_loss : float, default=None
            The expected loss up to which a row is to pass, in the units of the model's loss. The
            level is then that of the calibration rows at which the loss, as a rising function of
            the indicator, exceeds it.

        Returns
        -------
        self : DriftDetector
        """
        gauge = self.gauge_
        ways = {
            "threshold": threshold, "quantile": quantile, "false_alarm_rate": false_alarm_rate,
            "tolerated_loss": tolerated_loss,
        }  # fmt: skip
        given = [(name, value) for name, value in ways.items() if value is not None]
        if len(given) != 1:
            names = " and ".join(name for name, _ in given) or "none"
            raise ValueError(f"set_threshold takes exactly one of {', '.join(ways)}; got {names}.")
        name, value = given[0]
        share = name in ("quantile", "false_alarm_rate")
        if not (isinstance(value, Real) and 0 <= value <= (1 if share else np.inf)):
            rule = "a number between 0 and 1" if share else "a number of at least 0"
            raise ValueError(f"{name} must be {rule}, got {value!r}.")
        if name != "threshold":
            calibration = gauge.calibration
            if name == "tolerated_loss":
                value = calibration.level_of_loss(float(value))
            elif name == "quantile":
                value = calibration.level_of_quantile(float(value))
            else:
                value = calibration.level_of_rate(float(value))
        self.threshold_ = float(value)
        self.offset_ = -self.threshold_
        return self
