"""Tables of the package of a textbook, ISLP: ``pip install --no-deps ISLP``, since it asks for PyTorch.

No setting of gbmap was settled on them. Their columns are as they come, but for parts and transforms of the
target, and keys of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Table:
    """A file, its target, the class that counts as +1 if it has classes, and the columns to leave out."""

    file: str
    target: str
    positive: str | None = None
    left_out: tuple[str, ...] = ()


TABLES = {
    "islp-carseats": Table("Carseats", "Sales"),
    "islp-credit": Table("Credit", "Balance", left_out=("ID",)),
    "islp-hitters": Table("Hitters", "Salary"),
    "islp-wage": Table("Wage", "wage", left_out=("logwage",)),
    "islp-caravan": Table("Caravan", "Purchase", "Yes"),
    "islp-default": Table("Default", "default", "Yes"),
    "islp-oj": Table("OJ", "Purchase", "MM"),
    "islp-weekly": Table("Weekly", "Direction", "Up", left_out=("Today",)),
}


def load_textbook_table(name: str) -> tuple[Any, Any]:
    """A frame and its target, numbers or -1 and +1; rows without a target are left out."""
    import pandas as pd

    found, table = find_spec("ISLP"), TABLES[name]
    if found is None or found.origin is None:
        raise ImportError("The tables of ISLP need it: pip install --no-deps ISLP")
    frame = pd.read_csv(Path(found.origin).parent / "data" / f"{table.file}.csv")
    frame = frame.dropna(subset=[table.target]).drop(columns=list(table.left_out))
    y = frame.pop(table.target)
    return frame, (y if table.positive is None else np.where(y == table.positive, 1, -1))
