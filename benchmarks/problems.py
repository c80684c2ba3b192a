"""The problems: named data that methods are run on.

``synth_cos(n, p)`` is the paper's synthetic data, unrotated, at any size; ``SCALING_SIZES`` are those of
its runtime table. ``real(name)`` is one of the paper's real data sets, whole, with strings one-hot encoded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.data import Data, Task
from benchmarks.textbook import TABLES

DATA_SEED = 0

Size = tuple[int, int]

SCALING_SIZES: tuple[Size, ...] = (
    *((100_000, p) for p in (25, 100, 200, 400, 800, 1600, 3200)),
    *((n, 25) for n in (500_000, 1_000_000, 5_000_000, 10_000_000)),
)
QUICK_SCALING_SIZES: tuple[Size, ...] = ((100_000, 25), (100_000, 100), (100_000, 400), (1_000_000, 25))

REGRESSION_SETS = (
    "abalone",
    "airquality",
    "autompg",
    "california",
    "concrete",
    "cpu-small",
    "qm9-10k",
    "superconductor",
    "wine-red",
    "wine-white",
)
CLASSIFICATION_SETS = (
    "breast-cancer",
    "diabetes",
    "eeg-eye-state",
    "german-credit",
    "higgs-10k-h2o",
    "higgs-10k-openml-sample",
)
REAL_SETS = REGRESSION_SETS + CLASSIFICATION_SETS
# The paper's synthetic data at their default size, rotated as in its Tables 4 and 5, and not.
SYNTH_COS = ("synth-cos-r-200000x200-rotated", "synth-cos-c-200000x200-rotated")
SYNTH_COS_UNROTATED = ("synth-cos-r-200000x200", "synth-cos-c-200000x200")


@dataclass(frozen=True)
class Problem:
    """A name, which identifies the problem in the results, and a way to make its data."""

    name: str
    load: Callable[[], Data]


def task_of(name: str) -> Task:
    """What is to be predicted, by the name of the problem."""
    if name in TABLES:
        return "regression" if TABLES[name].positive is None else "classification"
    classes = name in CLASSIFICATION_SETS or name.startswith("synth-cos-c")
    return "classification" if classes else "regression"


def parse_size(text: str) -> Size:
    """``"1e5x25"`` or ``"100000x25"`` as (n, p)."""
    n, p = text.lower().split("x")
    return int(float(n)), int(float(p))


def synth_cos(size: Size, task: Task = "classification", dtype: str = "float32") -> Problem:
    """synth-cos-c (classes) or synth-cos-r (regression) with n rows and p columns; no column of ones."""
    n, p = size

    def load() -> Data:
        from gbmap.datasets import make_synth_cos

        X, y = make_synth_cos(n, p, task=task, random_state=DATA_SEED, dtype=np.dtype(dtype))
        return Data(X, y, task)

    suffix = "" if dtype == "float32" else f"-{dtype}"
    return Problem(f"synth-cos-{task[0]}-{n}x{p}{suffix}", load)


def real(name: str) -> Problem:
    """A real data set of the paper as numbers: string columns one-hot encoded, nothing scaled."""

    def load() -> Data:
        import pandas as pd

        from gbmap.datasets import load_paper_dataset

        frame, y = load_paper_dataset(name)
        X = pd.get_dummies(frame, dtype=float).to_numpy(np.float64, copy=True)
        task: Task = "classification" if name in CLASSIFICATION_SETS else "regression"
        return Data(np.ascontiguousarray(X), np.asarray(y), task)

    return Problem(name, load)
