"""DriftMonitor: a detector that is asked again and again, with one error rate for its whole life."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.stats import betabinom
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbmap._utils.missing import known_labels
from gbmap._utils.sampling import seed_of
from gbmap._utils.scikit_learn import Interval, num_samples
from gbmap._utils.typing import Array
from gbmap.drift._arrivals import Arrivals, losses_of, names_of, seasons_of, times_of
from gbmap.drift._gauge import Gauge
from gbmap.drift._monitored import labels_of
from gbmap.drift._prometheus import exposition
from gbmap.drift._reading import read_rows
from gbmap.drift._state import SOURCES, MonitorState, Reference
from gbmap.drift.detector import DriftDetector
from gbmap.drift.loss_estimate import told_loss
from gbmap.drift.monitor_results import MonitorAlarm, MonitorUpdate


class DriftMonitor(BaseEstimator):  # type: ignore[misc]
    """Watch rows that come in batches, with one chance of a false alarm however often one looks.

    Two capitals bet against the hypothesis that new rows are exchangeable with the calibration rows: one on
    the detector's indicator, without labels, and one on the losses of rows whose labels are known. Each is
    a test martingale that begins with one, on p-values that rank a row among the calibration rows and all
    rows before it. By Ville's inequality the chance that a capital ever reaches 1 / a is at most a. The
    alarm is raised when the first reaches ``1 / (level * (1 - label_share))`` or the second ``1 / (level *
    label_share)``, so that the chance of a false alarm over the whole life is at most ``level``.

    Parameters
    ----------
    detector : DriftDetector
        Fitted, with calibration rows.
    level : float, default=0.05
        The chance of a false alarm, over all updates together.
    label_share : float, default=0.5
        The part of the level that is for losses; the other is for indicators. 0 if labels never come.
    block : int, default=1
        So many consecutive rows count as one, by the mean of their indicators and losses: for rows that
        depend on those just before them. Take it longer than they do so; it needs `calibrate`, with rows in
        the order of time.
    max_waiting : int, default=100_000
        Rows that wait for their labels; beyond it the oldest are given up.
    random_state : int, RandomState instance or None, default=None
        Seeds the random numbers that tell equal indicators apart.

    Attributes
    ----------
    n_rows_ : int
        Rows so far.
    n_labelled_ : int
        Those whose labels have come.
    n_waiting_ : int
        Those with an id whose labels have not.
    last_time_ : str
        The time of the last row, an empty text if none was given.
    alarms_ : list of MonitorAlarm
        Those raised: at most one for rows and one for labels.
    p_values_ : dict of float
        For "rows" and "labels", the chance that either capital comes as far as this one has at any time,
        without a change.
    state_ : object
        All that is kept, for files and pictures; what it holds may change with any version.

    See Also
    --------
    DriftDetector.assess : One batch beside the reference rows.
    gbmap.plots.MonitorDisplay : The life of a monitor as a picture.

    Notes
    -----
    The promise rests on exchangeability: without a change, calibration rows and new ones are equally likely
    in any order. Calibration rows that were held out at random are so. Rows of a time series that depend on
    those before are not (give ``block``), nor are rows whose kind follows the hour or the season (give
    ``season``), nor is it enough where rows are labelled by what they are. Cross-fitting calibrates with
    models that are a little worse than the final one, so that the promise holds nearly, mostly on the safe
    side.

    What is kept grows with the rows that wait for labels, and no further. Rows one at a time or in batches
    give the same capitals to the bit, and so does a monitor that was stored by `gbmap.save` on the way.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World, 2nd ed., 2022, for
    conformal test martingales; J. Ville, Étude critique de la notion de collectif, 1939, for the
    inequality; E. S. Page, Continuous inspection schemes, Biometrika 41, 1954, for where a change began.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.drift import DriftDetector, DriftMonitor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(800, 3))
    >>> y = X[:, 0] ** 2 + 0.1 * rng.normal(size=800)
    >>> model = GBMAPRegressor(5, random_state=0).fit(X[:400], y[:400])
    >>> detector = DriftDetector(model).fit(X[:400], y[:400], X_cal=X[400:], y_cal=y[400:])
    >>> monitor = DriftMonitor(detector, random_state=0)
    >>> for hour in range(20):
    ...     rows = rng.normal(size=(50, 3)) + [0 if hour < 10 else 2, 0, 0]
    ...     for alarm in monitor.update(rows, time=hour).new_alarms:
    ...         print(hour, alarm.since_time, alarm.columns[0])
    10 10 x0
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "detector": [DriftDetector],
        "level": [Interval(Real, 0, 1, closed="neither")],
        "label_share": [Interval(Real, 0, 1, closed="left")],
        "block": [Interval(Integral, 1, None, closed="left")],
        "max_waiting": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        detector: Any,
        *,
        level: float = 0.05,
        label_share: float = 0.5,
        block: int = 1,
        max_waiting: int = 100_000,
        random_state: Any = None,
    ):
        self.detector = detector
        self.level = level
        self.label_share = label_share
        self.block = block
        self.max_waiting = max_waiting
        self.random_state = random_state

    def calibrate(self, X: Any = None, y: Any = None, *, season: Any = None) -> Self:
        """Begin a new life: no rows so far, and no alarm. The first update does it if nobody has.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), default=None
            The rows to compare with, which the model was not trained on, in the order of time if ``block`` is
            above 1; None for the detector's own calibration rows. After a change for good, rows that came
            since.
        y : array-like of shape (n,) or (n, n_targets), default=None
            Their labels. Without them, losses are ranked among those that come only.
        season : value, or array-like of shape (n,), default=None
            What rows are ranked within, such as their hour or weekday. `update` asks for it then.

        Returns
        -------
        self : DriftMonitor
        """
        self._validate_params()
        check_is_fitted(self.detector)
        gauge = self.detector.gauge_
        reference = self._reference(gauge, X, y, season)
        if len(reference.indicators) < self.block:
            raise ValueError(
                f"X must have at least as many rows as a block, {self.block}, got "
                f"{len(reference.indicators)}; give more rows, or lower block."
            )
        self.state_ = MonitorState.of(gauge, reference, self.block, seed_of(self.random_state) % 2**64)
        return self

    def _reference(self, gauge: Gauge, X: Any, y: Any, season: Any) -> Reference:
        """Return the rows to compare with."""
        calibration = gauge.calibration
        if X is not None:
            ranks = gauge.ranks(gauge.measure(read_rows(self.detector, X)))
            losses = np.empty(0) if y is None else self.detector.indicator_and_loss(X, y)[1]
            return Reference(ranks, losses, seasons_of(season, len(ranks)), season is not None)
        needs = {"y": y is not None, "season": season is not None, "block": self.block > 1}
        for name, is_given in needs.items():
            if is_given:
                raise ValueError(
                    f"{name} needs rows to compare with, since the detector does not keep those that it was "
                    "calibrated with; pass X to calibrate, rows that the model was not trained on."
                )
        seasons = [""] * len(calibration.indicators)
        return Reference(calibration.indicators, calibration.losses, seasons, False)

    @property
    def _has_begun(self) -> bool:
        return hasattr(self, "state_")

    def _begin(self) -> None:
        if not self._has_begun:
            self.calibrate()

    def update(
        self, X: Any, y: Any = None, *, ids: Any = None, time: Any = None, season: Any = None
    ) -> MonitorUpdate:
        """Take the next rows, in the order in which they came.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Any number of rows; none changes nothing.
        y : array-like of shape (n,) or (n, n_targets), default=None
            Their labels; NaN or None where one is not known yet.
        ids : array-like of shape (n,), default=None
            Texts or whole numbers, by which labels are matched that come later. Rows without them wait for
            none.
        time : value, or array-like of shape (n,), default=None
            When the rows came: it is shown, and counts for nothing.
        season : value, or array-like of shape (n,), default=None
            As in `calibrate`.

        Returns
        -------
        update : MonitorUpdate
        """
        self._begin()
        n = num_samples(X)
        if n == 0:
            return self._tell(0, "")
        state = self.state_
        if (season is not None) != state.is_seasonal:
            rule = "must be given, as it was" if state.is_seasonal else "must be left out, as it was"
            raise ValueError(f"season {rule} in calibrate.")
        seasons, times = seasons_of(season, n), times_of(time, n)
        names = [] if ids is None else names_of(ids, n, state.waiting)
        batch = Arrivals.of(self.detector, X, y)
        # Nothing is refused from here on: an update counts whole, or not at all.
        state.take(batch, seasons, times)
        state.wait(batch, seasons, names, self.max_waiting)
        return self._tell(n, times[-1], batch)

    def add_labels(self, ids: Any, y: Any) -> MonitorUpdate:
        """Take labels of rows that came before, in the order of these rows.

        Parameters
        ----------
        ids : array-like of shape (n,)
            As they were given with the rows. Labels of others are counted, and not kept: give them again when
            their rows have come.
        y : array-like of shape (n,) or (n, n_targets)
            NaN or None is no label.

        Returns
        -------
        update : MonitorUpdate
        """
        self._begin()
        values = labels_of(y)
        names = names_of(ids, len(values), ())
        given = known_labels(values)
        state = self.state_
        used = [k for k in given if names[k] in state.waiting]
        used.sort(key=lambda k: state.waiting[names[k]][0])  # so that a change has a beginning
        if not used:
            return self._tell(0, "", n_unknown=len(given))
        rows, seasons, activity, outputs = state.waited([names[k] for k in used])
        losses = losses_of(self.detector.gauge_, outputs, values[used])
        for k in used:
            del state.waiting[names[k]]
        state.take_losses(losses, rows, activity, seasons)
        return self._tell(0, "", losses=losses, n_unknown=len(given) - len(used))

    def _tell(
        self,
        n: int,
        time: str,
        batch: Arrivals | None = None,
        losses: Array | None = None,
        n_unknown: int = 0,
    ) -> MonitorUpdate:
        """Raise alarms that are due, and say what is known after an update."""
        state = self.state_
        capitals = [state.evidence(source).martingale.log_capital for source in SOURCES]
        if len(state.timeline):
            state.timeline.set_levels(log_capital=capitals[0], label_log_capital=capitals[1])
        raised, p_values = {alarm.source for alarm in state.alarms}, self.p_values_
        due = [source for source in SOURCES if p_values[source] <= self.level and source not in raised]
        new = [self._alarm(source, time) for source in due]
        state.alarms += new
        losses = batch.losses if batch is not None else losses
        n_labelled = 0 if losses is None else len(losses)
        estimate = None if batch is None else batch.estimate
        return MonitorUpdate(
            n_rows=n,
            first_row=state.n_rows - n,
            time=time,
            n_labelled=n_labelled,
            n_unknown=n_unknown,
            share_of_alarms=None if batch is None else float(batch.is_alarm.mean()),
            batch_p_value=None if batch is None else self._of_one_look(batch.is_alarm),
            expected_loss=None if estimate is None else estimate.mean,
            expected_loss_interval=None if estimate is None else (estimate.mean_lower, estimate.mean_upper),
            mean_loss=float(losses.mean()) if losses is not None and n_labelled else None,
            p_value=min(p_values.values()),
            log_capital=capitals[0],
            label_log_capital=capitals[1],
            is_drifting=bool(state.alarms),
            new_alarms=new,
        )

    def _of_one_look(self, is_alarm: Array) -> float:
        """Return the chance of so many alarms in a batch like the calibration rows.

        Ranks of exchangeable rows make the number of those above the highest calibration row that is not
        above the threshold a beta-binomial one; no fewer are above that row than above the threshold.
        """
        state = self.state_
        above, below = state.n_above + 1, max(state.n_calibration - state.n_above, 1)
        return float(betabinom.sf(int(is_alarm.sum()) - 1, len(is_alarm), above, below))

    def _alarm(self, source: str, time: str) -> MonitorAlarm:
        state, gauge = self.state_, self.detector.gauge_
        suspects = state.alarmed if source == "rows" else state.wrong
        since, timeline = state.evidence(source).martingale.since, state.timeline
        columns = suspects.columns(since)
        names: Any = gauge.monitored.fitted.feature_names if columns else []
        regions = suspects.regions(since, gauge.drifter)
        ends = [timeline.mean(name, "n_rows", since) for name in ("lower", "upper")]
        return MonitorAlarm(
            source=source,
            row=state.n_rows - 1,
            time=time or timeline.ends[-1],
            since_row=since,
            since_time=state.start_times.get(str(since), timeline.begin_of(since)),
            p_value=self.p_values_[source],
            columns=[str(names[k]) for k, _ in columns],
            shares=[share for _, share in columns],
            regions=[text for text, _, _ in regions],
            region_shares=[share for _, share, _ in regions],
            region_reference_shares=[before for _, _, before in regions],
            share_of_alarms=timeline.mean("n_alarms", "n_rows", since),
            expected_loss=timeline.mean("expected", "n_rows", since),
            expected_loss_interval=None if None in ends else (float(ends[0] or 0.0), float(ends[1] or 0.0)),
            mean_loss=timeline.mean("realised", "n_labelled", since),
            calibration_loss=state.calibration_loss,
            metric=told_loss(gauge.calibration),
        )

    def to_prometheus(self, **labels: str) -> str:
        """Return what is known now in the text format of Prometheus.

        Parameters
        ----------
        **labels : str
            Labels of every line, such as ``model="houses"``.

        Returns
        -------
        text : str
            Counts, the verdict, its p-values, and alarms and losses of the last batch.
        """
        self._begin()
        return exposition(self, labels)

    def is_of(self, detector: DriftDetector) -> bool:
        """Return whether a detector is the one that is asked, or the same one loaded from another file.

        Parameters
        ----------
        detector : DriftDetector
            Fitted.

        Returns
        -------
        is_same : bool
        """
        own, other = self.detector.gauge_, detector.gauge_
        if own.known is None or other.known is None:
            return False
        return all(np.array_equal(*pair, equal_nan=True) for pair in zip(own.marks, other.marks))

    @property
    def _level_shares(self) -> dict[str, float]:
        """The part of the level that each source of evidence has."""
        return {"rows": 1 - self.label_share, "labels": self.label_share}

    @property
    def p_values_(self) -> dict[str, float]:
        """For "rows" and "labels", the chance that either capital comes as far as this one has."""
        if not self._has_begun:
            return dict.fromkeys(SOURCES, 1.0)
        return {source: self.state_.p_value(source, share) for source, share in self._level_shares.items()}

    @property
    def n_rows_(self) -> int:
        """Rows so far."""
        return self.state_.n_rows if self._has_begun else 0

    @property
    def n_labelled_(self) -> int:
        """Rows whose labels have come."""
        return self.state_.n_labelled if self._has_begun else 0

    @property
    def alarms_(self) -> list[MonitorAlarm]:
        """Alarms that were raised."""
        return self.state_.alarms if self._has_begun else []

    @property
    def last_time_(self) -> str:
        """The time of the last row, as text; empty if none was given."""
        return self.state_.timeline.ends[-1] if self.n_rows_ else ""

    @property
    def n_waiting_(self) -> int:
        """The number of rows that wait for their labels."""
        return len(self.state_.waiting) if self._has_begun else 0
