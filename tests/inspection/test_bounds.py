"""Bounds of the slopes hold at every point, and monotonicity is proved or refuted."""

from copy import copy
from dataclasses import replace
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.inspection import coefficient_bounds, is_monotone
from gbmap.inspection.explanation import explain

mpl.use("Agg")
SEEDS = st.integers(0, 2**32 - 1)
ACTIVATIONS = pytest.mark.parametrize("activation", ["softplus", "identity"])


@cache
def template(p, n_outputs, activation):
    rng = np.random.default_rng(0)
    X, y = rng.normal(5, [1.0, 20.0, 0.1, 3.0][:p], (30, p)), rng.normal(size=(30, n_outputs))
    y = y[:, 0] if n_outputs == 1 else y
    model = GBMAPRegressor(1, l2_regularization=1.0, activation=activation, max_iter=5, tol=1, random_state=0)
    return model.fit(X, y)


def model_of(signs, weights, offsets, *, beta=5.0, n_outputs=1, activation="softplus"):
    """Return a model with the learners given; its training data had mean 5 and spreads 1, 20, 0.1, 3."""
    weights = np.asarray(weights, dtype=float)
    m, p = weights.shape
    model = copy(template(p, n_outputs, activation))
    model.ensemble_ = replace(
        model.ensemble_,
        intercepts=np.zeros(m),
        signs=np.asarray(signs, dtype=float),
        weights=weights,
        offsets=np.asarray(offsets, dtype=float),
        beta=np.broadcast_to(beta, m),
        outputs=np.arange(m) % n_outputs,
        center=np.zeros(p),
    )
    return model


def random_model(rng, n_outputs=1, activation="softplus", p=3, m=4):
    M = m * n_outputs
    weights = rng.normal(size=(M, p)) * (rng.random((M, 1)) < 0.9)  # null learners too
    offsets = rng.normal(0, 5, M) - 5 * weights.sum(axis=1)
    return model_of(
        rng.choice([-1, 1], M), weights, offsets, n_outputs=n_outputs, activation=activation, beta=2.0
    )


@cache
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, 300),
            "city": rng.choice(["Oslo", "Rome", "Kyiv"], 300),
            "income": rng.normal(3, 1, 300),
            "code": rng.integers(0, 9, 300),
        }
    )
    y = frame["age"] / 10 + (frame["city"] == "Rome") * (frame["income"] - 3) ** 2 + rng.normal(0, 0.1, 300)
    return frame, y


@cache
def pipeline(activation="softplus", drop=None):
    X, y = people()
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(drop=drop), ["city"]),
    )
    return make_pipeline(prepare, GBMAPRegressor(6, activation=activation, random_state=0)).fit(X, y)


@ACTIVATIONS
@given(seed=SEEDS, n_outputs=st.integers(1, 3), standardized=st.booleans())
@settings(max_examples=10, deadline=None, derandomize=True)
def test_slopes_anywhere_lie_within_the_bounds(activation, seed, n_outputs, standardized):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_outputs, activation)
    X = 5 + rng.normal(size=(200, 3)) * 10 ** rng.uniform(-1, 3, (200, 1))
    slopes = explain(model, X, standardized=standardized).coefficients
    bounds = coefficient_bounds(model, standardized=standardized)
    assert bounds.lower.shape == bounds.upper.shape == slopes.shape[1:]
    assert (slopes >= bounds.lower - 1e-12).all()
    assert (slopes <= bounds.upper + 1e-12).all()
    if activation == "identity":
        assert_allclose(bounds.lower, slopes[0], rtol=1e-12)
        assert_array_equal(bounds.lower, bounds.upper)


def test_bounds_of_known_learners():
    model = model_of([1, -1, -1], [[2, 0], [-3, 1], [1, 4]], [0, 0, 0])
    bounds = coefficient_bounds(model)
    assert_array_equal(bounds.lower, [-1, -5])
    assert_array_equal(bounds.upper, [5, 0])
    scaled = coefficient_bounds(model, standardized=True)
    assert_allclose(scaled.lower, bounds.lower * model.scale_)
    assert_allclose(scaled.upper, bounds.upper * model.scale_)


def test_both_ends_are_approached_where_the_learners_allow_it():
    model = model_of([1, -1], [[1.0, 1.0], [1.0, -1.0]], [0, 0])
    slopes = explain(model, [[0.0, 900.0], [0.0, -900.0]]).coefficients[:, 0]
    bounds = coefficient_bounds(model)
    assert_allclose(slopes, [bounds.upper[0], bounds.lower[0]], atol=1e-12)


def test_inputs_of_one_column_are_added_before_their_ends_are_taken():
    X, y = load_diabetes(return_X_y=True)
    X = X[:, [2, 3]]
    model = make_pipeline(
        make_union(StandardScaler(), MinMaxScaler()),
        GBMAPRegressor(5, knots=0, l2_regularization=0, random_state=0),
    )
    model.fit(X, y)
    ensemble, bounds = model[-1].ensemble_, coefficient_bounds(model)
    slopes = np.concatenate([1 / X.std(axis=0), 1 / np.ptp(X, axis=0)])
    each = (ensemble.signs[:, None] * ensemble.weights * slopes).reshape(5, 2, 2)
    together = each.sum(axis=1)
    assert_allclose(bounds.upper, np.maximum(together, 0).sum(axis=0), atol=1e-9)
    assert_allclose(bounds.lower, np.minimum(together, 0).sum(axis=0), atol=1e-9)
    assert (np.abs(each).sum(axis=(0, 1)) > np.abs(together).sum(axis=0) * 1.01).any()


@pytest.mark.parametrize("drop", [None, "first"])
@ACTIVATIONS
def test_a_change_of_category_moves_h_within_the_bounds(activation, drop):
    model, (X, _) = pipeline(activation, drop), people()
    wide = X.assign(age=X["age"] * 7 - 200, income=X["income"] * 9 - 20)
    h = np.stack([model.predict(wide.assign(city=city)) for city in ("Oslo", "Rome", "Kyiv")])
    most = np.abs(h[:, None] - h[None]).max()
    bounds = coefficient_bounds(model)
    assert bounds.upper[1] == -bounds.lower[1]
    assert most <= bounds.upper[1] + 1e-9
    if activation == "identity":
        assert_allclose(most, bounds.upper[1])
    else:
        assert most > 0.3 * bounds.upper[1]


def test_a_column_that_the_model_does_not_see_has_bounds_of_zero():
    bounds = coefficient_bounds(pipeline())
    assert bounds.feature_names.tolist() == ["age", "city", "income", "code"]
    assert (bounds.lower[3], bounds.upper[3]) == (0, 0)
    answer = is_monotone(pipeline(), "code")
    assert (answer.direction, answer.is_proved, answer.points.shape) == (0, True, (0, 4))


def test_bounds_become_a_frame_and_a_picture():
    X, y = load_iris(return_X_y=True)
    bounds = coefficient_bounds(GBMAPClassifier(3, random_state=0).fit(X, y))
    frame = bounds.to_frame()
    assert frame.shape == (12, 2)
    assert frame.loc[("x2", 1), "upper"] == bounds.upper[2, 1]
    display = bounds.plot(output=1, n_features=3)
    order = np.argsort(-np.maximum(-bounds.lower, bounds.upper)[:, 1])[:3]
    assert display.names == [f"x{k}" for k in order]
    assert_array_equal(display.lower, bounds.lower[order, 1])
    mpl.pyplot.close(display.figure_)
    with pytest.raises(ValueError, match=r"output must be one of \[0, 1, 2\], got None"):
        bounds.plot()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_model_fitted_as_monotone_is_proved_to_be(sign):
    X, y = load_diabetes(return_X_y=True)
    bare = GBMAPRegressor(8, monotonic_cst=[0, 0, sign, 0, -sign, 0, 0, 0, 0, 0], random_state=0)
    for model in (bare, make_pipeline(StandardScaler(), bare)):
        model.fit(X, sign * y)
        first, second = is_monotone(model, 2), is_monotone(model, "x4")
        assert (first.direction, second.direction) == (sign, -sign)
        assert first
        assert first.is_proved
        assert ("rises with x2" if sign == 1 else "falls with x2") in str(first)
        bounds = coefficient_bounds(model)
        assert (first.lower, first.upper) == (bounds.lower[2], bounds.upper[2])


def finite_difference(predict, rows, column, step):
    up, down = rows.copy(), rows.copy()
    up[:, column] = up[:, column] + step
    down[:, column] = down[:, column] - step
    return (predict(up) - predict(down)) / (2 * step)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_counter_examples_have_slopes_of_both_signs_in_the_model_itself(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, m=6)
    for column in range(3):
        answer = is_monotone(model, column)
        assert len(answer.points) == len(answer.slopes)
        if answer.direction is None:
            assert not answer
            assert answer.lower < 0 < answer.upper
            found = finite_difference(model.predict, answer.points, column, 1e-4)
            assert_allclose(found, answer.slopes, rtol=1e-4, atol=1e-4)
            assert len(answer.slopes) < 2 or answer.slopes[0] > 0 > answer.slopes[1]


def test_counter_examples_through_a_pipeline_can_be_given_to_it():
    model, (X, _) = pipeline(), people()
    answer = is_monotone(model, "income")
    assert_array_equal(np.sign(answer.slopes), [1, -1])
    assert set(answer.points[:, 1]) == {"Kyiv"}  # the first category
    predict = lambda rows: model.predict(pd.DataFrame(rows, columns=X.columns).infer_objects())  # noqa: E731
    assert_allclose(finite_difference(predict, answer.points, 2, 1e-4), answer.slopes, rtol=1e-5)
    near = (answer.points[:, [0, 2]].astype(float) - [40, 3]) / [10, 1]
    assert (np.abs(near) < 5).all()
    assert "is not monotone in income" in str(answer)


def test_a_slope_that_turns_far_out_only_is_found():
    # Two learners of the other sign turn on 500 standard deviations out.
    model = model_of([1, -1, -1], [[1, 0], [2, 0.2], [2, -0.2]], [5000, -1000, -1000])
    answer = is_monotone(model, 0)
    assert_allclose(answer.slopes, [1, -3], atol=1e-9)
    assert_array_equal(np.sign(finite_difference(model.predict, answer.points, 0, 1e-3)), [1, -1])


def test_a_slope_that_turns_on_a_far_strip_only_is_found():
    model = model_of([1, -1, 1], [[1.0], [2.0], [2.0]], [5000, -1000, -1020])
    answer = is_monotone(model, 0)
    assert answer.slopes[0] > 0 > answer.slopes[1] > -1.01
    assert 490 < answer.points[1, 0] < 520


def test_a_question_that_stays_open_says_so():
    # The slope, 2 s(5x) - s(5x), is positive everywhere, although its terms have both signs.
    answer = is_monotone(model_of([1, -1], [[2.0], [1.0]], [0, 0], beta=[2.5, 5.0]), 0)
    assert (answer.direction, len(answer.slopes), answer.lower, answer.upper) == (None, 1, -1, 2)
    assert answer.slopes[0] > 0
    assert not answer
    assert "open whether h is monotone in x0" in str(answer)
    assert "[-1, 2]" in str(answer)
    assert "only one sign" in str(answer)


def test_an_output_is_chosen_by_its_class():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = GBMAPClassifier(4, random_state=0).fit(X, labels)
    bounds = coefficient_bounds(model)
    answer = is_monotone(model, 2, output="virginica")
    assert (answer.lower, answer.upper) == (bounds.lower[2, 2], bounds.upper[2, 2])
    assert "of output virginica" in str(answer)
    with pytest.raises(ValueError, match=r"output must be one of \['setosa', 'versicolor', 'virginica'\]"):
        is_monotone(model, 2)


def test_a_linear_model_is_always_decided():
    X, y = load_diabetes(return_X_y=True)
    model = GBMAPRegressor(2, knots=0, activation="identity", random_state=0).fit(X, y)
    signs = np.sign(explain(model, X[:1]).coefficients[0])
    assert [is_monotone(model, k).direction for k in range(10)] == signs.tolist()
    nothing = model_of([1.0], [[0.0, 0.0]], [0.0])
    assert is_monotone(nothing, 1).direction == 0
    assert "does not depend on x1" in str(is_monotone(nothing, 1))


def test_the_same_question_has_the_same_answer():
    first, second = is_monotone(pipeline(), "age"), is_monotone(pipeline(), "age")
    assert_array_equal(first.points, second.points)
    assert_array_equal(first.slopes, second.slopes)


def test_a_column_of_categories_has_no_slope():
    with pytest.raises(ValueError, match=r"feature must be a numeric column, got 'city'.*coefficient_bounds"):
        is_monotone(pipeline(), "city")
    with pytest.raises(ValueError, match=r"feature must be the name or the position.*got 'town'"):
        is_monotone(pipeline(), "town")
    with pytest.raises(TypeError, match="model must be a fitted GBMAP"):
        coefficient_bounds(StandardScaler())


@cache
def bent_data():
    rng = np.random.default_rng(0)
    X = rng.normal(5, [1.0, 20.0, 0.1], (400, 3))
    u = (X - 5) / [1.0, 20.0, 0.1]
    return X, np.sin(2 * u[:, 0]) * u[:, 1] + np.abs(u[:, 2]) - u[:, 1] ** 2


@cache
def bent(activation="softplus", scaled=False):
    """Return a model whose columns bend, and its GBMAP."""
    gbmap = GBMAPRegressor(8, knots=4, activation=activation, random_state=0)
    model = make_pipeline(StandardScaler(), gbmap) if scaled else gbmap
    return model.fit(*bent_data()), gbmap


@ACTIVATIONS
@pytest.mark.parametrize("scaled", [False, True])
def test_slopes_of_columns_that_bend_lie_within_the_bounds(activation, scaled):
    model, gbmap = bent(activation, scaled)
    rng, (X, _) = np.random.default_rng(1), bent_data()
    points = 5 + (X[rng.integers(0, 400, 4000)] - 5) * rng.choice([0.3, 1, 3, 10, 100], (4000, 1))
    if not scaled:  # at the knots themselves too
        knots = np.stack(gbmap.knots_, axis=1)
        points = np.concatenate([points, *(np.where(np.eye(3)[k], knots, X[:4]) for k in range(3))])
    slopes, bounds = explain(model, points).coefficients, coefficient_bounds(model)
    assert (slopes >= bounds.lower - 1e-12).all()
    assert (slopes <= bounds.upper + 1e-12).all()
    assert (bounds.lower <= 0).all()  # h is flat far out
    assert (bounds.upper >= 0).all()
    if activation == "identity":
        assert_allclose(slopes.min(axis=0), bounds.lower, atol=1e-9)
        assert_allclose(slopes.max(axis=0), bounds.upper, atol=1e-9)
    else:
        assert (np.ptp(slopes, axis=0) > 0.4 * (bounds.upper - bounds.lower)).all()


def test_bounds_are_those_of_pieces_rather_than_of_all_inputs_together():
    model, gbmap = bent()
    ensemble, inputs, bounds = gbmap.ensemble_, FittedModel.of(model).inputs, coefficient_bounds(model)
    for column in range(3):
        own = inputs.source == column
        body, *hinges = (ensemble.signs[:, None] * ensemble.weights[:, own]).T
        of_pieces = np.cumsum([body, *hinges], axis=0)
        assert_allclose(bounds.upper[column], np.maximum(of_pieces, 0).sum(axis=1).max(), rtol=1e-12)
        assert_allclose(bounds.lower[column], np.minimum(of_pieces, 0).sum(axis=1).min(), rtol=1e-12)


@ACTIVATIONS
@pytest.mark.parametrize("scaled", [False, True])
def test_counter_examples_along_columns_that_bend_are_true_of_the_model(activation, scaled):
    model, _ = bent(activation, scaled)
    for column in range(3):
        answer = is_monotone(model, column)
        assert_array_equal(np.sign(answer.slopes), [1, -1])
        step = 1e-5 * bent_data()[0][:, column].std()
        assert_allclose(
            finite_difference(model.predict, answer.points, column, step), answer.slopes, rtol=1e-4
        )
        assert_allclose(explain(model, answer.points).coefficients[[0, 1], column], answer.slopes, rtol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_model_with_bends_fitted_as_monotone_is_proved_to_be(sign, scaled):
    X, y = bent_data()
    gbmap = GBMAPRegressor(8, knots=4, monotonic_cst=[sign, 0, -sign], random_state=0)
    model = make_pipeline(StandardScaler(), gbmap) if scaled else gbmap
    model.fit(X, sign * (y + X[:, 0] - 10 * X[:, 2]))
    assert [is_monotone(model, k).direction for k in (0, 2)] == [sign, -sign]
    assert is_monotone(model, 0)
    rows = np.repeat(X[:20, None], 400, axis=1)
    rows[:, :, 0] = np.linspace(-10, 20, 400)
    h = model.predict(rows.reshape(-1, 3)).reshape(20, 400)
    assert (sign * np.diff(h, axis=1) > -1e-9).all()


def test_a_slope_that_turns_between_two_knots_only_is_found():
    # y rises but for a narrow part.
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (500, 1))
    y = X[:, 0] - 3 * np.clip(X[:, 0] - 5, 0, 0.5)
    model = GBMAPRegressor(6, knots=30, l2_regularization=1e-4, random_state=0).fit(X, y)
    answer = is_monotone(model, 0)
    assert_array_equal(np.sign(answer.slopes), [1, -1])
    assert 4.5 < answer.points[1, 0] < 6


def raw_people():
    X, y = people()
    X = X.assign(city=X["city"].mask(np.arange(300) % 17 == 0), is_new=np.arange(300) % 3 == 0)
    X["income"] = X["income"].mask(np.arange(300) % 11 == 0)
    return X, y


@cache
def raw(activation="softplus"):
    """Return a model that reads text and missing values itself."""
    return GBMAPRegressor(6, knots=3, activation=activation, random_state=0).fit(*raw_people())


@ACTIVATIONS
def test_a_change_of_category_moves_a_model_that_reads_text_within_the_bounds(activation):
    model, (X, _) = raw(activation), raw_people()
    bounds = coefficient_bounds(model)
    wide = X.assign(age=X["age"] * 7 - 200, income=X["income"] * 9 - 20)
    cities = ("Oslo", "Rome", "Kyiv", "Paris", None)  # one that is new, and none
    h = np.stack([model.predict(wide.assign(city=city)) for city in cities])
    most = np.abs(h[:, None] - h[None]).max()
    assert bounds.upper[1] == -bounds.lower[1]
    assert most <= bounds.upper[1] + 1e-9
    if activation == "identity":
        assert_allclose(most, bounds.upper[1])
    slopes = explain(model, wide).coefficients
    assert (slopes >= bounds.lower - 1e-9).all()
    assert (slopes <= bounds.upper + 1e-9).all()


def test_counter_examples_of_a_model_that_reads_text_can_be_given_to_it():
    model, (X, _) = raw(), raw_people()
    answer = is_monotone(model, "income")
    assert_array_equal(np.sign(answer.slopes), [1, -1])
    assert set(answer.points[:, 1]) == {"Kyiv"}  # the first category
    predict = lambda rows: model.predict(pd.DataFrame(rows, columns=X.columns).infer_objects())  # noqa: E731
    assert_allclose(finite_difference(predict, answer.points, 2, 1e-5), answer.slopes, rtol=1e-4)
    with pytest.raises(ValueError, match="feature must be a numeric column, got 'city'"):
        is_monotone(model, "city")


def test_a_slope_that_turns_far_out_along_another_column_is_found_where_the_feature_bends():
    # The second column has two values, so that it does not bend, and counts without end.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 2, 400)])
    model = GBMAPRegressor(6, knots=3, random_state=0).fit(X, X[:, 0] * (3 - X[:, 1]))
    answer = is_monotone(model, 0)
    assert_array_equal(np.sign(answer.slopes), [1, -1])
    assert_array_equal(np.sign(finite_difference(model.predict, answer.points, 0, 1e-5)), [1, -1])
