"""From rows in the user's units to rows in standard units, wherever they live."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse

from gbmap._core.arrays import asarray_like, in_wide, namespace, to_numpy
from gbmap._core.inputs import ColumnSample, Inputs
from gbmap._core.rows import Rows
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, SparseBlocks
from gbmap._rows.device import DeviceRows, device_moments, total_weight
from gbmap._rows.memory import MemoryRows, by_output, fits_float32, largest, standard_columns
from gbmap._rows.moments import Moments, standard_units, target_moments
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.sampling import sample_rows
from gbmap._utils.typing import Array, IntArray


class Table(Protocol):
    """X, targets, f_0 and weights in the user's units."""

    @property
    def n_outputs(self) -> int:
        """K."""

    def column_sample(self, size: int, rng: np.random.Generator, team: ThreadTeam) -> ColumnSample:
        """Return what random rows tell of X, or all if there are no more."""

    def with_inputs(self, inputs: Inputs) -> Self:
        """Return the same with columns that are made of those of X."""

    def moments(self, team: ThreadTeam) -> Moments:
        """Return mean and deviation of the columns, and refuse what is not finite."""

    def target_moments(self) -> tuple[Array, Array]:
        """Return mean and deviation of the targets less f_0."""

    def center(self, moments: Moments) -> Array:
        """Return what to subtract from X before it is multiplied; see `Units`."""

    def in_float64(self) -> Self:
        """Return the same with X in float64, if it is in float32."""

    def in_units(self, units: Units, team: ThreadTeam, *, residual: bool, may_narrow: bool = False) -> Rows:
        """Return rows in given units, whose targets are y - f_0, or whose scores start at f_0.

        Passes over them may be in float32 where that is worth while, if it is said.
        """


@dataclass(frozen=True)
class Standardised:
    """Rows in standard units of their own, and what was found on the way.

    Attributes
    ----------
    rows : Rows
    moments : Moments
        Of the columns of X.
    target_deviation : array of shape (K,)
        The spread of y - f_0; one for every output whose loss is not one of y - f.
    """

    rows: Any
    moments: Moments
    target_deviation: Array


def in_standard_units(
    table: Table,
    team: ThreadTeam,
    *,
    standardize: bool,
    residual: bool,
    ridge: float | None = None,
    shares: Array | float = 1.0,
    may_narrow: bool = False,
) -> Standardised:
    """Return rows in their own standard units.

    Parameters
    ----------
    table : Table
    team : ThreadTeam
    standardize : bool
        Whether standard units are those of mean zero and spread one, or the user's.
    residual : bool
        Whether the loss is one of y - f, so that y - f_0 can be the target, centred since a_1 is
        free, and scaled if standardising; else the scores start at f_0.
    ridge : float or None, default=None
        lambda of a ridge term in the user's units. The columns are standardised for it all the same, since
        no solver gets on with columns of any mean and spread.
    shares : array of shape (p,) or float, default=1.0
        What share of the spread of each column counts as one, if standardising.
    may_narrow : bool, default=False
        Whether the digits of float32 do for passes over the rows, where that is worth while.
    """
    moments = table.moments(team)
    if not moments.fit_float32:
        table, may_narrow = table.in_float64(), False
    target_mean, target_deviation = np.zeros(table.n_outputs), np.ones(table.n_outputs)
    if residual:
        target_mean, target_deviation = table.target_moments()
    counted = replace(moments, deviation=moments.deviation * shares) if standardize else moments
    units = standard_units(
        counted, target_mean, target_deviation, table.center(moments), standardize=standardize, ridge=ridge
    )
    rows = table.in_units(units, team, residual=residual, may_narrow=may_narrow)
    return Standardised(rows, moments, target_deviation)


@dataclass(frozen=True)
class MemoryTable:
    """The same in memory.

    Attributes
    ----------
    X : C-ordered array, memory map or CSR matrix
    targets : array of shape (n, K)
    score : array of shape (n, K), or 0.0
        f_0.
    weight : array of shape (n,) or None
    """

    X: Any
    targets: Array
    score: Array | float = 0.0
    weight: Array | None = None
    inputs: Inputs | None = None

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    @cached_property
    def blocks(self) -> DenseBlocks | SparseBlocks:
        """X in blocks."""
        if scipy.sparse.issparse(self.X):
            return SparseBlocks(self.X)
        return DenseBlocks(self.X, inputs=self.inputs)

    def column_sample(self, size: int, rng: np.random.Generator, team: ThreadTeam) -> ColumnSample:
        kept = _sample_rows(self.weight, len(self.targets), size, rng)
        weight = np.ones(len(kept)) if self.weight is None else self.weight[kept]
        return ColumnSample(self.X[kept], weight, self.blocks.has_missing(team))

    def with_inputs(self, inputs: Inputs) -> MemoryTable:
        return replace(self, inputs=inputs)

    def moments(self, team: ThreadTeam) -> Moments:
        return self.blocks.moments(self.weight, team)

    def target_moments(self) -> tuple[Array, Array]:
        blocks, y = self.blocks, self.targets - self.score
        return target_moments(
            lambda function, *args: blocks.each(function, y, self.weight, *args),
            blocks.weight_sum(self.weight),
        )

    def center(self, moments: Moments) -> Array:
        """Return what to subtract from dense rows; sparse ones stay sparse."""
        return np.zeros_like(moments.mean) if scipy.sparse.issparse(self.X) else moments.center(self.X.dtype)

    def in_float64(self) -> MemoryTable:
        return replace(self, X=self.X.astype(np.float64, copy=False))

    def in_units(
        self, units: Units, team: ThreadTeam, *, residual: bool, may_narrow: bool = False
    ) -> MemoryRows:
        y, F = standard_columns(self.targets, self.score, units, residual)
        fits = fits_float32(largest(y), largest(F))
        blocks = (self if fits or self.X.dtype != np.float32 else self.in_float64()).blocks
        if fits and may_narrow and isinstance(blocks, DenseBlocks):
            blocks = blocks.in_pass_dtype()
        y, F = (by_output(each, blocks.dtype) for each in (y, F))
        weight = None if self.weight is None else self.weight.astype(blocks.dtype)
        return MemoryRows(blocks, y, F, weight, units, team)


@dataclass(frozen=True)
class DeviceTable:
    """The same as arrays of another library than NumPy.

    Attributes
    ----------
    X : array of shape (n, p)
    targets : array of shape (n, K) beside X
    score : array of NumPy's of shape (n, K), or 0.0
        f_0.
    weight : array of shape (n,) beside X, or None
    """

    X: Any
    targets: Any
    score: Array | float = 0.0
    weight: Any = None
    inputs: Inputs | None = None

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    def column_sample(self, size: int, rng: np.random.Generator, team: ThreadTeam) -> ColumnSample:
        xp, weight = namespace(self.X), None if self.weight is None else to_numpy(self.weight)
        kept = _sample_rows(weight, int(self.X.shape[0]), size, rng)
        X = to_numpy(xp.take(self.X, xp.asarray(kept, device=self.X.device), axis=0))
        missing = to_numpy(xp.any(xp.isnan(self.X), axis=0))
        weights = np.ones(len(X)) if weight is None else weight[kept].astype(np.float64)
        return ColumnSample(X, weights, missing)

    def with_inputs(self, inputs: Inputs) -> DeviceTable:
        return replace(self, inputs=inputs)

    def moments(self, team: ThreadTeam) -> Moments:
        return device_moments(self.X, self.weight, self.inputs)

    def target_moments(self) -> tuple[Array, Array]:
        y = self._residual
        return target_moments(
            lambda function, *args: np.array([function(y, self.weight, *args)], np.float64),
            total_weight(self.X, self.weight),
        )

    @property
    def _residual(self) -> Any:
        score = self.score
        return self.targets - (asarray_like(score, self.targets) if isinstance(score, np.ndarray) else score)

    def center(self, moments: Moments) -> Array:
        """Return what to subtract from X before it is multiplied."""
        return moments.center(to_numpy(self.X[:1, :1]).dtype)

    def in_float64(self) -> DeviceTable:
        return replace(self, X=in_wide(self.X))

    def in_units(
        self, units: Units, team: ThreadTeam, *, residual: bool, may_narrow: bool = False
    ) -> DeviceRows:
        xp, X, targets = namespace(self.X), self.X, self.targets
        y, F = targets, xp.zeros_like(targets)
        if residual:
            mean, scale = (asarray_like(each, targets) for each in (units.target_mean, units.target_scale))
            y = (self._residual - mean) / scale
        elif isinstance(self.score, np.ndarray):
            F = asarray_like(self.score, targets)
        if not fits_float32(*(float(xp.max(xp.abs(each))) for each in (y, F))):
            X = in_wide(X)
            if X.dtype == xp.float32:
                raise ValueError(
                    "y and init must be 0 or from 1e-15 to 1e15 in size where X's library computes in "
                    "float32; rescale them, or switch on its 64-bit mode."
                )
        y, F = ([xp.astype(each[:, k], X.dtype) for k in range(self.n_outputs)] for each in (y, F))
        return DeviceRows(X, y, F, self.weight, units, team, self.inputs)


def _sample_rows(weight: Array | None, n_rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return the positions of rows drawn at random, of those that have a weight."""
    if weight is None:
        return sample_rows(n_rows, size, rng)
    weighted = np.flatnonzero(weight)
    return weighted[sample_rows(len(weighted), size, rng)]
