"""Several solves that run in step, so that one pass over the rows answers all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gbmap._core.minimise import End, Solve, ValueAndGradient
from gbmap._utils.typing import Array


def solve_in_lockstep(
    solves: Sequence[Solve[End]],
    evaluate_all: Callable[[list[int], list[Array]], list[ValueAndGradient]],
) -> list[End]:
    """Return the ends of solves.

    When each that still runs has asked for a value, `evaluate_all` is called with their numbers, ascending,
    and their points.
    """
    points = {number: next(solve) for number, solve in enumerate(solves)}
    ends: dict[int, End] = {}
    while points:
        numbers = list(points)
        for number, value in zip(numbers, evaluate_all(numbers, list(points.values())), strict=True):
            try:
                points[number] = solves[number].send(value)
            except StopIteration as stopped:
                ends[number] = stopped.value
                del points[number]
    return [ends[number] for number in range(len(solves))]
