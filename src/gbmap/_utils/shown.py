"""How results tell of themselves: a line and the top of a table, as text and in a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gbmap._utils.text import ELLIPSIS, counted, percent, sentence, shortened
from gbmap._utils.typing import Array

_ROWS, _HTML_ROWS = 5, 10
_CELL, _ABOUT = 56, 160  # the longest texts in a table, and in the line above it
_SHOWN_OUTPUTS = 3
_ROUNDING = 1e-13  # in the size of what has cancelled


@dataclass(frozen=True)
class Shown:
    """What a result shows: a line about it, and the columns of a table, the rows that matter most first."""

    about: str
    table: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The rows of the table, of which a few are shown."""
        return len(next(iter(self.table.values()), ()))

    def rows(self, most: int) -> list[list[str]]:
        """Return the first rows as text, with the names of the columns above them."""
        columns = [[name, *map(cell, _compared(column)[:most])] for name, column in self.table.items()]
        return [list(row) for row in zip(*columns)]

    def rest(self, most: int) -> str:
        """Return a sentence about the rows that are left out; none if there are none."""
        return f"{ELLIPSIS} and {self.n_rows - most:,} more" if self.n_rows > most else ""


class Result:
    """What results share: a text of a few lines, and a small table in a notebook."""

    def _shown(self) -> Shown:
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = self._shown()
        lines = [f"{type(self).__name__}: {cell(shown.about, _ABOUT)}"]
        rows = shown.rows(_ROWS) if shown.n_rows else []
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *(["  " + shown.rest(_ROWS)] if shown.rest(_ROWS) else [])])

    def _repr_html_(self) -> str:
        shown = self._shown()
        about = f"<p><b>{type(self).__name__}</b>: {html.escape(cell(shown.about, 4 * _ABOUT))}</p>"
        if not shown.n_rows:
            return f"<div>{about}</div>"
        head, *body = shown.rows(_HTML_ROWS)
        table = _row("th", head) + "".join(_row("td", row) for row in body)
        rest = html.escape(shown.rest(_HTML_ROWS))
        return f"<div>{about}<table>{table}</table>{f'<p>{rest}</p>' if rest else ''}</div>"


def _compared(column: Any) -> Any:
    """Return a column, with zeros for numbers that are rounding beside the largest one."""
    if not (isinstance(column, np.ndarray) and column.dtype.kind == "f"):
        return column
    return _without_rounding(column, np.abs(column[np.isfinite(column)]).max(initial=0.0))


def _without_rounding(values: Array, size: Any) -> Array:
    return np.where(np.abs(values) <= _ROUNDING * size, 0.0, values)


def _row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(each)}</{tag}>" for each in cells) + "</tr>"


def cell(value: Any, length: int = _CELL) -> str:
    """Return a value in a few characters of one line: four digits, a dash for what is not known."""
    if isinstance(value, np.ndarray) and value.ndim:
        return _listed(value, cell)
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return shortened(sentence(value), length)


def percents(shares: Any) -> str:
    """Return a share, or one of each output, in percent."""
    return _listed(np.atleast_1d(np.asarray(shares, dtype=np.float64)), percent)


def _listed(values: Array, show: Callable[[Any], str]) -> str:
    """Return the values of the first outputs."""
    shown = [show(each) for each in values[:_SHOWN_OUTPUTS]]
    return ", ".join([*shown, ELLIPSIS] if len(values) > _SHOWN_OUTPUTS else shown)


def extent(values: Array, output_names: Array | None) -> str:
    """Return how many rows, features and outputs values of shape (n, p) or (n, p, K) are about."""
    parts = [counted(values.shape[0], "row"), counted(values.shape[1], "feature")]
    return ", ".join(parts if output_names is None else [*parts, counted(len(output_names), "output")])


def by_feature(values: Array, feature_names: Array, what: str) -> dict[str, Any]:
    """Return a table of values (n, p) or (n, p, K) with a row per feature, the largest mean size first."""
    flat = np.asarray(values, dtype=np.float64).reshape(*values.shape[:2], -1)
    if not len(flat):
        return {}
    size = np.abs(flat).mean(axis=(0, 2))
    order = np.argsort(-size, kind="stable")
    table: dict[str, Any] = {"feature": np.asarray(feature_names, dtype=object)[order]}
    if flat.shape[2] == 1:
        table[f"mean {what}"] = _without_rounding(flat.mean(axis=(0, 2)), size)[order]
    return table | {f"mean size of {what}": size[order]}


def largest_first(sizes: Array, **columns: Any) -> dict[str, Any]:
    """Return columns of a table in the order of their sizes."""
    order = np.argsort(-np.abs(np.asarray(sizes, dtype=np.float64)), kind="stable")
    return {name.replace("_", " "): np.asarray(column)[order] for name, column in columns.items()}
