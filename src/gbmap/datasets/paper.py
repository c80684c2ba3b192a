"""The paper's real data sets: found in a folder or fetched, cleaned and verified."""

from __future__ import annotations

import hashlib
import io
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn import datasets as sklearn_datasets

from gbmap._utils.optional import require
from gbmap.datasets._sources import SOURCES, Source


def load_paper_dataset(name: str) -> tuple[Any, NDArray[Any]]:
    """Load a real data set of the paper.

    The file ``NAME.csv.gz`` in the folder that the environment variable ``GBMAP_DATA`` names comes first. It
    is a CSV file with a header, the last column is ``target``, and its checksum must be the known one.
    Without it the data set comes from its public source (OpenML, the UCI repository or scikit-learn), is kept
    in scikit-learn's data folder, `sklearn.datasets.get_data_home`, and must have the size and the means of
    the known file.

    Parameters
    ----------
    name : str
        Regression: "abalone", "airquality", "autompg", "california", "concrete", "cpu-small", "qm9-10k",
        "superconductor", "wine-red", "wine-white". Classification: "breast-cancer", "diabetes",
        "eeg-eye-state", "german-credit", "higgs-10k-h2o", "higgs-10k-openml-sample". The two higgs sets stand
        in for the paper's higgs-10k. They and qm9-10k have no public source in this form: they need
        ``GBMAP_DATA``.

    Returns
    -------
    X : pandas.DataFrame
        The raw features, neither scaled nor encoded; categories are strings.
    y : ndarray
        The target: float64 for regression, -1 and +1 (int64) for classes.

    Examples
    --------
    >>> from gbmap.datasets import load_paper_dataset
    >>> X, y = load_paper_dataset("breast-cancer")
    >>> X.shape, int((y == 1).sum())  # 357 are benign
    ((569, 30), 357)
    """
    if name not in SOURCES:
        raise ValueError(f"name must be one of {', '.join(SOURCES)}, got {name!r}.")
    require("pandas", "data")
    source = SOURCES[name]
    if folder := os.environ.get("GBMAP_DATA"):
        if not Path(folder).is_dir():
            raise FileNotFoundError(
                f"The environment variable GBMAP_DATA must name a folder, got {folder!r}."
            )
        if (path := Path(folder, f"{name}.csv.gz")).exists():
            return _load_file(path, source)

    way_out = f"Set the environment variable GBMAP_DATA to a folder with {name}.csv.gz."
    if source.kind == "folder":
        raise FileNotFoundError(f"{name} has no public source in this form. {way_out}")
    try:
        X, y = _tidy(_CLEAN.get(name, lambda table: table)(_fetch(source)), source)
        _verify(X, y, source)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = str(error).rstrip(".")
        raise OSError(
            f"{name} could not be loaded from {source.kind} {source.location}: {reason}. {way_out}"
        ) from error
    return X, y


def _load_file(path: Path, source: Source) -> tuple[Any, NDArray[Any]]:
    content = path.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != source.sha256:
        raise ValueError(
            f"{path} must have the SHA-256 checksum {source.sha256}, got {found}; replace the file, or unset "
            "GBMAP_DATA to use the public source."
        )
    # The files hold no missing values, and "none" and the like are categories.
    table = require("pandas", "data").read_csv(io.BytesIO(content), compression="gzip", keep_default_na=False)
    return _separate(table, np.float64 if source.positive is None else np.int64)


def _separate(table: Any, dtype: DTypeLike) -> tuple[Any, NDArray[Any]]:
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy(dtype=dtype)


def _fetch(source: Source) -> Any:
    """Return the table of a public source, not yet clean."""
    if source.kind == "sklearn":
        return getattr(sklearn_datasets, source.location)(as_frame=True).frame
    if source.kind == "openml":
        bunch = sklearn_datasets.fetch_openml(data_id=int(source.location), as_frame=True, parser="pandas")
        return require("pandas", "data").concat([bunch.data, bunch.target], axis=1)
    archive, member = source.location.rsplit("/", 1)
    url = f"https://archive.ics.uci.edu/static/public/{archive}"
    path = sklearn_datasets.fetch_file(url, sha256=source.archive_sha256)
    with zipfile.ZipFile(path) as contents, contents.open(member) as lines:
        return require("pandas", "data").read_csv(lines, sep=source.sep, decimal=source.decimal)


def _clean_airquality(table: Any) -> Any:
    table = table.dropna(how="all").drop(columns=["Date", "Time", "NMHC(GT)"]).dropna(axis=1, how="all")
    table = table.mask(table == -200)
    # A single missing hour is filled from its two neighbours; next to another gap the mean is missing, too.
    table = table.fillna((table.shift(1) + table.shift(-1)) / 2).dropna()
    return table[[c for c in table if c != "CO(GT)"] + ["CO(GT)"]]


def _clean_autompg(table: Any) -> Any:
    table = table.dropna()
    origins = {"1": "USA", "2": "Europe", "3": "Japan"}
    return table.assign(origin=table["origin"].astype(object).astype(str).map(origins))


_CLEAN = {"airquality": _clean_airquality, "autompg": _clean_autompg}


def _tidy(table: Any, source: Source) -> tuple[Any, NDArray[Any]]:
    """Turn a clean table, its target last, into the columns, types and target of the file in GBMAP_DATA."""
    if source.positive is None:
        X, y = _separate(table, np.float64)
    else:
        X, labels = _separate(table, object)
        y = np.where(labels.astype(str) == source.positive, 1, -1)
    if source.columns is not None:
        X = X.set_axis(list(source.columns), axis=1)
    to_numeric = require("pandas", "data").to_numeric
    # Nominal columns of an ARFF file come as categories; as objects they convert by value, not by code.
    numbers = {c: to_numeric(X[c].astype(object)) for c in X if c not in source.text}
    text = {c: X[c].astype(object).map(str, na_action="ignore") for c in source.text}
    return X.assign(**numbers, **text).reset_index(drop=True), y


def _verify(X: Any, y: NDArray[Any], source: Source) -> None:
    if X.shape != (source.n, source.p):
        raise ValueError(f"the shape must be {(source.n, source.p)}, got {X.shape}.")
    if X.isna().any(axis=None):
        raise ValueError("a value is missing.")
    for what, expected, found in (
        ("mean of the target", source.y_mean, float(y.mean())),
        ("level of the features", source.x_level, _level(X)),
    ):
        if not math.isclose(expected, found, rel_tol=1e-4):
            raise ValueError(f"the {what} must be {expected:.6g}, got {found:.6g}.")


def _level(X: Any) -> float:
    """Return the mean of log(1 + |x|) over all cells, where a text counts by its length.

    The logarithm lets columns of any scale weigh alike, so that a change in one of them shows.
    """
    is_numeric = require("pandas", "data").api.types.is_numeric_dtype
    sizes = [X[c].abs() if is_numeric(X[c]) else X[c].str.len() for c in X]
    return float(np.mean([np.log1p(size.to_numpy(dtype=np.float64)).mean() for size in sizes]))
