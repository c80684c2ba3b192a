"""Known answers, and what must hold for every fit: the theory of the paper and the public contract."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap.inspection import attributions
from gbmap.losses import Exponential, Hinge, Huber, LogLoss, Quantile, SquaredError

# Derandomized: the solver amplifies rounding, so a bound that holds for 999 seeds may fail for the next.
few = settings(max_examples=5, deadline=None, derandomize=True)
seeds = st.integers(0, 2**31 - 1)

REGRESSION_LOSSES = ["squared_error", "huber", "quantile"]
CLASS_LOSSES = ["log_loss", "exponential", "hinge"]


def problem(seed, n=80, p=4, dtype=np.float64):
    """Return X with columns of unlike units, and a target with a kink and a curve in it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 3, p) + rng.uniform(-2, 2, p)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = 2 * np.abs(Z[:, 0]) - Z[:, 1] + np.cos(2 * Z[:, 2]) + 0.1 * rng.standard_normal(n) + 3
    return X.astype(dtype), y


def labels(y, n_classes=2):
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def regressor(**options):
    return GBMAPRegressor(**{"n_components": 4, "refine": False, "random_state": 0, **options})


def classifier(**options):
    return GBMAPClassifier(**{"n_components": 4, "refine": False, "random_state": 0, **options})


def model_and_target(kind, seed, **options):
    """Return data and an unfitted model of one of the kinds of output."""
    X, y = problem(seed)
    if kind == "one target":
        return X, y, regressor(**options)
    if kind == "three targets":
        return X, np.column_stack([y, -3 * y + X[:, 3], X[:, 0] ** 2]), regressor(**options)
    return X, labels(y, int(kind[0])), classifier(**options)


KINDS = ["one target", "three targets", "2 classes", "3 classes"]


def assert_same_learners(first, second):
    for name in ("intercepts", "signs", "weights", "offsets", "beta", "outputs"):
        assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def inputs_of(model):
    return model.predictor_.fitted_inputs.inputs


def gradient_of(model, X):
    """Return the derivatives of f in the columns, (n, p, K)."""
    inputs = inputs_of(model)
    along_inputs = model.ensemble_.gradient(inputs.of(X)) * inputs.slopes(X)[:, :, None]
    return np.stack([inputs.collect(each) for each in np.moveaxis(along_inputs, -1, 0)], axis=-1)


def sd_of_difference(first, second):
    return np.sqrt(np.mean((first - second) ** 2)) / np.std(first)


# --- the identity activation: Lemma 1 of the paper ------------------------------------------------

EXACT = {"activation": "identity", "tol": 1e-15, "max_iter": 10_000}


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("strength", [0.0, 1e-3, 1.0, 30.0])
def test_identity_regressor_is_ridge(standardize, strength):
    X, y = problem(0)
    n, p = X.shape
    model = regressor(n_components=1, l2_regularization=strength, standardize=standardize, **EXACT).fit(X, y)
    Z = StandardScaler().fit_transform(X) if standardize else X
    ridge = Ridge(alpha=n * strength / (p + 1), tol=1e-12).fit(Z, y)
    assert_allclose(model.predict(X), ridge.predict(Z), rtol=0, atol=1e-6)


def test_constant_columns_do_not_count_in_the_ridge_term():
    X, y = problem(0)
    n, p = X.shape
    model = regressor(n_components=1, l2_regularization=5.0, **EXACT).fit(np.c_[X, np.ones((n, 6))], y)
    ridge = Ridge(alpha=n * 5.0 / (p + 1)).fit(StandardScaler().fit_transform(X), y)
    expected = ridge.predict(StandardScaler().fit_transform(X))
    assert_allclose(model.predict(np.c_[X, np.ones((n, 6))]), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("strength", [1e-2, 1.0])
def test_identity_classifier_is_logistic_regression(standardize, strength):
    X, y = problem(1)
    y = labels(y)
    n, p = X.shape
    model = classifier(n_components=1, l2_regularization=strength, standardize=standardize, **EXACT).fit(X, y)
    Z = StandardScaler().fit_transform(X) if standardize else X
    # C sum loss + |w|^2 / 2 is n C times mean loss + lambda |w|^2 / (p + 1).
    logistic = LogisticRegression(C=(p + 1) / (2 * n * strength), tol=1e-10, max_iter=10_000).fit(Z, y)
    assert_allclose(model.decision_function(X), logistic.decision_function(Z), rtol=0, atol=1e-6)
    assert_allclose(model.predict_proba(X), logistic.predict_proba(Z), rtol=0, atol=1e-6)


def test_each_identity_learner_is_ridge_on_the_residuals_of_those_before():
    X, y = problem(2)
    n, p = X.shape
    model = regressor(n_components=4, l2_regularization=2.0, **EXACT).fit(X, y)
    Z, residual = StandardScaler().fit_transform(X), y
    for column in model.transform(X).T:
        expected = Ridge(alpha=n * 2.0 / (p + 1)).fit(Z, residual).predict(Z)
        assert_allclose(column, expected, rtol=0, atol=1e-6)
        residual = residual - expected


@pytest.mark.parametrize("model", [regressor, classifier])
def test_later_identity_learners_are_of_order_lambda_to_the_j_minus_1(model):
    X, y = problem(3)
    y = labels(y) if model is classifier else y
    sizes = []
    for strength in (0.02, 0.01):
        fitted = model(n_components=3, l2_regularization=strength, **EXACT).fit(X, y)
        sizes.append(fitted.transform(X).std(axis=0))
    powers = np.log2(sizes[0] / sizes[1])
    assert_allclose(powers, [0, 1, 2], rtol=0, atol=0.2)


@pytest.mark.parametrize("model", [regressor, classifier])
def test_later_identity_learners_vanish_without_regularization(model):
    X, y = problem(3)
    y = labels(y) if model is classifier else y
    phi = model(n_components=3, l2_regularization=0.0, **EXACT).fit(X, y).transform(X)
    assert np.abs(phi[:, 1:]).max() < 1e-6 * np.abs(phi[:, 0]).max()


# --- sums, prefixes, curves -----------------------------------------------------------------------


@few
@given(seed=seeds, standardize=st.booleans(), dtype=st.sampled_from([np.float32, np.float64]))
def test_prediction_is_the_sum_of_the_embedding(seed, standardize, dtype):
    X, y = problem(seed, dtype=dtype)
    accuracy = 1e-12 if dtype == np.float64 else 1e-4
    model = regressor(standardize=standardize).fit(X, y)
    assert_allclose(model.predict(X), model.transform(X).sum(axis=1), rtol=accuracy, atol=accuracy)
    model = classifier(standardize=standardize, l2_regularization=0.1).fit(X, labels(y))
    assert_allclose(model.decision_function(X), model.transform(X).sum(axis=1), rtol=accuracy, atol=accuracy)


@pytest.mark.parametrize("kind", ["three targets", "3 classes"])
def test_with_several_outputs_column_j_of_each_stage_adds_to_output_j(kind):
    X, y, model = model_and_target(kind, 0)
    model.fit(X, y)
    phi = model.transform(X)
    assert phi.shape == (len(X), 4 * 3)
    assert_array_equal(model.ensemble_.outputs, np.tile(np.arange(3), 4))
    f = model.predict(X) if kind == "three targets" else model.decision_function(X)
    assert_allclose(f, np.column_stack([phi[:, k::3].sum(axis=1) for k in range(3)]), rtol=1e-12, atol=1e-12)


def test_with_init_prediction_is_f_0_plus_the_sum_of_the_embedding():
    X, y = problem(4)
    model = regressor(init=LinearRegression()).fit(X, y)
    f_0 = LinearRegression().fit(X, y).predict(X)
    assert_allclose(model.predict(X), f_0 + model.transform(X).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3])
def test_the_first_k_stages_of_a_fit_are_the_fit_with_k(kind, k):
    X, y, model = model_and_target(kind, 5, n_components=5)
    long, short = clone(model).fit(X, y), model.set_params(n_components=k).fit(X, y)
    K = long.ensemble_.n_outputs
    assert_same_learners(long.ensemble_[: k * K], short.ensemble_)
    # BLAS multiplies by one vector and by several in different ways.
    assert_allclose(long.transform(X)[:, : k * K], short.transform(X), rtol=0, atol=1e-13 * y.std())
    assert_array_equal(long.loss_curve_[: k + 1], short.loss_curve_)


def mean_loss(loss, y, f, weight=None, scale=1.0):
    """Return the mean loss in the units of y, of a loss whose constants count in `scale`."""
    return np.average(loss.value(y / scale, f / scale), weights=weight) * scale**loss.degree


@few
@given(
    seed=seeds,
    name=st.sampled_from([*REGRESSION_LOSSES, *CLASS_LOSSES]),
    weighted=st.booleans(),
    started=st.booleans(),
    standardize=st.booleans(),
)
def test_loss_curve_is_the_mean_loss_from_f_0_on_and_never_rises(seed, name, weighted, started, standardize):
    X, y = problem(seed)
    weight = np.random.default_rng(seed).uniform(0, 2, len(y)) if weighted else None

    def f_0(X):
        return 0.3 * X[:, 0] if started else np.zeros(len(X))

    options = {"loss": name, "standardize": standardize, "init": f_0 if started else None}
    if name in REGRESSION_LOSSES:
        loss = {"squared_error": SquaredError(), "huber": Huber(0.7), "quantile": Quantile(0.8)}[name]
        model = regressor(quantile=0.8, huber_delta=0.7, **options).fit(X, y, sample_weight=weight)
        f = model.predict(X)
        residual = y - f_0(X)
        mean = np.average(residual, weights=weight)
        scale = np.sqrt(np.average((residual - mean) ** 2, weights=weight)) if standardize else 1.0
    else:
        loss = {"log_loss": LogLoss(), "exponential": Exponential(), "hinge": Hinge()}[name]
        model = classifier(**options).fit(X, labels(y), sample_weight=weight)
        f, y, scale = model.decision_function(X), 2.0 * labels(y) - 1, 1.0
    curve = model.loss_curve_
    assert curve.shape == (5,)
    assert (np.diff(curve) <= 0).all()
    assert curve[-1] < curve[0]
    assert_allclose(curve[0], mean_loss(loss, y, f_0(X), weight, scale), rtol=1e-9)
    assert_allclose(curve[-1], mean_loss(loss, y, f, weight, scale), rtol=1e-9)


def test_loss_curve_never_rises_in_float32_with_many_learners():
    X, y = problem(6, n=300, dtype=np.float32)
    curve = regressor(n_components=40).fit(X, y).loss_curve_
    assert (np.diff(curve) <= 1e-6 * curve[0]).all()


def test_loss_curve_of_several_outputs_is_their_mean():
    X, y, model = model_and_target("three targets", 7)
    model.fit(X, y)
    assert_allclose(model.loss_curve_[0], (y**2).mean(), rtol=1e-12)
    assert_allclose(model.loss_curve_[-1], ((y - model.predict(X)) ** 2).mean(), rtol=1e-9)


# --- rows: weights and order ----------------------------------------------------------------------


@few
@given(
    seed=seeds,
    counts=arrays(np.int64, 60, elements=st.integers(0, 3)).filter(lambda c: np.count_nonzero(c) > 20),
    kind=st.sampled_from(KINDS),
)
def test_a_weight_of_k_is_the_row_given_k_times_to_the_bit(seed, counts, kind):
    X, y, model = model_and_target(kind, seed, n_components=3)
    X, y = X[:60], y[:60]
    if kind.endswith("classes"):
        counts[np.unique(y, return_index=True)[1]] = 1  # no class goes missing
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    assert_same_learners(weighted.ensemble_, repeated.ensemble_)
    assert_array_equal(weighted.loss_curve_, repeated.loss_curve_)
    assert_array_equal(weighted.feature_importances_, repeated.feature_importances_)


@few
@given(seed=seeds, factor=st.floats(1e-6, 1e6))
def test_only_the_ratios_of_weights_matter(seed, factor):
    X, y = problem(seed)
    weight = np.random.default_rng(seed).uniform(0.1, 1, len(y))
    first = regressor(n_components=2).fit(X, y, sample_weight=weight).predict(X)
    second = regressor(n_components=2).fit(X, y, sample_weight=factor * weight).predict(X)
    assert sd_of_difference(first, second) < 1e-3


def test_one_row_with_a_weight_tells_one_value():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = GBMAPRegressor(3, random_state=0).fit(X, X[:, 0], sample_weight=np.arange(50) == 7)
    assert_allclose(model.predict(X), X[7, 0])


def test_weights_are_repetitions_for_large_data_too():
    X, y = problem(8, n=20_500)
    counts = np.random.default_rng(8).integers(0, 3, len(y))
    # Without bends: knots are told by a sample, and in other places bends fit by 15 % better or worse.
    model = regressor(n_components=3, knots=0)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert sd_of_difference(weighted.predict(X), repeated.predict(X)) < 0.05
    assert_allclose(weighted.loss_curve_, repeated.loss_curve_, rtol=2e-3)


@few
@given(seed=seeds, kind=st.sampled_from(KINDS))
def test_the_order_of_rows_does_not_matter_to_the_bit(seed, kind):
    X, y, model = model_and_target(kind, seed, n_components=3)
    order = np.random.default_rng(seed).permutation(len(y))
    assert_same_learners(
        clone(model).fit(X, y).ensemble_,
        clone(model).fit(X[order], y[order]).ensemble_,
    )


# --- columns: units, constants, irrelevance -------------------------------------------------------


@few
@given(
    seed=seeds,
    factors=arrays(np.float64, 4, elements=st.floats(1e-3, 1e3)),
    shifts=arrays(np.float64, 4, elements=st.floats(-100, 100)),
    stretch=st.floats(1e-3, 1e3),
    lift=st.floats(-100, 100),
)
def test_units_of_columns_and_target_change_nothing_but_units(seed, factors, shifts, stretch, lift):
    X, y = problem(seed)
    first = regressor(n_components=3).fit(X, y)
    second = regressor(n_components=3).fit(X * factors + shifts, y * stretch + lift)
    back = (second.predict(X * factors + shifts) - lift) / stretch
    assert sd_of_difference(first.predict(X), back) < 1e-2
    assert_allclose(first.feature_importances_, second.feature_importances_, rtol=0.05, atol=0.01)
    # Later values leave out the mean of y, which the first one holds.
    assert_allclose(second.loss_curve_[1:] / stretch**2, first.loss_curve_[1:], rtol=2e-2)


@few
@given(seed=seeds, factors=arrays(np.float64, 4, elements=st.floats(1e-3, 1e3)))
def test_units_of_columns_do_not_matter_to_the_classifier(seed, factors):
    X, y = problem(seed)
    first = classifier(n_components=2).fit(X, labels(y))
    second = classifier(n_components=2).fit(X * factors - 7, labels(y))
    difference = sd_of_difference(first.decision_function(X), second.decision_function(X * factors - 7))
    assert difference < 1e-2


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("column", [1, 4])
def test_a_constant_column_gets_weight_zero_and_changes_nothing(value, standardize, column):
    X, y = problem(9)
    with_constant = np.insert(X, column, value, axis=1)
    model = regressor(standardize=standardize).fit(with_constant, y)
    assert_array_equal(model.ensemble_.weights[:, inputs_of(model).source == column], 0)
    assert model.mean_[column] == value
    assert model.scale_[column] == 1
    assert model.feature_importances_[column] == 0
    elsewhere = np.insert(X, column, value + 1e3, axis=1)
    assert_array_equal(model.predict(with_constant), model.predict(elsewhere))
    if column == 4:  # the random starts of the other columns are then those without it
        options = {"tol": 1e-12, "n_components": 4 if standardize else 1, "standardize": standardize}
        first, second = (regressor(**options).fit(each, y) for each in (X, with_constant))
        assert sd_of_difference(first.predict(X), second.predict(with_constant)) < 1e-4
        assert_allclose(second.loss_curve_, first.loss_curve_, rtol=1e-4)


def test_the_scaler_is_told_in_mean_and_scale():
    X, y = problem(10)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    scaler = StandardScaler().fit(X, sample_weight=weight)
    for standardize in (True, False):
        model = regressor(standardize=standardize).fit(X, y, sample_weight=weight)
        assert_allclose(model.mean_, scaler.mean_, rtol=1e-12)
        assert_allclose(model.scale_, scaler.scale_, rtol=1e-12)


def test_importances_find_the_one_relevant_feature_and_have_no_units():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((500, 5))
    y = np.abs(X[:, 3])
    importances = regressor(n_components=6).fit(X, y).feature_importances_
    assert importances.shape == (5,)
    assert importances.argmax() == 3
    assert np.delete(importances, 3).max() < 0.05 * importances[3]
    rescaled = regressor(n_components=6).fit(X * [1e-3, 1, 1, 1e4, 1], 1e5 * y).feature_importances_
    assert_allclose(rescaled, importances, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_importances_are_mean_sizes_of_attributions_against_the_mean_row(standardize, is_sparse):
    X, y = problem(12)
    rows = scipy.sparse.csr_array(X) if is_sparse else X
    model = regressor(standardize=standardize, knots=0).fit(rows, y)
    added = attributions(model, rows, X.mean(axis=0)).values
    assert_allclose(model.feature_importances_, np.abs(added).mean(axis=0) / y.std(), rtol=1e-9)


def test_importances_of_several_outputs_are_their_mean_and_count_weights():
    X, y = problem(12)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    mean = np.average(X, axis=0, weights=weight)
    targets = np.column_stack([y, 100 * X[:, 1] ** 2])
    model = regressor(knots=0).fit(X, targets, sample_weight=weight)
    spread = np.sqrt(
        np.average((targets - np.average(targets, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    )
    added = np.abs(attributions(model, X, mean).values) / spread
    assert_allclose(
        model.feature_importances_, np.average(added, axis=0, weights=weight).mean(axis=1), rtol=1e-9
    )
    model = classifier(knots=0).fit(X, labels(y, 3), sample_weight=weight)
    added = np.average(np.abs(attributions(model, X, mean).values), axis=0, weights=weight)
    assert_allclose(model.feature_importances_, added.mean(axis=1), rtol=1e-9)


def test_a_column_with_a_few_far_rows_is_no_more_important_than_it_adds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    X[:5, 1] = 1000.0  # its spread, which a slope would be multiplied by, is that of five rows
    model = regressor(n_components=4, l2_regularization=1e-3).fit(X, X[:, 0] + 0.3 * np.clip(X[:, 1], -3, 3))
    assert model.feature_importances_.argmax() == 0


# --- f_0 ------------------------------------------------------------------------------------------


def h(X):
    return np.asarray(X)[:, 0] ** 2


@few
@given(seed=seeds, standardize=st.booleans())
def test_starting_from_h_is_fitting_its_residuals(seed, standardize):
    X, y = problem(seed)
    started = regressor(init=h, standardize=standardize).fit(X, y)
    residuals = regressor(standardize=standardize).fit(X, y - h(X))
    new = problem(seed + 1)[0]
    assert_allclose(started.predict(new), residuals.predict(new) + h(new), rtol=1e-6, atol=1e-6)


def test_an_initial_estimator_is_cloned_fitted_and_remembered():
    X, y = problem(13)
    given = LinearRegression()
    model = regressor(init=given).fit(X, y)
    assert not hasattr(given, "coef_")
    assert_array_equal(model.init_.coef_, LinearRegression().fit(X, y).coef_)
    by_callable = regressor(init=LinearRegression().fit(X, y).predict).fit(X, y)
    assert_array_equal(model.predict(X), by_callable.predict(X))


def test_an_initial_estimator_sees_the_sample_weights():
    X, y = problem(13)
    weight = np.random.default_rng(0).uniform(size=len(y))
    model = regressor(init=LinearRegression()).fit(X, y, sample_weight=weight)
    expected = LinearRegression().fit(X, y, sample_weight=weight)
    assert_allclose(model.init_.coef_, expected.coef_, rtol=1e-9)


def test_a_frozen_initial_estimator_is_kept_as_it_is():
    X, y = problem(14)
    frozen = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5).fit(X[:40], y[:40])
    model = regressor(init=FrozenEstimator(frozen)).fit(X, y)
    by_callable = regressor(init=frozen.predict).fit(X, y)
    assert_array_equal(model.predict(X), by_callable.predict(X))
    assert_allclose(model.predict(X), frozen.predict(X) + model.transform(X).sum(axis=1), rtol=1e-12)


def test_an_initial_model_of_several_targets():
    X, y, model = model_and_target("three targets", 15, init=LinearRegression())
    model.fit(X, y)
    h = model.transform(X).reshape(len(X), 4, 3).sum(axis=1)
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X) + h, rtol=1e-10)


def test_an_initial_classifier_enters_by_its_logit():
    X, y = problem(16)
    y = labels(y)
    logistic = LogisticRegression(C=1e3).fit(X, y)
    model = classifier(init=FrozenEstimator(logistic)).fit(X, y)
    f_0 = model.decision_function(X) - model.transform(X).sum(axis=1)
    assert_allclose(f_0, logistic.decision_function(X), rtol=1e-9, atol=1e-9)


def test_certain_initial_probabilities_are_clipped():
    class Oracle(LogisticRegression):
        def predict_proba(self, X):
            one = (X[:, 0] > 0).astype(float)
            return np.column_stack([1 - one, one])

    X, y = problem(17)
    y = labels(y)
    model = classifier(init=FrozenEstimator(Oracle().fit(X, y))).fit(X, y)
    f_0 = model.decision_function(X) - model.transform(X).sum(axis=1)
    limit = np.log((1 - 1e-6) / 1e-6)
    assert_allclose(f_0, np.where(X[:, 0] > 0, limit, -limit), rtol=1e-9)


def test_an_initial_classifier_without_probabilities_enters_by_its_decision_function():
    X, y = problem(18)
    y = labels(y)
    svc = LinearSVC(random_state=0, C=0.01, max_iter=100_000).fit(X, y)
    model = classifier(init=FrozenEstimator(svc)).fit(X, y)
    f_0 = model.decision_function(X) - model.transform(X).sum(axis=1)
    assert_allclose(f_0, svc.decision_function(X), rtol=1e-9, atol=1e-9)


def test_an_initial_classifier_of_several_classes_gives_each_its_log_odds():
    X, y = problem(19)
    y = labels(y, 3)
    model = classifier(init=LogisticRegression()).fit(X, y)
    h = model.transform(X).reshape(len(X), 4, 3).sum(axis=1)
    p = LogisticRegression().fit(X, y).predict_proba(X)
    assert_allclose(model.decision_function(X) - h, np.log(p / (1 - p)), rtol=1e-8, atol=1e-8)


# --- shape of the model ---------------------------------------------------------------------------


@few
@given(seed=seeds, kind=st.sampled_from(KINDS))
def test_far_from_the_data_f_is_linear_with_the_slope_of_the_weights(seed, kind):
    X, y, model = model_and_target(kind, seed, l2_regularization=0.01)
    ensemble = model.fit(X, y).ensemble_
    direction = np.random.default_rng(seed).standard_normal(4)
    t = np.array([1e6, 2e6, 5e6])[:, None]
    f = ensemble.score(X[0] + t * direction)
    active = (ensemble.weights @ direction > 0) * ensemble.signs
    slope = [(active * (ensemble.outputs == k)) @ ensemble.weights for k in range(ensemble.n_outputs)]
    gradient = ensemble.gradient(X[:1] + 5e6 * direction)[0]
    assert_allclose(gradient, np.transpose(slope), rtol=1e-9, atol=1e-12)
    assert_allclose(np.diff(f, axis=0) / np.diff(t, axis=0), [direction @ gradient] * 2, rtol=1e-6, atol=1e-6)


@few
@given(seed=seeds)
def test_gradient_is_the_derivative_of_the_prediction(seed):
    X, y = problem(seed)
    model = regressor().fit(X, y)
    step = 1e-5 * X.std(axis=0)
    for k in range(4):
        e = np.eye(4)[k] * step
        difference = (model.predict(X + e) - model.predict(X - e)) / (2 * step[k])
        ends = model.knots_[k]  # where the derivatives to the left and to the right differ
        is_smooth = (np.abs(X[:, [k]] - ends) > 2 * step[k]).all(axis=1)
        assert is_smooth.mean() > 0.9
        slope = gradient_of(model, X)[:, k, 0]
        assert_allclose(slope[is_smooth], difference[is_smooth], rtol=1e-4, atol=1e-4)


@few
@given(seed=seeds, standardize=st.booleans(), model=st.sampled_from([regressor, classifier]))
def test_monotonic_constraints_hold_on_every_line(seed, standardize, model):
    X, y = problem(seed)
    # Asked for the opposite of what the data says, so that the constraint has work to do.
    y = labels(y) if model is classifier else y
    fitted = model(monotonic_cst=[-1, 1, 0, 0], standardize=standardize).fit(X, y)
    score = fitted.decision_function if model is classifier else fitted.predict
    rng = np.random.default_rng(seed)
    start, t = 5 * rng.standard_normal((20, 4)), np.linspace(0, 10, 21)
    for column, sign in ((0, -1), (1, 1)):
        lines = start[:, None, :] + t[:, None] * np.eye(4)[column]
        values = score(lines.reshape(-1, 4)).reshape(20, 21)
        assert (sign * np.diff(values, axis=1) >= -1e-9).all()
    if model is regressor and standardize:
        free = model().fit(X, y)
        assert (gradient_of(free, X)[:, 1] < 0).any()


def test_monotonic_constraints_by_name_are_those_by_position():
    pd = pytest.importorskip("pandas")
    X, y = problem(20)
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_name = regressor(monotonic_cst={"b": 1, "a": -1}).fit(frame, y)
    by_position = regressor(monotonic_cst=[-1, 1, 0, 0]).fit(X, y)
    assert_same_learners(by_name.ensemble_, by_position.ensemble_)


def test_a_sharp_softplus_is_a_relu():
    X, y = problem(21)
    with pytest.warns(ConvergenceWarning, match="[1-4] of 4 stages"):  # stuck in a kink, a little above it
        model = regressor(beta=1e5, l2_regularization=1e-3).fit(X, y)
    ensemble = model.ensemble_
    z = X @ ensemble.weights.T + ensemble.offsets
    relu = ensemble.intercepts + ensemble.signs * np.maximum(z, 0)
    assert_allclose(model.transform(X), relu, rtol=0, atol=1e-4 * y.std())
    blunt = regressor(beta=1.0, knots=0).fit(X, y).ensemble_
    z = X @ blunt.weights.T + blunt.offsets
    assert np.abs(blunt.embed(X) - blunt.intercepts - blunt.signs * np.maximum(z, 0)).max() > 0.1 * y.std()


def test_learners_are_what_the_ensemble_says():
    X, y = problem(22)
    for options in ({}, {"standardize": False, "beta": 2.0}):
        model = regressor(**options).fit(X, y)
        e = model.ensemble_
        assert set(e.signs) <= {-1.0, 1.0}
        scale = y.std() if model.standardize else 1.0
        assert_allclose(e.beta, model.beta / scale, rtol=1e-12)
        z = inputs_of(model).of(X) @ e.weights.T + e.offsets
        expected = e.intercepts + e.signs * np.logaddexp(0, e.beta * z) / e.beta
        assert_allclose(model.transform(X), expected, rtol=1e-9, atol=1e-9)


# --- threads, types, chance -----------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [regressor, classifier])
def test_any_number_of_threads_gives_the_same_bits(dtype, model):
    X, y = problem(23, n=41_000, p=10, dtype=dtype)  # 410,000 numbers: enough for threads
    y = labels(y) if model is classifier else y
    first, *others = [model(n_components=1, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 4)]
    for other in others:
        assert_same_learners(first.ensemble_, other.ensemble_)
        assert_array_equal(first.loss_curve_, other.loss_curve_)
        assert_array_equal(first.transform(X), other.transform(X))


def test_float32_stays_float32_and_float64_stays_float64():
    for dtype in (np.float32, np.float64):
        X, y = problem(24, dtype=dtype)
        assert regressor().fit(X, y).transform(X).dtype == dtype
        assert regressor().fit_transform(X, y).dtype == dtype


def test_float32_learns_what_float64_learns():
    X, y = problem(24, n=400)
    single = regressor().fit(X.astype(np.float32), y).predict(X.astype(np.float32))
    double = regressor().fit(X, y).predict(X)
    assert sd_of_difference(double, single) < 0.05


def test_without_a_seed_fits_differ_and_leave_the_global_state_alone():
    X, y = problem(25)
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1:3]  # noqa: NPY002
    fits = [
        regressor(random_state=None, early_stopping=early).fit(X, y).ensemble_.weights[-1]
        for early in (False, False, True)
    ]
    after = np.random.get_state()[1:3]  # noqa: NPY002
    assert_array_equal(before[0], after[0])
    assert before[1] == after[1]
    assert not np.array_equal(fits[0], fits[1])


def test_a_seed_makes_fits_equal_and_another_seed_different():
    X, y = problem(26)
    first, same, other = (regressor(random_state=seed).fit(X, y).ensemble_ for seed in (3, 3, 4))
    assert_same_learners(first, same)
    assert not np.array_equal(first.weights, other.weights)


def test_a_random_state_instance_goes_on_from_fit_to_fit():
    X, y = problem(26)
    first = regressor(random_state=np.random.RandomState(1)).fit(X, y)
    again = regressor(random_state=np.random.RandomState(1)).fit(X, y)
    assert_same_learners(first.ensemble_, again.ensemble_)
    assert not np.array_equal(again.fit(X, y).ensemble_.weights, first.ensemble_.weights)


# --- several outputs ------------------------------------------------------------------------------


def test_each_of_several_targets_is_a_model_of_its_own():
    X, y, model = model_and_target("three targets", 27)
    alone = clone(model).fit(X, y[:, 0])
    model.fit(X, y)
    assert model.predict(X).shape == y.shape
    # The first output draws from the seeds that a single one draws from.
    assert_allclose(model.transform(X)[:, ::3], alone.transform(X), rtol=0, atol=1e-4)
    other = y.copy()
    other[:, 1:] = X[:, [3, 2]]
    swapped = clone(model).fit(X, other)
    # The outputs are found by one product with X, of which BLAS may add up the parts in another order.
    assert_allclose(model.transform(X)[:, ::3], swapped.transform(X)[:, ::3], rtol=0, atol=1e-9)
    assert not np.array_equal(model.transform(X)[:, 1::3], swapped.transform(X)[:, 1::3])


def test_shifting_one_of_several_targets_shifts_its_first_learner():
    X, y, model = model_and_target("three targets", 27)
    shift = np.array([0, 512, -4096])
    phi, shifted = clone(model).fit(X, y).transform(X), clone(model).fit(X, y + shift).transform(X)
    assert_allclose(shifted[:, :3] - phi[:, :3], np.tile(shift, (len(X), 1)), rtol=0, atol=0.01)
    assert_allclose(shifted[:, 3:], phi[:, 3:], rtol=0, atol=0.01)


def test_equal_targets_draw_from_seeds_of_their_own():
    X, y = problem(28)
    weights = regressor().fit(X, np.column_stack([y, y])).ensemble_.weights
    assert not np.array_equal(weights[0], weights[1])


def test_each_class_is_fitted_against_the_rest():
    X, y = problem(29)
    y = labels(y, 3)
    model = classifier().fit(X, y)
    against_rest = classifier().fit(X, y == 0)
    # By one product with X for all classes, of which BLAS may add up the parts in another order.
    assert_allclose(model.transform(X)[:, ::3], against_rest.transform(X), rtol=0, atol=1e-9)
    assert_allclose(model.decision_function(X)[:, 0], against_rest.decision_function(X), rtol=0, atol=1e-9)


@few
@given(seed=seeds, K=st.integers(2, 5), loss=st.sampled_from(["log_loss", "exponential"]))
def test_probabilities_of_any_labels_sum_to_one_and_agree_with_predict(seed, K, loss):
    X, y = problem(seed)
    names = np.array(["zebra", "ape", "bee", "cow", "dog"])[:K]
    model = classifier(loss=loss, n_components=2).fit(X, names[labels(y, K)])
    assert_array_equal(model.classes_, np.sort(names))
    p = model.predict_proba(X)
    assert p.shape == (len(X), K)
    assert (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert model.score(X, names[labels(y, K)]) > 1.3 / K


@pytest.mark.parametrize(("loss", "factor"), [("log_loss", 1), ("exponential", 2)])
def test_probability_is_the_sigmoid_of_the_score(loss, factor):
    X, y = problem(30)
    model = classifier(loss=loss).fit(X, labels(y))
    expected = 1 / (1 + np.exp(-factor * model.decision_function(X)))
    assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-9)
    several = classifier(loss=loss).fit(X, labels(y, 3))
    each = 1 / (1 + np.exp(-factor * several.decision_function(X)))
    assert_allclose(several.predict_proba(X), each / each.sum(axis=1, keepdims=True), rtol=1e-9)


def test_probabilities_are_finite_far_away():
    X, y = problem(31)
    for K in (2, 3):
        p = classifier().fit(X, labels(y, K)).predict_proba(1e5 * X)
        assert np.isfinite(p).all()
        assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_hinge_gives_no_probabilities():
    X, y = problem(32)
    model = classifier(loss="hinge").fit(X, labels(y))
    assert not hasattr(model, "predict_proba")
    assert model.score(X, labels(y)) > 0.8


def test_the_quantile_loss_puts_its_share_of_rows_below():
    X, y = problem(33, n=1000)
    for q in (0.2, 0.5, 0.9):
        below = (y < regressor(loss="quantile", quantile=q).fit(X, y).predict(X)).mean()
        assert abs(below - q) < 0.03


@pytest.mark.parametrize("n", [200, 20_500])  # the second is sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_that_differ_by_powers_of_two_give_the_same_bits(n, dtype):
    X, y = problem(36, n=n, dtype=dtype)
    scale = np.array([4, 0.5, 1024, 2**-20], dtype=dtype)
    plain, scaled = regressor().fit(X, y), regressor().fit(X * scale, 8 * y)
    of_inputs = scale[inputs_of(plain).source]
    assert_array_equal(scaled.ensemble_.weights * of_inputs, 8 * plain.ensemble_.weights)
    assert_array_equal(scaled.transform(X * scale), 8 * plain.transform(X))


def test_the_ridge_weighs_as_much_beside_a_huber_loss_of_any_delta():
    X, y = problem(35, n=300)
    for loss in ({"huber_delta": 1e-9}, {"huber_delta": 1e-4}, {"loss": Huber(1e-4)}):
        settings = {"loss": "huber", "n_components": 8, "l2_regularization": 1e-3, **loss}
        model = regressor(**settings).fit(X, y)
        assert model.score(X, y) > 0.8  # where the ridge weighed as ever, 0 to 0.4


def test_the_ridge_of_a_huber_loss_in_the_users_units_is_as_given():
    X, y = problem(35)
    least = regressor(loss="huber", huber_delta=1e-9, standardize=False, l2_regularization=1e-3).fit(X, y)
    assert np.ptp(least.predict(X)) < 1e-3 * np.ptp(y)


def test_the_huber_loss_ignores_the_size_of_outliers():
    X, y = problem(34, n=300)
    spoiled = y.copy()
    spoiled[::30] += 50
    errors = {
        loss: np.abs(regressor(loss=loss, huber_delta=0.1).fit(X, spoiled).predict(X) - y).mean()
        for loss in ("huber", "squared_error")
    }
    assert errors["huber"] < 0.5 * errors["squared_error"]
