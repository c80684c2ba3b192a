"""A new kind of data is one class, listed among the kinds: no other line of the package knows of it."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fit import sources
from gbmap._fit.sources.memory import MemorySource


class Archive:
    """Rows of a user's own making: a folder of files of columns, in the order of their names."""

    def __init__(self, folder):
        self.folder = folder

    @property
    def shape(self):
        return self.columns().shape

    def columns(self):
        return np.column_stack([np.load(file) for file in sorted(self.folder.iterdir())])


@dataclass(frozen=True)
class ArchiveSource(MemorySource):
    """Rows that are read from their files when they are asked for."""

    @staticmethod
    def recognises(X):
        return isinstance(X, Archive)

    @classmethod
    def read(cls, reader, X, y, sample_weight):
        return super().read(reader, X.columns(), y, sample_weight)

    @classmethod
    def read_beside(cls, source, reader, X, y, sample_weight):
        return source.read_validation(reader, X.columns(), y, sample_weight)

    @classmethod
    def read_rows(cls, estimator, X, *, reset=False):
        return super().read_rows(estimator, X.columns(), reset=reset)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "KINDS", [ArchiveSource, *sources.KINDS])
    X, y = make_friedman1(60, random_state=0)
    for k, column in enumerate(X.T):
        np.save(tmp_path / f"{k:02}.npy", column)
    return Archive(tmp_path), X, y


@pytest.mark.parametrize("cls", [GBMAPRegressor, GBMAPClassifier])
def test_it_is_fitted_and_predicted_as_the_same_rows_in_memory(archive, cls):
    rows, X, y = archive
    target, weight = y if cls is GBMAPRegressor else y > 14, np.arange(60) % 3
    expected = cls(2, random_state=0).fit(X, target, weight, X_val=X, y_val=target)
    for to_fit, to_validate in ((rows, rows), (rows, X), (X, rows)):
        model = cls(2, random_state=0).fit(to_fit, target, weight, X_val=to_validate, y_val=target)
        np.testing.assert_array_equal(model.validation_loss_curve_, expected.validation_loss_curve_)
        np.testing.assert_array_equal(model.predict(rows), expected.predict(X))
        np.testing.assert_array_equal(model.transform(rows), expected.transform(X))


def test_rows_of_it_are_set_aside_for_early_stopping(archive):
    rows, X, y = archive
    model = GBMAPRegressor(3, early_stopping=True, refine=True, random_state=0)
    np.testing.assert_array_equal(model.fit(rows, y).predict(X), model.fit(X, y).predict(X))
