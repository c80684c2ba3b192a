"""What is asked of instances of each class that a model file may hold, written or read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from gbmap import losses
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import Inputs
from gbmap._core.posterior import Posterior
from gbmap._files.checks import (
    check_ensemble,
    need,
    need_members,
    need_numbers,
    need_one_of,
    shown,
)
from gbmap._files.codec import UnknownSettingError
from gbmap._fit.columns import Coding
from gbmap._fit.records import StageRecord
from gbmap._fitted.model import FittedModel
from gbmap._utils.scikit_learn import make_constraint
from gbmap.drift import DriftDetector, DriftMonitor
from gbmap.drift._calibration import Calibration, Measures
from gbmap.drift._drifter import Drifter
from gbmap.drift._monitored import MonitoredModel, is_gbmap
from gbmap.drift._neighbours import Neighbours
from gbmap.drift._profile import Profile
from gbmap.drift._spread import SpreadDrifter
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.estimators.base import BaseGBMAP
from gbmap.estimators.checkpoint import check_record
from gbmap.persistence._monitors import MONITOR_CHECKS
from gbmap.selection import GBMAPClassifierCV
from gbmap.selection.search import BaseGBMAPCV
from gbmap.tables import Column, Form, Schema, TableModel
from gbmap.tables.schema import DATE_PARTS, KINDS, TARGET_KINDS, TASKS

_WITH_PARAMETERS = (BaseGBMAP, BaseGBMAPCV, DriftDetector, DriftMonitor, TableModel)


def check(instance: Any) -> None:
    """Refuse an instance that cannot work, or that does more than it should."""
    if isinstance(instance, _WITH_PARAMETERS):
        _check_parameters(instance)
    for cls, is_fitted_by, of_class in _CHECKS:
        if isinstance(instance, cls) and (not is_fitted_by or hasattr(instance, is_fitted_by)):
            of_class(instance)


def admit(cls: Any, members: Mapping[str, Any]) -> None:
    """Refuse members that an instance of a class cannot have, before there is one."""
    if is_dataclass(cls):
        return  # its fields are the members that it takes
    if issubclass(cls, losses.Loss):
        need(not members, f"a {cls.__name__} with settings")
    if issubclass(cls, BaseEstimator):
        written_by = members.get("_sklearn_version", "")  # which a warning quotes
        need(type(written_by) is str and len(written_by) < 100, "a version of scikit-learn that is none")
    if issubclass(cls, _WITH_PARAMETERS):
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
        need_members(loss, **{field.name: Real for field in fields(loss)})


def _check_gbmap(model: BaseGBMAP) -> None:
    need_members(model, ensemble_=Ensemble, n_features_in_=Integral, n_components_=Integral, history_=list)
    ensemble, n_features, n_inputs = model.ensemble_, model.n_features_in_, model.ensemble_.weights.shape[1]
    need_members(model, _inputs=Inputs | None)
    inputs = vars(model)["_inputs"]
    need(
        n_inputs == (n_features if inputs is None else len(inputs)),
        f"weights for {n_inputs} inputs that are not",
    )
    if inputs is not None:
        _check_inputs(inputs, n_features)
    if inputs is not None and not inputs.is_plain:
        for name in ("_input_mean", "_input_scale"):
            need_numbers(vars(model)[name], (n_inputs,), f"{name} that does not fit the inputs")
    coding = vars(model).get("coding_")
    need(
        coding is None or (isinstance(coding, Coding) and len(coding.categories) == n_features),
        "codes of no columns",
    )
    need(model.n_components_ == ensemble.n_stages, "a number of components that does not fit")
    for name in ("mean_", "scale_", "feature_importances_"):
        need_numbers(getattr(model, name), (n_features,), f"{name} that does not fit the features")
    need_numbers(model.loss_curve_, (ensemble.n_stages + 1,), "a loss curve that does not fit the stages")
    need_numbers(vars(model)["_target_deviation"], (ensemble.n_outputs,), "a spread that does not fit")
    need(all(isinstance(each, StageRecord) for each in model.history_), "a history that is none")
    need_members(model, _posterior=Posterior | None)
    if vars(model)["_posterior"] is not None:
        _check_posterior(vars(model)["_posterior"], ensemble)
    need(model.init_ is None or hasattr(model.init_, "predict"), "an initial model that does not predict")
    names = getattr(model, "feature_names_in_", None)
    need(names is None or _is_array(names, (n_features,)), "names that do not fit the features")


def _check_inputs(inputs: Inputs, n_features: int) -> None:
    what = "inputs that do not fit the features"
    need_numbers(inputs.fill, (n_features,), what)
    for source in (inputs.number_source, inputs.missing_source, inputs.category_source):
        is_index = isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind == "i"
        need(is_index and bool(((source >= 0) & (source < n_features)).all()), what)
    for ends in (inputs.low, inputs.high):
        is_end = isinstance(ends, np.ndarray) and ends.dtype == np.float64
        need(is_end and ends.shape == inputs.number_source.shape and not np.isnan(ends).any(), what)
    need(bool((inputs.low < inputs.high).all()), what)
    need(_is_array(inputs.bends, inputs.low.shape) and inputs.bends.dtype == bool, what)
    need_numbers(inputs.code, inputs.category_source.shape, what)


def _check_coding(coding: Coding) -> None:
    for levels in coding.categories:
        is_array = isinstance(levels, np.ndarray) and levels.ndim == 1
        need(levels is None or is_array, "categories that are none")


def _check_posterior(posterior: Posterior, ensemble: Ensemble) -> None:
    (n_learners, n_features), n_outputs = ensemble.weights.shape, ensemble.n_outputs
    directions, what = posterior.directions, "a spread that does not fit the learners"
    need(isinstance(directions, np.ndarray) and directions.ndim == 3, what)
    shape = (n_learners, directions.shape[1], n_features + 1)
    need(directions.dtype == np.float32 and directions.shape == shape, what)
    need_numbers(posterior.variances, shape[:2], what)
    need_numbers(posterior.rest, (n_learners,), what)
    for vector in (posterior.center, posterior.inverse_scale):
        need_numbers(vector, (n_features,), what)
    for vector in (posterior.noise, posterior.target_scale):
        need_numbers(vector, (n_outputs,), what)


def _is_array(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.shape == shape


def _check_classifier(model: GBMAPClassifier) -> None:
    need_members(model, classes_=np.ndarray)
    need(model.classes_.ndim == 1, "classes that are no list")
    n_classes, n_outputs = len(model.classes_), model.ensemble_.n_outputs
    need(n_outputs == (1 if n_classes == 2 else n_classes), f"{n_classes} classes, {n_outputs} outputs")


def _check_regressor(model: GBMAPRegressor) -> None:
    need_members(model, _targets_2d=bool)
    is_one = not vars(model)["_targets_2d"]
    need(not is_one or model.ensemble_.n_outputs == 1, "several outputs of one target")


def _check_search(search: BaseGBMAPCV) -> None:
    kind = GBMAPClassifier if isinstance(search, GBMAPClassifierCV) else GBMAPRegressor
    need_members(search, best_estimator_=kind, n_components_=Integral)
    need(search.n_components_ == search.best_estimator_.n_components_, "a search that found another size")


def _check_detector(detector: DriftDetector) -> None:
    kinds = {"_drifter": Drifter | SpreadDrifter, "_calibration": Calibration | None}
    need_members(detector, **kinds, calibration_size_=int, n_features_in_=int)
    need(detector.estimator_ is vars(detector)["_drifter"].monitored.model, "a detector of another model")


def _check_drifter(drifter: Drifter) -> None:
    need_members(drifter, monitored=MonitoredModel, neighbours=Neighbours)
    ensemble, neighbours = drifter.monitored.fitted.ensemble, drifter.neighbours
    n_rows, width = len(neighbours.phi), ensemble.weights.shape[1]
    need(
        _is_array(drifter.inputs, (n_rows, width))
        or (scipy.sparse.issparse(drifter.inputs) and drifter.inputs.shape == (n_rows, width)),
        "reference rows of another width",
    )
    need_numbers(neighbours.phi, (n_rows, len(ensemble)), "an embedding that does not fit the model")
    for values in (drifter.scores, neighbours.values):
        need_numbers(values, (n_rows, ensemble.n_outputs), "values that do not fit the reference rows")
    need(1 <= neighbours.n_neighbors <= n_rows, f"{neighbours.n_neighbors} neighbours of {n_rows} rows")


def _check_spread_drifter(drifter: SpreadDrifter) -> None:
    need_members(drifter, monitored=MonitoredModel, ensemble=Ensemble)
    need(drifter.ensemble is drifter.monitored.fitted.ensemble, "a spread of other learners")
    _check_rounding(drifter)


def _check_rounding(drifter: Any) -> None:
    need_members(drifter, rounding=float)
    need(0 <= drifter.rounding < np.inf, f"a rounding of {drifter.rounding}")


def _check_neighbours(neighbours: Neighbours) -> None:
    need_members(neighbours, phi=np.ndarray, algorithm=str, n_jobs=Integral | None, n_neighbors=Integral)
    need(neighbours.phi.ndim == 2, "an embedding that is none")
    _check_rounding(neighbours)


def _check_monitored(monitored: MonitoredModel) -> None:
    need_members(monitored, fitted=FittedModel)
    need(is_gbmap(monitored.model), "a model to monitor that is no GBMAP")
    need_members(monitored, profile=Profile | None, completions=np.ndarray | None)
    completions = monitored.completions
    if completions is not None:
        n_given = monitored.fitted.model.n_features_in_
        need(completions.ndim == 2 and completions.dtype.kind == "f", "completions that are no table")
        need(completions.shape[1] == n_given, "completions of other columns")


def _check_fitted(fitted: FittedModel) -> None:
    need_members(fitted, model=BaseGBMAP, preprocessing=Pipeline | None)


def _check_calibration(calibration: Calibration) -> None:
    need_members(calibration, measures=Measures, indicators=np.ndarray, metrics=dict)
    measures, shape = calibration.measures, calibration.indicators.shape
    need(len(shape) == 1, "a calibration that is no list")
    what = "a calibration of several lengths"
    for values in (calibration.losses, measures.differences, measures.distances):
        need_numbers(values, shape, what)
    need(calibration.indicators.dtype == np.float64 and not np.isnan(calibration.indicators).any(), what)
    strange = measures.strange
    need(strange is None or (_is_array(strange, shape) and strange.dtype == bool), what)
    if measures.gap is not None:
        need_numbers(measures.gap, shape, what)
    for name, values in calibration.metrics.items():
        need(name in ("squared_error", "absolute_error", "error", "log_loss"), "a metric that is none")
        need_numbers(values, shape, what)
    scores, deviation = calibration.scores, calibration.deviation
    need((scores is None) == (deviation is None), "scores of no spread")
    if scores is not None and deviation is not None:
        need(isinstance(deviation, np.ndarray) and deviation.ndim == 1, "a spread that is no list")
        need_numbers(deviation, deviation.shape, "a spread that is none")
        need_numbers(scores, (*shape, len(deviation)), what)
        if calibration.score_leeway is not None:
            need_numbers(calibration.score_leeway, deviation.shape, "a leeway that does not fit")
    need_members(calibration, reach_leeway=float)
    need(1 <= calibration.reach_leeway < np.inf, f"a leeway of {calibration.reach_leeway}")


def _check_profile(profile: Profile) -> None:
    need_members(profile, names=np.ndarray, kinds=np.ndarray, levels=tuple, n_rows=int, n_calibration=int)
    need_members(profile, days=list)
    need(all(type(name) is str for name in profile.days), "dates that are no names")
    need(profile.names.ndim == 1, "columns that are no list")
    shape, what = profile.names.shape, "a profile of several lengths"
    need(all(type(name) is str for name in profile.names), "names of columns that are no texts")
    need(_is_array(profile.kinds, shape) and _is_array(profile.constant, shape), what)
    for kind in profile.kinds:
        need_one_of(kind, ("number", "category", "other"), "kind of a column")
    for counts in (profile.n_missing, profile.n_unseen):
        need(_is_array(counts, shape) and counts.dtype.kind == "i", what)
        need(
            bool((counts >= 0).all() and (counts <= profile.n_rows).all()),
            "counts of more rows than there are",
        )
    for marks in (profile.is_constant, profile.may_miss, profile.knows_all):
        need(_is_array(marks, shape) and marks.dtype == bool, what)
    for numbers in (profile.low, profile.high, profile.middle):
        need(_is_array(numbers, shape) and numbers.dtype == np.float64, what)
    need(len(profile.levels) == len(profile.names), what)
    for levels in profile.levels:
        need(
            levels is None or (isinstance(levels, np.ndarray) and levels.ndim == 1),
            "categories that are none",
        )
    need(0 <= profile.n_calibration <= profile.n_rows, "more rows of calibration than there are")


def _check_column(column: Column) -> None:
    need_members(column, name=str, reason=str, n_missing=int, levels=tuple, parts=tuple, form=Form)
    need_members(column, reading=str, tells=str)
    need_one_of(column.kind, KINDS, "kind")
    need(all(type(text) is str for text in (*column.levels, *column.parts)), "levels that are no texts")
    need(set(column.parts) <= set(DATE_PARTS), "parts of a date that it has not")


def _check_form(form: Form) -> None:
    need_members(form, unit=str, date=str, truth=bool, lenient=bool)
    need_one_of(form.decimal, (".", ","), "mark before decimals")
    need(form.group == "" or {form.group, form.decimal} == {".", ","}, "a mark of thousands and of decimals")
    need(form.date in ("", "dmy", "mdy") or "%" in form.date, "an order of dates that it does not know")


def _check_schema(schema: Schema) -> None:
    need_members(schema, target_form=Form, target_reading=str, encoding=str)
    need_members(schema, target=str, task_reason=str, n_rows=int, n_without_target=int, columns=tuple)
    need_one_of(schema.task, TASKS, "task")
    need_one_of(schema.target_kind, TARGET_KINDS, "kind of target")
    need(all(isinstance(each, Column) for each in schema.columns), "columns that are none")


def _check_table_model(model: TableModel) -> None:
    need_members(model, schema_=Schema, detector_=DriftDetector | None, scores_=dict | None)
    need_members(model, n_fitted_=int, n_held_out_=int)
    need(is_gbmap(model.model_), "a model of a table without a GBMAP")
    names = model.model_.feature_names_in_
    need(isinstance(names, np.ndarray) and names.ndim == 1, "a pipeline of columns without names")
    need(all(isinstance(name, str) for name in names), "a pipeline of columns whose names are no texts")
    need(model.schema_.features == list(names), "a pipeline of other columns than the table's")
    need(hasattr(model.model_, "classes_") == (model.schema_.task == "classification"), "another task")
    scores = [each for of_model in (model.scores_ or {}).values() for each in of_model.values()]
    need(all(type(score) is float for score in scores), "scores that are no numbers")


def _check_pipeline(pipeline: Pipeline) -> None:
    # The folder of a cache holds pickles, which a fit would load.
    need(pipeline.memory is None, "a pipeline with a cache; set_params(memory=None) removes it")


def _check_function(transformer: FunctionTransformer) -> None:
    need(
        transformer.func is None and transformer.inverse_func is None,
        "a FunctionTransformer with a function; store the model with skops.io.dump instead",
    )


# Classes, the member that only a fitted one has, and what is asked of one then. Bases come first.
_CHECKS: tuple[tuple[type, str, Callable[[Any], None]], ...] = (
    (Ensemble, "", check_ensemble),
    (StageRecord, "", check_record),
    (Coding, "", _check_coding),
    (losses.Loss, "", _check_loss),
    (BaseGBMAP, "ensemble_", _check_gbmap),
    (GBMAPClassifier, "ensemble_", _check_classifier),
    (GBMAPRegressor, "ensemble_", _check_regressor),
    (BaseGBMAPCV, "best_estimator_", _check_search),
    (Neighbours, "", _check_neighbours),
    (Drifter, "", _check_drifter),
    (SpreadDrifter, "", _check_spread_drifter),
    (MonitoredModel, "", _check_monitored),
    (FittedModel, "", _check_fitted),
    (Calibration, "", _check_calibration),
    (Profile, "", _check_profile),
    (DriftDetector, "_drifter", _check_detector),
    *MONITOR_CHECKS,
    (Column, "", _check_column),
    (Form, "", _check_form),
    (Schema, "", _check_schema),
    (TableModel, "model_", _check_table_model),
    (Pipeline, "", _check_pipeline),
    (FunctionTransformer, "", _check_function),
)
