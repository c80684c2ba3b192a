"""What a fit tells of its stages, and of their refinement: as data, and to the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.typing import Array

logger = logging.getLogger("gbmap")


@dataclass(frozen=True, repr=False)
class StageRecord(Result):
    """What one boosting stage reached and what it took; stage 0 is f_0.

    Attributes
    ----------
    loss, validation_loss : float
        Mean loss of the model so far, in the units of y; the second is NaN without validation rows.
    n_iter : int
        Iterations of the solver, the most of any output.
    n_evaluations : int
        Passes over all rows, of all outputs together.
    converged : bool
        Whether the solver ended at a minimum, as far as ``tol`` tells one: its last iteration gained less
        than that, Newton's step promises less than ten times as much, and it had iterations left. True for
        f_0.
    l2_regularizations : tuple of float
        The lambda of the learner of each output; empty for f_0.
    group_l2_regularizations : tuple of tuple of float
        If inputs come in groups, for each group the lambda of the learner of each output: first that of
        numbers, which is the one above, then those of their bends and of categories, if there are any.
    """

    loss: float
    validation_loss: float
    n_iter: int = 0
    n_evaluations: int = 0
    converged: bool = True
    l2_regularizations: tuple[float, ...] = ()
    group_l2_regularizations: tuple[tuple[float, ...], ...] = ()

    def _shown(self) -> Shown:
        is_known = not np.isnan(self.validation_loss)
        unseen = f" ({cell(self.validation_loss)} of validation rows)" if is_known else ""
        work = f"{self.n_iter} iterations, {self.n_evaluations} evaluations"
        end = "converged" if self.converged else "not converged"
        ridge = (
            f", l2_regularization {cell(np.array(self.l2_regularizations))}"
            if self.l2_regularizations
            else ""
        )
        return Shown(f"loss {cell(self.loss)}{unseen}, {work}, {end}{ridge}")


@dataclass(frozen=True)
class Refined:
    """Learners that were optimised together.

    Attributes
    ----------
    ensemble : Ensemble
    n_steps : array of shape (n_outputs,)
        The iterations of each output.
    """

    ensemble: Ensemble
    n_steps: Array


def log_stage(history: list[StageRecord], n_components: int) -> None:
    """Log the last stage so far."""
    record = history[-1]
    unseen = "" if np.isnan(record.validation_loss) else f", validation {record.validation_loss:.6g}"
    ridge = ", ".join(f"{value:.3g}" for value in record.l2_regularizations)
    logger.info(
        "stage %d of %d: loss %.6g%s (%d iterations, ridge %s)",
        len(history) - 1, n_components, record.loss, unseen, record.n_iter, ridge,
    )  # fmt: skip


@contextmanager
def visible_log(verbose: int) -> Iterator[None]:
    """Show the log on standard error during a verbose fit, unless the user has set up logging."""
    if not verbose or logger.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
