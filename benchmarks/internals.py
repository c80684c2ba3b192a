"""The one place that knows gbmap's internals: everything else in the benchmarks uses the public interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gbmap._core.activation import Softplus
from gbmap._core.losses import LogLoss, SquaredError
from gbmap._core.objective import Objective
from gbmap._rows import as_rows
from gbmap._rows.threads import ThreadTeam

Loss = Literal["squared_error", "log_loss"]


def one_pass(X: NDArray[Any], y: NDArray[Any], loss: Loss, n_jobs: int) -> Callable[[], object]:
    """A call that visits all rows once, as a fit does, for the loss and the gradient of one weak learner.

    Whatever a fit does once (checks, buffers, threads) is done here, not in the call.
    """
    pointwise = SquaredError() if loss == "squared_error" else LogLoss()
    team = ThreadTeam(n_jobs)
    residual = loss == "squared_error"
    rows, _, _ = as_rows(X, y[:, None], 0.0, None, team, standardize=False, residual=residual)
    objective = Objective(pointwise, Softplus(1.0), 1e-3 / (X.shape[1] + 1))
    theta = np.random.default_rng(0).standard_normal((1, X.shape[1] + 2)) / np.sqrt(X.shape[1])
    return lambda: rows.value_and_gradient(objective, 0, theta, np.ones(1))


def passes_of(model: Any) -> float:
    """How often a fit visited all the rows; visits of the sample do not count."""
    return float(sum(record.n_evaluations for record in model.history_))
