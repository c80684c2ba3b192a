"""The way from raw tables to the frame that the GBMAP of a `gbmap.tables.TableModel` takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from gbmap._fitted.columns import Columns, trace
from gbmap._utils.frames import names_of
from gbmap._utils.typing import Array


def is_table_model(model: Any) -> bool:
    """Return whether this is a fitted model that reads raw tables, and has what takes its features."""
    return hasattr(model, "features") and hasattr(model, "model_")


def without_tables(model: Any) -> Any:
    """Return what takes the features, which an exported model reads, or the model itself."""
    return model.model_ if is_table_model(model) else model


class TableReader(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The features of a raw table as a step of preprocessing; features stay as they are.

    A date is several numbers, so answers are about features, which are the columns otherwise.
    """

    def __init__(self, model: Any):
        self.model = model

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features."""
        return np.asarray(self.model.model_.feature_names_in_, dtype=object)

    def fit(self, X: Any, y: Any = None) -> TableReader:
        """Return the reader, whose model is fitted."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of rows."""
        names = names_of(X) if hasattr(X, "columns") else []
        raw = {column.name for column in self.model.schema_.used}
        is_read = set(self.feature_names_in_) <= set(names) and not raw <= set(names)
        return X if is_read else self.model.features(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True


@trace.register
def _(step: TableReader, columns: Columns) -> Columns:
    return columns
