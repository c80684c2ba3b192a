"""Models as the commands meet them: from a file, with the columns of the user's tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gbmap
from gbmap._utils.text import counted
from gbmap.cli._errors import UsageError
from gbmap.cli._screen import Progress, Screen


def load_model(path: Path) -> Any:
    """Return the model of tables in a file."""
    from gbmap.tables import TableModel

    model = gbmap.load(path)
    if not isinstance(model, TableModel):
        raise ValueError(
            f"{path} must hold a model of tables, as gbmap fit writes it, got a {type(model).__name__}; "
            "use it from Python, by gbmap.load, or look at it by gbmap inspect."
        )
    return model


def need_detector(model: Any, path: Path) -> None:
    """Refuse a model that cannot tell drift."""
    if model.detector_ is None:
        raise UsageError(f"{path} has no drift detector; fit it without --no-reference.")
    if not model.detector_.calibration_size_:
        raise ValueError(
            f"{path} was fitted to too few rows to calibrate its drift detector; fit it to more of them."
        )


def open_data(path: Path, model: Any = None, *, encoding: str | None = None) -> Any:
    """Return the table at a path, of which "-" is standard input, encoded as said or as that of a model."""
    from gbmap.tables import open_table

    return open_table(str(path), encoding=encoding, fallback=model and model.schema_.encoding)


def frames_of(table: Any, step: str, progress: Progress) -> Iterator[Any]:
    """Yield the rows of a table in frames, and tell how far they have been read."""
    from gbmap.tables import TableError

    done = 0
    for frame in table.frames():
        yield frame
        done += len(frame)
        progress(step, done, None)
    if done == 0:
        raise TableError(f"{table.label} has no rows.")


def targets_of(model: Any, frame: Any, *, with_new_classes: bool = False) -> Any:
    """Return the targets of rows, None or NaN for those that are missing.

    So are those of classes that the model does not know, unless they are asked for.
    """
    import numpy as np

    from gbmap.tables._batches import Batch
    from gbmap.tables._targets import read_targets

    if model.schema_.target not in frame.columns:
        return None
    y, is_known = read_targets(Batch.of(frame), model.schema_)
    classes = getattr(model.model_, "classes_", None)
    if classes is not None:
        is_known &= with_new_classes | np.isin(y, classes)
        y = y.astype(object)
        y[~is_known] = None
    elif not is_known.all():
        y = np.where(is_known, y, np.nan)
    return y


def note_targets_left_out(model: Any, sample: Any, screen: Screen) -> None:
    """Say of how many rows the loss is not known, if of some and not of all."""
    from gbmap._utils.missing import is_missing

    if sample.targets is None:
        return
    known = getattr(model.model_, "classes_", None)
    known = None if known is None else set(known.tolist())
    n_unknown = sum(is_missing(y) or (known is not None and y not in known) for y in sample.targets.tolist())
    if n_unknown:
        rows = f"{counted(n_unknown, 'row')} of {len(sample.targets):,}"
        screen.note(
            f"gbmap: note: the target of {rows} is missing or none that the model knows; these count by "
            "their columns alone."
        )


def note_rows_that_were_not_fitted(model: Any, screen: Screen) -> None:
    """Say that the fit has left out rows without a target, where something was found in rows that may be so.

    Why a target is missing may depend on the columns: then rows like these are unlike all that the model
    knows, in a table that is drawn at random from that of the fit, too.
    """
    if n_left_out := model.schema_.n_without_target:
        screen.note(
            f"gbmap: note: {counted(n_left_out, 'row')} of {model.schema_.n_rows:,} had no target in the fit "
            "and were left out; rows of their kind count as changed, since the model knows none."
        )


def example_rows(model: Any, n_rows: int = 20) -> Any:
    """Return rows of the kind that a model's pipeline takes, made up from what it knows of its columns."""
    import numpy as np
    import pandas as pd

    levels = {column.name: column.levels for column in model.schema_.used if column.kind == "category"}
    numbers = np.linspace(-1.0, 1.0, n_rows)
    return pd.DataFrame(
        {
            name: np.resize(np.array(levels[name], dtype=object), n_rows) if name in levels else numbers
            for name in model.model_.feature_names_in_
        }
    )
