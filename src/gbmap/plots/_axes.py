"""Axes to draw on, and the colours of all pictures."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E",
)  # fmt: skip
CYCLE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the Axes given, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('matplotlib is needed to draw; pip install "gbmap[plot]".') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def shorten(name: Any, length: int = 40) -> str:
    """Return a name that fits beside a picture, and is not read as mathematics."""
    text = " ".join(str(name).split())
    text = text if len(text) <= length else text[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return text.replace("$", r"\$")
