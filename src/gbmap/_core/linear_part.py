"""The linear part: the first learner of a fit that finds its ridge, with its bend far from all rows.

Where z is large, softplus is the identity. So a + g(w . x + c) with a large c is a linear function, and yet a
learner like others to whoever asks the model. Its ridge is its own, and its c, which a makes up for, is free.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gbmap._core.activation import Activation, Identity
from gbmap._core.lockstep import Search
from gbmap._core.problem import BoostingProblem
from gbmap._core.weak_learner import Fit, Solution, fit_weak_learner
from gbmap._utils.typing import Array


def is_linear(theta: Array, activation: Activation) -> bool:
    """Return whether a learner (a, w, c) in standard units is a linear part."""
    return activation.both_signs and float(theta[-1]) > activation.far / 2


def fit_linear_part(
    problem: BoostingProblem, output: int, unit: float, rng: np.random.Generator, fit: Fit = fit_weak_learner
) -> Search[Solution]:
    """Minimise the objective over linear functions, and return a learner whose value is the mean loss."""
    objective = problem.objective
    linear = replace(objective, activation=Identity(objective.activation.beta))
    from_zero = replace(problem.solver, n_init=0)  # so that nothing comes into w that the rows do not tell
    found = yield from fit(replace(problem, objective=linear, solver=from_zero), output, unit, rng)
    theta, far = found.theta.copy(), objective.activation.far
    theta[0], theta[-1] = theta[0] + theta[-1] - far, far
    penalty = float(objective.ridge * found.theta[1:] @ found.theta[1:])
    return replace(found, theta=theta, value=found.value - penalty)
