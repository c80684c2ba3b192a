"""X cut into blocks of rows that fit the cache: dense (also memory-mapped) and sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from gbmap._core.input_writer import InputWriter
from gbmap._core.inputs import Inputs
from gbmap._core.units import Units
from gbmap._rows.moments import (
    Moments,
    check_finite,
    check_size,
    column_moments,
    moments_of_columns,
    reference_point,
    reference_positions,
    weight_total,
)
from gbmap._rows.threads import WORTH_THREADS, ThreadTeam
from gbmap._utils.typing import Array, IntArray

# Found by trial (benchmarks/passes): blocks of 4 MB, but no fewer than 256 rows, below which the
# calls cost more than the cache gives, and no more than 32768.
_BLOCK_BYTES = 1 << 22
_BLOCK_ROWS = (256, 1 << 15)
# Large data comes in a multiple of four blocks, which two or four threads share evenly.
_BLOCKS_MULTIPLE = 4
# What is made of a block's columns is made of so many bytes at a time.
_PIECE_BYTES = 1 << 20
# If that is no more than this of all rows, as the largest sample may have, it is made once.
_KEPT_BYTES = 1 << 26


class Blocks:
    """The layout of blocks.

    It depends on the shape of X alone, and sums run over blocks in order, so that results are the
    same to the last bit for any number of threads. Rows that are a part of others keep their `block_rows`.
    """

    is_dense = True  # so that a matrix of products of its columns is worth while

    def __init__(self, n_rows: int, n_columns: int, dtype: np.dtype[Any], block_rows: int):
        self.n_rows, self.n_columns, self.dtype, self.block_rows = n_rows, n_columns, dtype, block_rows
        self.n_blocks = -(-n_rows // self.block_rows)

    def each(self, function: Callable[..., Any], numbers: Array, weight: Array | None, *args: Any) -> Array:
        """Return ``function(numbers, weight, *args)`` of the blocks, in order."""
        spans = [slice(*self.bounds(block)) for block in range(self.n_blocks)]
        return np.array([function(numbers[s], None if weight is None else weight[s], *args) for s in spans])

    def weight_sum(self, weight: Array | None) -> float:
        """Return the total weight."""
        return float(self.n_rows if weight is None else self.each(weight_total, weight, None).sum())

    def bounds(self, block: int) -> tuple[int, int]:
        """Return the first row of a block, and its last one + 1."""
        return block * self.block_rows, min((block + 1) * self.block_rows, self.n_rows)

    def pieces(self, block: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield the bounds of parts of a block that have at most so many rows."""
        start, stop = self.bounds(block)
        for i in range(start, stop, most):
            yield i, min(i + most, stop)


def layout_of(n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> int:
    """Return how many rows of a dense matrix make a block."""
    return _block_rows(n_rows, n_columns, n_columns * dtype.itemsize)


def _block_rows(n_rows: int, n_columns: int, row_bytes: float) -> int:
    low, high = _BLOCK_ROWS
    n_blocks = -(-n_rows // int(min(max(_BLOCK_BYTES // max(row_bytes, 1), low), high)))
    if n_rows * n_columns > WORTH_THREADS:
        n_blocks = -(-n_blocks // _BLOCKS_MULTIPLE) * _BLOCKS_MULTIPLE
    return -(-n_rows // n_blocks)


def are_read(n_rows: int, inputs: Inputs, dtype: np.dtype[Any]) -> bool:
    """Return whether inputs of so many rows are made as they are read, told from the middle of their column.

    Fewer are made once; float32 may not hold them.
    """
    is_worth_while = _are_many(n_rows, inputs, dtype)
    return is_worth_while and not inputs.is_plain and (dtype != np.float32 or inputs.fits_float32)


def _are_many(n_rows: int, inputs: Inputs, dtype: np.dtype[Any]) -> bool:
    return n_rows * len(inputs) * dtype.itemsize > _KEPT_BYTES


def pass_dtype(n_rows: int, inputs: Inputs, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of passes over so many rows of a type, if float32 has enough digits.

    It has where columns are told from their middle.
    """
    is_single = are_read(n_rows, inputs, dtype) and inputs.fits_float32
    return np.dtype(np.float32) if is_single else dtype


def may_be_part(size: int, n_rows: int, inputs: Inputs, dtype: np.dtype[Any]) -> bool:
    """Return whether some of so many rows may be copied, whose inputs are made as they are read."""
    return are_read(n_rows, inputs, dtype) and size * inputs.n_columns * dtype.itemsize <= _KEPT_BYTES


class DenseBlocks(Blocks):
    """Blocks of a C-ordered array or memory map, or of inputs that are made of its columns as they are read.

    The layout is that of the array. Where more is made of its columns, blocks are visited by pieces. Of rows
    that are a part of others, the number of these tells whether inputs are kept: products of kept ones, which
    lie row by row, and of others differ in the last bits. Those that are not kept are read in the type
    that is asked for; all else is in that of the array.

    Attributes
    ----------
    shift : array of shape (q,) or None
        What `read` adds to the inputs.
    """

    shift: Array | None = None
    _kept: Array | None = None
    _writer: InputWriter | None = None

    def __init__(
        self,
        X: Array,
        block_rows: int | None = None,
        inputs: Inputs | None = None,
        n_all_rows: int | None = None,
        dtype: np.dtype[Any] | None = None,
    ):
        n_rows, n_columns = X.shape
        self.X, self.inputs = X, Inputs.plain(n_columns) if inputs is None else inputs
        block_rows = block_rows or layout_of(n_rows, n_columns, X.dtype)
        super().__init__(n_rows, len(self.inputs), dtype or X.dtype, block_rows)
        self.piece_rows = block_rows
        if not self.inputs.is_plain:
            row_bytes = len(self.inputs) * self.dtype.itemsize
            self.piece_rows = min(block_rows, max(_PIECE_BYTES // row_bytes, _BLOCK_ROWS[0]))
            if are_read(n_all_rows or n_rows, self.inputs, X.dtype):
                self._writer = InputWriter.of(self.inputs, self.dtype, X.dtype, from_middle=True)
                self.shift = self._writer.shift
            elif not _are_many(n_all_rows or n_rows, self.inputs, X.dtype):
                self._kept = np.ascontiguousarray(self.inputs.of(X))

    def in_pass_dtype(self) -> DenseBlocks:
        """Return the same blocks, read in the type of passes."""
        dtype = pass_dtype(self.n_rows, self.inputs, self.dtype)
        return self if dtype == self.dtype else DenseBlocks(self.X, self.block_rows, self.inputs, dtype=dtype)

    def buffer(self, n_rows: int) -> Array:
        """Return the room that `read` needs for so many rows."""
        return np.empty(0 if self._writer is None else n_rows * self.n_columns, self.dtype)

    def read(self, i: int, j: int, buffer: Array) -> Array:
        """Return rows i to j as passes take them: plus `shift`, and maybe in the buffer."""
        if self._writer is None:
            return self.get(i, j)
        out = buffer[: (j - i) * self.n_columns].reshape(self.n_columns, j - i)
        return self._writer.write(self.X[i:j], out, self._lows).T

    @cached_property
    def _lows(self) -> Array | None:
        return None if self._writer is None else self._writer.lows(self.piece_rows)

    def get(self, i: int, j: int) -> Array:
        """Return rows i to j."""
        if self.inputs.is_plain:
            return self.X[i:j]
        made: Array = self.inputs.of(self.X[i:j]) if self._kept is None else self._kept[i:j]
        return made

    def rows_at(self, indices: IntArray) -> Array:
        """Return some rows, copied."""
        rows = self.X[indices]
        return rows if self.inputs.is_plain else np.ascontiguousarray(self.inputs.of(rows))

    @staticmethod
    def project(x: Array, v: Array, out: Array) -> None:
        """Write x v into `out`."""
        x.dot(v, out)

    @staticmethod
    def pull_back(r: Array, x: Array) -> Array:
        """Return r x."""
        return r.dot(x)

    def center(self, units: Units) -> Array | None:
        """Return what is to be subtracted from rows before they are multiplied, if anything is."""
        return units.center.astype(self.dtype) if units.center.any() else None

    def sample(self, indices: IntArray, units: Units, dtype: np.dtype[Any]) -> tuple[DenseBlocks, Units]:
        """Return some rows of a type, copied, in standard units, and the units that they have then."""
        shape = len(indices), self.n_columns
        return self.sample_of(lambda some: self.rows_at(indices[some]), shape, units, dtype)

    @classmethod
    def sample_of(
        cls,
        rows_at: Callable[[slice], Array],
        shape: tuple[int, int],
        units: Units,
        dtype: np.dtype[Any],
    ) -> tuple[DenseBlocks, Units]:
        """Return the same of rows that are copied a few at a time, so that these stay in the cache."""
        out = np.empty(shape, dtype)
        n_each = max(_PIECE_BYTES // (8 * shape[1]), _BLOCK_ROWS[0])
        for i in range(0, len(out), n_each):
            some = slice(i, i + n_each)
            out[some] = cls.standardised(rows_at(some), units)[0].X
        return cls(out), units.of_standard_rows()

    @staticmethod
    def standardised(X: Array, units: Units) -> tuple[DenseBlocks, Units]:
        """Bring an array to standard units in place, in its own type, and return its blocks and units."""
        coarse_mean = units.mean.astype(X.dtype)
        X -= coarse_mean
        X -= (units.mean - coarse_mean).astype(X.dtype)  # what the type could not hold of the mean
        X *= units.inverse_scale.astype(X.dtype)
        return DenseBlocks(X), units.of_standard_rows()

    def moments(self, weight: Array | None, team: ThreadTeam) -> Moments:
        """Return the moments of the columns, from one pass for all but odd columns.

        Sums are of differences from a point amid the data, so that they lose no digits. The pass
        runs in X's type; a column whose squares leave its range is looked at again in float64.
        """
        kept = range(self.n_rows) if weight is None else np.flatnonzero(weight)
        reference = reference_point(self.rows_at(np.asarray(kept[reference_positions(len(kept))])))
        sums = self.shifted_sums(reference, weight, team)

        def of_column(k: int) -> tuple[float, float]:
            column = self.inputs.of_column(self.X[:, self.inputs.source[k]], k)
            return column_moments(
                lambda function, *args: self.each(function, column, weight, *args), weight_sum
            )

        weight_sum = self.weight_sum(weight)
        return moments_of_columns(sums, weight_sum, reference, of_column)

    def shifted_sums(self, reference: Array, weight: Array | None, team: ThreadTeam) -> Array:
        """Return the sums over each block of x - reference and of its square, (n_blocks, 2, p)."""
        parts = np.empty((self.n_blocks, 2, self.n_columns))

        def work(blocks: Iterator[int]) -> None:
            buffer = np.empty((self.piece_rows, self.n_columns), self.X.dtype)
            ones = np.ones(self.piece_rows, self.X.dtype)
            for block in blocks:
                parts[block] = 0.0
                for i, j in self.pieces(block, self.piece_rows):
                    w, d = ones[: j - i] if weight is None else weight[i:j], buffer[: j - i]
                    np.subtract(self.get(i, j), reference, out=d)
                    parts[block, 0] += np.dot(w, d)
                    d *= d
                    parts[block, 1] += np.dot(w, d)

        with np.errstate(all="ignore"):  # a column that overflows here is looked at again
            team.run(work, self.n_blocks)
        return parts

    def has_missing(self, team: ThreadTeam) -> Array:
        """Return which columns of the array have NaN somewhere, (p,)."""
        sums = np.empty((self.n_blocks, self.X.shape[1]))

        def work(blocks: Iterator[int]) -> None:
            ones = np.ones(self.block_rows, self.X.dtype)
            for block in blocks:
                i, j = self.bounds(block)
                sums[block] = np.dot(ones[: j - i], self.X[i:j])

        with np.errstate(all="ignore"):
            team.run(work, self.n_blocks)
        found: Array = np.logical_not(np.isfinite(sums).all(axis=0))
        for k in np.flatnonzero(found):  # numbers may add up to infinity, or have it among them
            found[k] = np.isnan(self.X[:, k]).any()
        return found


class SparseBlocks(Blocks):
    """Blocks of a CSR matrix, as views made once; nothing is ever densified, and nothing bends."""

    is_dense, shift = False, None

    def __init__(self, X: Any):
        n_rows, n_columns = X.shape
        row_bytes = X.nnz / max(n_rows, 1) * (X.dtype.itemsize + X.indices.itemsize)
        super().__init__(n_rows, n_columns, X.dtype, _block_rows(n_rows, n_columns, row_bytes))
        self.X = X
        self._views = [self._view(*self.bounds(block)) for block in range(self.n_blocks)]

    def _view(self, i: int, j: int) -> Any:
        start, stop = self.X.indptr[i], self.X.indptr[j]
        pointers = self.X.indptr[i : j + 1] - start
        parts = (self.X.data[start:stop], self.X.indices[start:stop], pointers)
        return scipy.sparse.csr_array(parts, shape=(j - i, self.n_columns), copy=False)

    @property
    def piece_rows(self) -> int:
        """The rows that are visited at a time."""
        return self.block_rows

    def buffer(self, n_rows: int) -> Array:
        """Return the room that `read` needs, which is none."""
        return np.empty(0, self.dtype)

    def read(self, i: int, j: int, buffer: Array) -> Any:
        """Return rows i to j as passes take them."""
        return self.get(i, j)

    def get(self, i: int, j: int) -> Any:
        """Return rows i to j."""
        return self._views[i // self.block_rows]

    def rows_at(self, indices: IntArray) -> Any:
        """Return some rows, copied."""
        return self.X[indices]

    def has_missing(self, team: ThreadTeam) -> Array:
        """Return that no column has missing values, which sparse rows are refused for."""
        return np.zeros(self.n_columns, dtype=bool)

    @staticmethod
    def project(x: Any, v: Array, out: Array) -> None:
        """Write x v into `out`."""
        out[...] = x @ v

    @staticmethod
    def pull_back(r: Array, x: Any) -> Array:
        """Return r x."""
        return x.T @ r

    def pieces(self, block: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield the bounds of the block: its view is not cut further."""
        yield self.bounds(block)

    def center(self, units: Units) -> None:
        """Return None: nothing is subtracted from sparse rows."""

    def sample(self, indices: IntArray, units: Units, dtype: np.dtype[Any]) -> tuple[SparseBlocks, Units]:
        """Return some rows, copied, and their units, which stay, as their type does."""
        return SparseBlocks(scipy.sparse.csr_array(self.X[indices])), units

    def moments(self, weight: Array | None, team: ThreadTeam) -> Moments:
        """Return the moments of the columns."""
        check_finite(self.X)
        X, weights = self.X.astype(np.float64, copy=False), None
        if weight is not None:
            X, weights = X[weight > 0], weight[weight > 0].astype(np.float64)
        low, high = min_max_axis(X, axis=0)
        check_size(max(-low.min(), high.max()))
        mean, variance = mean_variance_axis(X, axis=0, weights=weights)
        deviation = np.where(low == high, 0.0, np.sqrt(np.maximum(variance, 0.0)))
        return Moments(np.where(low == high, low, mean), deviation)
