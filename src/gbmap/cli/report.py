"""``gbmap report``: one page about a table, its model and, if given, what has changed since."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gbmap.cli import _options as options
from gbmap.cli._errors import UsageError
from gbmap.cli._models import frames_of, note_targets_left_out, open_data, targets_of
from gbmap.cli._outputs import Output
from gbmap.cli._screen import Page, Progress, Screen
from gbmap.cli._summary import of_schema, of_scores, show_held_out, show_task

_NEW_ROWS = 100_000  # of the second table, beyond which a random sample is looked at
_VERDICTS = {"none": "No drift found", "look": "Look at the new rows", "act": "Drift found"}


def report(
    data: options.Data,
    target: options.Target,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="PAGE", help="The page to write: .html.", show_default=False),
    ],
    new: options.NewData = None,
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
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    no_overwrite: options.NoOverwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a model to a table and write a page about it.

    One self-contained HTML file, which works offline: how good the model is, the
    map of the rows, what drives the predictions, and with --new what has drifted
    and why. The page holds some of the rows.

    For example:
      gbmap report houses.csv --target price --out houses.html
      gbmap report houses.csv -t price --new today.csv -o today.html
    """
    from gbmap.tables import TableModel

    outputs = _outputs(data, new, out, json_out, no_overwrite=no_overwrite)
    screen, table = Screen(as_json, quiet), open_data(data)
    model = TableModel(
        target,
        task=task,
        test_size=test_size,
        n_components=components,
        beta=beta,
        l2_regularization=l2,
        loss=loss,
        n_jobs=jobs,
        random_state=seed,
    )
    with screen.progress() as progress:
        model.fit(table, drop=drop or (), category=category or (), progress=progress)
        page = _page(
            model,
            table,
            new,
            screen,
            progress,
            title=title or f"{target}, predicted from {data.name}",
            max_rows=max_rows,
        )
        page.to_html(out)
        if json_out is not None:
            page.to_json(json_out)
    for output in outputs:
        output.tell(screen)
    found = None if new is None else page.to_dict()["drift"]
    drift = {} if found is None else {"drift": found["verdict"], "drift_summary": found["summary"]}
    document = {"page": str(out), **of_schema(model.schema_), **of_scores(model), "drift": None, **drift}
    screen.result(document, _show)


def _outputs(
    data: Path, new: Path | None, out: Path, json_out: Path | None, *, no_overwrite: bool
) -> list[Output]:
    """Return the files to write, or refuse what was asked for."""
    if str(data) == "-" == str(new):
        raise UsageError("DATA and --new cannot both be standard input; name a file for one of them.")
    outputs = [Output.at(out, (".html", ".htm"), data, new, no_overwrite=no_overwrite)]
    if json_out is not None:
        outputs.append(
            Output.at(json_out, (".json",), data, new, no_overwrite=no_overwrite, option="--json-out")
        )
    return outputs


def _page(
    model: Any, table: Any, new: Path | None, screen: Screen, progress: Progress, **settings: Any
) -> Any:
    """Return the report of a fitted model, with all that it is given to look at."""
    import pandas as pd

    from gbmap.report import make_report

    X, y, X_test, y_test = model.split(table)
    later = {} if new is None else _new_rows(model, new, screen, progress)
    progress("writing the page", 0, None)
    return make_report(
        model.model_,
        X,
        pd.Series(y, index=X.index, name=model.target),
        X_test=X_test,
        y_test=y_test,
        detector=model.detector_,
        random_state=model.random_state,
        **later,
        **settings,
    )


def _new_rows(model: Any, data: Path, screen: Screen, progress: Progress) -> dict[str, Any]:
    from gbmap.cli._sample import Sample

    sample, table = Sample(_NEW_ROWS), open_data(data)
    for frame in frames_of(table, "reading the new table", progress):
        sample.add(model.features(frame), targets_of(model, frame))
    note_targets_left_out(sample, screen)
    return {"X_new": sample.features, "y_new": sample.targets}


def _show(page: Page, document: dict[str, Any]) -> None:
    show_task(page, document)
    show_held_out(page, document)
    page.line()
    if document["drift"] is not None:
        page.line(f"{_VERDICTS[document['drift']]}: {document['drift_summary']}.")
    page.line(f"Wrote {document['page']}.")
