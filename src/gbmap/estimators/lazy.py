"""Predictions for Dask collections: of the same kind, yet to be computed."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gbmap._fit.sources.dask import DaskSource, example_of
from gbmap._rows.dask.reading import is_array
from gbmap._utils.typing import Array

Method = TypeVar("Method", bound=Callable[..., Any])


def lazy_for_dask(method: Method) -> Method:
    """Let a method of a fitted model answer a Dask collection without computing it.

    An array gives an array, a frame a frame or a series with the same index. What is wrong with the
    columns is told at once.
    """

    @wraps(method)
    def answer(self: Any, X: Any) -> Any:
        if not DaskSource.recognises(X):
            return method(self, X)
        check_is_fitted(self)
        example = example_of(X)
        on_chunks = _OnChunks(self, method.__name__, example)
        if not is_array(X):
            return X.map_partitions(on_chunks.frame, meta=on_chunks.frame(example).iloc[:0])
        X, meta = X.rechunk({1: -1}), on_chunks.empty
        if meta.ndim == 1:
            return X.map_blocks(on_chunks.array, drop_axis=1, dtype=meta.dtype, meta=meta)
        chunks = (X.chunks[0], (meta.shape[1],))
        return X.map_blocks(on_chunks.array, chunks=chunks, dtype=meta.dtype, meta=meta)

    return answer  # type: ignore[return-value]


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
            return pd.Series(result, index=X.index, name=self.method.strip("_"))
        return pd.DataFrame(result, index=X.index, columns=self._columns(result.shape[1]))

    def _columns(self, n_columns: int) -> Any:
        if self.method == "transform":
            return self.model.get_feature_names_out()
        return getattr(self.model, "classes_", range(n_columns))
