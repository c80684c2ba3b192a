"""Fits of a file that is larger than the memory that the process is allowed.

One child process writes a memory-mapped array, another fits it under a limit: that of a control group, which
counts cached pages of the file too, where this machine lets us make one; else one on the process's own data.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.problems import Size
from benchmarks.records import OK
from benchmarks.runner import Settings, base_row, progress

SIZES: tuple[Size, ...] = ((20_000_000, 50),)
QUICK_SIZES: tuple[Size, ...] = ((4_000_000, 50),)
M = 2
BYTES_PER_ROW, BYTES_AT_LEAST = 55, 400_000_000  # allowed: what y, the scores and the samples take


def run(settings: Settings) -> None:
    """Measure one fit per repeat at every size that is asked for."""
    table = settings.table("out_of_core")
    for n, p in settings.sizes or (QUICK_SIZES if settings.quick else SIZES):
        for repeat in range(settings.repeats):
            row = base_row(f"mapped-{n}x{p}", "gbmap", repeat, None)
            if settings.fresh or not table.finished(row):
                found = measure((n, p), BYTES_AT_LEAST + BYTES_PER_ROW * n, repeat)
                row |= {"status": OK, "n": str(n), "p": str(p), "m": str(M), "extra": json.dumps(found)}
                row |= {name: f"{found[name]:.6g}" for name in ("seconds", "loss", "passes")}
                table.put(row)
                print(progress(row), row["extra"], flush=True)


def measure(size: Size, limit: int, seed: int) -> dict[str, float | str]:
    """Write the file in one child, fit it in another."""
    with tempfile.TemporaryDirectory(prefix="gbmap-bench-") as folder:
        _child("write", folder, f"{size[0]}x{size[1]}")
        found: dict[str, float | str] = json.loads(_child("fit", folder, str(M), str(seed), str(limit)))
        return found


def _child(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.experiments.out_of_core_child", *arguments]
    root = Path(__file__).parents[2]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root).stdout
