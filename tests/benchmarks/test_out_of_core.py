"""The memory that fits of large files take."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.experiments.out_of_core_child import anonymous_bytes, watched_memory
from benchmarks.records import COLUMNS, OK
from benchmarks.sections.out_of_core import section

BYTES = 1 << 27
counted = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")


def row(**extra):
    known = {"problem": "mapped-1000000x50", "status": OK, "n": "1000000", "p": "50", "seconds": "4"}
    extra |= {"x_bytes": 2e8, "limit_bytes": 1e8, "limit": "its own data"}
    return dict.fromkeys(COLUMNS, "") | known | {"passes": "9", "loss": "0.5", "extra": json.dumps(extra)}


def test_rows_without_a_peak_leave_it_open():
    start = "| mapped | 10^6 x 50 | 0.200 | 0.100 | its own data |"
    assert f"{start} - | - | - | 4.00 | 9 | 0.5 |" in section([row()])
    assert f"{start} - | 0.0800 | - | 4.00 |" in section([row(anonymous_bytes=8e7)])
    assert f"{start} 0.0900 | 0.0800 |" in section([row(anonymous_bytes=8e7, peak_bytes=9e7)])


@counted
def test_memory_that_was_given_back_counts_towards_the_peak():
    before = anonymous_bytes(os.getpid())
    with watched_memory() as found:
        taken = np.ones(BYTES, np.uint8)
        time.sleep(0.5)  # several samples
        del taken
        after = anonymous_bytes(os.getpid())
    assert after < before + BYTES // 2 < found["anonymous_bytes"]


@counted
def test_pages_of_files_are_no_anonymous_memory(tmp_path):
    np.ones(BYTES, np.uint8).tofile(tmp_path / "pages")
    before = anonymous_bytes(os.getpid())
    mapped = np.memmap(tmp_path / "pages", np.uint8, "r")
    assert mapped.sum() == BYTES
    assert anonymous_bytes(os.getpid()) < before + BYTES // 2


@counted
def test_processes_that_were_started_count():
    take = f"held = b'1' * {BYTES}; print('taken', flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    before = anonymous_bytes(os.getpid())
    with subprocess.Popen([sys.executable, "-c", take], **pipes) as child:
        assert child.stdout.readline() == "taken\n"
        assert anonymous_bytes(os.getpid()) > before + BYTES // 2
        child.communicate("\n")


@counted
def test_a_process_that_has_ended_has_no_memory():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert anonymous_bytes(child.pid) == 0
