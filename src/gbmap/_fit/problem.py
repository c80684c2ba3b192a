"""One fit as the engine sees it: rows in standard units, what is minimised, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbmap._core.activation import ACTIVATIONS
from gbmap._core.boosting import Stage, boost, draw_samples, mean_losses
from gbmap._core.ensemble import Ensemble
from gbmap._core.linear_part import is_linear
from gbmap._core.objective import Objective
from gbmap._core.posterior import Posterior, find_posterior
from gbmap._core.problem import BoostingProblem, EvidenceSettings, Solver
from gbmap._core.rows import Rows
from gbmap._fit.initial import InitialModel
from gbmap._fit.reading import check_spread
from gbmap._fit.records import StageRecord
from gbmap._fit.settings import FitSettings
from gbmap._fit.sources import Source
from gbmap._rows.moments import Moments
from gbmap._rows.standard import in_standard_units
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array

# The spread of learners is found on so many rows, or so many a column; of so many numbers in X at most.
_ROWS, _ROWS_PER_COLUMN, _NUMBERS = 2_000, 20, 1 << 21


@dataclass(frozen=True)
class FitProblem:
    """Rows to fit, rows for validation in the units of the former, the objective and the solver.

    Attributes
    ----------
    engine : BoostingProblem
        Its samples, of the rows to fit, follow their scores.
    moments : Moments
        Of the columns of X.
    target_deviation : array of shape (K,)
        The spread of y - f_0.
    activation : str
    ridge_unit : float
        What an ``l2_regularization`` of one is as the ridge of the objective.
    n_effective : float
        How many rows the data count as, given their weights.
    first_scores : list of arrays
        The scores that the first sample began with, for each output.
    """

    engine: BoostingProblem
    moments: Moments
    target_deviation: Array
    activation: str
    ridge_unit: float
    n_effective: float
    first_scores: list[Any]

    @classmethod
    def of(
        cls,
        settings: FitSettings,
        source: Source,
        validation: Source | None,
        initial: InitialModel,
        team: ThreadTeam,
    ) -> FitProblem:
        """Bring rows to standard units, for a fit by these settings."""
        loss, activation = settings.loss, ACTIVATIONS[settings.activation](settings.beta)
        objective, residual = Objective(loss, activation, ridge=0.0), loss.degree > 0
        sample_rows = source.sample_sizes
        found = in_standard_units(
            source.table(initial, objective, collapse_below=sample_rows[0]),
            team,
            standardize=settings.standardize,
            residual=residual,
            ridge=None if settings.standardize else settings.fixed_l2_regularization or 0.0,
        )
        rows, units = found.rows, found.rows.units
        check_spread(found.target_deviation, settings.beta)
        evidence, fixed, n_effective = None, settings.fixed_l2_regularization, source.n_effective
        if fixed is None:
            evidence = EvidenceSettings(n_effective, found.target_deviation / units.target_scale)
        source.release()
        validation_rows = None
        if validation is not None:
            validation_rows = validation.table(initial, objective).in_units(units, team, residual=residual)
            validation.release()
        if fixed and not settings.standardize:
            objective = replace(objective, ridge_units=units.of_plain_rows())
        ridge_unit = (loss.ridge_share if settings.standardize else 1.0) / (units.n_active + 1)
        objective = replace(objective, ridge=ridge_unit * (fixed or 0.0))
        solver = Solver(settings.n_init, settings.max_iter, settings.tol, settings.monotone, sample_rows)
        samples = draw_samples(rows, solver, settings.seed)
        engine = BoostingProblem(rows, validation_rows, samples, objective, solver, evidence)
        first_scores = [samples[0].remember(k) for k in range(rows.n_outputs)]
        return cls(
            engine, found.moments, found.target_deviation, settings.activation, ridge_unit, n_effective,
            first_scores,
        )  # fmt: skip

    @property
    def rows(self) -> Rows:
        """The rows to fit."""
        return self.engine.rows

    def empty_ensemble(self) -> Ensemble:
        """Return the ensemble without learners."""
        units = self.rows.units
        return Ensemble.empty(len(units.mean), self.rows.n_outputs, self.activation, units.center)

    def boost(self, ensemble: Ensemble, n_stages: int, seed: int) -> Iterator[Stage]:
        """Grow an ensemble, stage by stage."""
        return boost(self.engine, ensemble, n_stages, seed)

    def boosted(self, n_stages: int, seed: int) -> Ensemble:
        """Return an ensemble of so many stages, grown from nothing."""
        ensemble = self.empty_ensemble()
        for stage in self.boost(ensemble, n_stages, seed):
            ensemble = stage.ensemble
        return ensemble

    @property
    def loss_unit(self) -> Array:
        """What a loss in standard units is in those of y, for each output."""
        with np.errstate(over="ignore", under="ignore"):
            unit: Array = self.rows.units.target_scale**self.engine.objective.loss.degree
        return unit

    def first_record(self) -> StageRecord:
        """Return the losses of f_0."""
        nothing = -self.rows.units.target_mean / self.rows.units.target_scale
        return self._losses(nothing)

    def _losses(self, shift: Array | None = None) -> StageRecord:
        own, unseen = (
            float(np.mean(self.loss_unit * mean_losses(rows, self.engine.objective.loss, shift)))
            for rows in (self.rows, self.engine.validation_rows)
        )
        return StageRecord(own, unseen)

    def trimmed_loss(self) -> float:
        """Return the mean loss of the validation rows as they are, without those of the largest losses."""
        rows, loss = self.engine.validation_rows, self.engine.objective.loss
        assert rows is not None
        each = [rows.row_losses(loss, k).trimmed_mean(loss) for k in range(rows.n_outputs)]
        return float(np.mean(self.loss_unit * each))

    def record(self, stage: Stage) -> StageRecord:
        """Return what a stage reached, and what it took."""
        return StageRecord(
            loss=float(np.mean(self.loss_unit * stage.losses)),
            validation_loss=float(np.mean(self.loss_unit * stage.validation_losses)),
            n_iter=max(solution.n_iter for solution in stage.solutions),
            n_evaluations=sum(solution.n_evaluations for solution in stage.solutions),
            converged=all(solution.converged for solution in stage.solutions),
            l2_regularizations=tuple((stage.ridges / self.ridge_unit).tolist()),
        )

    def ridges(self, ensemble: Ensemble, history: list[StageRecord]) -> Array:
        """Return the ridge of each learner: that of the last one of its output, or of the linear part."""
        last, first = history[-1].l2_regularizations, history[1].l2_regularizations
        if not last:  # model files from before they were told have none
            return np.full(len(ensemble), self.engine.objective.ridge)
        ridges = self.ridge_unit * np.array(last)[ensemble.outputs]
        for output in range(ensemble.n_outputs):
            theta = ensemble[: ensemble.n_outputs].standard(output, self.rows.units)[0][0]
            if is_linear(theta, self.engine.objective.activation):
                ridges[output] = self.ridge_unit * first[output]
        return ridges

    def posterior(self, ensemble: Ensemble, history: list[StageRecord]) -> Posterior:
        """Return the spread of learners of this fit."""
        sample = self.engine.samples[0]
        now = [sample.remember(k) for k in range(sample.n_outputs)]
        for k, score in enumerate(self.first_scores):
            sample.restore(k, score)
        rows = sample.some(max(_ROWS, _ROWS_PER_COLUMN * sample.n_columns), _NUMBERS)
        for k, score in enumerate(now):
            sample.restore(k, score)
        ridges = self.ridges(ensemble, history)
        return find_posterior(
            rows, self.engine.objective, ensemble, self.rows.units, ridges, self.n_effective
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
            taken = {
                name: getattr(record, name)
                for name in ("n_iter", "n_evaluations", "converged", "l2_regularizations")
            }
            replayed.append(replace(losses, **taken))
        return replayed

    def _all_rows(self) -> list[Rows]:
        return (
            [self.rows] if self.engine.validation_rows is None else [self.rows, self.engine.validation_rows]
        )
