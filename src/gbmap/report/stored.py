"""make_drift_report: from a fitted model and new rows to a Report, without the rows of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.table_reader import is_table_model
from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.optional import require
from gbmap._utils.plain import plain
from gbmap._utils.typing import Array
from gbmap.drift import ConstantColumn
from gbmap.report._material import Rows, gather_new
from gbmap.report.contents.data import study_data
from gbmap.report.contents.drift import study_drift
from gbmap.report.contents.explanations import explain_points
from gbmap.report.contents.features import importance_order, study_features
from gbmap.report.contents.fitted import describe_fit
from gbmap.report.contents.map import draw_map
from gbmap.report.contents.performance import stored_performance
from gbmap.report.contents.predictions import study_predictions
from gbmap.report.contents.summary import summarise
from gbmap.report.report import SCHEMA, Report, name_of

_LEFT_OUT = (
    "This page is about new rows: those of the fit are not at hand, so that what the learners "
    "explain of them and the regions where they lie are left out{}."
)
_NO_DETECTOR = ", and without a detector so is whether the new rows can be trusted"


def make_drift_report(
    model: Any,
    X_new: Any,
    y_new: Any = None,
    *,
    detector: Any = None,
    monitor: Any = None,
    constants: Sequence[ConstantColumn] | None = None,
    title: str | None = None,
    max_rows: int = 2000,
    random_state: int = 0,
) -> Report:
    """Look at new rows with a fitted model, such as one from a file, without fitting anything.

    ``gbmap.report(model, X_new)`` is short for it, for a look in a notebook.

    Parameters
    ----------
    model : TableModel, GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted, with one target.
    X_new : array-like, frame or sparse matrix of shape (n, p)
        The rows; for a TableModel a frame, as the table of the fit had them or as ``model.features``
        returns them.
    y_new : array-like of shape (n,), default=None
        Their targets, if known.
    detector : DriftDetector, default=None
        Fitted and calibrated, for the verdict on the new rows. None is that of a TableModel; other models
        keep none, and the page says what is left out.
    monitor : DriftMonitor, default=None
        One that has seen the rows, batch by batch: its life is drawn.
    constants : sequence of ConstantColumn, default=None
        Columns that had one value in the fit, as ``model.constants`` tells them; None asks it of X_new.
    title : str, default=None
        None is "New rows beside the model of" and the name of the target, of a TableModel or of `y_new`.
    max_rows : int, default=2000
        The most rows on the map.
    random_state : int, default=0
        Seeds all sampling: the same arguments give the same report.

    Returns
    -------
    report : Report
        Like that of `make_report`. What needs the rows of the fit, "learners" and "regions", is None, and
        "performance" holds the scores that the model has stored.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> import pandas as pd
    >>> from gbmap import TableModel
    >>> from gbmap.report import make_drift_report
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(300, 2)), columns=["x", "z"])
    >>> model = TableModel("y", n_components=3).fit(table.assign(y=table["x"].abs()))
    >>> later = pd.DataFrame(rng.normal(2, 1, size=(100, 2)), columns=["x", "z"])
    >>> report = make_drift_report(model, later, max_rows=50)
    >>> report.contents["drift"]["verdict"]
    'act'
    """
    detector = getattr(model, "detector_", None) if detector is None else detector
    if monitor is not None and detector is None:
        raise ValueError(
            "monitor needs the detector that it asks: pass it too, as detector=monitor.detector."
        )
    if not isinstance(max_rows, Integral) or max_rows < 2:
        raise ValueError(f"max_rows must be an integer of at least 2, got {max_rows!r}.")
    rng = np.random.default_rng(random_state)
    with single_threaded_blas():
        rows = Rows.of("new", X_new, y_new, ("X_new", "y_new"))
        material = gather_new(model, rows, _target_of(model, y_new), int(max_rows), rng)
        explained = explain_points(material)
        order = importance_order(explained)
        drawn = draw_map(material, explained, order)
        features = study_features(material, explained, drawn.columns)
        if constants is None:
            constants = model.constants(X_new) if is_table_model(model) else ()
        drift = None if detector is None else study_drift(material, detector, rng, monitor, constants)
        contents = {
            "schema": SCHEMA,
            "title": title or f"New rows beside the model of {material.target_name}",
            "outputs": material.output_names,
            "left_out": _LEFT_OUT.format(_lacking(model, detector)),
            "fitted": describe_fit(material, *_rows_of_the_fit(model)),
            "summary": summarise(material, explained, drawn.columns, features, drift, None),
            "performance": stored_performance(
                material, getattr(model, "scores_", None), _rows_of_the_fit(model)[1]
            ),
            "data": study_data(material, [*_reference(model), material.new], order),
            "predictions": study_predictions(material, material.new),
            "map": drawn,
            "learners": None,
            "features": features,
            "regions": None,
            "drift": drift,
        }
        return Report(plain(contents))


def _target_of(model: Any, y: Any) -> str:
    return model.target if is_table_model(model) else name_of(y)


def _rows_of_the_fit(model: Any) -> tuple[int | None, int | None]:
    """Return how many rows a model was fitted to and checked on; it may not know."""
    return getattr(model, "n_fitted_", None), getattr(model, "n_held_out_", None)


def _lacking(model: Any, detector: Any) -> str:
    if detector is None:
        return _NO_DETECTOR
    return "" if getattr(model, "scores_", None) else ", and there are no held-out scores"


def _reference(model: Any) -> list[Rows]:
    """Return the training rows that the detector of a table has kept as neighbours, without their targets."""
    if not is_table_model(model):
        return []
    fitted, detector = FittedModel.of(model.model_), model.detector_
    if fitted.preprocessing is not None or not hasattr(detector, "reference_inputs_"):
        return []
    inputs = dense(detector.reference_inputs_)
    columns = {str(name): _values(fitted, inputs, k) for k, name in enumerate(fitted.feature_names)}
    frame = require("pandas", "data").DataFrame(columns)
    return [Rows.of("training", frame, None, ("X", "y"))]


def _values(fitted: FittedModel, inputs: Array, feature: int) -> Array:
    """Return a column as the user gave it, but within its fences and without the names of rare categories."""
    columns = fitted.columns
    own = columns.inputs_of(feature)
    if not len(own):
        return np.full(len(inputs), None)
    kind = columns.kind[own]
    is_missing = inputs[:, own[kind == "missing"]].any(axis=1)
    if columns.is_number[feature]:
        first = own[kind == "number"][0]
        low = columns.low[first]
        return np.where(is_missing, np.nan, inputs[:, first] + (low if np.isfinite(low) else 0.0))
    is_level = inputs[:, own[kind == "category"]] > 0
    names = np.append(columns.level[own[kind == "category"]], ["(other)", None])
    place = np.where(is_level.any(axis=1), is_level.argmax(axis=1), len(names) - 2)
    return names[np.where(is_missing, len(names) - 1, place)]
