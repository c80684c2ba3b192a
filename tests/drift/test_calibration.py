"""Thresholds and p-values rest on rows that the model was not trained on, and keep what they promise."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor


def regressor(**settings):
    return GBMAPRegressor(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0} | settings)


def make_rows(n=200, seed=0, shift=0.0, n_noise=0):
    rng = np.random.default_rng(seed)
    X = rng.normal([shift, 0, 0, 0], size=(n, 4))
    y = X[:, 0] ** 2 + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n)
    return np.hstack([X, rng.normal(size=(n, n_noise))]), y


def calibrated(n_cal=100, **settings):
    """Return a detector with calibration rows, and these with their labels."""
    X, y = make_rows()
    X_cal, y_cal = make_rows(n_cal, seed=1)
    return DriftDetector(regressor(), **settings).fit(X, y, X_cal=X_cal, y_cal=y_cal), X_cal, y_cal


# Which rows


@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("estimator", [regressor(), LinearRegression()])
def test_a_fitted_estimator_alone_has_an_indicator_and_asks_for_calibration_rows_for_all_else(
    estimator, freeze
):
    X, y = make_rows()
    model = clone(estimator).fit(X, y)
    detector = DriftDetector(FrozenEstimator(model) if freeze else model, surrogate=regressor()).fit(X, y)
    assert detector.calibration_size_ == 0
    assert detector.indicator(X).shape == detector.score_samples(X).shape == (200,)
    for method in ("p_values", "predict", "decision_function", "estimate_loss"):
        with pytest.raises(ValueError, match="needs calibration rows: pass X_cal and y_cal to fit"):
            getattr(detector, method)(X)
    for way in ("quantile", "false_alarm_rate", "tolerated_loss"):
        with pytest.raises(ValueError, match="needs calibration rows: pass X_cal and y_cal to fit"):
            detector.set_threshold(**{way: 0.5})


def test_without_calibration_rows_a_threshold_can_still_be_set_by_hand():
    X, y = make_rows()
    detector = DriftDetector(regressor().fit(X, y)).fit(X, y).set_threshold(0.4)
    np.testing.assert_array_equal(detector.predict(X) == -1, detector.indicator(X) > 0.4)
    np.testing.assert_array_equal(detector.decision_function(X), 0.4 - detector.indicator(X))
    with pytest.raises(ValueError, match="needs calibration rows"):
        detector.p_values(X)


def test_a_new_fit_forgets_the_threshold_of_the_one_before():
    X, y = make_rows()
    detector = DriftDetector(regressor(), random_state=0).fit(X, y)
    detector.set_params(estimator=detector.estimator_).fit(X, y)
    assert not hasattr(detector, "threshold_")
    with pytest.raises(ValueError, match="needs calibration rows"):
        detector.predict(X)


def test_calibration_rows_given_are_those_used():
    detector, X_cal, _ = calibrated(n_cal=37)
    assert detector.calibration_size_ == 37
    indicators = np.sort(detector.indicator(X_cal))
    assert detector.threshold_ == indicators[36]  # a row above one more would have p = 2 / 38
    assert detector.offset_ == -detector.threshold_


def test_cross_fitting_calibrates_each_fold_by_the_model_and_the_rows_of_the_others():
    X, y = make_rows()
    held_out = np.empty(200)
    for train, test in KFold(4, shuffle=True, random_state=7).split(X):
        part = DriftDetector(regressor().fit(X[train], y[train])).fit(X[train], y[train])
        held_out[test] = part.indicator(X[test])
    detector = DriftDetector(regressor(), cv=4, random_state=7).fit(X, y)
    assert detector.calibration_size_ == 200
    new = make_rows(seed=1)[0] * 2
    above = (held_out >= detector.indicator(new)[:, None]).sum(axis=1)
    np.testing.assert_allclose(detector.p_values(new), (1 + above) / 201)


def test_cross_fitting_keeps_a_share_of_each_class_in_every_fold():
    X, y = make_rows()
    labels = np.where(y > np.quantile(y, 0.98), "rare", "common")
    detector = DriftDetector(GBMAPClassifier(2, random_state=0), random_state=7, cv=5).fit(X, labels)
    assert (labels == "rare").sum() == 4  # so that there are four folds
    held_out = np.empty(200)
    for train, test in StratifiedKFold(4, shuffle=True, random_state=7).split(X, labels):
        model = GBMAPClassifier(2, random_state=0).fit(X[train], labels[train])
        held_out[test] = DriftDetector(model).fit(X[train], labels[train]).indicator(X[test])
    assert detector.calibration_size_ == 200
    assert detector.threshold_ == pytest.approx(np.sort(held_out)[190])


def test_calibration_is_not_fooled_by_rows_that_are_their_own_neighbours():
    X, y = make_rows()
    detector = DriftDetector(GBMAPClassifier(2, random_state=0), n_neighbors=1, random_state=0)
    detector.fit(X, y > np.median(y))
    assert detector.indicator(X).max() == 0
    assert detector.threshold_ > 0


@pytest.mark.parametrize(
    ("n", "k", "cv", "size"),
    [(10, 5, 5, 10), (12, 10, 2, 0), (12, 6, 2, 12), (12, 7, 2, 0), (12, 12, 5, 0), (4, 2, 5, 4)],
)
def test_rows_too_few_to_be_held_out_leave_the_detector_uncalibrated(n, k, cv, size):
    X, y = make_rows(n)
    detector = DriftDetector(regressor(n_components=1), n_neighbors=k, cv=cv, random_state=0).fit(X, y)
    assert detector.calibration_size_ == size
    assert np.isfinite(detector.indicator(X)).all()


def test_a_class_of_one_row_leaves_the_detector_uncalibrated():
    X, y = make_rows()
    labels = (y > np.median(y)).astype(int)
    labels[0] = 2
    detector = DriftDetector(GBMAPClassifier(1, random_state=0)).fit(X, labels)
    assert detector.calibration_size_ == 0
    with pytest.raises(ValueError, match="enough rows, of each class"):
        detector.predict(X)


@pytest.mark.parametrize("given", ["X_cal", "y_cal"])
def test_calibration_rows_and_labels_come_together(given):
    X, y = make_rows()
    with pytest.raises(ValueError, match="X_cal and y_cal must be given together"):
        DriftDetector(regressor()).fit(X, y, **{given: X if given == "X_cal" else y})


def test_calibration_rows_need_the_columns_of_the_others_and_a_label_each():
    X, y = make_rows()
    with pytest.raises(ValueError, match="X has 3 features, but DriftDetector is expecting 4"):
        DriftDetector(regressor()).fit(X, y, X_cal=X[:, :3], y_cal=y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DriftDetector(regressor()).fit(X, y, X_cal=X, y_cal=y[1:])


@pytest.mark.parametrize("which", [slice(None), slice(0, 20), np.random.default_rng(0).permutation(200)])
@pytest.mark.parametrize("classes", [False, True])
def test_reference_rows_are_refused_as_calibration_rows(which, classes):
    X, y = make_rows()
    y = y > np.median(y) if classes else y
    estimator = GBMAPClassifier(2, random_state=0) if classes else regressor()
    with pytest.raises(ValueError, match=r"X_cal must hold rows that .* got \d+ rows that are all in X"):
        DriftDetector(estimator).fit(X, y, X_cal=X[which].copy(), y_cal=y[which])


def test_some_reference_rows_among_calibration_rows_are_warned_of():
    X, y = make_rows()
    X_cal, y_cal = make_rows(100, seed=1)
    X_cal[:10], y_cal[:10] = X[:10], y[:10]
    with pytest.warns(UserWarning, match="10 of the 100 rows of X_cal are in X with their labels") as told:
        DriftDetector(regressor()).fit(X, y, X_cal=X_cal, y_cal=y_cal)
    assert told[0].filename == __file__


@pytest.mark.parametrize("n_levels", [2, 4, 10])
def test_rows_that_repeat_by_chance_calibrate_without_a_word(n_levels):
    rng = np.random.default_rng(0)
    X = rng.integers(n_levels, size=(600, 3)).astype(float)
    y = (X[:, 0] + rng.normal(size=600) > X[:, 1]).astype(int)
    model = GBMAPClassifier(2, random_state=0).fit(X[:400], y[:400])
    detector = DriftDetector(model).fit(X[:400], y[:400], X_cal=X[400:], y_cal=y[400:])
    assert detector.calibration_size_ == 200
    detector.fit(X[:400], y[:400], X_cal=X[400:401], y_cal=y[400:401])


# p-values


def test_p_values_count_the_calibration_rows_at_or_above():
    detector, X_cal, _ = calibrated(distance_weight=0.5)
    new = make_rows(300, seed=2)[0] * 1.5
    indicator, of_cal = detector.indicator(new), detector.indicator(X_cal)
    p = detector.p_values(new)
    np.testing.assert_allclose(p, (1 + (of_cal >= indicator[:, None]).sum(axis=1)) / 101)
    np.testing.assert_allclose(p * 101, np.round(p * 101))
    assert (np.diff(p[np.argsort(indicator)]) <= 0).all()
    assert p.min() == pytest.approx(1 / 101)
    np.testing.assert_allclose(np.sort(detector.p_values(X_cal)), np.arange(2, 102) / 101)


def test_p_values_are_exactly_valid_for_rows_exchangeable_with_the_calibration_rows():
    X, y = make_rows()
    model = regressor().fit(X, y)
    X_new, y_new = make_rows(80 * 69, seed=1)
    p = []
    for rows, labels in zip(np.split(X_new, 80), np.split(y_new, 80)):
        detector = DriftDetector(model).fit(X, y, X_cal=rows[:19], y_cal=labels[:19])
        p.append(detector.p_values(rows[19:]))
    for level in (0.05, 0.1, 0.25, 0.5):
        # Of 20 equally likely ranks so many count; a lot of calibration rows sets a rate of its own.
        spread = np.sqrt(level * (1 - level) / 20 / 80)
        assert abs((np.concatenate(p) <= level).mean() - level) < 4 * spread


def test_p_values_are_nearly_valid_after_cross_fitting():
    p = []
    for seed in range(15):
        detector = DriftDetector(regressor(n_components=1), random_state=0).fit(*make_rows(150, seed))
        p.append(detector.p_values(make_rows(500, seed=1000 + seed)[0]))
    for level in (0.05, 0.1, 0.25):
        assert abs((np.concatenate(p) <= level).mean() - level) < 0.03


# Thresholds


@cache
def with_any_threshold(n_cal):
    return calibrated(n_cal)


@pytest.mark.parametrize("n_cal", [20, 100])
@given(percent=st.integers(0, 100))
@settings(max_examples=13, deadline=None, derandomize=True)
def test_a_quantile_or_a_rate_leaves_just_that_share_of_calibration_rows_above(n_cal, percent):
    detector, X_cal, _ = with_any_threshold(n_cal)
    indicators, n_above = detector.indicator(X_cal), percent * (n_cal + 1) // 100 - 1
    detector.set_threshold(false_alarm_rate=percent / 100)
    assert (indicators > detector.threshold_).sum() == max(n_above, 0)
    at_or_below = -(-percent * n_cal // 100)
    detector.set_threshold(quantile=percent / 100)
    assert (indicators <= detector.threshold_).sum() == max(at_or_below, 1)


def test_the_default_threshold_is_that_of_five_percent_of_false_alarms():
    detector, X_cal, _ = calibrated()
    assert (detector.predict(X_cal) == -1).sum() == 4  # with a new row it is 5 of 101
    wider, X_cal, _ = calibrated(false_alarm_rate=0.2)
    assert (wider.predict(X_cal) == -1).sum() == 19


def test_predictions_follow_a_new_threshold_without_a_new_fit():
    detector, X_cal, _ = calibrated()
    drifter, level = detector._drifter, detector.threshold_
    indicators = detector.indicator(X_cal)
    assert detector.set_threshold(2 * level) is detector
    assert (detector.threshold_, detector.offset_) == (2 * level, -2 * level)
    np.testing.assert_array_equal(detector.predict(X_cal) == -1, indicators > 2 * level)
    detector.set_threshold(quantile=0.5)
    assert (detector.predict(X_cal) == -1).sum() == 50
    assert detector.set_threshold(0).predict(X_cal).max() == -1
    assert detector._drifter is drifter


def rising_fit(values):
    """Return isotonic regression by its min-max formula."""
    n = len(values)
    means = np.array([[values[i : j + 1].mean() if j >= i else np.inf for j in range(n)] for i in range(n)])
    return np.array([max(means[i, t:].min() for i in range(t + 1)) for t in range(n)])


def test_a_tolerated_loss_lets_rows_pass_up_to_where_the_rising_fit_of_the_loss_exceeds_it():
    detector, X_cal, y_cal = calibrated(60)
    indicators = detector.indicator(X_cal)
    order = np.argsort(indicators)
    losses = (y_cal - detector.estimator_.predict(X_cal)) ** 2
    fit = rising_fit(losses[order])
    for loss in (fit[0], np.median(fit), losses.mean(), fit[-2] + 1e-9, 10 * fit[-1]):
        detector.set_threshold(tolerated_loss=loss * (1 + 1e-9))
        assert detector.threshold_ == pytest.approx(indicators[order][fit <= loss * (1 + 1e-8)].max())
    with pytest.raises(ValueError, match=r"tolerated_loss must be at least .*, got 0; no row would pass"):
        detector.set_threshold(tolerated_loss=0)


def test_a_tolerated_loss_holds_on_new_rows_that_pass():
    detector, _, _ = calibrated(1000)
    X, y = make_rows(4000, seed=5)
    losses = (y - detector.estimator_.predict(X)) ** 2
    passing = detector.set_threshold(tolerated_loss=losses.mean()).predict(X) == 1
    assert 0.1 < passing.mean() < 0.95
    assert losses[passing].mean() < losses.mean() < losses[~passing].mean()


@pytest.mark.parametrize(
    ("ways", "message"),
    [
        ({}, "exactly one of threshold, quantile, false_alarm_rate, tolerated_loss; got none"),
        ({"threshold": 1.0, "quantile": 0.5}, "exactly one of .*; got threshold and quantile"),
        ({"quantile": 1.5}, "quantile must be a number between 0 and 1, got 1.5"),
        ({"false_alarm_rate": -0.1}, "false_alarm_rate must be a number between 0 and 1, got -0.1"),
        ({"threshold": -1.0}, "threshold must be a number of at least 0, got -1.0"),
        ({"threshold": float("nan")}, "threshold must be a number of at least 0, got nan"),
        ({"tolerated_loss": "low"}, "tolerated_loss must be a number of at least 0, got 'low'"),
    ],
)
def test_a_threshold_is_set_in_one_way_and_in_range(ways, message):
    detector, _, _ = calibrated()
    before = detector.threshold_
    with pytest.raises(ValueError, match=message):
        detector.set_threshold(**ways)
    assert detector.threshold_ == before


# False alarms


@pytest.mark.parametrize("rate", [0.02, 0.1])
def test_new_rows_like_the_old_raise_the_alarm_at_the_set_rate(rate):
    new, _ = make_rows(4000, seed=99)
    given, _, _ = calibrated(2000, false_alarm_rate=rate)
    crossed = DriftDetector(regressor(), false_alarm_rate=rate, random_state=0).fit(*make_rows(2000))
    for detector in (given, crossed):
        spread = np.sqrt(rate * (1 - rate) * (1 / 4000 + 1 / 2000))
        assert abs((detector.predict(new) == -1).mean() - rate) < 3.5 * spread


def false_alarms_and_ranking(seed, n_columns):
    """Return the rate of false alarms, and how well the indicator ranks rows with a large loss (AUC)."""
    parts = [make_rows(n, 10 * seed + i, shift, 50) for i, (n, shift) in enumerate(_SIZES_AND_SHIFTS)]
    (X, y), (X_cal, y_cal), (like, like_y), (moved, moved_y) = [(X[:, :n_columns], y) for X, y in parts]
    detector = DriftDetector(regressor(n_components=4)).fit(X, y, X_cal=X_cal, y_cal=y_cal)
    losses = [
        (labels - detector.estimator_.predict(rows)) ** 2
        for rows, labels in ((like, like_y), (moved, moved_y))
    ]
    is_large = np.concatenate(losses) > np.quantile(losses[0], 0.95)
    indicators = np.concatenate([detector.indicator(like), detector.indicator(moved)])
    return (detector.predict(like) == -1).mean(), roc_auc_score(is_large, indicators)


_SIZES_AND_SHIFTS = [(5000, 0), (2000, 0), (2000, 0), (2000, 4)]


@pytest.mark.nightly
def test_fifty_random_columns_change_neither_the_rate_of_false_alarms_nor_the_ranking():
    plain, noisy = (
        np.array([false_alarms_and_ranking(seed, n_columns) for seed in range(5)]) for n_columns in (4, 54)
    )
    spread = np.sqrt(0.05 * 0.95 * 2 / 2000 / 5)
    for rates in (plain[:, 0], noisy[:, 0]):
        assert abs(rates.mean() - 0.05) < 3 * spread
    rankings = np.array([plain[:, 1], noisy[:, 1]])
    assert rankings.mean() > 0.85
    assert abs(np.diff(rankings.mean(axis=1))) < 2 * rankings.std(axis=1).max()
