"""Fits that are killed and go on from their file: the same model, to the bit."""

import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor, losses
from gbmap._files.codec import encode
from gbmap._files.container import Container, write
from gbmap._fit import refining
from gbmap.estimators import checkpoint as checkpoints
from gbmap.estimators.checkpoint import Checkpoint, identity_of
from gbmap.persistence import ModelFileError

X, y = make_friedman1(400, random_state=0)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:os.fork.* was called:RuntimeWarning"),  # JAX, if a test has loaded it
]


def assert_same(model, expected):
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_array_equal(model.loss_curve_, expected.loss_curve_)
    np.testing.assert_array_equal(model.feature_importances_, expected.feature_importances_)


class Killed(BaseException):
    """What stands for a sudden end within this process."""


def fit_until(model, path, stage, monkeypatch, *data):
    """Fit until the file holds so many stages, then end at once, without any cleaning up."""
    write, count = checkpoints.write, 0

    def write_and_die(*arguments):
        nonlocal count
        write(*arguments)
        count += 1
        if count == stage:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write", write_and_die)
        with pytest.raises(Killed):
            model.fit(*(data or (X, y)), checkpoint=path)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_process_killed_at_random_moments_ends_with_the_same_model(tmp_path, start, early_stopping):
    path, rng = tmp_path / "fit.gbmap", np.random.default_rng(early_stopping)
    model = GBMAPRegressor(12, random_state=0, early_stopping=early_stopping)
    kills = 0
    for _ in range(6):
        before = path.stat().st_mtime_ns if path.exists() else 0
        child = start(model.fit, X, y, checkpoint=path)
        while child.is_alive() and (not path.exists() or path.stat().st_mtime_ns == before):
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.1))
        if not child.is_alive():
            assert child.exitcode == 0
            break
        child.kill()
        child.join()
        kills += 1
    assert kills > 0
    assert not hasattr(model, "ensemble_")
    expected = clone(model).fit(X, y)
    assert_same(model.fit(X, y, checkpoint=path), expected)
    assert [each.name for each in tmp_path.iterdir() if not each.name.endswith(".tmp")] == ["fit.gbmap"]


@pytest.mark.parametrize(
    "settings",
    [{}, {"init": Ridge()}, {"loss": "huber"}, {"standardize": False}, {"n_init": 2}],
    ids=lambda settings: next(iter(settings), "plain"),
)
def test_a_fit_goes_on_where_it_ended(tmp_path, monkeypatch, settings):
    expected = GBMAPRegressor(6, random_state=0, **settings).fit(X, y)
    for stage in (1, 5):
        path = tmp_path / f"{stage}.gbmap"
        fit_until(GBMAPRegressor(6, random_state=0, **settings), path, stage, monkeypatch)
        assert_same(GBMAPRegressor(6, random_state=0, **settings).fit(X, y, checkpoint=path), expected)


def test_classes_weights_and_validation_rows_go_on_too(tmp_path, monkeypatch):
    A, labels = load_iris(return_X_y=True)
    names, path = np.array(["s", "v", "g"])[labels], tmp_path / "fit.gbmap"
    weight = np.arange(150) % 3 + 1.0
    fit_until(GBMAPClassifier(4, random_state=0), path, 2, monkeypatch, A, names, weight)
    again = GBMAPClassifier(4, random_state=0).fit(A, names, weight, checkpoint=path)
    expected = GBMAPClassifier(4, random_state=0).fit(A, names, weight)
    np.testing.assert_array_equal(again.predict_proba(A), expected.predict_proba(A))


def test_without_a_seed_the_one_in_the_file_counts(tmp_path, monkeypatch):
    path = tmp_path / "fit.gbmap"
    model = GBMAPRegressor(6, refine=False, early_stopping=True)
    fit_until(model, path, 3, monkeypatch)
    again = clone(model).fit(X, y, checkpoint=path)
    np.testing.assert_array_equal(again.ensemble_.weights[:3], model.ensemble_.weights)
    assert again._seed == model._seed


def test_a_finished_fit_is_not_repeated_and_more_learners_can_be_added(tmp_path):
    path = tmp_path / "fit.gbmap"
    GBMAPRegressor(4, random_state=0).fit(X, y, checkpoint=path)
    before = path.stat().st_mtime_ns
    assert_same(
        GBMAPRegressor(4, random_state=0).fit(X, y, checkpoint=path),
        GBMAPRegressor(4, random_state=0).fit(X, y),
    )
    assert path.stat().st_mtime_ns == before
    assert_same(
        GBMAPRegressor(7, random_state=0).fit(X, y, checkpoint=path),
        GBMAPRegressor(7, random_state=0).fit(X, y),
    )
    with pytest.raises(ValueError, match="n_components=3 must be at least 7"):
        GBMAPRegressor(3, random_state=0).fit(X, y, checkpoint=path)


def test_a_fit_that_stopped_early_stays_stopped(tmp_path):
    path, settings = (
        tmp_path / "fit.gbmap",
        {"early_stopping": True, "n_iter_no_change": 1, "random_state": 0},
    )
    noise = np.random.default_rng(0).normal(size=len(X))
    first = GBMAPRegressor(30, **settings).fit(X, noise, checkpoint=path)
    assert first.n_components_ < 30
    again = GBMAPRegressor(30, **settings).fit(X, noise, checkpoint=path)
    np.testing.assert_array_equal(again.ensemble_.weights, first.ensemble_.weights)


@pytest.mark.parametrize(
    ("model", "rows", "target"),
    [
        (GBMAPRegressor(4, beta=2.0, random_state=0), X, y),
        (GBMAPRegressor(4, random_state=0), X + 1e-9, y),
        (GBMAPRegressor(4, random_state=0), X, y + 1e-9),
        (GBMAPRegressor(4, random_state=0), X[:-1], y[:-1]),
    ],
    ids=["settings", "rows", "target", "fewer rows"],
)
def test_the_file_of_another_fit_is_refused(tmp_path, model, rows, target):
    path = tmp_path / "fit.gbmap"
    GBMAPRegressor(4, random_state=0).fit(X, y, checkpoint=path)
    with pytest.raises(ValueError, match=r"checkpoint must name the file of a fit with the same settings"):
        model.fit(rows, target, checkpoint=path)


def linear(coefficient):
    return FrozenEstimator(LinearRegression().fit(X, coefficient * X[:, 0]))


OTHERS = {
    "frozen models": ({"init": linear(1)}, {"init": linear(-1)}),
    "lambdas": ({"init": lambda rows: rows[:, 0]}, {"init": lambda rows: rows[:, 1]}),
    "partials": (
        {"init": partial(np.take, indices=0, axis=1)},
        {"init": partial(np.take, indices=1, axis=1)},
    ),
    "seeds": ({"random_state": 0}, {"random_state": 1}),
    "random states": (
        {"random_state": np.random.RandomState(0)},
        {"random_state": np.random.RandomState(1)},
    ),
    "no seed": ({"random_state": None}, {"random_state": 0}),
    "losses": ({"loss": losses.Huber(1.0)}, {"loss": losses.Huber(2.0)}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_fit_does_not_go_on(tmp_path, name):
    first, second = OTHERS[name]
    GBMAPRegressor(1, **{"random_state": 0, **first}).fit(X, y, checkpoint=tmp_path / "fit")
    with pytest.raises(ValueError, match="checkpoint must name the file of a fit with the same settings"):
        GBMAPRegressor(2, **{"random_state": 0, **second}).fit(X, y, checkpoint=tmp_path / "fit")


@pytest.mark.parametrize(
    "settings",
    [
        lambda: {"init": linear(1)},
        lambda: {"init": lambda rows: rows[:, 0]},
        lambda: {"random_state": np.random.RandomState(7)},
    ],
    ids=["frozen model", "lambda", "random state"],
)
def test_the_same_fit_goes_on_though_its_settings_are_made_anew(tmp_path, settings):
    GBMAPRegressor(1, **{"random_state": 0, **settings()}).fit(X, y, checkpoint=tmp_path / "fit")
    again = GBMAPRegressor(2, **{"random_state": 0, **settings()}).fit(X, y, checkpoint=tmp_path / "fit")
    assert_same(again, GBMAPRegressor(2, **{"random_state": 0, **settings()}).fit(X, y))


def test_columns_of_other_names_are_another_fit(tmp_path):
    pd = pytest.importorskip("pandas")
    names = [f"x{k}" for k in range(X.shape[1])]
    model = GBMAPRegressor(1, monotonic_cst={"x0": 1}, random_state=0)
    model.fit(pd.DataFrame(X, columns=names), y, checkpoint=tmp_path / "fit")
    with pytest.raises(ValueError, match="checkpoint must name the file of a fit with the same settings"):
        model.fit(pd.DataFrame(X, columns=names[::-1]), y, checkpoint=tmp_path / "fit")


def test_a_setting_that_no_later_fit_could_know_again_is_named(tmp_path):
    init = partial(np.dot, threading.Lock())
    with pytest.raises(ValueError, match=r"checkpoint must be None with init of type partial: .*; pass an"):
        GBMAPRegressor(1, init=init).fit(X, y, checkpoint=tmp_path / "fit")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_fit_killed_while_it_refines_ends_with_the_same_model(tmp_path, monkeypatch, early_stopping):
    settings = {"random_state": 0, "refine": 5, "early_stopping": early_stopping}
    expected = GBMAPRegressor(3, **settings).fit(X, y)
    assert expected.n_refinements_.all()

    def die(*arguments, **settings):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(refining, "refine", die)
        with pytest.raises(Killed):
            GBMAPRegressor(3, **settings).fit(X, y, checkpoint=tmp_path / "fit")
    again = GBMAPRegressor(3, **settings).fit(X, y, checkpoint=tmp_path / "fit")
    assert_same(again, expected)
    with monkeypatch.context() as patch:  # what is finished is in the file
        patch.setattr(refining, "refine", die)
        once_more = GBMAPRegressor(3, **settings).fit(X, y, checkpoint=tmp_path / "fit")
    assert_same(once_more, expected)
    np.testing.assert_array_equal(once_more.n_refinements_, expected.n_refinements_)
    if not early_stopping:
        more = GBMAPRegressor(4, **settings).fit(X, y, checkpoint=tmp_path / "fit")
        assert_same(more, GBMAPRegressor(4, **settings).fit(X, y))


def test_what_boosting_does_not_depend_on_may_change(tmp_path, monkeypatch):
    path = tmp_path / "fit.gbmap"
    fit_until(GBMAPRegressor(5, random_state=0, n_jobs=1), path, 2, monkeypatch)
    assert_same(
        GBMAPRegressor(5, random_state=0, n_jobs=2).fit(X, y, checkpoint=path),
        GBMAPRegressor(5, random_state=0).fit(X, y),
    )


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "fit.gbmap"
    GBMAPRegressor(2, random_state=0).fit(X, y, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ModelFileError, match=r"fit.gbmap is damaged"):
        GBMAPRegressor(2, random_state=0).fit(X, y, checkpoint=path)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": -1},
        {"seed": "0"},
        {"history": []},
        {"history": [None] * 3},
        {"ensemble": None},
        {"identity": 7},
        {"refined": 7},
    ],
    ids=str,
)
def test_a_forged_file_is_refused(tmp_path, change):
    path = tmp_path / "fit.gbmap"
    model = GBMAPRegressor(2, random_state=0).fit(X, y, checkpoint=path)
    forged = replace(Checkpoint.open(path, identity_of(model, 0, [X, y, None])).progress, **change)
    unchecked = replace(checkpoints._REGISTRY, check=lambda instance: None)
    write(path, Container(*encode(forged, unchecked), {}))
    with pytest.raises(ModelFileError, match=r"fit.gbmap is damaged, or no checkpoint"):
        GBMAPRegressor(2, random_state=0).fit(X, y, checkpoint=path)


def test_warm_start_of_a_fitted_model_takes_no_checkpoint(tmp_path):
    model = GBMAPRegressor(2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint must be None"):
        model.set_params(n_components=3).fit(X, y, checkpoint=tmp_path / "fit.gbmap")


def test_it_works_within_a_pipeline(tmp_path):
    path = tmp_path / "fit.gbmap"
    model = make_pipeline(StandardScaler(), GBMAPRegressor(3, random_state=0))
    model.fit(X, y, gbmapregressor__checkpoint=path)
    assert path.exists()
