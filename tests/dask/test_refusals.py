"""What cannot be fitted is refused in one sentence that names the partition, the column or the argument."""

from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from dask import delayed
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._rows.dask.reading import cut
from gbmap.losses import Loss

N = 40_000


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(N, 3))


def collection(X):
    return da.from_array(X, chunks=10_000)


def test_infinity_is_named_with_its_partition_row_and_column(rows):
    rows[23_456, 1] = np.inf
    with pytest.raises(ValueError, match=r"partition 2 of X.*row 3456 .* inf in column 1"):
        GBMAPRegressor().fit(collection(rows), rows[:, 0])
    table = dd.from_pandas(pd.DataFrame(rows, columns=list("abc")), npartitions=4)
    with pytest.raises(ValueError, match=r"partition 2 of X.*inf in column 'b'"):
        GBMAPRegressor().fit(table, rows[:, 0])


@pytest.mark.parametrize("distributed", [False, True])
def test_nan_in_y_is_named(rows, distributed):
    y = rows[:, 0].copy()
    y[31_000] = np.inf
    with pytest.raises(ValueError, match=r"y.*Input y contains infinity"):
        GBMAPRegressor().fit(collection(rows), collection(y) if distributed else y)


def test_an_initial_model_that_would_meet_codes_is_refused(rows):
    frame = pd.DataFrame(rows, columns=list("abc")).assign(t=["u", "v"] * (N // 2))
    with pytest.raises(ValueError, match="init must be None for a Dask frame with categories"):
        GBMAPRegressor(init=len).fit(dd.from_pandas(frame, npartitions=2), rows[:, 0])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"early_stopping": True}, "early_stopping=True needs X_val and y_val"),
        ({"init": LinearRegression()}, "init must be None, a callable or a fitted model"),
    ],
)
def test_what_needs_all_rows_together_is_refused(rows, settings, match):
    with pytest.raises(ValueError, match=match):
        GBMAPRegressor(**settings).fit(collection(rows), rows[:, 0])


def test_rows_of_y_and_weights_must_match_those_of_x(rows):
    for y in (rows[1:, 0], collection(rows[1:, 0])):
        with pytest.raises(ValueError, match="y must have as many rows as X, 40000, got 39999"):
            GBMAPRegressor().fit(collection(rows), y)
    with pytest.raises(ValueError, match="sample_weight must have as many rows as X"):
        GBMAPRegressor().fit(collection(rows), rows[:, 0], np.ones(3))


def test_weights_must_be_weights(rows):
    with pytest.raises(ValueError, match="some row a weight"):
        GBMAPRegressor().fit(collection(rows), rows[:, 0], np.zeros(N))
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        GBMAPRegressor().fit(collection(rows), rows[:, 0], -np.ones(N))


def test_targets_must_be_targets(rows):
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class"):
        GBMAPClassifier().fit(collection(rows), np.zeros(N))
    with pytest.raises(ValueError, match="labels of one kind"):
        GBMAPClassifier().fit(collection(rows), np.array([1, "a"] * (N // 2), dtype=object))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        GBMAPClassifier().fit(collection(rows), rows[:, 0])
    with pytest.raises(ValueError, match="at most 1e\\+150"):
        GBMAPRegressor().fit(collection(rows), np.where(rows[:, 0] > 3, 1e200, 1.0))


def test_chunks_must_be_dense_matrices(rows):
    sparse = collection(rows).map_blocks(scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, 0)))
    with pytest.raises(ValueError, match="must be a Dask array of NumPy arrays, got one of csr_array"):
        GBMAPRegressor().fit(sparse, rows[:, 0])
    with pytest.raises(TypeError, match="must be a Dask array or a Dask frame, got a Delayed"):
        GBMAPRegressor().fit(delayed(rows), rows[:, 0])
    with pytest.raises(ValueError, match="must be a matrix"):
        GBMAPRegressor().fit(collection(rows[:, 0]), rows[:, 0])


def test_error_in_a_task_names_the_partition(parts):
    class Picky(Loss):
        def value(self, y, f):
            if (y > 99).any():
                raise ArithmeticError("a row that the loss dislikes")
            return (y - f) ** 2

        def gradient(self, y, f):
            return 2 * (f - y)

    parts(4)
    X = np.random.default_rng(0).normal(size=(200_000, 4)).astype(np.float32)
    y = X[:, 0].astype(float)
    y[130_000] = 100
    message = r"partition 2 of 4 \(rows 100000 to 149999\): ArithmeticError: a row that the loss dislikes"
    with pytest.raises(RuntimeError, match=message):
        GBMAPRegressor(1, loss=Picky()).fit(da.from_array(X, chunks=50_000), y)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.lists(st.integers(1, 4), max_size=6))
def test_cutting_anew_keeps_all_rows_in_order(lengths, steps):
    values = np.arange(sum(lengths))
    chunks = np.split(values, np.cumsum(lengths)[:-1])
    bounds = [0, *(int(b) for b in np.cumsum(steps) if b < len(values)), len(values)]
    parts = cut(chunks, lengths, tuple(bounds)) if len(values) else []
    found = [part.compute(scheduler="sync") if hasattr(part, "compute") else part for part in parts]
    assert [list(part) for part in found] == [list(range(i, j)) for i, j in pairwise(bounds) if j]
