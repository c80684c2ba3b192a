"""make_report: from a model and rows to a Report, and from it to files."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from gbmap._rows.threads import single_threaded_blas
from gbmap._utils.plain import plain
from gbmap._utils.replacing import replacing
from gbmap._utils.shown import Result, Shown
from gbmap._utils.text import counted
from gbmap.drift import ConstantColumn
from gbmap.report._material import FitMaterial, Rows, gather
from gbmap.report.contents.data import study_data
from gbmap.report.contents.drift import study_drift
from gbmap.report.contents.explanations import explain_points
from gbmap.report.contents.features import importance_order, study_features
from gbmap.report.contents.fitted import describe_fit
from gbmap.report.contents.learners import study_learners
from gbmap.report.contents.map import draw_map
from gbmap.report.contents.performance import measure_performance
from gbmap.report.contents.predictions import study_predictions
from gbmap.report.contents.regions import study_regions
from gbmap.report.contents.summary import study_trust, summarise
from gbmap.report.page import render

SCHEMA = "gbmap-report/1"


@dataclass(frozen=True, repr=False)
class Report(Result):
    """The numbers of a report; made by `make_report`.

    Attributes
    ----------
    contents : dict
        What the page shows, as plain JSON data. Its keys: "schema", the version of this layout; "title";
        "outputs", the names of the classes shown, or of the target; "left_out", None or a sentence that says
        which sections are None and why; "fitted"; "summary"; "performance"; "data"; "predictions", None
        without targets; "map"; "learners"; "features"; "regions"; "drift", None without new rows. Each
        section's keys are the attributes of the class of the same name in `gbmap.report.contents`.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.report import make_report
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GBMAPRegressor(2, random_state=0).fit(X[:300], y[:300])
    >>> report = make_report(model, X[:300], y[:300], X_test=X[300:], y_test=y[300:])
    >>> report.contents["title"], report.contents["fitted"]["n_training_rows"]
    ('Report on target', 300)
    """

    contents: Mapping[str, Any]

    def _shown(self) -> Shown:
        fitted, shown = self.contents["fitted"], self.contents["map"]
        rows = ", ".join(f"{n:,} {kind}" for n, kind in zip(shown["n_given"], shown["kinds"]))
        about = f"{self.contents['title']}, {fitted['task']} by {counted(fitted['n_columns'], 'column')}"
        return Shown(f"{about}; {rows} rows")

    def to_dict(self) -> dict[str, Any]:
        """Return the contents: plain numbers, texts, lists and dictionaries.

        Returns
        -------
        contents : dict
            A copy of its own.
        """
        return json.loads(self._json())

    def to_json(self, path: Any = None) -> str:
        """Return the contents as strict JSON, and write them to a file if a path is given.

        Parameters
        ----------
        path : str or path-like, default=None
            The file is there whole or not at all.

        Returns
        -------
        text : str
        """
        text = self._json()
        if path is not None:
            _write(path, text)
        return text

    def to_html(self, path: Any = None) -> str:
        """Return the page, which needs no other file and no network, and write it if a path is given.

        Parameters
        ----------
        path : str or path-like, default=None
            The file is there whole or not at all.

        Returns
        -------
        page : str
        """
        page = render(self.contents, self._json())
        if path is not None:
            _write(path, page)
        return page

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" title="{html.escape(self.contents["title"])}" '
            'sandbox="allow-scripts allow-downloads" style="width: 100%; height: 800px; border: 0"></iframe>'
        )

    def _json(self) -> str:
        return json.dumps(self.contents, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def make_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any,
    y_test: Any,
    X_new: Any = None,
    y_new: Any = None,
    detector: Any = None,
    monitor: Any = None,
    constants: Sequence[ConstantColumn] = (),
    title: str | None = None,
    max_rows: int = 2000,
    fit_seconds: float | None = None,
    random_state: int = 0,
) -> Report:
    """Look at a fitted model from all sides, for a page to read and to send.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted, with one target. Its preprocessing must be one that `gbmap.inspection.explain` can follow.
    X : array-like, frame or sparse matrix of shape (n, p)
        What it was fitted to. Large tables are sampled.
    y : array-like of shape (n,)
        The targets or classes. The name of a Series is the name of the target.
    X_test, y_test : array-like
        Rows that it was not fitted to, for the scores.
    X_new : array-like, default=None
        Rows to look for drift in.
    y_new : array-like, default=None
        Their targets, if known; NaN or None where one is not.
    detector : DriftDetector, default=None
        Fitted, for the new rows; None fits one to a sample of X and calibrates it with the held-out rows.
    monitor : DriftMonitor, default=None
        One that has seen the new rows, batch by batch: its life is drawn.
    constants : sequence of ConstantColumn, default=()
        Columns that had one value in the fit and are no part of X, as `TableModel.constants` tells them.
    title : str, default=None
        None is "Report on" and the name of the target.
    max_rows : int, default=2000
        The most training and held-out rows on the map; a quarter as many new rows may come on top.
    fit_seconds : float, default=None
        How long the fit of the model took, to be shown beside that of others, which are fitted here.
    random_state : int, default=0
        Seeds all sampling: the same arguments give the same report, but for the seconds of other fits.

    Returns
    -------
    report : Report

    Examples
    --------
    >>> from gbmap import GBMAPClassifier
    >>> from gbmap.report import make_report
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GBMAPClassifier(2, random_state=0).fit(X[:400], y[:400])
    >>> report = make_report(
    ...     model, X[:400], y[:400], X_test=X[400:], y_test=y[400:], title="Tumours", max_rows=100
    ... )
    >>> [each["name"] for each in report.to_dict()["performance"]["contenders"]]
    ['GBMAP', "scikit-learn's HistGradientBoosting", 'logistic regression', 'a constant']
    >>> page = report.to_html()  # or report.to_html("tumours.html")
    """
    if not isinstance(max_rows, Integral) or max_rows < 2:
        raise ValueError(f"max_rows must be an integer of at least 2, got {max_rows!r}.")
    if X_new is None and y_new is not None:
        raise ValueError("y_new holds the targets of new rows: pass X_new too, or leave y_new out.")
    if X_new is None and monitor is not None:
        raise ValueError("monitor must have seen new rows: pass them as X_new too, or leave monitor out.")
    rng = np.random.default_rng(random_state)
    # Many small products: threads of BLAS cost more than they give, above all on a busy machine.
    with single_threaded_blas():
        material = gather(model, _tables(X, y, X_test, y_test, X_new, y_new), name_of(y), int(max_rows), rng)
        return Report(plain(_contents(material, (detector, monitor, constants), title, fit_seconds, rng)))


def _write(path: Any, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


def _contents(
    material: FitMaterial,
    watchers: tuple[Any, Any, Sequence[ConstantColumn]],
    title: str | None,
    seconds: float | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    detector, monitor, constants = watchers
    explained = explain_points(material)
    order = importance_order(explained)
    drawn = draw_map(material, explained, order)
    features = study_features(material, explained, drawn.columns)
    drift = study_drift(material, detector, rng, monitor, constants)
    trust = study_trust(material, detector, rng) if drift is None else None
    tables = [material.training] if material.new is None else [material.training, material.new]
    return {
        "schema": SCHEMA,
        "title": title or f"Report on {material.target_name}",
        "outputs": material.output_names,
        "left_out": None,
        "fitted": describe_fit(material, material.training.n_given, material.held_out.n_given),
        "summary": summarise(material, explained, drawn.columns, features, drift, trust),
        "performance": measure_performance(material, seconds),
        "data": study_data(material, tables, order),
        "predictions": study_predictions(material, material.held_out),
        "map": drawn,
        "learners": study_learners(material),
        "features": features,
        "regions": study_regions(material),
        "drift": drift,
    }


def _tables(X: Any, y: Any, X_test: Any, y_test: Any, X_new: Any, y_new: Any) -> dict[str, Rows]:
    for name, targets in (("y", y), ("y_test", y_test)):
        if targets is None:
            raise ValueError(f"{name} must hold the targets, got None.")
    tables = {
        "training": Rows.of("training", X, y, ("X", "y")),
        "held out": Rows.of("held out", X_test, y_test, ("X_test", "y_test")),
    }
    if X_new is not None:
        tables["new"] = Rows.of("new", X_new, y_new, ("X_new", "y_new"))
    return tables


def name_of(y: Any) -> str:
    """Return the name of a target, or "target" if it has none."""
    name = getattr(y, "name", None)
    return "target" if name in (None, "") else str(name)
