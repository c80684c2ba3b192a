"""The two child processes of the out-of-core experiment.

python -m benchmarks.experiments.out_of_core_child write FOLDER NxP
python -m benchmarks.experiments.out_of_core_child fit FOLDER M SEED LIMIT
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.methods.base import timed
from benchmarks.problems import parse_size

CHUNK = 1_000_000
GROUPS = Path("/sys/fs/cgroup/memory")


def write(folder: str, size: str) -> None:
    """Write X and y a part at a time: y is a sum of cosines and noise."""
    n, p = parse_size(size)
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(Path(folder, "X.npy"), "w+", np.float32, (n, p))
    y = np.empty(n, np.float32)
    for i in range(0, n, CHUNK):
        part = rng.standard_normal((min(CHUNK, n - i), p), dtype=np.float32)
        X[i : i + CHUNK] = part
        y[i : i + CHUNK] = np.cos(part).mean(axis=1) + 0.05 * rng.standard_normal(len(part))
    X.flush()
    np.save(Path(folder, "y.npy"), y)


def fit(folder: str, m: str, seed: str, limit: str) -> None:
    """Fit the mapped file under the limit, and print what it took."""
    from gbmap import GBMAPRegressor

    model = GBMAPRegressor(int(m), random_state=int(seed))
    with held_to(int(limit)) as kind:
        X, y = np.load(Path(folder, "X.npy"), mmap_mode="r"), np.load(Path(folder, "y.npy"))
        seconds, _ = timed(lambda: model.fit(X, y))
    found = {
        "seconds": seconds,
        "loss": float(model.loss_curve_[-1]),
        "passes": sum(record.n_evaluations for record in model.history_),
        "x_bytes": X.nbytes,
        "limit_bytes": int(limit),
        "limit": kind,
    }
    print(json.dumps(found))


@contextmanager
def held_to(limit: int) -> Iterator[str]:
    """Hold this process to so many bytes, and tell of what; it is killed, or memory refused, beyond them."""
    group, process = GROUPS / f"gbmap-{os.getpid()}", str(os.getpid())
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit))
        (group / "cgroup.procs").write_text(process)
    except OSError:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        yield "its own data"
        return
    yield "its own data and cached pages of files"
    (GROUPS / "cgroup.procs").write_text(process)
    group.rmdir()


if __name__ == "__main__":
    {"write": write, "fit": fit}[sys.argv[1]](*sys.argv[2:])
