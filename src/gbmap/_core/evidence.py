"""The ridge that the data asks for: how far the weights of learners spread, told by those found so far.

The ridge term is a prior of the weights: (w, c) of each learner normal, of mean zero and variance 1 / alpha.
With losses as negative logarithms of likelihoods, in units of T, the most likely weights minimise

    (n / T) mean loss  +  alpha / 2 |(w, c)|^2,     so that     ridge = T alpha / (2 n).

MacKay's update, pooled over the learners of an output so far, finds alpha:

    alpha  <-  (sum_j gamma_j + h) / (sum_j |(w_j, c_j)|^2 + h tau),    gamma_j = trace(A_j (A_j + alpha)^-1),

with A_j = (n / T) times the Gauss-Newton matrix of the mean loss in (w_j, c_j): gamma_j is how many of the
learner's numbers the data determines. Before the first learner h numbers of variance tau = 1 / p are known,
for which z spreads by about one. For a loss of the residual T follows the mean loss, of which each learner
has taken a share gamma_j / n by learning noise: what is left of it is so much too small. Where some places
have more noise, T is that where the last learner moves, halfway: learners go where losses are large.

Columns in groups have an alpha each, told by the numbers of the group.

A linear part has a prior of its own, by the same update. It is found again with each alpha, so that T can be
that of its own residuals, over the rows less the numbers that they determine. The curvature H of classes
falls as weights grow, of which MacKay's update knows nothing. If log |H + R| grows by d with the logarithm of
alpha, through H alone, the evidence is largest where

    alpha  =  (gamma - d + h) / (|w|^2 + h tau),

brought to a form without negative terms, so that it can be taken step by step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.sparse.linalg import LinearOperator, cg

from gbmap._core.ensemble import Ensemble
from gbmap._core.linear_part import is_linear
from gbmap._core.problem import BoostingProblem, EvidenceSettings
from gbmap._core.rows import Curvature
from gbmap._core.weak_learner import Solution
from gbmap._utils.typing import Array, IntArray

# h, and that of the linear part of classes, which a few rows may tell apart with any weights.
_PRIOR_NUMBERS, _PRIOR_NUMBERS_OF_LINEAR_CLASSES = 0.3, 3.0
# The first guess of the variance of further groups is so many times smaller than that of the first group:
# bends are many, and the units of some of them are small.
_NARROWER = 64.0
# The offset of a linear part has so small a share of its curvature as its ridge; how the curvature of classes
# turns with the logarithm of the ridge is told by such a step of it.
_FREE, _TURN = 1e-6, 1e-2
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
_ROWS, _ROWS_PER_COLUMN, _NUMBERS = 2_000, 10, 1 << 21
# Up to so many columns it is taken as a whole, up to so many rows its range; of more, the trace is estimated
# by so many random vectors, and conjugate gradients of at most so many steps.
_FULL_SIZE, _FULL_RANK, _PROBES, _STEPS, _PRECISION = 600, 300, 4, 25, 1e-2
# One learner is never taken to have learned more than this share of the noise.
_MOST_LEARNED = 0.5
# A matrix of which nothing is left but rounding is still to be one without negative directions.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class _Told:
    """What learners of an output have told of each group: how many numbers are determined, and their size."""

    determined: Array
    size: Array

    def taken(self, determined: Array, size: Array) -> _Told:
        """Return what they and one more have told."""
        return _Told(self.determined + determined, self.size + size)


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
        none = np.zeros(problem.n_groups)
        self._told = [_Told(none, none)] * problem.rows.n_outputs
        self._losses, self._gains = first_losses.copy(), np.zeros(problem.rows.n_outputs)
        self._uneven = np.ones(problem.rows.n_outputs)  # how much more noise there is where the last moves
        self._left = np.ones(problem.rows.n_outputs)  # the share of the noise that learners have left over
        self.n_futile = 0  # the last stages in a row whose learners are noise

    def ridge(self, output: int, loss: float) -> Array:
        """Return the ridges for the next learner, (G,), given the mean loss of those so far."""
        return self._ridge(output, self._told[output], loss)

    def ridge_with(self, output: int, theta: Array, loss: float, reached: float, enough: Array) -> Array:
        """Return what the ridges would be if (a, w, c) were taken in, which is to lower the loss that far.

        Where what is known of them without counting numbers is at most `enough`, that is returned.
        """
        if self._knows(output) is None:
            return self.ridge(output, loss)
        told, size = self._told[output], self._sizes(theta)
        every_number = np.bincount(self._problem.groups, minlength=self._problem.n_groups)
        asked = self._ridge(output, told.taken(every_number, size), loss)
        if (asked <= enough).all():
            return asked
        count = self._count_of(output, theta, min(loss, reached))
        asked = self._ridge(output, told.taken(count.most(), size), loss)
        if (asked <= enough).all():
            return asked
        return self._ridge(output, told.taken(count.determined(), size), loss)

    def learn_stage(self, ensemble: Ensemble, losses: Array) -> None:
        """Take in the last learner of each output, which the scores hold already, given the mean losses."""
        first = len(ensemble) - len(losses) + 1
        for output, loss in enumerate(losses):
            self.learn(ensemble[: first + output], float(loss))

    def learn(self, ensemble: Ensemble, loss: float) -> None:
        """Take in the last learner, which the scores hold already, given the mean loss with it."""
        output = int(ensemble.outputs[-1])
        thetas, _ = ensemble.standard(output, self._problem.rows.units)
        if is_linear(thetas[-1], self._problem.objective.activation):
            self._count(output, self._problem.rows.units.n_active, loss)
            return
        told = self._with(output, thetas[-1], loss)
        self._count(output, float((told.determined - self._told[output].determined).sum()), loss)
        self._told[output] = told
        if self._knows(output) and self._problem.objective.loss.degree:
            self._uneven[output] = _unevenness(self._problem, output, thetas[-1])

    def linear_ridge(self, output: int, found: Solution, ridge: Array) -> tuple[Array, bool]:
        """Return the ridges that a linear part, found with some, asks for, and whether that matters."""
        settings, w = self._problem.evidence, found.theta[1:-1]
        n_active = np.count_nonzero((self._problem.rows.units.inverse_scale != 0) & ~self._problem.is_bend)
        n_groups, groups = self._problem.n_groups, self._problem.groups[:-1]
        if settings is None or settings.target_spread[output] < _SMALLEST_SPREAD:
            return np.zeros(n_groups), False
        is_residual = self._problem.objective.loss.degree > 0
        curvature, n_rows = _curvature(self._problem, output, found.theta, found.sign)
        size = np.bincount(groups, w**2, n_groups)
        if is_residual:
            determined = determined_numbers(curvature.without_last(), 2 * ridge[groups], groups, n_rows)
            told = _Told(determined, size)
        else:
            determined, turned = self._of_linear_classes(output, found, ridge, curvature, n_rows)
            alpha = 2 * settings.n_rows * ridge
            told = _Told(determined - turned.clip(max=0.0), size + turned.clip(min=0.0) / alpha)
        left = max(1 - float(determined.sum()) / settings.n_rows, 1 / settings.n_rows)
        loss = min(found.value / left, self._first_losses[output])
        alpha = self._alpha(
            settings, output, told, _PRIOR_NUMBERS if is_residual else _PRIOR_NUMBERS_OF_LINEAR_CLASSES
        )
        asked = self._unit(output, loss) * alpha / (2 * settings.n_rows)
        return asked, bool(determined.sum() < (1 - _UNDETERMINED) * n_active)

    def _of_linear_classes(
        self, output: int, found: Solution, ridge: Array, curvature: Curvature, n_rows: int
    ) -> tuple[Array, Array]:
        """Return how many numbers of each group are determined, and how log |H + R| grows with log R by H.

        With the curvature H at the weights found; the offset is free, so it has a group of its own.
        """
        n_groups = self._problem.n_groups
        groups = np.append(self._problem.groups[:-1], n_groups)
        free = _FREE * float(curvature.times(np.eye(curvature.size)[:, -1:])[-1, 0])
        ridges = np.append(2 * ridge[groups[:-1]], max(free, np.finfo(float).tiny))
        inverse = InverseCurvature.of(curvature, ridges, n_rows)
        turned = np.zeros(n_groups)
        for group in range(n_groups):
            held = np.where(groups == group, ridges, 0.0) * np.append(found.theta[1:-1], 0.0)
            if held.any():
                theta = found.theta.copy()
                theta[1:] -= _TURN * inverse.solve(held)
                elsewhere, _ = _curvature(self._problem, output, theta, found.sign)
                turned[group] = inverse.trace_of_change(elsewhere) / _TURN
        return inverse.determined(groups)[:-1], turned

    def bends(self, output: int, theta: Array, loss: float, reached: float) -> bool:
        """Return whether (a, w, c) brings more than noise, given the mean losses without and with it."""
        determined = self._with(output, theta, reached).determined - self._told[output].determined
        assert self._problem.evidence is not None
        n_numbers, n_rows = float(determined.sum()), self._problem.evidence.n_rows
        # Of the noise next to nothing is left where nearly as many numbers were learned as there are rows.
        left = max(1 - n_numbers / n_rows, 1 / n_rows)
        return self._likelier(output, loss, reached, reached / left) > _NOISE_OF_NUMBER * n_numbers

    def _likelier(self, output: int, loss: float, reached: float, noise: float) -> float:
        """Return by how much a lower mean loss makes the rows likelier, as a logarithm, for such noise."""
        assert self._problem.evidence is not None
        return self._problem.evidence.n_rows * (loss - reached) / self._unit(output, noise)

    def _count(self, output: int, n_numbers: float, loss: float) -> None:
        """Weigh what the last learner brought against its cost; after that of the last output, the stage."""
        if self._problem.evidence is None:
            return
        cost = _COST_OF_NUMBER if self._problem.objective.loss.degree else _COST_OF_NUMBER_OF_CLASSES
        likelier = self._likelier(output, self._losses[output], loss, loss)
        self._left[output] *= 1 - min(n_numbers / self._problem.evidence.n_rows, _MOST_LEARNED)
        self._gains[output] = likelier - cost * n_numbers - _COST_OF_LEARNER
        self._losses[output] = loss
        if output == len(self._gains) - 1:
            self.n_futile = 0 if self._gains.sum() > 0 else self.n_futile + 1

    def _ridge(self, output: int, told: _Told, loss: float) -> Array:
        settings = self._problem.evidence
        if settings is None:
            return np.full(self._problem.n_groups, self._problem.objective.ridge)
        if settings.target_spread[output] < _SMALLEST_SPREAD:
            return np.zeros(self._problem.n_groups)
        unit = self._unit(output, loss / self._left[output]) * self._uneven[output]
        return unit * self._alpha(settings, output, told) / (2 * settings.n_rows)

    def _with(self, output: int, theta: Array, loss: float) -> _Told:
        if self._knows(output) is None:
            return self._told[output]
        determined = self._count_of(output, theta, loss).determined()
        return self._told[output].taken(determined, self._sizes(theta))

    def _knows(self, output: int) -> EvidenceSettings | None:
        """Return the settings, if the ridge of an output is to be found."""
        settings = self._problem.evidence
        if settings is None or settings.target_spread[output] < _SMALLEST_SPREAD:
            return None
        return settings

    def _count_of(self, output: int, theta: Array, loss: float) -> _Count:
        """Return how many numbers of (a, w, c) the rows determine, given the mean loss with it."""
        settings = self._problem.evidence
        assert settings is not None
        unit = self._unit(output, loss / self._left[output]) * self._uneven[output]
        ridges = unit * self._alpha(settings, output, self._told[output]) / settings.n_rows
        return _Count.of(self._problem, output, theta, ridges)

    def _sizes(self, theta: Array) -> Array:
        return np.bincount(self._problem.groups, theta[1:] ** 2, self._problem.n_groups)

    def _alpha(
        self, settings: EvidenceSettings, output: int, told: _Told, h: float = _PRIOR_NUMBERS
    ) -> Array:
        is_active = self._problem.rows.units.inverse_scale != 0
        n_active = np.bincount(self._problem.groups[:-1], is_active, self._problem.n_groups).clip(min=1)
        narrower = np.where(np.arange(len(n_active)) > 0, _NARROWER, 1.0)
        tau = settings.target_spread[output] ** 2 / (narrower * n_active)
        alpha: Array = (told.determined + h) / (told.size + h * tau)
        return alpha

    def _unit(self, output: int, loss: float) -> float:
        """Return T, given the mean loss."""
        first = self._first_losses[output]
        return self._problem.objective.loss.noise(min(max(loss, _LEAST_SHARE * first), first))


def _unevenness(problem: BoostingProblem, output: int, theta: Array) -> float:
    """Return how much larger the noise is where a learner moves than elsewhere; one at least.

    Halfway, as a factor: some of what is left there may still be learned.
    """
    objective, sample = problem.objective, problem.samples[0]
    rows = sample.some(max(_ROWS, _ROWS_PER_COLUMN * sample.n_columns), _NUMBERS)
    losses = objective.loss.value(rows.y[output], rows.F[output])
    v, d = rows.units.fold(theta[1:-1], theta[-1])
    moving = rows.weight * objective.activation.slope((rows.X @ v).astype(np.float64) + d) ** 2
    if isinstance(rows.X, np.ndarray):  # which is in standard units: far rows move it most
        moving *= 1 + np.einsum("ij,ij->i", rows.X, rows.X, dtype=np.float64)
    mean, total = float(np.average(losses, weights=rows.weight)), float(moving.sum())
    if not (mean > 0 and total > 0):
        return 1.0
    return math.sqrt(max(float(moving @ losses) / (total * mean), 1.0))


def numbers_of_learner(problem: BoostingProblem, output: int, theta: Array, ridges: Array) -> Array:
    """Return how many numbers of each group of (a, w, c) the rows determine, (G,), given twice its ridges."""
    return _Count.of(problem, output, theta, ridges).determined()


@dataclass(frozen=True)
class _Count:
    """Numbers of a learner that some rows determine, by groups of them, given twice the ridge of each."""

    curvature: Curvature
    ridges: Array
    groups: IntArray
    n_rows: int

    @classmethod
    def of(cls, problem: BoostingProblem, output: int, theta: Array, ridges: Array) -> _Count:
        curvature, n_rows = _curvature(problem, output, theta)
        return cls(curvature, ridges[problem.groups], problem.groups, n_rows)

    def determined(self) -> Array:
        """Return how many there are, (G,)."""
        return determined_numbers(self.curvature, self.ridges, self.groups, self.n_rows)

    def most(self) -> Array:
        """Return what that cannot exceed: how many there were if each told of itself alone."""
        diagonal = self.curvature.diagonal()
        shares = np.ones_like(self.ridges) if diagonal is None else diagonal / (diagonal + self.ridges)
        return np.bincount(self.groups, shares, int(self.groups.max()) + 1)


def _curvature(
    problem: BoostingProblem, output: int, theta: Array, sign: int | None = None
) -> tuple[Curvature, int]:
    """Return the curvature of the mean loss in (w, c) of a learner, and how many rows it is of.

    Of a learner that the scores do not hold the sign is given.
    """
    sample = problem.samples[0]
    n_rows = min(max(_ROWS, _ROWS_PER_COLUMN * sample.n_columns), sample.n_rows)
    return sample.curvature(problem.objective, output, theta, n_rows, sign), n_rows


def determined_numbers(curvature: Curvature, ridges: Array, groups: IntArray, n_rows: int) -> Array:
    """Return the traces of H (H + R)^-1 over groups of numbers, (G,), with R the diagonal of their ridges.

    Of a curvature H that is made of so many rows.
    """
    return InverseCurvature.of(curvature, ridges, n_rows).determined(groups)


@dataclass(frozen=True)
class InverseCurvature:
    """(H + R)^-1, exactly or about; in units in which R is the identity the inverse is M.

    Attributes
    ----------
    curvature : Curvature
        H.
    scale : array of shape (n,)
        R^(-1/2).
    left, right : arrays of shape (k, n)
        The trace of M A is that of left A right^T, for what rows may tell of.
    span : array of shape (n,)
        What rows may tell of each number, one at most.
    most : float
        They determine no more numbers.
    matrix : array of shape (n, n) or None
        H in these units, if it is taken as a whole.
    basis : array of shape (n, k) or None
        Orthonormal vectors of what rows may tell of, if that is less than all.
    """

    curvature: Curvature
    scale: Array
    left: Array
    right: Array
    span: Array
    most: float
    matrix: Array | None = None
    basis: Array | None = None

    @classmethod
    def of(cls, curvature: Curvature, ridges: Array, n_rows: int) -> InverseCurvature:
        """Return that of a curvature that is made of so many rows, given the diagonal of R."""
        n, scale, rng = len(ridges), 1 / np.sqrt(ridges), np.random.default_rng(0)
        curvature = curvature.precise_beside(ridges)
        rank, whole = min(n, n_rows), np.ones(n)
        if n <= _FULL_SIZE:
            H = scale[:, None] * curvature.matrix() * scale
            inverse = _inverse_root(H)
            return cls(curvature, scale, inverse, inverse, whole, np.inf, matrix=H)
        if rank <= _FULL_RANK:  # all that there is lies in the span of so many products
            Q = np.linalg.qr(_scaled(curvature, scale, rng.standard_normal((n, rank))))[0]
            inverse = _inverse_root(Q.T @ _scaled(curvature, scale, Q)) @ Q.T
            return cls(curvature, scale, inverse, inverse, _of_squares(Q, axis=1), np.inf, basis=Q)
        probes = rng.choice([-1.0, 1.0], size=(_PROBES, n))
        solved = np.array([_solved(curvature, scale, probe) for probe in probes])
        return cls(curvature, scale, probes / _PROBES, solved, whole, float(n_rows))

    def determined(self, groups: IntArray) -> Array:
        """Return the traces of H (H + R)^-1 over groups of numbers, (G,)."""
        each = self.span - (self.left * self.right).sum(axis=0)
        found = np.bincount(groups, each, int(groups.max()) + 1).clip(min=0.0)
        return found * min(1.0, self.most / max(float(found.sum()), 1.0))

    def solve(self, v: Array) -> Array:
        """Return (H + R)^-1 v."""
        v = self.scale * v
        if self.matrix is None and self.basis is None:
            return self.scale * _solved(self.curvature, self.scale, v)
        rest = 0.0 if self.basis is None else v - self.basis @ (self.basis.T @ v)
        return self.scale * (rest + self.left.T @ (self.left @ v))

    def trace_of_change(self, other: Curvature) -> float:
        """Return the trace of (H + R)^-1 (H' - H)."""
        if self.matrix is not None:
            change = self.scale[:, None] * other.matrix() * self.scale - self.matrix
            return float(np.vdot(self.left, self.left @ change))
        before, after = (_scaled(each, self.scale, self.right.T) for each in (self.curvature, other))
        return float(np.vdot(self.left.T, after - before))


def _scaled(curvature: Curvature, scale: Array, V: Array) -> Array:
    return scale[:, None] * curvature.times(scale[:, None] * V)


def _solved(curvature: Curvature, scale: Array, v: Array) -> Array:
    """Return about M v, by conjugate gradients."""
    n = len(scale)
    matrix = LinearOperator((n, n), lambda v: _scaled(curvature, scale, v[:, None])[:, 0] + v, dtype=float)
    solved: Array = cg(matrix, v, rtol=_PRECISION, maxiter=_STEPS)[0]
    return solved


def _inverse_root(H: Array) -> Array:
    """Return L^-1, lower triangular, with L L^T = H + 1."""
    root = np.linalg.cholesky((H + H.T) / 2 + (1 + _ROUNDING * np.trace(H)) * np.eye(len(H)))
    inverse, _ = dtrtri(root, lower=1)
    return inverse


def _of_squares(matrix: Array, axis: int) -> Array:
    return (matrix**2).sum(axis=axis)
