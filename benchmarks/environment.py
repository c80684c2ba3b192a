"""Where a row was measured: the machine and the versions of what ran."""

from __future__ import annotations

import os
import platform
import resource
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RECORDED = ("gbmap", "numpy", "scipy", "scikit-learn")


def version_of(distribution: str) -> str:
    """The installed version, or ``"none"``."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "none"


def usable_cores() -> int:
    """Cores that this process may use, which in a container are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_bytes() -> int:
    """Largest resident size of this process so far; Linux counts in kilobytes, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def cpu_model() -> str:
    """The processor's name; Linux keeps it only in /proc/cpuinfo."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@cache
def describe() -> dict[str, str]:
    """Columns that every row of one run shares."""
    return {
        **{name: version_of(name) for name in RECORDED},
        "python": platform.python_version(),
        "cpu": cpu_model(),
        "cores": str(usable_cores()),
    }
