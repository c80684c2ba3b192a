"""Points in the plane, coloured by numbers or by classes."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np

from gbmap._drawing.axes import CYCLE, GREY, legend, scale, shorten, style
from gbmap._utils.missing import is_missing
from gbmap._utils.typing import Array

Style = dict[str, Any]

_MARKERS = ("o", "^", "s", "D", "v", "P", "X")  # seven shapes and six colours meet again after 42 classes
_MOST_CLASSES = 12  # in a legend; the others share one entry
_TAIL = 0.02  # of numbers on each side share the colour at the end of the scale
_COLORS = ("c", "color", "cmap", "vmin", "vmax")


def scatter(ax: Any, points: Array, values: Array | None, label: str, given: Style | None) -> None:
    """Draw points (n, 2), with a colour bar for numbers and a legend for classes."""
    size = float(np.clip(20_000 / max(1, len(points)), 12, 30)) * scale(ax) ** 2
    look = {"s": size, "alpha": 0.8, "linewidth": 0}
    if values is None:
        ax.scatter(*points.T, **_style(look | {"color": CYCLE[0]}, given))
    elif values.dtype.kind in "iuf":
        _of_numbers(ax, points, values.astype(np.float64), label, look, given)
    else:
        _of_classes(ax, points, values, label, look, given)


def _of_numbers(ax: Any, points: Array, values: Array, label: str, look: Style, given: Style | None) -> None:
    known = np.isfinite(values)
    if not known.all():
        missing = ax.scatter(*points[~known].T, **look | {"color": GREY, "alpha": 0.3})
        legend(ax, [(missing, "missing")])
    if not known.any():
        return
    low, high = np.quantile(values[known], [_TAIL, 1 - _TAIL])
    shading = {"c": values[known], "cmap": "viridis", "vmin": low, "vmax": high}
    drawn = ax.scatter(*points[known].T, **_style(look | shading, given))
    if drawn.get_array() is None:  # the user wants one colour
        return
    low, high = drawn.get_clim()
    beyond = values[known].min() < low, values[known].max() > high
    ends = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
    size = 10 * scale(ax)
    bar = ax.figure.colorbar(drawn, ax=ax, extend=ends)
    bar.set_label(shorten(label), size=size)
    bar.ax.tick_params(labelsize=size)
    bar.solids.set_alpha(1)


def _of_classes(ax: Any, points: Array, values: Array, label: str, look: Style, given: Style | None) -> None:
    entries = []
    for (name, rows), color, marker in zip(_groups(values), cycle(CYCLE), cycle(_MARKERS)):
        own = {"color": GREY if name is None else color, "marker": marker}
        drawn = ax.scatter(*points[rows].T, **_style(look | own, given))
        entries.append((drawn, "others" if name is None else shorten(name, 24)))
    legend(ax, entries, shorten(label, 24), {"loc": "center left", "bbox_to_anchor": (1, 0.5)})


def _style(defaults: Style, given: Style | None) -> Style:
    """Return the style of points, without what contradicts the user's."""
    asked = set(given or {})
    if asked & {"c", "color"}:
        defaults = {name: defaults[name] for name in defaults if name not in _COLORS}
    elif "norm" in asked:
        defaults = {name: defaults[name] for name in defaults if name not in ("vmin", "vmax")}
    return style("scatter", defaults, given)


def _groups(values: Array) -> list[tuple[Any, Array]]:
    """Return classes with their rows; beyond a number of classes the rarest are one, by the name of None."""
    texts = ["missing" if is_missing(value) else str(value) for value in values]
    names, of_row, counts = np.unique(np.array(texts, dtype=object), return_inverse=True, return_counts=True)
    value_of = dict(zip(texts, values))
    kept = sorted(range(len(names)), key=lambda k: _sort_key(value_of[str(names[k])]))
    if len(names) > _MOST_CLASSES:
        common = np.argsort(-counts, kind="stable")[: _MOST_CLASSES - 1]
        kept = [k for k in kept if k in common]
    groups: list[tuple[Any, Array]] = [(names[k], np.flatnonzero(of_row == k)) for k in kept]
    if len(kept) < len(names):
        groups.append((None, np.flatnonzero(~np.isin(of_row, kept))))
    return groups


def _sort_key(value: Any) -> tuple[int, Any]:
    """Numbers by their size come before others by their text, missing ones last."""
    if is_missing(value):
        return 2, ""
    is_number = isinstance(value, int | float | np.number)
    return (0, value) if is_number else (1, str(value))
