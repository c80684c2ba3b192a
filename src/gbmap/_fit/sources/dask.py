"""Dask collections on their way into a fit, and lazily through a fitted model."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator

from gbmap._core.refinement import is_automatic
from gbmap._fit.initial import initial_score
from gbmap._rows.dask import DaskChunks, DaskTable
from gbmap._rows.dask.parts import Layout, Place, keep, keep_rows, spread
from gbmap._rows.dask.reading import as_column, cut, is_array, read_rows
from gbmap._utils.scikit_learn import check_sample_weight, check_y
from gbmap._utils.typing import Array


def refuse_what_needs_all_rows(estimator: Any, X_val: Any, *, resumes: bool) -> None:
    """Refuse settings under which rows would have to be brought together."""
    if estimator.early_stopping and X_val is None:
        raise ValueError(
            "early_stopping=True needs X_val and y_val in fit when X is a Dask collection, of which no rows "
            "are set aside; pass them, or set early_stopping=False."
        )
    if is_automatic(estimator.refine) and X_val is None:
        raise ValueError(
            "refine=True needs X_val and y_val in fit when X is a Dask collection, of which no rows are set "
            "aside; pass them, or a number of iterations as refine, or set refine=False."
        )
    init = estimator.init
    if not resumes and hasattr(init, "fit") and not isinstance(init, FrozenEstimator):
        raise ValueError(
            "init must be None, a callable or a fitted model in sklearn.frozen.FrozenEstimator when X is a "
            f"Dask collection, to which no {type(init).__name__} is fitted; fit it to rows in memory first."
        )


def example_of(X: Any) -> Any:
    """Return rows in memory with the columns and types of a collection."""
    if not is_array(X):
        if not hasattr(X, "_meta_nonempty"):
            raise TypeError(f"X must be a Dask array or a Dask frame, got a {type(X).__name__} of Dask's.")
        return X._meta_nonempty
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(f"X must be a matrix of rows and a known number of columns, got shape {X.shape}.")
    if not isinstance(X._meta, np.ndarray):
        raise ValueError(
            f"X must be a Dask array of NumPy arrays, got one of {type(X._meta).__name__}; "
            "map_blocks turns one into the other."
        )
    return np.ones((2, X.shape[1]), X.dtype)


def chunks_of(X: Any, dtype: np.dtype[Any]) -> DaskChunks:
    """Return the rows of X in their chunks, to be read."""
    return DaskChunks(X, "X", partial(read_rows, dtype=dtype))


def in_memory(collection: Any) -> Any:
    """Return a small collection as what it is made of."""
    return collection.compute() if hasattr(collection, "__dask_graph__") else collection


def read_table(
    estimator: Any,
    X: DaskChunks,
    dtype: np.dtype[Any],
    y: Any,
    sample_weight: Any,
    name: str,
    *,
    fitting: bool,
) -> DaskTable:
    """Return the rows of a fit in parts, with what y means to the estimator."""
    import dask

    n_columns, recut = estimator.n_features_in_, dask.config.get("gbmap.recut", True)
    layout = Layout.of(X.lengths, n_columns, dtype, recut=recut)
    parts = spread(keep_rows(cut(X.chunks, X.lengths, layout.bounds), X.n_rows * n_columns * dtype.itemsize))
    X.chunks = []  # or there would be two of each row
    table = DaskTable(layout, (X.n_rows, n_columns), dtype, 0, parts, None)
    check = partial(_checked_targets, rules=estimator._y_rules)
    labels = keep(as_column(y, name, check, X, layout.bounds))
    classes = is_classifier(estimator)
    telling = np.concatenate(table.ask(_telling, [labels], classes))
    # Labels are repeated, since scikit-learn wonders about a y in which each occurs but once.
    telling = estimator._read_targets(np.repeat(telling, 3, axis=0), name, fitting=fitting)
    table.n_outputs = telling.shape[1]
    table.targets = table.keep(_targets, [labels], _reader(estimator), name)
    if sample_weight is not None:
        weight_name = "sample_weight" if name == "y" else "sample_weight_val"
        table.weight = _read_weight(table, sample_weight, X, weight_name)
    if classes and name == "y" and estimator.class_weight is not None:
        _weigh_classes(estimator, table, labels)
    return table


def _checked_targets(_: Place, chunk: Any, rules: dict[str, Any]) -> Array:
    y = np.asarray(chunk)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    return check_y(y, **rules) if len(y) else y


def _telling(_: Place, y: Array, classes: bool) -> Array:
    """Return some rows that tell what y is: each label once, or the largest number."""
    if classes:
        return np.unique(y) if y.dtype != object else np.array(list(set(y)), dtype=object)
    if y.dtype.kind not in "biuf":
        return y[:1]
    row = int(np.abs(y).reshape(len(y), -1).max(axis=1).argmax())
    return y[row : row + 1]


def _reader(estimator: Any) -> Any:
    """Return what reads targets as the estimator does, and is small to send."""
    reader = clone(estimator)
    for name in ("classes_", "_targets_2d"):
        if hasattr(estimator, name):
            setattr(reader, name, getattr(estimator, name))
    return reader


def _targets(_: Place, y: Array, reader: Any, name: str) -> Array:
    targets: Array = reader._read_targets(y, name, fitting=False)
    return targets


def _read_weight(table: DaskTable, sample_weight: Any, X: DaskChunks, name: str) -> list[Any]:
    if np.isscalar(sample_weight):
        sample_weight = np.full(X.n_rows, float(sample_weight))  # type: ignore[arg-type]
    weight = keep(as_column(sample_weight, name, _checked_weight, X, table.layout.bounds))
    if not table.weight_sum(weight):
        raise ValueError(f"{name} must leave some row a weight, got zeros only.")
    return weight


def _checked_weight(_: Place, chunk: Any) -> Array:
    if not len(chunk):
        return np.empty(0)
    return check_sample_weight(np.asarray(chunk), len(chunk), allow_zeros=True)


def _weigh_classes(estimator: Any, table: DaskTable, labels: list[Any]) -> None:
    classes = estimator.classes_
    totals = table.each(labels, table.weight)(_class_totals, classes).sum(axis=0)
    of_class = estimator._weight_of_classes(classes, totals)
    table.weight = table.keep(_class_weighted, [labels, table.weight], classes, of_class)


def _class_totals(y: Array, weight: Array | None, classes: Array) -> Array:
    return np.bincount(np.searchsorted(classes, y), weight, len(classes)).astype(np.float64)


def _class_weighted(_: Place, y: Array, weight: Array | None, classes: Array, of_class: Array) -> Array:
    of_row: Array = of_class[np.searchsorted(classes, y)]
    return of_row if weight is None else of_row * weight


def score_of_parts(estimator: Any, n_outputs: int) -> Any:
    """Return a function from the rows of a part to f_0, or None if there is none."""
    if estimator.init_ is None:
        return None
    names = getattr(estimator, "feature_names_in_", None)
    classes = getattr(estimator, "classes_", None)
    return partial(_part_score, init=estimator.init_, n_outputs=n_outputs, classes=classes, names=names)


def _part_score(
    X: Array, init: Any, n_outputs: int, classes: Array | None, names: Array | None
) -> Array | float:
    rows: Any = X
    if names is not None:
        import pandas as pd

        rows = pd.DataFrame(X, columns=names)
    return initial_score(init, rows, n_outputs, classes)


class _OnChunks:
    """A method of a fitted model for one chunk of rows, which may be empty."""

    def __init__(self, model: Any, method: str, example: Any):
        self.model, self.method = copy(model), method
        self.model.n_jobs = 1  # the chunks are shared out already
        self.empty = np.asarray(getattr(model, method)(example))[:0]

    def array(self, X: Any) -> Array:
        """Return the result as an array."""
        return np.asarray(getattr(self.model, self.method)(X)) if X.shape[0] else self.empty

    def frame(self, X: Any) -> Any:
        """Return the result with the index of a frame."""
        import pandas as pd

        result = self.array(X)
        if result.ndim == 1:
            return pd.Series(result, index=X.index, name=self.method)
        return pd.DataFrame(result, index=X.index, columns=self._columns(result.shape[1]))

    def _columns(self, n_columns: int) -> Any:
        if self.method == "transform":
            return self.model.get_feature_names_out()
        return getattr(self.model, "classes_", range(n_columns))


def lazily(model: Any, method: str, X: Any) -> Any:
    """Return what a method gives for a Dask collection, as one of the same kind that is yet to be computed.

    An array gives an array, a frame a frame or a series with the same index. What is wrong with the
    columns is told at once.
    """
    example = example_of(X)
    on_chunks = _OnChunks(model, method, example)
    if not is_array(X):
        return X.map_partitions(on_chunks.frame, meta=on_chunks.frame(example).iloc[:0])
    X, meta = X.rechunk({1: -1}), on_chunks.empty
    if meta.ndim == 1:
        return X.map_blocks(on_chunks.array, drop_axis=1, dtype=meta.dtype, meta=meta)
    chunks = (X.chunks[0], (meta.shape[1],))
    return X.map_blocks(on_chunks.array, chunks=chunks, dtype=meta.dtype, meta=meta)
