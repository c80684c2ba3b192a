"""Fits on a CUDA device, beside the paper's recipe in JAX on the same one: ``python -m benchmarks.device``.

Needs a CUDA device with PyTorch, CuPy or JAX, and jaxopt for the recipe; what is missing is said in its rows.
Rows go to ``results/device.csv``.
"""

from __future__ import annotations

import argparse
import csv
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.methods.gbmap import TABLE_3
from benchmarks.problems import synth_cos
from benchmarks.records import RESULTS

PROBLEMS = ((10_000_000, 25, 2), (10_000_000, 25, 20), (1_000_000, 400, 2), (100_000, 3200, 2))
REPEATS = 5
FIELDS = ("problem", "m", "method", "repeat", "seconds", "loss", "passes", "note", "versions", "device")


def main() -> None:
    """Measure every library on every problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "device.csv")
    path = parser.parse_args().out
    device = _device()
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        loaded: dict[str, Any] = {}
        for n, p, m in PROBLEMS:
            problem = synth_cos((n, p))
            if problem.name not in loaded:
                loaded = {problem.name: problem.load()}
            data = loaded[problem.name]
            for name, method in METHODS.items():
                for row in _rows(method, data, m):
                    table.writerow({"problem": problem.name, "m": m, "method": name, "device": device, **row})
                    file.flush()
                    sys.stdout.write(f"{problem.name} m={m} {name}: {row}\n")


def _rows(method: Callable[[Any, int], Any], data: Any, m: int) -> list[dict[str, Any]]:
    try:
        return list(method(data, m))
    except Exception as error:  # a peer that is missing or fails is a row that says so
        return [{"repeat": 0, "note": f"{type(error).__name__}: {str(error)[:200]}"}]


def _device() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()


def _timed(call: Callable[[], Any], wait: Callable[[], None]) -> tuple[float, Any]:
    wait()
    start = time.perf_counter()
    value = call()
    wait()
    return time.perf_counter() - start, value


def _fits(X: Any, y: Any, m: int, wait: Callable[[], None], versions: str, **more: Any) -> Any:
    """Yield rows of a first fit, which compiles, and of further ones."""
    from gbmap import GBMAPClassifier

    settings = {**TABLE_3, "n_components": m, "random_state": 0, **more}
    for repeat in range(REPEATS + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is the paper's
            seconds, model = _timed(lambda: GBMAPClassifier(**settings).fit(X, y), wait)
        yield {
            "repeat": repeat,
            "seconds": f"{seconds:.5f}",
            "loss": f"{model.loss_curve_[-1]:.6f}",
            "passes": sum(record.n_evaluations for record in model.history_),
            "note": "first fit of the process" if repeat == 0 else "",
            "versions": f"{versions}, numpy {version('numpy')}, python {platform.python_version()}",
        }


def _reading(data: Any, m: int) -> Any:
    """Yield the time of one sum over X, which reads it once."""
    import torch

    X = torch.asarray(data.X, device="cuda")
    for repeat in range(20):
        seconds, _ = _timed(lambda: X.sum(), torch.cuda.synchronize)
        yield {"repeat": repeat, "seconds": f"{seconds:.6f}", "versions": f"torch {torch.__version__}"}


def _passing(data: Any, m: int) -> Any:
    """Yield the time of one evaluation of the objective and its gradient."""
    import torch

    from benchmarks.internals import one_pass

    X, y = (torch.asarray(each, device="cuda") for each in (data.X, data.y.astype(np.float32)))
    evaluate = one_pass(X, y, "log_loss", 1)
    for repeat in range(40):
        seconds, _ = _timed(evaluate, torch.cuda.synchronize)
        yield {"repeat": repeat, "seconds": f"{seconds:.6f}", "versions": f"torch {torch.__version__}"}


def _torch(data: Any, m: int, **more: Any) -> Any:
    import torch

    X, y = torch.asarray(data.X, device="cuda"), torch.asarray(data.y, device="cuda")
    return _fits(X, y, m, torch.cuda.synchronize, f"torch {torch.__version__}", **more)


def _cupy(data: Any, m: int) -> Any:
    import cupy

    X, y = cupy.asarray(data.X), cupy.asarray(data.y)
    return _fits(X, y, m, cupy.cuda.get_current_stream().synchronize, f"cupy {cupy.__version__}")


def _jax(data: Any, m: int) -> Any:
    import jax

    X, y = jax.device_put(data.X), jax.device_put(data.y.astype(np.int32))
    return _fits(X, y, m, lambda: jax.effects_barrier(), f"jax {jax.__version__}")


def _recipe(data: Any, m: int) -> Any:
    """Yield rows of the recipe: its data on the device, its solver compiled by the first fit."""
    import jax

    from benchmarks.methods import recipe_jax

    compiled = jax.jit(recipe_jax.solve)
    X, y = recipe_jax.to_jax(data.X, data.y.astype(np.float32))
    for repeat in range(REPEATS + 1):
        seconds, (F, passes) = recipe_jax.timed(lambda: recipe_jax.boost(compiled, X, y, m, 0))
        margins = data.y.astype(np.float64) * np.asarray(F, np.float64)
        yield {
            "repeat": repeat,
            "seconds": f"{seconds:.5f}",
            "loss": f"{np.logaddexp(0.0, -margins).mean():.6f}",
            "passes": passes,
            "note": "first fit of the process" if repeat == 0 else "",
            "versions": f"jax {jax.__version__}, jaxopt {version('jaxopt')}",
        }


METHODS: dict[str, Callable[[Any, int], Any]] = {
    "one read of X": _reading,
    "one pass": _passing,
    "gbmap, PyTorch": _torch,
    "gbmap, PyTorch, 5 starts": partial(_torch, n_init=5),
    "gbmap, CuPy": _cupy,
    "gbmap, JAX": _jax,
    "recipe, precompiled": _recipe,
}


if __name__ == "__main__":
    main()
