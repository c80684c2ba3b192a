"""The path distance: the total variation of h = f - f_0 on a segment, with a certified error.

Along a segment, learner j is c_j s(t_j + u d_j) with s(t) = log(1 + exp(t)), c_j = b_j / beta_j, 0 <= u <= 1.
It is convex where b_j = +1 and concave where b_j = -1. So the slope of h is P' + N' with P' rising and N'
falling, and on a piece [u, v] it lies in [P'(u) + N'(v), P'(v) + N'(u)]. Where that range has one sign the
variation is |h(v) - h(u)|; elsewhere it is at most 2 (v - u) min(-low, high) more. Pieces that matter are
halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._utils.typing import Array

_MAX_ROUNDS = 60  # halvings: beyond them a piece has no width in float64
_CAP = 700.0  # beyond it exp would overflow; there s is 0 or the identity to the last bit


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
        slope, value = _softplus(t.copy())
        return cls(t, slope, value @ c)


def variation(
    starts: Points, ends: Points, pairs: tuple[Array, Array], c: Array, allowance: Array
) -> tuple[Array, Array]:
    """Return the variation of h on segments from below, and how much more it may be.

    Parameters
    ----------
    starts, ends : Points
    pairs : arrays of shape (n,)
        The positions of the start and of the end of each segment.
    c : array of shape (m,)
        b_j / beta_j.
    allowance : array of shape (n,)
        The largest bound to return.

    Returns
    -------
    value, bound : arrays of shape (n,)
    """
    i, j = pairs
    n, t = len(i), np.take(starts.t, i, axis=0)
    d = np.take(ends.t, j, axis=0) - t
    weights = np.column_stack([np.maximum(c, 0), np.minimum(c, 0)])
    first = _with_value((np.take(starts.slope, i, axis=0) * d) @ weights, starts.h[i])
    last = _with_value((np.take(ends.slope, j, axis=0) * d) @ weights, ends.h[j])
    value, bound = np.zeros(n), np.zeros(n)
    owner, begin, width = np.arange(n), np.zeros(n), 1.0
    for _ in range(_MAX_ROUNDS):
        gap = np.minimum(last[0] + first[1], -(first[0] + last[1])).clip(min=0) * (2 * width)
        left = allowance - bound
        n_open = np.bincount(owner, gap > 0, n)
        # A segment ends when its gaps fit what is left of its bound; a piece, when it takes a small share.
        is_small = gap * (4 * n_open)[owner] <= left[owner]
        closed = is_small | (np.bincount(owner, gap, n) <= left)[owner]
        value += np.bincount(owner[closed], np.abs(last[2] - first[2])[closed], n)
        bound += np.bincount(owner[closed], gap[closed], n)
        if closed.all():
            break
        still = np.flatnonzero(~closed)
        owner, begin, first, last = (np.take(each, still, axis=-1) for each in (owner, begin, first, last))
        width /= 2
        along = np.take(d, owner, axis=0)
        at = along * (begin + width)[:, None]
        at += np.take(t, owner, axis=0)
        slope, height = _softplus(at)
        slope *= along
        middle = _with_value(slope @ weights, height @ c)
        owner, begin = np.concatenate([owner, owner]), np.concatenate([begin, begin + width])
        first, last = np.hstack([first, middle]), np.hstack([middle, last])
    return value, bound


def _with_value(slopes: Array, h: Array) -> Array:
    """Return P', N' and h as one array of shape (3, n)."""
    return np.vstack([slopes.T, h])


def _softplus(t: Array) -> tuple[Array, Array]:
    """Return s'(t) and s(t); t is overwritten."""
    np.clip(t, -_CAP, None, out=t)
    high = t > _CAP
    e = np.exp(np.minimum(t, _CAP))
    total = e + 1
    e /= total
    value = np.log(total, out=total)
    if high.any():
        np.copyto(value, t, where=high)
    return e, value
