"""Models as files: one file of plain data that runs no code when it is loaded.

`gbmap._files.container` says what the bytes are, `gbmap._files.codec` how objects become data.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

import gbmap
from gbmap import losses
from gbmap._base import BaseGBMAP, StageRecord
from gbmap._core.activation import ACTIVATIONS
from gbmap._core.ensemble import Ensemble
from gbmap._files.codec import NotStorableError, Registry, decode, encode
from gbmap._files.container import Container, ModelFileError, read, write
from gbmap._subject import Subject
from gbmap.drift import DriftDetector
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._drifter import Drifter
from gbmap.drift._neighbours import Neighbours
from gbmap.drift._watched import Watched
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor

__all__ = ["ModelFileError", "NotStorableError", "load", "save"]

# The names in files. They stay when a class is moved or renamed.
_OWN = {
    "GBMAPRegressor": GBMAPRegressor,
    "GBMAPClassifier": GBMAPClassifier,
    "Ensemble": Ensemble,
    "StageRecord": StageRecord,
    "losses.Exponential": losses.Exponential,
    "losses.Hinge": losses.Hinge,
    "losses.Huber": losses.Huber,
    "losses.LogLoss": losses.LogLoss,
    "losses.Quantile": losses.Quantile,
    "losses.SquaredError": losses.SquaredError,
    "DriftDetector": DriftDetector,
    "drift.Calibration": Calibration,
    "drift.Drifter": Drifter,
    "drift.Measures": Measures,
    "drift.Neighbours": Neighbours,
    "drift.Watched": Watched,
    "drift.Subject": Subject,
}
_SKLEARN = (
    ColumnTransformer,
    FeatureUnion,
    FrozenEstimator,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    MissingIndicator,
    OneHotEncoder,
    Pipeline,
    RobustScaler,
    SimpleImputer,
    StandardScaler,
    VarianceThreshold,
    make_column_selector,
)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Store a fitted model in one file of plain data.

    The file is written beside its place and then moved there, so that a crash leaves the old one.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, DriftDetector, or a pipeline of one
        Pipelines may hold ColumnTransformer, FeatureUnion, StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler, OneHotEncoder, SimpleImputer, MissingIndicator and
        VarianceThreshold. Anything else, such as an ``init`` model that is no GBMAP or a loss of
        one's own, is refused; `skops.io.dump` stores those.
    path : str or path-like
        Where to; by custom it ends in ``.gbmap``.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import os, tempfile
    >>> import gbmap
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gbmap.GBMAPRegressor(n_components=3, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "diabetes.gbmap")
    ...     gbmap.save(model, path)
    ...     loaded = gbmap.load(path)
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    content, arrays = encode(model, _REGISTRY)
    write(path, Container(content, arrays, _versions()))


def load(path: str | os.PathLike[str]) -> Any:
    """Return a model from its file: the same predictions to the bit.

    Loading runs no code from the file and allocates no more than the file holds. A file that is damaged is
    refused with a `ModelFileError`.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : object
        What was given to `save`.

    See Also
    --------
    save : How to make such a file.

    Examples
    --------
    >>> import os, tempfile
    >>> import gbmap
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gbmap.GBMAPClassifier(n_components=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gbmap.save(model, os.path.join(folder, "iris.gbmap"))
    ...     gbmap.load(os.path.join(folder, "iris.gbmap")).classes_.tolist()
    [0, 1, 2]
    """
    container = read(path)
    try:
        return decode(container.content, container.arrays, _REGISTRY)
    except (
        AttributeError,
        IndexError,
        KeyError,
        OverflowError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise ModelFileError(
            f"{os.fspath(path)} is damaged, or was not written by gbmap: {error}; "
            f"it says that it comes from {container.versions}."
        ) from error


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "gbmap": gbmap.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _check(instance: Any) -> None:
    """Refuse an instance that gbmap cannot have written."""
    if isinstance(instance, Ensemble):
        _check_ensemble(instance)
    elif isinstance(instance, FunctionTransformer):
        if instance.func is not None or instance.inverse_func is not None:
            raise ValueError("a FunctionTransformer with a function")
    elif isinstance(instance, BaseGBMAP) and hasattr(instance, "ensemble_"):
        n_features = instance.ensemble_.weights.shape[1]
        if instance.n_features_in_ != n_features or len(instance.mean_) != n_features:
            raise ValueError(f"a model of {instance.n_features_in_} features with {n_features} weights")


def _check_ensemble(ensemble: Ensemble) -> None:
    n_learners, n_features = ensemble.weights.shape
    vectors = (ensemble.intercepts, ensemble.signs, ensemble.offsets, ensemble.beta)
    if any(vector.shape != (n_learners,) or vector.dtype != np.float64 for vector in vectors):
        raise ValueError(f"{n_learners} learners with other numbers of parameters")
    if ensemble.center.shape != (n_features,) or ensemble.activation not in ACTIVATIONS:
        raise ValueError("an ensemble with an impossible center or activation")
    expected = np.arange(n_learners) % max(ensemble.n_outputs, 1)
    if ensemble.n_outputs < 1 or not np.array_equal(ensemble.outputs, expected):
        raise ValueError(f"learners of {ensemble.n_outputs} outputs that do not lie stage by stage")


_REGISTRY = Registry({**_OWN, **{f"sklearn.{cls.__name__}": cls for cls in _SKLEARN}}, _check)
