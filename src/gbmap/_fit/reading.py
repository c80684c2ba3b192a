"""What a user gives a fit, read and validated: the rows to fit, and those for validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from gbmap._core.arrays import to_numpy
from gbmap._core.ensemble import Ensemble
from gbmap._fit.problem import FitSettings
from gbmap._fit.sources import Reader, Source, kind_of

# Rows as a user gives them: X, y and their weights.
Given = tuple[Any, Any, Any]


def read_fit(
    reader: Reader, given: Given, for_validation: Given, ensemble: Ensemble | None
) -> tuple[Source, Source | None]:
    """Return the rows to fit, and those for validation if there are any, given the ensemble to go on from."""
    X_val, y_val, sample_weight_val = for_validation
    source = kind_of(given[0]).read(replace(reader, has_validation_rows=X_val is not None), *given)
    if ensemble is not None and source.n_outputs != ensemble.n_outputs:
        raise ValueError(
            f"y must have as many targets as before, {ensemble.n_outputs}, when warm_start=True, "
            f"got {source.n_outputs}; set warm_start=False to start anew."
        )
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val must be given together, or neither of them.")
    if X_val is None:
        if sample_weight_val is not None:
            raise ValueError("sample_weight_val must be None without X_val and y_val, whose rows it weighs.")
        return source, None
    as_before = Reader(reader.estimator, source.reader, fitting=False)
    try:
        validation = kind_of(X_val).read_beside(source, as_before, *for_validation)
    except ValueError as error:  # which speaks of X, y and sample_weight
        raise ValueError(
            f"X_val, y_val and sample_weight_val must keep to the rules of X, y and sample_weight: {error}"
        ) from error
    if validation.n_outputs != source.n_outputs:
        raise ValueError(
            f"y_val must have as many targets as y, {source.n_outputs}, got {validation.n_outputs}."
        )
    return source, validation


def set_aside(source: Source, settings: FitSettings) -> tuple[Source, Source]:
    """Split rows into those to fit and those for early stopping."""
    train, test = train_test_split(
        np.arange(source.shape[0]),
        test_size=settings.validation_fraction,
        stratify=source.reader.strata(to_numpy(source.y)),
        random_state=settings.split_seed,
    )
    parts = source.take(np.sort(train)), source.take(np.sort(test))
    if any(part.weight is not None and not part.weight.any() for part in parts):
        raise ValueError(
            "sample_weight must leave weight both on the rows to fit and on those set aside for early "
            f"stopping, validation_fraction={settings.validation_fraction}; pass X_val and y_val instead."
        )
    return parts
