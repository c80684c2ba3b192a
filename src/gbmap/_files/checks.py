"""What is checked of instances, before they are written and after they were read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._core.activation import ACTIVATIONS
from gbmap._core.ensemble import Ensemble

Array = NDArray[Any]


def need(holds: bool, what: str) -> None:
    """Refuse a file with what it would hold."""
    if not holds:
        raise ValueError(what)


def check_ensemble(ensemble: Ensemble) -> None:
    """Refuse learners that do not fit together."""
    (n_learners, n_features), n_outputs = ensemble.weights.shape, ensemble.n_outputs
    vectors = (ensemble.intercepts, ensemble.signs, ensemble.offsets, ensemble.beta)
    for vector in vectors:
        need_numbers(vector, (n_learners,), "learners with other numbers of parameters")
    need_numbers(ensemble.weights, (n_learners, n_features), "weights that are no numbers")
    need_numbers(ensemble.center, (n_features,), "an ensemble with an impossible center")
    need(ensemble.activation in ACTIVATIONS, f"the activation {ensemble.activation!r}")
    need(type(n_outputs) is int and n_outputs >= 1, f"an ensemble of {n_outputs!r} outputs")
    stage_by_stage = np.arange(n_learners) % n_outputs
    need(
        n_learners % n_outputs == 0
        and ensemble.outputs.dtype.kind == "i"
        and np.array_equal(ensemble.outputs, stage_by_stage),
        f"learners of {n_outputs} outputs that do not lie stage by stage",
    )


def need_numbers(array: Array, shape: tuple[int, ...], what: str) -> None:
    """Refuse what is no array of float64 of a shape."""
    need(isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape, what)
