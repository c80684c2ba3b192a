"""Alarms by an indicator and its level, as scikit-learn's outlier detectors raise them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gbmap._utils.typing import Array


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
