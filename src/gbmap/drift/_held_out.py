"""Rows that are held out to calibrate: what they are like, and whether the reference does not hold them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from gbmap._utils.typing import Array, IntArray
from gbmap.drift._calibration import Measures, Outcome
from gbmap.drift._measuring import Measuring
from gbmap.drift._monitored import MonitoredModel, ScoredRows

_UNLIKELY = 1e-6  # a chance of as many repeated rows that is no chance


@dataclass(frozen=True)
class HeldOut:
    """A lot of rows that a model was not fitted to.

    Attributes
    ----------
    rows : ScoredRows
    measures : Measures
    outcome : Outcome
    n_unseen : integer array of shape (p,)
        How many hold categories in a column that the model was not fitted to.
    """

    rows: ScoredRows
    measures: Measures
    outcome: Outcome
    n_unseen: IntArray

    @classmethod
    def of(cls, drifter: Measuring, X: Any, y: Array) -> HeldOut:
        rows, measures, outcome = drifter.read_and_measure(X, y, "y_cal")
        assert outcome is not None
        profile = drifter.monitored.profile
        n_unseen = np.zeros(0, np.int64) if profile is None else profile.batch(X).n_unseen
        return cls(rows, measures, outcome, n_unseen)


def check_held_out(
    monitored: MonitoredModel, rounding: float, reference: tuple[Array, Array], held_out: tuple[Array, Array]
) -> None:
    """Refuse calibration rows that are all reference rows with their labels, and warn if too many are.

    Rows may repeat, as in discrete tables. Then one in so many reference rows has a double among the others,
    and as many calibration rows have one there if they were held out at random. Either come as embedding and
    labels.
    """
    (phi, y), (phi_cal, y_cal) = reference, held_out
    labels = monitored.targets(y, "y"), monitored.targets(y_cal, "y_cal")
    scores = monitored.fitted.ensemble.sum_outputs(np.vstack([phi, phi_cal]))
    unit = rounding or 1.0
    _, kind = np.unique(np.hstack([np.rint(scores / unit), np.vstack(labels)]), axis=0, return_inverse=True)
    kind = kind.reshape(-1)  # a column in NumPy 2.0.0
    n, n_cal = len(y), len(y_cal)
    counts = np.bincount(kind[:n], minlength=kind.max() + 1)
    n_doubles, n_known = int((counts[kind[:n]] > 1).sum()), int((counts[kind[n:]] > 0).sum())
    if binom.sf(n_known - 1, n_cal, (n_doubles + 1) / (n + 2)) > _UNLIKELY:
        return
    if n_known == n_cal:
        raise ValueError(
            f"X_cal must hold rows that the model was not trained on, got {n_cal} rows that are all in X "
            "with their labels; pass rows that were set aside, or an unfitted estimator without X_cal."
        )
    warnings.warn(
        f"{n_known} of the {n_cal} rows of X_cal are in X with their labels, more than rows set aside at "
        "random would be; rows that the model was trained on make the threshold too low.",
        stacklevel=6,
    )
