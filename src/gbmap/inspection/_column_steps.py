"""The values that a column is set to, and what the inputs of the learners are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.ensemble import Ensemble
from gbmap._fitted.columns import Columns
from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.typing import Array, IntArray

_NUMBERS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class ColumnSteps:
    """The values that a column is set to, and what its inputs are there.

    Attributes
    ----------
    values : array of shape (g,)
    moving : integer array of shape (r,)
        The inputs of the column.
    states : array of shape (g, r), or (g + 1, r)
        What they are at each value; the last one, if it is one more, where a number is missing.
    knots, observed, share
        Those of `ColumnCurve`.
    """

    values: Array
    moving: IntArray
    states: Array
    knots: Array
    observed: Array
    share: Array | None

    @classmethod
    def of(cls, fitted: FittedModel, column: int, given: Any, inputs: Array, n_points: int) -> ColumnSteps:
        """Return the values of a column among rows as the GBMAP is given them, some of these as inputs."""
        if fitted.columns.is_number[column]:
            return _steps_of_number(fitted, column, given, inputs, n_points)
        return _steps_of_category(fitted, column, inputs)

    def curves(self, learners: Ensemble, inputs: Array) -> Array:
        """Return the sum of learners with the column at each of the states, (n, g) or (n, g + 1)."""
        weights = learners.weights[:, self.moving].T
        at_states = self.states @ weights
        found = np.empty((len(inputs), len(at_states)))
        size = max(1, _NUMBERS_AT_A_TIME // (len(learners) * len(at_states)))
        for start in range(0, len(inputs), size):
            some = slice(start, start + size)
            rest = learners.project(inputs[some]) - inputs[some][:, self.moving] @ weights
            found[some] = learners.embed_projected(rest[:, None] + at_states).sum(axis=2)
        return found


def _steps_of_number(
    fitted: FittedModel, column: int, given: Any, inputs: Array, n_points: int
) -> ColumnSteps:
    columns = fitted.columns
    moving = columns.inputs_of(column)
    moving = moving[columns.kind[moving] != "category"]
    own = columns.take(moving)
    observed = _observed(fitted, column, given)
    if not len(observed):
        raise ValueError(
            f"X must have rows with a value of {fitted.feature_names[column]!r}, which all of them are "
            "missing; pass others."
        )
    is_number = own.kind != "missing"
    ends = np.concatenate([own.low, own.high])
    ends = (ends - np.tile(own.offset, 2))[np.tile(is_number & (own.slope != 0), 2)]
    ends = ends / np.tile(own.slope[is_number & (own.slope != 0)], 2)
    low, high = observed.min(), observed.max()
    knots = np.unique(ends[(ends > low) & (ends < high)])
    values = np.unique(np.append(np.linspace(low, high, n_points), knots))
    states = _at(own, np.where(is_number, values[:, None], 0.0))
    missing = _where_missing(fitted, moving, inputs)
    if missing is not None:
        states = np.vstack([states, missing])
    return ColumnSteps(values, moving, states, knots, observed, None)


def _at(own: Columns, values: Array) -> Array:
    """Return inputs, (n, r), at values of what they are made of, (n, r): of a mark or a category, 0 or 1."""
    line = np.clip(values * own.slope + own.offset, own.low, own.high)
    found: Array = line - np.where(np.isfinite(own.low), own.low, 0.0)
    return found


def _observed(fitted: FittedModel, column: int, given: Any) -> Array:
    """Return the numbers that rows have in a column, in the user's units."""
    of_given = fitted.given
    is_own = (of_given.source == column) & (of_given.slope != 0)
    source = int(np.flatnonzero(is_own & (of_given.kind == "number"))[-1])
    numbers = (dense(given[:, [source]])[:, 0] - of_given.offset[source]) / of_given.slope[source]
    marks = np.flatnonzero(is_own & (of_given.kind == "missing"))
    is_marked = (dense(given[:, marks]) - of_given.offset[marks]) / of_given.slope[marks] > 0.5
    return numbers[~np.isnan(numbers) & ~is_marked.any(axis=1)]


def _where_missing(fitted: FittedModel, moving: IntArray, inputs: Array) -> Array | None:
    """Return the inputs of a column where it is missing, (r,): of a row of which that is so, or as filled."""
    own = fitted.columns.take(moving)
    is_mark = own.kind == "missing"
    if not is_mark.any():
        return None
    marks = (inputs[:, moving[is_mark]] - own.offset[is_mark]) / own.slope[is_mark]
    rows = np.flatnonzero((marks > 0.5).any(axis=1))
    if len(rows):
        return inputs[rows[0], moving]
    if (moving[is_mark] < len(fitted.inputs.low)).any():  # filled in before the GBMAP, by what is not known
        return None
    gap = np.full((1, fitted.inputs.n_columns), np.nan)
    return np.asarray(fitted.inputs.of(gap))[0, moving]


def _steps_of_category(fitted: FittedModel, column: int, inputs: Array) -> ColumnSteps:
    moving = fitted.columns.inputs_of(column)
    own = fitted.columns.take(moving)
    is_mark = own.kind == "missing"
    active = np.asarray((inputs[:, moving] - own.offset) / own.slope > 0.5)
    names = list(dict.fromkeys(own.level[~is_mark]))
    is_level = np.array([(own.level == name) & ~is_mark for name in names], dtype=bool)
    is_level = is_level.reshape(len(names), len(moving))
    is_missing = np.asarray(active[:, is_mark].any(axis=1))
    holds = (active[:, None] & is_level).any(axis=2) & ~is_missing[:, None]
    states, share = _at(own, is_level.astype(float)), holds.mean(axis=0)
    is_other = ~holds.any(axis=1) & ~is_missing
    if is_other.any():
        names, share = [*names, "other"], np.append(share, is_other.mean())
        states = np.vstack([states, _at(own, np.zeros((1, len(own.source))))])
    missing = _where_missing(fitted, moving, inputs)
    if missing is not None:
        names, share = [*names, "missing"], np.append(share, is_missing.mean())
        states = np.vstack([states, missing])
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return ColumnSteps(found, moving, states, np.empty(0), np.empty(0), share)
