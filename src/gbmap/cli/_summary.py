"""What several commands print of a model: its columns, its scores, its detector."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gbmap._utils.glossary import METRICS, in_words
from gbmap._utils.text import counted, number
from gbmap.cli._screen import Page

_SHOWN_COLUMNS = 30
_PLURALS = {"number": "numbers", "category": "categories", "date": "dates", "dropped": "dropped"}


def of_schema(schema: Any) -> dict[str, Any]:
    """Return what a table was taken for, as plain data."""
    return {
        "target": schema.target,
        "task": schema.task,
        "task_reason": schema.task_reason,
        "target_reading": schema.target_reading,
        "rows": schema.n_rows,
        "rows_without_target": schema.n_without_target,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "reason": column.reason,
                "missing": column.n_missing,
                "reading": column.reading,
                "features": column.features,
                "levels": list(column.levels),
            }
            for column in schema.columns
        ],
    }


def of_detector(detector: Any) -> dict[str, Any] | None:
    """Return what a drift detector rests on, as plain data."""
    if detector is None:
        return None
    reference = getattr(detector, "reference_inputs_", None)
    return {
        "reference_rows": 0 if reference is None else reference.shape[0],
        "calibration_rows": getattr(detector, "calibration_size_", 0),
        "neighbours": detector.n_neighbors,
        "threshold": getattr(detector, "threshold_", None),
    }


def show_task(page: Page, document: dict[str, Any]) -> None:
    """Write what is predicted from which columns, and why."""
    page.line(f"Predicts {document['target']}: {document['task']} ({document['task_reason']}).")
    kinds = Counter(column["kind"] for column in document["columns"])
    found = [f"{n} {kind if n == 1 else _PLURALS[kind]}" for kind, n in kinds.items() if kind != "dropped"]
    page.line(f"Columns: {', '.join(found)}, {kinds['dropped']} dropped.")


def show_table(page: Page, document: dict[str, Any]) -> None:
    """Write what a table was taken for: what is predicted, and what was left out or read in another way."""
    show_task(page, document)
    show_columns(page, [column for column in document["columns"] if column["kind"] == "dropped"])
    show_readings(page, document)
    if without := document["rows_without_target"]:
        left_out = "has no target and was" if without == 1 else "have no target and were"
        page.line(f"{number(without)} of {counted(document['rows'], 'row')} {left_out} left out.")


def show_columns(page: Page, columns: list[dict[str, Any]]) -> None:
    """Write columns, what they were taken for and why."""
    if not columns:
        return
    rows = [[each["name"], each["kind"], number(each["missing"]), each["reason"]] for each in columns]
    page.table(["column", "kind", "missing", "why"], rows, numbers=(2,), most=_SHOWN_COLUMNS)


def show_readings(page: Page, document: dict[str, Any]) -> None:
    """Write how columns were read that are not written as programs write them, or not wholly used."""
    target = [[document["target"], "target", document["target_reading"]]] * bool(document["target_reading"])
    rows = [
        [each["name"], each["kind"], each["reading"] or each["reason"]]
        for each in document["columns"]
        if each["reading"] or (each["kind"] != "dropped" and "count" in each["reason"])
    ]
    if target + rows:
        page.line()
        page.table(["column", "kind", "as it was read"], target + rows, most=_SHOWN_COLUMNS)


def of_scores(model: Any) -> dict[str, Any]:
    """Return how good a model of tables is on rows held out of its fit, and whether a simpler one is too."""
    from gbmap._fitted.model import FittedModel
    from gbmap._utils.references import simpler_as_good

    scores = model.scores_
    models = None if scores is None else [scores[name] for name in ("gbmap", "linear", "constant")]
    simpler = None if models is None else simpler_as_good(models, FittedModel.of(model.model_).model.loss)
    return {"rows_held_out": model.n_held_out_, "scores": scores, "simpler_as_good": simpler}


def show_held_out(page: Page, document: dict[str, Any]) -> None:
    """Write the scores on rows held out of the fit, if there are any, and what a simpler model does there."""
    if document.get("scores"):
        page.heading(f"Scores on {counted(document['rows_held_out'], 'row')} held out of the fit")
        show_scores(page, document["scores"])
    if document.get("simpler_as_good"):
        page.line(document["simpler_as_good"])


def show_scores(page: Page, scores: dict[str, dict[str, float]]) -> None:
    """Write a table of scores, a row for each model."""
    names = list(dict.fromkeys(name for metrics in scores.values() for name in metrics))
    rows = [[model, *(number(metrics.get(name)) for name in names)] for model, metrics in scores.items()]
    page.table(["", *(METRICS[name].name for name in names)], rows, numbers=range(1, len(names) + 1))
    page.line(f"{in_words(names)}.")
