"""Refinement: after boosting, all learners of an output are optimised together, their signs held fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.evidence import numbers_of_learner
from gbmap._core.linear_part import is_linear
from gbmap._core.losses import Loss
from gbmap._core.minimise import Minimum, Stopping, ValueAndGradient, minimise
from gbmap._core.objective import Objective
from gbmap._core.posterior import numbers_together
from gbmap._core.problem import BoostingProblem
from gbmap._core.rows import RowActivations, Rows, Sample
from gbmap._core.units import Units
from gbmap._core.weak_learner import monotone_bounds
from gbmap._utils.typing import Array

# More iterations bring next to nothing on the paper's data sets.
MOST_STEPS = 400
# Steps end when one lowers the objective by less than this share. With a smaller one learners fit the noise
# of some of the paper's data sets.
_PRECISION = 1e-4
# Learners that must pay for their refinement make the rows likelier, as a logarithm, by so much for each
# number more that these determine, with the noise that they leave as far too small as they have learned it.
# Noise alone pays about one. Told by splits 5 and 6 of the paper's sets, and drawn tables.
_LIKELIER_BY_NUMBER = 2.0
# About as many numbers as before cost nothing.
_AS_MANY = 1.05
# The numbers are counted on so many rows, or so many a column; of so many numbers in X at most.
_ROWS, _ROWS_PER_COLUMN, _NUMBERS = 2_000, 20, 1 << 21
# A part of the rows tells learners apart if it has so many of them for each of their numbers.
_ROWS_PER_NUMBER = 15
# Targets that spread less cannot be squared.
_SMALLEST_SPREAD = 1e-140
# The learner that stays as boosting found it, the second axis of a map: given more than two, others do what
# it would have done.
_HELD = 1
# Learners are put in order by so many rows; each place goes to one of the best so many alone.
_ORDER_ROWS, _ORDER_TRIED = 2_000, 30


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


def refine(
    problem: BoostingProblem,
    ensemble: Ensemble,
    output: int,
    ridges: Array,
    n_steps: int,
    *,
    must_pay: bool = False,
) -> Refinement:
    """Minimise the sum of the learners' objectives with one loss for all, over their a, w and c together.

    The rows' scores are those that boosting began with. Boosting's learners are the start, and their ridges,
    (m, G), tell those of learners together: no others are needed, and no rows have to say how far to go. If
    they must pay, they stay as they were where the rows gain no more by it than they would by learning noise:
    with many bends, learners have more numbers than few rows tell. The second of more than two always does,
    and the first of those of classes.
    """
    thetas, signs = ensemble.standard(output, problem.rows.units)
    is_first_linear, loss = is_linear(thetas[0], problem.objective.activation), problem.objective.loss
    ridges = _together(ridges, keeps_last=is_first_linear or not loss.degree, n_linear=int(is_first_linear))
    objective = replace(problem.objective, ridges=ridges[:, problem.groups], begins_linear=is_first_linear)
    problem = replace(problem, objective=objective)
    start = vector = np.append(thetas[:, 0].sum(), thetas[:, 1:])
    value = partial(_value, problem, output, signs=signs)
    first, before = abs(problem.rows.mean_loss(loss, output)), value(start)
    smallest = _SMALLEST_SPREAD**loss.degree if loss.degree else 0.0
    if first <= smallest or not before > 10 * problem.rows.eps * first:  # what is left is rounding
        return Refinement(start, signs, 0)
    n_taken, reached = 0, None
    for rows in [*_parts(problem, len(start)), problem.all_rows]:
        if n_taken < n_steps:
            stopping = Stopping(before, _PRECISION, n_steps - n_taken)
            found = _descend(problem, rows, output, vector, signs, stopping)
            vector, n_taken = found.x, n_taken + found.n_iter
            reached = found.value if rows is problem.rows else None
    reached = value(vector) if reached is None else reached
    if not reached < before:  # a part has misled, or numbers have overflown
        return Refinement(start, signs, 0)
    learners, values = (Refinement(start, signs, 0), Refinement(vector, signs, n_taken)), (before, reached)
    return learners[0] if must_pay and not _pays(problem, output, learners, values, ridges) else learners[1]


def _together(ridges: Array, *, keeps_last: bool, n_linear: int) -> Array:
    """Return the ridges of learners that are optimised together, given those that they were found with.

    Halfway between the last one and its own, or what later ones had less of: the first learners were found
    before there was anything to tell a ridge by. Beside a linear part they are small, and those of classes
    know nothing of the noise: these keep the last one.
    """
    last = np.broadcast_to(ridges[-1], ridges.shape)
    least = last if keeps_last else np.minimum.accumulate(ridges[::-1])[::-1]
    return np.concatenate([ridges[:n_linear], np.sqrt(least * last)[n_linear:]])


def _pays(
    problem: BoostingProblem,
    output: int,
    learners: tuple[Refinement, Refinement],
    values: tuple[float, float],
    ridges: Array,
) -> bool:
    """Return whether the rows became likelier by more than by noise, given learners before and after.

    The values of the objective there are known.

    Each learner by itself seems to determine too many numbers. All of them together are counted on few rows,
    which can tell too many where rows are many: one of the two has to say so.
    """
    if problem.evidence is None:
        return True
    n_rows, noise = problem.evidence.n_rows, problem.objective.loss.noise
    losses = [
        value - problem.objective.joint_ridge_term(each.vector, len(each.signs))
        for value, each in zip(values, learners)
    ]
    gained, left_over = n_rows * (losses[0] - losses[1]), noise(losses[1])
    if gained <= 0 or left_over <= 0:  # it has learned nothing from the rows, or they have no noise
        return True
    likelier = gained / left_over
    for count, power in ((_one_by_one, 2), (_together_on_some, 1)):
        before, after = (count(problem, output, each, ridges) for each in learners)
        left = max(1 - after / n_rows, 0.0)
        if after <= _AS_MANY * before or likelier * left**power > _LIKELIER_BY_NUMBER * (after - before):
            return True
    return False


def _one_by_one(problem: BoostingProblem, output: int, learners: Refinement, ridges: Array) -> float:
    """Return how many numbers of the learners rows determine, each learner by itself."""
    weights = learners.vector[1:].reshape(len(ridges), -1)
    each = (
        numbers_of_learner(problem, output, np.append(0.0, w), 2 * ridge) for w, ridge in zip(weights, ridges)
    )
    return float(sum(numbers.sum() for numbers in each))


def _together_on_some(problem: BoostingProblem, output: int, learners: Refinement, ridges: Array) -> float:
    """Return how many they determine of all learners together."""
    sample = problem.samples[0]
    rows = sample.some(max(_ROWS, _ROWS_PER_COLUMN * sample.n_columns), _NUMBERS)
    return numbers_together(rows, problem, _ensemble(problem, output, learners), output, ridges)


def _ensemble(problem: BoostingProblem, output: int, learners: Refinement) -> Ensemble:
    """Return the learners as an ensemble of their own, the constant with the first."""
    units, beta = problem.rows.units, problem.objective.activation.beta
    found = Ensemble.empty(len(units.mean), problem.rows.n_outputs, "softplus", units.center)
    thetas = learners.vector[1:].reshape(len(learners.signs), -1)
    for theta, sign, constant in zip(
        thetas, learners.signs, [learners.vector[0], *np.zeros(len(thetas) - 1)]
    ):
        found = found.append(np.append(constant, theta), int(sign), beta, output, units)
    return found


def _parts(problem: BoostingProblem, n_numbers: int) -> list[Sample]:
    """Return parts of the rows, the smallest first, that are large enough to begin on."""
    least = _ROWS_PER_NUMBER * n_numbers
    parts = [*problem.samples, *([] if problem.part is None else [problem.part])]
    return [each for each in parts if not each.complete and each.n_rows >= least]


def _descend(
    problem: BoostingProblem, rows: Rows, output: int, vector: Array, signs: Array, stopping: Stopping
) -> Minimum:
    held = _held(len(vector), len(signs), problem.objective.loss)
    held_numbers = vector[held]

    def with_held(vector: Array) -> Array:
        vector = vector.copy()
        vector[held] = held_numbers
        return vector

    def evaluate(vector: Array) -> ValueAndGradient:
        value, gradient = rows.joint_value_and_gradient(problem.objective, output, with_held(vector), signs)
        gradient[held] = 0.0
        return value, gradient

    found = minimise(
        evaluate,
        vector,
        stopping,
        hessian=partial(problem.samples[0].joint_gauss_newton, problem.objective, output, signs=signs),
        bounds=monotone_bounds(problem.solver.monotone, signs),
    )
    return replace(found, x=with_held(found.x))


def _held(n_numbers: int, n_learners: int, loss: Loss) -> slice:
    """Return which numbers of a, (w_1, c_1), ..., (w_m, c_m) stay as they are; of classes the first too."""
    size = (n_numbers - 1) // n_learners
    first = _HELD if loss.degree else 0
    return slice(1 + first * size, 1 + (_HELD + 1) * size) if n_learners > _HELD + 1 else slice(0)


def _value(problem: BoostingProblem, output: int, vector: Array, signs: Array) -> float:
    return problem.rows.joint_value_and_gradient(problem.objective, output, vector, signs)[0]


def refined_ensemble(
    ensemble: Ensemble, refinements: list[Refinement], sample: Sample, units: Units, objective: Objective
) -> Ensemble:
    """Return the ensemble with its learners replaced, in the order in which they help most.

    Until its turn comes, its mean stands for a learner. The first two keep their places, since several may
    help about equally beside the first, and the seed would decide what a map shows; the others follow as each
    helps beside those before.
    """
    ordered = []
    for output, found in enumerate(refinements):
        few = sample.activations(objective, output, found.vector, _ORDER_ROWS)
        means = np.average(few.g * found.signs, axis=0, weights=few.weight)
        learners = found.vector[1:].reshape(len(means), -1)
        order = _greedy_order(few, found, means, objective.loss)
        intercepts = -means[order]
        intercepts[0] += found.vector[0] + means.sum()
        thetas = np.column_stack([intercepts, learners[order]])
        ordered.append(zip(thetas, found.signs[order]))
    result = replace(ensemble[:0], center=units.center)
    for stage in zip(*ordered):
        for output, (theta, sign) in enumerate(stage):
            result = result.append(theta, int(sign), objective.activation.beta, output, units)
    return result


def _greedy_order(few: RowActivations, found: Refinement, means: Array, loss: Loss) -> list[int]:
    """Return the learners in the order of `refined_ensemble`."""
    columns, share = (few.g * found.signs - means).T, few.weight / few.weight.sum()

    def losses(f: Array, tried: list[int]) -> Array:
        return np.array([loss.value(few.y, f + columns[j]) @ share for j in tried])

    order, others = list(range(len(columns)))[: _HELD + 1], list(range(len(columns)))[_HELD + 1 :]
    f = few.F + found.vector[0] + means.sum()
    left = [others[i] for i in np.argsort(losses(f, others), kind="stable")]
    f = f + columns[order].sum(axis=0)
    while left:
        best = left.pop(int(np.argmin(losses(f, left[:_ORDER_TRIED]))))
        f = f + columns[best]
        order.append(best)
    return order
