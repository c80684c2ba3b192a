"""Axes to draw on, colours, names and styles of all pictures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from gbmap._utils.optional import require
from gbmap._utils.text import ELLIPSIS, shortened

# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E",
)  # fmt: skip
CYCLE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)

_OWN: WeakSet[Any] = WeakSet()  # figures that were made here, large enough for what is drawn
_ENOUGH, _SMALLEST = (260, 130), 0.6  # points that texts of the usual size want, and how small they become
_SMALLEST_LEGEND = 5.0  # points, before it takes more lines instead
_CHARACTER, _LEGEND_LINE = 0.55, 1.6  # the width of a character, the height of a line, in sizes of the font


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the Axes given, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    ax = require("matplotlib.pyplot", "plot").subplots(figsize=size, layout="constrained")[1]
    _OWN.add(ax.figure)
    return ax


def room(ax: Any) -> tuple[float, float]:
    """Return about how wide and high Axes are, in points: in a grid, what their cell leaves them."""
    figure, cell = ax.get_figure(root=True), ax.get_subplotspec()
    box = ax.get_position() if cell is None else cell.get_position(figure)
    width, height = figure.get_size_inches()
    return 72 * box.width * width, 72 * box.height * height


def scale(ax: Any) -> float:
    """Return how much smaller than usual texts are to be, in a figure of the user's with little room."""
    if ax.get_figure(root=True) in _OWN:
        return 1.0
    width, height = room(ax)
    return float(min(1.0, max(_SMALLEST, min(width / _ENOUGH[0], height / _ENOUGH[1]))))


def fit(ax: Any, *titles: Any) -> None:
    """Make the labels of Axes of the user's as small as their room asks for, and their titles."""
    if ax.get_figure(root=True) not in _OWN:
        ax.tick_params(which="both", labelsize=10 * scale(ax))
        for text in (ax.xaxis.label, ax.yaxis.label, *titles):
            fit_text(ax, text)


def fit_text(ax: Any, text: Any) -> None:
    """Make one label or title as small as the room asks for, and wrap it if it is longer than its side."""
    if ax.get_figure(root=True) in _OWN:
        return
    width, height = room(ax)
    text.set_fontsize(scale(ax) * text.get_fontsize())
    length = height if text is ax.yaxis.label else width
    most = max(8, int(length / (_CHARACTER * text.get_fontsize())))
    parts = text.get_text().splitlines()
    text.set_text("\n".join(row for part in parts for row in textwrap.wrap(part, most)))


def cut(name: Any, length: int) -> str:
    """Return a name on one line of at most a length."""
    return shortened(" ".join(str(name).split()), length)


def shorten(name: Any, length: int = 40) -> str:
    """Return a name that fits beside a picture, and is not read as mathematics."""
    return cut(name, length).replace("$", r"\$")


def wrap(name: Any, length: int, lines: int) -> str:
    """Return a name on at most so many lines of a length; its own line breaks stay, if there may be any."""
    if lines == 1:
        return shorten(name, length)
    rows = [row for part in str(name).splitlines() for row in textwrap.wrap(part, length)]
    if len(rows) > lines:
        rows = [*rows[: lines - 1], rows[lines - 1][: length - 1] + ELLIPSIS]
    return "\n".join(shorten(row, length) for row in rows)


def style(kind: str, defaults: dict[str, Any], given: dict[str, Any] | None) -> dict[str, Any]:
    """Return what is given to draw a kind of artist with, and defaults for the rest; "lw" is "linewidth"."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    artist = {"bar": Patch, "line": Line2D, "scatter": PathCollection}[kind]
    return defaults | normalize_kwargs(given or {}, artist)


def below(ax: Any, points: float) -> dict[str, Any]:
    """Return the place for a legend so far below Axes, however high they are, that their label has room."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    down = ScaledTranslation(0, -points * scale(ax) / 72, figure.dpi_scale_trans)
    return {"bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + down}


def legend(
    ax: Any,
    entries: Iterable[tuple[Any, str]],
    title: str | None = None,
    outside: dict[str, Any] | None = None,
) -> Any:
    """Draw a legend, outside of the Axes at a place if their figure makes room for it, else inside.

    The names are given, since matplotlib's own choice leaves out those that start with an underscore.
    """
    handles, names = zip(*entries)
    place = dict(outside) if outside and ax.figure.get_layout_engine() is not None else {}
    size, columns = _legend_size(ax, [*names, *([title] if title else [])], place.pop("ncols", 1))
    look = {"fontsize": size, "title_fontsize": size, "ncols": columns, "frameon": not place}
    drawn = ax.legend(handles, names, title=title, **look, **place)
    for handle in drawn.legend_handles:
        if hasattr(handle, "set_sizes"):  # points, which may be tiny and pale in the picture
            handle.set_sizes([36 * scale(ax) ** 2])
            handle.set_alpha(1)
    return drawn


def _legend_size(ax: Any, names: list[str], columns: int) -> tuple[float, int]:
    """Return the size of the font of a legend, and a number of columns, with which it fits its Axes."""
    (width, height), size = room(ax), 10 * scale(ax)
    if ax.get_figure(root=True) in _OWN:
        return size, columns
    if columns > 1:  # above or below the Axes
        fitting = size * width / (columns * _legend_width(names, size))
        if fitting < _SMALLEST_LEGEND:
            columns, fitting = 1, size * width / _legend_width(names, size)
        return min(size, fitting), columns
    size = max(_SMALLEST * 10, min(size, height / (_LEGEND_LINE * len(names))))
    return size, math.ceil(_LEGEND_LINE * size * len(names) / height)


def _legend_width(names: list[str], size: float) -> float:
    """Return about how wide a column of a legend is, with its handles."""
    return size * (_CHARACTER * max(map(len, names)) + 4)
