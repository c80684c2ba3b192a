"""Models as files: one file of plain data that runs no code when it is loaded.

`gbmap._files.container` says what the bytes are, `gbmap._files.codec` how objects become data.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import version
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse
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
from gbmap._files.checks import check_ensemble, need, need_kind, need_numbers, need_one_of, shown
from gbmap._files.codec import NotStorableError, Registry, UnknownSettingError, by_skops, decode, encode
from gbmap._files.container import Container, ModelFileError, read, write
from gbmap._fit.records import StageRecord
from gbmap._fitted.model import FittedModel
from gbmap._utils.scikit_learn import BaseSearchCV, make_constraint
from gbmap.drift import DriftDetector
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._drifter import Drifter
from gbmap.drift._monitored import MonitoredModel, is_gbmap
from gbmap.drift._neighbours import Neighbours
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.estimators.base import BaseGBMAP
from gbmap.estimators.checkpoint import check_record
from gbmap.selection import GBMAPClassifierCV, GBMAPRegressorCV
from gbmap.selection.search import BaseGBMAPCV
from gbmap.tables import Column, Schema, TableModel
from gbmap.tables.schema import DATE_PARTS, KINDS, TARGET_KINDS, TASKS

__all__ = ["ModelFileError", "NotStorableError", "load", "save"]

# The names in files. They stay when a class is moved or renamed.
_OWN = {
    "GBMAPRegressor": GBMAPRegressor,
    "GBMAPClassifier": GBMAPClassifier,
    "GBMAPRegressorCV": GBMAPRegressorCV,
    "GBMAPClassifierCV": GBMAPClassifierCV,
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
    "drift.Watched": MonitoredModel,
    "drift.Subject": FittedModel,
    "TableModel": TableModel,
    "tables.Column": Column,
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


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Store a fitted model in one file of plain data.

    The file is written beside its place and then moved there, so that a crash leaves the old one.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, DriftDetector, a pipeline of one, or TableModel
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
            "model must be a GBMAP, a DriftDetector, a pipeline of one or a TableModel, "
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


def _check(instance: Any) -> None:
    """Refuse an instance that cannot work, or that does more than it should."""
    for cls, check in _CHECKS.items():
        if isinstance(instance, cls):
            check(instance)


def _admit(cls: Any, members: Mapping[str, Any]) -> None:
    """Refuse members that an instance of a class cannot have, before there is one."""
    if is_dataclass(cls):
        return  # its fields are the members that it takes
    if issubclass(cls, losses.Loss):
        need(not members, f"a {cls.__name__} with settings")
    if issubclass(cls, BaseEstimator):
        written_by = members.get("_sklearn_version", "")  # which a warning quotes
        need(type(written_by) is str and len(written_by) < 100, "a version of scikit-learn that is none")
    if issubclass(cls, BaseEstimator) and cls in _OWN.values():
        known = _constraints_of(cls)
        for name in members:
            if not (name.startswith("_") or name.endswith("_") or name in known):
                raise UnknownSettingError(f"the setting {shown(name)} of {cls.__name__}")


def _check_parameters(model: Any) -> None:
    """Do what `_validate_params` does, without a message that quotes whatever the value is."""
    for name, constraints in _constraints_of(model.__class__).items():
        value = getattr(model, name)
        satisfied = not constraints or any(each.is_satisfied_by(value) for each in constraints)
        need(satisfied, f"{name}={shown(value)}")


@cache
def _constraints_of(cls: Any) -> dict[str, list[Any]]:
    """Return the parameters of a class of estimators, and what each one may be; nothing if anything."""
    given = cls._parameter_constraints
    return {name: [make_constraint(each) for each in given.get(name, [])] for name in cls._get_param_names()}


def _check_loss(loss: losses.Loss) -> None:
    if is_dataclass(loss):
        for field in fields(loss):
            need_kind(getattr(loss, field.name), Real, f"{field.name} of a loss")


def _check_gbmap(model: BaseGBMAP) -> None:
    _check_parameters(model)
    if not hasattr(model, "ensemble_"):
        return
    need(isinstance(model.ensemble_, Ensemble), "an ensemble that is none")
    n_features, n_inputs = model.ensemble_.weights.shape[1], model.n_features_in_
    need(
        isinstance(n_inputs, Integral) and n_inputs == n_features,
        f"{shown(n_inputs)} features with weights for {n_features}",
    )
    for name in ("mean_", "scale_", "feature_importances_"):
        need_numbers(getattr(model, name), (n_features,), f"{name} that does not fit the features")
    n_stages = model.ensemble_.n_stages
    need(
        isinstance(model.n_components_, Integral) and model.n_components_ == n_stages,
        "a number of components that does not fit",
    )
    need_numbers(model.loss_curve_, (n_stages + 1,), "a loss curve that does not fit the stages")
    need_numbers(model._target_deviation, (model.ensemble_.n_outputs,), "a spread that does not fit")
    need(
        isinstance(model.history_, list) and all(isinstance(each, StageRecord) for each in model.history_),
        "a history that is none",
    )
    need(model.init_ is None or hasattr(model.init_, "predict"), "an initial model that does not predict")
    names = getattr(model, "feature_names_in_", None)
    need(names is None or _is_array(names, (n_features,)), "names that do not fit the features")


def _is_array(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.shape == shape


def _check_classifier(model: GBMAPClassifier) -> None:
    if hasattr(model, "ensemble_"):
        need(isinstance(model.classes_, np.ndarray) and model.classes_.ndim == 1, "classes that are no list")
        n_classes, n_outputs = len(model.classes_), model.ensemble_.n_outputs
        need(n_outputs == (1 if n_classes == 2 else n_classes), f"{n_classes} classes, {n_outputs} outputs")


def _check_search(search: BaseGBMAPCV) -> None:
    _check_parameters(search)
    if hasattr(search, "best_estimator_"):
        need(isinstance(search.best_estimator_, search._kind), "a search that found another kind of model")
        n_components = search.n_components_
        need(
            isinstance(n_components, Integral) and n_components == search.best_estimator_.n_components_,
            "a search that found another size",
        )


def _check_regressor(model: GBMAPRegressor) -> None:
    if hasattr(model, "ensemble_"):
        need(
            type(model._targets_2d) is bool and (model._targets_2d or model.ensemble_.n_outputs == 1),
            "several outputs of one target",
        )


def _check_detector(detector: DriftDetector) -> None:
    _check_parameters(detector)
    if hasattr(detector, "_drifter"):
        need(isinstance(detector._drifter, Drifter), "a detector without reference rows")
        need(detector.estimator_ is detector._drifter.monitored.model, "a detector of another model")
        need(isinstance(detector._calibration, Calibration | None), "a calibration that is none")
        need(type(detector.calibration_size_) is int, "a calibration without a size")
        need(type(detector.n_features_in_) is int, "a detector of no features")


def _check_drifter(drifter: Drifter) -> None:
    monitored, neighbours = drifter.monitored, drifter.neighbours
    need(
        isinstance(monitored, MonitoredModel) and isinstance(neighbours, Neighbours),
        "a drifter of other parts",
    )
    ensemble, n_rows = monitored.fitted.ensemble, len(neighbours.phi)
    width = ensemble.weights.shape[1]
    need(
        _is_array(drifter.inputs, (n_rows, width))
        or (scipy.sparse.issparse(drifter.inputs) and drifter.inputs.shape == (n_rows, width)),
        "reference rows of another width",
    )
    need_numbers(neighbours.phi, (n_rows, len(ensemble)), "an embedding that does not fit the model")
    for values in (drifter.scores, neighbours.values):
        need_numbers(values, (n_rows, ensemble.n_outputs), "values that do not fit the reference rows")
    k = neighbours.n_neighbors
    need(isinstance(k, Integral) and 1 <= k <= n_rows, f"{shown(k)} neighbours of {n_rows} rows")


def _check_neighbours(neighbours: Neighbours) -> None:
    need(isinstance(neighbours.phi, np.ndarray) and neighbours.phi.ndim == 2, "an embedding that is none")
    need_kind(neighbours.algorithm, str, "algorithm")
    need_kind(neighbours.n_jobs, Integral | None, "number of jobs")
    rounding = neighbours.rounding
    need(type(rounding) is float and 0 <= rounding < np.inf, f"a rounding of {shown(rounding)}")


def _check_monitored(monitored: MonitoredModel) -> None:
    need(isinstance(monitored.fitted, FittedModel), "a model to monitor without its GBMAP")
    need(is_gbmap(monitored.model), "a model to monitor that is no GBMAP")


def _check_subject(fitted: FittedModel) -> None:
    need(isinstance(fitted.model, BaseGBMAP), "a model to ask that is no GBMAP")
    need(isinstance(fitted.preprocessing, Pipeline | None), "preprocessing that is no pipeline")


def _check_calibration(calibration: Calibration) -> None:
    measures = calibration.measures
    need(isinstance(measures, Measures), "a calibration without measures")
    need(isinstance(calibration.indicators, np.ndarray), "a calibration that is no list")
    shape = calibration.indicators.shape
    for values in (calibration.indicators, calibration.losses, measures.differences, measures.distances):
        need(len(shape) == 1, "a calibration that is no list")
        need_numbers(values, shape, "a calibration of several lengths")


def _check_column(column: Column) -> None:
    need(type(column.name) is str and type(column.reason) is str, "a column without a name or a reason")
    need_one_of(column.kind, KINDS, "kind")
    need(type(column.n_missing) is int, "a column without a number of missing values")
    for texts in (column.levels, column.parts):
        need(type(texts) is tuple and all(type(text) is str for text in texts), "levels that are no texts")
    need(set(column.parts) <= set(DATE_PARTS), "parts of a date that it has not")


def _check_schema(schema: Schema) -> None:
    need(type(schema.target) is str and type(schema.task_reason) is str, "a schema without a target")
    need_one_of(schema.task, TASKS, "task")
    need_one_of(schema.target_kind, TARGET_KINDS, "kind of target")
    need(type(schema.n_rows) is int and type(schema.n_without_target) is int, "a schema without rows")
    need(
        type(schema.columns) is tuple and all(isinstance(each, Column) for each in schema.columns),
        "columns that are none",
    )


def _check_table_model(model: TableModel) -> None:
    _check_parameters(model)
    if not hasattr(model, "pipeline_"):
        return
    need(isinstance(model.schema_, Schema), "a model of a table without a schema")
    need(is_gbmap(model.pipeline_), "a model of a table without a GBMAP")
    names = model.pipeline_.feature_names_in_
    need(isinstance(names, np.ndarray) and names.ndim == 1, "a pipeline of columns without names")
    need(all(isinstance(name, str) for name in names), "a pipeline of columns whose names are no texts")
    need(model.schema_.features == list(names), "a pipeline of other columns than the table's")
    need(hasattr(model.pipeline_, "classes_") == (model.schema_.task == "classification"), "another task")
    need(isinstance(model.detector_, DriftDetector | None), "a detector that is none")
    need(type(model.n_fitted_) is int and type(model.n_held_out_) is int, "numbers of rows that are none")
    need_kind(model.scores_, dict | None, "scores")
    scores = [] if model.scores_ is None else [each for of in model.scores_.values() for each in of.values()]
    need(all(type(score) is float for score in scores), "scores that are no numbers")


def _check_pipeline(pipeline: Pipeline) -> None:
    # The folder of a cache holds pickles, which a fit would load.
    need(pipeline.memory is None, "a pipeline with a cache; set_params(memory=None) removes it")


def _check_function(transformer: FunctionTransformer) -> None:
    need(
        transformer.func is None and transformer.inverse_func is None,
        "a FunctionTransformer with a function; store the model with skops.io.dump instead",
    )


_CHECKS: dict[type, Callable[[Any], None]] = {
    Ensemble: check_ensemble,
    BaseGBMAP: _check_gbmap,
    GBMAPClassifier: _check_classifier,
    BaseGBMAPCV: _check_search,
    GBMAPRegressor: _check_regressor,
    StageRecord: check_record,
    losses.Loss: _check_loss,
    Neighbours: _check_neighbours,
    DriftDetector: _check_detector,
    Drifter: _check_drifter,
    MonitoredModel: _check_monitored,
    FittedModel: _check_subject,
    Calibration: _check_calibration,
    TableModel: _check_table_model,
    Schema: _check_schema,
    Column: _check_column,
    Pipeline: _check_pipeline,
    FunctionTransformer: _check_function,
}
# Callbacks watch a fit; they are no part of the model.
_CALLBACKS = {"_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_parent_callback_ctx"}
# Members whose lists hold instances.
_LISTED = frozenset(
    {"steps", "transformer_list", "transformers", "transformers_", "_name_to_fitted_passthrough"}
    | {"history_", "_boosted", "columns"}
)
# What files of earlier versions do not have, as those versions had it.
_ADDED: dict[str, dict[str, Any]] = {
    "TableModel": {"refine": False},
    "drift.Drifter": {"probe": None},
    "drift.Neighbours": {"rounding": 0.0},
    "GBMAPRegressor": {"refine_starts": 1},
    "GBMAPClassifier": {"refine_starts": 1},
}
_REGISTRY = Registry(
    classes={**_OWN, **{f"sklearn.{cls.__name__}": cls for cls in _SKLEARN}},
    check=_check,
    way_out=_way_out,
    left_out=frozenset(_CALLBACKS),
    added=_ADDED,
    renamed={"drift.Drifter": {"watched": "monitored"}, "drift.Watched": {"subject": "fitted"}},
    admit=_admit,
    listed=_LISTED,
)
