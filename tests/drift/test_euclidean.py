"""The paper's baseline: the distance to the k-th nearest training row, whatever y may be."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from gbmap.drift import EuclideanDetector

SCALE = [1.0, 20.0, 0.1]


def make_rows(n=200, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) * SCALE + [5, 0, 0]


@pytest.mark.parametrize("k", [1, 5, 160])
def test_the_indicator_is_the_distance_to_the_kth_row_in_standard_deviations(k):
    X, new = make_rows(), make_rows(seed=1)
    scale = X.std(axis=0)
    expected = np.sort(cdist(new / scale, X / scale), axis=1)[:, k - 1]
    detector = EuclideanDetector(n_neighbors=k, random_state=0).fit(X)
    np.testing.assert_allclose(detector.indicator(new), expected, rtol=1e-9)
    np.testing.assert_array_equal(detector.score_samples(new), -detector.indicator(new))
    np.testing.assert_array_equal(
        detector.decision_function(new), detector.score_samples(new) - detector.offset_
    )
    np.testing.assert_array_equal(detector.predict(new) == -1, detector.indicator(new) > detector.threshold_)


def test_the_threshold_leaves_the_set_share_of_held_out_rows_above():
    X = make_rows()
    scaled, held_out = X / X.std(axis=0), np.empty(200)
    for train, test in KFold(4, shuffle=True, random_state=3).split(X):
        held_out[test] = np.sort(cdist(scaled[test], scaled[train]), axis=1)[:, 4]
    detector = EuclideanDetector(cv=4, false_alarm_rate=0.1, random_state=3).fit(X)
    assert detector.threshold_ == pytest.approx(np.sort(held_out)[179])
    assert (held_out > detector.threshold_ * (1 + 1e-12)).sum() == 20


def test_new_rows_like_the_old_raise_the_alarm_at_about_the_set_rate():
    detector = EuclideanDetector(false_alarm_rate=0.1, random_state=0).fit(make_rows(2000))
    # A little below, since held-out rows have fewer rows to be near to.
    assert 0.07 < (detector.predict(make_rows(2000, seed=1)) == -1).mean() < 0.12


def test_it_alarms_on_any_column():
    detector = EuclideanDetector(random_state=0).fit(make_rows())
    for column in range(3):
        moved = make_rows(50, seed=1) + 8 * np.eye(3)[column] * SCALE
        assert (detector.predict(moved) == -1).all()


def test_the_same_random_state_gives_the_same_threshold_for_any_number_of_threads():
    X = make_rows()
    first, second, third, other = (
        EuclideanDetector(random_state=seed, n_jobs=n_jobs).fit(X).threshold_
        for seed, n_jobs in ((0, 1), (0, 2), (0, None), (1, None))
    )
    assert first == second == third
    assert first != other


def test_more_neighbours_than_rows_outside_a_fold_are_refused():
    with pytest.raises(ValueError, match=r"n_neighbors=161 must be at most 160, .* n_samples=200 and cv=5"):
        EuclideanDetector(n_neighbors=161).fit(make_rows())


def test_bad_rows_are_refused():
    detector = EuclideanDetector(random_state=0)
    with pytest.raises(NotFittedError):
        detector.indicator(make_rows())
    detector.fit(make_rows())
    with pytest.raises(ValueError, match="X has 2 features, but EuclideanDetector is expecting 3"):
        detector.predict(make_rows()[:, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        detector.predict(np.full((2, 3), np.nan))


@parametrize_with_checks([EuclideanDetector()])
def test_estimator_check(estimator, check):
    check(estimator)
