"""Time of short calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median


def alternating_medians(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each call over rounds that make all calls once, in turn.

    Whatever else the machine does then slows all calls alike, and the median drops what it slowed. One
    unmeasured round comes first: it pays for page faults, threads and buffers.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in seconds.items()}
