"""What all pictures share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(repr=False, eq=False)
class Display:
    """A picture: what it shows, and once drawn where.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Once drawn.
    """

    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.

        Returns
        -------
        self : Display
        """
        return self._drawn_on(self._draw(ax))

    def _draw(self, ax: Any) -> Any:
        """Draw on Axes, or on new ones, and return them: for pictures that can be drawn in one way."""
        raise NotImplementedError

    def _drawn_on(self, ax: Any) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self
