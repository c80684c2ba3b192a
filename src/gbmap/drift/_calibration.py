"""What indicators and losses are like on rows that the model was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from gbmap._utils.typing import Array
from gbmap.drift._places import level_ties


@dataclass(frozen=True)
class Measures:
    """What is known of rows without their labels.

    Attributes
    ----------
    differences : array of shape (n,)
        |f - f_kNN|, summed over outputs.
    distances : array of shape (n,)
        The embedding distance to the k-th neighbour.
    """

    differences: Array
    distances: Array

    @classmethod
    def join(cls, parts: list[Measures]) -> Measures:
        """Return the measures of several lots of rows as one."""
        return cls(
            np.concatenate([part.differences for part in parts]),
            np.concatenate([part.distances for part in parts]),
        )

    def take(self, which: Any) -> Measures:
        """Return the measures of some of the rows."""
        return Measures(self.differences[which], self.distances[which])

    def indicators(self, distance_weight: float) -> Array:
        """Return the drift indicators."""
        return self.differences + distance_weight * self.distances

    @property
    def reach(self) -> Array:
        """How far the prediction may be from what the data support: both measures together."""
        return self.differences + self.distances

    @property
    def astray(self) -> Array:
        """How far the prediction has gone from its neighbours' values, or can have, by the embedding.

        A foreign model may go on where the GBMAP fitted to it is flat.
        """
        return np.maximum(self.differences, self.distances)


@dataclass(frozen=True)
class Calibration:
    """Measures and losses of held-out rows, by increasing indicator.

    Attributes
    ----------
    measures : Measures
    losses, indicators : arrays of shape (n,)
        Indicators that are equal up to rounding are equal.
    """

    measures: Measures
    losses: Array
    indicators: Array

    @classmethod
    def of(cls, measures: Measures, losses: Array, distance_weight: float, rounding: float) -> Calibration:
        """Return the calibration by rows in any order, whose indicators are known up to rounding."""
        indicators = level_ties(measures.indicators(distance_weight), rounding)
        order = np.argsort(indicators, kind="stable")
        return cls(measures.take(order), losses[order], indicators[order])

    def p_values(self, indicators: Array, rounding: float) -> Array:
        """Return (1 + number of calibration rows at or above) / (n + 1): valid if rows are exchangeable.

        A calibration row that is below by rounding only counts.
        """
        above = len(self.indicators) - np.searchsorted(self.indicators, indicators - rounding, side="left")
        return (1 + above) / (1 + len(self.indicators))

    def level_of_quantile(self, quantile: float) -> float:
        """Return the smallest calibration indicator with at least this share of them at or below it."""
        # The product of 0.07 and 100 is above 7 by rounding, and 7 rows are meant.
        rank = int(np.ceil(quantile * len(self.indicators) - 1e-9)) - 1
        return float(self.indicators[max(rank, 0)])

    def level_of_loss(self, loss: float) -> float:
        """Return the largest calibration indicator at which the loss, fitted as rising, is at most this."""
        expected = IsotonicRegression().fit_transform(self.indicators, self.losses)
        if expected[0] > loss:
            raise ValueError(
                f"tolerated_loss must be at least {expected[0]:.3g}, what calibration rows with the lowest "
                f"indicators lose on average, got {loss:g}; no row would pass."
            )
        return float(self.indicators[expected <= loss].max())
