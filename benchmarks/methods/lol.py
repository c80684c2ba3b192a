"""Linear optimal low-rank projection, the paper's supervised linear peer, from the package lolP."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import Data
from benchmarks.methods.base import MissingPeerError, Result, peer_versions, timed


@dataclass(frozen=True)
class LOL:
    """``LOL.fit_transform(X, y)`` by full SVD.

    With two classes lolP returns one column fewer than ``n_components``, hence m + 1. Its randomised solver
    decomposes X instead of the class-centred matrix, so it is not the method of that name and is not used.
    """

    m: int = 2
    name: str = "lol"

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        try:
            from lol import LOL as LolP
        except ImportError as error:
            raise MissingPeerError("pip install -r benchmarks/requirements.txt") from error
        model = LolP(n_components=self.m + 1, svd_solver="full", random_state=seed)
        seconds, _ = timed(lambda: model.fit_transform(data.X, data.y))
        return Result(seconds, peer=peer_versions("lolP"))
