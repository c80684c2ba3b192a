"""Where the data lives: the seam between the engine and arrays, threads and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._core.arrays import asarray_like, in_wide, is_foreign, namespace, to_numpy
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, SparseBlocks
from gbmap._rows.dask import DaskRows, DaskTable, dask_rows, more_dask_rows
from gbmap._rows.device import DeviceRows, device_moments, map_device, total_weight
from gbmap._rows.memory import MemoryRows, fits_float32, largest
from gbmap._rows.moments import Moments, standard_units, target_moments
from gbmap._rows.threads import ThreadTeam, effective_threads
from gbmap._utils.typing import Array

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
) -> tuple[MemoryRows | DeviceRows | DaskRows, Moments, Array]:
    """Return rows in their own standard units, and the spread of their columns and of y - f_0.

    The last is one for every output whose loss is not one of y - f.

    Parameters
    ----------
    X : C-ordered array, memory map, CSR matrix, array of another library or DaskTable
        The last has its targets, scores and weights with it, and what is passed for those is left aside.
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
    if isinstance(X, DaskTable):
        return dask_rows(X, team, standardize=standardize, residual=residual, ridge=ridge)
    if is_foreign(X):
        return _as_device_rows(X, targets, score, weight, team, standardize, residual, ridge)
    blocks = _blocks(X)
    moments = blocks.moments(weight, team)
    if X.dtype == np.float32 and not moments.fit_float32:
        X = X.astype(np.float64)
        blocks = _blocks(X)
    target_mean, target_deviation = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
    if residual:
        y = targets - score
        target_mean, target_deviation = target_moments(
            lambda function, *args: blocks.each(function, y, weight, *args), blocks.weight_sum(weight)
        )
    center = moments.center(X.dtype) if isinstance(blocks, DenseBlocks) else np.zeros_like(moments.mean)
    units = standard_units(
        moments, target_mean, target_deviation, center, standardize=standardize, ridge=ridge
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
    weight = None if weight is None else asarray_like(weight, X)
    moments = device_moments(X, weight)
    if not moments.fit_float32:
        X = in_wide(X)
    target_mean, target_deviation = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
    if residual:
        y = _less(targets, score)
        target_mean, target_deviation = target_moments(
            lambda function, *args: np.array([function(y, weight, *args)], np.float64),
            total_weight(X, weight),
        )
    center = moments.center(to_numpy(X[:1, :1]).dtype)
    units = standard_units(
        moments, target_mean, target_deviation, center, standardize=standardize, ridge=ridge
    )
    return _device_rows(X, targets, score, weight, units, team, residual), moments, target_deviation


def _less(targets: Any, score: Array | float) -> Any:
    return targets - (asarray_like(score, targets) if isinstance(score, np.ndarray) else score)


def _device_rows(
    X: Any, targets: Any, score: Array | float, weight: Any, units: Units, team: ThreadTeam, residual: bool
) -> DeviceRows:
    xp = namespace(X)
    y, F = targets, xp.zeros_like(targets)
    if residual:
        y = (_less(targets, score) - asarray_like(units.target_mean, targets)) / asarray_like(
            units.target_scale, targets
        )
    elif isinstance(score, np.ndarray):
        F = asarray_like(score, targets)
    if not fits_float32(*(float(xp.max(xp.abs(each))) for each in (y, F))):
        X = in_wide(X)
        if X.dtype == xp.float32:
            raise ValueError(
                "y and init must be 0 or from 1e-15 to 1e15 in size where X's library computes in float32; "
                "rescale them, or switch on its 64-bit mode."
            )
    y, F = ([xp.astype(each[:, k], X.dtype) for k in range(targets.shape[1])] for each in (y, F))
    return DeviceRows(X, y, F, weight, units, team)


def more_rows(
    X: Any,
    targets: Array,
    score: Array | float,
    weight: Array | None,
    like: MemoryRows | DeviceRows | DaskRows,
    *,
    residual: bool,
) -> MemoryRows | DeviceRows | DaskRows:
    """Return further rows, such as those for validation, in the units of others."""
    if isinstance(X, DaskTable):
        return more_dask_rows(X, like.units, like.team, residual=residual)
    if isinstance(like, DeviceRows):
        weight = None if weight is None else asarray_like(weight, X)
        return _device_rows(X, targets, score, weight, like.units, like.team, residual)
    return _rows(_blocks(X), targets, score, weight, like.units, like.team, residual)


def map_rows(
    function: Callable[[Any], Array],
    X: Any,
    n_columns: int,
    dtype: Any,
    n_jobs: int | None,
    *,
    densifies: bool = False,
) -> Array:
    """Return ``function(X)`` of shape (n, n_columns), computed on chunks of rows by threads, or where X is.

    Floats are those of X in another library, whatever `dtype`. `densifies` tells that the function makes
    sparse rows dense, which then have to be few.
    """
    if is_foreign(X):
        return map_device(function, X)  # type: ignore[no-any-return]
    n, p = X.shape
    stays_sparse = scipy.sparse.issparse(X) and not densifies
    width = max(X.nnz // max(n, 1) if stays_sparse else p, n_columns, 1)
    chunk = max(1, _CHUNK_NUMBERS // width)
    out = np.empty((n, n_columns), dtype)

    def work(chunks: Iterator[int]) -> None:
        for c in chunks:
            rows = slice(c * chunk, (c + 1) * chunk)
            out[rows] = function(X[rows])

    with ThreadTeam(effective_threads(n_jobs, n * width)) as team:
        team.run(work, -(-n // chunk))
    return out


def _blocks(X: Any) -> DenseBlocks | SparseBlocks:
    return SparseBlocks(X) if scipy.sparse.issparse(X) else DenseBlocks(X)


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
    if blocks.dtype == np.float32 and not fits_float32(largest(y), largest(F)):
        blocks = _blocks(blocks.X.astype(np.float64))
    y, F = (np.array(each.T, dtype=blocks.dtype, order="C") for each in (y, F))
    return MemoryRows(blocks, y, F, None if weight is None else weight.astype(blocks.dtype), units, team)
