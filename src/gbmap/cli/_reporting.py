"""The pages of ``gbmap report``: of a model that was just fitted, or of one from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
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


def page_of_a_fit(
    model: Any, table: Any, asked: Asked, screen: Screen, progress: Progress, title: str
) -> Any:
    """Return the report of a fitted model, with all that it is given to look at."""
    import pandas as pd

    from gbmap.report import make_report

    X, y, X_test, y_test = model.split(table)
    later = {} if asked.new is None else _later(model, asked, screen, progress)
    progress("writing the page", 0, None)
    return make_report(
        model.model_,
        X,
        pd.Series(y, index=X.index, name=model.target),
        X_test=X_test,
        y_test=y_test,
        detector=model.detector_,
        title=title,
        max_rows=asked.max_rows,
        random_state=model.random_state,
        **later,
    )


def page_of_a_model(model: Any, asked: Asked, screen: Screen, progress: Progress, title: str) -> Any:
    """Return the report of new rows by a model from a file."""
    from gbmap.report import make_drift_report

    later = _later(model, asked, screen, progress)
    progress("writing the page", 0, None)
    return make_drift_report(
        model,
        title=title,
        max_rows=asked.max_rows,
        random_state=model.random_state,
        **later,
    )


def _later(model: Any, asked: Asked, screen: Screen, progress: Progress) -> dict[str, Any]:
    """Return the new rows and their targets; and a monitor that has seen all of them, if time counts."""
    if asked.is_over_time:
        return _over_time(model, asked, screen, progress)
    sample, table = Sample(_NEW_ROWS), open_data(asked.new)  # type: ignore[arg-type]
    for frame in frames_of(table, "reading the new table", progress):
        sample.add(model.features(frame), targets_of(model, frame))
    note_targets_left_out(sample, screen)
    return {"X_new": sample.features, "y_new": sample.targets}


def _over_time(model: Any, asked: Asked, screen: Screen, progress: Progress) -> dict[str, Any]:
    """Let a monitor see the new rows."""
    from gbmap.cli._watching import watched

    monitor, features, targets = watched(model, asked.new, asked.watch, _LEVEL, progress)
    sample = Sample(_NEW_ROWS)
    sample.add(features, targets)
    note_targets_left_out(sample, screen)
    return {"X_new": sample.features, "y_new": sample.targets, "monitor": monitor}
