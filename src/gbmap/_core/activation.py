"""The non-linearity g of a weak learner: softplus, or the identity.

Softplus g(z) = log(1 + exp(beta z)) / beta tends to ReLU as beta grows; its slope is
g'(z) = 1 / (1 + exp(-beta z)). The functions at the top are the definition, stable for every
beta z and broadcasting over beta. The classes hold a fixed beta and add the in-place form that
the fused pass over the data uses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.arrays import library_of, namespace
from gbmap._utils.typing import Array


def softplus(z: Array, beta: Array | float) -> Array:
    """Return log(1 + exp(beta z)) / beta without overflow or loss of the tail."""
    t = beta * z
    return library_of(t).softplus(t) / beta


def sigmoid(t: Array) -> Array:
    """Return 1 / (1 + exp(-t)), accurate in both tails."""
    return library_of(t).sigmoid(t)


def secant(z: Array, other: Array, beta: Array | float) -> Array:
    """Return (g(z) - g(other)) / (z - other), the mean slope of softplus between two points, to rounding.

    With t = beta z and d = |t - t'|, the difference of near points is -log1p(sigmoid(max(t, t')) expm1(-d)),
    in which nothing cancels; in that of far points little does.
    """
    t, u = np.broadcast_arrays(beta * z, beta * other)
    gap = np.abs(t - u)
    slope = sigmoid(np.maximum(t, u))
    near = gap < 1
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(near, -np.log1p(slope * np.expm1(-np.minimum(gap, 1))), 0.0)
        np.copyto(difference, np.abs(softplus(t, 1.0) - softplus(u, 1.0)), where=~near)
        value: Array = np.where(gap > 1e-300, difference / gap, slope)
    return value


# How far from its bend softplus is the identity to the last bit, in units of 1 / beta; and how much further
# rows are to lie from the bend of a linear part, in units of the spread of y, or of logits.
_TO_IDENTITY, _REACH = 40.0, 64.0


@dataclass(frozen=True)
class Softplus:
    """Softplus with a given beta."""

    beta: float
    both_signs = True

    @property
    def far(self) -> float:
        """The c at which g(w . x + c) is linear for all rows."""
        return _REACH + _TO_IDENTITY / self.beta

    def value(self, z: Array) -> Array:
        """Return g(z)."""
        return softplus(z, self.beta)

    def slope(self, z: Array) -> Array:
        """Return g'(z)."""
        return sigmoid(self.beta * z)

    def gain(self, dtype: np.dtype[Any]) -> float:
        """Return the factor by which `apply` wants z multiplied.

        NumPy's exp2 and log2 take half the time of exp and log in float32, and no less in
        float64, so float32 works in base 2. The factor is folded into the weights.
        """
        return self.beta * math.log2(math.e) if dtype == np.float32 else self.beta

    def apply(self, t: Array, value: Array, slope: Array) -> None:
        """From t = gain z write gain g(z) into `value` and g'(z) into `slope`."""
        exp, log, cap = (np.exp2, np.log2, 125) if t.dtype == np.float32 else (np.exp, np.log, 700)
        # Beyond the cap exp would overflow or leave the normal numbers, where it takes 15 to 150
        # times as long; there g is 0 or the identity to the last bit.
        t.clip(-cap, cap, out=slope)
        exp(slope, out=slope)
        np.add(slope, 1, out=value)
        np.divide(slope, value, out=slope)
        log(value, out=value)
        if np.maximum.reduce(t, initial=0) > cap:
            np.copyto(value, t, where=t > cap)


@dataclass(frozen=True)
class Identity:
    """g(z) = z: the first learner is then ridge or logistic regression (Lemma 1 of the paper)."""

    beta: float
    both_signs = False  # g(-z) = -g(z), so that b = -1 brings nothing new
    far = 0.0  # all learners are linear

    def value(self, z: Array) -> Array:
        """Return z."""
        return z

    def slope(self, z: Array) -> Array:
        """Return ones."""
        return namespace(z).ones_like(z)

    def gain(self, dtype: np.dtype[Any]) -> float:
        """Return 1: nothing is to be scaled."""
        return 1.0

    def apply(self, t: Array, value: Array, slope: Array) -> None:
        """Copy t into `value`, and write ones into `slope`."""
        value[...] = t
        slope.fill(1)


Activation = Softplus | Identity
ACTIVATIONS: dict[str, type[Activation]] = {"softplus": Softplus, "identity": Identity}
