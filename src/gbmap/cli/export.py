"""``gbmap export``: a model for other programs."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gbmap._utils.replacing import replacing
from gbmap.cli._errors import UsageError
from gbmap.cli._models import example_rows, load_model
from gbmap.cli._options import Json, Model, NoOverwrite, Quiet
from gbmap.cli._outputs import Output
from gbmap.cli._screen import Page, Screen

_ENDINGS = (".onnx", ".sql")


def export(
    model: Model,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to: .onnx or .sql.", show_default=False)
    ],
    to: Annotated[
        Literal["onnx", "sql"] | None,
        typer.Option(
            "--to",
            metavar="onnx|sql",
            help="The format; without it, the ending of --out says.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="SQL: the table that the statement reads.")
    ] = "data",
    dialect: Annotated[
        Literal["portable", "duckdb", "postgresql", "sqlite"],
        typer.Option(metavar="NAME", help="SQL: portable, duckdb, postgresql or sqlite."),
    ] = "portable",
    output: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What to compute: prediction, label, probability, score, embedding. Repeatable.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            "-k",
            metavar="COLUMN",
            help="SQL: a column to pass on. Repeatable; without it, what fit dropped as keys.",
            show_default=False,
        ),
    ] = None,
    no_keep: Annotated[bool, typer.Option("--no-keep", help="SQL: pass no column on.")] = False,
    no_overwrite: NoOverwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model as an ONNX graph or as a SQL statement.

    Both compute what the model computes, its preprocessing included, from columns
    of the same names as those of the tables. Dates come as the numbers that the
    model takes from them: see the columns that are printed. SQL passes on the keys
    of rows, for a table has no order. In ONNX, a missing number is NaN, a missing
    category an empty text.

    For example:
      gbmap export houses.gbmap --out houses.onnx
      gbmap export houses.gbmap --table houses --out houses.sql
    """
    kind = _format_of(out, to)
    if (keep or no_keep) and (kind != "sql" or (keep and no_keep)):
        raise UsageError("--keep and --no-keep are for --to sql, and one of them at a time.")
    written = Output.at(out, (f".{kind}",), model, no_overwrite=no_overwrite)
    screen, loaded = Screen(as_json, quiet), load_model(model)
    if kind == "sql":
        keys = [] if no_keep else keep or [each.name for each in loaded.schema_.columns if each.is_key]
        columns = _write_sql(
            loaded, out, {"table": table, "dialect": dialect, "outputs": output, "keep": keys}
        )
    else:
        keys, columns = [], _write_onnx(loaded, out, output)
    written.tell(screen)
    screen.result({"file": str(out), "format": kind, "columns": columns, "keep": keys}, _show)


def _format_of(out: Path, to: str | None) -> str:
    """Return the format that is asked for, or that the ending of the file names."""
    ending = out.suffix.lower()
    if to and ending in _ENDINGS and ending != f".{to}":
        raise UsageError(f"--to {to} and --out {out} name two formats; leave --to out, or end in .{to}.")
    if not to and ending not in _ENDINGS:
        raise UsageError(f"--out must end in {' or '.join(_ENDINGS)}, got {out}; for others, say --to.")
    return to or ending[1:]


def _write_sql(model: Any, out: Path, asked: dict[str, Any]) -> list[str]:
    """Write the statement, and return the columns that it reads."""
    from gbmap.sql.export import to_sql

    statement = to_sql(model.model_, **asked)
    with replacing(out) as file:
        file.write(f"{statement};\n".encode())
    return [str(name) for name in model.model_.feature_names_in_]


def _write_onnx(model: Any, out: Path, outputs: list[str] | None) -> list[str]:
    """Write the graph, and return the names of its inputs, which skl2onnx may have changed."""
    from gbmap.onnx import to_onnx

    _refuse_lost_range(model)
    graph = to_onnx(_without_missing_texts(model.model_), example_rows(model), outputs=outputs)
    with replacing(out) as file:
        file.write(graph.SerializeToString())
    return [each.name for each in graph.graph.input]


def _refuse_lost_range(model: Any) -> None:
    """Refuse a model whose numbers do not fit into a graph, which holds float32."""
    import numpy as np

    from gbmap._fitted.model import FittedModel
    from gbmap.onnx._digits import lost_ranges

    fitted = FittedModel.of(model.model_)
    columns, targets = lost_ranges(fitted.model, np.dtype(np.float32))
    names = [*fitted.input_names[columns], *([model.schema_.target] if targets.any() else [])]
    if names:
        raise ValueError(
            f"{names[0]!r} varies too much or too little for the float32 numbers of ONNX; rescale it in the "
            "data and fit again, or export --to sql."
        )


def _without_missing_texts(pipeline: Any) -> Any:
    """Return a model as it is, or a pipeline of an earlier version that is given "missing" for them."""
    import numpy as np
    from sklearn.pipeline import Pipeline

    if not isinstance(pipeline, Pipeline):
        return pipeline
    copied = deepcopy(pipeline)
    columns = copied["columns"]
    for k, (name, step, chosen) in enumerate(columns.transformers_):
        if name == "category":
            step[-1].feature_names_in_ = np.asarray(chosen, dtype=object)
            columns.transformers_[k] = (name, step[-1], chosen)
    return copied


def _show(page: Page, document: dict[str, Any]) -> None:
    page.line(f"{document['file']} reads the columns {', '.join(document['columns'])}.")
    if document["keep"]:
        page.line(f"It passes on {', '.join(document['keep'])}; --keep names others, --no-keep none.")
