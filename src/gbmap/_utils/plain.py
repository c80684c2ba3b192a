"""Results as JSON has them: numbers, texts, lists and dictionaries."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any


class PlainList(list[Any]):
    """What is as JSON has it already: there may be too much to look at twice."""


def plain(value: Any) -> Any:
    """Return a result, of NumPy's arrays too, as plain data; a number that is not finite is None."""
    if value is None or isinstance(value, PlainList | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {_text(key): plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return plain(value) if isinstance(value, bool | int | float | None) else _text(value)


def _text(value: Any) -> str:
    """Return text that can be written in UTF-8."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
