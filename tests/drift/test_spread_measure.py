"""measure="spread": an alarm by the spread of the prediction, without reference rows."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbmap
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
Y = np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=600)
TARGETS = {
    "numbers": (GBMAPRegressor, Y),
    "two targets": (GBMAPRegressor, np.column_stack([Y, X[:, 2] + rng.normal(size=600)])),
    "two classes": (GBMAPClassifier, Y > 1),
    "three classes": (GBMAPClassifier, np.digitize(Y, [0.5, 1.5])),
}


def detector_of(kind):
    make, y = TARGETS[kind]
    # Halves of the rows have other bends than all of them, so that spreads of classes do not compare.
    model = make(4, knots=0 if kind == "two classes" else "auto", random_state=0)
    return DriftDetector(model, measure="spread", cv=2, random_state=0).fit(X, y)


@pytest.fixture(scope="module", params=list(TARGETS))
def detector(request):
    return detector_of(request.param)


@pytest.fixture(scope="module")
def of_numbers():
    return detector_of("numbers")


def test_rows_off_the_data_raise_the_alarm_and_rows_amid_it_do_not(detector):
    inside, outside = rng.normal(size=(500, 4)), 6 * rng.normal(size=(500, 4))
    assert np.mean(detector.predict(inside) == -1) < 0.12
    assert np.mean(detector.predict(outside) == -1) > 0.7
    assert np.median(detector.p_values(outside)) < 0.02
    assert detector.estimate_loss(outside).mean > 1.1 * detector.estimate_loss(inside).mean


def test_the_indicator_is_the_spread_of_f_in_the_units_of_y(of_numbers):
    model = of_numbers.estimator_
    posterior = vars(model)["_posterior"]
    _, std = model.predict(X, return_std=True)
    noise = posterior.noise[0] * posterior.target_scale[0]
    assert_allclose(of_numbers.indicator(X) ** 2, std**2 - noise**2, rtol=1e-6)


def test_errors_far_out_are_expected_to_be_as_large_as_the_spread():
    make, y = TARGETS["numbers"]
    plain = make(4, knots=0, random_state=0)  # bends of few rows end before the spread is all that counts
    detector, far = (
        DriftDetector(plain, measure="spread", cv=2, random_state=0).fit(X, y),
        1e4 * np.ones((1, 4)),
    )
    assert_allclose(detector.estimate_loss(far).losses, detector.indicator(far) ** 2, rtol=0.01)


def test_a_row_has_it_alone_as_among_others(of_numbers):
    together = of_numbers.indicator(X)
    assert_array_equal(of_numbers.indicator(X[5:6]), together[5:6])


def test_no_row_is_kept_and_files_are_small(tmp_path):
    model = GBMAPRegressor(4, knots=0, random_state=0).fit(X, Y)  # whose inputs are the rows
    sizes = []
    for measure in ("spread", "neighbours"):
        detector = DriftDetector(model, measure=measure).fit(X, Y)
        gbmap.save(detector, tmp_path / measure)
        sizes.append((tmp_path / measure).stat().st_size)
        content = pickle.dumps(detector)
        assert (X[17].tobytes() in content) == (measure == "neighbours")
    assert sizes[0] < sizes[1] / 5


def test_files_and_pickles_keep_it_to_the_bit(detector, tmp_path):
    gbmap.save(detector, tmp_path / "detector.gbmap")
    for copy in (gbmap.load(tmp_path / "detector.gbmap"), pickle.loads(pickle.dumps(detector))):
        assert_array_equal(copy.indicator(X), detector.indicator(X))
        assert_array_equal(copy.p_values(X), detector.p_values(X))


def test_what_needs_reference_rows_says_so(of_numbers):
    for ask in (of_numbers.explain, of_numbers.assess):
        with pytest.raises(ValueError, match=r"needs reference rows, .* fit one with measure='neighbours'"):
            ask(X)
    assert not hasattr(of_numbers, "reference_inputs_")
    with pytest.raises(ValueError, match="distance_weight must be 0 with measure='spread'"):
        DriftDetector(measure="spread", distance_weight=1.0).fit(X, Y)


def test_a_model_that_is_fitted_again_is_refused():
    model = GBMAPRegressor(2, random_state=0).fit(X, Y)
    detector = DriftDetector(model, measure="spread").fit(X, Y)
    model.fit(X, -Y)
    with pytest.raises(ValueError, match="fitted again"):
        detector.indicator(X)


def test_a_model_without_a_spread_is_refused():
    model = GBMAPRegressor(2, random_state=0).fit(X, Y)
    vars(model)["_posterior"] = None
    with pytest.raises(ValueError, match="fit it anew"):
        DriftDetector(model, measure="spread").fit(X, Y)


def test_held_out_rows_calibrate_and_rows_of_the_fit_do_not():
    model = GBMAPRegressor(2, random_state=0).fit(X[:300], Y[:300])
    fresh = DriftDetector(model, measure="spread").fit(X[:300], Y[:300], X_cal=X[300:], y_cal=Y[300:])
    assert np.sum(fresh.predict(X[300:]) == -1) == 14  # with a new row it is 15 of 301
    with pytest.raises(ValueError, match="X_cal must hold rows that the model was not trained on"):
        DriftDetector(model, measure="spread").fit(X[:300], Y[:300], X_cal=X[:300], y_cal=Y[:300])


def test_pipelines_sparse_rows_and_foreign_models_have_it():
    pipeline = make_pipeline(StandardScaler(), GBMAPRegressor(3, random_state=0))
    sparse = scipy.sparse.csr_array(X)
    for estimator, rows in (
        (pipeline, X),
        (GBMAPRegressor(3, random_state=0), sparse),
        (RandomForestRegressor(5, random_state=0), X),
    ):
        detector = DriftDetector(estimator, measure="spread", cv=2, random_state=0).fit(rows, Y)
        assert np.median(detector.indicator(10 * rows)) > 2 * np.median(detector.indicator(rows))
