"""L-BFGS-B in variables in which the problem is about round: what every solve of the engine goes through."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from gbmap._utils.scipy import End as L_BFGS_B_End
from gbmap._utils.scipy import l_bfgs_b
from gbmap._utils.typing import Array

ValueAndGradient = tuple[float, Array]
Evaluate = Callable[[Array], ValueAndGradient]
End = TypeVar("End")
# What yields points, and is sent the value and the gradient of each, until it returns an end.
Solve = Generator[Array, ValueAndGradient, End]


class BlockDiagonal(NamedTuple):
    """A symmetric matrix: a diagonal (k,) for the first variables, m blocks (m, q, q) for the others."""

    single: Array
    blocks: Array

    @classmethod
    def of(cls, H: Array) -> BlockDiagonal:
        """Return a matrix, or the diagonal of one, as such."""
        return cls(H, np.empty((0, 0, 0))) if H.ndim == 1 else cls(np.empty(0), H[None])

    def diagonal(self) -> Array:
        """Return the diagonal of the whole."""
        return np.append(self.single, np.diagonal(self.blocks, axis1=1, axis2=2))


# A matrix that tells about how the function curves at a point, its diagonal, or None if that is not known.
Hessian = Callable[[Array], Array | BlockDiagonal | None]

# Steps that L-BFGS remembers; 10, SciPy's default, takes a tenth more passes on wide data.
_HISTORY = 30
# The share of its mean diagonal that is added to the Gauss-Newton matrix: it is singular for
# collinear columns, and far from the true curvature where residuals are large.
DAMPING = 1e-2
# What a point at which the objective overflows, or is larger, counts as, in values at the start. From much
# larger ones the line search would turn back to where it came from.
_TOO_FAR = 1e3
# Newton's step may promise so many times the least gain of an iteration where a solve ends. On the paper's
# data sets it mostly promises half of that, and more than this in one solve of twenty.
_MUCH_MORE = 10.0
# A solve gives up after so many descents in a row that gained less than an iteration has to.
_MOST_FUTILE = 3


@dataclass(frozen=True)
class Minimum:
    """Where a solve ended, and what it took.

    It has converged if it was not cut short and, where the Hessian is known, Newton's step from there
    promises next to nothing.
    """

    x: Array
    value: float
    n_iter: int
    n_evaluations: int
    converged: bool


@dataclass(frozen=True)
class Stopping:
    """When a descent ends: after `max_iter` iterations, or when one of them gains less than `least_gain`.

    By promise, where the Hessian is known well, also when Newton's step from a point promises less than that.
    """

    unit: float
    ftol: float
    max_iter: int
    by_promise: bool = False

    def least_gain(self, value: float) -> float:
        """Return `ftol` times a value, or times `unit` if that is larger."""
        return self.ftol * max(abs(value), self.unit)


def minimise(
    evaluate: Evaluate,
    start: Array,
    stopping: Stopping,
    *,
    hessian: Hessian | None = None,
    bounds: tuple[Array, Array] | None = None,
    damping: float = DAMPING,
) -> Minimum:
    """Minimise a function as `minimising` does."""
    solve = minimising(start, stopping, hessian=hessian, bounds=bounds, damping=damping)
    return end_of(solve, evaluate)


def end_of(solve: Solve[End], evaluate: Evaluate) -> End:
    """Return where a solve ends, of a function."""
    try:
        point = next(solve)
        while True:
            point = solve.send(evaluate(point))
    except StopIteration as stopped:
        end: End = stopped.value
        return end


def minimising(
    start: Array,
    stopping: Stopping,
    *,
    hessian: Hessian | None = None,
    bounds: tuple[Array, Array] | None = None,
    damping: float = DAMPING,
) -> Solve[Minimum]:
    """Minimise from `start`, in variables in which the Hessian there, if known, is about the identity.

    A share `damping` of its mean diagonal is added to it.

    One short step ends a descent anywhere, so that another one sets out, with the Hessian of the place, where
    Newton's step promises much more.
    """
    if bounds is not None:
        start = np.clip(start, *bounds)
    value, gradient = yield start
    if not _is_finite((value, gradient)):
        return Minimum(start, np.inf, n_iter=0, n_evaluations=1, converged=True)
    function = _Function(stopping, _TOO_FAR * max(abs(value), stopping.unit), bounds)
    x, n_iter, n_evaluations, n_futile = start, 0, 1, 0
    while True:
        variables = _variables_at(x, hessian, damping, has_box=bounds is not None)
        found = yield from function.descend(x, (value, gradient), variables, stopping.max_iter - n_iter)
        n_iter, n_evaluations = n_iter + found.n_iter, n_evaluations + found.n_evaluations
        least = stopping.least_gain(value)
        is_near = not variables.are_known or found.promise <= _MUCH_MORE * least
        # Without an iteration it is back where it was, though with the value of the last place that it tried.
        reached = found.value if found.n_iter else value
        n_futile = n_futile + 1 if value - reached < least else 0
        if is_near or found.is_cut_short or n_futile == _MOST_FUTILE:
            return Minimum(found.x, reached, n_iter, n_evaluations, is_near and not found.is_cut_short)
        x = found.x
        value, gradient = yield x
        n_evaluations += 1


@dataclass(frozen=True)
class _Descent:
    """Where a run of L-BFGS-B ended, what it took, and what Newton's step promises to gain from there."""

    x: Array
    value: float
    promise: float
    n_iter: int
    n_evaluations: int  # but for the first one
    is_cut_short: bool


@dataclass(frozen=True)
class _Function:
    """What is minimised: its bounds, when to stop, and the most that it counts as, `too_far`."""

    stopping: Stopping
    too_far: float
    bounds: tuple[Array, Array] | None

    def descend(
        self, start: Array, first: ValueAndGradient, variables: _Plain | _Variables, max_iter: int
    ) -> Solve[_Descent]:
        """Run L-BFGS-B from a point, given value and gradient there."""
        unit, step, known, n_known = self.stopping.unit, self._step(first, variables), [first], 0
        steps = l_bfgs_b(
            variables.of(start) / step,
            self.bounds,
            history=_HISTORY,
            ftol=self.stopping.ftol,
            max_iter=max_iter,
            max_evaluations=10 * max_iter,
        )
        try:
            u = next(steps)
            while True:
                found = known.pop() if known else (yield variables.theta(u * step))
                value, gradient = found
                if not _is_finite(found) or value > self.too_far:
                    value, gradient = self.too_far, np.zeros(len(u))
                along = variables.gradient(gradient)
                n_known += 1
                if self.stopping.by_promise and value < first[0]:
                    x, promise = variables.theta(u * step), self._promise(variables.theta(u * step), along)
                    if promise <= self.stopping.least_gain(value):
                        return _Descent(x, value, promise, n_known - 1, n_known - 1, is_cut_short=False)
                u = steps.send((value / unit, along * (step / unit)))
        except StopIteration as stopped:
            end: L_BFGS_B_End = stopped.value
        x = variables.theta(end.x * step)
        return _Descent(
            x=x,
            value=end.value * unit,
            promise=self._promise(x, end.gradient * (unit / step)),
            n_iter=end.n_iter,
            n_evaluations=end.n_evaluations - 1,
            is_cut_short=end.ran_out,
        )

    def _step(self, first: ValueAndGradient, variables: _Plain | _Variables) -> float:
        """Return the unit of the variables in which the first step of L-BFGS-B, of length one, is Newton's.

        Within bounds it is at most as long as the gradient, which is Newton's where the Hessian is the
        identity.
        """
        if self.bounds is not None:
            return float(np.sqrt(self.stopping.unit))
        return float(np.linalg.norm(variables.gradient(first[1]))) or 1.0

    def _promise(self, x: Array, slopes: Array) -> float:
        """Return what a step to the minimum within the bounds gains if the Hessian is the identity."""
        if self.bounds is not None:
            low, high = self.bounds
            slopes = np.where((x <= low) & (slopes > 0) | (x >= high) & (slopes < 0), 0.0, slopes)
        return float(slopes @ slopes) / 2


class _Plain:
    """The variables as they are, where no Hessian is known."""

    are_known = False

    def of(self, theta: Array) -> Array:
        """Return theta."""
        return theta

    theta = gradient = of


class _Variables:
    """A linear change of variables after which H is about the identity.

    With H = L L^T the variables are v = L^T theta, block by block.
    """

    are_known = True

    def __init__(self, H: BlockDiagonal, share: float):
        diagonal = H.diagonal()
        damping = share * diagonal[diagonal > 0].mean() if diagonal.any() else 1.0
        self._single = np.sqrt(H.single + damping)
        roots = [_root(block, damping) for block in H.blocks]
        inverses = [dtrtri(root, lower=1)[0] for root in roots]
        # One block, the usual case, needs no loop.
        self._is_one_block = not len(self._single) and len(roots) == 1
        self._root, self._inverse = (
            each[0] if self._is_one_block else np.reshape(each, H.blocks.shape) for each in (roots, inverses)
        )

    def of(self, theta: Array) -> Array:
        """Return v, given theta."""
        if self._is_one_block:
            return theta @ self._root
        return self._by_block(theta, self._single, self._root.swapaxes(1, 2))

    def theta(self, v: Array) -> Array:
        """Return theta, given v."""
        if self._is_one_block:
            return v @ self._inverse
        return self._by_block(v, 1 / self._single, self._inverse.swapaxes(1, 2))

    def gradient(self, along_theta: Array) -> Array:
        """Return the derivative in v, given the one in theta."""
        if self._is_one_block:
            return self._inverse @ along_theta
        return self._by_block(along_theta, 1 / self._single, self._inverse)

    @staticmethod
    def _by_block(vector: Array, single: Array, blocks: Array) -> Array:
        n, q = len(single), blocks.shape[-1]
        of_blocks = (blocks @ vector[n:].reshape(-1, q, 1)).ravel() if q else vector[n:]
        return np.concatenate([single * vector[:n], of_blocks])


def _variables_at(x: Array, hessian: Hessian | None, damping: float, *, has_box: bool) -> _Plain | _Variables:
    """Return those of the Hessian at a point, or those given if there is none."""
    told = None if hessian is None else hessian(x)
    if told is None:
        return _Plain()
    H = told if isinstance(told, BlockDiagonal) else BlockDiagonal.of(told)
    if not all(np.isfinite(part).all() for part in H):
        return _Plain()
    # A box stays a box in scaled variables only.
    return _Variables(BlockDiagonal.of(H.diagonal()) if has_box else H, damping)


def _root(block: Array, damping: float) -> Array:
    """Return L with L L^T a block whose diagonal is damped."""
    damped = block.copy()
    damped.flat[:: len(block) + 1] += damping
    root, failed = dpotrf(damped, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("A matrix of curvatures must have no negative directions.")
    return root


def _is_finite(found: ValueAndGradient) -> bool:
    return math.isfinite(found[0]) and bool(np.logical_and.reduce(np.isfinite(found[1])))
