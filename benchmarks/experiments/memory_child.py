"""The two child processes of the memory experiment.

python -m benchmarks.experiments.memory_child write FOLDER NxP DTYPE
python -m benchmarks.experiments.memory_child fit FOLDER M SEED
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.environment import peak_bytes
from benchmarks.methods.base import timed
from benchmarks.methods.gbmap import GBMAP, TABLE_3
from benchmarks.problems import parse_size, synth_cos


def write(folder: str, size: str, dtype: str) -> None:
    """Make the data and leave them in the folder."""
    data = synth_cos(parse_size(size), dtype=dtype).load()
    np.save(Path(folder, "X.npy"), data.X)
    np.save(Path(folder, "y.npy"), data.y)


def fit(folder: str, m: str, seed: str) -> None:
    """Read the data, fit, and print how far the peak rose.

    ``np.load`` needs no memory beside the array that it returns, so the peak before the fit is X and Python.
    """
    model = GBMAP(m=int(m), params=TABLE_3).estimator("classification", int(seed), None)
    X, y = np.load(Path(folder, "X.npy")), np.load(Path(folder, "y.npy"))
    before = peak_bytes()
    seconds, _ = timed(lambda: model.fit(X, y))
    print(json.dumps({"seconds": seconds, "x_bytes": X.nbytes, "beyond_bytes": peak_bytes() - before}))


if __name__ == "__main__":
    {"write": write, "fit": fit}[sys.argv[1]](*sys.argv[2:])
