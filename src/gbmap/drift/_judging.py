"""How the verdict on a batch comes about: what is asked of the model and of the columns, at one level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.text import counted, number, percent
from gbmap._utils.typing import Array
from gbmap.drift._calibration import Calibration, Measures, Outcome
from gbmap.drift._facts import Fact, facts, used_columns
from gbmap.drift._inference import excess_of_alarms, larger_losses, shift_p_values
from gbmap.drift._measuring import Measuring
from gbmap.drift._profile import BatchColumns
from gbmap.drift.loss_estimate import LossEstimate, known_metrics
from gbmap.drift.verdict import DEGREES, DriftVerdict, Finding, summary_of

_USED = 0.01  # a column counts for the model if it has such a share in what this adds up
_REASSURING_ROWS = 30  # with labels, that lose no more than before, for what else has changed to be no danger


@dataclass(frozen=True)
class Settings:
    """What is tolerated, and how sure to be; see `DriftDetector.verdict`."""

    delta: float = 0.1
    tolerated_alarms: float = 0.1
    tolerated_increase: float = 0.1
    level: float = 0.05

    def check(self) -> None:
        """Refuse what cannot be."""
        for name in ("delta", "tolerated_increase"):
            value = getattr(self, name)
            if not (_is_number(value) and 0 <= value < np.inf):
                unit = ", in standard deviations of y" if name == "delta" else ""
                raise ValueError(f"{name} must be a number of at least 0{unit}, got {value!r}.")
        if not (_is_number(self.tolerated_alarms) and 0 <= self.tolerated_alarms <= 1):
            raise ValueError(
                f"tolerated_alarms must be a number between 0 and 1, got {self.tolerated_alarms!r}."
            )
        if not (_is_number(self.level) and 0 < self.level < 1):
            raise ValueError(f"level must be a number between 0 and 1, got {self.level!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


@dataclass(frozen=True)
class Evidence:
    """What is known of a batch.

    Attributes
    ----------
    mean, variance : arrays of shape (K,)
        Of the scores.
    measures : Measures
    alarms : boolean array of shape (n,), or None without a threshold
    outcome : Outcome or None
    columns : BatchColumns or None
    """

    mean: Array
    variance: Array
    measures: Measures
    alarms: Array | None
    outcome: Outcome | None
    columns: BatchColumns | None


def judge(
    drifter: Measuring, calibration: Calibration, evidence: Evidence, estimate: LossEstimate,
    threshold: float | None, settings: Settings,
) -> DriftVerdict:  # fmt: skip
    """Return the verdict on a batch, given what is known of it, and the loss to expect."""
    checks = [
        _of_prediction(calibration, evidence, settings),
        _of_alarms(calibration, evidence, threshold, settings),
        _of_expected_loss(calibration, evidence, estimate, settings),
        _of_loss(calibration, evidence, settings),
    ]
    made = [each for each in checks if each is not None]
    made = [_corrected(each, 2 * len(made), settings.level) for each in made]
    is_reassured = _is_reassured(calibration, evidence, made, settings)
    found = [each for each in made if each.degree != "none"]
    found += _of_columns(drifter, evidence.columns, settings)
    if is_reassured:
        found = [_reassured(each) for each in found]
        made = [_reassured(each) if each.degree == "act" else each for each in made]
    n_above = None if threshold is None else calibration.indicators > threshold
    metrics = _metrics(calibration, estimate, evidence.outcome)
    return _verdict(
        found,
        made,
        settings.level,
        n_rows=len(evidence.measures.differences),
        n_labelled=0 if evidence.outcome is None else len(evidence.outcome.known.losses),
        n_calibration=len(calibration.losses),
        share_of_alarms=None if evidence.alarms is None else float(evidence.alarms.mean()),
        expected_share_of_alarms=None if n_above is None else float(n_above.mean()),
        metrics=metrics,
        is_reassured=is_reassured,
        cause=_cause(found, calibration, evidence, threshold, settings),
    )


def judge_columns(
    drifter: Measuring, columns: BatchColumns, n_calibration: int, level: float
) -> DriftVerdict:
    """Return the verdict on rows that no model can predict, since columns hold something else."""
    found = _of_columns(drifter, columns, Settings(level=level))
    return _verdict(
        found, [], level, n_rows=columns.n_rows, n_labelled=0, n_calibration=n_calibration,
        share_of_alarms=None, expected_share_of_alarms=None, metrics={}, cause="rows",
    )  # fmt: skip


def _verdict(
    found: list[Finding], checks: list[Finding], level: float, *, is_reassured: bool = False, **known: Any
) -> DriftVerdict:
    found = sorted(found, key=lambda each: (-DEGREES.index(each.degree), each.p_value))
    degree = found[0].degree if found else "none"
    verdict = DriftVerdict(
        degree=degree, summary="", findings=tuple(found), checks=tuple(checks), level=level, **known
    )
    return DriftVerdict(**{**vars(verdict), "summary": summary_of(verdict, is_reassured=is_reassured)})


# The checks of the model


def _of_prediction(calibration: Calibration, evidence: Evidence, settings: Settings) -> Finding | None:
    """Return whether the mean prediction has shifted by more than is tolerated."""
    if calibration.scores is None or calibration.deviation is None:
        return None
    reference = calibration.scores
    n, n_before = len(evidence.measures.differences), len(reference)
    shift = evidence.mean - reference.mean(axis=0)
    leeway = calibration.score_leeway
    tolerated = settings.delta * calibration.deviation + (0.0 if leeway is None else leeway)
    spreads = evidence.variance, reference.var(axis=0, ddof=min(1, n_before - 1))
    p, _ = shift_p_values(np.abs(shift), tolerated, spreads, (n, n_before))
    k = int(p.argmin())
    text = (
        f"the mean prediction moved by {shift[k]:+.3g}, from {number(float(reference.mean(axis=0)[k]))} to "
        f"{number(float(evidence.mean[k]))}; {number(float(tolerated[k]))} is tolerated"
    )
    means = float(reference[:, k].mean()), float(evidence.mean[k])
    return Finding(
        "prediction", None, text, *means, min(1.0, len(p) * float(p[k])), "act",
        "find out whether the world has moved so far, by labels if there are some",
    )  # fmt: skip


def _of_alarms(
    calibration: Calibration, evidence: Evidence, threshold: float | None, settings: Settings
) -> Finding | None:
    """Return whether more rows raise the alarm than are tolerated."""
    if evidence.alarms is None or threshold is None:
        return None
    n, n_before = len(evidence.alarms), len(calibration.indicators)
    n_alarms, before = int(evidence.alarms.sum()), int((calibration.indicators > threshold).sum())
    rate = max(settings.tolerated_alarms, (before + 1) / (n_before + 1) if before > 1 else 0.0)
    p = excess_of_alarms(n_alarms, n, rate, n_before)
    shares = before / n_before, n_alarms / n
    text = f"{percent(shares[1])} of the rows raise the alarm, {percent(shares[0])} before"
    return Finding("alarms", None, text, *shares, p, "act", "do not rely on the predictions of these rows")


def _of_expected_loss(
    calibration: Calibration, evidence: Evidence, estimate: LossEstimate, settings: Settings
) -> Finding:
    """Return whether rows reach farther than the calibration's, and are expected to lose more for it."""
    before = float(calibration.losses.mean())
    reached, known = evidence.measures, calibration.measures
    p = larger_losses((reached.reach + reached.gaps) / calibration.reach_leeway, known.reach + known.gaps)
    is_more = estimate.mean > (1 + settings.tolerated_increase) * before
    text = (
        f"a loss of {number(estimate.mean)} is to be expected, {number(estimate.mean_lower)} to "
        f"{number(estimate.mean_upper)}; it was {number(before)}"
    )
    advice = "get labels of some of these rows, and fit anew with them"
    return Finding("expected_loss", None, text, before, estimate.mean, p if is_more else 1.0, "act", advice)


def _of_loss(calibration: Calibration, evidence: Evidence, settings: Settings) -> Finding | None:
    """Return whether labels show a larger loss than that of the calibration rows."""
    if evidence.outcome is None:
        return None
    losses, before = evidence.outcome.known.losses, calibration.losses
    p = larger_losses(losses / (1 + settings.tolerated_increase), before)
    means = float(before.mean()), float(losses.mean())
    rows = counted(len(losses), "row")
    text = f"the loss is {number(means[1])} by the labels of {rows}; it was {number(means[0])}"
    return Finding("loss", None, text, *means, p if means[1] > means[0] else 1.0, "act", "fit anew")


def _is_reassured(
    calibration: Calibration, evidence: Evidence, checks: list[Finding], settings: Settings
) -> bool:
    """Return whether labels show that predictions are as good as before, whatever else has changed."""
    losses = np.empty(0) if evidence.outcome is None else evidence.outcome.known.losses
    if len(losses) < _REASSURING_ROWS:
        return False
    most = (1 + settings.tolerated_increase) * calibration.losses.mean()
    is_found = any(each.kind == "loss" and each.degree == "act" for each in checks)
    return not is_found and bool(losses.mean() <= most)


def _corrected(finding: Finding, times: int, level: float) -> Finding:
    p = min(1.0, times * finding.p_value)
    degree = finding.degree if p <= level else "none"
    return Finding(**{**vars(finding), "p_value": p, "degree": degree})


def _reassured(finding: Finding) -> Finding:
    """Return what was found, where labels show that predictions are as good as before."""
    advice = finding.advice if finding.column is not None else "look at it: labels show no larger loss"
    return Finding(**{**vars(finding), "degree": "look", "advice": advice})


# The columns


def _of_columns(drifter: Measuring, columns: BatchColumns | None, settings: Settings) -> list[Finding]:
    """Return the facts of the columns that chance does not explain."""
    profile = drifter.monitored.profile
    if profile is None or columns is None:
        return []
    known = list(facts(profile, columns))
    is_used = _is_used(drifter, len(profile.names))
    findings = []
    for fact in known:
        p = min(1.0, 2 * len(known) * fact.p_value)
        if p > settings.level:
            continue
        degree = _degree(fact, bool(is_used[fact.column]), settings)
        name = str(profile.names[fact.column])
        findings.append(Finding(fact.kind, name, fact.text, fact.before, fact.now, p, degree, fact.advice))
    return findings


def _degree(fact: Fact, is_used: bool, settings: Settings) -> str:
    """Return what a fact asks for. How much a range or a constant matters, the checks of the model tell."""
    if fact.kind == "type":
        return "act"
    matters = (
        fact.kind in ("unseen", "missing", "units") and fact.now - fact.before >= settings.tolerated_alarms
    )
    return "act" if matters and is_used else "look"


def _is_used(drifter: Measuring, p: int) -> Array:
    """Return which of the user's columns count for the model; all if that cannot be followed back."""
    fitted = drifter.monitored.fitted
    if drifter.monitored.foreign is not None:
        return np.ones(p, dtype=bool)
    sizes = np.abs(fitted.ensemble.weights).sum(axis=0) * fitted.input_scale
    try:
        shares = fitted.columns.collect(sizes[None, :, None])[0, :, 0]
    except ValueError:
        return np.ones(p, dtype=bool)
    return used_columns(shares, _USED) if len(shares) == p else np.ones(p, dtype=bool)


def _cause(
    found: list[Finding], calibration: Calibration, evidence: Evidence, threshold: float | None,
    settings: Settings,
) -> str:  # fmt: skip
    """Return whether the rows have changed, or what y is given them.

    If both may be, rows that raise no alarm tell: do they lose more than such rows did?
    """
    of_rows = any(each.kind != "loss" for each in found)
    if not any(each.kind == "loss" for each in found) or evidence.outcome is None:
        return "rows" if of_rows else "none"
    if not of_rows:
        return "relation"
    if evidence.alarms is None or threshold is None:
        return "rows"
    if any(each.column is not None and each.degree == "act" for each in found):
        return "rows"  # no model is good without its columns
    losses, before = evidence.outcome.losses[~evidence.alarms], calibration.losses
    losses = losses[~np.isnan(losses)]
    before = before[calibration.indicators <= threshold]
    if min(len(losses), len(before)) < _REASSURING_ROWS:
        return "rows"
    p = larger_losses(losses / (1 + settings.tolerated_increase), before)
    return "both" if p <= settings.level and losses.mean() > before.mean() else "rows"


def _metrics(
    calibration: Calibration, estimate: LossEstimate, outcome: Outcome | None
) -> dict[str, dict[str, float | None]]:
    held_out = known_metrics(calibration.metrics)
    known = {} if outcome is None else known_metrics(outcome.known.metrics)
    return {
        name: {
            "held_out": held_out[name],
            "expected": expected,
            "lower": lower,
            "upper": upper,
            "known": known.get(name),
        }
        for name, (expected, lower, upper) in estimate.metrics.items()
    }
