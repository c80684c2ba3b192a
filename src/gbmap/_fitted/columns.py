"""From the inputs of a model back to the columns that the user had, through scikit-learn's preprocessing.

Every input of the model must come from one column: scaled, one-hot encoded, or a mark of missing values.
`trace` follows the steps; a step that mixes columns, or bends them, is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce, singledispatch
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from gbmap._core.inputs import Inputs
from gbmap._utils.scikit_learn import columns_of_parts, n_inputs_of_columns
from gbmap._utils.typing import Array, IntArray

# What there is one of for each input.
_OF_INPUTS = ("source", "kind", "slope", "offset", "low", "high", "level")


@dataclass(frozen=True)
class Columns:
    """Where each of a model's inputs comes from: input = slope * value + offset.

    The value is that of the user's column for a number, else 1 or 0: whether the column holds a
    certain category, or nothing.

    Attributes
    ----------
    names : array of shape (p,)
        The user's columns.
    source : integer array of shape (q,)
        The column of each of the q inputs.
    kind : array of shape (q,) of "number", "bend", "category" or "missing"
    slope, offset : arrays of shape (q,)
    low, high : arrays of shape (q,)
        Where an input begins and ends to move with its column, on the scale of slope * value + offset: it is
        that clipped to them, less low if that is finite. Often there are no limits.
    level : array of shape (q,)
        The category that an input stands for, "" for other kinds.
    has_rest : boolean array of shape (p,)
        Whether a category of the column may have no input: a dropped or an unknown one.
    """

    names: Array
    source: IntArray
    kind: Array
    slope: Array
    offset: Array
    low: Array
    high: Array
    level: Array
    has_rest: Array

    @classmethod
    def plain(cls, names: Array) -> Columns:
        """Return the columns of a model without preprocessing: each is a number, and an input."""
        p = len(names)
        return cls(
            names=np.asarray(names, dtype=object),
            source=np.arange(p),
            kind=np.full(p, "number", dtype=object),
            slope=np.ones(p),
            offset=np.zeros(p),
            low=np.full(p, -np.inf),
            high=np.full(p, np.inf),
            level=np.full(p, "", dtype=object),
            has_rest=np.zeros(p, dtype=bool),
        )

    @property
    def is_plain(self) -> bool:
        """Whether each column is an input as it is."""
        return (
            len(self.source) == len(self.names)
            and bool((self.source == np.arange(len(self.names))).all())
            and bool((self.kind == "number").all())
            and bool((self.slope == 1).all() and (self.offset == 0).all())
        )

    @property
    def has_limits(self) -> Array:
        """Whether each input stands still where its column goes on, of shape (q,)."""
        return np.isfinite(self.low) | np.isfinite(self.high)

    @property
    def is_number(self) -> Array:
        """Whether each of the user's columns enters as a number, of shape (p,)."""
        number = np.zeros(len(self.names), dtype=bool)
        number[self.source[self.kind == "number"]] = True
        return number

    @property
    def is_used(self) -> Array:
        """Whether each of the user's columns has any input, of shape (p,)."""
        return np.isin(np.arange(len(self.names)), self.source)

    def inputs_of(self, column: int) -> IntArray:
        """Return the inputs that come from one column."""
        return np.flatnonzero(self.source == column)

    def take(self, inputs: Any) -> Columns:
        """Return the columns of some of the inputs."""
        return replace(
            self,
            **{name: getattr(self, name)[inputs] for name in _OF_INPUTS},
        )

    def expanded(self, inputs: Inputs, categories: tuple[Array | None, ...] | None) -> Columns:
        """Return where what learners make of these inputs comes from, given what codes stand for."""
        if inputs.is_plain:
            return self
        n_numbers, n_missing = len(inputs.number_source), len(inputs.missing_source)
        found = self.take(inputs.source)
        bends = np.append(inputs.bends, np.zeros(len(inputs) - n_numbers, dtype=bool))
        is_mark = np.arange(len(inputs)) >= n_numbers
        of_category = slice(n_numbers + n_missing, None)
        kind, level, has_rest = found.kind.copy(), found.level.copy(), self.has_rest.copy()
        kind[bends], kind[is_mark], kind[of_category] = "bend", "missing", "category"
        codes = zip(inputs.category_source, inputs.code)
        level[of_category] = [
            str(code if categories is None or categories[k] is None else categories[k][int(code)])
            for k, code in codes
        ]
        has_rest[found.source[of_category]] = True
        low, high = found.low.copy(), found.high.copy()
        low[:n_numbers], high[:n_numbers] = inputs.low, inputs.high
        return replace(
            found,
            kind=kind,
            slope=np.where(is_mark, 1.0, found.slope),
            offset=np.where(is_mark, 0.0, found.offset),
            low=low,
            high=high,
            level=level,
            has_rest=has_rest,
        )

    def rescale(self, factor: Array | float, shift: Array | float) -> Columns:
        """Return the columns after ``input -> factor * input + shift``."""
        return replace(self, slope=self.slope * factor, offset=self.offset * factor + shift)

    def collect(self, of_inputs: Array) -> Array:
        """Return the sums over the inputs of each column: (n, q, ...) becomes (n, p, ...)."""
        if self.is_plain:
            return of_inputs
        q, p = len(self.source), len(self.names)
        membership = scipy.sparse.csr_array((np.ones(q), (self.source, np.arange(q))), shape=(p, q))
        flat = np.moveaxis(of_inputs, 1, 0).reshape(q, -1)
        shape = (p, of_inputs.shape[0], *of_inputs.shape[2:])
        return np.ascontiguousarray(np.moveaxis((membership @ flat).reshape(shape), 0, 1))

    def numbers(self, of_inputs: Array) -> Array:
        """Return values of the inputs, (n, q), as values of the user's columns, (n, p): the scaling undone.

        A category counts as one, a column without inputs as zero.
        """
        if self.is_plain:
            return of_inputs.copy()
        values = np.where(self.is_used & ~self.is_number, 1.0, 0.0)
        out = np.broadcast_to(values, (len(of_inputs), len(values))).copy()
        for k in np.flatnonzero((self.kind == "number") & (self.slope != 0)):
            out[:, self.source[k]] = (of_inputs[:, k] - self.offset[k]) / self.slope[k]
        return out


def join(parts: list[Columns], whole: Columns) -> Columns:
    """Return the columns of several transformers side by side."""
    if not parts:
        return whole.take(slice(0))
    stacked = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _OF_INPUTS}
    return replace(whole, **stacked, has_rest=np.logical_or.reduce([part.has_rest for part in parts]))


@singledispatch
def trace(step: Any, columns: Columns) -> Columns:
    """Return where the outputs of a fitted step come from, given that of its inputs."""
    raise _not_traceable(f"the step {type(step).__name__}")


def _not_traceable(what: str) -> ValueError:
    return ValueError(
        f"{what} cannot be followed back to the columns of X; to see the answer in the inputs of the GBMAP "
        "instead, pass pipeline[-1] as the model and pipeline[:-1].transform(X) as X."
    )


@trace.register
def _(step: str, columns: Columns) -> Columns:
    return columns if step == "passthrough" else columns.take(slice(0))


@trace.register
def _(step: None, columns: Columns) -> Columns:
    return columns


@trace.register
def _(step: Pipeline, columns: Columns) -> Columns:
    return reduce(lambda so_far, named: trace(named[1], so_far), step.steps, columns)


@trace.register
def _(step: FeatureUnion, columns: Columns) -> Columns:
    if step.transformer_weights:
        raise _not_traceable("a FeatureUnion with transformer_weights")
    return join([trace(part, columns) for _, part in step.transformer_list], columns)


@trace.register
def _(step: ColumnTransformer, columns: Columns) -> Columns:
    if step.transformer_weights:
        raise _not_traceable("a ColumnTransformer with transformer_weights")
    of_part = columns_of_parts(step)
    parts = [
        trace(part, columns.take(of_part[name])) for name, part, _ in step.transformers_ if len(of_part[name])
    ]
    return join(parts, columns)


@trace.register
def _(step: FunctionTransformer, columns: Columns) -> Columns:
    if step.func is not None:
        raise _not_traceable(f"a FunctionTransformer with func={getattr(step.func, '__name__', step.func)}")
    return columns


@trace.register
def _(step: StandardScaler, columns: Columns) -> Columns:
    factor = 1.0 if step.scale_ is None else 1 / step.scale_
    return columns.rescale(factor, -step.mean_ * factor if step.with_mean else 0.0)


@trace.register
def _(step: RobustScaler, columns: Columns) -> Columns:
    factor = 1.0 if step.scale_ is None else 1 / step.scale_
    return columns.rescale(factor, 0.0 if step.center_ is None else -step.center_ * factor)


@trace.register
def _(step: MaxAbsScaler, columns: Columns) -> Columns:
    _refuse_clipping(step)
    return columns.rescale(1 / step.scale_, 0.0)


@trace.register
def _(step: MinMaxScaler, columns: Columns) -> Columns:
    _refuse_clipping(step)
    return columns.rescale(step.scale_, step.min_)


def _refuse_clipping(step: Any) -> None:
    if getattr(step, "clip", False):
        raise _not_traceable(f"a {type(step).__name__} with clip=True")


@trace.register
def _(step: SelectorMixin, columns: Columns) -> Columns:
    return columns.take(step.get_support(indices=True))


@trace.register
def _(step: MissingIndicator, columns: Columns) -> Columns:
    marks = columns.take(step.features_)
    q = len(step.features_)
    return replace(marks, kind=np.full(q, "missing", dtype=object), slope=np.ones(q), offset=np.zeros(q))


@trace.register
def _(step: SimpleImputer, columns: Columns) -> Columns:
    # Columns without any value, those with a statistic of NaN, are dropped unless asked for.
    empty = np.array([value != value for value in step.statistics_], dtype=bool)
    kept = columns if step.keep_empty_features else columns.take(~empty)
    return join([kept, trace(step.indicator_, columns)], columns) if step.add_indicator else kept


@trace.register
def _(step: OneHotEncoder, columns: Columns) -> Columns:
    n_inputs = n_inputs_of_columns(step)
    before = np.repeat(np.arange(len(n_inputs)), n_inputs)
    names = getattr(step, "feature_names_in_", [f"x{i}" for i in range(len(n_inputs))])
    labels = [label.removeprefix(f"{names[i]}_") for i, label in zip(before, step.get_feature_names_out())]
    has_rest = columns.has_rest.copy()
    dropped = step.drop_idx_ if step.drop_idx_ is not None else np.full(len(n_inputs), None)
    for i in np.flatnonzero(columns.kind != "missing"):
        has_rest[columns.source[i]] |= dropped[i] is not None or step.handle_unknown != "error"
    level = np.array(labels, dtype=object)
    # An encoded mark of missing values stays one; of its two inputs, that for "not missing" is turned round.
    is_mark = columns.kind[before] == "missing"
    is_turned = is_mark & np.isin(level, ["False", "0", "0.0"])
    return replace(
        columns.take(before),
        kind=np.where(is_mark, "missing", "category").astype(object),
        slope=np.where(is_turned, -1.0, 1.0),
        offset=np.where(is_turned, 1.0, 0.0),
        level=np.where(is_mark, "", level),
        has_rest=has_rest,
    )
