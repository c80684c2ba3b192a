"""A learner with its ridge: found with what the evidence asks for, as far as that is known before."""

from __future__ import annotations

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.evidence import Evidence
from gbmap._core.linear_part import fit_linear_part
from gbmap._core.losses import RowLosses
from gbmap._core.problem import BoostingProblem
from gbmap._core.weak_learner import Solution, fit_weak_learner

# Most learners are found once; the first ones of noise are not.
_TRIALS, _MUCH_LARGER = 5, 1.3
# The ridge of a linear part is found from below: one that begins too large leaves no weights to say so.
_LINEAR_TRIALS, _ALIKE, _FIRST_SHARE = 8, 1.1, 0.05
# This share of the rows, those that gain most, does not tell whether others bend: noise of long tails has a
# few rows for which any bend pays. And a linear function that leaves less than that of the loss is the truth.
_FAR_OFF, _EXACT = 0.01, 1e-10


def find_learner(
    problem: BoostingProblem,
    evidence: Evidence,
    output: int,
    unit: float,
    loss: float,
    stream: np.random.SeedSequence,
) -> tuple[Solution, float]:
    """Return a learner and its ridge: found again while it asks itself for a ridge that is much larger."""
    asked = evidence.ridge(output, loss)
    for _ in range(_TRIALS):
        ridge = asked
        found = fit_weak_learner(problem.with_ridge(ridge), output, unit, np.random.default_rng(stream))
        asked = evidence.ridge_with(output, found.theta, loss, found.value)
        if asked <= _MUCH_LARGER * ridge:
            break
    return found, ridge


def find_first_learner(
    problem: BoostingProblem,
    evidence: Evidence,
    output: int,
    unit: float,
    loss: float,
    stream: np.random.SeedSequence,
) -> tuple[Solution, float]:
    """Return the first learner of an output and its ridge: a linear part, if that does."""
    is_linear = problem.may_be_linear and _is_nearly_linear(problem, output, unit, stream)
    find = _find_linear_part if is_linear else find_learner
    return find(problem, evidence, output, unit, loss, stream)


def _is_nearly_linear(
    problem: BoostingProblem, output: int, unit: float, stream: np.random.SeedSequence
) -> bool:
    """Return whether a learner that bends looks like noise beside a linear part, on some of the rows."""
    few = problem.of_few_rows()
    rows, loss, evidence = few.rows, few.objective.loss, Evidence(few, np.full(few.rows.n_outputs, unit))
    before = rows.remember(output)
    linear, _ = _find_linear_part(few, evidence, output, unit, rows.mean_loss(loss, output), stream)
    first = _with(few, output, linear)
    ridge, rng = evidence.ridge(output, first.mean), np.random.default_rng(stream)
    bent = fit_weak_learner(few.with_ridge(ridge), output, unit, rng)
    second = _with(few, output, bent)
    rows.restore(output, before)
    if not first.mean > _EXACT * unit:
        return True
    return not evidence.bends(output, bent.theta, *first.trimmed_with(second, _FAR_OFF))


def _with(few: BoostingProblem, output: int, found: Solution) -> RowLosses:
    """Add a learner to the scores of few rows, and return their losses."""
    rows, beta = few.rows, few.objective.activation.beta
    nothing = Ensemble.empty(rows.n_columns, rows.n_outputs, "softplus", rows.units.center)
    rows.add(nothing.append(found.theta, found.sign, beta, output, rows.units), is_first=True)
    return rows.row_losses(few.objective.loss, output)


def _find_linear_part(
    problem: BoostingProblem,
    evidence: Evidence,
    output: int,
    unit: float,
    loss: float,
    stream: np.random.SeedSequence,
) -> tuple[Solution, float]:
    """Return the linear part and its ridge: found again while it asks itself for another one that matters."""
    asked = _FIRST_SHARE * evidence.ridge(output, loss)
    for _ in range(_LINEAR_TRIALS):
        ridge = asked
        rng = np.random.default_rng(stream)
        found = fit_linear_part(problem.with_ridge(ridge), output, unit, rng)
        asked, matters = evidence.linear_ridge(output, found, ridge)
        if not matters or ridge / _ALIKE <= asked <= _ALIKE * ridge:
            break
        asked *= np.sqrt(asked / ridge)  # the steps become smaller: let them be longer
    return found, ridge
