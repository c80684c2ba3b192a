"""Problems by name, cut into training and test rows: the encoder and the scaler see training rows only.

A name is that of a real data set or of a textbook's table, or synth-cos-r-NxP or synth-cos-c-NxP, with
"-rotated" for the columns turned by a random rotation. "NAME@49" is always the split with seed 49, which is
the paper's of its Table 4. "NAME@apart" keeps rows of one thing, such as samples of a wine, on one side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.data import Data, Split, Task
from benchmarks.problems import DATA_SEED, Size, task_of
from benchmarks.textbook import TABLES, load_textbook_table

Array = NDArray[Any]

SYNTHETIC = re.compile(r"synth-cos-[rc]-(\d+)x(\d+)(-rotated)?")
# Rows of synthetic data beyond those of the problem, for choices: they belong to no split.
RESERVE = 60_000
PAPER_SEED = 49
# Sets that hold many things more than once, and the columns in which rows of one thing may differ.
REPEATING: dict[str, tuple[str, ...]] = {
    "concrete": ("Age",),  # a mixture is tested at several ages
    "qm9-10k": (),
    "superconductor": (),
    "wine-red": (),
    "wine-white": (),
}


@dataclass(frozen=True)
class Rows:
    """A problem before any split: a frame as it was published, or synthetic columns."""

    X: Any
    y: Array
    task: Task
    synthetic: bool
    reserve: Data | None = None


def synth_name(task: Task, size: Size, *, rotated: bool) -> str:
    """The name of synthetic data."""
    n, p = size
    return f"synth-cos-{task[0]}-{n}x{p}{'-rotated' if rotated else ''}"


def is_synthetic(name: str) -> bool:
    return SYNTHETIC.fullmatch(name) is not None


def size_of(name: str) -> Size:
    """Rows and columns of synthetic data."""
    found = SYNTHETIC.fullmatch(name)
    assert found is not None
    return int(found[1]), int(found[2])


def plain(name: str) -> str:
    """The name without the seed of a split."""
    return name.partition("@")[0]


def at_paper_split(name: str) -> str:
    """The name of a problem cut as the paper cut it."""
    return f"{name}@{PAPER_SEED}"


def apart(name: str) -> str:
    """The name of a problem cut so that rows of one thing stay together."""
    return f"{name}@apart"


@lru_cache(maxsize=1)
def load(name: str, seed: int = DATA_SEED) -> Rows:
    """All rows of a problem; the seed is that of synthetic data."""
    found = SYNTHETIC.fullmatch(name)
    return _synthetic(task_of(name), seed, *found.groups()) if found else _real(name)


def split(name: str, seed: int, test_size: float, most_rows: int | None = None) -> Split:
    """Random training and test rows, stratified for classes; of so many rows at most.

    Synthetic data are drawn anew for every seed: what can be learned depends on their random direction.
    """
    rows = load(name, seed) if is_synthetic(name) else load(plain(name))
    X, y = _cut(rows, most_rows)
    if name == apart(plain(name)):
        groups = X.groupby([each for each in X if each not in REPEATING[plain(name)]]).ngroup()
        train, test = next(GroupShuffleSplit(1, test_size=test_size, random_state=seed).split(X, y, groups))
        X_train, X_test, y_train, y_test = X.iloc[train], X.iloc[test], y[train], y[test]
    else:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=test_size, random_state=int(name.partition("@")[2] or seed),
            stratify=y if rows.task == "classification" else None,
        )  # fmt: skip
    if not rows.synthetic:
        X_train, X_test = _prepare(X_train, X_test)
        y_train, y_test = _standardise(rows.task, y_train, y_test)
    return Split(Data(X_train, y_train, rows.task), Data(X_test, y_test, rows.task), rows.synthetic)


def _real(name: str) -> Rows:
    from gbmap.datasets import load_paper_dataset

    frame, y = load_textbook_table(name) if name in TABLES else load_paper_dataset(name)
    return Rows(frame, np.asarray(y), task_of(name), synthetic=False)


def _synthetic(task: Task, seed: int, n_text: str, p_text: str, rotated: str | None) -> Rows:
    from gbmap.datasets import make_synth_cos

    n = int(n_text)
    X, y = make_synth_cos(
        n + RESERVE,
        int(p_text),
        task=task,
        rotate=rotated is not None,
        random_state=seed,
        dtype=np.float32,
    )
    return Rows(X[:n], y[:n], task, synthetic=True, reserve=Data(X[n:], y[n:], task))


def _cut(rows: Rows, most_rows: int | None) -> tuple[Any, Array]:
    """The same rows in every repeat: the paper cut its sets once."""
    if most_rows is None or len(rows.y) <= most_rows:
        return rows.X, rows.y
    kept = np.random.default_rng(DATA_SEED).choice(len(rows.y), most_rows, replace=False)
    return (rows.X[kept] if rows.synthetic else rows.X.iloc[kept]), rows.y[kept]


def encode(train: Any) -> Any:
    """Columns as numbers, text one-hot encoded by the training rows."""
    text = make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text), remainder="passthrough"
    )
    return encoder.fit(train)


def _prepare(train: Any, test: Any) -> tuple[Array, Array]:
    encoder = encode(train)
    scaler = StandardScaler().fit(encoder.transform(train))
    parts = (scaler.transform(encoder.transform(part)) for part in (train, test))
    first, second = (np.ascontiguousarray(part, dtype=np.float64) for part in parts)
    return first, second


def _standardise(task: Task, train: Array, test: Array) -> tuple[Array, Array]:
    if task == "classification":
        return train, test
    return (train - train.mean()) / train.std(), (test - train.mean()) / train.std()
