"""make_drift_report: from a stored model and new rows to a Report, without the rows of the fit."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.plain import plain
from gbmap.report._material import Rows, gather_new
from gbmap.report.contents.drift import study_drift
from gbmap.report.contents.explanations import explain_points
from gbmap.report.contents.features import importance_order, study_features
from gbmap.report.contents.fitted import describe_fit
from gbmap.report.contents.map import draw_map
from gbmap.report.contents.performance import stored_performance
from gbmap.report.report import SCHEMA, Report
from gbmap.tables import TableModel

_LEFT_OUT = (
    "This page is about new rows: a model file does not hold those of the fit, so that what the learners "
    "explain of them and the regions where they lie are left out{}."
)


def make_drift_report(
    model: TableModel,
    X_new: Any,
    y_new: Any = None,
    *,
    monitor: Any = None,
    title: str | None = None,
    max_rows: int = 2000,
    random_state: int = 0,
) -> Report:
    """Look at new rows with a model of a table, such as one from a file, without fitting anything.

    Parameters
    ----------
    model : TableModel
        Fitted, with a drift detector.
    X_new : frame of shape (n, p)
        The rows, as ``model.features`` returns them.
    y_new : array-like of shape (n,), default=None
        Their targets, if known.
    monitor : DriftMonitor, default=None
        One that has seen the rows, batch by batch: its life is drawn.
    title : str, default=None
        None is "New rows beside the model of" and the name of the target.
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
    >>> report = make_drift_report(model, model.features(later), max_rows=50)
    >>> report.contents["drift"]["verdict"]
    'act'
    """
    if not isinstance(model, TableModel):
        raise TypeError(
            f"model must be a TableModel, got {type(model).__name__}; make_report takes other models."
        )
    if model.detector_ is None:
        raise ValueError("model must have a drift detector; fit it with reference_rows above 0.")
    if not isinstance(max_rows, Integral) or max_rows < 2:
        raise ValueError(f"max_rows must be an integer of at least 2, got {max_rows!r}.")
    rng = np.random.default_rng(random_state)
    with single_threaded_blas():
        rows = Rows.of("new", X_new, y_new, ("X_new", "y_new"))
        material = gather_new(model.model_, rows, model.target, int(max_rows), rng)
        explained = explain_points(material)
        drawn = draw_map(material, explained, importance_order(explained))
        contents = {
            "schema": SCHEMA,
            "title": title or f"New rows beside the model of {model.target}",
            "outputs": material.output_names,
            "left_out": _LEFT_OUT.format("" if model.scores_ else ", and there are no held-out scores"),
            "fitted": describe_fit(material, model.n_fitted_, model.n_held_out_),
            "performance": stored_performance(material, model.scores_, model.n_held_out_),
            "map": drawn,
            "learners": None,
            "features": study_features(material, explained, drawn.columns),
            "regions": None,
            "drift": study_drift(material, model.detector_, rng, monitor),
        }
        return Report(plain(contents))
