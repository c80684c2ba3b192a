"""Where rows come from: a class for each kind of data, and the one place that asks which kind it is."""

from __future__ import annotations

from typing import Any

from gbmap._fit.sources.dask import DaskSource
from gbmap._fit.sources.device import DeviceSource
from gbmap._fit.sources.memory import MemorySource
from gbmap._fit.sources.source import Reader, Source

__all__ = ["KINDS", "Reader", "Source", "kind_of"]

# The first kind that holds the rows has them.
KINDS: list[type[Source]] = [DaskSource, DeviceSource, MemorySource]


def kind_of(X: Any) -> type[Source]:
    """Return the class for rows like these."""
    return next(kind for kind in KINDS if kind.recognises(X))
