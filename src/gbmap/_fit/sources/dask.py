"""Rows of Dask collections: fitted where they are, or in memory if they are few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.frozen import FrozenEstimator

from gbmap._core.objective import Objective
from gbmap._fit.columns import Coding
from gbmap._fit.initial import InitialModel
from gbmap._fit.sources.memory import MemorySource, coding_of
from gbmap._fit.sources.source import Reader, Source, n_effective, sample_sizes, weight_sums
from gbmap._fit.targets import TargetReader
from gbmap._rows.dask import DaskChunks, DaskTable, is_collection
from gbmap._rows.dask.parts import Layout, keep, keep_rows, spread
from gbmap._rows.dask.reading import as_column, cut, is_array, read_rows
from gbmap._utils.scikit_learn import check_sample_weight, check_y
from gbmap._utils.typing import Array


@dataclass(frozen=True)
class DaskSource(Source):
    """Rows of a Dask collection; see `Source`. The numbers are in a table of parts, with their workers."""

    numbers: DaskTable
    names: Array | None

    @staticmethod
    def recognises(X: Any) -> bool:
        return is_collection(X)

    @classmethod
    def read(cls, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return the rows to fit: few of them in memory."""
        _refuse_what_needs_all_rows(reader)
        given = X, y, sample_weight
        return cls._read(reader, *given, "y", "sample_weight") or MemorySource.read(
            reader, *map(_computed, given)
        )

    @classmethod
    def read_beside(cls, source: Source, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return rows for validation: few of them where those of the fit are."""
        given = X, y, sample_weight
        return cls._read(reader, *given, "y_val", "sample_weight_val") or source.read_validation(
            reader, *map(_computed, given)
        )

    @classmethod
    def _read(
        cls, reader: Reader, X: Any, y: Any, sample_weight: Any, y_name: str, weight_name: str
    ) -> Self | None:
        """Return the rows where they are, or None if they are few."""
        estimator = reader.estimator
        dtype = MemorySource.read_rows(estimator, example_of(X), reset=reader.fitting).dtype
        encode = None if is_array(X) else _learn_categories(estimator, X, reset=reader.fitting).encode
        read, n_columns = partial(read_rows, dtype=dtype, encode=encode), estimator.n_features_in_
        chunks = DaskChunks(X, "X", read)
        if chunks.n_rows <= sample_sizes(chunks.n_rows, n_columns, n_columns * dtype.itemsize)[0]:
            return None
        parts = _Parts.of(chunks, n_columns, dtype)
        learned, labels = parts.read_targets(reader, y, y_name)
        if sample_weight is not None:
            parts.read_weight(sample_weight, weight_name)
        if learned.weighs_classes and y_name == "y":
            parts.weigh_classes(learned, labels)
        return cls(X, y, None, learned, parts.table, getattr(estimator, "feature_names_in_", None))

    def read_validation(self, reader: Reader, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return rows for validation that come in memory, there."""
        return MemorySource.of_validation(reader, X, y, sample_weight)

    @classmethod
    def read_rows(cls, estimator: Any, X: Any, *, reset: bool = False) -> NoReturn:
        """Refuse the rows: what is not lazy wants them in memory."""
        raise TypeError("X must be rows in memory here, got a Dask collection; pass X.compute().")

    @classmethod
    def map(
        cls,
        function: Callable[[Any], Array],
        X: Any,
        width: int,
        n_columns: int,
        dtype: Any,
        n_jobs: int | None,
    ) -> NoReturn:
        """Refuse the rows, which `read_rows` has refused before."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.shape

    @property
    def n_outputs(self) -> int:
        return self.numbers.n_outputs

    @property
    def n_effective(self) -> float:
        weight = self.numbers.weight
        if weight is None:
            return float(self.shape[0])
        largest = float(max(self.numbers.ask(np.max, [weight])))
        sums = partial(weight_sums, may_repeat=not self.reader.weighs_classes)
        return n_effective(self.numbers.ask(sums, [weight], largest))

    def sample_sizes(self, n_inputs: int, n_outputs: int = 1) -> tuple[int, ...]:
        return sample_sizes(self.shape[0], n_inputs, n_inputs * self.numbers.dtype.itemsize, n_outputs)

    def contents(self) -> list[Any]:
        return [self.numbers.digests()]

    def take(self, indices: Array) -> NoReturn:
        """Refuse: settings that would need it have been refused."""
        raise NotImplementedError

    def table(self, initial: InitialModel, objective: Objective, *, collapse_below: int = 0) -> DaskTable:
        score = None if initial.model is None else partial(_part_score, initial=initial, names=self.names)
        scored = self.numbers.scored(score)
        return scored.weighted(scored.weight)

    def release(self) -> None:
        """Let a cluster drop what the fit has taken over."""
        self.numbers.release()


class _Parts:
    """The numbers of a collection on their way into a table."""

    def __init__(self, chunks: DaskChunks, table: DaskTable):
        self.chunks, self.table = chunks, table

    @classmethod
    def of(cls, chunks: DaskChunks, n_columns: int, dtype: np.dtype[Any]) -> _Parts:
        """Cut rows into parts, and share them out over the workers."""
        import dask

        recut = dask.config.get("gbmap.recut", True)
        layout = Layout.of(chunks.lengths, n_columns, dtype, recut=recut)
        n_bytes = chunks.n_rows * n_columns * dtype.itemsize
        parts = spread(keep_rows(cut(chunks.chunks, chunks.lengths, layout.bounds), n_bytes))
        chunks.chunks = []  # or there would be two of each row
        return cls(chunks, DaskTable(layout, (chunks.n_rows, n_columns), dtype, 0, parts, None))

    def _column(self, values: Any, name: str, check: Callable[[Any], Array]) -> list[Any]:
        return keep(as_column(values, name, check, self.chunks, self.table.layout.bounds))

    def read_targets(self, reader: Reader, y: Any, name: str) -> tuple[TargetReader, list[Any]]:
        """Set the targets, and return what knows the kind of y, and y in parts."""
        labels = self._column(y, name, partial(_checked_targets, rules=reader.targets.rules))
        telling = np.concatenate(self.table.ask(_telling, [labels], reader.targets))
        # Labels are repeated, since scikit-learn wonders about a y in which each occurs but once.
        learned, some = reader.targets_of(np.repeat(telling, 3, axis=0), name)
        self.table.n_outputs = some.shape[1]
        self.table.targets = self.table.keep(_targets, [labels], learned, name)
        return learned, labels

    def read_weight(self, sample_weight: Any, name: str) -> None:
        """Set the weights."""
        if np.isscalar(sample_weight):
            sample_weight = np.full(self.chunks.n_rows, float(sample_weight))  # type: ignore[arg-type]
        self.table.weight = self._column(sample_weight, name, _checked_weight)
        if not self.table.weight_sum(self.table.weight):
            raise ValueError(f"{name} must leave some row a weight, got zeros only.")

    def weigh_classes(self, learned: Any, labels: list[Any]) -> None:
        """Weigh rows by their classes, too."""
        table, classes = self.table, learned.labels
        totals = table.each(labels, table.weight)(_class_totals, classes).sum(axis=0)
        of_class = learned.weight_of_classes(classes, totals)
        table.weight = table.keep(_class_weighted, [labels, table.weight], classes, of_class)


def _refuse_what_needs_all_rows(reader: Reader) -> None:
    """Refuse settings under which rows would have to be brought together."""
    estimator = reader.estimator
    if estimator.early_stopping and not reader.has_validation_rows:
        raise ValueError(
            "early_stopping=True needs X_val and y_val in fit when X is a Dask collection, of which no rows "
            "are set aside; pass them, or set early_stopping=False."
        )
    init = estimator.init
    if reader.fitting and hasattr(init, "fit") and not isinstance(init, FrozenEstimator):
        raise ValueError(
            "init must be None, a callable or a fitted model in sklearn.frozen.FrozenEstimator when X is a "
            f"Dask collection, to which no {type(init).__name__} is fitted; fit it to rows in memory first."
        )


def example_of(X: Any) -> Any:
    """Return rows in memory with the columns and types of a collection."""
    if not is_array(X):
        if not hasattr(type(X), "divisions"):
            raise TypeError(f"X must be a Dask array or a Dask frame, got a {type(X).__name__} of Dask's.")
        from dask.dataframe.dispatch import make_meta, meta_nonempty

        return meta_nonempty(make_meta(X))  # type: ignore[no-untyped-call]
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(f"X must be a matrix of rows and a known number of columns, got shape {X.shape}.")
    from dask.array.utils import meta_from_array

    kind = type(meta_from_array(X))  # type: ignore[no-untyped-call]
    if not issubclass(kind, np.ndarray):
        raise ValueError(
            f"X must be a Dask array of NumPy arrays, got one of {kind.__name__}; "
            "map_blocks turns one into the other."
        )
    return np.ones((2, X.shape[1]), X.dtype)


def _learn_categories(estimator: Any, X: Any, *, reset: bool) -> Coding:
    """Return what reads the columns of a frame; in a fit, with the categories of all partitions."""
    coding = coding_of(estimator, example_of(X), reset=reset)
    if reset and coding.is_category.any():
        if estimator.init is not None:
            raise ValueError(
                "init must be None for a Dask frame with categories, which it would meet as codes; encode "
                "them before, or pass X.compute()."
            )
        names = [name for name, is_category in zip(X.columns, coding.is_category) if is_category]
        found = {name: X[name].unique().compute() for name in names}
        coding = coding.with_categories([found.get(name) for name in X.columns])
        estimator.coding_ = coding
    return coding


def _computed(collection: Any) -> Any:
    """Return a small collection as what it is made of."""
    return collection.compute() if hasattr(collection, "__dask_graph__") else collection


def _checked_targets(chunk: Any, rules: dict[str, Any]) -> Array:
    y = np.asarray(chunk)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    return check_y(y, **rules) if len(y) else y


def _telling(y: Array, targets: TargetReader) -> Array:
    return targets.telling(y)


def _targets(y: Array, targets: TargetReader, name: str) -> Array:
    return targets.read(y, name)


def _checked_weight(chunk: Any) -> Array:
    if not len(chunk):
        return np.empty(0)
    return check_sample_weight(np.asarray(chunk), len(chunk), allow_zeros=True)


def _class_totals(y: Array, weight: Array | None, classes: Array) -> Array:
    return np.bincount(np.searchsorted(classes, y), weight, len(classes)).astype(np.float64)


def _class_weighted(y: Array, weight: Array | None, classes: Array, of_class: Array) -> Array:
    of_row: Array = of_class[np.searchsorted(classes, y)]
    return of_row if weight is None else of_row * weight


def _part_score(X: Array, initial: InitialModel, names: Array | None) -> Array | float:
    rows: Any = X
    if names is not None:
        import pandas as pd

        rows = pd.DataFrame(X, columns=names)
    return initial.score(rows)
