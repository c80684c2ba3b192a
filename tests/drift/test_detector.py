"""The drift detector: its indicator, with and without the distance added, for every kind of model watched."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import gbmap
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.drift import _drifter, _monitored


def regressor(**settings):
    return GBMAPRegressor(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0} | settings)


def classifier(**settings):
    return GBMAPClassifier(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0} | settings)


def make_rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] ** 2 + np.abs(X[:, 1]) + 0.1 * rng.normal(size=n)


def make_classes(n=200, n_classes=2, seed=0):
    X, y = make_rows(n, seed)
    noisy = y + np.random.default_rng(seed + 1).normal(size=n)
    return X, np.searchsorted(np.quantile(noisy, np.arange(1, n_classes) / n_classes), noisy)


def make_frame(n=200, seed=0):
    X, _ = make_rows(n, seed)
    kind = np.random.default_rng(seed + 1).choice(["red", "green", "blue"], n)
    frame = pd.DataFrame({"size": X[:, 0], "kind": kind, "age": 40 + 9 * X[:, 1]})
    return frame, X[:, 0] ** 2 + 2.0 * (kind == "red")


def through_columns(final):
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["size", "age"])), final
    )


def mean_of_neighbours(embedding, X, values, new, k):
    """Return f_kNN, the mean of the values of the k nearest rows, and the distance to the k-th."""
    index = NearestNeighbors(n_neighbors=k, metric="manhattan", algorithm="brute").fit(embedding.transform(X))
    distances, positions = index.kneighbors(embedding.transform(new))
    return values[positions].mean(axis=1), distances[:, -1]


def log_odds(probabilities):
    return np.log(probabilities / (1 - probabilities))


# The indicator


@pytest.mark.parametrize("k", [1, 5, 200])
def test_for_numbers_the_indicator_is_the_distance_to_the_mean_label_of_the_neighbours(k):
    X, y = make_rows()
    new = make_rows(seed=1)[0] * 2
    model = regressor().fit(X, y)
    mean, _ = mean_of_neighbours(model, X, y, new, k)
    indicator = DriftDetector(model, n_neighbors=k, distance_weight=0).fit(X, y).indicator(new)
    np.testing.assert_allclose(indicator, np.abs(model.predict(new) - mean), rtol=1e-9, atol=1e-9)
    if k == 200:
        np.testing.assert_allclose(mean, y.mean())


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge"])
def test_for_two_classes_the_indicator_is_the_distance_to_the_mean_score_of_the_neighbours(loss):
    X, y = make_classes()
    new = make_rows(seed=1)[0] * 2
    model = classifier(loss=loss).fit(X, y)
    mean, _ = mean_of_neighbours(model, X, model.decision_function(X), new, 5)
    indicator = DriftDetector(model, distance_weight=0).fit(X, y).indicator(new)
    np.testing.assert_allclose(indicator, np.abs(model.decision_function(new) - mean), rtol=1e-9, atol=1e-9)


def test_the_indicators_of_several_classes_are_summed():
    X, y = make_classes(n_classes=3)
    new = make_rows(seed=1)[0] * 2
    model = classifier().fit(X, np.array(["low", "mid", "top"])[y])
    mean, _ = mean_of_neighbours(model, X, model.decision_function(X), new, 5)
    indicator = DriftDetector(model, distance_weight=0).fit(X, model.classes_[y]).indicator(new)
    expected = np.abs(model.decision_function(new) - mean).sum(axis=1)
    np.testing.assert_allclose(indicator, expected, rtol=1e-9, atol=1e-9)


def test_the_indicators_of_several_targets_are_summed():
    X, y = make_rows()
    Y, new = np.column_stack([y, 10 * X[:, 2], y - X[:, 3]]), make_rows(seed=1)[0] * 2
    model = regressor().fit(X, Y)
    mean, _ = mean_of_neighbours(model, X, Y, new, 5)
    indicator = DriftDetector(model, distance_weight=0).fit(X, Y).indicator(new)
    np.testing.assert_allclose(indicator, np.abs(model.predict(new) - mean).sum(axis=1), rtol=1e-9, atol=1e-9)


def test_with_an_initial_model_the_rest_of_the_prediction_meets_the_rest_of_the_labels():
    X, y = make_rows()
    y, new = y + 5 * X[:, 2], make_rows(seed=1)[0] * 2
    model = regressor(init=LinearRegression()).fit(X, y)
    first = model.init_.predict
    mean, _ = mean_of_neighbours(model, X, y - first(X), new, 5)
    indicator = DriftDetector(model, distance_weight=0).fit(X, y).indicator(new)
    np.testing.assert_allclose(
        indicator, np.abs(model.predict(new) - first(new) - mean), rtol=1e-8, atol=1e-8
    )


def test_with_an_initial_classifier_scores_less_its_scores_meet():
    X, y = make_classes()
    new = make_rows(seed=1)[0] * 2
    model = classifier(init=LogisticRegression()).fit(X, y)

    def rest(rows):
        return model.decision_function(rows) - model.init_.decision_function(rows)

    mean, _ = mean_of_neighbours(model, X, rest(X), new, 5)
    indicator = DriftDetector(model, distance_weight=0).fit(X, y).indicator(new)
    np.testing.assert_allclose(indicator, np.abs(rest(new) - mean), rtol=1e-6, atol=1e-6)


def test_a_foreign_regressor_meets_the_labels_in_the_embedding_of_a_gbmap_fitted_to_it():
    X, y = make_rows()
    new = make_rows(seed=1)[0] * 2
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(X, y)
    mean, _ = mean_of_neighbours(regressor().fit(X, model.predict(X)), X, y, new, 5)
    indicator = DriftDetector(model, surrogate=regressor(), distance_weight=0).fit(X, y).indicator(new)
    np.testing.assert_allclose(indicator, np.abs(model.predict(new) - mean), rtol=1e-9, atol=1e-9)


def test_a_foreign_regressor_of_several_targets_is_summed_too():
    X, y = make_rows()
    Y, new = np.column_stack([y, X[:, 2]]), make_rows(seed=1)[0]
    model = LinearRegression().fit(X, Y)
    mean, _ = mean_of_neighbours(regressor().fit(X, model.predict(X)), X, Y, new, 5)
    indicator = DriftDetector(model, surrogate=regressor(), distance_weight=0).fit(X, Y).indicator(new)
    np.testing.assert_allclose(indicator, np.abs(model.predict(new) - mean).sum(axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_foreign_classifier_meets_its_own_log_odds(n_classes):
    X, y = make_classes(n_classes=n_classes)
    new = make_rows(seed=1)[0]
    model = LogisticRegression().fit(X, y)

    def score(rows):
        p = model.predict_proba(rows)
        return log_odds(p) if n_classes == 3 else log_odds(p[:, 1])

    mean, _ = mean_of_neighbours(regressor().fit(X, score(X)), X, score(X), new, 5)
    difference = np.abs(score(new) - mean).reshape(len(new), -1).sum(axis=1)
    detector = DriftDetector(model, surrogate=regressor(), distance_weight=0).fit(X, y)
    np.testing.assert_allclose(detector.indicator(new), difference, rtol=1e-9, atol=1e-9)


def test_a_foreign_classifier_without_probabilities_is_taken_by_its_decision_function():
    X, y = make_classes()
    model = RidgeClassifier().fit(X, y)
    score = model.decision_function(X)
    mean, _ = mean_of_neighbours(regressor().fit(X, score), X, score, X, 5)
    indicator = DriftDetector(model, surrogate=regressor(), distance_weight=0).fit(X, y).indicator(X)
    np.testing.assert_allclose(indicator, np.abs(score - mean), rtol=1e-9, atol=1e-9)


def test_distance_weight_adds_so_many_times_the_distance_to_the_last_neighbour():
    X, y = make_rows()
    new = make_rows(seed=1)[0] * 2
    model = regressor().fit(X, y)
    plain = DriftDetector(model, distance_weight=0).fit(X, y).indicator(new)
    _, distance = mean_of_neighbours(model, X, y, new, 5)
    weighted = DriftDetector(model, distance_weight=0.7).fit(X, y).indicator(new)
    np.testing.assert_allclose(weighted, plain + 0.7 * distance, rtol=1e-9, atol=1e-9)


def test_by_default_the_indicator_adds_the_distance_to_the_last_neighbour_once():
    X, y = make_rows()
    new = make_rows(seed=1)[0] * 2
    model = regressor().fit(X, y)
    mean, distance = mean_of_neighbours(model, X, y, new, 5)
    detector = DriftDetector(model).fit(X, y, X_cal=-X, y_cal=y)
    expected = np.abs(model.predict(new) - mean) + distance
    np.testing.assert_allclose(detector.indicator(new), expected, rtol=1e-9, atol=1e-9)
    of_calibration, distance = mean_of_neighbours(model, X, y, -X, 5)
    levels = np.abs(model.predict(-X) - of_calibration) + distance
    np.testing.assert_allclose(detector.threshold_, np.sort(levels)[-10], rtol=1e-9)
    assert detector.get_params()["distance_weight"] is None
    assert clone(detector).distance_weight is None


def test_a_weight_that_is_given_is_kept_in_a_file(tmp_path):
    X, y = make_rows()
    new = make_rows(seed=1)[0] * 2
    for weight in (0.0, 1.0, None):
        detector = DriftDetector(regressor(), distance_weight=weight, random_state=0)
        detector.fit(X, y, X_cal=new, y_cal=y)
        gbmap.save(detector, tmp_path / "detector.gbmap")
        loaded = gbmap.load(tmp_path / "detector.gbmap")
        assert loaded.distance_weight == weight
        np.testing.assert_array_equal(loaded.indicator(new), detector.indicator(new))


def test_scores_and_labels_mean_what_they_do_in_scikit_learns_outlier_detectors():
    X, y = make_rows()
    detector = DriftDetector(regressor(), random_state=0).fit(X, y)
    new = make_rows(seed=1)[0] * 2
    indicator, decision = detector.indicator(new), detector.decision_function(new)
    np.testing.assert_array_equal(detector.score_samples(new), -indicator)
    np.testing.assert_array_equal(decision, detector.score_samples(new) - detector.offset_)
    np.testing.assert_array_equal(detector.predict(new), np.where(indicator > detector.threshold_, -1, 1))
    assert set(detector.predict(new)) == {-1, 1}


def test_one_measurement_tells_all_of_a_row_that_is_known():
    X, y = make_rows()
    new, model = make_rows(seed=1)[0] * 2, regressor().fit(X, y)
    detector = DriftDetector(model).fit(X, y)
    assert (detector.alarms(new)["p_value"], detector.alarms(new)["is_alarm"]) == (None, None)
    detector.set_threshold(0.5)
    found = detector.alarms(new)
    assert found["p_value"] is None
    np.testing.assert_array_equal(found["is_alarm"], detector.predict(new) == -1)
    detector.fit(X[::2], y[::2], X_cal=X[1::2], y_cal=y[1::2])
    found = detector.alarms(new)
    np.testing.assert_array_equal(found["indicator"], detector.indicator(new))
    np.testing.assert_array_equal(found["p_value"], detector.p_values(new))


def test_rows_that_move_along_an_irrelevant_column_raise_no_alarm_but_along_a_relevant_one_they_do():
    X, y = make_rows(600)
    detector = DriftDetector(regressor(l2_regularization=0.1), random_state=0).fit(X, y)
    new, _ = make_rows(300, seed=1)
    still = (detector.predict(new) == -1).mean()
    irrelevant, relevant = (
        (detector.predict(new + 6.0 * np.eye(4)[column]) == -1).mean() for column in (3, 0)
    )
    assert irrelevant < still + 0.06
    assert relevant > 0.95


# Kinds of estimators


def test_the_estimator_given_is_neither_fitted_nor_changed():
    X, y = make_rows()
    model = regressor()
    detector = DriftDetector(model, random_state=0).fit(X, y)
    assert detector.estimator is model
    assert not hasattr(model, "ensemble_")
    np.testing.assert_array_equal(detector.estimator_.predict(X), regressor().fit(X, y).predict(X))


def test_a_fitted_estimator_is_used_as_it_is():
    X, y = make_rows()
    model = regressor().fit(X, y)
    detector = DriftDetector(model).fit(*make_rows(seed=1))
    assert detector.estimator_ is model


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.linspace(0, 1, 60), GBMAPRegressor),
        (np.arange(60), GBMAPRegressor),
        (np.arange(60.0) % 50, GBMAPRegressor),
        (np.linspace(0, 1, 120).reshape(60, 2), GBMAPRegressor),
        (np.column_stack([np.arange(60) % 2, np.arange(60) % 3]), GBMAPRegressor),
        (np.tile([0.5, 1.5], 30), GBMAPRegressor),
        (np.tile([0, 1], 30), GBMAPClassifier),
        (np.tile([0.0, 1.0, 2.0], 20), GBMAPClassifier),
        (np.tile([True, False], 30), GBMAPClassifier),
        (np.tile(["yes", "no"], 30), GBMAPClassifier),
    ],
)
def test_without_an_estimator_the_labels_say_whether_to_take_a_regressor(y, kind):
    X, _ = make_rows(60)
    detector = DriftDetector(random_state=0, cv=2)
    detector = detector.fit(X, y, X_cal=-X[:5], y_cal=y[:5])  # X_cal saves the cross-fitting
    assert type(detector.estimator_) is kind


@pytest.mark.parametrize(("n_kinds", "kind"), [(6, GBMAPClassifier), (7, GBMAPRegressor)])
def test_whole_numbers_that_hardly_repeat_are_no_classes(n_kinds, kind):
    X, _ = make_rows(12)
    y = np.arange(12) % n_kinds
    detector = DriftDetector(random_state=0).fit(X, y, X_cal=-X[:1], y_cal=y[:1])
    assert type(detector.estimator_) is kind


def test_whole_numbers_of_many_kinds_are_no_classes():
    X, y = load_diabetes(return_X_y=True)
    assert (y == np.round(y)).all()
    detector = DriftDetector(random_state=0).fit(X, y, X_cal=-X[:5], y_cal=y[:5])
    assert isinstance(detector.estimator_, GBMAPRegressor)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_pipeline_reads_frames_with_text(kind):
    frame, y = make_frame()
    X = kind(frame.to_dict("list"))
    detector = DriftDetector(through_columns(regressor()), random_state=0, distance_weight=0).fit(X, y)
    model = through_columns(regressor()).fit(X, y)
    mean, _ = mean_of_neighbours(model, X, y, X, 5)
    np.testing.assert_allclose(detector.indicator(X), np.abs(model.predict(X) - mean), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(detector.estimator_.predict(X), model.predict(X))
    assert list(detector.feature_names_in_) == ["size", "kind", "age"]
    made = FittedModel.of(model).inputs.of(model[:-1].transform(X))
    np.testing.assert_array_equal(detector.reference_inputs_, made)


def test_a_detector_that_is_not_fitted_has_no_reference_rows():
    assert not hasattr(DriftDetector(), "reference_inputs_")


def test_labels_may_be_series():
    X, y = make_rows(60)
    expected = DriftDetector(regressor(), random_state=0, cv=2).fit(X, y).threshold_
    for series in (pd.Series(y, index=np.arange(60)[::-1]), pl.Series(y), list(y), y[:, None]):
        assert DriftDetector(regressor(), random_state=0, cv=2).fit(X, series).threshold_ == expected


def test_sparse_rows_have_the_indicator_of_dense_ones():
    X, y = make_rows()
    X = X * (np.abs(X) > 0.6)
    dense = DriftDetector(regressor(), random_state=0).fit(X, y)
    sparse = DriftDetector(dense.estimator_).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.indicator(scipy.sparse.csr_array(X)), dense.indicator(X), atol=1e-9)


def test_a_search_is_watched_as_its_best_model():
    X, y = make_rows()
    search = GridSearchCV(regressor(), {"n_components": [1, 3]}, cv=2)
    detector = DriftDetector(search, random_state=0).fit(X, y)
    assert isinstance(detector.estimator_, GridSearchCV)
    best = DriftDetector(detector.estimator_.best_estimator_).fit(X, y)
    np.testing.assert_array_equal(detector.indicator(X), best.indicator(X))
    assert detector.calibration_size_ == len(X)


def test_a_frozen_estimator_survives_cloning_the_detector():
    X, y = make_rows()
    model = regressor().fit(X, y)
    detector = clone(DriftDetector(FrozenEstimator(model))).fit(X, y)
    np.testing.assert_array_equal(detector.indicator(X), DriftDetector(model).fit(X, y).indicator(X))
    assert detector.calibration_size_ == 0


def test_a_frozen_estimator_that_is_not_fitted_is_refused_not_fitted():
    X, y = make_rows()
    with pytest.raises(NotFittedError, match="FrozenEstimator"):
        DriftDetector(FrozenEstimator(regressor())).fit(X, y)


def test_an_unfitted_foreign_model_is_fitted_and_calibrated():
    X, y = make_classes()
    detector = DriftDetector(LogisticRegression(), surrogate=regressor(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(detector.estimator_.coef_, LogisticRegression().fit(X, y).coef_)
    assert detector.calibration_size_ == len(X)
    assert set(detector.predict(X * 8)) == {-1, 1}


def test_faithfulness_says_how_well_the_gbmap_follows_a_foreign_model():
    X, y = make_rows()
    new, labels = make_rows(seed=1)
    linear = DriftDetector(LinearRegression(), surrogate=regressor()).fit(X, y, X_cal=new, y_cal=labels)
    assert linear.faithfulness_ > 0.99
    model = DecisionTreeRegressor(random_state=0).fit(X, np.sin(9 * X[:, 0]))
    poor = DriftDetector(model, surrogate=regressor(n_components=1)).fit(X, y, X_cal=new, y_cal=labels)
    surrogate, score = regressor(n_components=1).fit(X, model.predict(X)), model.predict(new)
    unexplained = ((score - surrogate.predict(new)) ** 2).mean() / score.var()
    assert poor.faithfulness_ == pytest.approx(1 - unexplained)
    assert poor.faithfulness_ < 0.3
    assert DriftDetector(regressor(), random_state=0).fit(X, y).faithfulness_ is None


def test_without_a_surrogate_a_foreign_model_gets_the_same_gbmap_each_time():
    X, y = make_rows(100)
    model = LinearRegression().fit(X, y)
    first, second = (DriftDetector(model).fit(X, y).indicator(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_surrogate_may_be_a_pipeline_that_prepares_rows():
    X, y = make_rows()
    X[::7, 2] = np.nan
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)  # which reads missing values
    surrogate = make_pipeline(SimpleImputer(), regressor())
    assert np.isfinite(DriftDetector(model, surrogate=surrogate).fit(X, y).indicator(X)).all()


def test_a_foreign_model_whose_rows_no_gbmap_reads_asks_for_a_surrogate():
    frame, y = make_frame()
    frame["day"] = pd.date_range("2020", periods=len(frame))
    with pytest.raises(ValueError, match=r"column 'day' is of type Datetime.* Pass `surrogate`"):
        DriftDetector(through_columns(LinearRegression()), surrogate=regressor()).fit(frame, y)


class Wrapped(RegressorMixin, BaseEstimator):
    """A model made elsewhere, which scikit-learn only knows by this class."""

    def fit(self, X, y):
        raise AssertionError("it is fitted already")

    def predict(self, X):
        return X[:, 0] ** 2

    def __sklearn_is_fitted__(self):
        return True


def test_a_model_made_elsewhere_is_watched_through_a_class_of_ones_own():
    X, y = make_rows()
    detector = DriftDetector(Wrapped(), surrogate=regressor()).fit(X, y)
    far = np.array([[0.0, 0, 0, 0], [6.0, 0, 0, 0]])
    assert np.diff(detector.indicator(far)) > 10


# Parameters and state


def test_parameters_are_read_set_and_cloned():
    detector = DriftDetector(regressor(), n_neighbors=7, distance_weight=1.0)
    assert detector.get_params()["estimator__n_components"] == 3
    detector.set_params(estimator__n_components=2, n_neighbors=9)
    copy = clone(detector)
    assert copy.get_params()["estimator__n_components"] == 2
    assert (copy.n_neighbors, copy.distance_weight) == (9, 1.0)
    assert copy.fit(*make_rows()).estimator_.n_components_ == 2


@pytest.mark.parametrize("foreign", [False, True])
def test_a_pickled_detector_gives_the_same_answers(foreign):
    X, y = make_rows()
    estimator = LinearRegression() if foreign else regressor()
    detector = DriftDetector(estimator, surrogate=regressor(), random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(detector))
    new = make_rows(seed=1)[0] * 2
    for method in ("indicator", "predict", "p_values"):
        np.testing.assert_array_equal(getattr(copy, method)(new), getattr(detector, method)(new))
    np.testing.assert_array_equal(copy.explain(new).values, detector.explain(new).values)
    assert copy.estimate_loss(new).mean == detector.estimate_loss(new).mean


@pytest.mark.parametrize("estimator", [None, regressor()])
def test_the_same_random_state_gives_the_same_threshold(estimator):
    X, y = make_rows(60)
    first, second, other = (
        DriftDetector(estimator, random_state=seed, cv=2).fit(X, y).threshold_ for seed in (3, 3, 4)
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_any_number_of_threads_gives_the_same_bits(algorithm):
    X, y = make_rows()
    new = make_rows(3000, seed=1)[0]
    one, two = (
        DriftDetector(regressor(), algorithm=algorithm, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.indicator(new), two.indicator(new))
    assert one.threshold_ == two.threshold_


def test_every_way_to_find_neighbours_finds_the_same():
    X, y = make_rows()
    model, new = regressor().fit(X, y), make_rows(seed=1)[0]
    expected = DriftDetector(model).fit(X, y).indicator(new)
    for algorithm in ("kd_tree", "ball_tree", "brute"):
        found = DriftDetector(model, algorithm=algorithm).fit(X, y).indicator(new)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# What is kept


@pytest.mark.parametrize(
    "kind", [np.asarray, np.asfortranarray, pd.DataFrame, scipy.sparse.csr_array, scipy.sparse.csc_array]
)
@pytest.mark.parametrize("foreign", [False, True])
def test_changing_the_rows_and_labels_that_were_given_changes_nothing(kind, foreign):
    X, y = make_rows(100)
    rows, new = kind(X.copy()), make_rows(20, seed=1)[0]
    model = (LinearRegression() if foreign else regressor()).fit(X, y)
    detector = DriftDetector(model, surrogate=regressor()).fit(rows, y)
    indicator, reasons, shares = (
        detector.indicator(new),
        detector.explain(new),
        detector.assess(new).contributions,
    )
    rows *= 100
    y *= 100
    np.testing.assert_array_equal(detector.indicator(new), indicator)
    np.testing.assert_array_equal(detector.explain(new).values, reasons.values)
    np.testing.assert_array_equal(detector.assess(new).contributions, shares)
    np.testing.assert_allclose(
        reasons.values.sum(axis=1) + reasons.misfit + reasons.remainder, reasons.differences, atol=1e-9
    )


def test_rows_that_are_made_for_the_detector_are_not_copied_once_more():
    X, y = make_rows(100)
    model = make_pipeline(StandardScaler(), regressor(knots=0)).fit(X, y)
    made = []
    scale = model[0].transform
    model[0].transform = lambda rows: made.append(scale(rows)) or made[-1]
    assert DriftDetector(model).fit(X, y)._drifter.inputs is made[0]


@pytest.mark.parametrize(
    "model",
    [
        regressor(),
        make_pipeline(StandardScaler(), regressor()),
        LinearRegression(),
        HistGradientBoostingRegressor(max_iter=5),
    ],
)
def test_a_model_that_was_fitted_again_is_noticed(model):
    X, y = make_rows()
    model = clone(model).fit(X, y)
    X_cal, y_cal = make_rows(seed=1)
    detector = DriftDetector(model, surrogate=regressor()).fit(X, y, X_cal=X_cal, y_cal=y_cal)
    assert (pickle.loads(pickle.dumps(detector)).predict(X_cal) == detector.predict(X_cal)).all()
    model.fit(X, y)  # to the same
    detector.predict(X)
    model.fit(X, 2 * y + 1)
    for ask in (
        detector.predict,
        detector.p_values,
        detector.explain,
        detector.assess,
        detector.estimate_loss,
    ):
        with pytest.raises(ValueError, match="has been fitted again; fit the detector again too"):
            ask(X)
    assert (detector.fit(X, y, X_cal=X_cal, y_cal=y_cal).predict(X_cal) == 1).any()


def test_a_model_that_was_fitted_to_other_columns_is_noticed():
    X, y = make_rows()
    model = regressor().fit(X, y)
    detector = DriftDetector(model).fit(X, y)
    model.fit(X[:, :3], y)
    with pytest.raises(ValueError, match="has been fitted again"):
        detector.indicator(X)


# Many rows


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_many_rows_are_explained_in_bounded_memory_and_as_if_at_once(n_outputs, monkeypatch):
    X, y = make_rows()
    Y = y if n_outputs == 1 else np.column_stack([y, X[:, 2], X[:, 3]])
    detector = DriftDetector(regressor().fit(X, Y)).fit(X, Y)
    rows = make_rows(10_000, seed=1)[0]
    monkeypatch.setattr(_drifter, "_WORK_NUMBERS", 1 << 30)
    at_once = detector.explain(rows)
    monkeypatch.setattr(_drifter, "_WORK_NUMBERS", 1 << 13)
    tracemalloc.start()
    chunked = detector.explain(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for part in ("values", "extrapolation", "misfit", "remainder", "differences"):
        np.testing.assert_allclose(getattr(chunked, part), getattr(at_once, part), rtol=1e-12, atol=1e-12)
    assert peak < 1.5 * 8 * n_outputs * len(rows) * (4 + 4) + 1e6  # the result, and a chunk


def test_many_rows_are_scored_in_bounded_memory_and_as_if_at_once(tmp_path, monkeypatch):
    X, y = make_rows()
    detector = DriftDetector(regressor()).fit(X, y, X_cal=-X[:50], y_cal=y[:50])
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(150_000, 4)))
    rows = np.load(path, mmap_mode="r")
    monkeypatch.setattr(_monitored, "_ROWS_AT_A_TIME", 1 << 20)
    at_once = detector.indicator(np.array(rows))
    monkeypatch.setattr(_monitored, "_ROWS_AT_A_TIME", 1 << 13)
    tracemalloc.start()
    chunked = detector.indicator(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(chunked, at_once, rtol=1e-12, atol=1e-12)
    # Two numbers a row are kept, then joined, while one chunk is at work; neighbours alone would take 12 MB.
    assert peak < 9e6


@pytest.mark.parametrize("kind", [np.asarray, pl.DataFrame, scipy.sparse.csr_array])
def test_chunks_of_every_kind_of_rows_join(kind, monkeypatch):
    X, y = make_rows()
    detector = DriftDetector(regressor().fit(kind(X), y)).fit(kind(X), y)
    expected = detector.indicator(kind(X))
    monkeypatch.setattr(_monitored, "_ROWS_AT_A_TIME", 33)
    np.testing.assert_allclose(detector.indicator(kind(X)), expected, rtol=1e-9, atol=1e-12)


def test_one_row_is_a_batch():
    X, y = make_rows()
    detector = DriftDetector(regressor(), random_state=0).fit(X, y)
    for method in ("indicator", "predict", "p_values", "decision_function"):
        one = getattr(detector, method)(X[3:4])
        assert one.shape == (1,)
        np.testing.assert_allclose(one, getattr(detector, method)(X)[3:4], rtol=1e-9)


# Bad input


def test_more_neighbours_than_rows_are_refused():
    X, y = make_rows()
    with pytest.raises(ValueError, match=r"n_neighbors=201 must be at most .* n_samples=200; fit more rows"):
        DriftDetector(regressor(), n_neighbors=201).fit(X, y)


def test_the_number_of_rows_and_labels_must_agree():
    X, y = make_rows()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DriftDetector(regressor()).fit(X, y[1:])


def test_labels_are_required():
    X, _ = make_rows()
    with pytest.raises(ValueError, match="requires y"):
        DriftDetector(regressor()).fit(X, None)


@pytest.mark.parametrize("method", ["indicator", "predict", "p_values", "estimate_loss", "explain"])
def test_a_detector_that_is_not_fitted_says_so(method):
    with pytest.raises(NotFittedError, match="DriftDetector"):
        getattr(DriftDetector(regressor()), method)(np.zeros((2, 4)))


def test_rows_with_other_columns_are_refused():
    X, y = make_rows()
    with pytest.raises(ValueError, match="X has 3 features, but DriftDetector is expecting 4"):
        DriftDetector(regressor(), random_state=0).fit(X, y).indicator(X[:, :3])
    frame, y = make_frame()
    detector = DriftDetector(through_columns(regressor()), random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- weight"):
        detector.predict(frame.rename(columns={"size": "weight"}))


@pytest.mark.parametrize("make", [regressor, lambda: make_pipeline(SimpleImputer(), regressor())])
def test_missing_values_are_taken_as_the_model_does(make):
    X, y = make_rows()
    X[3, 1] = np.nan
    detector = DriftDetector(make(), random_state=0).fit(X, y)
    assert np.isfinite(detector.indicator(X)).all()


def test_no_rows_are_refused():
    X, y = make_rows()
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        DriftDetector(regressor()).fit(X, y, X_cal=-X, y_cal=y).indicator(X[:0])


@pytest.mark.parametrize("foreign", [False, True])
def test_labels_that_a_fitted_classifier_does_not_know_are_refused(foreign):
    X, y = make_classes()
    model = (LogisticRegression() if foreign else classifier()).fit(X, y)
    detector = DriftDetector(model, surrogate=regressor())
    with pytest.raises(ValueError, match=r"y must hold classes of the \w+ only, \[0, 1\], got \[2\] too"):
        detector.fit(X, y + 1)
    with pytest.raises(ValueError, match=r"y_cal must hold classes of the \w+ only, \[0, 1\], got \[2\] too"):
        detector.fit(X, y, X_cal=X, y_cal=2 * y)


@pytest.mark.parametrize("foreign", [False, True])
def test_another_number_of_targets_than_the_fitted_models_is_refused(foreign):
    X, y = make_rows()
    model = (LinearRegression() if foreign else regressor()).fit(X, y)
    detector = DriftDetector(model, surrogate=regressor())
    with pytest.raises(ValueError, match=r"y must have as many targets as .*, 1, got 2"):
        detector.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"y_cal must have as many targets as .*, 1, got 2"):
        detector.fit(X, y, X_cal=X, y_cal=np.column_stack([y, y]))


def test_what_is_neither_classifier_nor_regressor_is_refused():
    X, y = make_rows()
    with pytest.raises(TypeError, match="classifier or a regressor, got KMeans"):
        DriftDetector(KMeans(2)).fit(X, y)

    class Foreign:
        def fit(self, X, y):
            return self

        def predict(self, X):
            return X[:, 0]

    with pytest.raises(TypeError, match=r"derive from sklearn.base.BaseEstimator.* got Foreign; wrap it"):
        DriftDetector(Foreign()).fit(X, y)


def test_a_surrogate_must_be_a_gbmap_for_numbers():
    X, y = make_classes()
    model = LogisticRegression().fit(X, y)
    for surrogate in (classifier(), LinearRegression()):
        with pytest.raises(TypeError, match="surrogate must be a GBMAPRegressor"):
            DriftDetector(model, surrogate=surrogate).fit(X, y)


@pytest.mark.parametrize(
    "settings",
    [{"n_neighbors": 0}, {"distance_weight": -1.0}, {"false_alarm_rate": 0.0}, {"cv": 1}, {"algorithm": "x"}],
)
def test_settings_out_of_range_are_named(settings):
    X, y = make_rows()
    with pytest.raises(ValueError, match=f"The '{next(iter(settings))}' parameter of DriftDetector"):
        DriftDetector(regressor(), **settings).fit(X, y)


# It fits a detector for every format of sparse arrays, as its sibling does for those of matrices.
AT_NIGHT = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(
            *each,
            marks=[pytest.mark.nightly] * (each[1].func.__name__ in AT_NIGHT or place % 2),
            id=each[1].func.__name__,
        )
        for place, each in enumerate(
            estimator_checks_generator(DriftDetector(GBMAPRegressor(1, random_state=0), cv=2))
        )
    ],
)
def test_estimator_check(estimator, check):
    check(estimator)


@pytest.mark.nightly
@parametrize_with_checks([DriftDetector(GBMAPClassifier(1, random_state=0), cv=2)])
def test_estimator_check_with_classes(estimator, check):
    check(estimator)
