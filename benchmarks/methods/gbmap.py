"""GBMAP itself, through its public estimators."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import uniform
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks.data import Data, Split, mean_loss
from benchmarks.internals import passes_of
from benchmarks.methods.base import Coordinates, Outcome, Result, Settings, timed
from benchmarks.methods.linear import read_out

# The settings of the paper's runtime table. Its synthetic data come unscaled.
TABLE_3 = MappingProxyType({"beta": 1.0, "l2_regularization": 1e-3, "max_iter": 100, "standardize": False})
# Those of its table of features, but for beta, which is chosen at so many coordinates.
TABLE_5 = MappingProxyType({"l2_regularization": 1e-3, "max_iter": 400})
CHOSEN_AT, BETA = 32, uniform(1, 19)
# The ranges of its Table 2, where m goes up to the largest.
TABLE_2 = MappingProxyType({"beta": BETA, "l2_regularization": uniform(0, 0.01), "max_iter": [200, 400]})
LARGEST = 150
AS_IT_COMES = MappingProxyType({"knots": "auto"})
# Scores are taken in blocks so that judging a fit needs no more memory than the fit.
SCORE_ROWS = 1 << 18


@dataclass(frozen=True)
class GBMAP:
    """``GBMAPClassifier`` or ``GBMAPRegressor``, as the task asks; the whole ``fit`` is timed.

    Its learners are the paper's unless told: of the columns themselves, without knots.
    """

    m: int
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str = "gbmap"

    def estimator(self, task: str, seed: int, threads: int | None) -> Any:
        """The unfitted estimator."""
        import gbmap

        kind = gbmap.GBMAPClassifier if task == "classification" else gbmap.GBMAPRegressor
        return kind(n_components=self.m, n_jobs=threads, random_state=seed, **{"knots": 0, **self.params})

    def fit(self, data: Data, *, seed: int, threads: int | None = None) -> Result:
        model = self.estimator(data.task, seed, threads)
        seconds, _ = timed(lambda: model.fit(data.X, data.y))
        loss = mean_loss(data.task, data.y, scores(model, data))
        return Result(seconds, loss, passes_of(model))


def scores(model: Any, data: Data) -> NDArray[Any]:
    """f(x) of every row."""
    score = model.decision_function if data.task == "classification" else model.predict
    starts = range(0, len(data.X), SCORE_ROWS)
    return np.concatenate([score(data.X[start : start + SCORE_ROWS]) for start in starts])


@dataclass(frozen=True)
class GBMAPFeatures:
    """The coordinates of one fit: its first m are those of the fit with m learners.

    beta is the best of so many draws by the read-out of coordinates of a third of the training rows; of so
    many rows at most.
    """

    draws: int = 10
    most_rows: int = 30_000
    name: str = "gbmap"
    n_init: int = 1

    def embed(self, split: Split, sizes: Sequence[int], *, seed: int) -> Iterator[Coordinates]:
        beta = self._choose_beta(split, seed)
        params = _features(split, beta) | {"n_init": self.n_init}
        fitted = GBMAP(max(sizes), params).estimator(split.task, seed, 1)
        seconds, _ = timed(lambda: quiet_fit(fitted, split.train))
        train, test = fitted.transform(split.train.X), fitted.transform(split.test.X)
        for m in sizes:
            extra = {"beta": round(beta, 4), "draws": self.draws}
            yield Coordinates(m, train[:, :m], test[:, :m], seconds, extra=extra)

    def _choose_beta(self, split: Split, seed: int) -> float:
        few = np.random.default_rng(seed).permutation(len(split.train.y))[: self.most_rows]
        fit_rows, judge_rows = train_test_split(few, test_size=1 / 3, random_state=seed)
        fit_data, judge_data = split.train.part(fit_rows), split.train.part(judge_rows)

        def judged(beta: float) -> float:
            model = quiet_fit(
                GBMAP(CHOSEN_AT, _features(split, beta)).estimator(split.task, seed, 1), fit_data
            )
            known, new = (Data(model.transform(part.X), part.y, part.task) for part in (fit_data, judge_data))
            return read_out(known, new)

        return max(BETA.rvs(self.draws, random_state=seed).tolist(), key=judged)


@dataclass(frozen=True)
class GBMAPMap:
    """The coordinates of a fit of as many learners, otherwise as it comes."""

    name: str = "gbmap"

    def embed(self, split: Split, sizes: Sequence[int], *, seed: int) -> Iterator[Coordinates]:
        for m in sizes:
            model = GBMAP(m, AS_IT_COMES).estimator(split.task, seed, 1)
            seconds, _ = timed(lambda model=model: quiet_fit(model, split.train))
            yield Coordinates(m, model.transform(split.train.X), model.transform(split.test.X), seconds)


def _features(split: Split, beta: float) -> dict[str, Any]:
    return {**TABLE_5, "beta": beta, "standardize": not split.synthetic}


def quiet_fit(model: Any, data: Data) -> Any:
    """Fit without a word about stages that run out of iterations: their limit is the paper's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data.X, data.y)


@dataclass(frozen=True)
class GBMAPPredictor:
    """GBMAP with the settings of the paper's Table 2; one fit holds the scores of every m up to its own.

    With a large ``tol`` a learner ends far from its minimum, as those behind the paper's figures did.
    """

    synthetic: bool = False
    name: str = "gbmap"
    tol: float | None = None

    def space(self, data: Data) -> Mapping[str, Any]:
        return TABLE_2

    def train(self, data: Data, settings: Settings, *, seed: int) -> Any:
        params = {name: value for name, value in settings.items() if name != "size"}
        params["standardize"] = not self.synthetic
        if self.tol is not None:
            params["tol"] = self.tol
        return quiet_fit(GBMAP(settings.get("size", LARGEST), params).estimator(data.task, seed, 1), data)

    def path(self, model: Any, X: NDArray[Any]) -> dict[int, NDArray[Any]]:
        running = np.cumsum(model.transform(X), axis=1)
        return {m: running[:, m - 1] for m in range(min(2, running.shape[1]), running.shape[1] + 1)}

    def told(self, model: Any) -> Mapping[str, float]:
        return {}

    def peer(self) -> str:
        return ""


@dataclass(frozen=True)
class GBMAPSized:
    """GBMAP with so many learners, no knots, else by default; a learner is p weights, an offset, a, and b."""

    name: str = "gbmap"
    sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128)
    refine: bool = False

    def at(self, size: int, split: Split, *, seed: int) -> Outcome:
        params = {"standardize": not split.synthetic, "refine": self.refine}
        model = GBMAP(size, params).estimator(split.task, seed, None)
        seconds, _ = timed(lambda: quiet_fit(model, split.train))
        return Outcome(seconds, size * (split.train.X.shape[1] + 3), scores(model, split.test))
