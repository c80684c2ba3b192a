"""Refinement: after boosting, all learners of an output are optimised together, their signs held fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss
from gbmap._core.minimise import Minimum, Stopping, minimise
from gbmap._core.objective import Objective
from gbmap._core.problem import BoostingProblem
from gbmap._core.rows import RowActivations, Rows, Sample
from gbmap._core.units import Units
from gbmap._core.weak_learner import monotone_bounds
from gbmap._utils.typing import Array

# More iterations bring next to nothing on the paper's data sets.
MOST_STEPS = 400
# Steps end when one lowers the objective by less than this share. With a smaller one learners fit the noise
# of some of the paper's data sets.
_PRECISION = 3e-4
# A part of the rows tells learners apart if it has so many of them for each of their numbers.
_ROWS_PER_NUMBER = 40
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
        (a, (w_1, c_1), ..., (w_m, c_m)) in standard units.
    signs : array of shape (m,)
    n_steps : int
        The iterations that led there; 0 is where boosting ended.
    """

    vector: Array
    signs: Array
    n_steps: int


def refine(problem: BoostingProblem, ensemble: Ensemble, output: int, n_steps: int) -> Refinement:
    """Minimise the sum of the learners' objectives with one loss for all, over their a, w and c together.

    The rows' scores are those that boosting began with. Boosting's learners are the start, and its last ridge
    is that of the problem: learners together need no other, so that no rows have to say how far to go.
    """
    thetas, signs = ensemble.standard(output, problem.rows.units)
    start = vector = np.append(thetas[:, 0].sum(), thetas[:, 1:])
    n_taken, parts = 0, _parts(problem, len(start))
    for rows in [*parts, problem.rows]:
        if n_taken < n_steps:
            found = _descend(problem, rows, output, vector, signs, n_steps - n_taken)
            vector, n_taken = found.x, n_taken + found.n_iter
    value = partial(_value, problem, problem.rows, output, signs=signs)
    if parts and value(vector) > value(start):  # a part has misled
        return Refinement(start, signs, 0)
    return Refinement(vector, signs, n_taken)


def _parts(problem: BoostingProblem, n_numbers: int) -> list[Sample]:
    """Return parts of the rows, the smallest first, that are large enough to begin on."""
    least = _ROWS_PER_NUMBER * n_numbers
    return [each for each in problem.samples if not each.complete and each.n_rows >= least]


def _descend(
    problem: BoostingProblem, rows: Rows, output: int, vector: Array, signs: Array, n_steps: int
) -> Minimum:
    objective = problem.objective
    unit = _value(problem, rows, output, vector, signs)
    return minimise(
        lambda vector: rows.joint_value_and_gradient(objective, output, vector, signs),
        vector,
        Stopping(unit, _PRECISION, n_steps),
        hessian=partial(problem.samples[0].joint_gauss_newton, objective, output, signs=signs),
        bounds=monotone_bounds(problem.solver.monotone, signs),
    )


def _value(problem: BoostingProblem, rows: Rows, output: int, vector: Array, signs: Array) -> float:
    return rows.joint_value_and_gradient(problem.objective, output, vector, signs)[0]


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
