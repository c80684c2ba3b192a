"""Fits on a CUDA device, beside the paper's recipe in JAX on the same one.

Needs a CUDA device with PyTorch, CuPy or JAX, and jaxopt for the recipe; what is missing is said in its rows.
"""

from __future__ import annotations

import shutil
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.data import Data
from benchmarks.internals import one_pass, passes_of
from benchmarks.methods.base import Result
from benchmarks.methods.gbmap import TABLE_3
from benchmarks.problems import synth_cos
from benchmarks.runner import Settings, base_row, measured

PROBLEMS = ((10_000_000, 25, 2), (10_000_000, 25, 20), (1_000_000, 400, 2), (100_000, 3200, 2))
READ, PASS, RECIPE = "one read of X", "one pass", "recipe-precompiled"
CALLS = 40  # of what takes less than a millisecond; the fastest counts
WARM_UP = 1.0  # seconds of fits before those that count: a device that was idle is slow at first


def run(settings: Settings) -> None:
    """Measure every library on every problem, by seed; the first fits, which compile, do not count."""
    if shutil.which("nvidia-smi") is None:
        print("device: there is no CUDA device here")
        return
    table, device = settings.table("device"), _device()
    for n, p, m in PROBLEMS:
        problem = synth_cos((n, p))
        data = problem.load()
        for name, method in METHODS.items():
            for repeat, result in enumerate(_attempt(method, data, m, settings.repeats)):
                row = base_row(f"{problem.name}-m{m}", name, repeat, None) | {"m": str(m)}
                if isinstance(result, Result):
                    result.extra["device"] = device
                    row |= measured(data, result)
                else:
                    row |= {"status": result}
                table.put(row)
                print(row, flush=True)


def _attempt(method: Callable[..., Iterator[Result]], data: Data, m: int, repeats: int) -> Iterator[Any]:
    try:
        yield from method(data, m, repeats)
    except Exception as error:  # a peer that is missing or fails is a row that says so
        yield f"{type(error).__name__}: {str(error)[:200]}"


def _device() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()


def _timed(call: Callable[[], Any], wait: Callable[[], Any]) -> tuple[float, Any]:
    wait()
    start = time.perf_counter()
    value = call()
    wait()
    return time.perf_counter() - start, value


def _warmed_up(fit: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """The seconds of the first fit, of those that do not count."""
    start = time.perf_counter()
    first, _ = _timed(fit, wait)
    while time.perf_counter() - start < first + WARM_UP:
        _timed(fit, wait)
    return first


def _fits(X: Any, y: Any, m: int, repeats: int, wait: Any, peer: str, **more: Any) -> Iterator[Result]:
    from gbmap import GBMAPClassifier

    def fit(seed: int) -> Any:
        model = GBMAPClassifier(n_components=m, knots=0, random_state=seed, **TABLE_3, **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is the paper's
            return model.fit(X, y)

    first = _warmed_up(partial(fit, 0), wait)
    for seed in range(repeats):
        seconds, model = _timed(partial(fit, seed), wait)
        extra = {"first_fit_seconds": first}
        yield Result(seconds, float(model.loss_curve_[-1]), passes_of(model), peer, extra)


def _torch(data: Data, m: int, repeats: int, **more: Any) -> Iterator[Result]:
    import torch

    X, y = torch.asarray(data.X, device="cuda"), torch.asarray(data.y, device="cuda")
    return _fits(X, y, m, repeats, torch.cuda.synchronize, f"torch {torch.__version__}", **more)


def _cupy(data: Data, m: int, repeats: int) -> Iterator[Result]:
    import cupy

    wait = cupy.cuda.get_current_stream().synchronize
    return _fits(cupy.asarray(data.X), cupy.asarray(data.y), m, repeats, wait, f"cupy {cupy.__version__}")


def _jax(data: Data, m: int, repeats: int) -> Iterator[Result]:
    import jax

    X, y = jax.device_put(data.X), jax.device_put(data.y.astype(np.int32))
    return _fits(X, y, m, repeats, jax.effects_barrier, f"jax {jax.__version__}")


def _recipe(data: Data, m: int, repeats: int) -> Iterator[Result]:
    """Its data on the device, its solver compiled by a first fit."""
    import jax

    from benchmarks.methods import recipe_jax

    compiled = jax.jit(recipe_jax.solve)
    X, y = recipe_jax.to_jax(data.X, data.y.astype(np.float32))
    first = _warmed_up(partial(recipe_jax.boost, compiled, X, y, m, 0), jax.effects_barrier)
    for seed in range(repeats):
        seconds, (F, passes) = recipe_jax.timed(partial(recipe_jax.boost, compiled, X, y, m, seed))
        loss = np.logaddexp(0.0, -data.y.astype(np.float64) * np.asarray(F, np.float64)).mean()
        peer = f"jax {jax.__version__}, jaxopt {version('jaxopt')}"
        yield Result(seconds, float(loss), passes, peer, {"first_fit_seconds": first})


def _calls(
    data: Data, m: int, repeats: int, make: Callable[[Any, Any], Callable[[], Any]]
) -> Iterator[Result]:
    import torch

    X, y = (torch.asarray(each, device="cuda") for each in (data.X, data.y.astype(np.float32)))
    call = make(X, y)
    fastest = min(_timed(call, torch.cuda.synchronize)[0] for _ in range(CALLS))
    yield Result(fastest, None, None, f"torch {torch.__version__}", {})


METHODS: dict[str, Callable[..., Iterator[Result]]] = {
    READ: partial(_calls, make=lambda X, y: X.sum),
    PASS: partial(_calls, make=lambda X, y: one_pass(X, y, "log_loss", 1)),
    "gbmap-torch": _torch,
    "gbmap-torch-2-starts": partial(_torch, n_init=2),
    "gbmap-cupy": _cupy,
    "gbmap-jax": _jax,
    RECIPE: _recipe,
}
