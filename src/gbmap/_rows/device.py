"""Rows on a device: CuPy, JAX and PyTorch arrays, or any others with the array API.

The work of a pass stays where the data is; p numbers cross each way. Learners are found on a sample first, as
for any other rows; it lies in memory where a pass over it takes less time there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gbmap._core.arrays import asarray_like, library_of, namespace, product, to_numpy, wide
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._core.losses import Loss
from gbmap._core.minimise import BlockDiagonal
from gbmap._core.objective import Objective
from gbmap._core.rows import Curvature, RowActivations, Sample, SomeRows, every
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks
from gbmap._rows.memory import FULL_MATRIX_COLUMNS, MemoryRows, matrix_rows
from gbmap._rows.moments import (
    Moments,
    careful_moments,
    moments_of_columns,
    reference_point,
    reference_positions,
)
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array, IntArray

_CHUNK_NUMBERS = 1 << 28  # beside X at a time: within a gigabyte in float32
_VECTORS = 8  # of a number for each row, which a pass makes
_FEW_NUMBERS = 1 << 20  # in a sample that is worth bringing to memory
_MANY_NUMBERS = 1 << 24  # in one over which a pass takes longer than to bring solves in step
_STRIPES = 4096  # that the sums of columns are made of
# To choose more than one row in so many takes NumPy a pass over all of them, unless rows may repeat.
_SPARSE_CHOICE, _MANY_ROWS = 50, 1_000_000


def lent(X: Any, targets: Any, objective: Objective) -> tuple[Any, Any]:
    """Return both as tensors of PyTorch in the same memory if the fused pass is for them, else as they are.

    That pass is PyTorch's; arrays of CuPy and JAX on a CUDA device can be read by it where they are.
    """
    try:
        from gbmap._rows.libraries.torch import as_tensors

        tensors = as_tensors(X, targets)
    except (BufferError, ImportError):
        return X, targets
    return tensors if tensors is not None and _fused_pass(objective, tensors[0]) else (X, targets)


def _fused_pass(objective: Objective, X: Any) -> Any:
    """Return the class of passes in few calls for such arrays and this problem, or None."""
    fused = library_of(X).fused_pass(X)
    return fused if fused is not None and fused.covers(objective, X) else None


class DeviceRows(Sample):
    """Rows on a device, in X's library.

    Parameters
    ----------
    X : array of shape (n, p) of any library, in the user's units
    y, F : lists of K arrays of shape (n,) beside X
    weight : array of shape (n,) beside X, or None
    units : Units
    team : ThreadTeam
        For samples in memory.
    inputs : Inputs or None
        What the columns are made of; None if they are those of X.
    """

    def __init__(
        self,
        X: Any,
        y: list[Any],
        F: list[Any],
        weight: Any,
        units: Units,
        team: ThreadTeam,
        inputs: Inputs | None = None,
    ):
        super().__init__(y, F, weight, units)
        self.X, self.team, self._library, self._xp = X, team, library_of(X), namespace(X)
        self._inputs = inputs or Inputs.plain(int(X.shape[1]))
        self.n_rows, self.n_columns, self.n_outputs = int(X.shape[0]), len(self._inputs), len(F)
        self.eps = float(self._xp.finfo(X.dtype).eps)
        self._passes: dict[tuple[int, int], Any] = {}  # by output and number of candidates
        self._program_of: tuple[Objective, Any] | None = None
        self._standard_X: Any = None

    @cached_property
    def weight_sum(self) -> float:  # type: ignore[override]
        """The sum of the weights."""
        return total_weight(self.X, self.weight)

    def shares_passes(self, objective: Objective) -> bool:
        """Return whether the fused pass is for these rows, and reading X is most of it."""
        return self._fused_for(objective) is not None and self.n_rows * self.n_columns >= _MANY_NUMBERS

    def _fused_for(self, objective: Objective) -> Any:
        is_plain = self._center is None and self._inputs.is_plain
        return _fused_pass(objective, self.X) if is_plain else None

    def _sums(self, objective: Objective, output: int, thetas: Array, signs: Array) -> Array:
        v, d = self.units.fold(thetas[:, 1:-1], thetas[:, -1])
        folded = np.column_stack([thetas[:, 0], v, d])
        fused = self._fused_for(objective)
        if fused is None:
            return np.array([self._sums_of(objective, output, *each) for each in zip(folded, signs)])
        key = output, len(thetas)
        if key not in self._passes:
            columns = self.y[output], self.F[output], self.weight
            self._passes[key] = fused(objective, self.X, *columns, len(thetas))
        return self._passes[key](folded, signs, self.F[output])

    def _sums_of(self, objective: Objective, output: int, theta: Array, sign: float) -> Array:
        there, block_sums = self._library.argument_like(theta, self.X), self._program(objective)
        parts = [block_sums(there, float(sign), *chunk) for chunk in self._chunks(output)]
        return to_numpy(sum(parts[1:], start=parts[0])).astype(np.float64)

    def _program(self, objective: Objective) -> Any:
        if self._program_of is None or self._program_of[0] is not objective:
            self._program_of = objective, self._library.block_sums(objective)
        return self._program_of[1]

    def _joint_sums(self, objective: Objective, output: int, vector: Array, signs: Array) -> Array:
        folded = np.append(vector[0], np.column_stack(self._folded(vector)))
        there, there_signs = asarray_like(folded, self.X), asarray_like(signs, self.X)
        chunks = self._chunks(output, len(signs) + _VECTORS)
        parts = [objective.joint_sums(there, there_signs, *chunk) for chunk in chunks]
        return to_numpy(sum(parts[1:], start=parts[0])).astype(np.float64)

    def _chunks(self, output: int, n_beside: int = _VECTORS) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield parts of X, centred if need be, y, F and the weights; so many columns fit beside them."""
        is_plain = self._center is None and self._inputs.is_plain
        for rows in _chunks(self.X, n_beside if is_plain else max(n_beside, self.n_columns)):
            x, y, F = (_some(each, rows) for each in (self.X, self.y[output], self.F[output]))
            weight = None if self.weight is None else _some(self.weight, rows)
            x = self._inputs.of(x)
            yield x if self._center is None else x - self._center, y, F, weight

    @cached_property
    def _center(self) -> Any:
        return asarray_like(self.units.center, self.X) if self.units.center.any() else None

    def _loss_sum(self, loss: Loss, output: int, shift: float) -> float:
        value = loss.value(self.y[output], self.F[output] + float(shift))
        value = value if self.weight is None else value * self.weight
        return float(self._xp.sum(value, dtype=wide(self.X)))

    def add(self, learners: Ensemble, are_first: Array) -> None:
        """Add learners to the scores of their outputs; the arrays that were the scores stay as they are."""
        phi = map_device(lambda X: learners.embed(self._inputs.of(X)), self.X, self.n_columns)
        for c, output in enumerate(learners.outputs):
            step = self._standard(phi[:, c], output, are_first[c])
            self.F[output] = self.F[output] + self._xp.astype(step, self.X.dtype)

    def _scores_at(self, chosen: list[Any], output: int) -> list[Any]:
        return [self._take(self.F[output], indices) for indices in chosen]

    def sample(self, size: int, rng: np.random.Generator) -> Sample:
        """Return `size` random rows whose F follows this one's, or these rows if there are no more.

        A small sample lies in memory, where a pass over it takes less time than calls to a device.
        """
        return self if self.n_rows <= size else super().sample(size, rng)

    @cached_property
    def _eligible(self) -> Any:
        return _weighted_rows(self.weight)

    @property
    def _n_eligible(self) -> int:
        return self.n_rows if self._eligible is None else int(self._eligible.shape[0])

    def _positions(self, size: int, rng: np.random.Generator) -> IntArray:
        repeat = self._n_eligible > _MANY_ROWS and size > self._n_eligible // _SPARSE_CHOICE
        return rng.choice(self._n_eligible, size) if repeat else super()._positions(size, rng)

    def _choose(self, positions: IntArray) -> Any:
        indices = self._xp.asarray(positions, device=self.X.device)
        return indices if self._eligible is None else self._take(self._eligible, indices)

    def _rows_at(self, chosen: Any) -> MemoryRows | DeviceRows:
        X, weight = self._take(self.X, chosen), self._take(self.weight, chosen)
        y, F = ([self._take(part, chosen) for part in each] for each in (self.y, self.F))
        some = DeviceRows(self._inputs.of(X), y, F, weight, self.units, self.team)
        slow_to_call = self._library.fused_pass(X) is None and some.n_rows * self.n_columns <= _FEW_NUMBERS
        return some.in_memory() if slow_to_call else some

    def in_memory(self) -> MemoryRows:
        y, F = (np.stack([to_numpy(part) for part in each]) for each in (self.y, self.F))
        weight = None if self.weight is None else to_numpy(self.weight)
        X = self._inputs.of(np.array(to_numpy(self.X)))
        blocks, units = DenseBlocks.standardised(X, self.units)
        return MemoryRows(blocks, y, F, weight, units, self.team)

    def of_columns(self, kept: Array) -> DeviceRows:
        columns = self._xp.asarray(np.flatnonzero(kept), device=self.X.device)
        X = self._xp.take(self._inputs.of(self.X), columns, axis=1)
        rows = DeviceRows(X, self.y, self.F, self.weight, self.units.of_columns(kept), self.team)
        rows.complete = self.complete
        return rows

    def _take(self, array: Any, indices: Any) -> Any:
        return None if array is None else self._xp.take(array, indices, axis=0)

    def gauss_newton(
        self, objective: Objective, output: int, theta: Array, sign: int, least_rows: int = 0
    ) -> Array:
        """Return the Gauss-Newton matrix of the objective, or its diagonal for wide X; see `MemoryRows`."""
        some, active = every(self.n_rows, max(self._matrix_rows(), least_rows)), self.units.inverse_scale != 0
        A, y, F = self._standard_rows()[some, :], self.y[output][some], self.F[output][some]
        z = product(A, asarray_like(theta[1:], A))
        f = F + float(theta[0]) + sign * objective.activation.value(z)
        weight = self._xp.ones_like(z) if self.weight is None else self.weight[some]
        curvature = objective.loss.curvature(y, f) * weight / self._xp.sum(weight)
        along = (sign * objective.activation.slope(z))[:, None] * A
        J = self._xp.concat([self._xp.ones_like(z)[:, None], along], axis=1)
        if self.n_columns <= FULL_MATRIX_COLUMNS:
            matrix: Array = to_numpy(product(J.T, curvature[:, None] * J)).astype(np.float64)
            return matrix + objective.ridge_hessian(active)
        diagonal: Array = to_numpy(product(curvature, J * J)).astype(np.float64)
        return diagonal + objective.ridge_diagonal(active)

    def _matrix_rows(self) -> int:
        is_full = self.n_columns <= FULL_MATRIX_COLUMNS
        return matrix_rows(self.n_columns) if is_full else self.n_rows

    def _standard_rows(self) -> Any:
        """Return the rows (x, 1) in standard units; those of a sample are kept, since it is asked again."""
        if self._standard_X is not None:
            return self._standard_X
        X = self._inputs.of(self.X)
        X = (X - asarray_like(self.units.mean, X)) * asarray_like(self.units.inverse_scale, X)
        A = self._xp.concat([X, self._xp.ones_like(X[:, :1])], axis=1)
        if not self.complete:
            self._standard_X = A
        return A

    def curvature(
        self, objective: Objective, output: int, theta: Array, n_rows: int, sign: int | None = None
    ) -> Curvature:
        some = every(self.n_rows, n_rows)
        A, y, F = self._standard_rows()[some, :], self.y[output][some], self.F[output][some]
        weight = self._xp.ones_like(y) if self.weight is None else self.weight[some]
        z = product(A, asarray_like(theta[1:], A))
        f = F if sign is None else F + (float(theta[0]) + sign * objective.activation.value(z))
        slope = objective.activation.slope(z)
        share = objective.loss.curvature(y, f) * slope**2 * weight / self._xp.sum(weight)

        def times(V: Array) -> Array:
            along_z = product(A, asarray_like(V, A)) * share[:, None]
            return to_numpy(product(A.T, along_z)).astype(np.float64)

        return Curvature(len(theta) - 1, times)

    def joint_gauss_newton(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> BlockDiagonal | None:
        """Return the Gauss-Newton matrices of a and of each learner; None for wide X."""
        if self.n_columns > FULL_MATRIX_COLUMNS:
            return None
        A = self._standard_rows()
        z = product(A, asarray_like(vector[1:].reshape(len(signs), -1).T, A))
        added = product(objective.activation.value(z), asarray_like(signs, A))
        curvature = objective.loss.curvature(self.y[output], self.F[output] + float(vector[0]) + added)
        curvature = (curvature if self.weight is None else curvature * self.weight) / self.weight_sum
        shares = curvature[:, None] * objective.activation.slope(z) ** 2
        products = [product(A.T, shares[:, j, None] * A) for j in range(len(signs))]
        blocks = to_numpy(self._xp.stack(products)).astype(np.float64)
        blocks += objective.joint_ridge_hessian(self.units.inverse_scale != 0, len(signs))
        return BlockDiagonal(np.array([float(self._xp.sum(curvature))]), blocks)

    def some(self, n_rows: int, n_numbers: int) -> SomeRows:
        n_rows = max(1, min(n_rows, n_numbers // self.n_columns))
        return self._draw(n_rows, np.random.default_rng(0)).rows.in_memory().some(n_rows, n_numbers)

    def activations(self, objective: Objective, output: int, vector: Array, n_rows: int) -> RowActivations:
        few = self._draw(n_rows, np.random.default_rng(0)).rows.in_memory()
        return few.activations(objective, output, vector, n_rows)

    def _rows_to_attribute(self, n_rows: int) -> tuple[Any, Array | None]:
        X, weight = self.X, self.weight
        chosen = self.samples[0].chosen if self.samples else self._eligible
        if chosen is not None:
            X, weight = (self._take(each, chosen) for each in (X, weight))
        some = every(X.shape[0], min(n_rows, max(100, _FEW_NUMBERS // self.n_columns)))
        return to_numpy(self._inputs.of(X[some, :])), None if weight is None else to_numpy(weight[some])


def map_device(function: Any, X: Any, n_beside: int | None = None) -> Any:
    """Return ``function(X)``, computed on chunks of rows where X is."""
    parts = [function(_some(X, rows)) for rows in _chunks(X, n_beside)]
    return parts[0] if len(parts) == 1 else namespace(X).concat(parts)


def _chunks(X: Any, n_beside: int | None = None) -> Iterator[slice]:
    """Yield the parts of X beside which so many columns can be held, as many as X has unless told.

    The array API has no slices that end beyond an array.
    """
    n, length = X.shape[0], max(1, _CHUNK_NUMBERS // (n_beside or X.shape[1]))
    for i in range(0, n, length):
        yield slice(i, i + length if i + length < n else None)


def _some(array: Any, rows: slice) -> Any:
    """Return rows of an array; all of them as they are, since JAX would copy them."""
    if rows == slice(0, None):
        return array
    return array[rows] if array.ndim == 1 else array[rows, :]


def total_weight(X: Any, weight: Any) -> float:
    """Return the sum of the weights of rows."""
    return float(X.shape[0] if weight is None else namespace(X).sum(weight, dtype=wide(X)))


def _weighted_rows(weight: Any) -> Any:
    """Return the numbers of the rows that have a weight, beside them; None if all have one."""
    if weight is None:
        return None
    (numbers,) = namespace(weight).nonzero(weight)
    return None if numbers.shape[0] == weight.shape[0] else numbers


def device_moments(X: Any, weight: Any, inputs: Inputs | None = None) -> Moments:
    """Return mean and deviation of each column, from sums of differences to a point amid the data."""
    inputs = inputs or Inputs.plain(int(X.shape[1]))
    kept = _weighted_rows(weight)
    if kept is None:
        some = X[reference_positions(X.shape[0]), :]
    else:
        some = namespace(X).take(X, kept[reference_positions(kept.shape[0])], axis=0)
    reference = reference_point(to_numpy(inputs.of(some)))
    origin, sums = asarray_like(reference, X), np.zeros((2, len(inputs)))
    with np.errstate(all="ignore"):  # a column that overflows here is looked at again
        for rows in _chunks(X, len(inputs)):
            d = inputs.of(_some(X, rows)) - origin
            w = None if weight is None else _some(weight, rows)[:, None]
            for part, each in enumerate((d, d * d)):
                sums[part] += to_numpy(_column_sums(each if w is None else each * w))

    def of_column(k: int) -> tuple[float, float]:
        column = inputs.of_column(to_numpy(X[:, int(inputs.source[k])]), k)
        return careful_moments(column, None if weight is None else to_numpy(weight))

    return moments_of_columns(sums[None], total_weight(X, weight), reference, of_column)


def _column_sums(X: Any) -> Any:
    """Return the sum of each column, from those of stripes in X's type, which are short.

    Few columns alone would keep few processors busy, and sums in a wider type take a copy in PyTorch.
    """
    xp, n_whole = namespace(X), X.shape[0] - X.shape[0] % _STRIPES
    stripes = xp.reshape(X[:n_whole, :], (-1, _STRIPES * X.shape[1]))
    whole = xp.reshape(xp.sum(stripes, axis=0), (_STRIPES, -1))
    return xp.sum(whole, axis=0, dtype=wide(X)) + xp.sum(X[n_whole:, :], axis=0, dtype=wide(X))
