"""What a detector asks of a model about rows: nothing is computed twice."""

import pickle
from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import DriftDetector, GBMAPRegressor
from gbmap._core.ensemble import Ensemble
from gbmap._fitted.words import Teller
from gbmap.plots import DriftDisplay

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(200, 3)), RNG.normal(size=(70, 3)) + 1
Y = X[:, 0] ** 2 + X[:, 1]
Y_NEW = NEW[:, 0] ** 2 + NEW[:, 1]
GBMAP = GBMAPRegressor(3, random_state=0)


@pytest.fixture
def rows_met(monkeypatch):
    """Return how many rows each step has met, counted from here on."""
    met = Counter()

    def count(cls, name):
        method = getattr(cls, name)

        def counted(self, rows, *args, **kwargs):
            met[name] += len(rows)
            return method(self, rows, *args, **kwargs)

        monkeypatch.setattr(cls, name, counted)

    for cls, name in ((Ensemble, "project"), (StandardScaler, "transform"), (LinearRegression, "predict")):
        count(cls, name)
    return met


@pytest.fixture(scope="module")
def prepared():
    model = make_pipeline(StandardScaler(), GBMAP).fit(X, Y)
    return DriftDetector(model).fit(X, Y, X_cal=NEW, y_cal=Y_NEW)


N_PROBED = 8  # rows that tell whether the model is still the same


def test_a_fit_reads_and_projects_calibration_rows_once(rows_met):
    model = make_pipeline(StandardScaler(), GBMAP).fit(X, Y)
    rows_met.clear()
    DriftDetector(model).fit(X, Y, X_cal=NEW, y_cal=Y_NEW)
    assert rows_met == {"project": 270, "transform": 270}


def test_a_foreign_model_predicts_rows_once(rows_met):
    model = LinearRegression().fit(X, Y)
    DriftDetector(model, surrogate=GBMAP).fit(X, Y, X_cal=NEW, y_cal=Y_NEW)
    assert rows_met["predict"] == 2 * 200 + 70  # once to fit the surrogate to


def test_an_assessment_reads_rows_once_and_projects_the_reference_once(prepared, rows_met):
    prepared.assess(NEW, Y_NEW)
    assert rows_met == {"project": 70 + 200 + 2 + N_PROBED, "transform": 70}  # 2 means of the reference


def test_the_words_of_learners_are_found_once_for_all_batches(prepared, monkeypatch):
    first = prepared.assess(NEW)
    monkeypatch.setattr(Teller, "learner", None)
    assert list(prepared.assess(NEW[:20]).coordinates.half_spaces) == list(first.coordinates.half_spaces)


def test_the_loss_to_expect_is_learned_once_for_all_batches_and_copies(prepared, monkeypatch):
    first = prepared.estimate_loss(NEW)
    monkeypatch.setattr("gbmap.drift.loss_estimate.IsotonicRegression", None)
    for detector in (prepared, pickle.loads(pickle.dumps(prepared))):
        np.testing.assert_array_equal(detector.estimate_loss(NEW).upper, first.upper)
        assert detector.estimate_loss(NEW[:1]).mean == first.losses[0]


def test_an_explanation_projects_each_row_once_however_many_neighbours_it_has(prepared, rows_met):
    explanation = prepared.explain(NEW)
    assert rows_met["transform"] == 70
    assert rows_met["project"] <= 70 + 200 + N_PROBED
    assert explanation.values.shape == (70, 3)


def test_a_picture_reads_rows_once(prepared, rows_met):
    display = DriftDisplay.from_estimator(prepared, X, Y, NEW, Y_NEW)
    assert rows_met == {"project": 270 + 2 * N_PROBED, "transform": 270}
    np.testing.assert_array_equal(display.indicator, prepared.indicator(np.vstack([X, NEW])))


def test_indicators_and_losses_come_together(prepared):
    indicator, loss = prepared.indicator_and_loss(NEW, Y_NEW)
    np.testing.assert_array_equal(indicator, prepared.indicator(NEW))
    np.testing.assert_allclose(loss, (prepared.estimator_.predict(NEW) - Y_NEW) ** 2)
