"""A fit on a real cluster of processes: the same bits, also when a worker is killed; nothing left behind."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter

import dask
import dask.array as da
import numpy as np
import pytest
from dask import delayed
from distributed import Client, LocalCluster, futures_of, wait

from gbmap import GBMAPRegressor
from gbmap._rows.dask import cluster, table
from gbmap._rows.dask.parts import spread
from gbmap.losses import Loss


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": quickest_start()}),
        LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster,
        Client(cluster) as client,
    ):
        yield client


def quickest_start():
    """Return how to start workers: where it can be had, as forks of a process with all imports done."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return "spawn"
    multiprocessing.set_forkserver_preload(["distributed", "gbmap._rows.dask"])
    return "forkserver"


@pytest.fixture(scope="module")
def rows(problem):
    X, y = problem
    return da.from_array(X, chunks=60_000), da.from_array(y, chunks=70_000)


@pytest.fixture(scope="module")
def local(problem):
    return GBMAPRegressor(2, random_state=0).fit(*problem)


@pytest.fixture
def at_round(monkeypatch):
    """Do something in the middle of a fit: call a function with the tasks of one of its rounds."""

    def set_action(number, action):
        rounds = iter(range(10**6))

        def collect(planned):
            return original(action(planned) if next(rounds) == number else planned)

        original = table.collect
        monkeypatch.setattr(table, "collect", collect)

    return set_action


def tasks_left(client):
    """Return the number of tasks that the scheduler knows, once it has heard of what was let go."""
    for _ in range(100):
        left = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if not left:
            break
        time.sleep(0.05)
    return left


def test_fit_has_the_bits_of_the_local_one_and_leaves_nothing(client, rows, local, contents):
    model = GBMAPRegressor(2, random_state=0).fit(*rows)
    np.testing.assert_array_equal(contents(model), contents(local))
    assert tasks_left(client) == 0


def test_parts_are_shared_out_evenly_and_few_of_them_move(client):
    one = next(iter(client.nthreads()))
    column = client.persist([delayed(np.full, pure=False)(3, i) for i in range(4)], workers=[one])
    spread_out = spread(list(column))
    wait(futures_of(spread_out))
    homes = client.who_has(futures_of(spread_out))
    per_worker = Counter(home for part in spread_out for home in homes[part.key])
    assert per_worker == dict.fromkeys(client.nthreads(), 2)
    assert [part.key for part in spread_out[:2]] == [part.key for part in column[:2]]
    assert np.array_equal(client.gather(futures_of(spread_out)), [[i] * 3 for i in range(4)])


def test_lazy_predictions_run_on_workers(client, rows, local, problem):
    found = local.predict(rows[0]).compute()
    np.testing.assert_allclose(found, local.predict(problem[0]), rtol=1e-12)


@pytest.mark.parametrize(
    "memory", [None, pytest.param(1_000_000, marks=pytest.mark.nightly)], ids=["in memory", "in files"]
)
def test_killed_worker_changes_no_bit(client, rows, local, contents, at_round, monkeypatch, memory):
    if memory is not None:
        monkeypatch.setattr(cluster, "_workers", lambda: [(memory, 1)])
    killed = []

    def kill_one(planned):
        killed.append(next(iter(client.run(os.getpid).values())))
        end = getattr(
            signal, "SIGKILL", signal.SIGTERM
        )  # Windows has but one way, and calls it by the other name
        threading.Timer(0.01, os.kill, (killed[0], end)).start()
        return planned

    at_round(20, kill_one)
    model = GBMAPRegressor(2, random_state=0).fit(*rows)
    np.testing.assert_array_equal(contents(model), contents(local))
    assert killed[0] not in client.run(os.getpid).values()


def wait_for(file):
    """Wait for a file on a worker: half a minute at most, after which its fit would go on."""
    for _ in range(600):
        if file.exists():
            break
        time.sleep(0.05)


@pytest.mark.posix("signals to a thread")
def test_interrupt_leaves_no_tasks_and_a_model_of_the_stages_done(client, rows, problem, at_round, tmp_path):
    timers, caught = [], tmp_path / "caught"

    def interrupt(planned):
        main = threading.main_thread().ident
        # Once more if the first one came while an object was torn down, where Python drops exceptions.
        times = (0.3, 1.8, 5.0, 15.0)
        timers.extend(threading.Timer(s, signal.pthread_kill, (main, signal.SIGINT)) for s in times)
        for timer in timers:
            timer.start()
        return [*planned, delayed(wait_for)(caught)]

    at_round(27, interrupt)
    model = GBMAPRegressor(50, refine=False, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*rows)
    for timer in timers:
        timer.cancel()
    caught.touch()  # so that the round, which the interrupt did not wait for, ends
    assert tasks_left(client) == 0
    assert 1 <= model.n_components_ < 10
    n_common = min(model.n_components_, 2)
    local = GBMAPRegressor(n_common, refine=False, random_state=0).fit(*problem)
    np.testing.assert_array_equal(model.loss_curve_[: n_common + 1], local.loss_curve_[: n_common + 1])
    model.set_params(n_components=model.n_components_ + 1, warm_start=True).fit(*rows)


def test_error_on_a_worker_names_the_partition_and_leaves_nothing(client, rows):
    class Picky(Loss):
        def value(self, y, f):
            raise ZeroDivisionError("a loss that fails")

        def gradient(self, y, f):
            return f

    with pytest.raises(RuntimeError, match=r"partition \d of 2 .*ZeroDivisionError: a loss that fails"):
        GBMAPRegressor(1, loss=Picky()).fit(*rows)
    assert tasks_left(client) == 0
