"""Peers that need versions of their own: an environment beside the project's, and a child process in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.methods.base import MissingPeerError

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Environment:
    """A virtual environment in the root of the repository; a variable may name another interpreter."""

    folder: str
    requirements: str
    python_variable: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def python(self) -> Path:
        """The interpreter."""
        python = Path(os.environ.get(self.python_variable, ROOT / self.folder / "bin" / "python"))
        if not python.exists():
            raise MissingPeerError(f"no {self.folder}: install methods/{self.requirements} there")
        return python

    def run(self, worker: Path, arguments: Sequence[str]) -> dict[str, Any]:
        """What the worker prints as its last line, in JSON."""
        # -P keeps this folder, whose files are named after packages, off the child's import path.
        child = subprocess.run(
            [str(self.python()), "-P", str(worker), *arguments],
            env={**os.environ, **self.variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if child.returncode != 0:
            sys.stderr.write(child.stderr)
            raise RuntimeError(
                f"{worker.name} ended with status {child.returncode}: {_last_line(child.stderr)}"
            )
        answer: dict[str, Any] = json.loads(_last_line(child.stdout))
        return answer


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


RIVER = Environment(".venv-bench-river", "requirements-river.txt", "GBMAP_BENCH_RIVER_PYTHON")
NANNYML = Environment(".venv-bench-nannyml", "requirements-nannyml.txt", "GBMAP_BENCH_NANNYML_PYTHON")
EVIDENTLY = Environment(".venv-bench-evidently", "requirements-evidently.txt", "GBMAP_BENCH_EVIDENTLY_PYTHON")
# On Python 3.12, which it needs; gbmap's oldest is 3.11.
NONCONFORM = Environment(
    ".venv-bench-nonconform", "requirements-nonconform.txt", "GBMAP_BENCH_NONCONFORM_PYTHON"
)
JAX = Environment(
    ".venv-bench-jax", "requirements-jax.txt", "GBMAP_BENCH_JAX_PYTHON", {"JAX_PLATFORMS": "cpu"}
)
IVIS = Environment(
    ".venv-bench-ivis", "requirements-ivis.txt", "GBMAP_BENCH_IVIS_PYTHON", {"TF_CPP_MIN_LOG_LEVEL": "3"}
)
