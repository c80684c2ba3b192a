"""Some rows in words: those of a region, or those for which a learner is active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gbmap._fitted.model import FittedModel, dense
from gbmap._fitted.rules import (
    PRECISE,
    Atoms,
    Conditions,
    Sample,
    Search,
    group_conditions,
    simple_conditions,
)
from gbmap._fitted.sayings import sayings_of
from gbmap._fitted.terms import Terms
from gbmap._utils.sampling import sample_rows
from gbmap._utils.typing import Array, IntArray

_NEARLY = 0.95  # a share of the rows that is told as all of them
_LONGEST = 110  # characters of a rule
_NAMED = 3  # columns, where there is no rule
_OF_LEARNER = 10  # columns that a learner is told by, at most
_WORTH_SAYING = 0.05  # of the spread of the column that matters most
_MOST_COLUMNS = 300  # that rules may be about
_SAMPLE_ROWS, _SAMPLE_NUMBERS = 1 << 13, 1 << 21  # that rules are found on: 16 MB at most


@dataclass(frozen=True)
class Told:
    """Some rows in words, and how well these tell them from the others.

    Attributes
    ----------
    words : str
        Conditions on columns, of which all hold, or any; "everywhere", "nearly everywhere" or "nowhere"; or
        only the columns that matter most, such as "by age, income", where no short rule is precise.
    precision : float
        The share of the rows for which the words hold that are meant; NaN without a rule.
    coverage : float
        The share of the rows meant for which the words hold; NaN without a rule.
    has_rule : bool
        Whether there are conditions.
    features : tuple of int
        The columns that the words are about.
    """

    words: str
    precision: float = np.nan
    coverage: float = np.nan
    has_rule: bool = False
    features: tuple[int, ...] = ()

    @classmethod
    def by_columns(cls, named: Mapping[int, str]) -> Told:
        """Return what can be said without a rule: the columns and their names, the most telling first."""
        some = dict(list(named.items())[:_NAMED])
        words = f"by {', '.join(dict.fromkeys(some.values()))}" if some else "by many columns together"
        return cls(words, features=tuple(some))


class Teller:
    """Tells rows in words, by conditions on the user's columns.

    Parameters
    ----------
    fitted : FittedModel
    inputs : array or sparse matrix of shape (n, q)
        Rows, as inputs of the learners. Rules are found on a sample of them, and measured on all.
    """

    def __init__(self, fitted: FittedModel, inputs: Any):
        self.fitted, self.inputs = fitted, inputs
        n, q = inputs.shape
        self._chosen = sample_rows(n, min(_SAMPLE_ROWS, max(1, _SAMPLE_NUMBERS // max(q, 1))), 0)
        self.terms = Terms.of(fitted)

    @cached_property
    def spreads(self) -> Array:
        """The spread over the rows of the part that each column has in each w . x + c, of shape (M, p)."""
        return part_spreads(self.fitted, self._rows)

    def learner(self, learner: int, is_meant: Array) -> Told:
        """Return the rows for which a learner is active, or not, by the columns that matter to it."""
        features = main_columns(self.spreads[learner])
        told = self.tell(is_meant, features)
        if not told.words.endswith("everywhere") or not features:
            return told
        names = {saying.feature: saying.name for saying in self._sample.sayings}
        by = Told.by_columns({k: names[k] for k in features})
        return replace(told, words=f"{told.words}, {by.words}", features=by.features)

    def learners(self) -> list[Told]:
        """Return where each learner is active."""
        ensemble, told = self.fitted.ensemble, list[Told]()
        for j in range(len(ensemble)):
            z = self.fitted.map(ensemble[j : j + 1].project, self.inputs, 1)[:, 0]
            told.append(self.learner(j, (z > 0) | (ensemble.activation == "identity")))
        return told

    def tell(self, is_meant: Array, features: Sequence[int] | None = None) -> Told:
        """Return the rows that are meant, of shape (n,), in words.

        Parameters
        ----------
        is_meant : boolean array of shape (n,)
        features : sequence of int, default=None
            The columns to go by, those that matter most first; None for all.
        """
        share = float(is_meant.mean()) if len(is_meant) else 0.0
        if share in (0.0, 1.0):
            return Told("everywhere", 1.0, 1.0) if share else Told("nowhere")
        if share >= _NEARLY:
            return Told("nearly everywhere", share, 1.0)
        search, atoms = Search(self._sample, is_meant[self._chosen]), self._atoms
        columns = list(range(len(self._sample.sayings)))
        if features is not None:
            position = {feature: rank for rank, feature in enumerate(features)}
            columns = [c for c in columns if self._sample.sayings[c].feature in position]
            columns = sorted(columns, key=lambda c: position[self._sample.sayings[c].feature])
            atoms = atoms.of_columns(columns)
        if 0 < search.meant.sum() < len(search.meant):
            groups = group_conditions(self._sample, columns, search.meant)
            atoms = atoms.and_also(Atoms.of(self._sample, groups, len(search.meant)))
            told = self._told(search.rules(atoms), is_meant)
            if told is not None:
                return told
            columns = columns if features is not None else search.tellings(atoms)
        sayings = [self._sample.sayings[c] for c in columns]
        return Told.by_columns({saying.feature: saying.name for saying in sayings})

    def typical(self, is_meant: Array, features: Sequence[int]) -> str:
        """Return what most of the rows that are meant hold in some columns."""
        chosen, sayings = is_meant[self._chosen], self._sample.sayings
        if not chosen.any():
            return ""
        columns = [c for c, saying in enumerate(sayings) if saying.feature in features]
        return ", ".join(filter(None, (sayings[c].typical(self._sample.values[c][chosen]) for c in columns)))

    def _told(self, rules: list[Conditions], is_meant: Array) -> Told | None:
        """Return the first of some rules that is short, and precise on all rows."""
        for rule in rules:
            words = self._sample.words(rule)
            if len(words) > _LONGEST:
                continue
            holds = rule.joined([self._held(each) for each in rule.each])
            n_held, n_right = int(holds.sum()), int((holds & is_meant).sum())
            if n_right >= PRECISE * n_held:
                features = dict.fromkeys(self._sample.sayings[each.column].feature for each in rule.each)
                coverage = n_right / int(is_meant.sum())
                return Told(words, n_right / n_held, coverage, has_rule=True, features=tuple(features))
        return None

    def _held(self, condition: Any) -> Array:
        saying = self._sample.sayings[condition.column]
        return condition.holds(saying.values(self.terms, self.inputs), saying)

    @cached_property
    def _rows(self) -> Array:
        return dense(self.inputs[self._chosen])

    @cached_property
    def _sample(self) -> Sample:
        matter = np.argsort(-self.spreads.sum(axis=0), kind="stable")[:_MOST_COLUMNS]
        features = np.sort(matter[self.spreads[:, matter].any(axis=0)]).tolist()
        sayings = sayings_of(self.fitted, self.terms, features)
        return Sample(sayings, [saying.values(self.terms, self._rows) for saying in sayings])

    @cached_property
    def _atoms(self) -> Atoms:
        return Atoms.of(self._sample, simple_conditions(self._sample), len(self._chosen))


def told_by_weights(fitted: FittedModel) -> list[Told]:
    """Return the columns that each learner looks at, where there are no rows to tell more by."""
    ensemble, names = fitted.ensemble, fitted.feature_names
    sizes = fitted.columns.collect(np.abs(ensemble.weights * fitted.input_scale))
    is_everywhere = (ensemble.offsets > 0) | (ensemble.activation == "identity")
    return [
        Told.by_columns({k: str(names[k]) for k in main_columns(of_learner)})
        if of_learner.any()
        else Told("everywhere" if everywhere else "nowhere")
        for of_learner, everywhere in zip(sizes, is_everywhere)
    ]


def main_columns(spreads: Array) -> list[int]:
    """Return the columns that matter to a learner, those that matter most first, by spreads of shape (p,)."""
    order = np.argsort(-spreads, kind="stable")[:_OF_LEARNER]
    found: list[int] = order[spreads[order] > _WORTH_SAYING * spreads.max(initial=0.0)].tolist()
    return found


def part_spreads(fitted: FittedModel, rows: Array) -> Array:
    """Return the standard deviations over rows of what columns add to w . x + c of learners, (M, p)."""
    columns, weights = fitted.columns, fitted.ensemble.weights
    out = (
        columns.collect(np.abs(weights) * rows.std(axis=0))
        if len(rows)
        else np.zeros((len(weights), len(columns.names)))
    )
    several: IntArray = np.flatnonzero(np.bincount(columns.source, minlength=len(columns.names)) > 1)
    for column in several.tolist():
        own = columns.inputs_of(column)
        centered = rows[:, own] - rows[:, own].mean(axis=0)
        out[:, column] = (centered @ weights[:, own].T).std(axis=0)
    return out
