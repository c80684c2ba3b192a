"""l2_regularization="auto": the ridge that the data asks for, wherever a fit works."""

from functools import partial

import array_api_strict as strict
import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbmap
from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core import evidence, finding
from gbmap._core.evidence import InverseCurvature, determined_numbers
from gbmap._core.problem import BoostingProblem
from gbmap._core.rows import Curvature, CurvatureOfRows
from gbmap._fit.sources.source import n_effective, weight_sums
from gbmap.losses import Loss


def regressor(n_components=3, **settings):
    return GBMAPRegressor(n_components, l2_regularization="auto", random_state=0, **settings)


def classifier(n_components=3, **settings):
    return GBMAPClassifier(n_components, l2_regularization="auto", random_state=0, **settings)


def ridges(model):
    return np.array([record.l2_regularizations for record in model.history_[1:]])


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(200, noise=1.0, random_state=0)


# --- how good -------------------------------------------------------------------------------------


def test_one_fit_by_it_is_about_as_good_as_a_linear_model_where_that_is_best():
    X, y = load_diabetes(return_X_y=True)
    scores = []
    for seed in range(3):
        X_fit, X_new, y_fit, y_new = train_test_split(X, y, test_size=0.3, random_state=seed)
        linear = LinearRegression().fit(X_fit, y_fit).score(X_new, y_new)
        scores.append(regressor(20).fit(X_fit, y_fit).score(X_new, y_new) - linear)
    assert np.mean(scores) > -0.02  # the fixed ridge of 0.001 loses more than 0.5


def test_probabilities_are_about_as_good_as_those_of_a_linear_model_where_classes_are_easy():
    losses = []
    for seed in range(3):
        X_fit, X_new, y_fit, y_new = train_test_split(*load_breast_cancer(return_X_y=True), random_state=seed)
        linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_fit, y_fit)
        models = classifier(20).fit(X_fit, y_fit), linear
        losses.append([log_loss(y_new, model.predict_proba(X_new)) for model in models])
    found, expected = np.mean(losses, axis=0)
    assert found < 1.3 * expected  # the fixed ridge of 0.001 has three times as much


@pytest.mark.parametrize("shape", [(50, 5), (300, 10), (60, 200)])
def test_pure_noise_is_learned_no_better_than_by_a_linear_model(shape):
    scores = []
    for seed in range(3):
        draw = np.random.default_rng(seed)
        X, y = draw.normal(size=(2, *shape)), draw.normal(size=(2, shape[0]))
        models = regressor(20).fit(X[0], y[0]), LinearRegression().fit(X[0], y[0])
        scores.append([model.score(X[1], y[1]) for model in models])
    found, expected = np.mean(scores, axis=0)
    assert found > expected - 0.01


def test_more_rows_ask_for_less():
    X, y = make_friedman1(4000, noise=1.0, random_state=0)
    few, many = (regressor(5).fit(X[:n], y[:n]).l2_regularization_ for n in (100, 4000))
    assert many < few / 10


# --- what is told ---------------------------------------------------------------------------------


def test_the_value_of_each_learner_is_told_and_the_last_is_an_attribute(friedman):
    model = regressor().fit(*friedman)
    assert ridges(model).shape == (3, 1)
    assert model.history_[0].l2_regularizations == ()
    assert isinstance(model.l2_regularization_, float)
    assert model.l2_regularization_ == ridges(model)[-1, 0]
    assert f"l2_regularization {model.l2_regularization_:.4g}" in repr(model.history_[-1])
    three = classifier().fit(*load_iris(return_X_y=True))
    assert_array_equal(three.l2_regularization_, ridges(three)[-1])
    assert ridges(three).shape == (3, 3)


def test_a_number_is_that_of_every_learner(friedman):
    model = GBMAPRegressor(2, l2_regularization=0.25, random_state=0).fit(*friedman)
    assert_allclose(ridges(model), 0.25, rtol=1e-15)


@pytest.mark.parametrize("n_trials", [1, 5])
def test_a_fit_with_the_number_it_found_is_the_same_fit(friedman, n_trials, monkeypatch):
    monkeypatch.setattr(finding, "_TRIALS", n_trials)
    monkeypatch.setattr(BoostingProblem, "may_be_linear", False)
    X, y = friedman[0], np.random.default_rng(0).permutation(friedman[1])  # noise asks for more and more
    found = regressor(1, knots=0).fit(X, y)  # bends have a ridge of their own
    fixed = GBMAPRegressor(1, l2_regularization=found.l2_regularization_, random_state=0).fit(X, y)
    assert_allclose(fixed.ensemble_.weights, found.ensemble_.weights, rtol=1e-9, atol=1e-12)


# --- how rows count -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [regressor, classifier])
def test_whole_weights_count_as_repetitions(friedman, make):
    X, y = friedman
    y = y if make is regressor else y > np.median(y)
    weight = np.arange(len(y)) % 4
    weighted, repeated = make().fit(X, y, weight), make().fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert_array_equal(ridges(weighted), ridges(repeated))


def test_other_weights_tell_how_rows_compare_and_not_how_many_there_are(friedman):
    weight = np.random.default_rng(0).uniform(size=200)
    small, large = (regressor().fit(*friedman, scale * weight) for scale in (2.0**-30, 2.0**30))
    assert_array_equal(ridges(small), ridges(large))


def test_weights_of_classes_are_no_repetitions_though_they_are_whole(friedman):
    X, y = friedman
    y = y > np.median(y)
    whole, doubled, other = (
        ridges(classifier(class_weight={False: scale, True: 10 * scale}).fit(X, y)) for scale in (1, 2, 1.3)
    )
    assert_array_equal(doubled, whole)
    assert_allclose(other, whole, rtol=1e-3)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ([1, 2, 0], 3.0),
        ([0.5, 0.5, 0.5], 3.0),
        ([0.5, 0.0, 0.0], 1.0),
        ([1, 0.5, 0.5], 8 / 3),
        ([1000, 1000, 0], 2.0),
        ([1e300, 1e300, 0], 2.0),
        ([1e-300, 1e-300, 0], 2.0),
    ],
)
def test_rows_are_counted_by_their_weights(weight, expected):
    weight = np.array(weight, dtype=float)
    assert n_effective([weight_sums(weight, weight.max())]) == pytest.approx(expected)
    parts = [weight_sums(weight[:1], weight.max()), weight_sums(weight[1:], weight.max())]
    assert n_effective(parts) == pytest.approx(expected)


# --- the same fit, however it is made -------------------------------------------------------------


@pytest.mark.parametrize("make", [regressor, classifier])
def test_first_learners_are_the_fit_with_fewer_and_a_warm_start_goes_on_to_the_bit(make):
    X, y = load_iris(return_X_y=True)
    whole, short = (make(m, refine=False).fit(X, y) for m in (4, 2))
    assert_array_equal(whole.ensemble_.weights[: len(short.ensemble_)], short.ensemble_.weights)
    warm = make(2, refine=False, warm_start=True).fit(X, y).set_params(n_components=4).fit(X, y)
    assert_array_equal(warm.ensemble_.weights, whole.ensemble_.weights)
    assert_array_equal(ridges(warm), ridges(whole))


def test_a_checkpoint_goes_on_to_the_bit(friedman, tmp_path):
    whole = regressor(4).fit(*friedman)
    regressor(2).fit(*friedman, checkpoint=tmp_path / "fit.gbmap")
    resumed = regressor(4).fit(*friedman, checkpoint=tmp_path / "fit.gbmap")
    assert_array_equal(resumed.ensemble_.weights, whole.ensemble_.weights)
    assert_array_equal(ridges(resumed), ridges(whole))


def test_the_number_of_threads_changes_no_bit():
    X, y = make_friedman1(41_000, random_state=0)  # enough for threads
    one, two = (regressor(2, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert_array_equal(one.ensemble_.weights, two.ensemble_.weights)


def test_a_model_file_keeps_it(friedman, tmp_path):
    model = regressor().fit(*friedman)
    gbmap.save(model, tmp_path / "model.gbmap")
    loaded = gbmap.load(tmp_path / "model.gbmap")
    assert loaded.l2_regularization == "auto"
    assert loaded.l2_regularization_ == model.l2_regularization_
    assert_array_equal(ridges(loaded), ridges(model))


def test_units_do_not_matter(friedman):
    X, y = friedman
    model, other = regressor().fit(X, y), regressor().fit(X * 1024.0, y / 4096.0)
    assert_array_equal(ridges(model), ridges(other))
    assert_array_equal(model.predict(X), 4096.0 * other.predict(X * 1024.0))


# --- wherever rows live ---------------------------------------------------------------------------


def test_sparse_rows_have_about_the_ridge_of_dense_ones():
    X = scipy.sparse.random(400, 12, 0.3, random_state=0, format="csr")
    y = np.asarray(X[:, [0]].todense()).ravel() + np.random.default_rng(0).normal(size=400)
    plain = partial(regressor, knots=0)  # as sparse rows always are
    sparse, dense = plain(1).fit(X, y), plain(1).fit(X.toarray(), y)
    assert_allclose(ridges(sparse), ridges(dense), rtol=1e-3)
    assert_allclose(ridges(plain(3).fit(X, y)), ridges(plain(3).fit(X.toarray(), y)), rtol=0.2)


def test_float32_has_about_the_ridge_of_float64(friedman):
    X, y = friedman
    single, double = (regressor().fit(X.astype(dtype), y) for dtype in (np.float32, np.float64))
    assert_allclose(ridges(single), ridges(double), rtol=0.05)


def test_arrays_of_other_libraries_and_dask_have_it_too():
    X, y = make_friedman1(20_500, noise=1.0, random_state=0)
    here = regressor(2).fit(X, y)
    there = regressor(2).fit(strict.asarray(X), strict.asarray(y))
    assert_allclose(ridges(there), ridges(here), rtol=0.02)
    weight = np.arange(20_500) % 3
    apart = regressor(2).fit(da.from_array(X, chunks=5_000), da.from_array(y, chunks=5_000), weight)
    assert_array_equal(ridges(apart), ridges(regressor(2).fit(X, y, weight)))


def test_weights_of_classes_count_in_dask_as_in_memory():
    X, y = make_friedman1(20_500, noise=1.0, random_state=0)
    y, weighted = y > 20, classifier(1, class_weight={False: 1, True: 10})
    apart = ridges(weighted.fit(da.from_array(X, chunks=5_000), da.from_array(y, chunks=5_000)))
    assert_array_equal(apart, ridges(weighted.fit(X, y)))


def test_settings_of_all_kinds_go_with_it(friedman):
    X, y = friedman
    several = {
        "monotone": {"monotonic_cst": [1] + [0] * 9},
        "unstandardised": {"standardize": False},
        "initial": {"init": Ridge()},
        "early": {"early_stopping": True},
        "refined": {"refine": 5},
        "linear": {"activation": "identity"},
    }
    for name, settings in several.items():
        model = regressor(3, **settings).fit(X, y)
        assert model.score(X, y) > 0.5, name
        assert (ridges(model) > 0).all(), name


class Cosh(Loss):
    """log cosh, without a curvature of its own."""

    def value(self, y, f):
        return np.logaddexp(y - f, f - y)

    def gradient(self, y, f):
        return np.tanh(f - y)


@pytest.mark.parametrize("loss", ["huber", "quantile", Cosh()], ids=["huber", "quantile", "own"])
def test_every_loss_of_numbers_has_a_ridge(friedman, loss):
    assert regressor(3, loss=loss).fit(*friedman).score(*friedman) > 0.4


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge"])
def test_every_loss_of_classes_has_a_ridge(loss):
    X, y = load_breast_cancer(return_X_y=True)
    assert classifier(3, loss=loss).fit(X, y).score(X, y) > 0.95


# --- the trace ------------------------------------------------------------------------------------


def test_what_the_data_determines_is_found_exactly_or_about(monkeypatch):
    draw = np.random.default_rng(0)
    J = draw.normal(size=(40, 90)) * np.geomspace(1.0, 1e-2, 90)
    H, groups = J.T @ J, np.repeat([0, 1, 0], 30)
    ridges = np.array([0.5, 2.0])[groups]
    shares = np.diag(H @ np.linalg.inv(H + np.diag(ridges)))
    expected = pytest.approx([shares[groups == group].sum() for group in (0, 1)], rel=1e-9)
    assert determined_numbers(CurvatureOfRows(J), ridges, groups, 40) == expected
    products = Curvature(90, lambda V: H @ V)
    assert determined_numbers(products, ridges, groups, 40) == expected
    monkeypatch.setattr(evidence, "_FULL_SIZE", 10)
    for n_rows in (40, 200):  # fewer rows than columns span no more than their number
        assert determined_numbers(products, ridges, groups, n_rows) == expected
    monkeypatch.setattr(evidence, "_FULL_RANK", 10)
    expected.rel = 0.2
    assert determined_numbers(products, ridges, groups, 200) == expected


def test_what_rows_of_float32_determine_by_small_ridges_is_found_beside_their_rounding():
    rng = np.random.default_rng(0)
    J = rng.normal(size=(2000, 4)) @ rng.normal(size=(4, 40))  # forty columns that tell four numbers
    found = determined_numbers(
        CurvatureOfRows(J.astype(np.float32)), np.full(40, 1e-4), np.zeros(40, dtype=np.intp), 2000
    )
    assert_allclose(found, [4.0], atol=0.5)


@pytest.mark.parametrize("full_size", [600, 10])
def test_what_far_rows_determine_is_not_lost_in_single_precision(monkeypatch, full_size):
    draw = np.random.default_rng(0)
    J = draw.normal(size=(60, 30)) * 1e-2
    J[:, :12] += 3e4 * draw.uniform(size=(60, 1))  # bends of one column, and rows far beyond them
    J = J.astype(np.float32)
    assert np.linalg.eigvalsh(CurvatureOfRows(J).matrix())[0] < -1
    monkeypatch.setattr(evidence, "_FULL_SIZE", full_size)
    ridges, groups = np.ones(30), np.zeros(30, int)
    told = np.linalg.svd(J.astype(np.float64), compute_uv=False) ** 2
    expected = pytest.approx([(told / (told + 1)).sum()], rel=0.1)  # float32 has 12
    assert determined_numbers(CurvatureOfRows(J), ridges, groups, 60) == expected


@pytest.mark.parametrize(
    ("full_size", "full_rank", "precision"), [(600, 300, 1e-9), (10, 300, 1e-9), (10, 10, 0.3)]
)
def test_how_a_curvature_turns_is_found_exactly_or_about(monkeypatch, full_size, full_rank, precision):
    draw = np.random.default_rng(0)
    J = draw.normal(size=(40, 90)) * np.geomspace(1.0, 1e-2, 90)
    turned = J * draw.uniform(1.1, 1.3, size=(40, 1))
    ridges, v = draw.uniform(0.5, 2.0, 90), draw.normal(size=90)
    within = np.linalg.inv(J.T @ J + np.diag(ridges))
    monkeypatch.setattr(evidence, "_FULL_SIZE", full_size)
    monkeypatch.setattr(evidence, "_FULL_RANK", full_rank)
    inverse = InverseCurvature.of(CurvatureOfRows(J), ridges, 40)
    expected = np.trace(within @ (turned.T @ turned - J.T @ J))
    assert inverse.trace_of_change(CurvatureOfRows(turned)) == pytest.approx(expected, rel=precision)
    found, solved = inverse.solve(v), within @ v
    assert np.abs(found - solved).max() < max(precision, 1e-9) * np.abs(solved).max()


def test_it_is_a_parameter_like_others():
    with pytest.raises(ValueError, match="l2_regularization"):
        clone(regressor()).set_params(l2_regularization="none").fit([[0.0], [1.0]], [0.0, 1.0])
