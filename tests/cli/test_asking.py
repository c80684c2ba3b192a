"""Questions about a model: how good it is, how it differs from another, what it is; and its exports."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import gbmap
from gbmap._fitted.model import FittedModel

pytestmark = pytest.mark.usefixtures("few_trees")


def test_a_model_is_scored_beside_what_was_known_at_the_fit(run, folder):
    document = json.loads(run("evaluate", folder / "price.gbmap", folder / "more.csv", "--json").out)
    model, more = gbmap.load(folder / "price.gbmap"), pd.read_csv(folder / "more.csv", dtype=str)
    error = model.predict(more) - more["price"].astype(float)
    assert np.isclose(document["scores"]["rmse"], np.sqrt((error**2).mean()))
    assert document["rows"] == 200
    assert set(document["scores_held_out"]) == {"gbmap", "linear", "constant"}
    text = run("evaluate", folder / "class.gbmap", folder / "more.csv").out
    assert "accuracy" in text
    assert "held out of the fit" in text


def test_a_score_of_one_row_says_one_row(run, folder, tmp_path):
    pd.read_csv(folder / "more.csv").head(1).to_csv(tmp_path / "one.csv", index=False)
    assert (
        "Scores on 1 row, target price" in run("evaluate", folder / "price.gbmap", tmp_path / "one.csv").out
    )


def test_a_score_needs_the_target(run, folder, tmp_path):
    pd.read_csv(folder / "more.csv").drop(columns="price").to_csv(tmp_path / "blind.csv", index=False)
    ended = run("evaluate", folder / "price.gbmap", tmp_path / "blind.csv")
    assert ended.code == 3
    assert "lacks the column 'price'" in ended.err or "no column 'price'" in ended.err


@pytest.mark.parametrize("first", ["price.gbmap", "blind.gbmap"])
def test_the_difference_of_two_models_is_told_in_columns_that_one_of_them_knows(run, folder, blind, first):
    models = [folder / first, folder / ("blind.gbmap" if first == "price.gbmap" else "price.gbmap")]
    ended = run("difference", *models, folder / "more.csv", "--components", 4, "--json")
    document = json.loads(ended.out)
    rows = pd.read_csv(folder / "more.csv", dtype=str)
    of_first, of_second = (gbmap.load(path).predict(rows) for path in models)
    assert np.isclose(document["outputs"][0]["mean_absolute"], np.abs(of_second - of_first).mean())
    assert document["outputs"][0]["faithfulness"] > 0.7
    words = " ".join(each["half_space"] for each in document["half_spaces"][:2])
    assert "city is" in words
    text = run("difference", *models, folder / "more.csv", "--components", 4).out
    assert all(each["half_space"] in text for each in document["half_spaces"])


def test_models_of_classes_differ_in_log_odds_of_each(run, folder):
    other = folder / "other.gbmap"
    options = ["--drop", "price", "--drop", "city", "-m", 4, "--beta", 5, "--l2", 0.001, "-q"]
    run("fit", folder / "houses.csv", "-t", "class", "-o", other, *options)
    document = json.loads(
        run("difference", folder / "class.gbmap", other, folder / "more.csv", "-m", 2, "--json").out
    )
    assert document["unit"] == "log-odds"
    assert [each["output"] for each in document["outputs"]] == ["cheap", "dear", "usual"]


def test_models_that_cannot_be_compared_are_refused(run, folder):
    ended = run("difference", folder / "price.gbmap", folder / "class.gbmap", folder / "more.csv")
    assert ended.code == 2
    assert "numbers both, or classes both" in ended.err


def test_a_model_file_tells_what_it_is(run, folder):
    text = run("inspect", folder / "price.gbmap").out
    document = json.loads(run("inspect", folder / "price.gbmap", "--json").out)
    assert "Predicts price: regression" in text
    assert f"gbmap {gbmap.__version__}" in text
    n_learners = len(gbmap.load(folder / "price.gbmap").model_.ensemble_)
    assert document["parameters"]["n_components"] == str(n_learners)
    assert document["detector"]["reference_rows"] == 480
    assert document["detector"]["calibration_rows"] == 120
    assert [each["name"] for each in document["columns"]] == ["id", "size", "age", "city", "sold", "noise"]
    assert len(document["learners"]) == n_learners > 1
    assert "size" in document["learners"][0]["active_where"]
    assert all(each["active_where"] in text for each in document["learners"])
    assert [each["name"] for each in document["learners"]] == [f"f{j + 1}" for j in range(n_learners)]
    assert f"f{n_learners} " in text


@pytest.mark.parametrize("what", ["bare", "pipeline", "detector", "unfitted"])
def test_files_of_other_models_can_be_looked_at_but_not_used_on_tables(run, folder, tmp_path, what):
    from sklearn.datasets import make_friedman1
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = make_friedman1(60, random_state=0)
    model = gbmap.GBMAPRegressor(n_components=2, random_state=0)
    model = {
        "bare": lambda: model.fit(X, y),
        "pipeline": lambda: make_pipeline(StandardScaler(), model).fit(X, y),
        "detector": lambda: gbmap.DriftDetector(model, random_state=0).fit(X, y),
        "unfitted": lambda: model,
    }[what]()
    gbmap.save(model, tmp_path / "other.gbmap")
    ended = run("inspect", tmp_path / "other.gbmap", "--json")
    document = json.loads(ended.out)
    assert (ended.code, document["holds"]) == (0, type(model).__name__)
    assert len(document.get("learners", [])) == (0 if what == "unfitted" else 2)
    ended = run("predict", tmp_path / "other.gbmap", folder / "more.csv")
    assert ended.code == 3
    assert "must hold a model of tables" in ended.err


def test_the_sql_of_a_model_predicts_as_it_does(run, folder, tmp_path):
    out = tmp_path / "model.sql"
    given = [
        "export",
        folder / "price.gbmap",
        "--to",
        "sql",
        "-o",
        out,
        "--dialect",
        "sqlite",
        "--table",
        "rows",
    ]
    assert "reads the columns size, age, city, sold (days)" in run(*given).out
    model, rows = gbmap.load(folder / "price.gbmap"), pd.read_csv(folder / "more.csv", dtype=str)
    with sqlite3.connect(":memory:") as database:
        features = model.features(rows).astype({"city": object})
        features.assign(id=rows["id"]).to_sql("rows", database, index=False)
        found = dict(database.execute(out.read_text()))
    database.close()
    np.testing.assert_allclose([found[key] for key in rows["id"]], model.predict(rows), rtol=1e-9)


@pytest.mark.parametrize("name", ["model.sql", "MODEL.SQL"])
def test_the_ending_of_a_file_tells_the_format_of_an_export(run, folder, tmp_path, name):
    ended = run("export", folder / "price.gbmap", "-o", tmp_path / name, "--json")
    assert json.loads(ended.out)["format"] == "sql"
    assert (tmp_path / name).read_text().startswith("WITH")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--to", "sql", "-o", "m.onnx"],
            "--to sql and --out m.onnx name two formats; leave --to out, or end",
        ),
        (["-o", "m.txt"], "--out must end in .onnx or .sql, got m.txt; for others, say --to."),
    ],
)
def test_an_export_whose_format_is_open_is_refused(run, folder, given, said):
    ended = run("export", folder / "price.gbmap", *given)
    assert ended.code == 2
    assert ended.err.startswith(f"gbmap: {said}")
    assert ended.err.count("\n") == 1


def test_the_onnx_graph_of_a_model_predicts_as_it_does(run, folder, tmp_path):
    onnxruntime, _ = pytest.importorskip("onnxruntime"), pytest.importorskip("skl2onnx")
    out = tmp_path / "model.onnx"
    ended = run("export", folder / "price.gbmap", "--to", "onnx", "-o", out, "--json")
    assert ended.code == 0
    model, rows = gbmap.load(folder / "price.gbmap"), pd.read_csv(folder / "more.csv", dtype=str)
    features = model.features(rows)
    session = onnxruntime.InferenceSession(out)
    inputs = {
        each.name: features[[name]].to_numpy(np.float32)
        if features[name].dtype == float
        else features[[name]].fillna("").to_numpy(object)
        for each, name in zip(session.get_inputs(), features)
    }
    found = session.run(["prediction"], inputs)[0]
    assert json.loads(ended.out)["columns"] == list(inputs)
    np.testing.assert_allclose(found.ravel(), model.predict(rows), rtol=1e-4)


def test_a_report_is_a_page_and_its_numbers(run, folder, tmp_path):
    pytest.importorskip("jinja2")
    page, numbers = tmp_path / "page.html", tmp_path / "page.json"
    given = ["report", folder / "houses.csv", "-t", "price", "--drop", "class", "-m", 3, "--max-rows", 100]
    given += ["--beta", 5, "--l2", 0.001]
    ended = run(*given, "--new", folder / "far.csv", "-o", page, "--json-out", numbers)
    assert ended.code == 0, ended.err
    assert "Drift found: RMSE " in ended.out
    assert "column 'size' is outside" in ended.out
    assert f"Wrote {page}." in ended.out
    assert page.read_text().lstrip().lower().startswith("<!doctype html")
    contents = json.loads(numbers.read_text())
    assert contents["fitted"]["target"] == "price"
    assert contents["performance"]["contenders"][0]["seconds"] > 0
    assert [each["name"] for each in contents["data"]["dropped"]] == ["id"]  # a running number
    assert "gbmap drift MODEL NEW" in contents["summary"]["steps"][1]["command"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "page.json"]


def test_a_report_says_how_columns_were_read_and_which_rows_it_left_out(run, tmp_path):
    pytest.importorskip("jinja2")
    rng, page, numbers = np.random.default_rng(0), tmp_path / "page.html", tmp_path / "page.json"
    paid = rng.uniform(1000, 9000, 80)
    rows = {"paid": [f"{each:,.2f}" for each in paid], "y": np.where(np.arange(80) % 8, paid, np.nan)}
    pd.DataFrame(rows).to_csv(tmp_path / "paid.csv", index=False)
    given = ["-t", "y", "-m", 2, "-o", page, "--json-out", numbers]
    ended = run("report", tmp_path / "paid.csv", *given)
    assert ended.code == 0, ended.err
    assert "10 of 80 rows have no target and were left out." in ended.out
    assert f"{rows['paid'][0]!r} is read as" in ended.out
    data = json.loads(numbers.read_text())["data"]
    assert (data["n_without_target"], [each["name"] for each in data["readings"]]) == (10, ["paid"])
    assert "10 rows of the table without" in page.read_text()


@pytest.mark.parametrize("name", ["price", "class"])
def test_a_stored_model_makes_a_page_of_new_rows_without_a_fit(run, folder, tmp_path, monkeypatch, name):
    pytest.importorskip("jinja2")
    page, numbers = tmp_path / "page.html", tmp_path / "page.json"
    monkeypatch.setattr("gbmap.tables.TableModel.fit", None)
    model = folder / f"{name}.gbmap"
    given = ["report", "--model", model, "--new", folder / "far.csv", "--max-rows", 60]
    ended = run(*given, "-o", page, "--json-out", numbers)
    assert ended.code == 0, ended.err
    drift = json.loads(run("drift", model, folder / "far.csv", "--json").out)["verdict"]
    assert f"Drift found: {drift['summary']}." in ended.out
    contents = json.loads(numbers.read_text())
    assert contents["drift"]["summary"] == drift["summary"]
    stored = json.loads(run("inspect", model, "--json").out)
    for each, kept in zip(contents["performance"]["contenders"], stored["scores"].values()):
        assert each["scores"] == pytest.approx(kept, rel=1e-4)
    assert contents["map"]["n_shown"] == [60]
    assert contents["learners"] is contents["regions"] is None
    assert contents["left_out"] in page.read_text()
    assert 'href="#regions"' not in page.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--new", "far.csv", "-t", "price"], "--target cannot go with --model, which is fitted already"),
        (["houses.csv", "--new", "far.csv", "--seed", 0], "DATA, --seed cannot go with --model, which"),
        ([], "--model needs --new"),
        (["--new", "nowhere.csv"], "nowhere.csv does not exist"),
        (["--new", "far.csv", "--json-out", "price.gbmap"], "--json-out must not be a file that is read"),
    ],
)
def test_a_stored_model_goes_with_no_option_of_a_fit(run, folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    ended = run("report", "--model", "price.gbmap", "-o", "never.html", *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert not (folder / "never.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "houses.csv"], "--out must not be a file that is read"),
        (["-o", "p.html", "--json-out", "houses.csv"], "--json-out must not be a file that is read"),
        (["-o", "p.html", "--new", "far.csv", "--json-out", "far.csv"], "--json-out must not be a file that"),
        (["-o", "p.html", "--json-out", "p.html"], "--json-out must end in .json"),
    ],
)
def test_a_page_overwrites_neither_its_tables_nor_its_numbers(run, folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    ended = run("report", "houses.csv", "-t", "price", *options)
    assert ended.code == 2
    assert message in ended.err


def test_onnx_knows_rare_and_new_categories_as_the_model_does(run, folder, rare, tmp_path):
    onnxruntime, _ = pytest.importorskip("onnxruntime"), pytest.importorskip("skl2onnx")
    assert run("export", folder / "rare.gbmap", "--to", "onnx", "-o", tmp_path / "m.onnx").code == 0
    model = gbmap.load(folder / "rare.gbmap")
    rare = rare.copy()
    assert not any("a street of one row" in name for name in FittedModel.of(model.model_).input_names)
    rare.loc[5:8, "street"] = "never seen"
    features = model.features(rare)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    inputs = {
        each.name: features[[name]].to_numpy(np.float32)
        if features[name].dtype == float
        else features[[name]].fillna("").to_numpy(object)
        for each, name in zip(session.get_inputs(), features)
    }
    found = session.run(["prediction"], inputs)[0]
    np.testing.assert_allclose(found.ravel(), model.predict(rare), rtol=1e-4)


@pytest.mark.parametrize("to", ["sql", "onnx"])
def test_an_export_that_cannot_be_written_leaves_what_was_there(run, folder, tmp_path, monkeypatch, to):
    pytest.importorskip("skl2onnx")
    old = tmp_path / f"old.{to}"
    old.write_text("as it was")

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gbmap._utils.replacing.os.replace", fail)
    ended = run("export", folder / "price.gbmap", "--to", to, "-o", old)
    assert ended.code == 3
    assert ended.err == f"gbmap: {old}: no space left on device.\n"
    assert [path.read_text() for path in tmp_path.iterdir()] == ["as it was"]


def test_a_page_about_new_rows_with_a_class_that_the_model_does_not_know(run, folder, tmp_path):
    pytest.importorskip("jinja2")
    rows = pd.read_csv(folder / "more.csv", dtype=str).replace({"class": {"dear": "castle"}})
    rows.to_csv(tmp_path / "new.csv", index=False)
    given = [
        "report",
        folder / "houses.csv",
        "-t",
        "class",
        "--drop",
        "price",
        "-m",
        2,
        "--beta",
        5,
        "--l2",
        1,
    ]
    ended = run(*given, "--max-rows", 20, "--new", tmp_path / "new.csv", "-o", tmp_path / "page.html")
    assert ended.code == 0
    assert "none that the model knows; these count by their columns alone" in ended.err
    assert f"labelled rows of {len(rows)}" in ended.out


def test_models_differ_in_some_of_several_categories(run, folder, rare, tmp_path):
    given = ["-t", "price", "--drop", "class", "-m", 2, "--beta", 5, "--l2", 1, "-o", tmp_path / "m.gbmap"]
    assert run("fit", folder / "rare.csv", *given, "--drop", "city").code == 0
    for models in (
        [tmp_path / "m.gbmap", folder / "rare.gbmap"],
        [folder / "rare.gbmap", tmp_path / "m.gbmap"],
    ):
        ended = run("difference", *models, folder / "rare.csv", "-m", 2, "--json")
        assert ended.code == 0, ended.err
        assert "city is" in json.loads(ended.out)["half_spaces"][0]["half_space"]


@pytest.mark.parametrize("model", ["price.gbmap", "class.gbmap"])
def test_models_that_are_the_same_agree(run, folder, model):
    text = run("difference", folder / model, folder / model, folder / "more.csv", "-m", 2).out
    assert "The models agree: they predict the same for each of these rows." in text
    assert "nowhere" not in text
    assert text.count("\n") == 2


def test_models_that_differ_by_a_constant_have_no_parts_to_tell(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=60)}).assign(y=lambda rows: rows["x"].abs())
    for name, shift in (("one", 0), ("two", 8)):
        rows.assign(y=rows["y"] + shift).to_csv(tmp_path / f"{name}.csv", index=False)
        given = ["-t", "y", "-o", tmp_path / f"{name}.gbmap", "-m", 2, "--beta", 1, "--l2", 1]
        assert run("fit", tmp_path / f"{name}.csv", *given).code == 0
    text = run("difference", tmp_path / "one.gbmap", tmp_path / "two.gbmap", tmp_path / "one.csv").out
    assert "mean 8, mean absolute 8, largest 8;" in text
    assert "There are no parts that raise or lower it." in text
    assert "nowhere" not in text


@pytest.mark.parametrize("column", ["x", "y"])
def test_numbers_beyond_onnx_are_named_with_ways_out_that_the_command_has(run, tmp_path, column):
    pytest.importorskip("skl2onnx")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"u": rng.choice(["a", "b"], 60), "x": rng.normal(size=60)})
    rows["y"] = rows["x"].abs() + (rows["u"] == "a")
    rows[column] *= 1e100
    rows.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.gbmap"
    given = ["-t", "y", "-o", model, "-m", 2, "--beta", 1, "--l2", 1]
    assert run("fit", tmp_path / "t.csv", *given).code == 0
    ended = run("export", model, "--to", "onnx", "-o", tmp_path / "m.onnx")
    assert (ended.code, ended.out, ended.err) == (
        3,
        "",
        f"gbmap: '{column}' varies too much or too little for the float32 numbers of ONNX; rescale it in the "
        "data and fit again, or export --to sql.\n",
    )
    assert run("export", model, "--to", "sql", "-o", tmp_path / "m.sql").code == 0


def test_a_difference_needs_two_rows(run, folder, tmp_path):
    pd.read_csv(folder / "more.csv").head(1).to_csv(tmp_path / "one.csv", index=False)
    ended = run("difference", folder / "price.gbmap", folder / "price.gbmap", tmp_path / "one.csv")
    assert ended.code == 3
    assert ended.err == f"gbmap: {tmp_path / 'one.csv'} has 1 row; a difference needs 2 of them at least.\n"
