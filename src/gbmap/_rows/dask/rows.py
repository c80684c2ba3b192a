"""The rows of a fit on a cluster: one round for each sum over rows, samples in memory here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._core.losses import Loss, RowLosses
from gbmap._core.minimise import ValueAndGradient
from gbmap._core.objective import Objective
from gbmap._core.rows import Rows, SampledRows, every
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks, may_be_part, pass_dtype
from gbmap._rows.dask.parts import Place
from gbmap._rows.memory import (
    MemoryRows,
    add_blocks,
    add_groups,
    by_output,
    fits_float32,
    largest,
    sample_dtype,
    sampled,
    standard_columns,
)
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array, IntArray

if TYPE_CHECKING:
    from gbmap._rows.dask.table import DaskTable


class DaskRows(Rows):
    """Rows in parts, each with its worker.

    F is never changed in place: each learner makes a new one, which Dask can compute anew from the last.

    Parameters
    ----------
    table : DaskTable
        X, and where the parts lie.
    y, F : columns of arrays of shape (K, n_i), in the type of passes and in standard units
    weight : column of arrays of shape (n_i,), in that type, or None
    units : Units
    team : ThreadTeam
        For the samples, which lie in memory.
    dtype : dtype
        The type of passes.
    """

    def __init__(
        self,
        table: DaskTable,
        y: list[Any],
        F: list[Any],
        weight: list[Any] | None,
        units: Units,
        team: ThreadTeam,
        dtype: np.dtype[Any],
    ):
        super().__init__(y, F, weight, units)
        self.team = team
        self.table, self.inputs = table, table.inputs or Inputs.plain(table.shape[1])
        self.n_rows, self.n_columns, self.n_outputs = table.shape[0], len(self.inputs), table.n_outputs
        self.eps = float(np.finfo(dtype).eps)
        self.weight_sum = table.weight_sum(weight)

    def _sums(self, objective: Objective, output: int, thetas: Array, signs: Array) -> Array:
        parts = self._ask(_block_sums, objective, output, thetas, signs)
        return add_blocks(np.concatenate(parts), signs)

    def answer(
        self, objectives: list[Objective], outputs: list[int], thetas: Array, signs: Array
    ) -> list[ValueAndGradient]:
        """Evaluate candidates of several outputs in one round."""
        parts = self._ask(_block_sums, objectives[0], outputs, thetas, signs)
        return self._finished(objectives, add_blocks(np.concatenate(parts), signs), thetas)

    def _joint_sums(self, objective: Objective, output: int, vector: Array, signs: Array) -> Array:
        parts = self._ask(_answer, "joint_sums", objective, output, vector, signs)
        return add_groups(np.concatenate(parts), signs)

    def _loss_sum(self, loss: Loss, output: int, shift: float) -> float:
        return float(np.concatenate(self._ask(_answer, "block_losses", loss, output, shift)).sum())

    def row_losses(self, loss: Loss, output: int) -> RowLosses:
        parts = self._ask(_answer, "row_losses", loss, output)
        return RowLosses(*map(np.concatenate, zip(*parts)))

    def _columns(self) -> list[Any]:
        return [self.table.X, self.y, self.F, self.weight]

    def _ask(self, function: Any, *args: Any) -> list[Any]:
        columns = [self.table.places, *self._columns()]
        return self.table.ask(function, columns, self.units, self.inputs, *args)

    def add(self, learners: Ensemble, are_first: Array) -> None:
        columns = [self.table.places, *self._columns()]
        self.F = self.table.keep(_with_learners, columns, self.units, self.inputs, learners, are_first)

    def remember(self, output: int) -> list[Any]:
        return list(self.F)

    def restore(self, output: int, score: list[Any]) -> None:
        """Bring the score of one output back to what it was."""
        self.F = score
        self._update_samples(output)

    def _scores_at(self, chosen: list[Any], output: int) -> list[Array]:
        """Return the scores of the rows of each sample, in one round."""
        parts = self.table.ask(_scores_at, [self.F, *chosen], output) if chosen else []
        return [np.concatenate(scores) for scores in zip(*parts)]

    @property
    def _n_eligible(self) -> int:
        return sum(self.table.n_eligible)

    def _choose(self, positions: IntArray) -> list[Any]:
        return self.table.choose(positions)

    def _rows_at(self, chosen: list[Any]) -> MemoryRows:
        """Return in memory some rows."""
        X, y, F, weight = zip(*self.table.ask(_rows_at, [chosen, *self._columns()]))
        columns, weights = np.concatenate(X), None if self.weight is None else np.concatenate(weight)
        if not self.samples:
            self._first_sample = self._inputs_of(columns), weights
        targets, scores = (np.concatenate(each, axis=1) for each in (y, F))
        shape = len(columns), self.n_columns
        dtype = sample_dtype(columns.dtype, columns.shape[0] * self.n_columns, targets, scores)
        blocks, units = DenseBlocks.sample_of(
            lambda some: self._inputs_of(columns[some]), shape, self.units, dtype
        )
        return sampled(blocks, targets, scores, weights, units, self.team)

    def part(self, size: int, rng: np.random.Generator) -> MemoryRows | None:
        if not may_be_part(size, self.n_rows, self.inputs, self.table.dtype):
            return None
        chosen = self._choose(self._positions(size, rng))
        X, y, F, weight = zip(*self.table.ask(_rows_at, [chosen, *self._columns()]))
        targets, scores = (np.concatenate(each, axis=1) for each in (y, F))
        weights = None if self.weight is None else np.concatenate(weight)
        some = DenseBlocks(np.concatenate(X), None, self.inputs, self.n_rows, targets.dtype)
        part = MemoryRows(some, targets, scores, weights, self.units, self.team)
        part.complete = False
        self.samples.append(SampledRows(chosen, part))
        return part

    def _inputs_of(self, columns: Array) -> Array:
        """Return a copy of the inputs of rows, as samples of rows in memory have them."""
        return np.array(self.inputs.of(columns), order="C")

    def _rows_to_attribute(self, n_rows: int) -> tuple[Any, Array | None]:
        X, weight = self._first_sample
        some = every(len(X), n_rows)
        return X[some], None if weight is None else weight[some]


def standard_rows(
    table: DaskTable, units: Units, team: ThreadTeam, *, residual: bool, may_narrow: bool
) -> DaskRows:
    """Return rows in given units."""
    columns, dtype = [table.targets, table.score], table.dtype
    if may_narrow and table.inputs is not None:
        dtype = pass_dtype(table.shape[0], table.inputs, dtype)
    if dtype == np.float32:
        sizes = np.array(table.ask(_sizes, columns, units, residual))
        if not fits_float32(*sizes.max(axis=0)):
            table, dtype = table.in_float64(), np.dtype(np.float64)
            columns = [table.targets, table.score]
    y, F = (table.keep(_standard_column, columns, units, residual, k, dtype) for k in (0, 1))
    table = table.weighed_in(dtype)
    return DaskRows(replace(table, targets=None, score=None), y, F, table.weight, units, team, dtype)


def _sizes(targets: Array, score: Array | None, units: Units, residual: bool) -> list[float]:
    return [largest(each) for each in standard_columns(targets, score, units, residual)]


def _standard_column(
    targets: Array, score: Array | None, units: Units, residual: bool, which: int, dtype: np.dtype[Any]
) -> Array:
    return by_output(standard_columns(targets, score, units, residual)[which], dtype)


@contextmanager
def _rows(place: Place, columns: tuple[Any, ...]) -> Iterator[tuple[MemoryRows, tuple[Any, ...]]]:
    """Let the threads of a worker have a part, of X, y, F, weights, units and inputs, as rows in memory.

    What follows these is given back.
    """
    X, y, F, weight, units, inputs, *rest = columns
    with ThreadTeam(place.n_threads) as team:
        blocks = DenseBlocks(X, place.block_rows, inputs, place.n_all_rows, y.dtype)
        yield MemoryRows(blocks, y, F, weight, units, team), tuple(rest)


def _block_sums(place: Place, *columns: Any) -> Array:
    """Do as `_answer`, under a name of its own: by it, evaluations are told from other rounds."""
    with _rows(place, columns) as (rows, candidates):
        objective, outputs, *learners = candidates
        if isinstance(outputs, int):
            return rows.block_sums(objective, outputs, *learners)
        return rows.block_sums_of(objective, outputs, *learners)


def _answer(place: Place, *columns: Any) -> Any:
    """Return what a method of the rows of a part says."""
    with _rows(place, columns) as (rows, (method, *args)):
        return getattr(rows, method)(*args)


def _with_learners(place: Place, *columns: Any) -> Array:
    """Return the scores with learners added to them."""
    with _rows(place, columns) as (rows, (learners, are_first)):
        rows.F = rows.F.copy()
        rows.add(learners, are_first)
        scores: Array = rows.F
    return scores


def _scores_at(F: Array, *rest: Any) -> list[Array]:
    *chosen, output = rest
    return [F[output, rows] for rows in chosen]


def _rows_at(
    rows: Array, X: Array, y: Array, F: Array, weight: Array | None
) -> tuple[Array, Array, Array, Array | None]:
    return X[rows], y[:, rows], F[:, rows], None if weight is None else weight[rows]
