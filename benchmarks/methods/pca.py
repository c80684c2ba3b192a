"""Principal components by scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.data import Data, Split
from benchmarks.methods.base import Coordinates, Result, timed


@dataclass(frozen=True)
class PCA:
    """``PCA(m).fit_transform(X)`` with the given solver; the paper's runtime table has "full"."""

    name: str
    solver: str
    m: int = 2

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        from sklearn.decomposition import PCA as SklearnPCA

        model = SklearnPCA(self.m, svd_solver=self.solver, random_state=seed)
        seconds, _ = timed(lambda: model.fit_transform(data.X))
        return Result(seconds)

    def embed(self, split: Split, sizes: Sequence[int], *, seed: int) -> Iterator[Coordinates]:
        from sklearn.decomposition import PCA as SklearnPCA

        possible = [m for m in sizes if m <= split.train.X.shape[1]]
        model = SklearnPCA(max(possible), svd_solver=self.solver, random_state=seed)
        seconds, train = timed(lambda: model.fit_transform(split.train.X))
        test = model.transform(split.test.X)
        for m in possible:
            yield Coordinates(m, train[:, :m], test[:, :m], seconds)
