"""ivis and UMAP, which learn from neighbours and targets. Runs alone, in their environment.

python -P neighbour_graphs.py FOLDER ivis|umap M[,M...] SEED

reads X.npy, y.npy and, if there is one, X_test.npy, writes train-M.npy and test-M.npy, the M coordinates of
the rows, and prints one line of JSON: for each M the seconds of the fit, the versions, the epochs, the
parameters. Classes are -1 and +1.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

# As in the paper: at most so many epochs, and an end when so many brought nothing.
EPOCHS, PATIENCE = 1000, 5


def make_ivis(m: int, seed: int, y: np.ndarray) -> Any:
    """ivis supervised by the mean absolute error, as the paper used it for numbers and for classes."""
    import tensorflow
    from ivis import Ivis

    tensorflow.keras.utils.set_random_seed(seed)
    return Ivis(
        embedding_dims=m,
        epochs=EPOCHS,
        n_epochs_without_progress=PATIENCE,
        supervision_metric="mae",
        verbose=0,
    )


def make_umap(m: int, seed: int, y: np.ndarray) -> Any:
    """Supervised UMAP as it comes."""
    from umap import UMAP

    target = "categorical" if set(np.unique(y)) == {-1, 1} else "l2"
    return UMAP(n_components=m, target_metric=target, random_state=seed, n_jobs=1)


METHODS = {
    "ivis": (make_ivis, ("ivis", "tensorflow-cpu")),
    "umap": (make_umap, ("umap-learn",)),
}


def fit(folder: Path, method: str, m: int, seed: int) -> dict[str, Any]:
    """Fit, and store the coordinates."""
    X, y = (np.load(folder / f"{name}.npy").astype(np.float32) for name in ("X", "y"))
    make, distributions = METHODS[method]
    model = make(m, seed, y)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    if (folder / "X_test.npy").exists():
        # UMAP places training rows by their targets too, and new rows without: those it fitted are kept.
        train = model.embedding_ if method == "umap" else model.transform(X)
        np.save(folder / f"train-{m}.npy", train)
        np.save(folder / f"test-{m}.npy", model.transform(np.load(folder / "X_test.npy").astype(np.float32)))
    extra = {}
    if method == "ivis":
        extra = {"epochs": len(model.loss_history_), "parameters": model.encoder_.count_params()}
    peer = ", ".join(f"{name} {version(name)}" for name in distributions)
    return {"seconds": seconds, "peer": peer, "extra": extra}


if __name__ == "__main__":
    _, folder, method, sizes, seed = sys.argv
    print(json.dumps({m: fit(Path(folder), method, int(m), int(seed)) for m in sizes.split(",")}))
