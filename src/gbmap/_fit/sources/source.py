"""What a fit and a prediction ask of the rows that a user gives, whatever kind of data they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbmap._core.objective import Objective
from gbmap._fit.initial import InitialModel
from gbmap._fit.targets import TargetReader
from gbmap._rows.standard import Table
from gbmap._utils.typing import Array

# Larger weights are amounts, as of money, though they have no fraction: as repetitions they would leave
# next to no ridge.
_MOST_REPETITIONS = 10
# The smallest sample holds so many rows, or so many a column if that is more; each further one is larger by
# a factor, up to half of the rows. None takes more than so many bytes, except to hold so many rows at least.
_ROWS, _ROWS_PER_COLUMN, _GROWTH = 10_000, 50, 8
# If that many bytes hold less than the next one, they are filled as long as that is so many times the last.
_WORTH_ONE_MORE = 4
# Of fewer rows than so many times the first sample, all are the sample: what it would save is spent on both.
_WORTH_SAMPLING = 2
_BYTES, _ROWS_AT_LEAST = 1 << 26, 2_000


@dataclass(frozen=True)
class Reader:
    """What reads rows as one estimator does.

    Attributes
    ----------
    estimator : BaseEstimator
        On which scikit-learn's checks set the number and the names of the columns, or against which they
        hold them.
    targets : TargetReader
    fitting : bool
        Whether columns and y are learned; else they must be those of an earlier fit.
    skips_finite_check : bool
        Whether the moments of X will tell whether it is finite, since every row counts there.
    has_validation_rows : bool
        Whether rows for validation come with those to fit.
    """

    estimator: Any
    targets: TargetReader
    fitting: bool
    skips_finite_check: bool = False
    has_validation_rows: bool = False

    def targets_of(self, y: Any, name: str = "y") -> tuple[TargetReader, Array]:
        """Return what knows the kind of y, and y as the engine sees it."""
        return self.targets.learn(y, name) if self.fitting else (self.targets, self.targets.read(y, name))


@dataclass(frozen=True)
class Source(ABC):
    """Rows of one kind of data, read and validated: a new kind is a class like this, listed in `KINDS`.

    Attributes
    ----------
    raw : object
        The rows as f_0 and callbacks get them: a frame if one was given.
    y : array
        What was given, validated.
    weight : array of shape (n,) or None
        What rows count; classes weighed in.
    reader : TargetReader
        What knows the kind of y that these rows have.
    """

    raw: Any
    y: Any
    weight: Array | None
    reader: TargetReader

    @staticmethod
    @abstractmethod
    def recognises(X: Any) -> bool:
        """Return whether X is data of this kind."""

    @classmethod
    @abstractmethod
    def read(cls, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return the rows to fit, where they are best fitted."""

    @classmethod
    def read_beside(cls, source: Source, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return rows for validation where those of the fit are."""
        return source.read_validation(reader, X, y, sample_weight)

    @abstractmethod
    def read_validation(self, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return rows for validation that come in memory or as arrays, where these are."""

    @classmethod
    @abstractmethod
    def read_rows(cls, estimator: Any, X: Any, *, reset: bool = False) -> Any:
        """Return rows without targets, validated."""

    @classmethod
    @abstractmethod
    def map(
        cls,
        function: Callable[[Any], Array],
        X: Any,
        width: int,
        n_columns: int,
        dtype: Any,
        n_jobs: int | None,
    ) -> Array:
        """Return ``function(X)`` of validated rows, of shape (n, n_columns), where they are.

        For each row it takes up so many numbers in between.
        """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """K, the number of targets that the engine sees."""

    @property
    def numbers_in_memory(self) -> int:
        """How many numbers threads will work on."""
        return self.shape[0] * self.shape[1]

    @property
    def n_effective(self) -> float:
        """How many rows these count as: small whole weights are repetitions, others tell how rows compare."""
        if self.weight is None:
            return float(self.shape[0])
        largest, may_repeat = float(self.weight.max()), not self.reader.weighs_classes
        return n_effective([weight_sums(self.weight, largest, may_repeat=may_repeat)])

    @abstractmethod
    def sample_sizes(self, n_inputs: int, n_outputs: int = 1) -> tuple[int, ...]:
        """Return how many rows learners of so many inputs are found on first, from small to large."""

    @abstractmethod
    def contents(self) -> list[Any]:
        """Return arrays that tell these rows from others."""

    @abstractmethod
    def take(self, indices: Array) -> Source:
        """Return some rows."""

    @abstractmethod
    def table(self, initial: InitialModel, objective: Objective, *, collapse_below: int = 0) -> Table:
        """Return the numbers of the rows with their f_0; up to so many rows, equal ones as one."""

    def release(self) -> None:  # noqa: B027, rows in memory are the user's
        """Let go of what the fit has taken over."""


def weight_sums(weight: Array, largest: float, *, may_repeat: bool = True) -> tuple[float, float, float]:
    """Return the sum of whole weights, else NaN, and sums of shares of the largest and of their squares.

    A class of weight 10 is no sample of ten times the rows: where classes are weighed nothing may repeat.
    """
    are_whole = may_repeat and largest <= _MOST_REPETITIONS and not (weight % 1).any()
    share = weight / largest
    return float(weight.sum()) if are_whole else np.nan, float(share.sum()), float(share @ share)


def n_effective(sums: Sequence[tuple[float, float, float]]) -> float:
    """Return how many rows count, given `weight_sums` of all parts: Kish's number if not all are whole."""
    whole, share, squares = np.sum(sums, axis=0)
    # Ten digits of it are the same for any order of rows, and any parts that they come in.
    return float(f"{share**2 / squares:.10g}" if np.isnan(whole) else whole)


def sample_sizes(n_rows: int, n_columns: int, row_bytes: float | None, n_outputs: int = 1) -> tuple[int, ...]:
    """Return the numbers of rows of the samples, from small to large.

    Rows have so many bytes, which do not count where memory is ample: None says so. Where several outputs are
    found on them, passes over all rows are worth a sample of all, in standard units and in float32.
    """
    first = most = max(_ROWS, _ROWS_PER_COLUMN * n_columns)
    largest = n_rows // 2
    if row_bytes is not None:
        most = max(int(_BYTES / max(row_bytes, 1)), _ROWS_AT_LEAST)
        largest = min(most, largest)
        first = n_rows if first <= n_rows < _WORTH_SAMPLING * first else first
    sizes = [min(first, most)]
    while sizes[-1] * _GROWTH <= largest:
        sizes.append(sizes[-1] * _GROWTH)
    if sizes[-1] * _GROWTH > most and _WORTH_ONE_MORE * sizes[-1] <= most <= largest:
        sizes.append(most)
    if n_outputs > 1 and row_bytes is not None and sizes[-1] < n_rows <= min(most, _GROWTH * sizes[-1]):
        sizes.append(n_rows)
    return tuple(sizes)
