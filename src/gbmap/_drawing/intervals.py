"""Ranges of numbers with names, as bars between two ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._drawing.axes import BLUE, GREY, VERMILLION, axes, fit, shorten
from gbmap._drawing.display import Display
from gbmap._utils.typing import Array


@dataclass(repr=False, eq=False)
class IntervalDisplay(Display):
    """Horizontal intervals, the first on top; blue above zero, vermillion below, grey if they cross it.

    Parameters
    ----------
    lower, upper : arrays of shape (k,)
        The ends. An infinite end is drawn as an arrow.
    names : sequence of k names
    value_label : str, default=""
        What the values are.
    show_zero : bool, default=True
        Whether zero is part of the picture, and colours tell the signs.

    Examples
    --------
    >>> from gbmap.plots import IntervalDisplay
    >>> IntervalDisplay.largest([0.0, -2.0, 0.1], [0.5, 1.0, 0.2], ["a", "b", "c"], 2).names
    ['b', 'a']
    """

    lower: Any
    upper: Any
    names: Any
    value_label: str = ""
    show_zero: bool = True

    @classmethod
    def largest(cls, lower: Any, upper: Any, names: Any, k: int, value_label: str = "") -> Self:
        """Return the display of the k intervals that reach farthest from zero.

        Parameters
        ----------
        lower, upper : arrays of shape (p,)
        names : sequence of p names
        k : int
        value_label : str, default=""

        Returns
        -------
        display : IntervalDisplay
        """
        lower, upper = (np.asarray(end, dtype=np.float64) for end in (lower, upper))
        order = np.argsort(-np.maximum(-lower, upper), kind="stable")[:k]
        return cls(lower[order], upper[order], [names[i] for i in order], value_label)

    def _draw(self, ax: Any) -> Any:
        lower, upper = (np.asarray(end, dtype=np.float64) for end in (self.lower, self.upper))
        ax = axes(ax, (6.4, 1.2 + 0.28 * len(lower)))
        start, end = self._drawn(lower, upper)
        color = np.full(len(lower), BLUE)
        if self.show_zero:
            color = np.where(lower >= 0, BLUE, np.where(upper <= 0, VERMILLION, GREY))
            ax.axvline(0, color="black", linewidth=0.8)
        position = np.arange(len(lower))
        ax.hlines(position, start, end, color=color, linewidth=6)
        for which, place, marker in (
            (np.isinf(lower), start, "<"), (np.isinf(upper), end, ">"), (start == end, start, "o"),
        ):  # fmt: skip
            ax.scatter(place[which], position[which], s=60, marker=marker, color=color[which], zorder=3)
        ax.set_yticks(position, [shorten(name) for name in self.names])
        ax.set_ylim(len(lower) - 0.5, -0.5)
        ax.set_xlabel(self.value_label, loc="right")  # below the names too, which may leave little room
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
        fit(ax)
        return ax

    def _drawn(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return ends that fit into the picture: infinite ones a little outside of all others."""
        ends = np.concatenate([lower, upper, [0.0] if self.show_zero else []])
        ends = ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.zeros(1)
        margin = 0.08 * (np.ptp(ends) or 1.0)
        edges = ends.min() - margin, ends.max() + margin
        return np.clip(lower, *edges), np.clip(upper, *edges)
