"""The rows of a fit on a cluster: one round for each sum over rows, samples in memory here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Loss, RowLosses
from gbmap._core.objective import Objective
from gbmap._core.units import Units
from gbmap._rows.blocks import DenseBlocks
from gbmap._rows.dask.parts import Place
from gbmap._rows.dask.table import DaskTable
from gbmap._rows.memory import (
    MemoryRows,
    draw,
    finish,
    finish_joint,
    fits_float32,
    largest,
    mean_absolute_attribution,
    sample_rows,
)
from gbmap._rows.moments import Moments, standard_units
from gbmap._rows.threads import ThreadTeam
from gbmap._utils.typing import Array


class DaskRows:
    """Rows (x, y, weight) with their current score F in parts, each with its worker.

    F is never changed in place: each learner makes a new one, which Dask can compute anew from the last.

    Parameters
    ----------
    table : DaskTable
        X, and where the parts lie.
    y, F : columns of arrays of shape (K, n_i), in X's type and in standard units
    weight : column of arrays of shape (n_i,), in X's type, or None
    units : Units
    team : ThreadTeam
        For the samples, which lie in memory.
    """

    def __init__(
        self,
        table: DaskTable,
        y: list[Any],
        F: list[Any],
        weight: list[Any] | None,
        units: Units,
        team: ThreadTeam,
    ):
        self.table, self.y, self.F, self.weight, self.units, self.team = table, y, F, weight, units, team
        self.weight_sum = table.weight_sum(weight)
        self._samples: list[MemoryRows] = []
        self._chosen: list[list[Any]] = []  # columns of the numbers of their rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.shape[0]

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.table.shape[1]

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs."""
        return self.table.n_outputs

    @property
    def eps(self) -> float:
        """The relative rounding error of one row's numbers."""
        return float(np.finfo(self.table.dtype).eps)

    def value_and_gradient(
        self, objective: Objective, output: int, thetas: Array, signs: Array
    ) -> tuple[Array, Array]:
        """Evaluate candidates (a, w, c) with their signs in one round."""
        sums = np.concatenate(self._ask(_block_sums, objective, output, thetas, signs))
        return finish(objective, sums, self.units, self.weight_sum, thetas, signs)

    def joint_value_and_gradient(
        self, objective: Objective, output: int, vector: Array, signs: Array
    ) -> tuple[float, Array]:
        """Evaluate m learners together in one round."""
        sums = np.concatenate(self._ask(_answer, "joint_sums", objective, output, vector, signs))
        return finish_joint(objective, sums, self.units, self.weight_sum, vector, signs)

    def mean_loss(self, loss: Loss, output: int, shift: float = 0.0) -> float:
        """Return the mean loss of the current score of one output, plus a constant."""
        return float(
            np.concatenate(self._ask(_answer, "block_losses", loss, output, shift)).sum() / self.weight_sum
        )

    def row_losses(self, loss: Loss, output: int) -> RowLosses:
        """Return the loss of every row at its current score, brought here."""
        return self._brought("row_losses", loss, output)

    def joint_row_losses(self, objective: Objective, output: int, vector: Array, signs: Array) -> RowLosses:
        """Return the same with m learners added to the score."""
        return self._brought("joint_row_losses", objective, output, vector, signs)

    def _brought(self, *asked: Any) -> RowLosses:
        return RowLosses(*map(np.concatenate, zip(*self._ask(_answer, *asked))))

    def _columns(self) -> list[Any]:
        return [self.table.X, self.y, self.F, self.weight]

    def _ask(self, function: Any, *args: Any) -> list[Any]:
        return self.table.ask(function, self._columns(), self.units, *args)

    def add_last_learner(self, ensemble: Ensemble) -> None:
        """Add the last learner of an ensemble, as stored, to the score of its output."""
        last = ensemble[-1:]
        first = not (ensemble.outputs[:-1] == last.outputs[0]).any()
        self.F = self.table.keep(_with_learner, self._columns(), self.units, last, first)
        self._tell_samples(int(last.outputs[0]))

    def _tell_samples(self, output: int) -> None:
        if not self._samples:
            return
        found = self.table.ask(_scores_at, [self.F, *self._chosen], output)
        for sample, scores in zip(self._samples, zip(*found)):
            sample.F[output] = np.concatenate(scores)

    def remember(self, output: int) -> list[Any]:
        """Return the score, for `restore`."""
        return self.F

    def restore(self, output: int, score: list[Any]) -> None:
        """Bring the score of one output back to what it was."""
        self.F = score
        self._tell_samples(output)

    def sample(self, size: int, rng: np.random.Generator) -> MemoryRows:
        """Return in memory the rows that `MemoryRows.sample` chooses, whose F follows this one's."""
        n_eligible = sum(self.table.n_eligible)
        positions = draw(n_eligible, size, rng)
        chosen = self.table.choose(positions)
        X, y, F, weight = self._brought_here(chosen)
        if not self._samples:
            self._first_sample = X.copy(), weight  # X as it is
        sample = sample_rows(X, y, F, weight, self.units, self.team)
        sample.complete = len(positions) == n_eligible
        self._samples.append(sample)
        self._chosen.append(chosen)
        return sample

    def _brought_here(self, chosen: list[Any]) -> tuple[Array, Array, Array, Array | None]:
        parts = self.table.ask(_rows_at, [chosen, *self._columns()])
        X, y, F, weight = zip(*parts)
        together = None if self.weight is None else np.concatenate(weight)
        return np.concatenate(X), np.concatenate(y, axis=1), np.concatenate(F, axis=1), together

    def mean_absolute_attribution(self, ensemble: Ensemble, mean: Array, n_rows: int) -> Array:
        """Return the mean size of what columns add over the mean row, for rows of the sample; (p, K)."""
        X, weight = self._first_sample
        step = -(-len(X) // n_rows)
        some = None if weight is None else weight[::step]
        return mean_absolute_attribution(ensemble, mean, X[::step], some)


def dask_rows(
    table: DaskTable, team: ThreadTeam, *, standardize: bool, residual: bool, ridge: float | None
) -> tuple[DaskRows, Moments, Array]:
    """Do what `as_rows` does, where the rows are."""
    table = table.weighted(table.weight)
    moments = table.moments()
    if table.dtype == np.float32 and not moments.fit_float32:
        table = table.in_float64()
    target_mean, target_deviation = np.zeros(table.n_outputs), np.ones(table.n_outputs)
    if residual:
        target_mean, target_deviation = table.target_moments()
    center = moments.center(table.dtype)
    units = standard_units(
        moments, target_mean, target_deviation, center, standardize=standardize, ridge=ridge
    )
    return _standard_rows(table, units, team, residual), moments, target_deviation


def more_dask_rows(table: DaskTable, units: Units, team: ThreadTeam, *, residual: bool) -> DaskRows:
    """Return further rows in the units of others."""
    return _standard_rows(table.weighted(table.weight), units, team, residual)


def _standard_rows(table: DaskTable, units: Units, team: ThreadTeam, residual: bool) -> DaskRows:
    columns = [table.targets, table.score]
    if table.dtype == np.float32:
        sizes = np.array(table.ask(_sizes, columns, units, residual))
        if not fits_float32(*sizes.max(axis=0)):
            table = table.in_float64()
            columns = [table.targets, table.score]
    y = table.keep(_standard_targets, columns, units, residual, table.dtype)
    F = table.keep(_starting_scores, columns, residual, table.dtype)
    table = table.weighed_in(table.dtype)
    return DaskRows(replace(table, targets=None, score=None), y, F, table.weight, units, team)


def _standard(targets: Array, score: Array | None, units: Units, residual: bool) -> Array:
    """Return y in standard units, of shape (n_i, K)."""
    f_0: Any = 0.0 if score is None else score
    return (targets - f_0 - units.target_mean) / units.target_scale if residual else targets


def _start(targets: Array, score: Array | None, residual: bool) -> Array:
    """Return the F to start from, likewise."""
    return np.broadcast_to(0.0 if residual or score is None else score, targets.shape)


def _sizes(
    _: Place, targets: Array, score: Array | None, units: Units, residual: bool
) -> tuple[float, float]:
    return largest(_standard(targets, score, units, residual)), largest(_start(targets, score, residual))


def _standard_targets(
    _: Place, targets: Array, score: Array | None, units: Units, residual: bool, dtype: np.dtype[Any]
) -> Array:
    return np.array(_standard(targets, score, units, residual).T, dtype=dtype, order="C")


def _starting_scores(
    _: Place, targets: Array, score: Array | None, residual: bool, dtype: np.dtype[Any]
) -> Array:
    return np.array(_start(targets, score, residual).T, dtype=dtype, order="C")


@contextmanager
def _rows(
    place: Place, X: Array, y: Array, F: Array, weight: Array | None, units: Units
) -> Iterator[MemoryRows]:
    """Let the threads of a worker have a part as rows in memory."""
    with ThreadTeam(place.n_threads) as team:
        yield MemoryRows(DenseBlocks(X, place.block_rows), y, F, weight, units, team)


def _block_sums(
    place: Place, X: Array, y: Array, F: Array, weight: Array | None, units: Units, *candidates: Any
) -> Array:
    """Do as `_answer`, under a name of its own: by it, evaluations are told from other rounds."""
    with _rows(place, X, y, F, weight, units) as rows:
        return rows.block_sums(*candidates)


def _answer(
    place: Place, X: Array, y: Array, F: Array, weight: Array | None, units: Units, method: str, *asked: Any
) -> Any:
    """Return what a method of the rows of a part says."""
    with _rows(place, X, y, F, weight, units) as rows:
        return getattr(rows, method)(*asked)


def _with_learner(
    place: Place,
    X: Array,
    y: Array,
    F: Array,
    weight: Array | None,
    units: Units,
    last: Ensemble,
    first: bool,
) -> Array:
    with _rows(place, X, y, F.copy(), weight, units) as rows:
        rows.add(last, first=first)
        return rows.F


def _scores_at(_: Place, F: Array, *rest: Any) -> list[Array]:
    *chosen, output = rest
    return [F[output, rows] for rows in chosen]


def _rows_at(
    _: Place, rows: Array, X: Array, y: Array, F: Array, weight: Array | None
) -> tuple[Array, Array, Array, Array | None]:
    return X[rows], y[:, rows], F[:, rows], None if weight is None else weight[rows]
