"""The time of a million path distances, in matrices of embedding distances between the same rows."""

from __future__ import annotations

from typing import Any

from benchmarks.data import Data
from benchmarks.environment import usable_cores
from benchmarks.methods.base import Result
from benchmarks.problems import real, synth_cos
from benchmarks.runner import Settings, base_row, measured, progress
from benchmarks.timing import alternating_medians
from gbmap import GBMAPRegressor, embedding_distances, path_distances

M, ROWS, TOL, ROUNDS = 20, 1000, 1e-3, 5
BETAS = (1.0, 5.0, 50.0)
EMBEDDING, PATH = "embedding", "path"
# The path's work depends on how often the slope changes its sign, so on the data.
PROBLEMS = (synth_cos((20_000, 25), "regression"), real("california"), real("superconductor"))


def run(settings: Settings) -> None:
    """Measure each problem and sharpness that is not there yet."""
    table, threads = settings.table("distances"), usable_cores()
    for problem in PROBLEMS[:2] if settings.quick else PROBLEMS:
        for beta in BETAS:
            name = f"{problem.name}, beta {beta:g}"
            for repeat in range(settings.repeats):
                if not settings.fresh and table.finished(base_row(name, EMBEDDING, repeat, threads)):
                    continue
                data = problem.load()
                for method, seconds in measure(data, beta, repeat).items():
                    row = base_row(name, method, repeat, threads) | {"m": str(M)}
                    row |= measured(data, Result(seconds, extra={"beta": beta, "tol": TOL}))
                    table.put(row)
                    print(progress(row), flush=True)


def measure(data: Data, beta: float, seed: int) -> dict[str, float]:
    """Median seconds of both matrices between 1,000 and 1,000 rows, in turn."""
    model = GBMAPRegressor(M, beta=beta, knots=0, random_state=seed).fit(data.X, data.y)
    rows: Any = data.X[:: len(data.X) // (2 * ROWS)]
    first, second = rows[:ROWS], rows[ROWS : 2 * ROWS]
    return alternating_medians(
        {
            EMBEDDING: lambda: embedding_distances(model, first, second),
            PATH: lambda: path_distances(model, first, second, tol=TOL),
        },
        ROUNDS,
    )
