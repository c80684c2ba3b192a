"""Every command on tables as people have them: identifiers, many categories, dates, holes, odd names."""

import io
import json
import math
import sqlite3

import numpy as np
import pandas as pd
import pytest

import gbmap

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture
def ask(run, shop):
    """Return a function that runs a command on the later rows of a shop, and gives what it printed."""

    def ask(command, *options, data="later.csv", models=("model.gbmap",), codes=(0,)):
        files = [shop.folder / name for name in models] + ([] if data is None else [shop.folder / data])
        ended = run(command, *files, *options)
        assert ended.code in codes, ended.err
        assert ended.err == ""
        return ended

    return ask


@pytest.fixture
def rows(ask):
    """Return a function that gives the table which a command writes."""

    def rows(command, *options, **others):
        found = pd.read_csv(io.StringIO(ask(command, *options, **others).out), engine="pyarrow")
        numbers = found.select_dtypes("number")
        assert np.isfinite(numbers.to_numpy()).all()
        return found

    return rows


@pytest.fixture
def predicted(rows):
    return rows("predict")


@pytest.fixture
def model(shop):
    return gbmap.load(shop.folder / "model.gbmap")


def scores(model, frame):
    """Return the score of each row and output, in the order of the columns that explain a row."""
    pipeline = model.model_
    function = getattr(pipeline, "decision_function", pipeline.predict)
    return np.asarray(function(model.features(frame))).reshape(len(frame), -1)


def finite(value):
    """Return whether a document holds no number that is not finite, which JSON would have as null."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def test_the_columns_are_what_they_are_taken_for(shop, model):
    kinds = {column["name"]: column["kind"] for column in shop.fitted["columns"]}
    dropped = {"id", 'order "no."', "note", "country", "unused"}
    assert {name for name, kind in kinds.items() if kind == "dropped"} == dropped
    assert {name for name, kind in kinds.items() if kind == "date"} == {"ordered", "logged at"}
    assert (kinds["member"], kinds["mixed"], kinds["colour"]) == ("number", "category", "category")
    assert shop.fitted["rows"] == 400
    assert finite(shop.fitted)


def test_predictions_are_those_of_the_library(shop, model, predicted):
    expected = model.predict(shop.later)
    assert len(predicted) == 150
    if shop.target == "paid":
        np.testing.assert_array_equal(predicted["prediction"], expected)
        return
    assert (predicted["prediction"] == expected).all()
    shares = predicted.drop(columns="prediction")
    assert list(shares.columns) == [f"probability_{label}" for label in model.model_.classes_]
    np.testing.assert_allclose(shares, model.predict_proba(shop.later), rtol=1e-12)


def test_coordinates_add_up_to_the_scores_behind_the_predictions(shop, model, rows):
    phi, expected = rows("transform"), scores(model, shop.later)
    n_outputs = expected.shape[1]
    assert phi.shape == (150, 3 * n_outputs)
    found = phi.to_numpy().reshape(150, 3, n_outputs).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_attributions_add_up_to_the_scores_behind_the_predictions(shop, model, rows, predicted):
    reasons, expected = rows("explain", "--keep", 'order "no."'), scores(model, shop.later)
    n_outputs = expected.shape[1]
    assert len(reasons) == 150 * n_outputs
    if n_outputs > 1:
        assert reasons.pop("output").tolist() == 150 * model.model_.classes_.tolist()
    assert reasons.pop('order "no."').tolist() == np.repeat(shop.later['order "no."'], n_outputs).tolist()
    used = [column["name"] for column in shop.fitted["columns"] if column["kind"] != "dropped"]
    assert list(reasons.columns) == [*used, "base_value"]
    found = reasons.sum(axis=1).to_numpy().reshape(150, n_outputs)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    if shop.target == "paid":
        np.testing.assert_allclose(found[:, 0], predicted["prediction"], rtol=1e-9, atol=1e-9)


def test_coefficients_times_the_values_of_a_row_are_its_score(shop, model, rows):
    slopes, features = rows("explain", "--kind", "coefficients"), model.features(shop.later)
    expected = scores(model, shop.later)
    n_outputs, intercept = expected.shape[1], slopes.pop("intercept")
    slopes = slopes.drop(columns="output", errors="ignore")
    assert list(slopes.columns) == list(features.columns)
    values = features.assign(**dict.fromkeys(model.schema_.categories, 1.0))  # each is there, or it is not
    whole = values.notna().all(axis=1).to_numpy()  # a hole is filled in
    assert whole.sum() > 50
    found = slopes.to_numpy() * np.repeat(values.to_numpy(), n_outputs, axis=0)
    found = (found.sum(axis=1) + intercept.to_numpy()).reshape(150, n_outputs)
    np.testing.assert_allclose(found[whole], expected[whole], rtol=1e-6, atol=1e-6)


def test_a_score_is_that_of_the_predictions(shop, ask, predicted):
    document = json.loads(ask("evaluate", "--json").out)
    assert document["rows"] == 150
    assert finite(document)
    y = shop.later[shop.target]
    if shop.target == "paid":
        error = predicted["prediction"] - y.astype(float)
        assert np.isclose(document["scores"]["rmse"], np.sqrt((error**2).mean()))
    else:
        assert document["scores"]["accuracy"] == (predicted["prediction"] == y).mean()
    assert document["scores_held_out"] == shop.fitted["scores"]


def test_drift_counts_the_alarms_that_predict_gives(shop, ask, rows, tmp_path):
    ended = ask("drift", "--json", "-o", tmp_path / "alarms.csv", codes=(0, 1))
    document, alarms = json.loads(ended.out), pd.read_csv(tmp_path / "alarms.csv")
    assert document["drift"] == bool(ended.code)
    assert document["rows"] == len(alarms) == 150
    assert np.isclose(document["assessment"]["share_over_threshold"], alarms["drift_alarm"].mean())
    assert finite(document)
    pd.testing.assert_frame_equal(alarms, rows("predict", "--drift")[alarms.columns], rtol=1e-12)
    text = ask("drift", codes=(0, 1)).out
    for each in document["columns"][:3]:
        assert each["column"] in text
        assert each["change"]


def test_the_difference_is_that_of_the_scores(shop, ask, model):
    ended = ask("difference", "--json", "-m", 1, models=("model.gbmap", "other.gbmap"))
    document = json.loads(ended.out)
    assert document["rows_compared"] == 150
    assert finite(document)
    if shop.target != "grade":  # of more than two classes, log-odds are another thing than scores
        other = gbmap.load(shop.folder / "other.gbmap")
        expected = np.abs(scores(other, shop.later) - scores(model, shop.later)).mean(axis=0)
        found = [each["mean_absolute"] for each in document["outputs"]]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_model_file_tells_what_the_fit_did(shop, ask):
    document = json.loads(ask("inspect", "--json", data=None).out)
    for name in ("target", "task", "columns", "scores", "rows_fitted", "rows_held_out", "detector"):
        assert document[name] == shop.fitted[name], name
    text = ask("inspect", data=None).out
    assert all(each["active_where"] in text for each in document["learners"][:20])


def test_the_page_has_the_scores_of_the_fit(shop, run, tmp_path):
    pytest.importorskip("jinja2")
    page, numbers = tmp_path / "page.html", tmp_path / "page.json"
    given = ["report", shop.folder / "orders.csv", *shop.options, "--new", shop.folder / "later.csv"]
    ended = run(*given, "-m", 3, "--max-rows", 60, "-o", page, "--json-out", numbers, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["scores"] == shop.fitted["scores"]
    assert finite(json.loads(numbers.read_text()))
    assert page.read_text().lstrip().lower().startswith("<!doctype html")


def test_sql_predicts_as_the_model_does(shop, run, model, predicted, tmp_path):
    out = tmp_path / "model.sql"
    given = ["export", shop.folder / "model.gbmap", "--to", "sql", "--dialect", "sqlite", "-o", out]
    assert 'It passes on id, order "no.", note; --keep names others' in run(*given, "--quiet").out
    features = model.features(shop.later).astype(dict.fromkeys(model.schema_.categories, object))
    keys = shop.later.reset_index(drop=True)[["id", 'order "no."', "note"]]
    features = features.reset_index(drop=True).join(keys)
    with sqlite3.connect(":memory:") as database:
        features.to_sql("data", database, index=False)
        found = pd.read_sql(out.read_text(), database)
    database.close()
    assert len(found) == 150
    assert found["id"].tolist() == keys["id"].tolist()
    assert run(*given, "--no-keep", "--quiet").code == 0
    assert '"id"' not in out.read_text()
    assert "--keep and --no-keep are for --to sql" in run(*given, "--keep", "id", "--no-keep").err
    if shop.target == "paid":
        np.testing.assert_allclose(found["prediction"], predicted["prediction"], rtol=1e-9)
    else:
        assert (found["label"] == predicted["prediction"]).all()


def test_onnx_predicts_as_the_model_does(shop, run, model, predicted, tmp_path):
    onnxruntime, _ = pytest.importorskip("onnxruntime"), pytest.importorskip("skl2onnx")
    out = tmp_path / "model.onnx"
    ended = run("export", shop.folder / "model.gbmap", "--to", "onnx", "-o", out, "--quiet")
    assert (ended.code, ended.err) == (0, "")
    features = model.features(shop.later)
    session = onnxruntime.InferenceSession(out)
    inputs = {
        each.name: features[[name]].to_numpy(np.float32)
        if features[name].dtype == float
        else features[[name]].fillna("").to_numpy(object)
        for each, name in zip(session.get_inputs(), features)
    }
    found = session.run(None, inputs)[0].ravel()
    if shop.target == "paid":
        np.testing.assert_allclose(found, predicted["prediction"], rtol=1e-3, atol=1e-3)
    else:
        assert (found == predicted["prediction"]).mean() > 0.99
