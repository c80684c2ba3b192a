"""What parameters of the estimators may be, in the words of scikit-learn's validation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from gbmap._core.activation import ACTIVATIONS
from gbmap._utils.scikit_learn import HasMethods, Interval, StrOptions

PARAMETERS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "beta": [Interval(Real, 0, None, closed="neither")],
    "l2_regularization": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "knots": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "init": [None, HasMethods(["fit"]), callable],
    "standardize": ["boolean"],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "refine": ["boolean", StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "monotonic_cst": ["array-like", dict, None],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
