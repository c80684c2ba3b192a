"""The generators: known answers, properties, and seeds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.special import expit

from gbmap.datasets import make_clusters, make_synth_cos, synthetic


@pytest.mark.parametrize("alpha", [5.0, -0.5])
def test_synth_cos_is_a_centred_sum_of_cosines_with_coefficients_of_norm_alpha(alpha):
    X, y = make_synth_cos(2000, 7, alpha=alpha, random_state=1)
    C = np.cos(X) - np.cos(X).mean(axis=0)
    coefficients, *_ = np.linalg.lstsq(C, y, rcond=None)
    assert X.shape == (2000, 7)
    assert X.dtype == y.dtype == np.float64
    assert abs(y.mean()) < 1e-12
    np.testing.assert_allclose(C @ coefficients, y, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(coefficients), abs(alpha), rtol=1e-10)


def test_synth_cos_rows_are_standard_normal():
    X, _ = make_synth_cos(50_000, 4, random_state=2)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=5 / np.sqrt(50_000))
    np.testing.assert_allclose(np.cov(X.T), np.eye(4), atol=0.04)


def test_rotation_keeps_y_and_multiplies_x_by_an_orthogonal_matrix():
    X, y = make_synth_cos(300, 20, random_state=3)
    rotated, same_y = make_synth_cos(300, 20, rotate=True, random_state=3)
    np.testing.assert_array_equal(same_y, y)
    Q, *_ = np.linalg.lstsq(X, rotated, rcond=None)
    np.testing.assert_allclose(X @ Q, rotated, atol=1e-10)
    np.testing.assert_allclose(Q.T @ Q, np.eye(20), atol=1e-10)
    assert np.abs(Q).max() < 0.9  # no column stays as it was


def test_labels_follow_the_logistic_of_the_score():
    X, score = make_synth_cos(60_000, 3, random_state=5)
    same_X, labels = make_synth_cos(60_000, 3, task="classification", random_state=5)
    np.testing.assert_array_equal(same_X, X)
    assert labels.dtype == np.int64
    assert set(labels.tolist()) == {-1, 1}
    for rows in np.array_split(np.argsort(score), 12):
        probability = expit(score[rows])
        error = (labels[rows] == 1).mean() - probability.mean()
        assert abs(error) < 5 * np.sqrt((probability * (1 - probability)).mean() / len(rows))


def test_float32_is_the_rounded_float64_with_the_same_target():
    X, y = make_synth_cos(500, 6, rotate=True, random_state=6)
    rounded, same_y = make_synth_cos(500, 6, rotate=True, dtype="float32", random_state=6)
    assert rounded.dtype == np.float32
    np.testing.assert_array_equal(rounded, X.astype(np.float32))
    np.testing.assert_array_equal(same_y, y)


@pytest.mark.parametrize("block", [1, 10])
def test_the_block_size_changes_nothing(monkeypatch, block):
    X, y = make_synth_cos(101, 3, random_state=7)
    monkeypatch.setattr(synthetic, "_BLOCK", block)
    blocked, blocked_y = make_synth_cos(101, 3, random_state=7)
    np.testing.assert_array_equal(blocked, X)
    np.testing.assert_allclose(blocked_y, y, atol=1e-12)


def test_more_samples_extend_the_rows():
    few, _ = make_synth_cos(50, 4, rotate=True, random_state=8)
    many, _ = make_synth_cos(80, 4, rotate=True, random_state=8)
    np.testing.assert_allclose(many[:50], few, atol=1e-12)


def test_memory_stays_near_that_of_the_features():
    tracemalloc.start()
    try:
        X, _ = make_synth_cos(200_000, 50, task="classification", dtype=np.float32, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * X.nbytes  # all of X in float64 would take this much by itself


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be .* at least 1, got 0"),
        ({"n_features": 2.5}, "n_features must be an integer"),
        ({"task": "ranking"}, "task must be 'regression' or 'classification', got 'ranking'"),
        ({"alpha": np.nan}, "alpha must be a finite number"),
        ({"dtype": int}, "dtype must be float32 or float64, got 'int64'"),
        ({"random_state": -1}, "random_state must be a non-negative int.*got -1"),
        ({"random_state": "seed"}, "random_state must be"),
    ],
)
def test_synth_cos_names_a_bad_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_synth_cos(**{"n_samples": 10, "n_features": 2, **arguments})


def test_clusters_lie_where_the_paper_puts_them():
    X, y, labels = make_clusters(random_state=0)
    assert X.shape == (3000, 8)
    assert y.shape == (3000,)
    assert labels.tolist() == ["a"] * 1000 + ["b1"] * 1000 + ["b2"] * 1000
    centres = {"a": [4] * 4 + [0] * 4, "b1": [0] * 4 + [4] * 4, "b2": [0] * 8}
    for label, centre in centres.items():
        cluster = X[labels == label]
        np.testing.assert_allclose(cluster.mean(axis=0), centre, atol=5 / np.sqrt(1000))
        np.testing.assert_allclose(np.cov(cluster.T), np.eye(8), atol=0.25)


def test_the_target_of_the_clusters_is_a_unit_vector_on_the_first_four_cosines():
    X, y, _ = make_clusters(random_state=1)
    u, *_ = np.linalg.lstsq(np.cos(X), y, rcond=None)  # no intercept: y is not centred
    np.testing.assert_allclose(np.cos(X) @ u, y, atol=1e-12)
    np.testing.assert_allclose(u[4:], 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(u), 1, rtol=1e-12)


# --- seeds ----------------------------------------------------------------------------------------


def _synth_cos(random_state):
    X, y = make_synth_cos(40, 3, task="classification", rotate=True, random_state=random_state)
    return np.column_stack([X, y])


def _clusters(random_state):
    X, y, _ = make_clusters(random_state)
    return np.column_stack([X, y])


RANDOM = pytest.mark.parametrize("draw", [_synth_cos, _clusters])
KINDS = (int, np.int64, np.random.SeedSequence, np.random.default_rng, np.random.RandomState)


@RANDOM
@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_numbers_and_others_other_ones(draw, kind):
    first = draw(kind(3))
    np.testing.assert_array_equal(first, draw(kind(3)))
    assert not np.array_equal(first, draw(kind(4)))


@RANDOM
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_advanced(draw, kind):
    generator = kind(0)
    assert not np.array_equal(draw(generator), draw(generator))


@RANDOM
def test_a_seed_sequence_is_left_as_it_was(draw):
    seed = np.random.SeedSequence(3)
    np.testing.assert_array_equal(draw(seed), draw(seed))
    assert seed.n_children_spawned == 0


@RANDOM
def test_no_seed_takes_fresh_entropy_and_not_the_global_state(draw):
    global_state = np.random.mtrand._rand
    before = global_state.get_state()
    assert not np.array_equal(draw(None), draw(None))
    after = global_state.get_state()
    np.testing.assert_array_equal(after[1], before[1])
    assert after[2:] == before[2:]
