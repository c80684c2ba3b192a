"""A coordinate has one name, everywhere that it is shown."""

import json
from contextlib import closing

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbmap import DriftDetector, GBMAPClassifier, GBMAPClassifierCV, GBMAPRegressor
from gbmap.inspection import learner_cards, model_difference, regions

NAMES = ["f1_setosa", "f1_versicolor", "f1_virginica", "f2_setosa", "f2_versicolor", "f2_virginica"]


@pytest.fixture(scope="module")
def iris():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    species = load_iris().target_names[y]
    return frame, species, GBMAPClassifier(2, random_state=0).fit(frame, species)


@pytest.mark.parametrize(
    ("n_targets", "names"), [(None, ["f1", "f2"]), (1, ["f1", "f2"]), (2, ["f1_0", "f1_1", "f2_0", "f2_1"])]
)
def test_coordinates_of_numbers_are_counted_from_one(n_targets, names):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] if n_targets in (None, 1) else X
    model = GBMAPRegressor(2, random_state=0).fit(X, y)
    assert model.get_feature_names_out().tolist() == names


def test_two_classes_are_one_output(iris):
    frame, species, _ = iris
    model = GBMAPClassifier(3, random_state=0).fit(frame, species == "setosa")
    assert model.get_feature_names_out().tolist() == ["f1", "f2", "f3"]


def test_input_features_must_be_those_of_the_fit(iris):
    frame, _, model = iris
    assert model.get_feature_names_out(list(frame.columns)).tolist() == NAMES
    assert model.get_feature_names_out().dtype == object
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="not fitted"):
        clone(model).get_feature_names_out()


def test_searches_and_pipelines_pass_them_on(iris):
    frame, species, model = iris
    assert (
        make_pipeline(StandardScaler(), clone(model)).fit(frame, species).get_feature_names_out().tolist()
        == NAMES
    )
    search = GBMAPClassifierCV(2, betas=[5.0], l2_regularizations=[1e-3], cv=2, random_state=0)
    names = search.fit(frame, species).get_feature_names_out()
    assert names.tolist() == NAMES[: len(names)]
    assert search.set_output(transform="pandas").transform(frame).columns.tolist() == names.tolist()


def test_results_go_by_them(iris):
    frame, species, model = iris
    assert clone(model).set_output(transform="pandas").fit_transform(frame, species).columns.tolist() == NAMES
    cards = learner_cards(model, frame, species)
    assert cards.names.tolist() == cards.to_frame().index.tolist() == NAMES
    found = regions(model, frame, output="versicolor", max_regions=100)
    assert found.learner_names.tolist() == NAMES[1::3]
    is_active = [{name for name in NAMES if name in words} for words in found.to_frame()["active_learners"]]
    assert is_active == [set(found.learner_names[row]) for row in found.patterns]
    drift = DriftDetector(model).fit(frame, species).assess(frame)
    assert drift.coordinates.names.tolist() == drift.to_frame("coordinates").index.tolist() == NAMES
    assert set(", ".join(drift.regions.active_learners[drift.regions.outputs == 2]).split(", ")) <= {
        *NAMES[2::3], "none", "",
    }  # fmt: skip
    difference = model_difference(
        model, GBMAPClassifier(1, random_state=0).fit(frame, species), frame, n_components=2
    )
    assert difference.to_frame().index.tolist() == difference.names.tolist() == NAMES


def test_a_foreign_classifier_names_them_by_its_classes(iris):
    from sklearn.linear_model import LogisticRegression

    frame, species, _ = iris
    foreign = LogisticRegression(max_iter=1000).fit(frame, species)
    drift = DriftDetector(foreign, random_state=0).fit(frame, species).assess(frame)
    assert drift.coordinates.names[:3].tolist() == NAMES[:3]


def test_exports_go_by_them(iris):
    pytest.importorskip("onnx")
    import sqlite3

    from gbmap.onnx import to_onnx
    from gbmap.sql import to_sql

    frame, _, model = iris
    graph = to_onnx(model)
    facts = {each.key: each.value for each in graph.metadata_props}
    assert json.loads(facts["coordinate_names"]) == NAMES
    assert [each.name for each in graph.graph.output] == ["label", "probability", "embedding"]
    outputs = ["embedding", "probability"]
    with closing(sqlite3.connect(":memory:")) as database:
        frame.to_sql("iris", database, index=False)
        answer = database.execute(to_sql(model, "iris", outputs=outputs, dialect="sqlite"))
    classes = [f"probability_{each}" for each in model.classes_]
    assert [each[0] for each in answer.description] == NAMES + classes


def test_the_report_goes_by_them(iris):
    pytest.importorskip("jinja2")
    from gbmap.report import make_report

    frame, species, model = iris
    contents = make_report(model, frame, species, X_test=frame, y_test=species).contents
    assert [each["name"] for each in contents["map"]["coordinates"]] == NAMES
    assert [each["name"] for each in contents["learners"]["cards"]] == NAMES


def test_a_learner_is_drawn_by_its_name_or_position(iris):
    import matplotlib.pyplot as plt

    from gbmap.plots import EmbeddingDisplay

    frame, species, model = iris
    cards = learner_cards(model, frame)
    by_name, by_position = cards.plot_card("f2_setosa"), cards.plot_card(3)
    assert np.array_equal(by_name.values, by_position.values)
    with pytest.raises(
        ValueError, match="learner must be a name from 'f1_setosa' to 'f2_virginica', or a position"
    ):
        cards.plot_card("f3_setosa")
    display = EmbeddingDisplay.from_estimator(model, frame, species, components=("f2_virginica", "f1_setosa"))
    assert np.array_equal(display.coordinates, model.transform(frame)[:, [5, 0]])
    assert display.ax_.get_xlabel().startswith("f2_virginica, explains")
    plt.close("all")
