"""Which tests are for every system, which for every run or the night, and how many threads they take."""

import gc
import os
import signal
import sys
from functools import partial

import pytest
import threadpoolctl

# One each for the processes that tests run in: threads that outnumber the cores spend their time waiting.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A shell lets its background jobs ignore Ctrl-C, and so would the fits and programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before those of the night are left out
def pytest_collection_modifyitems(items):
    """Skip `posix` tests on Windows, and leave all but a share of the cases of a `sampled` test to the night.

    Those stay whose positions in the lists of their parameters add up to a multiple of the share: two values
    still meet if the other lists are long enough to make up the sum. A second number is what is to be left
    over in place of nothing: so tests of the same cases take turns with them.
    """
    for item in items:
        posix = item.get_closest_marker("posix")
        if posix is not None and sys.platform == "win32":
            item.add_marker(pytest.mark.skip(reason=f"Windows has no {posix.args[0]}"))
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            share, left_over = (*sampled.args, 0)[:2]
            if _sum_of_positions(item) % share != left_over:
                item.add_marker("nightly")


def pytest_collection_finish():
    """Let the garbage collector leave alone what has been imported and collected, a million objects."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Let it have them back: some libraries complain of what is left at the end."""
    gc.unfreeze()


def _sum_of_positions(item):
    """Return the sum of the positions of a case in the lists of its parameters."""
    total = 0
    for mark in item.iter_markers("parametrize"):
        names, cases = mark.args[:2]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        given = [item.callspec.params[name] for name in names]
        total += [_are_same(_values(case, len(names)), given) for case in cases].index(True)
    return total


def _values(case, n_names):
    if isinstance(case, type(pytest.param())):
        return case.values
    return case if n_names > 1 else [case]


def _are_same(values, others):
    return all(value is other for value, other in zip(values, others, strict=True))


@pytest.fixture(scope="module")
def few_trees():
    """Let the trees that a report compares a model with be three, not a hundred for each class."""
    from gbmap.report.contents import contenders

    with pytest.MonkeyPatch.context() as patch:
        for name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
            patch.setattr(contenders, name, partial(getattr(contenders, name), max_iter=3))
        yield


def _release_blas():
    """Let any thread set limits: threadpoolctl 3.8 listens to one thread at a time."""
    getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda force: None)(force=True)


@pytest.fixture
def two_blas_threads():
    """Start from a known number of BLAS threads, whatever the machine, and leave things as they were."""
    _release_blas()
    limit = threadpoolctl.threadpool_limits(2, user_api="blas")
    _release_blas()
    try:
        blas = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"]
        if not blas or any(info["num_threads"] != 2 for info in blas):
            pytest.skip("There is no BLAS here that takes a second thread.")
        yield
    finally:
        _release_blas()
        limit.restore_original_limits()
        _release_blas()
