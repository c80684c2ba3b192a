"""How time and passes grow with n, p and m, at the settings of the runtime table.

Method "pass" is the time of one pass over the data; methods "gbmap-mM" are whole fits with M learners, with
the number of passes that they took. The report fits the exponents.
"""

from __future__ import annotations

from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from benchmarks.data import Data
from benchmarks.environment import usable_cores
from benchmarks.experiments.passes import PASS, TASKS
from benchmarks.internals import one_pass
from benchmarks.methods.base import Result
from benchmarks.methods.gbmap import GBMAP, TABLE_3
from benchmarks.problems import Size, synth_cos
from benchmarks.runner import Settings, run_problem
from benchmarks.timing import alternating_medians

BASE_N, BASE_P, BASE_M = 100_000, 25, 2
NS = (100_000, 200_000, 400_000, 800_000, 1_600_000)
PS = (25, 50, 100, 200, 400)
MS = (2, 4, 8, 16)
QUICK_NS, QUICK_PS, QUICK_MS = NS[:3], PS[:3], MS[:3]
ROUNDS = 30


@dataclass(frozen=True)
class OnePass:
    """Median time of a pass for loss and gradient."""

    name: str = PASS
    m: int | None = None

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        with threadpool_limits(1):
            call = one_pass(data.X, data.y, TASKS[data.task], threads or usable_cores())
            return Result(alternating_medians({self.name: call}, ROUNDS)[self.name], passes=1)


def fit_with(m: int) -> GBMAP:
    """GBMAP with m learners."""
    return GBMAP(m=m, params=TABLE_3, name=f"gbmap-m{m}")


def run(settings: Settings) -> None:
    """Measure along each of the three axes, the other two held."""
    table = settings.table("linearity")
    for size, ms in _grid(settings).items():
        run_problem(table, synth_cos(size), [OnePass(), *map(fit_with, ms)], settings)


def _grid(settings: Settings) -> dict[Size, tuple[int, ...]]:
    """The sizes, and the numbers of learners at each."""
    ns, ps, ms = (QUICK_NS, QUICK_PS, QUICK_MS) if settings.quick else (NS, PS, MS)
    if settings.sizes:
        return dict.fromkeys(settings.sizes, ms)
    along_n = {(n, BASE_P): (BASE_M,) for n in ns}
    along_p = {(BASE_N, p): (BASE_M,) for p in ps}
    return {**along_n, **along_p, (BASE_N, BASE_P): ms}
