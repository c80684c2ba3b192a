"""Drift without labels: which rows of a model's predictions should not be trusted, and why."""

from gbmap.drift.assessment import CoordinateShifts, DriftAssessment, RegionShifts
from gbmap.drift.constants import ConstantColumn
from gbmap.drift.detector import DriftDetector
from gbmap.drift.euclidean import EuclideanDetector
from gbmap.drift.explanation import DriftExplanation
from gbmap.drift.loss_estimate import LossEstimate
from gbmap.drift.monitor import DriftMonitor
from gbmap.drift.monitor_results import MonitorAlarm, MonitorUpdate
from gbmap.drift.verdict import DriftVerdict, Finding

__all__ = [
    "ConstantColumn",
    "CoordinateShifts",
    "DriftAssessment",
    "DriftDetector",
    "DriftExplanation",
    "DriftMonitor",
    "DriftVerdict",
    "EuclideanDetector",
    "Finding",
    "LossEstimate",
    "MonitorAlarm",
    "MonitorUpdate",
    "RegionShifts",
]
