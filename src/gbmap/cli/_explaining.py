"""Why a row is predicted as it is: a frame with a column for each of the user's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel
from gbmap._fitted.results import rows_frame, squeeze
from gbmap.inspection import explain
from gbmap.inspection.attribution import over_the_average


def explanation(model: Any, features: Any, *, kind: str, standardized: bool = False) -> Any:
    """Return attributions or coefficients of rows, a row each; one for each output if there are several."""
    pipeline = model.model_
    if kind == "attributions":
        frame = _by_column(model.schema_, _over_the_average(pipeline, features))
    else:
        frame = explain(pipeline, features, standardized=standardized).to_frame()
    frame.columns = _told_apart(frame.columns, several=frame.index.nlevels > 1)
    if frame.index.nlevels == 1:
        return frame.reset_index(drop=True)
    return frame.reset_index(level="output").reset_index(drop=True)


def _by_column(schema: Any, frame: Any) -> Any:
    """Return attributions of which those to the parts of a date are added up."""
    for column in schema.used:
        if column.kind == "date":
            first = frame.columns.get_loc(column.features[0])
            total = frame[column.features].sum(axis=1)
            frame = frame.drop(columns=column.features)
            frame.insert(first, column.name, total, allow_duplicates=True)
    return frame


def _told_apart(names: Any, *, several: bool) -> list[str]:
    """Return the names of columns, of which the last is not the user's; the user's are not like any other."""
    *columns, last = names
    taken = {last, "output"} if several else {last}
    return [*(f"{name} (column)" if name in taken else name for name in columns), last]


def _over_the_average(pipeline: Any, features: Any) -> Any:
    """Return what each column adds over the average training row, as a frame."""
    fitted = FittedModel.of(pipeline)
    values, base_values = over_the_average(fitted, fitted.read(features))
    return rows_frame(
        squeeze(values),
        fitted.feature_names,
        fitted.output_names,
        {"base_value": squeeze(np.tile(base_values, (len(values), 1)))},
    )
