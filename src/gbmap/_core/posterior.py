"""How far the prediction would move with other weights of its learners that suit the data as well.

The weights (w_j, c_j) of learner j are about normal around those found (Laplace), with the curvature of what
was minimised: with H_j the Gauss-Newton matrix of the mean loss in them, and T and the ridge of `evidence`,

    S_j  =  (T / n) (H_j + 2 ridge)^-1,        var f(x)  =  share  sum_j J_j(x) S_j J_j(x)^T,
    J_j(x)  =  b_j g'(z_j) (x, 1),             share  =  gamma / sum_j gamma_j,

with x in the units of the ridge. Learners are taken as independent. What several of them know would count for
each, and the share makes up for it: gamma_j = trace(H_j (H_j + 2 ridge)^-1) counts the numbers of one learner
that the data determines, gamma those of all together. So the mean of var f over the rows is that of learners
taken together. Residuals of new rows are larger than those of the fit: with k = gamma / n, the mean of their
squares by 1 / (1 - k)^2, as leaving rows out one by one would tell (generalised cross-validation). The part
1 / (1 + k) of that is noise, and the rest var f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg.lapack import dtrtri

from gbmap._core.arrays import asarray_like, in_wide, namespace, product_by_rows, wide
from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss
from gbmap._core.objective import Objective
from gbmap._core.problem import BoostingProblem
from gbmap._core.rows import Curvature, CurvatureOfRows, SomeRows, every
from gbmap._core.units import Units
from gbmap._utils.typing import Array

# All learners are counted together on so many rows.
_JOINT_ROWS = 300
_HALF_AND_WHOLE = slice(None, None, 2), slice(None)
# More than this share of what rows tell is never taken as known, or nothing would be left to tell the noise.
_MOST_KNOWN = 1 - 1e-6
# So many numbers are kept for the directions of all learners, but at least so many directions of each.
_NUMBERS, _LEAST_DIRECTIONS = 1 << 18, 4
# A few of many are found among so many more, by so many products; all, if they are a few times as many.
_EXTRA_DIRECTIONS, _PRODUCTS, _FEW_TIMES = 4, 2, 4
# A ridge below this part of the largest curvature counts as this: without any, some weights would be free.
_LEAST_RIDGE = 1e-6


@dataclass(frozen=True)
class Posterior:
    """The spread of an ensemble of M learners and K outputs, in standard units.

    Attributes
    ----------
    directions : float32 array of shape (M, k, p + 1)
        For each learner orthonormal vectors in the space of (w, c).
    variances : array of shape (M, k)
        The variance of the weights along them.
    rest : array of shape (M,)
        The variance of the weights along all other directions; zero if there are none.
    noise : array of shape (K,)
        The spread of y around f on new rows.
    center, inverse_scale : arrays of shape (p,)
        What brings X to the units of the ridge.
    target_scale : array of shape (K,)
        What a spread of one is in the units of y.
    """

    directions: Array
    variances: Array
    rest: Array
    noise: Array
    center: Array
    inverse_scale: Array
    target_scale: Array

    def deviation(self, ensemble: Ensemble, X: Any, *, of_new: bool = False) -> Array:
        """Return the standard deviation of f in the units of y, (n, K), or of a new y around f."""
        xp, slopes = namespace(X), ensemble.slopes(X)
        along, squares = self._in_ridge_units(X)
        each = []
        for j in range(len(ensemble)):
            t = along(self.directions[j].T.astype(np.float64)) ** 2
            outside = xp.maximum(squares - xp.sum(t, axis=1), 0.0)
            inside = product_by_rows(t, asarray_like(self.variances[j][:, None], t))[:, 0]
            each.append(slopes[:, j] ** 2 * (inside + float(self.rest[j]) * outside))
        variance = ensemble.sum_outputs(xp.stack(each, axis=1))
        if of_new:
            variance = variance + asarray_like(self.noise**2, variance)
        return xp.sqrt(variance) * asarray_like(self.target_scale, variance)

    def _in_ridge_units(self, X: Any) -> tuple[Callable[[Array], Any], Any]:
        """Return V -> (x, 1) V and |(x, 1)|^2 of rows, in the units of the ridge; sparse rows stay sparse."""
        if scipy.sparse.issparse(X):
            few = _RidgeRows.of(X, self.center, self.inverse_scale)
            return few.times, few.squares
        xp, center = namespace(X), asarray_like(self.center, X, wide(X))
        U = (in_wide(X) - center) * asarray_like(self.inverse_scale, X, wide(X))
        return (
            lambda V: product_by_rows(U, asarray_like(V[:-1], U)) + asarray_like(V[-1], U),
            xp.sum(U * U, axis=1) + 1.0,
        )


@dataclass(frozen=True)
class _RidgeRows:
    """Rows (A - shift, 1) in the units of the ridge; A is sparse if X is. They have the digits of a type."""

    A: Any
    shift: Array
    dtype: Any

    @classmethod
    def of(cls, X: Any, center: Array, inverse_scale: Array) -> _RidgeRows:
        dtype, X = X.dtype, X.astype(np.float64)
        if scipy.sparse.issparse(X):
            return cls(scipy.sparse.csr_array(X.multiply(inverse_scale)), center * inverse_scale, dtype)
        return cls((X - center) * inverse_scale, np.zeros_like(center), dtype)

    def times(self, V: Array) -> Array:
        return self.A @ V[:-1] + (V[-1] - self.shift @ V[:-1])

    def product(self, share: Array, V: Array) -> Array:
        """Return the sum of share (x, 1)^T (x, 1) over rows, times V."""
        along = self.times(V) * share[:, None]
        total = along.sum(axis=0)
        return np.vstack([self.A.T @ along - np.outer(self.shift, total), total])

    def curvature(self, share: Array) -> Curvature:
        """Return the sum of share (x, 1)^T (x, 1) over rows."""
        if not scipy.sparse.issparse(self.A):
            return CurvatureOfRows.of(self.A, self.squares, share, self.dtype)
        return Curvature(len(self.shift) + 1, partial(self.product, share))

    @cached_property
    def squares(self) -> Array:
        return (
            np.asarray((self.A * self.A).sum(axis=1))
            - 2 * (self.A @ self.shift)
            + self.shift @ self.shift
            + 1
        )

    def gram(self, some: slice) -> Array:
        """Return the products of all pairs of some rows."""
        A = self.A[some]
        moved, pairs = A @ self.shift, A @ A.T
        pairs = pairs.toarray() if scipy.sparse.issparse(pairs) else pairs
        pairs -= moved[:, None] + (moved - self.shift @ self.shift - 1)
        return pairs


def find_posterior(
    rows: SomeRows, problem: BoostingProblem, ensemble: Ensemble, ridges: Array, n_rows: float
) -> Posterior:
    """Return the spread of an ensemble.

    Parameters
    ----------
    rows : SomeRows
        Of those that were fitted, with the scores that the fit began with.
    problem : BoostingProblem
        What was fitted.
    ensemble : Ensemble
    ridges : array of shape (M, G)
        The ridges of each learner.
    n_rows : float
        How many rows the data count as.
    """
    objective, units = problem.objective, problem.rows.units
    n_learners, size = len(ensemble), ensemble.weights.shape[1] + 1
    rank = min(max(_NUMBERS // (n_learners * size), _LEAST_DIRECTIONS), size)
    center, inverse_scale = units.mean, units.inverse_scale
    if objective.ridge_units is not None:
        center, inverse_scale = np.zeros_like(center), (inverse_scale != 0).astype(float)
    inverse_scale = inverse_scale / np.sqrt(_relative(ridges, ensemble.n_outputs))[problem.groups[:-1]]
    directions = np.empty((n_learners, rank, size), np.float32)
    variances, rest = np.empty((n_learners, rank)), np.empty(n_learners)
    noise = np.empty(ensemble.n_outputs)
    X = _in_units_of(rows, units, center, inverse_scale)
    for output in range(ensemble.n_outputs):
        own = ensemble.outputs == output
        fitted = _Fitted.of(X, rows, output, objective, ensemble[own], units, (center, inverse_scale))
        found = fitted.spread(2 * ridges[own, 0], rank, n_rows)
        directions[own], variances[own], rest[own], noise[output] = found
    return Posterior(directions, variances, rest, noise, center, inverse_scale, units.target_scale)


def numbers_together(
    rows: SomeRows, problem: BoostingProblem, learners: Ensemble, output: int, ridges: Array
) -> float:
    """Return how many numbers of all learners of an output together the data determines.

    Parameters
    ----------
    rows : SomeRows
        Of those that were fitted, with the scores that the fit began with.
    problem : BoostingProblem
        With evidence.
    learners : Ensemble
        Those of the output.
    output : int
    ridges : array of shape (m, G)
        The ridges of each learner.
    """
    assert problem.evidence is not None
    units, n_rows = problem.rows.units, problem.evidence.n_rows
    scale = units.inverse_scale / np.sqrt(_relative(ridges, 1))[problem.groups[:-1]]
    X, ridge_units = _in_units_of(rows, units, units.mean, scale), (units.mean, scale)
    fitted = _Fitted.of(X, rows, output, problem.objective, learners, units, ridge_units)
    return fitted.n_determined((2 * ridges[:, 0]).clip(min=np.finfo(float).tiny), n_rows, n_rows)


def _relative(ridges: Array, n_outputs: int) -> Array:
    """Return the last ridges of the groups beside that of the first, (G,): a mean over the outputs."""
    last = ridges[-n_outputs:]
    if not (last > 0).all():
        return np.ones(last.shape[1])
    return np.exp(np.log(last / last[:, :1]).mean(axis=0))


def _in_units_of(rows: SomeRows, units: Units, center: Array, inverse_scale: Array) -> _RidgeRows:
    """Return rows, which have units of their own, in the units of the ridge."""
    is_active = units.inverse_scale != 0
    ratio = np.divide(inverse_scale, units.inverse_scale, out=np.zeros_like(center), where=is_active)
    scale = rows.units.inverse_scale * ratio
    moved = np.divide(
        (units.mean - center) * inverse_scale, scale, out=np.zeros_like(center), where=is_active
    )
    return _RidgeRows.of(rows.X, rows.units.mean - moved, scale)


@dataclass(frozen=True)
class _Fitted:
    """The learners of one output at some rows.

    Attributes
    ----------
    X : _RidgeRows
    slopes : array of shape (n, m)
        b_j g'(z_j).
    curvature : array of shape (n,)
        That of the mean loss in f, row by row.
    loss : Loss
    mean_loss, mean_square : float
        Of the residuals y - f.
    variance : float
        Of y - f_0.
    """

    X: _RidgeRows
    slopes: Array
    curvature: Array
    loss: Loss
    mean_loss: float
    mean_square: float
    variance: float

    @classmethod
    def of(
        cls,
        X: _RidgeRows,
        rows: SomeRows,
        output: int,
        objective: Objective,
        learners: Ensemble,
        units: Units,
        ridge_units: tuple[Array, Array],
    ) -> _Fitted:
        scale, (center, inverse_scale) = units.target_scale[output], ridge_units
        v = learners.weights
        w = np.divide(v, inverse_scale, out=np.zeros_like(v), where=inverse_scale != 0)
        z = X.times(np.vstack([w.T, learners.offsets + v @ center]))
        added = (learners.embed_projected(z).sum(axis=1) - units.target_mean[output]) / scale
        y, f = rows.y[output], rows.F[output] + added
        share, loss = rows.weight / rows.weight.sum(), objective.loss
        return cls(
            X,
            learners.slopes_projected(z),
            share * loss.curvature(y, f),
            loss,
            float(share @ loss.value(y, f)),
            float(share @ (y - f) ** 2),
            float(share @ (y - rows.F[output] - share @ (y - rows.F[output])) ** 2),
        )

    def spread(self, ridges: Array, rank: int, n_rows: float) -> tuple[Array, Array, Array, float]:
        """Return directions, variances, the rest and the noise, given twice the ridge of each learner."""
        shares, size = self.curvature[:, None] * self.slopes**2, self.X.A.shape[1] + 1
        found = [_leading(self.X.curvature(share), rank) for share in shares.T]
        values, vectors = (np.array(each) for each in zip(*found))
        n_others = size - rank
        rests = (self.X.squares @ shares - values.sum(axis=1)).clip(min=0.0) / max(n_others, 1)
        least = max(_LEAST_RIDGE * float(values.max(initial=0.0)), np.finfo(float).tiny)
        ridges = ridges.clip(min=least)
        within = values + ridges[:, None]
        alone = (values / within).sum() + n_others * (rests / (rests + ridges)).sum()
        together = alone if len(found) == 1 else self.n_determined(ridges, n_rows, alone)
        known = min(together / n_rows, _MOST_KNOWN)
        larger = 1 / ((1 - known) ** 2 * (1 + known))
        if self.mean_square > 0:  # rows learned by heart tell nothing of the noise, but y has no more
            larger = min(larger, max(self.variance / self.mean_square, 1.0))
        unit = self.loss.noise(self.mean_loss) * (larger if self.loss.degree else 1.0)
        scale = unit / n_rows * (together / alone if alone else 1.0)
        rest = scale / (rests + ridges) if n_others else np.zeros(len(found))
        return vectors, scale / within, rest, float(np.sqrt(larger * self.mean_square))

    def n_determined(self, ridges: Array, n_rows: float, most: float) -> float:
        """Return how many numbers of all learners together the data determines, by the kernel of some rows.

        If these stand for all rows, which count more often then, it is too low: they have no more to tell. If
        they are rows beside others, it grows with the rows to the power of a rate, which half of them tell,
        and which falls with the rows: so it is too high. If each row is new, at a rate of one, the second
        holds; if more rows tell nothing new, the first.
        """
        some, ridge = every(len(self.slopes), _JOINT_ROWS), float(ridges[-1])
        along = self.slopes[some] * np.sqrt(len(self.slopes) * self.curvature[some])[:, None]
        along *= np.sqrt(ridge / ridges)  # weights in whose units all ridges are the same
        kernel, slopes = self.X.gram(some), along @ along.T
        # Sparse rows far from zero lose digits, and what is left of them need not be a kernel.
        lost = np.finfo(float).eps * len(kernel) * float(self.X.shift @ self.X.shift * slopes.max())
        kernel *= slopes
        low = _n_determined(kernel, max(len(kernel) * ridge, lost))
        if n_rows <= len(kernel):
            return min(low, most)
        half, whole = (_n_determined(kernel[s, s], max(n_rows * ridge, lost)) for s in _HALF_AND_WHOLE)
        rate = float(np.clip(np.log2(whole / half), 0.0, 1.0)) if half else 0.0
        high = min(whole * (n_rows / len(kernel)) ** rate, most)
        return low * (max(low, high) / low) ** rate if low else 0.0


def _n_determined(kernel: Array, ridge: float) -> float:
    """Return trace(K (K + ridge)^-1).

    With J the rows of derivatives in all weights, that is also the trace of J^T J (J^T J + ridge)^-1; and
    K = J J^T takes no more than products of rows and of slopes.
    """
    inverse, _ = dtrtri(np.linalg.cholesky(kernel + ridge * np.eye(len(kernel))).T)
    return float(len(kernel) - ridge * np.vdot(inverse, inverse))


def _leading(H: Curvature, rank: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of H, (k,), and their vectors, (k, size).

    Those of a wide matrix are found by subspace iteration.
    """
    if H.size <= _FEW_TIMES * (rank + _EXTRA_DIRECTIONS):
        values, vectors = np.linalg.eigh(H.matrix())
    else:
        Q = np.random.default_rng(0).normal(size=(H.size, rank + _EXTRA_DIRECTIONS))
        for _ in range(_PRODUCTS - 1):
            Q = np.linalg.qr(H.times(Q))[0]
        small = Q.T @ H.times(Q)
        values, vectors = np.linalg.eigh((small + small.T) / 2)
        vectors = Q @ vectors
    return values[::-1][:rank].clip(min=0.0), vectors[:, ::-1][:, :rank].T
