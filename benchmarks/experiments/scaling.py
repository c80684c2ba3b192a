"""The paper's runtime table: seconds of a fit with m = 2 against n and p, beside the peers.

Logistic loss, beta = 1, lambda = 1e-3, at most 100 iterations, float32, synth-cos-c unrotated. All methods
see the same rows in every repeat; random starts differ from repeat to repeat.
"""

from __future__ import annotations

from benchmarks import methods
from benchmarks.problems import QUICK_SCALING_SIZES, SCALING_SIZES, synth_cos
from benchmarks.runner import Settings, run_problem


def run(settings: Settings) -> None:
    """Measure every size that is asked for."""
    table = settings.table("scaling")
    chosen = settings.choose(methods.SCALING, methods.SCALING_ON_REQUEST)
    sizes = settings.sizes or (QUICK_SCALING_SIZES if settings.quick else SCALING_SIZES)
    for size in sizes:
        run_problem(table, synth_cos(size), chosen, settings)
