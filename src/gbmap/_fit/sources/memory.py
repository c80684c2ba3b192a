"""Rows in memory: NumPy, pandas, polars, SciPy sparse, memory maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from gbmap._core.arrays import in_memory, to_numpy
from gbmap._core.objective import Objective
from gbmap._fit.columns import Coding, named_columns
from gbmap._fit.initial import InitialModel
from gbmap._fit.sources.source import Reader, Source, sample_sizes
from gbmap._rows.collapse import collapse
from gbmap._rows.mapping import map_rows
from gbmap._rows.standard import MemoryTable, Table
from gbmap._utils.frames import is_lazy, is_objects, names_of, refuse_same_names
from gbmap._utils.scikit_learn import check_sample_weight, safe_indexing
from gbmap._utils.typing import Array


@dataclass(frozen=True)
class MemorySource(Source):
    """Rows in memory; see `Source`.

    Attributes
    ----------
    X : C-ordered array, memory map or CSR matrix
    targets : array of shape (n, K)
        y as the engine sees it.
    """

    X: Any
    targets: Any

    @staticmethod
    def recognises(X: Any) -> bool:
        """Return True: scikit-learn says what it cannot read."""
        return True

    @classmethod
    def read(cls, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        check = not reader.skips_finite_check or sample_weight is not None
        rules = {"ensure_all_finite": check, "ensure_min_samples": 2}
        array, y = _validated(
            reader.estimator, X, in_memory(y), reset=reader.fitting, **rules, **reader.targets.rules
        )
        learned, targets = reader.targets_of(y)
        weight = learned.weight_of_rows(y, read_weight(sample_weight, len(targets)))
        return cls(frame_or(array, X), y, weight, learned, array, targets)

    def read_validation(self, reader: Reader, X: Any, y: Any, sample_weight: Any) -> MemorySource:
        """Return rows for validation, in memory."""
        return MemorySource.of_validation(reader, X, y, sample_weight)

    @classmethod
    def of_validation(cls, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Self:
        """Return rows for validation, which classes do not weigh."""
        array, y = _validated(
            reader.estimator, in_memory(X), in_memory(y), reset=False, **reader.targets.rules
        )
        targets = reader.targets.read(y, "y_val")
        weight = read_weight(sample_weight, len(targets))
        return cls(frame_or(array, X), y, weight, reader.targets, array, targets)

    @classmethod
    def read_rows(cls, estimator: Any, X: Any, *, reset: bool = False) -> Any:
        return _validated(estimator, X, reset=reset)

    @classmethod
    def map(
        cls,
        function: Callable[[Any], Array],
        X: Any,
        width: int,
        n_columns: int,
        dtype: Any,
        n_jobs: int | None,
    ) -> Array:
        return map_rows(function, X, n_columns, dtype, n_jobs, width=width)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.X.shape
        return int(n), int(p)

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    def sample_sizes(self, n_inputs: int, n_outputs: int = 1) -> tuple[int, ...]:
        if scipy.sparse.issparse(self.X):
            n_outputs = 1  # sparse samples keep their type
            n_bytes = (self.X.data.nbytes + self.X.indices.nbytes) / self.shape[0]
        else:
            n_bytes = n_inputs * (4 if n_inputs > self.shape[1] else self.X.itemsize)
        return sample_sizes(self.shape[0], n_inputs, n_bytes, n_outputs)

    def contents(self) -> list[Any]:
        return [self.X, self.y, self.weight]

    def take(self, indices: Array) -> Self:
        X, raw = self.X[indices], self.raw
        raw = X if raw is self.X else safe_indexing(raw, indices)
        weight = None if self.weight is None else self.weight[indices]
        return type(self)(raw, self.y[indices], weight, self.reader, X, self.targets[indices])

    def table(self, initial: InitialModel, objective: Objective, *, collapse_below: int = 0) -> Table:
        X, targets, score, weight = self.X, self.targets, initial.score(self.raw), scaled_weight(self.weight)
        if X.shape[0] <= collapse_below:
            # A small fit depends neither on the order of rows nor on how they share their weight.
            X, targets, score, weight = collapse(X, targets, np.broadcast_to(score, targets.shape), weight)
        return MemoryTable(X, targets, score, weight)


def frame_or(X: Any, given: Any) -> Any:
    """Return what was given if it is a frame, whose column names f_0 may want, else the array."""
    return given if hasattr(given, "columns") else X


def read_weight(sample_weight: Any, n_rows: int) -> Array | None:
    """Return weights of rows in memory, if there are any."""
    if sample_weight is None:
        return None
    given = sample_weight if isinstance(sample_weight, Real) else to_numpy(sample_weight)
    return check_sample_weight(given, n_rows)


def scaled_weight(weight: Array | None) -> Array | None:
    """Return weights by a power of two: of a mean near one, so that they fit float32, without rounding."""
    if weight is None:
        return None
    # The largest first, or the sum for the mean might overflow.
    weight = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
    return np.ldexp(weight, -int(np.frexp(weight.mean())[1]))


def _validated(
    estimator: Any, X: Any, *y: Any, reset: bool, ensure_all_finite: Any = True, **rules: Any
) -> Any:
    """Do what scikit-learn's `validate_data` does; categories of a frame become codes, and NaN is missing."""
    may_miss = ensure_all_finite and not scipy.sparse.issparse(X)
    rules |= {"ensure_all_finite": "allow-nan" if may_miss else ensure_all_finite, "order": "C"}
    rules |= {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
    with np.errstate(invalid="ignore"):  # the test for infinity adds up numbers of either sign
        if not _is_table(estimator, X, reset):
            _refuse_plain(estimator, X, reset)
            try:
                return validate_data(estimator, _summed(X), *y, reset=reset, **rules)
            except ValueError as error:
                raise _of_text(X) or error from error
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        array = coding_of(estimator, X, reset=reset).encode(X, as_fitted=not reset)
        if y:
            return check_X_y(array, *y, estimator=estimator, **rules)
        return check_array(array, estimator=estimator, input_name="X", **rules)


def coding_of(estimator: Any, frame: Any, *, reset: bool) -> Coding:
    """Return what reads the columns of a frame: what the fit has learned, or what it is to learn now."""
    n_columns, known = estimator.n_features_in_, getattr(estimator, "coding_", None)
    if reset:
        names = names_of(frame) if hasattr(frame, "columns") else None
        is_category = named_columns(estimator.categorical_features, n_columns, names)
        known = estimator.coding_ = Coding.of(frame, is_category)
    return known or Coding((None,) * n_columns)


def _is_table(estimator: Any, X: Any, reset: bool) -> bool:
    """Return whether columns are to be read one by one: of a frame, or of objects if some are categories."""
    if is_lazy(X):
        raise TypeError(f"X must be rows in memory, got a lazy {type(X).__name__}; pass X.collect().")
    if hasattr(X, "columns"):
        refuse_same_names(X)
        return True
    if not is_objects(X):
        return False
    if not reset:
        known = getattr(estimator, "coding_", None)
        return known is not None and bool(known.is_category.any())
    named = named_columns(estimator.categorical_features, X.shape[1], None)
    return named is not None and bool(named.any())


def _refuse_plain(estimator: Any, X: Any, reset: bool) -> None:
    """Refuse an array where a frame is to tell categories, and forget those of an earlier fit."""
    known = getattr(estimator, "coding_", None)
    if reset:
        if known is not None:
            del estimator.coding_
        named = estimator.categorical_features
        if scipy.sparse.issparse(X) and named is not None and not isinstance(named, str):
            raise ValueError(
                f"categorical_features must be None for sparse X, whose columns are numbers, got {named!r}; "
                "pass X.toarray(), or one-hot encoded columns."
            )
    elif known is not None and known.is_category.any():
        raise ValueError(
            "X must be a frame with the columns of the fit, some of which hold categories, got an array of "
            "numbers; pass a frame, or an array of objects."
        )


def _of_text(X: Any) -> ValueError | None:
    """Return what is to be said of an array that holds text where numbers belong."""
    objects = np.asarray(X, dtype=object) if isinstance(X, list) or is_objects(X) else np.empty((0, 0))
    for k, column in enumerate(objects.T if objects.ndim == 2 else ()):
        text = next((value for value in column if isinstance(value, str) and not _is_number(value)), None)
        if text is not None:
            return ValueError(
                f"X must be an array of numbers, but column {k} holds text such as {str(text)!r}; name such "
                "columns in categorical_features, or pass a frame, whose columns of text are categories."
            )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _summed(X: Any) -> Any:
    """Return sparse rows with one entry a place, the sum of those that were there, as SciPy reads them.

    Of X's own type, whose truth values do not add up to two, and in a copy, since the matrix is the user's.
    """
    if scipy.sparse.issparse(X) and X.format in ("csr", "csc") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
