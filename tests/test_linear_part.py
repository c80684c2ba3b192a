"""The first learner is linear where the data is, and nothing else is lost by it."""

import array_api_strict as strict
import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.metrics import log_loss

from gbmap import GBMAPClassifier, GBMAPRegressor, load, save
from gbmap.inspection import attributions, explain


def draw(n=300, p=12, noise=1.0, seed=0, n_new=1000):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_new, p))
    y = X @ rng.standard_normal(p) + noise * rng.standard_normal(n + n_new)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.fixture(scope="module")
def linear():
    return draw()


@pytest.fixture(scope="module")
def fitted(linear):
    return GBMAPRegressor(6, random_state=0).fit(*linear[:2])


@pytest.fixture(scope="module")
def plain(linear):
    """Return what learners without bends make of them."""
    return GBMAPRegressor(6, knots=0, random_state=0).fit(*linear[:2])


def test_on_linear_rows_it_predicts_as_well_as_a_linear_model(linear, fitted):
    X, y, X_new, y_new = linear
    assert fitted.score(X_new, y_new) > LinearRegression().fit(X, y).score(X_new, y_new) - 0.003


@pytest.mark.parametrize("noise", [4.0, 5.0])
def test_on_fewer_rows_than_columns_it_predicts_as_well_as_bayesian_ridge(noise):
    scores = []
    for seed in range(4):
        X, y, X_new, y_new = draw(60, 90, noise=noise, seed=seed)
        models = GBMAPRegressor(6, random_state=0), BayesianRidge()
        scores.append([model.fit(X, y).score(X_new, y_new) for model in models])
    found, expected = np.mean(scores, axis=0)
    assert found > expected - 0.02


def test_probabilities_of_two_classes_are_as_good_as_those_of_logistic_regression():
    X, y, X_new, y_new = draw(noise=3.0)
    model, reference = GBMAPClassifier(6, random_state=0), LogisticRegression()
    losses = [log_loss(y_new > 0, each.fit(X, y > 0).predict_proba(X_new)) for each in (model, reference)]
    assert losses[0] < 1.01 * losses[1]


@pytest.mark.parametrize(("n", "p"), [(60, 15), (120, 30)])
def test_classes_that_few_rows_tell_apart_are_told_by_large_weights(n, p):
    losses = []
    for seed in range(4):
        X, y, X_new, y_new = draw(n, p, noise=0.0, seed=seed)
        models = GBMAPClassifier(6, random_state=0), LogisticRegression()
        losses.append([log_loss(y_new > 0, each.fit(X, y > 0).predict_proba(X_new)) for each in models])
    found, expected = np.mean(losses, axis=0)
    assert found < expected + 0.01  # .05 above where the curvature counts as if it stayed


def test_its_slopes_are_those_of_one_linear_function(linear, fitted):
    X, _, X_new, _ = linear
    slopes = explain(fitted, X_new).coefficients
    assert np.abs(slopes - slopes.mean(axis=0)).max() < 0.02 * np.abs(slopes).max()
    values = attributions(fitted, X_new[:5], X[:1]).values.reshape(5, -1)
    assert_allclose(values.sum(axis=1), fitted.predict(X_new[:5]) - fitted.predict(X[:1]), rtol=1e-9)


def test_rows_that_bend_are_fitted_without():
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    fit = GBMAPRegressor(1, random_state=0).fit(X, y)
    slopes = explain(fit, X).coefficients
    assert slopes.std(axis=0).max() > 0.1 * np.abs(slopes).max()


def test_a_given_ridge_is_that_of_the_paper(linear):
    X, y, *_ = linear
    slopes = explain(GBMAPRegressor(1, l2_regularization=1e-3, random_state=0).fit(X, y), X).coefficients
    assert slopes.std(axis=0).max() > 0.03 * np.abs(slopes).max()


HOMES = {
    "sparse": scipy.sparse.csr_array,
    "float32": np.float32,
    "library": strict.asarray,
    "dask": lambda X: da.from_array(X, chunks=(100, 12) if X.ndim == 2 else 100),
}


@pytest.mark.parametrize("home", HOMES)
def test_it_is_the_same_wherever_rows_are(linear, fitted, plain, home):
    X, y, X_new, _ = linear
    target = y if home in ("sparse", "float32") else HOMES[home](y)
    model = GBMAPRegressor(6, random_state=0).fit(HOMES[home](X), target)
    expected = plain if home == "sparse" else fitted  # sparse rows have no bends
    assert_allclose(model.predict(X_new), expected.predict(X_new), atol=0.02 * y.std())


def test_weights_are_repetitions(linear):
    X, y, X_new, _ = linear
    weight = np.arange(len(y)) % 3
    weighted = GBMAPRegressor(3, random_state=0).fit(X, y, weight)
    repeated = GBMAPRegressor(3, random_state=0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_array_equal(weighted.predict(X_new), repeated.predict(X_new))


def test_it_keeps_the_signs_asked_for(linear):
    X, y, X_new, _ = linear
    signs = -np.sign(LinearRegression().fit(X, y).coef_) * (np.arange(12) < 3)
    model = GBMAPRegressor(3, monotonic_cst=signs.astype(int), random_state=0).fit(X, y)
    assert (explain(model, X_new).coefficients.reshape(-1, 12)[:, :3] * signs[:3] >= 0).all()


def test_each_of_several_targets_has_its_own():
    X, y, X_new, y_new = draw()
    bent, bent_new = (5 * np.abs(each[:, 0]) for each in (X, X_new))
    model = GBMAPRegressor(6, random_state=0).fit(X, np.column_stack([y, bent]))
    predicted = model.predict(X_new)
    assert np.corrcoef(predicted[:, 0], y_new)[0, 1] ** 2 > 0.9
    assert np.corrcoef(predicted[:, 1], bent_new)[0, 1] ** 2 > 0.95


def test_it_goes_on_and_is_stored_to_the_bit(linear, tmp_path):
    X, y, X_new, _ = linear
    whole = GBMAPRegressor(4, refine=False, random_state=0).fit(X, y)
    warm = GBMAPRegressor(1, refine=False, warm_start=True, random_state=0).fit(X, y)
    assert_array_equal(warm.ensemble_.weights, whole.ensemble_.weights[:1])
    assert_array_equal(warm.set_params(n_components=4).fit(X, y).predict(X_new), whole.predict(X_new))
    save(whole, tmp_path / "model.gbmap")
    assert_array_equal(load(tmp_path / "model.gbmap").predict(X_new), whole.predict(X_new))


def test_refinement_keeps_it_first_and_harms_nothing(linear, fitted):
    X, y, X_new, y_new = linear
    boosted = GBMAPRegressor(6, refine=False, random_state=0).fit(X, y)
    assert fitted.score(X_new, y_new) > boosted.score(X_new, y_new) - 0.002
    spread = fitted.transform(X).std(axis=0)
    assert spread[0] > 20 * spread[1:].max()


def test_the_spread_is_that_of_a_linear_model(linear, plain):
    X, y, X_new, _ = linear
    reference = BayesianRidge().fit(X, y)
    expected = reference.predict(X_new, return_std=True)[1]
    assert_allclose(plain.predict(X_new, return_std=True)[1], expected, rtol=0.05)


@pytest.mark.parametrize("knots", [0, "auto"])
def test_noise_of_long_tails_is_not_taken_for_bends(knots):
    scores = []
    for seed in range(4, 7):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((2400, 6))
        truth = X.sum(axis=1)
        y = truth + 0.4 * rng.standard_t(2, len(X))
        models = LinearRegression(), GBMAPRegressor(8, knots=knots, random_state=0)
        scores.append([model.fit(X[:400], y[:400]).score(X[400:], truth[400:]) for model in models])
    assert np.min(np.diff(scores)) > -0.01  # one of them lost 0.2
