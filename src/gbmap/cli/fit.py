"""``gbmap fit``: a table in, a model file out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gbmap._utils import text
from gbmap.cli import _options as options
from gbmap.cli._models import open_data
from gbmap.cli._outputs import Output
from gbmap.cli._screen import Page, Screen
from gbmap.cli._summary import (
    of_detector,
    of_schema,
    of_scores,
    show_held_out,
    show_table,
)


def fit(
    data: options.Data,
    target: options.Target,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="MODEL", help="The file to write: .gbmap.", show_default=False),
    ],
    task: options.Task = None,
    components: options.Components = None,
    beta: options.Beta = None,
    l2: options.L2 = None,
    loss: options.Loss = None,
    refine: Annotated[
        bool,
        typer.Option(help="Optimise all learners together in the end: some slower, mostly better."),
    ] = True,
    test_size: options.TestSize = 0.2,
    no_reference: Annotated[
        bool, typer.Option("--no-reference", help="Store no drift detector: a smaller file, without data.")
    ] = False,
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
    """Fit a model to a table.

    Finds out what each column is (number, category, date, or of no use), how it is
    written, and whether the target is a number or a class, and says so. Missing values are filled in and
    marked. A share of the rows is held out of the fit, for honest scores and to
    calibrate the drift detector, which keeps some thousands of rows of the data in the
    model file.

    For example:
      gbmap fit houses.csv --target price --out houses.gbmap
      gbmap fit loans.parquet -t default --drop id --category zip -o loans.gbmap
      gbmap fit sales.csv -t paid --date sold=dmy --drop id,name -o sales.gbmap
      gbmap fit - -t price -o houses.gbmap < houses.csv
    """
    import gbmap
    from gbmap.tables import TableModel

    output = Output.at(out, (".gbmap",), data, no_overwrite=no_overwrite)
    screen = Screen(as_json, quiet)
    model = TableModel(
        target,
        task=task,
        test_size=test_size,
        reference_rows=0 if no_reference else "auto",
        n_components=components,
        beta=beta,
        l2_regularization=l2,
        loss=loss,
        refine=refine,
        n_jobs=jobs,
        random_state=seed,
    )
    start = time.perf_counter()
    with screen.progress() as progress:
        table = open_data(data, encoding=encoding)
        said = options.Said(drop, category, number, date).of(table.names)
        model.fit(table, **said, progress=progress)
    gbmap.save(model, out)
    output.tell(screen)
    screen.result(_document(model, out, time.perf_counter() - start), _show)


def _document(model: Any, out: Path, seconds: float) -> dict[str, Any]:
    import numpy as np  # not before a model is there: help comes at once

    from gbmap._fitted.model import FittedModel

    gbmap = FittedModel.of(model.model_).model
    return {
        "model": str(out),
        "bytes": out.stat().st_size,
        "seconds": seconds,
        **of_schema(model.schema_),
        "parameters": {
            "n_components": gbmap.n_components_,
            "beta": gbmap.beta,
            "l2_regularization": float(np.mean(gbmap.l2_regularization_)),
        },
        "refined": bool(gbmap.n_refinements_.any()),
        "rows_fitted": model.n_fitted_,
        **of_scores(model),
        "detector": of_detector(model.detector_),
    }


def _show(page: Page, document: dict[str, Any]) -> None:
    show_table(page, document)
    show_held_out(page, document)
    page.line()
    chosen = document["parameters"]
    refined = ", refined together" if document["refined"] and chosen["n_components"] > 1 else ""
    page.line(
        f"{text.counted(chosen['n_components'], 'learner')}{refined}, beta {chosen['beta']:g}, "
        f"ridge {chosen['l2_regularization']:.3g}."
    )
    page.line(
        f"Fitted to {text.counted(document['rows_fitted'], 'row')} in {document['seconds']:.1f} s; wrote "
        f"{document['model']}, {text.number(document['bytes'])} bytes."
    )
