"""What the engine asks of data, wherever it lives. `gbmap._rows` answers."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss, RowLosses
from gbmap._core.objective import Objective
from gbmap._core.units import Units
from gbmap._utils.typing import Array


class Rows(Protocol):
    """n rows (x, y, weight) with K targets and their current scores F.

    Rows take and give standard units; how they hold X is their own business. All they are asked
    for are sums over rows, so they may lie in blocks, in a file, on a device or on a cluster.
    """

    units: Units

    @property
    def n_rows(self) -> int:
        """n."""

    @property
    def n_outputs(self) -> int:
        """K."""

    @property
    def eps(self) -> float:
        """The relative rounding error of one row's numbers."""

    def value_and_gradient(
        self, objective: Objective, output: int, thetas: Array, signs: Array
    ) -> tuple[Array, Array]:
        """Evaluate C candidates of shape (C, p + 2) in one pass: values (C,), gradients (C, p + 2)."""

    def joint_value_and_gradient(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> tuple[float, Array]:
        """Evaluate m learners together, at (a, (w_1, c_1), ..., (w_m, c_m)), in one pass."""

    def mean_loss(self, loss: Loss, output: int, shift: float = 0.0) -> float:
        """Return the mean loss of the current score of one output, plus a constant."""

    def row_losses(self, loss: Loss, output: int) -> RowLosses:
        """Return the loss of every row at its current score."""

    def joint_row_losses(self, objective: Objective, output: int, vector: Array, signs: Array) -> RowLosses:
        """Return the same with m learners, at (a, (w_1, c_1), ..., (w_m, c_m)), added to the score."""

    def add_last_learner(self, ensemble: Ensemble) -> None:
        """Add the last learner of an ensemble, as stored, to the score of its output."""

    def remember(self, output: int) -> Any:
        """Return the score of one output, for `restore`."""

    def restore(self, output: int, score: Any) -> None:
        """Bring the score of one output back to what it was."""

    def sample(self, size: int, rng: np.random.Generator) -> Sample:
        """Return `size` random rows in memory, or all of them, whose scores follow these rows'."""


class Sample(Rows, Protocol):
    """Rows in memory, few enough for work beyond sums."""

    complete: bool  # whether these are all the rows

    def shares_passes(self, objective: Objective) -> bool:
        """Return whether a pass with several candidates takes less time than a pass for each."""

    def gauss_newton(self, objective: Objective, output: int, theta: Array, sign: int) -> Array:
        """Return the Gauss-Newton matrix of the objective, (p + 2, p + 2), or its diagonal (p + 2,)."""

    def joint_gauss_newton(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> Array | None:
        """Return the Gauss-Newton matrix of m learners together, or None if it would be too large."""

    def activations(self, objective: Objective, output: int, vector: Array, n_rows: int) -> RowActivations:
        """Return what m learners make of about so many rows."""


class RowActivations(NamedTuple):
    """Some rows in memory: g(z) of m learners, (n, m), targets, scores to start from, and weights."""

    g: Array
    y: Array
    F: Array
    weight: Array
