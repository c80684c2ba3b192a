"""``gbmap inspect``: what a model file is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gbmap._utils.text import counted, number, percent
from gbmap.cli._options import Json, Model
from gbmap.cli._screen import Page, Screen
from gbmap.cli._summary import of_detector, of_schema, of_scores, show_columns, show_held_out, show_task

_SHOWN_LEARNERS = 20
_SHOWN_PARAMETERS = ("n_components", "beta", "l2_regularization", "loss", "random_state")  # what fit can set


def inspect(model: Model, as_json: Json = False) -> None:
    """Show what a model file is.

    Prints the columns and what they were taken for, the parameters, the scores on
    rows held out of the fit, the learners in words, and the versions that wrote it.
    Files of gbmap.save are shown too. Nothing in the file is run.

    For example:
      gbmap inspect houses.gbmap
      gbmap inspect houses.gbmap --json
    """
    Screen(as_json).result(_describe(model), _show)


def _describe(path: Path) -> dict[str, Any]:
    import gbmap
    from gbmap._files.container import read
    from gbmap.tables import TableModel

    loaded = gbmap.load(path)
    document: dict[str, Any] = {
        "file": str(path),
        "bytes": os.path.getsize(path),
        "holds": type(loaded).__name__,
        "versions": read(path).versions,
    }
    if isinstance(loaded, TableModel):
        return document | _of_table_model(loaded)
    return document | _of_any(loaded)


def _of_table_model(model: Any) -> dict[str, Any]:
    return {
        **of_schema(model.schema_),
        "rows_fitted": model.n_fitted_,
        **of_scores(model),
        "detector": of_detector(model.detector_),
        **_of_learners(model.model_, model.detector_),
    }


def _of_any(model: Any) -> dict[str, Any]:
    """Return what there is to say of a model that knows no tables."""
    from gbmap import DriftDetector
    from gbmap._fitted.model import gbmap_of

    detector = model if isinstance(model, DriftDetector) else None
    document = {} if detector is None else {"detector": of_detector(detector)}
    monitored = model if detector is None else getattr(model, "estimator_", model.estimator)
    try:
        gbmap_of(monitored)
    except (TypeError, ValueError):  # foreign, or not fitted yet
        return document | {"parameters": {k: str(v) for k, v in model.get_params(deep=False).items()}}
    return document | _of_learners(monitored, detector)


def _of_learners(model: Any, detector: Any) -> dict[str, Any]:
    from gbmap._fitted.model import FittedModel
    from gbmap._fitted.words import Teller, told_by_weights

    fitted = FittedModel.of(model)
    reference = getattr(detector, "reference_inputs_", None)
    told = told_by_weights(fitted) if reference is None else Teller(fitted, reference).learners()
    names = fitted.output_names
    return {
        "parameters": {k: str(v) for k, v in fitted.model.get_params(deep=False).items()},
        "learners": [
            {
                "name": name,
                "sign": "+" if sign > 0 else "-",
                "output": None if names is None else names[output],
                "active_where": each.words,
                "precision": each.precision,
                "coverage": each.coverage,
            }
            for each, name, sign, output in zip(
                told, fitted.coordinate_names, fitted.ensemble.signs, fitted.ensemble.outputs
            )
        ],
    }


def _show(page: Page, document: dict[str, Any]) -> None:
    page.line(f"{document['file']}: {document['holds']}, {number(document['bytes'])} bytes")
    page.line("written by " + ", ".join(f"{name} {each}" for name, each in document["versions"].items()))
    if "target" in document:
        page.line()
        show_task(page, document)
        page.line()
        show_columns(page, document["columns"])
    show_held_out(page, document)
    if document.get("detector"):
        detector = document["detector"]
        page.heading("Drift detector")
        page.line(
            f"{counted(detector['reference_rows'], 'reference row')}, "
            f"{counted(detector['calibration_rows'], 'calibration row')}, "
            f"a row raises the alarm if its indicator is above {number(detector['threshold'])}"
        )
    page.heading("Parameters")
    shown = {name: each for name, each in document["parameters"].items() if name in _SHOWN_PARAMETERS}
    page.line(", ".join(f"{name}={value}" for name, value in (shown or document["parameters"]).items()))
    _show_learners(page, document.get("learners", []))


def _show_learners(page: Page, learners: list[dict[str, Any]]) -> None:
    if not learners:
        return
    page.heading("Learners: where each raises (+) or lowers (-) the prediction")
    rows = [
        [each["name"], each["sign"], percent(each["precision"]), each["active_where"]] for each in learners
    ]
    page.table(["", "", "precision", "where"], rows, numbers=(2,), most=_SHOWN_LEARNERS)
    page.line("Precision: of the rows that the words hold for, those where the learner is active.")
