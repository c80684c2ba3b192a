"""How many threads a fit uses, and the one limit on BLAS threads that all fits share."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any

import joblib
import threadpoolctl
from joblib.parallel import get_active_backend

# Below this many numbers in X a pass takes less time than it takes to wake a second thread.
WORTH_THREADS = 400_000


def effective_threads(n_jobs: int | None, n_numbers: int) -> int:
    """Return the number of threads for a matrix of `n_numbers` entries.

    None means all cores for large data, or as many as ``joblib.parallel_config`` allows, and one thread for
    small data or inside a joblib worker, where the cores are already taken.
    """
    if n_jobs is not None:
        return int(joblib.effective_n_jobs(n_jobs))
    backend, allowed = get_active_backend()
    inside_worker = (getattr(backend, "nesting_level", 0) or 0) > 0
    if inside_worker or n_numbers < WORTH_THREADS:
        return 1
    cores = available_cores()
    return cores if allowed is None else min(cores, joblib.effective_n_jobs(allowed))


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ThreadTeam:
    """Threads that share out numbered items of work; a context manager.

    BLAS runs on one thread while a team is open: its own threads fight with these.
    """

    def __init__(self, n_threads: int):
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1, "gbmap") if n_threads > 1 else None

    def __enter__(self) -> ThreadTeam:
        self._open = ExitStack()
        self._open.enter_context(single_threaded_blas())
        if self._pool is not None:
            self._open.callback(self._pool.shutdown)
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)  # all of it, though an interrupt may come while the threads end

    def run(self, work: Callable[[Iterator[int]], Any], n_items: int) -> None:
        """Call ``work(items)`` on each thread; together the iterators give 0, ..., n_items - 1.

        The calling thread works too. Which thread gets which item is left open, so `work` must
        store its results by item for them not to depend on it.
        """
        if self._pool is None or n_items < 2:
            work(iter(range(n_items)))
            return
        items = deque(range(n_items))  # popleft is atomic
        n_helpers = min(self.n_threads, n_items) - 1
        # In the caller's context: NumPy keeps there how to treat overflow.
        helpers = [self._pool.submit(copy_context().run, work, _drain(items)) for _ in range(n_helpers)]
        try:
            work(_drain(items))
        finally:
            items.clear()  # after an interrupt the helpers stop at their next item
            wait(helpers)
        for helper in helpers:
            helper.result()


def _drain(items: deque[int]) -> Iterator[int]:
    while True:
        try:
            item = items.popleft()
        except IndexError:
            return
        yield item


# threadpoolctl's limits are process-wide: with one limit per fit, the first of two overlapping fits
# to end would lift the other's limit, and the second would restore "one thread" for good.
_lock = Lock()
_n_limits = 0
_restore: Any = None


@cache
def _controller() -> Any:
    return threadpoolctl.ThreadpoolController()


def _take_control() -> None:
    """Let this thread set OpenBLAS: threadpoolctl ignores all but the first one that did."""
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _lift() -> None:
    global _restore
    _take_control()
    _restore.restore_original_limits()
    _take_control()  # and let go of it
    _restore = None


def _start_afresh() -> None:
    """Lift the limit of the parent's threads in a forked child, which does not have them."""
    global _n_limits
    _lock.release()
    if _restore is not None:
        _lift()
    _n_limits = 0


if hasattr(os, "register_at_fork"):  # else a child could inherit the lock from a thread that holds it
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_start_afresh)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS at one thread until the last of all overlapping contexts ends."""
    global _n_limits, _restore
    with _lock:
        if _n_limits == 0:
            _take_control()
            _restore = _controller().limit(limits=1, user_api="blas")
        _n_limits += 1
    try:
        yield
    finally:
        with _lock:
            _n_limits -= 1
            if _n_limits == 0:
                _lift()
