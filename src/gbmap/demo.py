"""The whole story on data that comes with scikit-learn: ``gbmap demo``, or ``python -m gbmap.demo``.

Is a handwritten digit even or odd? Fits, compares on rows held out, draws the map, explains a row, meets
digits that were shifted by a pixel, and writes a report.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import DriftDetector, GBMAPClassifier
from gbmap.inspection import attributions

PICTURE, PAGE = Path("gbmap-demo.png"), Path("gbmap-report.html")
M = 20
N_REASONS = 3


def main() -> int:
    """Run the demonstration."""
    X, digits = _digits()
    X, X_new, digits, digits_new = train_test_split(X, digits, test_size=0.5, random_state=0, stratify=digits)
    y, y_new = _parity(digits), _parity(digits_new)

    start = time.perf_counter()
    model = GBMAPClassifier(n_components=M, l2_regularization=0.1, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    _say(
        f"Even or odd? {len(X)} handwritten digits of {X.shape[1]} pixels to learn from, "
        f"{len(X_new)} held out; fitted in {seconds:.2f} s."
    )
    _tell_scores(model, X, y, X_new, y_new)
    _draw(model, X, X_new, digits_new)
    _say("", f"Their map is in {PICTURE}.")
    _explain_one(model, X, X_new, y_new)
    shifted = _shift(X_new)
    detector = DriftDetector(model, random_state=0).fit(X, y, X_cal=X_new[::2], y_cal=y_new[::2])
    _find_drift(model, detector, X_new, shifted, y_new)
    _write_report(model, detector, X, y, X_new, y_new, shifted)
    return 0


def _digits() -> tuple[Any, Any]:
    """Return the images as a frame of named pixels, and the digits."""
    import pandas as pd

    images, digits = load_digits(return_X_y=True)
    names = [f"row {i + 1}, column {j + 1}" for i in range(8) for j in range(8)]
    return pd.DataFrame(images, columns=names), digits


def _parity(digits: Any) -> Any:
    return np.where(digits % 2 == 0, "even", "odd")


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")


def _tell_scores(model: GBMAPClassifier, X: Any, y: Any, X_new: Any, y_new: Any) -> None:
    principal = make_pipeline(StandardScaler(), PCA(M)).fit(X)

    def linear_score(embed: Any) -> float:
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        return float(linear.fit(embed(X), y).score(embed(X_new), y_new))

    scores = {
        "logistic regression on 64 pixels": linear_score(np.asarray),
        f"logistic regression on {M} principal components": linear_score(principal.transform),
        f"logistic regression on {M} GBMAP coordinates": linear_score(model.transform),
        "GBMAP itself": model.score(X_new, y_new),
    }
    _say("", "accuracy on held-out digits", *(f"  {name:<47} {score:.3f}" for name, score in scores.items()))


def _explain_one(model: GBMAPClassifier, X: Any, X_new: Any, y_new: Any) -> None:
    """Say why the surest of the held-out digits is what it is."""
    row = int(np.argmax(model.decision_function(X_new)))
    share = attributions(model, X_new.iloc[[row]], X)
    values, probability = share.values[0], model.predict_proba(X_new.iloc[[row]])[0, 1]
    reasons = np.argsort(-np.abs(values))[:N_REASONS]
    rest = values.sum() - values[reasons].sum()
    _say(
        "",
        f"Why is digit {row} {y_new[row]}, with a probability of {probability:.3f}? Its log-odds in parts:",
        f"  {share.base_values[0]:+6.2f}  the average digit",
        *(
            f"  {values[k]:+6.2f}  {X.columns[k]}: ink {X_new.iloc[row, k]:.0f} of 16, "
            f"{X.iloc[:, k].mean():.1f} on average"
            for k in reasons
        ),
        f"  {rest:+6.2f}  the other {len(values) - N_REASONS} pixels",
    )


def _shift(X: Any) -> Any:
    """Return the images moved one pixel to the right."""
    images = np.roll(X.to_numpy().reshape(-1, 8, 8), 1, axis=2)
    images[:, :, 0] = 0
    return type(X)(images.reshape(len(X), -1), columns=X.columns)


def _find_drift(
    model: GBMAPClassifier, detector: DriftDetector, X_new: Any, shifted: Any, y_new: Any
) -> None:
    """Show the alarm on digits as before and on shifted ones, beside what only labels could tell."""
    lines = []
    for name, rows, labels in (
        ("as before", X_new[1::2], y_new[1::2]),
        ("shifted by one pixel", shifted, y_new),
    ):
        alarmed = float((detector.predict(rows) == -1).mean())
        degree = detector.verdict(rows).degree
        accuracy = model.score(rows, labels)
        lines.append(
            f"  {name:<21} {alarmed:>4.0%} of the rows alarmed, verdict: {degree:<4}"
            f"   (accuracy, had we labels: {accuracy:.2f})"
        )
    _say("", "Can the predictions be trusted? The alarm sees no labels.", *lines)


def _write_report(
    model: GBMAPClassifier, detector: DriftDetector, X: Any, y: Any, X_new: Any, y_new: Any, shifted: Any
) -> None:
    from gbmap.report import make_report

    report = make_report(
        model, X, y, X_test=X_new, y_test=y_new, X_new=shifted, y_new=y_new, detector=detector,
        title="Even or odd? Handwritten digits",
    )  # fmt: skip
    report.to_html(PAGE)
    _say("", f"All of it, to click through, is in {PAGE.resolve()}.")


def _draw(model: GBMAPClassifier, X: Any, X_new: Any, digits_new: Any) -> None:
    """Draw the rows by two principal components of the pixels, and of the embedding."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
    for ax, embed, what in (
        (axes[0], StandardScaler().fit(X).transform, "the pixels"),
        (axes[1], model.transform, f"{M} GBMAP coordinates"),
    ):
        points = PCA(2).fit(embed(X)).transform(embed(X_new))
        for digit in range(10):
            color = "tab:blue" if digit % 2 == 0 else "tab:orange"
            for x, y in points[digits_new == digit]:
                ax.text(x, y, str(digit), color=color, fontsize=8, ha="center", va="center", alpha=0.8)
        margin = 0.05 * np.ptp(points, axis=0)
        (left, low), (right, high) = points.min(axis=0) - margin, points.max(axis=0) + margin
        ax.set(xlim=(left, right), ylim=(low, high), xticks=[], yticks=[], title=f"PCA of {what}")
    figure.suptitle("Held-out digits, even ones blue, odd ones orange")
    figure.savefig(PICTURE, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
