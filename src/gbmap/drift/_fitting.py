"""How a detector comes about: a model with what measures its rows, and what held-out rows are like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Calibration, Measures, Outcome
from gbmap.drift._drifter import Drifter
from gbmap.drift._held_out import HeldOut, check_held_out
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import ScoredRows, is_fitted, monitor
from gbmap.drift._spread import SpreadDrifter


@dataclass(frozen=True)
class DetectorPlan:
    """What decides a detector beside its rows.

    Attributes
    ----------
    estimator, surrogate : estimators or None
        As those of `DriftDetector`.
    by_spread : bool
        Whether rows are measured by the spread of the prediction.
    search : tuple of int, str and int or None
        The number of neighbours, how they are found, and by how many threads.
    distance_weight : float
        How many times the embedding distance counts.
    cv : int
        Folds at most.
    seed : int
    """

    estimator: Any
    surrogate: Any
    by_spread: bool
    search: tuple[int, str, int | None]
    distance_weight: float
    cv: int
    seed: int

    def fitted(self, X: Any, y: Array, held_out: tuple[Any, Array] | None) -> FittedDetector:
        """Return the detector of reference rows, calibrated by rows held out, or else by folds."""
        was_fitted = self.estimator is not None and is_fitted(self.estimator)
        drifter, rows = self._drifter(X, y)
        monitored = drifter.monitored
        deviation = monitored.values(X, y, rows.scores).std(axis=0)
        if held_out is not None:
            lot = HeldOut.of(drifter, *held_out)
            check_held_out(monitored, drifter.rounding, (rows.phi, y), (lot.rows.phi, held_out[1]))
            found = self._calibrated(drifter, [lot], deviation, held_out[0])
            return replace(
                found, faithfulness=monitored.faithfulness(held_out[0], lot.rows.phi, lot.rows.scores)
            )
        faithfulness = monitored.faithfulness(X, rows.phi, rows.scores)
        folds = None if was_fitted else self._folds(y, is_classes=monitored.classes is not None)
        if folds is None:
            return FittedDetector(drifter, None, faithfulness)
        lots = self._cross_fit(X, y, folds)
        found = self._calibrated(drifter, lots, deviation, None)
        reaches = [lot.measures.reach for lot in lots]
        assert found.calibration is not None
        crossed = found.calibration.crossed(rows.scores, reaches)
        return FittedDetector(found.drifter, crossed, faithfulness)

    def _drifter(self, X: Any, y: Array) -> tuple[Measuring, ScoredRows]:
        monitored = monitor(self.estimator, X, y, self.surrogate, self.seed)
        given = monitored.fitted.read_given(X)
        monitored = monitored.met(X, given)
        rows = monitored.read(X, given)
        if self.by_spread:
            return SpreadDrifter.of(monitored, rows), rows
        return Drifter.of(monitored, rows, X, y, self.search), rows

    def _cross_fit(self, X: Any, y: Array, folds: Any) -> list[HeldOut]:
        """Return what each fold is like for the model and the reference rows of the others."""
        lots = []
        for train, test in folds.split(np.zeros(len(y)), y):
            drifter, _ = self._drifter(safe_indexing(X, train), y[train])
            lots.append(HeldOut.of(drifter, safe_indexing(X, test), y[test]))
        return lots

    def _calibrated(
        self, drifter: Measuring, lots: list[HeldOut], deviation: Array, others: Any
    ) -> FittedDetector:
        """Keep what held-out rows are like; `others` are these if the reference does not hold them."""
        calibration = Calibration.of(
            Measures.join([lot.measures for lot in lots]),
            Outcome.join([lot.outcome for lot in lots]),
            np.concatenate([lot.rows.scores for lot in lots]),
            deviation,
            self.distance_weight,
            (1 + self.distance_weight) * drifter.rounding,
        )
        monitored, n_rows = drifter.monitored, sum(len(lot.rows.scores) for lot in lots)
        if monitored.profile is not None:
            n_unseen = np.sum([lot.n_unseen for lot in lots], axis=0)
            profile = monitored.profile.calibrated(others, n_unseen, n_rows)
            drifter = replace(drifter, monitored=replace(monitored, profile=profile))  # type: ignore[type-var]
        return FittedDetector(drifter, calibration, None)

    def _folds(self, y: Array, *, is_classes: bool) -> Any:
        """Return how to cut the rows, or None if they are too few to leave neighbours in every fold."""
        smallest = int(np.unique(y, return_counts=True)[1].min()) if is_classes else len(y)
        n_folds = min(self.cv, smallest)
        needed = 1 if self.by_spread else self.search[0]
        if n_folds < 2 or len(y) - -(-len(y) // n_folds) < needed:
            return None
        kind = StratifiedKFold if is_classes else KFold
        return kind(n_folds, shuffle=True, random_state=self.seed)


@dataclass(frozen=True)
class FittedDetector:
    """What a fit of a detector finds.

    Attributes
    ----------
    drifter : Measuring
    calibration : Calibration or None
        None if no rows were held out, and none could be.
    faithfulness : float or None
        As that of `DriftDetector`.
    """

    drifter: Measuring
    calibration: Calibration | None
    faithfulness: float | None
