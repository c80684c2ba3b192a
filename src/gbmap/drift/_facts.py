"""Plain facts about the columns of a batch, which need no model, each with its chance if all is as before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.text import number, percent, sentence, shortened
from gbmap._utils.typing import Array
from gbmap.drift._inference import more_marked
from gbmap.drift._profile import BatchColumns, Profile

# A share of missing values has changed if it has by so much; a unit if sizes have by such a factor.
_MISSING_MORE, _FACTOR = 0.02, 5.0
_NAME = 40  # characters of a column, or of a category


@dataclass(frozen=True)
class Fact:
    """What may have changed in a column, and the chance of as much if nothing had.

    Attributes
    ----------
    kind : {"type", "unseen", "missing", "units", "constant", "range"}
    column : int
    text : str
    before, now : float
        The share of rows that it is about, of the reference and of the batch.
    p_value : float
        By itself: not corrected for that of other facts.
    advice : str
    """

    kind: str
    column: int
    text: str
    before: float
    now: float
    p_value: float
    advice: str


def facts(profile: Profile, batch: BatchColumns) -> Iterator[Fact]:
    """Yield all that was tested of all columns, of changed types too, which are certain."""
    for k, name in enumerate(profile.names):
        if profile.kinds[k] == "other":
            continue
        column = _Column(profile, batch, k, quoted(name))
        if batch.has_other_type[k]:
            yield column.of_type()
            continue
        if not profile.is_constant[k] or profile.constant[k] is not None:
            yield column.of_missing()
        if profile.is_constant[k]:
            yield column.of_constant()
        elif profile.kinds[k] == "category":
            yield column.of_unseen()
        elif np.isfinite(profile.low[k]):
            yield column.of_range()
            yield column.of_units()


def quoted(name: Any) -> str:
    """Return a name as a sentence may hold it."""
    return f"{shortened(sentence(name), _NAME)!r}"


def _value(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else quoted(value)


@dataclass(frozen=True)
class _Column:
    profile: Profile
    batch: BatchColumns
    k: int
    name: str

    def of_type(self) -> Fact:
        text = f"column {self.name} holds text or dates where numbers were"
        if self.profile.kinds[self.k] == "category":
            text = f"column {self.name} holds numbers or dates where text was"
        return Fact("type", self.k, text, 0.0, 1.0, 0.0, "mend the table: no prediction can be made")

    def of_missing(self) -> Fact:
        n, n_before = self.batch.n_rows, self.profile.n_rows
        now, before = int(self.batch.n_missing[self.k]), int(self.profile.n_missing[self.k])
        shares = before / n_before, now / n
        more = more_marked(now, n, before, n_before)
        fewer = more_marked(n - now, n, n_before - before, n_before)
        p = min(1.0, 2 * min(more, fewer)) if abs(shares[1] - shares[0]) >= _MISSING_MORE else 1.0
        text = (
            f"column {self.name} is missing in {percent(shares[1])} of the rows, {percent(shares[0])} before"
        )
        is_more = shares[1] > shares[0]
        advice = "find out where the values went" if is_more else "find out what stands in for missing values"
        return Fact("missing", self.k, text, *shares, p, advice)

    def of_unseen(self) -> Fact:
        profile, batch = self.profile, self.batch
        now, before = int(batch.n_unseen[self.k]), int(profile.n_unseen[self.k])
        shares = before / max(profile.n_calibration, 1), now / batch.n_rows
        p = more_marked(now, batch.n_rows, before, profile.n_calibration)
        known = ", ".join(quoted(level) for level in batch.examples[self.k])
        text = (
            f"column {self.name} holds categories that the model has not seen in {percent(shares[1])} of the "
            f"rows, {percent(shares[0])} before: {known}"
        )
        return Fact(
            "unseen", self.k, text, *shares, p, "fit anew with rows that hold them, or mend their names"
        )

    def of_constant(self) -> Fact:
        now, value = int(self.batch.n_other[self.k]), self.profile.constant[self.k]
        p = more_marked(now, self.batch.n_rows, 0, self.profile.n_rows)
        was = "was always missing" if value is None else f"was always {_value(value)}"
        share = now / self.batch.n_rows
        text = f"column {self.name} {was} and is not in {percent(share)} of the rows"
        return Fact(
            "constant", self.k, text, 0.0, share, p, "fit anew if it matters: the model cannot know it"
        )

    def of_range(self) -> Fact:
        """Return how many are beyond the smallest and the largest of the reference.

        By the ranks alone: the largest k of all rows are all in the batch, with a chance that depends on
        nothing else. Both ends are looked at.
        """
        k, n = self.k, self.batch.n_rows
        below, above = int(self.batch.n_below[k]), int(self.batch.n_above[k])
        p = min(1.0, 2 * min(more_marked(each, n, 0, self.profile.n_rows) for each in (below, above)))
        share = (below + above) / n
        low, high = number(float(self.profile.low[k])), number(float(self.profile.high[k]))
        reached = number(float(self.batch.highest[k] if above >= below else self.batch.lowest[k]))
        text = (
            f"column {self.name} is outside {low} to {high} in {percent(share)} of the rows, up to {reached}"
        )
        return Fact(
            "range", k, text, 0.0, share, p, "check its units, and how far the model may be trusted there"
        )

    def of_units(self) -> Fact:
        """Return whether sizes have changed by a large factor: a median that most rows have moved across."""
        k, n = self.k, self.batch.n_rows - int(self.batch.n_missing[self.k])
        n_before = self.profile.n_rows - int(self.profile.n_missing[k])
        was, now = float(self.profile.middle[k]), float(self.batch.middle[k])
        small = int(self.batch.n_small[k])
        factor = now / was if was > 0 else np.nan
        p = 1.0
        if n > 0 and not 1 / _FACTOR < factor < _FACTOR and not np.isnan(factor):
            half = n_before // 2  # rows below the median of the reference, and as many above
            marked = small if factor < 1 else n - small
            p = min(1.0, 2 * more_marked(marked, n, half, n_before))
        text = f"column {self.name} is of another size: {number(was)} in the middle before, {number(now)} now"
        share = max(small, n - small) / max(n, 1)
        return Fact("units", k, text, 0.5, share, p, "check its units")


def used_columns(shares: Array, least: float) -> Array:
    """Return which columns have so large a share in what the model adds up, (p,)."""
    total = shares.sum()
    return shares >= least * total if total > 0 else np.zeros(len(shares), dtype=bool)
