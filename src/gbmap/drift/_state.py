"""What a monitor knows: all that it keeps of the rows and labels it has seen, in memory and in files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._utils.typing import Array, IntArray
from gbmap.drift._arrivals import Arrivals
from gbmap.drift._gauge import Gauge
from gbmap.drift._stream import Stream
from gbmap.drift._suspects import Suspects
from gbmap.drift._timeline import Timeline
from gbmap.drift.monitor_results import MonitorAlarm

SOURCES = ("rows", "labels")  # of evidence
_HIGH = 0.95  # rows with a loss above this quantile of the calibration's are those whose regions are told


@dataclass(frozen=True)
class Reference:
    """The rows that a monitor compares with.

    Attributes
    ----------
    indicators : array of shape (n,)
        What they are ranked by.
    losses : array
        Of those with labels, in their order; none if labels are not known.
    seasons : list of n str
    is_seasonal : bool
        Whether seasons were given.
    """

    indicators: Array
    losses: Array
    seasons: list[str]
    is_seasonal: bool


@dataclass
class MonitorState:
    """The state of a monitor: what changes with every update, and nothing else does.

    Attributes
    ----------
    is_seasonal : bool
        Whether rows are ranked within seasons.
    of_rows, of_labels : Stream
        The evidence of indicators and of losses.
    n_calibration, n_above : int
        The rows compared with, and those of them that raise the alarm.
    calibration_loss, high_loss : float
        Their mean loss, and the loss that few of them exceed.
    timeline : Timeline
        The batches.
    alarmed, wrong : Suspects
        The last rows that raised the alarm, and those with a high loss.
    waiting : dict of lists
        Rows that wait for their labels, by id: row, season, active learners, outputs.
    start_times : dict of str
        The times of the rows at which a change may have begun.
    n_labelled : int
        Rows whose labels have come.
    alarms : list of MonitorAlarm
        Those raised.
    marks : list of str
        What tells the rows of the last time from others, for who keeps it: they may be given again.
    """

    is_seasonal: bool
    of_rows: Stream
    of_labels: Stream
    n_calibration: int
    n_above: int
    calibration_loss: float
    high_loss: float
    timeline: Timeline
    alarmed: Suspects
    wrong: Suspects
    waiting: dict[str, list[Any]]
    start_times: dict[str, str]
    n_labelled: int
    alarms: list[MonitorAlarm]
    marks: list[str]

    @classmethod
    def of(cls, gauge: Gauge, reference: Reference, block: int, seed: int) -> Self:
        """Return the state before the first row."""
        indicators, losses, seasons = reference.indicators, reference.losses, reference.seasons
        known = losses if len(losses) else gauge.calibration.losses
        return cls(
            is_seasonal=reference.is_seasonal,
            of_rows=Stream.of(seed, block, indicators, seasons, gauge.alarm.rounding),
            of_labels=Stream.of(seed + 1, block, losses, seasons[: len(losses)], 0.0),
            n_calibration=len(indicators),
            n_above=gauge.alarm.n_above(indicators),
            calibration_loss=float(known.mean()),
            high_loss=float(np.quantile(known, _HIGH)),
            timeline=Timeline.new(),
            alarmed=Suspects.new(),
            wrong=Suspects.new(),
            waiting={},
            start_times={},
            n_labelled=0,
            alarms=[],
            marks=[],
        )

    @property
    def n_rows(self) -> int:
        """Rows so far."""
        return int(self.timeline["n_rows"].sum())

    @property
    def calibration_alarm_share(self) -> float:
        """The share of the rows compared with that raise the alarm."""
        return self.n_above / self.n_calibration

    def evidence(self, source: str) -> Stream:
        """Return the evidence of a source."""
        return self.of_labels if source == "labels" else self.of_rows

    def p_value(self, source: str, share: float) -> float:
        """Return the chance that either capital comes as far as this one has, by Ville's inequality."""
        if share == 0:
            return 1.0
        return float(min(1.0, np.exp(-self.evidence(source).martingale.log_peak) / share))

    def take(self, batch: Arrivals, seasons: list[str], times: list[str]) -> None:
        """Take the next rows, with those labels that are known."""
        n, estimate, first = len(batch.outputs), batch.estimate, self.n_rows
        rows = np.arange(first, first + n)
        self.timeline.add(
            times[0],
            times[-1],
            first_row=first,
            n_rows=n,
            n_alarms=int(batch.is_alarm.sum()),
            expected=n * estimate.mean,
            lower=n * estimate.mean_lower,
            upper=n * estimate.mean_upper,
        )
        self.alarmed.add(rows[batch.explained], batch.shares, batch.activity[batch.explained], batch.strange)
        self.of_rows.add(batch.indicators, rows, seasons)
        labelled = batch.labelled
        known_seasons = [seasons[k] for k in labelled]
        self.take_losses(batch.losses, rows[labelled], batch.activity[labelled], known_seasons)
        starts = {int(row) for each in (self.of_rows, self.of_labels) for row in each.martingale.starts}
        known = self.start_times | {
            str(row): time for row, time in zip(rows.tolist(), times) if row in starts
        }
        self.start_times = {row: time for row, time in known.items() if int(row) in starts}

    def take_losses(self, losses: Array, rows: IntArray, activity: Array, seasons: list[str]) -> None:
        """Take the losses of rows that have come, now or before."""
        for row, loss in zip(rows.tolist(), losses.tolist()):
            self.timeline.add_label(row, loss)
        is_high = losses > self.high_loss
        none = np.empty((int(is_high.sum()), 0))
        self.wrong.add(rows[is_high], none, activity[is_high], none.astype(bool))
        self.of_labels.add(losses, rows, seasons)
        self.n_labelled += len(losses)

    def wait(self, batch: Arrivals, seasons: list[str], names: list[str], most: int) -> None:
        """Keep what is needed of the last rows, whose labels may come; of so many rows at most."""
        known, first = set(batch.labelled.tolist()), self.n_rows - len(batch.outputs)
        for k, name in enumerate(names):
            if k not in known:
                active = batch.activity[k].tobytes().hex()
                self.waiting[name] = [first + k, seasons[k], active, *batch.outputs[k].tolist()]
        for name in list(self.waiting)[: max(len(self.waiting) - most, 0)]:
            del self.waiting[name]

    def waited(self, names: list[str]) -> tuple[IntArray, list[str], Array, Array]:
        """Return rows, seasons, active learners and outputs of rows that wait."""
        found = [self.waiting[name] for name in names]
        return (
            np.array([each[0] for each in found], dtype=np.intp),
            [each[1] for each in found],
            np.array([list(bytes.fromhex(each[2])) for each in found], dtype=np.uint8),
            np.array([each[3:] for each in found]),
        )
