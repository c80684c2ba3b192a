"""Fits and predictions side by side, in threads and in processes: the same bits, and no deadlock."""

import hashlib
import importlib
import multiprocessing
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
import threadpoolctl
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._rows.threads import single_threaded_blas

LIMIT = 60  # seconds until a child or thread counts as deadlocked
needs_fork = pytest.mark.skipif(
    sys.platform != "linux", reason="Windows does not fork, and the BLAS of macOS does not survive it"
)
pytestmark = [
    pytest.mark.usefixtures("two_blas_threads"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:os.fork.* was called:RuntimeWarning"),  # JAX, if a test has loaded it
]


def draw(n=60_000, p=8):
    """Return rows enough for several blocks, which the threads of a fit share out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.float32)
    return X, np.abs(X[:, 0]) - X[:, 1]


X, Y = draw()
MODELS = {
    "regressor": GBMAPRegressor(1, random_state=0, n_jobs=2),
    "classifier": GBMAPClassifier(2, knots=0, random_state=0, n_jobs=2, max_iter=20, tol=1e-3),
    "small": GBMAPRegressor(3, random_state=0, n_jobs=2),
}


def fitted(kind):
    rows, y = (X[:300], Y[:300]) if kind == "small" else (X, Y)
    return clone(MODELS[kind]).fit(rows, y > 0.5 if kind == "classifier" else y)


def bits(model):
    ensemble = model.ensemble_
    arrays = (ensemble.intercepts, ensemble.weights, ensemble.offsets, model.loss_curve_, model.transform(X))
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def all_bits():
    return {kind: bits(fitted(kind)) for kind in MODELS}


@pytest.fixture(scope="module")
def expected():
    return all_bits()


def blas_threads():
    return [info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"]


def in_threads(functions):
    """Return what functions return that run at the same time, each in a thread of its own."""
    results, start = [None] * len(functions), threading.Barrier(len(functions))

    def work(position):
        start.wait(LIMIT)
        results[position] = functions[position]()

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    return results


def in_processes(context, target, n):
    """Return what n children send through the connection that they are given; kill those that hang."""
    workers = []
    for _ in range(n):
        here, there = context.Pipe(duplex=False)
        workers.append((context.Process(target=target, args=(there,)), here))
        workers[-1][0].start()
        there.close()
    end = time.monotonic() + LIMIT
    try:
        ready = [here.poll(max(0, end - time.monotonic())) for _, here in workers]
        assert all(ready), "deadlock"
        return [here.recv() for _, here in workers]
    finally:
        for worker, _ in workers:
            worker.kill()
            worker.join()


# --- threads --------------------------------------------------------------------------------------


def test_fits_in_parallel_threads_give_the_same_bits_and_blas_its_threads_back(expected):
    before = blas_threads()
    assert in_threads([all_bits] * 4) == [expected] * 4
    assert blas_threads() == before


def test_one_model_predicts_in_many_threads_at_once():
    model = fitted("classifier")
    tasks = [lambda: model.transform(X), lambda: model.predict_proba(X), lambda: model.predict(X[:500])] * 4
    for task, found in zip(tasks, in_threads(tasks), strict=True):
        np.testing.assert_array_equal(found, task())


@pytest.mark.parametrize("limit", [1, 2])
def test_a_fit_within_limits_of_threadpoolctl_gives_the_same_bits_and_keeps_them(limit, expected):
    with threadpoolctl.threadpool_limits(limit):
        within = blas_threads()
        assert all_bits() == expected
        assert blas_threads() == within


# --- processes ------------------------------------------------------------------------------------


@needs_fork
def test_forked_children_of_a_process_that_has_fitted_give_the_same_bits(expected):
    before = blas_threads()

    def report(connection):
        connection.send((all_bits(), blas_threads()))

    assert in_processes(multiprocessing.get_context("fork"), report, 2) == [(expected, before)] * 2


@pytest.mark.nightly
@needs_fork
def test_children_forked_amid_fits_in_other_threads_neither_hang_nor_keep_their_limit(expected):
    before, stop = blas_threads(), threading.Event()

    def keep_opening_and_closing_limits():
        while not stop.is_set():
            with single_threaded_blas():
                pass

    def report(connection):
        connection.send((bits(fitted("small")), blas_threads()))

    others = [threading.Thread(target=keep_opening_and_closing_limits, daemon=True) for _ in range(2)]
    for other in others:
        other.start()
    try:
        found = in_processes(multiprocessing.get_context("fork"), report, 12)
    finally:
        stop.set()
        for other in others:
            other.join(LIMIT)
    assert found == [(expected["small"], before)] * 12


@needs_fork
def test_a_child_forked_while_a_limit_is_held_does_not_keep_it():
    before = blas_threads()

    def report(connection):
        with single_threaded_blas():
            within = blas_threads()
        connection.send((within, blas_threads()))

    with single_threaded_blas():
        found = in_processes(multiprocessing.get_context("fork"), report, 1)
        assert blas_threads() == [1] * len(before)
    assert found == [([1] * len(before), before)]


def report_all_bits(connection):
    connection.send(all_bits())


@pytest.mark.nightly
def test_a_spawned_child_gives_the_same_bits(tmp_path, monkeypatch, expected):
    (tmp_path / "this_file_as_a_module.py").write_text(Path(__file__).read_text())
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("this_file_as_a_module")  # a spawned child must find its target by name
    (found,) = in_processes(multiprocessing.get_context("spawn"), module.report_all_bits, 1)
    assert found == expected


def test_fits_with_threads_within_jobs_of_joblib_give_the_same_scores():
    def scores(n_jobs, backend):
        with joblib.parallel_config(backend=backend):
            model = GBMAPRegressor(1, random_state=0, n_jobs=n_jobs)
            return cross_val_score(model, X, Y, n_jobs=n_jobs, cv=2).tobytes()

    alone = scores(1, "loky")
    assert [scores(2, "threading"), scores(2, "loky")] == [alone] * 2
