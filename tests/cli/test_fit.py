"""A table becomes a model file, and what was guessed is said."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import gbmap

CHOSEN = ["--beta", 5, "--l2", 0.001]  # so that a fit has nothing to search for


def fit(run, folder, *options, data="houses.csv", target="price", out="made.gbmap", **others):
    return run("fit", folder / data, "-t", target, "-o", folder / out, "--components", 3, *options, **others)


def test_a_fit_says_what_it_guessed_and_how_good_it_is(run, folder):
    ended = fit(run, folder, "--drop", "class")
    assert ended.code == 0
    assert "Predicts price: regression ('price' holds numbers with decimals)." in ended.out
    assert "Columns: 3 numbers, 1 category, 1 date, 1 dropped." in ended.out
    assert "identifier" in ended.out
    assert [line.split()[0] for line in ended.out.splitlines() if line[:3] in ("gbm", "lin", "con")] == [
        "gbmap", "linear", "constant",
    ]  # fmt: skip


def test_json_is_one_document_with_the_same_facts_and_the_rest_goes_elsewhere(run, folder):
    ended = fit(run, folder, "--drop", "class", "--json", *CHOSEN)
    document = json.loads(ended.out)
    kinds = {column["name"]: column["kind"] for column in document["columns"]}
    assert kinds == {
        "id": "dropped", "size": "number", "age": "number", "city": "category", "sold": "date",
        "noise": "number",
    }  # fmt: skip
    assert document["rows_fitted"] + document["rows_held_out"] == document["rows"] == 600
    assert document["scores"] == gbmap.load(folder / "made.gbmap").scores_


def test_refine_refines_and_says_so(run, folder):
    ended = fit(run, folder, "--drop", "class", "--refine", *CHOSEN)
    assert "3 learners, refined together, beta 5, ridge 0.001." in ended.out
    assert gbmap.load(folder / "made.gbmap").model_.n_refinements_[0] > 0


def test_options_reach_the_model(run, folder):
    options = [
        "--beta",
        2,
        "--l2",
        0.5,
        "--loss",
        "huber",
        "--test-size",
        0.5,
        "--seed",
        7,
        "--drop",
        "class",
    ]
    assert fit(run, folder, *options, "--no-reference", "--jobs", 1).code == 0
    model = gbmap.load(folder / "made.gbmap")
    fitted = model.model_
    assert (model.n_components, fitted.beta, fitted.l2_regularization, fitted.loss) == (3, 2.0, 0.5, "huber")
    assert (fitted.random_state, fitted.n_jobs, model.detector_) == (7, 1, None)
    assert model.n_held_out_ == 300


def test_the_ridge_is_what_the_fit_finds_unless_it_is_given(run, folder):
    for options in ([], ["--l2", "auto"]):
        document = json.loads(fit(run, folder, "--drop", "class", "--json", *options).out)
        fitted = gbmap.load(folder / "made.gbmap").model_
        assert fitted.l2_regularization == "auto"
        assert document["parameters"]["l2_regularization"] == fitted.l2_regularization_ > 0


def test_a_column_can_be_taken_for_a_category_and_the_task_be_asked_for(run, folder):
    options = ["--task", "regression", "--category", "age", "--drop", "class", "--json", *CHOSEN]
    document = json.loads(fit(run, folder, *options).out)
    kinds = {column["name"]: column["kind"] for column in document["columns"]}
    assert (kinds["age"], document["task_reason"]) == ("category", "asked for")


def test_the_same_table_gives_the_same_file_also_from_standard_input(run, folder):
    fit(run, folder, *CHOSEN, out="one.gbmap")
    given = ["-t", "price", "-o", folder / "two.gbmap", "--components", 3, "--quiet", *CHOSEN]
    ended = run("fit", "-", *given, stdin=(folder / "houses.csv").read_bytes())
    assert (ended.code, ended.err) == (0, "")
    assert (folder / "one.gbmap").read_bytes() == (folder / "two.gbmap").read_bytes()


def test_a_simpler_model_that_does_as_well_is_told(run, folder, tmp_path):
    given = ["-o", tmp_path / "m.gbmap", "--l2", 0, "--beta", 5, "--components", 30]
    assert (
        "A constant does better on these rows: its R2 is"
        in run("fit", folder / "houses.csv", "-t", "noise", *given).out
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10))
    rows = pd.DataFrame(X).add_prefix("x").assign(y=X.sum(axis=1) + rng.normal(size=80))
    rows.to_csv(tmp_path / "linear.csv", index=False)
    printed = run("fit", tmp_path / "linear.csv", "-t", "y", *given).out
    (told,) = (line for line in printed.splitlines() if " does " in line and "GBMAP" in line)
    assert told.startswith("A linear model does better on these rows: its R2 is 0.")
    assert told.endswith(" higher than that of the GBMAP.")
    assert told in run("inspect", tmp_path / "m.gbmap").out
    assert json.loads(run("inspect", tmp_path / "m.gbmap", "--json").out)["simpler_as_good"] == told


def test_nothing_is_told_of_simpler_models_that_are_worse(run, folder):
    document = json.loads(run("inspect", folder / "price.gbmap", "--json").out)
    assert document["simpler_as_good"] is None
    assert document["scores"]["gbmap"]["r2"] > document["scores"]["linear"]["r2"] + 0.01


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["-t", "rent"], 3, "has no column 'rent' (target)"),
        (["-t", "price", "--drop", "rent"], 3, "has no column 'rent' (drop)"),
        (["-t", "price", "--task", "guess"], 2, "'guess' is not one of"),
        (["-t", "city", "--task", "regression"], 3, "--task classification"),
        (["-t", "price", "--loss", "hinge"], 2, "loss"),
        (["-t", "price", "--components", 0], 2, "--components"),
        (["-t", "price", "--components", "many"], 2, "--components"),
        (["-t", "price", "--beta", 0], 2, "'--beta': 0 is no finite number above 0"),
        (["-t", "price", "--beta", "nan"], 2, "'--beta': nan is no finite number above 0"),
        (["-t", "price", "--beta", "inf"], 2, "'--beta': inf is no finite number above 0"),
        (["-t", "price", "--l2", "nan"], 2, "'--l2': nan is neither auto nor a finite number of at least 0"),
        (["-t", "price", "--l2", "inf"], 2, "'--l2': inf is neither auto nor"),
        (["-t", "price", "--l2", "-1"], 2, "'--l2': -1 is neither auto nor"),
        (["-t", "price", "--l2", "much"], 2, "'--l2': much is neither auto nor"),
        (["-t", "price", "--test-size", "nan"], 2, "'--test-size'"),
        (["-t", "price", "--jobs", 0], 2, "--jobs"),
        (["-t", "price", "--seed", 2**32], 2, "--seed"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(run, folder, options, code, message):
    ended = run("fit", folder / "houses.csv", "-o", folder / "refused.gbmap", *options)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.startswith("gbmap: ")
    assert ended.err.count("\n") == 1
    assert not (folder / "refused.gbmap").exists()


def test_one_of_a_thing_is_not_called_several(run, folder, tmp_path):
    rows = pd.read_csv(folder / "houses.csv")[["size", "price"]][:20]
    rows.loc[3, "price"] = np.nan
    rows.to_csv(tmp_path / "t.csv", index=False)
    given = ["-t", "price", "-o", tmp_path / "m.gbmap", "-m", 1, "--test-size", 0.05]
    text = run("fit", tmp_path / "t.csv", *given).out + run("inspect", tmp_path / "m.gbmap").out
    assert "1 of 20 rows has no target and was left out." in text
    assert text.count("Scores on 1 row held out of the fit") == 2
    assert "1 learner, beta" in text
    assert ", 1 calibration row," in text


def test_the_table_is_not_overwritten_by_its_model(run, folder, tmp_path):
    data = tmp_path / "table.csv"
    data.write_bytes((folder / "houses.csv").read_bytes())
    os.link(data, tmp_path / "linked.csv")
    ended = run("fit", data, "-t", "price", "-o", tmp_path / "linked.csv")
    assert ended.code == 2
    assert "must not be a file that is read" in ended.err
    assert data.read_bytes() == (folder / "houses.csv").read_bytes()


@pytest.mark.parametrize(("out", "message"), [("nowhere/m.gbmap", "make"), (".", "is a folder")])
def test_an_output_that_has_no_place_is_refused_before_the_fit(run, folder, out, message):
    ended = run("fit", folder / "houses.csv", "-t", "price", "-o", folder / out)
    assert ended.code == 2
    assert message in ended.err
