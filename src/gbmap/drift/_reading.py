"""Rows and labels as a detector takes them: of its columns, and as many of both."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from gbmap._core.arrays import in_memory
from gbmap._utils.missing import known_labels
from gbmap._utils.scikit_learn import num_samples
from gbmap._utils.typing import Array
from gbmap.drift._facts import NewClasses
from gbmap.drift._monitored import labels_of


def read_rows(detector: Any, X: Any, *, reset: bool = False) -> Any:
    """Return rows with the right columns; what they hold, the model's own validation sees to."""
    if hasattr(X, "columns"):
        validate_data(detector, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(
        detector,
        in_memory(X),
        reset=reset,
        accept_sparse="csr",
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=1,
    )


def read_y(y: Any, X: Any, name: str) -> Array:
    """Return y as an array, of as many rows as X."""
    if y is None:
        raise ValueError(f"DriftDetector requires y to be passed, but the target {name} is None.")
    values: Array = check_array(in_memory(y), ensure_2d=False, dtype=None, input_name=name)
    check_consistent_length(X, values)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def read_batch(detector: Any, X: Any, y: Any) -> tuple[Any, Array | None, NewClasses | None]:
    """Return rows, those labels that are there, None if there are none, and what is known of others.

    Of rows of a class that the model does not know no loss can be told: their labels are left out.
    """
    X = read_rows(detector, X)
    if y is not None and num_samples(y) != num_samples(X):
        raise ValueError(f"y must have as many rows as X, {num_samples(X)}, got {num_samples(y)}.")
    if y is None:
        return X, None, None
    labels, new = labels_of(y), None
    known, gauge = known_labels(labels), detector.gauge_
    classes = gauge.monitored.classes if gauge.known is not None else None  # else there is no verdict
    if classes is not None and labels.ndim == 1 and len(known):
        of_model = set(classes.tolist())
        new = NewClasses.of(labels[known].tolist(), of_model)
        if set(new.examples) & set(map(str, of_model)):
            new = None  # classes in another type, which are refused
        elif new.n_other:
            labels = labels.astype(object)
            labels[[k for k in known if labels[k] not in of_model]] = None
            known = known_labels(labels)
    if len(known) == len(labels):
        return X, read_y(y, X, "y"), new
    return X, labels if len(known) else None, new
