"""Pointwise losses l(y, f): value, derivative and curvature in f. They never see X.

A loss is any object with the members of `Loss`; deriving from it is the short way, since then only
`value`, `gradient` and, if it is cheap, `curvature` are to be written. Classification losses take
y in {-1, +1} and depend on the margin y f alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gbmap._core.activation import sigmoid, softplus
from gbmap._core.arrays import namespace
from gbmap._utils.typing import Array

# The share of rows that a trimmed mean leaves out.
_TRIMMED = 0.005


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
    ridge_share : float, default=1.0
        What ``l2_regularization`` is multiplied by with ``standardize=True``. A loss whose size follows a
        parameter of its own says so here, so that the ridge weighs as much beside it whatever that is.

    Examples
    --------
    >>> from gbmap.losses import Loss
    >>> class Quartic(Loss):
    ...     degree = 4
    ...     def value(self, y, f):
    ...         return (y - f) ** 4
    ...     def gradient(self, y, f):
    ...         return 4 * (f - y) ** 3
    >>> Quartic().value(3.0, 1.0), Quartic().gradient(3.0, 1.0)
    (16.0, -32.0)
    """

    degree: int = 0
    log_odds_per_score: float | None = None
    ridge_share: float = 1.0

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return l(y, f), element by element.

        Parameters
        ----------
        y, f : arrays of the same shape
            Targets and scores.

        Returns
        -------
        value : array of that shape
        """

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return the derivative of l(y, f) in f, element by element.

        Parameters
        ----------
        y, f : arrays of the same shape
            Targets and scores.

        Returns
        -------
        gradient : array of that shape
        """

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative in f, or a positive stand-in for it.

        It preconditions the solver, which a poor one costs passes over the data, and tells
        ``l2_regularization="auto"`` how much of a learner the data determines.

        Parameters
        ----------
        y, f : arrays of the same shape
            Targets and scores.

        Returns
        -------
        curvature : array of that shape
        """
        return namespace(f).ones_like(f)

    def noise(self, mean_loss: float) -> float:
        """Return T for which exp(-l / T) is about how likely a target is, given the mean loss of a fit.

        ``l2_regularization="auto"`` takes the size of a loss by it. For a loss of the residual it is the
        degree times the mean loss, which makes the targets most likely: twice the variance for squared
        errors. Any other loss counts as a square near its minimum, and at most as the negative logarithm of
        a probability, for which T is one; the losses of class labels here always do.

        Parameters
        ----------
        mean_loss : float

        Returns
        -------
        T : float
        """
        return self.degree * mean_loss if self.degree else min(2 * mean_loss, 1.0)

    def sum_and_gradient_inplace(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> float:
        """Return the weighted sum of l(y, f), and overwrite f with the weighted derivative.

        This is what a pass over the data calls for each block of rows. Losses on the hot path
        override it with in-place operations.

        Parameters
        ----------
        y, f : arrays of shape (n,)
            Targets and scores.
        weight : array of shape (n,) or None
        scratch : array of shape (n,)
            For the loss to use as it likes.

        Returns
        -------
        total : float
        """
        value, gradient = self.value(y, f), self.gradient(y, f)
        if weight is None:
            f[...] = gradient
            return float(value.sum(dtype=np.float64))
        np.multiply(gradient, weight, out=f)
        return float(np.dot(value, weight))

    def sums_and_gradients_inplace(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> Array:
        """Do the same for each of several outputs.

        Parameters
        ----------
        y, f, scratch : arrays of shape (K, n)
        weight : array of shape (n,) or None

        Returns
        -------
        totals : array of shape (K,)
        """
        each = zip(y, f, scratch)
        return np.array([self.sum_and_gradient_inplace(y, f, weight, scratch) for y, f, scratch in each])


class SquaredError(Loss):
    """(y - f)^2, without a factor of one half.

    Examples
    --------
    >>> from gbmap.losses import SquaredError
    >>> SquaredError().value(3.0, 1.0), SquaredError().gradient(3.0, 1.0)
    (4.0, -4.0)
    """

    degree = 2

    def value(self, y: Array, f: Array) -> Array:
        """Return (y - f)^2."""
        return (y - f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        """Return 2 (f - y)."""
        return 2 * (f - y)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2."""
        return namespace(f).full_like(f, 2)

    def sum_and_gradient_inplace(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> float:
        """Do it in place."""
        f -= y
        if weight is None:
            total = float(f.dot(f))
        else:
            np.multiply(f, weight, out=scratch)
            total = float(np.dot(scratch, f))
            f[...] = scratch
        f *= 2
        return total

    def sums_and_gradients_inplace(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> Array:
        """Do it in place, and for all outputs at once."""
        if type(self) is not SquaredError:  # another class may have another value
            return super().sums_and_gradients_inplace(y, f, weight, scratch)
        f -= y
        np.copyto(scratch, f)
        if weight is not None:
            f *= weight
        total: Array = np.einsum("ij,ij->i", f, scratch)
        f *= 2
        return total


@dataclass(frozen=True)
class Huber(Loss):
    """``(y - f)^2`` up to ``|y - f| = delta``, the tangent line ``2 delta |y - f| - delta^2`` beyond.

    Parameters
    ----------
    delta : float, default=1.0
        Where it turns linear; with a standardised target in standard deviations of it. Below one the loss of
        most rows falls with it, and so does the ridge: its `ridge_share` is ``min(delta, 1)``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.losses import Huber
    >>> Huber(delta=1.0).value(np.array([0.5, 3.0]), np.zeros(2)).tolist()  # 0.25, not 9
    [0.25, 5.0]
    """

    delta: float = 1.0
    degree = 2

    @property
    def ridge_share(self) -> float:  # type: ignore[override]
        """The loss beside the squared error, of a row that is one standard deviation off."""
        return min(self.delta, 1.0)

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        xp = namespace(f)
        size = xp.abs(y - f)
        inside = xp.minimum(size, self.delta)
        return inside * (2 * size - inside)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return 2 (f - y), held to [-2 delta, 2 delta]."""
        return 2 * namespace(f).clip(f - y, -self.delta, self.delta)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2 inside; outside the weight ``2 delta / |y - f|`` that gives the same derivative."""
        xp = namespace(f)
        return 2 * self.delta / xp.maximum(xp.abs(y - f), self.delta)


@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss of a quantile q, smoothed: a parabola replaces the kink within `width`.

    With ``r = y - f`` the pinball loss is ``max(q r, (q - 1) r) = |r|/2 + (q - 1/2) r``. Here ``|r|``
    becomes ``r^2 / (2 width) + width / 2`` where it is below `width`. The fitted quantile is that of y
    blurred by about as much.

    Parameters
    ----------
    quantile : float, default=0.5
        q, between 0 and 1.
    width : float, default=0.01
        In units of the (standardised) target.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.losses import Quantile
    >>> Quantile(0.9).value(np.array([1.0, -1.0]), np.zeros(2)).round(6).tolist()  # too low costs more
    [0.9, 0.1]
    """

    quantile: float = 0.5
    width: float = 0.01
    degree = 1

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        xp = namespace(f)
        r = y - f
        size = xp.abs(r)
        smooth = xp.where(size < self.width, r * r / (2 * self.width) + self.width / 2, size)
        return smooth / 2 + (self.quantile - 0.5) * r

    def gradient(self, y: Array, f: Array) -> Array:
        """Return its derivative, between -q and 1 - q."""
        return namespace(f).clip((f - y) / self.width, -1.0, 1.0) / 2 - (self.quantile - 0.5)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the weight that gives the derivative of ``|r| / 2`` at r, bounded at the kink."""
        xp = namespace(f)
        return 0.5 / xp.maximum(xp.abs(y - f), self.width)


class LogLoss(Loss):
    """log(1 + exp(-y f)), whose score f is a log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.losses import LogLoss
    >>> LogLoss().value(np.array([1.0, -1.0]), np.array([2.0, 2.0])).round(3).tolist()
    [0.127, 2.127]
    """

    log_odds_per_score = 1.0

    def noise(self, mean_loss: float) -> float:
        """Return one."""
        return 1.0

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        return softplus(-y * f, 1.0)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y / (1 + exp(y f))."""
        return -y * sigmoid(-y * f)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return p (1 - p) with p = 1 / (1 + exp(-f))."""
        return sigmoid(f) * sigmoid(-f)

    def sum_and_gradient_inplace(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> float:
        """Do it in place."""
        return float(self._sums_inplace(y, f, weight, scratch))

    def sums_and_gradients_inplace(self, y: Array, f: Array, weight: Array | None, scratch: Array) -> Array:
        """Do it in place, and for all outputs at once."""
        if type(self) is not LogLoss:  # another class may have another value
            return super().sums_and_gradients_inplace(y, f, weight, scratch)
        return self._sums_inplace(y, f, weight, scratch)

    @staticmethod
    def _sums_inplace(y: Array, f: Array, weight: Array | None, scratch: Array) -> Array:
        """Do it along the last axis. log1p, not log: the mean loss of separable classes is all tail."""
        f *= y
        # exp overflows beyond the cap and is slow below the normal numbers; the loss is then
        # linear or zero to the last bit.
        cap = 85 if f.dtype == np.float32 else 700
        np.negative(f, out=f)
        f.clip(-cap, cap, out=scratch)
        excess: Any = 0.0
        if np.maximum.reduce(f, axis=None) > cap:
            surplus = np.maximum(f - cap, 0)
            excess = surplus.sum(axis=-1) if weight is None else surplus.dot(weight)
        np.exp(scratch, out=scratch)
        np.add(scratch, 1, out=f)
        np.divide(scratch, f, out=f)
        np.log1p(scratch, out=scratch)
        total: Array = np.add.reduce(scratch, axis=-1) if weight is None else scratch.dot(weight)
        f *= y
        np.negative(f, out=f)
        if weight is not None:
            f *= weight
        return total + excess


class Exponential(Loss):
    """exp(-y f), AdaBoost's loss; the log-odds are 2 f.

    Beyond a margin of -50 it goes on as its tangent line, so that one row far on the wrong side
    cannot overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.losses import Exponential
    >>> Exponential().value(np.array([1.0, -1.0]), np.array([2.0, 2.0])).round(3).tolist()
    [0.135, 7.389]
    """

    log_odds_per_score = 2.0
    _limit = 50.0

    def noise(self, mean_loss: float) -> float:
        """Return one."""
        return 1.0

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        xp = namespace(f)
        t = -y * f
        return xp.exp(xp.minimum(t, self._limit)) * (1 + xp.maximum(t - self._limit, 0))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y exp(-y f), held beyond the limit."""
        xp = namespace(f)
        return -y * xp.exp(xp.minimum(-y * f, self._limit))

    def curvature(self, y: Array, f: Array) -> Array:
        """Return exp(-y f), held beyond the limit."""
        xp = namespace(f)
        return xp.exp(xp.minimum(-y * f, self._limit))


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y f), smoothed: a parabola of the given width replaces the kink.

    With t = 1 - y f the loss is 0 for t <= 0, t^2 / (2 width) up to t = width and t - width / 2
    beyond.

    Parameters
    ----------
    width : float, default=0.5

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.losses import Hinge
    >>> Hinge(width=0.5).value(np.ones(3), np.array([2.0, 0.75, -1.0])).tolist()
    [0.0, 0.0625, 1.75]
    """

    width: float = 0.5

    def noise(self, mean_loss: float) -> float:
        """Return one."""
        return 1.0

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss, element by element."""
        xp = namespace(f)
        t = xp.maximum(1 - y * f, 0)
        inside = xp.minimum(t, self.width)
        return inside * inside / (2 * self.width) + (t - inside)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return its derivative, between -1 and 1."""
        return -y * namespace(f).clip((1 - y * f) / self.width, 0.0, 1.0)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 1 / width on the parabola, and a tenth of it elsewhere, to stay positive."""
        t = 1 - y * f
        xp = namespace(f)
        return xp.where((t > 0) & (t < self.width), xp.ones_like(t), 0.1) / self.width


class RowLosses(NamedTuple):
    """The loss of every row, in memory, with weights and targets."""

    values: Array
    weight: Array
    y: Array

    def trimmed_mean(self, loss: Loss) -> float:
        """Return the mean of all losses but those few that are the largest.

        Rows far from all others can have losses beyond measure; a choice between models is not theirs to
        make. Of class labels as many are left out of either class as the rarer one can spare, so that a rare
        class still counts.
        """
        counted = self.weight > 0
        masks = [counted] if loss.degree else [counted & (self.y > 0), counted & (self.y <= 0)]
        groups = [np.flatnonzero(mask) for mask in masks if mask.any()]
        n_out = int(_TRIMMED * min(map(len, groups)))
        kept = np.concatenate([self._smallest(group, len(group) - n_out) for group in groups])
        return float(np.average(self.values[kept], weights=self.weight[kept]))

    @property
    def mean(self) -> float:
        """The mean loss."""
        return float(np.average(self.values, weights=self.weight))

    def helps_several(self, other: RowLosses, n_rows: float) -> bool:
        """Return whether the rows, which count as so many, gain there without the one that gains most."""
        gains, one = self.values - other.values, self.weight.sum() / n_rows
        return bool(self.weight @ gains > (np.minimum(self.weight, one) * gains).max())

    def trimmed_with(self, other: RowLosses, share: float) -> tuple[float, float]:
        """Return the mean losses here and there, without a share of the rows: those that gain most there."""
        counted = np.flatnonzero(self.weight)
        n_kept = max(1, int((1 - share) * len(counted)))
        kept = counted[np.argsort((self.values - other.values)[counted], kind="stable")[:n_kept]]
        here, there = (
            np.average(each[kept], weights=self.weight[kept]) for each in (self.values, other.values)
        )
        return float(here), float(there)

    def _smallest(self, rows: Array, n: int) -> Array:
        return rows if n == len(rows) else rows[np.argpartition(self.values[rows], n)[:n]]
