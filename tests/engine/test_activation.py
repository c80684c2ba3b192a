"""Softplus, its slope and its secant against mpmath, and their in-place form against the definition."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbmap._core.activation import ACTIVATIONS, Identity, Softplus, secant, sigmoid, softplus

SIZES = [
    0.0,
    1e-20,
    1e-8,
    1e-3,
    0.3,
    1.0,
    4.0,
    17.0,
    36.5,
    80.0,
    87.0,
    103.0,
    125.0,
    126.0,
    300.0,
    690.0,
    1e4,
]
T = np.array(SIZES + [-size for size in SIZES])
TOLERANCE = {np.float64: 1e-15, np.float32: 1e-6}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def exact(function, t):
    """Return an mpmath function of each entry, rounded to float64 (so to zero below 1e-323)."""
    with mpmath.workdps(50):
        return np.array([float(function(mpmath.mpf(float(each)))) for each in t])


def exact_softplus(t):
    return exact(lambda x: mpmath.log1p(mpmath.exp(x)), t)


def exact_sigmoid(t):
    return exact(lambda x: 1 / (1 + mpmath.exp(-x)), t)


def assert_relatively_close(actual, expected, dtype):
    """Compare by ratio, down to where normal numbers of the type end."""
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE[dtype], atol=np.finfo(dtype).tiny)


def applied(activation, t):
    """Return what `apply` writes into value and slope, from buffers that hold nonsense before."""
    value, slope = np.full_like(t, np.nan), np.full_like(t, np.nan)
    kept = t.copy()
    with np.errstate(all="raise"):
        activation.apply(t, value, slope)
    np.testing.assert_array_equal(t, kept)
    return value, slope


@DTYPES
@pytest.mark.parametrize("beta", [0.25, 1.0, 1024.0])  # powers of two, so that beta z is t exactly
def test_softplus_has_all_digits_in_both_tails(beta, dtype):
    t = T.astype(dtype)
    value = softplus(t / dtype(beta), dtype(beta)) * dtype(beta)
    assert_relatively_close(value, exact_softplus(t), dtype)


@DTYPES
def test_sigmoid_has_all_digits_in_both_tails(dtype):
    t = T.astype(dtype)
    assert_relatively_close(sigmoid(t), exact_sigmoid(t), dtype)


def test_softplus_broadcasts_over_beta():
    z, beta = np.array([[-1.0], [2.0]]), np.array([0.5, 1.0, 8.0])
    expected = [[softplus(np.array([each]), b)[0] for b in beta] for each in z[:, 0]]
    np.testing.assert_array_equal(softplus(z, beta), expected)


GAPS = [0.0, 5e-324, 1e-310, 1e-200, 1e-16, 1e-8, 1e-3, 0.5, 0.999, 1.0, 1.001, 3.0, 40.0, 800.0, 1e9]


@pytest.mark.parametrize("gap", [*GAPS, *(-each for each in GAPS)])
def test_secant_has_all_digits_for_near_and_far_points_in_both_tails(gap):
    other = T + gap
    with np.errstate(all="raise", under="ignore"):
        value = secant(T, other, 1.0)
    with mpmath.workdps(700):  # enough for gaps of 1e-310 between points of size 1e4
        t, u = ([mpmath.mpf(float(each)) for each in points] for points in (T, other))
        g = [[mpmath.log1p(mpmath.exp(each)) for each in points] for points in (t, u)]
        pairs = zip(t, u, *g)
        exact_secant = [
            float((a - b) / (x - y)) if x != y else float(1 / (1 + mpmath.exp(-x))) for x, y, a, b in pairs
        ]
    np.testing.assert_allclose(value, exact_secant, rtol=1e-14, atol=1e-300)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(1e-2, 1e2))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_secant_lies_between_the_slopes_and_does_not_depend_on_the_order(z, other, beta):
    z, other = np.array([z]), np.array([other])
    value = secant(z, other, beta)
    np.testing.assert_array_equal(value, secant(other, z, beta))
    slopes = np.sort([sigmoid(beta * z), sigmoid(beta * other)], axis=0)
    assert (slopes[0] * (1 - 1e-14) <= value).all()
    assert (value <= slopes[1] * (1 + 1e-14)).all()


def test_secant_broadcasts_over_points_and_beta():
    z, other, beta = np.array([[[-1.0]], [[2.0]]]), np.array([[0.5], [2.0], [7.0]]), np.array([0.5, 8.0])
    value = secant(z, other, beta)
    assert value.shape == (2, 3, 2)
    for i, j, k in np.ndindex(value.shape):
        assert value[i, j, k] == secant(z[i, 0], other[j], beta[k])[0]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e9))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_softplus_tends_to_relu_as_beta_grows(z, beta):
    gap = softplus(np.array([z]), beta)[0] - max(z, 0.0)
    assert -1e-15 * abs(z) <= gap <= np.log(2) / beta + 1e-15 * abs(z)


@given(st.floats(-50, 50), st.floats(0.1, 20))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_slope_is_the_derivative_of_the_value(z, beta):
    g, h = Softplus(beta), 1e-3 / beta
    far, near = (g.value(np.array([z + k * h]))[0] - g.value(np.array([z - k * h]))[0] for k in (2, 1))
    # The differences round in units of z, of which 1 / h is the amplification.
    assert g.slope(np.array([z]))[0] == pytest.approx(
        (8 * near - far) / (12 * h), abs=1e-11 + 1e-15 * abs(z) / h
    )


@DTYPES
@pytest.mark.parametrize("beta", [0.01, 1.0, 7.3, 1e3])
def test_apply_equals_value_and_slope_for_any_size_of_beta_z(beta, dtype):
    g = Softplus(beta)
    gain = g.gain(np.dtype(dtype))
    t = T.astype(dtype)
    value, slope = applied(g, t)
    z = t.astype(np.float64) / gain
    eps = np.finfo(dtype).eps
    # log rather than log1p: the value is right to rounding of 1, all that a score can take in.
    np.testing.assert_allclose(value, gain * g.value(z), rtol=4 * eps, atol=2 * eps)
    # exp turns the rounding of t into a relative error of the slope, and is cut at its smallest.
    smallest = 2.0**-125 if dtype == np.float32 else np.exp(-700)
    np.testing.assert_allclose(slope, g.slope(z), rtol=200 * eps, atol=1.01 * smallest)


@DTYPES
@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=20))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_apply_stays_finite_and_within_bounds(dtype, numbers):
    t = np.array(numbers, dtype)
    value, slope = applied(Softplus(1.0), t)
    assert np.isfinite(value).all()
    assert (value >= np.maximum(t, 0) * (1 - np.finfo(dtype).eps)).all()
    assert ((slope >= 0) & (slope <= 1)).all()


@DTYPES
@pytest.mark.parametrize("t", [-1e4, -130.0, 130.0, 1e4])
def test_apply_handles_a_block_that_lies_beyond_the_cap_as_a_whole(t, dtype):
    value, slope = applied(Softplus(1.0), np.full(3, t, dtype))
    np.testing.assert_array_equal(value, np.full(3, max(t, 0.0), dtype))
    np.testing.assert_allclose(slope, np.full(3, float(t > 0)), atol=1e-37)


@DTYPES
def test_identity_is_the_identity(dtype):
    g, z = Identity(5.0), T.astype(dtype)
    value, slope = applied(g, z)
    assert g.gain(np.dtype(dtype)) == 1.0
    for each in (value, g.value(z)):
        np.testing.assert_array_equal(each, z)
    for each in (slope, g.slope(z)):
        np.testing.assert_array_equal(each, np.ones_like(z))


def test_only_softplus_needs_both_signs():
    assert {name: each.both_signs for name, each in ACTIVATIONS.items()} == {
        "softplus": True,
        "identity": False,
    }
