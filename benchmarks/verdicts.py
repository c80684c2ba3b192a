"""Whether a target was reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.markdown import NOTHING, number

PASS, SHORT, OPEN = "PASS", "short", "not measured"


@dataclass(frozen=True)
class Target:
    """A bound that a figure must keep on every problem.

    ``least`` is a weaker bound that a target may name beside the one it aims at. Values are shown with so
    many significant digits.
    """

    text: str
    bound: float
    at_most: bool = False
    least: float | None = None
    digits: int = 3

    def mark(self, value: float | None) -> str:
        """The verdict on one value."""
        if value is None:
            return OPEN
        if self._keeps(value, self.bound):
            return PASS
        if self.least is not None and self._keeps(value, self.least):
            return f"{PASS} (the least)"
        return SHORT

    def judge(self, values: Mapping[str, float | None]) -> list[str]:
        """A line about all problems: the target, the worst value and its problem, the verdict."""
        known = {name: value for name, value in values.items() if value is not None}
        if not known:
            return [self.text, NOTHING, OPEN]
        worst = (max if self.at_most else min)(known, key=lambda name: known[name])
        kept = sum(self._keeps(value, self.bound) for value in known.values())
        verdict = f"{self.mark(known[worst])}, {kept} of {len(known)}"
        if len(known) < len(values):
            verdict += f", {len(values) - len(known)} {OPEN}"
        return [self.text, f"{number(known[worst], self.digits)} ({worst})", verdict]

    def _keeps(self, value: float, bound: float) -> bool:
        return value <= bound if self.at_most else value >= bound


HEADER = ["target", "worst", "verdict"]
