"""What more random starts of a learner buy: training loss against processor time, learner by learner.

All rows of a set, m = 16, one thread, no knots, default settings otherwise.
"""

from __future__ import annotations

from benchmarks import methods
from benchmarks.problems import real
from benchmarks.runner import Settings, run_problem

PROBLEMS = ("california", "qm9-10k", "concrete", "eeg-eye-state")
QUICK = ("concrete",)
THREADS = 1


def run(settings: Settings) -> None:
    """Measure every data set that is asked for."""
    table = settings.table("starts")
    for name in settings.datasets or (QUICK if settings.quick else PROBLEMS):
        run_problem(table, real(name), settings.choose(methods.STARTS), settings, THREADS)
