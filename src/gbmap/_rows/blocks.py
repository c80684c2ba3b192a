"""X cut into blocks of rows that fit the cache: dense (also memory-mapped) and sparse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from gbmap._rows.threads import WORTH_THREADS, ThreadTeam

Array = NDArray[Any]

# Found by trial (benchmarks/passes): blocks of 4 MB, but no fewer than 256 rows, below which the
# calls cost more than the cache gives, and no more than 32768.
_BLOCK_BYTES = 1 << 22
_BLOCK_ROWS = (256, 1 << 15)
# Large data comes in a multiple of four blocks, which two or four threads share evenly.
_BLOCKS_MULTIPLE = 4
# A column whose mean exceeds its spread so far that X's type leaves it fewer than four digits.
_DIGITS_LOST = 1e-4
# Squares of larger numbers leave the range of float64.
_LARGEST = 1e150
_SMALLEST = 1e-300


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation of each column; deviation zero if and only if constant."""

    mean: Array
    deviation: Array

    def center(self, dtype: np.dtype[Any]) -> Array:
        """Return the mean of the columns that lose too many digits unless centred, else zero."""
        risky = np.abs(self.mean) * np.finfo(dtype).eps > _DIGITS_LOST * self.deviation
        return np.where(risky & (self.deviation > 0), self.mean, 0.0).astype(dtype).astype(np.float64)


class Blocks:
    """The layout of blocks.

    It depends on the shape of X alone, and sums run over blocks in order, so that results are the
    same to the last bit for any number of threads.
    """

    def __init__(self, n_rows: int, n_columns: int, row_bytes: float, dtype: np.dtype[Any]):
        self.n_rows, self.n_columns, self.dtype = n_rows, n_columns, dtype
        low, high = _BLOCK_ROWS
        n_blocks = -(-n_rows // int(min(max(_BLOCK_BYTES // max(row_bytes, 1), low), high)))
        if n_rows * n_columns > WORTH_THREADS:
            n_blocks = -(-n_blocks // _BLOCKS_MULTIPLE) * _BLOCKS_MULTIPLE
        self.block_rows = -(-n_rows // n_blocks)
        self.n_blocks = -(-n_rows // self.block_rows)

    def bounds(self, block: int) -> tuple[int, int]:
        """Return the first row of a block, and its last one + 1."""
        return block * self.block_rows, min((block + 1) * self.block_rows, self.n_rows)


class DenseBlocks(Blocks):
    """Blocks of a C-ordered array or memory map."""

    def __init__(self, X: Array):
        n_rows, n_columns = X.shape
        super().__init__(n_rows, n_columns, n_columns * X.itemsize, X.dtype)
        self.X = X

    def get(self, i: int, j: int) -> Array:
        """Return rows i to j."""
        return self.X[i:j]

    @staticmethod
    def project(x: Array, v: Array, out: Array) -> None:
        """Write x v into `out`."""
        np.dot(x, v, out=out)

    @staticmethod
    def pull_back(r: Array, x: Array) -> Array:
        """Return r x."""
        result: Array = np.dot(r, x)
        return result

    def take(self, indices: NDArray[np.intp]) -> Array:
        """Return some rows as a new array."""
        return self.X[indices]

    def moments(self, weight: Array | None, team: ThreadTeam) -> Moments:
        """Return the moments of the columns, from one pass for all but odd columns.

        Sums are of differences from a point amid the data, so that they lose no digits. The pass
        runs in X's type; a column whose squares leave its range is looked at again in float64.
        """
        kept = range(self.n_rows) if weight is None else np.flatnonzero(weight)
        some = self.X[kept[:: max(1, len(kept) // 256)]]
        with np.errstate(invalid="ignore"):
            reference = np.median(some, axis=0).astype(self.dtype)  # no outlier moves it
        parts = np.empty((self.n_blocks, 2, self.n_columns))

        def work(blocks: Iterator[int]) -> None:
            buffer = np.empty((self.block_rows, self.n_columns), self.dtype)
            ones = np.ones(self.block_rows, self.dtype)
            for block in blocks:
                i, j = self.bounds(block)
                w, d = ones[: j - i] if weight is None else weight[i:j], buffer[: j - i]
                np.subtract(self.X[i:j], reference, out=d)
                parts[block, 0] = np.dot(w, d)
                d *= d
                parts[block, 1] = np.dot(w, d)

        with np.errstate(all="ignore"):  # what overflows here is looked at again below
            team.run(work, self.n_blocks)
            weight_sum = self.n_rows if weight is None else float(weight.sum(dtype=np.float64))
            shift, square = parts.sum(axis=0) / weight_sum
            mean, variance = reference + shift, square - shift**2
        small = np.finfo(self.dtype).tiny / np.finfo(self.dtype).eps
        deviation = np.sqrt(np.maximum(variance, 0))
        for k in np.flatnonzero(~(np.isfinite(mean) & (variance > small) & np.isfinite(variance))):
            mean[k], deviation[k] = careful_moments(self.X[:, k], weight)
        return Moments(mean, deviation)


def _check_finite(X: Any) -> None:
    with np.errstate(invalid="ignore"):  # the sum of infinities that it may take
        assert_all_finite(X, input_name="X")


def _check_size(largest: float) -> None:
    if largest > _LARGEST:
        raise ValueError(
            f"X must hold numbers of at most {_LARGEST:g} in size, got {largest:g}; rescale the column."
        )


def careful_moments(column: Array, weight: Array | None) -> tuple[float, float]:
    """Return mean and standard deviation of one column in float64, whatever its magnitude.

    A spread below the normal numbers cannot be divided by, and counts as none.
    """
    _check_finite(column)
    kept = column if weight is None else column[weight > 0]
    x, w = kept.astype(np.float64), None if weight is None else weight[weight > 0]
    low, high = float(x.min()), float(x.max())
    _check_size(max(-low, high))
    mean = float(np.average(x, weights=w))
    spread = max(high - mean, mean - low)
    if low == high or spread < _SMALLEST:
        return low, 0.0
    deviation = spread * float(np.sqrt(np.average(((x - mean) / spread) ** 2, weights=w)))
    return (mean, deviation) if deviation >= _SMALLEST else (low, 0.0)


class SparseBlocks(Blocks):
    """Blocks of a CSR matrix, as views made once; nothing is ever densified."""

    def __init__(self, X: Any):
        n_rows, n_columns = X.shape
        row_bytes = X.nnz / max(n_rows, 1) * (X.dtype.itemsize + X.indices.itemsize)
        super().__init__(n_rows, n_columns, row_bytes, X.dtype)
        self.X = X
        self._views = [self._view(*self.bounds(block)) for block in range(self.n_blocks)]

    def _view(self, i: int, j: int) -> Any:
        start, stop = self.X.indptr[i], self.X.indptr[j]
        pointers = self.X.indptr[i : j + 1] - start
        parts = (self.X.data[start:stop], self.X.indices[start:stop], pointers)
        return scipy.sparse.csr_array(parts, shape=(j - i, self.n_columns), copy=False)

    def get(self, i: int, j: int) -> Any:
        """Return rows i to j."""
        return self._views[i // self.block_rows]

    @staticmethod
    def project(x: Any, v: Array, out: Array) -> None:
        """Write x v into `out`."""
        out[...] = x @ v

    @staticmethod
    def pull_back(r: Array, x: Any) -> Array:
        """Return r x."""
        result: Array = x.T @ r
        return result

    def take(self, indices: NDArray[np.intp]) -> Any:
        """Return some rows as a new matrix."""
        return scipy.sparse.csr_array(self.X[indices])

    def moments(self, weight: Array | None, team: ThreadTeam) -> Moments:
        """Return the moments of the columns."""
        _check_finite(self.X)
        X, weights = self.X.astype(np.float64, copy=False), None
        if weight is not None:
            X, weights = X[weight > 0], weight[weight > 0].astype(np.float64)
        low, high = min_max_axis(X, axis=0)
        _check_size(max(-low.min(), high.max()))
        mean, variance = mean_variance_axis(X, axis=0, weights=weights)
        deviation = np.where(low == high, 0.0, np.sqrt(np.maximum(variance, 0.0)))
        return Moments(np.where(low == high, low, mean), deviation)
