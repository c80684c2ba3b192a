"""From the contents of a report to one HTML page: the template, its styles, scripts and data in one file."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from gbmap._fitted.sayings import WEEKDAYS, day_of_year
from gbmap._utils.glossary import METRICS, TERMS
from gbmap._utils.optional import require
from gbmap._utils.text import shortened

_SCRIPTS = (
    "base",
    "theme",
    "charts",
    "colours",
    "points",
    "map",
    "selection",
    "row",
    "learners",
    "swarm",
    "features",
    "curves",
    "spreads",
    "performance",
    "regions",
    "drift",
    "over_time",
    "start",
)
_LIBRARY = "echarts/echarts.common.min.js"
_NOTHING, _MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
_LONGEST_NAME = 60

# What could end the block of data, or a line of a script, written so that it cannot.
_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def render(contents: Mapping[str, Any], data: str) -> str:
    """Return the page of a report.

    Parameters
    ----------
    contents : dict
        Those of `Report`.
    data : str
        The same as JSON.
    """
    scripts = [_asset(_LIBRARY), _own_scripts()]
    return (
        _environment(require("jinja2", "report"))
        .get_template("page.html.j2")
        .render(
            report=contents,
            data=data.translate(_ESCAPES),
            style=_asset("style.css"),
            scripts=scripts,
            hashes=[_hash(script) for script in scripts],
        )
    )


@lru_cache(1)
def _environment(jinja2: Any) -> Any:
    """Return what keeps templates, which take longer to compile than to fill in."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {each.__name__: each for each in _FILTERS}
    environment.globals |= {"terms": TERMS, "metrics": METRICS}
    return environment


def _asset(name: str) -> str:
    return resources.files("gbmap.report").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


def _own_scripts() -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def _hash(script: str) -> str:
    """Return what a content security policy calls a script by, so that no other one runs."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def number(value: float | None, *, sign: bool = False) -> str:
    """Return a number to four digits, as the scripts write it too."""
    if value is None:
        return _NOTHING
    size = abs(value)
    if size and (size < 1e-4 or size >= 1e15):
        mantissa, exponent = f"{_rounded(size, 3):.2e}".split("e")
        shown = f"{mantissa}e{int(exponent)}"
    elif size >= 1000:
        shown = f"{math.floor(size + 0.5):,}"
    else:
        shown = f"{_rounded(size, 4):.15g}"
    return (_MINUS if value < 0 else "+" if sign and value else "") + shown


def column_value(value: float | None, scale: str = "number") -> str:
    """Return a value of a column, or of a part of a date: a year has no separator."""
    if value is not None and scale == "days":
        return day(value)
    if value is not None and scale == "weekday":
        return WEEKDAYS[math.floor(value) % 7]
    if value is not None and scale == "day of year" and value >= 1:
        return day_of_year(math.floor(value))
    if value is not None and abs(value) < 1e4 and value == math.floor(value):
        return f"{value:.0f}".replace("-", _MINUS)
    return number(value)


def _rounded(size: float, digits: int) -> float:
    """Return a number to so many digits, halves upwards as in a browser."""
    return float(Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(size))


def score(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a score: to three decimals, or if it is in the units of the target to four digits."""
    if value is None or metric["in_units_of_target"]:
        return number(value)
    return f"{round(value, 3) + 0.0:.3f}".replace("-", _MINUS)


def percent(share: float | None) -> str:
    """Return a share in percent, with one digit if it is small."""
    if share is None:
        return _NOTHING
    tenths = 10 if abs(100 * share) < 10 else 1
    return f"{number(math.floor(100 * share * tenths + 0.5) / tenths)} %"


def count(value: int, noun: str = "", plural: str = "") -> str:
    """Return a whole number with its noun, such as "1 row" or "2,000 rows"."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}" if noun else f"{value:,}"


def short(name: str, length: int = _LONGEST_NAME) -> str:
    """Return a name that fits on the page."""
    return shortened(name, length)


def seconds(value: float | None) -> str:
    """Return how long something took, to what matters of it."""
    return _NOTHING if value is None else f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"


def day(value: float | None) -> str:
    """Return the date so many days after the beginning of 1970."""
    return _NOTHING if value is None else str(np.datetime64(math.floor(value), "D"))


def sort_by_size(items: list[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """Return items with the number of the largest size first."""
    return sorted(items, key=lambda each: -abs(each[key]))


_FILTERS = (number, column_value, score, percent, count, short, seconds, day, sort_by_size)
