"""One fit as the engine sees it: rows in standard units, what is minimised, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbmap._core.activation import ACTIVATIONS
from gbmap._core.arrays import is_foreign
from gbmap._core.boosting import Stage, boost, draw_samples, mean_losses
from gbmap._core.ensemble import Ensemble
from gbmap._core.objective import Objective
from gbmap._core.problem import BoostingProblem, Solver
from gbmap._core.rows import Sample
from gbmap._fit.initial import initial_score
from gbmap._fit.records import StageRecord
from gbmap._fit.samples import sample_sizes_for
from gbmap._fit.sources import dask as _dask
from gbmap._fit.validation import Data, check_spread
from gbmap._rows import as_rows, more_rows
from gbmap._rows.collapse import collapse
from gbmap._rows.dask import DaskRows, DaskTable
from gbmap._rows.device import DeviceRows, lent
from gbmap._rows.memory import MemoryRows
from gbmap._rows.moments import Moments
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.scikit_learn import check_monotonic_cst
from gbmap._utils.typing import Array

AnyRows = MemoryRows | DeviceRows | DaskRows


@dataclass(frozen=True)
class Problem:
    """Rows to fit, rows to watch in the units of the former, the objective and the solver.

    Attributes
    ----------
    samples : list of Sample
        Of the rows to fit, the smallest first; they follow their scores.
    moments : Moments
        Of the columns of X.
    target_deviation : array of shape (K,)
        The spread of y - f_0.
    """

    rows: AnyRows
    watched: AnyRows | None
    samples: list[Sample]
    objective: Objective
    solver: Solver
    moments: Moments
    target_deviation: Array

    @classmethod
    def of(cls, estimator: Any, data: Data, validation: Data | None, init: Any, team: ThreadTeam) -> Problem:
        """Bring rows to standard units, and take the settings of an estimator."""
        loss, activation = estimator._make_loss(), ACTIVATIONS[estimator.activation](estimator.beta)
        objective, sample_rows = Objective(loss, activation, ridge=0.0), sample_sizes_for(data.X)
        rows, moments, deviation = _rows_to_fit(estimator, data, init, objective, sample_rows[0], team)
        check_spread(deviation, estimator.beta)
        watched = None
        if validation is not None:
            X, targets, score = _ready(estimator, validation, init, objective)
            weight = validation.scaled_weight
            watched = more_rows(X, targets, score, weight, rows, residual=loss.degree > 0)
            validation.release()
        share = loss.ridge_share if estimator.standardize else 1.0
        ridge = share * estimator.l2_regularization / (rows.units.n_active + 1)
        ridge_units = None if estimator.standardize or not ridge else rows.units.of_plain_rows()
        monotone = estimator.monotonic_cst
        if monotone is not None:
            monotone = check_monotonic_cst(estimator, monotone)
        solver = Solver(estimator.n_init, estimator.max_iter, estimator.tol, monotone, sample_rows)
        objective = replace(objective, ridge=ridge, ridge_units=ridge_units)
        samples = draw_samples(rows, solver, estimator._seed)
        return cls(rows, watched, samples, objective, solver, moments, deviation)

    def nothing(self, activation: str) -> Ensemble:
        """Return the ensemble without learners."""
        units = self.rows.units
        return Ensemble.empty(len(units.mean), self.rows.n_outputs, activation, units.center)

    def boost(self, ensemble: Ensemble, n_stages: int, seed: int) -> Iterator[Stage]:
        """Grow an ensemble, stage by stage."""
        return boost(self.for_engine(self.watched), ensemble, n_stages, seed)

    def for_engine(self, validation_rows: AnyRows | None) -> BoostingProblem:
        """Return the same as the engine takes it, with rows to validate on, or without."""
        return BoostingProblem(self.rows, validation_rows, self.samples, self.objective, self.solver)

    def boosted(self, activation: str, n_stages: int, seed: int) -> Ensemble:
        """Return an ensemble of so many stages, grown from nothing."""
        ensemble = self.nothing(activation)
        for stage in self.boost(ensemble, n_stages, seed):
            ensemble = stage.ensemble
        return ensemble

    @property
    def loss_unit(self) -> Array:
        """What a loss in standard units is in those of y, for each output."""
        with np.errstate(over="ignore", under="ignore"):
            unit: Array = self.rows.units.target_scale**self.objective.loss.degree
        return unit

    def first_record(self) -> StageRecord:
        """Return the losses of f_0."""
        nothing = -self.rows.units.target_mean / self.rows.units.target_scale
        return self._losses(nothing)

    def _losses(self, shift: Array | None = None) -> StageRecord:
        own, watched = (
            float(np.mean(self.loss_unit * mean_losses(rows, self.objective.loss, shift)))
            for rows in (self.rows, self.watched)
        )
        return StageRecord(own, watched)

    def trimmed_loss(self) -> float:
        """Return the mean loss of the watched rows as they are, without those of the largest losses."""
        assert self.watched is not None
        loss = self.objective.loss
        each = [self.watched.row_losses(loss, k).trimmed_mean(loss) for k in range(self.rows.n_outputs)]
        return float(np.mean(self.loss_unit * each))

    def record(self, stage: Stage) -> StageRecord:
        """Return what a stage reached, and what it took."""
        return StageRecord(
            loss=float(np.mean(self.loss_unit * stage.losses)),
            validation_loss=float(np.mean(self.loss_unit * stage.validation_losses)),
            n_iter=max(solution.n_iter for solution in stage.solutions),
            n_evaluations=sum(solution.n_evaluations for solution in stage.solutions),
            converged=all(solution.converged for solution in stage.solutions),
        )

    def remember(self) -> Any:
        """Return the scores of all rows, for `restore`."""
        return [[rows.remember(k) for k in range(rows.n_outputs)] for rows in self._all_rows()]

    def restore(self, scores: Any) -> None:
        """Bring the scores back to what they were."""
        for rows, of_rows in zip(self._all_rows(), scores):
            for output, score in enumerate(of_rows):
                rows.restore(output, score)

    def replay(self, ensemble: Ensemble, history: list[StageRecord]) -> list[StageRecord]:
        """Add the learners of an ensemble to the scores, and return a history with the losses on the way."""
        replayed = [history[0]]
        for stage, record in enumerate(history[1:]):
            for j in range(stage * ensemble.n_outputs, (stage + 1) * ensemble.n_outputs):
                for rows in self._all_rows():
                    rows.add_last_learner(ensemble[: j + 1])
            losses = self._losses()
            taken = {name: getattr(record, name) for name in ("n_iter", "n_evaluations", "converged")}
            replayed.append(replace(losses, **taken))
        return replayed

    def _all_rows(self) -> list[AnyRows]:
        return [self.rows] if self.watched is None else [self.rows, self.watched]


def _rows_to_fit(
    estimator: Any, data: Data, init: Any, objective: Objective, n_small: int, team: ThreadTeam
) -> tuple[AnyRows, Moments, Array]:
    """Return rows in their own standard units, the moments of X, and the spread of y - f_0."""
    weight = data.scaled_weight
    X, targets, score = _ready(estimator, data, init, objective)
    if X.shape[0] <= n_small and not is_foreign(X):
        # A small fit depends neither on the order of rows nor on how they share their weight.
        X, targets, score, weight = collapse(X, targets, np.broadcast_to(score, targets.shape), weight)
    found = as_rows(
        X,
        targets,
        score,
        weight,
        team,
        standardize=estimator.standardize,
        residual=objective.loss.degree > 0,
        ridge=None if estimator.standardize else estimator.l2_regularization,
    )
    data.release()
    return found


def _ready(estimator: Any, data: Data, init: Any, objective: Objective) -> tuple[Any, Any, Array | float]:
    """Return X, the targets and f_0, which a table has with it, as a fit reads them."""
    if isinstance(data.X, DaskTable):
        return data.X.scored(_dask.score_of_parts(estimator, data.n_outputs)), data.targets, 0.0
    score = initial_score(init, data.raw, data.n_outputs, getattr(estimator, "classes_", None))
    X, targets = data.X, data.targets
    if is_foreign(X):
        X, targets = lent(X, targets, objective)
    return X, targets, score
