"""The share of the loss that each coordinate of the embedding explains."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel
from gbmap._utils.typing import Array
from gbmap.inspection.learners import _best_constants


def explained_shares(fitted: FittedModel, X: Any, y: Any) -> Array | None:
    """Return how much of the loss each learner explains, (M,); they sum up to `LearnerCards.explained_loss`.

    The loss to explain is that of f_0 and the best constants, averaged over outputs. None if it is zero.
    """
    f_0 = fitted.initial_score(X)
    targets = fitted.predictor.read_targets(y, len(f_0))
    constant = f_0 + _best_constants(fitted, targets, f_0)
    scores = chain([constant], fitted.staged_scores(X))
    losses = np.array([fitted.predictor.row_losses(targets, score).mean(axis=0) for score in scores])
    to_explain = losses[0].sum()
    return None if to_explain == 0 else -np.diff(losses, axis=0).reshape(-1) / to_explain
