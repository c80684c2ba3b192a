"""A few conditions on single columns that tell some rows from the others, as precise as they are short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbmap._fitted.sayings import MISSING, Saying
from gbmap._utils.typing import Array, IntArray

PRECISE = 0.8  # the share of rightly told rows that a rule must reach
_FEWEST_ROWS = 3  # that a rule has to tell rightly, if there are as many
_LEAST_COVERAGE = 0.2  # of the rows that are meant
_MOST_CONDITIONS = 3
_COST = 0.03  # what a further condition has to add to the quality of a rule
_TOLERANCE = 0.003  # what a round threshold may take from it
_CUTS = 16  # of a column, before thresholds are moved
_LEVELS = 12  # of a column, the most frequent, that a rule may name
_SEARCHED_COLUMNS = 12  # at the second condition and later ones
_WIDTH = 6  # rules that are kept to add a condition to


@dataclass(frozen=True)
class Condition:
    """A condition on one column.

    Attributes
    ----------
    column : int
        Its position among the sayings.
    above, up_to : float or None
        For a number: it is above one and at most the other.
    levels : tuple of int
        For a category: the codes of some.
    is_not : bool
        Whether it is to be none of them.
    is_missing : bool
        Whether there is to be no value.
    """

    column: int
    above: float | None = None
    up_to: float | None = None
    levels: tuple[int, ...] = ()
    is_not: bool = False
    is_missing: bool = False

    def limited(self, side: str, limit: float | None) -> Condition:
        """Return the condition with another limit on one side, "above" or "up_to"."""
        return replace(self, above=limit) if side == "above" else replace(self, up_to=limit)

    def holds(self, values: Array, saying: Saying) -> Array:
        """Return whether it holds for each value of its column."""
        if self.is_missing:
            return values == MISSING if saying.is_category else np.isnan(values)
        if saying.is_category:
            found: Array = np.isin(values, self.levels) != self.is_not
            return found
        low = -np.inf if self.above is None else self.above
        high = np.inf if self.up_to is None else self.up_to
        return (values > low) & (values <= high)

    def words(self, values: Array, saying: Saying) -> str:
        """Return the condition in words, given values of the column."""
        if self.is_missing:
            return f"{saying.name} is missing"
        if saying.is_category:
            return saying.among([saying.levels[k] for k in self.levels], is_not=self.is_not)
        known = values[~np.isnan(values)]
        is_binary = bool(((known == 0) | (known == 1)).all())
        is_whole = bool((known == np.round(known)).all())
        return saying.between(self.above, self.up_to, is_binary=is_binary, is_whole=is_whole)


@dataclass(frozen=True)
class Conditions:
    """A rule: conditions that all have to hold, or of which any is enough."""

    each: tuple[Condition, ...]
    is_any: bool

    def joined(self, held: Sequence[Array]) -> Array:
        """Return whether the rule holds, given where its conditions do."""
        found: Array = np.any(held, axis=0) if self.is_any else np.all(held, axis=0)
        return found

    @property
    def length(self) -> int:
        """The comparisons that there are to read."""
        return sum(1 + (each.above is not None and each.up_to is not None) for each in self.each)

    def merged(self) -> Conditions:
        """Return the same rule with one interval for the conditions on one number, if all have to hold."""
        if self.is_any:
            return self
        found: dict[Any, Condition] = {}
        for i, each in enumerate(self.each):
            is_number = each.above is not None or each.up_to is not None
            key = each.column if is_number else (each.column, i)
            known = found.get(key, each)
            above = [limit for limit in (known.above, each.above) if limit is not None]
            up_to = [limit for limit in (known.up_to, each.up_to) if limit is not None]
            found[key] = replace(each, above=max(above, default=None), up_to=min(up_to, default=None))
        return replace(self, each=tuple(found.values()))


@dataclass(frozen=True)
class Sample:
    """Rows to find rules on: the values of each of some columns, (n,) each."""

    sayings: list[Saying]
    values: list[Array]

    def held(self, condition: Condition) -> Array:
        """Return the rows for which a condition holds."""
        return condition.holds(self.values[condition.column], self.sayings[condition.column])

    def holds(self, rule: Conditions) -> Array:
        """Return the rows for which a rule holds."""
        return rule.joined([self.held(each) for each in rule.each])

    def words(self, rule: Conditions) -> str:
        """Return a rule in words, the conditions that all have to hold in the order of the columns."""
        each = rule.each if rule.is_any else sorted(rule.each, key=lambda condition: condition.column)
        words = (c.words(self.values[c.column], self.sayings[c.column]) for c in each)
        return (" or " if rule.is_any else " and ").join(words)


@dataclass(frozen=True)
class Atoms:
    """Conditions to choose from, of A of them.

    Attributes
    ----------
    conditions : list of Condition
    columns : integer array of shape (A,)
    bits : array of shape (A, W) of uint64
        The rows of the sample for which they hold.
    """

    conditions: list[Condition]
    columns: IntArray
    bits: Array

    @classmethod
    def of(cls, sample: Sample, conditions: list[Condition], n: int) -> Atoms:
        """Return those of some conditions that rows differ in."""
        held = np.array([sample.held(each) for each in conditions], dtype=bool).reshape(-1, n)
        n_held = np.count_nonzero(held, axis=1)
        kept = np.flatnonzero((n_held > 0) & (n_held < n))
        conditions = [conditions[i] for i in kept]
        return cls(conditions, np.array([each.column for each in conditions], np.intp), packed(held[kept]))

    def of_columns(self, columns: Sequence[int]) -> Atoms:
        """Return those on some columns."""
        kept = np.flatnonzero(np.isin(self.columns, columns))
        return Atoms([self.conditions[i] for i in kept], self.columns[kept], self.bits[kept])

    def and_also(self, other: Atoms) -> Atoms:
        """Return these and others."""
        columns, bits = np.append(self.columns, other.columns), np.vstack([self.bits, other.bits])
        return Atoms([*self.conditions, *other.conditions], columns, bits)


def simple_conditions(sample: Sample) -> list[Condition]:
    """Return conditions on each column: cuts at quantiles, single categories, and whether it is missing."""
    found = list[Condition]()
    for column, (saying, values) in enumerate(zip(sample.sayings, sample.values)):
        if saying.is_category:
            frequent = _frequent(values).tolist()
            found += [Condition(column, levels=(k,)) for k in frequent]
            found += [Condition(column, levels=(k,), is_not=True) for k in frequent]
        else:
            for cut in _cuts(values[~np.isnan(values)]):
                found += [Condition(column, above=cut), Condition(column, up_to=cut)]
        found.append(Condition(column, is_missing=True))
    return found


def group_conditions(sample: Sample, columns: Sequence[int], meant: Array) -> list[Condition]:
    """Return conditions on two or three categories of a column: those that are meant most, and least."""
    found = list[Condition]()
    for column in columns:
        values = sample.values[column]
        if not sample.sayings[column].is_category:
            continue
        levels = _frequent(values)
        rate = np.array([meant[values == level].mean() for level in levels])
        order = levels[np.argsort(-rate, kind="stable")].tolist()
        for size in range(2, min(4, len(order))):
            found.append(Condition(column, levels=tuple(order[:size])))
            found.append(Condition(column, levels=tuple(order[-size:]), is_not=True))
    return found


def _frequent(values: Array) -> IntArray:
    levels, counts = np.unique(values[values >= 0], return_counts=True)
    return levels[np.argsort(-counts, kind="stable")[:_LEVELS]].astype(np.intp)


def _cuts(values: Array) -> list[float]:
    """Return some values between which the rows lie, each once, without the largest."""
    if not len(values):
        return []
    at = np.linspace(0, 1, _CUTS + 2)[1:-1]
    found = np.unique(np.quantile(values, at, method="lower"))
    return [float(each) for each in found if each < values.max()]


@dataclass(frozen=True)
class Search:
    """The search for a rule that tells some rows of a sample from the others.

    Attributes
    ----------
    sample : Sample
    meant : boolean array of shape (n,)
    """

    sample: Sample
    meant: Array

    def rules(self, atoms: Atoms) -> list[Conditions]:
        """Return the rules that are worth their length, the best first, their thresholds round."""
        found = {
            self._rounded(rule): None
            for is_any in (False, True)
            for rule in self._grown(atoms, is_any=is_any)
        }
        worth = {rule: self._measured(rule) - _COST * rule.length for rule in found}
        good = [rule for rule, value in worth.items() if value > 0]
        return sorted(good, key=lambda rule: -worth[rule])

    def tellings(self, atoms: Atoms) -> list[int]:
        """Return the columns by how much the best condition on each tells alone, by chi squared."""
        n, n_meant = len(self.meant), self.meant.sum()
        total, right = _count(atoms.bits), _count(atoms.bits & packed(self.meant))
        tells = (right - total * n_meant / n) ** 2 / (total * (n - total))
        best = np.zeros(len(self.sample.sayings))
        np.maximum.at(best, atoms.columns, tells)
        found: list[int] = np.argsort(-best, kind="stable")[: np.count_nonzero(best)].tolist()
        return found

    def _quality(self, right: Array, total: Array) -> Array:
        """Return how well rules tell the rows meant, or the others if these are fewer: F of one half.

        Of a rule for `total` rows, `right` of which are meant. It weighs precision above coverage, and is 0
        for rules that are not precise, or hold for few of the rows that are meant.
        """
        n, n_meant = len(self.meant), int(self.meant.sum())
        least = max(min(_FEWEST_ROWS, n_meant), _LEAST_COVERAGE * n_meant)
        is_precise = (right >= PRECISE * total) & (right >= least)
        if 2 * n_meant > n:
            right, total, n_meant = n - n_meant - (total - right), n - total, n - n_meant
        return np.where(is_precise, 1.25 * right / (total + 0.25 * n_meant), 0.0)

    def _measured(self, rule: Conditions) -> float:
        holds = self.sample.holds(rule)
        return float(self._quality(np.array(np.sum(holds & self.meant)), np.array(np.sum(holds))))

    def _grown(self, atoms: Atoms, *, is_any: bool) -> Iterator[Conditions]:
        """Yield the best rules of one, two and three conditions, by a beam search.

        Any of some conditions hold where not all of their opposites do: the search is for all, of opposites.
        """
        n, n_meant = len(self.meant), int(self.meant.sum())
        everything, meant = packed(np.ones(n, dtype=bool)), packed(self.meant)
        bits = atoms.bits ^ everything if is_any else atoms.bits
        target, n_target = (meant ^ everything, n - n_meant) if is_any else (meant, n_meant)
        beam: list[tuple[tuple[int, ...], Array]] = [((), everything)]
        searched = np.arange(len(bits))
        for _ in range(_MOST_CONDITIONS):
            # By how many rows they hold for and tell rightly: of rules that are alike in it, one is enough.
            grown: dict[tuple[int, int], tuple[float, tuple[int, ...], Array]] = {}
            of_column = np.zeros(len(self.sample.sayings))
            for chosen, held in beam:
                inside = bits[searched] & held
                total, right = _count(inside), _count(inside & target)
                usual = 2 * right / (total + n_target)
                np.maximum.at(of_column, atoms.columns[searched], usual)
                quality = (
                    self._quality(n_meant - total + right, n - total)
                    if is_any
                    else self._quality(right, total)
                )
                for at in _leading(quality, usual):
                    entry = (float(usual[at] + quality[at]), (*chosen, int(searched[at])), inside[at])
                    grown.setdefault((int(total[at]), int(right[at])), entry)
                best = int(np.argmax(quality))
                if quality[best] > 0:
                    picked = (*chosen, int(searched[best]))
                    yield Conditions(tuple(atoms.conditions[i] for i in picked), is_any)
            ranked = sorted(grown.values(), key=lambda each: -each[0])[:_WIDTH]
            beam = [(chosen, held) for _, chosen, held in ranked]
            leading = np.argsort(-of_column, kind="stable")[:_SEARCHED_COLUMNS]
            searched = np.flatnonzero(np.isin(atoms.columns, leading))

    def _rounded(self, rule: Conditions) -> Conditions:
        """Return a rule without conditions that change nothing, its thresholds the roundest of the best."""
        holds, each = self.sample.holds(rule), list(rule.each)
        for condition in rule.each:
            fewer = [other for other in each if other is not condition]
            if fewer and (self.sample.holds(Conditions(tuple(fewer), rule.is_any)) == holds).all():
                each = fewer
        rule = Conditions(tuple(each), rule.is_any).merged()
        for i in range(len(rule.each)):
            for side in ("above", "up_to"):
                if getattr(rule.each[i], side) is not None:
                    moved = self._moved(rule, i, side)
                    rule = replace(rule, each=(*rule.each[:i], moved, *rule.each[i + 1 :]))
        return rule

    def _moved(self, rule: Conditions, i: int, side: str) -> Condition:
        """Return a condition, a threshold moved to where the rule tells best, or a round one near it."""
        condition, sample = rule.each[i], self.sample
        # Without the threshold, and without the condition if it has no other one.
        without = [sample.held(other) for k, other in enumerate(rule.each) if k != i]
        rest = condition.limited(side, None)
        if rest.above is not None or rest.up_to is not None:
            without.append(sample.held(rest))
        n = len(self.meant)
        fixed = rule.joined(without) if without else np.full(n, not rule.is_any)
        values = sample.values[condition.column]
        in_play = (fixed != rule.is_any) & ~np.isnan(values)  # the rows for which the threshold decides
        cuts, which = np.unique(values[in_play], return_inverse=True)
        if len(cuts) < 2:
            return condition
        up_to = np.array([np.bincount(which), np.bincount(which, self.meant[in_play])]).cumsum(axis=1)
        told = up_to[:, :-1] if side == "up_to" else up_to[:, -1:] - up_to[:, :-1]
        total, right = told + ([[fixed.sum()], [(fixed & self.meant).sum()]] if rule.is_any else 0)
        quality = self._quality(right, total)
        best = int(np.argmax(quality))
        worse = np.flatnonzero(quality < quality[best] - _TOLERANCE)
        first = 1 + int(worse[worse < best].max(initial=-1))
        last = int(worse[worse > best].min(initial=len(quality)))
        limit = sample.sayings[condition.column].limit(float(cuts[first]), float(cuts[last]))
        return condition.limited(side, limit)


def _leading(*scores: Array) -> list[int]:
    """Return where the highest of each of some scores are."""
    found = [np.argsort(-score, kind="stable")[: 2 * _WIDTH] for score in scores]
    return list(dict.fromkeys(np.concatenate(found).tolist()))


def packed(rows: Array) -> Array:
    """Return booleans as bits, in words of 64 along the last axis."""
    bits = np.packbits(rows, axis=-1)
    words = np.zeros((*rows.shape[:-1], -(-rows.shape[-1] // 64) * 8), np.uint8)
    words[..., : bits.shape[-1]] = bits
    return words.view(np.uint64)


def _count(bits: Array) -> Any:
    """Return how many bits are set, along the last axis."""
    return np.bitwise_count(bits).sum(axis=-1, dtype=np.intp)
