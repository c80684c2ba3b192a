"""``gbmap drift``: whether a model can still be trusted on a table, without labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gbmap._utils.text import counted, number, percent
from gbmap.cli._errors import Code, UsageError
from gbmap.cli._models import (
    frames_of,
    load_model,
    need_detector,
    note_targets_left_out,
    open_data,
    targets_of,
)
from gbmap.cli._options import Data, Json, Keep, Model, NoOverwrite, Quiet, finite, kept
from gbmap.cli._outputs import Output
from gbmap.cli._over_time import Every, Id, Labels, Metrics, Picture, State, Time
from gbmap.cli._screen import Page, Screen

_SHOWN_COLUMNS = 10
_SHOWN_CLASSES = 5


def drift(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write indicator, p-value and alarm of each row there: .csv, .csv.gz, .tsv or .parquet.",
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
            help="The share of alarmed rows that is tolerated.",
        ),
    ] = 0.1,
    confidence: Annotated[
        float,
        typer.Option(metavar="SHARE", help="One less the chance of a false drift found."),
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
    """Tell whether a table has drifted away from a model.

    Compares it with the rows that the model was fitted to; needs no labels. Exits
    with 1 if the mean prediction has shifted by more than --delta, or if more than
    the share --alarms of the rows raise the alarm (5 % do without drift): rows whose
    prediction is far from that of their neighbours. Says which columns are to blame,
    and which loss to expect. If the target is in DATA, its loss is shown too.

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
    return Code.DRIFT if document["drift"] else Code.FINE


def _read(
    model: Any, data: Path, out: Path | None, keep: list[str] | None, sample: Any, screen: Screen
) -> None:
    """Let the rows of a table go by the sample, and write what the detector says of each."""
    from gbmap.tables import write_table

    table = open_data(data)
    rows = _rows(model, table, kept(keep, table.names), sample, screen, with_alarms=out is not None)
    if out is None:
        for _ in rows:
            pass
    else:
        write_table(out, rows)
    note_targets_left_out(model, table, sample, screen)


def _rows(
    model: Any, table: Any, keep: list[str], sample: Any, screen: Screen, *, with_alarms: bool
) -> Iterator[Any]:
    import pandas as pd

    from gbmap.cli.rows import alarm_columns, with_kept

    with screen.progress() as progress:
        for frame in frames_of(table, "measuring", progress):
            features = model.features(frame)
            sample.add(features, targets_of(model, frame))
            if with_alarms:
                yield with_kept(frame[keep], pd.DataFrame(alarm_columns(model, features)))


def _show(page: Page, document: dict[str, Any]) -> None:
    found, more = document["assessment"], document["alarms"]
    level = f"p below {document['level']:.3g}"
    page.line(f"Drift found ({level})." if document["drift"] else f"No drift found (nothing with {level}).")
    if document["rows"] > found["n_rows"]:
        page.line(f"Tested on a random sample of {found['n_rows']:,} of {document['rows']:,} rows.")
    page.line()
    shifts = _shifts(found)
    for name, shift, error, tolerated, p_value in shifts[:_SHOWN_CLASSES]:
        page.line(
            f"The mean prediction{name} moved by {shift:+.4g} (standard error {error:.2g}); {tolerated:.4g} "
            f"is tolerated, p = {p_value:.2g}."
        )
    if len(shifts) > _SHOWN_CLASSES:
        page.line(f"... and {len(shifts) - _SHOWN_CLASSES} more, with no smaller p; --json has them all.")
    page.line(
        f"{percent(more['share'])} of {counted(found['n_rows'], 'row')} raise the alarm; "
        f"{percent(more['expected_share'])} do without drift, {percent(more['tolerated_share'])} are "
        f"tolerated, p = {more['p_value']:.2g}."
    )
    _show_loss(page, found)
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


def _shifts(found: dict[str, Any]) -> list[tuple[str, float, float, float, float]]:
    """Return the name of each output, its shift, standard error and tolerated shift, and the p-value.

    Of several, the one of the smallest p-value comes first.
    Each of several outputs has its chance of a false alarm, which its p-value is made to allow for.
    """
    numbers = [found[name] for name in ("shift", "standard_error", "delta", "p_value")]
    if found["output_names"] is None:
        return [("", *numbers)]
    shifts, errors, tolerated, p_values = numbers
    names = [f" of {name}" for name in found["output_names"]]
    adjusted = [min(1.0, len(names) * p_value) for p_value in p_values]
    found_for = zip(names, shifts, errors, tolerated, adjusted, p_values)
    return [each[:5] for each in sorted(found_for, key=lambda each: each[5])]


def _show_loss(page: Page, found: dict[str, Any]) -> None:
    if found["expected_loss"] is not None:
        lower, upper = found["expected_loss_interval"]
        page.line(
            f"Expected loss {number(found['expected_loss'])} ({number(lower)} to {number(upper)}); it was "
            f"{number(found['calibration_loss'])} on rows held out of the fit."
        )
    if found["mean_loss"] is not None:
        page.line(f"Loss on the targets in the table: {number(found['mean_loss'])}.")
