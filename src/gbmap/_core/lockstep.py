"""Several solves that run in step, so that one pass over the rows answers all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from gbmap._core.minimise import Ask, ValueAndGradient
from gbmap._utils.typing import Array

End = TypeVar("End")


class _AbandonedError(Exception):
    """Nobody is left to answer a solve."""


def solve_in_lockstep(
    solves: Sequence[Callable[[Ask], End]], answer: Callable[[list[int], list[Array]], list[ValueAndGradient]]
) -> list[End]:
    """Return what the solves return, each a function that calls its argument with the points it asks about.

    When all solves that still run have asked, `answer` is called with their numbers, ascending, and their
    points. That happens in the thread of the caller, which devices and interrupts belong to.
    """
    posted: SimpleQueue[tuple[int, Array | None]] = SimpleQueue()
    replies: list[SimpleQueue[ValueAndGradient | None]] = [SimpleQueue() for _ in solves]

    def work(number: int, solve: Callable[[Ask], End]) -> End:
        def ask(point: Array) -> ValueAndGradient:
            posted.put((number, point))
            reply = replies[number].get()
            if reply is None:
                raise _AbandonedError
            return reply

        try:
            return solve(ask)
        finally:
            posted.put((number, None))

    running = list(range(len(solves)))
    with ThreadPoolExecutor(len(solves)) as threads:
        try:
            # A thread does not inherit the context, where NumPy keeps what is to be done about overflows.
            ends = [threads.submit(copy_context().run, partial(work, *each)) for each in enumerate(solves)]
            while running:
                posts = sorted(posted.get() for _ in running)  # by number: no two are the same
                asked = {number: point for number, point in posts if point is not None}
                running = list(asked)
                answers = answer(running, list(asked.values())) if asked else []
                for number, reply in zip(running, answers, strict=True):
                    replies[number].put(reply)
        finally:
            for number in running:
                replies[number].put(None)
    return [end.result() for end in ends]
