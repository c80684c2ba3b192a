"""What the pictures ask of a model: the name of an output, some of the rows, the rows' own values."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from gbmap._drawing.axes import shorten
from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.frames import columns_of, names_of
from gbmap._utils.missing import is_missing
from gbmap._utils.scikit_learn import num_samples, safe_indexing


def output_label(fitted: FittedModel, output: int) -> str:
    """Return what h = f - f_0 of an output is: "prediction", or "log-odds of" a class."""
    model: Any = fitted.model
    classes = getattr(model, "classes_", None)
    if classes is not None:
        known = fitted.predictor.gives_probabilities
        name = shorten(classes[output + (len(classes) == 2)], 24)
        what = f"{'log-odds' if known else 'score'} of {name}"
    else:
        what = "prediction" if fitted.ensemble.n_outputs == 1 else f"prediction of target {output}"
    return what if model.init_ is None else f"{what}, less that of init"


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return a number of things that the user asks for, or say what it must be."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def take_row(X: Any, row: Any, name: str) -> Any:
    """Return one row of X as a table, or say which there are."""
    n_rows = num_samples(X)
    if not isinstance(row, Integral) or not -n_rows <= row < n_rows:
        raise ValueError(f"{name} must be the position of a row of X, from 0 to {n_rows - 1}, got {row!r}.")
    return safe_indexing(X, [int(row) % n_rows])


def values_of(fitted: FittedModel, row: Any) -> list[Any]:
    """Return the values of a table of one row, in the order of the model's columns."""
    row = fitted.as_asked(row)
    if hasattr(row, "columns"):
        cells, names = [column.to_list()[0] for column in columns_of(row)], list(fitted.feature_names)
        values = dict(zip(names_of(row), cells))
        return [values[name] for name in names] if set(names) <= set(values) else cells
    return list((dense(row) if hasattr(row, "toarray") else np.asarray(row))[0])


def written(value: Any) -> str:
    """Return a value in a few characters."""
    if is_missing(value):
        return "missing"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
