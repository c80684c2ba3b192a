"""Means and deviations of columns, also of those that are hard on floating point."""

import numpy as np
import pytest
import scipy.sparse

from gbmap._rows.blocks import DenseBlocks, Moments, SparseBlocks
from gbmap._rows.standard import MemoryTable, in_standard_units
from gbmap._rows.threads import ThreadTeam

N = 1000
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
KINDS = pytest.mark.parametrize("kind", ["dense", "csr_array", "csr_matrix"])


def hard_columns(dtype):
    """Return columns by name."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(N)
    columns = {
        "plain": noise,
        "constant": np.full(N, 0.1),
        "zero": np.zeros(N),
        "mean of 1e4 deviations": noise + 1e4,
        "mean of 1e6 deviations": noise + 1e6,
        "tiny": 1e-30 * noise,
        "huge": 1e30 * noise,
        "one outlier": np.where(np.arange(N) == 7, 1e6, 0.1),
        "two values": np.where(noise > 0, 3.0, -1.0),
        "sorted": np.sort(noise) * 100,
        "mostly zero": np.where(noise > 2, noise, 0.0),
    }
    return {name: column.astype(dtype) for name, column in columns.items()}


def as_kind(X, kind):
    return X if kind == "dense" else getattr(scipy.sparse, kind)(X)


def moments_of(X, weight=None):
    with ThreadTeam(1) as team:
        return (SparseBlocks(X) if scipy.sparse.issparse(X) else DenseBlocks(X)).moments(weight, team)


def slow_moments(X, weight=None):
    """Return mean and deviation by definition, in the longest type there is."""
    X = X.astype(np.longdouble)
    mean = np.average(X, axis=0, weights=weight)
    return mean.astype(float), np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight)).astype(float)


@DTYPES
@KINDS
@pytest.mark.parametrize("weighting", ["none", "random", "integer"])
def test_moments_are_right_for_hard_columns(dtype, kind, weighting):
    columns = hard_columns(dtype)
    X = np.column_stack(list(columns.values()))
    rng = np.random.default_rng(1)
    weight = {"none": None, "random": rng.uniform(0, 2, N), "integer": rng.integers(0, 3, N).astype(float)}[
        weighting
    ]
    weight = None if weight is None else weight.astype(dtype)
    found = moments_of(as_kind(X, kind), weight)
    mean, deviation = slow_moments(X, None if weight is None else weight.astype(float))
    rtol = 1e-9 if dtype == np.float64 else 2e-4
    for k, name in enumerate(columns):
        spread = deviation[k] if X[:, k].min() < X[:, k].max() else 0.0
        assert found.deviation[k] == pytest.approx(spread, rel=rtol, abs=0), name
        assert found.mean[k] == pytest.approx(
            mean[k], rel=100 * float(np.finfo(dtype).eps), abs=1e-5 * spread
        ), name


@DTYPES
def test_the_smallest_numbers_have_a_deviation(dtype):
    scale = 10 * float(np.finfo(dtype).tiny) if dtype == np.float32 else 1e-150
    X = (scale * np.random.default_rng(0).standard_normal((N, 1))).astype(dtype)
    assert moments_of(X).deviation[0] == pytest.approx(slow_moments(X)[1][0], rel=1e-6)


def test_float32_denormals_have_a_deviation():
    X = (1e-40 * np.random.default_rng(0).standard_normal((N, 1))).astype(np.float32)
    assert moments_of(X).deviation[0] == pytest.approx(slow_moments(X)[1][0], rel=1e-4)


@DTYPES
@KINDS
def test_a_column_that_varies_only_where_weights_are_zero_is_constant(dtype, kind):
    rng = np.random.default_rng(0)
    weight = np.where(np.arange(N) < 400, rng.uniform(0.5, 1.5, N), 0.0).astype(dtype)
    X = np.where(weight[:, None] > 0, 0.3, rng.standard_normal((N, 2)) + 5).astype(dtype)
    X[:, 1] = np.where(weight > 0, 0.0, 1.0)
    found = moments_of(as_kind(X, kind), weight)
    np.testing.assert_array_equal(found.deviation, 0)
    np.testing.assert_allclose(found.mean, X[0], rtol=1e-6, atol=1e-6)


@DTYPES
@KINDS
def test_weights_equal_repetition_and_their_unit_does_not_matter(dtype, kind):
    X = np.column_stack(list(hard_columns(dtype).values()))[:, [0, 3, 8, 10]]
    times = np.random.default_rng(1).integers(0, 4, N)
    repeated = moments_of(as_kind(np.repeat(X, times, axis=0), kind))
    for unit in (1, 1e-6, 1e6):
        weighted = moments_of(as_kind(X, kind), (unit * times).astype(dtype))
        rtol = 1e-10 if dtype == np.float64 else 1e-4
        np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=rtol)
        np.testing.assert_allclose(weighted.deviation, repeated.deviation, rtol=rtol)


@DTYPES
@KINDS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_nan_and_infinity_are_errors_that_name_x(dtype, kind, bad, weighted):
    X = np.random.default_rng(0).standard_normal((N, 3)).astype(dtype)
    X[N // 2 + 1, 1] = bad
    with pytest.raises(ValueError, match="X contains"):
        moments_of(as_kind(X, kind), np.ones(N, dtype) if weighted else None)


@KINDS
@pytest.mark.parametrize("size", [1e300, -1e300, 1e160])
@pytest.mark.parametrize("everywhere", [False, True])
def test_numbers_whose_squares_overflow_are_an_error_that_says_so(kind, size, everywhere):
    X = np.random.default_rng(0).standard_normal((N, 3))
    X[slice(None) if everywhere else 5, 1] = size
    with pytest.raises(ValueError, match=r"X must hold numbers of at most 1e\+150 in size"):
        moments_of(as_kind(X, kind))


@KINDS
def test_1e150_still_works(kind):
    X = 1e149 * np.random.default_rng(0).standard_normal((N, 2))
    found = moments_of(as_kind(X, kind))
    np.testing.assert_allclose(found.deviation, X.std(axis=0), rtol=1e-10)


@DTYPES
def test_one_row_is_constant(dtype):
    found = moments_of(np.array([[1.5, -2.0]], dtype))
    np.testing.assert_array_equal(found.mean, [1.5, -2.0])
    np.testing.assert_array_equal(found.deviation, 0)


@DTYPES
def test_only_columns_that_would_lose_their_digits_are_centred(dtype):
    edge = 1e-4 / float(np.finfo(dtype).eps)  # mean over deviation
    moments = Moments(
        np.array([0.0, 0.9 * edge, 2 * edge, -2 * edge, 1e30]), np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    )
    center = moments.center(np.dtype(dtype))
    np.testing.assert_array_equal(center != 0, [False, False, True, True, False])
    np.testing.assert_allclose(center[2:4], moments.mean[2:4], rtol=1e-6)
    np.testing.assert_array_equal(center.astype(dtype).astype(float), center)


def test_sparse_rows_are_never_centred():
    X = scipy.sparse.csr_array(np.random.default_rng(0).standard_normal((N, 2)) + np.array([0, 1e13]))
    with ThreadTeam(1) as team:
        rows = in_standard_units(MemoryTable(X, np.zeros((N, 1))), team, standardize=True, residual=True).rows
    assert (rows.units.center == 0).all()


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e100])
def test_targets_without_weight_do_not_count_in_their_spread(unit):
    rng = np.random.default_rng(0)
    X, y, weight = (
        rng.normal(size=(N, 1)),
        unit * rng.normal(5.0, 2.0, N),
        rng.integers(0, 3, N).astype(float),
    )
    weight[0] = 0.0
    y = np.column_stack([y, np.full(N, 7.0)])
    mean, deviation = slow_moments(y / [unit, 1.0], weight)
    y[weight == 0] = 1e30 * unit
    with ThreadTeam(1) as team:
        found = in_standard_units(MemoryTable(X, y, 0.0, weight), team, standardize=True, residual=True)
    np.testing.assert_allclose(found.rows.units.target_mean / [unit, 1.0], mean, rtol=1e-12)
    expected = np.where(deviation > 0, deviation, 1.0)
    np.testing.assert_allclose(found.target_deviation / [unit, 1.0], expected, rtol=1e-12)
