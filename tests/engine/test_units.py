"""Standard units: folding a projection, and the chain rule back through it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbmap._core.units import Units

SEEDS = st.integers(0, 2**32 - 1)


def random_units(rng, p=5, center=True):
    """Return units in which the last column is constant."""
    mean, inverse_scale = rng.normal(0, 10, p), 1 / rng.uniform(0.1, 9, p)
    inverse_scale[-1] = 0
    shift = np.where(rng.random(p) < 0.5, mean + 1, 0.0) if center else np.zeros(p)
    return Units(mean, inverse_scale, np.zeros(1), np.ones(1), shift)


@pytest.mark.parametrize("center", [False, True])
@given(SEEDS)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_fold_gives_the_same_projection_of_x_as_it_is(center, seed):
    rng = np.random.default_rng(seed)
    units = random_units(rng, center=center)
    X, w, c = rng.normal(0, 10, (6, 5)), rng.standard_normal((3, 5)), rng.standard_normal(3)
    v, d = units.fold(w, c)
    expected = (X - units.mean) * units.inverse_scale @ w.T + c
    np.testing.assert_allclose((X - units.center) @ v.T + d, expected, rtol=1e-11, atol=1e-11)


def test_fold_takes_one_projection_or_rows_of_them():
    rng = np.random.default_rng(0)
    units, w, c = random_units(rng), rng.standard_normal((3, 5)), rng.standard_normal(3)
    together = units.fold(w, c)
    for k in range(3):
        v, d = units.fold(w[k], c[k])
        np.testing.assert_allclose(v, together[0][k], rtol=1e-15)
        np.testing.assert_allclose(d, together[1][k], rtol=1e-13)


@pytest.mark.parametrize("center", [False, True])
@given(SEEDS)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_fold_gradient_is_the_transpose_of_fold(center, seed):
    """With (v, d) = A (w, c), a derivative (p, q) in (v, d) is A^T (p, q) in (w, c)."""
    rng = np.random.default_rng(seed)
    units = random_units(rng, center=center)
    w, along_x, along_d = rng.standard_normal((2, 5)), rng.standard_normal((2, 5)), rng.standard_normal(2)
    v, d = units.fold(w, np.zeros(2))
    inner = (v * along_x).sum(axis=1) + d * along_d
    np.testing.assert_allclose(
        (w * units.fold_gradient(along_x, along_d)).sum(axis=1), inner, rtol=1e-9, atol=1e-10
    )


def test_a_constant_column_gets_neither_weight_nor_gradient():
    rng = np.random.default_rng(0)
    units = random_units(rng)
    assert units.fold(rng.standard_normal(5), 0.0)[0][-1] == 0
    assert units.fold_gradient(rng.standard_normal((1, 5)), np.ones(1))[0, -1] == 0
    assert units.n_active == 4


def test_rows_brought_to_standard_units_need_no_folding():
    rng = np.random.default_rng(0)
    units = random_units(rng)
    standard = units.of_standard_rows()
    plain = Units(
        standard.mean, standard.inverse_scale, standard.target_mean, standard.target_scale, standard.center
    )
    w = rng.standard_normal((2, 5)) * (units.inverse_scale != 0)
    for found, expected in zip(standard.fold(w, np.ones(2)), plain.fold(w, np.ones(2))):
        np.testing.assert_array_equal(found, expected)
    assert standard.n_active == units.n_active
    np.testing.assert_array_equal(standard.target_scale, 1)
