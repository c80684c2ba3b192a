"""Which way the axes of a map point, so that another seed draws the same picture."""

from __future__ import annotations

import numpy as np

from gbmap._utils.typing import Array


def axis_signs(points: Array, rising: Array | None = None) -> Array:
    """Return -1 for each axis that is to be turned, else 1.

    The first axis rises with given values, those of a prediction say; of every other one, or of all without
    such values, the longer tail points up. Principal components have no direction of their own, and that of
    their largest loading is that of one learner, which may come elsewhere with another seed.

    Parameters
    ----------
    points : array of shape (n, k)
    rising : array of shape (n,), default=None

    Returns
    -------
    signs : array of shape (k,)
    """
    centred = points - points.mean(axis=0)
    upward = (centred**3).sum(axis=0)
    if rising is not None and points.shape[1]:
        upward[0] = centred[:, 0] @ (rising - rising.mean())
    return np.where(upward < 0, -1.0, 1.0)
