"""Draw map.png, held-out digits by PCA and by GBMAP: ``python docs/images/map.py``."""

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from gbmap import GBMAPClassifier

COLORS = {"even": "#0072B2", "odd": "#D55E00"}


def draw():
    """Return the picture: new digits on the plane of their pixels, and on that of their GBMAP coordinates."""
    X, digits = load_digits(return_X_y=True)
    X, X_new, digits, digits_new = train_test_split(X, digits, test_size=0.5, random_state=0, stratify=digits)
    model = GBMAPClassifier(n_components=20, l2_regularization=0.1, random_state=0)
    phi = model.fit_transform(X, _parity(digits))
    phi_new = model.transform(X_new)
    planes = {
        "PCA of 64 pixels": PCA(2).fit(X).transform(X_new),
        "PCA of 20 GBMAP coordinates": PCA(2).fit(phi).transform(phi_new),
    }
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.9), layout="constrained")
    for ax, (title, points) in zip(axes, planes.items()):
        _draw_digits(ax, points, digits_new)
        ax.set_title(title, fontsize=12)
    figure.suptitle(
        "Is a handwritten digit even (blue) or odd (orange)? "
        f"Digits that the model has not seen; accuracy {model.score(X_new, _parity(digits_new)):.3f}",
        fontsize=12,
    )
    return figure


def _parity(digits):
    return np.where(digits % 2 == 0, "even", "odd")


def _draw_digits(ax, points, digits):
    for (x, y), digit, parity in zip(points, digits, _parity(digits)):
        ax.text(x, y, digit, color=COLORS[parity], fontsize=7, ha="center", va="center", alpha=0.85)
    margin = 0.04 * np.ptp(points, axis=0)
    (left, low), (right, high) = points.min(axis=0) - margin, points.max(axis=0) + margin
    ax.set(xlim=(left, right), ylim=(low, high), xticks=[], yticks=[])
    ax.spines[:].set_color("0.8")


def save(figure, path):
    """Write a picture of few colours as a small PNG."""
    memory = BytesIO()
    figure.savefig(memory, dpi=120)
    Image.open(memory).convert("RGB").quantize(32).save(path, optimize=True)


if __name__ == "__main__":
    save(draw(), Path(__file__).with_name("map.png"))
