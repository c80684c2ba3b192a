"""The time to explain all rows, in calls of `predict` on the same rows."""

from __future__ import annotations

from benchmarks.data import Data
from benchmarks.environment import usable_cores
from benchmarks.methods.base import Result
from benchmarks.problems import synth_cos
from benchmarks.runner import Settings, base_row, measured, progress
from benchmarks.timing import alternating_medians
from gbmap import GBMAPRegressor
from gbmap.inspection import attributions, explain

SIZE, M = (100_000, 50), 50
PREDICT, EXPLAIN, ATTRIBUTIONS = "predict", "explain", "attributions"
ROUNDS = 15


def run(settings: Settings) -> None:
    """Measure each repeat that is not there yet."""
    table, problem, threads = settings.table("explaining"), synth_cos(SIZE, "regression"), usable_cores()
    data = problem.load()
    for repeat in range(settings.repeats):
        if not settings.fresh and table.finished(base_row(problem.name, PREDICT, repeat, threads)):
            continue
        for name, seconds in measure(data, repeat).items():
            row = base_row(problem.name, name, repeat, threads) | {"m": str(M)}
            row |= measured(data, Result(seconds, extra={"rounds": ROUNDS}))
            table.put(row)
            print(progress(row), flush=True)


def measure(data: Data, seed: int) -> dict[str, float]:
    """Median seconds of each call, in turn."""
    model = GBMAPRegressor(M, tol=1e-3, knots=0, random_state=seed).fit(data.X, data.y)
    return alternating_medians(
        {
            PREDICT: lambda: model.predict(data.X),
            EXPLAIN: lambda: explain(model, data.X),
            ATTRIBUTIONS: lambda: attributions(model, data.X, data.X[0]),
        },
        ROUNDS,
    )
