"""The largest value of a sum of softplus learners on a box, for many rows at once: branch and bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gbmap._core.activation import secant, sigmoid, softplus
from gbmap._utils.typing import Array, IntArray

_SURE = 1e-12  # the part by which one sum must exceed another for the sign of their difference to be sure
_FAR = 1e9  # spreads from the origin at which boxes without end are no longer cut
_KINK = 1e12  # the beta that stands for ReLU, for rates of growth in parts of the sum of all weights
_RATE = 1e-9  # such a rate that is not told from zero
_RATE_TOL = 1e-6  # of the search for the fastest growth
_RATE_BOXES = 64, 20_000  # of a short search, which mostly finds some growth, and of a long one


@dataclass(frozen=True)
class Learners:
    """The function to bound: sum_j b_j g(z_j + w_j . x) of x in a box, for rows that differ in z.

    Attributes
    ----------
    signs, beta : arrays of shape (M,)
    weights : array of shape (M, U)
    low, high : arrays of shape (U,)
        The box. Its ends may be infinite.
    scale : array of shape (U,)
        The spread of each coordinate, by which boxes without end are cut.
    """

    signs: Array
    beta: Array
    weights: Array
    low: Array
    high: Array
    scale: Array

    def at(self, z: Array, x: Array) -> Array:
        """Return the function at x, of shape (B, U), where the learners see z at the origin, (B, M)."""
        return softplus(z + x @ self.weights.T, self.beta) @ self.signs

    def slopes(self, z_low: Array, z_high: Array) -> tuple[Array, Array, Array]:
        """Return for boxes with z between ends where the function rises, where it falls, and how it bends.

        The slope in a coordinate is a sum of b_j w_j g', and g' rises with z. All are of shape (B, U).
        """
        parts = self.signs[:, None] * self.weights
        up, down = np.maximum(parts, 0.0), np.maximum(-parts, 0.0)
        least, most = sigmoid(self.beta * z_low), sigmoid(self.beta * z_high)
        rises = least @ up >= (1 + _SURE) * (most @ down)
        falls = least @ down >= (1 + _SURE) * (most @ up)
        return rises, falls, (most - least) @ np.abs(parts)

    @cached_property
    def weight_sum(self) -> float:
        """The sum of all weights, per spread, by their sizes."""
        return float(np.abs(self.weights * self.scale).sum())

    @cached_property
    def growth(self) -> tuple[float, float]:
        """How fast the function grows far out: an upper bound, and a rate at which it does somewhere.

        Along a ray d it grows by sum_j b_j max(w_j . d, 0), which is largest on a face of the cube
        [-scale, scale] in a coordinate without end. Rates are in parts of the sum of all weights.
        """
        back, forth = np.where(np.isinf(self.low), -1.0, 0.0), np.where(np.isinf(self.high), 1.0, 0.0)
        fixed = np.concatenate([np.diag(back)[back != 0], np.diag(forth)[forth != 0]])
        weights = self.weights * self.scale / max(self.weight_sum, np.finfo(float).tiny)
        ones = np.ones_like(self.scale)
        relu = Learners(self.signs, np.full_like(self.beta, _KINK), weights, back, forth, ones)
        faces = _Boxes(
            np.zeros(len(fixed), dtype=np.intp),
            np.zeros((len(fixed), len(weights))),
            np.where(fixed != 0, fixed, back),
            np.where(fixed != 0, fixed, forth),
        )
        blur = len(weights) / _KINK  # softplus exceeds ReLU by log(2) / beta at most
        for max_boxes in _RATE_BOXES:
            bound, met = _search(relu, faces, np.full(1, _RATE_TOL), max_boxes)
            if met[0] - blur > _RATE:
                break
        return float(bound[0]) + blur, float(met[0]) - blur


@dataclass(frozen=True)
class _Boxes:
    """Boxes, B of them: the row of each, what the learners see at its origin, and its ends."""

    row: IntArray
    z: Array
    low: Array
    high: Array

    def take(self, which: Array) -> _Boxes:
        return _Boxes(self.row[which], self.z[which], self.low[which], self.high[which])

    def ends(self, weights: Array) -> tuple[Array, Array]:
        """Return the least and the largest that each learner sees on each box, of shape (B, M)."""
        up, down = np.maximum(weights, 0.0).T, np.minimum(weights, 0.0).T
        low, high = (np.where(np.isfinite(end), end, 0.0) for end in (self.low, self.high))
        z_low = self.z + low @ up + high @ down
        z_high = self.z + high @ up + low @ down
        no_low, no_high = np.isinf(self.low), np.isinf(self.high)
        if no_low.any() or no_high.any():
            z_low[no_low @ (up > 0) | no_high @ (down < 0)] = -np.inf
            z_high[no_high @ (up > 0) | no_low @ (down < 0)] = np.inf
        return z_low, z_high

    def cuts(self, scale: Array) -> Array:
        """Return where to cut in each coordinate: in the middle, or farther and farther out without end."""
        with np.errstate(invalid="ignore"):
            middle = 0.5 * self.low + 0.5 * self.high
            after = self.low + 2 * np.maximum(scale, np.abs(self.low))
            before = self.high - 2 * np.maximum(scale, np.abs(self.high))
        no_low, no_high = np.isinf(self.low), np.isinf(self.high)
        return np.where(no_low, np.where(no_high, 0.0, before), np.where(no_high, after, middle))

    def widths(self, scale: Array) -> Array:
        """Return the widths, of shape (B, U); without end, one that shrinks with the distance from 0."""
        nearest = np.minimum(np.abs(self.low), np.abs(self.high))
        nearest = np.where(np.isinf(nearest), 0.0, nearest)
        endless = np.where(nearest < _FAR * scale, scale**2 / (scale + nearest), 0.0)
        width = self.high - self.low
        return np.where(np.isinf(width), endless, width)


def largest(
    learners: Learners, z: Array, row: IntArray, *, tol: Array, max_boxes: int
) -> tuple[Array, Array]:
    """Return an upper bound of the largest value of each row, and how far at most it is from that value.

    Parameters
    ----------
    learners : Learners
    z : array of shape (B, M)
        What the learners see at the origin. Several of these may belong to one row, which is then
        free to choose among them.
    row : integer array of shape (B,)
        The row of each, from 0 to n - 1.
    tol : array of shape (n,)
        How far is close enough.
    max_boxes : int
        A row that has had so many boxes is left as it is.

    Returns
    -------
    bound, gap : arrays of shape (n,)
    """
    low, high = (np.broadcast_to(end, (len(z), len(end))) for end in (learners.low, learners.high))
    boxes = _Boxes(row, z, low, high)
    if np.isinf(low).any() or np.isinf(high).any():
        most, met = learners.growth
        if met > _RATE:
            return np.full(row[-1] + 1, np.inf), np.zeros(row[-1] + 1)
        if most < -_RATE:
            boxes = _shorten(learners, boxes, -most * learners.weight_sum)
    bound, reached = _search(learners, boxes, tol, max_boxes)
    return bound, bound - reached


def _shorten(learners: Learners, boxes: _Boxes, rate: float) -> _Boxes:
    """Return boxes with ends beyond which a function that falls far out is below a value that it has.

    By a step d from where it sees z a learner gives at most g(z) + max(w . d, 0) if b = 1, and
    max(-z, 0) - max(w . d, 0) if b = -1; the sum of the second terms falls at least at the rate, per spread.
    """
    no_low, no_high = np.isinf(boxes.low), np.isinf(boxes.high)
    start = np.clip(0.0, boxes.low, boxes.high)
    near = replace(
        boxes,
        low=np.where(no_low | no_high, start, boxes.low),
        high=np.where(no_low | no_high, start, boxes.high),
    )
    z_low, z_high = near.ends(learners.weights)
    most = np.where(learners.signs > 0, softplus(z_high, learners.beta), np.maximum(-z_low, 0.0)).sum(axis=1)
    room = most - learners.at(near.z, near.cuts(learners.scale))
    reach = (1.001 * room / rate)[:, None] * learners.scale
    return replace(
        boxes,
        low=np.where(no_low, start - reach, boxes.low),
        high=np.where(no_high, start + reach, boxes.high),
    )


def _search(learners: Learners, boxes: _Boxes, tol: Array, max_boxes: int) -> tuple[Array, Array]:
    """Return an upper bound of the largest value of each row, and the largest value met, of shape (n,).

    Boxes that may hold a value above the largest met by more than tol are cut in two, all of them at once.
    """
    n = int(boxes.row[-1]) + 1
    bound, met, spent = np.full(n, -np.inf), np.full(n, -np.inf), np.zeros(n, dtype=np.intp)
    while True:
        spent += np.bincount(boxes.row, minlength=n)
        boxes, bend = _collapse(learners, boxes)
        ceiling, corner = _relax(learners, boxes)
        for x in (corner, boxes.cuts(learners.scale)):
            np.maximum.at(met, boxes.row, learners.at(boxes.z, x))
        bend *= boxes.widths(learners.scale)
        is_open = (ceiling > (met + tol)[boxes.row]) & (spent[boxes.row] < max_boxes) & (bend > 0).any(axis=1)
        np.maximum.at(bound, boxes.row[~is_open], ceiling[~is_open])
        if not is_open.any():
            return np.maximum(bound, met), met
        boxes = _split(learners, boxes.take(is_open), bend[is_open])


def _collapse(learners: Learners, boxes: _Boxes) -> tuple[_Boxes, Array]:
    """Move each coordinate in which the function rises, or falls, on all of a box to the better end.

    Also returned: how much the slope in each coordinate may vary on the box, of shape (B, U).
    """
    rises, falls, bend = learners.slopes(*boxes.ends(learners.weights))
    low = np.where(rises & np.isfinite(boxes.high), boxes.high, boxes.low)
    high = np.where(falls & np.isfinite(low), low, boxes.high)
    return replace(boxes, low=low, high=high), bend


def _relax(learners: Learners, boxes: _Boxes) -> tuple[Array, Array]:
    """Return an upper bound on each box, of shape (B,), and a corner where the value may be large, (B, U).

    The bound is the lesser of two. One is the sum of the most that each learner gives. For the other,
    softplus, which is convex, is replaced by its chord if b = 1, and by a tangent if b = -1; the sum of these
    lines is largest at a corner.
    """
    z_low, z_high = boxes.ends(learners.weights)
    plus, minus = learners.signs > 0, learners.signs < 0
    beta = learners.beta
    apart = softplus(z_high[:, plus], beta[plus]).sum(axis=1)
    apart -= softplus(z_low[:, minus], beta[minus]).sum(axis=1)
    chord, above = _chord(z_low[:, plus], z_high[:, plus], boxes.z[:, plus], beta[plus])
    tangent, below = _tangent(z_low[:, minus], z_high[:, minus], boxes.z[:, minus], beta[minus])
    up, down = np.maximum(learners.weights, 0.0), np.maximum(-learners.weights, 0.0)
    gain = chord @ up[plus] + tangent @ down[minus]
    loss = chord @ down[plus] + tangent @ up[minus]
    corner, is_endless = _best_corner(boxes, gain, loss, learners.scale)
    together = above.sum(axis=1) - below.sum(axis=1) + ((gain - loss) * corner).sum(axis=1)
    together[is_endless] = np.inf
    return np.minimum(apart, together), corner


def _best_corner(boxes: _Boxes, gain: Array, loss: Array, scale: Array) -> tuple[Array, Array]:
    """Return where x . (gain - loss) is largest on each box, and whether it may grow without end there.

    Without end the corner is at the cut.
    """
    still = (gain == 0) & (loss == 0)
    corner = np.where(gain > loss, boxes.high, boxes.low)
    corner = np.where(still | np.isinf(corner), boxes.cuts(scale), corner)
    grows = np.isinf(boxes.high) & ((1 + _SURE) * gain > loss) | np.isinf(boxes.low) & (
        (1 + _SURE) * loss > gain
    )
    return corner, (grows & ~still).any(axis=1)


def _chord(z_low: Array, z_high: Array, z: Array, beta: Array) -> tuple[Array, Array]:
    """Return the slope of the least line above softplus on an interval, and the line's height at z.

    On a half-line that is the asymptote, moved; on the whole line there is none.
    """
    no_low, no_high = np.isinf(z_low), np.isinf(z_high)
    with np.errstate(invalid="ignore"):
        slope = np.where(no_low, 0.0, np.where(no_high, 1.0, secant(z_low, z_high, beta)))
    at = np.where(no_low, z_high, z_low)
    height = softplus(at, beta) + slope * (z - np.where(no_low, 0.0, at))
    return slope, height


def _tangent(z_low: Array, z_high: Array, z: Array, beta: Array) -> tuple[Array, Array]:
    """Return the slope of a line below softplus on an interval, and the line's height at z.

    That is the tangent in the middle; without end, an asymptote.
    """
    no_low, no_high = np.isinf(z_low), np.isinf(z_high)
    endless = no_low | no_high
    middle = 0.5 * np.where(endless, 0.0, z_low) + 0.5 * np.where(endless, 0.0, z_high)
    slope = np.where(endless, ~no_low, sigmoid(beta * middle))
    height = np.where(endless, 0.0, softplus(middle, beta)) + slope * (z - middle)
    return slope, height


def _split(learners: Learners, boxes: _Boxes, bend: Array) -> _Boxes:
    """Cut each box in two, in the coordinate across which the function may bend most."""
    which = np.argmax(bend, axis=1)[:, None]
    cut = np.take_along_axis(boxes.cuts(learners.scale), which, axis=1)
    low, high = boxes.low.copy(), boxes.high.copy()
    np.put_along_axis(low, which, cut, axis=1)
    np.put_along_axis(high, which, cut, axis=1)
    return _Boxes(
        np.concatenate([boxes.row, boxes.row]),
        np.concatenate([boxes.z, boxes.z]),
        np.concatenate([boxes.low, low]),
        np.concatenate([high, boxes.high]),
    )
