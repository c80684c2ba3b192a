"""The expected loss of rows without labels, from how it grew with the reach on calibration rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from gbmap._fitted.results import frame
from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._inference import ratio_interval
from gbmap.drift._places import level_ties

_FEW_GAPS = 10  # calibration rows with missing values, which say little
_FOLDS = 5  # of calibration rows, so that what is expected of one is found without it


@dataclass(frozen=True, repr=False)
class LossEstimate(Result):
    """Losses to expect, without labels.

    Attributes
    ----------
    losses : array of shape (n,)
        The expected loss of each row, in the units of the model's loss.
    lower, upper : arrays of shape (n,)
        An interval for each row's loss.
    mean, mean_lower, mean_upper : float
        The expected mean loss of all rows, and an interval for it.
    confidence : float
        The chance of either interval to hold, for rows like the calibration rows.
    metrics : dict of tuples of three
        What people speak of, with an interval of the same confidence: "rmse" and "mae" for numbers,
        "accuracy" and "log_loss" for classes. Each is the estimate, its lower and its upper end. Files of
        before do not tell.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> detector = DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(X, y)
    >>> inside, outside = detector.estimate_loss(X), detector.estimate_loss(X + 5)
    >>> outside.mean > 10 * inside.mean
    True
    >>> rmse, lower, upper = inside.metrics["rmse"]
    >>> lower < rmse < upper
    True
    """

    losses: Array
    lower: Array
    upper: Array
    mean: float
    mean_lower: float
    mean_upper: float
    confidence: float
    metrics: dict[str, tuple[float, float, float]]

    def _shown(self) -> Shown:
        interval = f"{cell(self.mean_lower)} to {cell(self.mean_upper)} with confidence {self.confidence:g}"
        about = f"mean {cell(self.mean)} ({interval}) of {counted(len(self.losses), 'row')}"
        if self.metrics:
            about += "; " + ", ".join(f"{WORDS[name]} {cell(each[0])}" for name, each in self.metrics.items())
        rows = np.arange(len(self.losses))
        return Shown(about, {"row": rows, "loss": self.losses, "lower": self.lower, "upper": self.upper})

    def to_frame(self) -> Any:
        """Return the estimates as a pandas frame, a row per row.

        Returns
        -------
        frame : pandas.DataFrame
            With columns "loss", "lower" and "upper".
        """
        return frame({"loss": self.losses, "lower": self.lower, "upper": self.upper}, None)


@dataclass(frozen=True)
class Beyond:
    """What an error that may be of a certain size can add to a loss.

    Attributes
    ----------
    at_most : callable
        The loss if every output is off by so much, (n,) -> (n,).
    largest : float
        The largest loss that there is.
    """

    at_most: Callable[[Array], Array]
    largest: float = np.inf

    def added(self, size: Array, border: float) -> tuple[Array, Array]:
        """Return what an error beyond a border adds to the loss: on average, if uniform, and at most."""
        outside, at_border = np.maximum(size, border), np.full(1, border)
        return (
            self.mean_up_to(outside) - self.mean_up_to(at_border),
            self.at_most(outside) - self.at_most(at_border),
        )

    def mean_up_to(self, size: Array) -> Array:
        """Return the mean loss of errors uniform in [-size, size], by Simpson's rule: exact for squares."""
        parts = np.array([1, 4, 2, 4, 1]) / 12
        nodes = zip(parts, np.linspace(0, 1, 5))
        return np.sum([weight * self.at_most(t * size) for weight, t in nodes], axis=0)


@dataclass(frozen=True)
class LossModel:
    """The expected loss as a function of the measures of a row.

    Within the data it is the isotonic regression of the calibration losses on the reach. Beyond their
    border, the distance d by which the prediction can have gone astray counts (that of the embedding, or
    |f - f_kNN| if it is larger): the loss of an error that is uniform in [-d, d] is added, less that at the
    border. Values that are missing add the loss of an error as large as the gap that they leave, as far as
    calibration rows with gaps bear it out. Of a strange row less than the mean loss is never expected.

    Attributes
    ----------
    curve : fitted IsotonicRegression
    border : float
        The distance d at the border: as far astray as the farthest calibration row.
    losses : array of shape (n,)
        Of the calibration rows.
    expected : array of shape (n,)
        What a curve says that was fitted without them.
    beyond : Beyond
    share_of_gap : float
        How much of the loss by gaps there is, where values were missing before. Where they never were, all.
    """

    curve: IsotonicRegression
    border: float
    losses: Array
    expected: Array
    beyond: Beyond
    share_of_gap: float

    @classmethod
    def of(cls, measures: Measures, losses: Array, beyond: Beyond, rounding: float) -> LossModel:
        """Fit to calibration rows, whose measures are known up to rounding."""
        reach = level_ties(measures.reach, 2 * rounding)  # the sum of two measures
        border = float(measures.astray.max())
        by_gap = beyond.at_most(measures.gaps)
        share = _share_of_gap(losses, np.where(measures.is_strange, 0.0, by_gap))
        by_gap = np.where(measures.is_strange, 1.0, share) * by_gap
        rest = losses - by_gap
        expected = np.maximum(_without_it(reach, rest), 0.0) + by_gap
        return cls(_curve(reach, rest), border, losses, expected, beyond, share)

    def estimate(self, measures: Measures, confidence: float) -> LossEstimate:
        """Return expected losses with intervals, and no metrics."""
        inside = np.maximum(self.curve.predict(measures.reach), 0.0)
        share = np.where(measures.is_strange, 1.0, self.share_of_gap)
        inside += share * self.beyond.at_most(measures.gaps)
        mean = float(self.losses.mean())
        inside = np.where(measures.is_strange, np.maximum(inside, mean), inside)
        beyond, at_most = self.beyond.added(measures.astray, self.border)
        low, high = self._row_ratios(confidence)
        below, above = self._mean_ratios(inside, confidence)
        largest = self.beyond.largest
        losses = np.minimum(inside + beyond, largest)
        upper = np.where(inside > 0, high * np.maximum(inside, np.finfo(np.float64).tiny), 0.0) + at_most
        expected = float(losses.mean())
        most = float(np.minimum(inside * above + at_most, largest).mean())
        return LossEstimate(
            losses=losses,
            # The mean of skewed losses may lie outside a short interval of their quantiles.
            lower=np.minimum(low * inside, losses),
            upper=np.minimum(np.maximum(upper, losses), largest),
            mean=expected,
            mean_lower=min(float(inside.mean() * below), expected),
            mean_upper=max(most, expected),
            confidence=confidence,
            metrics={},
        )

    def _row_ratios(self, confidence: float) -> tuple[float, float]:
        """Return by what to multiply an expected loss for an interval of the loss, by the conformal rule.

        The upper end is infinite if there are too few rows for it.
        """
        ratios = np.sort(self.losses / np.where(self.expected > 0, self.expected, 1.0))
        n, tail = len(ratios), (1 - confidence) / 2
        first, last = int(np.floor((n + 1) * tail + 1e-9)), int(np.ceil((n + 1) * (1 - tail) - 1e-9))
        low = ratios[first - 1] if first > 0 else 0.0
        return float(low), float(ratios[last - 1]) if last <= n else np.inf

    def _mean_ratios(self, inside: Array, confidence: float) -> tuple[float, float]:
        """Return by what to multiply the expected mean loss for an interval of it."""
        squares = float(np.sum(inside**2))
        n_rows = inside.sum() ** 2 / squares if squares > 0 else len(inside)
        return ratio_interval(self.losses, self.expected, float(n_rows), confidence)


def _curve(reach: Array, losses: Array) -> IsotonicRegression:
    return IsotonicRegression(out_of_bounds="clip").fit(reach, losses)


def _share_of_gap(losses: Array, by_gap: Array) -> float:
    """Return how much more rows with gaps lose, over what their gaps would add; 1 if they are few."""
    has_gap = by_gap > 0
    if has_gap.sum() < _FEW_GAPS or has_gap.all():
        return 1.0
    more = losses[has_gap].mean() - losses[~has_gap].mean()
    return float(np.clip(more / by_gap[has_gap].mean(), 0.0, 1.0))


def _without_it(reach: Array, losses: Array) -> Array:
    """Return the expected losses of rows by curves that were fitted to other rows."""
    fold = np.arange(len(losses)) % min(_FOLDS, len(losses))
    if fold.max() == 0:
        return losses.copy()
    expected = np.empty(len(losses))
    for each in range(fold.max() + 1):
        here = fold == each
        expected[here] = _curve(reach[~here], losses[~here]).predict(reach[here])
    return expected


def estimate_losses(
    calibration: Calibration, beyond_loss: Beyond, beyond: dict[str, Beyond], rounding: float,
    measures: Measures, confidence: float,
) -> LossEstimate:  # fmt: skip
    """Return the estimate of the model's own loss, and of what people speak of."""
    found = LossModel.of(calibration.measures, calibration.losses, beyond_loss, rounding).estimate(
        measures, confidence
    )
    metrics = {}
    for name, values in calibration.metrics.items():
        is_own = np.array_equal(values, calibration.losses)  # as squared errors often are
        each = found
        if not is_own:
            model = LossModel.of(calibration.measures, values, beyond[name], rounding)
            each = model.estimate(measures, confidence)
        title, ends = spoken(name, np.array([each.mean, each.mean_lower, each.mean_upper]))
        metrics[title] = (float(ends[0]), float(ends[1:].min()), float(ends[1:].max()))
    if {"mae", "rmse"} <= metrics.keys():  # no mean of sizes is above the root of that of their squares
        mae = np.minimum(metrics["mae"], metrics["rmse"])
        metrics["mae"] = (float(mae[0]), float(mae[1]), float(mae[2]))
    return replace(found, metrics=metrics)


WORDS = {"rmse": "RMSE", "mae": "MAE", "accuracy": "accuracy", "log_loss": "log loss"}


def spoken(name: str, means: Any) -> tuple[str, Any]:
    """Return the metric that people speak of, given means of an error or loss, and its values."""
    if name == "squared_error":
        return "rmse", np.sqrt(means)
    if name == "error":
        return "accuracy", 1 - means
    return {"absolute_error": "mae"}.get(name, name), means


def known_metrics(metrics: dict[str, Array]) -> dict[str, float]:
    """Return the metrics of rows whose labels are known."""
    found = (spoken(name, values.mean()) for name, values in metrics.items())
    return {name: float(value) for name, value in found}
