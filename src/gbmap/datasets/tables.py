"""Drawn tables that look like those of people's work, for examples that need no download."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbmap._utils.optional import require
from gbmap.datasets._random import RandomState, seed_sequence
from gbmap.datasets.synthetic import check_count

Columns = dict[str, Any]


def make_table(
    name: str, n_samples: int = 2_000, *, changed: bool = False, random_state: RandomState = None
) -> tuple[Any, Any]:
    """Draw a table as people have them: numbers, categories and gaps, and a target that depends on them.

    Nobody is in these tables: every row is drawn by a formula.

    Parameters
    ----------
    name : {"credit", "churn", "sensors"}
        ``"credit"``: applications for a loan, and whether it was ``"paid"`` back or is ``"unpaid"``; incomes
        are missing more often where nobody was asked. ``"churn"``: customers of a telephone company, and
        whether one was ``"kept"`` or ``"lost"``. ``"sensors"``: what pumps report after each run, and their
        wear in hundredths of a millimetre.
    n_samples : int, default=2000
        Number of rows.
    changed : bool, default=False
        Whether the world has changed: incomes are high and debts higher; a cheap plan is new; the sensor of
        the temperature reads 12 degrees too much.
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    X : pandas DataFrame
        Of n_samples rows.
    y : pandas Series
        "loan" or "customer", labels, or "wear", numbers.

    Examples
    --------
    >>> from gbmap.datasets import make_table
    >>> X, y = make_table("churn", 500, random_state=0)
    >>> X.columns.tolist(), sorted(set(y.tolist()))
    (['months', 'plan', 'fee', 'calls', 'days_since_use'], ['kept', 'lost'])
    """
    if name not in _TABLES:
        known = ", ".join(map(repr, _TABLES))
        raise ValueError(f"name must be one of {known}, got {name!r}.")
    frames = require("pandas", "data")
    rng = np.random.default_rng(seed_sequence(random_state))
    draw, target = _TABLES[name]
    columns, y = draw(check_count("n_samples", n_samples), changed, rng)
    return frames.DataFrame(columns), frames.Series(y, name=target)


def _credit(n: int, changed: bool, rng: np.random.Generator) -> tuple[Columns, NDArray[Any]]:
    income = np.exp(rng.normal(8.4 if changed else 7.8, 0.45, n)).round(-1)
    debt = np.clip(rng.gamma(2.0, 0.35 if changed else 0.15, n), 0, 3).round(2)
    years = rng.gamma(1.5, 4.0, n).round(1)
    late = rng.poisson(0.5, n)
    purpose = rng.choice(["car", "home", "study", "business"], n, p=[0.4, 0.25, 0.2, 0.15])
    risk = 3.2 * np.maximum(debt - 0.35, 0) + 0.8 * late + 0.9 * (purpose == "business")
    odds = risk - 1.1 * np.log(income / 2400) - 0.5 * np.minimum(years, 6) / 3 - 1.2
    unknown = rng.random(n) < np.where(purpose == "study", 0.3, 0.05)
    columns = {
        "income": np.where(unknown, np.nan, income),
        "debt_ratio": debt,
        "years_employed": years,
        "late_payments": late,
        "purpose": purpose,
    }
    return columns, np.where(rng.random(n) < _share(odds), "unpaid", "paid")


def _churn(n: int, changed: bool, rng: np.random.Generator) -> tuple[Columns, NDArray[Any]]:
    months = (rng.gamma(1.3, 16.0, n) + 1).round()
    plans, shares = ["basic", "family", "business"], [0.55, 0.3, 0.15]
    if changed:
        plans, shares = ["basic", "family", "business", "cheap"], [0.25, 0.2, 0.1, 0.45]
    plan = rng.choice(plans, n, p=shares)
    fee = np.select([plan == "cheap", plan == "basic", plan == "family"], [6.0, 15.0, 32.0], 48.0)
    fee = (fee * rng.uniform(0.85, 1.25, n)).round(2)
    calls = rng.poisson(1.1, n)
    idle = np.minimum(rng.gamma(1.0, 6.0, n), 60).round()
    unhappy = 0.9 * np.maximum(calls - 2, 0) + 0.07 * np.maximum(idle - 7, 0)
    odds = unhappy - 1.6 * np.log1p(months / 12) + 0.05 * np.maximum(fee - 35, 0) - 0.2 * (plan == "family")
    columns = {"months": months, "plan": plan, "fee": fee, "calls": calls, "days_since_use": idle}
    return columns, np.where(rng.random(n) < _share(odds), "lost", "kept")


def _sensors(n: int, changed: bool, rng: np.random.Generator) -> tuple[Columns, NDArray[Any]]:
    load = rng.beta(3.0, 2.0, n)
    temperature = 35 + 30 * load + rng.normal(0, 1.5, n)
    vibration = np.exp(rng.normal(-0.2, 0.25, n)) * (0.6 + load**2)
    pressure = 4.2 + 1.1 * load + rng.normal(0, 0.08, n)
    flow = 80 * load + rng.normal(0, 2.0, n)
    wear = 4 * np.maximum(temperature - 58, 0) + 30 * vibration * load + rng.normal(0, 3.0, n)
    columns = {
        "temperature": (temperature + 12 * changed).round(2),
        "vibration": vibration.round(3),
        "pressure": pressure.round(3),
        "flow": flow.round(2),
        "room_humidity": rng.uniform(30, 60, n).round(1),
    }
    return columns, wear.round(2)


def _share(odds: NDArray[Any]) -> NDArray[Any]:
    share: NDArray[Any] = 1 / (1 + np.exp(-odds))
    return share


_Draw = Callable[[int, bool, np.random.Generator], tuple[Columns, NDArray[Any]]]
_TABLES: dict[str, tuple[_Draw, str]] = {
    "credit": (_credit, "loan"),
    "churn": (_churn, "customer"),
    "sensors": (_sensors, "wear"),
}
