"""JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from gbmap._core.activation import Activation
from gbmap._core.arrays import ArrayLibrary
from gbmap._core.losses import Loss
from gbmap._core.objective import Objective
from gbmap._utils.typing import Array


class Library(ArrayLibrary):
    """Programs that are compiled once, in the full precision of their type, which is float32 unless told."""

    def softplus(self, t: Any) -> Any:
        return jax.nn.softplus(t)

    def sigmoid(self, t: Any) -> Any:
        return jax.nn.sigmoid(t)

    def product(self, first: Any, second: Any) -> Any:
        return jax.numpy.matmul(first, second, precision="highest")

    def wide(self, array: Any) -> Any:
        """Return float64 in JAX's 64-bit mode, else float32."""
        return jax.numpy.result_type(float)

    def to_numpy(self, array: Any) -> Array:
        return np.asarray(array)

    def argument_like(self, array: Array, other: Any) -> Any:
        """Return an array in memory, which JAX takes from there in less time than it brings one beside X."""
        return array.astype(other.dtype)

    def block_sums(self, objective: Objective) -> Callable[..., Any]:
        """Return one program of them.

        A loss of one's own may hold anything, and change from fit to fit: its program is not used again.
        """
        loss = objective.loss
        if type(loss).__module__ == Loss.__module__:
            return _compiled(type(loss), tuple(sorted(vars(loss).items())), objective.activation)
        return jax.jit(lambda *args: objective.block_sums(*args))


@lru_cache
def _compiled(
    loss: type[Loss], settings: tuple[tuple[str, Any], ...], activation: Activation
) -> Callable[..., Any]:
    """Return a program that later fits use again, whatever their ridge, which it knows nothing of."""
    return jax.jit(Objective(loss(**dict(settings)), activation, ridge=0.0).block_sums)
