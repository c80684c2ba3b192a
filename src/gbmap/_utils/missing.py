"""What counts as a missing value, one at a time; in tables of text see `gbmap.tables._values` too."""

from __future__ import annotations

from typing import Any


def is_missing(value: Any) -> bool:
    """Return whether a value is None, or not equal to itself, as NaN and NaT; pandas' NA does not say."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # an array does not say either
        return type(value).__name__ == "NAType"
