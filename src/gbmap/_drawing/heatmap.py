"""A table of signed numbers, as colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._drawing.axes import axes, fit, shorten
from gbmap._drawing.display import Display


@dataclass(repr=False, eq=False)
class HeatmapDisplay(Display):
    """A table as colours, blue for positive, red for negative, white for zero.

    Parameters
    ----------
    values : array of shape (r, c)
    row_names, column_names : sequences of r and c names
    value_label : str, default=""
        What the values are, beside the colour bar.

    Examples
    --------
    >>> from gbmap.plots import HeatmapDisplay
    >>> HeatmapDisplay([[1.0, -1.0]], ["row"], ["a", "b"]).column_names
    ['a', 'b']
    """

    values: Any
    row_names: Any
    column_names: Any
    value_label: str = ""

    def _draw(self, ax: Any) -> Any:
        values = np.asarray(self.values, dtype=np.float64)
        ax = axes(ax, (3.0 + 0.4 * values.shape[1], 1.8 + 0.32 * values.shape[0]))
        limit = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        image = ax.imshow(values, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        ax.set_yticks(range(values.shape[0]), [shorten(name, 24) for name in self.row_names])
        ax.set_xticks(
            range(values.shape[1]), [shorten(name, 24) for name in self.column_names],
            rotation=45, ha="right", rotation_mode="anchor",
        )  # fmt: skip
        ax.figure.colorbar(image, ax=ax, label=self.value_label)
        fit(ax)
        return ax
