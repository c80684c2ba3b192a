"""MonitorDisplay: the life of a monitor, its losses, alarms and evidence over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np

from gbmap._drawing.axes import BLUE, GREY, ORANGE, SKY, VERMILLION, axes, cut, fit_text, legend, scale
from gbmap._drawing.display import Display
from gbmap._utils.glossary import name_of
from gbmap._utils.typing import Array
from gbmap.drift._history import MonitorHistory

_PANELS = 3
_GAP = 0.06  # between panels, of the height of the picture
_MOST_CAPITAL = 30.0  # powers of ten beyond which a capital only says: very large
_NAMED = 3  # columns behind an alarm


@dataclass(repr=False, eq=False)
class MonitorDisplay(Display):
    """Errors, share of alarms and evidence over time, with the changes that were found.

    Parameters
    ----------
    position : array of shape (n,)
        Where batches lie: times, or numbers of rows.
    expected, lower, upper : arrays of shape (n,)
        The error to expect of each batch, and its interval: the RMSE, the log loss, or the mean of another
        loss.
    realised : array of shape (n,)
        That of the rows whose labels are known; NaN where none is.
    alarm_share : array of shape (n,)
    log_capital, label_log_capital : arrays of shape (n,)
        The logarithms of the capitals that bet against no change.
    thresholds : tuple of two float
        Those logarithms at which the alarm is raised; infinite for never.
    calibration_loss, calibration_alarm_share : float
    changes : sequence of tuples (since, raised, words), default=()
        The positions at which changes began and were found, and what is behind them.
    position_label : str, default="rows"
    error_label : str, default="loss"

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.drift import DriftDetector, DriftMonitor
    >>> from gbmap.plots import MonitorDisplay
    >>> X = np.random.default_rng(0).normal(size=(900, 2))
    >>> detector = DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(X[:500], X[:500, 0])
    >>> monitor = DriftMonitor(detector, random_state=0)
    >>> for batch in range(8):
    ...     update = monitor.update(X[500 + 50 * batch : 550 + 50 * batch] + [batch // 2, 0])
    >>> display = MonitorDisplay.from_estimator(monitor)
    >>> len(display.changes)
    1
    >>> plt.close(display.figure_)
    """

    position: Any
    expected: Any
    lower: Any
    upper: Any
    realised: Any
    alarm_share: Any
    log_capital: Any
    label_log_capital: Any
    thresholds: tuple[float, float]
    calibration_loss: float
    calibration_alarm_share: float
    changes: Any = ()
    position_label: str = "rows"
    error_label: str = "loss"
    panels_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(cls, monitor: Any, *, n_batches: int = 100, ax: Any = None) -> Self:
        """Draw the life of a monitor so far.

        Parameters
        ----------
        monitor : DriftMonitor
            One that has seen rows.
        n_batches : int, default=100
            The most that are drawn; of more, neighbouring ones count as one.
        ax : matplotlib Axes, default=None
            None makes a figure.

        Returns
        -------
        display : MonitorDisplay
        """
        if not (isinstance(n_batches, Integral) and n_batches >= 1):
            raise ValueError(f"n_batches must be a whole number of at least 1, got {n_batches!r}.")
        history = MonitorHistory.of(monitor, int(n_batches))
        axis = history.axis
        changes = zip(axis.begins[history.since], axis.ends[history.raised], map(_words, history.alarms))
        return cls(
            axis.ends,
            history.expected,
            history.lower,
            history.upper,
            history.realised,
            history.alarm_share,
            history.log_capitals["rows"],
            history.log_capitals["labels"],
            (history.thresholds["rows"], history.thresholds["labels"]),
            history.calibration_loss,
            history.calibration_alarm_share,
            list(changes),
            "row" if axis.kind == "row" else "time",
            name_of(history.metric),
        ).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, (8.0, 7.2))
        ax.set_axis_off()
        height = (1 - (_PANELS - 1) * _GAP) / _PANELS
        self.panels_ = [ax.inset_axes([0, k * (height + _GAP), 1, height]) for k in reversed(range(_PANELS))]
        for panel, draw in zip(self.panels_, (self._draw_loss, self._draw_alarms, self._draw_evidence)):
            entries, changes = draw(panel), self._draw_changes(panel)
            panel.spines[["top", "right"]].set_visible(False)
            panel.grid(alpha=0.3)
            panel.tick_params(labelsize=9 * scale(ax))
            panel.yaxis.label.set_fontsize(9 * scale(ax))
            panel.set_xlim(*_widened(np.asarray(self.position)))
            panel.xaxis.set_tick_params(labelbottom=panel is self.panels_[-1])
            drawn = legend(panel, entries + (changes if panel is self.panels_[0] else []))
            drawn.set_loc("upper left")
            for text in drawn.get_texts():
                text.set_fontsize(7.5 * scale(ax))
        self.panels_[-1].set_xlabel(self.position_label, fontsize=9 * scale(ax))
        words = [words for *_, words in self.changes]
        title = self.panels_[0].set_title("\n".join(words) or "no change found", fontsize=10 * scale(ax))
        fit_text(ax, title)
        return ax

    def _draw_loss(self, panel: Any) -> list[tuple[Any, str]]:
        band = panel.fill_between(
            self.position, self.lower, self.upper, color=SKY, alpha=0.35, linewidth=0, step=None
        )
        (line,) = panel.plot(self.position, self.expected, color=BLUE, linewidth=1.5)
        level = panel.axhline(self.calibration_loss, color=GREY, linestyle="--", linewidth=1)
        entries = [(line, "expected"), (band, "its interval"), (level, "on calibration rows")]
        is_known = np.isfinite(np.asarray(self.realised, dtype=np.float64))
        if is_known.any():
            known = np.asarray(self.position)[is_known], np.asarray(self.realised)[is_known]
            (dots,) = panel.plot(*known, "o", color=ORANGE, markersize=3)
            entries.insert(0, (dots, "known"))
        panel.set_ylabel(self.error_label)
        self._bound(panel, is_known)
        return entries

    def _bound(self, panel: Any, is_known: Array) -> None:
        """Let the interval leave the picture where it would make lines of the rest of it."""
        told = np.concatenate([np.asarray(self.expected), np.asarray(self.realised)[is_known]])
        top = 1.6 * max(float(told.max()), self.calibration_loss)
        panel.set_ylim(0, min(top, 1.05 * max(float(np.max(self.upper)), float(told.max()))) or 1.0)

    def _draw_alarms(self, panel: Any) -> list[tuple[Any, str]]:
        (line,) = panel.plot(self.position, 100 * np.asarray(self.alarm_share), color=BLUE, linewidth=1.5)
        usual = 100 * self.calibration_alarm_share
        level = panel.axhline(usual, color=GREY, linestyle="--", linewidth=1)
        panel.set(ylabel="rows with an alarm, %", ylim=(0, None))
        return [(line, "alarms"), (level, "of calibration rows")]

    def _draw_evidence(self, panel: Any) -> list[tuple[Any, str]]:
        entries = []
        kinds = (("rows", self.log_capital, BLUE), ("labels", self.label_log_capital, ORANGE))
        for (name, capital, color), threshold in zip(kinds, self.thresholds):
            if not np.isfinite(threshold) or not np.any(capital):
                continue
            # Of the size that raises the alarm, so that one line is the level for both.
            size = np.clip((np.asarray(capital) - threshold) / np.log(10), None, _MOST_CAPITAL)
            (line,) = panel.plot(self.position, size, color=color, linewidth=1.5)
            entries.append((line, f"from {name}"))
        level = panel.axhline(0.0, color=VERMILLION, linewidth=1)
        panel.set_ylabel("evidence, powers of ten")
        return [*entries, (level, "alarm")]

    def _draw_changes(self, panel: Any) -> list[tuple[Any, str]]:
        entries = {}
        for since, raised, _ in self.changes:
            entries["change, about"] = panel.axvline(since, color=VERMILLION, linestyle=":", linewidth=1.2)
            entries["alarm raised"] = panel.axvline(raised, color="black", linestyle="-.", linewidth=0.9)
        return [(line, name) for name, line in entries.items()]


def _words(alarm: Any) -> str:
    columns = [cut(name, 24).replace("$", r"\$") for name in alarm.columns[:_NAMED]]
    what = "rows are unlike before" if alarm.source == "rows" else "more losses are large than before"
    return f"{what}: {', '.join(columns)}" if columns else what


def _widened(position: Array) -> tuple[Any, Any]:
    """Return the ends of the axis; of one batch, a little beside it."""
    low, high = position.min(), position.max()
    if low == high:
        one = np.timedelta64(1, "h") if position.dtype.kind == "M" else 1
        return low - one, high + one
    beyond = (high - low) * 0.02
    return low - beyond, high + beyond
