"""Pictures look as they did: ``python tests/plots/test_images.py`` draws the ones to compare with anew.

The numbers are made here, not fitted, and texts are left out, so that pictures are the same on all machines.
"""

from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

from gbmap import plots

BASELINE = Path(__file__).parent / "baseline"
TOLERANCE = 2.0  # of 255, root mean square; versions of matplotlib differ by less, a wrong colour by more


def embedding(color):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, 2))
    values = {
        "numbers": points.sum(axis=1),
        "classes": np.digitize(points[:, 0], [-1, -0.5, 0, 0.5, 1]).astype(object),
        "missing": np.where(points[:, 1] > 0.5, np.nan, points[:, 0]),
        None: None,
    }[color]
    return plots.EmbeddingDisplay(points, values, ("x", "y"), "colour", n_rows=1000)


def drift():
    rng = np.random.default_rng(0)
    indicator = np.append(rng.lognormal(size=100), 3 * rng.lognormal(size=100))
    loss = indicator**2 * rng.lognormal(size=200)
    return plots.DriftDisplay(indicator, loss, np.arange(200) >= 100, 12.0, alarm_threshold=5.0)


def path():
    t = np.linspace(0, 1, 101)
    width = 0.3 * np.abs(np.sin(4 * np.pi * t))
    knots = np.linspace(0, 1, 5)
    return plots.PathDisplay(t, t**2, t**2 - width, t**2 + width, knots, knots**2, 1.0, 0.0, 2.0)


def bars(kind):
    values = np.array([3.0, -2.0, 1.0, 0.5, -0.25])
    if kind == "importance":
        return plots.ImportanceDisplay(np.abs(values), list("abcde"))
    return plots.ExplanationDisplay(values, list("abcde"), range(5), base_value=2.0)


def region():
    found = SimpleNamespace(
        share=np.array([0.6, 0.3, 0.1]), descriptions=["a > 1 and b < 2", "c", "d"],
        mean_prediction=np.array([2.0, -1.0, 0.5]), mean_target=np.array([1.5, -1.2, 0.6]),
    )  # fmt: skip
    return plots.RegionDisplay(found)


PICTURES = {
    "embedding-numbers": lambda: embedding("numbers").plot(),
    "embedding-classes": lambda: embedding("classes").plot(),
    "embedding-missing": lambda: embedding("missing").plot(),
    "embedding-plain": lambda: embedding(None).plot(),
    "embedding-strip": lambda: plots.EmbeddingDisplay(np.linspace(0, 1, 80)[:, None]).plot(),
    "losses": lambda: plots.LossCurveDisplay(10 / np.arange(1, 9), [9, 6, 5, 4, 3.5, 4, 4.5, 5]).plot(),
    "drift": lambda: drift().plot(),
    "drift-linear": lambda: drift().plot(scale="linear"),
    "drift-roc": lambda: drift().plot_roc(),
    "explanation": lambda: bars("explanation").plot(n_features=3),
    "importance": lambda: bars("importance").plot(n_features=4),
    "path": lambda: path().plot(),
    "region": lambda: region().plot(),
}


def save(display, file):
    """Write a picture without its texts, small."""
    for text in display.figure_.findobj(Text):
        text.set_visible(False)
    display.figure_.savefig(file, dpi=50, metadata={"Software": None})
    plt.close(display.figure_)


def differs(display, name, folder):
    """Return how a picture differs from the one to compare with, or None."""
    file = folder / f"{name}.png"
    save(display, file)
    expected = folder / f"{name}-expected.png"
    expected.write_bytes((BASELINE / f"{name}.png").read_bytes())
    return compare_images(str(expected), str(file), TOLERANCE)


@pytest.fixture(autouse=True)
def default_style():
    with mpl.style.context("default"):
        yield


@pytest.mark.skipif(mpl.__version_info__ < (3, 11), reason="Matplotlib drew legends and edges otherwise")
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_looks_as_it_did(name, tmp_path):
    assert differs(PICTURES[name](), name, tmp_path) is None


def recolour(display):
    artist = [*display.ax_.collections, *display.ax_.patches, *display.ax_.lines][0]
    if getattr(artist, "get_array", lambda: None)() is None:
        artist.set_color("black")
    else:
        artist.set_cmap("gray")


def shift(display):
    for drawn in display.ax_.collections[:1]:
        drawn.set_offsets(np.asarray(drawn.get_offsets()) * 0.9)
    for line in display.ax_.lines[:1]:
        line.set_ydata(np.asarray(line.get_ydata()) * 0.9)
    for bar in display.ax_.patches[:1]:
        bar.set_width(0.9 * bar.get_width())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", [recolour, shift])
@pytest.mark.parametrize("name", PICTURES)
def test_another_colour_or_place_of_one_artist_is_noticed(name, change, tmp_path):
    display = PICTURES[name]()
    change(display)
    assert differs(display, name, tmp_path) is not None


def test_every_picture_to_compare_with_is_small_and_used():
    files = {file.stem: file.stat().st_size for file in BASELINE.iterdir()}
    assert set(files) == set(PICTURES)
    assert max(files.values()) < 40_000


if __name__ == "__main__":
    mpl.use("agg")
    BASELINE.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        save(draw(), BASELINE / f"{name}.png")
