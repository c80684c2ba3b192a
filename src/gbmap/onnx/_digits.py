"""Whether a type of numbers is wide and fine enough for a model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gbmap._subject import Subject

# A column is blurred if its type tells values apart only to this share of its standard deviation.
_BLUR = 0.01


def refuse_lost_range(model: Any, kind: np.dtype[Any]) -> None:
    """Refuse a type that cannot hold a column in use or a target, and warn of one that blurs a column."""
    limits, used = np.finfo(kind), np.flatnonzero(model.ensemble_.weights.any(axis=0))
    spreads = np.concatenate([model.scale_[used], model._target_deviation])
    lost = spreads[(spreads > 0) & ((spreads < limits.tiny) | (spreads > limits.max))]
    if len(lost):
        raise ValueError(
            f"dtype must be able to hold columns and targets with a standard deviation of {lost[0]:.3g}, "
            f"got {kind}; use float64, or rescale X and y."
        )
    blur = np.abs(model.mean_[used]) * limits.eps / model.scale_[used]
    if blur.max(initial=0.0) > _BLUR:
        column = Subject.of(model).feature_names[used[blur.argmax()]]
        warnings.warn(
            f"{kind} tells values of column {column!r} apart only to {blur.max():.1g} of its standard "
            "deviation, since its mean is so large; use dtype=float64, or subtract the mean beforehand.",
            UserWarning,
            stacklevel=3,
        )
