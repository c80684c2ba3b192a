"""Files that are made to take long: loaded or refused within the time that SECURITY.md promises."""

import re
import signal
import time
import tracemalloc
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import gbmap
from benchmarks.damage.bombs import BOMBS, SECONDS, SECONDS_PER_MB, promised_seconds
from benchmarks.fuzz_loader import CORPUS, file_of, use
from gbmap.persistence import ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")


@contextmanager
def promised(n_bytes):
    """Fail if the body takes longer than was promised for a file of this size.

    Where there are alarms, end it if much longer.
    """

    def end(*_):
        raise TimeoutError("the file is still being loaded")

    has_alarms = hasattr(signal, "SIGALRM")
    if has_alarms:
        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, 10 * promised_seconds(n_bytes))
    start = time.process_time()
    try:
        yield
    finally:
        if has_alarms:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert time.process_time() - start < promised_seconds(n_bytes)


@pytest.mark.parametrize("size", [3_000, 200_000])
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_loaded_or_refused_in_time(tmp_path, name, size):
    data = BOMBS[name](size)
    (tmp_path / "bomb").write_bytes(data)
    with promised(len(data)), suppress(ModelFileError):
        gbmap.load(tmp_path / "bomb")


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_no_more_memory_than_is_promised(tmp_path, name):
    data = BOMBS[name](20_000)
    (tmp_path / "bomb").write_bytes(data)
    tracemalloc.start()
    with suppress(ModelFileError):
        gbmap.load(tmp_path / "bomb")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000 + 100 * len(data)


def test_the_promise_is_written_down():
    text = " ".join((Path(__file__).parents[2] / "SECURITY.md").read_text().split())
    (promise,) = re.findall(r"within (\d+) second and (\d+) more for each megabyte", text)
    assert tuple(map(float, promise)) == (SECONDS, SECONDS_PER_MB)


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_the_seeds_of_the_fuzzer_are_used_without_harm(tmp_path, path):
    with promised(len(file_of(path.read_bytes()))):
        use(path.read_bytes(), tmp_path)
