"""What detectors ask of a model that is monitored, by whatever its rows are measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from gbmap._utils.typing import Array
from gbmap.drift._calibration import Measures, Outcome
from gbmap.drift._monitored import MonitoredModel, ScoredRows, chunks


class Measuring(ABC):
    """A fitted model, and a way to measure how far rows are from what it knows.

    Attributes
    ----------
    monitored : MonitoredModel
    rounding : float
        In the units of y: measures that differ by no more are equal.
    """

    monitored: MonitoredModel
    rounding: Any

    @abstractmethod
    def is_same_model(self) -> bool:
        """Return whether the model is still the one that it was."""

    @abstractmethod
    def _measures(self, rows: ScoredRows) -> Measures:
        """Return the measures of rows."""

    def check_model(self) -> None:
        """Refuse a model that has been fitted again."""
        if not self.is_same_model():
            raise ValueError(
                "the estimator no longer predicts as it did when this detector was fitted: it has been "
                "fitted again; fit the detector again too."
            )

    def measure(self, X: Any) -> Measures:
        """Return the measures of rows, chunk by chunk."""
        return Measures.join([self.read_and_measure(rows)[1] for rows in chunks(X)])

    def read_and_measure(
        self, X: Any, y: Array | None = None, name: str = "y"
    ) -> tuple[ScoredRows, Measures, Outcome | None]:
        """Return rows as they are read, their measures, and what became of them if labels are given."""
        rows = self.monitored.read(X)
        outcome = None if y is None else self.monitored.outcome(X, y, rows.scores, name)
        return rows, self._measures(rows), outcome
