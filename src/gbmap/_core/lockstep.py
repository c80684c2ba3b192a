"""Several solves that run in step, so that one pass over the rows answers all of them.

A search for a learner runs solves in turn, and waits for the ends of some before it goes on. Those of several
outputs run side by side: what one waits for is of other rows now and then, and so the rows that most of them
ask for answer these first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.activation import Activation
from gbmap._core.minimise import End, Solve, ValueAndGradient, end_of
from gbmap._core.objective import Objective
from gbmap._core.rows import Rows
from gbmap._utils.typing import Array


@dataclass(frozen=True)
class Solves:
    """Solves of one output's objective on some rows, each with its sign: what a search waits for."""

    rows: Rows
    objective: Objective
    output: int
    signs: list[int]
    solves: list[Solve[Any]]

    @property
    def asks(self) -> tuple[int, type[Activation]]:
        """What is the same of solves that one pass can answer: of a fit, activations differ in kind alone."""
        return id(self.rows), type(self.objective.activation)

    def ends(self) -> list[Any]:
        """Return their ends, found by themselves: in step where one pass for all takes less time."""
        rows, objective, output = self.rows, self.objective, self.output
        if len(self.solves) == 1 or not rows.shares_passes(objective):
            functions = [rows.function(objective, output, sign) for sign in self.signs]
            return [end_of(*each) for each in zip(self.solves, functions)]
        signs = np.array(self.signs, dtype=float)

        def evaluate_all(numbers: list[int], thetas: list[Array]) -> list[ValueAndGradient]:
            values, gradients = rows.value_and_gradient(objective, output, np.array(thetas), signs[numbers])
            return list(zip(values.tolist(), gradients))

        return solve_in_lockstep(self.solves, evaluate_all)


# What yields solves, and is sent their ends, until it returns an end of its own.
Search = Generator[Solves, list[Any], End]


def end_of_search(search: Search[End]) -> End:
    """Return where a search ends."""
    try:
        solves = next(search)
        while True:
            solves = search.send(solves.ends())
    except StopIteration as stopped:
        end: End = stopped.value
        return end


def search_side_by_side(searches: Sequence[Search[End]]) -> list[End]:
    """Return the ends of searches, whose solves run in step."""
    if len(searches) == 1:
        return [end_of_search(searches[0])]
    running = [_Running(search) for search in searches]
    while waiting := [each for each in running if each.points]:
        count: dict[Any, int] = {}
        for each in waiting:
            count[each.asks] = count.get(each.asks, 0) + len(each.points)
        most = max(count, key=lambda asks: count[asks])  # the first of equals
        asking = [(each, n) for each in waiting if each.asks == most for n in each.points]
        answers = asking[0][0].solves.rows.answer(
            [each.solves.objective for each, _ in asking],
            [each.solves.output for each, _ in asking],
            np.array([each.points[n] for each, n in asking]),
            np.array([each.solves.signs[n] for each, n in asking], dtype=float),
        )
        for (each, n), answer in zip(asking, answers, strict=True):
            each.tell(n, answer)
    return [each.end for each in running]


class _Running:
    """A search with the solves that it waits for, those that go on with the points that they ask for."""

    solves: Solves
    asks: tuple[int, type[Activation]]
    end: Any

    def __init__(self, search: Search[Any]):
        self._search, self.points, self._ends = search, dict[int, Array](), dict[int, Any]()
        self._go_on(None)

    def tell(self, number: int, answer: ValueAndGradient) -> None:
        """Let a solve go on, and the search when that was the last one."""
        try:
            self.points[number] = self.solves.solves[number].send(answer)
        except StopIteration as stopped:
            self._ends[number] = stopped.value
            del self.points[number]
        if not self.points:
            self._go_on([self._ends[n] for n in range(len(self._ends))])

    def _go_on(self, ends: Any) -> None:
        self._ends = {}
        try:
            self.solves = self._search.send(ends)
        except StopIteration as stopped:
            self.end = stopped.value
        else:
            self.asks = self.solves.asks
            self.points = {n: next(solve) for n, solve in enumerate(self.solves.solves)}


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
