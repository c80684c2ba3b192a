"""From what a GBMAP is given to the inputs of its learners, in SQL; see `gbmap._core.inputs`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gbmap._utils.typing import Array
from gbmap.estimators.predictor import FittedInputs
from gbmap.sql._preprocessing import Value, mark_of, read_like
from gbmap.sql._text import number


@dataclass(frozen=True)
class Input:
    """A number that is read from the table, held within limits, less the lower one if there is any."""

    read: str  # an expression of the table's columns
    low: float = -math.inf
    high: float = math.inf
    # Expressions to add to what is computed from it: zero, or NULL where a step refuses the row.
    guards: tuple[str, ...] = ()

    @property
    def has_limits(self) -> bool:
        """Whether it is not what is read."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def of(self, name: str) -> str:
        """Return the input, given the name of what was read."""
        if not self.has_limits:
            return name
        origin = self.low if math.isfinite(self.low) else 0.0
        cases = [
            f"WHEN {name} {beyond} {number(limit)} THEN {number(limit - origin)}"
            for beyond, limit in (("<", self.low), (">", self.high))
            if math.isfinite(limit)
        ]
        return f"CASE {' '.join(cases)} ELSE {name} - {number(origin)} END"


def learner_inputs(fitted: FittedInputs, given: list[Value]) -> list[Input]:
    """Return the inputs of the learners, given the columns of the GBMAP."""
    inputs = fitted.inputs
    levels: tuple[Array | None, ...] = fitted.categories or (None,) * inputs.n_columns
    read = [
        value.computed(value.number) if known is None else read_like(value, known.tolist())
        for value, known in zip(given, levels)
    ]
    numbers = [
        Input(
            f"COALESCE({read[k].number}, {number(inputs.fill[k])})", float(low), float(high), read[k].guards
        )
        for k, low, high in zip(inputs.number_source, inputs.low, inputs.high)
    ]
    marks = [mark_of(read[k], [None]) for k in inputs.missing_source]
    for k, code in zip(inputs.category_source, inputs.code):
        known = levels[k]
        marks.append(mark_of(read[k], [code if known is None else known[int(code)]]))
    return numbers + [Input(value.number, guards=value.guards) for value in marks]
