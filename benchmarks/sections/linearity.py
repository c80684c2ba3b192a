"""Growth with n, p and m."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import linear_regression

from benchmarks import verdicts
from benchmarks.experiments.linearity import BASE_M, BASE_N, BASE_P, fit_with
from benchmarks.experiments.passes import PASS
from benchmarks.markdown import count, number, table
from benchmarks.records import OK, Row, matches, median_of
from benchmarks.verdicts import Target

# An exponent from a handful of noisy times is good to about a tenth.
LINEAR, CONSTANT = 1.1, 0.1

INTRODUCTION = f"""\
The settings of the runtime table; where not said otherwise n = {count(BASE_N)}, p = {BASE_P}, m = {BASE_M}.
An exponent is the slope of a straight line through the logarithms. Linear growth is taken as an exponent of
at most {LINEAR}, none as at most {CONSTANT}: times from a few runs say no more. Data of up to the size of
the cache are visited faster than larger ones, which raises the exponents in n and p."""

Curve = dict[int, float]


def section(rows: Sequence[Row]) -> str:
    """The curves along each axis, and their exponents."""
    fit = fit_with(BASE_M).name
    columns = {"pass": (PASS, "seconds"), "fit": (fit, "seconds"), "passes": (fit, "passes")}
    along_n = {name: _curve(rows, "n", *column, p=BASE_P) for name, column in columns.items()}
    along_p = {name: _curve(rows, "p", *column, n=BASE_N) for name, column in columns.items()}
    along_m = {name: _curve_in_m(rows, field) for name, field in (("fit", "seconds"), ("passes", "passes"))}
    lines = [
        _verdict("time of a pass, exponent in n", LINEAR, along_n["pass"]),
        _verdict("time of a pass, exponent in p", LINEAR, along_p["pass"]),
        _verdict("passes of a fit, exponent in n", CONSTANT, along_n["passes"]),
        _verdict("time of a fit, exponent in m", LINEAR, along_m["fit"]),
    ]
    return "\n\n".join(
        [
            "## Growth with n, p and m",
            INTRODUCTION,
            _table("n", along_n),
            _table("p", along_p),
            _table("m", along_m),
            table(["target", "exponent", verdicts.HEADER[-1]], lines),
        ]
    )


def _verdict(text: str, bound: float, curve: Curve) -> list[str]:
    target, exponent = Target(f"{text}, at most {bound}", bound, at_most=True), _exponent(curve)
    return [target.text, number(exponent, 2), target.mark(exponent)]


def _curve(rows: Sequence[Row], axis: str, method: str, field: str, **held: int) -> Curve:
    """Medians of a column against n or p, the other held."""
    chosen = [row for row in rows if matches(row, method=method, status=OK, **held)]
    values = {at: median_of(chosen, field, **{axis: at}) for at in sorted({int(row[axis]) for row in chosen})}
    return {at: value for at, value in values.items() if value is not None}


def _curve_in_m(rows: Sequence[Row], field: str) -> Curve:
    """Medians of a column of fits against m, at the base size."""
    chosen = [row for row in rows if matches(row, n=BASE_N, p=BASE_P, status=OK) and row["m"]]
    values = {m: median_of(chosen, field, m=m) for m in sorted({int(row["m"]) for row in chosen})}
    return {m: value for m, value in values.items() if value is not None}


def _exponent(curve: Curve) -> float | None:
    """k of the best curve ~ x^k; None without two points."""
    if len(curve) < 2:
        return None
    return linear_regression([math.log(x) for x in curve], [math.log(y) for y in curve.values()]).slope


TITLES = {"pass": "a pass, ms", "fit": "a fit, s", "passes": "passes of the fit"}


def _table(axis: str, curves: dict[str, Curve]) -> str:
    points = sorted({at for curve in curves.values() for at in curve})
    lines = [[count(at), *(_cell(name, curve.get(at)) for name, curve in curves.items())] for at in points]
    exponents = ["exponent", *(number(_exponent(curve), 2) for curve in curves.values())]
    return table([axis, *(TITLES[name] for name in curves)], [*lines, exponents])


def _cell(name: str, value: float | None) -> str:
    return number(1000 * value if name == "pass" and value is not None else value)
