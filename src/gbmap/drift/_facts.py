"""Plain facts about the columns of a batch, which need no model, each with its chance if all is as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._utils.text import column_value, percent, sentence, shortened
from gbmap._utils.typing import Array, IntArray
from gbmap.drift._inference import more_marked, one_is_new
from gbmap.drift._profile import DAYS, BatchColumns, Profile
from gbmap.drift.constants import ConstantColumn

# A share of missing values has changed if it has by so much; a unit if sizes have by such a factor.
_MISSING_MORE, _FACTOR = 0.02, 5.0
_EXAMPLES = 3  # of classes that are new
_NAME = 40  # characters of a column, or of a category


@dataclass(frozen=True)
class Fact:
    """What may have changed in a column, and the chance of as much if nothing had.

    Attributes
    ----------
    kind : {"type", "unseen", "missing", "units", "constant", "stuck", "range", "class"}
    column : int or None
        None of one that the model was not given.
    name : str
    text : str
    before, now : float
        The share of rows that it is about, of the reference and of the batch.
    p_value : float
        By itself: not corrected for that of other facts.
    advice : str
    """

    kind: str
    column: int | None
    name: str
    text: str
    before: float
    now: float
    p_value: float
    advice: str


@dataclass(frozen=True)
class NewClasses:
    """Labels of classes that the model does not know.

    Attributes
    ----------
    n_rows, n_other, n_first : int
        Rows with labels, those of them with such ones, and those with the most frequent of these.
    examples : tuple of str
    """

    n_rows: int
    n_other: int
    n_first: int
    examples: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[Any], known: Set[Any]) -> NewClasses:
        """Return what is new among labels, none of which is missing."""
        new = Counter(label for label in labels if label not in known)
        names = tuple(str(label) for label, _ in new.most_common(_EXAMPLES))
        return cls(len(labels), new.total(), max(new.values(), default=0), names)

    def fact(self, n_calibration: int, n_met: int) -> Fact:
        """Return how many there are, given the rows of the calibration, and all that the model has met."""
        share, new = self.n_other / self.n_rows, ", ".join(map(quoted, self.examples))
        text = f"{percent(share)} of the labels are of classes that the model does not know: {new}"
        p = _of_new(self.n_other, self.n_first, self.n_rows, (0, n_calibration, n_met))
        return Fact("class", None, "", text, 0.0, share, p, "fit anew with rows of these classes")


def facts_beside(constants: Sequence[ConstantColumn]) -> Iterator[Fact]:
    """Yield what was tested of columns that the model was not given."""
    for each in constants:
        numbers = each.n_other, each.n_rows, each.n_before
        yield _of_constant(None, each.name, each.value, numbers)


def facts(profile: Profile, batch: BatchColumns) -> Iterator[Fact]:
    """Yield all that was tested of all columns, of changed types too, which are certain."""
    for k, name in enumerate(profile.names):
        if profile.kinds[k] == "other":
            continue
        column = _Column(profile, batch, k, str(name))
        if batch.has_other_type[k]:
            yield column.of_type()
            continue
        if not profile.is_constant[k] or profile.constant[k] is not None:
            yield column.of_missing()
        if profile.is_constant[k]:
            yield column.of_constant()
        elif profile.n_most is not None and not column.is_date:  # rows of one day have one date
            yield column.of_one_value(profile.n_most)
        if profile.is_constant[k]:
            continue
        if profile.kinds[k] == "category":
            yield column.of_unseen()
        elif np.isfinite(profile.low[k]):
            yield column.of_range()
            if not column.is_date:
                yield column.of_units()


def _of_new(n_new: int, n_first: int, n_rows: int, before: tuple[int, int, int]) -> float:
    """Return the p-value of so many rows with values that are new, so many of them with one and the same.

    By what was as new among rows of the calibration, or by that one, which no row has that the model has met.
    """
    n_new_before, n_calibration, n_met = before
    by_all = more_marked(n_new, n_rows, n_new_before, n_calibration)
    return min(1.0, 2 * min(by_all, one_is_new(n_first, n_rows, n_met)))


def quoted(name: Any) -> str:
    """Return a name as a sentence may hold it."""
    return f"{shortened(sentence(name), _NAME)!r}"


def _value(value: Any) -> str:
    return column_value(value) if isinstance(value, int | float) else quoted(value)


def _of_constant(k: int | None, name: str, value: Any, numbers: tuple[int, int, int]) -> Fact:
    """Return how many rows differ from the one value of before: of the rows now, and of those before."""
    n_other, n_rows, n_before = numbers
    p = more_marked(n_other, n_rows, 0, n_before)
    was = "was always missing" if value is None else f"was always {_value(value)}"
    share = n_other / n_rows
    text = f"column {quoted(name)} {was} and is not in {percent(share)} of the rows"
    advice = "fit anew if it matters: the model cannot know it"
    return Fact("constant", k, name, text, 0.0, share, p, advice)


@dataclass(frozen=True)
class _Column:
    profile: Profile
    batch: BatchColumns
    k: int
    given_name: str

    @property
    def name(self) -> str:
        """What a sentence calls it: a date without what is counted of it."""
        return quoted(self.given_name.removesuffix(DAYS) if self.is_date else self.given_name)

    def of_type(self) -> Fact:
        text = f"column {self.name} holds text or dates where numbers were"
        if self.profile.kinds[self.k] == "category":
            text = f"column {self.name} holds numbers or dates where text was"
        return Fact(
            "type", self.k, self.given_name, text, 0.0, 1.0, 0.0, "mend the table: no prediction can be made"
        )

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
        return self._fact("missing", text, shares, p, advice)

    def of_unseen(self) -> Fact:
        profile, batch = self.profile, self.batch
        now, before = int(batch.n_unseen[self.k]), int(profile.n_unseen[self.k])
        shares = before / max(profile.n_calibration, 1), now / batch.n_rows
        n_met = profile.n_rows - profile.n_calibration or profile.n_rows
        p = _of_new(now, int(batch.n_first[self.k]), batch.n_rows, (before, profile.n_calibration, n_met))
        known = ", ".join(quoted(level) for level in batch.examples[self.k])
        text = (
            f"column {self.name} holds categories that the model has not seen in {percent(shares[1])} of the "
            f"rows, {percent(shares[0])} before: {known}"
        )
        return self._fact("unseen", text, shares, p, "fit anew with rows that hold them, or mend their names")

    def of_constant(self) -> Fact:
        numbers = int(self.batch.n_other[self.k]), self.batch.n_rows, self.profile.n_rows
        return _of_constant(self.k, self.given_name, self.profile.constant[self.k], numbers)

    def of_one_value(self, n_most: IntArray) -> Fact:
        """Return whether all rows hold one value, of a column that had several.

        Of M values in all, c of which are the most frequent one, so many as are in the batch are all the same
        with a chance of at most C(c - 1, n - 1) / C(M - 1, n - 1).
        """
        n, n_before = (int(each.n_rows - each.n_missing[self.k]) for each in (self.batch, self.profile))
        most, value = int(n_most[self.k]), self.batch.only[self.k]
        is_told = self.batch.n_unseen[self.k] > 0  # as a category that is new
        p = 1.0 if value is None or n < 2 or is_told else more_marked(n - 1, n - 1, most, n_before)
        share = most / max(n_before, 1)
        text = f"column {self.name} holds {_value(value)} and nothing else, no value in more than "
        text += f"{percent(share)} of the rows before"
        return self._fact("stuck", text, (share, 1.0), p, "find out why it no longer varies")

    def of_range(self) -> Fact:
        """Return how many are beyond the smallest and the largest of the reference.

        By the ranks alone: the largest k of all rows are all in the batch, with a chance that depends on
        nothing else. Both ends are looked at.
        """
        k, n = self.k, self.batch.n_rows
        below, above = int(self.batch.n_below[k]), int(self.batch.n_above[k])
        p = min(1.0, 2 * min(more_marked(each, n, 0, self.profile.n_rows) for each in (below, above)))
        share = (below + above) / n
        low, high = (self._shown(float(end[self.k])) for end in (self.profile.low, self.profile.high))
        farthest = self.batch.highest[k] if above >= below else self.batch.lowest[k]
        reached = f"{'up' if above >= below else 'down'} to {self._shown(float(farthest))}"
        text = f"column {self.name} is outside {low} to {high} in {percent(share)} of the rows, {reached}"
        advice = "find out whether it can be so, and how far the model may be trusted there"
        if self.is_date:
            advice = "time has gone on: find out how far the model may be trusted there"
        return self._fact("range", text, (0.0, share), p, advice)

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
        sizes = f"{column_value(was)} in the middle before, {column_value(now)} now"
        text = f"column {self.name} is of another size: {sizes}"
        share = max(small, n - small) / max(n, 1)
        advice = "check its units" if self._is_scaled() else "find out why; it is no change of units"
        return self._fact("units", text, (0.5, share), p, advice)

    def _is_scaled(self) -> bool:
        """Whether both ends of the range may have been multiplied by one number."""
        low, high = float(self.profile.low[self.k]), float(self.profile.high[self.k])
        lowest, highest = float(self.batch.lowest[self.k]), float(self.batch.highest[self.k])
        if low >= 0 or high <= 0:
            return lowest >= 0 if low >= 0 else highest <= 0
        factors = lowest / low, highest / high
        return min(factors) > 0 and max(factors) < _FACTOR * min(factors)

    @property
    def is_date(self) -> bool:
        """Whether the numbers are days since 1970."""
        return self.given_name in self.profile.days

    def _shown(self, value: float) -> str:
        return str(np.datetime64(round(value), "D")) if self.is_date else column_value(value)

    def _fact(self, kind: str, text: str, shares: tuple[float, float], p: float, advice: str) -> Fact:
        return Fact(kind, self.k, self.given_name, text, *shares, p, advice)


def used_columns(shares: Array, least: float) -> Array:
    """Return which columns have so large a share in what the model adds up, (p,)."""
    total = shares.sum()
    return shares >= least * total if total > 0 else np.zeros(len(shares), dtype=bool)
