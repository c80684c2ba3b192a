"""One fit as the engine sees it: what decides it, rows in standard units, what is minimised, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._core.activation import ACTIVATIONS
from gbmap._core.boosting import (
    SETTLED_SEED,
    Stage,
    add_stages,
    boost,
    draw_part,
    draw_samples,
    linear_outputs,
    mean_losses,
)
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import ColumnSample, Inputs
from gbmap._core.linear_part import is_linear
from gbmap._core.losses import Loss
from gbmap._core.objective import Objective
from gbmap._core.posterior import Posterior, find_posterior
from gbmap._core.problem import BoostingProblem, EvidenceSettings, Solver
from gbmap._core.rows import Rows, Sample
from gbmap._core.units import Units
from gbmap._core.weak_learner import digits_do
from gbmap._fit.columns import (
    FEW_TO_TELL_FENCES,
    closer_fences,
    moments_of_sample,
    plan_inputs,
    shares_of_spread,
)
from gbmap._fit.initial import InitialModel
from gbmap._fit.records import StageRecord
from gbmap._fit.sources import Source
from gbmap._rows.moments import Moments
from gbmap._rows.standard import Table, in_standard_units
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array

# The spread of learners is found on so many rows, or so many a column; of so many numbers in X at most.
_ROWS, _ROWS_PER_COLUMN, _NUMBERS = 2_000, 20, 1 << 21
# Knots, and which categories are frequent, are told by so many rows, and about so many numbers.
_ROWS_FOR_INPUTS, _NUMBERS_FOR_INPUTS = (500, 10_000), 1 << 21

# A softplus of larger beta, in the units of y, or of one below its inverse, leaves the range of float64.
_STEEPEST = 1e300


@dataclass(frozen=True)
class FitSettings:
    """The parameters of an estimator as its fit takes them; see `GBMAPRegressor`.

    Attributes
    ----------
    loss : Loss
    monotone : array of shape (n_features,) or None
        -1, 0 or 1 for each column.
    seed : int
        What all random numbers come from.
    knots : int or "auto"
    is_category : array of shape (n_features,)
        Which columns hold categories.
    inputs : Inputs or None
        Those of an earlier fit that goes on.
    """

    loss: Loss
    activation: str
    beta: float
    l2_regularization: float | str
    standardize: bool
    n_init: int
    max_iter: int
    tol: float
    monotone: Array | None
    refine: Any
    validation_fraction: float
    seed: int
    knots: int | str
    is_category: Array
    inputs: Inputs | None = None

    @property
    def fixed_l2_regularization(self) -> float | None:
        """The ridge of every learner, or None if the fit is to find it."""
        return None if isinstance(self.l2_regularization, str) else float(self.l2_regularization)

    @property
    def sample_seed(self) -> int:
        """The seed of the samples of rows that learners and inputs are found on.

        Where the ridge is found, the seed has no part in the first two learners, so none in these either.
        """
        return SETTLED_SEED if self.fixed_l2_regularization is None else self.seed

    @property
    def split_seed(self) -> int:
        """The seed as scikit-learn's splitters take it."""
        return self.seed % 2**32


@dataclass(frozen=True)
class FitProblem:
    """Rows to fit, rows for validation in the units of the former, the objective and the solver.

    Attributes
    ----------
    engine : BoostingProblem
        Its samples, of the rows to fit, follow their scores.
    column_moments : Moments
        Of the columns of X; told by a sample if learners make other inputs of them.
    moments : Moments
        Of the inputs.
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
    column_moments: Moments
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
        table = source.table(initial, objective, collapse_below=source.sample_sizes(source.shape[1])[0])
        sample, is_few = _column_sample(table, source.shape[1], settings.sample_seed, team)
        inputs = settings.inputs or _inputs_of(sample, settings, source.n_effective)

        def of_inputs(inputs: Inputs) -> FitProblem:
            return cls._of_rows(settings, source, table, objective, sample, inputs, team)

        problem = of_inputs(inputs)
        if settings.inputs is None and is_few:
            linear = linear_outputs(problem.engine, settings.seed)
            # Several targets share their inputs: what one of them is must not move the others.
            is_told_by_one = len(linear) == 1 or not problem.engine.may_be_linear
            if inputs.has_limits.any() and is_told_by_one and not any(linear):
                problem = of_inputs(closer_fences(sample, inputs))
            problem = replace(problem, engine=replace(problem.engine, linear=linear))
        source.release()
        if validation is not None:
            others = validation.table(initial, objective).with_inputs(problem.inputs)
            unseen = others.in_units(problem.rows.units, team, residual=residual)
            validation.release()
            problem = replace(problem, engine=replace(problem.engine, validation_rows=unseen))
        return problem

    @classmethod
    def _of_rows(
        cls,
        settings: FitSettings,
        source: Source,
        table: Table,
        objective: Objective,
        sample: ColumnSample,
        inputs: Inputs,
        team: ThreadTeam,
    ) -> FitProblem:
        """Bring the rows to standard units, given their inputs, and a sample of what these are made of."""
        fixed, n_effective = settings.fixed_l2_regularization, source.n_effective
        found = in_standard_units(
            table.with_inputs(inputs),
            team,
            standardize=settings.standardize,
            residual=objective.loss.degree > 0,
            ridge=None if settings.standardize else fixed or 0.0,
            shares=shares_of_spread(sample, inputs) if fixed is None else 1.0,
            may_narrow=fixed is None and digits_do(settings.tol, np.dtype(np.float32)),
        )
        rows, units, spread = found.rows, found.rows.units, found.target_deviation
        _check_spread(spread, settings.beta)
        evidence = EvidenceSettings(n_effective, spread / units.target_scale) if fixed is None else None
        objective, ridge_unit = _with_ridge(objective, settings, units)
        solver = _solver(settings, inputs, source.sample_sizes(len(inputs), rows.n_outputs))
        samples = draw_samples(rows, solver, settings.sample_seed)
        extra = _straight_sample(samples[0], inputs), draw_part(rows, samples, settings.sample_seed)
        engine = BoostingProblem(rows, None, samples, objective, solver, evidence, inputs, *extra)
        first = [samples[0].remember(k) for k in range(rows.n_outputs)]
        moments = (found.moments if inputs.is_plain else moments_of_sample(sample)), found.moments
        return cls(engine, *moments, spread, settings.activation, ridge_unit, n_effective, first)

    @property
    def rows(self) -> Rows:
        """The rows to fit."""
        return self.engine.rows

    @property
    def inputs(self) -> Inputs:
        """What learners make of the columns of X."""
        assert self.engine.inputs is not None
        return self.engine.inputs

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
            **self._told(stage.ridges / self.ridge_unit),
        )

    @staticmethod
    def _told(ridges: Array) -> dict[str, Any]:
        """Return what a record tells of ridges, (K, G)."""
        groups = tuple(map(tuple, ridges.T.tolist()))
        further = {"group_l2_regularizations": groups} if len(groups) > 1 else {}
        return {"l2_regularizations": groups[0], **further}

    def ridges(self, ensemble: Ensemble, history: list[StageRecord]) -> Array:
        """Return the ridges of each learner, (M, G): of the last one of its output, or of the linear part."""
        own = self.own_ridges(ensemble, history)
        ridges = own[-ensemble.n_outputs :][ensemble.outputs]
        for output in range(ensemble.n_outputs):
            theta = ensemble[: ensemble.n_outputs].standard(output, self.rows.units)[0][0]
            if is_linear(theta, self.engine.objective.activation):
                ridges[output] = own[output]
        return ridges

    def own_ridges(self, ensemble: Ensemble, history: list[StageRecord]) -> Array:
        """Return the ridges that learners were found with, (M, G)."""
        if not history[-1].l2_regularizations:  # model files from before they were told have none
            return np.full((len(ensemble), 1), self.engine.objective.ridge)
        told = [record if record.l2_regularizations else history[-1] for record in history[1:]]
        each = [record.group_l2_regularizations or (record.l2_regularizations,) for record in told]
        return self.ridge_unit * np.concatenate([np.array(groups).T for groups in each])

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
        return find_posterior(rows, self.engine, ensemble, ridges, self.n_effective)

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
            for rows in self._all_rows():
                add_stages(rows, ensemble[: (stage + 1) * ensemble.n_outputs], stage)
            losses = self._losses()
            taken = {
                name: getattr(record, name)
                for name in (
                    "n_iter", "n_evaluations", "converged", "l2_regularizations", "group_l2_regularizations",
                )
            }  # fmt: skip
            replayed.append(replace(losses, **taken))
        return replayed

    def _all_rows(self) -> list[Rows]:
        return (
            [self.rows] if self.engine.validation_rows is None else [self.rows, self.engine.validation_rows]
        )


def _with_ridge(objective: Objective, settings: FitSettings, units: Units) -> tuple[Objective, float]:
    """Return the objective with the ridge that is given, and what the ridge is counted in."""
    fixed = settings.fixed_l2_regularization
    if fixed and not settings.standardize:
        objective = replace(objective, ridge_units=units.of_plain_rows())
    ridge_unit = (objective.loss.ridge_share if settings.standardize else 1.0) / (units.n_active + 1)
    return replace(objective, ridge=ridge_unit * (fixed or 0.0)), ridge_unit


def _solver(settings: FitSettings, inputs: Inputs, sample_rows: tuple[int, ...]) -> Solver:
    monotone = None if settings.monotone is None else inputs.signs(settings.monotone)
    return Solver(settings.n_init, settings.max_iter, settings.tol, monotone, sample_rows)


def _straight_sample(sample: Sample, inputs: Inputs) -> Sample | None:
    if not inputs.bends.any():
        return None
    kept = np.ones(len(inputs), dtype=bool)
    kept[: len(inputs.bends)] = ~inputs.bends
    return sample.of_columns(kept)


def _column_sample(table: Table, n_columns: int, seed: int, team: ThreadTeam) -> tuple[ColumnSample, bool]:
    """Return some of the rows, and whether they are all that there are, and too few to tell fences by."""
    stream = np.random.SeedSequence(seed, spawn_key=(0,))
    least, most = _ROWS_FOR_INPUTS
    size = min(max(_NUMBERS_FOR_INPUTS // n_columns, least), most)
    sample = table.column_sample(size, np.random.default_rng(stream), team)
    return sample, sample.X.shape[0] < min(size, FEW_TO_TELL_FENCES)


def _inputs_of(sample: ColumnSample, settings: FitSettings, n_effective: float) -> Inputs:
    """Return the inputs that rows are to have."""
    if scipy.sparse.issparse(sample.X):  # whose zeros would not stay zeros
        return Inputs.plain(sample.X.shape[1])
    # Bends need a ridge of their own: by "auto" there are none where one ridge is given for all.
    finds_ridge = settings.fixed_l2_regularization is None
    knots = settings.knots if finds_ridge or settings.knots != "auto" else 0
    return plan_inputs(sample, n_effective, knots, settings.is_category, settings.monotone)


def _check_spread(deviations: Array, beta: float) -> None:
    """Refuse targets in whose units beta leaves the range of float64."""
    low, high = float(beta) / _STEEPEST, float(beta) * _STEEPEST
    for deviation in deviations:
        if not low <= deviation <= high:
            raise ValueError(
                f"y must have a standard deviation from {low:g} to {high:g} for beta={beta}, or be constant, "
                f"got {deviation:g}; rescale it."
            )
