"""Where the data lives: the seam between the engine and arrays, threads and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from gbmap._core.arrays import beside, is_foreign, namespace, to_numpy
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, Moments, SparseBlocks
from gbmap._rows.device import DeviceRows, device_moments, map_device, target_moments
from gbmap._rows.memory import LARGE_TO_SQUARE, MemoryRows
from gbmap._rows.threads import ThreadTeam, effective_threads

Array = NDArray[Any]

# Products with columns of a larger size, or with the weights of one with a spread below its inverse, leave
# the range of float32.
_LARGE_FOR_FLOAT32 = 1e30
_NO_SHARE = 1e-30  # far below the share of rounding
_CHUNK_NUMBERS = 1 << 18  # per chunk of `map_rows`: its temporaries stay in the cache


def as_rows(
    X: Any,
    targets: Array,
    score: Array | float,
    weight: Array | None,
    team: ThreadTeam,
    *,
    standardize: bool,
    residual: bool,
    ridge: float | None = None,
) -> tuple[MemoryRows | DeviceRows, Moments, Array]:
    """Return rows in their own standard units, and the spread of their columns and of y - f_0.

    The last is one for every output whose loss is not one of y - f.

    Parameters
    ----------
    X : C-ordered array, memory map, CSR matrix or array of another library
    targets : array of shape (n, K), beside X if that is of another library
    score : array of shape (n, K), or 0.0
        f_0, in the user's units like X and the targets.
    weight : array of shape (n,) or None
    team : ThreadTeam
    standardize : bool
        Whether standard units are those of mean zero and spread one, or the user's.
    residual : bool
        Whether the loss is one of y - f, so that y - f_0 can be the target, centred since a_1 is
        free, and scaled if standardising; else the scores start at f_0.
    ridge : float or None, default=None
        lambda of a ridge term in the user's units. The columns are standardised for it all the same, since
        no solver gets on with columns of any mean and spread.
    """
    if is_foreign(X):
        return _as_device_rows(X, targets, score, weight, team, standardize, residual, ridge)
    blocks = _blocks(X)
    moments = blocks.moments(weight, team)
    varies = moments.deviation > 0
    size = np.maximum(moments.deviation, np.abs(moments.mean))
    odd = varies & ((moments.deviation < 1 / _LARGE_FOR_FLOAT32) | (size > _LARGE_FOR_FLOAT32))
    if X.dtype == np.float32 and odd.any():
        X = X.astype(np.float64)
        blocks = _blocks(X)
    target_mean, target_deviation = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
    if residual:
        target_mean, target_deviation = _target_moments(targets - score, weight)
    mean, inverse_scale = _column_units(moments, standardize, ridge)
    units = Units(
        mean=mean,
        inverse_scale=inverse_scale,
        target_mean=target_mean,
        target_scale=target_deviation if standardize else np.ones_like(target_deviation),
        center=moments.center(X.dtype) if isinstance(blocks, DenseBlocks) else np.zeros_like(moments.mean),
    )
    return _rows(blocks, targets, score, weight, units, team, residual), moments, target_deviation


def _as_device_rows(
    X: Any,
    targets: Any,
    score: Array | float,
    weight: Array | None,
    team: ThreadTeam,
    standardize: bool,
    residual: bool,
    ridge: float | None,
) -> tuple[DeviceRows, Moments, Array]:
    """Do the same where the data is."""
    weight = None if weight is None else beside(weight, X)
    moments = device_moments(X, weight)
    target_mean, target_deviation = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
    if residual:
        target_mean, target_deviation = target_moments(_less(targets, score), weight)
    mean, inverse_scale = _column_units(moments, standardize, ridge)
    units = Units(
        mean=mean,
        inverse_scale=inverse_scale,
        target_mean=target_mean,
        target_scale=target_deviation if standardize else np.ones_like(target_deviation),
        center=moments.center(to_numpy(X[:1, :1]).dtype),
    )
    return _device_rows(X, targets, score, weight, units, team, residual), moments, target_deviation


def _less(targets: Any, score: Array | float) -> Any:
    return targets - (beside(score, targets) if isinstance(score, np.ndarray) else score)


def _device_rows(
    X: Any, targets: Any, score: Array | float, weight: Any, units: Units, team: ThreadTeam, residual: bool
) -> DeviceRows:
    xp = namespace(X)
    y, F = targets, xp.zeros_like(targets)
    if residual:
        y = (_less(targets, score) - beside(units.target_mean, targets)) / beside(units.target_scale, targets)
    elif isinstance(score, np.ndarray):
        F = beside(np.broadcast_to(score, targets.shape), targets)
    y, F = ([xp.astype(each[:, k], X.dtype) for k in range(targets.shape[1])] for each in (y, F))
    return DeviceRows(X, y, F, weight, units, team)


def more_rows(
    X: Any,
    targets: Array,
    score: Array | float,
    weight: Array | None,
    like: MemoryRows | DeviceRows,
    *,
    residual: bool,
) -> MemoryRows | DeviceRows:
    """Return further rows, such as those for validation, in the units of others."""
    if isinstance(like, DeviceRows):
        weight = None if weight is None else beside(weight, X)
        return _device_rows(X, targets, score, weight, like.units, like.team, residual)
    return _rows(_blocks(X), targets, score, weight, like.units, like.team, residual)


def map_rows(
    function: Callable[[Any], Array], X: Any, n_columns: int, dtype: Any, n_jobs: int | None
) -> Array:
    """Return ``function(X)`` of shape (n, n_columns), computed on chunks of rows by threads, or where X is.

    Floats are those of X in another library, whatever `dtype`.
    """
    if is_foreign(X):
        return map_device(function, X)  # type: ignore[no-any-return]
    n, p = X.shape
    chunk = max(1, _CHUNK_NUMBERS // max(p, n_columns))
    out = np.empty((n, n_columns), dtype)

    def work(chunks: Iterator[int]) -> None:
        for c in chunks:
            rows = slice(c * chunk, (c + 1) * chunk)
            out[rows] = function(X[rows])

    with ThreadTeam(effective_threads(n_jobs, n * max(p, n_columns))) as team:
        team.run(work, -(-n // chunk))
    return out


def _column_units(moments: Moments, standardize: bool, ridge: float | None) -> tuple[Array, Array]:
    """Return what to subtract from each column and what to multiply it with, zero if it is constant."""
    mean, scale, varies = moments.mean, moments.deviation, moments.deviation > 0
    if ridge is not None:  # let the data and the ridge term together curve the objective by about one
        scale = np.hypot(scale, np.sqrt(2 * ridge / (varies.sum() + 1)) * np.hypot(1, mean))
    elif not standardize:
        mean, scale = np.zeros_like(mean), np.ones_like(scale)
    return mean, varies / np.where(varies, scale, 1.0)


def _target_moments(y: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return mean and deviation of each target, of any magnitude; one where a target is constant.

    That is, where all rows are equal but those whose weight is next to nothing.
    """
    difference = y - y[0]  # exactly zero if constant
    size = np.abs(difference).max(axis=0)
    difference /= np.where(size > 0, size, 1.0)
    mean = np.average(difference, axis=0, weights=weight)
    deviation = size * np.sqrt(np.average((difference - mean) ** 2, axis=0, weights=weight))
    mean = y[0] + size * mean
    return mean, np.where(deviation > _NO_SHARE * np.abs(mean), deviation, 1.0)


def _blocks(X: Any) -> DenseBlocks | SparseBlocks:
    return SparseBlocks(X) if scipy.sparse.issparse(X) else DenseBlocks(X)


def _fits_float32(y: Array, F: Array) -> bool:
    """Return whether squares of targets and scores stay in the range of float32."""
    largest_y, largest_F = (max(each.max(), -each.min()) for each in (y, F))
    fits = largest_F < LARGE_TO_SQUARE and 1 / LARGE_TO_SQUARE < (largest_y or 1.0) < LARGE_TO_SQUARE
    return bool(fits)


def _rows(
    blocks: DenseBlocks | SparseBlocks,
    targets: Array,
    score: Array | float,
    weight: Array | None,
    units: Units,
    team: ThreadTeam,
    residual: bool,
) -> MemoryRows:
    y = (targets - score - units.target_mean) / units.target_scale if residual else targets
    F = np.broadcast_to(0.0 if residual else score, targets.shape)
    if blocks.dtype == np.float32 and not _fits_float32(y, F):
        blocks = _blocks(blocks.X.astype(np.float64))
    y, F = (np.array(each.T, dtype=blocks.dtype, order="C") for each in (y, F))
    return MemoryRows(blocks, y, F, None if weight is None else weight.astype(blocks.dtype), units, team)
