"""Several solves that run in step, so that one pass over the rows answers all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from gbmap._core.minimise import Evaluate, ValueAndGradient
from gbmap._utils.typing import Array

End = TypeVar("End")


class _AbandonedError(Exception):
    """Nobody is left to evaluate what a solve asks for."""


def solve_in_lockstep(
    solves: Sequence[Callable[[Evaluate], End]],
    evaluate_all: Callable[[list[int], list[Array]], list[ValueAndGradient]],
) -> list[End]:
    """Return what the solves return, each a function of the function that it is to evaluate.

    When all solves that still run wait for a value, `evaluate_all` is called with their numbers, ascending,
    and their points. That happens in the thread of the caller, which devices and interrupts belong to.
    """
    requests: SimpleQueue[tuple[int, Array | None]] = SimpleQueue()  # no point: the solve has ended
    replies: list[SimpleQueue[ValueAndGradient | None]] = [SimpleQueue() for _ in solves]

    def evaluate(number: int, point: Array) -> ValueAndGradient:
        requests.put((number, point))
        reply = replies[number].get()
        if reply is None:
            raise _AbandonedError
        return reply

    def run(number: int, solve: Callable[[Evaluate], End]) -> End:
        try:
            return solve(partial(evaluate, number))
        finally:
            requests.put((number, None))

    running = list(range(len(solves)))
    with ThreadPoolExecutor(len(solves)) as threads:
        try:
            # A thread does not inherit the context, where NumPy keeps what is to be done about overflows.
            ends = [threads.submit(copy_context().run, partial(run, *each)) for each in enumerate(solves)]
            while running:
                waiting = sorted(requests.get() for _ in running)  # by number: no two are the same
                points = {number: point for number, point in waiting if point is not None}
                running = list(points)
                values = evaluate_all(running, list(points.values())) if points else []
                for number, value in zip(running, values, strict=True):
                    replies[number].put(value)
        finally:
            for number in running:
                replies[number].put(None)
    return [end.result() for end in ends]
