"""The pages of ``gbmap report``: of a model that was just fitted, or of one from a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from gbmap.cli._errors import UsageError
from gbmap.cli._models import frames_of, note_targets_left_out, open_data, targets_of
from gbmap.cli._sample import Sample
from gbmap.cli._screen import Progress, Screen

_LEVEL = 0.05  # of a false alarm over all batches, as in gbmap drift
_NEW_ROWS = 100_000  # of the second table, beyond which a random sample is looked at


@dataclass(frozen=True)
class Asked:
    """What the page is to show beside the model."""

    new: Path | None
    time: str | None
    every: str | None
    max_rows: int

    def check(self) -> None:
        """Refuse what does not go together."""
        if not self.is_over_time:
            return
        if self.new is None:
            raise UsageError("--time and --every are about the rows of --new; name their table.")
        self.watch.check()

    @property
    def watch(self) -> Any:
        """The same as it is asked of a monitor."""
        from gbmap.cli._watching import Watch

        return Watch(self.time, self.every, id=None, labels=None, state=None, metrics=None, picture=None)

    @property
    def is_over_time(self) -> bool:
        """Whether the new rows are to be looked at batch by batch."""
        return self.time is not None or self.every is not None


class Stopwatch:
    """Passes progress on, and tells how long a fit took: from its first learner until it was scored."""

    def __init__(self, progress: Progress):
        self._progress, self._at = progress, dict[str, float]()

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """Note when a step begins."""
        self._at.setdefault(step, perf_counter())
        self._progress(step, done, total)

    @property
    def seconds(self) -> float:
        """The seconds of the fit."""
        return self._at["calibrating"] - self._at["fitting"]


def page_of_a_fit(
    model: Any, table: Any, asked: Asked, screen: Screen, progress: Progress, title: str, seconds: float
) -> Any:
    """Return the report of a model, fitted in so many seconds, with all that it is given to look at."""
    import pandas as pd

    from gbmap.report import make_report
    from gbmap.tables.errors import shown

    X, y, X_test, y_test = model.split(table)
    if not len(y_test):
        raise ValueError(
            f"the page needs rows held out of the fit, and of so few with the target {shown(model.target)}, "
            "or in every class of it, there are none; raise --test-size, or choose another target."
        )
    later = {} if asked.new is None else _later(model, asked, screen, progress)
    progress("writing the page", 0, None)
    made = make_report(
        model,
        X,
        pd.Series(y, index=X.index, name=model.target),
        X_test=X_test,
        y_test=y_test,
        detector=model.detector_,
        title=title,
        max_rows=asked.max_rows,
        fit_seconds=seconds,
        random_state=model.random_state,
        **later,
    )
    return _for_a_shell(made, model.target)


def page_of_a_model(model: Any, asked: Asked, screen: Screen, progress: Progress, title: str) -> Any:
    """Return the report of new rows by a model from a file."""
    from gbmap.report import make_drift_report

    later = _later(model, asked, screen, progress)
    progress("writing the page", 0, None)
    made = make_drift_report(
        model,
        title=title,
        max_rows=asked.max_rows,
        random_state=model.random_state,
        **later,
    )
    return _for_a_shell(made, model.target)


def _for_a_shell(made: Any, target: str) -> Any:
    """Return a report whose next steps are commands of a shell, in place of Python."""
    from gbmap.report.contents.summary import shell_steps

    steps = [asdict(step) for step in shell_steps(target, made.contents["drift"])]
    return replace(made, contents={**made.contents, "summary": {**made.contents["summary"], "steps": steps}})


def _later(model: Any, asked: Asked, screen: Screen, progress: Progress) -> dict[str, Any]:
    """Return the new rows and their targets; and a monitor that has seen all of them, if time counts."""
    if asked.is_over_time:
        return _over_time(model, asked, screen, progress)
    sample, table = Sample(_NEW_ROWS), open_data(asked.new, model)  # type: ignore[arg-type]
    for frame in frames_of(table, "reading the new table", progress):
        sample.add(
            model.features(frame), targets_of(model, frame, with_new_classes=True), model.constants(frame)
        )
    note_targets_left_out(model, sample, screen)
    return {"X_new": sample.features, "y_new": sample.targets, "constants": sample.constants}


def _over_time(model: Any, asked: Asked, screen: Screen, progress: Progress) -> dict[str, Any]:
    """Let a monitor see the new rows."""
    from gbmap.cli._watching import watched

    monitor, features, targets, constants = watched(model, asked.new, asked.watch, _LEVEL, progress)
    sample = Sample(_NEW_ROWS)
    sample.add(features, targets, constants)
    note_targets_left_out(model, sample, screen)
    return {
        "X_new": sample.features,
        "y_new": sample.targets,
        "constants": sample.constants,
        "monitor": monitor,
    }
