"""What one boosting stage minimises: the definition, in plain array code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._core.activation import Activation
from gbmap._core.arrays import namespace, product, wide
from gbmap._core.losses import Loss
from gbmap._core.units import Units
from gbmap._utils.typing import Array


@dataclass(frozen=True)
class Objective:
    """Mean loss of a learner added to the current score, plus a ridge term (Eq. 3 of the paper).

    With theta = (a, w, c), z = w . x + c, and rows (x, y, F, weight) in standard units:

        value(theta)  =  sum weight l(y, F + a + b g(z)) / sum weight  +  ridge |(w, c)|^2
        d/da          =  mean l'
        d/dw          =  mean l' b g'(z) x  +  2 ridge w
        d/dc          =  mean l' b g'(z)    +  2 ridge c

    where ridge = lambda / (p + 1), and constant columns do not count in p; or it has a number for each of
    (w, c). a is free. With `ridge_units` the ridge term is that of (w, c) brought from standard units to the
    user's. With `ridges` each of several learners has its own. If they begin with a linear part, its ridge
    term is that of (w, c - far).

    Rows give the sums of the first terms (`block_sums` defines them; `gbmap._rows` has faster
    ways to the same numbers), `finish` turns sums into value and gradient.
    """

    loss: Loss
    activation: Activation
    ridge: float | Array
    ridge_units: Units | None = None
    ridges: Array | None = None
    begins_linear: bool = False

    def block_sums(
        self, theta: Array, sign: float, X: Array, y: Array, F: Array, weight: Array | None = None
    ) -> Array:
        """Return the sums over a block of rows of l and its derivatives in (a, w, c).

        The arrays may be of any library, and on any device.
        """
        xp = namespace(X)
        a, w, c = theta[0], theta[1:-1], theta[-1]
        z = product(X, w) + c
        f = F + a + sign * self.activation.value(z)
        value, along_f = self.loss.value(y, f), self.loss.gradient(y, f)
        if weight is not None:
            value, along_f = value * weight, along_f * weight
        along_z = along_f * sign * self.activation.slope(z)
        value, along_a, along_c = (xp.sum(each, dtype=wide(X)) for each in (value, along_f, along_z))
        along_w = xp.astype(product(along_z, X), wide(X))
        return xp.concat([xp.stack([value, along_a]), along_w, xp.reshape(along_c, (1,))])

    def joint_sums(
        self, vector: Array, signs: Array, X: Array, y: Array, F: Array, weight: Array | None = None
    ) -> Array:
        """Return the sums over a block of rows of l and its derivatives in a, (w_1, c_1), ..., (w_m, c_m).

        The score is F + a + sum_j b_j g(w_j . x + c_j), and `vector` holds these numbers in that order.
        """
        xp = namespace(X)
        thetas = xp.reshape(vector[1:], (signs.shape[0], -1))
        z = product(X, thetas[:, :-1].T) + thetas[:, -1]
        f = F + vector[0] + product(self.activation.value(z), signs)
        value, along_f = self.loss.value(y, f), self.loss.gradient(y, f)
        if weight is not None:
            value, along_f = value * weight, along_f * weight
        along_z = along_f[:, None] * (self.activation.slope(z) * signs)
        along_w = xp.astype(product(along_z.T, X), wide(X))
        along_c = xp.sum(along_z, axis=0, dtype=wide(X))
        value, along_a = (xp.sum(each, dtype=wide(X)) for each in (value, along_f))
        along = xp.concat([along_w, along_c[:, None]], axis=1)
        return xp.concat([xp.stack([value, along_a]), xp.reshape(along, (-1,))])

    def finish(self, sums: Array, weight_sum: float, thetas: Array) -> tuple[Array, Array]:
        """Return values (C,) and gradients (C, p + 2), given the sums over all rows of C candidates."""
        found = [self.finish_one(own, weight_sum, theta) for own, theta in zip(sums, thetas)]
        values, gradients = zip(*found)
        return np.array(values), np.array(gradients)

    def finish_one(self, sums: Array, weight_sum: float, theta: Array) -> tuple[float, Array]:
        """Return value and gradient (p + 2,), given the sums over all rows."""
        mean, penalised = sums / weight_sum, theta[1:]
        gradient = mean[1:]
        if self.ridge_units is None:
            along = self.ridge * penalised
            gradient[1:] += 2 * along
            return float(mean[0] + along.dot(penalised)), gradient
        penalties, of_rows = self._ridge_terms(penalised[None], self.ridge)
        gradient[1:] += of_rows[0]
        return float(mean[0] + penalties[0]), gradient

    def finish_joint(self, sums: Array, weight_sum: float, vector: Array, n: int) -> tuple[float, Array]:
        """Return value and gradient of `n` learners together, given the sums over all rows."""
        mean = sums / weight_sum
        thetas = vector[1:].reshape(n, -1).copy()
        if self.begins_linear:
            thetas[0, -1] -= self.activation.far
        penalties, along = self._ridge_terms(thetas, self._joint_ridges(n))
        gradient = mean[1:]
        gradient[1:] += along.ravel()
        return float(mean[0] + penalties.sum()), gradient

    def joint_ridge_term(self, vector: Array, n: int) -> float:
        """Return what the ridges of `n` learners add to the value."""
        return self.finish_joint(np.zeros(len(vector) + 1), 1.0, vector, n)[0]

    def _joint_ridges(self, n: int) -> Array:
        """Return the ridge of each of `n` learners, (n, 1), or of their numbers, (n, p + 1)."""
        return np.tile(self.ridge, (n, 1)) if self.ridges is None else self.ridges

    def _ridge_terms(self, thetas: Array, ridges: float | Array) -> tuple[Array, Array]:
        """Return the ridge terms of rows (w, c), and their derivatives."""
        if self.ridge_units is None:
            along = ridges * thetas
            return np.einsum("ij,ij->i", along, thetas), 2 * along
        v, d = self.ridge_units.fold(thetas[:, :-1], thetas[:, -1])
        penalised = np.column_stack([v, d])
        along = ridges * penalised
        v, d = along[:, :-1], along[:, -1]
        along_theta = np.column_stack([self.ridge_units.fold_gradient(v, d), d])
        return np.einsum("ij,ij->i", along, penalised), 2 * along_theta

    def ridge_hessian(self, active: Array) -> Array:
        """Return the ridge term's second derivative in (a, w, c), (p + 2, p + 2).

        `active` tells which of the p columns are not constant.
        """
        own, shared = self._ridge_curvature(active, self.ridge)
        return 2 * (np.diag(own) + np.outer(shared, shared))

    def joint_ridge_hessian(self, active: Array, n: int) -> Array:
        """Return those in the (w, c) of each of `n` learners, (n, p + 1, p + 1)."""
        each = (self._ridge_curvature(active, ridges) for ridges in self._joint_ridges(n))
        return np.array([2 * (np.diag(own) + np.outer(shared, shared))[1:, 1:] for own, shared in each])

    def ridge_diagonal(self, active: Array) -> Array:
        """Return its diagonal."""
        own, shared = self._ridge_curvature(active, self.ridge)
        return 2 * (own + shared**2)

    def _ridge_curvature(self, active: Array, ridge: float | Array) -> tuple[Array, Array]:
        """Return d and u, (p + 2,) each: the second derivative is 2 (diag(d) + u u^T)."""
        scale, mean = active.astype(float), np.zeros(len(active))
        if self.ridge_units is not None:
            scale, mean = self.ridge_units.inverse_scale, self.ridge_units.mean
        ridges = np.broadcast_to(ridge, len(active) + 1)
        own = np.concatenate([[0.0], ridges[:-1] * scale**2, [0.0]])
        return own, np.sqrt(ridges[-1]) * np.concatenate([[0.0], -scale * mean, [1.0]])
