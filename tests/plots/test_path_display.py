"""The path picture's bounds hold, and narrow as more points are asked."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from gbmap import GBMAPRegressor
from gbmap.plots import PathDisplay

ROWS = [(5, 120), (199, -3)]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("n_pieces", [1, 7])
@pytest.mark.parametrize("kind", ["numbers", "table", "classes"])
def test_h_stays_within_its_bounds_and_meets_them_at_the_knots(kind, n_pieces, rows, request):
    X, _, model = request.getfixturevalue(kind)
    output = "low" if kind == "classes" else None
    display = PathDisplay.from_estimator(model, X, rows=rows, n_pieces=n_pieces, output=output)
    slack = 1e-9 * np.abs(display.values).max()
    assert (display.lower <= display.values + slack).all()
    assert (display.values <= display.upper + slack).all()
    assert np.isin(np.linspace(0, 1, n_pieces + 1), display.knots).all()
    at_knots = np.isin(display.positions, display.knots)
    assert at_knots.sum() == len(display.knots)
    for each in (display.lower, display.upper, display.values):
        assert_allclose(each[at_knots], display.knot_values)


@pytest.fixture(scope="module")
def straight(numbers):
    """A model without knots, whose pieces are those asked for."""
    X, y, _ = numbers
    return X, GBMAPRegressor(4, knots=0, random_state=0).fit(X[:150], y[:150])


def test_without_knots_the_pieces_are_those_asked_for(straight):
    X, model = straight
    display = PathDisplay.from_estimator(model, X, n_pieces=7)
    assert_array_equal(display.knots, np.linspace(0, 1, 8))


def test_bounds_are_narrow_where_h_bends_little_and_narrow_with_every_halving(straight):
    X, model = straight
    widths = []
    for n_pieces in (1, 2, 4, 8, 64):
        display = PathDisplay.from_estimator(model, X, rows=(5, 120), n_pieces=n_pieces)
        widths.append((display.upper - display.lower).max())
    assert widths[0] > 0.1 * np.ptp(display.values)
    assert all(later <= earlier for earlier, later in pairwise(widths))
    assert widths[-1] < 0.02 * widths[0]


def test_the_ends_are_the_predictions_of_the_rows(numbers, table, classes):
    for X, _, model in (numbers, table):
        display = PathDisplay.from_estimator(model, X, rows=(3, 50))
        assert_allclose(display.values[[0, -1]], model.predict(X)[[3, 50]])
    X, _, model = classes
    display = PathDisplay.from_estimator(model, X, rows=(3, 50), output="_high")
    assert_allclose(display.values[[0, -1]], model.decision_function(X)[[3, 50], 0])
    assert display.value_label == "log-odds of _high"


def test_distances_are_ordered_and_the_path_is_the_variation(straight):
    X, model = straight
    display = PathDisplay.from_estimator(model, X, rows=(5, 120), n_pieces=40)
    variation = np.abs(np.diff(display.values)).sum()
    assert display.path_distance <= variation * (1 + 1e-6) + 1e-9
    assert variation <= display.path_distance + display.path_bound + 1e-9
    assert abs(display.values[-1] - display.values[0]) <= display.path_distance <= display.embedding_distance
    assert f"{display.path_distance:.4g}" in display.ax_.get_title()


def test_the_identity_leaves_no_doubt(numbers):
    X, y, _ = numbers
    model = GBMAPRegressor(3, knots=0, activation="identity", random_state=0).fit(X, y)
    display = PathDisplay.from_estimator(model, X, n_pieces=1)
    assert_allclose(display.lower, display.values)
    assert_allclose(display.upper, display.values)


def test_an_initial_model_is_left_out_and_said(numbers):
    X, y, _ = numbers
    model = GBMAPRegressor(3, init=LinearRegression(), random_state=0).fit(X, y)
    display = PathDisplay.from_estimator(model, X, rows=(3, 50))
    assert_allclose(display.values[[0, -1]], (model.predict(X) - model.init_.predict(X))[[3, 50]])
    assert display.ax_.get_ylabel() == "prediction, less that of init"


def test_what_is_drawn_is_the_curve_and_its_range(numbers):
    X, _, model = numbers
    display = PathDisplay.from_estimator(model, X, rows=(5, 120), line_kwargs={"c": "black", "lw": 3})
    curve, dots = display.ax_.lines
    assert_array_equal(curve.get_xydata(), np.column_stack([display.positions, display.values]))
    assert_array_equal(dots.get_xydata(), np.column_stack([display.knots, display.knot_values]))
    assert (curve.get_color(), curve.get_linewidth()) == ("black", 3)
    edge = display.ax_.collections[0].get_paths()[0].vertices
    for each in (display.lower, display.upper):
        assert {tuple(point) for point in zip(display.positions, each)} <= {tuple(point) for point in edge}
    assert [text.get_text() for text in display.ax_.get_xticklabels()][::4] == ["row 5", "row 120"]


def test_a_row_and_itself_are_a_flat_line(numbers):
    X, _, model = numbers
    display = PathDisplay.from_estimator(model, X, rows=(7, 7))
    assert np.ptp(display.values) == 0
    assert (display.path_distance, display.embedding_distance) == (0, 0)
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": (0, 200)}, "each of rows must be the position of a row of X, from 0 to 199, got 200"),
        ({"rows": (0, 1, 2)}, "rows must be the positions of two rows of X"),
        ({"rows": 3}, "rows must be the positions of two rows of X, got 3"),
        ({"rows": (0, 1.5)}, "got 1.5"),
        ({"n_pieces": 0}, "n_pieces must be an integer of at least 1, got 0"),
        ({"output": 2}, "output must be None for a model with one output"),
    ],
)
def test_bad_arguments_are_named(numbers, given, message):
    X, _, model = numbers
    with pytest.raises(ValueError, match=message):
        PathDisplay.from_estimator(model, X, **given)


def test_several_outputs_need_a_choice(targets):
    X, _, model = targets
    with pytest.raises(ValueError, match=r"output must be one of \[0, 1\]"):
        PathDisplay.from_estimator(model, X)
    display = PathDisplay.from_estimator(model, X, output=1)
    assert_allclose(display.values[[0, -1]], model.predict(X)[:2, 1])
    assert display.value_label == "prediction of target 1"


def bent_models():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    X["town"] = np.array(["Oslo", "Turku", "Bergen"])[np.arange(200) % 3]
    X.loc[::7, "b"] = np.nan
    y = np.abs(X["a"]) + 2.0 * (X["town"] == "Oslo") + X["b"].isna() + np.sin(2 * X["c"])
    yield X, GBMAPRegressor(4, knots=4, random_state=0).fit(X, y)
    yield X, GBMAPRegressor(4, knots=4, monotonic_cst=[0, 0, 1, 0], random_state=0).fit(X, y)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [(1, 2), (0, 3), (199, -3), (7, 15)])
@pytest.mark.parametrize("n_pieces", [1, 7])
def test_where_columns_bend_the_bounds_hold_between_the_bends(n_pieces, rows):
    for X, model in bent_models():
        display = PathDisplay.from_estimator(model, X, rows=rows, n_pieces=n_pieces)
        slack = 1e-9 * np.abs(display.values).max()
        assert (display.lower <= display.values + slack).all()
        assert (display.values <= display.upper + slack).all()
        assert np.isin(np.linspace(0, 1, n_pieces + 1), display.knots).all()
        assert len(display.knots) > n_pieces + 1
        assert_allclose(display.values[[0, -1]], model.predict(X)[list(rows)])
        variation = np.abs(np.diff(display.values)).sum()
        assert variation <= display.path_distance + display.path_bound + 1e-9


def test_a_path_longer_than_the_embedding_tells_is_titled_in_order():
    x = np.linspace(-1, 1, 200)[:, None]
    model = GBMAPRegressor(1, knots=1, random_state=0).fit(x, np.abs(x[:, 0] - 0.2))
    display = PathDisplay.from_estimator(model, x, rows=(5, 190))
    assert display.path_distance > display.embedding_distance
    title = display.ax_.get_title()
    assert title.index("difference") < title.index("embedding distance") < title.index("path distance")
