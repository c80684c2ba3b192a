"""Refinement: after boosting, all learners of an output are optimised together, their signs held fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss, trimmed_mean
from gbmap._core.minimise import minimise
from gbmap._core.objective import Objective
from gbmap._core.rows import Few, Rows, Sample
from gbmap._core.units import Units
from gbmap._core.weak_learner import Solver, box

Array = NDArray[Any]

# More iterations bring next to nothing on the paper's data sets.
MOST_STEPS = 400
# Held-out rows end a refinement when so many iterations in a row have not helped them.
_PATIENCE = 50
# Learners are put in order by so many rows, and the constants beside them found by so many Newton steps.
_ORDER_ROWS, _ORDER_STEPS = 2_000, 5


@dataclass(frozen=True)
class Refinement:
    """How one output's learners moved.

    Attributes
    ----------
    vector : array
        (a, (w_1, c_1), ..., (w_m, c_m)) in standard units: the end, or the best for the watched rows.
    signs : array of shape (m,)
    n_steps : int
        The iterations that led there; 0 is where boosting ended.
    curve : array
        The `trimmed_mean` loss of the watched rows after 0, 1, ... iterations; empty if there are none.
    """

    vector: Array
    signs: Array
    n_steps: int
    curve: Array


def refine(
    rows: Rows,
    watched: Rows | None,
    sample: Sample,
    objective: Objective,
    ensemble: Ensemble,
    output: int,
    solver: Solver,
    n_steps: int,
) -> Refinement:
    """Minimise the sum of the learners' objectives with one loss for all, over their a, w and c together.

    The rows' scores are those that boosting began with. Boosting's learners are the start, and each
    iteration is a step away from them: with rows to watch, the best of at most `n_steps` is returned.
    """
    thetas, signs = ensemble.standard(output, rows.units)
    start = np.append(thetas[:, 0].sum(), thetas[:, 1:])
    if n_steps == 0:
        return Refinement(start, signs, 0, np.empty(0))
    path: list[Array] = [start]
    curve: list[float] = []

    def held_out(vector: Array) -> float:
        assert watched is not None
        return trimmed_mean(*watched.joint_row_losses(objective, output, vector, signs))

    def watch(vector: Array) -> bool:
        path.append(vector)
        curve.append(held_out(vector))
        return len(curve) - 1 - int(np.argmin(curve)) >= _PATIENCE

    if watched is not None:
        curve.append(held_out(start))
    found = minimise(
        lambda vector: rows.joint_value_and_gradient(objective, output, vector, signs),
        start,
        unit=1.0,
        ftol=max(solver.tol, 10 * rows.eps),
        max_iter=n_steps,
        H=sample.joint_gauss_newton(objective, output, start, signs),
        bounds=box(solver.monotone, signs, 1),
        watch=None if watched is None else watch,
    )
    if watched is None:
        return Refinement(found.x, signs, found.n_iter, np.empty(0))
    best = int(np.argmin(curve))
    return Refinement(path[best], signs, best, np.array(curve))


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


def _greedy_order(few: Few, signs: Array, loss: Loss) -> tuple[Array, Array]:
    """Return the learners in the order in which they lower the loss most, and the constants beside them."""
    left, order, constants = list(range(len(signs))), [], []
    f = few.F
    while left:
        scores = f + (few.g[:, left] * signs[left]).T
        constant, losses = _best_constants(scores, few, loss)
        best = int(np.argmin(losses))
        constants.append(constant[best])
        f = scores[best]
        order.append(left.pop(best))
    return np.array(order), np.array(constants)


def _best_constants(scores: Array, few: Few, loss: Loss) -> tuple[Array, Array]:
    """Return the constant to add to each row of scores, by Newton's method, and the loss then."""
    share = few.weight / few.weight.sum()
    y = np.broadcast_to(few.y, scores.shape)
    constant = np.zeros((len(scores), 1))
    for _ in range(_ORDER_STEPS):
        slope = loss.gradient(y, scores + constant) @ share
        curvature = loss.curvature(y, scores + constant) @ share
        constant -= (slope / np.maximum(curvature, 1e-12))[:, None]
    return constant[:, 0], loss.value(y, scores + constant) @ share
