"""Axes to draw on, colours, names and styles of all pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E",
)  # fmt: skip
CYCLE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the Axes given, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('matplotlib is needed to draw; pip install "gbmap[plot]".') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def cut(name: Any, length: int) -> str:
    """Return a name on one line of at most a length."""
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + _ELLIPSIS


def shorten(name: Any, length: int = 40) -> str:
    """Return a name that fits beside a picture, and is not read as mathematics."""
    return cut(name, length).replace("$", r"\$")


def wrap(name: Any, length: int, lines: int) -> str:
    """Return a name on at most so many lines of a length; its own line breaks stay, if there may be any."""
    if lines == 1:
        return shorten(name, length)
    rows = [row for part in str(name).splitlines() for row in textwrap.wrap(part, length)]
    if len(rows) > lines:
        rows = [*rows[: lines - 1], rows[lines - 1][: length - 1] + _ELLIPSIS]
    return "\n".join(shorten(row, length) for row in rows)


def style(kind: str, defaults: dict[str, Any], given: dict[str, Any] | None) -> dict[str, Any]:
    """Return what is given to draw a kind of artist with, and defaults for the rest; "lw" is "linewidth"."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    artist = {"bar": Patch, "line": Line2D, "scatter": PathCollection}[kind]
    return defaults | normalize_kwargs(given or {}, artist)


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
    place = outside if outside and ax.figure.get_layout_engine() is not None else {}
    drawn = ax.legend(handles, names, title=title, frameon=not place, **place)
    for handle in drawn.legend_handles:
        if hasattr(handle, "set_sizes"):  # points, which may be tiny and pale in the picture
            handle.set_sizes([36])
            handle.set_alpha(1)
    return drawn
