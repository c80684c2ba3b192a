"""The fitted model as data: embedding, score, gradient, and the one place where units are folded."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gbmap._core.activation import Softplus
from gbmap._core.ensemble import Ensemble
from gbmap._core.units import Units

SEEDS = st.integers(0, 2**32 - 1)
ACTIVATIONS = pytest.mark.parametrize("activation", ["softplus", "identity"])


def random_units(rng, p, n_outputs, center=False):
    mean = rng.normal(0, 3, p)
    return Units(
        mean=mean,
        inverse_scale=1 / rng.uniform(0.5, 20, p),
        target_mean=rng.normal(0, 5, n_outputs),
        target_scale=rng.uniform(0.1, 9, n_outputs),
        center=mean + 0.1 if center else np.zeros(p),
    )


def random_ensemble(rng, n_stages=3, p=4, n_outputs=2, activation="softplus", units=None):
    units = random_units(rng, p, n_outputs) if units is None else units
    ensemble = Ensemble.empty(p, n_outputs, activation, units.center)
    for stage in range(n_stages):
        for output in range(n_outputs):
            sign = rng.choice([-1, 1])
            ensemble = ensemble.append(rng.standard_normal(p + 2), sign, 2.0 + stage, output, units)
    return ensemble


@ACTIVATIONS
@given(seed=SEEDS, n_outputs=st.integers(1, 3))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_gradient_is_the_derivative_of_the_score(activation, seed, n_outputs):
    rng, h = np.random.default_rng(seed), 1e-3
    ensemble = random_ensemble(rng, n_outputs=n_outputs, activation=activation)
    X = rng.normal(0, 5, (6, 4))
    gradient = ensemble.gradient(X)
    assert gradient.shape == (6, 4, n_outputs)
    for k, e in enumerate(h * np.eye(4)):
        near = ensemble.score(X + e) - ensemble.score(X - e)
        far = ensemble.score(X + 2 * e) - ensemble.score(X - 2 * e)
        np.testing.assert_allclose(gradient[:, k], (8 * near - far) / (12 * h), rtol=1e-6, atol=1e-7)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_far_from_the_data_the_score_is_linear_with_the_slope_of_the_active_learners(seed):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng)
    x, d = rng.standard_normal((2, 1, 4))
    rate = ensemble.weights @ d[0]
    t = 1e3 * (1 + np.abs(ensemble.project(x)[0])).max() / (np.abs(rate).min() * ensemble.beta.min())
    active = (ensemble.signs * (rate > 0))[:, None] * ensemble.weights
    slope = np.stack([active[ensemble.outputs == k].sum(axis=0) for k in range(2)], axis=-1)
    far = x + t * d
    np.testing.assert_allclose(ensemble.gradient(far)[0], slope, rtol=1e-9, atol=1e-12)
    rise = (ensemble.score(x + 2 * t * d) - ensemble.score(far))[0]
    np.testing.assert_allclose(rise, t * (d[0] @ slope), rtol=1e-9, atol=1e-9 * t * np.abs(rate).max())


@ACTIVATIONS
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_an_appended_learner_is_the_standard_one_in_the_users_units(activation, center, sign, seed):
    rng, beta = np.random.default_rng(seed), 3.0
    units = random_units(rng, 4, 2, center)
    theta, X = rng.standard_normal(6), rng.normal(0, 5, (7, 4))
    ensemble = random_ensemble(rng, 1, activation=activation, units=units)
    for output in range(2):
        ensemble = ensemble.append(theta, sign, beta, output, units)
    z = (X - units.mean) * units.inverse_scale @ theta[1:-1] + theta[-1]
    standard = theta[0] + sign * (Softplus(beta).value(z) if activation == "softplus" else z)
    expected = standard[:, None] * units.target_scale
    np.testing.assert_allclose(ensemble.embed(X)[:, 2:], expected, rtol=1e-11, atol=1e-11)


def test_the_mean_of_the_target_is_part_of_the_first_learner_of_each_output():
    rng = np.random.default_rng(0)
    units = random_units(rng, 4, 2)
    ensemble = Ensemble.empty(4, 2, "softplus", units.center)
    for j in range(6):
        ensemble = ensemble.append(np.zeros(6), 1, 1.0, j % 2, units)
    X = rng.standard_normal((3, 4))
    height = np.log(2) * units.target_scale  # of a learner with w = c = a = 0
    np.testing.assert_allclose(ensemble.embed(X)[:, :2], np.tile(units.target_mean + height, (3, 1)))
    np.testing.assert_allclose(ensemble.embed(X)[:, 2:], np.tile(height, (3, 2)))
    assert ensemble.outputs.tolist() == [0, 1, 0, 1, 0, 1]


def test_append_leaves_the_ensemble_it_starts_from_as_it_was():
    rng = np.random.default_rng(0)
    units = random_units(rng, 4, 2)
    first = random_ensemble(rng, 1, units=units)
    before = first.weights.copy()
    second = first.append(rng.standard_normal(6), 1, 1.0, 0, units)
    assert (len(first), len(second)) == (2, 3)
    np.testing.assert_array_equal(first.weights, before)
    np.testing.assert_array_equal(second[:2].weights, before)


def test_a_slice_embeds_as_those_columns_do():
    rng = np.random.default_rng(0)
    ensemble, X = random_ensemble(rng), rng.standard_normal((5, 4))
    for which in (slice(0, 2), slice(2, 6), slice(-1, None), slice(0, 0)):
        part = ensemble[which]
        assert len(part) == len(range(6)[which])
        np.testing.assert_allclose(part.embed(X), ensemble.embed(X)[:, which], rtol=1e-13, atol=1e-13)
    assert (ensemble.n_stages, ensemble[:4].n_stages) == (3, 2)


def test_the_score_of_an_output_is_the_sum_of_its_learners():
    rng = np.random.default_rng(0)
    ensemble, X = random_ensemble(rng, n_outputs=3), rng.standard_normal((5, 4))
    phi = ensemble.embed(X)
    expected = np.stack([phi[:, ensemble.outputs == k].sum(axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(ensemble.sum_outputs(phi), expected, rtol=1e-14)
    np.testing.assert_allclose(ensemble.score(X), expected, rtol=1e-14)


def test_the_empty_ensemble_scores_zero():
    ensemble, X = Ensemble.empty(4, 2, "softplus", np.zeros(4)), np.ones((3, 4))
    assert (len(ensemble), ensemble.n_stages, ensemble.embed(X).shape) == (0, 0, (3, 0))
    np.testing.assert_array_equal(ensemble.score(X), np.zeros((3, 2)))
    np.testing.assert_array_equal(ensemble.gradient(X), np.zeros((3, 4, 2)))


@pytest.mark.parametrize("ratio", [1.0, 1e5])
def test_float32_embeds_close_to_float64_also_with_a_large_mean(ratio):
    rng = np.random.default_rng(0)
    mean = ratio * np.array([1.0, -1.0, 0.0, 1.0])
    center = np.where(np.abs(mean) > 1e3, mean, 0.0)
    units = Units(mean, np.ones(4), np.zeros(2), np.ones(2), center)
    X = (rng.standard_normal((100, 4)) + mean).astype(np.float32)
    ensemble = random_ensemble(rng, units=units)
    phi = ensemble.embed(X)
    assert phi.dtype == np.float64
    np.testing.assert_allclose(phi, ensemble.embed(X.astype(float)), atol=1e-5)


def test_float32_keeps_a_large_mean_of_the_target():
    units = Units(np.zeros(2), np.ones(2), np.array([1e9]), np.ones(1), np.zeros(2))
    ensemble = Ensemble.empty(2, 1, "softplus", units.center).append(
        np.array([0.0, 1, 1, 0]), 1, 5.0, 0, units
    )
    X = np.random.default_rng(0).standard_normal((20, 2))
    np.testing.assert_allclose(ensemble.embed(X.astype(np.float32)), ensemble.embed(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("center", [False, True])
def test_sparse_rows_embed_as_dense_ones_do(make, center):
    rng = np.random.default_rng(0)
    ensemble = random_ensemble(rng, units=random_units(rng, 4, 2, center))
    X = rng.standard_normal((20, 4)) * (rng.random((20, 4)) < 0.4)
    for member in ("embed", "gradient", "score"):
        found = getattr(ensemble, member)(make(X))
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, getattr(ensemble, member)(X), rtol=1e-11, atol=1e-11)


def test_each_learner_has_a_beta_of_its_own():
    rng = np.random.default_rng(0)
    ensemble, X = random_ensemble(rng), rng.standard_normal((5, 4))
    assert len(set(ensemble.beta)) == 6
    for j in range(6):
        g = Softplus(ensemble.beta[j]).value(X @ ensemble.weights[j] + ensemble.offsets[j])
        expected = ensemble.intercepts[j] + ensemble.signs[j] * g
        np.testing.assert_allclose(ensemble.embed(X)[:, j], expected, rtol=1e-13)


def test_steep_learners_far_out_stay_finite():
    units = Units(np.zeros(1), np.ones(1), np.zeros(1), np.ones(1), np.zeros(1))
    ensemble = Ensemble.empty(1, 1, "softplus", units.center)
    ensemble = ensemble.append(np.array([0.0, 1e4, 0.0]), -1, 1e4, 0, units)
    X = np.array([[-1e6], [0.0], [1e6]])
    np.testing.assert_allclose(ensemble.score(X), [[0.0], [-np.log(2) / 1e4], [-1e10]])
    np.testing.assert_allclose(ensemble.gradient(X)[:, :, 0], [[0.0], [-5e3], [-1e4]])


@ACTIVATIONS
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_slopes_and_curvatures_are_derivatives_along_each_learners_weights(activation, seed):
    rng, h = np.random.default_rng(seed), 1e-3
    ensemble = random_ensemble(rng, activation=activation)
    X = rng.normal(0, 5, (6, 4))
    slopes, curvatures = ensemble.slopes(X), ensemble.curvatures(X)
    assert slopes.shape == curvatures.shape == (6, 6)
    for j, w in enumerate(ensemble.weights):
        step = h * w / (w @ w) / ensemble.beta[j]  # moves z by h / beta
        below, above = (ensemble.embed(X + k * step)[:, j] for k in (-1, 1))
        unit = h / ensemble.beta[j]
        rounding = 1e-14 * np.abs(ensemble.embed(X)).max()
        np.testing.assert_allclose(slopes[:, j], (above - below) / (2 * unit), atol=1e-6 + rounding / unit)
        slope_rise = ensemble.slopes(X + step)[:, j] - ensemble.slopes(X - step)[:, j]
        np.testing.assert_allclose(curvatures[:, j] / ensemble.beta[j], slope_rise / (2 * h), atol=1e-6)


def test_curvatures_are_even_in_z_to_the_last_digits_of_both_tails():
    units = Units(np.zeros(1), np.ones(1), np.zeros(1), np.ones(1), np.zeros(1))
    ensemble = Ensemble.empty(1, 1, "softplus", units.center).append(np.array([0.0, 1, 0]), -1, 2.0, 0, units)
    z = np.array([[0.0], [0.5], [3.0], [20.0], [300.0]])
    curvature = ensemble.curvatures(z)
    np.testing.assert_array_equal(curvature, ensemble.curvatures(-z))
    np.testing.assert_allclose(curvature, -2 / (2 * np.cosh(z)) ** 2, rtol=1e-13)


@ACTIVATIONS
@pytest.mark.parametrize("center", [False, True])
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_secants_lead_from_the_embedding_of_a_baseline_to_that_of_a_row(activation, center, seed):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng, activation=activation, units=random_units(rng, 4, 2, center))
    X, baseline = rng.normal(0, 5, (5, 4)), rng.normal(0, 5, (3, 4))
    z, other = ensemble.project(X)[:, None], ensemble.project(baseline)
    secants, gap = ensemble.secants(z, other), z - other
    assert secants.shape == (5, 3, 6)
    expected = ensemble.embed(X)[:, None] - ensemble.embed(baseline)
    np.testing.assert_allclose(secants * gap, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(ensemble.secants(z, z)[:, 0], ensemble.slopes(X))
    shares = ensemble.integrated_gradient(X[:3], baseline)
    difference = ensemble.score(X[:3]) - ensemble.score(baseline)
    np.testing.assert_allclose(shares.sum(axis=1), difference, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_pull_back_sums_weights_over_the_learners_of_each_output(n_outputs):
    rng = np.random.default_rng(0)
    ensemble = random_ensemble(rng, n_outputs=n_outputs)
    slopes = rng.standard_normal((5, len(ensemble)))
    expected = np.zeros((5, 4, n_outputs))
    for j, output in enumerate(ensemble.outputs):
        expected[:, :, output] += slopes[:, [j]] * ensemble.weights[j]
    np.testing.assert_allclose(ensemble.pull_back(slopes), expected, rtol=1e-12, atol=1e-12)


def test_sparse_rows_have_the_slopes_and_curvatures_of_dense_ones():
    rng = np.random.default_rng(0)
    ensemble = random_ensemble(rng)
    X = rng.standard_normal((20, 4)) * (rng.random((20, 4)) < 0.4)
    sparse = scipy.sparse.csr_array(X)
    for member in ("slopes", "curvatures"):
        found, expected = getattr(ensemble, member)(sparse), getattr(ensemble, member)(X)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
