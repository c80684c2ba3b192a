"""Means and deviations of columns and targets, from sums over blocks that are added in order.

Where the blocks lie is left open: `Each` answers for all of them, in memory or on a cluster, so that the
results have the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from gbmap._core.arrays import asarray_like, namespace, to_numpy, wide
from gbmap._core.units import Units
from gbmap._utils.typing import Array

# each(function, *args) stacks function(numbers, weight, *args) of the blocks, in order.
Each = Callable[..., Array]

# A column whose mean exceeds its spread so far that X's type leaves it fewer than four digits.
_DIGITS_LOST = 1e-4
# Squares of larger numbers leave the range of float64.
_LARGEST = 1e150
_SMALLEST = 1e-300
# Products with columns of a larger size, or with the weights of one with a spread below its inverse, leave
# the range of float32.
_LARGE_FOR_FLOAT32 = 1e30
_NO_SHARE = 1e-30  # far below the share of rounding
_REFERENCE_ROWS = 256


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation of each column; deviation zero if and only if constant."""

    mean: Array
    deviation: Array

    def center(self, dtype: np.dtype[Any]) -> Array:
        """Return the mean of the columns that lose too many digits unless centred, else zero."""
        risky = np.abs(self.mean) * np.finfo(dtype).eps > _DIGITS_LOST * self.deviation
        return np.where(risky & (self.deviation > 0), self.mean, 0.0).astype(dtype).astype(np.float64)

    @property
    def scale(self) -> Array:
        """The deviations, one of constant columns."""
        return np.where(self.deviation > 0, self.deviation, 1.0)

    @property
    def fit_float32(self) -> bool:
        """Whether products with all columns stay in the range of float32."""
        size = np.maximum(self.deviation, np.abs(self.mean))
        odd = (self.deviation < 1 / _LARGE_FOR_FLOAT32) | (size > _LARGE_FOR_FLOAT32)
        return not ((self.deviation > 0) & odd).any()


def reference_positions(n_rows: int) -> slice:
    """Return which rows tell a point amid the data."""
    return slice(None, None, max(1, n_rows // _REFERENCE_ROWS))


def reference_point(some: Array) -> Array:
    """Return a point amid the data that no outlier moves."""
    with np.errstate(invalid="ignore"):
        point: Array = np.median(some, axis=0).astype(some.dtype)
    return point


def moments_of_columns(
    sums: Array, weight_sum: float, reference: Array, of_column: Callable[[int], tuple[float, float]]
) -> Moments:
    """Return the moments, given the blocks' sums of x - reference and its squares, (n_blocks, 2, p).

    The sums are in X's type; of a column whose squares leave its range, `of_column` gives the moments.
    """
    with np.errstate(all="ignore"):
        shift, square = sums.sum(axis=0) / weight_sum
        mean, variance = reference + shift, square - shift**2
    small = np.finfo(reference.dtype).tiny / np.finfo(reference.dtype).eps
    deviation = np.sqrt(np.maximum(variance, 0))
    for k in np.flatnonzero(~(np.isfinite(mean) & (variance > small) & np.isfinite(variance))):
        mean[k], deviation[k] = of_column(int(k))
    return Moments(mean, deviation)


def careful_moments(column: Array, weight: Array | None) -> tuple[float, float]:
    """Return mean and standard deviation of one column in float64, whatever its magnitude."""
    weight_sum = float(len(column) if weight is None else weight.sum(dtype=np.float64))
    return column_moments(lambda function, *args: np.array([function(column, weight, *args)]), weight_sum)


def column_moments(each: Each, weight_sum: float) -> tuple[float, float]:
    """Return mean and standard deviation of one column in float64, whatever its magnitude.

    A spread below the normal numbers cannot be divided by, and counts as none.
    """
    extent = each(_extent)
    low, high = float(extent[:, 0].min()), float(extent[:, 1].max())
    check_size(max(-low, high))
    mean = float(each(_total).sum() / weight_sum)
    spread = max(high - mean, mean - low)
    if low == high or spread < _SMALLEST:
        return low, 0.0
    deviation = spread * float(np.sqrt(each(_squares, mean, spread).sum() / weight_sum))
    return (mean, deviation) if deviation >= _SMALLEST else (low, 0.0)


def target_moments(each: Each, weight_sum: float) -> tuple[Array, Array]:
    """Return mean and deviation of each target, of any magnitude; one where a target is constant.

    That is, where all rows are equal but those whose weight is next to nothing. Sums are of differences from
    the first row that has a weight, which are exactly zero for a constant. Blocks of targets may be of any
    library.
    """
    firsts = each(_first)
    first = firsts[~np.isnan(firsts[:, 0])][0]
    size = each(_farthest, first).max(axis=0)
    unit = np.where(size > 0, size, 1.0)
    mean = each(_difference_total, first, unit).sum(axis=0) / weight_sum
    deviation = size * np.sqrt(each(_difference_squares, first, unit, mean).sum(axis=0) / weight_sum)
    mean = first + size * mean
    return mean, np.where(deviation > _NO_SHARE * np.abs(mean), deviation, 1.0)


def standard_units(
    moments: Moments,
    target_mean: Array,
    target_deviation: Array,
    center: Array,
    *,
    standardize: bool,
    ridge: float | None,
) -> Units:
    """Return the units in which columns and targets have mean zero and spread one, or the user's."""
    mean, inverse_scale = _column_units(moments, standardize, ridge)
    return Units(
        mean=mean,
        inverse_scale=inverse_scale,
        target_mean=target_mean,
        target_scale=target_deviation if standardize else np.ones_like(target_deviation),
        center=center,
    )


def _column_units(moments: Moments, standardize: bool, ridge: float | None) -> tuple[Array, Array]:
    """Return what to subtract from each column and what to multiply it with, zero if it is constant."""
    mean, scale, varies = moments.mean, moments.deviation, moments.deviation > 0
    if ridge is not None:  # let the data and the ridge term together curve the objective by about one
        scale = np.hypot(scale, np.sqrt(2 * ridge / (varies.sum() + 1)) * np.hypot(1, mean))
    elif not standardize:
        mean, scale = np.zeros_like(mean), np.ones_like(scale)
    return mean, varies / np.where(varies, scale, 1.0)


def check_finite(X: Any) -> None:
    """Refuse numbers that are not finite."""
    with np.errstate(invalid="ignore"):  # the sum of infinities that it may take
        assert_all_finite(X, input_name="X")


def check_size(largest: float) -> None:
    """Refuse numbers too large to be squared."""
    if largest > _LARGEST:
        raise ValueError(
            f"X must hold numbers of at most {_LARGEST:g} in size, got {largest:g}; rescale the column."
        )


def _kept(numbers: Any, weight: Any) -> tuple[Any, Any]:
    """Return numbers and their weights, where these are not zero."""
    return (numbers, None) if weight is None else (numbers[weight > 0], weight[weight > 0])


def _kept_column(x: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """Return the same of a column, in float64."""
    x, weight = _kept(x, weight)
    return x.astype(np.float64), weight


def _sum(values: Any, weight: Any) -> Any:
    if weight is not None:
        values = values * (weight if values.ndim == 1 else weight[:, None])
    return namespace(values).sum(values, axis=0, dtype=wide(values))


def _extent(x: Array, weight: Array | None) -> tuple[float, float]:
    check_finite(x)
    x, _ = _kept_column(x, weight)
    return x.min(initial=np.inf), x.max(initial=-np.inf)


def _total(x: Array, weight: Array | None) -> Any:
    return _sum(*_kept_column(x, weight))


def _squares(x: Array, weight: Array | None, mean: float, spread: float) -> Any:
    x, weight = _kept_column(x, weight)
    return _sum(((x - mean) / spread) ** 2, weight)


def weight_total(weight: Array, _: Array | None) -> Any:
    """Return the sum of a block's weights."""
    return weight.sum(dtype=np.float64)


def _first(y: Any, weight: Any) -> Array:
    """Return the first row of a block that has a weight, NaN if none has."""
    y, _ = _kept(y, weight)
    return to_numpy(y[0, :]).astype(np.float64) if y.shape[0] else np.full(y.shape[1], np.nan)


def _farthest(y: Any, weight: Any, first: Array) -> Array:
    y, _ = _kept(y, weight)
    if not y.shape[0]:
        return np.zeros(y.shape[1])
    xp = namespace(y)
    return to_numpy(xp.max(xp.abs(y - asarray_like(first, y)), axis=0))


def _differences(y: Any, weight: Any, first: Array, unit: Array) -> tuple[Any, Any]:
    y, weight = _kept(y, weight)
    return (y - asarray_like(first, y)) / asarray_like(unit, y), weight


def _difference_total(y: Any, weight: Any, first: Array, unit: Array) -> Array:
    return to_numpy(_sum(*_differences(y, weight, first, unit)))


def _difference_squares(y: Any, weight: Any, first: Array, unit: Array, mean: Array) -> Array:
    difference, weight = _differences(y, weight, first, unit)
    return to_numpy(_sum((difference - asarray_like(mean, difference)) ** 2, weight))
