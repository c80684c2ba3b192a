"""Memory beyond X: how far the peak resident size of a process rises during a fit.

The data are written to a file by one child process and read by another, which fits with the settings of the
runtime table. Making the data takes more memory than X, and a process on Linux starts with the peak of the
one that started it, so neither the fitting process nor this one may have made them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.problems import Size, synth_cos
from benchmarks.records import OK
from benchmarks.runner import Settings, base_row, progress

SIZES: tuple[Size, ...] = ((10_000_000, 25),)
QUICK_SIZES: tuple[Size, ...] = ((1_000_000, 25),)
DTYPES = ("float32", "float64")
METHOD, M = "gbmap", 2


@dataclass(frozen=True)
class Peak:
    """What the fitting child reports, in bytes."""

    seconds: float
    x_bytes: int
    beyond_bytes: int


def run(settings: Settings) -> None:
    """Measure one fit per repeat at every size that is asked for, in float32 and float64."""
    table = settings.table("memory")
    for size in settings.sizes or (QUICK_SIZES if settings.quick else SIZES):
        for dtype in DTYPES:
            name = synth_cos(size, dtype=dtype).name
            for repeat in range(settings.repeats):
                row = base_row(name, METHOD, repeat, None)
                if settings.fresh or not table.finished(row):
                    row |= _columns(size, measure(size, dtype, seed=repeat))
                    table.put(row)
                    print(progress(row), row["extra"], flush=True)


def measure(size: Size, dtype: str, seed: int) -> Peak:
    """Make the data in one child, fit them in another."""
    with tempfile.TemporaryDirectory(prefix="gbmap-bench-") as folder:
        _child("write", folder, f"{size[0]}x{size[1]}", dtype)
        return Peak(**json.loads(_child("fit", folder, str(M), str(seed))))


def _child(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.experiments.memory_child", *arguments]
    root = Path(__file__).parents[2]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root).stdout


def _columns(size: Size, peak: Peak) -> dict[str, Any]:
    extra = {"x_bytes": peak.x_bytes, "beyond_bytes": peak.beyond_bytes}
    return {
        "status": OK,
        "seconds": f"{peak.seconds:.6g}",
        "n": str(size[0]),
        "p": str(size[1]),
        "m": str(M),
        "extra": json.dumps(extra),
    }
