"""How the verdict on a batch comes about: what is asked of the model and of the columns, at one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from gbmap._utils.glossary import name_of
from gbmap._utils.text import counted, number, percent, signed
from gbmap._utils.typing import Array, IntArray
from gbmap.drift._calibration import Calibration, Measures, Outcome
from gbmap.drift._facts import Fact, NewClasses, facts, facts_beside, used_columns
from gbmap.drift._gauge import Gauge
from gbmap.drift._inference import excess_of_alarms, larger_losses, moved_mean, shift_p_values
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import chunks
from gbmap.drift._profile import BatchColumns
from gbmap.drift.constants import ConstantColumn
from gbmap.drift.loss_estimate import LossEstimate, as_told, known_metrics, spoken, told_loss
from gbmap.drift.verdict import BY_CHANCE, DEGREES, OF_LABELS, DriftVerdict, Finding, summary_of

_USED = 0.01  # a column counts for the model if it has such a share in what this adds up
_MOST_ALIKE, _LEAST_ALIKE = 10, 20  # groups of rows whose predictions are alike, and rows of each
_CHECKS = 4  # of the model, which share half of the level
_FEW_MEANS = 50  # rows up to which the mean of skewed predictions is not normal
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
    scores : array of shape (n, K)
        h = f - f_0.
    measures : Measures
    alarms : boolean array of shape (n,), or None without a threshold
    outcome : Outcome or None
    columns : BatchColumns or None
    constants : sequence of ConstantColumn
        Columns that the model was not given.
    new_classes : NewClasses or None
        Labels that the model cannot predict; None without labels, or if they are numbers.
    """

    scores: Array
    measures: Measures
    alarms: Array | None
    outcome: Outcome | None
    columns: BatchColumns | None
    constants: Sequence[ConstantColumn] = ()
    new_classes: NewClasses | None = None

    @classmethod
    def of(cls, gauge: Gauge, X: Any, y: Array | None, **known: Any) -> Evidence:
        """Return what is known of rows, read chunk by chunk, and what is known of them already."""
        scores, measures, outcomes = [], [], []
        for rows, labels in zip(chunks(X), repeat(None) if y is None else chunks(y)):
            scored, measured, outcome = gauge.drifter.read_and_measure(rows, labels)
            scores.append(scored.scores)
            measures.append(measured)
            outcomes += [] if outcome is None else [outcome]
        joined = Measures.join(measures)
        outcome = Outcome.join(outcomes) if outcomes else None
        return cls(np.concatenate(scores), joined, gauge.alarm.raised(joined), outcome, **known)

    @property
    def mean(self) -> Array:
        """Of the scores, of shape (K,)."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def variance(self) -> Array:
        """Of the scores, of shape (K,)."""
        return np.asarray(self.scores.var(axis=0, ddof=min(1, len(self.scores) - 1)))

    def facts_beside_columns(self, gauge: Gauge) -> list[Fact]:
        """Return what was tested of columns that the model was not given, and of labels."""
        beside = list(facts_beside(self.constants))
        if self.new_classes is not None:
            profile, n_calibration = gauge.monitored.profile, len(gauge.calibration.losses)
            n_met = n_calibration if profile is None else profile.n_rows
            beside.append(self.new_classes.fact(n_calibration, n_met))
        return beside


def judge(gauge: Gauge, evidence: Evidence, estimate: LossEstimate, settings: Settings) -> DriftVerdict:
    """Return the verdict on a batch, given what is known of it, and the loss to expect."""
    calibration = gauge.calibration
    checks = [
        _of_prediction(calibration, evidence, settings),
        _of_alarms(gauge, evidence, settings),
        _of_expected_loss(calibration, evidence, estimate, settings),
        _of_loss(calibration, evidence, settings),
    ]
    made = [each for each in checks if each is not None]
    is_reassured = _is_reassured(calibration, evidence, made, settings)
    found = [each for each in made if each.degree != "none"]
    has_lost = any(each.kind == "loss" for each in found)
    beside = evidence.facts_beside_columns(gauge)
    found += _of_columns(gauge.drifter, evidence.columns, beside, settings, has_lost=has_lost)
    is_reassured &= not any(each.kind == "class" for each in found)
    if is_reassured:
        found = [_reassured(each) for each in found]
        made = [_reassured(each) if each.degree == "act" else each for each in made]
    n_before = len(calibration.losses)
    metrics = _metrics(calibration, estimate, evidence.outcome)
    return _verdict(
        found,
        made,
        settings.level,
        n_rows=len(evidence.measures.differences),
        n_labelled=0 if evidence.outcome is None else len(evidence.outcome.known.losses),
        n_calibration=n_before,
        share_of_alarms=None if evidence.alarms is None else float(evidence.alarms.mean()),
        expected_share_of_alarms=None if evidence.alarms is None else gauge.n_calibration_alarms / n_before,
        metrics=metrics,
        is_reassured=is_reassured,
        cause=_cause(found, gauge, evidence, settings),
    )


def judge_columns(
    drifter: Measuring,
    columns: BatchColumns,
    constants: Sequence[ConstantColumn],
    n_calibration: int,
    level: float,
) -> DriftVerdict:
    """Return the verdict on rows that no model can predict, since columns hold something else."""
    found = _of_columns(drifter, columns, list(facts_beside(constants)), Settings(level=level))
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


def _check(
    kind: str,
    text: str,
    means: tuple[float, float],
    p_value: float,
    advice: str,
    settings: Settings,
    looks_worse: bool,
) -> Finding:
    """Return a check at its share of the level; `looks_worse` if the numbers by themselves are not tolerated.

    There are four shares whether labels are there or not: else to give labels would weaken what is known
    without them.
    """
    p = min(1.0, 2 * _CHECKS * p_value)
    is_found = p <= settings.level
    text += "" if is_found or not looks_worse else BY_CHANCE
    return Finding(kind, None, text, *means, p, "act" if is_found else "none", advice)


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
    if min(n, n_before) < _FEW_MEANS:
        p = np.maximum(p, [moved_mean(*each) for each in zip(evidence.scores.T, reference.T)])
    k = int(p.argmin())
    text = (
        f"the mean prediction moved by {signed(float(shift[k]))}, from "
        f"{number(float(reference.mean(axis=0)[k]))} to {number(float(evidence.mean[k]))}; "
        f"{number(float(tolerated[k]))} is tolerated"
    )
    means = float(reference[:, k].mean()), float(evidence.mean[k])
    advice = "find out whether the world has moved so far, by labels if there are some"
    looks_worse = bool(np.abs(shift[k]) > tolerated[k])
    return _check("prediction", text, means, len(p) * float(p[k]), advice, settings, looks_worse)


def _of_alarms(gauge: Gauge, evidence: Evidence, settings: Settings) -> Finding | None:
    """Return whether more rows raise the alarm than are tolerated."""
    if evidence.alarms is None:
        return None
    n, n_before = len(evidence.alarms), len(gauge.calibration.indicators)
    before = gauge.n_calibration_alarms
    rate = max(settings.tolerated_alarms, (before + 1) / (n_before + 1) if before > 1 else 0.0)
    # Indicators of a model that did not meet the calibration rows itself may all be larger, as its reach may.
    n_alarms = gauge.alarm.n_above(gauge.ranks(evidence.measures) / gauge.calibration.reach_leeway)
    p = excess_of_alarms(n_alarms, n, rate, n_before)
    shares = before / n_before, float(evidence.alarms.mean())
    text = f"{percent(shares[1])} of the rows raise the alarm, {percent(shares[0])} before"
    advice = "do not rely on the predictions of these rows"
    return _check("alarms", text, shares, p, advice, settings, shares[1] > rate)


def _of_expected_loss(
    calibration: Calibration, evidence: Evidence, estimate: LossEstimate, settings: Settings
) -> Finding:
    """Return whether rows reach farther than the calibration's, and are expected to lose more for it."""
    before = float(calibration.losses.mean())
    reached, known = evidence.measures.full_reach, calibration.measures.full_reach
    p = larger_losses(reached / calibration.reach_leeway, known)
    is_more = estimate.mean > (1 + settings.tolerated_increase) * before
    name = told_loss(calibration)
    told = np.array([estimate.mean, estimate.mean_lower, estimate.mean_upper, before])
    mean, lower, upper, was = map(number, as_told(name, told).tolist())
    text = f"{name_of(name)} {mean} is to be expected, {lower} to {upper}; it was {was}"
    advice = "get labels of some of these rows, and fit anew with them"
    means = before, estimate.mean
    return _check("expected_loss", text, means, p if is_more else 1.0, advice, settings, is_more)


def _of_loss(calibration: Calibration, evidence: Evidence, settings: Settings) -> Finding | None:
    """Return whether labels show a larger loss than that of the calibration rows."""
    if evidence.outcome is None:
        return None
    known, before = evidence.outcome.known, calibration.losses
    most = 1 + settings.tolerated_increase
    p = larger_losses(known.losses / most, before)
    means = float(before.mean()), float(known.losses.mean())
    name, told = told_loss(calibration), means
    others = _worse_metrics(calibration, known, settings)
    if means[1] <= most * means[0] and others:
        raw, means = next(iter(others.items()))
        name, was_now = spoken(raw, np.array(means))
        told = tuple(was_now.tolist())
    else:
        told = tuple(as_told(name, np.array(means)).tolist())
    was, now = map(number, told)
    text = f"{name_of(name)} is {now} by the labels of {counted(len(known.losses), 'row')}; it was {was}"
    p = p if means[1] > means[0] else 1.0
    return _check("loss", text, means, p, "fit anew", settings, means[1] > most * means[0])


def _worse_metrics(
    calibration: Calibration, known: Outcome, settings: Settings
) -> dict[str, tuple[float, float]]:
    """Return the metrics that are worse by labels than is tolerated: their means before, and now.

    Where losses have long tails, a few rows decide the mean squared error, and the mean of sizes tells of all
    others. One row that is classed wrongly is not worse.
    """
    found = {}
    for name in (name for name in calibration.metrics if name in known.metrics):
        before, now = float(calibration.metrics[name].mean()), float(known.metrics[name].mean())
        one = 1 / len(known.losses) if name == "error" else 0.0
        if now > (1 + settings.tolerated_increase) * before + one:
            found[name] = before, now
    return found


def _is_reassured(
    calibration: Calibration, evidence: Evidence, checks: list[Finding], settings: Settings
) -> bool:
    """Return whether labels show that predictions are as good as before, whatever else has changed."""
    if evidence.outcome is None or len(evidence.outcome.known.losses) < _REASSURING_ROWS:
        return False
    known = evidence.outcome.known
    most = (1 + settings.tolerated_increase) * calibration.losses.mean()
    is_found = any(each.kind == "loss" and each.degree == "act" for each in checks)
    is_worse = bool(known.losses.mean() > most or _worse_metrics(calibration, known, settings))
    return not (is_found or is_worse)


def _reassured(finding: Finding) -> Finding:
    """Return what was found, where labels show that predictions are as good as before."""
    advice = finding.advice if finding.column is not None else "look at it: labels show no larger loss"
    return Finding(**{**vars(finding), "degree": "look", "advice": advice})


# The columns


def _of_columns(
    drifter: Measuring,
    columns: BatchColumns | None,
    beside: list[Fact],
    settings: Settings,
    *,
    has_lost: bool = False,
) -> list[Finding]:
    """Return the facts that chance does not explain, of the columns and those beside them."""
    profile = drifter.monitored.profile
    known = list(beside)
    is_used = np.zeros(0, dtype=bool)
    if profile is not None and columns is not None:
        known += facts(profile, columns)
        is_used = _is_used(drifter, len(profile.names))
    findings = []
    for fact in known:
        p = min(1.0, 2 * len(known) * fact.p_value)
        if p > settings.level:
            continue
        counts = fact.kind == "class" or (fact.column is not None and bool(is_used[fact.column]))
        degree = _degree(fact, settings, is_used=counts, has_lost=has_lost)
        findings.append(
            Finding(fact.kind, fact.name or None, fact.text, fact.before, fact.now, p, degree, fact.advice)
        )
    return findings


def _degree(fact: Fact, settings: Settings, *, is_used: bool, has_lost: bool) -> str:
    """Return what a fact asks for. How much a range or a constant matters, the checks of the model tell.

    Rows of one day or one shop may well hold one value; if they lose more, the column is lost to the model.
    """
    if fact.kind == "type":
        return "act"
    matters = fact.kind == "stuck" and has_lost
    if fact.kind in ("unseen", "missing", "units", "class"):
        matters = fact.now - fact.before >= settings.tolerated_alarms
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


def _cause(found: list[Finding], gauge: Gauge, evidence: Evidence, settings: Settings) -> str:
    """Return whether the rows have changed, or what y is given them.

    If both may be, rows that raise no alarm tell: do they lose more than such rows did of which as much is
    predicted?
    """
    kinds = {each.kind for each in found}
    of_rows, of_labels = bool(kinds - set(OF_LABELS)), bool(kinds & set(OF_LABELS))
    if not (of_rows and of_labels):
        return "rows" if of_rows else "relation" if of_labels else "none"
    if "class" in kinds or evidence.outcome is None:
        return "both"
    if evidence.alarms is None:
        return "rows"
    if any(each.column is not None and each.degree == "act" for each in found):
        return "rows"  # no model is good without its columns
    losses, calibration = evidence.outcome.losses, gauge.calibration
    told = ~evidence.alarms & ~np.isnan(losses)
    quiet = len(calibration.losses) - gauge.n_calibration_alarms
    losses, before = losses[told], calibration.losses[:quiet]  # these come by increasing rank
    if min(len(losses), len(before)) < _REASSURING_ROWS:
        return "rows"
    strata = None if calibration.scores is None else _alike(evidence.scores[told], calibration.scores[:quiet])
    p = larger_losses(losses / (1 + settings.tolerated_increase), before, strata)
    return "both" if p <= settings.level and losses.mean() > before.mean() else "rows"


def _alike(scores: Array, before: Array) -> tuple[IntArray, IntArray]:
    """Return which rows have predictions alike, of new rows and of those before.

    Rows of which other things are predicted may well lose more: dear houses do, and so do doubtful cases.
    """
    n_groups = max(1, min(_MOST_ALIKE, len(before) // _LEAST_ALIKE))
    largest, new = before.max(axis=1), scores.max(axis=1)
    ends = np.unique(np.quantile(largest, np.arange(1, n_groups) / n_groups))
    return np.searchsorted(ends, new), np.searchsorted(ends, largest)


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
