"""What questions ask of a model about rows: nothing is computed twice that need not be."""

from collections import Counter

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import GBMAPRegressor, path_distances
from gbmap._core.ensemble import Ensemble
from gbmap.inspection import learner_cards, model_difference, regions
from gbmap.plots import LossCurveDisplay

X = np.random.default_rng(0).normal(size=(90, 3))
Y = np.abs(X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), GBMAPRegressor(4, knots=0, random_state=0)).fit(X, Y)


@pytest.fixture
def rows_met(monkeypatch):
    """Return how many rows, times learners if they are projected, each step has met."""
    met = Counter()
    project, transform = Ensemble.project, StandardScaler.transform

    def counting_project(self, rows):
        met["project"] += len(rows) * len(self)
        return project(self, rows)

    def counting_transform(self, rows, *args, **kwargs):
        met["transform"] += len(rows)
        return transform(self, rows, *args, **kwargs)

    monkeypatch.setattr(Ensemble, "project", counting_project)
    monkeypatch.setattr(StandardScaler, "transform", counting_transform)
    return met


def test_rows_are_prepared_no_more_often_for_more_regions(model, rows_met):
    found = regions(model, X, Y)
    assert len(found.n_rows) > 2
    assert rows_met["transform"] == 2 * 90  # for the learners, and for the prediction


def test_path_distances_project_rows_once(model, rows_met):
    path_distances(model, X)
    assert rows_met == {"project": 90 * 4, "transform": 90}


def test_cards_of_learners_project_rows_once_without_losses(model, rows_met):
    learner_cards(model, X)
    assert rows_met == {"project": 90 * 4, "transform": 90}


def test_a_loss_curve_prepares_rows_once(model, rows_met):
    LossCurveDisplay.from_estimator(model, X, Y)
    assert rows_met == {"project": 90 * 4, "transform": 90}


def test_a_difference_projects_rows_once(rows_met, monkeypatch):
    monkeypatch.setattr(GBMAPRegressor, "fit", counting_from_here(GBMAPRegressor.fit, rows_met))
    model_difference(np.zeros(30), Y[:30], X[:30], n_components=2)  # too few rows to hold some out
    assert rows_met["project"] == 30 * 2


def counting_from_here(function, met):
    def wrapped(*args, **kwargs):
        result = function(*args, **kwargs)
        met.clear()
        return result

    return wrapped
