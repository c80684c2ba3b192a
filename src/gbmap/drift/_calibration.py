"""What indicators and losses are like on rows that the model was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.isotonic import IsotonicRegression

from gbmap._utils.typing import Array, IntArray
from gbmap.drift._places import level_ties

# That the reach of rows for a model is within what it is for those of the folds. By the farthest fold alone,
# one of twenty tables of 100 to 900 rows had a verdict on 2,000 rows like its own, for this and nothing else.
_SURE_OF_REACH = 0.95


@dataclass(frozen=True)
class Measures:
    """What is known of rows without their labels.

    Attributes
    ----------
    differences : array of shape (n,)
        |f - f_kNN|, summed over outputs.
    distances : array of shape (n,)
        The embedding distance to the k-th neighbour.
    strange : boolean array of shape (n,), or None if there are none
        Rows with categories that were not seen, or that miss values which were never missing.
    gap : array of shape (n,), or None if there is none
        How far f may be from where it would be if the values were known that are missing.
    """

    differences: Array
    distances: Array
    strange: Array | None = None
    gap: Array | None = None

    @classmethod
    def join(cls, parts: Sequence[Measures]) -> Measures:
        """Return the measures of several lots of rows as one."""
        return cls(
            np.concatenate([part.differences for part in parts]),
            np.concatenate([part.distances for part in parts]),
            np.concatenate([part.is_strange for part in parts]),
            np.concatenate([part.gaps for part in parts]),
        )

    def take(self, which: Any) -> Measures:
        """Return the measures of some of the rows."""
        return Measures(
            self.differences[which], self.distances[which], self.is_strange[which], self.gaps[which]
        )

    @property
    def gaps(self) -> Array:
        """The gaps, of shape (n,)."""
        return np.zeros(len(self.differences)) if self.gap is None else self.gap

    @property
    def is_strange(self) -> Array:
        """Which rows are strange, of shape (n,)."""
        return np.zeros(len(self.differences), dtype=bool) if self.strange is None else self.strange

    def indicators(self, distance_weight: float) -> Array:
        """Return the drift indicators."""
        return self.differences + distance_weight * self.distances

    def ranks(self, distance_weight: float) -> Array:
        """Return what rows are ranked by: the indicators, beyond all others for strange rows."""
        return np.where(self.is_strange, np.inf, self.indicators(distance_weight))

    @property
    def reach(self) -> Array:
        """How far the prediction may be from what the data support: both measures together."""
        return self.differences + self.distances

    @property
    def full_reach(self) -> Array:
        """The same where the values that are missing may have been any: by the gap farther."""
        return self.reach + self.gaps

    @property
    def astray(self) -> Array:
        """How far the prediction has gone from its neighbours' values, or can have, by the embedding.

        A foreign model may go on where the GBMAP fitted to it is flat.
        """
        return np.maximum(self.differences, self.distances)


@dataclass(frozen=True)
class Outcome:
    """What became of rows whose labels are known.

    Attributes
    ----------
    losses : array of shape (n,)
        By the model's own loss; NaN, as the metrics are, of rows whose labels are missing.
    metrics : dict of arrays of shape (n,)
        By what people speak of: "squared_error" and "absolute_error", or "error" (0 or 1) and "log_loss".
    """

    losses: Array
    metrics: dict[str, Array]

    @classmethod
    def join(cls, parts: list[Outcome]) -> Outcome:
        """Return the outcome of several lots of rows as one."""
        names = dict.fromkeys(name for each in parts for name in each.metrics)
        metrics = {
            name: np.concatenate(
                [each.metrics.get(name, np.full_like(each.losses, np.nan)) for each in parts]
            )
            for name in names
        }
        return cls(np.concatenate([each.losses for each in parts]), metrics)

    @property
    def known(self) -> Outcome:
        """What became of the rows whose labels are there."""
        is_known = ~np.isnan(self.losses)
        return Outcome(self.losses[is_known], {name: each[is_known] for name, each in self.metrics.items()})

    def among(self, rows: IntArray, n: int) -> Outcome:
        """Return what became of n rows, if these are the ones at some places; the others have no labels."""
        losses, metrics = np.full(n, np.nan), {name: np.full(n, np.nan) for name in self.metrics}
        losses[rows] = self.losses
        for name, values in self.metrics.items():
            metrics[name][rows] = values
        return Outcome(losses, metrics)


@dataclass(frozen=True)
class Calibration:
    """Measures, losses and predictions of held-out rows, by increasing rank.

    Attributes
    ----------
    measures : Measures
    losses : array of shape (n,)
    indicators : array of shape (n,)
        What rows are ranked by, infinite for strange ones. Those that are equal up to rounding are equal.
    scores : array of shape (n, K), or None in files of before
        h = f - f_0.
    deviation : array of shape (K,), or None in files of before
        The spread of y over the reference rows.
    metrics : dict of arrays of shape (n,)
        As those of an `Outcome`.
    score_leeway : array of shape (K,), or None if the rows have met the model itself
        By how much the mean score of the model may differ from that of the folds' models.
    reach_leeway : float
        By what factor the reach of rows may differ for that reason.
    """

    measures: Measures
    losses: Array
    indicators: Array
    scores: Array | None
    deviation: Array | None
    metrics: dict[str, Array]
    score_leeway: Array | None = None
    reach_leeway: float = 1.0

    @classmethod
    def of(
        cls,
        measures: Measures,
        outcome: Outcome,
        scores: Array,
        deviation: Array,
        distance_weight: float,
        rounding: float,
    ) -> Calibration:
        """Return the calibration by rows in any order, whose indicators are known up to rounding."""
        known = level_ties(measures.indicators(distance_weight), rounding)
        ranks = np.where(measures.is_strange, np.inf, known)
        order = np.argsort(ranks, kind="stable")
        metrics = {name: values[order] for name, values in outcome.metrics.items()}
        return cls(
            measures.take(order), outcome.losses[order], ranks[order], scores[order], deviation, metrics
        )

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What has been fitted to these rows by others, who name it; it is not stored."""
        return {}

    def crossed(self, scores: Array, reaches: list[Array]) -> Calibration:
        """Return the calibration by rows that models of folds have met, given what the model makes of them.

        The model knows these rows, and the folds' models knew fewer: the mean of its scores lies between, or
        near. As far as means of the reach differ from fold to fold, it may differ from them, as one more of
        them would.
        """
        assert self.scores is not None
        leeway = np.abs(scores.mean(axis=0) - self.scores.mean(axis=0))
        means = np.array([reach.mean() for reach in reaches])
        k, factor = len(means), 1.0
        if means.min() > 0:
            widest = float(t.ppf(_SURE_OF_REACH, k - 1)) * np.sqrt(1 + 1 / k)
            factor = float(np.exp(widest * np.log(means).std(ddof=1)))
        return replace(self, score_leeway=leeway, reach_leeway=factor)

    def p_values(self, ranks: Array, rounding: float) -> Array:
        """Return (1 + number of calibration rows at or above) / (n + 1): valid if rows are exchangeable.

        A calibration row that is below by rounding only counts. Which is so is asked in the words of the
        alarm, so that both agree to the last bit.
        """
        n = len(self.indicators)
        with np.errstate(invalid="ignore"):  # infinite ones are equal
            start = np.searchsorted(self.indicators, ranks - rounding, side="left")
            for _ in range(2):
                before = self.indicators[np.maximum(start - 1, 0)]
                is_at = (start > 0) & ~(before - ranks < -rounding)
                start = np.where(is_at, np.searchsorted(self.indicators, before, side="left"), start)
                here = self.indicators[np.minimum(start, n - 1)]
                is_below = (start < n) & (here - ranks < -rounding)
                start = np.where(is_below, np.searchsorted(self.indicators, here, side="right"), start)
        return (1 + n - start) / (1 + n)

    def level_of_rate(self, rate: float) -> float:
        """Return the level that a row is above if and only if its p-value is at most this rate.

        Infinite if there are too few rows for a p-value that small.
        """
        n = len(self.indicators)
        above = int(np.floor(rate * (n + 1) * (1 + 1e-12))) - 1
        if above < 0:
            return np.inf
        return -np.inf if above >= n else float(self.indicators[n - above - 1])

    def level_of_quantile(self, quantile: float) -> float:
        """Return the smallest calibration indicator with at least this share of them at or below it."""
        # The product of 0.07 and 100 is above 7 by rounding, and 7 rows are meant.
        rank = int(np.ceil(quantile * len(self.indicators) - 1e-9)) - 1
        return float(self.indicators[max(rank, 0)])

    def level_of_loss(self, loss: float) -> float:
        """Return the largest calibration indicator at which the loss, fitted as rising, is at most this."""
        _, rank = np.unique(self.indicators, return_inverse=True)
        expected = IsotonicRegression().fit_transform(rank, self.losses)
        if expected[0] > loss:
            raise ValueError(
                f"tolerated_loss must be at least {expected[0]:.3g}, what calibration rows with the lowest "
                f"indicators lose on average, got {loss:g}; no row would pass."
            )
        return float(self.indicators[expected <= loss].max())
