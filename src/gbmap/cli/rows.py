"""``gbmap predict``, ``transform`` and ``explain``: a table in, a table of as many rows out, in one pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gbmap._utils.text import inert
from gbmap.cli._errors import UsageError
from gbmap.cli._models import frames_of, load_model, need_detector, open_data
from gbmap.cli._options import Data, Keep, Model, NoOverwrite, Quiet, RowsOut, kept
from gbmap.cli._outputs import Output
from gbmap.cli._screen import Screen


def predict(
    model: Model,
    data: Data,
    out: RowsOut = "-",
    drift: Annotated[
        bool, typer.Option("--drift", help="Add the drift indicator, its p-value and the alarm of each row.")
    ] = False,
    keep: Keep = None,
    no_overwrite: NoOverwrite = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table.

    Writes a column "prediction", and for classes a column "probability_CLASS" for
    each of them. The target need not be in DATA. Rows are read in pieces, so that
    a file may be larger than memory.

    For example:
      gbmap predict houses.gbmap new.csv --out predicted.csv
      gbmap predict houses.gbmap new.parquet --keep id --drift --out new.csv
      zcat new.csv.gz | gbmap predict houses.gbmap - | head
    """
    output = _output(out, data, model, no_overwrite=no_overwrite)

    def columns(loaded: Any, frame: Any) -> Any:
        if drift:
            need_detector(loaded, model)
        return predictions(loaded, frame, drift=drift)

    _map_rows("predict", columns, model, data, output, keep, quiet)


def transform(
    model: Model,
    data: Data,
    out: RowsOut = "-",
    keep: Keep = None,
    no_overwrite: NoOverwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the coordinates of the rows of a table.

    They are the outputs of the learners, "f1", "f2", ..., in the units of the
    target (log-odds for classes); for one target they add up to the prediction.
    For more than two classes there is one of each class, "f1_CLASS", then the next
    of each, "f2_CLASS", and so on.

    For example:
      gbmap transform houses.gbmap houses.csv --keep id --out map.csv
      gbmap transform houses.gbmap houses.parquet --out map.parquet
    """
    output = _output(out, data, model, no_overwrite=no_overwrite)
    _map_rows("transform", _coordinates, model, data, output, keep, quiet)


def explain(
    model: Model,
    data: Data,
    out: RowsOut = "-",
    kind: Annotated[
        Literal["attributions", "coefficients"],
        typer.Option(
            metavar="KIND",
            help="attributions: what each column adds over the average row; or coefficients: the "
            "local linear model.",
        ),
    ] = "attributions",
    standardized: Annotated[
        bool, typer.Option("--standardized", help="Coefficients per standard deviation, not per unit.")
    ] = False,
    keep: Keep = None,
    no_overwrite: NoOverwrite = False,
    quiet: Quiet = False,
) -> None:
    """Explain the prediction of each row of a table.

    Writes a column for each column that the model uses. Attributions say what it
    adds to the prediction over that of the average training row, "base_value"; with
    it they add up to the prediction. Coefficients are the slope of the model at the
    row, per unit of a column, and for a category what it adds over the average row.
    For a date there is one for each of its parts. For classes both are in log-odds;
    for more than two of them, a row becomes one for each ("output").

    For example:
      gbmap explain houses.gbmap new.csv --keep id --out reasons.csv
      gbmap explain houses.gbmap new.csv --kind coefficients --out slopes.parquet
    """
    if standardized and kind != "coefficients":
        raise UsageError("--standardized goes with --kind coefficients only; leave it out.")
    output = _output(out, data, model, no_overwrite=no_overwrite)

    def columns(loaded: Any, frame: Any) -> Any:
        from gbmap.cli._explaining import explanation

        return explanation(loaded, loaded.features(frame), kind=kind, standardized=standardized)

    _map_rows("explain", columns, model, data, output, keep, quiet)


def predictions(model: Any, frame: Any, *, drift: bool) -> Any:
    """Return the columns that `predict` writes."""
    import pandas as pd

    features = model.features(frame)
    columns: dict[str, Any] = {"prediction": model.model_.predict(features)}
    if hasattr(model.model_, "predict_proba"):
        shares = model.model_.predict_proba(features)
        columns |= {f"probability_{each}": shares[:, k] for k, each in enumerate(model.model_.classes_)}
    if drift:
        columns |= alarm_columns(model, features)
    return pd.DataFrame(columns)


def alarm_columns(model: Any, features: Any) -> dict[str, Any]:
    """Return what the detector says of each row."""
    found = model.detector_.alarms(features)
    names = {"drift_indicator": "indicator", "drift_p_value": "p_value", "drift_alarm": "is_alarm"}
    return {column: found[name] for column, name in names.items()}


def _coordinates(model: Any, frame: Any) -> Any:
    import pandas as pd

    from gbmap._fitted.model import FittedModel

    return pd.DataFrame(model.transform(frame), columns=FittedModel.of(model.model_).coordinate_names)


def _output(out: str, *inputs: Path, no_overwrite: bool) -> Output | None:
    """Return the table that is going to be written, None for standard output."""
    from gbmap.tables.writing import ENDINGS

    return None if out == "-" else Output.at(out, ENDINGS, *inputs, no_overwrite=no_overwrite)


def _map_rows(
    what: str,
    columns: Callable[[Any, Any], Any],
    model: Path,
    data: Path,
    output: Output | None,
    keep: list[str] | None,
    quiet: bool,
) -> None:
    """Write what `columns` makes of a model and the frames of a table, piece by piece."""
    from gbmap.tables import write_table

    loaded, screen = load_model(model), Screen(quiet=quiet)
    table = open_data(data, loaded)
    passed_on = kept(keep, table.names)

    def results() -> Iterator[Any]:
        with screen.progress() as progress:
            for frame in frames_of(table, what, progress):
                yield with_kept(frame[passed_on], columns(loaded, frame))

    if output is None:
        write_table("-", map(_visible, results()) if sys.stdout.isatty() else results())
    else:
        write_table(output.path, results())
        output.tell(screen)


def _visible(frame: Any) -> Any:
    """Return a frame whose texts have no power over a terminal; files and pipes get them as they are."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    return frame.assign(**{name: texts[name].map(inert) for name in texts}).rename(columns=inert)


def with_kept(kept: Any, results: Any) -> Any:
    """Return the columns kept, then the results; a row may have several results, for several outputs.

    A column kept that has the name of a result is called "NAME (kept)".
    """
    import pandas as pd

    taken = {name: f"{name} (kept)" for name in kept.columns if name in results.columns}
    repeated = kept.rename(columns=taken).loc[kept.index.repeat(len(results) // len(kept))]
    return pd.concat([repeated.reset_index(drop=True), results], axis=1)
