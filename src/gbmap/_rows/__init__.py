"""Where the data lives: the seam between the engine and arrays, threads and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, Moments, SparseBlocks
from gbmap._rows.memory import MemoryRows
from gbmap._rows.threads import ThreadTeam, effective_threads

Array = NDArray[Any]

# Products with columns of a larger size, or with the weights of one with a spread below its inverse, leave
# the range of float32.
_LARGE_FOR_FLOAT32 = 1e30
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
) -> tuple[MemoryRows, Moments]:
    """Return rows in the standard units of their own moments, and the moments of the columns.

    Parameters
    ----------
    X : C-ordered array, memory map or CSR matrix
    targets : array of shape (n, K)
    score : array of shape (n, K), or 0.0
        f_0, in the user's units like X and the targets.
    weight : array of shape (n,) or None
    team : ThreadTeam
    standardize : bool
        Whether standard units are those of mean zero and spread one, or the user's.
    residual : bool
        Whether the loss is one of y - f, so that y - f_0 can be the target, centred since a_1 is
        free, and scaled if standardising; else the scores start at f_0.
    """
    blocks = _blocks(X)
    moments = blocks.moments(weight, team)
    varies = moments.deviation > 0
    size = np.maximum(moments.deviation, np.abs(moments.mean))
    odd = varies & ((moments.deviation < 1 / _LARGE_FOR_FLOAT32) | (size > _LARGE_FOR_FLOAT32))
    if X.dtype == np.float32 and odd.any():
        X = X.astype(np.float64)
        blocks = _blocks(X)
    n_outputs = targets.shape[1]
    target_mean, target_scale = np.zeros(n_outputs), np.ones(n_outputs)
    if residual:
        target_mean = np.average(targets - score, axis=0, weights=weight)
    if residual and standardize:
        deviation = np.sqrt(np.average((targets - score - target_mean) ** 2, axis=0, weights=weight))
        target_scale = np.where(deviation > 0, deviation, 1.0)
    units = Units(
        mean=moments.mean if standardize else np.zeros_like(moments.mean),
        inverse_scale=varies / np.where(varies & standardize, moments.deviation, 1.0),
        target_mean=target_mean,
        target_scale=target_scale,
        center=moments.center(X.dtype) if isinstance(blocks, DenseBlocks) else np.zeros_like(moments.mean),
    )
    return _rows(blocks, targets, score, weight, units, team, residual), moments


def more_rows(
    X: Any, targets: Array, score: Array | float, like: MemoryRows, *, residual: bool
) -> MemoryRows:
    """Return further rows, such as those for validation, in the units of others."""
    return _rows(_blocks(X), targets, score, None, like.units, like.team, residual)


def map_rows(
    function: Callable[[Any], Array], X: Any, n_columns: int, dtype: Any, n_jobs: int | None
) -> Array:
    """Return ``function(X)`` of shape (n, n_columns), computed on chunks of rows by threads."""
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
    y, F = (np.array(each.T, dtype=blocks.dtype, order="C") for each in (y, F))
    return MemoryRows(blocks, y, F, None if weight is None else weight.astype(blocks.dtype), units, team)
