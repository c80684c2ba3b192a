"""Gradient Boosting Mapping: a prediction, a supervised map, a distance and an alarm in one model."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gbmap.distances import embedding_distances, path_distances
    from gbmap.drift import DriftDetector, DriftMonitor
    from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
    from gbmap.persistence import load, save
    from gbmap.selection import GBMAPClassifierCV, GBMAPRegressorCV
    from gbmap.tables import TableModel

__version__ = "0.1.0"
__all__ = [
    "DriftDetector",
    "DriftMonitor",
    "GBMAPClassifier",
    "GBMAPClassifierCV",
    "GBMAPRegressor",
    "GBMAPRegressorCV",
    "TableModel",
    "embedding_distances",
    "load",
    "path_distances",
    "save",
]

# Loaded when they are asked for, so that `gbmap --help` comes at once.
_HOMES = {
    "DriftDetector": "drift",
    "DriftMonitor": "drift",
    "GBMAPClassifier": "estimators",
    "GBMAPClassifierCV": "selection",
    "GBMAPRegressor": "estimators",
    "GBMAPRegressorCV": "selection",
    "TableModel": "tables",
    "embedding_distances": "distances",
    "load": "persistence",
    "path_distances": "distances",
    "save": "persistence",
}

_PACKAGES = {*_HOMES.values(), "datasets", "inspection", "losses", "onnx", "plots", "report", "sql"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"gbmap.{_HOMES[name]}"), name)
    if name in _PACKAGES:
        return importlib.import_module(f"gbmap.{name}")
    raise AttributeError(f"module 'gbmap' has no attribute {name!r}{_instead_of(name)}")


def _instead_of(name: str) -> str:
    """Return where a name is that somebody looks for at the top, if anywhere."""
    if name.startswith("_"):  # tools ask modules for such names
        return ""
    for package in sorted(_PACKAGES):
        with suppress(ImportError):  # of an extra that is not installed
            if name in getattr(importlib.import_module(f"gbmap.{package}"), "__all__", ()):
                return f": it is gbmap.{package}.{name}"
    return ": write GBMAPRegressor or GBMAPClassifier" if name == "GBMAP" else ""


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_PACKAGES])
