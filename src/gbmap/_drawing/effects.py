"""What a column does to a number: a curve over its values, or a bar for each of its categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._drawing.axes import BLUE, GREY, SKY, VERMILLION, axes, fit, legend, scale, shorten, style
from gbmap._drawing.bars import BarDisplay
from gbmap._drawing.display import Display
from gbmap._utils.typing import Array

_STRIP = 0.16  # the share of the height that the spread of the values takes
_BINS = 40
_MOST_BARS = 20


@dataclass(repr=False, eq=False)
class EffectDisplay(Display):
    """A number over the values of a column: on average, for some rows, and how the values are spread.

    Parameters
    ----------
    values : array of shape (g,)
        Numbers in order, or names of categories.
    average : array of shape (g,)
    local : array of shape (r, g), default=None
        The same for single rows: thin lines, or points on bars.
    local_label : str, default="single rows"
    knots : array of shape (t,), default=None
        Where the curve may bend, marked by light ticks.
    observed : array of shape (n,), default=None
        Values that rows have, drawn as a histogram below the curve.
    share : array of shape (g,), default=None
        The share of rows of each category, written beside its name.
    missing : float, default=None
        The average where the value is missing, a dashed line.
    x_label, y_label : str, default=""

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap.plots import EffectDisplay
    >>> display = EffectDisplay([1.0, 2.0, 4.0], [0.0, 0.5, -1.0], x_label="age").plot()
    >>> display.ax_.get_xlabel()
    'age'
    >>> plt.close(display.figure_)
    """

    values: Any
    average: Any
    local: Any = None
    local_label: str = "single rows"
    knots: Any = None
    observed: Any = None
    share: Any = None
    missing: float | None = None
    x_label: str = ""
    y_label: str = ""

    def plot(self, ax: Any = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw; of more than 20 categories, those of the most rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        line_kwargs : dict, default=None
            Passed on to ``ax.plot`` for the average of numbers.

        Returns
        -------
        self : EffectDisplay
        """
        if np.asarray(self.values).dtype.kind in "iuf":
            return self._drawn_on(self._draw_curve(ax, line_kwargs))
        return self._drawn_on(self._draw_bars(ax))

    def _draw_curve(self, ax: Any, line_kwargs: dict[str, Any] | None) -> Any:
        ax = axes(ax, (6.4, 4.2))
        x, local = np.asarray(self.values, dtype=np.float64), self._local()
        entries = []
        look = {"color": SKY, "linewidth": 0.8, "alpha": 0.5 if len(local) > 1 else 0.9}
        for curve in local:
            (thin,) = ax.plot(x, curve, **look)
        if len(local):
            entries.append((thin, self.local_label))
        thick = {"color": BLUE, "linewidth": 2.2, "marker": "o" if len(x) == 1 else ""}
        (line,) = ax.plot(x, self.average, **style("line", thick, line_kwargs))
        entries.insert(0, (line, "on average"))
        if self.missing is not None:
            dashed = ax.axhline(self.missing, color=VERMILLION, linestyle="--", linewidth=1.2)
            entries.append((dashed, "where it is missing"))
        self._draw_spread(ax, x)
        if len(entries) > 1:
            legend(ax, entries)
        ax.set(xlabel=shorten(self.x_label), ylabel=self.y_label)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
        fit(ax)
        return ax

    def _draw_spread(self, ax: Any, x: Array) -> None:
        """Draw how many rows have which values, and the knots, in a strip below the curves."""
        observed = np.asarray([] if self.observed is None else self.observed, dtype=np.float64)
        knots = np.asarray([] if self.knots is None else self.knots, dtype=np.float64)
        if not len(observed) and not len(knots):
            return
        low, high = ax.get_ylim()
        ax.set_ylim(low - _STRIP / (1 - _STRIP) * (high - low), high)
        across = ax.get_xaxis_transform()  # heights are shares of that of the Axes
        if len(observed) and x[-1] > x[0]:
            counts, edges = np.histogram(observed, _BINS, (x[0], x[-1]))
            heights = 0.9 * _STRIP * counts / max(counts.max(), 1)
            ax.bar(
                edges[:-1], heights, np.diff(edges), align="edge", color=GREY, alpha=0.35, linewidth=0,
                transform=across, zorder=0,
            )  # fmt: skip
        if len(knots):
            ax.plot(
                knots, np.full(len(knots), 0.02), "|", color="black", alpha=0.55, markersize=8 * scale(ax),
                transform=across, zorder=1,
            )  # fmt: skip
        ax.set_xlim(*_widened(x[0], x[-1]))

    def _draw_bars(self, ax: Any) -> Any:
        average, names = np.asarray(self.average), [str(value) for value in self.values]
        share = None if self.share is None else np.asarray(self.share)
        kept = np.arange(len(names))
        if len(names) > _MOST_BARS:
            sizes = np.abs(average) if share is None else share
            kept = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_BARS])
        if share is not None:
            names = [f"{shorten(name, 28)} ({100 * part:.0f} %)" for name, part in zip(names, share)]
        ax = BarDisplay(average[kept], [names[k] for k in kept], self.y_label).plot(ax).ax_
        for values in self._local():
            ax.plot(
                values[kept], np.arange(len(kept)), "o", color="black", alpha=0.4, markersize=3 * scale(ax)
            )
        ax.set_title(shorten(self.x_label), fontsize=10 * scale(ax))
        return ax

    def _local(self) -> Array:
        if self.local is None:
            return np.empty((0, len(self.values)))
        return np.asarray(self.local, dtype=np.float64).reshape(-1, len(self.values))


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis a little beyond those of its values."""
    beyond = 0.03 * (high - low) or max(abs(low), 1.0) * 0.05
    return low - beyond, high + beyond
