"""The expected loss of rows without labels, from how it grew with the reach on calibration rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from gbmap._fitted.results import frame
from gbmap._utils.glossary import METRICS
from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._intervals import ratio_interval
from gbmap.drift._places import level_ties

_FEW_GAPS = 10  # calibration rows with missing values, which say little
_MOST_KNOWN = 1000  # intervals that are kept, by how many rows they are for
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
            about += "; " + ", ".join(
                f"{METRICS[name].name} {cell(each[0])}" for name, each in self.metrics.items()
            )
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
    guess : float or None
        The mean loss of predictions that are guesses, which rows far off the data come near; None if there is
        no such end.
    """

    at_most: Callable[[Array], Array]
    largest: float = np.inf
    guess: float | None = None

    def by_gap(self, size: Array) -> Array:
        """Return the loss to expect if errors are of such a size, for the better or the worse."""
        return self.at_most(size) * (1.0 if self.guess is None else self.guess)

    def beside(self, inside: Array, more: Array) -> Array:
        """Return the loss to expect inside the data with what is beyond added, up to that of a guess."""
        if self.guess is None:
            return inside + more
        return inside + np.maximum(self.guess - inside, 0.0) * more

    def added(self, size: Array, border: float) -> tuple[Array, Array]:
        """Return what an error beyond a border adds to the loss: on average, if uniform, and at most.

        If the loss has an end, shares of the way there.
        """
        outside, at_border = np.maximum(size, border), np.full(1, border)
        ends = []
        for of_size in (self.mean_up_to, self.at_most):
            more, before = of_size(outside), of_size(at_border)
            left = 1.0 if self.guess is None else np.maximum(self.largest - before, np.finfo(np.float64).tiny)
            ends.append((more - before) / left)
        return ends[0], ends[1]

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
    border. Values that are missing let rows reach farther by the gap that they leave, and add the loss of an
    error as large, as far as calibration rows with gaps bear it out. Of a strange row less than the mean loss
    is never expected.

    Attributes
    ----------
    curve : RisingCurve
    border : float
        The distance d at the border: as far astray as the farthest calibration row.
    losses : array of shape (n,)
        Of the calibration rows.
    expected : array of shape (n,)
        What a curve says that was fitted without them.
    share_of_gap : float
        How much of the loss by gaps there is, where values were missing before. Where they never were, all.
    """

    curve: RisingCurve
    border: float
    losses: Array
    expected: Array
    share_of_gap: float

    @classmethod
    def of(cls, measures: Measures, losses: Array, beyond: Beyond, rounding: float) -> LossModel:
        """Fit to calibration rows, whose measures are known up to rounding."""
        reach = level_ties(measures.full_reach, 2 * rounding)  # a sum of measures
        border = float(measures.astray.max())
        by_gap = beyond.by_gap(measures.gaps)
        share = _share_of_gap(losses, np.where(measures.is_strange, 0.0, by_gap))
        by_gap = np.where(measures.is_strange, 1.0, share) * by_gap
        rest = losses - by_gap
        expected = np.maximum(_without_it(reach, rest), 0.0) + by_gap
        return cls(RisingCurve.of(reach, rest), border, losses, expected, share)

    def estimate(self, measures: Measures, beyond_loss: Beyond, confidence: float) -> LossEstimate:
        """Return expected losses with intervals, and no metrics."""
        inside = np.maximum(self.curve(measures.full_reach), 0.0)
        share = np.where(measures.is_strange, 1.0, self.share_of_gap)
        inside += share * beyond_loss.by_gap(measures.gaps)
        mean = float(self.losses.mean())
        inside = np.where(measures.is_strange, np.maximum(inside, mean), inside)
        beyond, at_most = beyond_loss.added(measures.astray, self.border)
        low, high = self._row_ratios(confidence)
        below, above = self._mean_ratios(inside, confidence)
        largest = beyond_loss.largest
        losses = np.minimum(beyond_loss.beside(inside, beyond), largest)
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
        ratios = self._sorted_ratios
        n, tail = len(ratios), (1 - confidence) / 2
        first, last = int(np.floor((n + 1) * tail + 1e-9)), int(np.ceil((n + 1) * (1 - tail) - 1e-9))
        low = ratios[first - 1] if first > 0 else 0.0
        return float(low), float(ratios[last - 1]) if last <= n else np.inf

    @cached_property
    def _sorted_ratios(self) -> Array:
        return np.sort(self.losses / np.where(self.expected > 0, self.expected, 1.0))

    def _mean_ratios(self, inside: Array, confidence: float) -> tuple[float, float]:
        """Return by what to multiply the expected mean loss for an interval of it."""
        squares = float(np.sum(inside**2))
        n_rows = max(1, round(inside.sum() ** 2 / squares if squares > 0 else len(inside)))
        found = self._known_ratios.get((n_rows, confidence))
        if found is None:
            if len(self._known_ratios) >= _MOST_KNOWN:
                self._known_ratios.clear()
            found = ratio_interval(self.losses, self.expected, n_rows, confidence)
            self._known_ratios[n_rows, confidence] = found
        return found

    @cached_property
    def _known_ratios(self) -> dict[tuple[int, float], tuple[float, float]]:
        """Those of batches of so many rows, which take far longer than all else of a few rows."""
        return {}


@dataclass(frozen=True)
class RisingCurve:
    """A function that rises, straight between points and flat beyond them.

    Attributes
    ----------
    x, y : arrays of shape (n,)
    """

    x: Array
    y: Array

    @classmethod
    def of(cls, x: Array, y: Array) -> RisingCurve:
        """Return the isotonic regression of values."""
        found = IsotonicRegression().fit(x, y)
        return cls(found.X_thresholds_, found.y_thresholds_)

    def __call__(self, x: Array) -> Array:
        """Return its values."""
        return np.interp(x, self.x, self.y)


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
        expected[here] = RisingCurve.of(reach[~here], losses[~here])(reach[here])
    return expected


def estimate_losses(
    calibration: Calibration, beyond_loss: Beyond, beyond: dict[str, Beyond], rounding: float,
    measures: Measures, confidence: float,
) -> LossEstimate:  # fmt: skip
    """Return the estimate of the model's own loss, and of what people speak of."""

    def estimate(name: str, losses: Array, of_error: Beyond) -> LossEstimate:
        model = calibration.kept.get(name)
        if model is None:
            model = LossModel.of(calibration.measures, losses, of_error, rounding)
            calibration.kept[name] = model
        return model.estimate(measures, of_error, confidence)

    found = estimate("", calibration.losses, beyond_loss)
    metrics = {}
    for name, values in calibration.metrics.items():
        is_own = np.array_equal(values, calibration.losses)  # as squared errors often are
        each = found if is_own else estimate(name, values, beyond[name])
        title, ends = spoken(name, np.array([each.mean, each.mean_lower, each.mean_upper]))
        metrics[title] = (float(ends[0]), float(ends[1:].min()), float(ends[1:].max()))
    if {"mae", "rmse"} <= metrics.keys():  # no mean of sizes is above the root of that of their squares
        mae = np.minimum(metrics["mae"], metrics["rmse"])
        metrics["mae"] = (float(mae[0]), float(mae[1]), float(mae[2]))
    return replace(found, metrics=metrics)


def spoken(name: str, means: Any) -> tuple[str, Any]:
    """Return the metric that people speak of, given means of an error or loss, and its values."""
    if name == "squared_error":
        return "rmse", np.sqrt(means)
    if name == "error":
        return "accuracy", 1 - means
    return {"absolute_error": "mae"}.get(name, name), means


def told_loss(calibration: Calibration) -> str:
    """Return what tells the mean loss: "rmse", "log_loss", or "loss" if it is neither."""
    known, mean = known_metrics(calibration.metrics), calibration.losses.mean()
    names = [name for name in ("rmse", "log_loss") if name in known]
    return next((name for name in names if np.isclose(known[name], as_told(name, mean))), "loss")


def as_told(name: str, mean: Any) -> Any:
    """Return mean losses as a metric by name tells them."""
    return np.sqrt(mean) if name == "rmse" else mean


def known_metrics(metrics: dict[str, Array]) -> dict[str, float]:
    """Return the metrics of rows whose labels are known."""
    found = (spoken(name, values.mean()) for name, values in metrics.items())
    return {name: float(value) for name, value in found}
