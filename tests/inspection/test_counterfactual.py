"""The nearest row past a value: it passes, keeps to what is allowed, and no row is nearer than is claimed."""

import ctypes
import sys
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core.ensemble import Ensemble
from gbmap._fitted.model import FittedModel
from gbmap.inspection.counterfactual import nearest_counterfactual

SEEDS = st.integers(0, 2**32 - 1)


def random_model(rng, p, n_learners, activation="softplus", signs=(-1.0, 1.0)):
    """Return a model of random learners that bend within the rows returned with it."""
    X = rng.normal(size=(40, p)) * rng.uniform(0.3, 5, p) + rng.normal(size=p)
    model = GBMAPRegressor(1, activation=activation, l2_regularization=1.0, random_state=0)
    model.fit(X, X.sum(axis=1))
    weights = rng.normal(size=(n_learners, p)) / model.scale_
    model.ensemble_ = Ensemble(
        intercepts=rng.normal(size=n_learners),
        signs=rng.choice(signs, n_learners),
        weights=weights,
        offsets=-(weights * X[rng.integers(0, 40, n_learners)]).sum(axis=1),
        beta=rng.choice([0.5, 2.0, 5.0, 100.0], n_learners),
        outputs=np.zeros(n_learners, dtype=np.intp),
        activation=activation,
        n_outputs=1,
        center=np.zeros(p),
    )
    return model, X


def size(model, x, points):
    return (np.abs(points - x) / model.scale_).sum(axis=-1)


@cache
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return GBMAPClassifier(n_components=10, random_state=0).fit(X, y), X


@cache
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return GBMAPRegressor(n_components=10, random_state=0).fit(X, y), X


@cache
def households():
    """Return a pipeline on a frame of numbers, categories, flags and gaps, and the frame."""
    rng, n = np.random.default_rng(0), 300
    frame = pd.DataFrame(
        {
            "note": ["text"] * n,
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 0.5, n)),
            "city": np.where(rng.random(n) < 0.1, None, rng.choice(["Bonn", "Oslo", "Rome", "Turku"], n)),
            "age": rng.integers(18, 80, n),
            "rooms": rng.integers(1, 4, n),
            "owner": rng.random(n) < 0.5,
        }
    )
    y = (
        (frame["age"] > 50)
        + frame["income"].fillna(2e4) / 3e4
        + 1.5 * (frame["city"] == "Rome")
        - 0.8 * (frame["city"] == "Bonn")
        + 0.5 * frame["owner"]
        + 0.7 * (frame["rooms"] == 2)
        + rng.normal(0, 0.2, n)
    )
    text = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"),
        OneHotEncoder(drop="first"),
    )
    tables = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler()), ["age", "income"]),
            ("text", text, ["city"]),
            ("rooms", OneHotEncoder(handle_unknown="ignore"), ["rooms"]),
            ("owner", "passthrough", ["owner"]),
        ],
        sparse_threshold=0,
    )
    return make_pipeline(tables, GBMAPRegressor(4, random_state=0)).fit(frame, y), frame


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("activation", ["softplus", "identity"])
@given(seed=SEEDS)
@settings(max_examples=4, deadline=None, derandomize=True)
def test_no_row_of_a_fine_grid_is_nearer(p, activation, seed):
    rng = np.random.default_rng(seed)
    model, X = random_model(rng, p, int(rng.integers(1, 8)), activation)
    check_against_a_grid(rng, model, X[0])


def check_against_a_grid(rng, model, x):
    """Ask for the nearest row within random bounds, and compare it with those of a fine grid."""
    p, tol = len(x), 0.005
    low, high = x - rng.uniform(-0.3, 3, p) * model.scale_, x + rng.uniform(0.4, 3, p) * model.scale_
    whole = np.flatnonzero((rng.random(p) < 0.3) & (np.ceil(low) <= np.floor(high)))
    axes = [np.linspace(low[k], high[k], 20_001 if p == 1 else 161) for k in range(p)]
    for k in whole:
        axes[k] = np.arange(np.ceil(low[k]), np.floor(high[k]) + 1)
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, p)
    f = model.predict(grid)
    above = bool(rng.random() < 0.5)
    value = np.quantile(f, rng.choice([0.02, 0.5, 0.98])) + 1e-3 * rng.random() * (np.ptp(f) + 1)
    passes = f > value if above else f < value
    result = nearest_counterfactual(
        model, x, value, direction="above" if above else "below",
        bounds={k: (low[k], high[k]) for k in range(p)}, integer=whole, tol=tol,
    )  # fmt: skip
    nearest = size(model, x, grid)[passes].min(initial=np.inf)
    assert result.lower_bound <= nearest * (1 + 1e-9)
    assert result.cost <= nearest / (1 - tol)
    if result.found:
        after = model.predict(result.row)[0]
        assert after > value if above else after < value
        assert (low <= result.point).all()
        assert (result.point <= high).all()
        assert_array_equal(result.point[whole], np.rint(result.point[whole]))
        assert_allclose(result.cost, size(model, x, result.point), rtol=1e-12)
        assert result.lower_bound <= result.cost
        if result.proved:
            assert result.lower_bound >= (1 - tol) * result.cost


@given(seed=SEEDS)
@settings(max_examples=4, deadline=None, derandomize=True)
def test_no_random_row_within_the_lower_bound_passes(seed):
    rng = np.random.default_rng(seed)
    p = 6
    model, X = random_model(rng, p, 8)
    value = np.quantile(model.predict(X), 0.95)
    x = X[np.argsort(model.predict(X))[5]]
    result = nearest_counterfactual(model, x, value)
    assert result.proved
    assert model.predict(result.row)[0] > value
    corners = np.vstack(
        [np.eye(p), -np.eye(p), rng.dirichlet(np.full(p, 0.3), 3000) * rng.choice([-1, 1], p)]
    )
    near = x + 0.999 * result.lower_bound * corners * model.scale_
    assert (model.predict(near) <= value).all()


def test_the_value_may_be_just_within_or_just_beyond_reach():
    model, X = random_model(np.random.default_rng(3), 1, 6)
    x, bounds = X[0], {0: (X.min(), X.max())}
    most = model.predict(np.linspace(X.min(), X.max(), 200_001)[:, None]).max()
    within = nearest_counterfactual(model, x, most - 1e-4, bounds=bounds, direction="above")
    beyond = nearest_counterfactual(model, x, most + 1e-4, bounds=bounds, direction="above")
    assert within.found
    assert within.proved
    assert not beyond.found
    assert beyond.proved
    assert beyond.point is beyond.row is beyond.changes is beyond.standardized_changes is None
    assert beyond.cost == beyond.lower_bound == np.inf
    assert np.isnan(beyond.prediction_after)
    assert beyond.message == f"No row within the bounds has a prediction above {most + 1e-4:.6g}."


def test_without_bounds_it_is_said_how_far_was_searched():
    model, X = random_model(np.random.default_rng(0), 2, 3, signs=(-1.0,))
    ceiling = model.ensemble_.intercepts.sum()  # the learners only take from it
    result = nearest_counterfactual(model, X[0], ceiling + 1)
    assert not result.found
    assert not result.proved
    assert result.lower_bound == 1000
    assert "a size up to 1000 " in result.message
    assert nearest_counterfactual(model, X[0], ceiling - 1e-3).found


@pytest.mark.parametrize("rise", [60, -60])
def test_a_linear_model_moves_its_steepest_features_up_to_their_bounds(rise):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = GBMAPRegressor(2, activation="identity", knots=0, random_state=0).fit(X, y)
    slopes = model.ensemble_.gradient(X[:1])[0, :, 0] * model.scale_
    first, second = np.argsort(-np.abs(slopes))[:2]
    x, value = X[7], model.predict(X[7:8])[0] + rise
    free = nearest_counterfactual(model, x, value)
    assert_allclose(free.cost, 60 / abs(slopes[first]), rtol=1e-6)
    assert_array_equal(np.flatnonzero(free.changes), [first])
    end = x[first] + 0.5 * np.sign(rise * slopes[first]) * model.scale_[first]
    bounded = nearest_counterfactual(model, x, value, bounds={first: sorted((x[first], end))})
    assert_allclose(bounded.cost, 0.5 + (60 - 0.5 * abs(slopes[first])) / abs(slopes[second]), rtol=1e-6)
    assert bounded.point[first] == end
    assert_array_equal(np.sort(np.flatnonzero(bounded.changes)), np.sort([first, second]))


@pytest.mark.parametrize("row", [0, 19, 100])
def test_the_predicted_class_of_two_changes(row):
    model, X = cancer()
    kept = [0, 3, 20]
    result = nearest_counterfactual(model, X[row], bounds=X, immutable=kept)
    assert result.found
    assert result.proved
    assert model.predict(result.row) != model.predict(X[[row]])
    assert_allclose(
        model.decision_function(result.point[None]), result.prediction_after, rtol=1e-9, atol=1e-12
    )
    assert abs(result.prediction_after) < 1e-5
    assert_allclose(result.prediction_before, model.decision_function(X[[row]])[0])
    assert_array_equal(result.point[kept], X[row, kept])
    assert (X.min(axis=0) <= result.point).all()
    assert (result.point <= X.max(axis=0)).all()
    assert_allclose(result.point, X[row] + result.changes)
    assert_allclose(result.standardized_changes, result.changes / model.scale_)
    assert 0.99 * nearest_counterfactual(model, X[row]).cost <= result.cost


@pytest.mark.parametrize(("value", "direction"), [(100, "below"), (250, "above")])
def test_whole_numbers_and_bounds_are_kept_on_real_data(value, direction):
    model, X = diabetes()
    whole = ["age", "sex", "s1"]
    result = nearest_counterfactual(
        model, X.iloc[[0]], value, bounds=X, integer=whole, immutable=["s3"], direction=direction
    )
    assert result.proved
    after = model.predict(result.row)[0]
    assert after < value if direction == "below" else after > value
    point = pd.Series(result.point, X.columns)
    assert (point[whole] == point[whole].round()).all()
    assert point["s3"] == X.iloc[0]["s3"]
    assert ((X.min() <= point) & (point <= X.max())).all()
    assert list(result.row.columns) == list(X.columns)
    assert_array_equal(result.row.to_numpy()[0], result.point)


def test_a_row_that_is_there_already_is_left_alone():
    model, X = diabetes()
    value = model.predict(X.iloc[[5]])[0]
    result = nearest_counterfactual(model, X.iloc[5], value - 1, direction="above")
    assert result.found
    assert result.proved
    assert result.cost == result.lower_bound == 0
    assert_array_equal(result.point, X.iloc[5])
    assert "nothing needs to change" in result.message
    assert result.to_frame().empty
    assert nearest_counterfactual(model, X.iloc[5], value - 1).prediction_after < value - 1
    assert nearest_counterfactual(model, X.iloc[5], value + 1).prediction_after > value + 1


def test_a_margin_is_kept():
    model, X = diabetes()
    value = model.predict(X.iloc[[5]])[0] + 10
    result = nearest_counterfactual(model, X.iloc[5], value, margin=7.5)
    assert_allclose(result.prediction_after, value + 7.5, rtol=1e-6)
    assert result.prediction_after > value + 7.5
    assert "by more than 7.5" in result.message


def test_a_row_outside_its_bounds_moves_inside():
    model, X = diabetes()
    x = X.iloc[5]
    bounds = {"age": (x["age"] + 3.2, None), "bmi": (None, x["bmi"] - 1)}
    result = nearest_counterfactual(model, x, -1e3, direction="above", bounds=bounds, integer=["age"])
    change = pd.Series(result.changes, X.columns)
    assert change["age"] == 4
    assert change["bmi"] == pytest.approx(-1)
    assert np.count_nonzero(change) == 2
    assert result.proved


def test_a_fraction_is_rounded_where_a_whole_number_is_wanted():
    model, X = random_model(np.random.default_rng(0), 2, 3)
    x = np.array([X[0, 0], 2.3])
    result = nearest_counterfactual(model, x, -1e3, direction="above", integer=[1])
    assert_array_equal(result.point, [x[0], 2.0])
    assert_allclose(result.cost, 0.3 / model.scale_[1])


def test_a_row_outside_the_range_of_others_may_keep_what_is_immutable():
    model, X = diabetes()
    x = X.iloc[5].copy()
    x["age"] = 99.0
    value = model.predict(x.to_frame().T)[0] + 20
    assert nearest_counterfactual(model, x, value, bounds=X, immutable=["age"]).point[0] == 99
    assert nearest_counterfactual(model, x, value, bounds=X).point[0] <= X["age"].max()


def test_a_whole_number_that_passes_by_less_than_the_solver_can_tell_is_found():
    model, X = random_model(np.random.default_rng(0), 1, 1, signs=(1.0,))
    upwards = np.sign(model.ensemble_.weights[0, 0])
    x = np.rint(X[:1].mean(keepdims=True))
    third = x + 3 * upwards
    value = model.predict(third)[0] - 1e-7
    result = nearest_counterfactual(model, x, value, integer=[0])
    assert_array_equal(result.point, third[0])


def test_a_value_nearer_than_the_solver_can_tell_is_passed_but_nothing_is_proved():
    model = random_model(np.random.default_rng(0), 1, 1, signs=(1.0,))[0]
    model.ensemble_.beta[:] = 100
    step = model.scale_[0] * np.sign(model.ensemble_.weights[0, 0])
    bend = -model.ensemble_.offsets[0] / model.ensemble_.weights[0, 0]
    x = np.array([bend - step])  # the learner is flat up to the bend
    value = model.predict(x[None])[0] + 1e-7
    result = nearest_counterfactual(model, x, value)
    way = x + np.linspace(0, 1, 100_001)[:, None] * step
    assert result.prediction_after > value
    assert_allclose(result.cost, size(model, x, way)[model.predict(way) > value].min(), rtol=1e-4)
    assert result.lower_bound < 1e-6
    assert not result.proved


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", [0, 3, 4, 8])
@pytest.mark.parametrize("shift", [-0.7, 0.7])
def test_through_a_pipeline_the_answer_is_a_row_of_the_users(row, shift):
    model, frame = households()
    x = frame.iloc[[row]]
    value = model.predict(x)[0] + shift
    result = nearest_counterfactual(model, x, value, bounds=frame, integer=["age"], time_limit=60)
    assert result.found
    assert result.proved
    after = model.predict(result.row)[0]
    assert after == result.prediction_after
    assert (after - value) * shift > 0
    assert (result.row.dtypes == frame.dtypes).all()
    new, old = result.row.iloc[0], x.iloc[0]
    assert new["note"] == "text"
    assert isinstance(new["owner"], (bool, np.bool_))
    assert new["city"] in ("Bonn", "Oslo", "Rome", "Turku") or (pd.isna(new["city"]) and pd.isna(old["city"]))
    assert new["rooms"] in (1, 2, 3)
    deviation = {"age": frame["age"].std(ddof=0), "owner": frame["owner"].std(ddof=0)}
    deviation["income"] = frame["income"].fillna(frame["income"].mean()).std(ddof=0)
    cost = sum(abs(float(new[name]) - float(old[name])) / deviation[name] for name in ("age", "owner"))
    if not pd.isna(old["income"]):
        cost += abs(new["income"] - old["income"]) / deviation["income"]
    cost += (str(new["city"]) != str(old["city"])) + (new["rooms"] != old["rooms"])
    assert_allclose(result.cost, cost, rtol=1e-9)


def test_a_flag_goes_all_the_way():
    model, frame = households()
    x = frame[~frame["owner"]].iloc[[0]]
    others = [name for name in frame if name != "owner"]
    result = nearest_counterfactual(model, x, model.predict(x)[0] + 0.01, immutable=others)
    assert result.row["owner"].tolist() == [True]
    assert result.row["owner"].dtype == bool
    assert_allclose(result.cost, 1 / frame["owner"].std(ddof=0))


def test_of_all_combinations_of_categories_the_cheapest_is_found():
    model, frame = households()
    cities, rooms = ["Bonn", "Oslo", "Rome", "Turku"], [1, 2, 3]
    row = int(np.flatnonzero(frame["city"] == "Oslo")[0])
    x = frame.iloc[[row]]
    table = pd.concat([x.assign(city=city, rooms=n) for city in cities for n in rooms])
    costs = (table["city"] != "Oslo").to_numpy() * 1.0 + (table["rooms"] != x["rooms"].iloc[0]).to_numpy()
    f = model.predict(table)
    for value in np.quantile(f, [0.1, 0.4, 0.9]) + 1e-3:
        result = nearest_counterfactual(
            model, x, value, direction="above", immutable=["age", "income", "owner"]
        )
        assert result.proved
        assert result.cost == costs[f > value].min()
        assert model.predict(result.row)[0] > value
    none = nearest_counterfactual(model, x, f.max() + 0.01, immutable=["age", "income", "owner"])
    assert not none.found
    assert none.proved


def test_what_is_missing_stays_missing():
    model, frame = households()
    gaps = frame[frame["income"].isna() & frame["city"].isna()]
    x = gaps.iloc[[0]]
    result = nearest_counterfactual(model, x, model.predict(x)[0] + 0.5, bounds=frame)
    assert result.found
    assert np.isnan(result.point[1])
    assert result.point[2] is None or np.isnan(result.point[2])
    assert set(result.to_frame()["feature"]) <= {"age", "rooms", "owner"}


def test_a_category_that_stands_for_missing_values_is_not_proposed():
    frame = pd.DataFrame({"city": ["a", None, "b", None] * 20, "age": np.arange(80.0)})
    y = np.where(frame["city"].isna(), 10.0, 0.0) + frame["age"] / 100
    fill = SimpleImputer(strategy="constant", fill_value="gap")
    text = make_pipeline(fill, OneHotEncoder(sparse_output=False))
    tables = make_column_transformer((text, ["city"]), ("passthrough", ["age"]))
    model = make_pipeline(tables, GBMAPRegressor(2, random_state=0)).fit(frame, y)
    result = nearest_counterfactual(model, frame.iloc[[0]], 5.0, bounds=frame, immutable="age")
    assert not result.found
    assert result.proved


def test_every_form_of_a_row_leads_to_the_same_point():
    X, y = load_iris(return_X_y=True, as_frame=True)
    on_frames = GBMAPRegressor(3, knots=0, random_state=0).fit(X, y)
    on_arrays = GBMAPRegressor(3, knots=0, random_state=0).fit(X.to_numpy(), y)
    array, bounds = X.to_numpy()[0], X.to_numpy()
    expected = nearest_counterfactual(on_arrays, array, 1.5, bounds=bounds)
    assert expected.point.dtype == np.float64
    for x in (array[None], array.tolist(), scipy.sparse.csr_array(array[None]), array.astype(np.float32)):
        result = nearest_counterfactual(on_arrays, x, 1.5, bounds=scipy.sparse.csr_matrix(bounds))
        assert_allclose(result.point, expected.point, rtol=1e-6)
    ends = {name: (X[name].min(), X[name].max()) for name in X}
    polars = pl.from_pandas(X)
    for x, limits in ((X.iloc[[0]], X), (X.iloc[0], ends), (polars[:1], polars)):
        result = nearest_counterfactual(on_frames, x, 1.5, bounds=limits)
        assert_allclose(result.point, expected.point, rtol=1e-9)
        assert_allclose(on_frames.predict(result.row), result.prediction_after, rtol=1e-12)
    assert isinstance(result.row, pl.DataFrame)


def test_polars_frames_go_through_a_pipeline():
    frame = pl.DataFrame({"kind": ["a", "b", "c"] * 30, "size": np.arange(90), "old": [True, False] * 45})
    y = (frame["kind"] == "b").to_numpy() * 3 + frame["size"].to_numpy() / 30 - frame["old"].to_numpy()
    kinds = OneHotEncoder(sparse_output=False)
    tables = make_column_transformer((kinds, ["kind"]), ("passthrough", ["size", "old"]))
    model = make_pipeline(tables, GBMAPRegressor(3, random_state=0)).fit(frame, y)
    result = nearest_counterfactual(model, frame[:1], 3.5, bounds=frame)
    assert result.row["kind"].to_list() == ["b"]
    assert result.row["old"].dtype == pl.Boolean
    assert model.predict(result.row)[0] == result.prediction_after > 3.5


def test_columns_of_a_mixed_array_are_known_by_position():
    rng = np.random.default_rng(0)
    X = np.array([[age, city] for age, city in zip(rng.normal(40, 9, 90), "abc" * 30)], dtype=object)
    tables = ColumnTransformer([("n", StandardScaler(), [0]), ("c", OneHotEncoder(sparse_output=False), [1])])
    model = make_pipeline(tables, GBMAPRegressor(3, random_state=0)).fit(X, (X[:, 1] == "b") * 1.0)
    result = nearest_counterfactual(model, [40.0, "a"], 0.5, immutable=[0])
    assert result.point.tolist() == [40.0, "b"]
    assert result.changes.tolist() == [0.0, 1.0]


def test_a_column_that_enters_twice_moves_both_inputs():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(
        make_union(StandardScaler(), MinMaxScaler()), GBMAPRegressor(2, random_state=0)
    ).fit(X, y)
    result = nearest_counterfactual(model, X[0], 1.5, bounds=X)
    assert result.proved
    assert model.predict(result.point[None])[0] > 1.5


def test_one_of_several_outputs_is_chosen_by_name():
    X, y = load_iris(return_X_y=True)
    classifier = GBMAPClassifier(2, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    result = nearest_counterfactual(classifier, X[0], output="c", bounds=X)
    assert classifier.decision_function(X[:1])[0, 2] < 0 < classifier.decision_function(result.row)[0, 2]
    regressor = GBMAPRegressor(2, random_state=0).fit(X, np.c_[y, -2.0 * y])
    result = nearest_counterfactual(regressor, X[0], -1.0, output=1)
    assert regressor.predict(result.row)[0, 1] == result.prediction_after < -1


def test_with_an_initial_model_the_value_is_one_of_what_is_added_to_it():
    X, y = load_iris(return_X_y=True)
    model = GBMAPRegressor(3, init=LinearRegression(), l2_regularization=1e-3, random_state=0).fit(X, y)
    before = model.transform(X[:1]).sum()
    result = nearest_counterfactual(model, X[0], before + 0.1)
    assert_allclose(result.prediction_before, before)
    assert_allclose(model.transform(result.row).sum(), result.prediction_after)
    assert result.prediction_after > before + 0.1


def test_units_do_not_matter():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    plain = nearest_counterfactual(GBMAPRegressor(5, random_state=0).fit(X, y), X[0], 250, tol=1e-3)
    scale = 10.0 ** np.arange(-5, 5)
    model = GBMAPRegressor(5, random_state=0).fit(X * scale, 1e-6 * y)
    scaled = nearest_counterfactual(model, X[0] * scale, 250e-6, tol=1e-3)
    assert plain.proved
    assert scaled.proved
    assert_allclose(scaled.cost, plain.cost, rtol=2e-3)


def test_a_learner_without_weights_does_no_harm():
    model, X = random_model(np.random.default_rng(1), 2, 4)
    model.ensemble_.weights[:2] = 0
    result = nearest_counterfactual(model, X[0], model.predict(X[:1])[0] + 0.3)
    assert result.found
    assert result.proved
    model.ensemble_.weights[:] = 0
    assert not nearest_counterfactual(model, X[0], model.predict(X[:1])[0] + 0.3).found


def test_a_row_of_which_nothing_may_change_has_no_other():
    model, X = random_model(np.random.default_rng(1), 2, 4)
    result = nearest_counterfactual(model, X[0], 1e3, immutable=[0, 1])
    assert not result.found
    assert result.proved


def test_the_same_question_has_the_same_answer_to_the_last_bit():
    model, X = cancer()
    first, second = (nearest_counterfactual(model, X[19], bounds=X) for _ in range(2))
    assert_array_equal(first.point, second.point)
    assert first.lower_bound == second.lower_bound


def test_a_smaller_tolerance_proves_more():
    model, X = diabetes()
    loose = nearest_counterfactual(model, X.iloc[0], 250, tol=0.2)
    tight = nearest_counterfactual(model, X.iloc[0], 250, tol=1e-4)
    assert tight.proved
    assert tight.lower_bound >= (1 - 1e-4) * tight.cost
    assert loose.lower_bound <= tight.cost <= loose.cost * (1 + 1e-9)


def test_without_time_what_is_returned_is_true_all_the_same():
    model, X = cancer()
    result = nearest_counterfactual(model, X[0], time_limit=0)
    assert not result.proved
    assert result.lower_bound < result.cost
    if result.found:
        assert model.predict(result.row) != model.predict(X[:1])
        assert "as far as was proved" in result.message
    else:
        assert "time_limit=0" in result.message


@pytest.mark.skipif(sys.platform == "win32", reason="reaches for the C library")
def test_nothing_is_printed(capfd):
    model, X = diabetes()
    nearest_counterfactual(model, X.iloc[8], 200, bounds=X, integer=list(X.columns))
    ctypes.CDLL(None).fflush(None)  # the solver is not Python
    assert capfd.readouterr().out == ""


def test_changes_are_shown_as_a_table_and_as_bars():
    model, frame = households()
    row = int(np.flatnonzero((frame["city"] == "Bonn") & frame["income"].notna())[0])
    x = frame.iloc[[row]]
    result = nearest_counterfactual(model, x, model.predict(x)[0] + 2.6, bounds=frame, immutable="age")
    table = result.to_frame().set_index("feature")
    assert {"city", "income"} <= set(table.index)
    assert table.loc["city"].tolist() == ["Bonn", "Rome", 1.0, 1.0]
    assert table.loc["income", "from"] + table.loc["income", "change"] == pytest.approx(
        table.loc["income", "to"]
    )
    sizes = table["standard deviations"]
    assert_allclose(sizes.abs().sum(), result.cost)
    assert sizes.abs().is_monotonic_decreasing
    with mpl.rc_context({"backend": "agg"}):
        display = result.plot(n_features=2)
    assert list(display.names) == list(table.index[:2])
    assert_allclose(display.values, sizes[:2])


def test_there_is_nothing_to_show_where_nothing_was_found():
    model, X = random_model(np.random.default_rng(1), 2, 4)
    result = nearest_counterfactual(model, X[0], 1e3, immutable=[0, 1])
    for show in (result.to_frame, result.plot):
        with pytest.raises(ValueError, match="no change to show: No row within the bounds"):
            show()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": None}, "value must be given for a regressor"),
        ({"value": np.nan}, "value must be a finite number, the prediction to pass, got nan"),
        ({"value": "high"}, "value must be a finite number"),
        ({"direction": "up"}, 'direction must be "above", "below" or None, got \'up\''),
        ({"output": 1}, "output must be None for a model with one output"),
        ({"margin": -1}, "margin must be a finite number of at least 0, got -1"),
        ({"tol": np.inf}, "tol must be a finite number"),
        ({"time_limit": None}, "time_limit must be a finite number of at least 0, got None"),
        ({"bounds": {"wealth": (0, 1)}}, "bounds must be the name or the position .* got 'wealth'"),
        ({"bounds": {"age": (3, 2)}}, r"bounds of 'age' must have low <= high, got \(3, 2\)"),
        ({"bounds": {"age": (np.nan, 2)}}, "bounds of 'age' must have low <= high"),
        ({"bounds": {"age": 5}}, r"bounds of 'age' must be a pair \(low, high\), got 5"),
        ({"bounds": {"city": (0, 1)}}, "bounds is for numeric features, but 'city' holds categories"),
        ({"integer": ["rooms"]}, "integer is for numeric features, but 'rooms' holds categories"),
        ({"integer": ["age"], "bounds": {"age": (2.1, 2.9)}}, "no whole number within its bounds"),
        ({"integer": ["aeg"]}, "integer must be the name or the position"),
        ({"immutable": ["aeg"]}, "immutable must be the name or the position"),
        (
            {"immutable": ["age"], "bounds": {"age": (0, 1)}},
            r"'age' is immutable, but its value in x, \d+, is outside its bounds \(0, 1\); leave it out",
        ),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(options, message):
    model, frame = households()
    with pytest.raises(ValueError, match=message):
        nearest_counterfactual(model, frame.iloc[[0]], **({"value": 3.0} | options))


def test_a_fixed_fraction_cannot_be_a_whole_number():
    model = random_model(np.random.default_rng(0), 2, 3)[0]
    with pytest.raises(ValueError, match=r"'x1' is immutable and in integer, .* x, 2\.5, is no whole number"):
        nearest_counterfactual(model, [1.0, 2.5], 3.0, immutable=[1], integer=[1])


def test_several_rows_are_refused():
    model, X = diabetes()
    with pytest.raises(
        ValueError, match=r"x must be one row, of shape \(p,\) or \(1, p\), got shape \(2, 10\)"
    ):
        nearest_counterfactual(model, X.head(2), 200)


def test_a_classifier_with_an_initial_model_wants_a_value():
    X, y = load_iris(return_X_y=True)
    model = GBMAPClassifier(1, init=lambda X: np.zeros(len(X)), random_state=0).fit(X, y > 0)
    with pytest.raises(ValueError, match=r"value must be given .* for a model with init"):
        nearest_counterfactual(model, X[0])


def test_a_column_that_is_both_a_number_and_categories_must_be_named_immutable():
    X, y = load_iris(return_X_y=True)
    X = X[:, :2].round()
    union = make_union(StandardScaler(), OneHotEncoder(sparse_output=False))
    model = make_pipeline(union, GBMAPClassifier(2, random_state=0)).fit(X, y > 0)
    with pytest.raises(ValueError, match="'x0' enters the model both as a number and as categories"):
        nearest_counterfactual(model, X[0])
    assert not nearest_counterfactual(model, X[0], immutable=["x0", "x1"]).found


def random_bent_model(rng, p, n_learners, activation="softplus", **options):
    """Return a model of random learners along whose columns z bends, and rows."""
    X = rng.normal(size=(200, p)) * rng.uniform(0.3, 5, p) + rng.normal(size=p)
    model = GBMAPRegressor(1, activation=activation, random_state=0, **options).fit(X, X.sum(axis=1))
    inputs = FittedModel.of(model).read(X)
    weights = rng.normal(size=(n_learners, inputs.shape[1])) / inputs.std(axis=0)
    model.ensemble_ = Ensemble(
        intercepts=rng.normal(size=n_learners),
        signs=rng.choice((-1.0, 1.0), n_learners),
        weights=weights,
        offsets=-(weights * inputs[rng.integers(0, len(X), n_learners)]).sum(axis=1),
        beta=rng.choice([0.5, 2.0, 5.0, 100.0], n_learners),
        outputs=np.zeros(n_learners, dtype=np.intp),
        activation=activation,
        n_outputs=1,
        center=np.zeros(inputs.shape[1]),
    )
    return model, X


@cache
def flats():
    """Return a model of a frame of numbers, categories, flags and gaps, without a pipeline, and the frame."""
    rng, n = np.random.default_rng(0), 400
    frame = pd.DataFrame(
        {
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 0.5, n)),
            "city": np.where(rng.random(n) < 0.1, None, rng.choice(["Bonn", "Oslo", "Rome", "Turku"], n)),
            "age": rng.integers(18, 80, n),
            "owner": rng.random(n) < 0.5,
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], n)),
        }
    )
    y = (
        np.sin(frame["age"] / 10)
        + frame["income"].fillna(2e4) / 3e4
        + 1.5 * (frame["city"] == "Rome")
        - 0.8 * (frame["city"] == "Bonn")
        + 0.5 * frame["owner"]
        + (frame["kind"] == "c")
        + rng.normal(0, 0.1, n)
    )
    return GBMAPRegressor(6, knots=4, random_state=0).fit(frame, y), frame


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("activation", ["softplus", "identity"])
@given(seed=SEEDS)
@settings(max_examples=4, deadline=None, derandomize=True)
def test_no_row_of_a_fine_grid_is_nearer_where_columns_bend(p, activation, seed):
    rng = np.random.default_rng(seed)
    knots, monotone = int(rng.integers(1, 9)), rng.choice([0, 0, 1], p)
    model, X = random_bent_model(
        rng, p, int(rng.integers(1, 8)), activation, knots=knots, monotonic_cst=monotone
    )
    x = X[0].copy()
    if rng.random() < 0.2:
        x[0] += 200 * model.scale_[0]  # beyond the fences
    check_against_a_grid(rng, model, x)


@pytest.mark.parametrize("start", [-0.4, 0.4])
def test_of_two_sides_of_a_valley_the_nearer_is_climbed(start):
    x = np.linspace(-3, 3, 601)[:, None]
    model = GBMAPRegressor(1, activation="identity", knots=5, random_state=0).fit(x, np.abs(x[:, 0]))
    result = nearest_counterfactual(model, [start], 1.5)
    way = np.linspace(-3, 3, 600_001)[:, None]
    nearest = np.abs(way[model.predict(way) > 1.5] - start).min()
    assert result.proved
    assert np.sign(result.point[0]) == np.sign(start)
    assert_allclose(abs(result.changes[0]), nearest, rtol=1e-4)


def test_where_all_columns_end_to_count_no_bounds_are_needed_to_search_all_rows():
    model, X = random_bent_model(np.random.default_rng(4), 2, 3, knots=3)
    ends = [
        np.linspace(X[:, k].min() - 50 * model.scale_[k], X[:, k].max() + 50 * model.scale_[k], 601)
        for k in (0, 1)
    ]
    most = model.predict(np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, 2)).max()
    none = nearest_counterfactual(model, X[0], most + 1, direction="above")
    assert not none.found
    assert none.proved
    some = nearest_counterfactual(model, X[0], most - 0.1, direction="above", time_limit=60)
    assert some.found
    assert some.proved


def test_a_row_beyond_the_fences_comes_back_or_stays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = GBMAPRegressor(2, knots=4, random_state=0).fit(X, np.abs(X[:, 0]) + X[:, 1])
    far = np.array([1e4, 0.0])
    assert model.predict(far[None]) == model.predict([[2e4, 0.0]])
    before = model.predict(far[None])[0]
    by_the_other = nearest_counterfactual(model, far, before + 0.5)
    assert by_the_other.proved
    assert by_the_other.point[0] == 1e4
    back = nearest_counterfactual(model, far, before - 0.5, immutable=[1], bounds={0: (None, 9e3)})
    assert back.found
    assert back.proved
    assert back.point[0] < 100


def test_bends_are_met_through_a_scaler():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)) * [1, 20, 0.1] + [0, 100, 0]
    y = np.sin(2 * X[:, 0]) + X[:, 1] / 20 - np.abs(X[:, 2]) * 10
    options = {"n_components": 3, "knots": 4, "random_state": 0}
    bare = GBMAPRegressor(**options).fit(X, y)
    piped = make_pipeline(MinMaxScaler(), GBMAPRegressor(**options)).fit(X, y)
    for model in (bare, piped):
        value = model.predict(X[:1])[0] + 1.0
        result = nearest_counterfactual(model, X[0], value, bounds=X, tol=1e-3, time_limit=60)
        assert result.proved
        assert_allclose(model.predict(result.point[None])[0], result.prediction_after)
        assert result.prediction_after > value
        near = X[0] + 0.999 * result.lower_bound * X.std(axis=0) * (
            rng.dirichlet(np.full(3, 0.3), 3000) * rng.choice([-1, 1], (3000, 3))
        )
        near = np.clip(near, X.min(axis=0), X.max(axis=0))
        assert (model.predict(near) <= value).all()


@pytest.mark.parametrize("row", [0, 1, 11])
@pytest.mark.parametrize("shift", [-1.0, 0.8])
def test_categories_of_the_estimators_own_and_gaps_keep_their_form(row, shift):
    model, frame = flats()
    x = frame.iloc[[row]]
    value = model.predict(x)[0] + shift
    result = nearest_counterfactual(model, x, value, bounds=frame, integer=["age"], time_limit=60)
    assert result.found
    assert result.proved
    assert model.predict(result.row)[0] == result.prediction_after
    assert (result.prediction_after - value) * shift > 0
    assert (result.row.dtypes == frame.dtypes).all()
    assert_array_equal(result.row.isna(), x.isna())
    assert result.row["city"].iloc[0] in {"Bonn", "Oslo", "Rome", "Turku", x["city"].iloc[0]}
    assert frame["income"].min() <= result.row["income"].fillna(frame["income"].min()).iloc[0]


def test_of_all_combinations_of_the_estimators_categories_and_whole_numbers_the_cheapest_is_found():
    model, frame = flats()
    row = int(np.flatnonzero((frame["city"] == "Oslo") & frame["income"].isna())[0])
    x = frame.iloc[[row]]
    levels = [["Bonn", "Oslo", "Rome", "Turku"], ["a", "b", "c"], range(18, 80), [False, True]]
    cities, kinds, ages, owners = (each.ravel() for each in np.meshgrid(*levels, indexing="ij"))
    table = pd.concat([x] * len(cities)).assign(city=cities, kind=kinds, age=ages, owner=owners)
    old = x.iloc[0]
    costs = (
        (table["city"] != "Oslo") * 1.0
        + (table["kind"] != old["kind"])
        + (table["age"] - old["age"]).abs() / frame["age"].std(ddof=0)
        + (table["owner"] != old["owner"]) / frame["owner"].std(ddof=0)
    ).to_numpy()
    f = model.predict(table)
    for value in np.quantile(f, [0.8, 0.97]):
        result = nearest_counterfactual(
            model, x, value, direction="above", bounds={"age": (18, 79)}, integer=["age"], time_limit=60
        )
        assert result.proved
        assert_allclose(result.cost, costs[f > value].min(), rtol=0.01)
        assert model.predict(result.row)[0] > value
        assert np.isnan(result.row["income"].iloc[0])
    none = nearest_counterfactual(model, x, f.max() + 0.01, bounds={"age": (18, 79)}, integer=["age"])
    assert not none.found
    assert none.proved


def test_named_columns_of_codes_and_polars_frames_take_categories_of_the_fit():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=300), rng.integers(0, 4, 300)]
    model = GBMAPRegressor(3, knots=3, categorical_features=[1], random_state=0).fit(X, X[:, 1] == 2)
    assert nearest_counterfactual(model, [np.nan, 1.0], 0.5).point[1] == 2
    kept = nearest_counterfactual(model, [0.0, np.nan], 0.5, immutable=[0])
    assert not kept.found
    assert kept.proved
    own, frame = flats()
    frame = pl.from_pandas(frame[frame["city"] == "Bonn"])
    value = own.predict(frame[:1])[0] + 1.8
    result = nearest_counterfactual(own, frame[:1], value, immutable=["age", "income", "owner"])
    assert result.row["city"].to_list() == ["Rome"]
    assert own.predict(result.row)[0] > value
    with pytest.raises(ValueError, match="bounds is for numeric features, but 'city' holds categories"):
        nearest_counterfactual(own, frame[:1], 3.0, bounds={"city": (0, 1)})
