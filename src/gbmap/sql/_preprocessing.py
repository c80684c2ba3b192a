"""scikit-learn's preprocessing in SQL: from expressions of a table's columns to those of a model's inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce, singledispatch
from numbers import Real
from typing import Any

import numpy as np
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

from gbmap._utils.missing import is_missing
from gbmap._utils.scikit_learn import columns_of_parts, dropped_group, groups_of_categories
from gbmap.sql._text import Dialect, clip, identifier, literal, number


@dataclass(frozen=True)
class Value:
    """An expression of the table's columns."""

    plain: str  # the value as the table has it
    number: str  # the value as a finite number, or NULL
    # Expressions to add to what is computed from it: zero, or NULL where a step refuses the row.
    guards: tuple[str, ...] = ()

    def computed(self, sql: str) -> Value:
        """Return a number that was computed from this value."""
        return replace(self, plain=sql, number=sql)


def column(name: str, dialect: Dialect) -> Value:
    """Return a column of the table."""
    plain = f"source.{identifier(name)}"  # unless qualified, SQLite takes a missing column for a text
    is_number = dialect.is_number.format(plain)
    return Value(plain, f"CASE WHEN {is_number} THEN CAST({plain} AS DOUBLE PRECISION) END")


def read_like(value: Value, examples: Sequence[Any]) -> Value:
    """Return a value as a number if the examples are numbers, else as it is."""
    present = [each for each in examples if not is_missing(each)]
    are_numbers = all(isinstance(each, Real) and not isinstance(each, bool) for each in present)
    return value.computed(value.number) if present and are_numbers else value


def _is_among(value: Value, members: Sequence[Any]) -> str:
    """Return the condition that a value is one of some texts, numbers, truth values or marks of a gap."""
    is_number = value.plain == value.number
    present = [each for each in members if not is_missing(each)]
    conditions = [f"{value.plain} IS NULL"] if len(present) < len(members) else []
    if present:
        listed = [number(m) if is_number and not isinstance(m, str) else literal(m) for m in present]
        conditions.append(f"{value.plain} IN ({', '.join(listed)})")
    return " OR ".join(conditions) or "1 = 0"


def mark_of(value: Value, members: Sequence[Any]) -> Value:
    """Return 1 where a value is one of some members, None a gap, else 0."""
    return value.computed(f"CASE WHEN {_is_among(value, members)} THEN 1e0 ELSE 0e0 END")


def not_translatable(what: str) -> ValueError:
    """Return the error for preprocessing that has no SQL."""
    return ValueError(
        f"{what} cannot be written in SQL; pass pipeline[-1] as the model, and a table of what "
        "pipeline[:-1].transform gives."
    )


def translate(step: Any, values: list[Value]) -> list[Value]:
    """Return the outputs of a fitted step as expressions, given its inputs."""
    if step is None or isinstance(step, str):
        return [] if step == "drop" else values
    if not type(step).__module__.startswith("sklearn."):
        raise not_translatable(f"the step {type(step).__name__}")  # a subclass may do something else
    return _translate_step(step, values)


@singledispatch
def _translate_step(step: Any, values: list[Value]) -> list[Value]:
    raise not_translatable(f"the step {type(step).__name__}")


@_translate_step.register
def _(step: Pipeline, values: list[Value]) -> list[Value]:
    return reduce(lambda so_far, named: translate(named[1], so_far), step.steps, values)


@_translate_step.register
def _(step: FeatureUnion, values: list[Value]) -> list[Value]:
    _refuse(step, "transformer_weights")
    return [output for _, part in step.transformer_list for output in translate(part, values)]


@_translate_step.register
def _(step: ColumnTransformer, values: list[Value]) -> list[Value]:
    _refuse(step, "transformer_weights")
    of_part = columns_of_parts(step)
    return [
        output
        for name, part, _ in step.transformers_
        if len(of_part[name])
        for output in translate(part, [values[k] for k in of_part[name]])
    ]


@_translate_step.register
def _(step: FunctionTransformer, values: list[Value]) -> list[Value]:
    _refuse(step, "func")
    return values


def _refuse(step: Any, parameter: str) -> None:
    if getattr(step, parameter):
        raise not_translatable(f"a {type(step).__name__} with {parameter}")


@_translate_step.register
def _(step: StandardScaler, values: list[Value]) -> list[Value]:
    return _scaled(values, step.mean_ if step.with_mean else None, step.scale_)


@_translate_step.register
def _(step: RobustScaler, values: list[Value]) -> list[Value]:
    return _scaled(values, step.center_, step.scale_)


@_translate_step.register
def _(step: MaxAbsScaler, values: list[Value]) -> list[Value]:
    return _clipped(step, _scaled(values, None, step.scale_), (-1.0, 1.0))


@_translate_step.register
def _(step: MinMaxScaler, values: list[Value]) -> list[Value]:
    scaled = [
        value.computed(f"({value.number} * {number(scale)} + {number(low)})")
        for value, scale, low in zip(values, step.scale_, step.min_)
    ]
    return _clipped(step, scaled, step.feature_range)


def _scaled(values: list[Value], center: Any, scale: Any) -> list[Value]:
    centers = np.zeros(len(values)) if center is None else center
    scales = np.ones(len(values)) if scale is None else scale
    return [
        value.computed(f"(({value.number} - {number(c)}) / {number(s)})")
        for value, c, s in zip(values, centers, scales)
    ]


def _clipped(step: Any, values: list[Value], limits: tuple[float, float]) -> list[Value]:
    return [value.computed(clip(value.number, *limits)) for value in values] if step.clip else values


@_translate_step.register
def _(step: SelectorMixin, values: list[Value]) -> list[Value]:
    return [values[k] for k in step.get_support(indices=True)]


@_translate_step.register
def _(step: MissingIndicator, values: list[Value]) -> list[Value]:
    return [mark_of(values[k], [step.missing_values]) for k in step.features_]


@_translate_step.register
def _(step: SimpleImputer, values: list[Value]) -> list[Value]:
    fills = step.statistics_
    read = [read_like(value, [fill]) for value, fill in zip(values, fills)]
    if not is_missing(step.missing_values):
        read = [_refusing_gaps(value) for value in read]
    # A column that was empty in training has no fill, and is left out.
    filled = [
        _filled(value, step.missing_values, fill) for value, fill in zip(read, fills) if not is_missing(fill)
    ]
    return filled + (translate(step.indicator_, read) if step.add_indicator else [])


def _refusing_gaps(value: Value) -> Value:
    """Return a value with a guard against a missing number, which an imputer for others refuses."""
    if value.plain != value.number:
        return value
    return replace(value, guards=(*value.guards, f"CASE WHEN {value.number} IS NOT NULL THEN 0e0 END"))


def _filled(value: Value, missing: Any, fill: Any) -> Value:
    return value.computed(
        f"CASE WHEN {_is_among(value, [missing])} THEN {literal(fill)} ELSE {value.plain} END"
    )


@_translate_step.register
def _(step: OneHotEncoder, values: list[Value]) -> list[Value]:
    return [mark for i, value in enumerate(values) for mark in _encoded(step, i, value)]


def _encoded(step: OneHotEncoder, i: int, value: Value) -> list[Value]:
    """Return the marks of a column's categories, of which the last may be that of all infrequent ones."""
    known = list(step.categories_[i])
    if sum(map(is_missing, known)) > 1:
        raise not_translatable(
            "a OneHotEncoder with both None and NaN among its categories, one NULL in SQL,"
        )
    value = read_like(value, known)
    if step.handle_unknown == "error":
        guard = f"CASE WHEN {_is_among(value, known)} THEN 0e0 END"
        value = replace(value, guards=(*value.guards, guard))
    groups = groups_of_categories(step, i)
    has_rest = groups is not None and step.handle_unknown in ("infrequent_if_exist", "warn")
    group_of = np.arange(len(known)) if groups is None else groups
    marks = [
        mark_of(value, [each for each, own in zip(known, group_of) if own == group])
        for group in range(group_of.max() + 1)
    ]
    if has_rest:
        frequent = [each for each, own in zip(known, group_of) if own < group_of.max()]
        marks[-1] = value.computed(f"CASE WHEN {_is_among(value, frequent)} THEN 0e0 ELSE 1e0 END")
    return [mark for group, mark in enumerate(marks) if group != dropped_group(step, i)]
