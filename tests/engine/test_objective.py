"""The defining objective: its gradient against 4th-order differences of its value."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gbmap._core.activation import Identity, Softplus
from gbmap._core.losses import Exponential, Hinge, Huber, LogLoss, Quantile, SquaredError
from gbmap._core.objective import Objective

# Each loss with the distance of a row from the nearest kink of its derivative.
SMOOTH = {
    SquaredError(): lambda y, f: np.inf + 0 * f,
    Huber(0.7): lambda y, f: np.abs(np.abs(y - f) - 0.7),
    Quantile(0.7, 0.4): lambda y, f: np.abs(np.abs(y - f) - 0.4),
    LogLoss(): lambda y, f: np.inf + 0 * f,
    Exponential(): lambda y, f: np.inf + 0 * f,
    Hinge(0.5): lambda y, f: np.minimum(np.abs(1 - y * f), np.abs(0.5 - y * f)),
}
LOSSES = pytest.mark.parametrize("loss", list(SMOOTH), ids=lambda loss: type(loss).__name__)


def draw(seed, n, p):
    rng = np.random.default_rng(seed)
    X, F = rng.uniform(-2, 2, (n, p)), rng.standard_normal(n)
    return rng.standard_normal(p + 2), X, rng.choice([-1.0, 1.0], n), F, rng.uniform(0.1, 2, n)


def value_and_gradient(objective, theta, sign, X, y, F, weight):
    sums = objective.block_sums(theta, sign, X, y, F, weight)
    values, gradients = objective.finish(sums[None], weight.sum(), theta[None])
    return values[0], gradients[0]


@LOSSES
@pytest.mark.parametrize("activation", [Softplus(4.0), Identity(1.0)], ids=["softplus", "identity"])
@pytest.mark.parametrize("sign", [1, -1])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), p=st.integers(1, 4), ridge=st.floats(0, 2))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_gradient_is_the_derivative_of_the_value(loss, activation, sign, seed, n, p, ridge):
    h = 3e-4
    theta, X, y, F, weight = draw(seed, n, p)
    f = F + theta[0] + sign * activation.value(X @ theta[1:-1] + theta[-1])
    weight = np.where(SMOOTH[loss](y, f) > 0.01, weight, 0.0)  # rows that stay clear of kinks
    assume(weight.any())
    objective = Objective(loss, activation, ridge)

    def along(k, step):
        return value_and_gradient(objective, theta + step * np.eye(p + 2)[k], sign, X, y, F, weight)[0]

    value, gradient = value_and_gradient(objective, theta, sign, X, y, F, weight)
    differences = [
        (8 * (along(k, h) - along(k, -h)) - along(k, 2 * h) + along(k, -2 * h)) / (12 * h)
        for k in range(p + 2)
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-8 * (1 + abs(value)))


@LOSSES
def test_sums_over_blocks_add_up_and_weights_default_to_one(loss):
    theta, X, y, F, _ = draw(0, 20, 3)
    objective = Objective(loss, Softplus(3.0), 0.1)
    parts = [objective.block_sums(theta, -1, X[i], y[i], F[i]) for i in (slice(0, 7), slice(7, 20))]
    whole = objective.block_sums(theta, -1, X, y, F, np.ones(20))
    np.testing.assert_allclose(sum(parts), whole, rtol=1e-13)


def test_weights_equal_repetition():
    theta, X, y, F, _ = draw(1, 15, 2)
    times = np.arange(15) % 4
    objective = Objective(LogLoss(), Softplus(3.0), 0.1)
    X_, y_, F_ = (np.repeat(each, times, axis=0) for each in (X, y, F))
    weighted = objective.block_sums(theta, 1, X, y, F, times.astype(float))
    np.testing.assert_allclose(weighted, objective.block_sums(theta, 1, X_, y_, F_), rtol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_ridge_counts_w_and_c_but_not_a(ridge):
    objective, thetas = Objective(SquaredError(), Softplus(1.0), ridge), np.array([[7.0, 1.0, -2.0, 3.0]])
    values, gradients = objective.finish(np.zeros((1, 5)), 10.0, thetas)
    np.testing.assert_allclose(values, [ridge * 14])
    np.testing.assert_allclose(gradients, [[0.0, 2 * ridge, -4 * ridge, 6 * ridge]])


def test_finish_takes_means_and_treats_candidates_apart():
    objective = Objective(SquaredError(), Softplus(1.0), 0.5)
    sums, thetas = np.arange(10.0).reshape(2, 5), np.arange(8.0).reshape(2, 4)
    both = objective.finish(sums.copy(), 4.0, thetas)
    for c in range(2):
        value, gradient = objective.finish(sums[[c]], 4.0, thetas[[c]])
        assert value[0] == both[0][c] == pytest.approx(sums[c, 0] / 4 + 0.5 * np.sum(thetas[c, 1:] ** 2))
        np.testing.assert_array_equal(gradient[0], both[1][c])
