"""Principal components by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import Data
from benchmarks.methods.base import Result, timed


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
