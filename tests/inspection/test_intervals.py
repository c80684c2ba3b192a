"""Intervals for unknown features hold for every value these may have, and are no wider than they need be."""

from copy import copy
from dataclasses import replace
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
from scipy.optimize import minimize
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.inspection import coefficient_bounds, intervals, prediction_interval_missing

mpl.use("Agg")
SEEDS = st.integers(0, 2**32 - 1)
ACTIVATIONS = pytest.mark.parametrize("activation", ["softplus", "identity"])
MEAN, SPREAD = 5.0, np.array([1.0, 20.0, 0.1, 3.0])
INF = np.inf


@cache
def template(p, n_outputs, activation):
    rng = np.random.default_rng(0)
    X, y = rng.normal(MEAN, SPREAD[:p], (40, p)), rng.normal(size=(40, n_outputs))
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
        intercepts=np.arange(m) / m,
        signs=np.asarray(signs, dtype=float),
        weights=weights,
        offsets=np.asarray(offsets, dtype=float),
        beta=np.broadcast_to(beta, m),
        outputs=np.arange(m) % n_outputs,
        center=np.zeros(p),
    )
    return model


def random_model(rng, n_outputs=1, activation="softplus", p=4, m=6, falling=0.5):
    M = m * n_outputs
    weights = rng.normal(size=(M, p)) / SPREAD[:p] * (rng.random((M, 1)) < 0.9)  # null learners too
    offsets = rng.normal(0, 1, M) - MEAN * weights.sum(axis=1)
    beta = 10 ** rng.uniform(-0.5, 1.5, M)
    signs = np.where(rng.random(M) < falling, -1, 1)
    return model_of(signs, weights, offsets, beta=beta, n_outputs=n_outputs, activation=activation)


def h_of(model, X):
    return model.ensemble_.score(np.asarray(X, dtype=float))


def assert_inside(interval, h):
    """Assert that h, of shape (n, points, K), lies in the intervals of the n rows."""
    lower, upper = (end.reshape(len(h), 1, -1) for end in (interval.lower, interval.upper))
    assert (lower <= h).all()
    assert (h <= upper).all()


@cache
def diabetes(m=12):
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return GBMAPRegressor(m, knots=0, l2_regularization=1e-3, random_state=0).fit(X, y), X


@ACTIVATIONS
@given(
    seed=SEEDS, n_outputs=st.integers(1, 2), n_unknown=st.integers(0, 4), max_boxes=st.sampled_from([1, 50])
)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_no_value_in_the_ranges_leads_out_of_the_interval(activation, seed, n_outputs, n_unknown, max_boxes):
    rng = np.random.default_rng(seed)
    model, X = random_model(rng, n_outputs, activation), rng.normal(MEAN, SPREAD, (3, 4))
    columns = rng.permutation(4)[:n_unknown]
    low, high = np.sort(MEAN + SPREAD * rng.standard_cauchy((2, 4)), axis=0)
    interval = prediction_interval_missing(
        model, X, {int(k): (low[k], high[k]) for k in columns}, max_boxes=max_boxes
    )
    draws = rng.choice([0.0, 1.0, np.nan], (3, 400, 4))  # corners, edges and the inside
    draws = low + (high - low) * np.where(np.isnan(draws), rng.random((3, 400, 4)), draws)
    points = np.repeat(X[:, None], 400, axis=1)
    points[:, :, columns] = draws.clip(low, high)[:, :, columns]
    assert interval.lower.shape == ((3,) if n_outputs == 1 else (3, n_outputs))
    assert_inside(interval, h_of(model, points.reshape(-1, 4)).reshape(3, 400, -1))


@given(seed=SEEDS, n_unknown=st.integers(1, 3))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_no_value_leads_out_of_the_interval_where_ranges_have_no_end(seed, n_unknown):
    rng = np.random.default_rng(seed)
    # Mostly learners that fall, so that h is often bounded above.
    model, X = random_model(rng, m=8, falling=0.8), rng.normal(MEAN, SPREAD, (2, 4))
    low = np.where(rng.random(n_unknown) < 0.6, -INF, MEAN - SPREAD[:n_unknown])
    high = np.where(rng.random(n_unknown) < 0.6, INF, MEAN + SPREAD[:n_unknown])
    interval = prediction_interval_missing(model, X, {k: (low[k], high[k]) for k in range(n_unknown)})
    size = 10 ** rng.uniform(-1, 5, (2, 2000, 1))
    steps = (size * rng.normal(size=(2, 2000, n_unknown))) * SPREAD[:n_unknown]
    points = np.repeat(X[:, None], 2000, axis=1)
    points[:, :, :n_unknown] = (MEAN + steps).clip(low, high)
    h = h_of(model, points.reshape(-1, 4)).reshape(2, 2000)
    slack = 1e-12 * np.abs(points).max(axis=2) * np.abs(model.ensemble_.weights).sum()  # rounding far out
    assert (h >= interval.lower[:, None] - slack).all()
    assert (h <= interval.upper[:, None] + slack).all()


@given(seed=SEEDS)
@settings(max_examples=13, deadline=None, derandomize=True)
def test_one_unknown_feature_has_the_range_that_a_fine_grid_shows(seed):
    rng = np.random.default_rng(seed)
    model, X = random_model(rng), rng.normal(MEAN, SPREAD, (5, 4))
    low, high = MEAN - 3 * SPREAD[1], MEAN + 2 * SPREAD[1]
    interval = prediction_interval_missing(model, X, {1: (low, high)})
    grid = np.linspace(low, high, 20_001)
    points = np.repeat(X[:, None], len(grid), axis=1)
    points[:, :, 1] = grid
    h = h_of(model, points.reshape(-1, 4)).reshape(5, -1)
    tol = 1e-3 * model._target_deviation[0]
    assert (interval.gap <= tol).all()
    # The ends are beyond the grid's by the tolerance, or by what lies between its points.
    between = (high - low) / 20_000 * np.abs(model.ensemble_.weights[:, 1]).sum()
    assert_allclose(interval.lower, h.min(axis=1), atol=tol + between)
    assert_allclose(interval.upper, h.max(axis=1), atol=tol + between)


def best_value(model, x, columns, low, high, sign, n_starts=8):
    """Return the largest sign * h that local searches from corners and random points find."""
    rng = np.random.default_rng(0)

    def objective(u):
        row = x.copy()
        row[columns] = u
        gradient = model.ensemble_.gradient(row[None])[0, columns, 0]
        return -sign * h_of(model, row[None])[0, 0], -sign * gradient

    starts = low + (high - low) * np.concatenate(
        [rng.integers(0, 2, (n_starts, len(low))), rng.random((n_starts, len(low)))]
    )
    box = list(zip(low, high))
    return max(-minimize(objective, u, jac=True, method="L-BFGS-B", bounds=box).fun for u in starts)


@pytest.mark.parametrize("names", [["bmi", "s5"], ["age", "bmi", "bp", "s5"]])
def test_several_unknown_features_have_the_range_that_local_searches_find(names):
    model, X = diabetes()
    interval = prediction_interval_missing(model, X.head(3), names, reference=X, max_boxes=20_000)
    columns = [X.columns.get_loc(name) for name in names]
    low, high = X[names].min().to_numpy(), X[names].max().to_numpy()
    tol = 1e-3 * model._target_deviation[0]
    assert (interval.gap <= tol).all()
    for i, x in enumerate(X.head(3).to_numpy()):
        assert_allclose(interval.upper[i], best_value(model, x, columns, low, high, 1), atol=2 * tol)
        assert_allclose(interval.lower[i], -best_value(model, x, columns, low, high, -1), atol=2 * tol)


def test_a_smaller_tolerance_gives_a_tighter_interval_within():
    model, X = diabetes()
    rough, fine = (
        prediction_interval_missing(model, X.head(20), ["bmi", "bp"], reference=X, tol=tol)
        for tol in (0.1, 1e-5)
    )
    assert (rough.lower <= fine.lower + 1e-9).all()
    assert (rough.upper >= fine.upper - 1e-9).all()
    assert fine.gap.max() <= 1e-5 * model._target_deviation[0]
    assert (rough.upper - rough.lower > fine.upper - fine.lower + 1e-3).any()


def test_a_row_that_runs_out_of_boxes_says_how_far_off_it_may_be():
    model, X = diabetes()
    names = ["age", "bmi", "bp", "s1", "s5"]
    short, long = (
        prediction_interval_missing(model, X.head(5), names, reference=X, max_boxes=max_boxes)
        for max_boxes in (4, 20_000)
    )
    tol = 1e-3 * model._target_deviation[0]
    assert short.gap.max() > 100 * tol
    assert (short.lower <= long.lower + 1e-9).all()
    assert (short.upper >= long.upper - 1e-9).all()
    assert (long.lower - short.lower <= short.gap + tol).all()
    assert (short.upper - long.upper <= short.gap + tol).all()


def test_known_limits_without_end():
    # h = x0 beyond all learners on the right, and 0 on the left, less a bump of -x1.
    rising = model_of([1.0], [[1.0, 0.0]], [0.0])
    interval = prediction_interval_missing(rising, [[0.0, 0.0]], [0])
    assert_allclose(interval.lower, 0, atol=1e-3)
    assert_array_equal(interval.upper, INF)
    assert_array_equal(interval.gap <= 1e-3 * rising._target_deviation, True)
    settled = prediction_interval_missing(rising, [[0.0, 0.0]], {0: (-INF, 5.0)})
    assert_allclose(settled.upper, 5, atol=1e-9)
    roof = model_of([-1, -1], [[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0])  # 1/2 - |x0|, rounded
    interval = prediction_interval_missing(roof, [[3.0, 0.0]], [0, 1])
    assert_allclose(interval.upper, 0.5 - 2 * np.log(2) / 5, atol=1e-3)
    assert_array_equal(interval.lower, -INF)


def test_two_features_without_end_have_the_range_that_searches_find():
    # The slope turns back in all directions, far from the axes too: h is bounded above, by a value inside.
    angles = 2 * np.pi * np.arange(7) / 7
    weights = np.column_stack([np.cos(angles), np.sin(angles)])
    model = model_of([-1] * 7 + [1] * 3, np.vstack([weights, 0.5 * weights[:3]]), [*range(7), 1, 2, 3])
    interval = prediction_interval_missing(model, [[0.0, 0.0]], [0, 1])
    wide = np.full(2, 100.0)
    best = best_value(model, np.zeros(2), [0, 1], -wide, wide, 1)
    assert_allclose(interval.upper, best, atol=2e-3 * model._target_deviation[0])
    assert_array_equal(interval.lower, -INF)
    assert interval.gap[0] <= 1e-3 * model._target_deviation[0]


def test_what_boxes_cannot_decide_is_infinite_and_says_so():
    # Between two of its learners h is flat far out, by cancellation: it is bounded, by about 10.
    model = model_of([1, -1, -1], [[1.0, 1.0], [2.0, -1.0], [-1.0, 2.0]], [10.0, 0.0, 0.0])
    interval = prediction_interval_missing(model, [[0.0, 0.0]], {0: (0, INF), 1: (0, INF)})
    assert_array_equal(interval.upper, INF)
    assert_array_equal(interval.gap, INF)


def test_five_unknown_features_need_no_more_boxes_than_there_are():
    model, X = diabetes(5)
    names = ["age", "sex", "bmi", "bp", "s1"]
    interval = prediction_interval_missing(model, X.head(20), names, reference=X)
    assert interval.gap.max() <= 1e-3 * model._target_deviation[0]


def test_a_convex_function_needs_one_box():
    rng = np.random.default_rng(0)
    model, X = random_model(rng, falling=0.0), rng.normal(MEAN, SPREAD, (4, 4))
    interval = prediction_interval_missing(model, X, {1: (-60.0, 50.0)}, max_boxes=1)
    ends = np.repeat(X[:, None], 2, axis=1)
    ends[:, :, 1] = [-60.0, 50.0]
    h = h_of(model, ends.reshape(-1, 4)).reshape(4, 2)
    assert_allclose(interval.upper, h.max(axis=1), rtol=1e-10)


def test_growth_in_a_narrow_cone_is_seen():
    # Along the diagonal only, within a hundredth of it, the first learner outgrows the others.
    model = model_of([1, -1, -1], [[1.0, 1.0], [100.0, -100.0], [-100.0, 100.0]], [0.0, 0.0, 0.0])
    interval = prediction_interval_missing(model, [[0.0, 0.0]], [0, 1])
    assert_array_equal(interval.upper, INF)
    assert_array_equal(interval.lower, -INF)
    assert_array_equal(interval.gap, 0)


def test_a_linear_model_is_exact():
    rng = np.random.default_rng(0)
    model, X = random_model(rng, activation="identity"), rng.normal(MEAN, SPREAD, (4, 4))
    slope = model.ensemble_.gradient(X[:1])[0, :, 0]
    base = h_of(model, np.where(np.arange(4) < 2, 0.0, X))[:, 0]
    ends = np.array([[-1.0, 4.0], [2.0, 3.0]])
    interval = prediction_interval_missing(model, X, {0: ends[0], 1: ends[1]}, max_boxes=1)
    products = ends * slope[:2, None]
    assert_allclose(interval.upper, base + products.max(axis=1).sum(), atol=1e-10)
    assert_allclose(interval.lower, base + products.min(axis=1).sum(), atol=1e-10)
    assert interval.gap.max() < 1e-10  # by rounding
    half = prediction_interval_missing(model, X, {0: (0, INF)})
    assert np.isinf(half.upper).all() == (slope[0] > 0)
    assert np.isinf(half.lower).all() == (slope[0] < 0)


def with_gaps(X, kind):
    values = X.to_numpy(copy=True)
    values[:, 2] = np.nan
    frame = pd.DataFrame(values, columns=X.columns)
    return {
        "pandas": frame,
        "polars": pl.DataFrame(frame),
        "array": values,
        "list": values.tolist(),
        "csr": scipy.sparse.csr_array(values),
        "csc": scipy.sparse.csc_matrix(values),
    }[kind]


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "list", "csr", "csc"])
def test_what_the_unknown_columns_hold_does_not_matter(kind):
    model, X = diabetes()
    rows, column = with_gaps(X.head(6), kind), "bmi"
    if kind not in ("pandas", "polars"):
        model = GBMAPRegressor(12, knots=0, random_state=0)
        model.fit(X.to_numpy(), load_diabetes(return_X_y=True)[1])
        X, column = X.to_numpy(), 2
    expected = prediction_interval_missing(model, X[:6], [column], reference=X)
    found = prediction_interval_missing(model, rows, [column], reference=X)
    assert_array_equal(found.lower, expected.lower)
    assert_array_equal(found.upper, expected.upper)
    held = rows["bmi"].to_numpy() if kind in ("pandas", "polars") else dense_column(rows)
    assert np.isnan(held).all()  # X itself is left as it was


def dense_column(rows):
    return (rows.toarray() if scipy.sparse.issparse(rows) else np.array(rows))[:, 2]


def test_a_value_that_is_missing_elsewhere_is_filled_as_the_model_does():
    model, X = diabetes()
    found = prediction_interval_missing(model, with_gaps(X.head(3), "pandas"), ["age"], reference=X)
    filled = X.head(3).assign(bmi=X["bmi"].median())
    expected = prediction_interval_missing(model, filled, ["age"], reference=X)
    assert_allclose(found.lower, expected.lower)
    assert_allclose(found.upper, expected.upper)


@cache
def people(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "city": rng.choice(["Oslo", "Rome", "Kyiv", "Bonn"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(3, 1, n)),
            "level": rng.integers(1, 4, n),
        }
    )
    income = frame["income"].fillna(0)
    return frame, (frame["city"] == "Rome") * (income - 3) ** 2 + frame["level"] * frame["age"] / 20


@cache
def pipeline(**options):
    X, y = people()
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(**options), ["city", "level"]),
    )
    return make_pipeline(prepare, GBMAPRegressor(6, random_state=0)).fit(X, y)


def ends_over(model, rows, **values):
    """Return the least and the largest prediction over all combinations of values of columns."""
    frames = [rows]
    for name, options in values.items():
        frames = [frame.assign(**{name: option}) for frame in frames for option in options]
    h = model.predict(pd.concat(frames)).reshape(len(frames), len(rows))
    return h.min(axis=0), h.max(axis=0)


@pytest.mark.parametrize("drop", [None, "first"])
def test_unknown_categories_have_the_range_of_all_of_them(drop):
    model, X = pipeline(drop=drop), people()[0].head(10)
    cities, levels = ["Oslo", "Rome", "Kyiv", "Bonn"], [1, 2, 3]
    for unknown, values in (
        (["city"], {"city": cities}),
        (["city", "level"], {"city": cities, "level": levels}),
        ({"city": ["Kyiv", "Bonn"], "level": [3]}, {"city": ["Kyiv", "Bonn"], "level": [3]}),
        (
            {"city": None, "age": (20, 60)},
            {"city": cities, "age": np.linspace(20, 60, 201)},
        ),
    ):
        interval = prediction_interval_missing(model, X.assign(city=None, level=2), unknown)
        low, high = ends_over(model, X.assign(level=2), **values)
        tol = 3e-3 * model[-1]._target_deviation[0]
        assert (interval.lower <= low).all()
        assert (interval.upper >= high).all()
        assert_allclose(interval.lower, low, atol=tol)
        assert_allclose(interval.upper, high, atol=tol)


def test_a_rare_category_is_read_as_the_model_reads_it():
    model, X = pipeline(min_frequency=40), people()[0].head(5)
    interval = prediction_interval_missing(model, X, {"city": ["Bonn"]})
    assert_allclose(interval.lower, model.predict(X.assign(city="Bonn")), rtol=1e-9)


def test_an_unknown_category_counts_where_the_model_takes_any():
    model, X = pipeline(handle_unknown="ignore"), people()[0].head(5)
    interval = prediction_interval_missing(model, X, ["city"])
    low, high = ends_over(model, X, city=["Oslo", "Rome", "Kyiv", "Bonn", "Atlantis"])
    assert_allclose(interval.lower, low, rtol=1e-9)
    assert_allclose(interval.upper, high, rtol=1e-9)


def test_a_missing_category_can_be_one_of_them():
    X, y = people()
    X = X.assign(city=X["city"].astype(object).where(X["age"] > 30, np.nan))
    prepare = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["age"]))
    model = make_pipeline(prepare, GBMAPRegressor(4, random_state=0)).fit(X, y)
    young = X[X["age"] <= 30]
    interval = prediction_interval_missing(model, young, {"city": [np.nan]})
    assert_allclose(interval.lower, model.predict(young), rtol=1e-9)
    wider = prediction_interval_missing(model, young, ["city"])
    assert (wider.lower <= interval.upper).all()
    assert (wider.upper >= interval.lower).all()


def test_with_an_initial_model_the_interval_is_that_of_what_is_added():
    X, y = load_diabetes(return_X_y=True)
    model = GBMAPRegressor(4, init=LinearRegression(), random_state=0).fit(X, y)
    interval = prediction_interval_missing(model, X, [2], reference=X)
    assert_inside(interval, model.transform(X).sum(axis=1)[:, None, None])
    assert (interval.upper < model.predict(X)).any()


def test_an_unknown_number_is_there_not_missing():
    model, X = pipeline(), people()[0].head(10)
    interval = prediction_interval_missing(model, X.assign(income=np.nan), {"income": (1.0, 5.0)})
    low, high = ends_over(model, X, income=np.linspace(1, 5, 201))
    tol = 2e-3 * model[-1]._target_deviation[0]
    assert_allclose(interval.lower, low, atol=tol)
    assert_allclose(interval.upper, high, atol=tol)


def test_any_value_is_one_that_the_reference_has():
    model, (X, _) = pipeline(), people()
    some = X[X["city"].isin(["Oslo", "Rome"])]
    found = prediction_interval_missing(model, X.head(9), {"city": None, "age": None}, reference=some)
    ages = (some["age"].min(), some["age"].max())
    stated = prediction_interval_missing(model, X.head(9), {"city": ["Oslo", "Rome"], "age": ages})
    assert_allclose(found.lower, stated.lower, rtol=1e-9)
    assert_allclose(found.upper, stated.upper, rtol=1e-9)
    kept = prediction_interval_missing(model, X.head(9), {"city": ["Kyiv"], "age": ages}, reference=some)
    assert_allclose(
        kept.upper, prediction_interval_missing(model, X.head(9), {"city": ["Kyiv"], "age": ages}).upper
    )


def test_a_column_that_enters_as_number_and_as_category_may_be_unknown():
    X, y = people()
    prepare = make_column_transformer((OneHotEncoder(), ["level"]), (StandardScaler(), ["age", "level"]))
    model = make_pipeline(prepare, GBMAPRegressor(4, random_state=0)).fit(X, y)
    interval = prediction_interval_missing(model, X.head(9), {"level": (1, 3)})
    low, high = ends_over(model, X.head(9), level=[1, 2, 3])
    assert (interval.lower <= low).all()
    assert (interval.upper >= high).all()


def test_a_column_that_the_model_does_not_see_changes_nothing():
    X, y = people()
    prepare = make_column_transformer((StandardScaler(), ["age"]))
    model = make_pipeline(prepare, GBMAPRegressor(3, random_state=0)).fit(X, y)
    interval = prediction_interval_missing(model, X, ["city", "income"])
    assert_allclose(interval.lower, model.predict(X), rtol=1e-12)
    assert_allclose(interval.upper, model.predict(X), rtol=1e-12)


@ACTIVATIONS
@pytest.mark.parametrize("knots", [0, 3])
@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_predictions_of_float32_lie_in_the_interval(activation, mean, knots):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 3)) + mean).astype(np.float32)
    model = GBMAPRegressor(4, knots=knots, activation=activation, random_state=0)
    model.fit(X, np.abs(X[:, 0] - mean) + X[:, 1] - mean)
    interval = prediction_interval_missing(model, X[:50], [0, 2], reference=X)
    box = np.array([[a, b] for a in np.sort(X[:, 0])[::199] for b in np.sort(X[:, 2])[::199]])
    points = np.repeat(X[:50, None], 4, axis=1)
    points[:, :, [0, 2]] = box
    h = model.predict(points.reshape(-1, 3)).reshape(50, 4, 1)
    assert_inside(interval, h)
    if activation == "identity" and not knots:  # with bends the largest value may be elsewhere
        assert_allclose(interval.upper, h.max(axis=(1, 2)), atol=2e-4)


@ACTIVATIONS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(4))
def test_the_gap_reaches_from_an_end_to_what_predict_returns(activation, dtype, seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, activation=activation, falling=0.0)  # convex: the largest value is in a corner
    X = rng.normal(MEAN, SPREAD, (64, 4)).astype(dtype)
    low, high = X[:, :2].min(axis=0), X[:, :2].max(axis=0)
    interval = prediction_interval_missing(model, X, {0: (low[0], high[0]), 1: (low[1], high[1])})
    corners = np.repeat(X[:, None], 4, axis=1)
    corners[:, :, :2] = [[a, b] for a in (low[0], high[0]) for b in (low[1], high[1])]
    h = model.predict(corners.reshape(-1, 4)).reshape(64, 4)
    assert (interval.upper - h.max(axis=1) >= 0).all()
    assert (interval.upper - h.max(axis=1) <= interval.gap).all()
    if activation == "identity":
        assert (h.min(axis=1) - interval.lower >= 0).all()
        assert (h.min(axis=1) - interval.lower <= interval.gap).all()
        assert interval.gap.max() < 1e5 * np.finfo(dtype).eps * model._target_deviation[0]


def test_the_interval_of_a_row_does_not_depend_on_the_rows_beside_it():
    model, X = diabetes()
    X = X.head(20).astype(np.float32)
    X.iloc[0] *= 1e4  # which rounds more coarsely than others
    together, alone = (
        prediction_interval_missing(model, rows, {"bmi": (20, 30), "bp": (80, 100)})
        for rows in (X, X.iloc[7:8])
    )
    for part in ("lower", "upper", "gap"):
        assert_allclose(getattr(alone, part), getattr(together, part)[7:8], rtol=1e-9)


def test_classes_have_an_interval_each():
    X, y = load_iris(return_X_y=True)
    model = GBMAPClassifier(4, random_state=0).fit(X, y)
    interval = prediction_interval_missing(model, X[::10], ["x2"], reference=X)
    assert interval.lower.shape == interval.upper.shape == interval.gap.shape == (15, 3)
    points = np.repeat(X[::10, None], 300, axis=1)
    points[:, :, 2] = np.linspace(X[:, 2].min(), X[:, 2].max(), 300)
    h = model.decision_function(points.reshape(-1, 4)).reshape(15, 300, 3)
    assert_inside(interval, h)
    assert_allclose(interval.upper, h.max(axis=1), atol=0.01)
    frame = interval.to_frame()
    assert frame.shape == (45, 3)
    assert frame.loc[(2, 1), "lower"] == interval.lower[2, 1]
    display = interval.plot(output=1, n_rows=4)
    assert_array_equal(display.upper, interval.upper[:4, 1])
    mpl.pyplot.close(display.figure_)


def test_intervals_without_end_are_drawn_as_arrows():
    interval = prediction_interval_missing(model_of([1.0], [[1.0]], [0.0]), [[0.0], [1.0]], [0])
    assert interval.to_frame().index.name == "row"
    display = interval.plot()
    start, end = display.ax_.get_xlim()
    assert np.isfinite([start, end]).all()
    arrows = display.ax_.collections[2].get_offsets()  # after the lines and the arrows to the left
    assert len(arrows) == 2
    mpl.pyplot.close(display.figure_)


def test_the_size_of_chunks_does_not_matter(monkeypatch):
    model, X = diabetes()
    whole = prediction_interval_missing(model, X.head(30), ["bmi", "bp"], reference=X)
    monkeypatch.setattr(intervals, "_WORK_NUMBERS", 1)
    by_row = prediction_interval_missing(model, X.head(30), ["bmi", "bp"], reference=X)
    assert_allclose(by_row.lower, whole.lower, rtol=1e-12)
    assert_allclose(by_row.upper, whole.upper, rtol=1e-12)


@pytest.mark.parametrize(
    ("unknown", "error", "message"),
    [
        (
            {"age": (60, 20)},
            ValueError,
            r"unknown\['age'\] must be a pair .low, high.*low <= high.*\(60, 20\)",
        ),
        ({"age": (np.nan, 3)}, ValueError, r"unknown\['age'\] must be a pair"),
        ({"age": 3}, ValueError, r"unknown\['age'\] must be a pair"),
        ({"age": (INF, INF)}, ValueError, r"unknown\['age'\] must be a pair"),
        (
            {"city": "Rome"},
            ValueError,
            r"unknown\['city'\] must be a list of categories, or None, got 'Rome'",
        ),
        ({"city": []}, ValueError, r"unknown\['city'\] must be a list of categories"),
        (
            {"city": ["Paris"]},
            ValueError,
            r"unknown\['city'\] must hold categories.*'Paris'; it knows Bonn, K",
        ),
        (
            ["town"],
            ValueError,
            r"unknown must be the name or the position of one of the 4 columns, got 'town'",
        ),
        (["age", 0], ValueError, "unknown must name each column once, got 'age' twice"),
        ("age", TypeError, r"unknown must be a list of features or a dict, got 'age'; write \['age'\]"),
    ],
)
def test_unknown_must_make_sense(unknown, error, message):
    with pytest.raises(error, match=message):
        prediction_interval_missing(pipeline(), people()[0], unknown)


def test_other_arguments_must_make_sense():
    model, X = pipeline(), people()[0]
    bare = model_of([1.0], [[1.0]], [0.0])
    with pytest.raises(
        ValueError, match=r"reference must hold rows with the columns of X: columns are missing"
    ):
        prediction_interval_missing(model, X, ["age"], reference=X[["age"]])
    with pytest.raises(ValueError, match=r"reference must hold rows.*2 features"):
        prediction_interval_missing(bare, np.ones((3, 1)), [0], reference=np.ones((3, 2)))
    with pytest.raises(ValueError, match="tol must be positive and finite, got 0"):
        prediction_interval_missing(model, X, ["age"], tol=0)
    with pytest.raises(ValueError, match="max_boxes must be an integer of at least 1, got 0"):
        prediction_interval_missing(model, X, ["age"], max_boxes=0)
    with pytest.raises(ValueError, match=r"max_boxes=5 combinations of categories, got 12; raise max_boxes"):
        prediction_interval_missing(model, X, ["city", "level"], max_boxes=5)
    with pytest.raises(ValueError, match="2 features"):
        prediction_interval_missing(bare, np.ones((3, 2)), [0])
    with pytest.raises(ValueError, match="2 features"):
        prediction_interval_missing(bare, scipy.sparse.csr_array(np.ones((3, 2))), [0])


@cache
def bent(activation="softplus", knots=4, dtype=np.float64):
    """Return a model whose columns bend, and its rows; the columns have different scales and means."""
    rng = np.random.default_rng(0)
    X = rng.normal(MEAN, SPREAD[:3], (400, 3)).astype(dtype)
    u = (X - MEAN) / SPREAD[:3]
    y = np.sin(2 * u[:, 0]) * u[:, 1] + np.abs(u[:, 2]) - u[:, 1] ** 2
    return GBMAPRegressor(8, knots=knots, activation=activation, random_state=0).fit(X, y), X


def on_grid(model, X, values):
    """Return the predictions of rows with columns at all combinations of values, of shape (n, points)."""
    grid = np.stack(np.meshgrid(*values.values(), indexing="ij"), axis=-1).reshape(-1, len(values))
    points = np.repeat(X[:, None], len(grid), axis=1)
    points[:, :, list(values)] = grid
    return model.predict(points.reshape(-1, X.shape[1])).reshape(len(X), -1)


@ACTIVATIONS
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("where", ["everywhere", "seen", "amid", "beyond", "point"])
def test_one_unknown_column_that_bends_has_the_range_that_a_fine_grid_shows(activation, column, where):
    model, X = bent(activation)
    s, knots = SPREAD[column], model.knots_[column]
    low, high = {
        "everywhere": (-INF, INF),
        "seen": (X[:, column].min(), X[:, column].max()),
        "amid": (knots[0], knots[2] + 0.1 * s),
        "beyond": (MEAN + 300 * s, MEAN + 400 * s),
        "point": (MEAN, MEAN),
    }[where]
    unknown, reference = ([column], X) if where == "seen" else ({column: (low, high)}, None)
    interval = prediction_interval_missing(model, X[:5], unknown, reference=reference)
    grid = np.linspace(max(low, MEAN - 100 * s), min(high, MEAN + 400 * s), 40_001)
    grid = np.append(grid, [k for k in knots if low <= k <= high])
    h = on_grid(model, X[:5], {column: grid})
    tol = 1e-3 * model._target_deviation[0]
    assert_inside(interval, h[:, :, None])
    assert (interval.gap <= tol).all()
    between = (grid[1] - grid[0]) * np.abs(coefficient_bounds(model).to_frame().iloc[column]).max()
    assert_allclose(interval.lower, h.min(axis=1), atol=tol + between)
    assert_allclose(interval.upper, h.max(axis=1), atol=tol + between)


@ACTIVATIONS
def test_two_unknown_columns_that_bend_have_the_range_that_a_grid_shows(activation):
    model, X = bent(activation)
    interval = prediction_interval_missing(model, X[:2], [0, 1], reference=X)
    values = {k: np.union1d(np.linspace(X[:, k].min(), X[:, k].max(), 301), model.knots_[k]) for k in (0, 1)}
    h = on_grid(model, X[:2], values)
    tol = 1e-3 * model._target_deviation[0]
    assert (interval.gap <= tol).all()
    assert_inside(interval, h[:, :, None])
    assert_allclose(interval.lower, h.min(axis=1), atol=tol + 0.03)
    assert_allclose(interval.upper, h.max(axis=1), atol=tol + 0.03)


@ACTIVATIONS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=SEEDS, max_boxes=st.sampled_from([1, 7, 300]))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_no_value_of_columns_that_bend_leads_out_of_the_interval(activation, dtype, seed, max_boxes):
    rng = np.random.default_rng(seed)
    model, X = bent(activation, dtype=dtype)
    columns = rng.permutation(3)[: rng.integers(1, 4)].tolist()
    low, high = np.sort(MEAN + SPREAD[:3] * rng.standard_cauchy((2, 3)), axis=0)
    low, high = np.where(rng.random((2, 3)) < 0.2, [[-INF], [INF]], [low, high]).astype(dtype)
    interval = prediction_interval_missing(
        model, X[:3], {k: (low[k], high[k]) for k in columns}, max_boxes=max_boxes
    )
    first, last = (np.where(np.isfinite(end), end, MEAN + far) for end, far in ((low, -1e3), (high, 1e3)))
    draws = rng.choice([0.0, 1.0, np.nan], (3, 500, 3))  # corners, edges and the inside
    draws = first + (last - first) * np.where(np.isnan(draws), rng.random((3, 500, 3)), draws)
    points = np.repeat(X[:3, None], 500, axis=1)
    points[:, :, columns] = draws.clip(low, high).astype(dtype)[:, :, columns]
    assert_inside(interval, model.predict(points.reshape(-1, 3)).reshape(3, 500, 1))


def test_columns_that_bend_and_columns_that_do_not_are_unknown_together():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 2, 300)])
    model = GBMAPRegressor(4, knots=3, random_state=0).fit(X, np.abs(X[:, 0]) * (1 + X[:, 1]))
    assert [len(knots) for knots in model.knots_] == [3, 0]
    half = prediction_interval_missing(model, X[:3], {0: (-1, 2), 1: (-INF, 1)})
    h = on_grid(model, X[:3], {0: np.linspace(-1, 2, 301), 1: np.append(np.linspace(-9, 1, 101), -1e4)})
    assert_inside(half, h[:, :, None])
    whole = prediction_interval_missing(model, X[:3], [0, 1])
    assert (np.isinf(whole.lower) | np.isinf(whole.upper)).all()  # along the second one


@cache
def raw_people():
    """Return a model that reads text and missing values itself, and its rows."""
    X, y = people()
    city = X["city"].mask(np.arange(len(X)) % 17 == 0)
    X = X.assign(city=city, is_new=np.arange(len(X)) % 3 == 0)
    return GBMAPRegressor(6, knots=3, random_state=0).fit(X, y + 2 * city.isna()), X


def test_categories_that_the_model_reads_itself_may_be_unknown():
    model, X = raw_people()
    cities, rows = ["Oslo", "Rome", "Kyiv", "Bonn", "Paris", None], X.head(8)
    tol = 2e-3 * model._target_deviation[0]
    for unknown, values in (
        (["city"], {"city": cities}),
        ({"city": ["Kyiv", "Bonn"]}, {"city": ["Kyiv", "Bonn"]}),
        ({"city": ["Kyiv", None]}, {"city": ["Kyiv", None]}),
        ({"city": ["Paris"]}, {"city": ["Paris"]}),
        ({"city": None, "age": (20, 60)}, {"city": cities, "age": np.linspace(20, 60, 801)}),
    ):
        interval = prediction_interval_missing(model, rows, unknown)
        low, high = ends_over(model, rows, **values)
        assert (interval.lower <= low).all()
        assert (interval.upper >= high).all()
        assert_allclose(interval.lower, low, atol=tol)
        assert_allclose(interval.upper, high, atol=tol)


def test_categories_that_the_model_reads_itself_may_be_those_of_other_rows():
    model, X = raw_people()
    rows, others = X.head(5), X[X["city"].isin(["Oslo", "Rome"])]
    interval = prediction_interval_missing(model, rows, ["city"], reference=others)
    low, high = ends_over(model, rows, city=["Oslo", "Rome"])
    assert_allclose(interval.lower, low, atol=1e-9)
    assert_allclose(interval.upper, high, atol=1e-9)


def test_an_unknown_number_with_a_mark_is_one_that_is_there():
    model, X = raw_people()
    rows = X.head(20)
    assert "income is missing" in FittedModel.of(model).input_names
    interval = prediction_interval_missing(model, rows.assign(income=np.nan), ["income"], reference=X)
    low, high = ends_over(model, rows, income=np.linspace(X["income"].min(), X["income"].max(), 801))
    tol = 2e-3 * model._target_deviation[0]
    assert (interval.lower <= low).all()
    assert (interval.upper >= high).all()
    assert_allclose(interval.lower, low, atol=tol)
    assert_allclose(interval.upper, high, atol=tol)


def test_categories_of_an_array_may_be_unknown():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 4, 300)])
    model = GBMAPRegressor(4, categorical_features=[1], random_state=0)
    model.fit(X, X[:, 0] * (X[:, 1] == 2) + (X[:, 1] == 3))
    h = on_grid(model, X[:6], {1: np.arange(5.0)})  # 4 is a category that the model does not know
    for unknown, shown in (([1], h), ({1: [2, 3.0]}, h[:, 2:4])):
        interval = prediction_interval_missing(model, X[:6], unknown)
        assert_allclose(interval.lower, shown.min(axis=1), atol=1e-9)
        assert_allclose(interval.upper, shown.max(axis=1), atol=1e-9)


def test_columns_that_bend_behind_a_scaler_are_unknown_in_their_own_units():
    bare, X = bent()
    model = make_pipeline(StandardScaler(), GBMAPRegressor(8, knots=4, random_state=0))
    model.fit(X, bare.predict(X))
    interval = prediction_interval_missing(model, X[:4], {1: (-40.0, 60.0)})
    h = on_grid(model, X[:4], {1: np.linspace(-40, 60, 20_001)})
    tol = 1e-3 * model[-1]._target_deviation[0]
    assert_inside(interval, h[:, :, None])
    assert_allclose(interval.upper, h.max(axis=1), atol=2 * tol)
    assert_allclose(interval.lower, h.min(axis=1), atol=2 * tol)


def test_a_column_with_and_without_bends_must_have_a_range():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(400) < 0.3, np.nan, rng.integers(0, 2, 400))
    X = np.column_stack([x, rng.normal(size=400)])
    union = make_union("passthrough", SimpleImputer())  # what is filled in lies between, so that it is a knot
    model = make_pipeline(union, GBMAPRegressor(3, knots=3, random_state=0))
    model.fit(X, np.nan_to_num(x) + np.isnan(x) * X[:, 1])
    with pytest.raises(ValueError, match=r"unknown\['x0'\] must be a pair .* with bends and also without"):
        prediction_interval_missing(model, X[:3], [0])
    rows = np.nan_to_num(X[:3])
    interval = prediction_interval_missing(model, rows, {0: (-1, 2)})
    assert_inside(interval, on_grid(model, rows, {0: np.linspace(-1, 2, 301)})[:, :, None])
