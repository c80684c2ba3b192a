"""What a method is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Task = Literal["regression", "classification"]


@dataclass(frozen=True)
class Data:
    """Rows and targets; two classes are labelled -1 and +1."""

    X: NDArray[np.floating[Any]]
    y: NDArray[Any]
    task: Task


def mean_loss(task: Task, y: NDArray[Any], score: NDArray[Any]) -> float:
    """Mean of log(1 + exp(-y f)) for classes, of (y - f)^2 for regression, in float64."""
    y, score = y.astype(np.float64), score.astype(np.float64)
    if task == "classification":
        return float(np.mean(np.logaddexp(0.0, -y * score)))
    return float(np.mean((y - score) ** 2))
