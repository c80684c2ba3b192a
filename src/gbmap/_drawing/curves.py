"""Numbers along an axis, as lines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import Any

from gbmap._drawing.axes import CYCLE, axes, fit, legend, shorten
from gbmap._drawing.display import Display


@dataclass(repr=False, eq=False)
class CurveDisplay(Display):
    """One or several curves over the same points.

    Parameters
    ----------
    x : array of shape (k,)
    curves : dict of str to array of shape (k,)
        By the name in the legend, which is left out if there is one curve only.
    x_label, y_label : str, default=""
    lines : dict of str to float, default=None
        Levels to compare with, drawn as dashed lines across the picture.

    Examples
    --------
    >>> from gbmap.plots import CurveDisplay
    >>> CurveDisplay([0, 1, 2], {"loss": [4.0, 2.0, 1.0]}, "learners", "loss").x_label
    'learners'
    """

    x: Any
    curves: dict[str, Any]
    x_label: str = ""
    y_label: str = ""
    lines: dict[str, float] | None = None

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, (6.4, 4.0))
        colors = cycle(CYCLE)
        for (name, y), color in zip(self.curves.items(), colors):
            ax.plot(self.x, y, "o-", color=color, markersize=4, label=shorten(name))
        for (name, level), color in zip((self.lines or {}).items(), colors):
            ax.axhline(level, color=color, linestyle="--", label=shorten(name))
        n_lines = len(self.curves) + len(self.lines or {})
        if n_lines > 1:
            legend(ax, ((line, line.get_label()) for line in ax.lines[-n_lines:]))
        ax.set(xlabel=self.x_label, ylabel=self.y_label)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
        fit(ax)
        return ax
