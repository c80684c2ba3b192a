"""The loss without labels: near the true one inside the data, growing outside, in the units of the loss."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel


def regressor(**settings):
    return GBMAPRegressor(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0} | settings)


def classifier(**settings):
    return GBMAPClassifier(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0} | settings)


REGRESSOR = regressor()
BENT = {"l2_regularization": "auto"}


def make_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 2 * np.maximum(X[:, 0], 0) + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)


def numbers(X, y):
    return y


def two_targets(X, y):
    return np.column_stack([y, 10 * y - 5 * X[:, 2]])


def two_classes(X, y):
    return np.where(np.random.default_rng(0).random(len(y)) < 1 / (1 + np.exp(2 - 2 * y)), "yes", "no")


def three_classes(X, y):
    return np.searchsorted([0.7, 2.0], y + 0.5 * np.random.default_rng(0).normal(size=len(y)))


def squares(model, X, y):
    return ((y - model.predict(X)) ** 2).reshape(len(X), -1).mean(axis=1)


def huber(model, X, y):
    delta = model.huber_delta * make_rows()[1].std()  # in standard deviations of the training labels
    size = np.abs(y - model.predict(X))
    return np.where(size < delta, size**2, 2 * delta * size - delta**2)


def pinball(model, X, y):
    error = y - model.predict(X)
    return np.maximum(model.quantile * error, (model.quantile - 1) * error)


def logistic(model, X, y):
    if len(model.classes_) == 2:
        return np.logaddexp(0, -np.where(y == "yes", 1, -1) * model.decision_function(X))
    p = model.predict_proba(X)
    score = model.decision_function(X) if isinstance(model, GBMAPClassifier) else np.log(p / (1 - p))
    return np.logaddexp(0, -np.where(y[:, None] == model.classes_, 1, -1) * score).mean(axis=1)


KINDS = pytest.mark.parametrize(
    ("estimator", "label", "loss"),
    [
        (REGRESSOR, numbers, squares),
        (regressor(loss="huber", huber_delta=0.3), numbers, huber),
        (regressor(loss="quantile", quantile=0.8), numbers, pinball),
        (regressor(), two_targets, squares),
        (regressor(init=LinearRegression()), numbers, squares),
        (classifier(), two_classes, logistic),
        (classifier(), three_classes, logistic),
        (LinearRegression(), numbers, squares),
        (LinearRegression(), two_targets, squares),
        (LogisticRegression(), two_classes, logistic),
        (LogisticRegression(), three_classes, logistic),
    ],
)


@cache
def calibrated(estimator, label=numbers, n_cal=2000, scale=1.0):
    (X, y), (X_cal, y_cal) = make_rows(), make_rows(n_cal, seed=1)
    detector = DriftDetector(estimator, surrogate=regressor())
    labels, labels_cal = label(X, y), label(X_cal, y_cal)
    if scale != 1:
        labels, labels_cal = scale * labels, scale * labels_cal
    return detector.fit(X, labels, X_cal=X_cal, y_cal=labels_cal)


def at(column, position):
    return position * np.eye(4)[[column]]


@KINDS
def test_inside_the_data_the_estimate_is_near_the_true_loss(estimator, label, loss):
    detector, (X, y) = calibrated(estimator, label), make_rows(4000, seed=2)
    estimate, true = detector.estimate_loss(X), loss(detector.estimator_, X, label(X, y))
    assert estimate.mean == pytest.approx(true.mean(), rel=0.15)
    assert estimate.mean_lower < estimate.mean < estimate.mean_upper
    within = (estimate.lower <= true) & (true <= estimate.upper)
    assert within.mean() == pytest.approx(0.9, abs=0.04)
    assert estimate.losses.mean() == pytest.approx(estimate.mean)


def without_knots(estimator):
    """Return the estimator, a GBMAP without knots, and so without fences beyond which columns stand still."""
    is_gbmap = isinstance(estimator, GBMAPRegressor | GBMAPClassifier)
    return clone(estimator).set_params(knots=0) if is_gbmap else estimator


@KINDS
def test_outside_the_data_the_estimate_grows_without_bound(estimator, label, loss):
    X, y = make_rows()
    estimator = without_knots(estimator)
    detector = DriftDetector(estimator, surrogate=regressor()).fit(
        X, label(X, y), X_cal=-X, y_cal=label(-X, y)
    )
    losses = [detector.estimate_loss(at(0, 10.0**power)).mean for power in (1, 3, 5)]
    inside = detector.estimate_loss(X).mean
    assert losses[0] > 2 * inside
    if not isinstance(
        estimator, LogisticRegression
    ):  # whose log-odds are held to what one in a million gives
        assert losses[1] > 10 * losses[0]
        assert losses[2] > 10 * losses[1]


@pytest.mark.parametrize(
    ("estimator", "label"),
    [(regressor(**BENT), numbers), (classifier(**BENT), two_classes), (classifier(**BENT), three_classes)],
)
def test_with_knots_the_estimate_grows_up_to_the_fences_and_stands_still_beyond(estimator, label):
    X, y = make_rows()
    detector = DriftDetector(estimator).fit(X, label(X, y), X_cal=-X, y_cal=label(-X, y))
    inputs = FittedModel.of(detector.estimator_).inputs
    fence = inputs.high[inputs.source == 0].max()
    at_fence = detector.estimate_loss(at(0, fence)).mean
    ways = X[:, 0].max() + np.array([0.25, 0.5, 0.75]) * (fence - X[:, 0].max())
    losses = [detector.estimate_loss(at(0, each)).mean for each in ways]
    assert 1.5 * detector.estimate_loss(X).mean < losses[0] < losses[1] < losses[2] < at_fence
    for beyond in (2 * fence, 1e5):
        assert detector.estimate_loss(at(0, beyond)).mean == pytest.approx(at_fence)


def test_it_does_not_fall_whichever_column_is_missing():
    X, y = load_diabetes(return_X_y=True)
    model = GBMAPRegressor(random_state=0).fit(X[:147], y[:147])
    detector = DriftDetector(model).fit(X[:147], y[:147], X_cal=X[147:294], y_cal=y[147:294])
    before = detector.estimate_loss(X[294:]).mean
    for column in range(X.shape[1]):
        holes = X[294:].copy()
        holes[:, column] = np.nan
        assert detector.estimate_loss(holes).mean >= before


def test_along_a_column_that_does_not_matter_it_does_not_grow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.abs(X[:, 0]) + 0.3 * rng.normal(size=2000)
    detector = DriftDetector(regressor(l2_regularization=0.1)).fit(
        X[:1000], y[:1000], X_cal=X[1000:], y_cal=y[1000:]
    )
    still, relevant, irrelevant = (detector.estimate_loss(X + move).mean for move in ([0, 0], [8, 0], [0, 8]))
    assert irrelevant < 1.2 * still
    assert relevant > 20 * still


def test_where_the_loss_is_larger_inside_the_data_the_estimate_is_larger():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = np.abs(X[:, 0]) + (0.1 + np.maximum(X[:, 0], 0)) * rng.normal(size=6000)  # noise where x0 is large
    detector = DriftDetector(regressor()).fit(X[:1000], y[:1000], X_cal=X[1000:3000], y_cal=y[1000:3000])
    new, labels = X[3000:], y[3000:]
    estimate, true = detector.estimate_loss(new), squares(detector.estimator_, new, labels)
    low, high = np.quantile(estimate.losses, [0.5, 0.9])
    assert true[estimate.losses > high].mean() > 4 * true[estimate.losses < low].mean()


@cache
def detector_of_few(estimator, label):
    X, y = make_rows(60)
    detector = DriftDetector(estimator, surrogate=regressor())
    return detector.fit(X, label(X, y), X_cal=-X, y_cal=label(-X, y[::-1]))


@KINDS
@given(confidence=st.floats(0.01, 0.99), reach=st.sampled_from([0.5, 1.0, 4.0, 50.0]))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_intervals_hold_their_estimates_at_any_confidence(estimator, label, loss, confidence, reach):
    X, _ = make_rows(60)
    estimate = detector_of_few(estimator, label).estimate_loss(reach * X, confidence=confidence)
    assert (estimate.lower >= 0).all()
    assert (estimate.lower <= estimate.losses).all()
    assert (estimate.losses <= estimate.upper).all()
    assert 0 <= estimate.mean_lower <= estimate.mean <= estimate.mean_upper
    assert estimate.confidence == confidence


def test_a_higher_confidence_gives_a_wider_interval():
    detector, (X, _) = calibrated(REGRESSOR), make_rows(seed=2)
    narrow, wide = (detector.estimate_loss(X, confidence=confidence) for confidence in (0.5, 0.99))
    np.testing.assert_array_equal(narrow.losses, wide.losses)
    assert (narrow.upper < wide.upper).all()
    assert wide.mean_lower < narrow.mean_lower < narrow.mean_upper < wide.mean_upper


@pytest.mark.sampled(2)
@pytest.mark.parametrize("crossed", [False, True])
def test_the_interval_of_a_batch_holds_the_true_mean_most_of_the_time(crossed):
    hits = 0
    for seed in range(20):
        (X, y), (X_cal, y_cal), (new, labels) = (make_rows(200, 3 * seed + i) for i in range(3))
        model = regressor(n_components=1, knots=0, refine=False)
        detector = DriftDetector(model, random_state=0, cv=2)
        detector = detector.fit(X, y) if crossed else detector.fit(X, y, X_cal=X_cal, y_cal=y_cal)
        estimate = detector.estimate_loss(new)
        hits += estimate.mean_lower <= squares(detector.estimator_, new, labels).mean() <= estimate.mean_upper
    assert hits >= 15


def test_the_interval_of_a_batch_narrows_with_its_size_but_not_below_that_of_the_calibration():
    detector, (X, _) = calibrated(REGRESSOR, n_cal=300), make_rows(100_000, seed=2)
    widths = []
    for n in (100, 1000, 100_000):
        estimate = detector.estimate_loss(X[:n])
        widths.append((estimate.mean_upper - estimate.mean_lower) / estimate.mean)
    assert widths[1] < widths[0]
    assert widths[2] > 0.1


@pytest.mark.parametrize(
    ("estimator", "degree"),
    [
        (REGRESSOR, 2),
        (regressor(loss="huber", huber_delta=0.3), 2),
        (regressor(loss="quantile", knots=0), 1),  # with knots, rounding decides between minima
        (LinearRegression(), 2),
    ],
)
def test_the_estimate_is_in_the_units_of_the_labels(estimator, degree):
    X = np.vstack([make_rows(20, seed=2)[0], 5 * np.eye(4)])
    plain, scaled = (calibrated(estimator, n_cal=300, scale=scale).estimate_loss(X) for scale in (1, 1000))
    for part in ("losses", "lower", "upper"):
        expected = 1000**degree * getattr(plain, part)
        np.testing.assert_allclose(getattr(scaled, part), expected, rtol=1e-3, atol=1e-9 * expected.max())
    for part in ("mean", "mean_lower", "mean_upper"):
        assert getattr(scaled, part) == pytest.approx(1000**degree * getattr(plain, part), rel=1e-3)


def test_far_out_the_squared_error_is_that_of_an_error_uniform_up_to_the_distance():
    detector = calibrated(regressor(knots=0))
    far, farther = at(0, 1000.0), at(0, 3000.0)
    estimates = [detector.estimate_loss(rows) for rows in (far, farther)]
    phi = detector.estimator_.transform
    distances = [np.sort(np.abs(phi(rows) - phi(make_rows()[0])).sum(axis=1))[4] for rows in (far, farther)]
    rise = distances[1] ** 2 - distances[0] ** 2
    assert np.diff([estimate.losses[0] for estimate in estimates]) == pytest.approx(rise / 3, rel=1e-3)
    assert np.diff([estimate.upper[0] for estimate in estimates]) == pytest.approx(rise, rel=1e-3)
    assert estimates[0].lower[0] == pytest.approx(estimates[1].lower[0])


@pytest.mark.parametrize("estimator", [regressor(), LinearRegression()])
def test_an_error_far_out_counts_once_however_many_targets_share_it(estimator):
    (X, y), far, estimator = make_rows(), at(0, 1000.0), without_knots(estimator)
    one, two = (
        DriftDetector(estimator, surrogate=regressor()).fit(X, Y, X_cal=-X, y_cal=Y)
        for Y in (y, np.column_stack([y, y]))
    )
    # Twice the distance, of which one of the two targets is charged with all: the most that it can be.
    distances = [np.sqrt(3 * detector.estimate_loss(far).mean) for detector in (one, two)]
    assert distances[1] == pytest.approx(np.sqrt(2) * distances[0], rel=0.1)


def test_far_out_the_loss_of_classes_grows_by_half_the_distance_shared_by_the_classes():
    detector = calibrated(classifier(), three_classes)
    far, farther = at(0, 1000.0), at(0, 3000.0)
    phi = detector.estimator_.transform
    distances = [np.sort(np.abs(phi(rows) - phi(make_rows()[0])).sum(axis=1))[4] for rows in (far, farther)]
    losses = [detector.estimate_loss(rows).mean for rows in (far, farther)]
    assert np.diff(losses) == pytest.approx(np.diff(distances) / 2 / 3, rel=1e-6)


def test_the_lower_end_stays_below_where_most_rows_lose_more_than_the_mean():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.choice([-1.0, 0.0, 1.0], 400, p=[0.4, 0.2, 0.4])
    detector = DriftDetector(regressor(n_components=1)).fit(X[:200], y[:200], X_cal=X[200:], y_cal=y[200:])
    estimate = detector.estimate_loss(X, confidence=0.05)
    assert (estimate.lower <= estimate.losses).all()


def test_a_perfect_model_is_expected_to_lose_nothing_inside_the_data():
    X, _ = make_rows()
    y = np.ones(300)
    estimate = DriftDetector(regressor(), random_state=0).fit(X, y).estimate_loss(X)
    assert not estimate.losses.any()
    assert (estimate.mean, estimate.mean_lower, estimate.mean_upper) == (0, 0, 0)


def test_one_row_is_a_batch():
    detector, (X, _) = calibrated(REGRESSOR), make_rows(seed=2)
    one, all_rows = detector.estimate_loss(X[7:8]), detector.estimate_loss(X)
    assert one.losses.shape == one.lower.shape == one.upper.shape == (1,)
    assert one.mean == pytest.approx(all_rows.losses[7])
    assert one.mean_lower <= one.mean <= one.mean_upper


def test_the_frame_has_a_row_a_row():
    detector, (X, _) = calibrated(REGRESSOR), make_rows(5, seed=2)
    estimate = detector.estimate_loss(X)
    frame = estimate.to_frame()
    assert list(frame.columns) == ["loss", "lower", "upper"]
    np.testing.assert_array_equal(frame["loss"], estimate.losses)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.1, float("nan"), "high"])
def test_a_confidence_out_of_range_is_refused(confidence):
    detector, (X, _) = calibrated(REGRESSOR, n_cal=20), make_rows(5)
    with pytest.raises(ValueError, match=f"confidence must be a number between 0 and 1, got {confidence!r}"):
        detector.estimate_loss(X, confidence=confidence)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_far_off_the_data_who_guesses_is_expected_no_worse_than_that(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=500), [0.0] if n_classes == 2 else [-1.0, 0.0, 1.0])
    model = GBMAPClassifier(4, random_state=0).fit(X[:250], y[:250])
    found = DriftDetector(model).fit(X[:250], y[:250], X_cal=X[250:], y_cal=y[250:])
    near, far = (found.estimate_loss(rows).metrics["accuracy"] for rows in (X[250:], 1000 * X))
    assert 1 / n_classes - 1e-9 <= far[0] < near[0]
    assert far[1] < 0.1  # nor is it known to be better than always wrong
    assert far[1] <= far[0] <= far[2]
