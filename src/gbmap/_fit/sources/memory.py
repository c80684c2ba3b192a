"""Rows in memory: NumPy, pandas, polars, SciPy sparse, memory maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.utils.validation import validate_data

from gbmap._core.arrays import in_memory, to_numpy
from gbmap._core.objective import Objective
from gbmap._fit.initial import InitialModel
from gbmap._fit.sources.source import Reader, Source, sample_sizes
from gbmap._rows.collapse import collapse
from gbmap._rows.mapping import map_rows
from gbmap._rows.standard import MemoryTable, Table
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
    def read_inputs(cls, estimator: Any, X: Any, *, reset: bool = False) -> Any:
        return _validated(estimator, X, reset=reset)

    @classmethod
    def map(
        cls, function: Callable[[Any], Array], X: Any, n_columns: int, dtype: Any, n_jobs: int | None
    ) -> Array:
        return map_rows(function, X, n_columns, dtype, n_jobs)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.X.shape
        return int(n), int(p)

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    @property
    def sample_sizes(self) -> tuple[int, ...]:
        is_sparse = scipy.sparse.issparse(self.X)
        n_bytes = self.X.data.nbytes + self.X.indices.nbytes if is_sparse else self.X.nbytes
        return sample_sizes(*self.shape, n_bytes / self.shape[0])

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


def _validated(estimator: Any, X: Any, *y: Any, reset: bool, **rules: Any) -> Any:
    """Call scikit-learn's `validate_data`, whose test for infinity adds up numbers of either sign."""
    if hasattr(X, "columns"):
        _refuse_text(X)
    types = [np.float64, np.float32]
    # A polars frame does not tell NumPy its type, and would become float64.
    if {str(kind) for kind in getattr(X, "schema", {}).values()} == {"Float32"}:
        types.reverse()
    with np.errstate(invalid="ignore"):
        return validate_data(
            estimator, _summed(X), *y, reset=reset, accept_sparse="csr", dtype=types, order="C", **rules
        )


def _summed(X: Any) -> Any:
    """Return sparse rows with one entry a place, the sum of those that were there, as SciPy reads them.

    Of X's own type, whose truth values do not add up to two, and in a copy, since the matrix is the user's.
    """
    if scipy.sparse.issparse(X) and X.format in ("csr", "csc") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _refuse_text(frame: Any) -> None:
    schema = nw.from_native(frame).schema
    text = [name for name, kind in schema.items() if kind in (nw.String, nw.Categorical, nw.Enum)]
    if text:
        raise ValueError(
            f"X must be numeric, but its columns {text} hold text; encode them first, for example by "
            "sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
        )
