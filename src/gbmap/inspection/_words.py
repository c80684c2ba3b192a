"""A learner's half-space in words: its largest weights, named, in the user's units."""

from __future__ import annotations

import numpy as np

from gbmap._subject import Subject


def half_space(subject: Subject, learner: int, *, n_terms: int = 3, active: bool = True) -> str:
    """Return the half-space on which a learner is active (or not), such as "income - 0.3 age > 20".

    The terms are the inputs of the largest weight in standard deviations, with the other inputs at their
    training means, divided by the size of the first one's coefficient.
    """
    ensemble, columns, model = subject.ensemble, subject.columns, subject.model
    weights = ensemble.weights[learner]
    order = np.argsort(-np.abs(weights * model.scale_), kind="stable")
    kept = [k for k in order[:n_terms] if weights[k] != 0 and columns.slope[k] != 0]
    rest = np.setdiff1d(np.arange(len(weights)), kept)
    constant = (
        ensemble.offsets[learner] + weights[rest] @ model.mean_[rest] + weights[kept] @ columns.offset[kept]
    )
    if not kept:
        return "everywhere" if (constant > 0) == active else "nowhere"
    coefficients = weights[kept] * columns.slope[kept]
    unit = abs(coefficients[0])
    names = subject.input_names
    terms = [_term(c / unit, names[k], first=k == kept[0]) for c, k in zip(coefficients, kept)]
    return f"{' '.join(terms)} {'>' if active else '<='} {-constant / unit + 0.0:.3g}"


def _term(coefficient: float, name: str, *, first: bool) -> str:
    sign = "-" if coefficient < 0 else "" if first else "+"
    size = f"{abs(coefficient):.2g}"
    factor = "" if size == "1" else f"{size} "
    return f"{sign}{'' if first else ' '}{factor}{name}"
