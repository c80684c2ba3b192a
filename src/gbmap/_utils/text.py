"""What results say in words, and text from files as a terminal may show it: without power over it."""

from __future__ import annotations

import math
from typing import Any

_LARGE, _HUGE = 9999.5, 1e9  # between which people read numbers more easily without an exponent
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def inert(text: Any) -> str:
    r"""Return a text in which every character that would not print is written as an escape.

    Control characters, among them those that start terminal commands or change the direction of
    writing, come out as ``\x1b`` and the like.
    """
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in str(text)
    )


def sentence(text: Any) -> str:
    """Return a message as one inert line."""
    return inert(" ".join(str(text).split()))


def shortened(text: str, length: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= length else text[: length - 1] + ELLIPSIS


def number(value: float | None) -> str:
    """Return a number in four digits, or whole if it is large; a dash for one that is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    is_large = isinstance(value, float) and _LARGE <= abs(value) < _HUGE
    return f"{value:,.0f}" if is_large else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def percent(share: float | None) -> str:
    """Return a share in percent, a dash for one that is not known."""
    return "-" if share is None or math.isnan(share) else f"{100 * share:.3g} %"


def counted(n: int, what: str) -> str:
    """Return a number of things, such as "1 row" or "5 rows"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
