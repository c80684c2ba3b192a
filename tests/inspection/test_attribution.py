"""Shares of a prediction against numerical integrals of the gradient, and the sums that they must have."""

import sys
import types
import warnings

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
from scipy.integrate import quad_vec
from sklearn.linear_model import LinearRegression

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.inspection.attribution import attributions

mpl.use("agg")


def draw(n=60, seed=0):
    """Return rows whose columns differ in mean and spread, and a target that is not linear in them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 30.0, 0.02, 5.0] + [0.0, 200.0, -1.0, 3.0]
    return X, np.abs(X[:, 0]) + X[:, 1] / 30 + np.maximum(X[:, 3], 2) / 2


def regressor(**options):
    return GBMAPRegressor(**{"n_components": 4, "l2_regularization": 1e-3, "random_state": 0, **options})


def classifier(**options):
    return GBMAPClassifier(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0, **options})


def three(y):
    return np.array(["low", "middle", "top"])[np.digitize(y, np.quantile(y, [0.4, 0.7]))]


def one_output(**options):
    X, y = draw()
    return regressor(**options).fit(X, y), X


def three_outputs():
    X, y = draw()
    return classifier().fit(X, three(y)), X


MODELS = pytest.mark.parametrize(
    "make", [one_output, three_outputs, lambda: one_output(activation="identity")], ids=["1", "3", "linear"]
)


def assert_complete(model, rows, baseline, rtol=1e-10):
    """Assert that the shares add up to the change of h, to rounding."""
    shares, score = attributions(model, rows, baseline), model.ensemble_.score
    as_double = np.atleast_2d(np.asarray(baseline, dtype=np.float64))
    base, h = score(as_double).mean(axis=0), score(np.asarray(rows, dtype=np.float64))
    size = np.abs(h).max() + np.abs(base).max()
    assert_allclose(shares.base_values.reshape(h.shape), np.tile(base, (len(h), 1)), rtol=1e-12)
    assert_allclose(shares.values.sum(axis=1).reshape(h.shape), h - base, rtol=rtol, atol=rtol * size)
    return shares


@MODELS
def test_shares_are_the_integral_of_the_gradient_along_the_segment(make):
    model, X = make()
    rows, baseline = X[:5], X[20]
    integral, _ = quad_vec(
        lambda t: model.ensemble_.gradient(baseline + t * (rows - baseline)), 0, 1, epsabs=1e-12, limit=10_000
    )
    expected = (rows - baseline)[:, :, None] * integral
    assert_allclose(attributions(model, rows, baseline).values.reshape(expected.shape), expected, atol=1e-9)


@pytest.mark.parametrize("activation", ["softplus", "identity"])
def test_shares_of_a_model_that_bends_are_integrals_over_the_inputs_of_each_column(activation):
    X, y = draw(200)
    model = regressor(activation=activation, l2_regularization="auto", refine=False).fit(X, y)
    inputs = FittedModel.of(model).inputs
    u, source = inputs.of(X), inputs.source
    assert len(source) > 2 * X.shape[1]
    integral, _ = quad_vec(
        lambda t: model.ensemble_.gradient(u[20] + t * (u[:5] - u[20]))[:, :, 0], 0, 1, epsabs=1e-12
    )
    expected = ((u[:5] - u[20]) * integral) @ (source[:, None] == np.arange(X.shape[1]))
    assert_allclose(attributions(model, X[:5], X[20]).values, expected, atol=1e-9)
    several = attributions(model, X, X[:7])
    assert_allclose(several.base_values, model.predict(X[:7]).mean())
    assert_allclose(several.base_values + several.values.sum(axis=1), model.predict(X), rtol=1e-10)


@MODELS
@pytest.mark.parametrize("n_background", [1, 2, 30])
def test_shares_add_up_and_a_background_gives_the_mean_over_its_rows(make, n_background):
    model, X = make()
    rows, background = X[:20], X[20 : 20 + n_background]
    shares = assert_complete(model, rows, background)
    each = [attributions(model, rows, baseline) for baseline in background]
    assert_allclose(shares.values, np.mean([one.values for one in each], axis=0), atol=1e-11)
    assert_allclose(shares.base_values, np.mean([one.base_values for one in each], axis=0))


@pytest.mark.parametrize("numbers", [1, 100])
def test_work_cut_into_small_pieces_gives_the_same_shares(numbers, monkeypatch):
    model, X = three_outputs()
    expected = attributions(model, X, X[:25]).values
    monkeypatch.setattr("gbmap.inspection.attribution._WORK_NUMBERS", numbers)
    assert_allclose(attributions(model, X, X[:25]).values, expected, atol=1e-12)


def test_the_same_bits_each_run_and_for_each_number_of_threads(monkeypatch):
    monkeypatch.setattr("gbmap._rows.mapping._CHUNK_NUMBERS", 100)
    model, X = three_outputs()
    for background in (X[0], X[:7]):
        first = attributions(model, X, background)
        for n_jobs in (None, 1, 2):
            again = attributions(model.set_params(n_jobs=n_jobs), X, background)
            assert_array_equal(again.values, first.values)
            assert_array_equal(again.base_values, first.base_values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_shares_add_up_also_for_columns_with_a_large_mean(mean, dtype):
    X, y = draw()
    X = ((X - X.mean(axis=0)) / X.std(axis=0) + [0, mean, 0, -mean]).astype(dtype)
    model = regressor(n_components=8).fit(X, y)
    for baseline in (X[3], X[:10]):
        shares = assert_complete(model, X, baseline, rtol=1e-9)
        assert shares.values.dtype == np.float64
    assert_allclose(shares.base_values + shares.values.sum(axis=1), model.predict(X), atol=1e-4)


def test_a_background_far_from_zero_costs_no_digits():
    X, y = draw()
    X = X + np.array([0, 1e15, 0, 0])
    model = regressor().fit(X, y)
    each = [attributions(model, X, baseline).values for baseline in X[:9]]
    assert_allclose(attributions(model, X, X[:9]).values, np.mean(each, axis=0), atol=1e-9)


@given(
    seed=st.integers(0, 2**32 - 1), beta=st.floats(0.01, 1000), size=st.sampled_from([1e-9, 1e-3, 1.0, 1e9])
)
@settings(max_examples=10, deadline=None, derandomize=True)
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # in the kink of a sharp softplus
def test_shares_add_up_near_the_baseline_and_far_out(seed, beta, size):
    X, y = draw(40, seed)
    model = regressor(beta=beta, max_iter=20_000).fit(X, y)
    d = np.random.default_rng(seed).standard_normal((6, 4)) * X.std(axis=0)
    for background in (X[:1], X[:5]):
        shares = assert_complete(model, background[0] + size * d, background)
        assert np.isfinite(shares.values).all()
    near = attributions(model, X[0] + size * d, X[0]).values.sum(axis=1)
    if size < 1e-6:  # where the difference of two predictions has few digits, shares have all
        assert_allclose(
            near, size * d @ model.ensemble_.gradient(X[:1])[0, :, 0], rtol=1e-4, atol=1e-6 * size
        )


def test_a_row_is_no_different_from_itself():
    model, X = one_output()
    assert_array_equal(attributions(model, X[4:5], X[4]).values, 0)
    assert_array_equal(attributions(model, X, X[4]).values[4], 0)
    repeated = attributions(model, X[4:5], np.repeat(X[4:5], 3, axis=0))
    assert_allclose(repeated.values, 0, atol=1e-12)


def test_a_feature_that_the_model_does_not_use_or_that_does_not_change_has_no_share():
    X, y = draw()
    X[:, 2] = 7.0
    model = regressor().fit(X, y)
    rows, background = X[:6].copy(), X[6:9].copy()
    rows[:, 2], background[:, 2] = 1.0, 9.0  # constant in training only
    rows[:, 0] = background[:, 0] = 1.5
    for baseline in (background[0], background):
        values = assert_complete(model, rows, baseline).values
        assert_array_equal(values[:, 2], 0)
        assert_allclose(values[:, 0], 0, atol=1e-14)
        assert (np.abs(values[:, [1, 3]]) > 1e-6).all()


def test_a_linear_model_gives_slope_times_difference():
    model, X = one_output(activation="identity")
    slope = model.ensemble_.gradient(X[:1])[0, :, 0]
    assert_allclose(attributions(model, X, X[0]).values, slope * (X - X[0]), atol=1e-12)
    assert_allclose(attributions(model, X, X).values, slope * (X - X.mean(axis=0)), atol=1e-11)


def test_an_initial_model_has_no_share():
    X, y = draw()
    model = regressor(init=LinearRegression()).fit(X, y)
    shares = assert_complete(model, X, X[0])
    h = model.predict(X) - model.init_.predict(X)
    assert_allclose(shares.base_values + shares.values.sum(axis=1), h, atol=1e-9)


FRAME = pd.DataFrame(draw()[0], columns=["a", "b", "c", "d"]).astype({"b": int})
BASELINES = {
    "array": lambda X, i: X.to_numpy()[i],
    "array of one row": lambda X, i: X.to_numpy()[i : i + 1],
    "list": lambda X, i: X.iloc[i].tolist(),
    "series": lambda X, i: X.iloc[i],
    "series of objects": lambda X, i: X.astype(object).iloc[i],
    "frame": lambda X, i: X.iloc[[i]],
    "polars": lambda X, i: pl.from_pandas(X)[i],
}


NAMES_FOR_NONE = [("frame", "numpy"), ("polars", "numpy")]  # of these scikit-learn warns
TABLES = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "numpy": pd.DataFrame.to_numpy}


@pytest.mark.parametrize(
    ("kind", "table"),
    [(kind, table) for kind in BASELINES for table in TABLES if (kind, table) not in NAMES_FOR_NONE],
)
def test_every_kind_of_baseline_gives_the_same_shares(kind, table):
    X, y = FRAME.to_numpy(), draw()[1]
    expected = attributions(regressor().fit(X, y), X, X[5]).values
    X = TABLES[table](FRAME)
    shares = attributions(regressor().fit(X, y), X, BASELINES[kind](FRAME, 5))
    assert_array_equal(shares.values, expected)
    names = ["x0", "x1", "x2", "x3"] if table == "numpy" else ["a", "b", "c", "d"]
    assert shares.feature_names.tolist() == names


def test_a_series_of_means_is_not_cut_to_the_integers_of_its_column():
    model = regressor().fit(FRAME, draw()[1])
    assert_array_equal(
        attributions(model, FRAME, FRAME.mean()).values,
        attributions(model, FRAME, FRAME.mean().to_frame().T).values,
    )


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_sparse_rows_and_baselines_are_as_good_as_dense_ones(make):
    X, y = draw()
    X = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    model, sparse = regressor().fit(make(X), y), make(X)
    expected = attributions(model, X, X[0])
    for baseline in (sparse[0], sparse[[0]], sparse[:1], X[0]):
        found = attributions(model, sparse, baseline)
        assert_allclose(found.values, expected.values, atol=1e-12)
    assert_array_equal(found.inputs, X)
    several = attributions(model, X, X[:7]).values
    assert_allclose(attributions(model, sparse, sparse[:7]).values, several, atol=1e-12)
    mean = attributions(model, X, X.mean(axis=0)).values
    assert_allclose(attributions(model, sparse, sparse.mean(axis=0)).values, mean, atol=1e-12)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ([1.0, 2.0, 3.0], "3 (columns|features)"),
        (np.ones((2, 5)), "5 (columns|features)"),
        (0.0, "1 (columns|features)"),
        ([1.0, np.inf, 0.0, 0.0], "contains infinity"),
        (np.ones((0, 4)), r"0 sample\(s\)"),
    ],
)
def test_a_baseline_unlike_the_rows_is_refused_by_name(baseline, message, table):
    X = TABLES[table](FRAME)
    model = regressor().fit(X, draw()[1])
    with pytest.raises(ValueError, match=f"baseline must hold rows like those of X: .*{message}"):
        attributions(model, X, baseline)


def test_a_baseline_of_other_columns_is_refused():
    model = regressor().fit(FRAME, draw()[1])
    for baseline in (FRAME.iloc[0].rename({"a": "z"}), FRAME[["a", "b"]]):
        with pytest.raises(ValueError, match=r"baseline must hold rows like those of X: [\s\S]*now missing"):
            attributions(model, FRAME, baseline)


def test_the_frame_has_the_names_and_the_base_value():
    model, X = three_outputs()
    shares = attributions(model, X, X[0])
    frame = shares.to_frame()
    assert frame.columns.tolist() == ["x0", "x1", "x2", "x3", "base_value"]
    assert_array_equal(frame.loc[(4, "middle")], [*shares.values[4, :, 1], shares.base_values[4, 1]])
    assert_allclose(frame.sum(axis=1).unstack(), model.decision_function(X))


@MODELS
def test_shap_gets_all_that_its_plots_want(make, monkeypatch):
    model, X = make()
    stub = types.SimpleNamespace(Explanation=lambda **arguments: types.SimpleNamespace(**arguments))
    monkeypatch.setitem(sys.modules, "shap", stub)
    shares = attributions(model, X, X[:3])
    given = shares.to_shap()
    assert_array_equal(given.values, shares.values)
    assert_array_equal(given.base_values, shares.base_values)
    assert_array_equal(given.data, X)
    assert given.feature_names == ["x0", "x1", "x2", "x3"]
    assert given.output_names == (["low", "middle", "top"] if shares.values.ndim == 3 else None)


@pytest.fixture(scope="module")
def shap():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matplotlib's, at what shap does as it is imported
        import shap
    return shap


@pytest.mark.nightly  # it takes two seconds to import
def test_shap_itself_takes_them(shap):
    model, X = one_output()
    given = attributions(model, X, X[:3]).to_shap()
    assert isinstance(given, shap.Explanation)
    assert_allclose(given.base_values + given.values.sum(axis=1), model.predict(X))


def test_shap_finds_the_same_for_a_linear_model(shap):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = GBMAPRegressor(2, activation="identity", knots=0, random_state=0).fit(X, X @ [1.0, -2.0, 0.5])
    slope, at_zero = model.ensemble_.gradient(X[:1])[0, :, 0], model.predict(np.zeros((1, 3)))[0]
    mine, theirs = attributions(model, X, X[:20]), shap.LinearExplainer((slope, at_zero), X[:20])(X)
    assert_allclose(mine.values, theirs.values, atol=1e-9)
    assert_allclose(mine.base_values, theirs.base_values)


def test_a_missing_extra_is_named(monkeypatch):
    model, X = one_output()
    shares = attributions(model, X, X[0])
    for module, extra, method in [("shap", "shap", shares.to_shap), ("pandas", "data", shares.to_frame)]:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf"{module} is needed.*pip install \"gbmap\[{extra}\]\""):
            method()


def test_the_picture_shows_the_largest_shares_of_a_row():
    model, X = three_outputs()
    shares = attributions(model, X, X[0])
    display = shares.plot(-2, output="low", n_features=3)
    assert_array_equal(np.abs(display.values), np.sort(np.abs(shares.values[-2, :, 0]))[:0:-1])
    assert display.ax_.get_xlabel() == "added to the prediction over the baseline"
    with pytest.raises(ValueError, match="output must be one of"):
        shares.plot()
    plt.close("all")
