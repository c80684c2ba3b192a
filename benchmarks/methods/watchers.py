"""Peers that watch rows over time. Runs alone, in their environments.

python -P watchers.py FOLDER METHOD LIVES

reads 0.npz, 1.npz, ... of a folder, the lives that `benchmarks.experiments.monitor` stored, and prints one
line of JSON: the rows at which the method raised an alarm in each life, its version, and the seconds. All
are as they come; what looks at chunks looks at 100 rows, which is when its alarms are told (500 of
Evidently).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"

CHUNK, LARGE_CHUNK = 100, 500
LEVEL = 0.05
Life = dict[str, Any]


def by_river(name: str, column: str) -> Callable[[Life], list[int]]:
    """One number a row, by a detector of River's."""

    def watch(life: Life) -> list[int]:
        from river import drift

        made = {"ADWIN": drift.ADWIN, "Page-Hinkley": drift.PageHinkley, "KSWIN": drift.KSWIN}[name]
        detector = made(seed=0) if name == "KSWIN" else made()
        alarms = []
        for before in life[f"{column}_cal"]:  # it learns what is usual from the calibration rows
            detector.update(float(before))
        for row, value in enumerate(life[column]):
            detector.update(float(value))
            if detector.drift_detected:
                alarms.append(row)
        return alarms

    return watch


def frame(life: Life, name: str) -> Any:
    """The rows of one part, with what is known of them."""
    import pandas as pd

    X = life[f"X{name}"]
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    y = life[f"y{name}"]
    return table.assign(y=(y > 0).astype(int) if is_classes(life) else y, predicted=life[f"predicted{name}"])


def is_classes(life: Life) -> bool:
    """Whether labels are two classes, -1 and 1 or 0 and 1."""
    return len(np.unique(life["y_cal"])) == 2


def by_nannyml(what: str) -> Callable[[Life], list[int]]:
    """Performance by chunks, estimated (CBPE, DLE) or realised."""

    def watch(life: Life) -> list[int]:
        import nannyml as nml

        reference, analysis = frame(life, "_cal"), frame(life, "")
        classes = is_classes(life)
        metric = "roc_auc" if classes else "mse"
        given: dict[str, Any] = {"y_true": "y", "metrics": [metric], "chunk_size": CHUNK}
        features = [name for name in reference if name.startswith("x")]
        if classes:
            given |= {"y_pred_proba": "predicted", "y_pred": "label"}
            given |= {"problem_type": "classification_binary"}
            parts = (reference, analysis)
            reference, analysis = (part.assign(label=(part.predicted > 0.5).astype(int)) for part in parts)
        else:
            given |= {"y_pred": "predicted"}
        if what == "realised":
            if not classes:
                given |= {"problem_type": "regression"}
            made = nml.PerformanceCalculator(**given)
        else:
            made = nml.CBPE(**given) if classes else nml.DLE(feature_column_names=features, **given)
        made.fit(reference)
        run = made.calculate if what == "realised" else made.estimate
        table = run(analysis).filter(period="analysis").to_df()
        ends = table[("chunk", "end_index")][table[(metric, "alert")]]
        return [int(end) for end in ends]

    return watch


def by_evidently(life: Life) -> list[int]:
    """The preset for data drift: half of the columns at least."""
    from evidently import Report
    from evidently.presets import DataDriftPreset

    reference, rows = (frame(life, name).drop(columns=["y", "predicted"]) for name in ("_cal", ""))
    alarms = []
    for stop in range(LARGE_CHUNK, len(rows) + 1, LARGE_CHUNK):
        found = Report([DataDriftPreset()]).run(rows[stop - LARGE_CHUNK : stop], reference).dict()
        if found["metrics"][0]["value"]["share"] >= 0.5:
            alarms.append(stop - 1)
    return alarms


def by_nonconform(column: str) -> Callable[[Life], list[int]]:
    """One number a row, by ranks among all before and the Simple Jumper; its first alarm stands."""

    def watch(life: Life) -> list[int]:
        from nonconform.martingales import AlarmConfig, SimpleJumperMartingale
        from nonconform.monitoring import SequentialRankConformalizer

        ranks = SequentialRankConformalizer(seed=0).prime_many(life[f"{column}_cal"])
        martingale = SimpleJumperMartingale(alarm_config=AlarmConfig(ville_threshold=1 / LEVEL))
        for row, p_value in enumerate(ranks.update_many(life[column])):
            if martingale.update(float(p_value)).triggered_alarms:
                return [row]
        return []

    return watch


def by_alibi(life: Life) -> list[int]:
    """Two-sample Kolmogorov-Smirnov tests of all columns, corrected for their number."""
    from alibi_detect.cd import KSDrift

    detector, rows = KSDrift(life["X_cal"], p_val=0.05), life["X"]
    stops = range(CHUNK, len(rows) + 1, CHUNK)
    return [stop - 1 for stop in stops if detector.predict(rows[stop - CHUNK : stop])["data"]["is_drift"]]


METHODS: dict[str, tuple[Callable[[Life], list[int]], str]] = {
    **{
        f"{name}, {column}": (by_river(name, column), "river")
        for name in ("ADWIN", "Page-Hinkley", "KSWIN")
        for column in ("indicator", "loss")
    },
    **{f"nonconform, {column}": (by_nonconform(column), "nonconform") for column in ("indicator", "loss")},
    **{f"NannyML, {what}": (by_nannyml(what), "nannyml") for what in ("estimated", "realised")},
    "Evidently, data drift": (by_evidently, "evidently"),
    "alibi-detect, KS": (by_alibi, "alibi-detect"),
}


def main(folder: Path, method: str, n_lives: int) -> dict[str, Any]:
    """Watch the lives."""
    watch, package = METHODS[method]
    start, alarms = time.process_time(), []
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        for k in range(n_lives):
            with np.load(folder / f"{k}.npz") as stored:
                alarms.append(watch(dict(stored)))
    seconds = time.process_time() - start
    return {"alarms": alarms, "seconds": seconds, "peer": f"{package} {version(package)}"}


if __name__ == "__main__":
    _, given, name, lives = sys.argv
    print(json.dumps(main(Path(given), name, int(lives))))
