"""Rows as arrays of other libraries than NumPy, on a device or not: CuPy, JAX, PyTorch and the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils.validation import validate_data

from gbmap._core.arrays import (
    asarray_like,
    in_memory,
    in_wide,
    is_foreign,
    library_of,
    namespace,
    settled,
    to_numpy,
    wide,
)
from gbmap._core.objective import Objective
from gbmap._fit.initial import InitialModel
from gbmap._fit.sources.memory import MemorySource, read_weight, scaled_weight
from gbmap._fit.sources.source import Reader, Source, sample_sizes
from gbmap._rows.device import lent, map_device
from gbmap._rows.standard import DeviceTable
from gbmap._utils.scikit_learn import check_y, safe_indexing
from gbmap._utils.typing import Array

# Fewer rows are fitted in memory: a pass over them there takes no longer than a call to a device.
_FEW_ROWS = 20_000


@dataclass(frozen=True)
class DeviceSource(MemorySource):
    """Rows of another library; see `Source`. X, targets and y, if they are numbers, stay where they are."""

    @staticmethod
    def recognises(X: Any) -> bool:
        return is_foreign(X)

    @classmethod
    def read(cls, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return the rows to fit: few of them in memory."""
        X = settled(X)
        if len(X.shape) == 2 and X.shape[0] <= _FEW_ROWS:
            return MemorySource.read(reader, to_numpy(X), y, sample_weight)
        finite = not reader.skips_finite_check or sample_weight is not None
        X = cls._inputs(reader.estimator, X, reset=reader.fitting, finite=finite)
        y = _validated_targets(settled(y), X, reader.targets.rules)
        learned, targets = reader.targets_of(y)
        weight = learned.weight_of_rows(y, read_weight(sample_weight, X.shape[0]))
        return cls(X, y, weight, learned, X, _beside(targets, X, wide(X)))

    def read_validation(self, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Self:
        """Return rows for validation, brought to where these are."""
        X = self._inputs(reader.estimator, _beside(settled(X), self.X))
        y = _validated_targets(settled(y), X, reader.targets.rules)
        targets = _beside(reader.targets.read(y, "y_val"), X, wide(X))
        return type(self)(X, y, read_weight(sample_weight, X.shape[0]), reader.targets, X, targets)

    @classmethod
    def read_rows(cls, estimator: Any, X: Any, *, reset: bool = False) -> Any:
        settled(X)  # which may refuse X; a prediction keeps the gradients of PyTorch
        return cls._inputs(estimator, X, reset=reset)

    @staticmethod
    def _inputs(estimator: Any, X: Any, *, reset: bool = False, finite: bool = True) -> Any:
        X = _validated(X, finite=finite)
        validate_data(estimator, X, "no_validation", reset=reset, skip_check_array=True)
        return X

    @classmethod
    def map(
        cls,
        function: Callable[[Any], Array],
        X: Any,
        width: int,
        n_columns: int,
        dtype: Any,
        n_jobs: int | None,
    ) -> Any:
        """Return ``function(X)``, computed where X is; in X's type if that is asked for."""
        found = map_device(function, X, max(width, X.shape[1]))
        return namespace(X).astype(found, dtype) if dtype is X.dtype else found

    @property
    def numbers_in_memory(self) -> int:
        """None, for threads."""
        return 0

    def sample_sizes(self, n_inputs: int, n_outputs: int = 1) -> tuple[int, ...]:
        """Return how many rows learners are found on first; memory is ample."""
        return sample_sizes(self.shape[0], n_inputs, None)

    def contents(self) -> list[Any]:
        return [in_memory(self.X), in_memory(self.y), self.weight]

    def take(self, indices: Array) -> Self:
        X, y, targets = (take(each, indices) for each in (self.X, self.y, self.targets))
        weight = None if self.weight is None else self.weight[indices]
        return type(self)(X, y, weight, self.reader, X, targets)

    def table(self, initial: InitialModel, objective: Objective, *, collapse_below: int = 0) -> DeviceTable:
        X, targets = lent(self.X, self.targets, objective)
        weight = scaled_weight(self.weight)
        beside = None if weight is None else asarray_like(weight, X)
        return DeviceTable(X, targets, initial.score(self.raw), beside)


def take(array: Any, indices: Array) -> Any:
    """Return some rows of an array of any library, of a frame or of a list."""
    if not is_foreign(array):
        return safe_indexing(array, indices)
    xp = namespace(array)
    return xp.take(array, xp.asarray(indices, device=array.device), axis=0)


def _beside(array: Any, X: Any, dtype: Any = None) -> Any:
    """Return an array where X is."""
    if library_of(array) == library_of(X) and array.device == X.device:
        return array
    return asarray_like(to_numpy(array), X, dtype)


def _validated(X: Any, *, finite: bool) -> Any:
    """Return X as a matrix of float32 or float64, and refuse what is not finite if that is asked for."""
    xp = namespace(X)
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X must be a matrix of rows and columns, got an array of shape {tuple(X.shape)}.")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"X must hold real numbers, got {X.dtype}.")
    X = X if X.dtype in (xp.float32, xp.float64) else in_wide(X)
    if finite and bool(xp.any(xp.isinf(X))):
        raise ValueError("X must be finite or NaN, but it contains infinity; replace it, or drop those rows.")
    return X


def _validated_targets(y: Any, X: Any, rules: dict[str, bool]) -> Any:
    """Return y with as many rows as X: where it is if of another library, else as NumPy's."""
    if not is_foreign(y):
        y = check_y(y, **rules)
    elif len(y.shape) not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got an array of shape {tuple(y.shape)}.")
    elif not _is_finite(y):
        raise ValueError("y must be finite, but it contains NaN or infinity; drop those rows.")
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"y must have as many rows as X, {X.shape[0]}, got {y.shape[0]}.")
    return y


def _is_finite(array: Any) -> bool:
    xp = namespace(array)
    return xp.isdtype(array.dtype, ("bool", "integral")) or bool(xp.all(xp.isfinite(array)))
