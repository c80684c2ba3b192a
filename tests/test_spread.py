"""predict(X, return_std=True): how far y spreads around the prediction, wherever a fit works."""

import pickle

import array_api_strict as strict
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LinearRegression

import gbmap
from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core import posterior
from gbmap._core.posterior import _leading
from gbmap._core.rows import Curvature
from gbmap.losses import Loss

WITHIN_90 = 1.645


def regressor(n_components=5, **settings):
    return GBMAPRegressor(n_components, random_state=0, **settings)


def spread(model, X):
    return model.predict(X, return_std=True)[1]


def covered(model, X, y):
    """Return the share of targets in the interval that is to hold 90 % of them."""
    mean, std = model.predict(X, return_std=True)
    return np.mean(np.abs(y - mean) <= WITHIN_90 * std)


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(300, noise=1.0, random_state=0)


@pytest.fixture(scope="module")
def fitted(friedman):
    return regressor().fit(*friedman)


# --- how good -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", ["auto", 0.3])
def test_one_linear_learner_spreads_as_bayesian_ridge_regression_does(ridge):
    X, y = load_diabetes(return_X_y=True)
    X = X[:300] @ np.random.default_rng(0).normal(size=(10, 10))
    model = regressor(1, activation="identity", l2_regularization=ridge, knots=0).fit(X, y[:300])
    noise = posterior_of(model).noise[0] * posterior_of(model).target_scale[0]
    A = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(300)])
    alpha = 300 * model.l2_regularization_ / 11
    gram = A.T @ A
    determined = np.trace(gram @ np.linalg.inv(gram + alpha * np.eye(11)))
    squares = np.sum((y[:300] - model.predict(X)) ** 2)
    known = determined / 300
    assert_allclose(noise**2, squares / 300 / (1 - known) ** 2 / (1 + known), rtol=1e-9)
    of_f = noise**2 * np.einsum("ij,ij->i", A @ np.linalg.inv(gram + alpha * np.eye(11)), A)
    assert_allclose(spread(model, X) ** 2, noise**2 + of_f, rtol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"l2_regularization": 0.03}, {"loss": "huber"}])
def test_nine_in_ten_new_targets_lie_within_it(settings):
    X, y = make_friedman1(3000, noise=1.0, random_state=1)
    model = regressor(20, **settings).fit(X[:250], y[:250])
    assert 0.85 < covered(model, X[250:], y[250:]) < 0.95
    residuals = y[:250] - model.predict(X[:250])
    naive = np.mean(np.abs(y[250:] - model.predict(X[250:])) <= WITHIN_90 * residuals.std())
    assert naive < covered(model, X[250:], y[250:]) - 0.02  # residuals of the fit alone are too small


def test_heavy_tails_and_noise_alone_are_covered_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2300, 8))
    for y in (rng.standard_t(3, size=2300), X[:, 0] + rng.laplace(size=2300)):
        model = regressor(20).fit(X[:300], y[:300])
        assert 0.85 < covered(model, X[300:], y[300:]) < 0.95


def test_it_is_wider_the_farther_from_the_data(fitted, friedman):
    near, away, far = (np.median(spread(fitted, 0.5 + (friedman[0] - 0.5) * by)) for by in (1, 2, 25))
    assert 1.2 * near < away < far / 3


def test_more_rows_leave_the_noise_only():
    X, y = make_friedman1(8000, noise=1.0, random_state=0)
    std = spread(regressor(20, knots=0).fit(X, y), X[:500])
    assert std.min() > 1.0
    assert std.max() < 1.25


def test_learners_that_share_what_they_know_are_not_counted_each(friedman):
    X, y = friedman
    one, many = (
        regressor(m, activation="identity", l2_regularization=0.1).fit(X, y) for m in (1, 20)
    )  # further linear learners only undo the shrinkage of the first
    noise = posterior_of(one).noise[0] * posterior_of(one).target_scale[0]
    of_f = [np.mean(spread(model, X) ** 2 - noise**2) for model in (one, many)]
    assert of_f[1] < 2 * of_f[0]


def posterior_of(model):
    return vars(model)["_posterior"]


# --- what it does not depend on ---------------------------------------------------------------------


def test_predictions_stay_what_they_are(fitted, friedman):
    X = friedman[0]
    mean, std = fitted.predict(X, return_std=True)
    assert_array_equal(mean, fitted.predict(X))
    assert std.shape == mean.shape
    assert (std > 0).all()


def test_units_change_its_unit_only(fitted, friedman):
    X, y = friedman
    other = regressor().fit(X * 4, y * 1024)  # powers of two, which round to the same digits
    assert_allclose(spread(other, X * 4), 1024 * spread(fitted, X), rtol=1e-9)


def test_the_ridge_may_count_in_the_units_of_the_user():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * [1.0, 0.05] + [0.0, 1.0]
    y = X[:, 0] + rng.normal(size=200)
    settings = {"activation": "identity", "l2_regularization": 1.5, "standardize": False}
    model = regressor(1, **settings).fit(X, y)
    A, noise = np.column_stack([X, np.ones(200)]), posterior_of(model).noise[0]
    inverse = np.linalg.inv(A.T @ A + 200 * 1.5 / 3 * np.eye(3))
    of_f = noise**2 * np.einsum("ij,ij->i", A @ inverse, A)
    assert_allclose(spread(model, X) ** 2, noise**2 + of_f, rtol=1e-6)


def test_whole_weights_count_as_repetitions(friedman):
    X, y = friedman
    weight = np.arange(len(y)) % 4
    weighted = regressor(3).fit(X, y, sample_weight=weight)
    repeated = regressor(3).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(spread(weighted, X), spread(repeated, X), rtol=1e-6)


def test_the_number_of_threads_and_a_second_fit_change_no_bit():
    X, y = make_friedman1(30_000, noise=1.0, random_state=0)
    first, second = (regressor(2, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    for name, values in vars(posterior_of(first)).items():
        assert_array_equal(vars(posterior_of(second))[name], values)
    assert_array_equal(spread(second, X), spread(first, X))


def test_a_row_has_it_alone_as_among_others(fitted, friedman):
    for X in (friedman[0], scipy.sparse.csr_array(friedman[0])):
        together = spread(fitted, X)
        for rows in (slice(0, 1), slice(3, 12), slice(40, 107)):
            assert_array_equal(spread(fitted, X[rows]), together[rows])


# --- how it was fitted ------------------------------------------------------------------------------


def same_spread(first, second, X):
    assert_array_equal(spread(first, X), spread(second, X))


def test_warm_starts_checkpoints_and_prefixes_give_that_of_the_learners_there_are(friedman, tmp_path):
    X, y = friedman
    at_once, step_by_step = regressor(4).fit(X, y), regressor(2, warm_start=True).fit(X, y)
    same_spread(step_by_step.set_params(n_components=4).fit(X, y), at_once, X)
    regressor(2).fit(X, y, checkpoint=tmp_path / "fit")
    same_spread(regressor(4).fit(X, y, checkpoint=tmp_path / "fit"), at_once, X)
    rng = np.random.default_rng(0)
    held_out = {"X_val": X[:40], "y_val": rng.permutation(y)[:40]}  # nothing helps there for long
    stopped = regressor(8, early_stopping=True, n_iter_no_change=3).fit(X, y, **held_out)
    assert stopped.n_components_ < 8
    same_spread(stopped, regressor(stopped.n_components_).fit(X, y), X)


@pytest.mark.parametrize("n_steps", [0, 3])
def test_refined_learners_have_one_of_their_own(friedman, n_steps):
    X, y = friedman
    refined, boosted = (regressor(3, refine=steps).fit(X, y) for steps in (n_steps, False))
    if n_steps == 0:
        same_spread(refined, boosted, X)
    else:
        assert (refined.n_refinements_ > 0).all()
        residuals = [np.mean((y - model.predict(X)) ** 2) for model in (refined, boosted)]
        noise = [posterior_of(model).noise[0] ** 2 for model in (refined, boosted)]
        assert_allclose(noise[0] / noise[1], residuals[0] / residuals[1], rtol=0.05)


def test_an_interrupted_fit_has_that_of_its_learners(friedman, monkeypatch):
    X, y = friedman
    model = regressor(4, refine=False)
    store = type(model)._store

    def interrupted(self, *args):
        store(self, *args)
        if self.ensemble_.n_stages == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_store", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    same_spread(model, regressor(2, refine=False).fit(X, y), X)


def test_an_initial_model_leaves_what_it_leaves(friedman):
    X, y = friedman
    linear = LinearRegression().fit(X, y)
    with_it = regressor(init=LinearRegression()).fit(X, y)
    assert_allclose(spread(with_it, X), spread(regressor().fit(X, y - linear.predict(X)), X), rtol=1e-9)


class Cauchy(Loss):
    """log(1 + r^2)."""

    def value(self, y, f):
        return np.log1p((y - f) ** 2)

    def gradient(self, y, f):
        return 2 * (f - y) / (1 + (y - f) ** 2)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "quantile"},
        {"loss": Cauchy()},
        {"l2_regularization": 0},
        {"monotonic_cst": [1] + [0] * 11},
        {"beta": 50},
    ],
)
def test_every_loss_and_ridge_has_one(friedman, settings):
    X, y = friedman
    X = np.column_stack([X, X[:, 0], np.ones(300)])  # a column twice, and one that is constant
    std = spread(regressor(**settings).fit(X, y), X)
    assert np.isfinite(std).all()
    assert 0.5 * y.std() / 3 < np.median(std) < 1.5 * y.std()


def test_a_perfect_fit_spreads_by_next_to_nothing():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert spread(regressor(2, activation="identity", l2_regularization=0).fit(X, X[:, 0]), X).max() < 1e-6


def test_targets_of_any_size_have_one(friedman):
    X, y = friedman
    expected = spread(regressor(2).fit(X, y), X)
    for unit in (2.0**-400, 2.0**400):
        assert_allclose(spread(regressor(2).fit(X, y * unit), X) / unit, expected, rtol=1e-6)


def test_each_target_has_its_own(friedman):
    X, y = friedman
    both = regressor(knots=0).fit(X, np.column_stack([y, -3 * y]))  # bends have one unit for all targets
    mean, std = both.predict(X, return_std=True)
    assert std.shape == mean.shape == (300, 2)
    assert_allclose(std[:, 0], spread(regressor(knots=0).fit(X, y), X), rtol=1e-10)
    assert_allclose(std[:, 1], 3 * std[:, 0], rtol=0.2)


# --- rows of every kind -----------------------------------------------------------------------------


def test_sparse_rows_have_that_of_dense_ones():
    X = scipy.sparse.random_array((400, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = X[:, [0]].toarray()[:, 0] + 0.1 * np.random.default_rng(0).normal(size=400)
    dense, sparse = regressor().fit(X.toarray(), y), regressor().fit(X, y)
    assert_allclose(spread(sparse, X), spread(dense, X.toarray()), rtol=0.01)
    assert_allclose(spread(sparse, X.toarray()), spread(sparse, X), rtol=1e-9)


def test_sparse_rows_far_from_zero_have_it_too():
    X = 1e8 + np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] - 1e8
    std = spread(regressor().fit(scipy.sparse.csr_array(X), y), scipy.sparse.csr_array(X))
    assert np.isfinite(std).all()


def test_float32_and_mapped_rows_have_it(fitted, friedman, tmp_path):
    X, y = friedman
    single = regressor().fit(X.astype(np.float32), y)
    assert_allclose(spread(single, X.astype(np.float32)), spread(fitted, X), rtol=0.1)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    same_spread(regressor().fit(mapped, y), fitted, mapped)


def test_arrays_of_other_libraries_have_it_where_they_are(monkeypatch):
    X, y = make_friedman1(20_500, noise=1.0, random_state=0)
    here, there = (regressor(2).fit(*rows) for rows in ((X, y), (strict.asarray(X), strict.asarray(y))))
    found = there.predict(strict.asarray(X), return_std=True)[1]
    assert type(found) is type(strict.asarray(X))
    assert_allclose(np.asarray(found), spread(here, X), rtol=0.05)
    assert_allclose(
        np.asarray(here.predict(strict.asarray(X), return_std=True)[1]), spread(here, X), rtol=1e-9
    )


def test_dask_collections_have_it_lazily(friedman):
    X, y = friedman
    model = regressor(2).fit(da.from_array(X, chunks=(100, 10)), da.from_array(y, chunks=100))
    mean, std = model.predict(da.from_array(X, chunks=(100, 10)), return_std=True)
    assert isinstance(mean, da.Array)
    assert isinstance(std, da.Array)
    assert_allclose(std.compute(), spread(model, X), rtol=1e-12)
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    lazy = dd.from_pandas(frame, npartitions=2)
    mean, std = regressor(2).fit(frame, y).predict(lazy, return_std=True)
    assert (mean.compute().name, std.compute().name) == ("predict", "predict_std")
    assert_allclose(std.compute().to_numpy(), spread(model, X), rtol=1e-6)


def test_wide_rows_keep_some_directions_of_each_learner(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)) @ rng.normal(size=(20, 120)) + 0.3 * rng.normal(size=(300, 120))
    y = X[:, 0] + rng.normal(size=300)
    whole = regressor(3).fit(X, y)
    assert posterior_of(whole).directions.shape == (3, 121, 121)
    monkeypatch.setattr(posterior, "_NUMBERS", 3 * 121 * 30)
    some = regressor(3).fit(X, y)
    assert posterior_of(some).directions.shape == (3, 30, 121)
    assert_allclose(spread(some, X), spread(whole, X), rtol=0.05)
    assert_allclose(spread(some, 10 * X), spread(whole, 10 * X), rtol=0.25)


def test_leading_directions_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(200, 200)))[0]
    values = np.concatenate([[9.0, 7.0, 5.0], np.linspace(0.1, 0.05, 197)])
    H = Q @ np.diag(values) @ Q.T
    found, vectors = _leading(Curvature(200, lambda V: H @ V), 3)
    assert_allclose(found, values[:3], rtol=0.03)
    assert_allclose(np.abs(np.sum(vectors * Q[:, :3].T, axis=1)), 1, rtol=0.03)


@pytest.mark.parametrize(("shape", "ridge"), [((60, 90), "auto"), ((700, 150), 1.0)])
def test_rows_learned_by_heart_are_not_taken_for_knowledge(shape, ridge):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0] + 500, shape[1]))
    y = X[:, 0] + rng.normal(size=len(X))
    model = regressor(10, l2_regularization=ridge).fit(X[: shape[0]], y[: shape[0]])
    mean, std = model.predict(X[shape[0] :], return_std=True)
    error = np.sqrt(np.mean((y[shape[0] :] - mean) ** 2))
    assert error / 2 < np.median(std) < 2 * error
    fitted = np.sqrt(np.mean((y[: shape[0]] - model.predict(X[: shape[0]])) ** 2))
    assert fitted < 0.8 * np.median(std)  # which is what the residuals of the fit would say


def test_the_noise_is_no_larger_than_the_spread_of_y_where_all_rows_are_learned_by_heart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(540, 300)), rng.normal(size=540)
    model = regressor(10, l2_regularization=1e-5).fit(X[:40], y[:40])
    assert np.mean((y[:40] - model.predict(X[:40])) ** 2) < 1e-3
    assert 0.5 < posterior_of(model).noise[0] <= 1.0 + 1e-12


def test_what_all_learners_know_together_is_told_by_some_of_the_rows(monkeypatch):
    X, y = make_friedman1(1500, 20, noise=1.0, random_state=0)
    noises = []
    for n_rows in (300, 1500):
        monkeypatch.setattr(posterior, "_JOINT_ROWS", n_rows)
        noises.append(posterior_of(regressor(10, knots=0).fit(X, y)).noise[0])
    assert_allclose(noises[0], noises[1], rtol=0.02)


# --- files ------------------------------------------------------------------------------------------


def test_files_and_pickles_keep_it_to_the_bit(fitted, friedman, tmp_path):
    gbmap.save(fitted, tmp_path / "model.gbmap")
    for copy in (gbmap.load(tmp_path / "model.gbmap"), pickle.loads(pickle.dumps(fitted))):
        same_spread(copy, fitted, friedman[0])
    assert not hasattr(clone(fitted), "_posterior")


def test_it_makes_files_no_more_than_three_times_as_large(tmp_path):
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    model = GBMAPRegressor(knots=0, random_state=0).fit(X, y)
    gbmap.save(model, tmp_path / "with.gbmap")
    vars(model)["_posterior"] = None
    gbmap.save(model, tmp_path / "without.gbmap")
    assert (tmp_path / "with.gbmap").stat().st_size < 3 * (tmp_path / "without.gbmap").stat().st_size


def test_a_model_from_before_says_that_it_is_to_be_fitted_anew(fitted, friedman, tmp_path):
    old = pickle.loads(pickle.dumps(fitted))
    del vars(old)["_posterior"]
    with pytest.raises(ValueError, match=r"did not keep the spread of its learners; fit it anew"):
        old.predict(friedman[0], return_std=True)
    assert_array_equal(old.predict(friedman[0]), fitted.predict(friedman[0]))


def test_classes_keep_that_of_their_scores(friedman):
    X, y = friedman
    for labels in (y > 15, np.digitize(y, [12, 17])):
        model = GBMAPClassifier(3, knots=0, random_state=0).fit(X, labels)  # beyond fences it is level
        near, far = (posterior_of(model).deviation(model.ensemble_, rows) for rows in (X, 10 * X))
        assert near.shape == (300, model.ensemble_.n_outputs)
        assert (np.median(far, axis=0) > 3 * np.median(near, axis=0)).all()
