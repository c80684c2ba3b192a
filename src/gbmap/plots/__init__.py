"""Pictures: each Display takes arrays and draws them on matplotlib Axes."""

from gbmap.plots.bars import BarDisplay
from gbmap.plots.curves import CurveDisplay
from gbmap.plots.heatmap import HeatmapDisplay
from gbmap.plots.intervals import IntervalDisplay

__all__ = ["BarDisplay", "CurveDisplay", "HeatmapDisplay", "IntervalDisplay"]
