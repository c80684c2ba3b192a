"""Which classes a model file may hold, by which names, and how one is written and read.

`gbmap._files.container` says what the bytes are, `gbmap._files.codec` how objects become data.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
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
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._core.posterior import Posterior
from gbmap._files.checks import shown
from gbmap._files.codec import Registry, UnknownSettingError, by_skops, decode, encode
from gbmap._files.container import Container, ModelFileError, read, write
from gbmap._fit.columns import Coding
from gbmap._fit.records import StageRecord
from gbmap._fitted.model import FittedModel
from gbmap._utils.scikit_learn import BaseSearchCV
from gbmap.drift import DriftDetector, DriftMonitor, MonitorAlarm
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._drifter import Drifter
from gbmap.drift._martingale import Martingale
from gbmap.drift._monitored import MonitoredModel
from gbmap.drift._neighbours import Neighbours
from gbmap.drift._profile import Profile
from gbmap.drift._spread import SpreadDrifter
from gbmap.drift._state import MonitorState
from gbmap.drift._stream import Stream
from gbmap.drift._suspects import Suspects
from gbmap.drift._timeline import Timeline
from gbmap.drift._urn import Urn
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.persistence._checks import admit, check
from gbmap.persistence._monitors import gathered
from gbmap.selection import GBMAPClassifierCV, GBMAPRegressorCV
from gbmap.tables import Column, Form, Schema, TableModel
from gbmap.tables.schema import PLAIN

# The names in files. They stay when a class is moved or renamed.
_OWN = {
    "GBMAPRegressor": GBMAPRegressor,
    "GBMAPClassifier": GBMAPClassifier,
    "GBMAPRegressorCV": GBMAPRegressorCV,
    "GBMAPClassifierCV": GBMAPClassifierCV,
    "Ensemble": Ensemble,
    "Inputs": Inputs,
    "Coding": Coding,
    "Posterior": Posterior,
    "StageRecord": StageRecord,
    "losses.Exponential": losses.Exponential,
    "losses.Hinge": losses.Hinge,
    "losses.Huber": losses.Huber,
    "losses.LogLoss": losses.LogLoss,
    "losses.Quantile": losses.Quantile,
    "losses.SquaredError": losses.SquaredError,
    "DriftDetector": DriftDetector,
    "DriftMonitor": DriftMonitor,
    "drift.Calibration": Calibration,
    "drift.Drifter": Drifter,
    "drift.Stream": Stream,
    "drift.Martingale": Martingale,
    "drift.Measures": Measures,
    "drift.MonitorAlarm": MonitorAlarm,
    "drift.MonitorState": MonitorState,
    "drift.Neighbours": Neighbours,
    "drift.Profile": Profile,
    "drift.SpreadDrifter": SpreadDrifter,
    "drift.Suspects": Suspects,
    "drift.Timeline": Timeline,
    "drift.Urn": Urn,
    "drift.Watched": MonitoredModel,
    "drift.Subject": FittedModel,
    "TableModel": TableModel,
    "tables.Column": Column,
    "tables.Form": Form,
    "tables.Schema": Schema,
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
# Callbacks watch a fit; they are no part of the model.
_CALLBACKS = frozenset(
    {"_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_parent_callback_ctx"}
)
# Members whose lists hold instances.
_LISTED = frozenset(
    {"steps", "transformer_list", "transformers", "transformers_", "_name_to_fitted_passthrough"}
    | {"history_", "_boosted", "columns", "urns", "alarms", "alarms_"}
)
_PLAIN = {"_inputs": None, "_input_mean": None, "_input_scale": None}
_OF_ESTIMATORS = {"_posterior": None, "knots": 0, "categorical_features": None, **_PLAIN}
# What files of earlier versions do not have, as those versions had it.
_ADDED: dict[str, dict[str, Any]] = {
    "TableModel": {"refine": False},
    "tables.Column": {"form": PLAIN, "reading": "", "tells": ""},
    "tables.Schema": {"target_form": PLAIN, "target_reading": "", "encoding": ""},
    "StageRecord": {"l2_regularizations": (), "group_l2_regularizations": ()},
    "DriftDetector": {"measure": "neighbours"},
    "GBMAPRegressorCV": {"edges_": []},
    "GBMAPClassifierCV": {"edges_": []},
    "drift.Drifter": {"probe": None},
    "drift.Neighbours": {"rounding": 0.0},
    "drift.Measures": {"strange": None, "gap": None},
    "drift.Calibration": {
        "scores": None,
        "deviation": None,
        "metrics": {},
        "score_leeway": None,
        "reach_leeway": 1.0,
    },
    "drift.Profile": {"days": [], "n_most": None},
    "drift.MonitorAlarm": {"metric": "loss"},
    "drift.Suspects": {"strange": None},
    "drift.Watched": {"profile": None, "completions": None},
    "GBMAPRegressor": _OF_ESTIMATORS,
    "GBMAPClassifier": _OF_ESTIMATORS,
}
# What files of earlier versions have, and nothing asks for any more.
_REFINEMENT = frozenset({"refine_starts", "refinement_curves_"})
_DROPPED = {"GBMAPRegressor": _REFINEMENT, "GBMAPClassifier": _REFINEMENT}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Store a fitted model in one file of plain data.

    The file is written beside its place and then moved there, so that a crash leaves the old one.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, DriftDetector, DriftMonitor, a pipeline of one, or TableModel
        Pipelines may hold ColumnTransformer, FeatureUnion, StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler, OneHotEncoder, SimpleImputer, MissingIndicator and
        VarianceThreshold. Anything else, such as an ``init`` model that is no GBMAP or a loss of
        one's own, is refused; `skops.io.dump` stores those. Callbacks are left out.
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
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            "model must be a GBMAP, a DriftDetector, a DriftMonitor, a pipeline of one or a TableModel, "
            f"got {type(model).__name__}."
        )
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
        model = decode(container.content, container.arrays, _REGISTRY)
        if not isinstance(model, BaseEstimator):
            raise ValueError(f"{type(model).__name__} in place of a model")
    except UnknownSettingError as error:
        raise ModelFileError(
            f"{os.fspath(path)} holds {error}, which gbmap {gbmap.__version__} does not know; install the "
            f"version that wrote it, {shown(container.versions.get('gbmap'))}, or a later one."
        ) from error
    except ValueError as error:
        raise ModelFileError(
            f"{os.fspath(path)} is damaged, or was not written by gbmap: {error}; "
            f"it says that it comes from {str(container.versions)[:200]}."
        ) from error
    return model


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "gbmap": gbmap.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _way_out(value: Any) -> str:
    if isinstance(value, np.random.RandomState):
        return "model.set_params(random_state=None) leaves what was fitted as it is."
    if isinstance(value, BaseSearchCV):
        return "store its best_estimator_ instead."
    return by_skops(value)


_REGISTRY = Registry(
    classes={**_OWN, **{f"sklearn.{cls.__name__}": cls for cls in _SKLEARN}},
    check=check,
    way_out=_way_out,
    left_out=_CALLBACKS,
    added=_ADDED,
    dropped=_DROPPED,
    renamed={
        "TableModel": {"pipeline_": "model_"},
        "drift.Drifter": {"watched": "monitored"},
        "drift.Watched": {"subject": "fitted"},
        "GBMAPRegressor": {"_coding": "coding_"},
        "GBMAPClassifier": {"_coding": "coding_"},
    },
    rearranged={"DriftMonitor": gathered},
    admit=admit,
    listed=_LISTED,
)
