"""The learners: what each looks at and adds, and how much of the loss they explain together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._fitted.loss_curve import LossCurve
from gbmap._fitted.sayings import sayings_of
from gbmap._fitted.terms import Terms
from gbmap._utils.typing import Array
from gbmap.inspection import ColumnPart, LearnerCards, learner_cards
from gbmap.report._material import FitMaterial
from gbmap.report._rounding import significant

_MOST_CARDS = 120
_WITH_CURVES = 24  # of them
_BINS = 16
_MOST_LEVELS = 12  # bars of a curve
_WORTH_SAYING = 0.01  # of the loss


@dataclass(frozen=True)
class PartCurve:
    """What one column adds to a learner, over its values."""

    name: str
    places: list[float | None] | None  # numbers in order, from 0 for the least to 1; None for categories
    levels: list[str] | None  # categories, those of the most rows; None for numbers
    part: list[float | None]  # what is added, in units of the target (or log-odds), less its mean
    counts: list[float | None]  # of rows, as shares of the largest: in bins, or of each category
    first: str  # the ends of the numbers; or the categories that add the most and the least
    last: str


@dataclass(frozen=True)
class Card:
    """One learner."""

    name: str  # "f1", "f2", ..., as ``get_feature_names_out`` tells
    number: int  # its stage, from 1
    output: int  # position of its output among those shown
    words: str  # where it is active
    # Shares of the training rows looked at.
    words_precision: float | None  # None where there is no rule, and the words are columns only
    words_coverage: float | None
    active_share: float | None
    sign: int  # +1 if it raises the prediction where it is active, -1 if it lowers it
    spread: float | None  # the standard deviation of what it adds, in units of the target (or log-odds)
    features: list[str]  # the columns that matter most to it
    curves: list[PartCurve]  # of these columns


@dataclass(frozen=True)
class Learners:
    """The learners that are shown, and the loss explained after each stage."""

    cards: list[Card]
    n_learners: int  # how many there are
    n_rows: int  # training rows that were looked at
    # The share of the loss explained by the first 0, 1, ... stages; None where there is none to explain.
    training_explained: list[float | None]
    held_out_explained: list[float | None]
    # After how many stages the most is explained of held-out rows, if by all of them it is less, by one
    # percent of the loss or more; None if there is no better number.
    best_n_components: int | None


def study_learners(material: FitMaterial) -> Learners:
    """Describe the learners on training rows, and the loss that they explain on held-out rows too."""
    study, held_out = material.study, material.held_out
    cards = learner_cards(material.model, study.X, study.y)
    unseen = LossCurve.of(material.fitted, held_out.X, held_out.y).explained()
    shown = [j for j in range(len(cards.signs)) if cards.outputs[j] in material.outputs][:_MOST_CARDS]
    return Learners(
        cards=[_card(cards, j, material, with_curves=i < _WITH_CURVES) for i, j in enumerate(shown)],
        n_learners=len(cards.signs),
        n_rows=len(study),
        training_explained=_shares(cards.explained_loss),
        held_out_explained=_shares(unseen),
        best_n_components=_best_stage(unseen),
    )


def _card(cards: LearnerCards, j: int, material: FitMaterial, *, with_curves: bool) -> Card:
    n_outputs, parts = material.fitted.ensemble.n_outputs, cards.parts(j)
    return Card(
        name=str(cards.names[j]),
        number=j // n_outputs + 1,
        output=material.outputs.index(cards.outputs[j]),
        words=str(cards.half_spaces[j]),
        words_precision=significant(cards.half_space_precision[j]),
        words_coverage=significant(cards.half_space_coverage[j]),
        active_share=significant(cards.active_share[j]),
        sign=int(cards.signs[j]),
        spread=significant(cards.contribution_spread[j]),
        features=[str(part.feature) for part in parts],
        curves=[_curve(part, material) for part in parts] if with_curves else [],
    )


def _curve(part: ColumnPart, material: FitMaterial) -> PartCurve:
    """Return a curve as it is drawn: numbers from 0 to 1, or a few categories."""
    feature = list(material.fitted.feature_names).index(part.feature)
    saying = sayings_of(material.fitted, Terms.of(material.fitted), [feature])[0]
    if part.share is not None:
        kept = np.sort(np.argsort(-part.share, kind="stable")[:_MOST_LEVELS])
        ends = (str(part.values[kept][at]) for at in (part.part[kept].argmax(), part.part[kept].argmin()))
        levels = [str(level) for level in part.values[kept]]
        counts = part.share[kept] / max(part.share.max(), 1e-12)
        shown = [significant(each, 3) for each in part.part[kept]]
        return PartCurve(saying.name, None, levels, shown, [significant(each, 3) for each in counts], *ends)
    low, high = float(part.values[0]), float(part.values[-1])
    places = (part.values - low) / ((high - low) or 1.0)
    counts = np.histogram(part.observed, _BINS, (low, high) if high > low else None)[0]
    return PartCurve(
        name=saying.name,
        places=[significant(each, 3) for each in places],
        levels=None,
        part=[significant(each, 3) for each in part.part],
        counts=[significant(each, 3) for each in counts / max(counts.max(), 1)],
        first=saying.shown(low),
        last=saying.shown(high),
    )


def _best_stage(explained: Array) -> int | None:
    if not np.isfinite(explained).all():
        return None
    best = max(1, int(np.argmax(explained)))
    return best if explained[best] - explained[-1] >= _WORTH_SAYING else None


def _shares(explained: Array | None) -> list[float | None]:
    return [] if explained is None else [significant(share) for share in explained]
