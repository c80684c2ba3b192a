"""Packages that not every user has."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str) -> Any:
    """Return an optional module, or say which extra brings its package."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise ImportError(f'{package} is needed for this; pip install "gbmap[{extra}]".') from error
