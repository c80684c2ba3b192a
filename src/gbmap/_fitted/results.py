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


def frame(
    table: Any, name: str | None, labels: Any = None, output_names: Array | None = None, columns: Any = None
) -> Any:
    """Return a pandas frame of columns, without those that are None, or of an array with their names.

    Its rows are called by labels under a name, or by their position; with outputs there is a row for each
    label and output.
    """
    pd = require("pandas", "data")
    if isinstance(table, dict):
        table = {each: column for each, column in table.items() if column is not None}
        labels = range(len(next(iter(table.values())))) if labels is None else labels
    index = pd.Index(labels, name=name)
    if output_names is not None:
        index = pd.MultiIndex.from_product([index, list(output_names)], names=[name, "output"])
    return pd.DataFrame(table, index=index, columns=columns)


def output_column(positions: Array, output_names: Array | None) -> dict[str, Array]:
    """Return a column "output" for the rows of a table, if there are several."""
    return {} if output_names is None else {"output": output_names[positions]}


def rows_frame(
    values: Array, feature_names: Array, output_names: Array | None, last: dict[str, Array]
) -> Any:
    """Return a pandas frame of values (n, p) or (n, p, K), a row per row, or per row and output.

    ``last`` holds further columns, of shape (n,) or (n, K).
    """
    table = np.moveaxis(values, 1, -1).reshape(-1, values.shape[1])
    found = frame(table, "row", range(len(values)), output_names, columns=list(feature_names))
    for name, column in last.items():  # a feature may have that name too
        found.insert(found.shape[1], name, column.ravel(), allow_duplicates=True)
    return found


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
