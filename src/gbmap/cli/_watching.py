"""The rows of a table as batches in the order of time, and the monitor that they go to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gbmap
from gbmap._utils.glossary import name_of
from gbmap._utils.plain import plain
from gbmap._utils.replacing import replacing
from gbmap._utils.text import counted, number, percent
from gbmap._utils.typing import Array
from gbmap.cli._errors import Code, UsageError
from gbmap.cli._models import frames_of, load_model, need_detector, open_data, targets_of
from gbmap.cli._outputs import Output
from gbmap.cli._screen import Page, Progress, Screen, write
from gbmap.drift import ConstantColumn, DriftMonitor
from gbmap.drift.constants import joined
from gbmap.drift.loss_estimate import as_told, told_loss
from gbmap.tables import TableError

PERIODS = {"hour": "h", "day": "D", "week": "W", "month": "M"}
_PICTURES = (".png", ".svg", ".pdf")
_SHOWN_BATCHES = 40
_ID = "\0id"  # no column is called so


@dataclass(frozen=True)
class Watch:
    """What is asked of a monitor on the command line."""

    time: str | None
    every: str | None
    id: str | None
    labels: Path | None
    state: Path | None
    metrics: Path | None
    picture: Path | None

    @property
    def n_rows(self) -> int | None:
        """The rows of a batch, if it is so many; None for a period or all of them."""
        return None if self.every is None or self.every in PERIODS else int(self.every)

    def check(self) -> None:
        """Refuse what does not go together."""
        every = self.every
        if every is not None and every not in PERIODS and not (every.isdecimal() and int(every) > 0):
            raise UsageError(f"--every must be {', '.join(PERIODS)} or a number of rows, got {every}.")
        if every in PERIODS and self.time is None:
            raise UsageError(f"--every {every} needs --time, the column that says when; or give a number.")
        if self.labels is not None and (self.id is None or self.state is None):
            raise UsageError("--labels needs --id and --state: labels are matched with rows seen before.")


def watch(model: Path, data: Path, asked: Watch, level: float, screen: Screen, *, no_overwrite: bool) -> int:
    """Let a monitor see the rows of a table, batch by batch, and say what it found."""
    asked.check()
    loaded = load_model(model)
    need_detector(loaded, model)
    outputs = _outputs(asked, model, data, no_overwrite=no_overwrite)
    monitor = _monitor(loaded, asked.state, level)
    with screen.progress() as progress:
        rows = _Rows.of(loaded, data, asked, progress)
    goes_on = asked.state is not None and asked.time is not None
    last = monitor.last_time_
    if goes_on:
        rows = rows.after(monitor, screen)
    told = [monitor.update(**batch) for batch in rows.batches(asked)]
    if goes_on and len(rows):
        rows.remember(monitor, last)
    if asked.labels is not None:
        told.append(monitor.add_labels(*_labels(loaded, asked, screen)))
    _write(monitor, asked, model)
    for output in outputs:
        output.tell(screen)
    lines = [each.to_dict() for each in told]
    if screen.json:
        for line in lines:
            write(json.dumps(plain(line), allow_nan=False) + "\n")
    else:
        page = Page()
        _show(page, monitor, lines)
        page.print()
    return Code.DRIFT if monitor.alarms_ else Code.FINE


def watched(
    model: Any, data: Path | None, asked: Watch, level: float, progress: Progress
) -> tuple[DriftMonitor, Any, Array | None, tuple[ConstantColumn, ...]]:
    """Return a new monitor that has seen the rows of a table, their features, targets and constants."""
    monitor = _monitor(model, None, level)
    rows = _Rows.of(model, data, asked, progress)  # type: ignore[arg-type]
    for batch in rows.batches(asked):
        monitor.update(**batch)
    return monitor, rows.features, rows.targets, rows.constants


def _outputs(asked: Watch, model: Path, data: Path, *, no_overwrite: bool) -> list[Output]:
    """Return the files to write; the state goes on from itself, so that it may be there."""
    files = {"--metrics": (asked.metrics, (".prom", ".txt")), "--picture": (asked.picture, _PICTURES)}
    outputs = [
        Output.at(path, endings, data, model, asked.labels, no_overwrite=no_overwrite, option=option)
        for option, (path, endings) in files.items()
        if path is not None
    ]
    if asked.state is not None:
        Output.at(asked.state, (".gbmap",), data, model, asked.labels, no_overwrite=False, option="--state")
    return outputs


def _monitor(model: Any, state: Path | None, level: float) -> DriftMonitor:
    """Return the monitor to go on with, or a new one."""
    if state is None or not state.exists():
        return DriftMonitor(model.detector_, level=level, random_state=model.random_state).calibrate()
    monitor = gbmap.load(state)
    if not isinstance(monitor, DriftMonitor):
        raise ValueError(f"{state} must hold a monitor, got a {type(monitor).__name__}; name another file.")
    if not monitor.is_of(model.detector_):
        raise ValueError(
            f"{state} is the state of another model's monitor; name another file, which begins a new one."
        )
    if not np.isclose(monitor.level, level):
        raise UsageError(
            f"{state} was begun with --confidence {1 - monitor.level:g}, got {1 - level:g}; keep it, or name "
            "another file, which begins a new one."
        )
    return monitor


def _write(monitor: DriftMonitor, asked: Watch, model: Path) -> None:
    if asked.picture is not None:
        from gbmap.plots import MonitorDisplay

        with replacing(asked.picture) as file:
            figure = MonitorDisplay.from_estimator(monitor).figure_
            figure.savefig(file, format=asked.picture.suffix[1:], dpi=150)
    if asked.metrics is not None:
        with replacing(asked.metrics) as file:
            file.write(monitor.to_prometheus(model=model.name).encode())
    if asked.state is not None:  # last: what fails before leaves the old one, and the rows can be given again
        gbmap.save(monitor, asked.state)


@dataclass(frozen=True)
class _Rows:
    """All rows of a table, in the order of time."""

    features: Any
    targets: Array | None  # None and NaN for those that are missing
    ids: Array | None
    times: Any  # a pandas Series of time stamps or numbers, or None
    constants: tuple[ConstantColumn, ...]  # of all rows of the table

    @classmethod
    def of(cls, model: Any, data: Path, asked: Watch, progress: Progress) -> _Rows:
        import pandas as pd

        table, parts, constants = open_data(data, model), [], []
        for option, name in (("--time", asked.time), ("--id", asked.id)):
            if name is not None and name not in table.names:
                raise UsageError(f"{option} must name a column of {table.label}, got {name!r}.")
        for frame in frames_of(table, "reading", progress):
            ids = None if asked.id is None else _ids(frame, asked.id)
            times = None if asked.time is None else frame[asked.time]
            constants.append(model.constants(frame))
            parts.append((model.features(frame), targets_of(model, frame), ids, times))
        known = [each.form.date for each in model.schema_.columns if each.name == asked.time]
        of_time = str(asked.time), next(iter(known), "")
        columns: list[Any] = [None if column[0] is None else list(column) for column in zip(*parts)]
        features, targets, ids, times = columns
        rows = cls(
            pd.concat(features, ignore_index=True),
            None if targets is None else np.concatenate(targets),
            None if ids is None else np.concatenate(ids),
            None if times is None else _times(pd.concat(times, ignore_index=True), table.label, *of_time),
            joined(constants),
        )
        return rows if times is None else rows.take(np.argsort(rows.times.to_numpy(), kind="stable"))

    def __len__(self) -> int:
        return len(self.features)

    def take(self, which: Any) -> _Rows:
        """Return some of the rows."""
        return _Rows(
            self.features.iloc[which].reset_index(drop=True),
            None if self.targets is None else self.targets[which],
            None if self.ids is None else self.ids[which],
            None if self.times is None else self.times.iloc[which].reset_index(drop=True),
            self.constants,
        )

    def after(self, monitor: DriftMonitor, screen: Screen) -> _Rows:
        """Return the rows that a monitor has not seen: a table may have grown since.

        Those before its last time it has; of those at that time, the ones that it took are told by content.
        """
        last = monitor.last_time_
        if not last:
            return self
        if _is_number(last) != (self.times.dtype.kind == "f"):
            was, now = ("numbers", "dates") if _is_number(last) else ("dates", "numbers")
            raise UsageError(
                f"--time must hold {was}, as when --state was written, up to {last}; got {now}. Name another "
                "column, or another --state, which begins a new one."
            )
        order = np.array([_compared(each, last) for each in self.times], dtype=np.int8)
        seen, is_new = Counter(monitor.state_.marks), order > 0
        for row, mark in zip(np.flatnonzero(order == 0).tolist(), self._marks(order == 0)):
            is_new[row] = not seen[mark]
            seen[mark] -= 1
        if n_old := int((~is_new).sum()):
            screen.note(
                f"gbmap: note: {counted(n_old, 'row')} up to {last} left out: the state has seen them, "
                "or they came late."
            )
        return self.take(np.flatnonzero(is_new))

    def remember(self, monitor: DriftMonitor, last_before: str) -> None:
        """Let a monitor know which rows it has taken of its last time."""
        state, last = monitor.state_, monitor.last_time_
        is_last = np.array([_compared(each, last) == 0 for each in self.times], dtype=bool)
        known = state.marks if last == last_before else []
        state.marks = [*known, *self._marks(is_last)]

    def _marks(self, which: Array) -> list[str]:
        """Return what tells rows from each other, by all that they hold."""
        import pandas as pd

        rows = self.features[which]
        if self.ids is not None:
            rows = rows.assign(**{_ID: self.ids[which]})
        return [f"{mark:016x}" for mark in pd.util.hash_pandas_object(rows, index=False).tolist()]

    def batches(self, asked: Watch) -> Iterator[dict[str, Any]]:
        """Yield what `DriftMonitor.update` takes, batch by batch."""
        for which in self._groups(asked):
            rows = self.take(which)
            yield {
                "X": rows.features,
                "y": rows.targets,
                "ids": rows.ids,
                "time": None if rows.times is None else [_text(each) for each in rows.times],
            }

    def _groups(self, asked: Watch) -> list[Array]:
        import pandas as pd

        if not len(self):
            return []
        if asked.n_rows is not None or (asked.every is None and asked.time is None):
            return np.split(
                np.arange(len(self)), range(asked.n_rows or len(self), len(self), asked.n_rows or 1)
            )
        if not isinstance(self.times.dtype, pd.DatetimeTZDtype):
            raise UsageError(
                f"--every {asked.every or 'day'} needs dates in {asked.time}; give a number of rows."
            )
        period = PERIODS[asked.every or "day"]
        keys = self.times.dt.tz_localize(None).dt.to_period("h" if period == "h" else period).to_numpy()
        return np.split(np.arange(len(self)), np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def _ids(frame: Any, name: str) -> Array:
    column = frame[name]
    if column.isna().any():
        row = frame.attrs["offset"] + int(column.isna().to_numpy().argmax()) + 1
        raise TableError(
            f"{frame.attrs['label']}: column {name!r} is missing in row {row:,}; ids must be there."
        )
    return column.astype(str).to_numpy(dtype=object)


def _times(column: Any, label: str, name: str, order: str) -> Any:
    """Return when the rows of a table were, as numbers or as moments, however people write these.

    `order` is that of day and month in the fit, if the column was there.
    """
    import pandas as pd

    if column.isna().any():
        row = int(column.isna().to_numpy().argmax())
        raise TableError(f"{label}: column {name!r} is missing in row {row + 1:,}; --time must be there.")
    numbers = pd.to_numeric(column, errors="coerce") if column.dtype.kind not in "mM" else None
    if numbers is not None and numbers.notna().all():
        return numbers.astype(float)
    times = pd.to_datetime(column, errors="coerce", utc=True, format="ISO8601")
    if times.isna().any():
        times = _as_people_write(column.astype(str), order)
    if times is None:
        raise TableError(
            f"{label}: column {name!r} holds dates of which the day or the month may come first, such as "
            f"{str(column.iloc[0])[:50]!r} in row 1, and none of them tells; write them as 2012-12-09."
        )
    if times.isna().any():
        row = int(times.isna().to_numpy().argmax())
        raise TableError(
            f"{label}: column {name!r} holds {str(column.iloc[row])[:50]!r} in row {row + 1:,}, which is no "
            "date or time."
        )
    return times


def _as_people_write(texts: Any, order: str) -> Any:
    """Return the moments that texts tell, NaT for one that is none; None if day or month may come first."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from gbmap.tables import _dates as dates

    written = pa.array(texts)
    parsed, evidence = dates.parse(written), dates.DateEvidence()
    evidence.see(written, np.ones(len(texts), dtype=np.int64), parsed)
    form = evidence.form([order] if order else [])
    if form is None:
        return None
    milliseconds = pd.Series(np.round(parsed.read(form.date) * dates.SECONDS_A_DAY * 1000))
    return pd.to_datetime(milliseconds, unit="ms", utc=True)


def _text(time: Any) -> str:
    return f"{time:.17g}" if isinstance(time, float) else str(time.isoformat()).replace("+00:00", "Z")


def _is_number(time: str) -> bool:
    try:
        float(time)
    except ValueError:
        return False
    return True


def _compared(time: Any, last: str) -> int:
    """Return -1 for times before a last one, 0 for the same, 1 for later ones."""
    import pandas as pd

    then = float(last) if isinstance(time, float) else pd.Timestamp(last)
    return int(time > then) - int(time < then)


def _labels(model: Any, asked: Watch, screen: Screen) -> tuple[Array, Array]:
    """Return ids and labels of rows that came before."""
    table = open_data(asked.labels, model)  # type: ignore[arg-type]
    for name in (asked.id, model.target):
        if name not in table.names:
            raise UsageError(f"--labels must be a table with a column {name!r}, which {table.label} has not.")
    with screen.progress() as progress:
        frames = list(frames_of(table, "reading labels", progress))
    ids = np.concatenate([_ids(frame, str(asked.id)) for frame in frames])
    return ids, np.concatenate([targets_of(model, frame) for frame in frames])


def _show(page: Page, monitor: DriftMonitor, updates: list[dict[str, Any]]) -> None:
    page.line(_verdict(monitor))
    for alarm in monitor.alarms_:
        page.line(alarm.summary)
    page.line(f"{counted(monitor.n_rows_, 'row')} so far, {monitor.n_labelled_:,} of them with labels.")
    if not updates:
        return
    page.heading("The last batches")
    metric = told_loss(monitor.detector.gauge_.calibration)
    rows = [
        [
            _until(each),
            f"{each['n_rows']:,}",
            percent(each["share_of_alarms"]),
            number(each["batch_p_value"]),
            _told(metric, each["expected_loss"]),
            _told(metric, each["mean_loss"]),
            number(each["p_value"]),
        ]
        for each in updates[-_SHOWN_BATCHES:]
    ]
    name = name_of(metric)
    page.table(
        ["until", "rows", "alarms", "p, one look", f"{name} expected", f"{name} by labels", "p, all looks"],
        rows,
        numbers=range(1, 7),
    )


def _told(metric: str, loss: float | None) -> str:
    return number(None if loss is None else float(as_told(metric, loss)))


def _until(update: dict[str, Any]) -> str:
    if not update["n_rows"]:
        return "labels"
    return str(update["time"] or f"row {update['first_row'] + update['n_rows'] - 1:,}")


def _verdict(monitor: DriftMonitor) -> str:
    level = f"{100 * monitor.level:.3g} %"
    if monitor.alarms_:
        return f"Drift found; without any, the chance of this was at most {level} over all looks."
    return f"No drift found so far; the chance of a false alarm is at most {level} over all looks."
