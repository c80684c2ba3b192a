"""What the tests of pictures share: a backend without windows, closed figures, and fitted models."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor

mpl.use("agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def _check_that_it_fits(display):
    """Fail if anything of a picture is cut off, or its names leave little room for what it shows."""
    display.figure_.draw_without_rendering()
    canvas, inner = display.figure_.bbox, display.ax_.get_window_extent()
    outer = display.figure_.get_tightbbox().transformed(display.figure_.dpi_scale_trans)
    assert outer.x0 >= -1
    assert outer.y0 >= -1
    assert outer.x1 <= canvas.width + 1
    assert outer.y1 <= canvas.height + 1
    assert inner.width > 0.3 * canvas.width
    assert inner.height > 0.3 * canvas.height


@pytest.fixture(scope="session")
def check_that_it_fits():
    return _check_that_it_fits


@pytest.fixture(scope="session")
def numbers():
    """A regression of numbers: X, y and a fitted model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) + 3
    y = np.abs(X[:, 0] - 3) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=200) + 20
    return X, y, GBMAPRegressor(4, random_state=0).fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])


@pytest.fixture(scope="session")
def table(numbers):
    """The same as a frame with text and missing values, behind a pipeline."""
    X, y, _ = numbers
    frame = pd.DataFrame(X, columns=["size", "price in $", "depth", "noise"])
    frame["town"] = pd.Series(np.array(["Oslo", "Turku", "Bergen"])[np.arange(len(X)) % 3], dtype=object)
    frame.loc[::10, "town"] = None
    y = y + 2.0 * (frame["town"] == "Oslo")
    encode = make_column_transformer(
        (StandardScaler(), ["price in $", "size", "depth", "noise"]), (OneHotEncoder(), ["town"])
    )
    return frame, y, make_pipeline(encode, GBMAPRegressor(4, random_state=0)).fit(frame, y)


@pytest.fixture(scope="session")
def classes(numbers):
    """Three classes with names: X, y and a fitted model."""
    X, _, _ = numbers
    y = np.array(["low", "mid $", "_high"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [3.4, 4.4])]
    return X, y, GBMAPClassifier(3, random_state=0).fit(X, y)


@pytest.fixture(scope="session")
def targets(numbers):
    """Two targets: X, y and a fitted model."""
    X, y, _ = numbers
    y = np.column_stack([y, 100 * X[:, 2] ** 2])
    return X, y, GBMAPRegressor(3, random_state=0).fit(X, y)
