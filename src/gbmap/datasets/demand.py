"""A table to try things on that means something: the electricity that a town needs."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._utils.optional import require
from gbmap.datasets._random import RandomState, seed_sequence

_NOISE = 1.2  # MW
_WORKING_DAY, _SATURDAY, _SUNDAY = "working day", "Saturday", "Sunday"


def make_demand(
    n_samples: int = 4000, *, warmer: float = 0.0, random_state: RandomState = None
) -> tuple[Any, Any]:
    """Draw hours of a year, and how much electricity a town needs in them.

    The table is made up, so that it is at hand without a download and its truth is known. Its formula
    is what operators of grids go by: a course of the day, which differs between working days and others;
    heating below 16 degrees, the more the windier; cooling above 23 degrees, most in working hours; lamps in
    the dark; and noise of 1.2 MW, below which no error on new hours gets.

    Parameters
    ----------
    n_samples : int, default=4000
        Number of hours, drawn independently of each other.
    warmer : float, default=0.0
        By how many degrees all hours are warmer: a year that is not like the others.
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    X : pandas DataFrame
        "hour" (0 to 23), "day" ("working day", "Saturday" or "Sunday"), "temperature" in degrees Celsius,
        "wind" in metres per second, "clouds" in percent of the sky.
    y : pandas Series
        "demand" in MW.

    Examples
    --------
    >>> from gbmap.datasets import make_demand
    >>> X, y = make_demand(1000, random_state=0)
    >>> X.columns.tolist(), y.name
    (['hour', 'day', 'temperature', 'wind', 'clouds'], 'demand')
    >>> bool(y[X["hour"] < 5].mean() < y[X["hour"] == 19].mean() - 15)  # nights and evenings
    True
    """
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of at least 1, got {n_samples!r}.")
    if not math.isfinite(warmer):
        raise ValueError(f"warmer must be a finite number of degrees, got {warmer!r}.")
    frames = require("pandas", "data")
    rng = np.random.default_rng(seed_sequence(random_state))
    day, hour = rng.integers(0, 365, n_samples), rng.integers(0, 24, n_samples)
    kind = np.select([day % 7 == 5, day % 7 == 6], [_SATURDAY, _SUNDAY], _WORKING_DAY)
    of_season = 10 - 11 * np.cos(2 * np.pi * (day - 15) / 365)
    of_day = 4.5 * np.cos(2 * np.pi * (hour - 15) / 24)
    temperature = of_season + of_day + warmer + rng.normal(0, 4, n_samples)
    clouds, wind = rng.beta(0.8, 0.7, n_samples), rng.gamma(2.2, 2, n_samples)
    demand = (
        _course_of_the_day(hour, kind)
        + _heating(temperature, wind)
        + _cooling(temperature, hour)
        + _lamps(hour, day, clouds)
        + rng.normal(0, _NOISE, n_samples)
    )
    X = {
        "hour": hour,
        "day": kind,
        "temperature": temperature.round(1),
        "wind": wind.round(1),
        "clouds": (100 * clouds).round(),
    }
    return frames.DataFrame(X), frames.Series(demand.round(1), name="demand")


def _course_of_the_day(hour: NDArray[Any], kind: NDArray[Any]) -> NDArray[Any]:
    def around(peak: float, width: float) -> NDArray[Any]:
        return np.exp(-0.5 * ((hour - peak) / width) ** 2)

    working = 14 * around(8.5, 2.2) + 9 * around(13, 3.2) + 2 * around(19, 2.4)
    noon = np.where(kind == _SATURDAY, 6, 4) * around(12, 3)
    everywhere = 38 + 9 * around(19, 2.4) - 7 * around(3.5, 2.5)
    return everywhere + np.where(kind == _WORKING_DAY, working, noon)


def _heating(temperature: NDArray[Any], wind: NDArray[Any]) -> NDArray[Any]:
    return 0.55 * np.maximum(16 - temperature, 0) * (1 + 0.04 * wind)


def _cooling(temperature: NDArray[Any], hour: NDArray[Any]) -> NDArray[Any]:
    is_used = (hour >= 9) & (hour <= 20)
    return 1.3 * np.maximum(temperature - 23, 0) * np.where(is_used, 1.2, 0.8)


def _lamps(hour: NDArray[Any], day: NDArray[Any], clouds: NDArray[Any]) -> NDArray[Any]:
    height = np.cos(2 * np.pi * (hour - 13) / 24) + 0.15 - 0.45 * np.cos(2 * np.pi * (day + 10) / 365)
    light = np.clip(height * (1 - 0.6 * clouds), 0, 1)
    return 3.5 * (1 - light) * ((hour > 6) & (hour < 23))
