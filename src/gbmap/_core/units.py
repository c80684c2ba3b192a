"""Standard units: the solver sees columns and targets of mean zero and spread one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gbmap._utils.typing import Array


@dataclass(frozen=True)
class Units:
    """The affine maps between the user's units and standard units.

    Column k in standard units is ``(x_k - mean_k) * inverse_scale_k``, output o is
    ``(y_o - target_mean_o) / target_scale_o``. X itself is never rewritten: a projection of
    standard columns is a projection of X,

        w . x_std + c  =  v . x + d    with   v = w * inverse_scale,   d = c - v . mean.

    Attributes
    ----------
    mean, inverse_scale : arrays of shape (p,)
        ``inverse_scale`` is zero for a constant column, which takes it out of the model.
    target_mean, target_scale : arrays of shape (K,)
    center : array of shape (p,)
        What to subtract from a block of X before it is multiplied: the mean of those columns that
        would otherwise lose too many digits in X's type, zero for all others.
    identity : bool
        Whether rows are in standard units as they are, with zeros for constant columns.
    """

    mean: Array
    inverse_scale: Array
    target_mean: Array
    target_scale: Array
    center: Array
    identity: bool = False

    @property
    def n_active(self) -> int:
        """The number of columns that are not constant, the p of the ridge term."""
        return int(np.count_nonzero(self.inverse_scale))

    @cached_property
    def _shift(self) -> Array:
        return self.mean - self.center

    def fold(self, w: Array, c: Any) -> tuple[Array, Any]:
        """Return v and d with ``w . x_std + c = v . (x - center) + d``, for one w or rows of them."""
        if self.identity:
            return w, c
        v = w * self.inverse_scale
        return v, c - v @ self._shift

    def unfold(self, v: Array, d: Array) -> tuple[Array, Array]:
        """Return w and c with ``w . x_std + c = v . (x - center) + d``, for rows of v: undo `fold`."""
        if self.identity:
            return v, d
        active = self.inverse_scale != 0
        w = np.divide(v, self.inverse_scale, out=np.zeros_like(v), where=active)
        return w, d + (v * active) @ self._shift

    def fold_gradient(self, along_x: Array, along_d: Array) -> Array:
        """Return the derivative in w, given those in v (of x - center) and in d."""
        if self.identity:
            return along_x
        shifted = along_x - along_d[..., None] * self._shift
        return shifted * self.inverse_scale

    def of_columns(self, kept: Array) -> Units:
        """Return the units of some columns."""
        mean, inverse_scale, center = (each[kept] for each in (self.mean, self.inverse_scale, self.center))
        return replace(self, mean=mean, inverse_scale=inverse_scale, center=center)

    def of_plain_rows(self) -> Units:
        """Return the units of rows that nothing is subtracted from before they are multiplied."""
        return replace(self, center=np.zeros_like(self.center))

    def of_standard_rows(self) -> Units:
        """Return the units of rows that have been brought to these standard units."""
        zero = np.zeros_like(self.mean)
        active = (self.inverse_scale != 0).astype(float)
        K = np.zeros_like(self.target_mean)
        return Units(zero, active, K, np.ones_like(K), zero, identity=True)
