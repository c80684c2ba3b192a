"""What a report holds: the numbers of scikit-learn and gbmap.inspection, for every kind of model and data."""

import json
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gbmap
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor, TableModel
from gbmap._utils.scikit_learn import safe_indexing
from gbmap.drift import DriftMonitor
from gbmap.inspection import attributions, column_curve, explain, learner_cards, regions
from gbmap.report import make_drift_report, make_report
from gbmap.report.page import number

pytestmark = pytest.mark.usefixtures("few_trees")


def refuse_constant(name):
    raise AssertionError(f"{name} is no strict JSON")


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    y.name = "progression"
    X.index = [f"p{i}" for i in range(len(X))]
    y.index = X.index
    return X[:100], y[:100], X[100:160], y[100:160]


@pytest.fixture(scope="module")
def model(diabetes):
    X, y, _, _ = diabetes
    return GBMAPRegressor(3, l2_regularization=0.1, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def report(model, diabetes):
    X, y, X_test, y_test = diabetes
    detector = DriftDetector(model, random_state=0).fit(X, y, X_cal=X_test, y_cal=y_test)
    new = X_test.assign(bmi=X_test.bmi + 15)
    return make_report(model, X, y, X_test=X_test, y_test=y_test, X_new=new, detector=detector).to_dict()


def rows_of(contents, kind):
    kinds = contents["map"]["kind"]
    return np.flatnonzero(np.array(kinds) == contents["map"]["kinds"].index(kind))


def assert_scores_add_up(contents):
    for reasons, scores in zip(contents["map"]["reasons"], contents["map"]["scores"]):
        adds = np.array(reasons["adds"], dtype=float).reshape(len(scores), -1)
        sums = reasons["base"] + adds.sum(axis=1) + np.array(reasons["rest"], dtype=float)
        if reasons["initial"] is not None:
            sums += reasons["initial"]
        spread = np.std(scores) or 1.0
        assert_allclose(sums, scores, rtol=0, atol=0.02 * spread)


def test_the_scores_are_those_of_scikit_learn(report, model, diabetes):
    X, y, X_test, y_test = diabetes
    scores = {each["name"]: each["scores"] for each in report["performance"]["contenders"]}
    linear = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 5, 15))).fit(X, y)
    for name, predicted in {
        "GBMAP": model.predict(X_test),
        "ridge regression": linear.predict(X_test),
        "a constant": np.full(len(y_test), y.mean()),
    }.items():
        assert_allclose(scores[name]["r2"], r2_score(y_test, predicted), rtol=1e-5, atol=1e-9)
        assert_allclose(scores[name]["mae"], mean_absolute_error(y_test, predicted), rtol=1e-5)


def test_every_row_of_the_map_is_the_row_of_its_label(report, model, diabetes):
    X, y, X_test, y_test = diabetes
    rows, column = report["map"], {each["feature"]: each["values"] for each in report["map"]["columns"]}
    for kind, table, targets in (("training", X, y), ("held out", X_test, y_test)):
        at = rows_of(report, kind)
        labels = [rows["labels"][i] for i in at]
        assert_allclose(np.array(rows["prediction"])[at], model.predict(table.loc[labels]), atol=0.01)
        assert_allclose(np.array(rows["target"], dtype=float)[at], targets[labels], atol=0.01)
        assert_allclose(np.array(column[2])[at], table.loc[labels].bmi, atol=0.01)


def test_the_explanations_are_those_of_inspection(report, model, diabetes):
    X = diabetes[0]
    reasons, at = report["map"]["reasons"][0], rows_of(report, "training")
    shares, local = attributions(model, X, model.mean_), explain(model, X)
    assert_allclose(reasons["base"], shares.base_values[0], rtol=1e-5)
    features = np.array(reasons["features"])[at]
    unit = model.predict(X).std()
    expected = np.take_along_axis(shares.values, features, axis=1)
    assert_allclose(np.array(reasons["adds"])[at], expected, rtol=0, atol=2e-3 * unit)
    assert (np.diff(np.abs(expected), axis=1) <= 1e-12).all()  # the largest first
    slopes = np.take_along_axis(local.coefficients, features, axis=1)
    assert_allclose(np.array(reasons["coefficients"])[at], slopes, rtol=5e-3)
    assert_scores_add_up(report)


def test_learners_and_regions_are_those_of_inspection(report, model, diabetes):
    X, y, X_test, y_test = diabetes
    cards, unseen = learner_cards(model, X, y), learner_cards(model, X_test, y_test)
    assert report["learners"]["best_n_components"] == unseen.explained_loss.argmax()
    assert [card["words"] for card in report["learners"]["cards"]] == cards.half_spaces.tolist()
    assert_allclose(report["learners"]["training_explained"], cards.explained_loss, rtol=1e-5)
    assert_allclose(report["learners"]["held_out_explained"], unseen.explained_loss, rtol=1e-5)
    table = regions(model, X, y, max_regions=8, n_learners="auto")
    shown = report["regions"]["outputs"][0]
    assert [region["words"] for region in shown["regions"]] == table.descriptions.tolist()
    assert shown["n_learners"] == len(table.learner_names)
    assert [bool(region["spreads"]) for region in shown["regions"]] == np.isnan(table.precision).tolist()
    assert_allclose([region["bias"] for region in shown["regions"]], table.bias, rtol=1e-5)
    of_points = np.array(shown["of_points"])
    assert of_points[rows_of(report, "training")].tolist() == table.labels.tolist()
    labels, losses = table.assign(X_test), (y_test - model.predict(X_test)) ** 2
    for r, region in enumerate(shown["regions"]):
        assert region["n_held_out_rows"] == (labels == r).sum()
        if region["n_held_out_rows"]:
            assert_allclose(region["held_out_error"], np.sqrt(losses[labels == r].mean()), rtol=1e-5)


def test_importances_are_mean_sizes_of_attributions(report, model, diabetes):
    X, _, X_test, _ = diabetes
    sizes = np.abs(attributions(model, pd.concat([X, X_test]), model.mean_).values).mean(axis=0)
    for each in report["features"]["importances"]:
        assert_allclose(each["mean"], sizes[each["feature"]], rtol=1e-5)
    shown = [each["feature"] for each in report["features"]["importances"]]
    assert shown == np.argsort(-sizes, kind="stable").tolist()


def test_curves_are_those_of_inspection(report, model, diabetes):
    X = diabetes[0]
    features, labels = report["features"], report["map"]["labels"]
    assert [each["feature"] for each in features["curves"]] == [
        each["feature"] for each in features["dependences"]
    ]
    for curve in features["curves"][:3]:
        rows = [X.index.get_loc(labels[row]) for row in curve["rows"]]
        expected = column_curve(model, X, curve["feature"], rows=rows, n_points=40)
        spread = np.std(expected.average)
        assert_allclose(curve["values"], expected.values, atol=1e-2 * np.ptp(expected.values))
        assert_allclose(curve["average"][0], expected.average, atol=1e-2 * spread)
        shifted = expected.local - expected.local.mean(axis=1, keepdims=True) + expected.average.mean()
        assert_allclose(curve["local"][0], shifted, atol=1e-2 * spread)
        assert_allclose(curve["knots"], expected.knots, rtol=1e-2)


def test_drift_is_what_the_detector_says(report, model, diabetes):
    X, y, X_test, y_test = diabetes
    detector = DriftDetector(model, random_state=0).fit(X, y, X_cal=X_test, y_cal=y_test)
    new = X_test.assign(bmi=X_test.bmi + 15)
    found, drift = detector.assess(new), report["drift"]
    assert (drift["verdict"], drift["summary"]) == ("act", found.verdict.summary)
    assert [each["text"] for each in drift["findings"]] == [each.text for each in found.verdict.findings]
    assert_allclose(drift["shifts"][0]["shift"], found.shift, rtol=1e-5)
    assert_allclose(drift["share_alarmed"], np.mean(detector.predict(new) < 0), rtol=1e-5)
    assert_allclose(drift["expected_loss"], detector.estimate_loss(new).mean, rtol=1e-5)
    reasons = {each["feature"]: each for each in drift["reasons"]}
    assert max(reasons, key=lambda k: abs(reasons[k]["contribution"][0])) == list(X.columns).index("bmi")
    assert_allclose(reasons[2]["new_mean"] - X.bmi.mean(), new.bmi.mean() - X.bmi.mean(), rtol=1e-4)
    for shares in (drift["held_out_shares"], drift["new_shares"]):
        assert_allclose(sum(shares), 1, atol=2e-3)
    at = rows_of(report, "new")
    assert_allclose(np.array(drift["indicator"], dtype=float)[at], detector.indicator(new), atol=0.02)
    assert np.isnan(np.array(drift["indicator"], dtype=float)[rows_of(report, "training")]).all()


def test_rows_like_those_of_the_training_have_no_drift(model, diabetes):
    X, y, X_test, y_test = diabetes
    found = make_report(model, X, y, X_test=X_test, y_test=y_test, X_new=X_test, y_new=y_test).to_dict()
    assert found["drift"]["verdict"] == "none"
    assert_allclose(found["drift"]["new_loss"], found["drift"]["calibration_loss"], rtol=1e-5)


def test_the_files_are_strict_and_the_same_each_time(model, diabetes, tmp_path, monkeypatch):
    monkeypatch.setattr("gbmap.report.contents.contenders.perf_counter", lambda: 0.0)  # seconds differ
    X, y, X_test, y_test = diabetes
    reports = [make_report(model, X, y, X_test=X_test, y_test=y_test, max_rows=50) for _ in range(2)]
    assert reports[0].to_json(tmp_path / "twin.json") == reports[1].to_json()
    assert reports[0].to_html(tmp_path / "page.html") == reports[1].to_html()
    read = json.loads((tmp_path / "twin.json").read_text("utf-8"), parse_constant=refuse_constant)
    assert read == reports[0].to_dict()
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    assert read["schema"] == "gbmap-report/1"


def test_large_tables_are_sampled_and_the_page_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 420)) * np.geomspace(1e-3, 1e6, 420) + 1e5
    y = X[:, 0]
    fitted = GBMAPRegressor(1, l2_regularization=1e-3, tol=0.1, random_state=0).fit(X[:1000], y[:1000])
    made = make_report(fitted, X[:2500], y[:2500], X_test=X[2500:], y_test=y[2500:], X_new=X[2000:])
    page, shown = made.to_html(), made.to_dict()["map"]
    assert len(page.encode()) < 6e6
    assert shown["n_shown"] == [1667, 333, 500]
    assert "1,667 of 2,500 training rows" in page
    assert f"The {len(shown['columns'])} most important of 420 columns" in page
    assert 100 < len(shown["columns"]) < 420


def test_a_model_that_follows_noise_is_told_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = X[:, 0] + rng.normal(size=200)
    fitted = GBMAPRegressor(12, l2_regularization=1e-6, random_state=0).fit(X[:80], y[:80])
    made = make_report(fitted, X[:80], y[:80], X_test=X[80:], y_test=y[80:])
    page, best = made.to_html(), made.to_dict()["learners"]["best_n_components"]
    scores = [r2_score(y[80:], predicted) for predicted in fitted.staged_predict(X[80:])]
    assert best == np.argmax(scores) + 1 < 12
    assert f"n_components={best}" in page
    assert "A linear model does better on these rows: its R2 is 0." in page
    assert made.to_dict()["performance"]["simpler_as_good"] in page


def test_a_simpler_model_is_not_told_of_where_it_is_worse():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.abs(X[:, 0])
    fitted = GBMAPRegressor(5, random_state=0).fit(X[:100], y[:100])
    made = make_report(fitted, X[:100], y[:100], X_test=X[100:], y_test=y[100:])
    assert made.to_dict()["performance"]["simpler_as_good"] is None
    assert "on these rows: its" not in made.to_html()


def test_the_ridge_of_a_fit_is_told():
    X, y = load_iris(return_X_y=True)
    rows = {"X_test": X[::5], "y_test": y[::5], "max_rows": 20}
    found = GBMAPClassifier(2, random_state=0).fit(X, y)
    given = GBMAPClassifier(2, l2_regularization=0.25, random_state=0).fit(X, y)
    made = make_report(found, X, y, **rows)
    assert made.to_dict()["fitted"]["ridges"] == found.l2_regularization_.tolist()
    low, high = (number(each) for each in (found.l2_regularization_.min(), found.l2_regularization_.max()))
    assert f"<dt>Ridge</dt><dd>{low} to {high}, found by the fit</dd>" in made.to_html()
    assert "<dt>Ridge</dt><dd>0.25</dd>" in make_report(given, X, y, **rows).to_html()


def classes(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40 * n, 4))
    y = np.argmax(X @ rng.normal(size=(4, n)), axis=1)
    y[:n] = np.arange(n)  # each class at least once
    return X, y


def test_classes_have_scores_probabilities_and_a_choice_of_outputs():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    order = np.random.default_rng(0).permutation(150)
    X, y = X.iloc[order], y.iloc[order]
    fitted = GBMAPClassifier(2, random_state=0).fit(X[:90], y[:90])
    contents = make_report(fitted, X[:90], y[:90], X_test=X[90:], y_test=y[90:]).to_dict()
    own = contents["performance"]["contenders"][0]["scores"]
    assert_allclose(own["accuracy"], accuracy_score(y[90:], fitted.predict(X[90:])), rtol=1e-5)
    assert_allclose(own["log_loss"], log_loss(y[90:], fitted.predict_proba(X[90:])), rtol=1e-5)
    assert contents["outputs"] == ["setosa", "versicolor", "virginica"]
    at = rows_of(contents, "held out")
    p = np.array(contents["map"]["probability"])[:, at]
    assert_allclose(p.T, fitted.predict_proba(X[90:]), atol=1e-3)
    truth = np.searchsorted(fitted.classes_, y[90:])
    assert_allclose(np.array(contents["map"]["error"])[at], 1 - p[truth, np.arange(60)], atol=1e-3)
    assert_scores_add_up(contents)


def mixed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=90), "town": rng.choice(["Oslo", "Turku", None], 90)})
    X["nothing"], X["flag"] = 1.0, rng.random(90) > 0.5
    X.loc[::7, "size"] = np.nan
    y = X["size"].fillna(0) + (X["town"] == "Oslo")
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore")
    before = make_column_transformer((numbers, ["size", "nothing"]), (encoder, ["town"]), remainder="drop")
    return make_pipeline(before, GBMAPRegressor(2, random_state=0)), X, y


def small(n, p):
    X = np.random.default_rng(0).normal(size=(n, p))
    return X, X[:, 0] ** 2


def grid():
    return GridSearchCV(GBMAPRegressor(2, random_state=0), {"beta": [1.0, 5.0]}, cv=2)


CASES = {
    "three rows": (GBMAPRegressor(2, random_state=0), *small(3, 2)),
    "one column, one learner": (GBMAPRegressor(1, random_state=0), *small(60, 1)),
    "a constant column": (GBMAPRegressor(2, random_state=0), np.insert(small(60, 2)[0], 1, 1, 1), range(60)),
    "a constant target": (GBMAPRegressor(2, random_state=0), small(60, 2)[0], np.ones(60)),
    "identity": (GBMAPRegressor(2, activation="identity", random_state=0), *small(60, 3)),
    "an initial model": (GBMAPRegressor(2, init=LinearRegression(), random_state=0), *small(60, 3)),
    "quantiles": (GBMAPRegressor(2, loss="quantile", quantile=0.9, random_state=0), *small(60, 3)),
    "a search": (grid(), *small(60, 3)),
    "two classes": (GBMAPClassifier(2, random_state=0), *classes(2)),
    "five classes": (GBMAPClassifier(2, random_state=0), *classes(5)),
    "fifteen classes": (GBMAPClassifier(2, l2_regularization=1.0, random_state=0), *classes(15)),
    "classes on top of a model": (GBMAPClassifier(1, init=LogisticRegression(), random_state=0), *classes(3)),
    "no probabilities": (GBMAPClassifier(2, loss="hinge", random_state=0), *classes(3)),
    "sparse": (GBMAPRegressor(2, random_state=0), scipy.sparse.csr_array(small(60, 3)[0]), small(60, 3)[1]),
    "polars": (GBMAPRegressor(2, random_state=0), pl.DataFrame(small(60, 3)[0]), small(60, 3)[1]),
    "mixed columns": mixed(),
}  # fmt: skip


def test_training_rows_as_test_rows_are_refused_where_they_would_calibrate_the_alarm():
    estimator, X, y = CASES["identity"]
    with pytest.raises(ValueError, match=r"X_test and y_test must be able to calibrate .* are all in X"):
        make_report(estimator.fit(X, y), X, y, X_test=X, y_test=y, X_new=X)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_and_table_has_a_report(case):
    estimator, X, y = CASES[case]
    fitted = estimator.fit(X, y)
    is_test = np.arange(len(y)) % 4 == 0
    (X, y), (X_test, y_test) = (
        [safe_indexing(each, np.flatnonzero(which)) for each in (X, y)] for which in (~is_test, is_test)
    )
    made = make_report(fitted, X, y, X_test=X_test, y_test=y_test, X_new=X, max_rows=100)
    contents = json.loads(made.to_json(), parse_constant=refuse_constant)
    assert_scores_add_up(contents)
    assert len(contents["outputs"]) <= 12
    assert len(contents["map"]["labels"]) == sum(contents["map"]["n_shown"])
    page = made.to_html()
    assert "</html>" in page
    assert not re.search(r"[a-z]\.(Scores|The) ", page)  # sentences side by side


def test_missing_values_and_categories_are_kept_as_such():
    pipeline, X, y = mixed()
    contents = make_report(pipeline.fit(X, y), X, y, X_test=X, y_test=y).to_dict()
    columns = {contents["features"]["names"][each["feature"]]: each for each in contents["map"]["columns"]}
    at = rows_of(contents, "training")
    town, size = columns["town"], columns["size"]
    assert sorted(town["levels"]) == ["Oslo", "Turku"]
    shown = [None if town["values"][i] is None else town["levels"][town["values"][i]] for i in at]
    assert shown == [town if isinstance(town, str) else None for town in X["town"]]
    assert [size["values"][i] is None for i in at] == X["size"].isna().tolist()
    assert columns["flag"]["kind"] == "category"
    dependence = next(
        each for each in contents["features"]["dependences"] if each["feature"] == town["feature"]
    )
    assert dict(zip(town["levels"], dependence["means"][0]))["Oslo"] > 0
    curve = next(each for each in contents["features"]["curves"] if each["feature"] == town["feature"])
    of_town = dict(zip(curve["values"], curve["average"][0]))
    assert of_town["Oslo"] > of_town["Turku"]
    assert sum(curve["shares"]) == pytest.approx(1, abs=1e-3)


def test_what_cannot_be_reported_is_refused_in_one_sentence(model, diabetes):
    X, y, X_test, y_test = diabetes
    two = GBMAPRegressor(1, random_state=0).fit(X, np.column_stack([y, y]))
    mixing = make_pipeline(PCA(2), GBMAPRegressor(1, random_state=0)).fit(X, y)
    given = {"X_test": X_test, "y_test": y_test}
    for message, arguments, options in [
        ("model must have one target for a report, got 2", (two, X, np.column_stack([y, y])), given),
        ("the step PCA cannot be followed back", (mixing, X, y), given),
        ("X_test must hold at least one row", (model, X, y), {"X_test": X[:0], "y_test": y[:0]}),
        ("y_test must have as many rows as X_test, 60, got 3", (model, X, y), given | {"y_test": y_test[:3]}),
        ("y must hold the targets, got None", (model, X, None), given),
        ("max_rows must be an integer of at least 2, got 0", (model, X, y), given | {"max_rows": 0}),
        ("y_new holds the targets of new rows: pass X_new", (model, X, y), given | {"y_new": y_test}),
    ]:
        with pytest.raises(ValueError, match=message):
            make_report(*arguments, **options)


def test_a_class_that_the_model_does_not_know_is_refused():
    X, y = classes(3)
    fitted = GBMAPClassifier(1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y_test must hold classes of the fit only"):
        make_report(fitted, X, y, X_test=X[:2], y_test=[0, 7])


def test_without_jinja2_the_error_names_the_extra(model, diabetes, monkeypatch):
    X, y, X_test, y_test = diabetes
    made = make_report(model, X, y, X_test=X_test, y_test=y_test, max_rows=10)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "gbmap\[report\]"'):
        made.to_html()
    assert made.to_json()


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(model, diabetes):
    X, y, X_test, y_test = diabetes
    shown = make_report(model, X, y, X_test=X_test, y_test=y_test, max_rows=10, title='"><b>')._repr_html_()
    assert shown.startswith('<iframe srcdoc="')
    assert "<b>" not in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "\N{EN DASH}"),
        (0.0, "0"),
        (3.3125, "3.313"),
        (-0.5, "\N{MINUS SIGN}0.5"),
        (12345.5, "12,346"),
        (999.96, "1000"),
        (0.00001234, "1.23e-5"),
        (1e20, "1.00e20"),
    ],
)
def test_numbers_are_short_and_rounded_as_a_browser_does(value, shown):
    assert number(value) == shown


@pytest.fixture(scope="module")
def stored():
    """A model of a table with 15 classes, and its features."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    table["kind"] = [f"kind {k}" for k in np.clip(np.round(3 * table["a"] + 7), 0, 14).astype(int)]
    model = TableModel("kind", n_components=2, l2_regularization=1.0, test_size=0.4).fit(table)
    return model, model.features(table)


def test_a_stored_model_is_explained_on_new_rows_without_labels(stored):
    model, X = stored
    made = make_drift_report(model, X[:90].assign(a=X["a"][:90] + 3), max_rows=40)
    contents = json.loads(made.to_json(), parse_constant=refuse_constant)
    assert_scores_add_up(contents)
    assert contents["map"]["kinds"] == ["new"]
    assert len(contents["outputs"]) == 12
    assert contents["fitted"]["n_training_rows"] == model.n_fitted_
    assert contents["performance"]["contenders"][0]["scores"]["accuracy"] == pytest.approx(
        model.scores_["gbmap"]["accuracy"], rel=1e-5
    )
    drift = contents["drift"]
    assert drift["summary"] == model.detector_.assess(X[:90].assign(a=X["a"][:90] + 3)).verdict.summary
    assert sum(drift["held_out_shares"]) == pytest.approx(1, abs=1e-3)
    reason = next(each for each in drift["reasons"] if each["feature"] == 0)
    mean = reason["new_mean"] - reason["training_mean"]
    assert mean == pytest.approx(3, abs=0.4)
    assert "</html>" in made.to_html()


def test_one_new_row_is_enough_for_a_page(stored):
    model, X = stored
    made = make_drift_report(model, X[:1])
    contents = json.loads(made.to_json(), parse_constant=refuse_constant)
    assert contents["map"]["original_pca"] == {"values": [[0]], "shares": [None]}
    assert "</html>" in made.to_html()


def test_a_stored_model_without_held_out_rows_has_no_scores(stored):
    table = stored[1].assign(y=stored[1]["a"])
    model = TableModel("y", n_components=2, test_size=0).fit(table[:200])
    made = make_drift_report(model, model.features(table[200:260]), table["y"][200:260])
    assert made.contents["performance"] is None
    assert "there are no held-out scores" in made.contents["left_out"]
    assert made.contents["left_out"] in made.to_html()


def test_the_package_itself_shows_new_rows_by_any_model(model, diabetes):
    X, y, X_test, y_test = diabetes
    bare = gbmap.report(model, X_test, max_rows=40)
    assert bare._repr_html_().startswith("<iframe srcdoc=")
    told = bare.to_dict()
    assert_scores_add_up(told)
    rows = [told["map"]["labels"].index(label) for label in told["map"]["labels"]]
    expected = model.predict(X_test.loc[[told["map"]["labels"][i] for i in rows]])
    assert_allclose(np.array(told["map"]["prediction"])[rows], expected, atol=0.01)
    assert (told["drift"], told["predictions"], told["performance"]) == (None, None, None)
    assert "without a detector" in told["left_out"]
    assert "Not known: that takes a detector" in bare.to_html()

    detector = DriftDetector(model, random_state=0).fit(X, y, X_cal=X_test, y_cal=y_test)
    seen = gbmap.report(model, X_test, y_test, detector=detector, title="Patients", max_rows=40).to_dict()
    assert (seen["title"], seen["fitted"]["target"]) == ("Patients", "progression")
    assert seen["drift"]["verdict"] == detector.verdict(X_test, y_test).degree
    truths = seen["predictions"]["numbers"]
    assert_allclose(sorted(truths["target"]), sorted(y_test), atol=0.01)
    with pytest.raises(ValueError, match="calibrat"):
        gbmap.report(model, X_test, detector=DriftDetector(model).fit(X, y))


def test_the_package_itself_shows_classes_and_pipelines():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), GBMAPClassifier(2, random_state=0)).fit(X, y)
    made = gbmap.report(model, X[::3], y[::3], max_rows=30)
    assert made.contents["outputs"] == ["0", "1", "2"]
    assert np.trace(made.contents["predictions"]["classes"]["confusion"]) >= 45
    assert "</html>" in made.to_html()


@pytest.mark.parametrize(
    ("times", "axis", "ends"),
    [
        (["2026-01-31", "2026-02-28"], "time", [1769817600000.0, 1772236800000.0]),
        ([1.5, 2.5], "number", [1.5, 2.5]),
        (["Monday", "Tuesday"], "row", [29.0, 59.0]),
        ([None, None], "row", [29.0, 59.0]),
    ],
)
def test_batches_lie_where_their_times_say(stored, times, axis, ends):
    model, X = stored
    monitor = DriftMonitor(model.detector_, label_share=0, random_state=0)
    for k, time in enumerate(times):
        update = monitor.update(X[30 * k : 30 * k + 30], time=time)
    told = make_drift_report(model, X[:60], monitor=monitor, max_rows=20).contents["drift"]["over_time"]
    assert (told["axis"], told["positions"], told["n_rows"]) == (axis, ends, [30, 30])
    assert told["expected_error"][1] == pytest.approx(update.expected_loss, rel=1e-4)
    assert told["share_alarmed"][1] == pytest.approx(update.share_of_alarms, abs=1e-4)
    assert told["known_error"] == [None, None]
    assert told["evidence_of_labels"] is None
    enough = np.log(1 / monitor.level)
    assert told["evidence_of_rows"][1] == pytest.approx((update.log_capital - enough) / np.log(10), rel=1e-4)


def test_many_batches_are_shown_as_fewer_that_hold_all_rows(stored, monkeypatch):
    monkeypatch.setattr("gbmap.report.contents.over_time._MOST", 6)
    model, X = stored
    monitor = DriftMonitor(model.detector_, random_state=0)
    updates = [monitor.update(X[k : k + 1], time=k) for k in range(11)]
    made = make_drift_report(model, X[:11], monitor=monitor, max_rows=20)
    told = made.contents["drift"]["over_time"]
    assert told["n_rows"] == [2] * 5 + [1]
    assert (told["begin"], told["positions"][0], told["positions"][-1]) == (0.0, 1.0, 10.0)
    pairs = np.array([each.expected_loss for each in updates[:10]]).reshape(-1, 2).mean(axis=1)
    assert_allclose(told["expected_error"][:5], pairs, rtol=1e-4)
    enough = np.log(2 / monitor.level)
    assert told["evidence_of_rows"][0] == pytest.approx(
        (updates[1].log_capital - enough) / np.log(10), rel=1e-4
    )
    assert "(neighbouring ones are shown as one)" in made.to_html()
    assert len(monitor.state_.timeline) == 11


def test_what_a_page_over_time_cannot_show_is_refused(stored, model, diabetes):
    with pytest.raises(ValueError, match="monitor must have seen rows"):
        make_drift_report(stored[0], stored[1], monitor=DriftMonitor(stored[0].detector_))
    with pytest.raises(TypeError, match="monitor must be a DriftMonitor, got str"):
        make_drift_report(stored[0], stored[1], monitor="yes")
    with pytest.raises(ValueError, match="monitor needs the detector that it asks"):
        make_drift_report(model, diabetes[0], monitor=DriftMonitor(stored[0].detector_))
    X, y, X_test, y_test = diabetes
    with pytest.raises(ValueError, match="monitor must have seen new rows: pass them as X_new"):
        make_report(model, X, y, X_test=X_test, y_test=y_test, monitor=DriftMonitor(stored[0].detector_))


def test_a_map_that_is_a_line_says_so():
    X = np.random.default_rng(0).normal(size=(200, 2))
    for y, is_line in ((X[:, 0], True), (np.abs(X[:, 0]) + X[:, 1], False)):
        model = GBMAPRegressor(3, random_state=0).fit(X[:150], y[:150])
        page = make_report(model, X[:150], y[:150], X_test=X[150:], y_test=y[150:], max_rows=50).to_html()
        assert ("The embedding is nearly a line" in page) == is_line
