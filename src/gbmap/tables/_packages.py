"""The optional packages that tables need, imported where they are used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def require(module: str) -> Any:
    """Return a module of pyarrow or pandas; if it is not installed, an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'tables need {package}: pip install "gbmap[cli]".') from error
