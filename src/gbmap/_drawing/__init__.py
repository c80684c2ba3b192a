"""Pictures of arrays: each Display takes numbers and names, asks no model, and draws on matplotlib Axes."""

from gbmap._drawing.bars import BarDisplay
from gbmap._drawing.curves import CurveDisplay
from gbmap._drawing.effects import EffectDisplay
from gbmap._drawing.heatmap import HeatmapDisplay
from gbmap._drawing.intervals import IntervalDisplay

__all__ = ["BarDisplay", "CurveDisplay", "EffectDisplay", "HeatmapDisplay", "IntervalDisplay"]
