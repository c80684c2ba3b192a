"""The data sets: how many rows and columns there are, the paper's Table 1."""

from __future__ import annotations

import numpy as np

from benchmarks.data import Data
from benchmarks.methods.base import Result, timed
from benchmarks.problems import REAL_SETS, SYNTH_COS
from benchmarks.runner import Settings, base_row, failure, measured, progress
from benchmarks.splits import Rows, encode, load

LOAD = "load"


def run(settings: Settings) -> None:
    """Count the rows and the columns, before and after text is one-hot encoded."""
    table = settings.table("sets")
    for name in (*REAL_SETS, *SYNTH_COS):
        row = base_row(name, LOAD, 0, 1)
        if not settings.fresh and table.finished(row):
            continue
        try:
            row |= _counted(name)
        except Exception as error:
            row |= {"status": failure(error)}
        table.put(row)
        print(progress(row), flush=True)


def _counted(name: str) -> dict[str, str]:
    seconds, rows = timed(lambda: load(name))
    n, p = rows.X.shape
    extra = {"task": rows.task, "encoded": _encoded(rows), "text": _text_columns(rows)}
    return measured(Data(np.broadcast_to(0.0, (n, p)), rows.y, rows.task), Result(seconds, extra=extra))


def _encoded(rows: Rows) -> int:
    return int(rows.X.shape[1] if rows.synthetic else encode(rows.X).transform(rows.X[:1]).shape[1])


def _text_columns(rows: Rows) -> int:
    return 0 if rows.synthetic else int(rows.X.select_dtypes(exclude=np.number).shape[1])
