"""How far a fit has come, for whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Progress = Callable[[str, int, int | None], None]


def silent(step: str, done: int, total: int | None) -> None:
    """Tell nobody."""


class StageCallback:
    """Tells of the stages of a fit: a callback of scikit-learn's."""

    def __init__(self, progress: Progress):
        self._progress, self._done, self._n_stages = progress, 0, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin."""
        self._n_stages = context.max_subtasks
        self._progress("fitting", 0, self._n_stages)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count a stage."""
        if context.task_name == "stage":
            self._done += 1
            self._progress("fitting", self._done, self._n_stages)

    def teardown(self, estimator: Any, context: Any) -> None:
        """End, which may be before the last stage."""
        if self._done < self._n_stages:
            self._progress("fitting", self._done, self._done)
