"""Pointwise losses: derivatives, exact values, convexity, scaling, and the sum and gradient in place."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from gbmap._core.losses import Exponential, Hinge, Huber, LogLoss, Loss, Quantile, RowLosses, SquaredError


class LogCosh(Loss):
    """A loss of a user's own, with no more than must be written."""

    def value(self, y, f):
        return np.logaddexp(y - f, f - y) - np.log(2)

    def gradient(self, y, f):
        return np.tanh(f - y)


# Each loss with the kinks of its derivative, in terms of y - f or, for labels, of the margin y f.
RESIDUAL = [
    (SquaredError(), []),
    (Huber(1.0), [-1.0, 1.0]),
    (Huber(0.2), [-0.2, 0.2]),
    (Quantile(0.5, 0.01), [-0.01, 0.01]),
    (Quantile(0.9, 0.5), [-0.5, 0.5]),
    (LogCosh(), []),
]
MARGIN = [(LogLoss(), []), (Exponential(), [-50.0]), (Hinge(0.5), [0.5, 1.0]), (Hinge(0.1), [0.9, 1.0])]
LABELLED = [(loss, kinks, False) for loss, kinks in RESIDUAL] + [
    (loss, kinks, True) for loss, kinks in MARGIN
]
LOSSES = [(loss, labels) for loss, _, labels in LABELLED]
NAMES = [f"{type(loss).__name__}{getattr(loss, '__dict__', '') or ''}" for loss, _ in LOSSES]
ALL = pytest.mark.parametrize(("loss", "labels"), LOSSES, ids=NAMES)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
MARGINS = np.array(
    [-1e4, -710.0, -300.0, -80.0, -30.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 30.0, 80.0, 300.0, 690.0, 1e4]
)


def targets(n, labels, dtype=np.float64):
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], n) if labels else rng.standard_normal(n)
    return y.astype(dtype)


def exact(function, numbers):
    with mpmath.workdps(50):
        return np.array([float(function(mpmath.mpf(float(each)))) for each in numbers])


@pytest.mark.parametrize(("loss", "kinks", "labels"), LABELLED, ids=NAMES)
def test_gradient_is_the_derivative_of_the_value(loss, kinks, labels):
    h = 1e-3
    position = np.concatenate([np.linspace(-60, 4, 400), np.linspace(-1.2, 1.2, 400)])
    position = position[[np.abs(np.array(kinks) - each).min(initial=1.0) > 3 * h for each in position]]
    y = targets(len(position), labels)
    f = y * position if labels else y - position
    far, near = (loss.value(y, f + k * h) - loss.value(y, f - k * h) for k in (2, 1))
    scale = 1 + np.abs(loss.value(y, f))
    np.testing.assert_allclose((8 * near - far) / (12 * h) / scale, loss.gradient(y, f) / scale, atol=1e-10)


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_log_loss_has_all_digits_at_any_margin(y):
    loss, f = LogLoss(), y * MARGINS
    tiny = np.finfo(float).tiny
    value = exact(lambda m: mpmath.log1p(mpmath.exp(-m)), MARGINS)
    gradient = exact(lambda m: -y / (1 + mpmath.exp(m)), MARGINS)
    np.testing.assert_allclose(loss.value(np.full_like(f, y), f), value, rtol=1e-15, atol=tiny)
    np.testing.assert_allclose(loss.gradient(np.full_like(f, y), f), gradient, rtol=1e-15, atol=tiny)


def test_log_loss_curvature_is_the_second_derivative_on_both_sides():
    f = MARGINS[np.abs(MARGINS) < 500]
    expected = exact(lambda m: 1 / (2 + mpmath.exp(m) + mpmath.exp(-m)), f)
    np.testing.assert_allclose(LogLoss().curvature(np.ones_like(f), f), expected, rtol=1e-14)


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_exponential_has_all_digits_and_a_tangent_line_beyond_50(y):
    loss, f = Exponential(), y * MARGINS
    value = exact(lambda m: mpmath.exp(-m) if m > -50 else mpmath.exp(50) * (1 - m - 50), MARGINS)
    gradient = exact(lambda m: -y * mpmath.exp(min(-m, 50)), MARGINS)
    tiny = np.finfo(float).tiny
    np.testing.assert_allclose(loss.value(np.full_like(f, y), f), value, rtol=1e-15, atol=tiny)
    np.testing.assert_allclose(loss.gradient(np.full_like(f, y), f), gradient, rtol=1e-15, atol=tiny)


@ALL
@given(st.floats(-100, 100), st.floats(-100, 100), st.floats(0, 1), st.sampled_from([-1.0, 1.0]))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_losses_are_convex_and_lie_above_their_tangents(loss, labels, f1, f2, share, y):
    y = np.full(3, y if labels else 3 * y)
    f = np.array([f1, f2, share * f1 + (1 - share) * f2])
    value, gradient = loss.value(y, f), loss.gradient(y, f)
    rounding = 1e-12 * (1 + np.abs(value).max())
    assert value[2] <= share * value[0] + (1 - share) * value[1] + rounding
    assert (
        value[1]
        >= value[0] + gradient[0] * (f2 - f1) - 1e-12 * (1 + np.abs(gradient[0] * (f2 - f1))) - rounding
    )
    assert (f2 - f1) * (gradient[1] - gradient[0]) >= -rounding
    assert (value >= 0).all()


@ALL
@DTYPES
def test_curvature_is_positive_and_of_the_scores_type(loss, labels, dtype):
    f = np.concatenate([np.linspace(-80, 80, 200), [-1.0, 0.0, 1.0]]).astype(dtype)
    curvature = loss.curvature(targets(len(f), labels, dtype), f)
    assert curvature.dtype == dtype
    assert (curvature > 0).all()
    assert np.isfinite(curvature).all()


@ALL
@DTYPES
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1.0, 30.0, 1e4])
def test_reduce_sums_values_and_leaves_the_weighted_gradient(loss, labels, dtype, weighted, size):
    rng = np.random.default_rng(1)
    n = 500
    y, f = targets(n, labels, dtype), (size * rng.standard_normal(n)).astype(dtype)
    weight = rng.uniform(0, 3, n).astype(dtype) if weighted else None
    y64, f64, w64 = y.astype(float), f.astype(float), np.ones(n) if weight is None else weight.astype(float)
    inputs = y.copy(), None if weight is None else weight.copy()
    total = loss.sum_and_gradient_inplace(y, f, weight, np.full(n, np.nan, dtype))
    rtol = 1e-12 if dtype == np.float64 else 2e-6 * max(1, min(size, 60))  # rounding of f grows in exp(f)
    expected = w64 * loss.gradient(y64, f64)
    assert isinstance(total, float)
    assert total == pytest.approx(w64 @ loss.value(y64, f64), rel=rtol)
    np.testing.assert_allclose(f, expected, rtol=rtol, atol=rtol * max(1, np.abs(f64 - y64).min()))
    np.testing.assert_array_equal(y, inputs[0])
    assert weight is None or (weight == inputs[1]).all()


@DTYPES
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_reduce_of_log_loss_has_all_digits_at_each_margin_alone(y, dtype):
    for margin in MARGINS.astype(dtype):
        label, f = np.array([y], dtype), np.array([y * margin], dtype)
        value, gradient = LogLoss().value(label, f)[0], LogLoss().gradient(label, f)[0]
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            total = LogLoss().sum_and_gradient_inplace(label, f, None, np.empty_like(f))
        # Beyond the cap, where exp leaves the normal numbers, the tail may be cut.
        tail = np.exp(-85.0) if dtype == np.float32 else np.exp(-700.0)
        rtol = 8 * float(np.finfo(dtype).eps)
        assert total == pytest.approx(value, rel=rtol, abs=1.01 * tail)
        assert f[0] == pytest.approx(gradient, rel=rtol, abs=1.01 * tail)


@ALL
def test_a_zero_weight_takes_a_row_out(loss, labels):
    y, f = targets(6, labels), np.linspace(-2, 2, 6)
    weight = np.array([1.0, 0.0, 2.0, 0.0, 0.0, 1.0])
    kept = weight > 0
    few, many = f[kept].copy(), f.copy()
    totals = (
        loss.sum_and_gradient_inplace(y[kept], few, weight[kept], few.copy()),
        loss.sum_and_gradient_inplace(y, many, weight, f.copy()),
    )
    assert totals[0] == pytest.approx(totals[1], rel=1e-14)
    np.testing.assert_array_equal(many[~kept], 0)
    np.testing.assert_array_equal(many[kept], few)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("width", [1e-3, 0.1])
def test_minimiser_of_the_smoothed_pinball_loss_is_the_quantile_within_the_width(q, width):
    y = np.random.default_rng(0).standard_normal(1001)
    loss = Quantile(q, width)
    f = brentq(lambda f: loss.gradient(y, np.full_like(y, f)).mean(), -5, 5)
    assert abs(f - np.quantile(y, q, method="inverted_cdf")) <= width + 1e-9


def test_quantile_is_the_pinball_loss_outside_the_width():
    r = np.array([-3.0, -0.02, 0.02, 3.0])
    expected = np.maximum(0.8 * r, -0.2 * r)
    np.testing.assert_allclose(Quantile(0.8, 0.01).value(r, np.zeros(4)), expected, rtol=1e-14)


def test_huber_with_a_large_delta_is_squared_error():
    y, f = targets(50, False), np.linspace(-3, 3, 50)
    for member in ("value", "gradient", "curvature"):
        ours, theirs = (getattr(loss, member)(y, f) for loss in (Huber(1e3), SquaredError()))
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_hinge_with_a_small_width_is_the_hinge():
    f = np.array([-3.0, 0.0, 0.9, 1.1, 5.0])
    np.testing.assert_allclose(Hinge(1e-9).value(np.ones(5), f), np.maximum(1 - f, 0), atol=1e-9)


@given(st.floats(1e-3, 1e3), st.floats(-10, 10), st.floats(-10, 10))
@settings(max_examples=25, deadline=None, derandomize=True)
@pytest.mark.parametrize(
    "at_scale", [lambda s: SquaredError(), lambda s: Huber(0.7 * s), lambda s: Quantile(0.8, 0.1 * s)]
)
def test_residual_losses_scale_with_their_degree(at_scale, s, y, f):
    y, f = np.array([y]), np.array([f])
    scaled, plain = at_scale(s), at_scale(1.0)
    expected = s**plain.degree * plain.value(y, f)
    np.testing.assert_allclose(scaled.value(s * y, s * f), expected, rtol=1e-10, atol=1e-12 * s**plain.degree)


@pytest.mark.parametrize("loss", [loss for loss, _ in MARGIN])
def test_label_losses_depend_on_the_margin_alone_and_keep_their_unit(loss):
    f = np.linspace(-3, 3, 13)
    np.testing.assert_array_equal(loss.value(np.ones(13), f), loss.value(-np.ones(13), -f))
    np.testing.assert_array_equal(loss.gradient(np.ones(13), f), -loss.gradient(-np.ones(13), -f))
    assert loss.degree == 0


@pytest.mark.parametrize("loss", [LogLoss(), Exponential()])
def test_score_of_least_loss_is_the_log_odds_over_their_factor(loss):
    share = 0.8  # of label +1
    f = brentq(lambda f: share * loss.gradient(1.0, f) + (1 - share) * loss.gradient(-1.0, f), -5, 5)
    assert loss.log_odds_per_score * f == pytest.approx(np.log(share / (1 - share)))


def test_a_trimmed_mean_leaves_the_largest_losses_out():
    values, ones = np.arange(1000.0)[::-1], np.ones(1000)
    assert RowLosses(values, ones, ones).trimmed_mean(SquaredError()) == np.arange(995).mean()
    assert RowLosses(values[:100], ones[:100], ones[:100]).trimmed_mean(SquaredError()) == 949.5
    heavy = np.where(values == 3, 2.0, 1.0)
    assert RowLosses(values, heavy, ones).trimmed_mean(SquaredError()) == (np.arange(995).sum() + 3) / 996
    without = RowLosses(np.r_[values, values], np.r_[ones, 0 * ones], np.r_[ones, ones])
    assert without.trimmed_mean(SquaredError()) == np.arange(995).mean()


def test_a_trimmed_mean_keeps_a_rare_class():
    values, weight = np.arange(2000.0), np.ones(2000)
    rare = np.where(np.arange(2000) >= 1990, 1.0, -1.0)
    assert RowLosses(values, weight, rare).trimmed_mean(LogLoss()) == values.mean()
    even = np.where(np.arange(2000) >= 1000, 1.0, -1.0)
    assert (
        RowLosses(values, weight, even).trimmed_mean(LogLoss())
        == np.r_[values[:995], values[1000:1995]].mean()
    )
