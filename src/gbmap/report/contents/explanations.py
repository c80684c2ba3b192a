"""Why each row on the map is predicted as it is: attributions and local coefficients, computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._utils.scikit_learn import safe_indexing
from gbmap._utils.typing import Array
from gbmap.inspection import explain
from gbmap.inspection.attribution import over_the_average
from gbmap.report._material import Material, Rows

_WORK_NUMBERS = 5_000_000  # attributions of all outputs held at a time


@dataclass(frozen=True)
class Explanations:
    """The rows on the map, explained: prediction = initial + base + sum of adds."""

    # What each column adds over the average training row, and its local slope, for the outputs shown.
    adds: Array
    coefficients: Array
    base: Array  # h of the average training row
    # f_0 and f.
    initial: Array
    score: Array
    n_known: int  # the rows that are not new come first, so many

    @property
    def importances(self) -> Array:
        """The mean size of what each column adds to rows that are not new, of shape (p, K)."""
        return np.abs(self.adds[: self.n_known]).mean(axis=0)


def explain_points(material: Material) -> Explanations:
    """Explain the rows on the map against the average training row."""
    outputs = material.outputs
    parts = [_explain(material, rows) for rows in material.points]
    adds, coefficients, base = zip(*parts)
    return Explanations(
        adds=np.concatenate(adds),
        coefficients=np.concatenate(coefficients),
        base=base[0],
        initial=material.stack(lambda rows: material.fitted.initial_score(rows.X)[:, outputs]),
        score=material.stack(lambda rows: material.fitted.full_score(rows.X)[:, outputs]),
        n_known=sum(len(rows) for rows in material.points[:2]),
    )


def _explain(material: Material, rows: Rows) -> tuple[Array, Array, Array]:
    """Return what columns add, their slopes, and the base value, for the outputs shown; chunk by chunk."""
    n_outputs = material.fitted.ensemble.n_outputs
    size = max(1, _WORK_NUMBERS // (material.fitted.model.n_features_in_ * n_outputs))
    adds, coefficients = [], []
    for start in range(0, len(rows), size):
        X = safe_indexing(rows.X, np.arange(start, min(start + size, len(rows))))
        shares, base = over_the_average(material.fitted, material.fitted.read(X))
        adds.append(shares[..., material.outputs])
        slopes = explain(material.model, X).coefficients.reshape(shares.shape)
        coefficients.append(slopes[..., material.outputs])
    return np.concatenate(adds), np.concatenate(coefficients), base[material.outputs]
