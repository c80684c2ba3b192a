"""The learners: what each looks at and adds, and how much of the loss they explain together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._utils.typing import Array
from gbmap.inspection import LearnerCards, learner_cards
from gbmap.report._material import FitMaterial
from gbmap.report._rounding import significant

_MOST_CARDS = 120
_WORTH_SAYING = 0.01  # of the loss


@dataclass(frozen=True)
class Card:
    """One learner."""

    name: str  # "f1", "f2", ..., as ``get_feature_names_out`` tells
    number: int  # its stage, from 1
    output: int  # position of its output among those shown
    words: str  # where it is active
    # Shares of the training rows looked at.
    words_accuracy: float | None
    active_share: float | None
    sign: int  # +1 if it raises the prediction where it is active, -1 if it lowers it
    spread: float | None  # the standard deviation of what it adds, in units of the target (or log-odds)
    features: list[str]  # the columns of the largest weight
    weights: list[float | None]  # those weights, per standard deviation of the column


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
    unseen = learner_cards(material.model, held_out.X, held_out.y)
    shown = [j for j in range(len(cards.signs)) if cards.outputs[j] in material.outputs][:_MOST_CARDS]
    return Learners(
        cards=[_card(cards, j, material) for j in shown],
        n_learners=len(cards.signs),
        n_rows=len(study),
        training_explained=_shares(cards.explained_loss),
        held_out_explained=_shares(unseen.explained_loss),
        best_n_components=_best_stage(unseen.explained_loss),
    )


def _card(cards: LearnerCards, j: int, material: FitMaterial) -> Card:
    weights, n_outputs = cards.weights[j], material.fitted.ensemble.n_outputs
    largest = [k for k in np.argsort(-np.abs(weights), kind="stable")[:3] if weights[k] != 0]
    return Card(
        name=str(cards.names[j]),
        number=j // n_outputs + 1,
        output=material.outputs.index(cards.outputs[j]),
        words=str(cards.half_spaces[j]),
        words_accuracy=significant(cards.half_space_accuracy[j]),
        active_share=significant(cards.active_share[j]),
        sign=int(cards.signs[j]),
        spread=significant(cards.contribution_spread[j]),
        features=[str(cards.feature_names[k]) for k in largest],
        weights=[significant(weights[k]) for k in largest],
    )


def _best_stage(explained: Array | None) -> int | None:
    if explained is None or not np.isfinite(explained).all():
        return None
    best = max(1, int(np.argmax(explained)))
    return best if explained[best] - explained[-1] >= _WORTH_SAYING else None


def _shares(explained: Array | None) -> list[float | None]:
    return [] if explained is None else [significant(share) for share in explained]
