"""Rows in memory (or mapped into it): the fused pass over blocks, on threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss
from gbmap._core.objective import Objective
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, SparseBlocks
from gbmap._rows.threads import ThreadTeam

Array = NDArray[Any]

# Above this width the full matrix takes longer to build than the passes that it saves.
FULL_MATRIX_COLUMNS = 1000
# Squares of larger numbers, or of those below its inverse, leave the range of float32.
LARGE_TO_SQUARE = 1e15


class MemoryRows:
    """Rows (x, y, weight) with their current score F, all of it in standard units.

    Parameters
    ----------
    blocks : DenseBlocks or SparseBlocks
        X in the user's units.
    y : array of shape (K, n)
        The targets of the K outputs in standard units, in X's type.
    F : array of shape (K, n)
        The scores to start from, likewise; it is advanced in place.
    weight : array of shape (n,) or None
    units : Units
    team : ThreadTeam
    """

    def __init__(
        self,
        blocks: DenseBlocks | SparseBlocks,
        y: Array,
        F: Array,
        weight: Array | None,
        units: Units,
        team: ThreadTeam,
    ):
        self.blocks, self.y, self.F, self.weight, self.units, self.team = blocks, y, F, weight, units, team
        self.weight_sum = float(y.shape[1] if weight is None else weight.sum(dtype=np.float64))
        center = units.center.astype(blocks.dtype)
        self._center = center if isinstance(blocks, DenseBlocks) and center.any() else None
        self._workspaces: list[_Workspace] = []
        self._samples: list[tuple[NDArray[np.intp], MemoryRows]] = []
        self.complete = True

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.blocks.n_rows

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.blocks.n_columns

    @property
    def eps(self) -> float:
        """The relative rounding error of one row's numbers."""
        return float(np.finfo(self.blocks.dtype).eps)

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs."""
        return len(self.y)

    def value_and_gradient(
        self, objective: Objective, output: int, thetas: Array, signs: Array
    ) -> tuple[Array, Array]:
        """Evaluate candidates (a, w, c) with their signs in one pass over X.

        Returns
        -------
        values : array of shape (C,)
        gradients : array of shape (C, p + 2)
        """
        dtype, gain = self.blocks.dtype, objective.activation.gain(self.blocks.dtype)
        v, d = self.units.fold(thetas[:, 1:-1], thetas[:, -1])
        v, d = (gain * v).astype(dtype), (gain * d).astype(dtype)
        a, factors = thetas[:, 0].astype(dtype), (signs / gain).astype(dtype)
        sums = np.empty((self.blocks.n_blocks, len(thetas), self.blocks.n_columns + 3))

        def work(blocks: Iterator[int]) -> None:
            try:
                workspace = self._workspaces.pop()
            except IndexError:
                workspace = _Workspace(self)
            for block in blocks:
                i, j = self.blocks.bounds(block)
                x = workspace.load(i, j)
                for c in range(len(thetas)):
                    learner = a[c], v[c], d[c], factors[c]
                    self._sum_block(sums[block, c], objective, output, learner, x, i, j, workspace)
            self._workspaces.append(workspace)

        self.team.run(work, self.blocks.n_blocks)
        total = sums.sum(axis=0)
        total[:, 2:] *= signs[:, None]
        total[:, 2:-1] = self.units.fold_gradient(total[:, 2:-1], total[:, -1])
        return objective.finish(total, self.weight_sum, thetas)

    def _sum_block(
        self,
        sums: Array,
        objective: Objective,
        output: int,
        learner: tuple[Any, Array, Any, Any],
        x: Any,
        i: int,
        j: int,
        workspace: _Workspace,
    ) -> None:
        """Write one block's loss and derivatives into `sums`: `Objective.block_sums`, fused and in place."""
        a, v, d, factor = learner
        t, f, slope, ones = workspace.vectors(j - i)
        self.blocks.project(x, v, out=t)
        t += d
        objective.activation.apply(t, f, slope)
        f *= factor
        f += self.F[output, i:j]
        f += a
        weight = None if self.weight is None else self.weight[i:j]
        sums[0] = objective.loss.reduce(self.y[output, i:j], f, weight, t)
        sums[1] = np.dot(f, ones)
        f *= slope
        sums[2:-1] = self.blocks.pull_back(f, x)
        sums[-1] = np.dot(f, ones)

    def mean_loss(self, loss: Loss, output: int, shift: float = 0.0) -> float:
        """Return the mean loss of the current score of one output, plus a constant."""
        sums = np.empty(self.blocks.n_blocks)
        dtype = self.F.dtype if abs(shift) < LARGE_TO_SQUARE else np.float64

        def work(blocks: Iterator[int]) -> None:
            for block in blocks:
                i, j = self.blocks.bounds(block)
                weight = None if self.weight is None else self.weight[i:j]
                f = np.add(self.F[output, i:j], shift, dtype=dtype)
                sums[block] = loss.reduce(self.y[output, i:j], f, weight, np.empty_like(f))

        self.team.run(work, self.blocks.n_blocks)
        return float(sums.sum() / self.weight_sum)

    def advance(self, ensemble: Ensemble) -> None:
        """Add the last learner of an ensemble, as stored, to the score.

        Through the stored learner and the code of `transform`, so that a model that goes on from a
        stored ensemble meets the very same numbers.
        """
        learner, output = ensemble[-1:], int(ensemble.outputs[-1])
        first = not (ensemble.outputs[:-1] == output).any()
        shift, scale = self.units.target_mean[output] * first, self.units.target_scale[output]

        def work(blocks: Iterator[int]) -> None:
            for block in blocks:
                i, j = self.blocks.bounds(block)
                phi = learner.embed(self.blocks.get(i, j))[:, 0]
                self.F[output, i:j] += (phi - shift) / scale

        self.team.run(work, self.blocks.n_blocks)
        self._tell_samples(output)

    def _tell_samples(self, output: int) -> None:
        for indices, sample in self._samples:
            sample.F[output] = self.F[output, indices]

    def remember(self, output: int) -> Array:
        """Return the score of one output, for `restore`."""
        score: Array = self.F[output].copy()
        return score

    def restore(self, output: int, score: Array) -> None:
        """Bring the score of one output back to what it was."""
        self.F[output] = score
        self._tell_samples(output)

    def sample(self, size: int, rng: np.random.Generator) -> MemoryRows:
        """Return `size` random rows, or all if there are no more, whose F follows this one's.

        A dense sample is a copy in standard units, so that a visit of it needs no folding.
        """
        eligible = None if self.weight is None else np.flatnonzero(self.weight)
        n_eligible = self.n_rows if eligible is None else len(eligible)
        indices = np.arange(n_eligible)
        if n_eligible > size:
            indices = np.sort(rng.choice(n_eligible, size, replace=False, shuffle=False))
        if eligible is not None:
            indices = eligible[indices]
        X, units = self.blocks.take(indices), self.units
        if isinstance(self.blocks, DenseBlocks):
            _standardise(X, units)
            units = units.of_standard_rows()
        blocks = type(self.blocks)(X)
        weight = None if self.weight is None else self.weight[indices]
        sample = MemoryRows(blocks, self.y[:, indices], self.F[:, indices], weight, units, self.team)
        sample.complete = len(indices) == n_eligible
        self._samples.append((indices, sample))
        return sample

    def gauss_newton(self, objective: Objective, output: int, theta: Array, sign: int) -> Array:
        """Return the Gauss-Newton matrix of the objective, or its diagonal.

        The matrix is the mean of curvature J^T J with J = (1, b g' x, b g') a row's derivative of
        the score, plus the ridge. The diagonal stands in for wide and for sparse X.
        """
        v, d = self.units.fold(theta[1:-1], theta[-1])
        z = self.blocks.X @ v.astype(self.blocks.dtype) + d
        f = self.F[output] + theta[0] + sign * objective.activation.value(z)
        curvature = objective.loss.curvature(self.y[output], f) / self.weight_sum
        if self.weight is not None:
            curvature = curvature * self.weight
        slope = objective.activation.slope(z)
        own, shared = objective.ridge_curvature(self.units.inverse_scale != 0)
        if isinstance(self.blocks, DenseBlocks) and self.blocks.n_columns <= FULL_MATRIX_COLUMNS:
            root = np.sqrt(curvature).astype(self.blocks.dtype)[:, None]
            along_z = root * (sign * slope).astype(self.blocks.dtype)[:, None]
            J = np.hstack([root, along_z * self.blocks.X, along_z])
            ridge = 2 * objective.ridge * (np.diag(own) + np.outer(shared, shared))
            matrix: Array = (J.T @ J).astype(np.float64) + ridge
            return matrix
        weight = curvature * slope**2
        X, m, scale = self.blocks.X, self.units.mean, self.units.inverse_scale
        along_w = ((X**2).T @ weight - 2 * m * (X.T @ weight) + m**2 * weight.sum()) * scale**2
        along_w = np.maximum(along_w, 1e-3 * weight.sum() * (scale > 0))  # a large mean leaves rounding only
        diagonal: Array = np.concatenate([[curvature.sum()], along_w, [weight.sum()]])
        diagonal += 2 * objective.ridge * (own + shared**2)
        return diagonal

    def mean_absolute_gradient(self, ensemble: Ensemble, n_rows: int) -> Array:
        """Return the mean of |dh/dx_k| over rows of the sample, for each output; of shape (p, K)."""
        indices = self._samples[0][0] if self._samples else np.arange(self.n_rows)
        indices = indices[:: -(-len(indices) // n_rows)]
        weight = None if self.weight is None else self.weight[indices]
        return mean_absolute_gradient(ensemble, self.blocks.take(indices), weight)


def mean_absolute_gradient(ensemble: Ensemble, X: Any, weight: Array | None) -> Array:
    """Return the weighted mean of |dh/dx_k| over some rows, for each output; of shape (p, K)."""
    n, p = X.shape
    weight = np.ones(n) if weight is None else weight.astype(np.float64)
    total = np.zeros((p, ensemble.n_outputs))
    chunk = max(1, (1 << 20) // p)
    for i in range(0, n, chunk):
        total += np.tensordot(weight[i : i + chunk], np.abs(ensemble.gradient(X[i : i + chunk])), 1)
    mean: Array = total / weight.sum()
    return mean


def _standardise(X: Array, units: Units) -> None:
    """Bring an array to standard units in place, in its own type."""
    coarse_mean = units.mean.astype(X.dtype)
    X -= coarse_mean
    X -= (units.mean - coarse_mean).astype(X.dtype)  # what the type could not hold of the mean
    X *= units.inverse_scale.astype(X.dtype)


class _Workspace:
    """The buffers of one thread, allocated once."""

    def __init__(self, rows: MemoryRows):
        blocks = rows.blocks
        length = blocks.block_rows
        self._vectors = np.ones((4, length), blocks.dtype)
        self._blocks, self._center = blocks, rows._center
        self._x = None if self._center is None else np.empty((length, blocks.n_columns), blocks.dtype)

    def vectors(self, length: int) -> Array:
        """Return three buffers, and ones."""
        return self._vectors[:, :length]

    def load(self, i: int, j: int) -> Any:
        """Return rows i to j, centred if need be."""
        x = self._blocks.get(i, j)
        if self._x is None or self._center is None:
            return x
        return np.subtract(x, self._center, out=self._x[: j - i])
