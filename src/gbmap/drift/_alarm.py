"""Alarms by an indicator and its level, as scikit-learn's outlier detectors raise them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.typing import Array
from gbmap.drift._calibration import Calibration, Measures


@dataclass(frozen=True)
class Alarm:
    """When a row raises the alarm.

    Attributes
    ----------
    threshold : float or None
        None if none has been set, or if calibration rows are too few for one.
    distance_weight : float
        How many times the embedding distance counts.
    rounding : float
        How far rounding may move an indicator.
    """

    threshold: float | None
    distance_weight: float
    rounding: float

    @classmethod
    def of(
        cls, threshold: float | None, distance_weight: float, rounding: float, known: Calibration | None
    ) -> Alarm:
        """Return the alarm at a level, which is infinite if calibration rows are too few for one."""
        if threshold == np.inf and known is not None and np.isfinite(known.indicators).all():
            threshold = None
        return cls(threshold, distance_weight, rounding)

    def raised(self, measures: Measures) -> Array | None:
        """Return which rows raise it; None without a threshold."""
        if self.threshold is None:
            return None
        with np.errstate(invalid="ignore"):  # of infinite ones, which are equal
            return self.threshold - measures.ranks(self.distance_weight) < -self.rounding

    def n_above(self, ranks: Array) -> int:
        """Return how many rows of given ranks raise it."""
        return 0 if self.threshold is None else int((ranks > self.threshold + self.rounding).sum())


class IndicatorAlarm(ABC):
    """What detectors share that compare an indicator of each row with a threshold."""

    threshold_: float
    _rounding: Any  # how far rounding may move an indicator

    @abstractmethod
    def indicator(self, X: Any) -> Array:
        """Return the indicator of each row, of shape (n,)."""

    def score_samples(self, X: Any) -> Array:
        """Return the negative indicator: the lower, the less the prediction is to be trusted.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        score : array of shape (n,)
        """
        return -self._ranks(X)

    def _ranks(self, X: Any) -> Array:
        """Return what decides about rows: the indicator, infinite for those that raise the alarm anyway."""
        return self.indicator(X)

    def decision_function(self, X: Any) -> Array:
        """Return the threshold less the indicator: negative for rows that raise the alarm.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        decision : array of shape (n,)
            Zero for an indicator that equals the threshold up to rounding.
        """
        return self._decide(self._ranks(X))

    def _decide(self, ranks: Array) -> Array:
        with np.errstate(invalid="ignore"):  # of infinite ones, which are equal
            decision: Array = self.threshold_ - ranks
        return np.where((np.abs(decision) <= self._rounding) | (ranks == self.threshold_), 0.0, decision)

    def predict(self, X: Any) -> Array:
        """Return -1 for rows that raise the alarm, +1 for others.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)

        Returns
        -------
        label : integer array of shape (n,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)
