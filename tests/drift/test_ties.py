"""Rows that tie, as those of discrete tables do, are told the same alone and among others, to rounding."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap._core.ensemble import Ensemble
from gbmap.drift import EuclideanDetector, _neighbours
from gbmap.drift._places import Places, level_ties

EPS = np.finfo(float).eps


def make_rows(n, seed=0, n_columns=4):
    """Return rows of few kinds, and labels that differ among rows of one kind."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(n, n_columns)).astype(float)
    return X, X[:, 0] ** 2 + X[:, 1] + rng.normal(size=n)


def classes(y):
    return (y > 2).astype(int)


def shake(X):
    """Return numbers moved by an ulp or none, as their position among others has it."""
    return X * (1 + EPS * (np.arange(len(X)) % 3 - 1)[:, None])


class ShakyScaler(StandardScaler):
    """A step whose results depend on the batch in the last bit, as those of a matrix product do."""

    def transform(self, X):
        return shake(super().transform(X))


@pytest.fixture(scope="module", params=["as it is", "shaken"])
def arithmetic(request):
    """Let BLAS be one that rounds as the shape of a batch has it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "shaken":
            project = Ensemble.project
            patch.setattr(Ensemble, "project", lambda self, X: shake(project(self, X)))
        yield


@pytest.fixture(scope="module")
def detectors(arithmetic):
    X, y = make_rows(300)
    X_cal, y_cal = make_rows(150, seed=1)
    of_classes = (X, classes(y)), {"X_cal": X_cal, "y_cal": classes(y_cal)}
    of_numbers = (X, y), {"X_cal": X_cal, "y_cal": y_cal}
    regressor, classifier = GBMAPRegressor(4, random_state=0), GBMAPClassifier(4, random_state=0)
    return [
        detector.fit(*rows, **calibration)
        for detector, (rows, calibration) in (
            (DriftDetector(classifier), of_classes),
            (DriftDetector(classifier, distance_weight=1.0), of_classes),
            (DriftDetector(regressor), of_numbers),
            (DriftDetector(regressor, algorithm="brute", n_neighbors=60), of_numbers),
            (DriftDetector(LogisticRegression(), surrogate=regressor), of_classes),
            (DriftDetector(make_pipeline(ShakyScaler(), classifier)), of_classes),
        )
    ]


def test_alarms_and_p_values_of_a_row_do_not_depend_on_the_rows_beside_it(detectors):
    new, _ = make_rows(100, seed=2)
    few = new[:3]

    def alone(method):
        return np.concatenate([method(row[None]) for row in few])

    for detector in detectors:
        for quantile in (0.3, 0.95):
            detector.set_threshold(quantile=quantile)
            labels = alone(detector.predict)
            for rows in (few, new):
                np.testing.assert_array_equal(detector.predict(rows)[:3], labels)
                np.testing.assert_array_equal(detector.decision_function(rows)[:3] < 0, labels == -1)
            assert detector.assess(few).share_over_threshold == (labels == -1).mean()
        for rows in (few, new):
            np.testing.assert_array_equal(detector.p_values(rows)[:3], alone(detector.p_values))
            np.testing.assert_allclose(detector.indicator(rows)[:3], alone(detector.indicator), atol=1e-10)


def test_explanations_and_expected_losses_of_a_row_do_not_depend_on_the_rows_beside_it(detectors):
    new, _ = make_rows(30, seed=2)
    for detector in detectors:
        together, expected = detector.explain(new), detector.estimate_loss(new).losses
        for row in (0, 12, 24):
            alone = detector.explain(new[row : row + 1])
            for part in ("values", "extrapolation", "misfit", "remainder", "differences"):
                np.testing.assert_allclose(getattr(alone, part)[0], getattr(together, part)[row], atol=1e-9)
            assert detector.estimate_loss(new[row : row + 1]).losses[0] == pytest.approx(expected[row])


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
@pytest.mark.parametrize("k", [1, 5, 60, 300])
def test_rows_that_tie_for_the_last_place_share_it(algorithm, k):
    X, y = make_rows(300)
    new, model = make_rows(50, seed=2)[0], GBMAPRegressor(4, random_state=0).fit(X, y)
    expected = []
    for distances in cdist(model.transform(new), model.transform(X), "cityblock"):
        last = np.sort(distances)[k - 1]
        is_closer, is_tied = distances < last - 1e-9, np.abs(distances - last) < 1e-9
        expected.append((y[is_closer].sum() + (k - is_closer.sum()) * y[is_tied].mean()) / k)
    indicator = DriftDetector(model, k, algorithm=algorithm, distance_weight=0).fit(X, y).indicator(new)
    np.testing.assert_allclose(indicator, np.abs(model.predict(new) - expected), atol=1e-9)


def test_places_at_one_distance_tie_though_rounding_tells_them_apart(arithmetic):
    X, y = np.repeat(np.arange(-3.0, 4), 2)[:, None] / 7, np.arange(14.0) ** 2
    model = GBMAPRegressor(1, activation="identity", knots=0, random_state=0).fit(X, y)
    detector = DriftDetector(model, n_neighbors=3).fit(X, y)
    # The third neighbour is any of four rows, two on either side.
    near = np.array([(y[4] + y[5] + y[[2, 3, 6, 7]].mean()) / 3, (y[6] + y[7] + y[[4, 5, 8, 9]].mean()) / 3])
    differences = detector.explain(np.array([[-1 / 7], [0.0]])).differences
    np.testing.assert_allclose(differences, model.predict([[-1 / 7], [0.0]]) - near)


def test_explanations_add_up_where_rows_tie(detectors):
    new, _ = make_rows(30, seed=2)
    for detector in detectors:
        reasons = detector.explain(new)
        np.testing.assert_allclose(np.abs(reasons.differences), detector._measure(new).differences, atol=1e-9)
        np.testing.assert_allclose(
            reasons.values.sum(axis=1) + reasons.misfit + reasons.remainder, reasons.differences, atol=1e-9
        )


def test_rows_that_tie_in_numbers_are_found_some_at_a_time(monkeypatch):
    X, y = make_rows(300)
    new, model = make_rows(50, seed=2)[0], GBMAPRegressor(4, random_state=0).fit(X, y)
    expected = DriftDetector(model).fit(X, y).indicator(new)
    # As if no two rows were at one place, and with many searches.
    monkeypatch.setattr(_neighbours, "_WORK_NUMBERS", 50)
    apart = Places(np.arange(300), np.arange(300), np.ones(300, dtype=int))
    monkeypatch.setattr(Places, "of", lambda *_: apart)
    np.testing.assert_allclose(DriftDetector(model).fit(X, y).indicator(new), expected, atol=1e-9)


def test_new_rows_of_a_discrete_table_raise_no_more_alarms_than_set(arithmetic):
    X, y = make_rows(1000, n_columns=3)
    X_cal, y_cal = make_rows(500, seed=1, n_columns=3)
    new, _ = make_rows(300, seed=2, n_columns=3)
    detector = DriftDetector(GBMAPClassifier(4, random_state=0))
    detector.fit(X, classes(y), X_cal=X_cal, y_cal=classes(y_cal))
    assert detector.indicator(new).max() < 1e-10  # each kind of row has five neighbours of its kind
    assert (detector.predict(new) == 1).all()
    assert (detector.p_values(new) == 1).all()
    assert detector.assess(new).share_over_threshold == 0


def test_a_tolerated_loss_takes_rows_that_tie_together(arithmetic):
    X, y = make_rows(1000, n_columns=3)
    X_cal, y_cal = make_rows(500, seed=1, n_columns=3)
    model = GBMAPClassifier(4, random_state=0).fit(X, classes(y))
    detector = DriftDetector(model).fit(X, classes(y), X_cal=X_cal, y_cal=classes(y_cal))
    mean = np.logaddexp(0, -(2 * classes(y_cal) - 1) * model.decision_function(X_cal)).mean()
    with pytest.raises(ValueError, match="tolerated_loss must be at least"):
        detector.set_threshold(tolerated_loss=0.99 * mean)
    assert (detector.set_threshold(tolerated_loss=1.01 * mean).predict(X_cal) == 1).all()
    np.testing.assert_allclose(detector.estimate_loss(X_cal[:20]).losses, mean)


def test_numbers_equal_up_to_rounding_become_the_lowest_of_them():
    values = np.array([3.0, 1.0 + 1e-9, 2.0, 1.0, 3.0 - 1e-9, 7.0])
    leveled = level_ties(values, 1e-8)
    np.testing.assert_array_equal(leveled, [3.0 - 1e-9, 1.0, 2.0, 1.0, 3.0 - 1e-9, 7.0])
    np.testing.assert_array_equal(level_ties(values, 0.0), values)
    np.testing.assert_array_equal(level_ties(np.arange(6) / 4, 0.5), [0, 0, 0.5, 0.5, 1, 1])  # one long chain


def test_the_baseline_tells_rows_the_same_alone_and_among_others():
    for n_columns in (4, 20):  # by a tree, and by products of all pairs if scikit-learn had its way
        X, _ = make_rows(200, n_columns=n_columns)
        X = np.vstack([X, X, X, X, X, X]) * 1e3 + 1e5
        detector = EuclideanDetector(random_state=0).fit(X)
        new = X[:200]
        together = detector.predict(new)
        np.testing.assert_array_equal(
            np.concatenate([detector.predict(row[None]) for row in new[:50]]), together[:50]
        )
        assert detector.indicator(new).max() == 0
        assert (together == 1).all()


def test_the_baseline_raises_no_alarm_at_the_threshold_itself():
    X = (np.arange(40.0) % 10)[:, None] / 7  # four rows of each kind, so that the fifth is a step away
    detector = EuclideanDetector(random_state=0).fit(X)
    assert np.ptp(detector.indicator(X)) > 0  # a step is one up to rounding only
    assert (detector.predict(X) == 1).all()


class Index:
    """A search as coarse as pynndescent's: in float32, with some places missed, and in no order."""

    def __init__(self, points, *, metric, random_state, n_jobs):
        assert (metric, random_state) == ("manhattan", 0)
        self.given = points.astype(np.float32)

    def prepare(self):
        self.points = self.given

    def query(self, queries, k):
        distances = cdist(queries.astype(np.float32), self.points, "cityblock").astype(np.float32)
        distances[np.round(1e3 * np.abs(queries).sum(axis=1)) % 20 == 0, ::2] = np.inf
        places = np.argsort(distances, axis=1, kind="stable")[:, k - 1 :: -1]
        return places, np.take_along_axis(distances, places, axis=1)


@pytest.fixture(params=["stand-in", pytest.param("pynndescent", marks=pytest.mark.nightly)])
def approximate_search(request, monkeypatch):
    """The package that searches approximately: the real one, or something that is used as it is."""
    if request.param == "stand-in":
        monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=Index))
    else:
        pytest.importorskip("pynndescent")


@pytest.mark.usefixtures("approximate_search")
def test_an_approximate_search_finds_most_neighbours_and_the_same_for_a_row_in_any_batch():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(1500, 3)), rng.integers(2, size=(60, 3))])
    y = X[:, 0] ** 2 + X[:, 1] + rng.normal(size=len(X))
    model = GBMAPRegressor(3, random_state=0).fit(X, y)
    exact, found = (
        DriftDetector(model, algorithm=algorithm).fit(X, y) for algorithm in ("kd_tree", "approximate")
    )
    new = np.vstack([X[-20:], rng.normal(size=(500, 3))])
    together = found.indicator(new)
    assert (np.abs(together - exact.indicator(new)) < 1e-9).mean() > 0.9
    alone = np.concatenate([found.indicator(row[None]) for row in new[:30]])
    np.testing.assert_allclose(alone, together[:30], atol=1e-9)


def test_among_few_rows_an_approximate_search_is_exact():
    X, y = make_rows(60)
    model = GBMAPRegressor(2, random_state=0).fit(X, y)
    exact, found = (
        DriftDetector(model, algorithm=algorithm).fit(X, y).indicator(X)
        for algorithm in ("kd_tree", "approximate")
    )
    np.testing.assert_array_equal(found, exact)
