"""Make the golden files of the current format: ``python tests/files/make_golden.py``.

Files of a format are made once, when the format is, and never again: they stand for those that users have.
Beside each model lies what it gives for some rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gbmap
from gbmap._files.container import FORMAT
from gbmap.tables import TableModel

FOLDER = Path(__file__).parent / "golden"
SEED = 20_240_501


def rows() -> np.ndarray:
    """The rows that every golden model was fitted to, and is asked about; exact in any arithmetic."""
    return np.random.RandomState(SEED).randint(-8, 9, size=(60, 4)) / 8.0


def frame() -> pd.DataFrame:
    """The same rows with names, text and a missing value."""
    table = pd.DataFrame(rows()[:, :3], columns=["width", "<b>height</b>", "length"])
    table.iloc[3, 1] = np.nan
    return table.assign(colour=pd.Series(["red", "green", "blue"] * 20, dtype=object))


def table() -> pd.DataFrame:
    """The frame as a raw table, with a date, an empty column and a target."""
    days = pd.Timestamp("2024-02-27") + pd.to_timedelta(np.arange(60), unit="D")
    return frame().assign(day=days.astype(str), nothing=None, level=["low", "high", "high"] * 20)


def models() -> dict[str, tuple[Any, Any]]:
    """Fitted models by name, and what to ask them about."""
    X = rows()
    y = np.abs(X[:, 0]) + X[:, 1]
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [0.3, 0.9])]
    regressor = gbmap.GBMAPRegressor(4, random_state=0)
    classifier = gbmap.GBMAPClassifier(2, random_state=0)
    prepared = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), slice(0, 3)),
            ("text", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ]
    )
    return {
        "regressor": (gbmap.GBMAPRegressor(4, init=regressor, random_state=1).fit(X, y), X),
        "classifier": (classifier.fit(X, labels), X),
        "targets": (gbmap.GBMAPRegressor(2, loss="huber", random_state=0).fit(X, np.c_[y, -2 * y * y]), X),
        "pipeline": (
            Pipeline([("prepare", prepared), ("model", clone(classifier))]).fit(frame(), labels),
            frame(),
        ),
        "table": (TableModel("level", n_components=2, reference_rows=20).fit(table()), table()),
        "detector": (gbmap.DriftDetector(regressor, 3, random_state=0).fit(X, y, X_cal=-X, y_cal=y), X),
    }


def answers(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What a model gives, by the name of the method."""
    names = ("predict", "predict_proba", "transform", "indicator", "p_values")
    return {name: np.asarray(getattr(model, name)(X)) for name in names if hasattr(model, name)}


if __name__ == "__main__":
    for name, (model, X) in models().items():
        stem = FOLDER / f"format-{FORMAT}-{name}"
        if stem.with_suffix(".gbmap").exists():
            print(f"{stem.name} is there already, and stays")
            continue
        gbmap.save(model, stem.with_suffix(".gbmap"))
        np.savez_compressed(stem.with_suffix(".npz"), **answers(model, X))
