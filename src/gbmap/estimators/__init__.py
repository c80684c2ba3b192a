"""The estimators."""

from gbmap.estimators.classifier import GBMAPClassifier
from gbmap.estimators.regressor import GBMAPRegressor

__all__ = ["GBMAPClassifier", "GBMAPRegressor"]
