"""Small data: seconds of a fit with m = 20 and default settings on each real data set, beside XGBoost.

XGBoost grows 500 trees of depth 4. Both are given the same number of threads: one, and then all cores.
"""

from __future__ import annotations

from benchmarks import methods
from benchmarks.environment import usable_cores
from benchmarks.problems import REAL_SETS, real
from benchmarks.runner import Settings, run_problem

QUICK_SETS = ("autompg", "concrete", "california", "german-credit")


def run(settings: Settings) -> None:
    """Measure every data set that is asked for."""
    table = settings.table("small")
    chosen = settings.choose(methods.SMALL)
    for name in settings.datasets or (QUICK_SETS if settings.quick else REAL_SETS):
        for threads in settings.threads or sorted({1, usable_cores()}):
            run_problem(table, real(name), chosen, settings, threads)
