"""The one place that knows gbmap's internals: everything else in the benchmarks uses the public interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Loss = Literal["squared_error", "log_loss"]


def one_pass(X: NDArray[Any], y: NDArray[Any], loss: Loss, n_jobs: int) -> Callable[[], object]:
    """A call that visits all rows once, as a fit does, for the loss and the gradient of one weak learner.

    Whatever a fit does once (checks, buffers, threads) is done here, not in the call.
    """
    raise NotImplementedError("one_pass is not connected to gbmap's rows yet")


def passes_of(model: Any) -> float | None:
    """How often a fit visited the data, in visits of all rows; None where the model does not say."""
    n_iter = getattr(model, "n_iter_", None)
    return None if n_iter is None else float(np.sum(n_iter))
