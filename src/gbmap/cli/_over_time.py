"""The options of ``gbmap drift`` for rows over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbmap.cli._options import existing

Time = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="When rows came: ISO dates or numbers, by which they are sorted."),
]
Every = Annotated[
    str | None,
    typer.Option(
        metavar="PERIOD",
        help="What a batch is: hour, day, week or month of --time, or a number of rows. day with --time, "
        "else all rows.",
    ),
]
Id = Annotated[str | None, typer.Option(metavar="COLUMN", help="What labels that come later are matched by.")]
Labels = Annotated[
    Path | None,
    typer.Option(metavar="TABLE", callback=existing, help="Labels of rows seen before: --id and the target."),
]
State = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The monitor, to go on with if it is there, and kept there: .gbmap."),
]
Metrics = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write it for Prometheus there: .prom or .txt.")
]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the life of the monitor there: .png, .svg or .pdf.")
]
