"""A learner with its ridge: found with what the evidence asks for, as far as that is known before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.evidence import Evidence
from gbmap._core.linear_part import fit_linear_part
from gbmap._core.lockstep import Search
from gbmap._core.losses import RowLosses
from gbmap._core.problem import BoostingProblem
from gbmap._core.weak_learner import Fit, Solution, find_on_samples, fit_weak_learner, polish_on_all_rows
from gbmap._utils.typing import Array

# Most learners are found once; the first ones of noise are not.
_TRIALS, _MUCH_LARGER = 5, 1.3
# The ridge of a linear part is found from below: one that begins too large leaves no weights to say so.
# With fewer rows than columns it grows by a few percent at a time: steps of its logarithm become longer.
_LINEAR_TRIALS, _ALIKE, _FIRST_SHARE = 20, 1.02, 0.4
_LONGER, _LONGEST_STEP = 1.5, 8.0
# The ridge of the bends of a linear part, which has none; a larger one lets the solver stall. With bends,
# as an additive function, it won where there are no interactions (higgs) and lost more elsewhere (abalone,
# wine-white); rows do not tell which.
_NO_BENDS = 1e4
# From one start the trial misses bends now and then (salaries of baseball players: in half of the fits, which
# are linear then and score .2 lower).
_TRIAL_STARTS = 3
# This share of the rows, those that gain most, does not tell whether others bend: noise of long tails has a
# few rows for which any bend pays.
_FAR_OFF = 0.01


@dataclass(frozen=True)
class Finder:
    """One stage of one output: the problem, what learners have told, and the random stream.

    `unit` is that of `fit_weak_learner`.
    """

    problem: BoostingProblem
    evidence: Evidence
    output: int
    unit: float
    stream: np.random.SeedSequence

    def search(self, stage: int, loss: float) -> Search[tuple[Solution, Array]]:
        """Return the search for the learner of a stage, given the mean loss of those so far."""
        return self.first_learner(loss) if stage == 0 else self.learner(loss)

    def learner(self, loss: float) -> Search[tuple[Solution, Array]]:
        """Return a learner and its ridges: found again while it asks itself for much larger ones.

        `loss` is the mean loss of the learners so far.
        """
        asked = self.evidence.ridge(self.output, loss)
        for _ in range(_TRIALS):
            ridge, enough = asked, _MUCH_LARGER * asked
            found = yield from self._fitted(find_on_samples, ridge)
            asked = self.evidence.ridge_with(self.output, found.theta, loss, found.value, enough)
            if (asked <= enough).all():
                break
        problem = self.problem.with_ridge(ridge)
        return (yield from polish_on_all_rows(problem, self.output, self.unit, found)), ridge

    def first_learner(self, loss: float) -> Search[tuple[Solution, Array]]:
        """Return the first learner of the output and its ridges: a linear part, if that does."""
        linear = self.problem.linear
        if (yield from self.is_linear()) if linear is None else linear[self.output]:
            return (yield from self._linear_part(loss))
        return (yield from self.learner(loss))

    def is_linear(self) -> Search[bool]:
        """Return whether the first learner of the output is to be a linear part."""
        return self.problem.may_be_linear and (yield from self._is_nearly_linear())

    def _fitted(self, fit: Fit, ridge: Array) -> Search[Solution]:
        return fit(self.problem.with_ridge(ridge), self.output, self.unit, np.random.default_rng(self.stream))

    def _is_nearly_linear(self) -> Search[bool]:
        """Return whether a learner that bends looks like noise beside a linear part, on some of the rows."""
        few = self.problem.of_few_rows().without_bends()
        few = replace(few, solver=replace(few.solver, n_init=max(few.solver.n_init, _TRIAL_STARTS)))
        rows, loss = few.rows, few.objective.loss
        evidence = Evidence(few, np.full(rows.n_outputs, self.unit))
        trial = replace(self, problem=few, evidence=evidence)
        before = rows.remember(self.output)
        linear, _ = yield from trial._linear_part(rows.mean_loss(loss, self.output))
        is_bent = yield from trial._bends(trial._with(linear))
        rows.restore(self.output, before)
        return not is_bent

    def _bends(self, losses: RowLosses) -> Search[bool]:
        """Return whether one more learner brings more than it brings to noise, given the losses of rows."""
        bent = yield from self._fitted(fit_weak_learner, self.evidence.ridge(self.output, losses.mean))
        means = losses.trimmed_with(self._with(bent), _FAR_OFF)
        return self.evidence.bends(self.output, bent.theta, *means)

    def _with(self, found: Solution) -> RowLosses:
        """Add a learner to the scores of the rows, and return their losses."""
        rows, beta = self.problem.rows, self.problem.objective.activation.beta
        nothing = Ensemble.empty(rows.n_columns, rows.n_outputs, "softplus", rows.units.center)
        rows.add(nothing.append(found.theta, found.sign, beta, self.output, rows.units), np.array([True]))
        return rows.row_losses(self.problem.objective.loss, self.output)

    def _linear_part(self, loss: float) -> Search[tuple[Solution, Array]]:
        """Return the linear part and its ridges: found again while it asks for another one that matters."""
        asked = _FIRST_SHARE * self.evidence.ridge(self.output, loss)
        asked[self.problem.bend_group] = _NO_BENDS
        step = np.ones(self.problem.n_groups)
        for _ in range(_LINEAR_TRIALS):
            ridge = asked
            found = yield from self._fitted(partial(fit_linear_part, fit=find_on_samples), ridge)
            asked, matters = self.evidence.linear_ridge(self.output, found, ridge)
            asked[self.problem.bend_group] = _NO_BENDS
            if not matters or ((ridge / _ALIKE <= asked) & (asked <= _ALIKE * ridge)).all():
                break
            step = np.where(asked > ridge, np.minimum(_LONGER * step, _LONGEST_STEP), 1.0)
            asked = ridge * (asked / ridge) ** step
        if not self.problem.samples[0].complete:
            found = yield from self._fitted(fit_linear_part, ridge)
        return found, ridge
