"""What decides a fit beside the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gbmap._core.inputs import Inputs
from gbmap._core.losses import Loss
from gbmap._utils.typing import Array


@dataclass(frozen=True)
class FitSettings:
    """The parameters of an estimator as its fit takes them; see `GBMAPRegressor`.

    Attributes
    ----------
    loss : Loss
    monotone : array of shape (n_features,) or None
        -1, 0 or 1 for each column.
    seed : int
        What all random numbers come from.
    knots : int or "auto"
    is_category : array of shape (n_features,)
        Which columns hold categories.
    inputs : Inputs or None
        Those of an earlier fit that goes on.
    """

    loss: Loss
    activation: str
    beta: float
    l2_regularization: float | str
    standardize: bool
    n_init: int
    max_iter: int
    tol: float
    monotone: Array | None
    refine: Any
    validation_fraction: float
    seed: int
    knots: int | str
    is_category: Array
    inputs: Inputs | None = None

    @property
    def fixed_l2_regularization(self) -> float | None:
        """The ridge of every learner, or None if the fit is to find it."""
        return None if isinstance(self.l2_regularization, str) else float(self.l2_regularization)

    @property
    def split_seed(self) -> int:
        """The seed as scikit-learn's splitters take it."""
        return self.seed % 2**32
