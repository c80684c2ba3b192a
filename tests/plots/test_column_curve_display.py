"""The picture of a column: its curve, the rows about it, and the spread of its values."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gbmap import GBMAPRegressor
from gbmap.inspection import column_curve
from gbmap.plots import ColumnCurveDisplay, EffectDisplay


@pytest.fixture(scope="module")
def bent():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=250), "b": rng.normal(size=250)})
    X["town $"] = np.array(["Oslo", "Turku", "Bergen"])[np.arange(250) % 3]
    X.loc[::6, "b"] = np.nan
    y = np.abs(X["a"]) + X["b"].isna() + 2 * (X["town $"] == "Oslo")
    return X, GBMAPRegressor(5, knots=4, random_state=0).fit(X, y)


def test_the_thick_line_is_the_average_and_thin_ones_are_rows_about_it(bent):
    X, model = bent
    display = ColumnCurveDisplay.from_estimator(model, X, "a", n_rows=7)
    curve, lines = display.curve, display.ax_.lines
    thin, thick = lines[:7], lines[7]
    assert_array_equal(thick.get_xydata(), np.column_stack([curve.values, curve.average]))
    assert thick.get_linewidth() > thin[0].get_linewidth()
    for line in thin:
        assert line.get_ydata().mean() == pytest.approx(curve.average.mean())
    ticks = lines[8]
    assert_array_equal(ticks.get_xdata(), curve.knots)
    assert display.ax_.get_ylabel() == "prediction, less its mean"


def test_rows_that_are_named_are_drawn_as_they_are(bent):
    X, model = bent
    display = ColumnCurveDisplay.from_estimator(model, X, "a", rows=[4], line_kwargs={"c": "black"})
    assert_array_equal(display.ax_.lines[0].get_ydata(), column_curve(model, X, "a", rows=[4]).local[0])
    assert display.ax_.lines[1].get_color() == "black"


def test_the_spread_lies_below_all_curves(bent):
    X, model = bent
    display = ColumnCurveDisplay.from_estimator(model, X, "b")
    ax = display.ax_
    top = max(bar.get_height() for bar in ax.patches)
    lowest = min(line.get_ydata().min() for line in ax.lines[:21])
    assert 0 < top < ax.transAxes.inverted().transform(ax.transData.transform((0, lowest)))[1]
    heights = np.array([bar.get_height() for bar in ax.patches])
    counts, _ = np.histogram(X["b"].dropna(), 40)
    assert_allclose(heights / heights.max(), counts / counts.max())


def test_a_mark_of_missing_values_is_a_line_with_a_name(bent):
    X, model = bent
    names = [text.get_text() for text in display_of(model, X, "b").get_legend().get_texts()]
    assert names == ["on average", "single rows, shifted", "where it is missing"]
    assert "where it is missing" not in [
        text.get_text() for text in display_of(model, X, "a").get_legend().get_texts()
    ]


def display_of(model, X, feature):
    return ColumnCurveDisplay.from_estimator(model, X, feature).ax_


def test_categories_are_bars_with_their_share(bent):
    X, model = bent
    display = ColumnCurveDisplay.from_estimator(model, X, "town $", n_rows=0)
    ax, curve = display.ax_, display.curve
    assert_array_equal([bar.get_width() for bar in ax.patches], curve.average)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels[0] == "Bergen (33 %)"
    assert ax.get_title() == r"town \$"


def test_of_many_categories_those_of_the_most_rows_are_drawn():
    names = [f"c{k}" for k in range(50)]
    share = np.arange(50) / np.arange(50).sum()
    ax = EffectDisplay(np.array(names, dtype=object), np.ones(50), share=share).plot().ax_
    assert len(ax.patches) == 20
    assert [text.get_text().split()[0] for text in ax.get_yticklabels()] == names[30:]


def test_a_column_of_one_value_is_a_point(bent):
    X, model = bent
    display = ColumnCurveDisplay.from_estimator(model, X.assign(a=1.5), "a")
    display.figure_.canvas.draw()
    assert len(display.curve.values) == 1


def test_a_curve_draws_itself(bent):
    X, model = bent
    _, ax = plt.subplots()
    drawn = column_curve(model, X, "a").plot(ax)
    assert drawn.ax_ is ax
    assert ax.get_xlabel() == "a"


def test_a_bad_number_of_rows_is_named(bent):
    X, model = bent
    with pytest.raises(ValueError, match="n_rows must be an integer of at least 0, got -1"):
        ColumnCurveDisplay.from_estimator(model, X, "a", n_rows=-1)
