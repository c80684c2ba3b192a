"""Whether a table has drifted: the verdict, and what has changed in which columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbmap._fit.columns import UNKNOWN
from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.typing import Array
from gbmap.cli._sample import Sample

_EXPLAINED_ROWS = 1000  # alarmed rows whose reasons are looked at
_NEW_SCALE = 0.1  # what one standard deviation of a share is taken for that was zero


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
        constants=sample.constants,
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
    f - f_kNN of rows that raise the alarm, None if there are none; "change" what is different in it.
    """
    fitted = FittedModel.of(model.model_)
    shifts = contributions.reshape(len(contributions), -1)
    shift = np.take_along_axis(shifts, np.abs(shifts).argmax(axis=1)[:, None], axis=1)[:, 0]
    in_alarms, words = _in_alarms(model, features), _words(fitted, features, set(model.schema_.days))
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
    sizes: Array = model.detector_.explain(features.iloc[alarmed]).sizes
    return sizes.mean(axis=0)


def _words(fitted: FittedModel, features: Any, days: set[str]) -> list[str]:
    """Return for each column what has changed most between the training rows and these."""
    given = dense(fitted.read_given(features))
    values, words = fitted.given.numbers(given), []
    for (column, name), shares in zip(enumerate(fitted.feature_names), _shares(fitted, given)):
        found = [(size, f"{what} {100 * was:.3g} % -> {100 * now:.3g} %") for size, what, was, now in shares]
        known = values[~np.isnan(values[:, column]), column]
        if fitted.columns.is_number[column] and len(known):
            means = fitted.column_mean[column], float(known.mean())
            told = [_date(mean) if name in days else f"{mean:.4g}" for mean in means]
            size = abs(means[1] - means[0]) / fitted.column_scale[column]
            found.append((size, f"mean {' -> '.join(told)}"))
        words.append(max(found, default=(0.0, ""))[1])
    return words


def _shares(fitted: FittedModel, given: Array) -> list[list[tuple[float, str, float, float]]]:
    """Return for each column its categories and what is missing: how much that has changed, and shares."""
    columns, before = fitted.columns, fitted.input_mean
    after = np.asarray(fitted.inputs.of(given).mean(axis=0)).reshape(-1)
    found: list[list[tuple[float, str, float, float]]] = [[] for _ in fitted.feature_names]
    for k in np.flatnonzero(np.isin(columns.kind, ("category", "missing"))):
        was, now = ((mean[k] - columns.offset[k]) / columns.slope[k] for mean in (before, after))
        what = "missing" if columns.kind[k] == "missing" else str(columns.level[k])
        size = abs(after[k] - before[k]) / fitted.input_scale[k]
        found[columns.source[k]].append((size, what, was, now))
    # Learners do not see what no training row was: gaps in columns that had none, categories that are new.
    has_mark = np.isin(np.arange(given.shape[1]), fitted.inputs.missing_source)
    coding = fitted.predictor.fitted_inputs.categories or (None,) * given.shape[1]
    for place, source in enumerate(fitted.given.source):
        for what, now in (
            ("missing", np.isnan(given[:, place]).mean() * (not has_mark[place])),
            ("values not seen before", (given[:, place] == UNKNOWN).mean() * (coding[place] is not None)),
        ):
            if now > 0:
                found[source].append((now / _NEW_SCALE, what, 0.0, now))
    return found


def _date(days: float) -> str:
    return str(np.datetime64(round(days), "D"))
