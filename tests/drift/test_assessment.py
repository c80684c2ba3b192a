"""A batch assessed: what is a shift and what is none, whose it is, and that all parts add up."""

import json
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t, wasserstein_distance
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap.drift import _monitored, _sides
from gbmap.inspection import attributions, regions

mpl.use("agg")


def draw(n=400, p=3, seed=0, shift=()):
    """Return rows whose first two columns matter, moved by a shift."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, : len(shift)] += shift
    return X, np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def classes(y, n_classes=3):
    return np.array(["a", "b", "c"])[np.digitize(y, [0.0, 1.5][: n_classes - 1])]


def regressor(**options):
    return GBMAPRegressor(**{"n_components": 4, "l2_regularization": 1e-3, "random_state": 0, **options})


def classifier(**options):
    return GBMAPClassifier(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0, **options})


def detector(model, X, y, **further):
    return DriftDetector(model, random_state=0).fit(X, y, **further)


def is_shifted(assessment):
    """Return whether the mean prediction has moved, several outputs sharing the chance of a false alarm."""
    p_values = np.atleast_1d(assessment.p_value)
    return bool(len(p_values) * p_values.min() < 1 - assessment.confidence)


def table(X):
    """Return the rows as a frame with a column of text that follows the first column."""
    city = np.where(X[:, 0] > 0.5, "Oslo", np.where(X[:, 0] < -0.5, "Rome", "Bern"))
    return pd.DataFrame({"city": city, "age": 40 + 10 * X[:, 1], "noise": X[:, 2]})


def kinds():
    """Yield for every kind of model a detector, its reference rows, a batch, and what h of rows is."""
    (X, y), (new, _) = draw(), draw(300, seed=1, shift=(0.8, 0.3))
    two, three = classes(y, 2), classes(y, 3)
    start = LinearRegression().fit(X, y)
    both = np.column_stack([y, X[:, 0] - 5 * y])
    one_hot = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["city"]), (StandardScaler(), ["age", "noise"])
    )
    tree, forks = (
        DecisionTreeRegressor(max_depth=5).fit(X, y),
        DecisionTreeClassifier(max_depth=4).fit(X, three),
    )
    yield "regression", detector(regressor().fit(X, y), X, y), X, new, lambda m, X: m.predict(X)
    yield (
        "linear",
        detector(regressor(activation="identity").fit(X, y), X, y),
        X,
        new,
        lambda m, X: m.predict(X),
    )
    yield (
        "init", detector(regressor(init=FrozenEstimator(start)).fit(X, y), X, y), X, new,
        lambda m, X: m.predict(X) - start.predict(X),
    )  # fmt: skip
    yield "targets", detector(regressor().fit(X, both), X, both), X, new, lambda m, X: m.predict(X)
    yield (
        "two classes", detector(classifier().fit(X, two), X, two), X, new,
        lambda m, X: m.decision_function(X),
    )  # fmt: skip
    yield (
        "three classes", detector(classifier().fit(X, three), X, three), X, new,
        lambda m, X: m.decision_function(X),
    )  # fmt: skip
    model = make_pipeline(one_hot, regressor()).fit(table(X), y)
    yield "pipeline", detector(model, table(X), y), table(X), table(new), lambda m, X: m.predict(X)
    sparse = scipy.sparse.csr_array(X)
    yield (
        "sparse", detector(regressor().fit(sparse, y), sparse, y), sparse, scipy.sparse.csr_array(new),
        lambda m, X: m.predict(X),
    )  # fmt: skip
    yield "foreign", detector(tree, X, y), X, new, lambda m, X: m.predict(X)
    yield "foreign classes", detector(forks, X, three), X, new, None


KINDS = [
    "regression", "linear", "init", "targets", "two classes", "three classes", "pipeline", "sparse",
    "foreign", "foreign classes",
]  # fmt: skip
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@cache
def all_kinds():
    return {name: rest for name, *rest in kinds()}


def test_every_kind_is_here():
    assert list(all_kinds()) == KINDS


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [20, 2, 500])
def test_rows_of_the_same_distribution_are_no_shift(n):
    X, y = draw()
    found = detector(regressor().fit(X, y), X, y)
    alarms = [is_shifted(found.assess(draw(n, seed=seed)[0])) for seed in range(1, 41)]
    assert sum(alarms) <= 2


def test_a_tiny_shift_never_becomes_significant_however_many_rows_there_are():
    X, y = draw(20_000)
    found = detector(regressor().fit(X, y), X, y)
    new, _ = draw(100_000, seed=1, shift=(0.0, 0.05))
    assessment = found.assess(new)
    assert 3 * assessment.standard_error < assessment.shift < assessment.delta
    assert assessment.p_value > 0.999
    assert not is_shifted(assessment)
    assert is_shifted(found.assess(new, delta=0))  # the shift is real
    assert not is_shifted(found.assess(new - [0, 0.04, 0]))  # a hundredth of a standard deviation


def test_a_real_shift_is_found_and_belongs_to_the_right_feature():
    X, y = draw()
    found = detector(regressor().fit(X, y), X, y)
    by_first = found.assess(draw(200, seed=1, shift=(2.0, 0.0))[0])
    by_second = found.assess(draw(200, seed=1, shift=(0.0, -1.0))[0])
    assert is_shifted(by_first)
    assert is_shifted(by_second)
    assert by_first.shift > 0.5
    assert by_second.shift == pytest.approx(-1, abs=0.25)
    assert np.abs(by_first.contributions).argmax() == 0
    assert_allclose(by_second.contributions, [0, -1, 0], atol=0.2)
    assert by_second.p_value < 1e-6


def test_columns_that_do_not_matter_get_nothing():
    X, y = draw()
    X[:, 2] = 7.0  # without variation the column has no weight
    found = detector(regressor().fit(X, y), X, y)
    new, _ = draw(200, seed=1)
    assessment = found.assess(np.column_stack([new[:, :2], 100 * new[:, 2]]))
    assert assessment.contributions[2] == 0
    assert not is_shifted(assessment)
    assert assessment.distance < 0.2


def test_for_a_linear_model_a_contribution_is_the_coefficient_times_the_change_of_the_mean():
    X, y = draw()
    model = regressor(activation="identity", knots=0).fit(X, y)
    new, _ = draw(100, seed=1, shift=(1.0, 2.0, 3.0))
    coefficients = model.ensemble_.signs @ model.ensemble_.weights
    found = detector(model, X, y).assess(new)
    assert_allclose(found.contributions, coefficients * (new.mean(axis=0) - X.mean(axis=0)), atol=1e-12)


def test_contributions_are_differences_of_attributions_from_the_mean_row():
    X, y = draw()
    # With knots the average of the inputs would be that of no row.
    model, new = regressor(knots=0).fit(X, y), draw(100, seed=1, shift=(1.0, 2.0))[0]
    mean = X.mean(axis=0)
    expected = attributions(model, new, mean).values.mean(axis=0) - attributions(model, X, mean).values.mean(
        axis=0
    )
    assert_allclose(detector(model, X, y).assess(new).contributions, expected, atol=1e-12)


@EVERY_KIND
def test_all_parts_add_up_to_the_shift(kind):
    found, X, new, h = all_kinds()[kind]
    assessment = found.assess(new)
    shift = np.atleast_1d(assessment.shift)
    if h is not None:
        assert_allclose(assessment.shift, (h(found.estimator_, new).mean(0) - h(found.estimator_, X).mean(0)))
    attributed = shift - assessment.remainder
    assert_allclose(assessment.contributions.sum(axis=0), attributed.squeeze(), atol=1e-10)
    coordinates, regions = assessment.coordinates, assessment.regions
    for k in range(len(shift)):
        assert_allclose(coordinates.shifts[coordinates.outputs == k].sum(), attributed[k], atol=1e-10)
        mine = regions.outputs == k
        assert_allclose(regions.contributions[mine].sum(), shift[k], atol=1e-10)
        assert_allclose([regions.share[mine].sum(), regions.reference_share[mine].sum()], 1)
    assert np.any(assessment.remainder) == kind.startswith("foreign")


@EVERY_KIND
def test_distances_bound_the_shift(kind):
    found, _, new, _ = all_kinds()[kind]
    assessment = found.assess(new)
    coordinates = assessment.coordinates
    rounding = 1e-9
    assert np.all(np.abs(assessment.shift) <= np.add(assessment.distance, rounding))
    attributed = np.abs(np.subtract(assessment.shift, assessment.remainder))
    assert np.all(attributed <= np.add(assessment.coordinate_distance, rounding))
    assert np.all(np.abs(coordinates.shifts) <= coordinates.distances + rounding)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_bounds_and_sums_hold_for_any_batch(seed, n):
    rng = np.random.default_rng(seed)
    found = all_kinds()["targets"][0]
    assessment = found.assess(rng.normal(rng.normal(0, 3, 3), rng.uniform(0.1, 5), (n, 3)))
    assert_allclose(assessment.contributions.sum(axis=0), assessment.shift, atol=1e-10)
    assert np.all(np.abs(assessment.shift) <= assessment.distance + 1e-9)
    assert np.all(np.abs(assessment.shift) <= assessment.coordinate_distance + 1e-9)
    assert np.all((assessment.p_value >= 0) & (assessment.p_value <= 1 + 1e-12))


def test_distances_are_those_of_predictions_and_coordinates():
    found, X, new, _ = all_kinds()["regression"]
    model, assessment = found.estimator_, found.assess(new)
    assert_allclose(assessment.distance, wasserstein_distance(model.predict(new), model.predict(X)))
    phi, reference = model.transform(new), model.transform(X)
    each = [wasserstein_distance(phi[:, j], reference[:, j]) for j in range(4)]
    assert_allclose(assessment.coordinates.distances, each)
    assert_allclose(assessment.coordinate_distance, sum(each))


def test_the_p_value_is_the_worst_case_over_tolerated_shifts():
    found, X, new, _ = all_kinds()["regression"]
    assessment = found.assess(new[:50], delta=0.2)
    h, reference = (found.estimator_.predict(rows) for rows in (new[:50], X))
    error = np.sqrt(max(h.var(ddof=1), reference.var(ddof=1)) / 50 + reference.var(ddof=1) / len(X))
    assert_allclose(assessment.standard_error, error)
    true_shifts = np.linspace(-assessment.delta, assessment.delta, 101)
    size = abs(assessment.shift)
    freedom = len(X) - 1
    chances = t.sf(size, freedom, true_shifts, error) + t.cdf(-size, freedom, true_shifts, error)
    assert_allclose(assessment.p_value, chances.max())
    assert 0.001 < assessment.p_value < 0.5


def test_delta_is_in_standard_deviations_of_y_or_of_the_scores_of_classes():
    X, y = draw()
    found, _, new, _ = all_kinds()["regression"]
    assert_allclose(found.assess(new, delta=0.3).delta, 0.3 * y.std())
    found, X, new, score = all_kinds()["three classes"]
    assert_allclose(found.assess(new, delta=0.3).delta, 0.3 * score(found.estimator_, X).std(axis=0))


def test_several_outputs_share_the_chance_of_a_false_alarm():
    found, _, new, _ = all_kinds()["targets"]
    assessment = found.assess(new, delta=0.25)
    least = assessment.p_value.min()
    assert assessment.p_value.shape == (2,)
    assert 1e-12 < least < 0.4
    assert is_shifted(found.assess(new, delta=0.25, confidence=1 - 2.001 * least))
    assert not is_shifted(found.assess(new, delta=0.25, confidence=1 - 1.999 * least))


def test_a_batch_of_one_row_has_the_variance_of_the_reference():
    found, X, _, _ = all_kinds()["regression"]
    h = found.estimator_.predict(X)
    near, far = found.assess([[0.7, 0.0, 0.0]]), found.assess([[0.0, -9.0, 0.0]])
    assert_allclose(near.standard_error, h.std(ddof=1) * np.sqrt(1 + 1 / len(X)))
    assert (near.n_rows, is_shifted(near), is_shifted(far)) == (1, False, True)
    assert_allclose(far.contributions.sum(), far.shift)
    assert far.regions.n_rows.sum() == 1


def test_equal_rows_are_judged_as_the_few_that_they_are():
    X = np.random.default_rng(0).integers(0, 2, (400, 2)).astype(float)
    y = 3 * X[:, 0] + X[:, 1]
    found = detector(regressor(n_components=2).fit(X, y), X, y)
    assert not is_shifted(found.assess([[1.0, 0.0]] * 2))
    assert is_shifted(found.assess([[1.0, 0.0]] * 200))


def test_a_model_without_learners_never_shifts():
    X, _ = draw()
    y = np.full(len(X), 3.0)
    assessment = detector(regressor().fit(X, y), X, y).assess(X[:10] + 100)
    assert (assessment.shift, assessment.standard_error, assessment.delta) == (0, 0, 0)
    assert (assessment.p_value, is_shifted(assessment), assessment.distance) == (1, False, 0)
    assert {words.split(",")[0] for words in assessment.coordinates.half_spaces} <= {"everywhere", "nowhere"}


def test_regions_are_those_of_the_reference_with_the_rows_of_the_batch():
    found, X, new, _ = all_kinds()["regression"]
    rng = np.random.default_rng(0)
    y_new, model = rng.standard_normal(len(new)), found.estimator_
    mine, of_reference = found.assess(new, y_new).regions, regions(model, X, max_regions=1000)
    labels, new_labels = of_reference.labels, of_reference.assign(new)
    f, reference = model.predict(new), model.predict(X)
    learners = list(of_reference.to_frame()["active_learners"])
    assert len(mine.share) == len(learners) + 2
    for r, active in enumerate(mine.active_learners[:-2]):
        other = learners.index(active)
        inside, before = new_labels == other, labels == other
        assert mine.descriptions[r] == of_reference.descriptions[other]
        assert (mine.n_rows[r], mine.n_reference_rows[r]) == (inside.sum(), before.sum())
        if inside.any():
            assert_allclose(mine.mean_indicator[r], found.indicator(new)[inside].mean())
            assert_allclose(mine.mean_loss[r], np.square(y_new - f)[inside].mean())
            assert_allclose(mine.prediction_shift[r], f[inside].mean() - reference[before].mean(), atol=1e-12)
        else:
            assert np.isnan([mine.mean_indicator[r], mine.mean_loss[r], mine.prediction_shift[r]]).all()
    larger = np.maximum(mine.share, mine.reference_share)[:-2]
    assert_array_equal(larger, np.sort(larger)[::-1])
    assert mine.n_rows[-1] == (new_labels == -2).sum()


def test_a_region_adds_what_its_rows_are_above_the_mean_of_the_reference():
    (X, y), (new, _) = draw(), draw(300, seed=1, shift=(0.8,))
    model = regressor(n_components=2).fit(X, y + 100)
    mine, of_reference = detector(model, X, y + 100).assess(new).regions, regions(model, X, max_regions=1000)
    center = model.predict(X).mean()

    def added(rows):
        labels, h = of_reference.assign(rows), model.predict(rows) - center
        return np.array([h[labels == label].sum() for label in range(len(of_reference.n_rows))]) / len(rows)

    expected = dict(zip(of_reference.to_frame()["active_learners"], added(new) - added(X)))
    assert len(expected) == len(mine.contributions) - 2
    for name, contribution in zip(mine.active_learners[:-2], mine.contributions):
        assert_allclose(contribution, expected[name], atol=1e-10)


def test_no_more_than_twenty_regions_have_a_line_and_the_rest_is_counted_together():
    X, y = draw(600, p=4)
    found = detector(
        regressor(n_components=12, beta=20).fit(X, np.sin(3 * X[:, 0]) * X[:, 1] * X[:, 2]), X, y
    )
    new, _ = draw(500, p=4, seed=1)
    assessment, all_patterns = found.assess(new), regions(found.estimator_, X, max_regions=1000)
    assert all_patterns.n_patterns > 30
    mine = assessment.regions
    assert mine.descriptions[-2:].tolist() == ["other patterns", "never seen"]
    assert len(mine.share) == 22
    assert mine.n_rows.sum() == 500
    assert mine.n_reference_rows.sum() == 600
    assert mine.n_reference_rows[-2] > 0
    assert mine.share[-1] == assessment.unseen_share == (all_patterns.assign(new) == -2).mean()


def test_the_share_of_unseen_patterns_is_as_expected_without_drift_and_above_it_with_drift():
    X, y = draw(3000, p=4)
    y += np.maximum(X[:, 2] * X[:, 3], 0)
    found = detector(regressor(n_components=16, l2_regularization="auto").fit(X, y), X, y)
    same, moved = found.assess(draw(4000, p=4, seed=1)[0]), found.assess(4 * draw(4000, p=4, seed=1)[0])
    patterns = regions(found.estimator_, X, max_regions=10_000).n_rows
    assert same.expected_unseen_share == (patterns == 1).sum() / 3000
    assert same.expected_unseen_share > 0.01
    assert same.unseen_share == pytest.approx(same.expected_unseen_share, abs=0.01)
    assert moved.unseen_share > 3 * moved.expected_unseen_share


@pytest.mark.parametrize("kind", ["three classes", "targets", "foreign classes"])
def test_there_is_a_table_of_regions_for_each_output(kind):
    found, _, new, _ = all_kinds()[kind]
    assessment = found.assess(new)
    n_outputs = len(assessment.output_names)
    assert assessment.contributions.shape == (3, n_outputs)
    assert assessment.unseen_share.shape == assessment.expected_unseen_share.shape == (n_outputs,)
    assert_array_equal(np.unique(assessment.regions.outputs), np.arange(n_outputs))
    assert_array_equal(np.bincount(assessment.regions.outputs, assessment.regions.n_rows), [300] * n_outputs)


def test_the_regions_of_an_output_are_those_of_its_own_learners():
    found, X, new, _ = all_kinds()["three classes"]
    table = found.assess(new).to_frame("regions")
    for name in ("a", "b", "c"):
        mine = table[table["output"] == name].set_index("active_learners").iloc[:-2]
        expected = regions(found.estimator_, X, output=name, max_regions=1000)
        frame = expected.to_frame().set_index("active_learners").loc[mine.index]
        assert_array_equal(mine["n_reference_rows"], frame["n_rows"])
        assert_array_equal(mine["description"], frame["description"])
        rows = np.bincount(expected.assign(new) + 2, minlength=len(expected.n_rows) + 2)
        assert sorted(mine["n_rows"]) == sorted(rows[2:])


def test_through_a_pipeline_the_answer_is_in_the_columns_and_words_of_the_user():
    found, X, _, _ = all_kinds()["pipeline"]
    only_rome = X[X["city"] == "Rome"]
    assessment = found.assess(only_rome)
    assert list(assessment.feature_names) == ["city", "age", "noise"]
    moved = found.assess(X.assign(age=X["age"] + 30))
    assert is_shifted(moved)
    assert moved.feature_names[np.abs(moved.contributions).argmax()] == "age"
    assert_allclose(moved.contributions[0], 0, atol=0.1)
    words = " ".join([*assessment.coordinates.half_spaces, *assessment.regions.descriptions])
    assert "city" in words
    assert "age" in words


def test_a_foreign_model_shifts_by_its_own_predictions_and_the_rest_is_told():
    found, X, new, _ = all_kinds()["foreign"]
    assessment, surrogate = found.assess(new), found._drifter.monitored.fitted.model
    of_surrogate = surrogate.predict(new).mean() - surrogate.predict(X).mean()
    assert_allclose(assessment.remainder, assessment.shift - of_surrogate, atol=1e-12)
    assert abs(assessment.remainder) < abs(assessment.shift)


def test_the_share_of_alarms_stands_beside_that_of_the_calibration_rows():
    X, y = draw()
    found = detector(regressor(), X, y)
    new, _ = draw(200, seed=1, shift=(1.5, 0.0))
    assessment = found.assess(new)
    assert assessment.share_over_threshold == (found.predict(new) == -1).mean()
    assert assessment.calibration_share_over_threshold == 0.0475  # of 400 rows 19: with the new one 20 of 401
    found.set_threshold(quantile=0.5)
    assert found.assess(new).calibration_share_over_threshold == 0.5


def test_expected_and_true_losses_are_those_of_the_detector_and_the_model():
    (X, y), (new, y_new) = draw(), draw(200, seed=1, shift=(1.5, 0.0))
    model = regressor().fit(X, y)
    X_cal, y_cal = draw(150, seed=2)
    found = detector(model, X, y, X_cal=X_cal, y_cal=y_cal)
    assessment, expected = found.assess(new, y_new, confidence=0.8), found.estimate_loss(new, confidence=0.8)
    assert assessment.expected_loss == expected.mean
    assert assessment.expected_loss_interval == (expected.mean_lower, expected.mean_upper)
    assert_allclose(assessment.calibration_loss, np.square(y_cal - model.predict(X_cal)).mean())
    assert_allclose(assessment.mean_loss, np.square(y_new - model.predict(new)).mean())
    assert found.assess(new).mean_loss is None
    assert found.assess(new).regions.mean_loss is None


def test_without_calibration_what_needs_it_is_none():
    found, _, new, _ = all_kinds()["regression"]
    assessment = found.assess(new)
    assert assessment.share_over_threshold is None
    assert assessment.calibration_share_over_threshold is None
    assert (
        assessment.expected_loss is assessment.expected_loss_interval is assessment.calibration_loss is None
    )


def test_a_threshold_set_by_hand_needs_no_calibration():
    X, y = draw()
    found = detector(regressor().fit(X, y), X, y).set_threshold(0.2)
    assessment = found.assess(X)
    assert assessment.share_over_threshold == (found.indicator(X) > 0.2).mean()
    assert assessment.calibration_share_over_threshold is None


@EVERY_KIND
def test_the_dictionary_is_plain_and_survives_json(kind):
    found, _, new, _ = all_kinds()[kind]
    assessment = found.assess(new)
    told = assessment.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert_allclose(np.ravel(told["shift"]), np.ravel(assessment.shift), rtol=0)
    assert_allclose(told["contributions"], assessment.contributions, rtol=0)
    assert told["regions"]["n_rows"] == assessment.regions.n_rows.tolist()
    assert told["feature_names"] == list(assessment.feature_names)
    assert set(told["coordinates"]) == {"names", "shifts", "distances", "half_spaces", "outputs"}


def test_in_the_dictionary_an_unknown_mean_is_none_and_a_calibrated_batch_is_plain_too():
    X, y = draw()
    found = detector(regressor(), X, y)
    told = found.assess(X[:1], y[:1]).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    counts = told["regions"]["n_rows"]
    assert [loss is None for loss in told["regions"]["mean_loss"]] == [count == 0 for count in counts]
    assert len(told["expected_loss_interval"]) == 2


def test_frames_have_a_row_for_each_output_feature_coordinate_and_region():
    found, _, new, _ = all_kinds()["three classes"]
    assessment = found.assess(new, np.repeat("a", len(new)))
    summary = assessment.to_frame()
    assert summary.index.tolist() == ["a", "b", "c"]
    assert_array_equal(summary["shift"], assessment.shift)
    assert_array_equal(summary["mean_loss"], np.repeat(assessment.mean_loss, 3))
    assert summary["expected_loss"].isna().all()
    features = assessment.to_frame("features")
    assert features.index.tolist() == ["x0", "x1", "x2"]
    assert_array_equal(features["b"], assessment.contributions[:, 1])
    coordinates, of_regions = assessment.to_frame("coordinates"), assessment.to_frame("regions")
    assert (coordinates.index.name, of_regions.index.name) == ("coordinate", "region")
    assert coordinates["output"].tolist() == ["a", "b", "c"] * 3
    assert_array_equal(coordinates["shift"], assessment.coordinates.shifts)
    assert_array_equal(of_regions["contribution"], assessment.regions.contributions)
    assert "mean_loss" in of_regions


def test_frames_of_one_output_have_no_column_for_it():
    found, _, new, _ = all_kinds()["regression"]
    assessment = found.assess(new)
    assert assessment.to_frame().shape[0] == 1
    assert assessment.to_frame("features")["contribution"].tolist() == assessment.contributions.tolist()
    assert not {"output", "mean_loss"} & {
        *assessment.to_frame("regions"),
        *assessment.to_frame("coordinates"),
    }
    with pytest.raises(ValueError, match=r"part must be one of .*'summary'.* got 'rows'"):
        assessment.to_frame("rows")


def test_the_picture_shows_the_largest_contributions_and_a_remainder_if_there_is_one():
    found, _, new, _ = all_kinds()["three classes"]
    assessment = found.assess(new)
    display = assessment.plot(output="b", n_features=2)
    expected = np.sort(np.abs(assessment.contributions[:, 1]))[::-1][:2]
    assert_allclose(np.abs(display.values), expected)
    assert "remainder" not in display.names
    with pytest.raises(ValueError, match="output must be one of"):
        assessment.plot()
    found, _, new, _ = all_kinds()["foreign"]
    display = found.assess(new).plot()
    assert display.values[display.names.index("remainder")] == found.assess(new).remainder
    plt.close("all")


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_arrays_give_the_same_answer(as_frame):
    (X, y), (new, _) = draw(), draw(100, seed=1)
    names = ["a", "b", "c"]
    by_frame = detector(
        regressor().fit(as_frame(dict(zip(names, X.T))), y), as_frame(dict(zip(names, X.T))), y
    )
    found = by_frame.assess(as_frame(dict(zip(names, new.T)))).to_dict()
    expected = detector(regressor().fit(X, y), X, y).assess(new).to_dict()
    assert found["feature_names"] == names
    for name in ("shift", "contributions", "p_value", "distance", "unseen_share"):
        assert found[name] == expected[name]


@pytest.mark.parametrize("kind", ["pipeline", "sparse", "three classes"])
def test_chunks_change_nothing(kind, monkeypatch):
    found, X, new, _ = all_kinds()[kind]
    y = np.resize(["a", "b", "c"] if kind == "three classes" else [1.0, 2.0], X.shape[0])
    whole = found.assess(new, y[: new.shape[0]]).to_dict()
    monkeypatch.setattr(_monitored, "_ROWS_AT_A_TIME", 70)
    monkeypatch.setattr(_sides, "_WORK_NUMBERS", 64)
    in_chunks = found.assess(new, y[: new.shape[0]]).to_dict()
    for name in ("shift", "contributions", "p_value", "distance", "coordinate_distance", "mean_loss"):
        assert_allclose(in_chunks[name], whole[name], rtol=1e-9, atol=1e-12)
    assert in_chunks["regions"]["n_rows"] == whole["regions"]["n_rows"]


def test_many_rows_are_compared_by_a_sample_of_their_coordinates_only(monkeypatch):
    found, _, new, _ = all_kinds()["regression"]
    whole = found.assess(new)
    monkeypatch.setattr(_sides, "_KEPT_NUMBERS", 4 * 200)
    sampled = found.assess(new)
    assert_array_equal(sampled.coordinates.shifts, whole.coordinates.shifts)
    assert (sampled.shift, sampled.distance) == (whole.shift, whole.distance)
    assert np.any(sampled.coordinates.distances != whole.coordinates.distances)
    assert_allclose(sampled.coordinates.distances, whole.coordinates.distances, rtol=0.5, atol=0.1)
    assert_array_equal(found.assess(new).coordinates.distances, sampled.coordinates.distances)


def test_a_large_mean_of_y_costs_no_digits():
    (X, y), (new, _) = draw(), draw(200, seed=1, shift=(1.0, 1.0))
    near = detector(regressor().fit(X, y), X, y).assess(new)
    far = detector(regressor().fit(X, y + 1e8), X, y + 1e8).assess(new)
    assert_allclose(far.contributions, near.contributions, atol=1e-3)
    assert_allclose(far.contributions.sum(), far.shift, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": -0.1}, "delta must be a number of at least 0.*got -0.1"),
        ({"delta": np.nan}, "delta must be a number.*got nan"),
        ({"delta": np.inf}, "delta must be a number.*got inf"),
        ({"delta": "small"}, "delta must be a number.*got 'small'"),
        ({"confidence": 1}, "confidence must be a number between 0 and 1, got 1"),
        ({"confidence": 95}, "confidence must be a number between 0 and 1, got 95"),
        ({"y": [1.0, 2.0]}, "y must have as many rows as X, 300, got 2"),
        ({"y": np.full(300, np.inf)}, "y contains infinity"),
        ({"y": np.ones((300, 2))}, "y must have as many targets as in the fit, 1, got 2"),
    ],
)
def test_bad_arguments_are_named(options, message):
    found, _, new, _ = all_kinds()["regression"]
    with pytest.raises(ValueError, match=message):
        found.assess(new, **options)


def test_rows_that_do_not_fit_the_model_are_refused():
    found, X, _, _ = all_kinds()["regression"]
    with pytest.raises(ValueError, match="X has 2 features, but DriftDetector is expecting 3"):
        found.assess(X[:, :2])
    with pytest.raises(ValueError, match="contains infinity"):
        found.assess(np.where(X > 2, np.inf, X))
    with pytest.raises(ValueError, match="0 sample"):
        found.assess(X[:0])
    with pytest.raises(NotFittedError):
        DriftDetector().assess(X)
    of_frames, frame, _, _ = all_kinds()["pipeline"]
    with pytest.raises(ValueError, match="feature names should match"):
        of_frames.assess(frame.rename(columns={"age": "years"}))


def test_labels_of_an_unknown_class_are_refused_where_no_verdict_could_tell_them():
    found, X, _, _ = all_kinds()["three classes"]
    with pytest.raises(ValueError, match=r"y must hold classes of the fit only.*'z'"):
        found.assess(X, np.repeat("z", len(X)))


def test_preprocessing_that_mixes_columns_is_named():
    X, y = draw()
    found = detector(make_pipeline(PCA(2), regressor()).fit(X, y), X, y)
    with pytest.raises(ValueError, match="PCA cannot be followed back to the columns"):
        found.assess(X)
