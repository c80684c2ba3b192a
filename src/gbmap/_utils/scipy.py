"""What is used of SciPy's private interface, which may change with any minor release.

Its L-BFGS-B asks for the values that it needs and takes them from whoever has them. The public function hides
that behind one that it calls and waits for, and takes ten times as long as the steps themselves where these
are of few numbers.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from scipy.optimize import _lbfgsb

from gbmap._utils.typing import Array

# What `setulb` says in the first number of its task, and is told when it is to end.
_NEW_ITERATION, _ASKS, _CONVERGED, _STOP = 1, 3, 4, (5, 504)
# Evaluations that one line search may take.
_MOST_IN_A_LINE = 20


class End(NamedTuple):
    """Where L-BFGS-B ended, and what it took; `ran_out` of iterations or evaluations, if it did."""

    x: Array
    value: float
    gradient: Array
    n_iter: int
    n_evaluations: int
    ran_out: bool


def l_bfgs_b(
    start: Array,
    bounds: tuple[Array, Array] | None,
    *,
    history: int,
    ftol: float,
    max_iter: int,
    max_evaluations: int,
) -> Generator[Array, tuple[float, Array], End]:
    """Yield points to evaluate, take value and gradient of each, and return the end.

    As `scipy.optimize.minimize` with the same options, and `gtol` zero. A point that was yielded changes
    afterwards.
    """
    n, m = len(start), history
    low, high, kind = np.zeros(n), np.zeros(n), np.zeros(n, np.int32)
    if bounds is not None:
        has_low, has_high = np.isfinite(bounds[0]), np.isfinite(bounds[1])
        low[has_low], high[has_high] = bounds[0][has_low], bounds[1][has_high]
        kind[:] = np.where(has_low, np.where(has_high, 2, 1), np.where(has_high, 3, 0))
    x, value, gradient = start.astype(np.float64), 0.0, np.zeros(n)
    numbers, integers = np.zeros(2 * m * n + 5 * n + 11 * m * m + 8 * m), np.zeros(3 * n, np.int32)
    task, line, flags = np.zeros(2, np.int32), np.zeros(2, np.int32), np.zeros(4, np.int32)
    counts, state = np.zeros(44, np.int32), np.zeros(29)
    factor, n_iter, n_evaluations = ftol / np.finfo(np.float64).eps, 0, 0
    while True:
        _lbfgsb.setulb(
            m, x, low, high, kind, value, gradient, factor, 0.0, numbers, integers, task, flags, counts,
            state, _MOST_IN_A_LINE, line,
        )  # fmt: skip
        if task[0] == _ASKS:
            value, gradient = yield x
            n_evaluations += 1
        elif task[0] == _NEW_ITERATION:
            n_iter += 1
            if n_iter >= max_iter or n_evaluations > max_evaluations:
                task[:] = _STOP
        else:
            ran_out = task[0] != _CONVERGED and (n_iter >= max_iter or n_evaluations > max_evaluations)
            return End(x, value, gradient, n_iter, n_evaluations, ran_out)
