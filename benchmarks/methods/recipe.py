"""The paper's recipe in JAX and jaxopt, in an environment of its own, started as a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.data import Data
from benchmarks.methods.base import MissingPeerError, Result

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("recipe_jax.py")
ENVIRONMENT = ROOT / ".venv-bench-jax"
PYTHON_VARIABLE = "GBMAP_BENCH_JAX_PYTHON"

Mode = Literal["precompiled", "user", "plain"]


@dataclass(frozen=True)
class Recipe:
    """The recipe at the settings of the paper's runtime table.

    "precompiled" is the second fit of the same shapes with a compiled solver and with the data already in
    JAX: the optimisation alone, the recipe's best case. "user" is one fit from NumPy arrays in a new
    process, whose solver compiles once. "plain" is the same without ``jax.jit`` around the solver: jaxopt
    then compiles for every sign of every learner. Starting Python, importing JAX and reading the data are
    never timed.
    """

    mode: Mode
    m: int = 2

    @property
    def name(self) -> str:
        return f"recipe-{self.mode}"

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        if data.task != "classification":
            raise ValueError("the recipe is written for classification, the task of the runtime table")
        python = _python()
        with tempfile.TemporaryDirectory(prefix="gbmap-bench-") as folder:
            np.save(Path(folder, "X.npy"), data.X)
            np.save(Path(folder, "y.npy"), data.y.astype(data.X.dtype))
            return _run_worker(python, [folder, self.mode, str(self.m), str(seed)])


def _python() -> Path:
    """The interpreter of the recipe's environment."""
    python = Path(os.environ.get(PYTHON_VARIABLE, ENVIRONMENT / "bin" / "python"))
    if not python.exists():
        raise MissingPeerError(f"no {ENVIRONMENT.name}: install methods/requirements-jax.txt there")
    return python


def _run_worker(python: Path, arguments: list[str]) -> Result:
    """The result that the child prints as its last line, in JSON."""
    # -P keeps this folder, whose files are named after packages, off the child's import path.
    command = [str(python), "-P", str(WORKER), *arguments]
    child = subprocess.run(
        command, env={**os.environ, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True, check=False
    )
    if child.returncode != 0:
        sys.stderr.write(child.stderr)
        raise RuntimeError(f"the recipe ended with status {child.returncode}: {_last_line(child.stderr)}")
    return Result(**json.loads(_last_line(child.stdout)))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
