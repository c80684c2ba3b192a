"""The main job on data that comes with scikit-learn: ``python -m gbmap.demo``.

Is a handwritten digit even or odd? Compares models and embeddings on rows held out, and draws the map.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import GBMAPClassifier

PICTURE = "gbmap-demo.png"
M = 20


def main() -> int:
    """Run the demonstration."""
    X, digits = load_digits(return_X_y=True)
    X, X_new, digits, digits_new = train_test_split(X, digits, test_size=0.5, random_state=0, stratify=digits)
    y, y_new = _parity(digits), _parity(digits_new)

    start = time.perf_counter()
    model = GBMAPClassifier(n_components=M, l2_regularization=0.1, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    phi, phi_new = model.transform(X), model.transform(X_new)
    principal = make_pipeline(StandardScaler(), PCA(M)).fit(X)
    scores = {
        "logistic regression on 64 pixels": _linear_score(X, y, X_new, y_new),
        f"logistic regression on {M} principal components": _linear_score(
            principal.transform(X), y, principal.transform(X_new), y_new
        ),
        f"logistic regression on {M} GBMAP coordinates": _linear_score(phi, y, phi_new, y_new),
        "GBMAP itself": model.score(X_new, y_new),
    }
    lines = [
        f"Even or odd? {len(X)} handwritten digits of {X.shape[1]} pixels to learn from, "
        f"{len(X_new)} held out; fitted in {seconds:.2f} s.",
        "",
        "accuracy on held-out digits",
        *(f"  {name:<47} {score:.3f}" for name, score in scores.items()),
    ]
    _draw(principal.transform(X_new)[:, :2], PCA(2).fit(phi).transform(phi_new), digits_new)
    lines += ["", f"Their map is in {PICTURE}."]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _parity(digits: Any) -> Any:
    return np.where(digits % 2 == 0, "even", "odd")


def _linear_score(X: Any, y: Any, X_new: Any, y_new: Any) -> float:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return float(model.fit(X, y).score(X_new, y_new))


def _draw(pixels: Any, coordinates: Any, digits: Any) -> None:
    """Draw the rows by two principal components of the pixels, and of the embedding."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
    for ax, points, what in (
        (axes[0], pixels, "the pixels"),
        (axes[1], coordinates, f"{M} GBMAP coordinates"),
    ):
        for digit in range(10):
            color = "tab:blue" if digit % 2 == 0 else "tab:orange"
            for x, y in points[digits == digit]:
                ax.text(x, y, str(digit), color=color, fontsize=8, ha="center", va="center", alpha=0.8)
        margin = 0.05 * np.ptp(points, axis=0)
        (left, low), (right, high) = points.min(axis=0) - margin, points.max(axis=0) + margin
        ax.set(xlim=(left, right), ylim=(low, high), xticks=[], yticks=[], title=f"PCA of {what}")
    figure.suptitle("Held-out digits, even ones blue, odd ones orange")
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    sys.exit(main())
