"""What the cluster that Dask would use now has: workers, threads and memory."""

from __future__ import annotations

import sys
from typing import Any

from gbmap._rows.threads import available_cores

# A part is no larger than this, so that it moves and is computed anew in seconds.
_PART_BYTES = 1 << 30
# And no larger than this share of a thread's memory on its worker, which has to hold what it is made of too.
_PART_SHARE = 1 / 8
# Rows that take more than this share of the workers' memory are better read from files at every round: there
# are two copies while they are cut, and Dask begins to put things on disk at 0.6.
_MEMORY_SHARE = 0.3


def slots() -> tuple[int, int]:
    """Return how many workers there are, and their threads in all; without a cluster, this machine's."""
    client = current_client()
    if client is None:
        return 1, available_cores()
    threads = client.nthreads()
    return max(1, len(threads)), max(1, sum(threads.values()))


def part_bytes() -> int:
    """Return the most bytes that a part may have, given what the threads of the smallest worker share."""
    shares = [memory / n_threads for memory, n_threads in _workers()]
    return min([_PART_BYTES, *(int(_PART_SHARE * share) for share in shares)])


def fits_memory(n_bytes: int) -> bool:
    """Return whether the workers can hold so much of X beside the rest; those without a limit can."""
    workers = _workers()
    return not workers or n_bytes <= _MEMORY_SHARE * sum(memory for memory, _ in workers)


def _workers() -> list[tuple[int, int]]:
    """Return the memory and the threads of each worker whose memory is limited."""
    client = current_client()
    workers = [] if client is None else client.scheduler_info()["workers"].values()
    return [(each["memory_limit"], each["nthreads"]) for each in workers if each["memory_limit"]]


def current_client() -> Any:
    """Return the client of the cluster that Dask would use now, or None."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)  # type: ignore[no-untyped-call]
    return client if hasattr(client, "nthreads") else None


def current_worker() -> Any:
    """Return the worker that this runs on, or None."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed.get_worker() if distributed else None
    except ValueError:  # called outside of a worker
        return None
