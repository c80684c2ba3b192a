"""The expected loss of rows without labels, from how it grew with the reach on calibration rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from gbmap._fitted.results import frame
from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._places import level_ties

# Calibration rows astray beyond this quantile count as the border of the data.
_BORDER = 0.99


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
    """

    losses: Array
    lower: Array
    upper: Array
    mean: float
    mean_lower: float
    mean_upper: float
    confidence: float

    def _shown(self) -> Shown:
        interval = f"{cell(self.mean_lower)} to {cell(self.mean_upper)} with confidence {self.confidence:g}"
        about = f"mean {cell(self.mean)} ({interval}) of {counted(len(self.losses), 'row')}"
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
class LossModel:
    """The expected loss as a function of the measures of a row.

    Within the data it is the isotonic regression of the calibration losses on the reach. Beyond their
    border, the distance d by which the prediction can have gone astray counts (that of the embedding, or
    |f - f_kNN| if it is larger): the loss of an error that is uniform in [-d, d] is added, less that at the
    border.

    Attributes
    ----------
    curve : fitted IsotonicRegression
    border : float
        The distance d at the border.
    ratios : array of shape (n,)
        Calibration losses over what the curve says, sorted.
    loss_of_error : callable
        The loss if every output is off by so much, (n,) -> (n,).
    """

    curve: IsotonicRegression
    border: float
    ratios: Array
    loss_of_error: Callable[[Array], Array]

    @classmethod
    def of(
        cls, calibration: Calibration, loss_of_error: Callable[[Array], Array], rounding: float
    ) -> LossModel:
        """Fit to calibration rows, whose measures are known up to rounding."""
        curve = IsotonicRegression(y_min=0.0, out_of_bounds="clip")
        reach = level_ties(calibration.measures.reach, 2 * rounding)  # the sum of two measures
        expected = curve.fit_transform(reach, calibration.losses)
        ratios = np.sort(calibration.losses / np.where(expected > 0, expected, 1.0))
        border = float(np.quantile(calibration.measures.astray, _BORDER))
        return cls(curve, border, ratios, loss_of_error)

    def estimate(self, measures: Measures, confidence: float) -> LossEstimate:
        """Return expected losses with intervals."""
        inside = self.curve.predict(measures.reach)
        beyond, at_most = self._beyond(measures.astray)
        low, high = np.quantile(self.ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
        error = self._error_of_mean(inside, confidence)
        losses = inside + beyond
        return LossEstimate(
            losses=losses,
            # The mean of skewed losses may lie outside a short interval of their quantiles.
            lower=np.minimum(low * inside, losses),
            upper=np.maximum(high * inside + at_most, losses),
            mean=float(losses.mean()),
            mean_lower=max(float(inside.mean() - error), 0.0),
            mean_upper=float((inside + at_most).mean() + error),
            confidence=confidence,
        )

    def _beyond(self, astray: Array) -> tuple[Array, Array]:
        """Return what going astray beyond the border adds to the loss: on average, and at most."""
        outside = np.maximum(astray, self.border)
        border = np.full(1, self.border)
        return (
            self._mean_loss_up_to(outside) - self._mean_loss_up_to(border),
            self.loss_of_error(outside) - self.loss_of_error(border),
        )

    def _mean_loss_up_to(self, size: Array) -> Array:
        """Return the mean loss of errors uniform in [-size, size], by Simpson's rule: exact for squares."""
        parts = np.array([1, 4, 2, 4, 1]) / 12
        nodes = zip(parts, np.linspace(0, 1, 5))
        return np.sum([weight * self.loss_of_error(t * size) for weight, t in nodes], axis=0)

    def _error_of_mean(self, inside: Array, confidence: float) -> float:
        """Return the half-width for the mean of the batch: of its own rows' noise and of the calibration."""
        spread = float(self.ratios.std())
        own, calibration = (inside**2).mean() / len(inside), inside.mean() ** 2 / len(self.ratios)
        return float(norm.ppf((1 + confidence) / 2) * spread * np.sqrt(own + calibration))
