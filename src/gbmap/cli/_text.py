"""Text from files as a terminal may show it: visible, and without power over the terminal."""

from __future__ import annotations

import math
from typing import Any


def inert(text: Any) -> str:
    r"""Return a text in which every character that would not print is written as an escape.

    Control characters, among them those that start terminal commands or change the direction of
    writing, come out as ``\x1b`` and the like.
    """
    return "".join(each if each.isprintable() else _escape(each) for each in str(text))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def sentence(text: Any) -> str:
    """Return a message as one inert line."""
    return inert(" ".join(str(text).split()))


def number(value: float | None) -> str:
    """Return a number in four digits, a dash for one that is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def share(value: float | None) -> str:
    """Return a share in percent, a dash for one that is not known."""
    return "-" if value is None or math.isnan(value) else f"{100 * value:.3g} %"


def plain(value: Any) -> Any:
    """Return numbers, texts, lists and dictionaries as JSON has them, from those of NumPy too.

    A number that is not finite becomes None.
    """
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
