"""Numbers and tables as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

NOTHING = "-"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns are all right-aligned but the first."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, never in scientific notation."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def fixed(value: float | None, decimals: int) -> str:
    """A number with so many decimals."""
    return NOTHING if value is None else f"{value:.{decimals}f}"


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """A quotient, or None where a part of it was not measured."""
    return None if numerator is None or denominator is None else numerator / denominator


def count(value: int) -> str:
    """1000000 as 10^6, 500000 as 5*10^5; other numbers as they are."""
    digits = str(value).rstrip("0")
    zeros = len(str(value)) - len(digits)
    if zeros < 4 or len(digits) > 1:
        return str(value)
    return f"10^{zeros}" if digits == "1" else f"{digits}*10^{zeros}"


def size(n: int, p: int) -> str:
    """n x p."""
    return f"{count(n)} x {count(p)}"
