"""Pictures show the numbers given, in order, with names that fit."""

import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import LogNorm, to_rgb
from numpy.testing import assert_allclose, assert_array_equal

from gbmap._drawing.axes import BLUE, CYCLE, GREY, VERMILLION, shorten
from gbmap._drawing.points import scatter
from gbmap.plots import BarDisplay, CurveDisplay, HeatmapDisplay

LONG = "the share of households with " + "very " * 34 + "long"  # 200 characters
ODD = ["price in $ per $100", LONG, r"a_b^c \alpha", "two\nlines", "", 7]
DISPLAYS = {
    "bars": lambda: BarDisplay([3.0, -2.0, 1.0, 0.5, 0.2, 0.1], ODD, "what each adds"),
    "curves": lambda: CurveDisplay([0, 1, 2], {"$a$": [3, 2, 1], LONG: [1, 2, 3]}, "x", "y", {"at $2": 2.0}),
    "heatmap": lambda: HeatmapDisplay(np.arange(24).reshape(4, 6) - 12.0, ODD[:4], ODD, "difference"),
}
EACH = pytest.mark.parametrize("kind", DISPLAYS)


def texts(ax, axis):
    ax.figure.canvas.draw()
    return [label.get_text() for label in getattr(ax, f"get_{axis}ticklabels")()]


@EACH
def test_a_display_draws_on_the_axes_given_or_makes_its_own(kind):
    display = DISPLAYS[kind]()
    assert display.ax_ is None
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    _, axes = plt.subplots(1, 2)
    n_figures = len(plt.get_fignums())
    assert DISPLAYS[kind]().plot(ax=axes[1]).ax_ is axes[1]
    assert len(plt.get_fignums()) == n_figures
    assert not axes[0].has_data()


@EACH
def test_nothing_is_cut_off_and_names_leave_room_for_the_picture(kind, check_that_it_fits):
    check_that_it_fits(DISPLAYS[kind]().plot())


def test_bars_have_the_lengths_and_colours_of_their_values_from_the_top():
    values = [0.5, -2.0, 0.0]
    ax = BarDisplay(values, ["a", "b", "c"], "label").plot().ax_
    bars = ax.patches
    assert_array_equal([bar.get_width() for bar in bars], values)
    height = [ax.transData.transform((0, bar.get_y() + bar.get_height() / 2))[1] for bar in bars]
    assert height[0] > height[1] > height[2]
    assert texts(ax, "y") == ["a", "b", "c"]
    assert ax.get_xlabel() == "label"
    colors = [to_rgb(bar.get_facecolor()) for bar in bars]
    assert_allclose(colors[:2], [to_rgb(BLUE), to_rgb(VERMILLION)])


@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_the_largest_bars_come_in_order_of_size_and_then_of_column(k):
    display = BarDisplay.largest([1.0, -3.0, 2.0, 3.0, 0.0], ["a", "b", "c", "d", "e"], k)
    assert display.names == ["b", "d", "c", "a", "e"][:k]
    assert_array_equal(display.values, [-3.0, 3.0, 2.0, 1.0, 0.0][:k])
    assert BarDisplay.largest(np.ones(50), range(50), 9 * k).names == list(range(50))[: 9 * k]


@pytest.mark.parametrize("n", [1, 40])
def test_few_and_many_bars_keep_apart(n):
    display = BarDisplay(np.linspace(1, 2, n), [f"feature {k}" for k in range(n)]).plot()
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    assert len(display.ax_.patches) == n


def test_names_on_several_lines_are_whole_where_one_line_cuts_them_and_do_not_overlap():
    names = ["a sentence of seven words that goes on for some more", LONG, "short", "$a$ " * 20]
    display = BarDisplay([1.0, 2.0, 3.0, 4.0], names, lines=3).plot()
    display.figure_.canvas.draw()
    labels = display.ax_.get_yticklabels()
    assert labels[0].get_text().replace("\n", " ") == names[0]
    assert "…" in BarDisplay([1.0], names[:1]).plot().ax_.get_yticklabels()[0].get_text()
    assert labels[1].get_text().endswith("…")
    assert max(label.get_text().count("\n") for label in labels) == 2
    boxes = [label.get_window_extent() for label in labels]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


def test_styles_are_passed_on_by_their_short_names_too():
    bars = BarDisplay([1.0, -1.0], ["a", "b"]).plot(bar_kwargs={"ec": "black", "height": 0.4}).ax_.patches
    assert [bar.get_height() for bar in bars] == [0.4, 0.4]
    assert to_rgb(bars[0].get_edgecolor()) == (0, 0, 0)
    assert_allclose(to_rgb(bars[1].get_facecolor()), to_rgb(VERMILLION))


def test_curves_are_the_numbers_given_however_many_there_are():
    x = np.arange(5)
    curves = {f"curve {k}": x * k for k in range(9)}
    ax = CurveDisplay(x, curves, "learners", "loss", {"level": 3.0, "other": 4.0}).plot().ax_
    assert len(ax.lines) == 11
    for line, (name, y) in zip(ax.lines, curves.items()):
        assert line.get_label() == name
        assert_array_equal(line.get_ydata(), y)
    assert_array_equal([line.get_ydata()[0] for line in ax.lines[9:]], [3.0, 4.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*curves, "level", "other"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("learners", "loss")


def test_one_curve_needs_no_legend_and_two_differ_in_colour():
    shown = CurveDisplay([0, 1], {"_hidden": [2, 1], "b": [1, 2]}).plot().ax_.get_legend().get_texts()
    assert [text.get_text() for text in shown] == ["_hidden", "b"]
    assert CurveDisplay([0, 1], {"loss": [2, 1]}).plot().ax_.get_legend() is None
    lines = CurveDisplay([0, 1], {"a": [2, 1], "b": [1, 2]}, lines={"c": 1.5}).plot().ax_.lines
    assert [line.get_color() for line in lines] == list(CYCLE[:3])


@pytest.mark.parametrize(
    ("values", "limit"),
    [([[1.0, -4.0], [2.0, 0.0]], 4.0), ([[0.0, 0.0]], 1.0), ([[np.nan, -2.0]], 2.0), ([[5.0]], 5.0)],
)
def test_a_heatmap_has_its_names_and_zero_in_the_middle_of_its_colours(values, limit):
    n_rows, n_columns = np.shape(values)
    rows, columns = [f"row {k}" for k in range(n_rows)], [f"column {k}" for k in range(n_columns)]
    ax = HeatmapDisplay(values, rows, columns, "difference").plot().ax_
    (image,) = ax.images
    assert_array_equal(image.get_array().filled(np.nan), values)
    assert image.get_clim() == (-limit, limit)
    assert (texts(ax, "y"), texts(ax, "x")) == (rows, columns)
    assert image.colorbar.ax.get_ylabel() == "difference"
    red, _, blue, _ = image.to_rgba(np.array([limit]))[0]
    assert blue > red


def test_names_are_shown_as_they_are_or_shortened():
    ax = BarDisplay(range(6), ODD).plot().ax_
    ax.figure.canvas.draw()
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert shown == [r"price in \$ per \$100", LONG[:39] + "…", r"a_b^c \alpha", "two lines", "", "7"]
    assert shorten("$" * 40) == r"\$" * 40
    assert shorten("$" * 41, 5) == r"\$" * 4 + "…"
    assert shorten("x" * 40) == "x" * 40


@pytest.mark.parametrize("name", ["$", "$$", "$x", r"\$", r"$\alpha$", r"$\broken{$", "50 % of $1 and $2"])
def test_dollars_are_not_read_as_mathematics(name):
    ax = BarDisplay([1.0], [name]).plot().ax_
    ax.figure.canvas.draw()  # would fail on broken mathematics
    (label,) = ax.get_yticklabels()
    text, is_math = label._preprocess_math(label.get_text())
    assert (text, is_math) == (name, False)


@EACH
def test_without_matplotlib_the_extra_is_named(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"matplotlib is needed.*pip install \"gbmap\[plot\]\""):
        DISPLAYS[kind]().plot()


def drawn_points(values, given=None):
    _, ax = plt.subplots()
    points = np.random.default_rng(0).normal(size=(len(values), 2))
    scatter(ax, points, np.asarray(values), "what", given)
    return ax, points


def test_each_class_has_its_points_a_name_and_a_look_of_its_own():
    values = np.random.default_rng(1).permutation(np.repeat(np.arange(11), 5)).astype(object)
    ax, points = drawn_points(values)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [str(k) for k in range(11)]
    for name, drawn in enumerate(ax.collections):
        assert_array_equal(drawn.get_offsets(), points[values == name])
    looks = {(tuple(d.get_facecolor()[0]), d.get_paths()[0].vertices.tobytes()) for d in ax.collections}
    assert len(looks) == 11


def test_the_rarest_of_many_classes_share_one_grey_entry():
    values = np.array([f"class {k:02}" for k in range(30) for _ in range(k + 1)], dtype=object)
    ax, _ = drawn_points(values)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [*(f"class {k}" for k in range(19, 30)), "others"]
    assert len(ax.collections[-1].get_offsets()) == sum(range(1, 20))
    assert_allclose(to_rgb(ax.collections[-1].get_facecolor()[0]), to_rgb(GREY))


@pytest.mark.parametrize("missing", [None, np.nan, np.datetime64("NaT", "s")])
def test_missing_classes_come_last_and_underscores_and_dollars_stay(missing):
    ax, _ = drawn_points(np.array(["b", missing, "_a", "$c$", True, "two\nlines"], dtype=object))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["True", r"\$c\$", "_a", "b", "two lines", "missing"]
    ax.figure.canvas.draw()


def test_numbers_get_a_colour_bar_whose_ends_gather_outliers():
    values = np.append(np.linspace(0, 1, 200), [1000.0, -1000.0])
    ax, _ = drawn_points(values)
    (drawn,) = ax.collections
    assert_array_equal(drawn.get_array(), values)
    low, high = drawn.get_clim()
    assert 0 < low < 0.05
    assert 0.95 < high < 1
    assert drawn.colorbar.extend == "both"
    assert drawn.colorbar.ax.get_ylabel() == "what"


def test_missing_numbers_are_grey_and_said():
    values = np.array([1.0, np.nan, 3.0, np.inf])
    ax, points = drawn_points(values)
    grey, coloured = ax.collections
    assert_array_equal(grey.get_offsets(), points[[1, 3]])
    assert_array_equal(coloured.get_offsets(), points[[0, 2]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["missing"]
    assert len(drawn_points([np.nan, np.nan])[0].collections) == 1


@pytest.mark.parametrize("values", [np.arange(5.0), np.array(list("ababa"), dtype=object)])
@pytest.mark.parametrize("name", ["c", "color"])
def test_a_colour_of_the_users_replaces_all_others(values, name):
    ax, _ = drawn_points(values, {name: "red", "s": 3, "lw": 1})
    assert all((drawn.get_facecolor() == [[1, 0, 0, 0.8]]).all() for drawn in ax.collections)
    assert all(drawn.get_sizes() == [3] and drawn.get_linewidth() == [1] for drawn in ax.collections)


def test_a_norm_of_the_users_replaces_the_limits():
    ax, _ = drawn_points(np.arange(1.0, 100.0), {"norm": LogNorm(1, 10), "cmap": "cividis"})
    assert ax.collections[0].get_clim() == (1, 10)
    assert ax.collections[0].colorbar.extend == "max"
