"""Indicators of drift, on the paper's splits of the real data sets: do they tell which rows will go wrong?

Each repeat cuts a set anew by the feature that makes the most drift, and drops it. A GBMAP is fitted on a1;
a2 is distributed as a1; b has drifted. A row is out of distribution when its loss exceeds the 95 % quantile
of a2's losses, and an indicator is judged by its AUC on a2 and b together. Its alarm goes off above the 95 %
quantile of a random half of a2. Problems "NAME+noise" have the same rows, and 50 columns of noise more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.covariance import EmpiricalCovariance
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import resample

from benchmarks.data import Data, Task
from benchmarks.methods.base import Result, timed
from benchmarks.methods.gbmap import GBMAP, scores
from benchmarks.problems import CLASSIFICATION_SETS, REAL_SETS
from benchmarks.records import Table
from benchmarks.runner import Settings, base_row, measured
from gbmap.datasets import DriftSplit, drift_split, load_paper_dataset
from gbmap.drift import DriftDetector, EuclideanDetector

Array = NDArray[Any]

SEARCH = GBMAP(m=10, params={"beta": 5.0, "l2_regularization": 1e-3, "max_iter": 200})
WATCHED = GBMAP(m=20, params={"beta": 5.0, "l2_regularization": 1e-3, "max_iter": 200})
NEIGHBOURS, MODELS, THREADS = 5, 5, 1
TAIL = 0.05
MOST_ROWS = {"superconductor": 10_000}

# What says that a row goes wrong: the model's loss; for classes also the paper's other reading, by scores;
# beside columns of noise also the loss of the model without them.
LOSS, SCORE, PLAIN = "loss", "score", "plain"

NOISE, NOISE_COLUMNS = "+noise", 50
# Those with at least 5000 rows.
NOISE_SETS = (
    "airquality",
    "california",
    "cpu-small",
    "qm9-10k",
    "superconductor",
    "eeg-eye-state",
    "higgs-10k-h2o",
    "higgs-10k-openml-sample",
)
QUICK_SETS = ("autompg", "concrete", "diabetes")


@dataclass(frozen=True)
class Case:
    """One repeat: a model fitted on a1, and the rows to judge."""

    data: Data
    split: DriftSplit
    model: Any
    seed: int

    @cached_property
    def halves(self) -> tuple[Array, Array]:
        """a2 in two random halves: rows to calibrate with, and rows held out."""
        mixed = np.random.default_rng(self.seed).permutation(self.split.test)
        return mixed[::2], mixed[1::2]

    @property
    def judged(self) -> Array:
        """The two halves of a2, and b."""
        return np.concatenate([*self.halves, self.split.shifted])

    @property
    def reference(self) -> Data:
        """a1."""
        return self.part(self.split.train)

    def part(self, rows: Array) -> Data:
        """Some of the rows."""
        return Data(self.data.X[rows], self.data.y[rows], self.data.task)

    def losses(self, rows: Array) -> Array:
        """The loss of each row: squared, or logistic for classes."""
        part = self.part(rows)
        score = scores(self.model, part)
        if part.task == "regression":
            return (part.y - score) ** 2
        return np.logaddexp(0.0, -part.y * score)


def run(settings: Settings) -> None:
    """Judge every indicator on every set that is asked for, and again beside columns of noise."""
    table, sets = settings.table("drift"), chosen_sets(settings)
    for problem in (*sets, *(name + NOISE for name in sets if name in NOISE_SETS)):
        for repeat in range(settings.repeats):
            todo = unfinished(table, settings, problem, INDICATORS, repeat)
            if todo:
                _judge(table, problem, todo, repeat)


def chosen_sets(settings: Settings) -> tuple[str, ...]:
    """The names of the data sets that are asked for."""
    return settings.datasets or (QUICK_SETS if settings.quick else REAL_SETS)


def unfinished(
    table: Table, settings: Settings, problem: str, methods: Iterable[str], repeat: int
) -> list[str]:
    """The methods that have no row yet."""
    rows = {name: base_row(problem, name, repeat, THREADS) for name in methods}
    return [name for name, row in rows.items() if settings.fresh or not table.finished(row)]


def keep(table: Table, problem: str, method: str, case: Case, result: Result) -> None:
    """Store a row."""
    row = base_row(problem, method, case.seed, THREADS) | {"m": str(WATCHED.m)}
    extra = {"feature": str(case.split.feature)} | result.extra
    table.put(row | measured(case.data, Result(result.seconds, extra=extra)))


def _judge(table: Table, problem: str, names: list[str], repeat: int) -> None:
    case = make_case(problem, repeat)
    truths = {reading: truth(case, losses) for reading, losses in _readings(problem, case).items()}
    for name in names:
        seconds, values = timed(partial(INDICATORS[name], case))
        extra = _alarms(case, values)
        for reading, (outside, drift) in truths.items():
            extra[reading] = {"auc": round(float(roc_auc_score(outside, values)), 6)} | drift
        keep(table, problem, name, case, Result(seconds, extra=extra))
    print(f"{problem}  repeat {repeat}, cut by {case.split.feature}: {', '.join(names)}", flush=True)


def make_case(problem: str, repeat: int, feature: str | None = None) -> Case:
    """Split, by a feature if one is given, encode and fit; the repeat is the seed of all that is random."""
    name = problem.removesuffix(NOISE)
    frame, y, task = load(name)
    split = find_split(name, repeat, feature)
    frame = frame.drop(columns=[split.feature])
    X = np.asarray(_encoder().fit(frame.iloc[split.train]).transform(frame), dtype=np.float64)
    if problem.endswith(NOISE):
        X = np.hstack([X, np.random.default_rng(repeat).normal(size=(len(X), NOISE_COLUMNS))])
    model = WATCHED.estimator(task, repeat, THREADS).fit(X[split.train], y[split.train])
    return Case(Data(X, y, task), split, model, repeat)


@cache
def find_split(name: str, repeat: int, feature: str | None = None) -> DriftSplit:
    """The split by the feature that makes the most drift, or by a given one."""
    frame, y, task = load(name)
    model = make_pipeline(_encoder(), SEARCH.estimator(task, repeat, THREADS))
    return drift_split(frame, y, model, feature=feature, random_state=repeat)


def load(name: str) -> tuple[Any, Array, Task]:
    """All rows of a set, or those that it is cut to."""
    frame, y = load_paper_dataset(name)
    if name in MOST_ROWS:
        rows = np.random.default_rng(0).permutation(len(frame))[: MOST_ROWS[name]]
        frame, y = frame.iloc[rows], np.asarray(y)[rows]
    return frame, np.asarray(y), "classification" if name in CLASSIFICATION_SETS else "regression"


def _encoder() -> Any:
    text = make_column_selector(dtype_exclude="number")
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text), remainder="passthrough"
    )


def _readings(problem: str, case: Case) -> dict[str, Array]:
    """What counts as the loss of the judged rows."""
    readings = {LOSS: case.losses(case.judged)}
    if problem.endswith(NOISE):
        readings[PLAIN] = make_case(problem.removesuffix(NOISE), case.seed).losses(case.judged)
    elif case.data.task == "classification":
        readings[SCORE] = (_logistic_score(case.data) - scores(case.model, case.data))[case.judged] ** 2
    return readings


def _logistic_score(data: Data) -> Array:
    """The score of an almost unpenalised logistic regression on all rows.

    The default tolerance stops far from the minimum on eeg-eye-state and breast-cancer.
    """
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e6, tol=1e-8, max_iter=100_000))
    score: Array = model.fit(data.X, data.y).decision_function(data.X)
    return score


def truth(case: Case, losses: Array) -> tuple[Array, dict[str, float]]:
    """Which rows are out of distribution; the share of them in b, and the ratio of mean losses b / a2."""
    a2, b = np.split(losses, [len(case.split.test)])
    outside = losses > np.quantile(a2, 1 - TAIL)
    share, ratio = outside[len(a2) :].mean(), b.mean() / a2.mean()
    return outside, {"share": round(float(share), 6), "ratio": float(f"{ratio:.6g}")}


def _alarms(case: Case, values: Array) -> dict[str, Any]:
    """Shares of alarms on rows as before and on drifted ones, if a half of a2 sets the threshold."""
    n_calibration, n_a2 = len(case.halves[0]), len(case.split.test)
    before, held_out, b = np.split(values, [n_calibration, n_a2])
    threshold = np.quantile(before, 1 - TAIL, method="inverted_cdf")
    rates = {"false_alarms": (held_out > threshold).mean(), "alarms": (b > threshold).mean()}
    return {name: round(float(rate), 6) for name, rate in rates.items()}


def _gbmap(case: Case, distance_weight: float = 0.0) -> Array:
    """The paper's indicator, or with the embedding distance added."""
    detector = DriftDetector(case.model, NEIGHBOURS, distance_weight=distance_weight)
    return detector.fit(case.reference.X, case.reference.y).indicator(case.data.X[case.judged])


def _spread(case: Case) -> Array:
    """The spread of the prediction by the posterior of its weights."""
    detector = DriftDetector(case.model, measure="spread")
    return detector.fit(case.reference.X, case.reference.y).indicator(case.data.X[case.judged])


def _euclid(case: Case) -> Array:
    detector = EuclideanDetector(NEIGHBOURS, random_state=case.seed)
    return detector.fit(case.reference.X).indicator(case.data.X[case.judged])


def _isolation_forest(case: Case) -> Array:
    forest = IsolationForest(random_state=case.seed).fit(case.reference.X)
    return -forest.score_samples(case.data.X[case.judged])


def _mahalanobis(case: Case) -> Array:
    scaler = StandardScaler().fit(case.reference.X)
    covariance = EmpiricalCovariance().fit(scaler.transform(case.reference.X))
    return covariance.mahalanobis(scaler.transform(case.data.X[case.judged]))


def _embedding_distance(case: Case) -> Array:
    """The embedding distance to the k-th neighbour."""
    index = NearestNeighbors(n_neighbors=NEIGHBOURS, metric="manhattan")
    index.fit(case.model.transform(case.reference.X))
    distances: Array = index.kneighbors(case.model.transform(case.data.X[case.judged]))[0][:, -1]
    return distances


def _bootstrap(case: Case) -> Array:
    """The standard deviation of the scores of models fitted on bootstrap samples of a1."""
    a1, judged, fitted = case.reference, case.part(case.judged), []
    # A class may have a handful of rows in a1: each sample has as many.
    classes = a1.y if a1.task == "classification" else None
    for nth in range(MODELS):
        seed = case.seed * MODELS + nth
        X, y = resample(a1.X, a1.y, stratify=classes, random_state=seed)
        model = clone(case.model).set_params(random_state=seed).fit(X, y)
        fitted.append(scores(model, judged))
    return np.std(fitted, axis=0)


INDICATORS: dict[str, Callable[[Case], Array]] = {
    "gbmap": _gbmap,
    "gbmap+distance": partial(_gbmap, distance_weight=1.0),
    "gbmap-spread": _spread,
    "euclid": _euclid,
    "isolation-forest": _isolation_forest,
    "mahalanobis": _mahalanobis,
    "embedding-distance": _embedding_distance,
    "bootstrap": _bootstrap,
}
