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
    """The function to bound: sum_j b_j g(z_j + w_j . v) of x in a box, for rows that differ in z.

    v are the pieces of the coordinates of x. A straight coordinate is one piece, itself; one that bends is
    cut into several, clip(x, start, stop) - start, the first of which starts where the box does.

    Attributes
    ----------
    signs, beta : arrays of shape (M,)
    weights : array of shape (M, R)
        Of the pieces.
    coordinate : integer array of shape (R,)
        That of each piece, in order; no coordinate is without one.
    start, stop : arrays of shape (R,)
        The ends of each piece; infinite ones, both, of a straight coordinate.
    low, high : arrays of shape (U,)
        The box. Its ends may be infinite in straight coordinates.
    scale : array of shape (U,)
        The spread of each coordinate, by which boxes without end are cut.
    """

    signs: Array
    beta: Array
    weights: Array
    coordinate: IntArray
    start: Array
    stop: Array
    low: Array
    high: Array
    scale: Array

    @cached_property
    def straight(self) -> IntArray:
        """The pieces that are straight coordinates."""
        return np.flatnonzero(np.isinf(self.start))

    @cached_property
    def bent(self) -> list[IntArray]:
        """The pieces of each coordinate that bends."""
        return [
            np.flatnonzero(self.coordinate == u) for u in np.unique(np.delete(self.coordinate, self.straight))
        ]

    @cached_property
    def first(self) -> IntArray:
        """The first piece of each coordinate, of shape (U,)."""
        return np.searchsorted(self.coordinate, np.arange(len(self.low)))

    @property
    def reach(self) -> Array:
        """How far each piece goes from zero, of shape (R,)."""
        ends = np.maximum(-self.low, self.high)[self.coordinate]
        return np.where(
            np.isinf(self.start), ends, self.stop - np.where(np.isinf(self.start), 0.0, self.start)
        )

    def steps(self, x: Array) -> Array:
        """Return the pieces at x, of shape (B, U); of shape (B, R)."""
        if len(self.straight) == len(self.start):
            return x
        start = np.where(np.isinf(self.start), 0.0, self.start)
        return np.clip(x[:, self.coordinate], self.start, self.stop) - start

    def at(self, z: Array, x: Array) -> Array:
        """Return the function at x, of shape (B, U), where the learners see z at the origin, (B, M)."""
        return softplus(z + self.steps(x) @ self.weights.T, self.beta) @ self.signs

    def ends(self, boxes: _Boxes) -> tuple[Array, Array]:
        """Return the least and the largest that each learner sees on each box, of shape (B, M)."""
        z_low, z_high = self._straight_ends(boxes)
        begin, lengths = self.steps(boxes.low), self.lengths(boxes)
        for pieces in self.bent:
            z = begin[:, pieces] @ self.weights[:, pieces].T
            least, most = z.copy(), z.copy()
            for piece in pieces:  # it may turn at the end of each
                crossing = np.flatnonzero(lengths[:, piece])
                z[crossing] += lengths[crossing, piece, None] * self.weights[:, piece]
                least[crossing] = np.minimum(least[crossing], z[crossing])
                most[crossing] = np.maximum(most[crossing], z[crossing])
            z_low += least
            z_high += most
        return z_low, z_high

    def _straight_ends(self, boxes: _Boxes) -> tuple[Array, Array]:
        """Return the same, of straight coordinates, at the origin of the others."""
        weights, coordinate = self.weights[:, self.straight], self.coordinate[self.straight]
        box_low, box_high = boxes.low[:, coordinate], boxes.high[:, coordinate]
        up, down = np.maximum(weights, 0.0).T, np.minimum(weights, 0.0).T
        low, high = (np.where(np.isfinite(end), end, 0.0) for end in (box_low, box_high))
        z_low = boxes.z + low @ up + high @ down
        z_high = boxes.z + high @ up + low @ down
        no_low, no_high = np.isinf(box_low), np.isinf(box_high)
        if no_low.any() or no_high.any():
            z_low[no_low @ (up > 0) | no_high @ (down < 0)] = -np.inf
            z_high[no_high @ (up > 0) | no_low @ (down < 0)] = np.inf
        return z_low, z_high

    def lengths(self, boxes: _Boxes) -> Array:
        """Return how much of each piece lies on each box, of shape (B, R)."""
        return self.steps(boxes.high) - self.steps(boxes.low)

    def slopes(self, boxes: _Boxes) -> tuple[Array, Array, Array]:
        """Return where the function rises in a coordinate on all of a box, where it falls, and how it bends.

        The slope in a piece is a sum of b_j w_j g', and g' rises with z. Rises and falls are of shape (B, U),
        how much slopes may vary of shape (B, R).
        """
        z_low, z_high = self.ends(boxes)
        parts = self.signs[:, None] * self.weights
        up, down = np.maximum(parts, 0.0), np.maximum(-parts, 0.0)
        least, most = sigmoid(self.beta * z_low), sigmoid(self.beta * z_high)
        is_off = self.lengths(boxes) == 0
        rises = is_off | (least @ up >= (1 + _SURE) * (most @ down))
        falls = is_off | (least @ down >= (1 + _SURE) * (most @ up))
        rises, falls = (np.logical_and.reduceat(each, self.first, axis=1) for each in (rises, falls))
        return rises, falls, (most - least) @ np.abs(parts)

    def variation(self, boxes: _Boxes, bend: Array) -> Array:
        """Return how much the function may bend across each coordinate, of shape (B, U)."""
        widths = self.lengths(boxes)
        widths[:, self.straight] = boxes.widths(self.scale)[:, self.coordinate[self.straight]]
        return np.add.reduceat(bend * widths, self.first, axis=1)

    @cached_property
    def weight_sum(self) -> float:
        """The sum of all weights, per spread, by their sizes."""
        return float(np.abs(self.weights * self.scale[self.coordinate]).sum())

    @cached_property
    def growth(self) -> tuple[float, float]:
        """How fast the function grows far out: an upper bound, and a rate at which it does somewhere.

        Along a ray d it grows by sum_j b_j max(w_j . d, 0), which is largest on a face of the cube
        [-scale, scale] in a coordinate without end. Rates are in parts of the sum of all weights.
        """
        endless = np.flatnonzero(np.isinf(self.low) | np.isinf(self.high))
        back, forth = -1.0 * np.isinf(self.low[endless]), 1.0 * np.isinf(self.high[endless])
        fixed = np.concatenate([np.diag(back)[back != 0], np.diag(forth)[forth != 0]])
        weights = self.weights[:, self.first[endless]] * self.scale[endless]
        weights = weights / max(self.weight_sum, np.finfo(float).tiny)
        limit, ones = np.full(len(endless), np.inf), np.ones(len(endless))
        beta, coordinate = np.full_like(self.beta, _KINK), np.arange(len(endless))
        relu = Learners(self.signs, beta, weights, coordinate, -limit, limit, back, forth, ones)
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
    z_low, z_high = learners.ends(near)
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
        bend = learners.variation(boxes, bend)
        is_open = (ceiling > (met + tol)[boxes.row]) & (spent[boxes.row] < max_boxes) & (bend > 0).any(axis=1)
        np.maximum.at(bound, boxes.row[~is_open], ceiling[~is_open])
        if not is_open.any():
            return np.maximum(bound, met), met
        boxes = _split(learners, boxes.take(is_open), bend[is_open])


def _collapse(learners: Learners, boxes: _Boxes) -> tuple[_Boxes, Array]:
    """Move each coordinate in which the function rises, or falls, on all of a box to the better end.

    Also returned: how much the slope in each piece may vary on the box, of shape (B, R).
    """
    rises, falls, bend = learners.slopes(boxes)
    low = np.where(rises & np.isfinite(boxes.high), boxes.high, boxes.low)
    high = np.where(falls & np.isfinite(low), low, boxes.high)
    return replace(boxes, low=low, high=high), bend


def _relax(learners: Learners, boxes: _Boxes) -> tuple[Array, Array]:
    """Return an upper bound on each box, of shape (B,), and a corner where the value may be large, (B, U).

    The bound is the lesser of two. One is the sum of the most that each learner gives. For the other,
    softplus, which is convex, is replaced by its chord if b = 1, and by a tangent if b = -1; the sum of these
    lines is largest at a corner: at an end of the box in each coordinate, or where that bends.
    """
    z_low, z_high = learners.ends(boxes)
    plus, minus = learners.signs > 0, learners.signs < 0
    beta = learners.beta
    apart = softplus(z_high[:, plus], beta[plus]).sum(axis=1)
    apart -= softplus(z_low[:, minus], beta[minus]).sum(axis=1)
    chord, above = _chord(z_low[:, plus], z_high[:, plus], boxes.z[:, plus], beta[plus])
    tangent, below = _tangent(z_low[:, minus], z_high[:, minus], boxes.z[:, minus], beta[minus])
    up, down = np.maximum(learners.weights, 0.0), np.maximum(-learners.weights, 0.0)
    gain = chord @ up[plus] + tangent @ down[minus]
    loss = chord @ down[plus] + tangent @ up[minus]
    corner, is_endless = _best_corner(learners, boxes, gain, loss)
    together = above.sum(axis=1) - below.sum(axis=1) + ((gain - loss) * learners.steps(corner)).sum(axis=1)
    together[is_endless] = np.inf
    return np.minimum(apart, together), corner


def _best_corner(learners: Learners, boxes: _Boxes, gain: Array, loss: Array) -> tuple[Array, Array]:
    """Return where v . (gain - loss) is largest on each box, and whether it may grow without end there.

    Without end the corner is at the cut.
    """
    one, coordinate = learners.straight, learners.coordinate[learners.straight]
    low, high, up, down = boxes.low[:, coordinate], boxes.high[:, coordinate], gain[:, one], loss[:, one]
    still = (up == 0) & (down == 0)
    corner = boxes.cuts(learners.scale)
    end = np.where(up > down, high, low)
    corner[:, coordinate] = np.where(still | np.isinf(end), corner[:, coordinate], end)
    grows = np.isinf(high) & ((1 + _SURE) * up > down) | np.isinf(low) & ((1 + _SURE) * down > up)
    lengths = learners.lengths(boxes) if learners.bent else gain
    for pieces in learners.bent:
        u = learners.coordinate[pieces[0]]
        gained = np.cumsum((gain - loss)[:, pieces] * lengths[:, pieces], axis=1)
        best = np.argmax(gained, axis=1)
        turn = np.where(gained[np.arange(len(best)), best] > 0, learners.stop[pieces[best]], -np.inf)
        corner[:, u] = np.clip(turn, boxes.low[:, u], boxes.high[:, u])
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
