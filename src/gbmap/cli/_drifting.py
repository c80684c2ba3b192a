"""Whether a table has drifted: the verdict, and what has changed in which columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel
from gbmap._utils.typing import Array
from gbmap.cli._sample import Sample

_EXPLAINED_ROWS = 1000  # alarmed rows whose reasons are looked at


def assess(
    model: Any, sample: Sample, *, delta: float, tolerated_alarms: float, confidence: float
) -> dict[str, Any]:
    """Give the verdict on a sample, and say what is different."""
    found = model.detector_.assess(
        sample.features,
        sample.targets,
        delta=delta,
        tolerated_alarms=tolerated_alarms,
        confidence=confidence,
    )
    told = found.to_dict()
    verdict = told.pop("verdict")
    return {
        "drift": verdict["degree"] == "act",
        "verdict": verdict,
        "rows": sample.n_rows,
        "columns": changes(model, sample.features, found.contributions),
        "assessment": told,
    }


def changes(model: Any, features: Any, contributions: Array) -> list[dict[str, Any]]:
    """Return what each column has to do with the drift, the largest share in the shift first.

    "shift" is its share in the shift, of the output where it is largest; "alarms" its mean absolute share in
    the indicator of rows that raise the alarm, None if there are none; "change" what is different in it.
    """
    fitted = FittedModel.of(model.model_)
    shifts = contributions.reshape(len(contributions), -1)
    shift = np.take_along_axis(shifts, np.abs(shifts).argmax(axis=1)[:, None], axis=1)[:, 0]
    in_alarms, words = _in_alarms(model, features), _words(fitted, features, _days(model.schema_))
    found = [
        {
            "column": str(name),
            "shift": float(shift[k]),
            "alarms": None if in_alarms is None else float(in_alarms[k]),
            "change": words[k],
        }
        for k, name in enumerate(fitted.feature_names)
    ]
    return sorted(found, key=lambda each: -abs(float(each["shift"])))


def _in_alarms(model: Any, features: Any) -> Array | None:
    alarmed = np.flatnonzero(model.detector_.predict(features) < 0)[:_EXPLAINED_ROWS]
    if len(alarmed) == 0:
        return None
    values = model.detector_.explain(features.iloc[alarmed]).values
    return np.abs(values.reshape(*values.shape[:2], -1)).sum(axis=2).mean(axis=0)


def _days(schema: Any) -> set[str]:
    """Return the features that count days since 1970."""
    dates = (column for column in schema.used if column.kind == "date")
    return {name for column in dates for name, part in zip(column.features, column.parts) if part == "days"}


def _words(fitted: FittedModel, features: Any, days: set[str]) -> list[str]:
    """Return for each column what has changed most between the training rows and these."""
    columns, before = fitted.columns, fitted.input_mean
    after = np.asarray(fitted.read(features).mean(axis=0)).reshape(-1)
    size = np.abs(after - before) / fitted.input_scale
    words = []
    for column in range(len(fitted.feature_names)):
        inputs = columns.inputs_of(column)
        inputs = inputs[columns.kind[inputs] != "bend"]  # which move as the column itself does
        if len(inputs) == 0:
            words.append("")
            continue
        most = inputs[np.argmax(size[inputs])]
        low = columns.low[most] if np.isfinite(columns.low[most]) else 0.0
        was, now = (
            (mean[most] + low - columns.offset[most]) / columns.slope[most] for mean in (before, after)
        )
        if columns.kind[most] == "number":
            is_day = fitted.feature_names[column] in days
            words.append(
                "mean " + " -> ".join(_date(mean) if is_day else f"{mean:.4g}" for mean in (was, now))
            )
        else:
            name = "missing" if columns.kind[most] == "missing" else str(columns.level[most])
            words.append(f"{name} {100 * was:.3g} % -> {100 * now:.3g} %")
    return words


def _date(days: float) -> str:
    return str(np.datetime64(round(days), "D"))
