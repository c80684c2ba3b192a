"""How a fit is steered, watched, stopped, continued, copied and put into scikit-learn's machinery."""

import copy
import logging
import pickle
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from threading import Barrier, Event

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info, threadpool_limits

import gbmap
from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fit.problem import FitProblem
from gbmap._rows.memory import MemoryRows
from gbmap.losses import Loss


def problem(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = 2 * np.abs(X[:, 0]) - X[:, 1] + np.cos(2 * X[:, 2]) + 0.3 * rng.standard_normal(n)
    return X, y


def regressor(**options):
    return GBMAPRegressor(**{"n_components": 5, "knots": 0, "refine": False, "random_state": 0, **options})


def classifier(**options):
    return GBMAPClassifier(**{"n_components": 5, "knots": 0, "refine": False, "random_state": 0, **options})


def model_and_data(kind, **options):
    X, y = problem()
    if kind == "one target":
        return regressor(**options), X, y
    if kind == "two targets":
        return regressor(**options), X, np.column_stack([y, X[:, 3] ** 2])
    return classifier(**options), X, np.digitize(y, np.quantile(y, [0.3, 0.6])[: int(kind[0]) - 1])


KINDS = ["one target", "two targets", "2 classes", "3 classes"]


def assert_same_model(first, second):
    for name in ("intercepts", "signs", "weights", "offsets", "beta", "outputs"):
        assert_array_equal(getattr(first.ensemble_, name), getattr(second.ensemble_, name), err_msg=name)
    assert_array_equal(first.loss_curve_, second.loss_curve_)
    assert_array_equal(first.feature_importances_, second.feature_importances_)
    assert first.n_components_ == second.n_components_
    # As texts: NaN, the loss of no rows, equals itself then.
    assert [repr(astuple(each)) for each in first.history_] == [
        repr(astuple(each)) for each in second.history_
    ]


# --- validation and early stopping ----------------------------------------------------------------


def overfitting_data():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 8))
    return X, np.abs(X[:, 0]) + rng.standard_normal(60)


def test_validation_rows_are_watched_without_stopping():
    X, y = overfitting_data()
    model = regressor(n_components=12).fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert model.n_components_ == 12
    assert model.validation_loss_curve_.shape == (13,)
    curve = [np.mean(y[40:] ** 2)] + [np.mean((y[40:] - f) ** 2) for f in model.staged_predict(X[40:])]
    assert_allclose(model.validation_loss_curve_, curve, rtol=1e-9)
    assert_same_model_apart_from_watching(model, regressor(n_components=12).fit(X[:40], y[:40]))


def test_a_validation_row_of_weight_two_counts_as_two():
    X, y = overfitting_data()
    weight = np.arange(20) % 3
    twice = np.repeat(np.arange(40, 60), weight)
    settings = {"n_components": 12, "early_stopping": True}
    weighed = regressor(**settings)
    weighed.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:], sample_weight_val=weight)
    repeated = regressor(**settings).fit(X[:40], y[:40], X_val=X[twice], y_val=y[twice])
    assert_allclose(weighed.validation_loss_curve_, repeated.validation_loss_curve_, rtol=1e-9)
    assert weighed.n_components_ == repeated.n_components_


def assert_same_model_apart_from_watching(first, second):
    assert_array_equal(first.ensemble_.weights, second.ensemble_.weights)
    assert_array_equal(first.loss_curve_, second.loss_curve_)
    assert second.validation_loss_curve_ is None


@pytest.mark.parametrize("patience", [1, 3])
def test_early_stopping_keeps_the_best_prefix(patience):
    X, y = overfitting_data()
    held_out = {"X_val": X[40:], "y_val": y[40:]}
    full = regressor(n_components=30).fit(X[:40], y[:40], **held_out)
    watcher = Watcher()
    model = regressor(n_components=30, early_stopping=True, n_iter_no_change=patience)
    model.set_callbacks(watcher).fit(X[:40], y[:40], **held_out)
    curve, best = full.validation_loss_curve_, 0
    for stage in range(31):
        best = stage if curve[stage] < curve[best] else best
        if stage - best >= patience:
            break
    assert 0 < best < 30 - patience
    begun = [event for event in watcher.events if event[:2] == ("begin", "stage")]
    assert len(begun) == best + patience
    assert model.n_components_ == best
    assert_array_equal(model.validation_loss_curve_, curve[: best + 1])
    assert_array_equal(model.loss_curve_, full.loss_curve_[: best + 1])
    assert_array_equal(model.ensemble_.weights, full.ensemble_.weights[:best])
    assert model.transform(X).shape == (60, best)
    assert len(model.get_feature_names_out()) == best


@pytest.mark.parametrize("kind", KINDS)
def test_early_stopping_on_rows_set_aside(kind):
    model, X, y = model_and_data(kind, early_stopping=True, validation_fraction=0.3, n_components=8)
    model.fit(X, y)
    curve = model.validation_loss_curve_
    assert curve.shape == model.loss_curve_.shape == (model.n_components_ + 1,)
    assert curve.argmin() == model.n_components_
    assert_same_model(model, clone(model).fit(X, y))
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(other.validation_loss_curve_[:2], curve[:2])


def test_early_stopping_trains_on_the_other_rows_only():
    X, y = problem()
    model = regressor(early_stopping=True, validation_fraction=0.5, n_iter_no_change=100).fit(X, y)
    # f_0 = 0, so the first values are the mean squares of the two halves.
    assert_allclose(model.loss_curve_[0] + model.validation_loss_curve_[0], 2 * np.mean(y**2), rtol=1e-9)
    assert model.loss_curve_[0] != model.validation_loss_curve_[0]


def test_rows_of_weight_zero_do_not_count_among_those_set_aside():
    X, y = problem()
    weight = np.arange(len(y)) % 2
    spoiled = np.where(weight > 0, y, 1e6)
    model = regressor(early_stopping=True, validation_fraction=0.5).fit(X, spoiled, sample_weight=weight)
    assert model.loss_curve_[0] < 100
    assert model.validation_loss_curve_[0] < 100


@pytest.mark.parametrize("seed", range(5))
def test_rows_set_aside_are_stratified_by_class(seed):
    X, _ = problem(100)
    y = np.arange(100) < 10
    model = classifier(early_stopping=True, random_state=seed, init=lambda X: np.full(len(X), 1.0))
    model.fit(X, y)
    # One of the ten rows is positive; f_0 = 1 gives it the loss log(1 + 1/e).
    expected = 0.1 * np.log1p(np.exp(-1)) + 0.9 * np.log1p(np.exp(1))
    assert_allclose(model.validation_loss_curve_[0], expected, rtol=1e-9)


def test_early_stopping_keeps_at_least_one_learner():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((40, 6)), rng.standard_normal(40)
    model = regressor(early_stopping=True, n_iter_no_change=1, random_state=3)
    model.fit(X, y, X_val=X, y_val=-y)
    assert model.n_components_ == 1
    assert model.transform(X).shape == (40, 1)


def test_validation_rows_pass_through_init():
    X, y = overfitting_data()
    model = regressor(init=LinearRegression()).fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    f_0 = LinearRegression().fit(X[:40], y[:40]).predict(X[40:])
    assert_allclose(model.validation_loss_curve_[0], np.mean((y[40:] - f_0) ** 2), rtol=1e-9)
    last = np.mean((y[40:] - model.predict(X[40:])) ** 2)
    assert_allclose(model.validation_loss_curve_[-1], last, rtol=1e-9)


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_warm_start_goes_on_to_the_bits_of_one_long_fit(kind, dtype):
    model, X, y = model_and_data(kind, n_components=6)
    X = X.astype(dtype)
    long = clone(model).fit(X, y)
    model.set_params(warm_start=True)
    for m in (1, 4, 6):
        model.set_params(n_components=m).fit(X, y)
    assert_same_model(model, long)
    assert_array_equal(model.transform(X), long.transform(X))


def test_warm_start_goes_on_with_weights_init_and_the_identity():
    X, y = problem()
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    for options in ({"init": LinearRegression()}, {"activation": "identity"}, {"standardize": False}):
        long = regressor(**options).fit(X, y, sample_weight=weight)
        model = regressor(n_components=2, warm_start=True, **options).fit(X, y, sample_weight=weight)
        model.set_params(n_components=5).fit(X, y, sample_weight=weight)
        assert_same_model(model, long)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("state", [None, np.random.RandomState(5)])
@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_goes_on_exactly_without_a_fixed_seed(kind, state):
    model, X, y = model_and_data(kind, random_state=state, warm_start=True, n_components=2)
    model.fit(X, y)
    at_once = copy.deepcopy(model).set_params(n_components=5).fit(X, y)
    for m in (3, 5):
        model.set_params(n_components=m).fit(X, y)
    assert_same_model(model, at_once)


@pytest.mark.parametrize("state", [0, None])
def test_warm_start_with_early_stopping_keeps_the_rows_it_set_aside(state):
    X, y = problem()
    model = regressor(
        n_components=2, early_stopping=True, n_iter_no_change=100, validation_fraction=0.5,
        warm_start=True, random_state=state, l2_regularization=1.0,
    )  # fmt: skip
    model.fit(X, y)
    at_once = copy.deepcopy(model).set_params(n_components=4).fit(X, y)
    model.set_params(n_components=3).fit(X, y)
    model.set_params(n_components=4).fit(X, y)
    assert_array_equal(model.ensemble_.weights, at_once.ensemble_.weights)
    assert_array_equal(model.validation_loss_curve_, at_once.validation_loss_curve_)


def test_warm_start_with_the_same_number_of_learners_changes_nothing():
    X, y = problem()
    model = regressor(warm_start=True).fit(X, y)
    before = copy.deepcopy(model)
    assert_same_model(model.fit(X, y), before)


def test_warm_start_goes_on_above_the_size_of_the_sample():
    X, y = problem(20_500)
    long = regressor(n_components=4).fit(X, y)
    model = regressor(n_components=2, warm_start=True).fit(X, y)
    assert_same_model(model.set_params(n_components=4).fit(X, y), long)


def test_without_warm_start_a_fit_starts_anew():
    X, y = problem()
    model = regressor().fit(X, -y)
    assert_same_model(model.fit(X, y), regressor().fit(X, y))


def test_a_refit_with_other_columns_forgets_the_first_fit():
    X, y = problem()
    model = regressor().fit(X, np.column_stack([y, y])).fit(X[:, :2], y)
    assert_same_model(model, regressor().fit(X[:, :2], y))
    assert model.predict(X[:, :2]).shape == y.shape


@pytest.mark.parametrize("kind", KINDS)
def test_staged_predictions_are_those_of_shorter_fits(kind):
    model, X, y = model_and_data(kind, n_components=4)
    stages = list(model.fit(X, y).staged_predict(X))
    assert len(stages) == 4
    for m, stage in enumerate(stages, 1):
        expected = clone(model).set_params(n_components=m).fit(X, y).predict(X)
        if kind.endswith("classes"):
            assert_array_equal(stage, expected)
        else:
            assert_allclose(stage, expected, rtol=1e-12, atol=1e-12)


def test_staged_predictions_start_from_init():
    X, y = problem()
    model = regressor(init=LinearRegression()).fit(X, y)
    assert_allclose(list(model.staged_predict(X))[-1], model.predict(X), rtol=1e-12)


STAGED = {"predict": "staged_predict", "decision_function": "staged_decision_function",
          "predict_proba": "staged_predict_proba"}  # fmt: skip


@pytest.mark.parametrize("init", [None, "model"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_last_stage_is_the_prediction_to_the_bit(n_classes, init):
    X, y = problem(101)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    start = None if init is None else LogisticRegression(max_iter=500)
    models = [classifier(n_components=m, init=start).fit(X, labels) for m in range(1, 6)]
    for method, staged in STAGED.items():
        stages = list(getattr(models[-1], staged)(X))
        assert_array_equal(stages[-1], getattr(models[-1], method)(X))
        for model, stage in zip(models, stages, strict=True):
            assert_allclose(stage, getattr(model, method)(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_last_stage_of_a_regression_is_the_prediction_to_the_bit(n_targets):
    X, y = problem(101)
    model = regressor(n_components=9, init=LinearRegression())
    model.fit(X, y if n_targets == 1 else np.column_stack([y, -(y**2)]))
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_stages_have_probabilities_where_the_model_has():
    X, y = problem()
    hinge = GBMAPClassifier(2, loss="hinge", random_state=0).fit(X, y > 0)
    assert not hasattr(hinge, "staged_predict_proba")
    assert_array_equal(list(hinge.staged_decision_function(X))[-1], hinge.decision_function(X))


def test_more_starts_lower_the_objective_of_the_first_stage():
    X, y = problem(200)

    def objective(n_init, seed):
        model = GBMAPRegressor(
            1, l2_regularization=1e-3, n_init=n_init, random_state=seed, standardize=False
        ).fit(X, y)
        learner = model.ensemble_
        ridge = 1e-3 * (np.sum(learner.weights**2) + np.sum(learner.offsets**2)) / 5
        return model.loss_curve_[1] + ridge

    pairs = np.array([[objective(1, seed), objective(8, seed)] for seed in range(10)])
    assert (pairs[:, 1] <= pairs[:, 0] * 1.001).all()
    assert pairs[:, 1].mean() < pairs[:, 0].mean()


# --- interrupts -----------------------------------------------------------------------------------


class Watcher:
    """A callback that counts the tasks, and acts at the end of one stage."""

    def __init__(self, action=None, stage=None, hook="end"):
        self.action, self.stage, self.hook = action, stage, hook
        self.events, self.fitted = [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.events.append(("begin", context.task_name, context.task_id))
        if context.task_name == "stage" and context.task_id == self.stage and self.hook == "begin":
            return self.action()
        return None

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(("end", context.task_name, context.task_id))
        if context.task_name == "stage":
            self.fitted.append(fitted_estimator)
            if context.task_id == self.stage and self.hook == "end":
                return self.action()
        return None


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", [0, None])
def test_an_interrupted_model_is_usable_and_goes_on_to_the_same_bits(kind, state):
    model, X, y = model_and_data(kind, random_state=state)
    watcher = Watcher(interrupt, stage=2)
    model.set_callbacks(watcher)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert watcher.events[-1] == "teardown"
    K = model.ensemble_.n_outputs
    assert model.n_components_ == 3
    assert model.transform(X).shape == (len(X), 3 * K)
    assert model.loss_curve_.shape == (4,)
    assert model.feature_importances_.shape == (4,)
    assert len(model.get_feature_names_out()) == 3 * K
    assert np.isfinite(model.score(X, y))
    model.set_callbacks()
    if state is not None:
        assert_same_model(model, clone(model).set_params(n_components=3).fit(X, y))
    whole = copy.deepcopy(model).set_params(warm_start=True).fit(X, y)
    assert whole.n_components_ == 5
    if state is not None:
        assert_same_model(whole, clone(model).fit(X, y))


def test_an_interrupt_before_the_first_learner_leaves_the_model_unfitted():
    X, y = problem()
    model = regressor().set_callbacks(Watcher(interrupt, stage=0, hook="begin"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "ensemble_")
    model.set_callbacks().set_params(warm_start=True).fit(X, y)
    assert_same_model(model, regressor().fit(X, y))


def interrupted(model, X, y):
    watcher = Watcher(interrupt, stage=0, hook="begin")
    try:
        model.set_callbacks(watcher).fit(X, y)
    finally:
        model.set_callbacks()
        assert watcher.events[-1] == "teardown"


def failing_model(X):
    raise RuntimeError("init fails")


FAILURES = {
    "bad y": (ValueError, lambda model, X, y: model.fit(X[:, :2], np.full(len(X), np.nan))),
    "bad X": (ValueError, lambda model, X, y: model.fit(np.full((len(X), 2), np.inf), y + 100)),
    "bad X_val": (ValueError, lambda model, X, y: model.fit(X[:, :2], y, X_val=X[:, :1], y_val=y)),
    "init": (RuntimeError, lambda model, X, y: model.set_params(init=failing_model).fit(X[:, :2], y)),
    "interrupt": (KeyboardInterrupt, lambda model, X, y: interrupted(model, X[:, :2], y + 100)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("refine", [False, 3])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_refit_that_fails_leaves_the_earlier_fit_as_it_was(failure, refine):
    X, y = problem()
    model = regressor(n_components=2, refine=refine).fit(X, y, X_val=X, y_val=y)
    before = copy.deepcopy(model)
    error, refit = FAILURES[failure]
    with pytest.raises(error):
        refit(model, X, y)
    model.set_params(init=None)
    assert vars(model).keys() == vars(before).keys()
    assert_same_model(model, before)
    assert model.n_features_in_ == 4
    assert_array_equal(model.predict(X), before.predict(X))
    again = model.set_params(warm_start=True, n_components=4).fit(X, y, X_val=X, y_val=y)
    whole = regressor(n_components=4, refine=refine).fit(X, y, X_val=X, y_val=y)
    assert_same_model(again, whole)


def test_a_warm_start_that_fails_leaves_the_earlier_fit_as_it_was():
    X, y = problem()
    model = regressor(n_components=2, refine=3, warm_start=True).fit(X, y)
    before = copy.deepcopy(model)
    with pytest.raises(KeyboardInterrupt):
        interrupted(model.set_params(n_components=4), 2 * X, y)
    assert vars(model).keys() == vars(before).keys()
    assert_same_model(model, before)
    assert_array_equal(model.scale_, before.scale_)


def test_an_interrupted_refit_with_learners_is_the_new_fit():
    X, y = problem()
    model = regressor().fit(X, y, X_val=X, y_val=y).set_callbacks(Watcher(interrupt, stage=1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:60, :2], y[:60] + 100)
    assert_same_model(model.set_callbacks(), regressor(n_components=2).fit(X[:60, :2], y[:60] + 100))
    assert model.validation_loss_curve_ is None
    assert (model.n_features_in_, len(model.scale_)) == (2, 2)


def test_an_interrupt_while_a_refit_is_summed_up_leaves_it_whole(monkeypatch, tmp_path):
    X, y = problem()
    model, (rows, target) = regressor().fit(X, y), (X[:60, :2], y[:60])
    summed_up = MemoryRows.mean_absolute_attribution

    def press(*args):
        monkeypatch.setattr(MemoryRows, "mean_absolute_attribution", summed_up)
        interrupt()

    monkeypatch.setattr(MemoryRows, "mean_absolute_attribution", press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, target)
    expected = regressor().fit(rows, target)
    assert_same_model(model, expected)
    assert_array_equal(model.feature_importances_, expected.feature_importances_)
    gbmap.save(model, tmp_path / "model.gbmap")


def test_an_interrupt_between_a_learner_and_its_record_leaves_neither(monkeypatch):
    X, y = problem()
    model = regressor().fit(X, y)
    before = copy.deepcopy(model)
    monkeypatch.setattr(FitProblem, "record", lambda *_: interrupt())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:60, :2], y[:60])
    assert vars(model).keys() == vars(before).keys()
    assert_same_model(model, before)


def test_a_warning_about_solves_that_are_stuck_does_not_ask_for_iterations():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        regressor(max_iter=2, tol=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="is stuck there: lower beta"):
        regressor(beta=1e5, max_iter=100_000).fit(*load_diabetes(return_X_y=True))


INTERRUPTED = """
    import os, signal, sys
    import numpy as np
    from gbmap import GBMAPRegressor
    from gbmap._rows.memory import MemoryRows

    rng = np.random.default_rng(0)
    X = rng.standard_normal(({n}, 10)).astype({dtype!r})
    y = np.abs(X).sum(axis=1)
    model = GBMAPRegressor(5, knots=0, random_state=0, n_jobs={n_jobs})
    sum_block, n_sums = MemoryRows._sum_block, 0
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell has it ignored

    def press(*args):
        global n_sums
        n_sums += len(getattr(model, "history_", [])) == 3
        if n_sums == 10:  # in the midst of a pass, in whichever thread
            n_sums += 1
            os.kill(os.getpid(), signal.SIGINT)
        sum_block(*args)

    MemoryRows._sum_block = press
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        MemoryRows._sum_block = sum_block
    else:
        sys.exit("the fit was not interrupted")
    assert model.n_components_ == 2, model.n_components_
    assert model.transform(X).shape == (len(X), 2)
    assert len(model.loss_curve_) == 3
    assert np.isfinite(model.predict(X)).all()
    model.set_params(warm_start=True, n_components=4).fit(X, y)
    whole = GBMAPRegressor(4, knots=0, random_state=0, n_jobs=1).fit(X, y)
    assert np.array_equal(model.ensemble_.weights, whole.ensemble_.weights)
    assert np.array_equal(model.ensemble_.intercepts, whole.ensemble_.intercepts)
    assert np.array_equal(model.loss_curve_, whole.loss_curve_)
    print("went on")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process of one's own")
def test_ctrl_c_leaves_a_usable_model_that_goes_on():
    kinds = ({"n": 3_000, "n_jobs": 1, "dtype": "float64"}, {"n": 45_000, "n_jobs": 2, "dtype": "float32"})
    script = "".join(textwrap.dedent(INTERRUPTED).format(**kind) for kind in kinds)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "went on\n" * 2


# --- callbacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_callbacks_see_every_stage(kind):
    model, X, y = model_and_data(kind)
    watcher = Watcher()
    model.set_callbacks(watcher).fit(X, y)
    stages = [(when, "stage", j) for j in range(5) for when in ("begin", "end")]
    assert watcher.events == ["setup", ("begin", "fit", 0), *stages, ("end", "fit", 0), "teardown"]
    assert_same_model(model.set_callbacks(), clone(model).fit(X, y))


def test_a_callback_can_stop_the_fit():
    X, y = problem()
    watcher = Watcher(lambda: True, stage=1)
    model = regressor().set_callbacks(watcher).fit(X, y)
    assert model.n_components_ == 2
    assert watcher.events[-2:] == [("end", "fit", 0), "teardown"]
    assert_same_model(model, regressor(n_components=2).fit(X, y))


@pytest.mark.parametrize("kind", KINDS)
def test_callbacks_get_a_model_that_predicts_as_of_now(kind):
    model, X, y = model_and_data(kind)
    watcher = Watcher()
    model.set_callbacks(watcher).fit(X, y)
    assert len(watcher.fitted) == 5
    for fitted, stage in zip(watcher.fitted, model.staged_predict(X), strict=True):
        assert_allclose(*(np.asarray(f, dtype=float) for f in (fitted.predict(X), stage)), rtol=1e-12)
    first = watcher.fitted[0]
    assert first.transform(X).shape == (len(X), first.ensemble_.n_outputs)


def test_a_callbacks_model_has_every_fitted_attribute_as_of_now():
    X, y = problem()
    watcher = Watcher()
    pd = pytest.importorskip("pandas")
    model = regressor().set_output(transform="pandas").set_callbacks(watcher).fit(X, y)
    for m, fitted in enumerate(watcher.fitted, 1):
        assert fitted.n_components_ == m
        assert_array_equal(fitted.loss_curve_, model.loss_curve_[: m + 1])
        assert len(fitted.history_) == m + 1
        assert isinstance(fitted.transform(X), pd.DataFrame)
        assert fitted.transform(X).shape == (len(X), m)


def test_the_scoring_monitor_of_scikit_learn_works():
    X, y = problem()
    monitor = ScoringMonitor(scoring="neg_mean_squared_error")
    model = regressor().set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs()
    scores = [row["neg_mean_squared_error"] for row in log.data if row["task_name"] == "stage"]
    assert_allclose(scores, -model.loss_curve_[1:], rtol=1e-9)


def test_callbacks_see_the_end_of_all_that_began_when_a_fit_stops_early():
    X, y = overfitting_data()
    watcher = Watcher()
    model = regressor(n_components=30, early_stopping=True, n_iter_no_change=1).set_callbacks(watcher)
    model.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert model.n_components_ < 29
    begun, ended = ([event[1:] for event in watcher.events if event[0] == when] for when in ("begin", "end"))
    assert sorted(begun) == sorted(ended)
    assert watcher.events[-2:] == [("end", "fit", 0), "teardown"]


def test_callbacks_count_the_stages_that_warm_start_adds():
    X, y = problem()
    model = regressor(n_components=2, warm_start=True).fit(X, y)
    watcher = Watcher()
    model.set_callbacks(watcher).set_params(n_components=5).fit(X, y)
    assert sum(event[:2] == ("end", "stage") for event in watcher.events) == 3


# --- talk -----------------------------------------------------------------------------------------


def test_a_fit_is_silent_by_default(capfd, caplog):
    X, y = problem()
    with caplog.at_level(logging.DEBUG):
        regressor(early_stopping=True).fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_a_verbose_fit_logs_each_stage(caplog):
    X, y = problem()
    with caplog.at_level(logging.INFO, logger="gbmap"):
        model = regressor(verbose=1).fit(X, y, X_val=X, y_val=y)
    assert [record.name for record in caplog.records] == ["gbmap"] * 5
    assert [record.levelno for record in caplog.records] == [logging.INFO] * 5
    last = caplog.records[-1].getMessage()
    assert "stage 5 of 5" in last
    assert f"{model.loss_curve_[-1]:.6g}" in last
    assert f"validation {model.validation_loss_curve_[-1]:.6g}" in last


def test_a_verbose_fit_is_seen_without_any_logging_set_up(monkeypatch, capsys):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # those of pytest
    X = np.random.default_rng(0).standard_normal((50, 2))
    GBMAPRegressor(3, refine=False, verbose=1).fit(X, abs(X[:, 0]))
    assert not logging.getLogger("gbmap").handlers
    GBMAPRegressor(3).fit(X, abs(X[:, 0]))
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(":")[0] for line in told.err.splitlines()] == [f"stage {j} of 3" for j in (1, 2, 3)]


@pytest.mark.parametrize("kind", KINDS)
def test_one_convergence_warning_per_fit(kind):
    model, X, y = model_and_data(kind, max_iter=1)
    with pytest.warns(
        ConvergenceWarning, match=r"5 of 5 stages ended before.*max_iter=1 .*raise max_iter"
    ) as seen:
        model.fit(X, y)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert [record.converged for record in model.history_] == [True, *[False] * 5]
    assert model.n_iter_ == max(record.n_iter for record in model.history_)


def test_no_convergence_warning_when_iterations_suffice():
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor().fit(X, y)
    assert 1 < model.n_iter_ < 500


# --- inside scikit-learn --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:os.fork")  # of JAX, if it has been imported
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_cross_validation_in_parallel_gives_the_same_scores(backend):
    X, y = problem()
    alone = cross_val_score(regressor(), X, y, cv=3)
    with joblib.parallel_backend(backend, n_jobs=2):
        together = cross_val_score(regressor(), X, y, cv=3, n_jobs=2)
    assert_array_equal(alone, together)


@pytest.mark.filterwarnings("ignore:os.fork")
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_large_fits_in_parallel_give_the_same_model(backend):
    X, y = problem(105_000)  # enough numbers for threads of its own
    alone = regressor(n_components=1).fit(X, y)
    with joblib.parallel_backend(backend, n_jobs=2):
        fits = joblib.Parallel()(joblib.delayed(regressor(n_components=1).fit)(X, y) for _ in range(2))
    for fit in fits:
        assert_same_model(fit, alone)


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def in_another_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("first_to_end", ["first to start", "last to start"])
def test_overlapping_fits_hold_blas_at_one_thread_and_give_it_back(first_to_end):
    X, y = problem()
    before, seen = blas_threads(), []
    both_run, one_ended = Barrier(2), Event()

    class Meet(Watcher):
        """Both fits are in their first stage at once, and the longer one goes on after the other."""

        def __init__(self, longer):
            super().__init__()
            self.longer = longer

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "stage":
                both_run.wait(timeout=60)
                if self.longer:
                    assert one_ended.wait(timeout=60)
                seen.append(blas_threads())

    def fit(longer):
        regressor(n_components=1).set_callbacks(Meet(longer)).fit(X, y)
        if not longer:
            one_ended.set()

    with ThreadPoolExecutor(2) as pool:  # whose threads live on while the other fit ends
        order = (False, True) if first_to_end == "first to start" else (True, False)
        for future in [pool.submit(fit, longer) for longer in order]:
            future.result()
        assert blas_threads() == before
    assert len(seen) == 2
    assert set(np.ravel(seen)) == {1}


@pytest.mark.usefixtures("two_blas_threads")
def test_a_fit_leaves_the_control_of_blas_to_others():
    X, y = problem()
    regressor(n_components=1).fit(X, y)

    def limited():
        with threadpool_limits(1, user_api="blas"):
            return blas_threads()

    assert set(in_another_thread(limited)) == {1}
    assert set(limited()) == {1}


def test_grid_search():
    X, y = problem()
    grid = {"n_components": [1, 4], "beta": [1.0, 5.0]}
    alone = GridSearchCV(regressor(), grid, cv=3).fit(X, y)
    together = GridSearchCV(regressor(), grid, cv=3, n_jobs=2).fit(X, y)
    assert alone.best_params_["n_components"] == 4
    assert_array_equal(alone.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"])


def test_pipelines_with_a_scaler_and_with_neighbours_in_the_embedding():
    X, y = problem(400)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    scaled = make_pipeline(StandardScaler(), regressor(n_components=10)).fit(X_train, y_train)
    assert scaled.score(X_test, y_test) > 0.7
    neighbours = KNeighborsRegressor(10, metric="manhattan")
    embedded = make_pipeline(regressor(n_components=10), neighbours).fit(X_train, y_train)
    plain = clone(neighbours).fit(X_train, y_train)
    assert embedded.score(X_test, y_test) > plain.score(X_test, y_test) + 0.05


def test_a_pipeline_names_the_columns_of_the_embedding():
    X, y = problem()
    pipe = make_pipeline(StandardScaler(), regressor(n_components=2)).fit(X, y)
    assert_array_equal(pipe.get_feature_names_out(), ["f1", "f2"])


def test_sample_weights_are_routed():
    X, y = problem()
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    with config_context(enable_metadata_routing=True):
        model = regressor().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipe.fit(X, y, sample_weight=weight)
        result = cross_validate(
            model, X, y, cv=2, params={"sample_weight": weight}, return_estimator=True, return_indices=True
        )
    expected = regressor().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert_array_equal(pipe[-1].ensemble_.weights, expected.ensemble_.weights)
    for fitted, rows in zip(result["estimator"], result["indices"]["train"], strict=True):
        expected = regressor().fit(X[rows], y[rows], sample_weight=weight[rows])
        assert_array_equal(fitted.ensemble_.weights, expected.ensemble_.weights)


def test_validation_rows_are_routed():
    X, y = problem()
    with config_context(enable_metadata_routing=True):
        model = regressor().set_fit_request(X_val=True, y_val=True, sample_weight=False)
        pipe = make_pipeline(StandardScaler(), model, transform_input=["X_val"])
        pipe.fit(X, y, X_val=X[:30], y_val=y[:30])
    fitted = pipe[-1]
    expected = np.mean((y[:30] - pipe.predict(X[:30])) ** 2)
    assert_allclose(fitted.validation_loss_curve_[-1], expected, rtol=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_predict_alike_and_go_on_alike(kind, duplicate):
    model, X, y = model_and_data(kind, warm_start=True, random_state=None)
    model.fit(X, y)
    twin = duplicate(model)
    assert_array_equal(twin.transform(X), model.transform(X))
    assert_array_equal(twin.predict(X), model.predict(X))
    assert_same_model(twin.set_params(n_components=6).fit(X, y), model.set_params(n_components=6).fit(X, y))


def test_a_clone_has_the_parameters_and_nothing_else():
    X, y = problem()
    model = regressor(beta=2.0, init=LinearRegression(), monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    twin = clone(model)
    assert twin.get_params()["beta"] == 2.0
    assert twin.get_params()["monotonic_cst"] == [1, 0, 0, 0]
    assert not hasattr(twin, "ensemble_")
    assert_same_model(twin.fit(X, y), model)


def test_fit_returns_self_and_fit_transform_is_fit_then_transform():
    X, y = problem()
    model = regressor()
    assert model.fit(X, y) is model
    check_is_fitted(model)
    assert_array_equal(regressor().fit_transform(X, y), model.transform(X))


# --- losses and weights of one's own --------------------------------------------------------------


class Absolute(Loss):
    """A smooth stand-in for |y - f|; it says that it scales with its target."""

    degree = 1

    def value(self, y, f):
        return np.sqrt((y - f) ** 2 + 1e-4) - 1e-2

    def gradient(self, y, f):
        return (f - y) / np.sqrt((y - f) ** 2 + 1e-4)


class SquaredHinge(Loss):
    def value(self, y, f):
        return np.maximum(1 - y * f, 0) ** 2

    def gradient(self, y, f):
        return -2 * y * np.maximum(1 - y * f, 0)


class Logistic(SquaredHinge):
    log_odds_per_score = 1.0

    def value(self, y, f):
        return np.logaddexp(0, -y * f)

    def gradient(self, y, f):
        return -y / (1 + np.exp(y * f))


class Square(Loss):
    degree = 2

    def value(self, y, f):
        return (y - f) ** 2

    def gradient(self, y, f):
        return 2 * (f - y)

    def curvature(self, y, f):
        return np.full_like(f, 2)


def test_a_regression_loss_of_ones_own():
    X, y = problem(300)
    spoiled = y.copy()
    spoiled[::20] += 100
    robust = regressor(loss=Absolute(), n_components=10, l2_regularization=1e-3).fit(X, spoiled)
    assert np.mean(np.abs(robust.predict(X) - y)) < 1.0
    assert np.mean(np.abs(regressor(n_components=10).fit(X, spoiled).predict(X) - y)) > 2.0
    # It scales with its target, so the units of y do not matter.
    rescaled = clone(robust).fit(X, 1024 * spoiled)
    assert_allclose(rescaled.predict(X) / 1024, robust.predict(X), atol=0.05)


def test_the_squared_error_written_anew_is_the_squared_error():
    X, y = problem()
    for weight in (None, np.arange(len(y)) % 3):
        own = regressor(loss=Square(), n_components=3).fit(X, y, sample_weight=weight)
        shipped = regressor(n_components=3).fit(X, y, sample_weight=weight)
        assert_allclose(own.predict(X), shipped.predict(X), rtol=1e-3, atol=1e-3)
        assert_allclose(own.loss_curve_, shipped.loss_curve_, rtol=1e-3)


def test_a_classification_loss_of_ones_own():
    X, y = problem()
    y = np.where(y > 1, "high", "low")
    model = classifier(loss=SquaredHinge(), l2_regularization=1e-3).fit(X, y)
    assert model.score(X, y) > 0.8
    assert not hasattr(model, "predict_proba")
    with_odds = classifier(loss=Logistic(), l2_regularization=0.1).fit(X, y)
    shipped = classifier(l2_regularization=0.1).fit(X, y)
    assert_allclose(with_odds.predict_proba(X), shipped.predict_proba(X), atol=0.02)


def test_a_loss_of_ones_own_survives_copies_and_float32():
    X, y = problem()
    model = regressor(loss=Square()).fit(X.astype(np.float32), y)
    twin = pickle.loads(pickle.dumps(model))
    assert_array_equal(twin.predict(X), model.predict(X))
    assert clone(model).fit(X, y).score(X, y) > 0.5


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("wanted", ["balanced", "dict"])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_are_sample_weights(n_classes, wanted, weighted):
    X, y = problem()
    names = np.array(["c", "a", "b"])[np.digitize(y, [2.0, 3.0][: n_classes - 1])]
    wanted = {"a": 3.0, "b": 0.5, "c": 1.5} if wanted == "dict" else wanted
    if wanted != "balanced" and n_classes == 2:
        wanted = {"a": 3.0, "c": 1.5}
    own = np.random.default_rng(0).uniform(0.5, 1, len(y)) if weighted else np.ones(len(y))
    model = classifier(class_weight=wanted).fit(X, names, sample_weight=own if weighted else None)
    total = {c: own[names == c].sum() for c in np.unique(names)}
    balanced = {c: own.sum() / (len(total) * total[c]) for c in total}
    of_row = compute_sample_weight(balanced if wanted == "balanced" else wanted, names)
    expected = classifier().fit(X, names, sample_weight=of_row * own)
    assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=1e-3, atol=1e-3)
    plain = classifier().fit(X, names)
    assert np.abs(model.decision_function(X) - plain.decision_function(X)).max() > 0.1


def bent_rows(n=600, p=5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = np.abs(X[:, 0]) + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(n)
    return X, y


@pytest.mark.parametrize("n", [600, 21_000])  # the latter are more than a sample holds
def test_the_second_coordinate_is_the_same_for_any_seed(n):
    X, y = bent_rows(n)
    one, other = (GBMAPRegressor(6, random_state=seed).fit(X, y).transform(X) for seed in (1, 2))
    np.testing.assert_allclose(one[:, 1], other[:, 1], rtol=1e-12, atol=1e-12)
    assert not np.allclose(one[:, 2], other[:, 2], rtol=1e-3)


def test_with_a_given_ridge_the_seed_has_a_part_in_all_learners():
    X, y = bent_rows()
    fits = [
        GBMAPRegressor(1, knots=0, l2_regularization=0.1, refine=False, random_state=seed).fit(X, y)
        for seed in (1, 2)
    ]
    assert not np.array_equal(*(fit.ensemble_.weights for fit in fits))
