"""Scores over the splits of a problem, read from rows whose extra figures hold one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, NamedTuple

from benchmarks.markdown import NOTHING
from benchmarks.records import OK, Row

Case = tuple[str, str]


class Tally(NamedTuple):
    """Figures of the paper: reached within two standard deviations, by the mean, known here, not measured."""

    within: int
    by_mean: int
    known: int
    missing: int


@dataclass(frozen=True)
class Scores:
    """What was found for a problem and a method, one entry a split, and what went wrong instead."""

    found: Mapping[Case, Sequence[Mapping[str, Any]]]
    trouble: Mapping[Case, str]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Scores:
        """Read the rows, by increasing repeat."""
        found: dict[Case, list[Mapping[str, Any]]] = {}
        trouble: dict[Case, str] = {}
        for row in sorted(rows, key=lambda row: int(row["repeat"])):
            case = row["problem"], row["method"]
            if row["status"] == OK:
                entry = json.loads(row["extra"]) | {"repeat": int(row["repeat"])}
                found.setdefault(case, []).append(entry)
            else:
                trouble[case] = row["status"].partition(":")[0]
        return cls(found, trouble)

    def values(self, problem: str, method: str, field: str = "score") -> list[Any]:
        """A figure in every split."""
        return [extra[field] for extra in self.found.get((problem, method), ()) if field in extra]

    def mean(self, problem: str, method: str, field: str = "score") -> float | None:
        """The mean score, or that of another figure, if there is one."""
        values = self.values(problem, method, field)
        return mean(values) if values else None

    def gain(self, problem: str, method: str, over: str, field: str = "score") -> float | None:
        """The mean difference to another method, over the splits that both have."""
        mine, theirs = (
            dict(zip(self.values(problem, one, "repeat"), self.values(problem, one, field)))
            for one in (method, over)
        )
        gains = [mine[repeat] - theirs[repeat] for repeat in mine if repeat in theirs]
        return mean(gains) if gains else None

    def spread(self, problem: str, method: str) -> float:
        """The standard deviation over the repeats; none for a single one."""
        values = self.values(problem, method)
        return stdev(values) if len(values) > 1 else 0.0

    def split_spread(self, problem: str, method: str) -> float:
        """The standard deviation over random splits, also of a problem "NAME@49" with a split of its own."""
        return self.spread(problem.partition("@")[0], method) or self.spread(problem, method)

    def text(self, problem: str, method: str, decimals: int = 3) -> str:
        """Mean and spread, or why there is none; a number of splits below five is told."""
        average = self.mean(problem, method)
        if average is None:
            return self.trouble.get((problem, method), NOTHING)
        splits = len(self.values(problem, method))
        spread = f" ± {self.spread(problem, method):.{decimals}f}" if splits > 1 else ""
        few = f" ({splits})" if splits < 5 else ""
        return f"{average:.{decimals}f}{spread}{few}"

    def reached(self, problem: str, method: str, figure: float, spreads: float = 2.0) -> bool | None:
        """Whether a figure is at most the mean plus two standard deviations of random splits."""
        average = self.mean(problem, method)
        return None if average is None else figure <= average + spreads * self.split_spread(problem, method)

    def apart(self, problem: str, method: str, figure: float, rounding: float = 0.0) -> bool | None:
        """Whether a figure is further from the mean than two standard deviations of random splits."""
        average = self.mean(problem, method)
        if average is None:
            return None
        return abs(figure - average) > 2.0 * self.split_spread(problem, method) + rounding

    def tally(self, cells: Mapping[Case, float]) -> Tally:
        """How many figures are reached, within two standard deviations and by the mean alone."""
        known = {case: figure for case, figure in cells.items() if self.mean(*case) is not None}
        within, by_mean = (
            sum(bool(self.reached(*case, figure, spreads)) for case, figure in known.items())
            for spreads in (2.0, 0.0)
        )
        return Tally(within, by_mean, len(known), len(cells) - len(known))

    def above(self, problem: str, method: str, other: str) -> bool | None:
        """Whether a method has the higher mean, if both have one."""
        mine, theirs = self.mean(problem, method), self.mean(problem, other)
        return None if mine is None or theirs is None else mine > theirs

    def shortfall(self, problem: str, method: str, figure: float) -> str:
        """The mean beside a figure that it differs from, in words."""
        average = self.mean(problem, method)
        assert average is not None
        return f"{average:.3f} ± {self.spread(problem, method):.3f} against {figure:.3f}"
