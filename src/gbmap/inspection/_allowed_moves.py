"""The moves of a row: how the user's columns may change, and what that does to the learners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse

from gbmap._core.arrays import in_memory
from gbmap._fitted.column_values import Pieces, bent_columns, categories
from gbmap._fitted.columns import Columns
from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.frames import columns_of, names_of, numbers_of
from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array, IntArray
from gbmap.inspection._move_problem import MoveProblem


@dataclass(frozen=True)
class Row:
    """One row as the user gave it, and copies of it with other values in some columns."""

    table: Any
    positions: list[int]
    values: Array

    @classmethod
    def of(cls, x: Any, fitted: FittedModel) -> Row:
        """Return the row that x is, or say why it is none."""
        table = fitted.as_asked(_as_table(x))
        if len(table.shape) != 2 or table.shape[0] != 1:
            raise ValueError(
                f"x must be one row, of shape (p,) or (1, p), got shape {tuple(table.shape)}; "
                "ask for one row at a time."
            )
        fitted.read(table)  # wrong columns meet scikit-learn's own words
        if not hasattr(table, "columns"):
            return cls(table, list(range(table.shape[1])), table[0])
        given, names = names_of(table), list(fitted.feature_names)
        positions = [given.index(name) for name in names] if set(names) <= set(given) else range(len(given))
        cells = [column.to_list()[0] for column in columns_of(table)]
        return cls(table, list(positions), _objects([cells[k] for k in positions]))

    def changed(self, columns: Mapping[int, list[Any]], n: int) -> Any:
        """Return n copies of the row, with the values given in some columns."""
        at = {self.positions[k]: values for k, values in columns.items()}
        if hasattr(self.table, "iloc"):
            frame = self.table.iloc[[0] * n].reset_index(drop=True)
            for k, values in at.items():
                frame.isetitem(k, _as_categories(values, frame.dtypes.iloc[k]))
            return frame
        if hasattr(self.table, "columns"):
            copies = nw.from_native(self.table, eager_only=True)[[0] * n]
            named = {copies.columns[k]: values for k, values in at.items()}
            series = [nw.new_series(*pair, backend=copies.implementation) for pair in named.items()]
            return copies.with_columns(*series).to_native()
        rows = np.repeat(self.table, n, axis=0)
        for k, values in at.items():
            rows[:, k] = values
        return rows


def _as_table(x: Any) -> Any:
    """Return a row as a table: a frame if it has names, else an array of float64 or of objects."""
    if hasattr(x, "columns"):
        return x
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # one row of a pandas frame
        return x.to_frame().T.infer_objects()
    x = in_memory(x)
    table = np.atleast_2d(x.toarray() if scipy.sparse.issparse(x) else np.asarray(x))
    if table.dtype.kind in "OUS":
        return np.atleast_2d(np.asarray(x, dtype=object))  # NumPy would turn numbers beside text into text
    return table.astype(np.float64)


def _as_categories(values: list[Any], kind: Any) -> Any:
    """Return values of a pandas column as categories if that is what it holds, and these are among them."""
    if hasattr(kind, "categories") and set(values) <= set(kind.categories):
        return kind.construct_array_type()(values, dtype=kind)
    return values


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def is_finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, (int, float, np.number)) and bool(np.isfinite(value))


@dataclass(frozen=True)
class Question:
    """A row, and the side of a value that the chosen output is to get to: sign * (h - value) > margin."""

    fitted: FittedModel
    row: Row
    output: int
    before: float
    value: float
    sign: int
    margin: float

    @classmethod
    def of(
        cls, fitted: FittedModel, row: Row, value: Any, direction: str | None, output: Any, margin: float
    ) -> Question:
        """Return the question, with what was left open filled in."""
        if value is None:
            if not hasattr(fitted.model, "classes_") or fitted.model.init_ is not None:
                raise ValueError(
                    "value must be given for a regressor, and for a model with init: the prediction to pass; "
                    "got None."
                )
            value = 0.0
        if not is_finite(value):
            raise ValueError(f"value must be a finite number, the prediction to pass, got {value!r}.")
        if direction not in (None, "above", "below"):
            raise ValueError(f'direction must be "above", "below" or None, got {direction!r}.')
        index = fitted.output_index(output)
        before = float(fitted.score(fitted.read(row.table))[0, index])
        upwards = before <= value if direction is None else direction == "above"
        return cls(fitted, row, index, before, float(value), 1 if upwards else -1, float(margin))

    @property
    def goal(self) -> str:
        """The goal in words."""
        by = f" by more than {self.margin:g}" if self.margin else ""
        return f"{'above' if self.sign > 0 else 'below'} {self.value:.6g}{by}"

    def score(self, table: Any) -> Array:
        """Return h of rows, through the same preprocessing as a prediction, of shape (n,)."""
        return self.fitted.score(self.fitted.read(table))[:, self.output]

    def passes(self, table: Any) -> Array:
        """Return which rows are on the side asked for, of shape (n,)."""
        return np.asarray(self.sign * (self.score(table) - self.value) > self.margin)


@dataclass(frozen=True)
class Limits:
    """Where features may go: low, high, and which are fixed or to be whole numbers; each of shape (p,)."""

    low: Array
    high: Array
    fixed: Array
    whole: Array

    @classmethod
    def of(cls, question: Question, bounds: Any, immutable: Iterable[Any], integer: Iterable[Any]) -> Limits:
        """Return the limits that the user set, checked; what is missing in the row is fixed too."""
        fitted, values = question.fitted, question.row.values
        missing, is_flag = np.array([(is_missing(value), _is_flag(value)) for value in values]).T
        fixed, whole = np.zeros((2, len(values)), dtype=bool)
        fixed[_indices(fitted, immutable, "immutable")] = True
        whole[_indices(fitted, integer, "integer")] = True
        low, high = np.full(len(values), -np.inf), np.full(len(values), np.inf)
        if isinstance(bounds, Mapping):
            for feature, ends in bounds.items():
                index = fitted.feature_index(feature, "bounds")
                low[index], high[index] = _ends(fitted, index, ends)
        elif bounds is not None:
            low, high = _ranges(fitted, bounds)
            low[fixed], high[fixed] = -np.inf, np.inf
        is_flag &= fitted.columns.is_number
        whole |= is_flag
        low[is_flag], high[is_flag] = np.maximum(low[is_flag], 0), np.minimum(high[is_flag], 1)
        for k in np.flatnonzero(whole).tolist():
            low[k], high[k] = _whole_ends(fitted, k, low[k], high[k])
        for k in np.flatnonzero(fixed & ~missing & (whole | (low > -np.inf) | (high < np.inf))).tolist():
            _check_fixed(fitted.feature_names[k], float(values[k]), low[k], high[k], whole[k])
        return cls(low, high, fixed | missing, whole)


def _indices(fitted: FittedModel, features: Any, argument: str) -> list[int]:
    each = [features] if isinstance(features, (str, int, np.integer)) else features
    return [fitted.feature_index(feature, argument) for feature in each]


def _refuse_categories(fitted: FittedModel, k: int, argument: str) -> None:
    if fitted.columns.is_used[k] and not fitted.columns.is_number[k]:
        raise ValueError(
            f"{argument} is for numeric features, but {fitted.feature_names[k]!r} holds categories; "
            "leave it out, or name it in immutable to keep its category."
        )


def _ends(fitted: FittedModel, k: int, ends: Any) -> tuple[float, float]:
    _refuse_categories(fitted, k, "bounds")
    name = fitted.feature_names[k]
    try:
        low, high = ends
        low = -np.inf if low is None else float(low)
        high = np.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise ValueError(f"bounds of {name!r} must be a pair (low, high), got {ends!r}.") from None
    if not low <= high:
        raise ValueError(f"bounds of {name!r} must have low <= high, got {ends!r}.")
    return low, high


def _ranges(fitted: FittedModel, rows: Any) -> tuple[Array, Array]:
    """Return the range of each numeric column in rows of the user's, without ends for others."""
    rows = fitted.as_asked(rows)
    fitted.read(rows)  # wrong columns meet scikit-learn's own words
    low, high = np.full(len(fitted.feature_names), -np.inf), np.full(len(fitted.feature_names), np.inf)
    if not hasattr(rows, "columns"):
        rows = rows.tocsc() if scipy.sparse.issparse(rows) else np.asarray(rows)
    for k in np.flatnonzero(fitted.columns.is_number).tolist():
        values = _column(rows, k, fitted.feature_names[k])
        values = values[~np.isnan(values)]
        if len(values):
            low[k], high[k] = values.min(), values.max()
    return low, high


def _column(rows: Any, k: int, name: str) -> Array:
    if hasattr(rows, "columns"):
        given = names_of(rows)
        return numbers_of(columns_of(rows)[given.index(name) if name in given else k])
    return np.ravel(dense(rows[:, [k]]))


def _whole_ends(fitted: FittedModel, k: int, low: float, high: float) -> tuple[float, float]:
    _refuse_categories(fitted, k, "integer")
    if np.ceil(low) > np.floor(high):
        raise ValueError(
            f"{fitted.feature_names[k]!r} is in integer, but there is no whole number within its bounds "
            f"({low:g}, {high:g}); widen them."
        )
    return float(np.ceil(low)), float(np.floor(high))


def _check_fixed(name: str, value: float, low: float, high: float, whole: bool) -> None:
    if not low <= value <= high:
        raise ValueError(
            f"{name!r} is immutable, but its value in x, {value:g}, is outside its bounds "
            f"({low:g}, {high:g}); leave it out of one of the two."
        )
    if whole and value != round(value):
        raise ValueError(
            f"{name!r} is immutable and in integer, but its value in x, {value:g}, is no whole number; "
            "leave it out of one of the two."
        )


@dataclass(frozen=True)
class Stretches:
    """What moves do: by how much each stretch of their way changes the inputs, per standard deviation.

    Attributes
    ----------
    move : integer array of shape (S,)
        The move of each stretch; in order, as the stretches of a move are.
    begin, end : arrays of shape (S,)
        In the user's units; infinite for a move that does the same everywhere.
    inputs : sparse array of shape (S, q)
        What a move of one within a stretch adds to the inputs of the model.
    """

    move: IntArray
    begin: Array
    end: Array
    inputs: Any

    @classmethod
    def whole(cls, inputs: Any) -> Stretches:
        """Return those of moves that do the same everywhere, given what each adds to the inputs."""
        limit = np.full(inputs.shape[0], np.inf)
        return cls(np.arange(len(limit)), -limit, limit, scipy.sparse.csr_array(inputs))

    @classmethod
    def bent(cls, columns: Columns, column: int, scale: float) -> Stretches:
        """Return those of one move, that of a column along which learners bend."""
        pieces, q = Pieces.of(columns, column), len(columns.source)
        slopes = scipy.sparse.coo_array(pieces.slopes * scale)
        places = slopes.row, pieces.inputs[slopes.col]
        inputs = scipy.sparse.csr_array((slopes.data, places), shape=(len(pieces.slopes), q))
        begin, end = np.append(-np.inf, pieces.breaks), np.append(pieces.breaks, np.inf)
        return cls(np.zeros(len(begin), dtype=np.intp), begin, end, inputs)

    @classmethod
    def join(cls, parts: list[Stretches]) -> Stretches:
        """Return the stretches of the moves of all parts, numbered on."""
        n_moves = np.cumsum([0] + [int(part.move.max(initial=-1)) + 1 for part in parts])
        return cls(
            np.concatenate([part.move + n for part, n in zip(parts, n_moves)]),
            np.concatenate([part.begin for part in parts]),
            np.concatenate([part.end for part in parts]),
            scipy.sparse.vstack([part.inputs for part in parts], format="csr"),
        )

    def ends(self) -> tuple[Array, Array]:
        """Return between which values each of n moves changes any input; infinite if it always does."""
        n = int(self.move.max(initial=-1)) + 1
        first, last = np.full(n, -np.inf), np.full(n, np.inf)
        is_still = np.diff(self.inputs.indptr) == 0
        below = is_still & (self.begin == -np.inf) & (self.end < np.inf)
        above = is_still & (self.end == np.inf) & (self.begin > -np.inf)
        first[self.move[below]], last[self.move[above]] = self.end[below], self.begin[above]
        return first, last


@dataclass(frozen=True)
class Space:
    """The moves of a row: one for each numeric feature that may change, one for each other category.

    A move of one adds a standard deviation to a number, or goes over to a category. Where a number bends, its
    move has several stretches: what a standard deviation adds to the inputs depends on where it begins.

    Attributes
    ----------
    question : Question
    limits : Limits
    scale : array of shape (p,)
        The standard deviations of numeric columns, one for others.
    feature : integer array of shape (n,)
        The column that a move changes.
    level : list of n
        The category that a move leads to, None for numbers.
    stretches : Stretches
    """

    question: Question
    limits: Limits
    scale: Array
    feature: IntArray
    level: list[Any]
    stretches: Stretches

    @classmethod
    def of(cls, question: Question, limits: Limits) -> Space:
        """Return the moves that the limits leave."""
        fitted = question.fitted
        scale, free = fitted.column_scale, ~limits.fixed
        numeric = np.flatnonzero(fitted.columns.is_number & free)
        bent = np.intersect1d(numeric, bent_columns(fitted.columns))
        straight = np.setdiff1d(numeric, bent)
        feature, level = [*straight.tolist(), *bent.tolist()], [None] * len(numeric)
        parts = [Stretches.whole(_straight_inputs(fitted.columns, straight, scale))]
        parts += [Stretches.bent(fitted.columns, k, scale[k]) for k in bent.tolist()]
        for k, names in categories(fitted).items():
            if free[k]:
                _refuse_both(fitted, k)
                levels, added = _levels(question, k, names)
                parts.append(Stretches.whole(added))
                feature += [k] * len(levels)
                level += levels
        return cls(question, limits, scale, np.array(feature, dtype=np.intp), level, Stretches.join(parts))

    def problem(self) -> MoveProblem:
        """Return what there is to solve, in units of the steepest learner's slope."""
        question, fitted, k = self.question, self.question.fitted, self.feature
        learners = fitted.ensemble[fitted.ensemble.outputs == question.output]
        signs, beta = question.sign * learners.signs, learners.beta
        start = learners.project(dense(fitted.read(question.row.table)))[0]
        effects = np.asarray(self.stretches.inputs @ learners.weights.T).T
        goal = question.sign * (question.value - learners.intercepts.sum()) + question.margin
        slope = np.zeros(effects.shape[1])
        if learners.activation == "identity":
            slope, goal = signs @ effects, goal - signs @ start
            start, effects, signs, beta = start[:0], effects[:0], signs[:0], beta[:0]
        unit = max(np.abs(effects).max(initial=0.0), np.abs(slope).max(initial=0.0)) or 1.0
        is_level = np.array([level is not None for level in self.level], dtype=bool)
        at = np.array([0.0 if new else float(question.row.values[i]) for i, new in zip(k, is_level)])
        scale, whole = self.scale[k], self.limits.whole[k]
        low, high = self._worthwhile(at)
        stretches, move = self.stretches, self.stretches.move
        return MoveProblem(
            start=start / unit,  # g of z / unit with beta * unit is g of z with beta, over unit
            effects=effects / unit,
            signs=signs,
            beta=beta * unit,
            slope=slope / unit,
            goal=goal / unit,
            stretch_of=move,
            begin=(stretches.begin - at[move]) / scale[move],
            end=(stretches.end - at[move]) / scale[move],
            low=np.where(is_level, 0.0, (low - at) / scale),
            high=np.where(is_level, 1.0, (high - at) / scale),
            step=np.where(is_level, 1.0, whole / scale),
            shift=np.where(whole, (np.rint(at) - at) / scale, 0.0),
            group=np.where(is_level, k, -1),
        )

    def _worthwhile(self, at: Array) -> tuple[Array, Array]:
        """Return the limits of moves, in the user's units, less what lies beyond where numbers end to count.

        A row that is there already may stay, and whole numbers may go to the first one beyond.
        """
        low, high = self.limits.low[self.feature], self.limits.high[self.feature]
        whole = self.limits.whole[self.feature]
        first, last = self.stretches.ends()
        first, last = np.minimum(first, at), np.maximum(last, at)
        first, last = np.where(whole, np.floor(first), first), np.where(whole, np.ceil(last), last)
        return np.clip(first, low, high), np.clip(last, low, high)

    def columns(self, moves: Array) -> dict[int, list[Any]]:
        """Return the columns that some of the moves, of shape (r, n), change, each with its r values."""
        changed: dict[int, list[Any]] = {}
        for i in np.flatnonzero(moves.any(axis=0)):
            k, level = int(self.feature[i]), self.level[i]
            if level is None:
                changed[k] = self._numbers(k, moves[:, i])
            else:
                values = changed.get(k, [self.question.row.values[k]] * len(moves))
                changed[k] = [level if v else old for v, old in zip(moves[:, i], values)]
        return changed

    def _numbers(self, k: int, moves: Array) -> list[Any]:
        """Return the values of a numeric column after moves, all of one type."""
        before = self.question.row.values[k]
        after = np.clip(float(before) + self.scale[k] * moves, self.limits.low[k], self.limits.high[k])
        after = np.where(moves == 0, float(before), np.rint(after) if self.limits.whole[k] else after)
        kind = type(before) if self.limits.whole[k] else float
        return [kind(value) for value in after]

    def table(self, moves: Array) -> Any:
        """Return the rows that moves, of shape (r, n), lead to, in the user's columns."""
        return self.question.row.changed(self.columns(moves), len(moves))

    def point(self, move: Array) -> tuple[Array, Array]:
        """Return the values that a move leads to, and the changes in the user's units; each of shape (p,)."""
        values = self.question.row.values
        point, changes = values.copy(), np.zeros(len(values))
        for k, (after,) in self.columns(move[None]).items():
            changes[k] = float(after) - float(values[k]) if self.question.fitted.columns.is_number[k] else 1.0
            point[k] = after
        return point, changes


def _straight_inputs(columns: Columns, numeric: IntArray, scale: Array) -> Any:
    """Return what a standard deviation of columns that do not bend adds to the inputs, sparse, (n, q)."""
    moved = np.flatnonzero((columns.kind == "number") & np.isin(columns.source, numeric))
    source = columns.source[moved]
    places = np.searchsorted(numeric, source), moved
    shape = len(numeric), len(columns.source)
    return scipy.sparse.csr_array((columns.slope[moved] * scale[source], places), shape=shape)


def _refuse_both(fitted: FittedModel, k: int) -> None:
    if fitted.columns.is_number[k]:
        raise ValueError(
            f"{fitted.feature_names[k]!r} enters the model both as a number and as categories; "
            "name it in immutable."
        )


def _levels(question: Question, k: int, categories: list[Any]) -> tuple[list[Any], Array]:
    """Return the categories that a column could go over to, and what each adds to the inputs, (n, q).

    They are tried out, so that dropped and merged ones are what the preprocessing makes of them.
    """
    fitted, row = question.fitted, question.row
    tried = dense(fitted.read(row.changed({k: categories}, len(categories))))
    added = tried - dense(fitted.read(row.table))
    first = np.sort(np.unique(added, axis=0, return_index=True)[1])
    other = [i for i in first if added[i].any()]
    return [categories[i] for i in other], added[other]
