"""Refinement: after boosting, all learners of an output are optimised together, their signs held fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss
from gbmap._core.minimise import Stopping, minimise
from gbmap._core.objective import Objective
from gbmap._core.problem import BoostingProblem
from gbmap._core.rows import RowActivations, Rows, Sample
from gbmap._core.units import Units
from gbmap._core.weak_learner import monotone_bounds
from gbmap._utils.typing import Array

# More iterations bring next to nothing on the paper's data sets.
MOST_STEPS = 400
# Held-out rows end a refinement when so many iterations in a row have not helped them.
_PATIENCE = 50
# Learners are put in order by so many rows; each place goes to one of the best so many alone.
_ORDER_ROWS, _ORDER_TRIED = 500, 30
# The constants beside them are found by halving a bracket so often, after doubling it at most so often.
_HALVINGS, _DOUBLINGS = 25, 20


@dataclass(frozen=True)
class Refinement:
    """How one output's learners moved.

    Attributes
    ----------
    vector : array
        (a, (w_1, c_1), ..., (w_m, c_m)) in standard units: the end, or the best for the validation rows.
    signs : array of shape (m,)
    n_steps : int
        The iterations that led there; 0 is where boosting ended.
    reached : float
        The objective there, or the loss of the validation rows; NaN if no iteration was asked for.
    curve : array
        The `trimmed_mean` loss of the validation rows after 0, 1, ... iterations; empty if there are none.
    """

    vector: Array
    signs: Array
    n_steps: int
    reached: float
    curve: Array


def is_automatic(refine: Any) -> bool:
    """Return whether the parameter asks to refine as far as unseen rows say, and not by a number."""
    return isinstance(refine, bool | np.bool_) and bool(refine)


def refine(problem: BoostingProblem, ensemble: Ensemble, output: int, n_steps: int) -> Refinement:
    """Minimise the sum of the learners' objectives with one loss for all, over their a, w and c together.

    The rows' scores are those that boosting began with. Boosting's learners are the start, and each
    iteration is a step away from them: with validation rows, the best of at most `n_steps` is returned.
    """
    rows, objective, solver = problem.rows, problem.objective, problem.solver
    thetas, signs = ensemble.standard(output, rows.units)
    start = np.append(thetas[:, 0].sum(), thetas[:, 1:])
    if n_steps == 0:
        return Refinement(start, signs, 0, np.nan, np.empty(0))
    validation = None
    if problem.validation_rows is not None:
        validation = _Validation(problem.validation_rows, objective, output, signs, start)
    unit = abs(rows.mean_loss(objective.loss, output)) or 1.0
    found = minimise(
        lambda vector: rows.joint_value_and_gradient(objective, output, vector, signs),
        start,
        Stopping(unit, max(solver.tol, 10 * rows.eps), n_steps),
        hessian=partial(problem.samples[0].joint_gauss_newton, objective, output, signs=signs),
        bounds=monotone_bounds(solver.monotone, signs),
        watch=None if validation is None else validation.is_over_at,
    )
    if validation is None:
        return Refinement(found.x, signs, found.n_iter, found.value, np.empty(0))
    vector, n_best = validation.best()
    return Refinement(vector, signs, n_best, validation.curve[n_best], np.array(validation.curve))


class _Validation:
    """The losses of validation rows after each iteration, and which one is best for them."""

    def __init__(self, rows: Rows, objective: Objective, output: int, signs: Array, start: Array):
        self._row_losses = partial(rows.joint_row_losses, objective, output, signs=signs)
        self._loss = objective.loss
        self._start, self._first = start, self._row_losses(start)
        self._best, self._best_losses = start, self._first
        self.curve = [self._first.trimmed_mean(self._loss)]

    def is_over_at(self, vector: Array) -> bool:
        """Note the loss at a point, and tell whether to stop there."""
        losses = self._row_losses(vector)
        self.curve.append(losses.trimmed_mean(self._loss))
        if self.curve[-1] < min(self.curve[:-1]):  # the first of equals, as `best` counts
            self._best, self._best_losses = vector, losses
        return len(self.curve) - 1 - int(np.argmin(self.curve)) >= _PATIENCE

    def best(self) -> tuple[Array, int]:
        """Return the best point and its number; where it all began, if the gain may be chance."""
        if not self._best_losses.improves_on(self._first):
            return self._start, 0
        return self._best, int(np.argmin(self.curve))


def refined_ensemble(
    ensemble: Ensemble, refinements: list[Refinement], sample: Sample, units: Units, objective: Objective
) -> Ensemble:
    """Return the ensemble with its learners replaced, in the order in which they help most.

    The first learner is the one that, with a constant, lowers the loss most, the second the one that does so
    beside it, and so on; the constants become their intercepts.
    """
    ordered = []
    for output, found in enumerate(refinements):
        few = sample.activations(objective, output, found.vector, _ORDER_ROWS)
        order, constants = _greedy_order(few, found.signs, objective.loss)
        constants[-1] = found.vector[0]
        thetas = np.column_stack(
            [np.diff(constants, prepend=0.0), found.vector[1:].reshape(len(order), -1)[order]]
        )
        ordered.append(zip(thetas, found.signs[order]))
    result = replace(ensemble[:0], center=units.center)
    for stage in zip(*ordered):
        for output, (theta, sign) in enumerate(stage):
            result = result.append(theta, int(sign), objective.activation.beta, output, units)
    return result


def _greedy_order(few: RowActivations, signs: Array, loss: Loss) -> tuple[Array, Array]:
    """Return the learners in the order in which they lower the loss most, and the constants beside them."""
    columns = (few.g * signs).T
    left = list(np.argsort(_best_constants(few.F + columns, few, loss)[1], kind="stable"))
    f, order, constants = few.F, [], []
    while left:
        tried = left[:_ORDER_TRIED]
        constant, losses = _best_constants(f + columns[tried], few, loss)
        best = int(np.argmin(losses))
        constants.append(constant[best])
        f = f + columns[left[best]]
        order.append(left.pop(best))
    return np.array(order), np.array(constants)


def _best_constants(scores: Array, few: RowActivations, loss: Loss) -> tuple[Array, Array]:
    """Return the constant to add to each row of scores, and the loss then.

    A loss is convex, so that the constant lies where the mean slope changes its sign; a loss that falls
    for ever ends at the bracket. SciPy's elementwise root finders end as low, and take 2 to 13 times as long
    on so few numbers.
    """
    share, y = few.weight / few.weight.sum(), np.broadcast_to(few.y, scores.shape)

    def rises(constant: Array) -> Array:
        return loss.gradient(y, scores + constant[:, None]) @ share > 0

    low, high = np.full((2, len(scores)), [[-1.0], [1.0]])
    for _ in range(_DOUBLINGS):
        too_high, too_low = rises(low), ~rises(high)
        if not (too_high | too_low).any():
            break
        low, high = np.where(too_high, 2 * low, low), np.where(too_low, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = rises(middle)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    constant = (low + high) / 2
    return constant, loss.value(y, scores + constant[:, None]) @ share
