"""Losses, explanations, importances and regions: the pictures show what the model says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.inspection import attributions, explain, regions
from gbmap.inspection.attribution import over_the_average
from gbmap.plots import ExplanationDisplay, ImportanceDisplay, LossCurveDisplay, RegionDisplay


def labels_of(display):
    display.figure_.canvas.draw()
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def widths_of(display):
    return [bar.get_width() for bar in display.ax_.patches]


def test_losses_are_those_of_the_fit_and_a_line_marks_the_least(numbers):
    _, _, model = numbers
    display = LossCurveDisplay.from_estimator(model)
    training, validation, least = display.ax_.lines
    assert_array_equal(training.get_xydata(), np.column_stack([range(1, 5), model.loss_curve_[1:]]))
    assert_array_equal(validation.get_ydata(), model.validation_loss_curve_[1:])
    assert least.get_xdata()[0] == model.validation_loss_curve_.argmin()
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["training", "validation", f"least, after {model.validation_loss_curve_.argmin()}"]
    from_start = display.plot(start=0).ax_.lines[0]
    assert_array_equal(from_start.get_ydata(), model.loss_curve_)


def test_rows_held_out_get_a_curve_of_their_own(table, classes):
    X, y, model = table
    display = LossCurveDisplay.from_estimator(model, X[:50], y[:50])
    steps = model[:-1]
    staged = [((y[:50] - f) ** 2).mean() for f in model[-1].staged_predict(steps.transform(X[:50]))]
    assert_allclose(display.validation[1:], staged)
    assert display.validation[0] == pytest.approx((y[:50] ** 2).mean())
    X, y, model = classes
    one_class = GBMAPClassifier(2, random_state=0).fit(X, y == "low")
    display = LossCurveDisplay.from_estimator(one_class, X, y == "low")
    assert display.validation[-1] == pytest.approx(log_loss(y == "low", one_class.predict_proba(X)))
    assert_allclose(display.validation, one_class.loss_curve_)
    assert LossCurveDisplay.from_estimator(model).ax_.get_xlabel() == "learners per output"


def test_a_fit_without_validation_and_with_one_stage_is_one_point(numbers):
    X, y, _ = numbers
    display = LossCurveDisplay.from_estimator(GBMAPRegressor(1, random_state=0).fit(X, y))
    (line,) = display.ax_.lines
    assert line.get_xdata().tolist() == [1]
    assert display.ax_.get_legend() is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start": 5}, "start must be below 5, the number of losses, got 5"),
        ({"start": -1}, "start must be an integer of at least 0, got -1"),
        ({"y": [1.0]}, "X and y must be given together"),
    ],
)
def test_bad_arguments_of_a_loss_curve_are_named(numbers, given, message):
    with pytest.raises(ValueError, match=message):
        LossCurveDisplay.from_estimator(numbers[2], **given)


@pytest.mark.parametrize("n_features", [1, 3, 4, 9])
def test_bars_and_baseline_add_up_to_the_prediction(numbers, n_features):
    X, _, model = numbers
    display = ExplanationDisplay.from_estimator(model, X, row=-5, n_features=n_features)
    drawn = widths_of(display)
    assert len(drawn) == (4 if n_features >= 4 else n_features + 1)
    assert display.base_value + sum(drawn) == pytest.approx(model.predict(X)[-5])
    assert display.base_value == pytest.approx(model.predict(X).mean())
    assert sorted(np.abs(drawn[:n_features]), reverse=True) == list(np.abs(drawn[:n_features]))
    if n_features < 4:
        assert labels_of(display)[-1] == f"{4 - n_features} others together"
    assert f"this row {model.predict(X)[-5]:.4g}" in display.ax_.get_title(loc="right")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_names_tell_the_values_of_the_users_row(table, make):
    frame, _, model = table
    given = frame if make is pd.DataFrame else pl.from_pandas(frame)
    display = ExplanationDisplay.from_estimator(model, given, row=3)
    expected = {
        rf"price in \$ = {frame['price in $'][3]:.4g}",
        "town = Oslo",
        f"size = {frame['size'][3]:.4g}",
    }
    assert expected < set(labels_of(display))
    assert display.base_value + display.values.sum() == pytest.approx(model.predict(frame)[3])
    assert "town = missing" in labels_of(ExplanationDisplay.from_estimator(model, given, row=10))


def test_columns_in_another_order_keep_their_own_values(table):
    frame, _, model = table
    display = ExplanationDisplay.from_estimator(model, frame[frame.columns[::-1]], row=3)
    assert dict(zip(display.feature_names, display.inputs)) == dict(frame.loc[3])


def test_a_baseline_and_an_output_can_be_chosen(classes):
    X, _, model = classes
    display = ExplanationDisplay.from_estimator(model, X[:1], baseline=X.mean(axis=0), output=r"mid $")
    shares = attributions(model, X[:1], X.mean(axis=0))
    assert_allclose(display.values, shares.values[0, :, 2])
    assert display.base_value == shares.base_values[0, 2]
    assert display.ax_.get_xlabel() == r"added to the log-odds of mid \$"


def test_the_local_model_is_that_of_explain(numbers):
    X, _, model = numbers
    for given in (X, scipy.sparse.csr_array(X)):
        display = ExplanationDisplay.from_estimator(model, given, row=7, kind="coefficients", n_features=2)
        assert_allclose(display.values, explain(model, X[7:8], standardized=True).coefficients[0])
        assert len(widths_of(display)) == 2
        assert display.ax_.get_title() == ""


def test_a_large_background_is_sampled_by_its_seed(numbers):
    X, _, model = numbers
    many = np.vstack([X, X + 0.1, X - 0.1])
    first, again, other = (
        ExplanationDisplay.from_estimator(model, many, random_state=seed).base_value for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"row": 200}, "row must be the position of a row of X, from 0 to 199, got 200"),
        ({"row": "a"}, "row must be the position of a row of X"),
        ({"kind": "shap"}, 'kind must be "attributions" or "coefficients", got \'shap\''),
        ({"n_features": 0}, "n_features must be an integer of at least 1, got 0"),
        ({"output": "low"}, "output must be None"),
        ({"baseline": np.ones(3)}, "baseline must hold rows like those of X"),
    ],
)
def test_bad_arguments_of_an_explanation_are_named(numbers, given, message):
    X, _, model = numbers
    with pytest.raises(ValueError, match=message):
        ExplanationDisplay.from_estimator(model, X, **given)


def test_one_row_alone_needs_a_baseline(numbers):
    X, _, model = numbers
    with pytest.raises(ValueError, match="baseline must be given if X has one row"):
        ExplanationDisplay.from_estimator(model, X[:1])


def test_importances_are_the_models_largest_first(numbers):
    _, _, model = numbers
    display = ImportanceDisplay.from_estimator(model, n_features=2, bar_kwargs={"color": "red"})
    order = np.argsort(-model.feature_importances_)
    assert labels_of(display) == [f"x{k}" for k in order[:2]]
    assert_array_equal(widths_of(display), model.feature_importances_[order[:2]])
    assert display.ax_.patches[0].get_facecolor() == (1, 0, 0, 1)
    with pytest.raises(ValueError, match=r"n_features must be an integer of at least 1, got 2\.5"):
        display.plot(n_features=2.5)


def test_importances_behind_a_pipeline_are_those_of_the_users_columns(table):
    frame, y, model = table
    display = ImportanceDisplay.from_estimator(model)
    of_inputs = dict(zip(model[:-1].get_feature_names_out(), model[-1].feature_importances_))
    by_name = dict(zip(display.feature_names, display.importances))
    assert list(by_name) == list(frame.columns)
    assert by_name["size"] == pytest.approx(of_inputs["standardscaler__size"])
    towns = [value for name, value in of_inputs.items() if "town" in name]
    assert len(towns) == 4
    assert by_name["town"] == pytest.approx(np.sqrt(np.sum(np.square(towns))))
    # What the columns add over the average row, asked of every row: of a category, all its inputs together.
    fitted = FittedModel.of(model)
    added = np.abs(over_the_average(fitted, fitted.read(frame))[0][..., 0]).mean(axis=0) / y.std()
    assert_allclose(display.importances[:4], added[:4], rtol=0.01)
    assert_allclose(display.importances[4], added[4], rtol=0.3)


def test_a_search_is_asked_through_its_best_estimator(numbers):
    X, y, _ = numbers
    search = GridSearchCV(GBMAPRegressor(2, random_state=0), {"beta": [5.0]}, cv=2).fit(X, y)
    importances = ImportanceDisplay.from_estimator(search).importances
    assert_array_equal(importances, search.best_estimator_.feature_importances_)


def test_regions_have_their_words_shares_predictions_and_targets(table):
    frame, y, model = table
    display = RegionDisplay.from_estimator(model, frame, y, max_regions=3)
    found = regions(model, frame, y, max_regions=3)
    assert_array_equal(widths_of(display), found.mean_prediction)
    (marks,) = display.ax_.collections
    assert_array_equal(marks.get_offsets(), np.column_stack([found.mean_target, range(3)]))
    for label, share, words in zip(labels_of(display), found.share, found.descriptions):
        shown = label.replace("\n", " ").replace(r"\$", "$")
        assert shown == f"{100 * share:.0f} %: {words}"
    assert display.ax_.get_xlabel() == "mean prediction"


def test_long_words_break_where_one_condition_ends_and_the_next_begins(numbers):
    X, y, model = numbers
    display = RegionDisplay.from_estimator(model, X, y)
    lines = [line for label in labels_of(display) for line in label.split("\n")[1:]]
    assert lines
    assert all(line.startswith(("and ", "or ")) for line in lines)


@pytest.mark.parametrize("value", ["mean_target", "mean_loss", "bias", "share"])
def test_another_value_of_the_regions_has_no_targets_beside_it(numbers, value):
    X, y, model = numbers
    display = RegionDisplay.from_estimator(model, X, y, value=value)
    assert_array_equal(widths_of(display), getattr(display.regions, value))
    assert not display.ax_.collections


def test_classes_have_regions_of_one_output_in_units_of_its_score(classes):
    X, y, model = classes
    display = RegionDisplay.from_estimator(model, X, y, output="low")
    assert_array_equal(widths_of(display), regions(model, X, y, output="low", max_regions=8).mean_prediction)
    assert display.ax_.get_xlabel() == "mean log-odds of low"
    assert not display.ax_.collections


def test_one_region_is_enough(numbers):
    X, y, _ = numbers
    model = GBMAPRegressor(1, activation="identity", random_state=0).fit(X[:, :1], y)
    display = RegionDisplay.from_estimator(model, X[:, :1], y)
    assert widths_of(display) == [pytest.approx(model.predict(X[:, :1]).mean())]
    display.figure_.canvas.draw()


def test_bad_arguments_of_regions_are_named(numbers):
    X, _, model = numbers
    with pytest.raises(ValueError, match=r"value must be one of .*'bias'.*, got 'size'"):
        RegionDisplay.from_estimator(model, X, value="size")
    with pytest.raises(ValueError, match="value='bias' needs y; pass it to from_estimator"):
        RegionDisplay.from_estimator(model, X, value="bias")
    with pytest.raises(ValueError, match="max_regions must be"):
        RegionDisplay.from_estimator(model, X, max_regions=0)
