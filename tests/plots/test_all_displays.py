"""What all pictures of models have in common: Axes, names that fit, and plain errors."""

import sys
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor, plots
from gbmap.drift import DriftMonitor
from gbmap.plots import (
    ColumnCurveDisplay,
    DriftDisplay,
    EmbeddingDisplay,
    ExplanationDisplay,
    ImportanceDisplay,
    LossCurveDisplay,
    MonitorDisplay,
    PathDisplay,
    RegionDisplay,
)

LONG = "the share of households with " + "very " * 34 + "long"
NAMES = ["price in $ per $100", LONG, r"a_b^c \alpha $\broken{", "two\nlines and <b>tags</b>", "_hidden"]
FROM_MODEL = {
    "embedding": lambda model, X, y, **how: EmbeddingDisplay.from_estimator(model, X, y, **how),
    "embedding by column": lambda model, X, y, **how: EmbeddingDisplay.from_estimator(
        model, X, y, color=NAMES[1], **how
    ),
    "loss": lambda model, X, y, **how: LossCurveDisplay.from_estimator(model, X, y, **how),
    "explanation": lambda model, X, y, **how: ExplanationDisplay.from_estimator(
        model, X, output=outputs(model), **how
    ),
    "importance": lambda model, X, y, **how: ImportanceDisplay.from_estimator(model, **how),
    "path": lambda model, X, y, **how: PathDisplay.from_estimator(model, X, output=outputs(model), **how),
    "region": lambda model, X, y, **how: RegionDisplay.from_estimator(
        model, X, y, output=outputs(model), **how
    ),
    "columncurve": lambda model, X, y, **how: ColumnCurveDisplay.from_estimator(
        model, X, NAMES[1], output=outputs(model), **how
    ),
    "drift": lambda model, X, y, **how: DriftDisplay.from_estimator(
        DriftDetector(model).fit(X, y), X, y, X, y, **how
    ),
    "monitor": lambda model, X, y, **how: MonitorDisplay.from_estimator(watched(model, X, y), **how),
}
EACH = pytest.mark.parametrize("kind", FROM_MODEL)


def outputs(model):
    return NAMES[1] if hasattr(model, "classes_") else None


def watched(model, X, y):
    """Return a monitor that has raised its alarm."""
    monitor = DriftMonitor(DriftDetector(model).fit(X, y, X_cal=X + 0.01, y_cal=y), random_state=0)
    for k in range(6):
        monitor.update(X * (1 + k), y, time=f"2026-0{1 + k}-01")
    return monitor


@pytest.fixture(scope="module")
def hostile():
    """Columns and classes with names that try to break a picture, and models with their targets."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 5)), columns=NAMES)
    y = 3 * X[LONG] + X["_hidden"] ** 2
    names = np.array(NAMES, dtype=object)[pd.cut(y, [-np.inf, -2, 2, np.inf], labels=False)]
    regressor = GBMAPRegressor(3, random_state=0).fit(X, y)
    classifier = GBMAPClassifier(3, random_state=0).fit(X, names)
    return X, {"regressor": (regressor, y), "classifier": (classifier, names)}


@pytest.mark.sampled(2)
@EACH
@pytest.mark.parametrize("task", ["regressor", "classifier"])
def test_hostile_names_are_drawn_and_nothing_is_cut(hostile, kind, task, check_that_it_fits):
    X, models = hostile
    model, y = models[task]
    check_that_it_fits(FROM_MODEL[kind](model, X, y))


@EACH
def test_a_display_draws_on_the_axes_given_or_makes_its_own(hostile, kind):
    X, models = hostile
    display = FROM_MODEL[kind](*asked(models["regressor"], X))
    assert display.figure_ is display.ax_.figure
    figure, axes = plt.subplots(1, 2)
    before = len(plt.get_fignums())
    assert display.plot(ax=axes[1]) is display
    assert display.ax_ is axes[1]
    assert FROM_MODEL[kind](*asked(models["regressor"], X), ax=axes[1]).figure_ is figure
    assert len(plt.get_fignums()) == before
    assert not axes[0].has_data()


def asked(model_and_target, X):
    model, y = model_and_target
    return model, X, y


@pytest.mark.parametrize("kind", ["embedding", "drift", "region"])
def test_a_legend_stays_inside_axes_whose_figure_makes_no_room(hostile, kind):
    X, models = hostile
    model, y = models["classifier" if kind == "embedding" else "regressor"]
    for layout, outside in ((None, False), ("constrained", True)):
        _, ax = plt.subplots(figsize=(9, 8), layout=layout)
        drawn = FROM_MODEL[kind](model, X, y, ax=ax)
        drawn.figure_.draw_without_rendering()
        box, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
        inside = box.x0 <= legend.x0 and legend.x1 <= box.x1 and box.y0 <= legend.y0 and legend.y1 <= box.y1
        assert inside != outside


@EACH
def test_nothing_drawn_is_infinite_or_missing(hostile, kind):
    X, models = hostile
    ax = FROM_MODEL[kind](*asked(models["regressor"], X)).ax_
    for line in ax.lines:
        assert np.isfinite(np.asarray(line.get_xydata(), dtype=float)).all()
    for drawn in ax.collections:
        assert np.isfinite(np.asarray(drawn.get_offsets(), dtype=float)).all()
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()


@EACH
def test_without_matplotlib_the_extra_is_named(hostile, kind, monkeypatch):
    X, models = hostile
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"matplotlib is needed.*pip install \"gbmap\[plot\]\""):
        FROM_MODEL[kind](*asked(models["regressor"], X))


@pytest.mark.parametrize("kind", [kind for kind in FROM_MODEL if kind not in ("drift", "monitor")])
def test_models_that_cannot_be_asked_are_named(hostile, kind):
    X, models = hostile
    _, y = models["regressor"]
    with pytest.raises(NotFittedError):
        FROM_MODEL[kind](GBMAPRegressor(), X, y)
    with pytest.raises(TypeError, match="model must be a fitted GBMAP, or a pipeline"):
        FROM_MODEL[kind]("model", X, y)


def test_every_display_of_models_is_tested_here():
    asked = {name for name in plots.__all__ if hasattr(getattr(plots, name), "from_estimator")}
    made = {name.split()[0] for name in FROM_MODEL} - {"loss"} | {"losscurve"}
    assert {name.removesuffix("Display").lower() for name in asked} == made


def texts_of(ax):
    """Return all texts that are drawn of Axes, and where."""
    legend = ax.get_legend()
    texts = [ax.title, ax._left_title, ax._right_title, ax.xaxis.label, ax.yaxis.label]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        texts += [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]
    texts += [] if legend is None else [*legend.get_texts(), legend.get_title()]
    return [
        (each.get_text(), each.get_window_extent())
        for each in texts
        if each.get_visible() and each.get_text()
    ]


def overlap(first, second):
    """Return how much of the smaller of two boxes the other covers."""
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    area = max(width, 0) * max(height, 0)
    return area / min(first.width * first.height, second.width * second.height)


@pytest.mark.sampled(6)
@EACH
@pytest.mark.parametrize(
    ("task", "size"), [("regressor", (6.4, 4.8)), ("classifier", (6.4, 4.8)), ("regressor", (12.0, 6.0))]
)
def test_texts_of_a_grid_of_four_do_not_overlap(hostile, kind, task, size):
    X, models = hostile
    model, y = models[task]
    figure, axes = plt.subplots(2, 2, figsize=size, layout="constrained")
    display = FROM_MODEL[kind](model, X, y, ax=axes[0, 0])
    for ax in axes.flat[1:]:
        display.plot(ax)
    figure.draw_without_rendering()
    texts = [text for ax in figure.axes for text in texts_of(ax)]
    for (name, box), (other, other_box) in combinations(texts, 2):
        assert overlap(box, other_box) < 0.1, (name, other)
    for ax in axes.flat:
        assert ax.get_window_extent().width > 0.12 * figure.bbox.width
        assert ax.get_window_extent().height > 0.12 * figure.bbox.height
