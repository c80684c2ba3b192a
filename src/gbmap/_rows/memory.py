"""Rows in memory (or mapped into it): the fused pass over blocks, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gbmap._core.arrays import to_numpy, with_one
from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss
from gbmap._core.minimise import BlockDiagonal, Evaluate, ValueAndGradient
from gbmap._core.objective import Objective
from gbmap._core.rows import (
    Curvature,
    CurvatureOfRows,
    RowActivations,
    Sample,
    SampledRows,
    SomeRows,
    every,
    rows_that_tell,
)
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, SparseBlocks, may_be_part
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array, IntArray

# Rows embedded at a time, or those that so many inputs are of. Processes with a low MALLOC_TRIM_THRESHOLD_,
# as Dask's workers are, give the temporaries of more back to the system at each step, and ask for them again,
# which takes five times as long.
_EMBEDDED_ROWS, _EMBEDDED_NUMBERS = 1 << 13, 1 << 17
# Above this width the full matrix takes longer to build than the passes that it saves. That of so many rows,
# or so many for each column, serves as well as that of all.
FULL_MATRIX_COLUMNS = 1000
_MATRIX_ROWS, _MATRIX_ROWS_PER_COLUMN = 2_000, 20
# The share of its trace that may be left out of it.
_UNTOLD_OF_WHITENING = 0.03
# The matrices of learners together may take so many multiplications, if these go a long way.
_JOINT_PRODUCTS, _ROWS_PER_COLUMN = 2_000_000_000, 4
# Blocks are summed in so many groups, each in order, when learners are evaluated together: a sum for every
# block would hold m times as many numbers as X has columns.
_GROUPS = 32
# Numbers z of the candidates of several outputs at a time, so that they stay in the cache.
_SHARED_NUMBERS = 1 << 16
# Bytes of the z of learners, or of inputs, at a time, likewise. The products of so few learners or
# candidates take half the time one by one, for which BLAS need not rearrange X.
_JOINT_BYTES, _ONE_BY_ONE = 1 << 20, 3
# A sample of so many numbers is in float32, where passes take half as long. By the usual tolerance its digits
# do for a learner; by a smaller one the polish ends on the rows themselves.
_WORTH_FLOAT32 = 1 << 17
# Squares of larger numbers, or of those below its inverse, leave the range of float32.
_LARGE_TO_SQUARE = 1e15


class MemoryRows(Sample):
    """Rows in memory, in blocks.

    Parameters
    ----------
    blocks : DenseBlocks or SparseBlocks
        X in the user's units.
    y : array of shape (K, n)
        The targets of the K outputs in standard units, in X's type.
    F : array of shape (K, n)
        The scores to start from, likewise; learners are added in place.
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
        super().__init__(y, F, weight, units)
        self.blocks, self.center, self.team = blocks, blocks.center(units), team
        # Rows that are told from their middle need not be centred as well.
        self._shift = None if blocks.shift is None else blocks.shift + units.center
        if self._shift is not None:
            self.center = None
        self.n_rows, self.n_columns, self.n_outputs = blocks.n_rows, blocks.n_columns, len(y)
        self.eps = float(np.finfo(blocks.dtype).eps)
        self._workspaces: list[_Workspace] = []

    @cached_property
    def weight_sum(self) -> float:  # type: ignore[override]
        """The sum of the weights."""
        return self.blocks.weight_sum(self.weight)

    @cached_property
    def _squares(self) -> Array:
        """|(x, 1)|^2 of the rows of a dense sample."""
        squares: Array = np.einsum("ij,ij->i", self.blocks.X, self.blocks.X) + 1
        return squares

    def shares_passes(self, objective: Objective) -> bool:
        """Return that one pass for several candidates would take as long as one for each."""
        return False

    def function(self, objective: Objective, output: int, sign: float) -> Evaluate:
        """Return the function that a solve evaluates: of few rows, calls are most of what a pass takes.

        In one piece, and in standard units as they are, rows need none but those of `_sum_block`.
        """
        is_one_piece = self.blocks.n_blocks == 1 and self.blocks.piece_rows >= self.n_rows
        if not (is_one_piece and self.units.identity and self._shift is None):
            return super().function(objective, output, sign)
        dtype, gain = self.blocks.dtype, objective.activation.gain(self.blocks.dtype)
        factor = dtype.type(sign / gain)
        workspace, columns = _Workspace(self), self._columns(output, 0, self.n_rows)
        x, vectors = workspace.load(0, self.n_rows), workspace.vectors(self.n_rows)
        weight_sum = self.weight_sum

        def evaluate(theta: Array) -> ValueAndGradient:
            scaled = (gain * theta).astype(dtype, copy=False)
            sums = np.empty(self.n_columns + 3)
            learner = dtype.type(theta[0]), scaled[1:-1], scaled[-1], factor
            self._sum_block(sums, objective, learner, x, columns, vectors)
            sums[2:] *= sign
            return objective.finish_one(sums, weight_sum, theta)

        return evaluate

    def _sums(self, objective: Objective, output: int, thetas: Array, signs: Array) -> Array:
        return add_blocks(self.block_sums(objective, output, thetas, signs), signs)

    def block_sums(self, objective: Objective, output: int, thetas: Array, signs: Array) -> Array:
        """Return the sums over each block of loss and derivatives, of shape (n_blocks, C, p + 3).

        What depends on the sign is to be multiplied by it (`add_blocks`).
        """
        dtype, gain = self.blocks.dtype, objective.activation.gain(self.blocks.dtype)
        v, d = self._folded_to_read(thetas[:, 1:])
        v, d = (gain * v).astype(dtype), (gain * d).astype(dtype)
        a, factors = thetas[:, 0].astype(dtype), (signs / gain).astype(dtype)
        sums = np.empty((self.blocks.n_blocks, len(thetas), self.n_columns + 3))

        def work(blocks: Iterator[int]) -> None:
            try:
                workspace = self._workspaces.pop()
            except IndexError:
                workspace = _Workspace(self)
            for block in blocks:
                for nth, (i, j) in enumerate(self.blocks.pieces(block, self.blocks.piece_rows)):
                    x, columns = workspace.load(i, j), self._columns(output, i, j)
                    out = sums[block] if nth == 0 else workspace.sums(len(thetas))
                    for c, learner in enumerate(zip(a, v, d, factors)):
                        self._sum_block(out[c], objective, learner, x, columns, workspace.vectors(j - i))
                    if nth:
                        sums[block] += out
            self._workspaces.append(workspace)

        self.team.run(work, self.blocks.n_blocks)
        self._count_shift(sums[..., 2:-1], sums[..., -1:])
        return sums

    def answer(
        self, objectives: list[Objective], outputs: list[int], thetas: Array, signs: Array
    ) -> list[ValueAndGradient]:
        """Evaluate candidates of several outputs in one pass over X, which each block is multiplied with."""
        if not self.blocks.is_dense:
            return super().answer(objectives, outputs, thetas, signs)
        total = add_blocks(self.block_sums_of(objectives[0], outputs, thetas, signs), signs)
        return self._finished(objectives, total, thetas)

    def block_sums_of(self, objective: Objective, outputs: list[int], thetas: Array, signs: Array) -> Array:
        """Return `block_sums` of candidates, each for an output of its own."""
        dtype, gain = self.blocks.dtype, objective.activation.gain(self.blocks.dtype)
        v, d = self._folded_to_read(thetas[:, 1:])
        columns = thetas[:, :1], gain * d[:, None], signs[:, None] / gain
        learners = ((gain * v).astype(dtype), *(column.astype(dtype) for column in columns))
        sums = np.zeros((self.blocks.n_blocks, len(thetas), self.n_columns + 3))
        n_at_a_time = min(max(256, _SHARED_NUMBERS // len(thetas)), self.blocks.piece_rows)

        def work(blocks: Iterator[int]) -> None:
            buffer = self.blocks.buffer(n_at_a_time)
            vectors = np.empty((3, len(thetas), n_at_a_time), dtype)
            for block in blocks:
                for i, j in self.blocks.pieces(block, n_at_a_time):
                    x = self._centred(i, j, buffer)
                    self._add_outputs(sums[block], objective, learners, x, outputs, (i, j), vectors)

        self.team.run(work, self.blocks.n_blocks)
        self._count_shift(sums[..., 2:-1], sums[..., -1:])
        return sums

    def _add_outputs(
        self,
        sums: Array,
        objective: Objective,
        learners: tuple[Array, ...],
        x: Any,
        outputs: list[int],
        bounds: tuple[int, int],
        vectors: Array,
    ) -> None:
        """Add one piece's loss and derivatives of each candidate to `sums`, as `_sum_block` writes them."""
        v, a, d, factors = learners
        y, F, weight = self._columns(outputs, *bounds)
        t, f, slope = vectors.reshape(3, -1)[:, : y.size].reshape(3, *y.shape)
        if len(v) <= _ONE_BY_ONE:
            for each, projected in zip(v, t):
                self.blocks.project(x, each, out=projected)
        else:
            np.matmul(v, x.T, out=t)
        t += d
        objective.activation.apply(t.reshape(-1), f.reshape(-1), slope.reshape(-1))
        f *= factors
        f += F
        f += a
        sums[:, 0] += objective.loss.sums_and_gradients_inplace(y, f, weight, t)
        sums[:, 1] += np.add.reduce(f, axis=1)
        f *= slope
        if len(v) <= _ONE_BY_ONE:
            for each, pulled in zip(f, sums):
                pulled[2:-1] += self.blocks.pull_back(each, x)
        else:
            sums[:, 2:-1] += f @ x
        sums[:, -1] += np.add.reduce(f, axis=1)

    def _folded_to_read(self, thetas: Array) -> tuple[Array, Array]:
        """Return v and d of learners (w, c), in the units of rows as blocks read them."""
        v, d = self.units.fold(thetas[:, :-1], thetas[:, -1])
        return v, d if self._shift is None else d - v @ self._shift

    def _count_shift(self, along_v: Array, along_d: Array) -> None:
        """Turn derivatives in the v of `_folded_to_read` into those for inputs without a shift."""
        if self._shift is not None:
            along_v -= along_d * self._shift

    def _columns(self, output: int | list[int], i: int, j: int) -> tuple[Array, Array, Array | None]:
        """Return targets, scores and weights of rows i to j."""
        weight = None if self.weight is None else self.weight[i:j]
        return self.y[output, i:j], self.F[output, i:j], weight

    def _sum_block(
        self,
        sums: Array,
        objective: Objective,
        learner: tuple[Any, Array, Any, Any],
        x: Any,
        columns: tuple[Array, Array, Array | None],
        vectors: Array,
    ) -> None:
        """Write one block's loss and derivatives into `sums`: `Objective.block_sums`, fused and in place."""
        a, v, d, factor = learner
        y, F, weight = columns
        t, f, slope, ones = vectors
        self.blocks.project(x, v, out=t)
        t += d
        objective.activation.apply(t, f, slope)
        f *= factor
        f += F
        f += a
        sums[0] = objective.loss.sum_and_gradient_inplace(y, f, weight, t)
        sums[1] = f.dot(ones)
        f *= slope
        sums[2:-1] = self.blocks.pull_back(f, x)
        sums[-1] = f.dot(ones)

    def _joint_sums(self, objective: Objective, output: int, vector: Array, signs: Array) -> Array:
        return add_groups(self.joint_sums(objective, output, vector, signs), signs)

    def joint_sums(self, objective: Objective, output: int, vector: Array, signs: Array) -> Array:
        """Return the sums over each group of blocks: `Objective.joint_sums`, fused and in place.

        What depends on the signs is to be multiplied by them (`add_groups`).
        """
        dtype, gain = self.blocks.dtype, objective.activation.gain(self.blocks.dtype)
        v, d = self._folded_to_read(vector[1:].reshape(len(signs), -1))
        learners = (
            dtype.type(vector[0]),
            (gain * v).astype(dtype, order="C"),
            (gain * d)[:, None].astype(dtype),
            (signs / gain).astype(dtype),
        )
        n_groups = min(self.blocks.n_blocks, _GROUPS)
        sums = np.zeros((n_groups, len(vector) + 1))
        n_at_a_time = max(256, _JOINT_BYTES // dtype.itemsize // max(len(signs), self.n_columns))
        if not self.blocks.is_dense:  # whose blocks are not cut
            n_at_a_time = self.blocks.piece_rows

        def work(groups: Iterator[int]) -> None:
            buffer = self.blocks.buffer(n_at_a_time)
            of_learners = np.empty(3 * len(signs) * n_at_a_time, dtype)
            for group in groups:
                for block in range(group, self.blocks.n_blocks, n_groups):
                    for i, j in self.blocks.pieces(block, n_at_a_time):
                        x, columns = self._centred(i, j, buffer), self._columns(output, i, j)
                        room = of_learners[: 3 * len(signs) * (j - i)].reshape(3, len(signs), j - i)
                        self._add_joint(sums[group], objective, learners, x, columns, room)

        self.team.run(work, n_groups)
        along = sums[:, 2:].reshape(n_groups, len(signs), -1)
        self._count_shift(along[..., :-1], along[..., -1:])
        return sums

    def _centred(self, i: int, j: int, buffer: Array) -> Any:
        x = self.blocks.read(i, j, buffer)
        return x if self.center is None else x - self.center

    @staticmethod
    def _add_joint(
        sums: Array,
        objective: Objective,
        learners: tuple[Any, Array, Array, Array],
        x: Any,
        columns: tuple[Array, Array, Array | None],
        room: Array,
    ) -> None:
        a, v, d, factors = learners
        y, F, weight = columns
        t, g, slope = room
        _project_each(x, v, out=t)
        t += d
        objective.activation.apply(t.reshape(-1), g.reshape(-1), slope.reshape(-1))
        f = factors @ g
        f += F
        f += a
        sums[0] += objective.loss.sum_and_gradient_inplace(y, f, weight, np.empty_like(f))
        sums[1] += f.sum(dtype=np.float64)
        slope *= f
        along = sums[2:].reshape(len(factors), -1)
        along[:, :-1] += _pull_back_each(slope, x)
        along[:, -1] += slope.sum(axis=1, dtype=np.float64)

    def _loss_sum(self, loss: Loss, output: int, shift: float) -> float:
        return float(self.block_losses(loss, output, shift).sum())

    def block_losses(self, loss: Loss, output: int, shift: float) -> Array:
        """Return the sum over each block of the loss, of shape (n_blocks,)."""
        sums = np.empty(self.blocks.n_blocks)
        dtype = self.F.dtype if abs(shift) < _LARGE_TO_SQUARE else np.float64

        def work(blocks: Iterator[int]) -> None:
            for block in blocks:
                y, F, weight = self._columns(output, *self.blocks.bounds(block))
                f = np.add(F, shift, dtype=dtype)
                sums[block] = loss.sum_and_gradient_inplace(y, f, weight, np.empty_like(f))

        self.team.run(work, self.blocks.n_blocks)
        return sums

    def add(self, learners: Ensemble, are_first: Array) -> None:
        is_read = self.blocks.shift is not None and learners.fits_float32()
        most = min(_EMBEDDED_ROWS, max(256, _EMBEDDED_NUMBERS // self.n_columns))
        most = self.blocks.piece_rows if is_read else most

        def work(blocks: Iterator[int]) -> None:
            embed = (
                self._embedder(learners) if is_read else lambda i, j: learners.embed(self.blocks.get(i, j))
            )
            for block in blocks:
                for i, j in self.blocks.pieces(block, most):
                    phi = embed(i, j)
                    for c, output in enumerate(learners.outputs):
                        self.F[output, i:j] += self._standard(phi[:, c], output, are_first[c])

        self.team.run(work, self.blocks.n_blocks)

    def _embedder(self, learners: Ensemble) -> Callable[[int, int], Array]:
        """Return what embeds rows i to j as passes read them, which takes a third of the time."""
        buffer = self.blocks.buffer(self.blocks.piece_rows)
        weights = learners.weights.T.astype(self.blocks.dtype)
        offsets = learners.offsets - self.blocks.shift @ weights

        def embed(i: int, j: int) -> Array:
            z = (self.blocks.read(i, j, buffer) @ weights).astype(np.float64) + offsets
            return learners.embed_projected(z)

        return embed

    def remember(self, output: int) -> Array:
        return self.F[output].copy()

    def restore(self, output: int, score: Any) -> None:
        super().restore(output, to_numpy(score))

    def _scores_at(self, chosen: list[IntArray], output: int) -> list[Array]:
        return [self.F[output, indices] for indices in chosen]

    @property
    def _n_eligible(self) -> int:
        return self.n_rows if self.weight is None else int(np.count_nonzero(self.weight))

    def _choose(self, positions: IntArray) -> IntArray:
        return positions if self.weight is None else np.flatnonzero(self.weight)[positions]

    def _rows_at(self, chosen: IntArray) -> MemoryRows:
        """Return some rows; dense ones are a copy in standard units, so that a visit needs no folding."""
        y, F = self.y[:, chosen], self.F[:, chosen]
        weight = None if self.weight is None else self.weight[chosen]
        dtype = sample_dtype(self.blocks.X.dtype, len(chosen) * self.n_columns, y, F)
        blocks, units = self.blocks.sample(chosen, self.units, dtype)
        return sampled(blocks, y, F, weight, units, self.team)

    def part(self, size: int, rng: np.random.Generator) -> MemoryRows | None:
        blocks = self.blocks
        if isinstance(blocks, SparseBlocks) or not may_be_part(
            size, self.n_rows, blocks.inputs, blocks.X.dtype
        ):
            return None
        chosen = self._choose(self._positions(size, rng))
        weight = None if self.weight is None else self.weight[chosen]
        some = DenseBlocks(blocks.X[chosen], None, blocks.inputs, self.n_rows, blocks.dtype)
        part = MemoryRows(some, self.y[:, chosen], self.F[:, chosen], weight, self.units, self.team)
        part.complete = False
        self.samples.append(SampledRows(chosen, part))
        return part

    def in_memory(self) -> MemoryRows:
        return self

    def of_columns(self, kept: Array) -> MemoryRows:
        blocks = DenseBlocks(np.ascontiguousarray(self.blocks.X[:, kept]))
        units = self.units.of_columns(kept)
        rows = MemoryRows(blocks, self.y, self.F, self.weight, units, self.team)
        rows.complete = self.complete
        return rows

    def gauss_newton(
        self, objective: Objective, output: int, theta: Array, sign: int, least_rows: int = 0
    ) -> Array:
        """Return the Gauss-Newton matrix of the objective, or its diagonal.

        The matrix is the mean of curvature J^T J with J = (1, b g' x, b g') a row's derivative of
        the score, plus the ridge. The diagonal stands in for wide and for sparse X.
        """
        is_full = self.blocks.is_dense and self.n_columns <= FULL_MATRIX_COLUMNS
        some = every(self.n_rows, max(matrix_rows(self.n_columns), least_rows)) if is_full else slice(None)
        X, dtype, active = self.blocks.X[some], self.blocks.dtype, self.units.inverse_scale != 0
        v, d = self.units.fold(theta[1:-1], theta[-1])
        z = X @ v.astype(dtype) + d
        f = self.F[output, some] + theta[0] + sign * objective.activation.value(z)
        curvature = objective.loss.curvature(self.y[output, some], f)
        if self.weight is not None:
            curvature = curvature * self.weight[some]
        curvature = curvature / (X.shape[0] if self.weight is None else self.weight[some].sum())
        slope = objective.activation.slope(z)
        if is_full:
            told = curvature * slope**2 * self._squares[some]
            tell = rows_that_tell(told, self.n_columns, _UNTOLD_OF_WHITENING)
            root = np.sqrt(curvature[tell]).astype(dtype)
            J = np.empty((len(tell), self.n_columns + 2), dtype)
            J[:, 0], J[:, 1:] = root, with_one(X[tell], root * (sign * slope[tell]).astype(dtype))
            H = (J.T @ J).astype(np.float64) + objective.ridge_hessian(active)
            if len(tell) < len(X):
                H[0, 0] = curvature.sum()  # a is told by all rows
            return H

        weight = curvature * slope**2
        m, scale = self.units.mean, self.units.inverse_scale
        along_w = ((X**2).T @ weight - 2 * m * (X.T @ weight) + m**2 * weight.sum()) * scale**2
        along_w = np.maximum(along_w, 1e-3 * weight.sum() * (scale > 0))  # a large mean leaves rounding only
        diagonal: Array = np.concatenate([[curvature.sum()], along_w, [weight.sum()]])
        return diagonal + objective.ridge_diagonal(active)

    def curvature(
        self, objective: Objective, output: int, theta: Array, n_rows: int, sign: int | None = None
    ) -> Curvature:
        some = every(self.n_rows, n_rows)
        X, weight = self.blocks.X[some], None if self.weight is None else self.weight[some]
        v, d = self.units.fold(theta[1:-1], theta[-1])
        z, f = (X @ v).astype(np.float64) + d, self.F[output, some]
        if sign is not None:
            f = f + (theta[0] + sign * objective.activation.value(z))
        share = objective.loss.curvature(self.y[output, some], f).astype(np.float64)
        share *= objective.activation.slope(z) ** 2
        share *= 1.0 if weight is None else weight
        share /= X.shape[0] if weight is None else weight.sum(dtype=np.float64)
        if self.blocks.is_dense:  # a sample of dense rows is in standard units already
            return CurvatureOfRows.of(X, self._squares[some], share, self.blocks.dtype)

        def times(V: Array) -> Array:
            v, d = self.units.fold(V[:-1].T, V[-1])
            along_z = (X @ v.T + d) * share[:, None]
            along_c = along_z.sum(axis=0)
            return np.vstack([self.units.fold_gradient((X.T @ along_z).T, along_c).T, along_c])

        return Curvature(len(theta) - 1, times)

    def joint_gauss_newton(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> BlockDiagonal | None:
        """Return the Gauss-Newton matrices of a and of each learner; None for wide X.

        What couples the learners is left out: the whole matrix takes m times as long, and as many iterations.
        """
        most = _JOINT_PRODUCTS // (len(signs) * (self.n_columns + 1) ** 2)
        n_rows = min(most, matrix_rows(self.n_columns))
        if n_rows < min(_ROWS_PER_COLUMN * self.n_columns, self.n_rows):
            return None
        few, some = self.activations(objective, output, vector, n_rows), every(self.n_rows, n_rows)
        curvature = objective.loss.curvature(few.y, few.F + vector[0] + few.g @ signs) * few.weight
        curvature /= few.weight.sum()
        v, d = self._folded(vector)
        X: Any = self.blocks.X[some]
        along_z = np.sqrt(curvature)[:, None] * objective.activation.slope(X @ v.T + d)
        along_z = along_z.astype(self.blocks.dtype, copy=False)
        if not self.blocks.is_dense:  # a sample of dense rows is in standard units already
            X = (X.toarray() - self.units.mean) * self.units.inverse_scale
        blocks = np.array([J.T @ J for J in (with_one(X, along) for along in along_z.T)], dtype=np.float64)
        blocks += objective.joint_ridge_hessian(self.units.inverse_scale != 0, len(signs))
        return BlockDiagonal(curvature.sum(keepdims=True), blocks)

    def some(self, n_rows: int, n_numbers: int) -> SomeRows:
        most = n_numbers * self.n_rows // max(self.blocks.X.size, 1)
        some = every(self.n_rows, max(1, min(n_rows, most)))
        y, F = (each[:, some].astype(np.float64) for each in (self.y, self.F))
        weight = np.ones(y.shape[1]) if self.weight is None else self.weight[some].astype(np.float64)
        return SomeRows(self.blocks.X[some], self.units, y, F, weight)

    def activations(self, objective: Objective, output: int, vector: Array, n_rows: int) -> RowActivations:
        """Return what m learners make of about so many rows, in float64."""
        some = every(self.n_rows, n_rows)
        v, d = self._folded(vector)
        z = (self.blocks.X[some] @ v.T).astype(np.float64) + d
        y, F = (each[output, some].astype(np.float64) for each in (self.y, self.F))
        weight = np.ones(len(y)) if self.weight is None else self.weight[some].astype(np.float64)
        return RowActivations(objective.activation.value(z), y, F, weight)

    def _rows_to_attribute(self, n_rows: int) -> tuple[Any, Array | None]:
        indices = self.samples[0].chosen if self.samples else np.arange(self.n_rows)
        indices = indices[every(len(indices), n_rows)]
        return self.blocks.rows_at(indices), None if self.weight is None else self.weight[indices]


def _project_each(x: Any, v: Array, out: Array) -> None:
    """Write v x^T into `out`, (m, n)."""
    if not isinstance(x, np.ndarray):
        out[...] = (x @ v.T).T
    elif len(v) > _ONE_BY_ONE:
        np.matmul(v, x.T, out=out)
    else:
        for own, place in zip(v, out):
            x.dot(own, place)


def _pull_back_each(slopes: Array, x: Any) -> Array:
    """Return slopes x, (m, p)."""
    if not isinstance(x, np.ndarray):
        found: Array = (x.T @ slopes.T).T
        return found
    return slopes @ x if len(slopes) > _ONE_BY_ONE else np.array([own.dot(x) for own in slopes])


def sample_dtype(dtype: np.dtype[Any], n_numbers: int, y: Array, F: Array) -> np.dtype[Any]:
    """Return the type of a dense sample: float32 if passes over it then take half as long."""
    is_large = n_numbers >= _WORTH_FLOAT32 and fits_float32(largest(y), largest(F))
    return np.dtype(np.float32) if is_large else dtype


def sampled(
    blocks: DenseBlocks | SparseBlocks,
    y: Array,
    F: Array,
    weight: Array | None,
    units: Units,
    team: ThreadTeam,
) -> MemoryRows:
    """Return the rows of a sample, all in the type that X has there."""
    y, F = (each.astype(blocks.dtype, copy=False) for each in (y, F))
    weight = None if weight is None else weight.astype(blocks.dtype, copy=False)
    return MemoryRows(blocks, y, F, weight, units, team)


def matrix_rows(n_columns: int) -> int:
    """Return of how many rows a matrix of products of so many columns is to be."""
    return max(_MATRIX_ROWS, _MATRIX_ROWS_PER_COLUMN * n_columns)


def add_blocks(sums: Array, signs: Array) -> Array:
    """Return the sums over all rows for candidates of these signs, given `MemoryRows.block_sums` in order."""
    total: Array = np.add.reduce(sums, axis=0)
    total[:, 2:] *= signs[:, None]
    return total


def add_groups(sums: Array, signs: Array) -> Array:
    """Return the sums over all rows for m learners together, given `MemoryRows.joint_sums` in order."""
    total: Array = sums.sum(axis=0)
    total[2:].reshape(len(signs), -1)[...] *= signs[:, None]
    return total


def standard_columns(
    targets: Array, score: Array | float | None, units: Units, residual: bool
) -> tuple[Array, Array]:
    """Return y in standard units and the F to start from, (n, K) each, given f_0 or none."""
    f_0 = 0.0 if score is None else score
    if residual:
        return (targets - f_0 - units.target_mean) / units.target_scale, np.broadcast_to(0.0, targets.shape)
    return targets, np.broadcast_to(f_0, targets.shape)


def by_output(column: Array, dtype: np.dtype[Any]) -> Array:
    """Return a column (n, K) as `MemoryRows` holds it."""
    return np.array(column.T, dtype=dtype, order="C")


def largest(array: Array) -> float:
    """Return the largest size of any number."""
    return float(max(array.max(), -array.min()))


def fits_float32(largest_y: float, largest_F: float) -> bool:
    """Return whether squares of targets and scores stay in the range of float32."""
    return largest_F < _LARGE_TO_SQUARE and 1 / _LARGE_TO_SQUARE < (largest_y or 1.0) < _LARGE_TO_SQUARE


class _Workspace:
    """The buffers of one thread, allocated once."""

    def __init__(self, rows: MemoryRows):
        blocks = rows.blocks
        length = blocks.piece_rows
        self._vectors = np.ones((4, length), blocks.dtype)
        self._blocks, self._center = blocks, rows.center
        self._buffer = blocks.buffer(length)
        self._x = None if self._center is None else np.empty((length, blocks.n_columns), blocks.dtype)

    def sums(self, n_candidates: int) -> Array:
        """Return a place for what a piece adds to its block."""
        return np.empty((n_candidates, self._blocks.n_columns + 3))

    def vectors(self, length: int) -> Array:
        """Return three buffers, and ones."""
        return self._vectors[:, :length]

    def load(self, i: int, j: int) -> Any:
        """Return rows i to j, centred if need be."""
        x = self._blocks.read(i, j, self._buffer)
        if self._x is None or self._center is None:
            return x
        return np.subtract(x, self._center, out=self._x[: j - i])
