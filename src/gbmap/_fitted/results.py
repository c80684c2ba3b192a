"""What the results of this package share: shapes and frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._utils.optional import require
from gbmap._utils.typing import Array


def squeeze(of_outputs: Array) -> Array:
    """Drop the last axis, that of outputs, if there is only one."""
    return of_outputs[..., 0] if of_outputs.shape[-1] == 1 else of_outputs


def of_one(of_outputs: Array) -> Any:
    """Return numbers of K outputs, as a float if there is one."""
    return float(of_outputs[0]) if len(of_outputs) == 1 else of_outputs


def rows_frame(
    values: Array, feature_names: Array, output_names: Array | None, last: dict[str, Array]
) -> Any:
    """Return a pandas frame of values (n, p) or (n, p, K), a row per row, or per row and output.

    ``last`` holds further columns, of shape (n,) or (n, K).
    """
    pd = require("pandas", "data")
    n = len(values)
    if output_names is None:
        index = pd.RangeIndex(n, name="row")
        table = values
        further = last
    else:
        index = pd.MultiIndex.from_product([range(n), list(output_names)], names=["row", "output"])
        table = np.moveaxis(values, 1, 2).reshape(n * values.shape[2], values.shape[1])
        further = {name: column.reshape(-1) for name, column in last.items()}
    frame = pd.DataFrame(table, index=index, columns=list(feature_names))
    for name, column in further.items():
        frame.insert(frame.shape[1], name, column, allow_duplicates=True)  # a feature may have that name
    return frame


def one_row(values: Array, row: int, output: Any, output_names: Array | None) -> Array:
    """Return the values of one row and one output, for drawing."""
    if not -len(values) <= row < len(values):
        raise ValueError(f"row must be below {len(values)}, the number of rows explained, got {row}.")
    chosen: Array = values[row]
    if output_names is None:
        if output is not None:
            raise ValueError(f"output must be None for a model with one output, got {output!r}.")
        return chosen
    matches = np.flatnonzero([name == output for name in output_names])
    if len(matches) != 1:
        raise ValueError(f"output must be one of {output_names.tolist()}, got {output!r}.")
    return chosen[..., matches[0]]
