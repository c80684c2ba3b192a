"""ivis and supervised UMAP, in an environment of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.data import Data, Split
from benchmarks.methods.base import Coordinates, Outcome, Result, timed
from benchmarks.methods.child import IVIS
from benchmarks.methods.linear import READOUT_C, linear_model, score_of

WORKER = Path(__file__).with_name("neighbour_graphs.py")


@dataclass(frozen=True)
class GraphMethod:
    """One of the two. Starting Python, importing TensorFlow and reading the data are never timed.

    ivis has a process for each number of coordinates, since it is known to crash; UMAP, which compiles for
    a minute, one for all.
    """

    name: Literal["ivis", "umap"]
    m: int = 2

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        with tempfile.TemporaryDirectory(prefix="gbmap-bench-") as folder:
            _save(folder, data)
            return Result(**self._run(folder, [self.m], seed)[str(self.m)])

    def embed(self, split: Split, sizes: Sequence[int], *, seed: int) -> Iterator[Coordinates]:
        with tempfile.TemporaryDirectory(prefix="gbmap-bench-") as folder:
            _save(folder, split.train)
            np.save(Path(folder, "X_test.npy"), split.test.X)
            for together in [[m] for m in sizes] if self.name == "ivis" else [sizes]:
                for m, answer in self._run(folder, together, seed).items():
                    train, test = (np.load(Path(folder, f"{part}-{m}.npy")) for part in ("train", "test"))
                    yield Coordinates(int(m), train, test, **answer)

    def _run(self, folder: str, sizes: Sequence[int], seed: int) -> dict[str, Any]:
        return IVIS.run(WORKER, [folder, self.name, ",".join(map(str, sizes)), str(seed)])


@dataclass(frozen=True)
class IvisSized:
    """A linear model of so many coordinates of ivis; its time and its parameters are counted too."""

    name: str = "ivis"
    sizes: tuple[int, ...] = (2, 8, 32)

    def at(self, size: int, split: Split, *, seed: int) -> Outcome:
        found = next(GraphMethod("ivis").embed(split, [size], seed=seed))
        model = linear_model(split.task, READOUT_C)
        seconds, _ = timed(lambda: model.fit(found.train, split.train.y))
        parameters = found.extra["parameters"] + size + 1
        return Outcome(found.seconds + seconds, parameters, score_of(model, found.test), found.peer)


def _save(folder: str, data: Data) -> None:
    np.save(Path(folder, "X.npy"), data.X)
    np.save(Path(folder, "y.npy"), data.y)
