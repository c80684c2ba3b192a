"""What a method is given, and how its answer is scored."""

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

    def part(self, rows: NDArray[Any]) -> Data:
        """Some of the rows."""
        return Data(self.X[rows], self.y[rows], self.task)


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to judge by; no choice may look at the second.

    The columns, and the target of a regression, are standardised by the training rows, unless the data are
    synthetic, which come as they are.
    """

    train: Data
    test: Data
    synthetic: bool = False

    @property
    def task(self) -> Task:
        return self.train.task


def mean_loss(task: Task, y: NDArray[Any], score: NDArray[Any]) -> float:
    """Mean of log(1 + exp(-y f)) for classes, of (y - f)^2 for regression, in float64."""
    y, score = y.astype(np.float64), score.astype(np.float64)
    if task == "classification":
        return float(np.mean(np.logaddexp(0.0, -y * score)))
    return float(np.mean((y - score) ** 2))


def quality(task: Task, y: NDArray[Any], score: NDArray[Any]) -> float:
    """Accuracy of the sign of f for classes, R2 of f for regression."""
    if task == "classification":
        return float(np.mean((score > 0) == (y > 0)))
    y, score = y.astype(np.float64), score.astype(np.float64)
    return float(1 - np.mean((y - score) ** 2) / np.var(y))
