"""Drift: whether new rows are like those of the training, where not, and by which features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from gbmap._utils.typing import Array
from gbmap.drift import ConstantColumn, DriftAssessment, DriftDetector, DriftVerdict
from gbmap.report._material import FitMaterial, Material, Rows
from gbmap.report._rounding import rounded, significant
from gbmap.report.contents.columns import is_category, numbers, raw_values
from gbmap.report.contents.over_time import OverTime, study_over_time

_NEIGHBORS = 5
# Neighbours are searched among so many numbers of the embedding, but among so many rows at least and at most.
_NUMBERS, _FEWEST_ROWS, _MOST_ROWS = 200_000, 1000, 10_000
_BINS = 30
_MOST_REASONS = 20


@dataclass(frozen=True)
class Reason:
    """How one feature has moved the prediction."""

    feature: int
    contribution: list[float | None]  # its share in the shift of the mean score, for each output shown
    # The mean size of its share in how far a new row's score is from that of its neighbours.
    extrapolation: float | None
    # The mean of the column; None for a category.
    training_mean: float | None
    new_mean: float | None


@dataclass(frozen=True)
class Shift:
    """How far the mean score of one output has moved from training to new rows, in units of the target."""

    shift: float | None
    standard_error: float | None
    tolerated: float | None
    p_value: float | None
    distance: float | None


@dataclass(frozen=True)
class Drift:
    """New rows beside those of the training."""

    # The degree of the detector's verdict: "none", "look" or "act"; and all of it in one line.
    verdict: str
    summary: str
    cause: str  # "none", "rows", "relation" or "both"
    findings: list[dict[str, Any]]  # degree, p_value, column, text and advice of each
    metrics: dict[str, dict[str, float | None]]  # as those of a verdict
    level: float | None
    mean_prediction: (
        dict[str, float | None] | None
    )  # "held_out" and "new", by the verdict; None of many outputs
    # New rows that were looked at, and those given; reference rows of the detector.
    n_rows: int
    n_given_rows: int
    n_reference_rows: int
    shifts: list[Shift]  # of each output shown
    threshold: float | None  # none either if calibration rows are too few for one
    # The share of new rows, and of calibration rows, above the threshold.
    share_alarmed: float | None
    expected_share_alarmed: float | None
    # The mean loss to expect without labels, that of the calibration rows, and that of the new rows if they
    # have labels.
    expected_loss: float | None
    expected_loss_interval: list[float | None] | None
    calibration_loss: float | None
    new_loss: float | None
    # The share of new rows in a region without reference rows, for each output shown.
    unseen_share: list[float | None]
    expected_unseen_share: list[float | None]
    bins: list[Any]  # the edges of the histograms of the indicator; the last bin holds all rows above
    # The share of rows in each bin.
    held_out_shares: list[Any]
    new_shares: list[Any]
    reasons: list[Reason]  # the largest first
    over_time: OverTime | None  # the batches, if a monitor has seen the rows
    # Of each row of the map: the indicator, None for training rows; and whether it is above the threshold.
    indicator: list[Any]
    alarm: list[bool | None]


def study_drift(
    material: Material,
    detector: Any,
    rng: np.random.Generator,
    monitor: Any = None,
    constants: Sequence[ConstantColumn] = (),
) -> Drift | None:
    """Compare new rows with those of the training; None if there are no new rows.

    The detector may be None if the rows of the fit are there.
    """
    if material.new is None:
        return None
    n_rows = int(np.clip(_NUMBERS // len(material.fitted.ensemble), _FEWEST_ROWS, _MOST_ROWS))
    new = material.new.sample(n_rows, rng)
    if isinstance(material, FitMaterial):
        held_out = material.held_out.sample(n_rows, rng)
        if detector is None:
            detector = fitted_detector(material, material.study.sample(n_rows, rng), held_out, rng)
        known = detector.indicator(held_out.X)
    else:  # a detector keeps what it has calibrated itself with
        known = detector.gauge_.calibration_indicators
    found = detector.assess(new.X, new.y, constants=constants)
    threshold = getattr(detector, "threshold_", None)
    bins, shares = _histograms(known, detector.indicator(new.X), threshold)
    indicator, alarm = _of_points(material, detector)
    interval = found.expected_loss_interval
    return Drift(
        **_told(found.verdict, len(material.outputs)),
        n_rows=len(new),
        n_given_rows=new.n_given,
        n_reference_rows=found.n_reference_rows,
        shifts=_shifts(found, material.outputs),
        threshold=significant(threshold),
        share_alarmed=significant(found.share_over_threshold),
        expected_share_alarmed=significant(found.calibration_share_over_threshold),
        expected_loss=significant(found.expected_loss),
        expected_loss_interval=None if interval is None else [significant(end) for end in interval],
        calibration_loss=significant(found.calibration_loss),
        new_loss=significant(found.mean_loss),
        unseen_share=_of_outputs(found.unseen_share, material.outputs),
        expected_unseen_share=_of_outputs(found.expected_unseen_share, material.outputs),
        bins=[significant(edge, 4) for edge in bins],
        held_out_shares=rounded(shares[0], spread=1.0),
        new_shares=rounded(shares[1], spread=1.0),
        reasons=_reasons(material, new, detector, found),
        over_time=None if monitor is None else study_over_time(monitor, str(material.fitted.model.loss)),
        indicator=indicator,
        alarm=alarm,
    )


def _told(verdict: DriftVerdict | None, n_outputs: int) -> dict[str, Any]:
    """Return what a verdict says; a detector without calibration rows has none."""
    if verdict is None:
        summary = "the detector has no calibration rows, and so no verdict"
        return {
            "verdict": "none",
            "summary": summary,
            "cause": "none",
            "findings": [],
            "metrics": {},
            "level": None,
            "mean_prediction": None,
        }
    means = [each for each in verdict.checks if each.kind == "prediction"]
    shown = ("degree", "p_value", "column", "text", "advice")
    return {
        "verdict": verdict.degree,
        "summary": verdict.summary,
        "cause": verdict.cause,
        "findings": [{name: getattr(each, name) for name in shown} for each in verdict.findings],
        "metrics": {
            name: {key: significant(value) for key, value in each.items()}
            for name, each in verdict.metrics.items()
        },
        "level": significant(verdict.level),
        "mean_prediction": {"held_out": significant(means[0].before), "new": significant(means[0].now)}
        if means and n_outputs == 1
        else None,
    }


def fitted_detector(
    material: FitMaterial, reference: Rows, held_out: Rows, rng: np.random.Generator
) -> DriftDetector:
    """Return a detector of the model among some rows, calibrated with others."""
    n_neighbors, seed = min(_NEIGHBORS, len(reference)), int(rng.integers(2**31))
    detector = DriftDetector(material.model, n_neighbors, random_state=seed)
    try:
        detector.fit(reference.X, reference.y, X_cal=held_out.X, y_cal=held_out.y)
    except ValueError as error:  # which speaks of X_cal
        raise ValueError(
            f"X_test and y_test must be able to calibrate a DriftDetector for X_new: {error}"
        ) from error
    return detector


def _of_outputs(values: Any, outputs: list[int]) -> list[float | None]:
    of_all = np.atleast_1d(values)
    return [significant(of_all[k]) for k in outputs]


def _shifts(found: DriftAssessment, outputs: list[int]) -> list[Shift]:
    names = ("shift", "standard_error", "delta", "p_value", "distance")
    return [Shift(*each) for each in zip(*(_of_outputs(getattr(found, name), outputs) for name in names))]


def _histograms(held_out: Array, new: Array, threshold: float | None) -> tuple[Array, list[Array]]:
    """Return the edges of bins, and the share of rows of either side in each; the last holds all above."""
    both = np.concatenate([held_out, new])
    level = threshold if threshold is not None and np.isfinite(threshold) else 0.0
    top = max(np.quantile(both, 0.98), 1.25 * level) or 1.0
    edges = np.linspace(0, top, _BINS)
    shares = [
        np.bincount(np.searchsorted(edges[1:], side, side="left"), minlength=_BINS) / len(side)
        for side in (held_out, new)
    ]
    return edges, shares


def _of_points(material: Material, detector: DriftDetector) -> tuple[list[Any], list[bool | None]]:
    """Return the indicators of the rows on the map, and whether they raise the alarm, if that is known.

    Training rows have neither, since they are their own neighbours.
    """
    indicators: list[Array] = []
    alarms: list[list[bool | None]] = []
    for rows in material.points:
        unknown: dict[str, Any] = {"indicator": np.full(len(rows), np.nan), "is_alarm": None}
        found = unknown if rows.kind == "training" else detector.alarms(rows.X)
        indicators.append(found["indicator"])
        alarms.append([None] * len(rows) if found["is_alarm"] is None else found["is_alarm"].tolist())
    return rounded(np.concatenate(indicators)), list(chain(*alarms))


def _reasons(material: Material, new: Rows, detector: DriftDetector, found: DriftAssessment) -> list[Reason]:
    p = len(found.feature_names)
    shares = found.contributions.reshape(p, -1)[:, material.outputs]
    extrapolation = detector.explain(material.points[-1].X).sizes.mean(axis=0)
    size = np.abs(shares).sum(axis=1)
    order = np.argsort(
        -(size / (size.max() or 1.0) + extrapolation / (extrapolation.max() or 1.0)), kind="stable"
    )
    return [
        Reason(
            feature=k,
            contribution=[significant(share) for share in shares[k]],
            extrapolation=significant(extrapolation[k]),
            training_mean=_training_mean(material, k),
            new_mean=_mean(material, new, k),
        )
        for k in order[:_MOST_REASONS].tolist()
    ]


def _training_mean(material: Material, feature: int) -> float | None:
    """Return the mean of a column over training rows, or what the model has kept of it."""
    if isinstance(material, FitMaterial):
        return _mean(material, material.study, feature)
    fitted = material.fitted
    return significant(fitted.column_mean[feature]) if fitted.columns.is_number[feature] else None


def _mean(material: Material, rows: Rows, feature: int) -> float | None:
    values = raw_values(material, rows, feature)
    if is_category(material, feature, values):
        return None
    known = numbers(values)
    known = known[np.isfinite(known)]
    return significant(known.mean()) if len(known) else None
