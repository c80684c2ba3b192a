"""Gradient Boosting Mapping: a prediction, a supervised map, a distance and an alarm in one model."""

from gbmap.distances import embedding_distances, path_distances
from gbmap.drift import DriftDetector
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.persistence import load, save

__version__ = "0.1.0"
__all__ = [
    "DriftDetector",
    "GBMAPClassifier",
    "GBMAPRegressor",
    "embedding_distances",
    "load",
    "path_distances",
    "save",
]
