"""What a user gives an estimator, read and validated: the rows of a fit, and those of a question."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import validate_data

from gbmap._core.arrays import is_foreign, to_numpy
from gbmap._core.ensemble import Ensemble
from gbmap._fit.samples import sample_sizes
from gbmap._fit.sources import dask as _dask
from gbmap._fit.sources import device as _foreign
from gbmap._rows.dask import DaskTable, is_collection
from gbmap._utils.scikit_learn import check_sample_weight, safe_indexing
from gbmap._utils.typing import Array

# Rows as a user gives them: X, y and their weights.
Given = tuple[Any, Any, Any]

# A softplus of larger beta, in the units of y, or of one below its inverse, leaves the range of float64.
_STEEPEST = 1e300


@dataclass(frozen=True)
class Data:
    """Rows as validated (X, y), as given (raw, for init), and as the engine wants them (targets).

    A DaskTable, in place of X, has targets and weights with it.
    """

    raw: Any
    X: Any
    y: Any
    targets: Any
    weight: Array | None = None

    @property
    def n_outputs(self) -> int:
        return int(self.X.n_outputs if isinstance(self.X, DaskTable) else self.targets.shape[1])

    @property
    def numbers_in_memory(self) -> int:
        return 0 if is_foreign(self.X) else self.X.shape[0] * self.X.shape[1]

    @property
    def scaled_weight(self) -> Array | None:
        """The weights by a power of two: of a mean near one, so that they fit float32, without rounding."""
        if self.weight is None:
            return None
        # The largest first, or the sum for the mean might overflow.
        weight = np.ldexp(self.weight, -int(np.frexp(self.weight.max())[1]))
        return np.ldexp(weight, -int(np.frexp(weight.mean())[1]))

    def contents(self) -> list[Any]:
        """Return arrays that tell these rows from others."""
        if isinstance(self.X, DaskTable):
            return [self.X.digests()]
        return [_foreign.in_memory(self.X), _foreign.in_memory(self.y), self.weight]

    def release(self) -> None:
        """Let a cluster drop what the fit has taken over."""
        if isinstance(self.X, DaskTable):
            self.X.release()

    def take(self, indices: Array) -> Data:
        weight = None if self.weight is None else self.weight[indices]
        X, y, targets = (_foreign.take(each, indices) for each in (self.X, self.y, self.targets))
        raw = X if self.raw is self.X else safe_indexing(self.raw, indices)
        return Data(raw, X, y, targets, weight)


def read_fit(
    estimator: Any, given: Given, to_watch: Given, ensemble: Ensemble | None
) -> tuple[Data, Data | None]:
    """Return the rows to fit, and those to watch if there are any, given the ensemble to go on from."""
    resumes = ensemble is not None
    X_val, y_val, sample_weight_val = to_watch
    if is_collection(given[0]):
        _dask.refuse_what_needs_all_rows(estimator, X_val, resumes=resumes)
    data = _read_rows(estimator, *given, fitting=not resumes)
    if ensemble is not None and data.n_outputs != ensemble.n_outputs:
        raise ValueError(
            f"y must have as many targets as before, {ensemble.n_outputs}, when warm_start=True, "
            f"got {data.n_outputs}; set warm_start=False to start anew."
        )
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val must be given together, or neither of them.")
    if X_val is None:
        if sample_weight_val is not None:
            raise ValueError("sample_weight_val must be None without X_val and y_val, whose rows it weighs.")
        return data, None
    try:
        validation = _read_validation_rows(estimator, *to_watch, data.X)
    except ValueError as error:  # which speaks of X, y and sample_weight
        raise ValueError(
            f"X_val, y_val and sample_weight_val must keep to the rules of X, y and sample_weight: {error}"
        ) from error
    if validation.n_outputs != data.n_outputs:
        raise ValueError(
            f"y_val must have as many targets as y, {data.n_outputs}, got {validation.n_outputs}."
        )
    return data, validation


def _read_rows(estimator: Any, X: Any, y: Any, sample_weight: Any, *, fitting: bool) -> Data:
    """Return the rows to fit."""
    if is_collection(X):
        data = _read_collection(estimator, X, y, sample_weight, "y", fitting=fitting)
        if data is not None:
            return data
        X, y, sample_weight = (_dask.in_memory(each) for each in (X, y, sample_weight))
    X, y = _foreign.to_memory_if_small(X, y)
    given = X
    # If every row counts, the moments of X tell whether it is finite, which saves a pass over it here.
    all_count = sample_weight is None and not estimator.early_stopping and estimator._all_classes_count()
    X, y = _validated(
        estimator, X, y, reset=fitting, ensure_all_finite=not all_count, ensure_min_samples=2,
        **_rules_for(given), **estimator._y_rules,
    )  # fmt: skip
    targets = _foreign.targets_beside(estimator._read_targets(y, "y", fitting=fitting), X)
    weight = estimator._weigh_classes(y, _read_weight(sample_weight, X))
    return Data(frame_or(X, given), X, y, targets, weight)


def _read_weight(sample_weight: Any, X: Any) -> Array | None:
    if sample_weight is None:
        return None
    given = sample_weight if isinstance(sample_weight, Real) else to_numpy(sample_weight)
    return check_sample_weight(given, X.shape[0])


def _read_validation_rows(estimator: Any, X: Any, y: Any, sample_weight: Any, beside: Any) -> Data:
    """Return the rows to watch, where those of the fit are if that is a device."""
    if is_collection(X):
        data = _read_collection(estimator, X, y, sample_weight, "y_val", fitting=False)
        if data is not None:
            return data
        X, y, sample_weight = (_dask.in_memory(each) for each in (X, y, sample_weight))
    given = X
    X, y = _foreign.moved_to(beside, X, y)
    X, y = _validated(estimator, X, y, reset=False, **_rules_for(X), **estimator._y_rules)
    targets = _foreign.targets_beside(estimator._read_targets(y, "y_val", fitting=False), X)
    return Data(frame_or(X, given), X, y, targets, _read_weight(sample_weight, X))


def _read_collection(
    estimator: Any, X: Any, y: Any, sample_weight: Any, name: str, *, fitting: bool
) -> Data | None:
    """Return the rows of a Dask collection where they are, or None if they are few."""
    dtype = read_inputs(estimator, _dask.example_of(X), reset=fitting).dtype
    chunks = _dask.chunks_of(X, dtype)
    n_columns = estimator.n_features_in_
    if chunks.n_rows <= sample_sizes(chunks.n_rows, n_columns, n_columns * dtype.itemsize)[0]:
        return None
    table = _dask.read_table(estimator, chunks, dtype, y, sample_weight, name, fitting=fitting)
    return Data(X, table, y, None)


def set_aside(estimator: Any, data: Data) -> tuple[Data, Data]:
    """Split rows into those to fit and those for early stopping."""
    train, test = train_test_split(
        np.arange(data.X.shape[0]),
        test_size=estimator.validation_fraction,
        stratify=estimator._strata(to_numpy(data.y)),
        random_state=estimator._seed % 2**32,
    )
    parts = data.take(np.sort(train)), data.take(np.sort(test))
    if any(part.weight is not None and not part.weight.any() for part in parts):
        raise ValueError(
            "sample_weight must leave weight both on the rows to fit and on those set aside for early "
            f"stopping, validation_fraction={estimator.validation_fraction}; pass X_val and y_val instead."
        )
    return parts


def check_spread(deviations: Array, beta: float) -> None:
    """Refuse targets in whose units beta leaves the range of float64."""
    low, high = float(beta) / _STEEPEST, float(beta) * _STEEPEST
    for deviation in deviations:
        if not low <= deviation <= high:
            raise ValueError(
                f"y must have a standard deviation from {low:g} to {high:g} for beta={beta}, or be constant, "
                f"got {deviation:g}; rescale it."
            )


def read_inputs(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Return rows without targets as an array, or as they are if of another library."""
    return _validated(estimator, X, reset=reset, **_rules_for(X))


def frame_or(X: Any, given: Any) -> Any:
    """Return what was given if it is a frame, whose column names f_0 may want, else the array."""
    return given if hasattr(given, "columns") else X


def _validated(estimator: Any, X: Any, *y: Any, reset: bool, **rules: Any) -> Any:
    """Call scikit-learn's `validate_data`, whose test for infinity adds up numbers of either sign.

    An array of another library stays as it is: only its shape, its type and its numbers are looked at.
    """
    if is_foreign(X):
        X = _foreign.validated(X, finite=rules.get("ensure_all_finite", True))
        validate_data(estimator, X, "no_validation", reset=reset, skip_check_array=True)
        return (X, _foreign.validated_targets(y[0], X, **estimator._y_rules)) if y else X
    with np.errstate(invalid="ignore"):
        return validate_data(estimator, _summed(X), *y, reset=reset, **rules)


def _summed(X: Any) -> Any:
    """Return sparse rows with one entry a place, the sum of those that were there, as SciPy reads them.

    Of X's own type, whose truth values do not add up to two, and in a copy, since the matrix is the user's.
    """
    if scipy.sparse.issparse(X) and X.format in ("csr", "csc") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _rules_for(X: Any) -> dict[str, Any]:
    """Return how to validate X. A polars frame does not tell NumPy its type, and would become float64."""
    if hasattr(X, "columns"):
        _refuse_text(X)
    types = [np.float64, np.float32]
    if {str(kind) for kind in getattr(X, "schema", {}).values()} == {"Float32"}:
        types.reverse()
    return {"accept_sparse": "csr", "dtype": types, "order": "C"}


def _refuse_text(frame: Any) -> None:
    schema = nw.from_native(frame).schema
    text = [name for name, kind in schema.items() if kind in (nw.String, nw.Categorical, nw.Enum)]
    if text:
        raise ValueError(
            f"X must be numeric, but its columns {text} hold text; encode them first, for example by "
            "sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
        )
