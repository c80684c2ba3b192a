"""Threads share out work, and BLAS is held to one thread by all fits together."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import threadpoolctl

from gbmap._rows import threads
from gbmap._rows.threads import (
    WORTH_THREADS,
    ThreadTeam,
    available_cores,
    effective_threads,
    single_threaded_blas,
)

TEAMS = pytest.mark.parametrize("n_threads", [1, 2, 3, 4])


def blas_threads():
    return {info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"}


@TEAMS
@pytest.mark.parametrize("n_items", [0, 1, 2, 3, 100])
def test_every_item_is_visited_once(n_threads, n_items):
    visits = np.zeros(n_items, dtype=int)

    def work(items):
        for item in items:
            visits[item] += 1

    with ThreadTeam(n_threads) as team:
        for _ in range(5):
            team.run(work, n_items)
    assert (visits == 5).all()


@pytest.mark.parametrize("n_threads", [2, 4])
def test_the_threads_work_at_the_same_time(n_threads):
    meeting = threading.Barrier(n_threads, timeout=10)
    with ThreadTeam(n_threads) as team:
        team.run(lambda items: [meeting.wait() for _ in items], n_threads)
    assert not meeting.broken


@TEAMS
@pytest.mark.parametrize("culprit", [0, 37, 99])
def test_an_error_in_any_thread_reaches_the_caller_and_the_team_lives_on(n_threads, culprit):
    def work(items):
        for item in items:
            time.sleep(1e-5)  # so that helpers get items too
            if item == culprit:
                raise RuntimeError(f"item {item}")

    seen = []
    with ThreadTeam(n_threads) as team:
        with pytest.raises(RuntimeError, match=f"item {culprit}"):
            team.run(work, 100)
        team.run(seen.extend, 10)
    assert sorted(seen) == list(range(10))


def test_an_error_of_a_helper_is_not_lost():
    caller, meeting = threading.current_thread(), threading.Barrier(2, timeout=10)

    def work(items):
        for _ in items:
            meeting.wait()
            if threading.current_thread() is not caller:
                raise RuntimeError("helper")

    with ThreadTeam(2) as team, pytest.raises(RuntimeError, match="helper"):
        team.run(work, 2)


def test_an_interrupt_of_the_caller_stops_the_helpers_at_their_next_item():
    caller, visited = threading.current_thread(), []

    def work(items):
        for item in items:
            visited.append(item)
            time.sleep(0.01)
            if threading.current_thread() is caller:
                raise KeyboardInterrupt

    with ThreadTeam(2) as team, pytest.raises(KeyboardInterrupt):
        team.run(work, 10_000)
    assert len(visited) < 100


def test_no_thread_outlives_its_team():
    before = threading.active_count()
    with ThreadTeam(4) as team:
        team.run(list, 100)
    assert threading.active_count() == before


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_while_a_team_is_open_and_is_restored_after():
    with ThreadTeam(1):
        assert blas_threads() == {1}
        with ThreadTeam(2):
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_restored_after_an_error():
    def fail():
        with single_threaded_blas():
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert blas_threads() == {2}
    assert threads._n_limits == 0


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_restored_after_an_interrupt_while_the_threads_end(monkeypatch):
    def interrupted(pool):
        raise KeyboardInterrupt

    team = ThreadTeam(2)  # which a traceback may hold on to
    with monkeypatch.context() as patch:
        patch.setattr(ThreadPoolExecutor, "shutdown", interrupted)
        with pytest.raises(KeyboardInterrupt), team:
            pass
    assert blas_threads() == {2}
    assert threads._n_limits == 0


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_restored_after_the_last_of_two_overlapping_limits():
    entered, leave, left, end = (threading.Event() for _ in range(4))

    def first():
        with single_threaded_blas():
            entered.set()
            leave.wait(10)
        left.set()
        end.wait(10)  # as a thread of a pool lives on

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait(10)
    with single_threaded_blas():
        leave.set()
        left.wait(10)  # the limit that came first ends first
        within = blas_threads()
    after = blas_threads()
    end.set()
    thread.join()
    assert (within, after) == ({1}, {2})


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("first", ["caller", "other"])
def test_the_limit_works_in_every_thread_whichever_had_it_before(first):
    def look():
        with single_threaded_blas():
            return blas_threads()

    with ThreadPoolExecutor(1) as pool:
        where = [look, lambda: pool.submit(look).result()]
        within = [each() for each in (where if first == "caller" else where[::-1])]
        after = blas_threads()
    assert within == [{1}, {1}]
    assert after == {2}


def test_small_data_gets_one_thread_and_large_data_all_cores():
    assert effective_threads(None, WORTH_THREADS - 1) == 1
    assert effective_threads(None, WORTH_THREADS) == available_cores() >= 1


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_n_jobs_is_taken_at_its_word_for_data_of_any_size(n_jobs):
    assert effective_threads(n_jobs, 1) == n_jobs
    assert effective_threads(-1, 1) == joblib.effective_n_jobs(-1)


def test_the_configuration_of_joblib_limits_what_none_means():
    with joblib.parallel_config(n_jobs=1):
        assert effective_threads(None, 10**9) == 1
        assert effective_threads(2, 1) == 2
    with joblib.parallel_config(n_jobs=10**6):
        assert effective_threads(None, 10**9) == available_cores()
        assert effective_threads(None, 1) == 1


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_a_joblib_worker_there_is_one_thread(backend):
    ask = joblib.delayed(effective_threads)
    assert joblib.Parallel(2, backend=backend)(ask(None, 10**9) for _ in range(4)) == [1] * 4


def test_a_single_joblib_job_leaves_all_cores():
    assert joblib.Parallel(1)([joblib.delayed(effective_threads)(None, 10**9)]) == [available_cores()]
