"""A new question to a model is one function over `FittedModel`: the example of docs/ask-a-model.md."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor

PAGE = Path(__file__).parents[2] / "docs" / "ask-a-model.md"


@pytest.fixture(scope="module")
def nearest_switch():
    """Return the function that the page writes, as a reader would run it."""
    source = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    names = {"__name__": "nearest_switch"}
    exec(compile(source, str(PAGE), "exec"), names)
    return names["nearest_switch"]


def make_rows(n=60):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, X["a"] ** 2 + X["b"]


def test_one_learner_switches_where_its_hyperplane_is(nearest_switch):
    X, y = make_rows()
    model = GBMAPRegressor(1, knots=0, random_state=0).fit(X, y)
    found, (w,) = nearest_switch(model, X), model.ensemble_.weights * model.scale_
    assert_allclose(found.distances, np.abs(model.ensemble_.project(X.to_numpy())[:, 0]) / np.linalg.norm(w))
    assert list(found.learners) == ["f1"] * len(X)


def test_a_row_moved_by_its_distance_is_on_the_border(nearest_switch):
    X, y = make_rows()
    model = GBMAPRegressor(4, knots=0, random_state=0).fit(X, y)
    found = nearest_switch(model, X)
    names = list(model.get_feature_names_out())
    for row in range(10):
        j = names.index(found.learners[row])
        w = model.ensemble_.weights[j] * model.scale_
        z = model.ensemble_.project(X.to_numpy())[row, j]
        moved = X.to_numpy()[row] - np.sign(z) * found.distances[row] * w / np.linalg.norm(w) * model.scale_
        assert_allclose(model.ensemble_.project(moved[None])[0, j], 0, atol=1e-9)


def test_it_answers_through_a_pipeline_and_for_classes_and_prints_itself(nearest_switch):
    X, y = make_rows()
    X["city"] = np.resize(["Oslo", "Bergen", "Narvik"], len(X))
    prepare = make_column_transformer((OneHotEncoder(), ["city"]), remainder=StandardScaler())
    model = make_pipeline(prepare, GBMAPClassifier(3, random_state=0)).fit(X, y > 1)
    found = nearest_switch(model, X)
    assert len(found.distances) == len(X)
    assert found.to_frame().columns.tolist() == ["distance", "learner"]
    assert repr(found).startswith("NearestSwitch: 60 rows")
