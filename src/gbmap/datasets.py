"""Data of the GBMAP paper: synthetic generators, drift splits and the real data sets.

Nothing here is needed to fit a model. The generators give the paper's synthetic data, `drift_split` cuts a
data set such that one part has drifted, and `load_paper_dataset` finds the real data sets in a folder of
yours or at their public sources.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn import datasets as sklearn_datasets
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, column_or_1d

__all__ = ["DriftSplit", "drift_split", "load_paper_dataset", "make_clusters", "make_synth_cos"]

RandomState = int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None

# Numbers drawn at a time (8 MB): small beside any X that needs blocks, large beside the cost of a call.
_BLOCK = 1 << 20


# --- synthetic data -------------------------------------------------------------------------------


def make_synth_cos(
    n_samples: int = 200_000,
    n_features: int = 200,
    *,
    task: Literal["regression", "classification"] = "regression",
    alpha: float = 5.0,
    rotate: bool = False,
    dtype: DTypeLike = np.float64,
    random_state: RandomState = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make the paper's synth-cos data: a sum of cosines, one per feature.

    The rows of ``X`` are standard normal, ``u`` is a random unit vector and the score is
    ``alpha * cos(X) @ u``, shifted to mean zero.

    Parameters
    ----------
    n_samples : int, default=200_000
        Number of rows.
    n_features : int, default=200
        Number of columns. No column of ones is added.
    task : {"regression", "classification"}, default="regression"
        Whether `y` is the score, or a label that is +1 with probability ``1 / (1 + exp(-score))``.
    alpha : float, default=5.0
        Norm of the coefficients of the cosines.
    rotate : bool, default=False
        Whether to multiply `X` by a random orthogonal matrix once `y` is made. The target is then no longer
        a sum of functions of single columns, which is hard for trees and changes nothing for GBMAP.
    dtype : {float64, float32}, default=float64
        Type of `X`. All numbers are drawn as float64, block by block, and rounded: `y` is the same for both.
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The centred score (float64), or the labels -1 and +1 (int64).

    Notes
    -----
    The unit vector, the rows, the labels and the rotation draw from streams of their own. So with one seed
    the two tasks share `X`, the rotated data are ``X @ Q`` with the same `y`, and more samples add rows.

    Examples
    --------
    >>> from gbmap.datasets import make_synth_cos
    >>> X, y = make_synth_cos(1000, 5, task="classification", random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 5), [-1, 1])
    """
    n, p = _check_count("n_samples", n_samples), _check_count("n_features", n_features)
    if task not in ("regression", "classification"):
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
    if not math.isfinite(alpha):
        raise ValueError(f"alpha must be a finite number, got {alpha!r}.")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype).name!r}.")

    direction, rows, labels, rotation = map(np.random.default_rng, _seed_sequence(random_state).spawn(4))
    u = _unit_vector(p, direction)
    Q = _orthogonal_matrix(p, rotation) if rotate else None
    X = np.empty((n, p), dtype=dtype)
    score = np.empty(n)
    step = max(1, _BLOCK // p)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        block = rows.standard_normal((part.stop - start, p))
        score[part] = np.cos(block) @ u
        X[part] = block if Q is None else block @ Q
    score *= alpha
    score -= score.mean()
    if task == "regression":
        return X, score
    return X, np.where(labels.random(n) < expit(score), 1, -1)


def make_clusters(random_state: RandomState = None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Make the three clusters of the paper's Appendix F.

    All 3000 rows are standard normal in 8 dimensions, apart from a shift by 4: in dimensions 1 to 4 for
    cluster "a", in dimensions 5 to 8 for cluster "b1", nowhere for "b2". The target is ``cos(X) @ u`` with a
    random unit vector ``u`` that is zero in dimensions 5 to 8. So "b1" and "b2" differ only where the target
    does not look.

    Parameters
    ----------
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    X : ndarray of shape (3000, 8)
        The features.
    y : ndarray of shape (3000,)
        The target, not centred.
    labels : ndarray of shape (3000,)
        The clusters "a", "b1", "b2", a thousand rows each, in this order.

    Examples
    --------
    >>> from gbmap.datasets import make_clusters
    >>> X, y, labels = make_clusters(random_state=0)
    >>> X[labels == "a"].mean(axis=0).round().astype(int).tolist()
    [4, 4, 4, 4, 0, 0, 0, 0]
    """
    direction, rows = map(np.random.default_rng, _seed_sequence(random_state).spawn(2))
    X = rows.standard_normal((3000, 8))
    X[:1000, :4] += 4.0
    X[1000:2000, 4:] += 4.0
    y = np.cos(X[:, :4]) @ _unit_vector(4, direction)
    return X, y, np.repeat(["a", "b1", "b2"], 1000)


def _unit_vector(p: int, rng: np.random.Generator) -> NDArray[np.float64]:
    u = rng.standard_normal(p)
    return u / np.linalg.norm(u)


def _orthogonal_matrix(p: int, rng: np.random.Generator) -> NDArray[np.float64]:
    q, r = np.linalg.qr(rng.standard_normal((p, p)))
    # QR alone leaves the signs of the columns to LAPACK; those of diag(r) make q uniform over all rotations.
    return np.asarray(q * np.sign(np.diag(r)), dtype=np.float64)


# --- a split that induces drift -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DriftSplit:
    """Rows of a data set, cut by one feature such that a part of them has drifted.

    Attributes
    ----------
    train : ndarray of int
        The paper's a1: a random half of the rows where the feature is small.
    test : ndarray of int
        The paper's a2: the other rows where the feature is small, distributed as the training rows.
    shifted : ndarray of int
        The paper's b: the rows where the feature is large.
    feature : column name or int
        The column that the rows were cut by: its name in a frame, its index in an array. Models are to be
        fitted without it.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap.datasets import DriftSplit
    >>> split = DriftSplit(train=np.array([0]), test=np.array([2]), shifted=np.array([1, 3]), feature="age")
    >>> split.feature
    'age'
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    shifted: NDArray[np.intp]
    feature: Hashable


def drift_split(
    X: Any, y: Any, estimator: Any, *, feature: Hashable = None, random_state: RandomState = None
) -> DriftSplit:
    """Split a data set by the feature that induces the most drift.

    For each column the rows are sorted by it and cut into a lower half a and an upper half b; a is split at
    random into a1 and a2. Without the column, a clone of `estimator` is fitted on a1. The column whose mean
    loss on b exceeds that on a2 by most is kept.

    Parameters
    ----------
    X : ndarray or dataframe of shape (n_samples, n_features)
        The features. Text and unordered categories sort by their characters, ordered categories by their
        order; missing values come last and ties keep the order of the rows.
    y : array-like of shape (n_samples,)
        The target.
    estimator : classifier or regressor
        The model whose loss measures drift: the squared error of ``predict``, or for two classes the logistic
        loss of ``decision_function``; without that method or for more classes, the log loss of
        ``predict_proba``. As each column is missing once, a pipeline must not ask for columns by name.
    feature : column name or int, default=None
        Cut by this column at once, without a search and without a fit.
    random_state : int, RandomState, Generator, SeedSequence or None, default=None
        Seed of the split of a. None takes fresh entropy; NumPy's global state is never used.

    Returns
    -------
    DriftSplit
        Sorted index arrays `train` (a1), `test` (a2) and `shifted` (b), and the `feature`.

    Notes
    -----
    A column is passed over if a1 lacks one of the classes.

    Examples
    --------
    The target rises most steeply where the second column is large.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from gbmap.datasets import drift_split
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = X[:, 0] + np.exp(2 * X[:, 1])
    >>> split = drift_split(X, y, LinearRegression(), random_state=0)
    >>> split.feature, len(split.train), len(split.test), len(split.shifted)
    (1, 100, 100, 200)
    """
    X, names = _as_table(X)
    y = column_or_1d(y)
    n = X.shape[0]
    if n < 4 or len(y) != n:
        raise ValueError(f"X and y must have the same number of rows, at least 4, got {n} and {len(y)}.")
    shuffled = np.random.default_rng(_seed_sequence(random_state)).permutation(n // 2)

    if feature is not None:
        if feature not in names:
            raise ValueError(f"feature must be a column of X, one of {_some(names)}, got {feature!r}.")
        return _split_at_half(X, names.index(feature), feature, shuffled)
    if len(names) < 2:
        raise ValueError(
            "X must have at least 2 columns to search for a feature, got 1; pass `feature` to cut by it."
        )

    if not hasattr(estimator, "fit") or not (is_regressor(estimator) or is_classifier(estimator)):
        raise ValueError(f"estimator must be a classifier or a regressor, got {type(estimator).__name__}.")
    best: DriftSplit | None = None
    largest = -math.inf
    for j, name in enumerate(names):
        split = _split_at_half(X, j, name, shuffled)
        drift = _drift(
            split, _safe_indexing(X, [k for k in range(len(names)) if k != j], axis=1), y, estimator
        )
        if drift > largest:
            best, largest = split, drift
    if best is None:
        raise ValueError(
            "No column of X gives a split with a finite drift whose training rows hold every class of y; "
            "pass `feature` to cut by a column of your choice."
        )
    return best


def _as_table(X: Any) -> tuple[Any, list[Hashable]]:
    """Return X as a frame or a 2-D array, and its column names, which are indices for an array."""
    if nw.dependencies.is_into_dataframe(X):
        return X, list(nw.from_native(X, eager_only=True).columns)
    if issparse(X):
        raise ValueError("X must be a dense array or a dataframe, got a sparse one; pass `X.toarray()`.")
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D array or a dataframe, got {X.ndim} dimension(s).")
    return X, list(range(X.shape[1]))


def _some(names: list[Hashable], limit: int = 10) -> str:
    return ", ".join(map(repr, names[:limit])) + (", ..." if len(names) > limit else "")


def _split_at_half(X: Any, column: int, name: Hashable, shuffled: NDArray[np.int64]) -> DriftSplit:
    order = _ascending(X, column)
    half = len(shuffled)
    mixed = order[:half][shuffled]
    cut = (half + 1) // 2
    return DriftSplit(np.sort(mixed[:cut]), np.sort(mixed[cut:]), np.sort(order[half:]), name)


def _ascending(X: Any, column: int) -> NDArray[np.intp]:
    """Return the rows by increasing value of a column: stable, missing values last, text by characters."""
    missing: NDArray[np.bool_] | None = None
    if isinstance(X, np.ndarray):
        values = X[:, column]
    else:
        series = nw.from_native(X, eager_only=True)[:, column]
        if series.dtype == nw.Enum:
            rank = {category: i for i, category in enumerate(series.cat.get_categories().to_list())}
            return np.argsort([rank.get(v, len(rank)) for v in series.to_list()], kind="stable")
        values, missing = series.to_numpy(), series.is_null().to_numpy()
    if values.dtype != object:  # NaN and NaT sort last by themselves
        return np.argsort(values, kind="stable")
    if missing is None:
        missing = np.array([v is None or v != v for v in values], dtype=bool)
    present = np.flatnonzero(~missing)
    # Numbers and dates that came as objects compare as such; a mixture with text only compares as text.
    text = any(isinstance(v, str) for v in values[present])
    ordered = sorted(present, key=lambda i: str(values[i]) if text else values[i])
    return np.concatenate([np.asarray(ordered, dtype=np.intp), np.flatnonzero(missing)])


def _drift(split: DriftSplit, X: Any, y: NDArray[Any], estimator: Any) -> float:
    """Return the mean loss on the shifted rows less that on the test rows, or NaN if a1 lacks a class."""
    if is_classifier(estimator) and len(np.unique(y[split.train])) < max(2, len(np.unique(y))):
        return math.nan
    model = clone(estimator).fit(_safe_indexing(X, split.train), y[split.train])
    test, shifted = (
        _losses(model, _safe_indexing(X, rows), y[rows]).mean() for rows in (split.test, split.shifted)
    )
    return float(shifted - test)


def _losses(model: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the loss of each row: squared error, or logistic loss."""
    if is_regressor(model):
        error: NDArray[np.float64] = y.astype(np.float64) - np.ravel(model.predict(X))
        return error**2
    if len(model.classes_) == 2 and hasattr(model, "decision_function"):
        margin = np.where(y == model.classes_[1], 1.0, -1.0) * np.ravel(model.decision_function(X))
        return np.asarray(np.logaddexp(0.0, -margin), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            "estimator must have predict_proba, or decision_function if there are two classes, "
            f"got {type(model).__name__}; wrap it in CalibratedClassifierCV."
        )
    columns = np.searchsorted(model.classes_, y)
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)[np.arange(len(y)), columns]
    # The smallest positive number keeps a certain mistake finite, so that mean losses stay comparable.
    return -np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


# --- the paper's real data sets -------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Where a data set of the paper comes from, and how to know it when it is here.

    `sha256` is that of NAME.csv.gz in the folder GBMAP_DATA. What comes from the public source instead is
    checked once it is clean: `n` rows, `p` features, no missing value, and the means `y_mean` and `x_level`
    (see `_level`) to a relative 1e-4, which leaves room for copies rounded otherwise and for little else.
    These numbers were computed from the files with that `sha256`.
    """

    sha256: str
    n: int
    p: int
    y_mean: float
    x_level: float
    # The class +1 as the public source writes it; None for regression.
    positive: str | None = None
    kind: Literal["sklearn", "openml", "uci", "folder"] = "folder"
    # A function of sklearn.datasets, an OpenML data id, or dataset/archive.zip/member at UCI.
    location: str = ""
    # UCI only, as several public projects record it; scikit-learn and OpenML's client check their own files.
    archive_sha256: str | None = None
    sep: str = ","
    decimal: str = "."
    clean: Callable[[Any], Any] | None = None
    # Names of the features where the public source has others, and those that are text; the rest are numbers.
    columns: tuple[str, ...] | None = None
    text: frozenset[str] = frozenset()


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
    if name not in _SOURCES:
        raise ValueError(f"name must be one of {', '.join(_SOURCES)}, got {name!r}.")
    _import_pandas()
    source = _SOURCES[name]
    folder = os.environ.get("GBMAP_DATA")
    if folder and not Path(folder).is_dir():
        raise FileNotFoundError(f"The environment variable GBMAP_DATA must name a folder, got {folder!r}.")
    if folder and (path := Path(folder, f"{name}.csv.gz")).exists():
        return _load_file(path, source)

    way_out = f"Set the environment variable GBMAP_DATA to a folder with {name}.csv.gz."
    if source.kind == "folder":
        raise FileNotFoundError(f"{name} has no public source in this form. {way_out}")
    try:
        X, y = _tidy(_FETCHERS[source.kind](source), source)
        _verify(X, y, source)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = str(error).rstrip(".")
        raise OSError(
            f"{name} could not be loaded from {source.kind} {source.location}: {reason}. {way_out}"
        ) from error
    return X, y


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("load_paper_dataset needs pandas: pip install pandas") from error
    return pandas


def _load_file(path: Path, source: Source) -> tuple[Any, NDArray[Any]]:
    content = path.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != source.sha256:
        raise ValueError(
            f"{path} must have the SHA-256 checksum {source.sha256}, got {found}; replace the file, or unset "
            "GBMAP_DATA to use the public source."
        )
    # The files hold no missing values, and "none" and the like are categories.
    table = _import_pandas().read_csv(io.BytesIO(content), compression="gzip", keep_default_na=False)
    return _separate(table, np.float64 if source.positive is None else np.int64)


def _separate(table: Any, dtype: DTypeLike) -> tuple[Any, NDArray[Any]]:
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy(dtype=dtype)


def _fetch_sklearn(source: Source) -> Any:
    return getattr(sklearn_datasets, source.location)(as_frame=True).frame


def _fetch_openml(source: Source) -> Any:
    bunch = sklearn_datasets.fetch_openml(data_id=int(source.location), as_frame=True, parser="pandas")
    return _import_pandas().concat([bunch.data, bunch.target], axis=1)


def _fetch_uci(source: Source) -> Any:
    archive, member = source.location.rsplit("/", 1)
    url = f"https://archive.ics.uci.edu/static/public/{archive}"
    path = sklearn_datasets.fetch_file(url, sha256=source.archive_sha256)
    with zipfile.ZipFile(path) as contents, contents.open(member) as lines:
        return _import_pandas().read_csv(lines, sep=source.sep, decimal=source.decimal)


_FETCHERS: Mapping[str, Callable[[Source], Any]] = {
    "sklearn": _fetch_sklearn,
    "openml": _fetch_openml,
    "uci": _fetch_uci,
}


def _tidy(table: Any, source: Source) -> tuple[Any, NDArray[Any]]:
    """Turn a public table, its target last, into the columns, types and target of the file in GBMAP_DATA."""
    pandas = _import_pandas()
    if source.clean is not None:
        table = source.clean(table)
    if source.positive is None:
        X, y = _separate(table, np.float64)
    else:
        X, labels = _separate(table, object)
        y = np.where(labels.astype(str) == source.positive, 1, -1)
    if source.columns is not None:
        X = X.set_axis(list(source.columns), axis=1)
    # Nominal columns of an ARFF file come as categories; as objects they convert by value, not by code.
    numbers = {c: pandas.to_numeric(X[c].astype(object)) for c in X if c not in source.text}
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
    is_numeric = _import_pandas().api.types.is_numeric_dtype
    sizes = [X[c].abs() if is_numeric(X[c]) else X[c].str.len() for c in X]
    return float(np.mean([np.log1p(size.to_numpy(dtype=np.float64)).mean() for size in sizes]))


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


# fmt: off
_SOURCES: Mapping[str, Source] = {
    "abalone": Source(
        "a69d6c77fa8d4e1216582325d5c94599bd73d13039625984fc74eaea0ccec322",
        n=4177, p=8, y_mean=9.9336845, x_level=0.35158444,
        kind="openml", location="183", text=frozenset({"Sex"}),
    ),
    "airquality": Source(
        "5529e5bf66fb3788667db045890450efab5eca62d9004acb4205c46ed406e36d",
        n=7355, p=11, y_mean=2.1121074, x_level=4.8952976,
        kind="uci", location="360/air+quality.zip/AirQualityUCI.csv",
        archive_sha256="d4a64013fb385288a8a48d9d193ca7079b2e1bbddf6f8d458feb8c08ab2b8a2a",
        sep=";", decimal=",", clean=_clean_airquality,
    ),
    "autompg": Source(
        "587c241e47b5350e41c348ccc3ec9a0752d0dc58cbf1eadfaffcdf67368c2595",
        n=392, p=7, y_mean=23.445918, x_level=4.0323308,
        kind="openml", location="196", clean=_clean_autompg, text=frozenset({"origin"}),
        columns=("cylinders", "displacement", "horsepower", "weight", "acceleration", "year", "origin"),
    ),
    "california": Source(
        "06fde8bf5ea1f05fd2be667424b14ef3cd65e820ff4fa8de5fceda660f689420",
        n=20640, p=8, y_mean=2.0685582, x_level=3.0147947,
        kind="sklearn", location="fetch_california_housing",
    ),
    "concrete": Source(
        "90cbb202c1681dced2d4998ffddfc6fffb8693fa7291b2dab9ea827308602c99",
        n=1030, p=8, y_mean=35.817961, x_level=4.2108363,
        kind="openml", location="44959",
        columns=(
            "Cement", "Blast Furnace Slag", "Fly Ash", "Water",
            "Superplasticizer", "Coarse Aggregate", "Fine Aggregate", "Age",
        ),
    ),
    "cpu-small": Source(
        "24e5aaec66249134adcc38920338756706c2272fe6659540fb94c4cb567bdac2",
        n=8192, p=12, y_mean=83.968872, x_level=5.501636,
        kind="openml", location="227",
    ),
    "qm9-10k": Source(
        "22c2aa12be4260cd0476048ce132c3b13f216a2662390ab1701fbc3f547141a4",
        n=10000, p=27, y_mean=-5.9171584, x_level=1.5468298,
    ),
    "superconductor": Source(
        "a64fed3b307f3050e8bca6258ec6f4df1bf076a1ff055683eaf208250dbd2110",
        n=21263, p=81, y_mean=34.421219, x_level=3.4750292,
        kind="uci", location="464/superconductivty+data.zip/train.csv",  # spelled so by UCI
        archive_sha256="87f4490d73390ff94ee01dbf0d7d32abc80b22f2c803d471765cfc46a9f6371e",
    ),
    "wine-red": Source(
        "58f902d8664b46514d61be27eb475924c55ec1a5fb7c8bf503ee2378d6503aa8",
        n=1599, p=11, y_mean=5.6360225, x_level=1.4109727,
        kind="uci", location="186/wine+quality.zip/winequality-red.csv",
        archive_sha256="3ed56667f4b828242bd732d7d1dd7f2861e54432239d7fa63877014cbb0304d4",
        sep=";",
    ),
    "wine-white": Source(
        "bc07e5971b9a815aed8c70553bd338f86b8813882f02d14c070e1fb968caa085",
        n=4898, p=11, y_mean=5.8779094, x_level=1.6085003,
        kind="uci", location="186/wine+quality.zip/winequality-white.csv",
        archive_sha256="3ed56667f4b828242bd732d7d1dd7f2861e54432239d7fa63877014cbb0304d4",
        sep=";",
    ),
    "breast-cancer": Source(
        "eea873ed0164b47c188fd62397b8fc194bd661f63cc232ce28bb36be77f19a50",
        n=569, p=30, y_mean=0.25483304, x_level=1.3770169,
        positive="1", kind="sklearn", location="load_breast_cancer",
    ),
    "diabetes": Source(
        "e96bd9344c6c55cc0d99037f3d2a83df6d9ef54180b3dc84042d91a5f478c2e4",
        n=768, p=8, y_mean=-0.30208333, x_level=2.7820824,
        positive="tested_positive", kind="openml", location="37",
    ),
    "eeg-eye-state": Source(
        "49b4c185f77ea7347d84b577cab0bd956a9129953756cdf5679f763e760fc6c4",
        n=14980, p=14, y_mean=0.1024032, x_level=8.366244,
        positive="1", kind="openml", location="1471",
        columns=("AF3", "F7", "F3", "FC5", "T7", "P7", "O1", "O2", "P8", "T8", "FC6", "F4", "F8", "AF4"),
    ),
    "german-credit": Source(
        "73fbffe2dcdfcc9287455e8ee0658cae13789678cf8d0898e6acf3bf5e1907af",
        n=1000, p=20, y_mean=0.4, x_level=2.2219469,
        positive="good", kind="openml", location="31",
        text=frozenset({
            "checking_status", "credit_history", "purpose", "savings_status", "employment", "personal_status",
            "other_parties", "property_magnitude", "other_payment_plans", "housing", "job", "own_telephone",
            "foreign_worker",
        }),
    ),
    "higgs-10k-h2o": Source(
        "fc6edc8ba9d9de38e32e0f54b301c1f94d255f04ac8669832b12550c0765253a",
        n=10000, p=28, y_mean=0.059, x_level=0.60877642,
        positive="1",
    ),
    "higgs-10k-openml-sample": Source(
        "700c79a2fc1cdd910912695cfd495d7662eb9670d95602b246ed7a23088bc76a",
        n=10000, p=28, y_mean=0.0562, x_level=0.61005485,
        positive="1",
    ),
}
# fmt: on


# --- arguments ------------------------------------------------------------------------------------


def _check_count(name: str, value: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    return int(value)


def _seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Turn any usual kind of seed into a SeedSequence that may be spawned from.

    A Generator or RandomState is advanced, so that two calls with it give two data sets.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.SeedSequence):
        # Not the sequence itself: spawning would change it, and its children may serve others already.
        return np.random.SeedSequence(random_state.generate_state(4).tolist())
    if random_state is None or (isinstance(random_state, Integral) and random_state >= 0):
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    raise ValueError(
        "random_state must be a non-negative int, a RandomState, a Generator, a SeedSequence or None, "
        f"got {random_state!r}."
    )
