"""What a verbose fit says, and to whom."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from gbmap._fit.records import StageRecord

logger = logging.getLogger("gbmap")


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
