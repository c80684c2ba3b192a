"""Repeated rows become one; neither their order nor how their weight is shared matters."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gbmap._rows.collapse import collapse

KINDS = pytest.mark.parametrize("kind", ["dense", "csr_array", "csr_matrix"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SEEDS = st.integers(0, 2**32 - 1)


def draw(seed=0, n=40, dtype=np.float64):
    """Return few distinct rows, many times over, with their targets, scores and weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, 2)).astype(dtype) / 3
    return X, rng.choice([-1.0, 1.0], (n, 1)), np.zeros((n, 1)), rng.uniform(0.1, 1, n)


def as_kind(X, kind):
    return X if kind == "dense" else getattr(scipy.sparse, kind)(X)


def dense(X):
    return X.toarray() if scipy.sparse.issparse(X) else X


def total_weights(X, targets, score, weight):
    """Return the total weight of each distinct row, by definition."""
    totals = {}
    for row, w in zip(np.hstack([dense(X), targets, score]) + 0.0, weight):
        totals[tuple(row)] = totals.get(tuple(row), 0.0) + w
    return {row: w for row, w in totals.items() if w > 0}


@KINDS
@DTYPES
@given(SEEDS)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_each_distinct_row_remains_with_its_total_weight(kind, dtype, seed):
    X, targets, score, weight = draw(seed, dtype=dtype)
    weight[np.random.default_rng(seed).random(40) < 0.3] = 0
    found = collapse(as_kind(X, kind), targets, score, weight)
    expected = total_weights(X, targets, score, weight)
    rows = [tuple(row) for row in np.hstack([dense(found[0]), *found[1:3]]) + 0.0]
    assert found[0].dtype == dtype
    assert len(set(rows)) == len(rows) == len(expected)
    np.testing.assert_allclose(found[3], [expected[row] for row in rows], rtol=1e-14)


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
@given(SEEDS)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_the_order_of_rows_does_not_matter_to_the_last_bit(kind, weighted, seed):
    X, targets, score, weight = draw(seed)
    order = np.random.default_rng(seed + 1).permutation(40)
    found = [
        collapse(as_kind(X[i], kind), targets[i], score[i], weight[i] if weighted else None)
        for i in (np.arange(40), order)
    ]
    for first, second in zip(*found):
        np.testing.assert_array_equal(dense(first), dense(second))


def test_sparse_rows_collapse_to_the_same_set_as_dense_ones():
    X, targets, score, weight = draw()
    sets = []
    for kind in ("dense", "csr_array", "csr_matrix"):
        X_, targets_, score_, weight_ = collapse(as_kind(X, kind), targets, score, weight)
        assert scipy.sparse.issparse(X_) == (kind != "dense")
        rows = np.column_stack([dense(X_), targets_, score_, weight_])
        sets.append(sorted(map(tuple, rows)))
    np.testing.assert_allclose(sets[1], sets[0], rtol=1e-14)
    np.testing.assert_allclose(sets[2], sets[0], rtol=1e-14)


@KINDS
def test_zero_weights_are_dropped_and_equal_totals_need_no_weight(kind):
    X, weight = np.array([[1.0], [2.0], [3.0], [2.0]]), np.array([2.0, 1.0, 0.0, 1.0])
    found = collapse(as_kind(X, kind), X.copy(), 0 * X, weight)
    assert sorted(dense(found[0])[:, 0]) == [1.0, 2.0]
    assert found[3] is None


@KINDS
@pytest.mark.parametrize("column", ["X", "targets", "score"])
def test_minus_zero_equals_zero(kind, column):
    parts = {"X": np.ones((2, 2)), "targets": np.ones((2, 1)), "score": np.ones((2, 1))}
    parts[column][:, 0] = [0.0, -0.0]
    parts["X"] = as_kind(parts["X"], kind)
    assert len(collapse(**parts, weight=None)[1]) == 1


@KINDS
@pytest.mark.parametrize("column", ["X", "targets", "score"])
def test_rows_that_differ_in_one_number_by_one_bit_stay_apart(kind, column):
    parts = {"X": np.ones((2, 2)), "targets": np.ones((2, 1)), "score": np.ones((2, 1))}
    parts[column][1, 0] = np.nextafter(1.0, 2.0)
    parts["X"] = as_kind(parts["X"], kind)
    found = collapse(**parts, weight=None)
    assert len(found[1]) == 2
    assert found[3] is None


def test_sparse_rows_are_equal_however_they_are_stored():
    data, indices = np.array([1.0, 2.0, 2.0, 1.0, 0.0, 1.0, 1.0, 1.0]), np.array([0, 2, 2, 0, 1, 0, 2, 2])
    X = scipy.sparse.csr_array((data, indices, [0, 2, 5, 8]), shape=(3, 3))
    before = [each.copy() for each in (X.data, X.indices, X.indptr)]
    found = collapse(X, np.ones((3, 1)), np.ones((3, 1)), None)
    np.testing.assert_array_equal(found[0].toarray(), [[1.0, 0.0, 2.0]])
    assert all(np.array_equal(a, b) for a, b in zip(before, (X.data, X.indices, X.indptr)))


@KINDS
def test_sparse_rows_with_the_same_numbers_in_other_columns_stay_apart(kind):
    X = as_kind(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), kind)
    assert len(collapse(X, np.ones((3, 1)), np.ones((3, 1)), None)[1]) == 3


@KINDS
def test_one_row_and_all_equal_rows(kind):
    for n in (1, 5):
        found = collapse(as_kind(np.ones((n, 2)), kind), np.ones((n, 1)), np.ones((n, 1)), None)
        assert found[0].shape == (1, 2)
        assert found[3] is None


def test_the_input_is_not_changed():
    X, targets, score, weight = draw()
    X[0, 0] = -0.0
    before = [each.tobytes() for each in (X, targets, score, weight)]
    collapse(X, targets, score, weight)
    assert [each.tobytes() for each in (X, targets, score, weight)] == before
