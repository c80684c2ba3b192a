"""What a monitor says: of each batch, and when it raises its alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gbmap._utils.glossary import name_of
from gbmap._utils.plain import plain
from gbmap._utils.shown import Result, Shown, cell, percents
from gbmap._utils.text import counted, number
from gbmap.drift.loss_estimate import as_told

_TOLD = 3  # columns in a summary


@dataclass(frozen=True, repr=False)
class MonitorAlarm(Result):
    """What a monitor knew when the evidence passed its level.

    Attributes
    ----------
    source : {"rows", "labels"}
        What gave it away: rows that are unlike those of the calibration, or losses that are larger than
        theirs.
    row, time : int and str
        The row, counted from 0 over the monitor's life, with which it was raised, and the time of its
        batch; an empty text if times are not given.
    since_row, since_time : int and str
        Where the change is likeliest to have begun, and the time at which that row's batch begins.
    p_value : float
        The chance of as much evidence, at any time, without a change.
    columns, shares : lists of str and float
        The columns behind alarmed rows since then, and the mean size of their shares in f - f_kNN. Those to
        blame for most rows come first: for a strange row, with a category that was not seen or without a
        value that was never missing, the columns that make it so, for others those with large shares. Empty
        for labels, and for a detector that does not explain.
    regions : list of str
        Where such rows lie, in words: at most three, the largest surplus first.
    region_shares, region_reference_shares : lists of float
        The shares of such rows and of the reference rows there.
    share_of_alarms : float or None
        Of rows, since then. This and the next are means over the batches since the one of ``since_row``.
    expected_loss, expected_loss_interval : float and tuple of two, or None
        What the detector expects of the loss since then; the ends of the interval are means of those of the
        batches, which is wider than one for all of them.
    mean_loss : float or None
        The mean of the losses that are known of rows since then.
    calibration_loss : float
        The mean loss of the calibration rows.
    metric : {"rmse", "log_loss", "loss"}
        What the summary tells the mean losses by: "rmse" is their root.
    summary : str
        All of it in a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.drift import DriftDetector, DriftMonitor
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> detector = DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(X[:500], X[:500, 0])
    >>> alarm = DriftMonitor(detector, random_state=0).update(X[500:] + [4, 0]).new_alarms[0]
    >>> alarm.source, alarm.columns[0]
    ('rows', 'x0')
    """

    source: str
    row: int
    time: str
    since_row: int
    since_time: str
    p_value: float
    columns: list[str]
    shares: list[float]
    regions: list[str]
    region_shares: list[float]
    region_reference_shares: list[float]
    share_of_alarms: float | None
    expected_loss: float | None
    expected_loss_interval: tuple[float, float] | None
    mean_loss: float | None
    calibration_loss: float
    metric: str

    @property
    def summary(self) -> str:
        """The alarm in a sentence."""
        since = self.since_time or f"row {self.since_row:,}"
        what = "rows are unlike those of the calibration"
        if self.source == "labels":
            what = "losses are larger than those of the calibration"
            # They are compared by rank, so that a few large ones may make the mean of the calibration larger.
            if self.mean_loss is not None and self.mean_loss <= self.calibration_loss:
                what = "more losses are large than of the calibration, though their mean is no larger"
        parts = [f"Since about {since}, {what}"]
        if self.columns:
            parts.append(f"by {', '.join(self.columns[:_TOLD])}")
        if self.regions:
            parts.append(f"most where {self.regions[0]}")
        text = "; ".join(parts)
        if self.mean_loss is not None:
            return f"{text}. {self._told(self.calibration_loss)} -> {self._number(self.mean_loss)} since."
        if self.expected_loss is not None:
            told = self._told(self.calibration_loss)
            return f"{text}. {told} before, {self._number(self.expected_loss)} expected since."
        return f"{text}."

    def _told(self, loss: float) -> str:
        name = "mean loss" if self.metric == "loss" else name_of(self.metric)
        return f"{name[0].upper()}{name[1:]} {self._number(loss)}"

    def _number(self, loss: float) -> str:
        return number(float(as_told(self.metric, loss)))

    def _shown(self) -> Shown:
        return Shown(self.summary, {"column": self.columns, "share": self.shares} if self.columns else {})

    def to_dict(self) -> dict[str, Any]:
        """Return the alarm as plain data, as JSON has it.

        Returns
        -------
        alarm : dict
            A key per attribute.
        """
        return plain(self) | {"summary": self.summary}


@dataclass(frozen=True, repr=False)
class MonitorUpdate(Result):
    """What a monitor says after a batch, or after labels.

    Attributes
    ----------
    n_rows : int
        Rows of the batch; 0 for labels that came later.
    first_row : int
        The number of the first of them, over the monitor's life.
    time : str
        The time of the last row, or an empty text.
    n_labelled, n_unknown : int
        Labels that were used, and those of ids that no waiting row has.
    share_of_alarms : float or None
        Of the batch.
    batch_p_value : float or None
        The quick signal: the chance of so many alarms among as many rows like those of the calibration. It
        holds for one look. Looked at every time it is below a level as often as the level says, for ever;
        over many looks some are by chance.
    expected_loss, expected_loss_interval : float and tuple of two, or None
        Of the batch, as by `DriftDetector.estimate_loss`.
    mean_loss : float or None
        Of the labels that were used.
    p_value : float
        The chance of as much evidence as there has been, at any time so far, without a change: it may be
        looked at as often as one likes. At most ``level`` once the alarm has been raised.
    log_capital, label_log_capital : float
        The logarithms of the two capitals now; see `DriftMonitor`.
    is_drifting : bool
        Whether the alarm has been raised, now or before.
    new_alarms : list of MonitorAlarm
        Those raised by this update; mostly none.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.drift import DriftDetector, DriftMonitor
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> detector = DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(X[:500], X[:500, 0])
    >>> update = DriftMonitor(detector, random_state=0).update(X[500:])
    >>> update.n_rows, update.is_drifting
    (100, False)
    """

    n_rows: int
    first_row: int
    time: str
    n_labelled: int
    n_unknown: int
    share_of_alarms: float | None
    batch_p_value: float | None
    expected_loss: float | None
    expected_loss_interval: tuple[float, float] | None
    mean_loss: float | None
    p_value: float
    log_capital: float
    label_log_capital: float
    is_drifting: bool
    new_alarms: list[MonitorAlarm]

    def _shown(self) -> Shown:
        told = [counted(self.n_rows, "row"), "drift" if self.is_drifting else "no drift so far"]
        told.append(f"p-value {cell(self.p_value)}")
        if self.share_of_alarms is not None:
            told.append(f"{percents(self.share_of_alarms)} of rows raise the alarm")
        if self.expected_loss is not None:
            told.append(f"expected loss {cell(self.expected_loss)}")
        if self.mean_loss is not None:
            told.append(f"mean loss {cell(self.mean_loss)} of {counted(self.n_labelled, 'label')}")
        return Shown(", ".join(told), {"alarm": [each.summary for each in self.new_alarms]})

    def to_dict(self) -> dict[str, Any]:
        """Return the update as plain data, as JSON has it.

        Returns
        -------
        update : dict
            A key per attribute.
        """
        return plain(self) | {"new_alarms": [each.to_dict() for each in self.new_alarms]}
