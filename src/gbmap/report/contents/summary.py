"""What the first screen says: which columns matter, whether to trust new rows, and what to do next."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._fitted.sayings import WEEKDAYS
from gbmap._utils.text import plain_number, sentence, shortened
from gbmap._utils.typing import Array
from gbmap.report._material import FitMaterial, Material
from gbmap.report._rounding import rounded, significant
from gbmap.report.contents.columns import Column, are_whole
from gbmap.report.contents.drift import Drift, fitted_detector
from gbmap.report.contents.explanations import Explanations
from gbmap.report.contents.features import Dependence, Features

_MOST_COLUMNS = 5
_ONE_WAY, _MOSTLY = 0.8, 0.5  # of all ups and downs that go one way
_FEW_ROWS = 0.02  # the share of rows below which a category is not spoken of
_LONGEST_TARGET = 40  # characters of it that a command shows
_ALARM_ROWS = 500  # that tell how often the alarm is raised


@dataclass(frozen=True)
class Matter:
    """A column that matters, and which way."""

    feature: int
    share: float | None  # of what all columns together move the predictions by
    output: int  # the output, among those shown, that it tells the most of
    # "rises" or "falls" with the numbers, or "mostly" so; has a "peak" or a "dip"; "bends" more than once; is
    # "mixed" without numbers to tell; or, of categories, "levels".
    way: str
    at: float | None  # the number at the peak or the dip, or, where it bends, of the highest predictions
    lowest_at: float | None  # where it bends, the number of the lowest predictions
    highest: str | None  # the categories with the highest and the lowest predictions
    lowest: str | None


@dataclass(frozen=True)
class Trust:
    """How many held-out rows raise the alarm: new rows that are like them raise it as often."""

    n_rows: int
    share_alarmed: float | None


@dataclass(frozen=True)
class Step:
    """What to do next, and by which command, if by one."""

    text: str
    command: str | None


@dataclass(frozen=True)
class Summary:
    """What the first screen says beside scores and the verdict on drift."""

    matters: list[Matter]  # the most important first
    trust: Trust | None  # None with new rows, of which there is a verdict, or if there is no alarm
    steps: list[Step]


def summarise(
    material: Material,
    explained: Explanations,
    columns: list[Column],
    features: Features,
    drift: Drift | None,
    trust: Trust | None,
) -> Summary:
    """Return what the first screen says."""
    sizes = explained.importances.mean(axis=1)
    levels = {column.feature: column for column in columns}
    dependences = {each.feature: each for each in features.dependences}
    leading = [each.feature for each in features.importances if each.feature in dependences][:_MOST_COLUMNS]
    return Summary(
        matters=[
            _matter(
                dependences[k],
                levels[k],
                features.scales[k],
                sizes[k] / sizes.sum(),
                int(np.argmax(explained.importances[k])),
            )
            for k in leading
        ],
        trust=trust,
        steps=_python_steps(drift, of_table=material.table is not None),
    )


def study_trust(material: FitMaterial, detector: Any, rng: np.random.Generator) -> Trust | None:
    """Say how many held-out rows raise the alarm, of a detector given or of one with few rows.

    None if held-out rows cannot tell, such as rows of the training.
    """
    held_out = material.held_out.sample(_ALARM_ROWS, rng)
    if detector is None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # no new rows were asked about
                detector = fitted_detector(material, material.study.sample(_ALARM_ROWS, rng), held_out, rng)
        except ValueError:
            return None
    is_alarm = detector.alarms(held_out.X)["is_alarm"]
    return None if is_alarm is None else Trust(len(held_out), significant(np.mean(is_alarm)))


def _matter(dependence: Dependence, column: Column, scale: str, share: float, output: int) -> Matter:
    means = np.array(dependence.means[output], dtype=np.float64)
    told: dict[str, Any] = {"way": "mixed", "at": None, "lowest_at": None, "highest": None, "lowest": None}
    if dependence.middles is None:
        told |= _ends_of_levels(means, column)
    elif len(means) > 1:
        told |= _way_of(np.array(dependence.middles, dtype=np.float64), means, column, scale)
    return Matter(feature=dependence.feature, share=significant(share, 3), output=output, **told)


def _way_of(middles: Array, means: Array, column: Column, scale: str) -> dict[str, Any]:
    """Return which way predictions go along a number; of two, such as 0 and 1, which has the higher ones."""
    values = np.array([value for value in column.values if value is not None], dtype=np.float64)
    different = np.unique(values)
    if scale == "weekday" and np.ptp(means):
        best, worst = (WEEKDAYS[round(middles[at]) % 7] for at in (np.argmax(means), np.argmin(means)))
        return {"way": "levels", "highest": best, "lowest": worst}
    if len(different) == 2:
        low, high = map(plain_number, different.tolist())
        ends = (high, low) if means[-1] > means[0] else (low, high)
        return {"way": "levels", "highest": ends[0], "lowest": ends[1]} if means[-1] != means[0] else {}
    return _way(np.round(middles) if are_whole(values) else middles, means)


def _ends_of_levels(means: Array, column: Column) -> dict[str, Any]:
    """Return the categories of the highest and the lowest predictions, of those that are not rare."""
    assert column.levels is not None
    known = np.array([value for value in column.values if value is not None], dtype=int)
    counts = np.bincount(known, minlength=len(means))
    spoken = np.flatnonzero(np.isfinite(means) & (counts >= _FEW_ROWS * max(counts.sum(), 1)))
    if len(spoken) < 2:
        return {}
    highest, lowest = spoken[np.argmax(means[spoken])], spoken[np.argmin(means[spoken])]
    return {"way": "levels", "highest": column.levels[highest], "lowest": column.levels[lowest]}


def _way(middles: Array, means: Array) -> dict[str, Any]:
    """Return which way predictions go along a number: up, down, or up to a point."""
    steps = np.diff(means)
    travelled = np.abs(steps).sum()
    if travelled == 0:
        return {}
    places = rounded(middles, digits=1)  # a date or a year is far from zero, and asks for more digits
    way, share = "rises" if steps.sum() > 0 else "falls", abs(steps.sum()) / travelled
    if share >= _ONE_WAY:
        return {"way": way}
    for turn, turned, top in (("peak", means, np.argmax(means)), ("dip", -means, np.argmin(means))):
        climb = turned[top] - turned[0] + turned[top] - turned[-1]
        if 0 < top < len(means) - 1 and climb >= _ONE_WAY * travelled:
            return {"way": turn, "at": places[top]}
    if share >= _MOSTLY:
        return {"way": f"mostly {way}"}
    return {"way": "bends", "at": places[np.argmax(means)], "lowest_at": places[np.argmin(means)]}


def shell_steps(target: str, drift: Mapping[str, Any] | None) -> list[Step]:
    """Return what to do with a model of a table on the command line, by the contents of its page."""
    if drift is not None:
        return _steps_of_new(
            drift["findings"],
            drift["verdict"],
            drift["cause"],
            Step("See which of the new rows raise the alarm", "gbmap drift MODEL NEW --out alarms.csv"),
            "gbmap predict MODEL NEW --out predicted.csv",
        )
    quoted = shlex.quote(shortened(sentence(target), _LONGEST_TARGET))
    return [
        Step("Keep the model in a file", f"gbmap fit DATA --target {quoted} --out MODEL"),
        Step("Predict new rows, each with its alarm", "gbmap predict MODEL NEW --drift --out predicted.csv"),
        Step("Ask whether new rows are still like these", "gbmap drift MODEL NEW"),
    ]


def _python_steps(drift: Drift | None, *, of_table: bool) -> list[Step]:
    alarms = "DriftDetector(model).fit(X, y, X_cal=X_test, y_cal=y_test).predict(X_new)"
    beside = "make_report(model, X, y, ..., X_new=X_new)"
    if of_table:
        alarms, beside = "model.detector_.predict(model.features(X_new))", "gbmap.report(model, X_new)"
    if drift is not None:
        see = Step("See which of the new rows raise the alarm (-1)", alarms)
        return _steps_of_new(drift.findings, drift.verdict, drift.cause, see, "model.predict(X_new)")
    return [
        Step("Keep the model in a file", 'gbmap.save(model, "model.gbmap")'),
        Step("Put new rows beside these", beside),
        Step("See which of them raise the alarm (-1)", alarms),
    ]


def _steps_of_new(
    findings: Sequence[Mapping[str, Any]], verdict: str, cause: str, see: Step, predict: str
) -> list[Step]:
    """Return what to do about new rows: first of all what the verdict on them asks for."""
    mending = [each for each in findings if each["column"] is not None and each["degree"] == "act"]
    first = [_advised(each) for each in (mending or findings)[:1]]
    if cause in ("relation", "both"):
        first = [Step("Fit anew with labelled rows such as these", None)]
    once = " once that is settled" if verdict == "act" else ""
    return [*first, see, Step(f"Predict them{once}", predict)]


def _advised(finding: Mapping[str, Any]) -> Step:
    """Return what a finding asks for, and of which column."""
    advice = str(finding["advice"])
    if finding["column"] is not None:
        return Step(f"Column {shortened(sentence(finding['column']), _LONGEST_TARGET)!r}: {advice}", None)
    return Step(f"{advice[:1].upper()}{advice[1:]}", None)
