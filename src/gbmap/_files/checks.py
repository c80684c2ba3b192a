"""What is checked of instances, before they are written and after they were read.

Nothing is known of a member before it is checked. So its type comes first: to compare it, to look it up or to
quote it might call methods of whatever is in its place.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from gbmap._core.activation import ACTIVATIONS
from gbmap._core.ensemble import Ensemble
from gbmap._utils.typing import Array


def need(holds: bool, what: str) -> None:
    """Refuse a file with what it would hold."""
    if not holds:
        raise ValueError(what)


def shown(value: Any) -> str:
    """Return a short text about a value of any kind: itself, if it is a number or a text, else its type."""
    if value is None or isinstance(value, bool | int | float | str | np.number):
        text = repr(value)
        return text if len(text) <= 50 else f"{text[:50]}..."
    return f"a {type(value).__name__}"


def need_one_of(value: Any, allowed: Collection[str], what: str) -> None:
    """Refuse what is not one of some words."""
    need(type(value) is str and value in allowed, f"the {what} {shown(value)}")


def need_kind(value: Any, kinds: Any, what: str) -> None:
    """Refuse what is of another kind."""
    need(isinstance(value, kinds), f"the {what} {shown(value)}")


def need_members(instance: Any, **kinds: Any) -> None:
    """Refuse an instance with members of other kinds."""
    for name, kind in kinds.items():
        need_kind(getattr(instance, name), kind, f"{name} of a {type(instance).__name__}")


def check_ensemble(ensemble: Ensemble) -> None:
    """Refuse learners that do not fit together."""
    need(isinstance(ensemble.weights, np.ndarray), "weights that are no numbers")
    need(isinstance(ensemble.outputs, np.ndarray), "learners of no output")
    (n_learners, n_features), n_outputs = ensemble.weights.shape, ensemble.n_outputs
    vectors = (ensemble.intercepts, ensemble.signs, ensemble.offsets, ensemble.beta)
    for vector in vectors:
        need_numbers(vector, (n_learners,), "learners with other numbers of parameters")
    need_numbers(ensemble.weights, (n_learners, n_features), "weights that are no numbers")
    need_numbers(ensemble.center, (n_features,), "an ensemble with an impossible center")
    need_one_of(ensemble.activation, ACTIVATIONS, "activation")
    need(type(n_outputs) is int and n_outputs >= 1, f"an ensemble of {shown(n_outputs)} outputs")
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
