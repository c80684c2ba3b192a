"""What comes with the rows of a batch: labels that may be missing, ids, times and seasons."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.arrays import in_memory
from gbmap._utils.missing import known_labels, plain_labels
from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array, IntArray
from gbmap.drift._calibration import Measures
from gbmap.drift._drifter import Drifter
from gbmap.drift._gauge import Gauge
from gbmap.drift._monitored import labels_of
from gbmap.drift._reading import read_rows
from gbmap.drift._suspects import activity_of
from gbmap.drift.detector import DriftDetector
from gbmap.drift.loss_estimate import LossEstimate

_EXPLAINED = 200  # alarmed rows of a batch whose columns are looked at: the last ones
_CONFIDENCE = 0.9  # of the interval of the expected loss
_LONGEST_ID = 200  # characters


@dataclass(frozen=True)
class Arrivals:
    """The rows of a batch, as the detector sees them.

    Attributes
    ----------
    indicators, is_alarm : arrays of shape (n,)
    estimate : LossEstimate
    outputs : array of shape (n, K)
        What losses are taken of.
    activity : array of shape (n, B) of uint8
        Which learners are active.
    labelled : integer array of shape (l,)
        The positions of the rows whose labels are known.
    losses : array of shape (l,)
    explained : integer array of shape (e,)
        The positions of the alarmed rows whose columns were looked at.
    shares : array of shape (e, p)
        The sizes of the shares of columns in their f - f_kNN; p is zero if the detector does not explain.
    strange : boolean array of shape (e, p)
        Which columns make these rows strange.
    """

    indicators: Array
    is_alarm: Array
    estimate: LossEstimate
    outputs: Array
    activity: Array
    labelled: IntArray
    losses: Array
    explained: IntArray
    shares: Array
    strange: Array

    @classmethod
    def of(cls, detector: DriftDetector, X: Any, y: Any) -> Arrivals:
        """Read rows with labels, all of which may be missing."""
        gauge, X = detector.gauge_, read_rows(detector, X)
        seen, outputs, activity = _seen(gauge, X)
        values = None if y is None else labels_of(y)
        if values is not None and len(values) != len(outputs):
            raise ValueError(f"y must have as many rows as X, {len(outputs)}, got {len(values)}.")
        labelled = np.empty(0, dtype=np.intp) if values is None else known_labels(values)
        losses = np.empty(0)
        if values is not None and len(labelled):
            losses = losses_of(gauge, outputs[labelled], values[labelled])
        raised = gauge.alarm.raised(seen)
        is_alarm = np.zeros(len(outputs), dtype=bool) if raised is None else raised
        explained = np.flatnonzero(is_alarm)[-_EXPLAINED:]
        shares, strange = _reasons(gauge, X, explained)
        return cls(
            indicators=gauge.ranks(seen),
            is_alarm=is_alarm,
            estimate=gauge.estimate(seen, _CONFIDENCE),
            outputs=outputs,
            activity=activity,
            labelled=labelled,
            losses=losses,
            explained=explained,
            shares=shares,
            strange=strange,
        )


def _seen(gauge: Gauge, X: Any) -> tuple[Measures, Array, Array]:
    """Return the measures of rows, what losses are taken of, and which learners are active."""
    monitored, parts = gauge.monitored, []
    for some, rows, measures in gauge.look(X):
        activity = activity_of(monitored.fitted.ensemble, rows)
        parts.append((measures, monitored.outputs(some, rows.scores), activity))
    all_measures, outputs, activities = zip(*parts)
    return Measures.join(all_measures), np.concatenate(outputs), np.concatenate(activities)


def _reasons(gauge: Gauge, X: Any, rows: IntArray) -> tuple[Array, Array]:
    """Return the sizes of the shares of columns, and which columns make rows strange."""
    if not isinstance(gauge.drifter, Drifter) or not len(rows):
        return np.empty((len(rows), 0)), np.empty((len(rows), 0), dtype=bool)
    found = gauge.drifter.explain(safe_indexing(X, rows))
    return found.sizes, found.strange


def losses_of(gauge: Gauge, outputs: Array, y: Array) -> Array:
    """Return the losses of rows whose outputs are known and whose labels are all there."""
    labels, classes = plain_labels(y), gauge.monitored.classes
    if classes is not None and labels.ndim == 1:
        known = classes.tolist()
        if new := sorted(set(labels.tolist()) - set(known), key=str):
            raise ValueError(
                f"y must hold classes that the model knows, {known}, got {new} too; pass None in their "
                "place, so that rows count by columns alone; DriftDetector.verdict tells of new classes."
            )
    return gauge.monitored.outcome_of(outputs, labels).losses


def names_of(ids: Any, n: int, taken: Collection[str]) -> list[str]:
    """Return ids as texts: each once, and none of those taken."""
    values = np.asarray(in_memory(ids), dtype=object)
    if values.shape != (n,):
        raise ValueError(f"ids must be a list of as many as there are rows, {n}, got shape {values.shape}.")
    names = [_name(each) for each in values.tolist()]
    seen = set[str]()
    for name in names:
        if name in seen:
            raise ValueError(f"ids must differ from each other, got {name!r} twice.")
        if name in taken:
            raise ValueError(
                f"ids must differ from those of rows that wait for labels, got {name!r}; leave out rows that "
                "were given before."
            )
        seen.add(name)
    return names


def _name(value: Any) -> str:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (is_whole or isinstance(value, str)) or len(str(value)) > _LONGEST_ID:
        shown = repr(value)[:50]
        raise ValueError(
            f"ids must be texts of at most {_LONGEST_ID} characters, or whole numbers, got {shown}."
        )
    return str(value)


def seasons_of(season: Any, n: int) -> list[str]:
    """Return the season of each row as text; empty texts for None."""
    return [""] * n if season is None else _texts(season, n, "season")


def times_of(time: Any, n: int) -> list[str]:
    """Return the time of each row as text; empty texts for None."""
    return [""] * n if time is None else _texts(time, n, "time")


def _texts(values: Any, n: int, name: str) -> list[str]:
    """Return one text a row, of one value for all of them or of one each."""
    if isinstance(values, str) or not hasattr(values, "__len__"):
        return [_text(values)] * n
    if len(values) != n:
        raise ValueError(f"{name} must be one value, or one for each of {n} rows, got {len(values)}.")
    return [_text(each) for each in np.asarray(in_memory(values))]


def _text(value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    text = str(value)
    # Nanoseconds that are all zero say nothing.
    return text.removesuffix(".000000000") if isinstance(value, np.datetime64) else text
