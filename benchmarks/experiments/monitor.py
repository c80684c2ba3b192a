"""Drift over time: false alarms in streams without it, and rows from a change to the first alarm.

A life is a stream of rows after a fit: a GBMAP as it comes is fitted to 1,000 rows, 500 others calibrate, the
stream follows. In synthetic lives y = |x1| + x2 + noise of five columns; the change comes after 2,000 rows
and stays for 2,000 ("gradual": it grows over the first 1,000; "recurring": 200 rows as changed, 200 as
before, and so on). Of columns, x1 is spread twice as wide; of the relation, x3 begins to count. Lives of
real sets have 3,000 rows to learn and calibrate from, and the rest as the stream: in their order, and
shuffled, which has no drift for sure. Every method sees the same lives, or the first of them if it is slow:
the rows, what the model predicts, the drift indicator of each row, and the loss where it is a method that
needs labels.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.internals import first_alarm_by_fixed_reference
from benchmarks.methods.base import Result
from benchmarks.methods.child import EVIDENTLY, NANNYML, NONCONFORM, RIVER, Environment
from benchmarks.records import OK, Table
from benchmarks.runner import Settings, base_row, failure
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap.datasets import load_paper_dataset
from gbmap.drift import DriftMonitor

Array = NDArray[Any]

THREADS = 1
N_TRAIN, N_CALIBRATION, CHANGE, LENGTH, LOOKS = 1000, 500, 2000, 4000, 10_000
N_COLUMNS, GROWTH, PERIOD = 5, 1000, 200
N_SEEN = 3000  # rows of a real set before the stream
BATCH, QUIET_BATCH = 10, 100  # rows of an update, after a change and before; between, each row counts too
LEVEL = 0.05
REAL_LIVES = 10
KEPT = 40  # alarms of a life that are kept

NULL = "no drift"
KINDS = ("sudden", "gradual", "recurring")
CHANGED = tuple(f"{what}, {kind}" for what in ("columns", "relation") for kind in KINDS)
REAL = ("airquality", "eeg-eye-state")
IN_TIME, SHUFFLED = "in time", "shuffled"
PROBLEMS = (NULL, *CHANGED, *(f"{name}, {order}" for name in REAL for order in (IN_TIME, SHUFFLED)))
QUICK = (NULL, CHANGED[0])


@dataclass(frozen=True)
class Life:
    """What methods see: reference rows, then the stream, and the detector of a model fitted before."""

    X_cal: Array
    y_cal: Array
    X: Array
    y: Array
    detector: DriftDetector

    def seen(self) -> dict[str, Array]:
        """The numbers that other methods are given."""
        model, classes = self.detector.estimator_, hasattr(self.detector.estimator_, "classes_")
        found: dict[str, Array] = {}
        for name, X, y in (("_cal", self.X_cal, self.y_cal), ("", self.X, self.y)):
            indicator, loss = self.detector.indicator_and_loss(X, y)
            predicted = model.predict_proba(X)[:, 1] if classes else model.predict(X)
            found |= {
                f"X{name}": X,
                f"y{name}": y,
                f"predicted{name}": predicted,
                f"indicator{name}": indicator,
                f"loss{name}": loss,
            }
        return found


def make_life(problem: str, seed: int) -> Life:
    """The life of a problem and a seed."""
    if problem.rpartition(", ")[0] in REAL:
        return _real(*problem.rsplit(", ", 1), seed)
    rng = np.random.default_rng([seed, 7])
    before = N_TRAIN + N_CALIBRATION
    n = before + (LOOKS if problem == NULL else LENGTH)
    X = rng.normal(size=(n, N_COLUMNS))
    size = np.zeros(n)
    if problem != NULL:
        size[before + CHANGE :] = _size(problem.split(", ")[1], LENGTH - CHANGE)
    if problem.startswith("columns"):
        X[:, 0] *= 1 + size
    y = np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    if problem.startswith("relation"):
        y += 0.5 * size * X[:, 2]
    return _fitted(GBMAPRegressor(random_state=seed), X, y, N_TRAIN, before)


def _size(kind: str, n: int) -> Array:
    rows = np.arange(n)
    if kind == "gradual":
        return np.minimum(rows / GROWTH, 1.0)
    return np.ones(n) if kind == "sudden" else (rows // PERIOD % 2 == 0).astype(float)


def _real(name: str, order: str, seed: int) -> Life:
    frame, y = load_paper_dataset(name)
    X = frame.to_numpy(dtype=np.float64)
    rng = np.random.default_rng([seed, 8])
    where = np.arange(len(X)) if order == IN_TIME else rng.permutation(len(X))
    where[:N_SEEN] = rng.permutation(where[:N_SEEN])
    kind = GBMAPClassifier if name == "eeg-eye-state" else GBMAPRegressor
    return _fitted(kind(random_state=seed), X[where], y[where], N_SEEN * 2 // 3, N_SEEN)


def _fitted(model: Any, X: Array, y: Array, n: int, before: int) -> Life:
    model.fit(X[:n], y[:n])
    X_cal, y_cal = X[n:before], y[n:before]
    detector = DriftDetector(model).fit(X[:n], y[:n], X_cal=X_cal, y_cal=y_cal)
    return Life(X_cal, y_cal, X[before:], y[before:], detector)


Alarms = list[int]


def _monitored(life: Life, *, labels: bool) -> Alarms:
    share = 0.5 if labels else 0.0
    monitor = DriftMonitor(life.detector, level=LEVEL, label_share=share, random_state=0)
    has_change = len(life.X) == LENGTH
    quiet = range(0, CHANGE if has_change else len(life.X), QUIET_BATCH)
    stops = [*quiet, *(range(CHANGE, LENGTH, BATCH) if has_change else ()), len(life.X)]
    for some in map(slice, stops, stops[1:]):
        if monitor.update(life.X[some], life.y[some] if labels else None).is_drifting:
            return [monitor.n_rows_ - 1]
    return []


def _fixed_reference(life: Life) -> Alarms:
    seen = life.seen()
    return first_alarm_by_fixed_reference(seen["indicator_cal"], seen["indicator"], LEVEL)


@dataclass(frozen=True)
class Watcher:
    """A method: what it needs, how many lives it is given, and how it is run."""

    name: str
    labels: bool
    lives: int
    null_lives: int
    watch: Callable[[Life], Alarms] | None = None  # in this process
    environment: Environment | None = None  # else in a child, by the name


WATCHERS = (
    Watcher("gbmap, rows", False, 20, 100, lambda life: _monitored(life, labels=False)),
    Watcher("gbmap, rows and labels", True, 20, 100, lambda life: _monitored(life, labels=True)),
    Watcher("gbmap, fixed reference", False, 20, 100, _fixed_reference),
    Watcher("ADWIN, indicator", False, 20, 100, environment=RIVER),
    Watcher("Page-Hinkley, indicator", False, 20, 100, environment=RIVER),
    Watcher("KSWIN, indicator", False, 10, 20, environment=RIVER),
    Watcher("ADWIN, loss", True, 20, 100, environment=RIVER),
    Watcher("Page-Hinkley, loss", True, 20, 100, environment=RIVER),
    Watcher("KSWIN, loss", True, 10, 20, environment=RIVER),
    Watcher("NannyML, estimated", False, 10, 10, environment=NANNYML),
    Watcher("NannyML, realised", True, 10, 10, environment=NANNYML),
    Watcher("Evidently, data drift", False, 4, 4, environment=EVIDENTLY),
    Watcher("alibi-detect, KS", False, 20, 20, environment=EVIDENTLY),
    Watcher("nonconform, indicator", False, 20, 100, environment=NONCONFORM),
    Watcher("nonconform, loss", True, 20, 100, environment=NONCONFORM),
)
WORKER = Path(__file__).parents[1] / "methods" / "watchers.py"


def run(settings: Settings) -> None:
    """Let every method watch the lives of every problem."""
    table = settings.table("monitor")
    for problem in QUICK if settings.quick else PROBLEMS:
        todo = [
            each for each in settings.choose(WATCHERS) if settings.fresh or not _is_done(table, problem, each)
        ]
        if not todo:
            continue
        most = max(_n_lives(problem, each, settings) for each in todo)
        lives = [make_life(problem, seed) for seed in range(most)]
        with tempfile.TemporaryDirectory() as folder:
            _store(lives, Path(folder))
            for watcher in todo:
                _keep(table, problem, watcher, lives[: _n_lives(problem, watcher, settings)], Path(folder))


def _is_done(table: Table, problem: str, watcher: Watcher) -> bool:
    return table.finished(base_row(problem, watcher.name, 0, THREADS))


def _n_lives(problem: str, watcher: Watcher, settings: Settings) -> int:
    if problem.endswith(IN_TIME):
        return 1
    lives = watcher.null_lives if problem == NULL else watcher.lives
    most = 4 if settings.quick else REAL_LIVES if problem.endswith(SHUFFLED) else lives
    return min(lives, most)


def _store(lives: list[Life], folder: Path) -> None:
    for k, life in enumerate(lives):
        np.savez(folder / f"{k}.npz", **life.seen())


def _keep(table: Table, problem: str, watcher: Watcher, lives: list[Life], folder: Path) -> None:
    row = base_row(problem, watcher.name, 0, THREADS)
    try:
        start = time.process_time()
        answer = _watch(watcher, lives, folder)
        result = Result(answer.get("seconds", time.process_time() - start), peer=answer.get("peer", ""))
        extra = {"lives": len(lives), "alarms": [found[:KEPT] for found in answer["alarms"]]}
        extra["counts"] = [len(found) for found in answer["alarms"]]
        row |= {"status": OK, "n": str(len(lives[0].X)), "p": str(lives[0].X.shape[1])}
        row |= {"seconds": f"{result.seconds:.6g}", "peer": result.peer, "extra": json.dumps(extra)}
    except Exception as error:  # a peer's failure is a result, not the end
        row |= {"status": failure(error)}
    table.put(row)
    print(f"{problem}  {watcher.name}: {row['status']}", flush=True)


def _watch(watcher: Watcher, lives: list[Life], folder: Path) -> dict[str, Any]:
    if watcher.watch is not None:
        return {"alarms": [watcher.watch(life) for life in lives]}
    assert watcher.environment is not None
    return watcher.environment.run(WORKER, [str(folder), watcher.name, str(len(lives))])


def change_of(problem: str) -> int:
    """The row of a stream at which the change comes."""
    return CHANGE if problem in CHANGED else 0


def delays(problem: str, alarms: list[Alarms]) -> Iterator[int | None]:
    """The rows from the change to the first alarm after it, of each life; None without one."""
    for found in alarms:
        after = [row for row in found if row >= change_of(problem)]
        yield after[0] - change_of(problem) + 1 if after else None
