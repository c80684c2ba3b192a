"""Rows in memory (or mapped into it): the fused pass over blocks, on threads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss, RowLosses
from gbmap._core.objective import Objective
from gbmap._core.rows import RowActivations
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, SparseBlocks
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array, IntArray

# Rows embedded at a time. Processes with a low MALLOC_TRIM_THRESHOLD_, as Dask's workers are, give the
# temporaries of more back to the system at each step, and ask for them again, which takes five times as long.
_EMBEDDED_ROWS = 1 << 13
# Above this width the full matrix takes longer to build than the passes that it saves.
FULL_MATRIX_COLUMNS = 1000
# Blocks are summed in so many groups, each in order, when learners are evaluated together: a sum for every
# block would hold m times as many numbers as X has columns.
_GROUPS = 32
# Numbers z of the learners at a time, so that they stay in the cache.
_JOINT_NUMBERS = 1 << 17
# Squares of larger numbers, or of those below its inverse, leave the range of float32.
_LARGE_TO_SQUARE = 1e15


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
        center = units.center.astype(blocks.dtype)
        self._center = center if isinstance(blocks, DenseBlocks) and center.any() else None
        self._workspaces: list[_Workspace] = []
        self._samples: list[tuple[IntArray, MemoryRows]] = []
        self.complete = True

    @cached_property
    def weight_sum(self) -> float:
        """The sum of the weights."""
        return self.blocks.weight_sum(self.weight)

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

    def shares_passes(self, objective: Objective) -> bool:
        """Return that one pass for several candidates would take as long as one for each."""
        return False

    def value_and_gradient(
        self, objective: Objective, output: int, thetas: Array, signs: Array
    ) -> tuple[Array, Array]:
        """Evaluate candidates (a, w, c) with their signs in one pass over X.

        Returns
        -------
        values : array of shape (C,)
        gradients : array of shape (C, p + 2)
        """
        sums = self.block_sums(objective, output, thetas, signs)
        return finish(objective, sums, self.units, self.weight_sum, thetas, signs)

    def block_sums(self, objective: Objective, output: int, thetas: Array, signs: Array) -> Array:
        """Return the sums over each block of loss and derivatives, of shape (n_blocks, C, p + 3)."""
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
        return sums

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
        sums[0] = objective.loss.sum_and_gradient_inplace(self.y[output, i:j], f, weight, t)
        sums[1] = np.dot(f, ones)
        f *= slope
        sums[2:-1] = self.blocks.pull_back(f, x)
        sums[-1] = np.dot(f, ones)

    def joint_value_and_gradient(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> tuple[float, Array]:
        """Evaluate m learners together, at (a, (w_1, c_1), ..., (w_m, c_m)), in one pass over X."""
        sums = self.joint_sums(objective, output, vector, signs)
        return finish_joint(objective, sums, self.units, self.weight_sum, vector, signs)

    def joint_sums(self, objective: Objective, output: int, vector: Array, signs: Array) -> Array:
        """Return the sums over each group of blocks: `Objective.joint_sums`, fused and in place."""
        dtype, m = self.blocks.dtype, len(signs)
        gain = objective.activation.gain(dtype)
        v, d = self._folded(vector, m)
        learners = (gain * v).T.astype(dtype, order="C"), (gain * d).astype(dtype)
        factors, a = (signs / gain).astype(dtype), dtype.type(vector[0])
        n_groups = min(self.blocks.n_blocks, _GROUPS)
        sums = np.zeros((n_groups, len(vector) + 1))
        dense = isinstance(self.blocks, DenseBlocks)
        step = max(256, _JOINT_NUMBERS // max(m, self.n_columns)) if dense else self.blocks.block_rows

        def work(groups: Iterator[int]) -> None:
            for group in groups:
                for block in range(group, self.blocks.n_blocks, n_groups):
                    i, j = self.blocks.bounds(block)
                    for k in range(i, j, step):
                        self._add_joint(
                            sums[group], objective, output, learners, factors, a, k, min(k + step, j)
                        )

        self.team.run(work, n_groups)
        return sums

    def _folded(self, vector: Array, m: int) -> tuple[Array, Array]:
        thetas = vector[1:].reshape(m, -1)
        return self.units.fold(thetas[:, :-1], thetas[:, -1])

    def _add_joint(
        self,
        sums: Array,
        objective: Objective,
        output: int,
        learners: tuple[Array, Array],
        factors: Array,
        a: Any,
        i: int,
        j: int,
    ) -> None:
        v, d = learners
        x = self.blocks.get(i, j)
        if self._center is not None:
            x = x - self._center
        t = np.ascontiguousarray(x @ v)
        t += d
        g, slope = np.empty_like(t), np.empty_like(t)
        objective.activation.apply(t.reshape(-1), g.reshape(-1), slope.reshape(-1))
        f = g @ factors
        f += self.F[output, i:j]
        f += a
        weight = None if self.weight is None else self.weight[i:j]
        sums[0] += objective.loss.sum_and_gradient_inplace(self.y[output, i:j], f, weight, np.empty_like(f))
        sums[1] += f.sum(dtype=np.float64)
        slope *= f[:, None]
        along = sums[2:].reshape(len(factors), -1)
        along[:, :-1] += (x.T @ slope).T
        along[:, -1] += slope.sum(axis=0, dtype=np.float64)

    def mean_loss(self, loss: Loss, output: int, shift: float = 0.0) -> float:
        """Return the mean loss of the current score of one output, plus a constant."""
        return float(self.block_losses(loss, output, shift).sum() / self.weight_sum)

    def block_losses(self, loss: Loss, output: int, shift: float) -> Array:
        """Return the sum over each block of the loss, of shape (n_blocks,)."""
        sums = np.empty(self.blocks.n_blocks)
        dtype = self.F.dtype if abs(shift) < _LARGE_TO_SQUARE else np.float64

        def work(blocks: Iterator[int]) -> None:
            for block in blocks:
                i, j = self.blocks.bounds(block)
                weight = None if self.weight is None else self.weight[i:j]
                f = np.add(self.F[output, i:j], shift, dtype=dtype)
                sums[block] = loss.sum_and_gradient_inplace(self.y[output, i:j], f, weight, np.empty_like(f))

        self.team.run(work, self.blocks.n_blocks)
        return sums

    def row_losses(self, loss: Loss, output: int) -> RowLosses:
        """Return the loss of every row at its current score."""
        return self._losses_of(loss, output, self.F[output])

    def joint_row_losses(self, objective: Objective, output: int, vector: Array, signs: Array) -> RowLosses:
        """Return the same with m learners added to the score."""
        v, d = self._folded(vector, len(signs))
        v, d = v.T.astype(self.blocks.dtype, order="C"), d.astype(self.blocks.dtype)
        score = self.F[output] + self.blocks.dtype.type(vector[0])

        def work(blocks: Iterator[int]) -> None:
            for block in blocks:
                i, j = self.blocks.bounds(block)
                x = self.blocks.get(i, j)
                x = x if self._center is None else x - self._center
                score[i:j] += objective.activation.value(x @ v + d) @ signs

        self.team.run(work, self.blocks.n_blocks)
        return self._losses_of(objective.loss, output, score)

    def _losses_of(self, loss: Loss, output: int, score: Array) -> RowLosses:
        weight = np.ones(self.n_rows) if self.weight is None else self.weight.astype(np.float64)
        return RowLosses(loss.value(self.y[output], score).astype(np.float64), weight, self.y[output])

    def add_last_learner(self, ensemble: Ensemble) -> None:
        """Add the last learner of an ensemble, as stored, to the score.

        Through the stored learner and the code of `transform`, so that a model that goes on from a
        stored ensemble meets the very same numbers.
        """
        output = int(ensemble.outputs[-1])
        self.add(ensemble[-1:], first=not (ensemble.outputs[:-1] == output).any())
        self._tell_samples(output)

    def add(self, learner: Ensemble, *, first: bool) -> None:
        """Add a learner to the score of its output, given whether it is the first one there."""
        output = int(learner.outputs[0])
        shift, scale = self.units.target_mean[output] * first, self.units.target_scale[output]
        step = _EMBEDDED_ROWS if isinstance(self.blocks, DenseBlocks) else self.blocks.block_rows

        def work(blocks: Iterator[int]) -> None:
            for block in blocks:
                i, j = self.blocks.bounds(block)
                x, f = self.blocks.get(i, j), self.F[output, i:j]
                for k in range(0, j - i, step):
                    f[k : k + step] += (learner.embed(x[k : k + step])[:, 0] - shift) / scale

        self.team.run(work, self.blocks.n_blocks)

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
        indices = draw(n_eligible, size, rng)
        if eligible is not None:
            indices = eligible[indices]
        X, weight = self.blocks.take(indices), None if self.weight is None else self.weight[indices]
        sample = sample_rows(X, self.y[:, indices], self.F[:, indices], weight, self.units, self.team)
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

    def joint_gauss_newton(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> Array | None:
        """Return the Gauss-Newton matrix of m learners together; None for sparse X, and for many numbers."""
        if not isinstance(self.blocks, DenseBlocks) or len(vector) > FULL_MATRIX_COLUMNS:
            return None
        few = self.activations(objective, output, vector, self.n_rows)
        curvature = objective.loss.curvature(few.y, few.F + vector[0] + few.g @ signs) * few.weight
        root = np.sqrt(curvature / few.weight.sum())[:, None]
        v, d = self._folded(vector, len(signs))
        x1 = np.column_stack([self.blocks.X, np.ones(self.n_rows)])
        slopes = objective.activation.slope(self.blocks.X @ v.T + d) * signs
        J = np.hstack([root, *(root * slopes[:, [j]] * x1 for j in range(len(signs)))])
        own, shared = (each[1:] for each in objective.ridge_curvature(self.units.inverse_scale != 0))
        matrix: Array = J.T @ J
        ridge = 2 * objective.ridge * (np.diag(own) + np.outer(shared, shared))
        matrix[1:, 1:] += np.kron(np.eye(len(signs)), ridge)
        return matrix

    def activations(self, objective: Objective, output: int, vector: Array, n_rows: int) -> RowActivations:
        """Return what m learners make of about so many rows, in float64."""
        some = slice(None, None, -(-self.n_rows // n_rows))
        v, d = self._folded(vector, (len(vector) - 1) // (self.n_columns + 1))
        z = (self.blocks.X[some] @ v.T).astype(np.float64) + d
        y, F = (each[output, some].astype(np.float64) for each in (self.y, self.F))
        weight = np.ones(len(y)) if self.weight is None else self.weight[some].astype(np.float64)
        return RowActivations(objective.activation.value(z), y, F, weight)

    def mean_absolute_attribution(self, ensemble: Ensemble, mean: Array, n_rows: int) -> Array:
        """Return the mean size of what columns add over the mean row, for rows of the sample; (p, K)."""
        indices = self._samples[0][0] if self._samples else np.arange(self.n_rows)
        indices = indices[:: -(-len(indices) // n_rows)]
        weight = None if self.weight is None else self.weight[indices]
        return mean_absolute_attribution(ensemble, mean, self.blocks.take(indices), weight)


def finish(
    objective: Objective, sums: Array, units: Units, weight_sum: float, thetas: Array, signs: Array
) -> tuple[Array, Array]:
    """Return values and gradients of candidates, given `MemoryRows.block_sums` of all blocks in order."""
    total = sums.sum(axis=0)
    total[:, 2:] *= signs[:, None]
    total[:, 2:-1] = units.fold_gradient(total[:, 2:-1], total[:, -1])
    return objective.finish(total, weight_sum, thetas)


def finish_joint(
    objective: Objective, sums: Array, units: Units, weight_sum: float, vector: Array, signs: Array
) -> tuple[float, Array]:
    """Return value and gradient of m learners together, given `MemoryRows.joint_sums` of all groups."""
    total = sums.sum(axis=0)
    along = total[2:].reshape(len(signs), -1) * signs[:, None]
    along[:, :-1] = units.fold_gradient(along[:, :-1], along[:, -1])
    total[2:] = along.ravel()
    return objective.finish_joint(total, weight_sum, vector, len(signs))


def largest(array: Array) -> float:
    """Return the largest size of any number."""
    return float(max(array.max(), -array.min()))


def fits_float32(largest_y: float, largest_F: float) -> bool:
    """Return whether squares of targets and scores stay in the range of float32."""
    return largest_F < _LARGE_TO_SQUARE and 1 / _LARGE_TO_SQUARE < (largest_y or 1.0) < _LARGE_TO_SQUARE


def draw(n_rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return `size` of the numbers below `n_rows` in order, or all if there are no more."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))


def sample_rows(
    X: Any, y: Array, F: Array, weight: Array | None, units: Units, team: ThreadTeam
) -> MemoryRows:
    """Return rows taken from others, whose X is theirs to keep: in standard units if it is dense."""
    if scipy.sparse.issparse(X):
        return MemoryRows(SparseBlocks(X), y, F, weight, units, team)
    _standardise(X, units)
    return MemoryRows(DenseBlocks(X), y, F, weight, units.of_standard_rows(), team)


def mean_absolute_attribution(ensemble: Ensemble, mean: Array, X: Any, weight: Array | None) -> Array:
    """Return the weighted mean over some rows of what each column adds to h over the mean row, in size.

    For each output, of shape (p, K).
    """
    n, p = X.shape
    weight = np.ones(n) if weight is None else weight.astype(np.float64)
    total = np.zeros((p, ensemble.n_outputs))
    chunk = max(1, (1 << 20) // p)
    for i in range(0, n, chunk):
        rows = X[i : i + chunk]
        rows = np.asarray(rows.toarray() if scipy.sparse.issparse(rows) else rows, dtype=np.float64)
        added = ensemble.integrated_gradient(rows, mean[None])
        total += np.tensordot(weight[i : i + chunk], np.abs(added), 1)
    size: Array = total / weight.sum()
    return size


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
