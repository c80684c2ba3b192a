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


def signed(value: float) -> str:
    """Return a number in three digits, or whole if it is large, with its sign."""
    return f"{value:+,.0f}" if 999.5 <= abs(value) < _HUGE else f"{value:+.3g}"


def column_value(value: float) -> str:
    """Return a value of a column: of four digits, such as a year, without a separator."""
    return f"{value:.0f}" if abs(value) <= _LARGE and value == round(value) else number(value)


def plain_number(value: float) -> str:
    """Return a number with all of its digits, without an exponent where people would not write one."""
    size = abs(value)
    if size and not 1e-6 <= size < 1e15:
        return f"{value:.6g}"
    whole, _, rest = f"{value:.15g}".partition("e")
    if rest:
        whole = f"{value:.{15 - int(rest)}f}".rstrip("0")
    head, dot, tail = whole.partition(".")
    return f"{int(head):,}{dot}{tail}" if size >= _LARGE else whole


def roundest(low: float, high: float) -> float:
    """Return the number of the fewest digits from a low one on and below a high one, next to their middle."""
    if not low < high:
        return low
    exponent = math.floor(math.log10(max(abs(low), abs(high), high - low))) + 1
    while True:
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            first, last = math.ceil(low / step), math.ceil(high / step) - 1
            if first <= last:
                middle = round((low + high) / 2 / step)
                chosen = min(max(middle, first), last) * step
                chosen = float(f"{chosen:.15g}")
                if low <= chosen < high:
                    return chosen
        exponent -= 1
        if 10.0**exponent < (high - low) * 1e-3:
            return low


def percent(share: float | None) -> str:
    """Return a share in percent, a dash for one that is not known."""
    return "-" if share is None or math.isnan(share) else f"{100 * share:.3g} %"


def duration(seconds: float) -> str:
    """Return so much time as one says it: in seconds, minutes, or hours and minutes."""
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def counted(n: int, what: str) -> str:
    """Return a number of things, such as "1 row" or "5 rows"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
