"""Pieces of SQL: names, literals, functions, and the chain of subqueries that they stand in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

# PostgreSQL raises an error where exp leaves the normal numbers, below -708.
_LEAST_EXPONENT = "(-700e0)"
# Databases refuse expressions nested a thousand deep; every term of a plain sum is one level.
_LONGEST_SUM = 100


@dataclass(frozen=True)
class Dialect:
    """What databases differ in."""

    # The condition that {0} is a finite number.
    is_number: str = "CAST({0} AS DOUBLE PRECISION) BETWEEN -1e308 AND 1e308"
    # The end of a subquery that makes the planner compute its expressions once, not at each use.
    fence: str = ""


# SQLite and PostgreSQL copy the expressions of a subquery, over and over, unless rows are to be counted.
_FENCE = f"\nLIMIT {2**63 - 1} OFFSET 0"
DIALECTS = {
    "portable": Dialect(fence=_FENCE),
    "duckdb": Dialect(),
    "postgresql": Dialect(fence=_FENCE),
    # SQLite casts every text to a number, most of them to zero.
    "sqlite": Dialect("typeof({0}) IN ('integer', 'real') AND {0} BETWEEN -1e308 AND 1e308", _FENCE),
}


def identifier(name: str) -> str:
    """Return a name in quotes, whatever it holds."""
    return '"' + _checked(name).replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a text, number or truth value as it is written in SQL."""
    if isinstance(value, str):
        return "'" + _checked(value).replace("'", "''") + "'"
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return number(value)
    raise TypeError(
        f"classes and categories must be text, numbers or truth values in SQL, got {value!r} of type "
        f"{type(value).__name__}; fit to their text instead."
    )


def _checked(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"names and categories must not hold the character NUL in SQL, got {text!r}.")
    return text


def number(value: Any) -> str:
    """Return a double as it is written in SQL, to the last bit; without an exponent it would be a decimal."""
    text = repr(float(value))
    if not math.isfinite(value):
        raise ValueError(f"model must hold finite numbers only to be written in SQL, got {text}.")
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def add_up(terms: Iterable[str]) -> str:
    """Return a sum, in groups if it is long."""
    terms = list(terms)
    while len(terms) > _LONGEST_SUM:
        groups = [terms[i : i + _LONGEST_SUM] for i in range(0, len(terms), _LONGEST_SUM)]
        terms = [f"({' + '.join(group)})" for group in groups]
    return " + ".join(terms)


# In the functions below NULL falls through to the ELSE, which passes it on.


def clip(sql: str, low: float, high: float) -> str:
    """Return a number held within limits."""
    return (
        f"CASE WHEN {sql} < {number(low)} THEN {number(low)} "
        f"WHEN {sql} > {number(high)} THEN {number(high)} ELSE {sql} END"
    )


def exp(sql: str) -> str:
    """Return the exponential, held above zero."""
    return f"EXP(CASE WHEN {sql} < {_LEAST_EXPONENT} THEN {_LEAST_EXPONENT} ELSE {sql} END)"


def softplus(sql: str) -> str:
    """Return log(1 + exp(t)), without overflow."""
    return f"CASE WHEN {sql} < 0e0 THEN 0e0 ELSE {sql} END + LN(1e0 + {exp(f'-ABS({sql})')})"


def sigmoid(sql: str) -> str:
    """Return 1 / (1 + exp(-t)), without overflow."""
    tail = exp(f"-ABS({sql})")
    return f"CASE WHEN {sql} < 0e0 THEN {tail} ELSE 1e0 END / (1e0 + {tail})"


def of_largest(rivals: Sequence[str], results: Sequence[str]) -> str:
    """Return the result of the first among the largest rivals; NULL if any of these is."""
    cases = [f"WHEN {add_up(rivals)} IS NULL THEN NULL"]
    for k, rival in enumerate(rivals[:-1]):
        wins = " AND ".join(f"{rival} >= {other}" for other in rivals[k + 1 :])
        cases.append(f"WHEN {wins} THEN {results[k]}")
    return f"CASE {' '.join(cases)} ELSE {results[-1]} END"


class Statement:
    """A chain of common table expressions, each of which reads the one before it, the first the table."""

    def __init__(self, table: Sequence[str], fence: str) -> None:
        self._source = f"{'.'.join(map(identifier, table))} AS source"
        self._fence = fence
        self._prefix = "step_"
        while table[-1].lower().startswith(self._prefix):  # or SQLite takes the table for a step
            self._prefix = f"a_{self._prefix}"
        self._steps: list[str] = []
        self._names: list[str] = []

    def add(self, new: dict[str, str], drop: Iterable[str] = ()) -> list[str]:
        """Compute new columns from the last ones, which are passed on unless dropped; return their names."""
        dropped = set(drop)
        columns = {name: name for name in self._names if name not in dropped} | new
        self._steps.append(self._select(columns.items()) + self._fence)
        self._names = list(columns)
        return list(new)

    def finish(self, results: Iterable[tuple[str, str]]) -> str:
        """Return the statement, given the columns of the result as name and expression."""
        steps = ",\n".join(f"{self._prefix}{i} AS (\n{step}\n)" for i, step in enumerate(self._steps))
        return f"WITH {steps}\n" + self._select((identifier(name), sql) for name, sql in results)

    def _select(self, columns: Iterable[tuple[str, str]]) -> str:
        listed = ",\n  ".join(sql if sql == name else f"{sql} AS {name}" for name, sql in columns)
        source = f"{self._prefix}{len(self._steps) - 1}" if self._steps else self._source
        return f"SELECT\n  {listed}\nFROM {source}"
