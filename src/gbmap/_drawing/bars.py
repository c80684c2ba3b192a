"""Signed numbers with names, as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._drawing.axes import BLUE, VERMILLION, axes, fit, room, scale, style, wrap
from gbmap._drawing.display import Display

_SMALLEST_NAME = 5.0  # points
_TICKS = 5
_SHARE_OF_NAMES = 0.6  # the most of the width of a subplot


@dataclass(repr=False, eq=False)
class BarDisplay(Display):
    """Horizontal bars, the first on top; blue for positive, vermillion for negative.

    Parameters
    ----------
    values : array of shape (k,)
    names : sequence of k names
    value_label : str, default=""
        What the values are.
    lines : int, default=1
        The most lines that a name may take beside its bar.

    Examples
    --------
    >>> from gbmap.plots import BarDisplay
    >>> BarDisplay.largest([0.5, -2.0, 0.1], ["a", "b", "c"], 2).names
    ['b', 'a']
    """

    values: Any
    names: Any
    value_label: str = ""
    lines: int = 1

    @classmethod
    def largest(cls, values: Any, names: Any, k: int, value_label: str = "") -> Self:
        """Return the display of the k values of the largest size.

        Parameters
        ----------
        values : array of shape (p,)
        names : sequence of p names
        k : int
        value_label : str, default=""

        Returns
        -------
        display : BarDisplay
        """
        values = np.asarray(values, dtype=np.float64)
        order = np.argsort(-np.abs(values), kind="stable")[:k]
        return cls(values[order], [names[i] for i in order], value_label)

    def plot(self, ax: Any = None, *, bar_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        bar_kwargs : dict, default=None
            Passed on to ``ax.barh``.

        Returns
        -------
        self : BarDisplay
        """
        names, size = self._written(ax)
        n_lines = max((1 + name.count("\n") for name in names), default=1)
        height = 1.2 + (0.11 + 0.17 * n_lines) * len(names)
        ax = axes(ax, (6.4 if self.lines == 1 else 7.4, height))
        position = np.arange(len(self.values))
        color = np.where(np.asarray(self.values) >= 0, BLUE, VERMILLION)
        ax.barh(position, self.values, **style("bar", {"color": color}, bar_kwargs))
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(position, names)
        ax.invert_yaxis()
        ax.set_xlabel(self.value_label, loc="right")  # below the names too, which may leave little room
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.locator_params(axis="x", nbins=_TICKS)  # the same for any width, or the layout misses the last one
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
        fit(ax)
        ax.tick_params(axis="y", labelsize=size)
        return self._drawn_on(ax)

    def _written(self, ax: Any) -> tuple[list[str], float]:
        """Return the names in the lines that there is room for, and the size of their font."""
        length, lines, size = 40 if self.lines == 1 else 48, self.lines, 10.0
        if ax is not None and len(self.names):
            width, height = room(ax)
            of_bar = height / len(self.names)
            size = float(np.clip(of_bar / 1.2, _SMALLEST_NAME, 10 * scale(ax)))
            lines = int(np.clip(of_bar / (1.2 * size), 1, self.lines))
            length = int(np.clip(_SHARE_OF_NAMES * width / (0.55 * size), 8, length))
        return [wrap(name, length, lines) for name in self.names], size
