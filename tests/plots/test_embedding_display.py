"""The map shows the embedding's coordinates, coloured by what was asked for."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.loss_curve import LossCurve
from gbmap._fitted.model import FittedModel
from gbmap.inspection import learner_cards
from gbmap.plots import EmbeddingDisplay

MODELS = ["numbers", "table", "classes", "targets"]


def drawn_at(display):
    """Return all points drawn, in an order of their own."""
    points = np.concatenate([drawn.get_offsets() for drawn in display.ax_.collections])
    return points[np.lexsort(points.T)]


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("components", [(0, 1), [2, 0]])
def test_points_are_the_chosen_columns_of_the_embedding(kind, components, request):
    X, y, model = request.getfixturevalue(kind)
    display = EmbeddingDisplay.from_estimator(model, X, y, components=components, color=np.arange(200.0))
    expected = model.transform(X)[:, list(components)]
    assert_allclose(display.coordinates, expected)
    assert_allclose(drawn_at(display), expected[np.lexsort(expected.T)])


def principal(phi):
    """Return the principal components of coordinates whose outer hundredths count as their border."""
    return PCA(2).fit(np.clip(phi, *np.quantile(phi, [0.01, 0.99], axis=0)))


def test_the_coordinates_of_an_output_are_its_own(targets):
    X, y, model = targets
    display = EmbeddingDisplay.from_estimator(model, X, y, output=1)
    own = model.transform(X)[:, [1, 3, 5]]
    assert_allclose(np.abs(display.coordinates), np.abs(principal(own).transform(own)), atol=1e-8)


def test_two_coordinates_are_drawn_as_they_are_and_more_by_their_principal_components(numbers):
    X, y, model = numbers
    two = GBMAPRegressor(2, random_state=0).fit(X, y)
    assert_allclose(EmbeddingDisplay.from_estimator(two, X).coordinates, two.transform(X))
    many, pca = (EmbeddingDisplay.from_estimator(model, X, components=how) for how in (None, "pca"))
    assert_array_equal(many.coordinates, pca.coordinates)
    assert many.ax_.get_ylabel().startswith("principal component 2, ")


def test_far_rows_neither_turn_the_axes_nor_make_all_others_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.abs(X[:, 0]) + np.abs(X[:, 1])
    model = GBMAPRegressor(5, random_state=0).fit(X, y)
    X[:2] = [[0, 0, 0], [0, 60, 0]]
    display = EmbeddingDisplay.from_estimator(model, X, y)
    low, high = np.quantile(display.coordinates, [0.02, 0.98], axis=0)
    shown = np.array([display.ax_.get_xlim(), display.ax_.get_ylim()])
    assert ((high - low) / np.ptp(shown, axis=1) > 0.3).all()
    outside = ((display.coordinates < shown[:, 0]) | (display.coordinates > shown[:, 1])).any(axis=1)
    assert 1 <= outside.sum() <= 12
    assert display.ax_.get_title(loc="right") == f"{outside.sum()} outside"


@pytest.mark.parametrize("kind", MODELS)
def test_principal_components_are_those_of_the_embedding(kind, request):
    X, _, model = request.getfixturevalue(kind)
    display = EmbeddingDisplay.from_estimator(model, X, components="pca", color=np.arange(200))
    pca = principal(model.transform(X))
    assert_allclose(np.abs(display.coordinates), np.abs(pca.transform(model.transform(X))), atol=1e-8)
    share = round(100 * pca.explained_variance_ratio_[0])
    assert display.ax_.get_xlabel() == f"principal component 1, {share} % of the variance"


@pytest.mark.parametrize("kind", MODELS)
def test_the_first_axis_rises_with_the_prediction_and_the_longer_tail_of_the_second_points_up(kind, request):
    X, _, model = request.getfixturevalue(kind)
    points = EmbeddingDisplay.from_estimator(model, X, components="pca", color=np.arange(200)).coordinates
    phi = model.transform(X)
    near = np.clip(phi, *np.quantile(phi, [0.01, 0.99], axis=0))  # far rows turn no axis
    axis = PCA(1).fit(near).components_[0]
    assert np.sign(np.cov(near @ axis, near.sum(axis=1))[0, 1]) == np.sign(
        np.cov(phi @ axis, points[:, 0])[0, 1]
    )
    assert ((points - points.mean(axis=0))[:, 1] ** 3).sum() > 0


@pytest.mark.parametrize("kind", MODELS)
def test_shares_of_the_loss_add_up_to_what_the_stages_explain(kind, request):
    X, y, model = request.getfixturevalue(kind)
    fitted = FittedModel.of(model)
    shares = LossCurve.of(fitted, X, y).explained_by_learner().reshape(-1, fitted.ensemble.n_outputs)
    stages = learner_cards(model, X, y).explained_loss
    assert_allclose(shares.sum(axis=1), np.diff(stages), atol=1e-12)
    assert len(np.unique(shares)) == shares.size


def test_axes_tell_the_coordinate_its_class_and_its_share(numbers, classes):
    X, y, model = numbers
    shares = LossCurve.of(FittedModel.of(model), X, y).explained_by_learner()
    with_y = EmbeddingDisplay.from_estimator(model, X, y, components=(1, 0)).ax_
    assert with_y.get_xlabel() == f"f2, explains {round(100 * shares[1])} % of the loss"
    assert with_y.get_ylabel() == f"f1, explains {round(100 * shares[0])} % of the loss"
    assert EmbeddingDisplay.from_estimator(model, X, components=(0,)).ax_.get_xlabel() == "f1"
    X, y, model = classes
    assert EmbeddingDisplay.from_estimator(model, X, components=(0, 1)).ax_.get_ylabel() == "f1_low"
    assert EmbeddingDisplay.from_estimator(model, X, components=(2,)).ax_.get_xlabel() == r"f1_mid \$"


def test_colours_are_the_target_the_prediction_or_the_loss(numbers, classes, targets):
    X, y, model = numbers
    X, y = X[:150], y[:150]
    assert_array_equal(EmbeddingDisplay.from_estimator(model, X, y).color, y)
    assert_allclose(EmbeddingDisplay.from_estimator(model, X).color, model.predict(X))
    loss = EmbeddingDisplay.from_estimator(model, X, y, color="loss")
    assert_allclose(loss.color, (y - model.predict(X)) ** 2)
    assert_allclose(loss.color.mean(), model.loss_curve_[-1])
    assert loss.ax_.collections[0].colorbar.ax.get_ylabel() == "loss"
    X, y, model = classes
    assert legend_of(EmbeddingDisplay.from_estimator(model, X, y)) == ["_high", "low", r"mid \$"]
    assert_array_equal(EmbeddingDisplay.from_estimator(model, X).color, model.predict(X))
    X, y, model = targets
    assert_array_equal(EmbeddingDisplay.from_estimator(model, X, y, output=1).color, y[:, 1])
    assert_allclose(EmbeddingDisplay.from_estimator(model, X, output=1).color, model.predict(X)[:, 1])
    loss = EmbeddingDisplay.from_estimator(model, X, y, output=1, color="loss").color
    assert_allclose(loss, (y - model.predict(X))[:, 1] ** 2)


def test_classes_that_are_numbers_get_a_legend_in_their_order(numbers):
    X, y, _ = numbers
    y = np.where(X[:, 0] > 3, 10, 2)
    display = EmbeddingDisplay.from_estimator(GBMAPClassifier(2, random_state=0).fit(X, y), X, y)
    assert legend_of(display) == ["2", "10"]


@pytest.mark.parametrize("color", ["target", "prediction", "loss", "depth", "town", 3, np.arange(200.0)])
def test_every_colour_of_a_sample_is_that_of_its_own_rows(table, color):
    frame, y, model = table
    how = {"color": color, "components": (0, 1)}
    some = EmbeddingDisplay.from_estimator(model, frame, y, max_rows=60, **how)
    every = EmbeddingDisplay.from_estimator(model, frame, y, **how)
    rows = [int(np.abs(every.coordinates - point).sum(axis=1).argmin()) for point in some.coordinates]
    assert len(set(rows)) == 60
    if some.color.dtype == object:
        assert some.color.tolist() == every.color[rows].tolist()
    else:
        assert_allclose(some.color, every.color[rows])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_colour_by_name_or_position(table, make):
    frame, _, model = table
    given = frame if make is pd.DataFrame else pl.from_pandas(frame)
    town = EmbeddingDisplay.from_estimator(model, given, color="town")
    assert legend_of(town) == ["Bergen", "Oslo", "Turku", "missing"]
    assert town.ax_.get_legend().get_title().get_text() == "town"
    price = EmbeddingDisplay.from_estimator(model, given, color="price in $")
    assert_array_equal(price.color, frame["price in $"])
    assert price.ax_.collections[0].colorbar.ax.get_ylabel() == r"price in \$"
    assert_array_equal(EmbeddingDisplay.from_estimator(model, given, color=1).color, frame["price in $"])


def test_columns_of_arrays_sparse_or_not_colour_by_position(numbers):
    X, _, model = numbers
    for given in (X, scipy.sparse.csr_array(X)):
        assert_array_equal(EmbeddingDisplay.from_estimator(model, given, color=2).color, X[:, 2])
        assert_array_equal(EmbeddingDisplay.from_estimator(model, given, color="x2").color, X[:, 2])


def test_a_column_of_whole_numbers_with_gaps_is_a_column_of_numbers(table):
    frame, _, model = table
    frame = frame.assign(age=pd.array([None, *range(1, 200)], dtype="Int64"))
    color = EmbeddingDisplay.from_estimator(model, frame, color="age").color
    assert_array_equal(color, [np.nan, *range(1, 200)])


def test_values_of_the_users_colour_with_their_name(numbers):
    X, _, model = numbers
    display = EmbeddingDisplay.from_estimator(model, X, color=pd.Series(X[:, 3] > 3, name="far $"))
    assert legend_of(display) == ["False", "True"]
    assert display.ax_.get_legend().get_title().get_text() == r"far \$"


def test_a_sample_is_said_and_keeps_rows_and_colours_together(table):
    frame, y, model = table
    display = EmbeddingDisplay.from_estimator(model, frame, y, max_rows=50, components=(0, 1))
    assert display.coordinates.shape == (50, 2)
    assert display.ax_.get_title(loc="right") == "50 of 200 rows"
    rows = [int(np.flatnonzero(y == value)[0]) for value in display.color]
    assert len(set(rows)) == 50
    assert_allclose(display.coordinates, model.transform(frame.iloc[rows])[:, :2])
    again = EmbeddingDisplay.from_estimator(model, frame, y, max_rows=50, components=(0, 1))
    assert_array_equal(again.coordinates, display.coordinates)
    other = EmbeddingDisplay.from_estimator(model, frame, y, max_rows=50, components=(0, 1), random_state=1)
    assert (other.coordinates != display.coordinates).any()
    assert EmbeddingDisplay.from_estimator(model, frame, y).ax_.get_title(loc="right") == ""


def test_one_feature_and_one_component_make_a_strip(numbers):
    X, y, _ = numbers
    model = GBMAPRegressor(1, random_state=0).fit(X[:, :1], y)
    for components in (None, "pca", (0,)):
        display = EmbeddingDisplay.from_estimator(model, X[:, :1], y, components=components)
        assert display.coordinates.shape == (200, 1)
        points = drawn_at(display)
        assert_allclose(np.sort(points[:, 0]), np.sort(display.coordinates[:, 0]))
        assert np.ptp(points[:, 1]) > 0.5


def test_a_map_of_one_point_is_drawn_without_a_warning(numbers):
    X, _, _ = numbers
    model = make_pipeline(StandardScaler(), GBMAPRegressor(2, random_state=0)).fit(X, np.ones(200))
    for components in (None, "pca"):
        display = EmbeddingDisplay.from_estimator(model, X, np.ones(200), components=components)
        display.figure_.canvas.draw()
        assert np.isfinite(display.coordinates).all()
    EmbeddingDisplay.from_estimator(model, X[:1]).figure_.canvas.draw()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"components": (0, 4)}, "components must be a name from 'f1' to 'f4', or a position below 4, got 4"),
        ({"components": ("f5",)}, "components must be a name from 'f1' to 'f4', .*, got 'f5'"),
        ({"components": (0, 1, 2)}, "components must be"),
        ({"components": 1}, "components must be"),
        ({"components": "umap"}, "components must be"),
        ({"color": "target"}, "color='target' needs y"),
        ({"color": "colour"}, "color must be the name or the position of one of the 4 columns, got 'colour'"),
        ({"color": np.ones(3)}, "color must have as many values as X has rows, 200, got 3"),
        ({"max_rows": 0}, "max_rows must be an integer of at least 1, got 0"),
        ({"output": 1}, "output must be None for a model with one output"),
    ],
)
def test_bad_arguments_are_named(numbers, given, message):
    X, _, model = numbers
    with pytest.raises(ValueError, match=message):
        EmbeddingDisplay.from_estimator(model, X, **given)
    assert not plt.get_fignums()


def test_several_targets_need_a_choice(targets):
    X, y, model = targets
    with pytest.raises(
        ValueError, match=r"output must be given to colour by one of 2 targets, one of \[0, 1\]"
    ):
        EmbeddingDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match=r"of the output, f1_0, f2_0, f3_0, got \(1,\)"):
        EmbeddingDisplay.from_estimator(model, X, y, output=0, components=(1,))
    with pytest.raises(ValueError, match="needs at least two rows"):
        EmbeddingDisplay.from_estimator(model, X[:1], y[:1], output=0, components="pca")
