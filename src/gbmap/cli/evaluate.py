"""``gbmap evaluate``: how good a model is on a table whose targets are known."""

from __future__ import annotations

from typing import Any

from gbmap._utils.text import counted
from gbmap.cli._models import load_model, open_data
from gbmap.cli._options import Data, Json, Model, Quiet
from gbmap.cli._screen import Page, Screen
from gbmap.cli._summary import show_scores


def evaluate(model: Model, data: Data, as_json: Json = False, quiet: Quiet = False) -> None:
    """Score a model on a table that holds the target.

    Rows without a target are left out. The scores of the fit, on rows that were
    held out of it, are shown for comparison: those of the model, of a linear model
    and of a constant.

    For example:
      gbmap evaluate houses.gbmap new.csv
      gbmap evaluate houses.gbmap new.csv --json
    """
    screen, loaded = Screen(as_json, quiet), load_model(model)
    metrics = loaded.evaluate(open_data(data, loaded))
    n_rows = metrics.pop("n_rows")
    document = {
        "target": loaded.schema_.target,
        "task": loaded.schema_.task,
        "rows": n_rows,
        "scores": metrics,
        "rows_held_out": loaded.n_held_out_,
        "scores_held_out": loaded.scores_,
    }
    screen.result(document, _show)


def _show(page: Page, document: dict[str, Any]) -> None:
    page.line(f"Scores on {counted(document['rows'], 'row')}, target {document['target']}")
    show_scores(page, {"gbmap": document["scores"]})
    if document["scores_held_out"]:
        page.heading(f"For comparison: on {counted(document['rows_held_out'], 'row')} held out of the fit")
        show_scores(page, document["scores_held_out"])
