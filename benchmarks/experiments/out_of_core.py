"""Fits of a file that is larger than the memory that the process is allowed.

One child process writes a memory-mapped array or a Parquet file, another fits it under a limit: that of a
control group, which counts cached pages of files too, where this machine lets us make one; else one on the
process's own data. Of the Parquet file it makes a memory-mapped array first, by record batches, or it leaves
reading to a worker of Dask's.
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

# The rows of a Parquet file are on disk two or three times in the end, so there are fewer.
SIZES: dict[str, tuple[Size, ...]] = {
    "mapped": ((20_000_000, 50),),
    "parquet": ((10_000_000, 50),),
    "dask": ((10_000_000, 50),),
}
QUICK_SIZES: tuple[Size, ...] = ((4_000_000, 50),)
M = 2
# Allowed: what y, the scores and the samples take; Arrow keeps some memory, and Dask has two processes.
BYTES_PER_ROW, BYTES_AT_LEAST = 55, {"mapped": 400_000_000, "parquet": 600_000_000, "dask": 1_150_000_000}


def run(settings: Settings) -> None:
    """Measure a fit of every kind of file and size that is asked for: one per repeat, or one if quick."""
    table = settings.table("out_of_core")
    for kind, sizes in SIZES.items():
        for n, p in settings.sizes or (QUICK_SIZES if settings.quick else sizes):
            for repeat in range(1 if settings.quick else settings.repeats):
                row = base_row(f"{kind}-{n}x{p}", "gbmap", repeat, None)
                if settings.fresh or not table.finished(row):
                    found = measure(kind, (n, p), BYTES_AT_LEAST[kind] + BYTES_PER_ROW * n, repeat)
                    row |= {"status": OK, "n": str(n), "p": str(p), "m": str(M), "extra": json.dumps(found)}
                    row |= {name: f"{found[name]:.6g}" for name in ("seconds", "loss", "passes")}
                    table.put(row)
                    print(progress(row), row["extra"], flush=True)


def measure(kind: str, size: Size, limit: int, seed: int) -> dict[str, float | str]:
    """Write the file in one child, fit it in another."""
    with tempfile.TemporaryDirectory(prefix="gbmap-bench-") as folder:
        _child("write", kind, folder, f"{size[0]}x{size[1]}")
        found = json.loads(_child("fit", kind, folder, str(M), str(seed), str(limit)))
        return {**found, "x_bytes": 4 * size[0] * size[1]}


def _child(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.experiments.out_of_core_child", *arguments]
    root = Path(__file__).parents[2]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root).stdout
