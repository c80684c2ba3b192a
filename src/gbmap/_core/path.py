"""The path distance: the total variation of h = f - f_0 on a segment, with a certified error.

Along a segment, learner j is c_j s(T_j + u D_j) with s(t) = log(1 + exp(t)), c_j = b_j / beta_j, 0 <= u <= 1.
It is convex where b_j = +1 and concave where b_j = -1. So the slope of h is P' + N' with P' rising and N'
falling, and on a piece [u, v] it lies in [P'(u) + N'(v), P'(v) + N'(u)]. Where that range has one sign the
variation is |h(v) - h(u)|; elsewhere it is at most 2 (v - u) min(-low, high) more. Pieces that matter are
halved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_MAX_ROUNDS = 60  # halvings: beyond them a piece has no width in float64


@dataclass(frozen=True)
class _Segments:
    """Segments from t to t + d in the activations of the learners, (n, m); c holds the c_j, (m,)."""

    t: Array
    d: Array
    c: Array

    def at(self, which: Array, u: Array) -> Array:
        """Return P', N' and h at points u of some segments, of shape (3, len(which))."""
        d = self.d[which]
        t = d * u[:, None]
        t += self.t[which]
        return self._slopes_and_value(t, d)

    def ends(self) -> tuple[Array, Array, Array]:
        """Return P', N' and h at both ends, and the embedding distance between them."""
        first, last = self.t, self.t + self.d
        difference = np.abs((_softplus(last) - _softplus(first)) * self.c).sum(axis=1)
        return self._slopes_and_value(first, self.d), self._slopes_and_value(last, self.d), difference

    def _slopes_and_value(self, t: Array, d: Array) -> Array:
        e = np.exp(-np.abs(t))
        slope = np.where(t >= 0, 1.0, e)
        slope /= 1 + e
        slope *= d
        value = np.log1p(e, out=e)
        value += np.maximum(t, 0)
        return np.stack([slope @ np.maximum(self.c, 0), slope @ np.minimum(self.c, 0), value @ self.c])


def variation(start: Array, end: Array, c: Array, tol: float) -> tuple[Array, Array]:
    """Return the variation of h on segments from below, and how much more it may be.

    Parameters
    ----------
    start, end : arrays of shape (n, m)
        beta_j z_j at the ends of n segments.
    c : array of shape (m,)
        b_j / beta_j.
    tol : float
        The bound is at most so many times the embedding distance.

    Returns
    -------
    value, bound : arrays of shape (n,)
    """
    segments = _Segments(start, end - start, c)
    first, last, embedding = segments.ends()
    n = len(start)
    value, bound = np.zeros(n), np.zeros(n)
    owner, begin, width = np.arange(n), np.zeros(n), 1.0
    for _ in range(_MAX_ROUNDS):
        gap = np.minimum(last[0] + first[1], -(first[0] + last[1])).clip(min=0) * (2 * width)
        left = tol * embedding - bound
        n_open = np.bincount(owner, gap > 0, n)
        # A segment ends when its gaps fit what is left of its bound; a piece, when it takes a small share.
        is_small = gap * (4 * n_open)[owner] <= left[owner]
        closed = is_small | (np.bincount(owner, gap, n) <= left)[owner]
        value += np.bincount(owner[closed], np.abs(last[2] - first[2])[closed], n)
        bound += np.bincount(owner[closed], gap[closed], n)
        if closed.all():
            break
        owner, begin, first, last = owner[~closed], begin[~closed], first[:, ~closed], last[:, ~closed]
        width /= 2
        middle = segments.at(owner, begin + width)
        owner, begin = np.concatenate([owner, owner]), np.concatenate([begin, begin + width])
        first, last = np.hstack([first, middle]), np.hstack([middle, last])
    return value.clip(max=embedding), np.minimum(bound, (embedding - value).clip(min=0))


def _softplus(t: Array) -> Array:
    value: Array = np.maximum(t, 0) + np.log1p(np.exp(-np.abs(t)))
    return value
