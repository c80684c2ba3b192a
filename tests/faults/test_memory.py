"""Peak memory: what a call allocates stays within its limit, however many rows there are."""

import tracemalloc
from functools import cache, lru_cache

import numpy as np
import pytest
import scipy.sparse

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor, embedding_distances, path_distances
from gbmap.inspection import explain

MB = 1e6
N_JOBS = 2


def peak(function):
    """Return the most bytes that a call, its result included, held at a time."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@lru_cache(maxsize=1)
def draw(dtype=np.float32):
    X = np.random.default_rng(0).standard_normal((600_000, 25), dtype=np.float32).astype(dtype, copy=False)
    return X, np.abs(X[:, 0]).astype(np.float64)


@cache
def fitted(knots="auto"):
    X, y = draw()
    return GBMAPRegressor(5, knots=knots, random_state=0, n_jobs=N_JOBS).fit(X[:2_000], y[:2_000])


def need_of_fit(kind, n, dtype):
    X, y = (array[:n] for array in draw(dtype))
    cls, weight = GBMAPRegressor, None
    if kind == "classifier":
        cls, y = GBMAPClassifier, y > 1
    if kind == "weighted":
        weight = y
    knots = "auto" if kind == "regressor" else 0  # with bends there is seven times as much to compute
    model = cls(1, knots=knots, max_iter=2, tol=1e-2, random_state=0, n_jobs=N_JOBS)
    return peak(lambda: model.fit(X, y, sample_weight=weight))


@pytest.mark.sampled(3, 2)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["regressor", "classifier", "weighted"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_takes_a_quarter_of_x_and_100_mb(kind, dtype):
    # Both have samples of the same sizes, beside which only what grows with the rows differs.
    few, many = (need_of_fit(kind, n, dtype) for n in (170_000, 320_000))
    quarter = 25 * np.dtype(dtype).itemsize / 4
    further = 16 if kind == "weighted" else 0  # for the weights, which are not in X
    assert (many - few) / 150_000 < quarter + further
    assert many < 320_000 * (quarter + further) + 100 * MB


def test_a_sparse_fit_never_makes_the_matrix_dense():
    X = scipy.sparse.random_array((20_000, 5_000), density=0.002, rng=np.random.default_rng(0), format="csr")
    y = X[:, :1].toarray()[:, 0]
    model = GBMAPRegressor(1, max_iter=5, tol=1e-2, random_state=0)
    assert peak(lambda: model.fit(X, y)) < 100 * MB  # 800 MB if it were dense
    assert peak(lambda: model.predict(X)) < 5 * MB
    assert peak(lambda: model.transform(X)) < 5 * MB


@pytest.mark.nightly
def test_a_fit_of_few_rows_makes_no_matrix_of_ten_thousand_columns():
    X, y = np.random.default_rng(0).normal(size=(30, 10_000)), np.arange(30.0)
    assert peak(lambda: GBMAPRegressor(1, random_state=0).fit(X, y)) < 50 * MB  # 800 MB with it


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", ["predict", "transform"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_take_their_result_and_10_mb_a_thread(method, dtype):
    model, (X, _) = fitted(), draw(dtype)
    result = X.itemsize * len(X) * 5 if method == "transform" else 8 * len(X)
    assert peak(lambda: getattr(model, method)(X)) < result + N_JOBS * 10 * MB


def test_the_drift_indicator_takes_17_bytes_a_row():
    X, y = draw()
    X = np.ascontiguousarray(X[:, :3])
    detector = DriftDetector(GBMAPRegressor(2, random_state=0), random_state=0).fit(X[:300], y[:300])
    few, many = (peak(lambda n=n: detector.indicator(X[:n])) for n in (1 << 16, 1 << 18))
    assert (many - few) / ((1 << 18) - (1 << 16)) < 18  # two numbers, and whether it is strange
    assert many < 25 * MB


def test_embedding_distances_take_their_result_and_5_mb():
    X, _ = draw()
    result = 8 * 2_000 * 1_000
    assert peak(lambda: embedding_distances(fitted(), X[:2_000], X[:1_000])) < result + 5 * MB


def test_path_distances_take_seven_times_their_result_and_25_mb_a_thread():
    X, _ = draw()
    for n in (200, 800):
        need = peak(lambda n=n: path_distances(fitted(knots=0), X[:n], X[n : 2 * n], return_bound=True))
        assert need < 7 * 8 * n**2 + N_JOBS * 25 * MB


@pytest.mark.nightly
def test_explanations_take_five_times_their_coefficients_and_10_mb():
    X, _ = draw()
    for n in (10_000, 100_000):
        assert peak(lambda n=n: explain(fitted(), X[:n])) < 5 * 8 * 25 * n + N_JOBS * 10 * MB
