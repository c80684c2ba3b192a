"""L-BFGS-B in variables in which the problem is about round: what every solve of the engine goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import Bounds, minimize

Array = NDArray[Any]
Asked = tuple[float, Array]  # value and gradient
Ask = Callable[[Array], Asked]

# Steps that L-BFGS remembers; 10, SciPy's default, takes a tenth more passes on wide data.
_HISTORY = 30
# The share of its mean diagonal that is added to the Gauss-Newton matrix: it is singular for
# collinear columns, and far from the true curvature where residuals are large.
_DAMPING = 1e-2
# What a point at which the objective overflows, or is larger, counts as, in values at the start. From much
# larger ones the line search would turn back to where it came from.
_TOO_FAR = 1e3


@dataclass(frozen=True)
class Minimum:
    """Where a solve ended, and what it took."""

    x: Array
    value: float
    n_iter: int
    n_evaluations: int
    converged: bool


def minimise(
    ask: Ask,
    start: Array,
    *,
    unit: float,
    ftol: float,
    max_iter: int,
    H: Array | None = None,
    bounds: tuple[Array, Array] | None = None,
    watch: Callable[[Array], bool] | None = None,
) -> Minimum:
    """Minimise a function from `start`, in variables in which H is the identity if there is one.

    A solve ends when an iteration lowers the value by less than `ftol` times it, or times `unit` if that is
    larger. After each iteration `watch` is shown the point, and tells whether to stop there.
    """
    if bounds is not None:
        start = np.clip(start, *bounds)
        H = None if H is None else _diagonal(H)  # a box stays a box in scaled variables only
    first = ask(start)
    if not _is_finite(first):
        return Minimum(start, np.inf, n_iter=0, n_evaluations=1, converged=True)
    variables = _Variables(np.ones(len(start)) if H is None or not np.isfinite(H).all() else H)
    # The first step of L-BFGS-B has length one. In units of the gradient that is Newton's step.
    step = float(np.linalg.norm(variables.gradient(first[1]))) or 1.0
    too_far = _TOO_FAR * max(abs(first[0]), unit)
    n_evaluations = 0

    def evaluate(u: Array) -> Asked:
        nonlocal n_evaluations
        n_evaluations += 1
        value, gradient = first if n_evaluations == 1 else ask(variables.theta(u * step))
        if not _is_finite((value, gradient)) or value > too_far:
            value, gradient = too_far, np.zeros(len(u))
        return value / unit, variables.gradient(gradient) * (step / unit)

    def callback(u: Array) -> None:
        if watch is not None and watch(variables.theta(u * step)):
            raise StopIteration

    result = minimize(
        evaluate,
        variables.of(start) / step,
        jac=True,
        method="L-BFGS-B",
        bounds=None if bounds is None else Bounds(*bounds),
        callback=None if watch is None else callback,
        options={
            "maxcor": _HISTORY,
            "maxiter": max_iter,
            "maxfun": 10 * max_iter,
            "ftol": ftol,
            "gtol": 0.0,
        },
    )
    return Minimum(
        x=variables.theta(result.x * step),
        value=float(result.fun) * unit,
        n_iter=int(result.nit),
        n_evaluations=n_evaluations,
        converged=result.nit < max_iter,
    )


class _Variables:
    """A linear change of variables after which H, a matrix or a diagonal, is about the identity.

    With H = L L^T the variables are v = L^T theta.
    """

    def __init__(self, H: Array):
        self._is_diagonal = H.ndim == 1
        diagonal = _diagonal(H)
        damping = _DAMPING * diagonal[diagonal > 0].mean() if diagonal.any() else 1.0
        if self._is_diagonal:
            self._root = np.sqrt(H + damping)
        else:
            self._root = cholesky(H + damping * np.eye(len(H)), lower=True)
            self._inverse = solve_triangular(self._root, np.eye(len(H)), lower=True)

    def of(self, theta: Array) -> Array:
        """Return v, given theta."""
        return theta * self._root if self._is_diagonal else theta @ self._root

    def theta(self, v: Array) -> Array:
        """Return theta, given v."""
        return v / self._root if self._is_diagonal else v @ self._inverse

    def gradient(self, along_theta: Array) -> Array:
        """Return the derivative in v, given the one in theta."""
        return along_theta / self._root if self._is_diagonal else self._inverse @ along_theta


def _is_finite(asked: Asked) -> bool:
    return bool(np.isfinite(asked[0]) and np.isfinite(asked[1]).all())


def _diagonal(H: Array) -> Array:
    return H if H.ndim == 1 else np.diagonal(H)
