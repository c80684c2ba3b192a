"""Linear optimal low-rank projection, the paper's supervised linear peer, from the package lolP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.data import Data, Split
from benchmarks.methods.base import Coordinates, MissingPeerError, Result, peer_versions, timed


@dataclass(frozen=True)
class LOL:
    """``LOL.fit_transform(X, y)`` by full SVD.

    With two classes lolP returns one column fewer than ``n_components``, hence m + 1. Its randomised solver
    decomposes X instead of the class-centred matrix, so it is not the method of that name and is not used.
    """

    m: int = 2
    name: str = "lol"

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        model = _model(self.m, seed)
        seconds, _ = timed(lambda: model.fit_transform(data.X, data.y))
        return Result(seconds, peer=peer_versions("lolP"))

    def embed(self, split: Split, sizes: Sequence[int], *, seed: int) -> Iterator[Coordinates]:
        for m in sizes:
            if m > split.train.X.shape[1]:
                return
            model = _model(m, seed)
            seconds, train = timed(lambda model=model: model.fit_transform(split.train.X, split.train.y))
            yield Coordinates(m, train, model.transform(split.test.X), seconds, peer_versions("lolP"))


def _model(m: int, seed: int) -> Any:
    try:
        from lol import LOL as LolP
    except ImportError as error:
        raise MissingPeerError("pip install -r benchmarks/requirements.txt") from error
    return LolP(n_components=m + 1, svd_solver="full", random_state=seed)
