"""The active subspace against the mean of outer products of gradients."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap.inspection import active_subspace, explain


def mean_outer_product(model, X):
    """The definition: gradients in standard deviations of X and y."""
    slopes = explain(model, X, standardized=True).coefficients
    slopes = slopes.reshape(len(X), X.shape[1], -1) / model._target_deviation
    return np.einsum("npk,nqk->pq", slopes, slopes) / len(X)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("n_components", [3, 15])
def test_shares_and_directions_are_the_eigenvectors_of_the_mean_outer_product(n_targets, n_components):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    targets = y if n_targets == 1 else np.column_stack([y, 1000 * X[:, 2] ** 2])
    model = GBMAPRegressor(n_components, random_state=0).fit(X, targets)
    subspace, expected = active_subspace(model, X), mean_outer_product(model, X)
    directions = subspace.directions
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-10)
    rebuilt = np.trace(expected) * (directions.T * subspace.shares) @ directions
    np.testing.assert_allclose(rebuilt, expected, atol=1e-10 * np.trace(expected))
    assert (np.diff(subspace.shares) <= 0).all()
    assert subspace.shares.sum() == pytest.approx(1)


def test_a_function_of_one_direction_has_one_dimension_and_the_view_finds_it():
    X = np.random.default_rng(0).normal(size=(1000, 5)) * [1, 2, 3, 4, 5] + 100
    along = X @ [1, 0, 0, 0, -0.2] - 80
    subspace = active_subspace(GBMAPRegressor(6, random_state=0).fit(X, np.abs(along)), X)
    assert subspace.effective_dimension < 1.05
    view = subspace.transform(X, 1)[:, 0]
    assert abs(np.corrcoef(view, along)[0, 1]) > 0.999
    np.testing.assert_allclose(view.mean(), 0, atol=1e-9)


def test_two_equal_directions_count_as_two():
    X = np.random.default_rng(0).normal(size=(4000, 6))
    model = GBMAPRegressor(12, random_state=0).fit(X, np.abs(X[:, 0]) + np.abs(X[:, 3]))
    subspace = active_subspace(model, X)
    assert subspace.effective_dimension == pytest.approx(2, abs=0.1)
    assert np.abs(subspace.directions[:2][:, [1, 2, 4, 5]]).max() < 0.1


def test_classes_and_pipelines_use_the_inputs_of_the_model():
    X, y = load_iris(return_X_y=True)
    assert active_subspace(GBMAPClassifier(3, knots=0, random_state=0).fit(X, y), X).directions.shape == (
        4,
        4,
    )
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 3, "big", "small")})
    steps = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(steps, GBMAPRegressor(3, random_state=0)).fit(frame, X[:, 2])
    subspace = active_subspace(model, frame)
    assert list(subspace.feature_names) == ["size", "kind is big", "kind is small"]
    assert subspace.transform(frame, 2).shape == (150, 2)
    assert list(subspace.to_frame().columns) == ["size", "kind is big", "kind is small", "share"]


def test_faults_are_named():
    X = np.random.default_rng(0).normal(size=(50, 3))
    subspace = active_subspace(GBMAPRegressor(2, knots=0, random_state=0).fit(X, X[:, 0]), X)
    with pytest.raises(ValueError, match=r"n_components must be between 1 and 2.*got 5"):
        subspace.transform(X, 5)
    with pytest.raises(ValueError, match="model must depend on X"):
        active_subspace(GBMAPRegressor(2, random_state=0).fit(X, np.ones(50)), X)


def test_the_picture_shows_the_cumulated_shares():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = load_diabetes(return_X_y=True)
    subspace = active_subspace(GBMAPRegressor(4, random_state=0).fit(X, y), X)
    np.testing.assert_allclose(subspace.plot().ax_.lines[0].get_ydata(), np.cumsum(subspace.shares))
    plt.close("all")


def test_where_columns_bend_each_is_one_feature():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    X["kind"] = rng.choice(["u", "v"], 300)
    X.loc[::6, "b"] = np.nan
    model = GBMAPRegressor(4, knots=4, random_state=0).fit(X, 3 * np.abs(X["a"]) + X["b"].isna())
    subspace = active_subspace(model, X)
    assert list(subspace.feature_names) == ["a", "b", "c", "b is missing", "kind is u", "kind is v"]
    assert subspace.shares.sum() == pytest.approx(1)
    assert subspace.shares[0] > 0.9
    assert subspace.feature_names[np.abs(subspace.directions[0]).argmax()] == "a"
    view = subspace.transform(X, 2)
    np.testing.assert_allclose(view.mean(axis=0), 0, atol=1e-9)
    assert abs(np.corrcoef(view[:, 0], X["a"])[0, 1]) > 0.95
    assert "from" not in repr(subspace)


def test_pieces_of_a_column_that_must_rise_are_one_feature():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = GBMAPRegressor(4, knots=4, monotonic_cst=[1, 0], random_state=0).fit(X, np.exp(X[:, 0]) + X[:, 1])
    subspace, expected = active_subspace(model, X), mean_outer_product(model, X)
    rebuilt = np.trace(expected) * (subspace.directions.T * subspace.shares) @ subspace.directions
    np.testing.assert_allclose(rebuilt, expected, rtol=0.02, atol=0.02 * np.trace(expected))
