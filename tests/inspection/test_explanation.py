"""Local linear models against finite differences, ridge regression and one another."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.inspection.explanation import explain

mpl.use("agg")
H = 1e-3


def draw(n=70, seed=0):
    """Return rows whose columns differ in mean and spread, and a target that is not linear in them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 30.0, 0.02, 5.0] + [0.0, 200.0, -1.0, 3.0]
    return X, np.abs(X[:, 0]) + X[:, 1] / 30 + np.maximum(X[:, 3], 2) / 2


def classes(y, n_classes):
    return np.array(["low", "middle", "top"])[-n_classes:][
        np.digitize(y, np.quantile(y, [0.4, 0.7])[-n_classes + 1 :])
    ]


def regressor(**options):
    """Return a model that is smooth, also at the rows that it learns from."""
    return GBMAPRegressor(**{"n_components": 4, "l2_regularization": 1e-3, "random_state": 0, **options})


def classifier(**options):
    return GBMAPClassifier(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0, **options})


def derivatives(function, X, spread):
    """Return the derivative in each column, of shape (n, p, ...), by differences of fourth order."""
    each = []
    for k, h in enumerate(H * spread):
        f = {i: function(X + i * h * np.eye(X.shape[1])[k]) for i in (-2, -1, 1, 2)}
        each.append((8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h))
    return np.stack(each, axis=1)


def assert_is_local_model(explanation, function, X):
    """Assert that coefficients are derivatives of a function, and intercepts lead to its values."""
    spread = X.std(axis=0)
    expected = derivatives(function, X, spread)
    found, unit = explanation.coefficients, spread.reshape(-1, *[1] * (expected.ndim - 2))
    assert found.shape == expected.shape
    rounding = 1e-7 * np.abs(expected * unit).max()  # of the differences, which goes with the largest
    assert_allclose(found * unit, expected * unit, rtol=1e-6, atol=rounding)
    linear = np.einsum("np...,np->n...", found, explanation.inputs)
    assert_allclose(explanation.intercepts + linear, function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("activation", ["softplus", "identity"])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
def test_the_prediction_of_a_regressor_is_explained(loss, activation):
    X, y = draw()
    model = regressor(loss=loss, activation=activation, max_iter=50_000).fit(X, y)
    assert_is_local_model(explain(model, X), model.predict, X)


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("knots", ["auto", 4])
def test_a_model_that_bends_is_explained_between_its_knots(knots, probability):
    X, y = draw(300)
    make = classifier if probability else regressor
    model = make(knots=knots, l2_regularization="auto", refine=False)
    model.fit(X, classes(y, 2) if probability else y)
    assert all(len(each) >= 4 for each in model.knots_)
    rows = draw(40, seed=1)[0]
    away = [np.abs(rows[:, [k]] - each).min(axis=1) / X[:, k].std() for k, each in enumerate(model.knots_)]
    rows = rows[np.min(away, axis=0) > 3 * H]
    assert len(rows) > 20
    function = (lambda X: model.predict_proba(X)[:, 1]) if probability else model.predict
    assert_is_local_model(explain(model, rows, probability=probability), function, rows)


@given(seed=st.integers(0, 2**32 - 1), standardize=st.booleans(), beta=st.floats(0.1, 50))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_any_fit_is_explained(seed, standardize, beta):
    X, y = draw(40, seed)
    model = regressor(standardize=standardize, beta=beta, max_iter=20_000).fit(X / [1, 30, 0.02, 5], y)
    Z = X / [1, 30, 0.02, 5]
    assert_is_local_model(explain(model, Z), model.predict, Z)


def test_several_targets_are_explained_each():
    X, y = draw()
    model = regressor().fit(X, np.column_stack([y, -2 * y, X[:, 0] ** 2]))
    local = explain(model, X)
    assert local.coefficients.shape == (70, 4, 3)
    assert local.output_names.tolist() == [0, 1, 2]
    assert_is_local_model(local, model.predict, X)


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_score_of_a_classifier_is_explained(n_classes, loss):
    X, y = draw()
    model = classifier(loss=loss).fit(X, classes(y, n_classes))
    local = explain(model, X)
    assert_is_local_model(local, model.decision_function, X)
    assert (local.output_names is None) if n_classes == 2 else (local.output_names == model.classes_).all()


@pytest.mark.parametrize("init", [None, LogisticRegression()])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_explained(n_classes, loss, init):
    X, y = draw()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = classifier(loss=loss, init=init).fit(Z, classes(y, n_classes))
    f_0 = 0.0  # held fixed
    if init is not None:
        p_0 = np.clip(model.init_.predict_proba(Z), 1e-6, 1 - 1e-6)
        f_0 = logit(p_0[:, 1:] if n_classes == 2 else p_0)

    def probability(rows):
        score = model.ensemble_.score(rows) + f_0
        p = expit(score if loss == "log_loss" else 2 * score)
        return p[:, 0] if n_classes == 2 else p / p.sum(axis=1, keepdims=True)

    expected = model.predict_proba(Z)
    assert_allclose(probability(Z), expected[:, 1] if n_classes == 2 else expected)
    assert_is_local_model(explain(model, Z, probability=True), probability, Z)


def test_probabilities_of_several_classes_change_by_nothing_in_sum():
    X, y = draw()
    local = explain(classifier().fit(X, classes(y, 3)), X, probability=True, standardized=True)
    assert_allclose(local.coefficients.sum(axis=2), 0, atol=1e-15)
    assert_allclose(local.intercepts.sum(axis=1), 1)


@pytest.mark.parametrize("model", [classifier(loss="hinge"), regressor()])
def test_probabilities_need_a_model_that_gives_them(model):
    X, y = draw()
    model.fit(X, y > np.median(y))
    with pytest.raises(ValueError, match=rf"probability=True is for classifiers .*loss='{model.loss}'"):
        explain(model, X, probability=True)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_standardized_counts_from_the_training_means_in_deviations(n_classes):
    X, y = draw()
    model = regressor().fit(X, y) if n_classes is None else classifier().fit(X, classes(y, n_classes))
    rows = X[:10]
    plain, standard = (explain(model, rows, standardized=each) for each in (False, True))
    wide = (slice(None), None) if n_classes == 3 else slice(None)
    assert_allclose(standard.coefficients, plain.coefficients * X.std(axis=0)[wide])
    assert_allclose(standard.inputs, (rows - X.mean(axis=0)) / X.std(axis=0), atol=1e-12)
    at_mean = plain.intercepts + np.einsum("np...,p->n...", plain.coefficients, X.mean(axis=0))
    assert_allclose(standard.intercepts, at_mean)
    assert_allclose(standard.contributions, plain.contributions)
    score = model.ensemble_.score(rows)
    total = score - at_mean.reshape(score.shape)
    assert_allclose(plain.contributions.sum(axis=1).reshape(score.shape), total, atol=1e-10)
    expected = np.einsum("np...,np->np...", standard.coefficients, standard.inputs)
    assert_allclose(plain.contributions, expected, atol=1e-12)


def test_with_identity_activation_it_is_ridge_regression():
    X, y = draw()
    n, p, penalty = *X.shape, 0.5
    model = regressor(n_components=1, activation="identity", l2_regularization=penalty, tol=1e-15).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ridge = Ridge(alpha=n * penalty / (p + 1), tol=1e-12).fit(Z, y)
    standard = explain(model, X, standardized=True)
    assert_allclose(standard.coefficients, np.tile(ridge.coef_, (n, 1)), rtol=1e-5, atol=1e-7)
    assert_allclose(standard.intercepts, np.full(n, y.mean()), rtol=1e-6)
    slopes = ridge.coef_ / X.std(axis=0)
    plain = explain(model, X)
    assert_allclose(plain.coefficients, np.tile(slopes, (n, 1)), rtol=1e-5, atol=1e-6)
    assert_allclose(plain.intercepts, np.full(n, y.mean() - slopes @ X.mean(axis=0)), rtol=1e-5)


@pytest.mark.parametrize("standardized", [False, True])
def test_an_initial_model_is_left_out(standardized):
    X, y = draw()
    model = regressor(init=LinearRegression()).fit(X, y)
    local = explain(model, X, standardized=standardized)
    h = model.predict(X) - model.init_.predict(X)
    assert_allclose(local.intercepts + (local.coefficients * local.inputs).sum(axis=1), h, atol=1e-9)
    assert_allclose(explain(model, X).coefficients, model.ensemble_.gradient(X)[:, :, 0])


def test_every_kind_of_table_gives_the_same_numbers():
    X, y = draw()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=range(100, 170))
    expected = explain(regressor().fit(X, y), X)
    assert expected.feature_names.tolist() == ["x0", "x1", "x2", "x3"]
    for table in (frame, pl.from_pandas(frame)):
        local = explain(regressor().fit(table, y), table)
        assert local.feature_names.tolist() == ["a", "b", "c", "d"]
        assert_array_equal(local.coefficients, expected.coefficients)
        assert_array_equal(local.intercepts, expected.intercepts)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_sparse_rows_are_explained_as_dense_ones(make):
    X, y = draw()
    X = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    model = regressor().fit(make(X), y)
    sparse, dense = explain(model, make(X)), explain(model, X)
    assert isinstance(sparse.coefficients, np.ndarray)
    assert_allclose(sparse.coefficients, dense.coefficients)
    assert_array_equal(sparse.inputs, X)


@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_float32_rows_are_explained_in_double_precision(mean):
    X, y = draw()
    X32 = ((X - X.mean(axis=0)) / X.std(axis=0) + [0, mean, 0, 0]).astype(np.float32)
    model = regressor().fit(X32, y)
    local, double = explain(model, X32), explain(model, X32.astype(np.float64))
    assert local.coefficients.dtype == np.float64
    assert_array_equal(local.coefficients, double.coefficients)
    value = local.intercepts + (local.coefficients * X32).sum(axis=1)
    assert_allclose(value, model.predict(X32), atol=1e-4)
    assert_allclose(explain(model, X32, standardized=True).contributions, local.contributions)


@pytest.mark.parametrize("options", [{}, {"standardized": True}, {"probability": True}])
def test_the_same_bits_each_run_and_for_each_number_of_threads(options, monkeypatch):
    monkeypatch.setattr("gbmap._rows.mapping._CHUNK_NUMBERS", 1000)
    X, y = draw(1000)
    model = classifier(n_components=6).fit(X, classes(y, 3))
    first = explain(model, X, **options)
    for n_jobs in (None, 1, 2):
        again = explain(model.set_params(n_jobs=n_jobs), X, **options)
        for name in ("coefficients", "intercepts", "contributions", "inputs"):
            assert_array_equal(getattr(again, name), getattr(first, name))


def test_rows_are_explained_each_by_itself_and_one_may_come_alone():
    X, y = draw()
    model = regressor().fit(X, y)
    many = explain(model, X)
    for i in (0, 31):
        one = explain(model, X[i : i + 1])
        assert one.coefficients.shape == (1, 4)
        assert one.intercepts.shape == (1,)
        assert_allclose(one.coefficients[0], many.coefficients[i], rtol=1e-12)
        assert_allclose(one.contributions[0], many.contributions[i], rtol=1e-9, atol=1e-12)


def test_a_constant_column_and_a_null_learner_explain_nothing():
    X, y = draw()
    X[:, 2] = 5.0
    for local in (explain(regressor().fit(X, y), X), explain(regressor(l2_regularization=1e15).fit(X, y), X)):
        assert_array_equal(local.coefficients[:, 2], 0)
        assert_array_equal(local.contributions[:, 2], 0)
    assert_allclose(local.coefficients, 0, atol=1e-12)
    assert_allclose(local.intercepts, y.mean(), rtol=1e-6)


def test_a_result_keeps_its_inputs_when_the_rows_change_later():
    X, y = draw()
    model, rows = regressor().fit(X, y), X[:5].copy()
    local = explain(model, rows)
    rows += 1
    assert_array_equal(local.inputs, X[:5])


def test_the_frame_has_the_names_and_an_intercept_also_beside_a_feature_of_that_name():
    X, y = draw()
    frame = explain(regressor().fit(X, y), X).to_frame()
    assert (frame.shape, frame.index.name) == ((70, 5), "row")
    table = pd.DataFrame(X, columns=["intercept", "b", "c", "d"])
    local = explain(regressor().fit(table, y), table)
    assert local.to_frame().columns.tolist() == ["intercept", "b", "c", "d", "intercept"]
    assert_array_equal(local.to_frame().to_numpy()[:, 0], local.coefficients[:, 0])
    assert_array_equal(local.to_frame().to_numpy()[:, 4], local.intercepts)


def test_the_frame_of_several_outputs_has_a_row_for_each():
    X, y = draw()
    local = explain(classifier().fit(X, classes(y, 3)), X)
    frame = local.to_frame()
    assert frame.index.names == ["row", "output"]
    assert_array_equal(frame.loc[(4, "middle")], [*local.coefficients[4, :, 1], local.intercepts[4, 1]])


def test_a_missing_extra_is_named(monkeypatch):
    X, y = draw()
    local = explain(regressor().fit(X, y), X)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas is needed.*pip install \"gbmap\[data\]\""):
        local.to_frame()


def test_the_picture_shows_the_largest_coefficients_or_contributions_of_a_row():
    X, y = draw()
    local = explain(regressor().fit(X, y), X, standardized=True)
    order = np.argsort(-np.abs(local.coefficients[3]))
    display = local.plot(3, n_features=2)
    assert_array_equal(display.values, local.coefficients[3, order[:2]])
    assert display.names == local.feature_names[order[:2]].tolist()
    assert display.ax_.get_xlabel() == "change of the prediction per standard deviation of a feature"
    display = local.plot(-1, contributions=True, ax=display.ax_)
    assert sorted(display.values) == sorted(local.contributions[-1])
    plt.close("all")


def test_the_picture_needs_a_row_and_output_that_exist():
    X, y = draw()
    one, three = explain(regressor().fit(X, y), X), explain(classifier().fit(X, classes(y, 3)), X)
    assert_array_equal(sorted(three.plot(1, output="top").values), sorted(three.coefficients[1, :, 2]))
    for local, options, message in [
        (one, {"row": 70}, "row must be below 70, the number of rows explained, got 70"),
        (one, {"row": -71}, "row must be below 70"),
        (one, {"output": "top"}, "output must be None for a model with one output, got 'top'"),
        (three, {}, r"output must be one of \['low', 'middle', 'top'\], got None"),
        (three, {"output": "high"}, "got 'high'"),
    ]:
        with pytest.raises(ValueError, match=message):
            local.plot(**options)
    plt.close("all")


def test_columns_and_outputs_are_found_by_name_or_position():
    X, y = draw()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = FittedModel.of(classifier().fit(frame, classes(y, 3)))
    assert [fitted.feature_index(each) for each in ("b", 1, -3, np.int64(1))] == [1] * 4
    assert fitted.output_index("middle") == 1
    for feature in ("e", 4, -5, None):
        with pytest.raises(
            ValueError, match=r"feature must be .* 4 columns, got .* the columns are a, b, c, d"
        ):
            fitted.feature_index(feature)
    for output in (1, None, "high"):
        with pytest.raises(ValueError, match=r"output must be one of \['low', 'middle', 'top'\]"):
            fitted.output_index(output)
    two, number = FittedModel.of(classifier().fit(X, y > np.median(y))), FittedModel.of(regressor().fit(X, y))
    assert two.output_index(None) == number.output_index(None) == number.output_index(0) == 0
    for alone, output in [(two, 0), (two, False), (two, True), (number, 1)]:
        with pytest.raises(ValueError, match="output must be None for a model with one output"):
            alone.output_index(output)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (LinearRegression(), TypeError, "a fitted GBMAP, or a pipeline or search .* got LinearRegression"),
        (make_pipeline(StandardScaler(), LinearRegression()), TypeError, "got LinearRegression"),
        (make_pipeline(GBMAPRegressor(), StandardScaler()), TypeError, "got StandardScaler"),
        (GBMAPRegressor, TypeError, "model must be a fitted GBMAP"),
        (GBMAPRegressor(), NotFittedError, "GBMAPRegressor instance is not fitted"),
        (make_pipeline(StandardScaler(), GBMAPRegressor()), NotFittedError, "GBMAPRegressor instance is not"),
        (GridSearchCV(GBMAPRegressor(), {}), NotFittedError, "GridSearchCV instance is not fitted"),
        (
            GridSearchCV(GBMAPRegressor(1), {}, cv=2, refit=False).fit(np.eye(8), np.arange(8.0)),
            ValueError,
            "this GridSearchCV has refit=False",
        ),
    ],
)
def test_what_is_no_fitted_gbmap_is_refused(model, error, message):
    with pytest.raises(error, match=message):
        explain(model, np.ones((2, 2)))
