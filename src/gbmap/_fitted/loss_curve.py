"""How the loss of rows falls from f_0 on, stage by stage, and how much of it there is to explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from gbmap._core.losses import Loss
from gbmap._fitted.model import FittedModel
from gbmap._utils.typing import Array

_MOST_DOUBLINGS = 60  # of a step towards a minimum that may lie at infinity


@dataclass(frozen=True)
class LossCurve:
    """The mean losses of some rows.

    Attributes
    ----------
    fitted : FittedModel
    targets, initial : arrays of shape (n, K)
        y and f_0 of the rows.
    stages : array of shape (m + 1, K)
        The mean loss of each output after 0, 1, ..., m stages.
    """

    fitted: FittedModel
    targets: Array
    initial: Array
    stages: Array

    @classmethod
    def of(cls, fitted: FittedModel, X: Any, y: Any) -> LossCurve:
        """Return the curve of rows of the user's."""
        scores = fitted.staged_scores(X)
        initial = next(scores)
        targets = fitted.predictor.read_targets(y, len(initial))
        losses = [fitted.predictor.row_losses(targets, score).mean(axis=0) for score in (initial, *scores)]
        return cls(fitted, targets, initial, np.array(losses))

    @property
    def to_explain(self) -> Array:
        """The mean loss of f_0 plus the constant that is best on these rows, of each output, (K,)."""
        loss, unit = self.fitted.predictor.loss, self.fitted.predictor.target_unit
        y, score = (self.targets / unit).T, (self.initial / unit).T
        constants = unit * [_best_constant(loss, *each) for each in zip(y, score)]
        losses = self.fitted.predictor.row_losses(self.targets, self.initial + constants)
        return losses.mean(axis=0)

    def explained(self) -> Array:
        """Return the share of the loss that is explained after 0, 1, ..., m stages; NaN if there is none."""
        losses, to_explain = self.stages.mean(axis=1), self.to_explain.mean()
        if to_explain > 0:
            return np.append(0.0, 1 - losses[1:] / to_explain)
        return np.full_like(losses, np.nan)

    def explained_by_learner(self) -> Array | None:
        """Return the share of the loss that each learner explains, (M,); None if there is none to explain.

        They sum up to `LearnerCards.explained_loss`.
        """
        losses = np.vstack([self.to_explain, self.stages[1:]])
        total = losses[0].sum()
        return None if total == 0 else -np.diff(losses, axis=0).reshape(-1) / total


def _best_constant(loss: Loss, y: Array, score: Array) -> float:
    """Return the zero of the mean derivative, which rises with the constant since a loss is convex.

    It may lie at infinity, as for rows of one class only; then a large number comes back.
    """

    def slope(constant: float) -> float:
        return float(loss.gradient(y, score + constant).mean())

    start, step = 0.0, 1.0
    if loss.degree:
        from_first = (y - score) - (y - score)[0]  # exactly zero if constant
        start = float((y - score)[0] + from_first.mean())
        step = float(from_first.std()) or 1.0
    uphill = slope(start)
    if uphill == 0:
        return start
    near, far, step = start, start, -np.copysign(step, uphill)
    for _ in range(_MOST_DOUBLINGS):
        near, far, step = far, far + step, 2 * step
        if np.sign(slope(far)) != np.sign(uphill):
            return float(brentq(slope, near, far, xtol=1e-10 * abs(step)))
    return far
