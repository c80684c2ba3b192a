"""The curve of a column: what the model predicts with the column set, averaged over rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap.inspection import column_curve


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(50, 9, n), "age": rng.gamma(2.0, 20.0, n)})
    X["kind"] = rng.choice(["u", "v", "w"], n)
    X.loc[rng.random(n) < 0.2, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "kind"] = None
    y = np.abs(X["size"] - 50) + 8 * (X["kind"] == "u") * (X["size"] > 50) + X["age"].isna() * 5
    return X, y


@pytest.fixture(scope="module", params=["knots", "rising", "pipeline"])
def fitted(request):
    X, y = table()
    if request.param == "knots":
        return X, GBMAPRegressor(5, knots=4, random_state=0).fit(X, y)
    if request.param == "rising":
        return X, GBMAPRegressor(5, knots=4, monotonic_cst=[0, 1, 0], random_state=0).fit(X, y)
    before = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age"]),
        (StandardScaler(), ["size"]),
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
    )
    return X, make_pipeline(before, GBMAPRegressor(5, knots=3, random_state=0)).fit(X, y)


@pytest.mark.parametrize("name", ["size", "age"])
def test_the_average_and_single_curves_are_predictions_with_the_column_set(fitted, name):
    X, model = fitted
    curve = column_curve(model, X, name, rows=[0, -1], n_points=12)
    assert curve.base_value == pytest.approx(model.predict(X).mean())
    assert_array_equal(curve.rows, [0, len(X) - 1])
    for value, average, local in zip(curve.values, curve.average, curve.local.T):
        predicted = model.predict(X.assign(**{name: value}))
        assert average + curve.base_value == pytest.approx(predicted.mean(), rel=1e-9)
        assert_allclose(local + curve.base_value, predicted[[0, -1]], rtol=1e-9)


def test_the_values_go_from_the_least_to_the_most_with_the_knots_between(fitted):
    X, model = fitted
    curve = column_curve(model, X, "age", n_points=7)
    assert (curve.values[0], curve.values[-1]) == pytest.approx((X["age"].min(), X["age"].max()))
    assert (np.diff(curve.values) > 0).all()
    assert len(curve.knots) >= 3
    assert np.isin(curve.knots, curve.values).all()
    assert len(curve.values) <= 7 + len(curve.knots)
    assert_allclose(np.sort(curve.observed), np.sort(X["age"].dropna()))


def test_a_missing_number_is_told_beside_the_curve(fitted):
    X, model = fitted
    curve = column_curve(model, X, "age")
    expected = model.predict(X.assign(age=np.nan)).mean() - model.predict(X).mean()
    assert curve.missing == pytest.approx(expected)
    assert column_curve(model, X, "size").missing is None


def test_a_missing_number_is_known_where_no_row_of_x_has_one():
    X, y = table()
    model = GBMAPRegressor(4, knots=3, random_state=0).fit(X, y)
    whole = X.dropna()
    expected = model.predict(whole.assign(age=np.nan)).mean() - model.predict(whole).mean()
    assert column_curve(model, whole, "age").missing == pytest.approx(expected)


def test_categories_have_a_value_each_and_their_share(fitted):
    X, model = fitted
    curve = column_curve(model, X, "kind", rows=[3])
    assert curve.is_category
    assert set(curve.values[:3]) == {"u", "v", "w"}
    assert curve.share.sum() == pytest.approx(1)
    for name, average, local, share in zip(curve.values, curve.average, curve.local[0], curve.share):
        is_gap = name in ("missing", "None", "nan")
        value = X.loc[X["kind"].isna() if is_gap else X["kind"] == name, "kind"].iloc[0]
        predicted = model.predict(X.assign(kind=pd.Series([value] * len(X), dtype=X["kind"].dtype)))
        assert average + curve.base_value == pytest.approx(predicted.mean())
        assert local + curve.base_value == pytest.approx(predicted[3])
        is_there = X["kind"].isna() if is_gap else X["kind"] == name
        assert share == pytest.approx(is_there.mean())


def test_rare_and_unknown_categories_are_others():
    X, y = table()
    model = GBMAPRegressor(3, random_state=0).fit(X, y)
    strange = X.assign(kind=np.where(np.arange(len(X)) % 2, "never seen", "u"))
    curve = column_curve(model, strange, "kind")
    shares = dict(zip(curve.values, curve.share))
    assert shares["other"] == shares["u"] == 0.5
    assert curve.average @ curve.share == pytest.approx(0, abs=20)


def test_scikit_learn_finds_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    model = GBMAPRegressor(4, knots=3, random_state=0).fit(X, np.sin(X[:, 0]) * X[:, 1])
    curve = column_curve(model, X, 1, n_points=5)
    theirs = partial_dependence(
        model, X, [1], custom_values={1: curve.values}, method="brute", kind="average"
    )
    assert_allclose(curve.average + curve.base_value, theirs["average"][0], rtol=1e-9)


def test_a_linear_model_has_a_straight_curve():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = GBMAPRegressor(1, activation="identity", knots=0, random_state=0).fit(X, X @ [2.0, 1.0])
    curve = column_curve(model, X, 0)
    slope = np.diff(curve.average) / np.diff(curve.values)
    assert_allclose(slope, slope[0])
    assert len(curve.knots) == 0
    # At the mean of the column it is the mean of all.
    assert np.interp(X[:, 0].mean(), curve.values, curve.average) == pytest.approx(0, abs=1e-9)


def test_one_of_several_outputs_is_asked():
    X, y = table()
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [4, 10])]
    model = GBMAPClassifier(3, knots=3, random_state=0).fit(X, labels)
    curve = column_curve(model, X, "size", output="mid", n_points=3)
    assert curve.output == "mid"
    k = list(model.classes_).index("mid")
    score = model.decision_function(X.assign(size=curve.values[1]))[:, k]
    assert curve.average[1] + curve.base_value == pytest.approx(score.mean())
    with pytest.raises(ValueError, match="output must be one of"):
        column_curve(model, X, "size")


def test_an_initial_model_is_left_out_and_arrays_of_any_kind_are_read():
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = np.abs(X[:, 0]) + X[:, 1]
    model = GBMAPRegressor(3, knots=0, init=LinearRegression(), random_state=0).fit(X, y)
    curve = column_curve(model, X, "x0")
    assert curve.base_value == pytest.approx((model.predict(X) - model.init_.predict(X)).mean())
    plain = GBMAPRegressor(3, knots=0, random_state=0).fit(X, y)
    expected = column_curve(plain, X, 0).average
    assert_allclose(column_curve(plain, scipy.sparse.csr_array(X), 0).average, expected)
    assert_allclose(column_curve(plain, X.tolist(), -3).average, expected)


def test_many_rows_are_sampled_for_the_mean_and_none_for_the_range(monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 2))
    model = GBMAPRegressor(3, random_state=0).fit(X, X[:, 0] ** 2)
    whole = column_curve(model, X, 0)
    monkeypatch.setattr("gbmap.inspection.curve._MOST_ROWS", 100)
    monkeypatch.setattr("gbmap.inspection._column_steps._NUMBERS_AT_A_TIME", 1000)
    sampled = column_curve(model, X, 0)
    assert_array_equal(sampled.values, whole.values)
    assert_allclose(sampled.average, whole.average, atol=0.2 * np.ptp(whole.average))
    assert (sampled.average != whole.average).any()


def test_frames_and_texts_tell_the_curve(fitted):
    X, model = fitted
    curve = column_curve(model, X, "size", rows=[2])
    told = curve.to_frame()
    assert list(told.columns) == ["value", "average", "row 2"]
    assert_array_equal(told["row 2"], curve.local[0])
    assert "size" in repr(curve)
    assert "share" in repr(column_curve(model, X, "kind"))
    assert list(column_curve(model, X, "kind").to_frame().columns) == ["value", "average", "share"]
    assert "where it is missing" in repr(column_curve(model, X, "age"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feature": "weight"}, "feature must be the name or the position of one of the 3 columns"),
        ({"rows": [300]}, "rows must be positions of rows of X, from 0 to 299, got 300"),
        ({"rows": [True]}, "rows must be positions"),
        ({"n_points": 1}, "n_points must be an integer of at least 2, got 1"),
        ({"output": 1}, "output must be None for a model with one output"),
    ],
)
def test_bad_arguments_are_named(fitted, given, message):
    X, model = fitted
    with pytest.raises(ValueError, match=message):
        column_curve(model, X, **{"feature": "size"} | given)


def test_columns_that_cannot_be_asked_about_are_named(fitted):
    X, model = fitted
    with pytest.raises(ValueError, match="X must have rows with a value of 'age'"):
        column_curve(model, X.assign(age=np.nan), "age")
    before = make_column_transformer((StandardScaler(), ["size"]))
    dropping = make_pipeline(before, GBMAPRegressor(2, random_state=0)).fit(X, X["size"])
    with pytest.raises(ValueError, match="'kind' is dropped before them"):
        column_curve(dropping, X, "kind")
