"""The rows of a fit in parts: X, targets, weights and f_0 in the user's units, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Self

import numpy as np

from gbmap._core.inputs import ColumnSample, Inputs
from gbmap._core.units import Units
from gbmap._rows.blocks import Blocks, DenseBlocks
from gbmap._rows.dask.parts import Column, Layout, Place, collect, keep, keep_rows, plan
from gbmap._rows.dask.reading import cut
from gbmap._rows.dask.rows import DaskRows, standard_rows
from gbmap._rows.moments import (
    Each,
    Moments,
    column_moments,
    moments_of_columns,
    reference_point,
    reference_positions,
    target_moments,
    weight_total,
)
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.sampling import sample_rows
from gbmap._utils.typing import Array


@dataclass
class DaskTable:
    """Rows in parts, where they live.

    Attributes
    ----------
    layout : Layout
    shape : tuple of int
        That of X.
    dtype : numpy dtype
        That of X.
    n_outputs : int
        K.
    X : column of arrays of shape (n_i, p)
    targets : column of arrays of shape (n_i, K), in float64
    weight : column of arrays of shape (n_i,), or None
    score : column of arrays of shape (n_i, K), or None for f_0 = 0
    n_eligible : list of int
        How many rows of each part have a weight; see `weighted`.
    inputs : Inputs or None
        What the columns of rows are made of; None if they are those of X.
    """

    layout: Layout
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    n_outputs: int
    X: Column
    targets: Column
    weight: Column = None
    score: Column = None
    n_eligible: list[int] = field(default_factory=list)
    inputs: Inputs | None = None

    @property
    def places(self) -> list[Any]:
        """A column that says where each part lies."""
        return list(self.layout.places())

    @property
    def nbytes(self) -> int:
        """The size of X."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def plan(self, function: Callable[..., Any], columns: list[Column], *args: Any) -> list[Any]:
        """Return ``function(part of each column, *args)`` for each part, to be computed."""
        return plan(function, self.places, columns, *args)

    def keep(self, function: Callable[..., Any], columns: list[Column], *args: Any) -> list[Any]:
        """Compute the parts of a new column, and leave them where they are."""
        return keep(self.plan(function, columns, *args))

    def ask(self, function: Callable[..., Any], columns: list[Column], *args: Any) -> list[Any]:
        """Return what a function gives for each part: one round."""
        return collect(self.plan(function, columns, *args))

    def each(self, numbers: Column, weight: Column = None) -> Each:
        """Return what answers for all blocks of a column, in order."""
        columns = [self.places, numbers, weight]
        return lambda function, *args: np.concatenate(self.ask(_each, columns, function, *args))

    def weight_sum(self, weight: Column) -> float:
        """Return the total weight."""
        return float(self.shape[0] if weight is None else self.each(weight)(weight_total).sum())

    def weighted(self, weight: Column) -> Self:
        """Return the same rows with weights of a mean near one, by a power of two."""
        if weight is None:
            return replace(self, n_eligible=self.layout.lengths)
        largest = max(self.ask(np.max, [weight]))
        exponent = int(np.frexp(largest)[1])
        weight = self.keep(np.ldexp, [weight], -exponent)
        mean = self.weight_sum(weight) / self.shape[0]
        weight = self.keep(np.ldexp, [weight], -int(np.frexp(mean)[1]))
        return replace(self, weight=weight, n_eligible=self.ask(np.count_nonzero, [weight]))

    def weighed_in(self, dtype: np.dtype[Any]) -> Self:
        """Return the same rows with weights of a type, in which the least of them may be none."""
        if self.weight is None or dtype == np.float64:
            return self
        weight = self.keep(np.asarray, [self.weight], dtype)
        return replace(self, weight=weight, n_eligible=self.ask(np.count_nonzero, [weight]))

    def scored(self, f_0: Callable[[Array], Array | float] | None) -> Self:
        """Return the same rows with their f_0."""
        return self if f_0 is None else replace(self, score=self.keep(_applied, [self.X], f_0))

    def in_float64(self) -> Self:
        """Return the same rows with X in float64, in the parts and blocks that rows of that type have."""
        dtype = np.dtype(np.float64)
        if self.dtype == dtype:
            return self
        layout = Layout.of(self.layout.lengths, self.shape[1], dtype, recut=self.layout.recut)
        columns = {"targets": self.targets, "score": self.score, "weight": self.weight}
        cut_anew = {
            name: column and keep(cut(column, self.layout.lengths, layout.bounds))
            for name, column in columns.items()
        }
        X = cut(self.plan(np.asarray, [self.X], dtype), self.layout.lengths, layout.bounds)
        table = replace(self, layout=layout, dtype=dtype, X=keep_rows(X, 2 * self.nbytes), **cut_anew)  # type: ignore[arg-type]
        return table.weighted(table.weight)

    def column_sample(self, size: int, rng: np.random.Generator, team: ThreadTeam) -> ColumnSample:
        """Return what random rows tell of X, or all if there are no more."""
        chosen = self.choose(sample_rows(sum(self.n_eligible), size, rng))
        X = np.concatenate(self.ask(np.take, [self.X, chosen], 0))
        weight = np.ones(len(X))
        if self.weight is not None:
            weight = np.concatenate(self.ask(np.take, [self.weight, chosen], 0))
        has_missing = np.any(self.ask(_has_missing, [self.places, self.X]), axis=0)
        return ColumnSample(X, weight, has_missing)

    def with_inputs(self, inputs: Inputs) -> Self:
        """Return the same with columns that are made of those of X."""
        return replace(self, inputs=inputs)

    def moments(self, team: ThreadTeam) -> Moments:
        """Return the moments of the columns; see `DenseBlocks.moments`."""
        weight_sum, n = self.weight_sum(self.weight), sum(self.n_eligible)
        inputs = self.inputs or Inputs.plain(self.shape[1])
        chosen = self.choose(np.arange(0, n, reference_positions(n).step))
        reference = reference_point(inputs.of(np.concatenate(self.ask(np.take, [self.X, chosen], 0))))
        sums = np.concatenate(self.ask(_shifted_sums, [self.places, self.X, self.weight], inputs, reference))

        def of_column(k: int) -> tuple[float, float]:
            column = self.plan(_column, [self.X], inputs, k)
            return column_moments(self.each(column, self.weight), weight_sum)

        return moments_of_columns(sums, weight_sum, reference, of_column)

    def target_moments(self) -> tuple[Array, Array]:
        """Return mean and deviation of the targets less f_0."""
        residual = self.keep(_residual, [self.targets, self.score])
        return target_moments(self.each(residual, self.weight), self.weight_sum(self.weight))

    def center(self, moments: Moments) -> Array:
        """Return what to subtract from X before it is multiplied."""
        return moments.center(self.dtype)

    def in_units(
        self, units: Units, team: ThreadTeam, *, residual: bool, may_narrow: bool = False
    ) -> DaskRows:
        """Return rows in given units."""
        return standard_rows(self, units, team, residual=residual, may_narrow=may_narrow)

    def choose(self, positions: Array) -> list[Any]:
        """Return a column of row numbers, given sorted positions among the rows that have a weight."""
        ends = np.cumsum(self.n_eligible)
        split = np.split(positions, np.searchsorted(positions, ends[:-1]))
        starts = np.concatenate([[0], ends[:-1]])
        return self.keep(_numbers, [[each - start for each, start in zip(split, starts)], self.weight])

    def digests(self) -> Array:
        """Return what tells these rows from others, block by block, however they are cut into parts."""
        return np.concatenate(self.ask(_digests, [self.places, self.X, self.targets, self.weight]))

    def release(self) -> None:
        """Let go of the rows."""
        self.X = self.targets = self.weight = self.score = None


def _blocks(place: Place) -> Blocks:
    return Blocks(place.stop - place.start, 0, np.dtype(np.float64), place.block_rows)


def _each(place: Place, numbers: Array, weight: Array | None, function: Any, *args: Any) -> Array:
    return _blocks(place).each(function, numbers, weight, *args)


def _applied(X: Array, function: Any) -> Any:
    return function(X)


def _column(X: Array, inputs: Inputs, k: int) -> Array:
    return inputs.of_column(X[:, inputs.source[k]], k)


def _has_missing(place: Place, X: Array) -> Array:
    with ThreadTeam(place.n_threads) as team:
        return DenseBlocks(X, place.block_rows).has_missing(team)


def _residual(targets: Array, score: Array | None) -> Array:
    return targets if score is None else targets - score


def _numbers(positions: Array, weight: Array | None) -> Array:
    return positions if weight is None else np.flatnonzero(weight)[positions]


def _shifted_sums(place: Place, X: Array, weight: Array | None, inputs: Inputs, reference: Array) -> Array:
    with ThreadTeam(place.n_threads) as team:
        blocks = DenseBlocks(X, place.block_rows, inputs, place.n_all_rows)
        return blocks.shifted_sums(reference, weight, team)


def _digests(place: Place, X: Array, targets: Array, weight: Array | None) -> Array:
    blocks, digests = _blocks(place), []
    for block in range(blocks.n_blocks):
        i, j = blocks.bounds(block)
        digest = sha256(X[i:j].tobytes() + targets[i:j].tobytes())
        digest.update(b"" if weight is None else weight[i:j].tobytes())
        digests.append(np.frombuffer(digest.digest(), np.uint8))
    return np.array(digests)
