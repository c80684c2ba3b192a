"""``gbmap difference``: where two models disagree."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gbmap._utils.text import number, percent
from gbmap.cli._models import load_model
from gbmap.cli._options import Data, Json, Model, OtherModel, Quiet, Seed
from gbmap.cli._screen import Page, Screen


def difference(
    model: Model,
    model2: OtherModel,
    data: Data,
    components: Annotated[
        int, typer.Option("--components", "-m", min=1, metavar="NUMBER", help="Half-spaces to find.")
    ] = 10,
    max_rows: Annotated[
        int, typer.Option(min=2, metavar="ROWS", help="Beyond, a random sample of so many rows is compared.")
    ] = 20_000,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say in words where two models disagree on a table.

    Lists half-spaces, the most important first: where MODEL2 rises over MODEL (+) or
    falls below it (-), for which share of the rows, and how much of the squared
    difference is explained so far. Faithfulness is the R2 of this account of the
    difference. No target is needed. For classes, differences are in log-odds.

    For example:
      gbmap difference old.gbmap new.gbmap houses.csv
      gbmap difference old.gbmap new.gbmap houses.csv --components 5 --json
    """
    from gbmap.cli._comparing import compare

    screen = Screen(as_json, quiet)
    first, second = load_model(model), load_model(model2)
    document = compare(first, second, data, screen, n_components=components, max_rows=max_rows, seed=seed)
    screen.result({"first": str(model), "second": str(model2), **document}, _show)


def _show(page: Page, document: dict[str, Any]) -> None:
    rows = document["rows_compared"]
    of = "" if rows == document["rows"] else f", a random sample of {number(document['rows'])}"
    page.line(
        f"{document['second']} less {document['first']}, on {number(rows)} rows{of}, in {document['unit']}"
    )
    if all(each["largest"] == 0 for each in document["outputs"]):
        page.line("The models agree: they predict the same for each of these rows.")
        return
    for each in document["outputs"]:
        name = "" if each["output"] is None else f"{each['output']}: "
        page.line(
            f"{name}mean {number(each['mean'])}, mean absolute {number(each['mean_absolute'])}, largest "
            f"{number(each['largest'])}; faithfulness {number(each['faithfulness'])} "
            f"({number(each['held_out_faithfulness'])} on rows held out)"
        )
    found = [each for each in document["half_spaces"] if each["sign"]]
    if not found:
        page.line("There are no parts that raise or lower it.")
        return
    page.heading("Parts that raise (+) or lower (-) it, and its mean on the rows of each")
    several = len(document["outputs"]) > 1
    page.table(
        [*(["output"] if several else []), "", "rows", "mean", "explained", "where"],
        [
            [
                *([each["output"]] if several else []),
                "+" if each["sign"] > 0 else "-",
                percent(each["coverage"]),
                number(each["mean_difference"]),
                percent(each["explained"]),
                each["half_space"],
            ]
            for each in found
        ],
        numbers=(2, 3, 4) if several else (1, 2, 3),
    )
