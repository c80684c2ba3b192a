"""Whether a type of numbers is wide and fine enough for a model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel
from gbmap._utils.typing import Array

# A column is blurred if its type tells values apart only to this share of its standard deviation.
_BLUR = 0.01


def lost_ranges(model: Any, kind: np.dtype[Any]) -> tuple[Array, Array]:
    """Return whether a type cannot hold each of the inputs, if it is in use, and each of the targets."""
    limits, is_used = np.finfo(kind), model.ensemble_.weights.any(axis=0)
    predictor = model.predictor_

    def is_lost(spreads: Array) -> Array:
        return (spreads > 0) & ((spreads < limits.tiny) | (spreads > limits.max))

    return is_used & is_lost(predictor.fitted_inputs.scale), is_lost(predictor.target_deviation)


def refuse_lost_range(model: Any, kind: np.dtype[Any]) -> None:
    """Refuse a type that cannot hold a column in use or a target, and warn of one that blurs a column."""
    predictor = model.predictor_
    fitted, source = predictor.fitted_inputs, predictor.fitted_inputs.inputs.number_source
    inputs, targets = lost_ranges(model, kind)
    lost = np.concatenate([fitted.scale[inputs], predictor.target_deviation[targets]])
    if len(lost):
        raise ValueError(
            f"dtype must be able to hold columns and targets with a standard deviation of {lost[0]:.3g}, "
            f"got {kind}; use float64, or rescale X and y."
        )
    used = np.unique(source[model.ensemble_.weights.any(axis=0)[: len(source)]])
    blur = np.abs(model.mean_[used]) * np.finfo(kind).eps / model.scale_[used]
    if blur.max(initial=0.0) > _BLUR:
        column = FittedModel.of(model).feature_names[used[blur.argmax()]]
        warnings.warn(
            f"{kind} tells values of column {column!r} apart only to {blur.max():.1g} of its standard "
            "deviation, since its mean is so large; subtract the mean beforehand, or use to_onnx of "
            "gbmap.onnx with dtype=float64.",
            UserWarning,
            stacklevel=3,
        )
