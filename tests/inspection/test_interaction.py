"""Second derivatives against differences of the coefficients, and what they are for."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_friedman1
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap.inspection import explain, interactions


def fourth_order(at, h=1e-4):
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def between_knots(X):
    """Return rows beside those of training, among which are the knots: there are second derivatives."""
    return X + 5e-4


def slopes_of_coefficients(model, X):
    """Differences of the local coefficients along each column."""
    steps = np.eye(X.shape[1])
    return np.stack(
        [fourth_order(lambda h, e=e: explain(model, X + h * e).coefficients) for e in steps], axis=1
    )


@pytest.mark.parametrize("activation", ["softplus", "identity"])
def test_values_are_the_derivatives_of_the_coefficients(activation):
    X, y = make_friedman1(60, n_features=5, random_state=0)
    model = GBMAPRegressor(6, activation=activation, random_state=0).fit(X, y)
    X = between_knots(X)
    values, expected = interactions(model, X).values, slopes_of_coefficients(model, X)
    np.testing.assert_allclose(values, expected, atol=1e-6 * max(1, np.abs(expected).max()))
    assert values.any() == (activation == "softplus")


def test_each_output_has_its_own():
    X, y = load_iris(return_X_y=True)
    model = GBMAPClassifier(3, random_state=0).fit(X, y)
    X = between_knots(X)
    result, expected = interactions(model, X), slopes_of_coefficients(model, X)
    assert result.values.shape == (150, 4, 4, 3)
    np.testing.assert_allclose(result.values, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert set(result.to_frame()["output"]) == {0, 1, 2}


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_they_are_symmetric_and_standardizing_multiplies_by_both_scales(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * [1, 10, 100]
    model = GBMAPRegressor(4, random_state=0).fit(X, rng.normal(size=40))
    raw, standard = interactions(model, X), interactions(model, X, standardized=True)
    np.testing.assert_allclose(raw.values, np.swapaxes(raw.values, 1, 2), rtol=1e-10, atol=1e-12)
    scale = np.multiply.outer(model.scale_, model.scale_)
    np.testing.assert_allclose(standard.values, raw.values * scale, rtol=1e-9)
    np.testing.assert_allclose(standard.mean_absolute, np.abs(standard.values).mean(axis=0), rtol=1e-12)


def test_the_strongest_pair_is_the_one_that_was_built_in():
    X = np.random.default_rng(0).normal(size=(2000, 6))
    model = GBMAPRegressor(15, random_state=0).fit(X, X[:, 1] * X[:, 4] + X[:, 0])
    frame = interactions(model, X, standardized=True, only_mean=True).to_frame()
    assert frame.loc[0, ["first", "second"]].tolist() == ["x1", "x4"]
    assert frame.loc[0, "mean_absolute"] > 3 * frame.loc[1, "mean_absolute"]


def test_through_a_pipeline_they_are_those_of_the_users_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(50, 9, 300), "kind": rng.choice(list("uvw"), 300), "id": range(300)})
    steps = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(steps, GBMAPRegressor(6, random_state=0)).fit(X, X["size"] * (X["kind"] == "u"))
    X = X.assign(size=between_knots(X["size"]))
    result = interactions(model, X)
    assert list(result.feature_names) == ["size", "kind", "id"]
    expected = fourth_order(lambda h: explain(model, X.assign(size=X["size"] + h)).coefficients)
    np.testing.assert_allclose(result.values[:, 0], expected, atol=1e-6 * np.abs(expected).max())
    assert not result.values[:, 2].any()


def test_a_result_that_would_not_fit_is_refused_with_the_way_out():
    X = np.random.default_rng(0).normal(size=(50, 30))
    model = GBMAPRegressor(2, random_state=0).fit(X, X[:, 0])
    many = np.tile(X[0], (400_000, 1))
    with pytest.raises(ValueError, match=r"400000 rows and 30 columns.*only_mean=True"):
        interactions(model, many)
    mean = interactions(model, many[:60_000], only_mean=True).mean_absolute
    np.testing.assert_allclose(mean, np.abs(interactions(model, X[:1]).values[0]), rtol=1e-9)


def test_the_picture_shows_the_strongest_features():
    plt = pytest.importorskip("matplotlib.pyplot")
    X = np.random.default_rng(0).normal(size=(500, 6))
    model = GBMAPRegressor(8, random_state=0).fit(X, X[:, 1] * X[:, 4])
    result = interactions(model, X)
    display = result.plot(n_features=2)
    assert display.row_names == ["x1", "x4"]
    np.testing.assert_array_equal(display.values, result.mean_absolute[np.ix_([1, 4], [1, 4])])
    np.testing.assert_array_equal(result.plot(row=3).values, result.values[3])
    with pytest.raises(ValueError, match="row must be below 500"):
        result.plot(row=500)
    plt.close("all")
