"""Pointwise losses l(y, f): value, derivative and curvature in f. They never see X.

A loss is any object with the members of `Loss`; deriving from it is the short way, since then only
`value`, `gradient` and, if it is cheap, `curvature` are to be written. Classification losses take
y in {-1, +1} and depend on the margin y f alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._core.activation import sigmoid, softplus

Array = NDArray[Any]


class Loss(ABC):
    """A pointwise loss, convex and once differentiable in the score f.

    Attributes
    ----------
    degree : int, default=0
        How a loss of the residual y - f scales with it: l(s y, s f) = s**degree l(y, f) for
        s > 0. With ``standardize=True`` its target is brought to mean zero and unit spread, so
        that beta and the ridge mean the same whatever y's unit. 0 stands for any other loss, such
        as those of class labels: its target is left as it is.
    log_odds_per_score : float or None, default=None
        For a loss of class labels: the log-odds are this many times the score f. None if the
        score says nothing about probabilities; then there is no ``predict_proba``.
    """

    degree: int = 0
    log_odds_per_score: float | None = None

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return l(y, f), element by element."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative of l(y, f) in f, element by element."""

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative in f, or a positive stand-in for it.

        It only preconditions the solver: a poor one costs passes over the data, never accuracy.
        """
        return np.ones_like(f)

    def reduce(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> float:
        """Return the weighted sum of l(y, f), and overwrite f with the weighted derivative.

        This is what a pass over the data calls for each block of rows. Losses on the hot path
        override it with in-place operations; `scratch` is theirs to use and as long as f.
        """
        value, gradient = self.value(y, f), self.gradient(y, f)
        if weight is None:
            f[...] = gradient
            return float(value.sum(dtype=np.float64))
        np.multiply(gradient, weight, out=f)
        return float(np.dot(value, weight))


class SquaredError(Loss):
    """(y - f)^2, without a factor of one half."""

    degree = 2

    def value(self, y: Array, f: Array) -> Array:
        """Return (y - f)^2."""
        value: Array = np.square(y - f)
        return value

    def gradient(self, y: Array, f: Array) -> Array:
        """Return 2 (f - y)."""
        return 2 * (f - y)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2."""
        return np.full_like(f, 2)

    def reduce(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> float:
        """Do it in place."""
        f -= y
        if weight is None:
            total = float(np.dot(f, f))
        else:
            np.multiply(f, weight, out=scratch)
            total = float(np.dot(scratch, f))
            f[...] = scratch
        f *= 2
        return total


@dataclass(frozen=True)
class Huber(Loss):
    """(y - f)^2 up to |y - f| = delta, and the tangent line beyond: 2 delta |y - f| - delta^2.

    With a standardised target delta counts in standard deviations of it.
    """

    delta: float = 1.0
    degree = 2

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        size = np.abs(y - f)
        inside = np.minimum(size, self.delta)
        value: Array = inside * (2 * size - inside)
        return value

    def gradient(self, y: Array, f: Array) -> Array:
        """Return 2 (f - y), held to [-2 delta, 2 delta]."""
        value: Array = 2 * np.clip(f - y, -self.delta, self.delta)
        return value

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2 inside; outside the weight 2 delta / |y - f| that gives the same derivative."""
        value: Array = 2 * self.delta / np.maximum(np.abs(y - f), self.delta)
        return value


@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss of a quantile q, smoothed: a parabola replaces the kink within `width`.

    With r = y - f the pinball loss is max(q r, (q - 1) r) = |r|/2 + (q - 1/2) r. Here |r| becomes
    r^2 / (2 width) + width / 2 for |r| < width. `width` is in units of the (standardised) target;
    the fitted quantile is that of y blurred by about `width`.
    """

    quantile: float = 0.5
    width: float = 0.01
    degree = 1

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        r = y - f
        size = np.abs(r)
        smooth = np.where(size < self.width, r * r / (2 * self.width) + self.width / 2, size)
        value: Array = smooth / 2 + (self.quantile - 0.5) * r
        return value

    def gradient(self, y: Array, f: Array) -> Array:
        """Return its derivative, between -q and 1 - q."""
        value: Array = np.clip((f - y) / self.width, -1, 1) / 2 - (self.quantile - 0.5)
        return value

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the weight that gives the derivative of |r| / 2 at r, bounded at the kink."""
        value: Array = 0.5 / np.maximum(np.abs(y - f), self.width)
        return value


class LogLoss(Loss):
    """log(1 + exp(-y f)), whose score f is a log-odds."""

    log_odds_per_score = 1.0

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        return softplus(-y * f, 1.0)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y / (1 + exp(y f))."""
        value: Array = -y * sigmoid(-y * f)
        return value

    def curvature(self, y: Array, f: Array) -> Array:
        """Return p (1 - p) with p = 1 / (1 + exp(-f))."""
        value: Array = sigmoid(f) * sigmoid(-f)
        return value

    def reduce(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> float:
        """Do it in place. log1p, not log: the mean loss of separable classes is all tail."""
        f *= y
        # exp overflows beyond the cap and is slow below the normal numbers; the loss is then
        # linear or zero to the last bit.
        cap = 85 if f.dtype == np.float32 else 700
        np.negative(f, out=f)
        f.clip(-cap, cap, out=scratch)
        excess = 0.0
        if np.maximum.reduce(f) > cap:
            surplus = np.maximum(f - cap, 0)
            excess = float(surplus.sum() if weight is None else np.dot(surplus, weight))
        np.exp(scratch, out=scratch)
        np.add(scratch, 1, out=f)
        np.divide(scratch, f, out=f)
        np.log1p(scratch, out=scratch)
        total = float(np.add.reduce(scratch) if weight is None else np.dot(scratch, weight))
        f *= y
        np.negative(f, out=f)
        if weight is not None:
            f *= weight
        return total + excess


class Exponential(Loss):
    """exp(-y f), AdaBoost's loss; the log-odds are 2 f.

    Beyond a margin of -50 it goes on as its tangent line, so that one row far on the wrong side
    cannot overflow.
    """

    log_odds_per_score = 2.0
    _limit = 50.0

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        t = -y * f
        value: Array = np.exp(np.minimum(t, self._limit)) * (1 + np.maximum(t - self._limit, 0))
        return value

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y exp(-y f), held beyond the limit."""
        value: Array = -y * np.exp(np.minimum(-y * f, self._limit))
        return value

    def curvature(self, y: Array, f: Array) -> Array:
        """Return exp(-y f), held beyond the limit."""
        value: Array = np.exp(np.minimum(-y * f, self._limit))
        return value


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y f), smoothed: a parabola of the given width replaces the kink.

    With t = 1 - y f the loss is 0 for t <= 0, t^2 / (2 width) up to t = width and t - width / 2
    beyond.
    """

    width: float = 0.5

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        t = np.maximum(1 - y * f, 0)
        inside = np.minimum(t, self.width)
        value: Array = inside * inside / (2 * self.width) + (t - inside)
        return value

    def gradient(self, y: Array, f: Array) -> Array:
        """Return its derivative, between -1 and 1."""
        value: Array = -y * np.clip((1 - y * f) / self.width, 0, 1)
        return value

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 1 / width on the parabola, and a tenth of it elsewhere, to stay positive."""
        t = 1 - y * f
        value: Array = np.where((t > 0) & (t < self.width), 1.0, 0.1) / self.width
        return value.astype(f.dtype)
