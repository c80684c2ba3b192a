"""``gbmap drift``: whether a model can still be trusted on a table, with labels or without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gbmap._utils.glossary import METRICS
from gbmap._utils.text import number, percent
from gbmap.cli._errors import Code, UsageError
from gbmap.cli._models import (
    frames_of,
    load_model,
    need_detector,
    note_rows_that_were_not_fitted,
    note_targets_left_out,
    open_data,
    targets_of,
)
from gbmap.cli._options import Data, Json, Keep, Model, NoOverwrite, Quiet, finite, kept
from gbmap.cli._outputs import Output
from gbmap.cli._over_time import Every, Id, Labels, Metrics, Picture, State, Time
from gbmap.cli._screen import Page, Screen

_SHOWN_COLUMNS = 10
_SHOWN_FINDINGS = 10
_DEGREES = {"none": "No drift found.", "look": "Look at it.", "act": "Drift found."}


def drift(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write indicator, p-value and alarm of each row there, as gbmap predict writes its rows.",
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="NUMBER",
            callback=finite,
            help="The shift of the mean prediction that is tolerated, in standard deviations of the target.",
        ),
    ] = 0.1,
    alarms: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            callback=finite,
            help="The share of rows that may raise the alarm.",
        ),
    ] = 0.1,
    confidence: Annotated[
        float,
        typer.Option(metavar="SHARE", help="One less the chance of finding anything if nothing has changed."),
    ] = 0.95,
    max_rows: Annotated[
        int, typer.Option(min=1, metavar="ROWS", help="Beyond, a random sample of so many rows is tested.")
    ] = 100_000,
    keep: Keep = None,
    time: Time = None,
    every: Every = None,
    id: Id = None,
    labels: Labels = None,
    state: State = None,
    metrics: Metrics = None,
    picture: Picture = None,
    no_overwrite: NoOverwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Tell whether a model can still be trusted on a table.

    Looks at the mean prediction, the share of rows that raise the alarm, the loss
    to expect, that by the targets if DATA has them, and at each column: categories
    that are new, values that are missing, out of range or of other units. Says what
    changed, how surely, and what to do. Exits with 1 if it finds that predictions
    are worse or cannot be relied on; changes that need no more than a look, such as
    those of a column that counts for little, end with 0.

    For example:
      gbmap drift houses.gbmap new.csv
      gbmap drift houses.gbmap new.csv --out rows.csv --json > drift.json
      gbmap drift houses.gbmap today.parquet || echo "look at the model"
      gbmap drift houses.gbmap new.csv --time sold --every day --state m.gbmap

    With --time, --every or --state the rows go to a monitor, batch by batch, whose
    chance of a false alarm is one less --confidence over all looks together, those
    of later commands with the same --state too. It knows no tolerated drift.
    """
    from gbmap.cli._drifting import assess
    from gbmap.cli._sample import Sample
    from gbmap.tables.writing import ENDINGS

    if not 0 < confidence < 1:
        raise UsageError(f"--confidence must be above 0 and below 1, got {confidence}.")
    over_time = {"time": time, "every": every, "id": id, "labels": labels, "state": state}
    if any(value is not None for value in (*over_time.values(), metrics, picture)):
        from gbmap.cli._watching import Watch, watch

        if out is not None:
            raise UsageError("--out goes with one look only; leave it out, or --time, --every and --state.")
        asked = Watch(**over_time, metrics=metrics, picture=picture)  # type: ignore[arg-type]
        return watch(
            model, data, asked, round(1 - confidence, 12), Screen(as_json, quiet), no_overwrite=no_overwrite
        )
    output = None if out is None else Output.at(out, ENDINGS, data, model, no_overwrite=no_overwrite)
    screen, loaded = Screen(as_json, quiet), load_model(model)
    need_detector(loaded, model)
    sample = Sample(max_rows)
    _read(loaded, data, out, keep, sample, screen)
    if output is not None:
        output.tell(screen)
    document = assess(loaded, sample, delta=delta, tolerated_alarms=alarms, confidence=confidence)
    screen.result(document, _show)
    if document["verdict"]["degree"] != "none":
        note_rows_that_were_not_fitted(loaded, screen)
    return Code.DRIFT if document["drift"] else Code.FINE


def _read(
    model: Any, data: Path, out: Path | None, keep: list[str] | None, sample: Any, screen: Screen
) -> None:
    """Let the rows of a table go by the sample, and write what the detector says of each."""
    from gbmap.tables import write_table

    table = open_data(data, model)
    rows = _rows(model, table, kept(keep, table.names), sample, screen, with_alarms=out is not None)
    if out is None:
        for _ in rows:
            pass
    else:
        write_table(out, rows)
    note_targets_left_out(model, sample, screen)


def _rows(
    model: Any, table: Any, keep: list[str], sample: Any, screen: Screen, *, with_alarms: bool
) -> Iterator[Any]:
    import pandas as pd

    from gbmap.cli.rows import alarm_columns, with_kept

    with screen.progress() as progress:
        for frame in frames_of(table, "measuring", progress):
            features = model.features(frame)
            sample.add(features, targets_of(model, frame, with_new_classes=True), model.constants(frame))
            if with_alarms:
                yield with_kept(frame[keep], pd.DataFrame(alarm_columns(model, features)))


def _show(page: Page, document: dict[str, Any]) -> None:
    verdict = document["verdict"]
    page.line(f"{_DEGREES[verdict['degree']]} {verdict['summary']}.")
    if document["rows"] > verdict["n_rows"]:
        page.line(f"Judged by a random sample of {verdict['n_rows']:,} of {document['rows']:,} rows.")
    page.heading("What was found" if verdict["findings"] else "What was looked at")
    page.table(
        ["degree", "p", "what", "what to do"],
        [
            [each["degree"], f"{each['p_value']:.2g}", each["text"], _advice(each)]
            for each in verdict["findings"] or verdict["checks"]
        ],
        numbers=(1,),
        most=_SHOWN_FINDINGS,
    )
    page.line(
        f"If nothing had changed, anything at all would be found with a chance of at most "
        f"{percent(verdict['level'])}: p-values allow for all that was looked at."
    )
    _show_metrics(page, verdict)
    page.heading("What changed, by column")
    page.table(
        ["column", "in the shift", "in the alarms", "change"],
        [
            [each["column"], number(each["shift"]), number(each["alarms"]), each["change"]]
            for each in document["columns"]
        ],
        numbers=(1, 2),
        most=_SHOWN_COLUMNS,
    )


def _advice(finding: dict[str, Any]) -> str:
    return "" if finding["degree"] == "none" else finding["advice"]


def _show_metrics(page: Page, verdict: dict[str, Any]) -> None:
    page.heading("How good predictions are")
    page.table(
        ["metric", "held out", "expected", "at least", "at most", "by labels"],
        [
            [
                METRICS[name].name,
                *(number(each[key]) for key in ("held_out", "expected", "lower", "upper", "known")),
            ]
            for name, each in verdict["metrics"].items()
        ],
        numbers=(1, 2, 3, 4, 5),
    )
