"""The ridge that the data asks for: how far the weights of learners spread, told by those found so far.

The ridge term is a prior of the weights: (w, c) of each learner normal, of mean zero and variance 1 / alpha.
With losses as negative logarithms of likelihoods, in units of T, the most likely weights minimise

    (n / T) mean loss  +  alpha / 2 |(w, c)|^2,     so that     ridge = T alpha / (2 n).

MacKay's update, pooled over the learners of an output so far, finds alpha:

    alpha  <-  (sum_j gamma_j + h) / (sum_j |(w_j, c_j)|^2 + h tau),    gamma_j = trace(A_j (A_j + alpha)^-1),

with A_j = (n / T) times the Gauss-Newton matrix of the mean loss in (w_j, c_j): gamma_j is how many of the
learner's numbers the data determines. Before the first learner h numbers of variance tau = 1 / p are known,
for which z spreads by about one. For a loss of the residual T follows the mean loss.

A linear part has a prior of its own, by the same update. It is found again with each alpha, so that T can be
that of its own residuals, over the rows less the numbers that they determine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from gbmap._core.ensemble import Ensemble
from gbmap._core.linear_part import is_linear
from gbmap._core.problem import BoostingProblem, EvidenceSettings
from gbmap._core.weak_learner import Solution
from gbmap._utils.typing import Array

# h, and that of the linear part of classes, which a few rows may tell apart with any weights.
_PRIOR_NUMBERS, _PRIOR_NUMBERS_OF_LINEAR_CLASSES = 0.3, 3.0
# The ridge of the linear part matters if it leaves more than this share of its numbers undetermined.
_UNDETERMINED = 1e-3
# A learner is noise if the rows become likelier by it by less than so much for each number that they
# determine, and so much for its place. Smaller costs let few rows grow learners of noise, larger ones stop
# early where many small learners help. Those of classes cost less: once classes are apart, little is left to
# become likelier.
_COST_OF_NUMBER, _COST_OF_NUMBER_OF_CLASSES, _COST_OF_LEARNER = 0.7, 0.1, 0.5
# A learner found in what a linear part leaves of linear rows makes them likelier by less than this for each
# number 19 times of 20.
_NOISE_OF_NUMBER = 0.35
# A loss below this share of the first one counts as this: a ridge of zero would never come back.
_LEAST_SHARE = 1e-6
# Weights in the units of targets that spread less cannot be squared.
_SMALLEST_SPREAD = 1e-140
# The matrix is that of so many rows, or so many for each column.
_ROWS, _ROWS_PER_COLUMN = 2_000, 20
# Up to so many rows or columns its eigenvalues are found; of more, the trace is estimated by so many random
# vectors, and conjugate gradients of at most so many steps.
_FULL_RANK, _PROBES, _STEPS, _PRECISION = 300, 4, 25, 1e-2


@dataclass(frozen=True)
class _Told:
    """What learners of an output have told: how many of their numbers are determined, and their squares."""

    determined: float = 0.0
    size: float = 0.0


class Evidence:
    """What the learners of each output have told about the ridge so far; nothing, if it is given.

    Parameters
    ----------
    problem : BoostingProblem
    first_losses : array of shape (K,)
        The mean losses that the fit began with.
    """

    def __init__(self, problem: BoostingProblem, first_losses: Array):
        self._problem, self._first_losses = problem, first_losses
        self._told = [_Told()] * problem.rows.n_outputs
        self._losses, self._gains = first_losses.copy(), np.zeros(problem.rows.n_outputs)
        self.n_futile = 0  # the last stages in a row whose learners are noise

    def ridge(self, output: int, loss: float) -> float:
        """Return the ridge for the next learner, given the mean loss of those so far."""
        return self._ridge(output, self._told[output], loss)

    def ridge_with(self, output: int, theta: Array, loss: float, reached: float) -> float:
        """Return what the ridge would be if (a, w, c) were taken in, which is to lower the loss that far."""
        return self._ridge(output, self._with(output, theta, min(loss, reached)), loss)

    def learn(self, ensemble: Ensemble, loss: float) -> None:
        """Take in the last learner, which the scores hold already, given the mean loss with it."""
        output = int(ensemble.outputs[-1])
        thetas, _ = ensemble.standard(output, self._problem.rows.units)
        if is_linear(thetas[-1], self._problem.objective.activation):
            self._count(output, self._problem.rows.units.n_active, loss)
            return
        told = self._with(output, thetas[-1], loss)
        self._count(output, told.determined - self._told[output].determined, loss)
        self._told[output] = told

    def linear_ridge(self, output: int, found: Solution, ridge: float) -> tuple[float, bool]:
        """Return the ridge that a linear part, found with a ridge, asks for, and whether that matters."""
        settings, w, n_active = self._problem.evidence, found.theta[1:-1], self._problem.rows.units.n_active
        if settings is None or settings.target_spread[output] < _SMALLEST_SPREAD:
            return 0.0, False
        product, n_rows = self._curvature(output, found.theta)
        of_w = determined_numbers(lambda V: product(np.vstack([V, 0 * V[:1]]))[:-1], len(w), n_rows)
        told = _Told(of_w(2 * ridge), float(w @ w))
        left = max(1 - told.determined / settings.n_rows, 1 / settings.n_rows)
        loss = min(found.value / left, self._first_losses[output])
        is_residual = self._problem.objective.loss.degree > 0
        alpha = self._alpha(
            settings, output, told, _PRIOR_NUMBERS if is_residual else _PRIOR_NUMBERS_OF_LINEAR_CLASSES
        )
        asked = self._unit(output, loss) * alpha / (2 * settings.n_rows)
        return asked, told.determined < (1 - _UNDETERMINED) * n_active

    def bends(self, output: int, theta: Array, loss: float, reached: float) -> bool:
        """Return whether (a, w, c) brings more than noise, given the mean losses without and with it."""
        determined = self._with(output, theta, reached).determined - self._told[output].determined
        return self._likelier(output, loss, reached) > _NOISE_OF_NUMBER * determined

    def _likelier(self, output: int, loss: float, reached: float) -> float:
        """Return by how much a lower mean loss makes the rows likelier, as a logarithm."""
        assert self._problem.evidence is not None
        return self._problem.evidence.n_rows * (loss - reached) / self._unit(output, reached)

    def _count(self, output: int, n_numbers: float, loss: float) -> None:
        """Weigh what the last learner brought against its cost; after that of the last output, the stage."""
        if self._problem.evidence is None:
            return
        cost = _COST_OF_NUMBER if self._problem.objective.loss.degree else _COST_OF_NUMBER_OF_CLASSES
        likelier = self._likelier(output, self._losses[output], loss)
        self._gains[output] = likelier - cost * n_numbers - _COST_OF_LEARNER
        self._losses[output] = loss
        if output == len(self._gains) - 1:
            self.n_futile = 0 if self._gains.sum() > 0 else self.n_futile + 1

    def _ridge(self, output: int, told: _Told, loss: float) -> float:
        settings = self._problem.evidence
        if settings is None:
            return self._problem.objective.ridge
        if settings.target_spread[output] < _SMALLEST_SPREAD:
            return 0.0
        unit = self._unit(output, loss)
        return unit * self._alpha(settings, output, told) / (2 * settings.n_rows)

    def _with(self, output: int, theta: Array, loss: float) -> _Told:
        settings, told = self._problem.evidence, self._told[output]
        if settings is None or settings.target_spread[output] < _SMALLEST_SPREAD:
            return told
        product, n_rows = self._curvature(output, theta)
        ridge = self._unit(output, loss) * self._alpha(settings, output, told) / settings.n_rows
        determined = determined_numbers(product, len(theta) - 1, n_rows)(ridge)
        return _Told(told.determined + determined, told.size + float(theta[1:] @ theta[1:]))

    def _curvature(self, output: int, theta: Array) -> tuple[Callable[[Array], Array], int]:
        """Return V -> H V of a learner, and how many rows it is of."""
        sample = self._problem.samples[0]
        n_rows = min(max(_ROWS, _ROWS_PER_COLUMN * sample.n_columns), sample.n_rows)
        return sample.curvature_product(self._problem.objective, output, theta, n_rows), n_rows

    def _alpha(
        self, settings: EvidenceSettings, output: int, told: _Told, h: float = _PRIOR_NUMBERS
    ) -> float:
        tau = settings.target_spread[output] ** 2 / max(self._problem.rows.units.n_active, 1)
        return float((told.determined + h) / (told.size + h * tau))

    def _unit(self, output: int, loss: float) -> float:
        """Return T, given the mean loss."""
        return self._problem.objective.loss.noise(max(loss, _LEAST_SHARE * self._first_losses[output]))


def determined_numbers(
    product: Callable[[Array], Array], n_columns: int, n_rows: int
) -> Callable[[float], float]:
    """Return ridge -> trace(H (H + ridge)^-1), given V -> H V of a symmetric matrix, made of so many rows."""
    rank, rng = min(n_columns, n_rows), np.random.default_rng(0)
    if rank <= _FULL_RANK:
        Q = np.eye(n_columns)
        if rank < n_columns:  # all that there is lies in the span of so many products
            Q = np.linalg.qr(product(rng.standard_normal((n_columns, rank))))[0]
        H = Q.T @ product(Q)
        values = np.linalg.eigvalsh((H + H.T) / 2).clip(min=0.0)
        return lambda ridge: float((values / (values + ridge)).sum())
    probes = rng.choice([-1.0, 1.0], size=(_PROBES, n_columns))

    def estimate(ridge: float) -> float:
        matrix = LinearOperator(
            (n_columns, n_columns), lambda v: product(v[:, None])[:, 0] + ridge * v, dtype=float
        )
        solved = [cg(matrix, probe, rtol=_PRECISION, maxiter=_STEPS)[0] for probe in probes]
        return min(float(n_columns - ridge * (probes * solved).sum() / _PROBES), float(n_rows))

    return estimate
