"""Models as files: what comes back is what was stored, to the bit, or a clear sentence."""

import contextlib
import copy
import errno
import hashlib
import importlib.util
import json
import os
import pickle
import re
import struct
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.callback import ScoringMonitor
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

import gbmap
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor, losses
from gbmap._files.codec import encode
from gbmap._files.container import FORMAT, Container, write
from gbmap.inspection import explain
from gbmap.persistence import ModelFileError, NotStorableError
from gbmap.persistence.model_files import _REGISTRY
from gbmap.tables import TableModel

HERE = Path(__file__).parent
X, y = (part[:90] for part in load_diabetes(return_X_y=True))
IRIS, SPECIES = (part[::2] for part in load_iris(return_X_y=True))
HOSTILE = [
    "",
    " ",
    '"];drop',
    "<script>alert(1)</script>",
    "\n\0\t",
    "é\u6a21🦜",
    "\u202egnp",
    "[[{{",
    "a" * 999,
    "x9",
]


def regressor(**parameters):
    return GBMAPRegressor(**{"n_components": 3, "random_state": 0, **parameters})


def classifier(**parameters):
    return GBMAPClassifier(**{"n_components": 2, "l2_regularization": 1e-3, "random_state": 0, **parameters})


def reloaded(model, folder):
    gbmap.save(model, folder / "model.gbmap")
    return gbmap.load(folder / "model.gbmap")


METHODS = ("predict", "predict_proba", "decision_function", "transform", "indicator", "p_values")


def assert_same_bits(one, other):
    assert type(one) is type(other)
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    if one.dtype == object:
        assert list(map(repr, one.ravel())) == list(map(repr, other.ravel()))
    else:
        assert one.tobytes() == other.tobytes()


def assert_same_model(loaded, model, rows):
    assert type(loaded) is type(model)
    answers = [name for name in METHODS if hasattr(model, name)]
    assert answers
    for name in answers:
        assert_same_bits(getattr(loaded, name)(rows), getattr(model, name)(rows))
    assert without_addresses(loaded.get_params()) == without_addresses(model.get_params())


def without_addresses(value):
    return re.sub(r" object at 0x\w+", "", repr(value))


def assert_same_attributes(loaded, model):
    assert list(vars(loaded)) == list(vars(model))
    for name, value in vars(model).items():
        twin = getattr(loaded, name)
        assert type(twin) is type(value), name
        if isinstance(value, np.ndarray):
            assert_same_bits(twin, value)
        elif name != "ensemble_":
            assert without_addresses(twin) == without_addresses(value), name


# --- the estimators -------------------------------------------------------------------------------

REGRESSORS = {
    "default": {},
    "identity": {"activation": "identity"},
    "huber": {"loss": "huber", "huber_delta": 0.5},
    "quantile": {"loss": "quantile", "quantile": 0.9},
    "a loss object": {"loss": losses.Huber(2.0)},
    "early stopping": {"early_stopping": True, "n_components": 6, "n_iter_no_change": 2},
    "monotone": {"monotonic_cst": [1] + [0] * 9},
    "not standardised": {"standardize": False},
    "NumPy's numbers": {"n_components": np.int64(3), "beta": np.float32(4), "standardize": np.bool_(True)},
    "fresh entropy": {"random_state": None},
    "jobs": {"n_jobs": 2},
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_comes_back_with_all_it_had(tmp_path, name):
    model = regressor(**REGRESSORS[name]).fit(X, y)
    loaded = reloaded(model, tmp_path)
    assert_same_model(loaded, model, X)
    assert_same_attributes(loaded, model)
    for staged, twin in zip(loaded.staged_predict(X), model.staged_predict(X), strict=True):
        assert_same_bits(staged, twin)


LABELS = {
    "whole numbers": SPECIES,
    "negative numbers": -SPECIES.astype(np.int8),
    "text": np.array(["setosa", "versicolor", "virginica"])[SPECIES],
    "text wider than any label": np.array(["a", "b", "\U0001f99c"], dtype="U20")[SPECIES],
    "text as objects": np.array(HOSTILE[3:6], dtype=object)[SPECIES],
    "truth values": SPECIES > 0,
    "floats": SPECIES.astype(np.float32) * 2,
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.filterwarnings("ignore:.*unique classes")
def test_a_classifier_comes_back_with_its_labels(tmp_path, name):
    model = classifier().fit(IRIS, LABELS[name])
    loaded = reloaded(model, tmp_path)
    assert_same_model(loaded, model, IRIS)
    assert_same_attributes(loaded, model)
    assert type(loaded.predict(IRIS)[0]) is type(model.predict(IRIS)[0])


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge", losses.Hinge(0.2), losses.LogLoss()])
def test_every_loss_of_classes_comes_back(tmp_path, loss):
    model = classifier(loss=loss, class_weight={0: 1.0, 1: 2.5}).fit(IRIS, SPECIES == 1)
    loaded = reloaded(model, tmp_path)
    assert_same_model(loaded, model, IRIS)
    assert hasattr(loaded, "predict_proba") == hasattr(model, "predict_proba")


def test_several_targets_come_back(tmp_path):
    model = regressor().fit(X, np.c_[y, -y, X[:, 0]])
    assert_same_model(reloaded(model, tmp_path), model, X)


@pytest.mark.parametrize(
    "rows",
    [X.astype(np.float32), X + 1e6, scipy.sparse.csr_array(X), scipy.sparse.csc_matrix(X)],
    ids=["float32", "far from zero", "sparse array", "sparse matrix"],
)
def test_models_of_rows_of_any_kind_come_back(tmp_path, rows):
    model = regressor().fit(rows, y)
    assert_same_model(reloaded(model, tmp_path), model, rows)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_of_columns_come_back_however_odd(tmp_path, library):
    frame = pytest.importorskip(library).DataFrame(dict(zip(HOSTILE, X.T)))
    model = regressor().fit(frame, y)
    loaded = reloaded(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == HOSTILE
    assert_same_model(loaded, model, frame)
    assert_same_bits(explain(loaded, frame).coefficients, explain(model, frame).coefficients)


def test_an_unfitted_model_keeps_its_settings(tmp_path):
    model = classifier(beta=7.0)
    assert repr(reloaded(model, tmp_path)) == repr(model)


def test_set_output_comes_back(tmp_path):
    frame = pd.DataFrame(X).rename(columns=str)
    model = make_pipeline(StandardScaler(), regressor()).set_output(transform="pandas").fit(frame, y)
    embedding = reloaded(model, tmp_path).transform(frame)
    pd.testing.assert_frame_equal(embedding, model.transform(frame))


def test_callbacks_are_left_out(tmp_path):
    model = regressor().set_callbacks(ScoringMonitor(scoring="r2")).fit(X, y)
    loaded = reloaded(model, tmp_path)
    assert_same_attributes(loaded, model.set_callbacks())
    assert_same_model(loaded, model, X)


class Keeper:
    """A callback that saves the model after each stage, and interrupts the fit after the second."""

    def __init__(self, path):
        self.path, self.answers = path, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "stage":
            gbmap.save(fitted_estimator, self.path)
            self.answers.append(fitted_estimator.predict(X))
            if len(self.answers) == 2:
                raise KeyboardInterrupt


def test_models_of_an_unfinished_fit_can_be_saved(tmp_path):
    keeper = Keeper(tmp_path / "kept")
    model = regressor().set_callbacks(keeper)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_same_bits(gbmap.load(tmp_path / "kept").predict(X), keeper.answers[1])
    assert_same_model(reloaded(model, tmp_path), model, X)
    assert model.n_components_ == 2


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_a_warm_start_goes_on_after_loading_as_it_would_have(tmp_path, kind):
    data = (X, y) if kind == "regressor" else (IRIS, SPECIES)
    model = (regressor if kind == "regressor" else classifier)(warm_start=True, random_state=None).fit(*data)
    loaded = reloaded(model, tmp_path)
    for each in (model, loaded):
        each.set_params(n_components=5).fit(*data)
    assert_same_model(loaded, model, data[0])
    assert loaded.n_components_ == 5


def test_an_initial_model_that_is_a_gbmap_comes_back(tmp_path):
    model = regressor(init=regressor(activation="identity")).fit(X, y)
    assert_same_model(reloaded(model, tmp_path), model, X)
    frozen = regressor(init=FrozenEstimator(model)).fit(X, y)
    assert_same_model(reloaded(frozen, tmp_path), frozen, X)
    scaled = classifier(init=make_pipeline(StandardScaler(), classifier())).fit(IRIS, SPECIES)
    assert_same_model(reloaded(scaled, tmp_path), scaled, IRIS)


def test_the_loaded_model_does_not_need_its_file(tmp_path):
    model = regressor().fit(X, y)
    loaded = reloaded(model, tmp_path)
    (tmp_path / "model.gbmap").write_bytes(b"")
    assert_same_model(loaded, model, X)
    assert_same_model(copy.deepcopy(loaded), model, X)
    assert_same_model(loaded.set_params(n_components=4).fit(X, y), regressor(n_components=4).fit(X, y), X)


def test_a_model_loaded_twice_is_stored_as_the_same_bytes(tmp_path):
    model = make_pipeline(StandardScaler(), classifier()).fit(IRIS, LABELS["text"])
    gbmap.save(model, tmp_path / "first")
    gbmap.save(gbmap.load(tmp_path / "first"), tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


# --- pipelines ------------------------------------------------------------------------------------


def mixed_frame():
    frame = pd.DataFrame(X[:, :4].copy(), columns=["age", "sex", "bmi", "bp"])
    frame.iloc[::7, 1] = np.nan
    colour = np.array(["red", "green", "blue"], dtype=object)[np.arange(len(X)) % 3]
    return frame.assign(colour=pd.Series(colour, dtype=object), size=pd.Series(["S", "L", "M"] * 30))


PREPARATIONS = {
    "by name": [(SimpleImputer(add_indicator=True), ["age", "sex"]), (OneHotEncoder(), ["colour"])],
    "by slice": [(SimpleImputer(), slice("age", "bp")), (OneHotEncoder(drop="first"), slice(4, None))],
    "by mask": [(SimpleImputer(strategy="median"), [True] * 4 + [False] * 2)],
    "by selector": [
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)),
        (
            OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, sparse_output=False),
            make_column_selector("colour"),
        ),
    ],
    "everything": [
        (RobustScaler(), ["age"]),
        (MinMaxScaler(clip=True), ["bmi"]),
        (MaxAbsScaler(), ["bp"]),
        (FeatureUnion([("value", SimpleImputer()), ("gap", MissingIndicator())]), ["sex"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(dtype=np.float32)), ["size"]),
        ("drop", ["colour"]),
    ],
}


@pytest.mark.parametrize("name", PREPARATIONS)
def test_pipelines_come_back_with_their_preprocessing(tmp_path, name):
    frame = mixed_frame()
    model = make_pipeline(
        make_column_transformer(*PREPARATIONS[name]),
        VarianceThreshold(),
        FunctionTransformer(feature_names_out="one-to-one"),
        regressor(),
    ).fit(frame, y)
    loaded = reloaded(model, tmp_path)
    assert_same_model(loaded, model, frame)
    assert loaded[:-1].get_feature_names_out().tolist() == model[:-1].get_feature_names_out().tolist()


def test_what_passes_through_a_column_transformer_comes_back(tmp_path):
    frame = mixed_frame().drop(columns=["sex", "colour", "size"])
    step = ColumnTransformer([("scale", StandardScaler(), ["age"])], remainder="passthrough")
    model = Pipeline([("step", step), ("model", regressor())]).fit(frame, y)
    assert_same_model(reloaded(model, tmp_path), model, frame)


def test_a_missing_category_comes_back(tmp_path):
    text = np.array([["a"], ["b"], [None], [np.nan], ["b"], ["a"]] * 5, dtype=object)
    model = make_pipeline(OneHotEncoder(), regressor()).fit(text, y[:30])
    assert_same_model(reloaded(model, tmp_path), model, text)


# --- drift ----------------------------------------------------------------------------------------


def scaled(model):
    return make_pipeline(StandardScaler(), model)


@pytest.mark.parametrize(
    ("estimator", "rows", "targets"),
    [
        (None, X, y),
        (regressor(), scipy.sparse.csr_array(X), y),
        (scaled(regressor(loss="huber")), pd.DataFrame(X).add_prefix("c"), y),
        (classifier(), IRIS, LABELS["text"]),
        (scaled(classifier()), IRIS, SPECIES > 0),
        (regressor(), X, np.c_[y, -y]),
    ],
    ids=["none", "sparse", "pipeline", "classes", "two classes", "targets"],
)
def test_a_calibrated_detector_comes_back(tmp_path, estimator, rows, targets):
    detector = DriftDetector(estimator, cv=2, random_state=0).fit(rows, targets)
    loaded = reloaded(detector, tmp_path)
    assert_same_model(loaded, detector, rows)
    assert loaded.threshold_ == detector.threshold_
    assert loaded.calibration_size_ == detector.calibration_size_ > 0
    assert_same_bits(loaded.estimate_loss(rows).mean, detector.estimate_loss(rows).mean)
    assert_same_bits(loaded.explain(rows).values, detector.explain(rows).values)
    assert loaded._drifter.monitored.fitted.model is gbmap_inside(loaded.estimator_)


def gbmap_inside(model):
    return model[-1] if isinstance(model, Pipeline) else model


def test_a_detector_without_calibration_comes_back_and_says_so(tmp_path):
    detector = DriftDetector(FrozenEstimator(regressor().fit(X, y)), 3).fit(X, y)
    loaded = reloaded(detector, tmp_path)
    assert_same_bits(loaded.indicator(X), detector.indicator(X))
    with pytest.raises(ValueError, match="X_cal"):
        loaded.predict(X)


def test_a_detector_of_a_foreign_model_is_refused(tmp_path):
    trees = HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    detector = DriftDetector(trees, surrogate=regressor()).fit(X, y)
    with pytest.raises(NotStorableError, match=r"DriftDetector\.estimator holds a sklearn\.ensemble.*skops"):
        gbmap.save(detector, tmp_path / "m")


# --- what has no place in a file ------------------------------------------------------------------


class Own(losses.SquaredError):
    """A loss of the user's."""


class OwnRegressor(GBMAPRegressor):
    """A class of the user's, which the file could not name."""


SKOPS = r"skops\.io\.dump"
REFUSED = {
    "an initial model": (
        regressor(init=LinearRegression()),
        rf"GBMAPRegressor\.init holds .*Linear.*{SKOPS}",
    ),
    "an initial function": (
        regressor(init=lambda rows: rows[:, 0]),
        rf"\.init holds a builtins\.func.*{SKOPS}",
    ),
    "a loss": (regressor(loss=Own()), rf"GBMAPRegressor\.loss holds a .*Own, .*{SKOPS}"),
    "a subclass": (OwnRegressor(2, random_state=0), rf"model holds a .*OwnRegressor, .*{SKOPS}"),
    "a search": (GridSearchCV(regressor(), {"beta": [1.0, 5.0]}, cv=2), "store its best_estimator_"),
    "another step": (make_pipeline(PCA(2), regressor()), rf"Pipeline\.steps holds a .*PCA, .*{SKOPS}"),
    "a random state": (
        regressor(random_state=np.random.RandomState(0)),
        r"random_state holds .*set_params\(random_state=None\) leaves what was fitted",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_is_refused_with_the_way_out(tmp_path, name):
    model, message = REFUSED[name]
    model.fit(X, y)
    (tmp_path / "m").write_bytes(b"old")
    with pytest.raises(NotStorableError, match=message):
        gbmap.save(model, tmp_path / "m")
    assert os.listdir(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == b"old"


def test_the_ways_out_lead_out(tmp_path):
    model = regressor(random_state=np.random.RandomState(0)).fit(X, y)
    expected = model.predict(X)
    assert_same_bits(reloaded(model.set_params(random_state=None), tmp_path).predict(X), expected)
    search = GridSearchCV(regressor(), {"beta": [1.0, 5.0]}, cv=2).fit(X, y)
    assert_same_bits(reloaded(search.best_estimator_, tmp_path).predict(X), search.predict(X))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (FunctionTransformer(np.abs), r"FunctionTransformer\.func holds a numpy\.ufunc"),
        (Pipeline([("scale", StandardScaler())], memory="folder"), "a pipeline with a cache"),
    ],
)
def test_steps_that_would_run_code_from_elsewhere_are_refused(tmp_path, step, reason, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((NotStorableError, ValueError), match=reason):
        gbmap.save(make_pipeline(step, regressor()).fit(X, y), "m")


@pytest.mark.parametrize("thing", [None, {}, "model", np.zeros(3), regressor, [regressor()]])
def test_other_things_than_models_are_refused(tmp_path, thing):
    with pytest.raises(
        TypeError, match="model must be a GBMAP, a DriftDetector, a DriftMonitor, a pipeline of one"
    ):
        gbmap.save(thing, tmp_path / "m")


# --- the place of the file ------------------------------------------------------------------------


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        gbmap.save(regressor(), tmp_path / "none" / "m.gbmap")
    assert caught.value.filename == str(tmp_path / "none" / "m.gbmap")
    with pytest.raises(FileNotFoundError):
        gbmap.load(tmp_path / "none")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    for call in (
        lambda: gbmap.save(regressor(), tmp_path / "folder"),
        lambda: gbmap.load(tmp_path / "folder"),
    ):
        with pytest.raises(IsADirectoryError) as caught:
            call()
        assert caught.value.filename == str(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_place_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(name, *arguments, **keywords):
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError) as caught:
        gbmap.save(regressor(), tmp_path / "m.gbmap")
    monkeypatch.undo()
    assert caught.value.filename == str(tmp_path / "m.gbmap")


KEEP_SAVING = """
ready.set()
while True:
    for model in models:
        save(model, path)
"""


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork.* was called:RuntimeWarning")  # JAX, if a test has loaded it
def test_a_process_killed_while_it_saves_leaves_a_whole_file(tmp_path, context, start):
    """Only a hidden file with the end .tmp may be left beside it."""
    models = [regressor(n_components=n).fit(X, y) for n in (1, 3)]
    answers = [model.predict(X).tobytes() for model in models]
    target = tmp_path / "m.gbmap"
    gbmap.save(models[0], target)
    for delay in np.random.default_rng(0).uniform(0, 0.02, size=8):
        ready = context.Event()
        names = {"ready": ready, "models": models, "save": gbmap.save, "path": target}
        child = start(exec, KEEP_SAVING, names)
        assert ready.wait(60)
        time.sleep(delay)
        child.kill()
        child.join()
        assert gbmap.load(target).predict(X).tobytes() in answers
        others = [name for name in os.listdir(tmp_path) if name != target.name]
        assert all(name.startswith(".gbmap-") and name.endswith(".tmp") for name in others)


# --- golden files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((HERE / "golden").glob("*.gbmap")), ids=lambda path: path.stem)
def test_files_of_every_format_so_far_still_give_the_same_answers(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = gbmap.load(path)
    from_script = golden_script()
    rows_of = {"pipeline": from_script.frame, "table": from_script.table}
    rows = rows_of.get(path.stem.split("-", 2)[2], from_script.rows)()
    expected = dict(np.load(path.with_suffix(".npz")))
    answers = from_script.answers(model, rows)
    assert list(answers) == list(expected)
    for name, answer in answers.items():
        if answer.dtype.kind == "f":  # other processors may round the last digits in another way
            np.testing.assert_allclose(answer, expected[name], rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(answer, expected[name])


def golden_script():
    specification = importlib.util.spec_from_file_location("make_golden", HERE / "make_golden.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_format_has_golden_files():
    names = {path.stem for path in (HERE / "golden").glob("*.gbmap")}
    kinds = {name.split("-", 2)[2] for name in names}
    assert kinds == {"regressor", "classifier", "targets", "pipeline", "detector", "table"}
    assert names == {f"format-{number}-{kind}" for number in range(1, FORMAT + 1) for kind in kinds}


# --- forged states --------------------------------------------------------------------------------


def stored_state(model):
    content, arrays = encode(model, _REGISTRY)
    return json.loads(json.dumps(content)), arrays


def instances_in(content):
    """All [class, members] pairs of some content."""
    if isinstance(content, dict):
        if "instance" in content:
            yield content["instance"]
        for item in content.values():
            yield from instances_in(item)
    elif isinstance(content, list):
        for item in content:
            yield from instances_in(item)


def load_forged(content, arrays, path):
    write(path, Container(content, arrays, {}))
    return gbmap.load(path)


@cache
def own_model(nth):
    """Return the nth of some models, and rows for it."""
    if nth == 0:
        return classifier(init=classifier()).fit(IRIS, LABELS["text"]), IRIS
    if nth == 1:
        return DriftDetector(scaled(regressor(loss=losses.Huber(1.0))), cv=2, random_state=0).fit(X, y), X
    table = golden_script().table()
    return TableModel("level", n_components=2, reference_rows=10).fit(table), table


# Members that no answer needs, or that have a default. Without the last three a model is an unfitted one.
SPARE = {
    "_sklearn_version", "_seed", "_n_features_out", "n_iter_", "validation_loss_curve_", "faithfulness_",
    "n_samples_seen_", "var_", "threshold_", "offset_", "verbose", "validation_loss", "converged",
    "n_evaluations", "n_iter", "delta", "n_missing", "levels", "parts", "ensemble_", "_drifter", "model_",
    "n_refinements_",
}  # fmt: skip


@pytest.mark.parametrize("nth", [0, *(pytest.param(nth, marks=pytest.mark.nightly) for nth in (1, 2))])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_a_state_without_one_of_its_members_is_refused(tmp_path, nth):
    """Or, for scikit-learn's own steps and for what no answer needs, fails or answers without harm."""
    model, rows = own_model(nth)
    sound, arrays = stored_state(model)
    for name, members in list(instances_in(sound)):
        for member in list(members):
            value = members.pop(member)
            try:
                loaded = load_forged(sound, arrays, tmp_path / "m")
            except ModelFileError:
                continue
            finally:
                members[member] = value
            spare = {*SPARE, *_REGISTRY.added.get(name, ())}
            assert member in spare or name.startswith("sklearn."), f"{name}.{member}"
            with contextlib.suppress(AttributeError, TypeError, ValueError):
                loaded.predict(rows)


FORGED_MEMBERS = [
    ("GBMAPClassifier", "n_components", -1),
    ("GBMAPClassifier", "n_components", "3"),
    ("GBMAPClassifier", "n_features_in_", 5),
    ("GBMAPClassifier", "n_components_", 10**30),
    ("GBMAPClassifier", "ensemble_", 7),
    ("GBMAPClassifier", "history_", [7]),
    ("GBMAPClassifier", "init_", {"type": "float"}),
    ("GBMAPClassifier", "classes_", ["a", "b", "c"]),
    ("GBMAPClassifier", "mean_", [0.0, 0.0, 0.0, 0.0]),
    ("GBMAPClassifier", "predict", {"type": "str"}),
    ("GBMAPClassifier", "__class__", {"type": "str"}),
    ("Ensemble", "n_outputs", 0),
    ("Ensemble", "n_outputs", 2.0),
    ("Ensemble", "n_outputs", True),
    ("Ensemble", "n_outputs", 2**62),
    ("Ensemble", "n_outputs", 2),
    ("Ensemble", "activation", "relu"),
    ("Ensemble", "activation", ["softplus"]),
    ("Ensemble", "beta", 5.0),
    ("Ensemble", "more", 1),
    ("StageRecord", "more", 1),
    ("StageRecord", "loss", "0.5"),
    ("StageRecord", "n_iter", {"tuple": []}),
]


@pytest.mark.parametrize(("name", "member", "value"), FORGED_MEMBERS)
def test_a_state_with_an_impossible_member_is_refused(tmp_path, name, member, value):
    model, _ = own_model(0)
    content, arrays = stored_state(model)
    next(members for cls, members in instances_in(content) if cls == name)[member] = value
    with pytest.raises(ModelFileError):
        load_forged(content, arrays, tmp_path / "m")


@pytest.mark.parametrize(
    ("loss", "member", "value"),
    [
        (losses.Hinge(), "width", "0.5"),
        (losses.Hinge(), "width", {"tuple": [0.5]}),
        (losses.LogLoss(), "degree", 2),
        (losses.LogLoss(), "log_odds_per_score", 9.0),
    ],
)
def test_a_loss_with_an_impossible_member_is_refused(tmp_path, loss, member, value):
    content, arrays = stored_state(classifier(loss=loss))
    dict(instances_in(content))[f"losses.{type(loss).__name__}"][member] = value
    with pytest.raises(ModelFileError):
        load_forged(content, arrays, tmp_path / "m")


FORGED_TABLES = [
    ("TableModel", "target", 7),
    ("TableModel", "test_size", 2.0),
    ("TableModel", "schema_", None),
    ("TableModel", "model_", 7),
    ("TableModel", "detector_", {"type": "str"}),
    ("TableModel", "scores_", {"dict": [["gbmap", 7]]}),
    ("TableModel", "n_fitted_", "1"),
    ("TableModel", "predict", 1),
    ("tables.Schema", "task", "regression"),
    ("tables.Schema", "task", ["classification"]),
    ("tables.Schema", "target_kind", "list"),
    ("tables.Schema", "columns", {"tuple": []}),
    ("tables.Schema", "columns", {"tuple": [7]}),
    ("tables.Schema", "target_form", 7),
    ("tables.Schema", "encoding", 7),
    ("tables.Column", "name", "other"),
    ("tables.Column", "form", 7),
    ("tables.Column", "reading", 7),
    ("tables.Column", "tells", 7),
    ("tables.Column", "name", 7),
    ("tables.Column", "kind", "dropped"),
    ("tables.Column", "kind", {"dict": []}),
    ("tables.Column", "parts", {"tuple": ["century"]}),
    ("tables.Column", "levels", {"tuple": [{"float": "nan"}]}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize(("name", "member", "value"), FORGED_TABLES)
def test_a_model_of_a_table_with_an_impossible_member_is_refused(tmp_path, name, member, value):
    content, arrays = stored_state(gbmap.load(HERE / "golden" / "format-1-table.gbmap"))
    next(members for cls, members in instances_in(content) if cls == name)[member] = value
    with pytest.raises(ModelFileError):
        load_forged(content, arrays, tmp_path / "m")


@pytest.mark.parametrize("shape", [(2, 5), (7, 4), (0, 4), (6, 4, 1), (24,)])
def test_weights_of_another_shape_are_refused(tmp_path, shape):
    model, _ = own_model(0)
    content, arrays = stored_state(model)
    weights = next(members for cls, members in instances_in(content) if cls == "Ensemble")["weights"]
    arrays[weights["array"]] = np.zeros(shape)
    with pytest.raises(ModelFileError):
        load_forged(content, arrays, tmp_path / "m")


def test_learners_that_do_not_fill_their_last_stage_are_refused(tmp_path):
    model = classifier().fit(IRIS, SPECIES)
    model.ensemble_ = model.ensemble_[:-1]
    with pytest.raises(ValueError, match="do not lie stage by stage"):
        gbmap.save(model, tmp_path / "m")


@pytest.mark.parametrize("kind", ["f4", "i8", "?"])
def test_parameters_of_another_type_are_refused(tmp_path, kind):
    model, _ = own_model(0)
    content, arrays = stored_state(model)
    for name in ("weights", "offsets", "center"):
        forged = list(arrays)
        place = next(members for cls, members in instances_in(content) if cls == "Ensemble")[name]["array"]
        forged[place] = forged[place].astype(kind)
        with pytest.raises(ModelFileError):
            load_forged(content, forged, tmp_path / "m")


def test_a_function_in_a_forged_transformer_is_refused(tmp_path):
    content, arrays = stored_state(make_pipeline(FunctionTransformer(), regressor()).fit(X, y))
    steps = dict(instances_in(content))
    steps["sklearn.FunctionTransformer"]["func"] = {"type": "numpy.float64"}
    with pytest.raises(ModelFileError, match="FunctionTransformer with a function"):
        load_forged(content, arrays, tmp_path / "m")
    steps["sklearn.FunctionTransformer"]["func"] = None
    steps["sklearn.Pipeline"]["memory"] = "/elsewhere"
    with pytest.raises(ModelFileError, match="a pipeline with a cache"):
        load_forged(content, arrays, tmp_path / "m")


def test_the_message_about_a_file_of_a_newer_gbmap_names_its_versions(tmp_path):
    content, arrays = stored_state(regressor().fit(X, y))
    content["instance"][0] = "GBMAPTransformer"
    write(tmp_path / "m", Container(content, arrays, {"gbmap": "99.1"}))
    with pytest.raises(ModelFileError, match=r"unknown class 'GBMAPTransformer'; it says .*'gbmap': '99\.1'"):
        gbmap.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (regressor(), "GBMAPRegressor"),
        (make_pipeline(StandardScaler(), classifier()), "GBMAPClassifier"),
        (DriftDetector(), "DriftDetector"),
        (TableModel("y"), "TableModel"),
        (gbmap.GBMAPRegressorCV(), "GBMAPRegressorCV"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_setting_that_this_version_does_not_know_is_refused_with_the_way_out(tmp_path, model, name):
    content, arrays = stored_state(model)
    dict(instances_in(content))[name]["temperature"] = 2.0
    write(tmp_path / "m", Container(content, arrays, {"gbmap": "99.1"}))
    with pytest.raises(ModelFileError) as caught:
        gbmap.load(tmp_path / "m")
    assert str(caught.value) == (
        f"{tmp_path / 'm'} holds the setting 'temperature' of {name}, which gbmap {gbmap.__version__} does "
        "not know; install the version that wrote it, '99.1', or a later one."
    )


def test_an_attribute_that_would_not_be_loaded_is_not_saved(tmp_path):
    model = regressor()
    model.notes = "the one for Monday"
    with pytest.raises(NotStorableError, match="the setting 'notes' of GBMAPRegressor, which is none of its"):
        gbmap.save(model, tmp_path / "m")
    del model.notes
    model.notes_ = "the one for Monday"
    assert reloaded(model, tmp_path).notes_ == "the one for Monday"


SAVED = {
    "too many keys": (dict.fromkeys(range(1001)), "more than 1000 keys that are no texts"),
    "a key that is a tuple": ({(1, 2): 3}, "a key that is neither"),
    "an instance in a list": ([StandardScaler()], "an instance within a list"),
    "a huge number": (1 << 400, "more than 300 bits"),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_would_not_be_loaded_is_not_saved(tmp_path, name):
    value, reason = SAVED[name]
    model = regressor()
    model.notes_ = value
    with pytest.raises(NotStorableError, match=reason):
        gbmap.save(model, tmp_path / "m")


def test_a_chain_of_initial_models_may_be_long(tmp_path):
    model = regressor(n_components=1)
    for _ in range(30):
        model = regressor(n_components=1, init=FrozenEstimator(model))
    loaded, length = reloaded(model, tmp_path), 0
    while loaded.init is not None:
        loaded, length = loaded.init.estimator, length + 1
    assert length == 30


# --- other ways to store a model ------------------------------------------------------------------


EVERYTHING = {
    "init": lambda: (regressor(init=LinearRegression()), X, y),
    "classes": lambda: (classifier(), IRIS, LABELS["text"]),
    "pipeline": lambda: (make_pipeline(StandardScaler(), regressor()), X, y),
    "detector": lambda: (DriftDetector(regressor(), cv=2, random_state=0), X, y),
    "surrogate": lambda: (
        DriftDetector(LinearRegression(), cv=2, surrogate=regressor(), random_state=0), X, y,
    ),
}  # fmt: skip


@pytest.fixture(params=EVERYTHING)
def fresh(request):
    """A fitted model that nothing has been asked of, and rows for it."""
    model, rows, target = EVERYTHING[request.param]()
    return model.fit(rows, target), rows


def test_pickle_works_too(fresh):
    model, rows = fresh
    assert_same_model(pickle.loads(pickle.dumps(model)), model, rows)


def test_skops_works_too(fresh, tmp_path):
    io = pytest.importorskip("skops.io")
    model, rows = fresh
    io.dump(model, tmp_path / "m.skops")
    unknown = io.get_untrusted_types(file=tmp_path / "m.skops")
    assert all(name.startswith(("gbmap.", "numpy.")) for name in unknown), unknown
    assert_same_model(io.load(tmp_path / "m.skops", trusted=unknown), model, rows)


def test_the_format_is_as_documented(tmp_path):
    """A reader of a dozen lines, by the guide alone, finds the weights."""
    model = regressor().fit(X, y)
    gbmap.save(model, tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    assert data[:8] == b"\x89GBMAP\r\n"
    version, length = struct.unpack_from("<IQ", data, 8)
    assert version == 1
    header = json.loads(data[20 : 20 + length])
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    start, arrays = 20 + length, []
    for kind, shape in header["arrays"]:
        array = np.frombuffer(data, kind, int(np.prod(shape)), start).reshape(shape)
        arrays.append(array)
        start += array.nbytes + -array.nbytes % 64
    name, members = header["content"]["instance"]
    assert name == "GBMAPRegressor"
    assert members["beta"] == 5.0
    weights = members["ensemble_"]["instance"][1]["weights"]["array"]
    np.testing.assert_array_equal(arrays[weights], model.ensemble_.weights)
