"""What is fitted, and how hard to try."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gbmap._core.inputs import Inputs
from gbmap._core.losses import RowLosses
from gbmap._core.objective import Objective
from gbmap._core.rows import Rows, Sample
from gbmap._utils.typing import Array, IntArray


@dataclass(frozen=True)
class Solver:
    """How hard to try.

    Attributes
    ----------
    n_init : int
        Random starts per learner, gentle and steep in turn; by 0 it starts from zero, with the sign +1.
    max_iter : int
        L-BFGS iterations per solve.
    tol : float
        A solve ends when an iteration lowers the objective by less than `tol` times its value, or
        times `unit` of `fit_weak_learner`, if that is larger.
    monotone : array of shape (p,) or None
        +1, -1 or 0: the sign that b w is held to, column by column.
    sample_rows : tuple of int
        The sizes of the samples, ascending. Signs and starts race on the first; the winner is
        polished on each in turn before it meets all rows.
    """

    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-6
    monotone: Array | None = None
    sample_rows: tuple[int, ...] = (10_000,)


@dataclass(frozen=True)
class EvidenceSettings:
    """What finds the ridge is told beside the rows.

    Attributes
    ----------
    n_rows : float
        How many rows the data count as, given their weights.
    target_spread : array of shape (K,)
        The spread of y - f_0 in standard units; one where the loss is not one of y - f.
    """

    n_rows: float
    target_spread: Array


@dataclass(frozen=True)
class BoostingProblem:
    """Rows with what is minimised over them, and how.

    Attributes
    ----------
    rows : Rows
    validation_rows : Rows or None
        In the units of the rows; their losses are told, and change nothing.
    samples : list of Sample
        Of the rows, the smallest first. Learners are found on them.
    straight_sample : Sample or None
        The smallest of them without inputs that are bends of others; None if there are none. Its scores are
        those of that one.
    part : Sample or None
        More of the rows than the largest sample has, held as all of them are; None if there are too few.
    objective : Objective
    solver : Solver
    evidence : EvidenceSettings or None
        What it takes to find the ridge of each learner; None if it is that of the objective.
    inputs : Inputs or None
        What the columns of the rows are; None if they are all of one kind.
    linear : tuple of bool, or None
        Which outputs begin with a linear part; None if the first stage is to find out.
    """

    rows: Rows
    validation_rows: Rows | None
    samples: list[Sample]
    objective: Objective
    solver: Solver
    evidence: EvidenceSettings | None = None
    inputs: Inputs | None = None
    straight_sample: Sample | None = None
    part: Sample | None = None
    linear: tuple[bool, ...] | None = None

    def row_losses(self) -> list[RowLosses]:
        """Return the loss of every row for each output, if these are few and the fit finds its ridge."""
        few = self.samples[0]
        if self.evidence is None or not few.complete:
            return []
        return [few.row_losses(self.objective.loss, output) for output in range(few.n_outputs)]

    def help_several(self, before: list[RowLosses]) -> Array:
        """Return for which outputs more than one row gains, given what `row_losses` told before."""
        if self.evidence is None or not before:
            return np.ones(self.rows.n_outputs, dtype=bool)
        n_rows = self.evidence.n_rows
        return np.array([was.helps_several(now, n_rows) for was, now in zip(before, self.row_losses())])

    @cached_property
    def groups(self) -> IntArray:
        """Which of (w, c) share a ridge, 0 to G - 1, of shape (p + 1,); c is in the first group."""
        own = np.zeros(self.rows.n_columns, np.intp) if self.inputs is None else self.inputs.groups
        return np.append(own, 0)

    @property
    def all_rows(self) -> Rows:
        """All rows as passes over them take the least time: a sample, if that is complete."""
        return next((sample for sample in self.samples if sample.complete), self.rows)

    @property
    def bend_group(self) -> slice:
        """The place of the bends among the groups; an empty one if nothing bends."""
        return slice(1, 2) if self.is_bend.any() else slice(0)

    @cached_property
    def is_bend(self) -> Array:
        """Which columns of the rows are bends of others, of shape (p,)."""
        found = np.zeros(self.rows.n_columns, dtype=bool)
        if self.inputs is not None:
            found[: len(self.inputs.low)] = self.inputs.bends
        return found

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.groups.max()) + 1

    @property
    def may_be_linear(self) -> bool:
        """Whether the first learner of an output may be linear: if it finds its ridge, and others bend.

        Not if each of several classes is told from the rest: even where classes lie on a line, those in the
        middle do not.
        """
        is_alone = self.objective.loss.degree > 0 or self.rows.n_outputs == 1
        return self.evidence is not None and self.objective.activation.both_signs and is_alone

    def of_few_rows(self) -> BoostingProblem:
        """Return the problem of the smallest sample, for trials: its scores are to be restored."""
        assert self.evidence is not None
        rows = self.samples[0]
        evidence = replace(self.evidence, n_rows=min(self.evidence.n_rows, rows.n_rows))
        return replace(self, rows=rows, validation_rows=None, samples=[rows], part=None, evidence=evidence)

    def without_bends(self) -> BoostingProblem:
        """Return the problem of the smallest sample with columns as they are, if some of them bend here."""
        if self.inputs is None or self.straight_sample is None:
            return self
        kept, solver, objective = ~self.is_bend, self.solver, self.objective
        if solver.monotone is not None:
            solver = replace(solver, monotone=solver.monotone[kept])
        if objective.ridge_units is not None:
            objective = replace(objective, ridge_units=objective.ridge_units.of_columns(kept))
        if isinstance(objective.ridge, np.ndarray):
            objective = replace(objective, ridge=objective.ridge[np.append(kept, True)])
        rows = self.straight_sample
        problem = replace(self, rows=rows, samples=[rows], objective=objective, solver=solver)
        inputs = self.inputs.without_bends()
        return replace(problem, inputs=inputs, straight_sample=None, part=None)

    def with_ridge(self, ridges: Array) -> BoostingProblem:
        """Return the same problem with other ridges of the groups."""
        return replace(self, objective=replace(self.objective, ridge=self.spread_out(ridges)))

    def spread_out(self, ridges: Array) -> float | Array:
        """Return the ridges of the groups, (G,), as the objective takes them."""
        return float(ridges[0]) if len(ridges) == 1 else ridges[self.groups]
