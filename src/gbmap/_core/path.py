"""The path distance: the total variation of h = f - f_0 on a segment, with a certified error.

Along a segment, learner j is c_j s(t_j + u d_j) with s(t) = log(1 + exp(t)), c_j = b_j / beta_j, 0 <= u <= 1.
It is convex where b_j = +1 and concave where b_j = -1. So the slope of h is P' + N' with P' rising and N'
falling, and on a piece [u, v] it lies in [P'(u) + N'(v), P'(v) + N'(u)]. Where that range has one sign the
variation is |h(v) - h(u)|; elsewhere it is at most 2 (v - u) min(-low, high) more. Pieces that matter are
halved.

Where columns have knots and fences, the t_j bend on the way from one row to another: `BentLines`
cuts it there into segments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._core.activation import Softplus
from gbmap._core.inputs import Inputs
from gbmap._utils.typing import Array, IntArray

_MAX_ROUNDS = 60  # halvings: beyond them a piece has no width in float64


@dataclass(frozen=True)
class Points:
    """Ends of segments, in the activations of m learners.

    Attributes
    ----------
    t : array of shape (n, m)
        beta_j z_j.
    slope : array of shape (n, m)
        s'(t).
    h : array of shape (n,)
        The sum of c_j s(t_j).
    """

    t: Array
    slope: Array
    h: Array

    @classmethod
    def of(cls, t: Array, c: Array) -> Points:
        """Return the points of some activations."""
        slope, value = _softplus(t)
        return cls(t, slope, value @ c)


@dataclass(frozen=True)
class BentLines:
    """Straight lines between rows, as the inputs of learners see them.

    A mark of missing values or a category has no values between: it goes from one to the other evenly.

    Attributes
    ----------
    inputs : Inputs
    start, end : arrays of shape (n, p)
        Rows as the GBMAP is given them.
    """

    inputs: Inputs
    start: Array
    end: Array

    def cuts(self) -> tuple[IntArray, Array]:
        """Return where lines begin, bend and end: the line and the place, from 0 to 1, of each, in order."""
        start, end = self._filled()
        column, at = _breaks(self.inputs)
        x, y = start[:, column], end[:, column]
        is_crossed = (np.minimum(x, y) < at) & (at < np.maximum(x, y))
        way = np.where(is_crossed, y - x, 1.0)
        places = np.where(is_crossed, (at - x) / way, np.nan)
        ends = np.broadcast_to([0.0, 1.0], (len(x), 2))
        places = np.sort(np.hstack([places, ends]), axis=1)  # NaN comes last
        line, position = np.nonzero(~np.isnan(places))
        return line, places[line, position]

    def at(self, line: IntArray, place: Array) -> Array:
        """Return the inputs at places of lines, both (P,); of shape (P, q)."""
        start, end = self._filled()
        u = place[:, None]
        found: Array = self.inputs.of(start[line] + u * (end - start)[line])
        if (n_numbers := len(self.inputs.low)) < len(self.inputs):
            first, way = self._marks()
            found[:, n_numbers:] = first[line] + u * way[line]
        return found

    def slopes(self, line: IntArray, place: Array) -> Array:
        """Return how fast the inputs change there with the place, (P, q); at a bend, one of both slopes."""
        start, end = self._filled()
        way = (end - start)[line][:, self.inputs.source]
        found = way * self.inputs.slopes(start[line] + place[:, None] * (end - start)[line])
        if (n_numbers := len(self.inputs.low)) < len(self.inputs):
            found[:, n_numbers:] = self._marks()[1][line]
        return found

    def _filled(self) -> tuple[Array, Array]:
        return self.inputs.filled(self.start), self.inputs.filled(self.end)

    def _marks(self) -> tuple[Array, Array]:
        """Return the inputs that are no numbers where lines start, and the way that they go."""
        n_numbers = len(self.inputs.low)
        first, last = (self.inputs.of(rows)[:, n_numbers:] for rows in (self.start, self.end))
        return first, last - first


def _breaks(inputs: Inputs) -> tuple[IntArray, Array]:
    """Return the values of columns at which some input begins or ends to move with them, (B,) both."""
    ends = np.concatenate([inputs.low, inputs.high])
    found = np.column_stack([np.tile(inputs.number_source, 2), ends])[np.isfinite(ends)]
    column, value = np.unique(found, axis=0).T
    return column.astype(np.intp), value


def n_breaks(inputs: Inputs) -> int:
    """Return how many values of columns there are at which lines may bend."""
    return len(_breaks(inputs)[0])


def variation(
    starts: Points,
    ends: Points,
    pairs: tuple[Array, Array],
    c: Array,
    allowance: Array,
    line: IntArray | None = None,
) -> tuple[Array, Array]:
    """Return the variation of h on lines of segments from below, and how much more it may be.

    Parameters
    ----------
    starts, ends : Points
    pairs : arrays of shape (n,)
        The positions of the start and of the end of each segment.
    c : array of shape (m,)
        b_j / beta_j.
    allowance : array of shape (l,)
        The largest bound to return.
    line : integer array of shape (n,), default=None
        The line that each segment is part of; None: each is a line.

    Returns
    -------
    value, bound : arrays of shape (l,)
    """
    i, j = pairs
    line = np.arange(len(i)) if line is None else line
    n, t = len(allowance), np.take(starts.t, i, axis=0)
    d = np.take(ends.t, j, axis=0) - t
    weights = np.column_stack([np.maximum(c, 0), np.minimum(c, 0)])
    pieces = _Pieces(
        segment=np.arange(len(i)),
        begin=np.zeros(len(i)),
        width=1.0,
        first=_with_value((np.take(starts.slope, i, axis=0) * d) @ weights, starts.h[i]),
        last=_with_value((np.take(ends.slope, j, axis=0) * d) @ weights, ends.h[j]),
    )
    value, bound = np.zeros(n), np.zeros(n)
    for _ in range(_MAX_ROUNDS):
        gap, left, of = pieces.gap(), allowance - bound, line[pieces.segment]
        n_open = np.bincount(of, gap > 0, n)
        # A line ends when its gaps fit what is left of its bound; a piece, when it takes a small share.
        is_small = gap * (4 * n_open)[of] <= left[of]
        closed = is_small | (np.bincount(of, gap, n) <= left)[of]
        value += np.bincount(of[closed], pieces.difference()[closed], n)
        bound += np.bincount(of[closed], gap[closed], n)
        if closed.all():
            break
        pieces = pieces.halved(np.flatnonzero(~closed), t, d, c, weights)
    return value, bound


@dataclass(frozen=True)
class _Pieces:
    """Pieces [u, u + width] of segments, with P', N' and h at both ends, of shape (3, n_pieces)."""

    segment: Array
    begin: Array
    width: float
    first: Array
    last: Array

    def difference(self) -> Array:
        """Return how far h is apart at the ends: what the variation is at least."""
        return np.abs(self.last[2] - self.first[2])

    def gap(self) -> Array:
        """Return how much more than that it may be."""
        least = np.minimum(self.last[0] + self.first[1], -(self.first[0] + self.last[1]))
        return least.clip(min=0) * (2 * self.width)

    def halved(self, kept: Array, t: Array, d: Array, c: Array, weights: Array) -> _Pieces:
        """Return the halves of some of them, given where the segments start, where they lead, and c."""
        segment, begin = self.segment[kept], self.begin[kept]
        first, last = np.take(self.first, kept, axis=1), np.take(self.last, kept, axis=1)
        width, along = self.width / 2, np.take(d, segment, axis=0)
        at = along * (begin + width)[:, None]
        at += np.take(t, segment, axis=0)
        slope, height = _softplus(at)
        slope *= along
        middle = _with_value(slope @ weights, height @ c)
        return _Pieces(
            segment=np.concatenate([segment, segment]),
            begin=np.concatenate([begin, begin + width]),
            width=width,
            first=np.hstack([first, middle]),
            last=np.hstack([middle, last]),
        )


def _with_value(slopes: Array, h: Array) -> Array:
    """Return P', N' and h as one array of shape (3, n)."""
    return np.vstack([slopes.T, h])


def _softplus(t: Array) -> tuple[Array, Array]:
    """Return s'(t) and s(t)."""
    value, slope = np.empty(t.shape), np.empty(t.shape)
    Softplus(1.0).apply(t.reshape(-1), value.reshape(-1), slope.reshape(-1))
    return slope, value
