"""Pictures of fitted models: each Display is made from arrays, or by ``from_estimator``."""

from gbmap._drawing import BarDisplay, CurveDisplay, EffectDisplay, HeatmapDisplay, IntervalDisplay
from gbmap.plots.curve import ColumnCurveDisplay
from gbmap.plots.drift import DriftDisplay
from gbmap.plots.embedding import EmbeddingDisplay
from gbmap.plots.explanation import ExplanationDisplay
from gbmap.plots.importance import ImportanceDisplay
from gbmap.plots.loss_curve import LossCurveDisplay
from gbmap.plots.monitor import MonitorDisplay
from gbmap.plots.path import PathDisplay
from gbmap.plots.region import RegionDisplay

__all__ = [
    "BarDisplay",
    "ColumnCurveDisplay",
    "CurveDisplay",
    "DriftDisplay",
    "EffectDisplay",
    "EmbeddingDisplay",
    "ExplanationDisplay",
    "HeatmapDisplay",
    "ImportanceDisplay",
    "IntervalDisplay",
    "LossCurveDisplay",
    "MonitorDisplay",
    "PathDisplay",
    "RegionDisplay",
]
