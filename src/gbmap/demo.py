"""The whole story on a table that is drawn: ``gbmap demo``, or ``python -m gbmap.demo``.

How much electricity does a town need in an hour? Fits, compares on hours held out, draws the map, explains an
hour, meets temperatures in other units, and writes a report.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import DriftDetector, GBMAPRegressor
from gbmap.datasets import make_demand
from gbmap.inspection import attributions

PICTURE, PAGE = Path("gbmap-demo.png"), Path("gbmap-report.html")
N_REASONS = 3
# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
RED, GREY = "#D55E00", "0.82"


def main() -> int:
    """Run the demonstration."""
    X, y = make_demand(4000, random_state=0)
    X_test, y_test = make_demand(1000, random_state=1)
    start = time.perf_counter()
    model = GBMAPRegressor(random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    _say(
        f"How much electricity does a town need in an hour? {len(X):,} hours to learn from, {len(X_test):,}",
        f"held out; fitted in {seconds:.2f} s. (All is made up, by gbmap.datasets.make_demand.)",
    )
    _tell_scores(model, X, y, X_test, y_test)
    _explain_one(model, X, X_test, y_test)
    detector = DriftDetector(model, random_state=0).fit(X, y, X_cal=X_test, y_cal=y_test)
    later, demand_later = make_demand(1000, random_state=2)
    in_other_units = partly_in_fahrenheit(later)
    _find_drift(model, detector, later, in_other_units, demand_later)
    draw(model, X, in_other_units, demand_later, detector).savefig(PICTURE, dpi=130)
    _say("", f"The map of the hours, and the alarm, are in {PICTURE}.")
    _write_report((model, seconds), detector, (X, y), (X_test, y_test), in_other_units)
    return 0


def linear_model() -> Any:
    """Return what people would fit first: a ridge regression, its penalty by cross-validation."""
    return make_pipeline(_numbers(), RidgeCV(np.logspace(-3, 3, 13)))


def _numbers() -> Any:
    return make_column_transformer((OneHotEncoder(), ["day"]), remainder=StandardScaler())


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")


def _typical_error(true: Any, predicted: Any) -> float:
    return float(np.sqrt(np.mean((np.asarray(true) - predicted) ** 2)))


def _tell_scores(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    predictions = {
        "the mean, always": np.full(len(y_test), y.mean()),
        "a linear model": linear_model().fit(X, y).predict(X_test),
        "GBMAP": model.predict(X_test),
    }
    _say(
        "",
        "typical error on held-out hours (the noise in the demand is 1.2 MW)",
        *(
            f"  {name:<17} {_typical_error(y_test, predicted):5.2f} MW"
            for name, predicted in predictions.items()
        ),
    )


def _explain_one(model: Any, X: Any, X_test: Any, y_test: Any) -> None:
    """Say why the highest prediction is what it is."""
    row = int(np.argmax(model.predict(X_test)))
    share = attributions(model, X_test.iloc[[row]], X)
    values, hour = share.values[0], X_test.iloc[row]
    reasons = np.argsort(-np.abs(values))[:N_REASONS]
    _say(
        "",
        f"Why {share.base_values[0] + values.sum():.1f} MW for hour {row}? (It needed {y_test[row]:.1f}.)",
        f"  {share.base_values[0]:+6.1f}  the average hour",
        *(f"  {values[k]:+6.1f}  {X.columns[k]}: {hour.iloc[k]}" for k in reasons),
        f"  {values.sum() - values[reasons].sum():+6.1f}  the other {len(values) - N_REASONS} columns",
    )


def _find_drift(model: Any, detector: Any, later: Any, in_other_units: Any, demand: Any) -> None:
    """Show the alarm on hours as before, and where some come in Fahrenheit, beside what the truth tells."""
    lines = []
    for name, rows in (("as before", later), ("new station", in_other_units)):
        alarmed = detector.predict(rows) == -1
        expected = detector.estimate_loss(rows).metrics["rmse"][0]
        degree, true = detector.verdict(rows).degree, _typical_error(demand, model.predict(rows))
        lines.append(
            f"  {name:<12}{alarmed.mean():>4.0%} of the hours alarmed, verdict: {degree + ',':<5} "
            f"error to expect {expected:.1f} MW (in truth {true:.1f})"
        )
    _say(
        "",
        "A year later every other hour is from a new station, which sends Fahrenheit and does not say so.",
        "The alarm sees no demand.",
        *lines,
    )
    wrong = np.abs(demand.to_numpy() - model.predict(in_other_units))
    off = [wrong[rows].mean() for rows in (alarmed, ~alarmed)]
    _say(f"  Hours with an alarm are off by {off[0]:.1f} MW on average, others by {off[1]:.1f}.")


def _write_report(timed: Any, detector: Any, training: Any, held_out: Any, new: Any) -> None:
    from gbmap.report import make_report

    (model, seconds), (X, y), (X_test, y_test) = timed, training, held_out
    report = make_report(
        model, X, y.rename("demand in MW"), X_test=X_test, y_test=y_test, X_new=new, detector=detector,
        fit_seconds=seconds, title="How much electricity does the town need?",
    )  # fmt: skip
    report.to_html(PAGE)
    _say("", f"All of it, to click through, is in {PAGE.resolve()}.")


def partly_in_fahrenheit(hours: Any) -> Any:
    """Return hours of which every other one has its temperature in other units."""
    celsius = hours["temperature"]
    return hours.assign(temperature=celsius.where(np.arange(len(hours)) % 2 == 0, 32 + 1.8 * celsius))


def draw(model: Any, X: Any, new: Any, demand: Any, detector: Any) -> Any:
    """Return the picture: hours on the plane of their columns, on that of the map, and the alarm."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    hours, _ = make_demand(2000, random_state=3)
    before = _numbers().fit(X)
    planes = {
        "Hours by their columns (PCA)": PCA(2).fit(before.transform(X)).transform(before.transform(hours)),
        "The same hours on the map of GBMAP": PCA(2)
        .fit(model.transform(X))
        .transform(model.transform(hours)),
    }
    figure, axes = plt.subplots(1, 3, figsize=(15, 5.2), layout="constrained")
    for ax, (title, points) in zip(axes, planes.items()):
        _draw_hours(ax, points, kinds_of(hours))
        ax.set(title=title, xticks=[], yticks=[])
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=5, frameon=False, markerscale=2,
        columnspacing=1.2, handletextpad=0.2,
    )  # fmt: skip
    _draw_alarm(axes[2], model.predict(new), demand.to_numpy(), detector.predict(new) == -1)
    return figure


def kinds_of(hours: Any) -> dict[str, Any]:
    """Return some kinds of hours that people know, by which rows they are."""
    hour, temperature = hours["hour"], hours["temperature"]
    morning = hour.between(7, 10)
    works = hours["day"] == "working day"
    return {
        "nights": hour < 5,
        "cold working mornings": morning & works & (temperature < 4),
        "mild working mornings": morning & works & temperature.between(14, 22),
        "Sunday mornings": morning & (hours["day"] == "Sunday"),
        "cold evenings": hour.between(18, 20) & (temperature < 4),
    }


def _draw_hours(ax: Any, points: Any, kinds: dict[str, Any]) -> None:
    rest = ~np.any(list(kinds.values()), axis=0)
    ax.scatter(*points[rest].T, s=5, color=GREY, linewidth=0)
    for (name, rows), color in zip(kinds.items(), COLORS):
        ax.scatter(*points[rows.to_numpy()].T, s=13, color=color, linewidth=0, label=name)


def _draw_alarm(ax: Any, predicted: Any, demand: Any, alarmed: Any) -> None:
    for rows, color, name in ((~alarmed, "0.6", "no alarm"), (alarmed, RED, "alarm")):
        ax.scatter(predicted[rows], demand[rows], s=9, color=color, linewidth=0, label=name)
    ends = [demand.min(), demand.max()]
    ax.plot(ends, ends, color="black", linewidth=1)
    ax.set(
        title="A new station sends Fahrenheit: the alarm, which\n"
        "sees no demand, is raised where predictions fail",
        xlabel="predicted demand, MW", ylabel="true demand, MW",
    )  # fmt: skip
    ax.legend(frameon=False, markerscale=2, loc="upper left")


if __name__ == "__main__":
    sys.exit(main())
