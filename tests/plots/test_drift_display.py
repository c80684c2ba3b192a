"""The drift picture shows loss against indicator, and the thresholds that follow from them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap._drawing.axes import BLUE, ORANGE
from gbmap.drift import EuclideanDetector
from gbmap.plots import DriftDisplay


def rows_of(seed, factor=1.0):
    rng = np.random.default_rng(seed)
    X = factor * rng.normal(size=(150, 2))
    return X, X[:, 0] ** 2 + 0.1 * rng.normal(size=150)


@pytest.fixture(scope="module")
def detector():
    return DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(*rows_of(0))


@pytest.fixture(scope="module")
def display(detector):
    made = DriftDisplay.from_estimator(detector, *rows_of(1), *rows_of(2, 2.5))
    plt.close("all")
    return made


def test_rows_have_the_detectors_indicator_and_the_models_loss(detector, display):
    (X, y), (X_shifted, y_shifted) = rows_of(1), rows_of(2, 2.5)
    assert_array_equal(display.indicator, detector.indicator(np.vstack([X, X_shifted])))
    f = detector.estimator_.predict(np.vstack([X, X_shifted]))
    assert_allclose(display.loss, (np.append(y, y_shifted) - f) ** 2)
    assert_array_equal(display.is_shifted, np.repeat([False, True], 150))
    assert display.loss_threshold == np.quantile(display.loss[:150], 0.95)
    assert display.is_drifted[:150].mean() == pytest.approx(0.05, abs=0.01)


def test_the_indicator_threshold_is_the_one_of_the_largest_f1(display):
    f1 = [f1_score(display.is_drifted, display.indicator >= level) for level in display.indicator]
    assert display.f1 == pytest.approx(max(f1))
    told = display.indicator >= display.indicator_threshold
    assert f1_score(display.is_drifted, told) == pytest.approx(display.f1)
    assert display.roc_auc == pytest.approx(roc_auc_score(display.is_drifted, display.indicator))
    assert display.roc_auc > 0.8


def test_a_known_answer_by_hand():
    made = DriftDisplay([1, 2, 3, 4, 5], [0, 0, 9, 0, 9], [0, 0, 0, 1, 1], loss_threshold=5)
    assert (made.indicator_threshold, made.f1) == (3.0, 0.8)
    assert made.roc_auc == pytest.approx(5 / 6)


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_test_rows_are_blue_discs_and_shifted_rows_orange_crosses(display, scale):
    ax = display.plot(scale=scale).ax_
    test, shifted = ax.collections
    assert_array_equal(test.get_offsets()[5:, 0] > 0, True)
    for drawn, rows, color in ((test, ~display.is_shifted, BLUE), (shifted, display.is_shifted, ORANGE)):
        assert_allclose(to_rgb(drawn.get_edgecolor()[0]), to_rgb(color))
        x, y = drawn.get_offsets().T
        shown = x >= np.quantile(display.indicator, 0.02)
        assert_allclose(x[shown], display.indicator[rows][shown])
        assert_allclose(
            np.maximum(y, display.loss_threshold), np.maximum(display.loss[rows], display.loss_threshold)
        )
    assert len(test.get_paths()[0].vertices) > len(shifted.get_paths()[0].vertices)
    assert (ax.get_xscale(), ax.get_yscale()) == (scale, scale)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("drift indicator", "loss")


def test_lines_mark_the_three_thresholds(detector, display):
    ax = display.plot().ax_
    level, best, alarm = ax.lines
    assert level.get_ydata()[0] == display.loss_threshold
    assert best.get_xdata()[0] == display.indicator_threshold
    assert alarm.get_xdata()[0] == detector.threshold_
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[:2] == ["test (a2), 150 rows", "shifted (b), 150 rows"]
    assert f"{display.f1:.2f}" in names[3]
    assert f"{display.roc_auc:.2f}" in ax.get_title()


def test_the_roc_curve_is_scikit_learns_with_the_best_threshold_on_it(display):
    _, ax = plt.subplots()
    roc = display.plot_roc(ax=ax, curve_kwargs={"lw": 5})
    assert roc.ax_ is ax
    assert roc.roc_auc == pytest.approx(display.roc_auc)
    assert ax.lines[0].get_linewidth() == 5
    (x,), (y,) = ax.lines[-1].get_data()
    told = display.indicator >= display.indicator_threshold
    assert (x, y) == (told[~display.is_drifted].mean(), told[display.is_drifted].mean())
    assert np.min(np.abs(roc.fpr - x) + np.abs(roc.tpr - y)) < 0.05


def test_zeros_are_drawn_at_the_edge_of_a_logarithmic_axis():
    made = DriftDisplay.from_predictions(np.arange(200.0), np.zeros(200), np.arange(200) > 99)
    made.figure_.canvas.draw()
    points = np.concatenate([drawn.get_offsets() for drawn in made.ax_.collections])
    assert (points > 0).all()
    assert (points[2:, 0] == np.maximum(np.arange(2.0, 200.0), points[0, 0])).all()


def test_without_drifted_rows_there_is_a_picture_but_no_curve():
    made = DriftDisplay.from_predictions([1.0, 2.0], [1.0, 1.0], [False, True])
    assert len(made.ax_.lines) == 1
    assert np.isnan([made.indicator_threshold, made.f1, made.roc_auc]).all()
    with pytest.raises(ValueError, match=r"got 0 above of 2; choose another loss_threshold"):
        made.plot_roc()
    all_drifted = DriftDisplay.from_predictions([1.0, 2.0], [1.0, 1.0], [False, True], loss_threshold=0.5)
    assert (all_drifted.indicator_threshold, all_drifted.f1) == (1.0, 1.0)
    assert np.isnan(all_drifted.roc_auc)


def test_classes_and_foreign_models_count_their_own_loss():
    (X, y), (X_new, y_new) = rows_of(0), rows_of(1)
    names = np.where(y > 0.5, "b", "a")
    model = GBMAPClassifier(3, random_state=0).fit(X, names)
    made = DriftDisplay.from_estimator(
        DriftDetector(model).fit(X, names), X_new, np.where(y_new > 0.5, "b", "a"), X, names
    )
    assert made.loss[150:].mean() == pytest.approx(log_loss(names, model.predict_proba(X)))
    assert made.alarm_threshold is None
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    made = DriftDisplay.from_estimator(
        DriftDetector(forest).fit(X, y), X_new, y_new, X, y, loss_threshold=0.1
    )
    assert_allclose(made.loss[:150], (y_new - forest.predict(X_new)) ** 2)
    assert made.loss_threshold == 0.1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss_quantile": 1.5}, "loss_quantile must be a number between 0 and 1, got 1.5"),
        ({"scale": "square"}, 'scale must be "log" or "linear", got \'square\''),
    ],
)
def test_bad_arguments_are_named(detector, given, message):
    with pytest.raises(ValueError, match=message):
        DriftDisplay.from_estimator(detector, *rows_of(1), *rows_of(2), **given)


def test_bad_arrays_are_named(detector):
    with pytest.raises(ValueError, match="as many rows each, got 2, 3 and 2"):
        DriftDisplay([1, 2], [1, 2, 3], [0, 1], 1.0)
    with pytest.raises(ValueError, match="indicator must be a one-dimensional array of finite numbers"):
        DriftDisplay([1, np.nan], [1, 2], [0, 1], 1.0)
    with pytest.raises(ValueError, match="loss_threshold must be given if all rows are shifted"):
        DriftDisplay.from_predictions([1, 2], [1, 2], [1, 1])
    with pytest.raises(ValueError, match="y_shifted"):
        DriftDisplay.from_estimator(detector, *rows_of(1), rows_of(2)[0], None)


def test_other_detectors_are_sent_to_their_arrays():
    X, y = rows_of(0)
    with pytest.raises(TypeError, match=r"got EuclideanDetector; pass other .* to from_predictions"):
        DriftDisplay.from_estimator(EuclideanDetector().fit(X), X, y, X, y)
    with pytest.raises(NotFittedError):
        DriftDisplay.from_estimator(DriftDetector(), X, y, X, y)
