"""The fitted model as data: arrays of weak learners, and what follows from them in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._core.activation import secant, sigmoid, softplus
from gbmap._core.arrays import asarray_like, namespace, product_by_rows, wide
from gbmap._core.units import Units
from gbmap._utils.shown import Result, Shown
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray

# Larger weights, as of columns with a tiny spread, or intercepts, as of a huge y, leave the range of float32.
# So do learners all of whose weights are below its inverse, as of a tiny y.
_LARGE_FOR_FLOAT32 = 1e30


@dataclass(frozen=True, repr=False)
class Ensemble(Result):
    """M weak learners f_j(x) = a_j + b_j g_j(w_j . x + c_j), in the units of X and y.

    Learners lie stage by stage: with K outputs, the K learners of stage 1, then those of stage 2.

    Attributes
    ----------
    intercepts : array of shape (M,)
        The a_j. The mean of y - f_0 is part of the first one of each output.
    signs : array of shape (M,)
        The b_j, -1 or +1.
    weights : array of shape (M, p)
        The w_j.
    offsets : array of shape (M,)
        The c_j.
    beta : array of shape (M,)
        The beta of g_j, in units of 1 / y: the parameter beta over the spread of y - f_0.
    outputs : integer array of shape (M,)
        The output that learner j adds to.
    activation : "softplus" or "identity"
    n_outputs : int
        K.
    center : array of shape (p,)
        Subtracted from X before the product with the weights, to keep digits of columns with a
        large mean (see `Units`); the offsets above are for X as it is.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> ensemble = GBMAPRegressor(n_components=3, knots=0, random_state=0).fit(X, y).ensemble_
    >>> ensemble.weights.shape, ensemble.embed(X).shape, ensemble.gradient(X).shape
    ((3, 10), (100, 3), (100, 10, 1))
    """

    intercepts: Array
    signs: Array
    weights: Array
    offsets: Array
    beta: Array
    outputs: IntArray
    activation: str
    n_outputs: int
    center: Array

    @classmethod
    def empty(cls, n_features: int, n_outputs: int, activation: str, center: Array) -> Ensemble:
        """Return the ensemble without learners."""
        none = np.empty(0)
        return cls(
            none, none, np.empty((0, n_features)), none, none,
            np.empty(0, dtype=np.intp), activation, n_outputs, center,
        )  # fmt: skip

    def _shown(self) -> Shown:
        M, p = self.weights.shape
        about = f"{counted(M, 'learner')} of {counted(p, 'feature')}, {self.activation}"
        table = {
            "stage": np.arange(M) // self.n_outputs + 1,
            "output": self.outputs,
            "sign": self.signs,
            "intercept": self.intercepts,
            "offset": self.offsets,
            "beta": self.beta,
            "largest weight": np.abs(self.weights).max(axis=1, initial=0.0),
        }
        return Shown(about if self.n_outputs == 1 else f"{about}, {self.n_outputs} outputs", table)

    def __len__(self) -> int:
        """Return M, the number of learners."""
        return len(self.signs)

    def __getitem__(self, which: slice | Array) -> Ensemble:
        """Return the ensemble of some of the learners."""
        return replace(
            self,
            **{
                name: getattr(self, name)[which]
                for name in ("intercepts", "signs", "weights", "offsets", "beta", "outputs")
            },
        )

    @property
    def n_stages(self) -> int:
        """The number of boosting stages, M / K."""
        return len(self) // self.n_outputs

    def append(self, theta: Array, sign: int, beta: float, output: int, units: Units) -> Ensemble:
        """Add a learner with theta = (a, w, c) in standard units.

        A standard learner times s = target_scale is one in the user's units, since
        s g_beta(z) = g_(beta/s)(s z).
        """
        scale = units.target_scale[output]
        v, d = units.fold(theta[1:-1], theta[-1])
        intercept = scale * theta[0]
        if output not in self.outputs:
            intercept += units.target_mean[output]
        return replace(
            self,
            intercepts=np.append(self.intercepts, intercept),
            signs=np.append(self.signs, float(sign)),
            weights=np.vstack([self.weights, scale * v]),
            offsets=np.append(self.offsets, scale * (d - v @ units.center)),
            beta=np.append(self.beta, beta / scale),
            outputs=np.append(self.outputs, output),
        )

    def standard(self, output: int, units: Units) -> tuple[Array, Array]:
        """Return (a, w, c) of the learners of one output in standard units, (m, p + 2), and their signs."""
        own = self[self.outputs == output]
        scale = units.target_scale[output]
        v = own.weights / scale
        w, c = units.unfold(v, own.offsets / scale + v @ units.center)
        a = own.intercepts.copy()
        a[:1] -= units.target_mean[output]
        return np.column_stack([a / scale, w, c]), own.signs

    def project(self, X: Any) -> Array:
        """Return w_j . x + c_j, of shape (n, M), in float64.

        The product runs in X's type; a sparse X is never centred, so it stays sparse. What a row gets does
        not depend on the rows beside it.
        """
        xp, dtype = namespace(X), X.dtype
        if dtype == xp.float32 and not self.fits_float32():
            dtype = wide(X)
            X = X.astype(dtype) if scipy.sparse.issparse(X) else xp.astype(X, dtype)
        weights = asarray_like(self.weights.T, X, dtype)
        offsets = self.offsets
        if self.center.any() and not scipy.sparse.issparse(X):
            X = X - asarray_like(self.center, X, dtype)
            offsets = offsets + self.weights @ self.center
        return xp.astype(product_by_rows(X, weights), wide(X)) + asarray_like(offsets, X, wide(X))

    def fits_float32(self) -> bool:
        """Return whether float32 can hold the weights and intercepts."""
        largest = np.abs(self.weights).max(axis=1, initial=0.0)
        small = (largest > 0) & (largest < 1 / _LARGE_FOR_FLOAT32)
        large = np.maximum(largest, np.abs(self.intercepts)) > _LARGE_FOR_FLOAT32
        return not (small | large).any()

    def sizes(self, X: Array) -> Array:
        """Return the sum of the sizes of all that is added up to f_j(x), (n, M): it rounds in parts of it."""
        fixed = np.abs(self.intercepts) + np.abs(self.offsets + self.weights @ self.center)
        return np.abs(X - self.center) @ np.abs(self.weights).T + fixed

    def embed(self, X: Any) -> Array:
        """Return phi(x) = (f_1(x), ..., f_M(x)), of shape (n, M), in float64."""
        return self.embed_projected(self.project(X))

    def embed_projected(self, z: Array) -> Array:
        """Return phi of rows by their projections, of shape (n, M)."""
        value = softplus(z, asarray_like(self.beta, z)) if self.activation == "softplus" else z
        return asarray_like(self.intercepts, z) + asarray_like(self.signs, z) * value

    def score(self, X: Any) -> Array:
        """Return h = f - f_0, the sum of the learners of each output, of shape (n, K)."""
        return self.sum_outputs(self.embed(X))

    def sum_outputs(self, phi: Array) -> Array:
        """Return the sums of the columns of an embedding that belong to each output."""
        xp = namespace(phi)
        return xp.sum(xp.reshape(phi, (phi.shape[0], self.n_stages, self.n_outputs)), axis=1)

    def slopes(self, X: Any) -> Array:
        """Return b_j g'(w_j . x + c_j), of shape (n, M)."""
        return self.slopes_projected(self.project(X))

    def slopes_projected(self, z: Array) -> Array:
        """Return the same of rows by their projections."""
        if self.activation == "identity":
            return namespace(z).ones_like(z) * asarray_like(self.signs, z)
        return sigmoid(asarray_like(self.beta, z) * z) * asarray_like(self.signs, z)

    def curvatures(self, X: Any) -> Array:
        """Return b_j g''(w_j . x + c_j), of shape (n, M)."""
        z = self.project(X)
        if self.activation == "identity":
            return np.zeros_like(z)
        t = self.beta * z
        return self.signs * self.beta * sigmoid(t) * sigmoid(-t)

    def secants(self, z: Array, other: Array) -> Array:
        """Return b_j (g(z) - g(z')) / (z - z') of projections (..., M), which broadcast."""
        if self.activation == "identity":
            return np.broadcast_to(self.signs, np.broadcast_shapes(z.shape, other.shape))
        return secant(z, other, self.beta) * self.signs

    def pull_back(self, slopes: Array) -> Array:
        """Return the sum of slopes_j w_j over the learners of each output, of shape (n, p, K)."""
        each = [
            slopes[:, self.outputs == output] @ self.weights[self.outputs == output]
            for output in range(self.n_outputs)
        ]
        return np.stack(each, axis=-1)

    def gradient(self, X: Any) -> Array:
        """Return the derivative of h in each feature, of shape (n, p, K)."""
        return self.pull_back(self.slopes(X))

    def integrated_gradient(self, X: Array, baseline: Array) -> Array:
        """Return the share of each feature in h(x) - h(x'), (n, p, K), for rows and their baselines.

        (x_k - x'_k) sum_j b_j w_jk (g(z_j) - g(z'_j)) / (z_j - z'_j); a baseline of one row serves all.
        """
        slopes = self.secants(self.project(X), self.project(baseline))
        return (X - baseline)[:, :, None] * self.pull_back(slopes)
