"""PlainList and names as strict JSON has them: rounded to what a reader can use, NaN as null."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gbmap._utils.plain import PlainList
from gbmap._utils.typing import Array


def significant(value: Any, digits: int = 6) -> float | None:
    """Return a number to so many significant digits; None if it is none."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.{digits}g}")


def rounded(values: Any, digits: int = 4, spread: float | None = None) -> list[Any]:
    """Return many numbers to within 10^-digits of their spread, or a tenth of that, nested as they are."""
    values = np.asarray(values, dtype=np.float64)
    decimals = decimals_for(spread_of(values) if spread is None else spread, digits)
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.round(values, decimals)
    numbers = np.where(np.isfinite(numbers), numbers, values)
    if numbers.ndim > 1:
        return PlainList(_numbers(row) for row in numbers)
    return _numbers(numbers)


def _numbers(values: Array) -> PlainList:
    """Return an array as a list: whole numbers without a decimal point, which saves a third of the file."""
    numbers = PlainList(values.tolist())
    is_whole = (np.abs(values) < 2**53) & (values == np.floor(values))
    for i in np.flatnonzero(is_whole | ~np.isfinite(values)).tolist():
        numbers[i] = int(numbers[i]) if is_whole[i] else None
    return numbers


def spread_of(values: Array) -> float:
    """Return the standard deviation of the values that are finite; zero if there are none."""
    known = values[np.isfinite(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        return float(known.std()) if known.size else 0.0


def decimals_for(spread: float, digits: int) -> int:
    """Return how many decimals show a ten-to-the-digits-th of a spread."""
    if not (math.isfinite(spread) and spread > 0):
        return digits
    return int(np.clip(digits - math.floor(math.log10(spread)), -300, 300))
