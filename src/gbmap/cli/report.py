"""``gbmap report``: one page about a table and its model, or about new rows beside a stored one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gbmap.cli import _options as options
from gbmap.cli._errors import UsageError
from gbmap.cli._models import load_model, need_detector, open_data
from gbmap.cli._options import existing
from gbmap.cli._outputs import Output
from gbmap.cli._over_time import Every, Time
from gbmap.cli._screen import Page, Screen
from gbmap.cli._summary import of_schema, of_scores, show_held_out, show_table

_VERDICTS = {"none": "No drift found", "look": "Look at the new rows", "act": "Drift found"}
# What may be said of a page whose model is there already; all else is about a fit.
_OF_THE_PAGE = {
    "model", "out", "new", "time", "every", "json_out", "title", "max_rows",
    "no_overwrite", "as_json", "quiet",
}  # fmt: skip


def report(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="PAGE", help="The page to write: .html.", show_default=False),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="The table to fit a model to; left out with --model.",
            callback=existing,
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            callback=existing,
            help="A model file to look at the rows of --new with, in place of DATA and a fit.",
        ),
    ] = None,
    new: options.NewData = None,
    time: Time = None,
    every: Every = None,
    json_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the numbers of the page there: .json.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The title of the page.")] = None,
    max_rows: Annotated[
        int, typer.Option(min=10, metavar="ROWS", help="Rows on the page; more are sampled.")
    ] = 2000,
    task: options.Task = None,
    components: options.Components = None,
    beta: options.Beta = None,
    l2: options.L2 = None,
    loss: options.Loss = None,
    test_size: Annotated[
        float,
        typer.Option(
            min=0.01, max=0.9, metavar="SHARE", callback=options.finite, help="The share of rows held out."
        ),
    ] = 0.2,
    drop: options.Drop = None,
    category: options.Category = None,
    number: options.Number = None,
    date: options.Date = None,
    encoding: options.Encoding = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    no_overwrite: options.NoOverwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page about a table, or about new rows.

    One self-contained HTML file, which works offline: how good the model is
    beside others, what the columns hold, the map of the rows, what drives the
    predictions, and with --new what has drifted and why; with --time or --every
    also since when. The page holds some of the rows. A model is fitted to DATA
    for it; with --model nothing is fitted, and the page is about the new rows.

    For example:
      gbmap report houses.csv --target price --out houses.html
      gbmap report houses.csv -t price --new today.csv -o today.html
      gbmap report --model houses.gbmap --new today.csv --out today.html
      gbmap report --model houses.gbmap --new sales.csv --time sold -o sales.html
    """
    from gbmap.cli._reporting import Asked, Stopwatch, page_of_a_fit, page_of_a_model
    from gbmap.tables import TableModel

    _check(context, data, target, model, new)
    outputs = _outputs((data, model, new), out, json_out, no_overwrite=no_overwrite)
    screen, asked = Screen(as_json, quiet), Asked(new, time, every, max_rows)
    asked.check()
    with screen.progress() as progress:
        if model is None:
            fitted = TableModel(
                str(target),
                task=task,
                test_size=test_size,
                n_components=components,
                beta=beta,
                l2_regularization=l2,
                loss=loss,
                n_jobs=jobs,
                random_state=seed,
            )
            table = open_data(data, encoding=encoding)  # type: ignore[arg-type]
            watch = Stopwatch(progress)
            said = options.Said(drop, category, number, date).of(table.names)
            fitted.fit(table, **said, progress=watch)
            title = title or f"{target}, predicted from {data.name}"  # type: ignore[union-attr]
            page = page_of_a_fit(fitted, table, asked, screen, progress, title, watch.seconds)
        else:
            fitted = load_model(model)
            need_detector(fitted, model)
            title = title or f"{fitted.target} in {new.name}, beside {model.name}"  # type: ignore[union-attr]
            page = page_of_a_model(fitted, asked, screen, progress, title)
        page.to_html(out)
        if json_out is not None:
            page.to_json(json_out)
    for output in outputs:
        output.tell(screen)
    screen.result(
        {"page": str(out), **of_schema(fitted.schema_), **of_scores(fitted), **_of_drift(page)}, _show
    )


def _check(
    context: typer.Context, data: Path | None, target: str | None, model: Path | None, new: Path | None
) -> None:
    """Refuse what does not go together: either a fit is asked for, or a stored model is given."""
    if model is None:
        if data is None or target is None:
            lacking = "DATA" if data is None else "--target"
            raise UsageError(f"{lacking} is missing: give DATA and --target for a fit, or --model and --new.")
        if str(data) == "-" == str(new):
            raise UsageError("DATA and --new cannot both be standard input; name a file for one of them.")
        return
    of_a_fit = [
        each.opts[0] if each.param_type_name == "option" else "DATA"
        for each in context.command.params
        if each.name not in _OF_THE_PAGE
        and str(context.get_parameter_source(str(each.name))).endswith("COMMANDLINE")
    ]
    if of_a_fit:
        raise UsageError(
            f"{', '.join(of_a_fit)} cannot go with --model, which is fitted already; leave "
            f"{'it' if len(of_a_fit) == 1 else 'them'} out, or --model."
        )
    if new is None:
        raise UsageError("--model needs --new, the rows to look at.")


def _outputs(
    inputs: tuple[Path | None, ...], out: Path, json_out: Path | None, *, no_overwrite: bool
) -> list[Output]:
    """Return the files to write, or refuse what was asked for."""
    outputs = [Output.at(out, (".html", ".htm"), *inputs, no_overwrite=no_overwrite)]
    if json_out is not None:
        outputs.append(
            Output.at(json_out, (".json",), *inputs, no_overwrite=no_overwrite, option="--json-out")
        )
    return outputs


def _of_drift(page: Any) -> dict[str, Any]:
    """Return what the page says of drift, in short."""
    found = page.contents["drift"]
    if found is None:
        return {"drift": None}
    told = {"drift": found["verdict"], "drift_summary": found["summary"]}
    if found["over_time"] is None:
        return told
    return {**told, "changes": [each["summary"] for each in found["over_time"]["changes"]]}


def _show(page: Page, document: dict[str, Any]) -> None:
    show_table(page, document)
    show_held_out(page, document)
    page.line()
    if document["drift"] is not None:
        page.line(f"{_VERDICTS[document['drift']]}: {document['drift_summary']}.")
    for change in document.get("changes", ()):
        page.line(change)
    page.line(f"Wrote {document['page']}.")
