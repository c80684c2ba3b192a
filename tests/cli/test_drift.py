"""Drift is found without labels, told by column, and seen in the exit code."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from gbmap.drift._inference import excess_of_alarms


def test_a_table_like_that_of_the_fit_has_not_drifted(run, folder):
    ended = run("drift", folder / "price.gbmap", folder / "more.csv")
    assert ended.code == 0
    assert ended.out.startswith("No drift found. RMSE ")
    assert "200 labelled rows" in ended.out


def test_drift_ends_with_1_and_names_the_column_and_the_loss_to_expect(run, folder):
    ended = run("drift", folder / "price.gbmap", folder / "far.csv")
    assert ended.code == 1
    assert ended.out.startswith("Drift found. RMSE ")
    first = ended.out.split("What changed, by column")[1].splitlines()[2]
    assert first.split()[0] == "size"
    assert "mean" in first
    assert "->" in first
    document = json.loads(run("drift", folder / "price.gbmap", folder / "far.csv", "--json").out)
    assert document["columns"][0]["column"] == "size"
    assessment = document["assessment"]
    assert assessment["expected_loss"] > 2 * assessment["calibration_loss"]
    assert assessment["mean_loss"] > 0  # the target is in the table


def test_a_constant_that_the_fit_has_dropped_is_found_when_it_changes(run, folder, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=400), "land": "NO", "rate": "1.50", "gone": ""})
    table["y"] = table["x"].abs()
    table.to_csv(tmp_path / "rows.csv", index=False)
    later = table.iloc[:100].assign(rate="1.5", land=["SE"] * 30 + ["NO"] * 70, gone=["1"] * 50 + [""] * 50)
    later.to_csv(tmp_path / "later.csv", index=False)
    later.drop(columns=["land", "gone"]).to_csv(tmp_path / "without.csv", index=False)
    run("fit", tmp_path / "rows.csv", "-t", "y", "-o", tmp_path / "m.gbmap", "-m", 2)
    found = json.loads(run("drift", tmp_path / "m.gbmap", tmp_path / "later.csv", "--json").out)["verdict"]
    texts = {each["column"]: each["text"] for each in found["findings"]}
    assert texts["land"] == "column 'land' was always 'NO' and is not in 30 % of the rows"
    assert texts["gone"] == "column 'gone' was always missing and is not in 50 % of the rows"
    assert texts.keys() == {"land", "gone"}
    assert found["degree"] == "look"
    page = tmp_path / "page.html"
    run("report", "--model", tmp_path / "m.gbmap", "--new", tmp_path / "later.csv", "-o", page)
    assert "was always 'NO' and is not in 30 % of the rows" in page.read_text(encoding="utf-8")
    for name in ("rows", "without"):
        quiet = json.loads(run("drift", tmp_path / "m.gbmap", tmp_path / f"{name}.csv", "--json").out)
        assert not [each for each in quiet["verdict"]["findings"] if each["kind"] == "constant"]


def test_findings_tell_dates_as_dates(run, folder, tmp_path):
    table = pd.read_csv(folder / "more.csv", dtype=str).assign(sold="2031-05-04")
    table.to_csv(tmp_path / "later.csv", index=False)
    verdict = json.loads(run("drift", folder / "price.gbmap", tmp_path / "later.csv", "--json").out)[
        "verdict"
    ]
    (finding,) = [each for each in verdict["findings"] if each["column"] == "sold (days)"]
    assert re.fullmatch(
        r"column 'sold' is outside 202\d-\d\d-\d\d to 202\d-\d\d-\d\d in 100 % of the rows, up to 2031-05-04",
        finding["text"],
    )
    assert finding["advice"].startswith("time has gone on")


def test_of_many_classes_the_one_that_moved_most_surely_is_told(run, folder, tmp_path):
    rows = pd.read_csv(folder / "houses.csv")[["size", "noise"]]
    rows["kind"] = "kind " + pd.qcut(rows["size"], 8, labels=False).astype(str)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows[rows["kind"] == "kind 7"].drop(columns="kind").to_csv(tmp_path / "large.csv", index=False)
    model = tmp_path / "kinds.gbmap"
    run("fit", tmp_path / "rows.csv", "-t", "kind", "-o", model, "-m", 3, "--beta", 5, "--l2", 0.01)
    ended = run("drift", model, tmp_path / "large.csv")
    assert ended.code == 1
    assert "the mean prediction moved by" in ended.out


def test_a_row_of_a_discrete_table_is_told_the_same_alone_and_among_others(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(3, size=(600, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] + frame["b"] + rng.normal(size=600) > 2, "yes", "no")
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame[5:6].to_csv(tmp_path / "one.csv", index=False)
    run(
        "fit",
        tmp_path / "all.csv",
        "-t",
        "kind",
        "-o",
        tmp_path / "m.gbmap",
        "-m",
        3,
        "--beta",
        5,
        "--l2",
        0.01,
    )
    told = []
    for name in ("all", "one"):
        run("drift", tmp_path / "m.gbmap", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}-rows.csv")
        told.append(pd.read_csv(tmp_path / f"{name}-rows.csv"))
    columns = ["drift_p_value", "drift_alarm"]
    pd.testing.assert_frame_equal(told[0].loc[[5], columns].reset_index(drop=True), told[1][columns])
    assert (told[0]["drift_p_value"] == 1).all()  # every kind of row has neighbours of its own
    assert not told[0]["drift_alarm"].any()


def test_the_change_of_a_date_is_told_in_dates(run, folder):
    columns = json.loads(run("drift", folder / "price.gbmap", folder / "far.csv", "--json").out)["columns"]
    change = {each["column"]: each["change"] for each in columns}
    assert re.fullmatch(r"mean 202[45]-\d\d-\d\d -> 202[45]-\d\d-\d\d", change["sold (days)"])
    assert re.fullmatch(r"mean \d+(\.\d+)? -> \d+(\.\d+)?", change["sold (day of year)"])


def test_a_column_that_does_not_matter_is_no_drift(run, folder, tmp_path):
    frame = pd.read_csv(folder / "more.csv")
    frame["noise"] += 2
    frame.to_csv(tmp_path / "noise.csv", index=False)
    assert run("drift", folder / "price.gbmap", tmp_path / "noise.csv").code == 0


def test_no_target_is_needed_nor_a_whole_one(run, folder, tmp_path):
    frame = pd.read_csv(folder / "far.csv")
    frame.drop(columns="price").to_csv(tmp_path / "none.csv", index=False)
    frame.assign(price=frame["price"].where(frame.index > 3)).to_csv(tmp_path / "some.csv", index=False)
    for name, n_labelled in (("none.csv", 0), ("some.csv", len(frame) - 4)):
        ended = run("drift", folder / "price.gbmap", tmp_path / name, "--json")
        assert ended.code == 1
        found = json.loads(ended.out)
        assert (found["assessment"]["mean_loss"] is None) == (n_labelled == 0)
        assert found["verdict"]["n_labelled"] == n_labelled


def test_rows_are_written_with_their_alarms(run, folder, tmp_path):
    ended = run(
        "drift", folder / "price.gbmap", folder / "far.csv", "-o", tmp_path / "rows.csv", "-k", "id", "--json"
    )
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert ended.code == 1
    assert list(rows.columns) == ["id", "drift_indicator", "drift_p_value", "drift_alarm"]
    assert np.isclose(rows["drift_alarm"].mean(), json.loads(ended.out)["verdict"]["share_of_alarms"])


def test_classes_drift_too(run, folder):
    assert run("drift", folder / "class.gbmap", folder / "more.csv").code == 0
    ended = run("drift", folder / "class.gbmap", folder / "far.csv")
    assert ended.code == 1
    assert "the mean prediction moved by" in ended.out
    assert "accuracy" in ended.out


def test_what_is_tolerated_can_be_chosen(run, folder):
    given = ["drift", folder / "price.gbmap", folder / "far.csv", "--json"]

    def asked(*further):
        checks = json.loads(run(*given, *further).out)["verdict"]["checks"]
        return {each["kind"]: each["degree"] for each in checks}

    assert asked()["prediction"] == asked()["alarms"] == "act"
    assert asked("--delta", 100)["prediction"] == "none"
    assert asked("--alarms", 1)["alarms"] == "none"


def test_many_rows_are_sampled_and_that_is_said(run, folder):
    ended = run("drift", folder / "price.gbmap", folder / "far.csv", "--max-rows", 50)
    assert ended.code == 1
    assert "a random sample of 50 of 200 rows" in ended.out


def test_one_row_can_be_tested(run, folder, tmp_path):
    pd.read_csv(folder / "more.csv").head(1).to_csv(tmp_path / "one.csv", index=False)
    ended = run("drift", folder / "price.gbmap", tmp_path / "one.csv", "--json")
    assert ended.code in (0, 1)
    assert json.loads(ended.out)["rows"] == 1
    told = run("drift", folder / "price.gbmap", tmp_path / "one.csv").out
    assert re.search(" on 1 labelled row[;,]", told)


def test_a_model_without_reference_rows_says_so(run, folder):
    options = ["-m", 2, "--beta", 5, "--l2", 0.001, "--no-reference"]
    run("fit", folder / "houses.csv", "-t", "price", "-o", folder / "bare.gbmap", *options)
    for command in ("drift", "predict"):
        ended = run(
            command,
            folder / "bare.gbmap",
            folder / "more.csv",
            *(["--drift"] if command == "predict" else []),
        )
        assert ended.code == 2
        assert "fit it without --no-reference" in ended.err


@pytest.mark.parametrize("n_calibration", [50, 2000])
@pytest.mark.parametrize("n_rows", [20, 200, 20_000])
def test_a_tolerated_share_of_alarms_is_no_drift_however_many_rows(n_rows, n_calibration):
    rng = np.random.default_rng(n_rows)
    above = np.sort(rng.random((2000, n_calibration)), axis=1)[
        :, -int(0.1 * (n_calibration + 1))
    ]  # thresholds
    counts, times = np.unique(rng.binomial(n_rows, 1 - above), return_counts=True)
    found = [excess_of_alarms(k, n_rows, 0.1, n_calibration) < 0.05 for k in counts]
    assert np.average(found, weights=times) < 0.065
    assert excess_of_alarms(n_rows // 2, n_rows, 0.1, n_calibration) < 0.05
    assert excess_of_alarms(n_rows, n_rows, 1.0, n_calibration) > 0.05


@pytest.mark.parametrize("data", ["more.csv", "far.csv"])
def test_the_p_values_that_are_shown_decide(run, folder, data):
    ended = run("drift", folder / "price.gbmap", folder / data, "--delta", 0, "--json")
    verdict = json.loads(ended.out)["verdict"]
    assert len(verdict["checks"]) == 4  # the target is in the table
    is_found = [each["p_value"] <= verdict["level"] for each in verdict["checks"]]
    assert is_found == [each["degree"] != "none" for each in verdict["checks"]]
    assert ended.code == int(verdict["degree"] == "act")


def test_labels_count_and_a_new_category_is_named(run, folder, tmp_path):
    rows = pd.read_csv(folder / "more.csv")
    rows.assign(price=2 * rows["price"]).to_csv(tmp_path / "dear.csv", index=False)
    rows.assign(city="Bergen").to_csv(tmp_path / "moved.csv", index=False)
    dear = run("drift", folder / "price.gbmap", tmp_path / "dear.csv")
    moved = run("drift", folder / "price.gbmap", tmp_path / "moved.csv")
    assert (dear.code, moved.code) == (1, 1)
    assert "so the relation itself has changed: fit anew" in dear.out.splitlines()[0]
    assert "'Bergen'" in moved.out.splitlines()[0]


def test_a_model_of_too_few_rows_to_calibrate_says_so(run, tmp_path):
    rows = pd.DataFrame({"x": np.random.default_rng(0).normal(size=12), "y": ["a"] * 11 + ["b"]})
    rows.to_csv(tmp_path / "few.csv", index=False)
    given = ["-t", "y", "-o", tmp_path / "few.gbmap", "-m", 2, "--test-size", 0]
    assert run("fit", tmp_path / "few.csv", *given).code == 0
    ended = run("drift", tmp_path / "few.gbmap", tmp_path / "few.csv")
    assert ended.code == 3
    assert "too few rows to calibrate" in ended.err


@pytest.mark.filterwarnings("ignore:.* no row was held out")
def test_a_page_of_classes_too_small_to_hold_rows_out_says_so(run, tmp_path):
    rows = pd.DataFrame({"x": np.random.default_rng(0).normal(size=12), "y": list("abcdef") * 2})
    rows.to_csv(tmp_path / "few.csv", index=False)
    ended = run("report", tmp_path / "few.csv", "-t", "y", "-o", tmp_path / "few.html")
    assert ended.code == 3
    assert "the page needs rows held out of the fit" in ended.err


@pytest.mark.parametrize("strange", ["castle", None])
def test_rows_whose_class_is_missing_or_unknown_count_by_their_columns_alone(run, folder, tmp_path, strange):
    rows = pd.read_csv(folder / "more.csv", dtype=str)
    rows.loc[3, "class"] = strange
    rows.to_csv(tmp_path / "more.csv", index=False)
    known = json.loads(run("drift", folder / "class.gbmap", folder / "more.csv", "--json").out)
    ended = run("drift", folder / "class.gbmap", tmp_path / "more.csv", "--json")
    found = json.loads(ended.out)
    assert ended.code == int(known["drift"])
    assert found["verdict"]["share_of_alarms"] == known["verdict"]["share_of_alarms"]
    assert found["verdict"]["n_labelled"] == known["verdict"]["n_labelled"] - 1 == len(rows) - 1
    assert found["assessment"]["mean_loss"] == pytest.approx(known["assessment"]["mean_loss"], rel=0.2)
    assert f"the target of 1 row of {len(rows)} is missing or none that the model knows" in ended.err
    assert ended.err.count("\n") == 1


def test_that_the_fit_left_out_rows_without_a_target_is_said_where_something_is_found(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(16, 95, 900).round(1), "town": rng.choice(["a", "b"], 900)})
    frame["wage"] = (frame["age"] + rng.normal(0, 5, 900)).where(frame["age"] < 68).round(2)
    frame[:600].to_csv(tmp_path / "rows.csv", index=False)
    frame[600:].drop(columns="wage").to_csv(tmp_path / "new.csv", index=False)
    frame[600:].dropna().to_csv(tmp_path / "working.csv", index=False)
    model = tmp_path / "m.gbmap"
    run("fit", tmp_path / "rows.csv", "-t", "wage", "-o", model, "-m", 3, "--beta", 5, "--l2", 0.01)
    found, usual = (run("drift", model, tmp_path / f"{name}.csv") for name in ("new", "working"))
    assert (found.code, usual.code) == (1, 0)
    n = int(frame["wage"][:600].isna().sum())
    assert f"{n} rows of 600 had no target in the fit and were left out" in found.err
    assert "left out" not in usual.err


def test_a_class_that_is_new_in_many_rows_is_drift_on_the_page_too(run, folder, tmp_path):
    rows = pd.read_csv(folder / "more.csv", dtype=str)
    rows.loc[: len(rows) // 2, "class"] = "castle"
    rows.to_csv(tmp_path / "more.csv", index=False)
    ended = run("drift", folder / "class.gbmap", tmp_path / "more.csv")
    assert ended.code == 1
    assert "% of the labels are of classes that the model does not know: 'castle'" in ended.out
    page = ["--new", tmp_path / "more.csv", "-o", tmp_path / "page.html", "--max-rows", 50]
    ended = run("report", "--model", folder / "class.gbmap", *page)
    assert ended.code == 0, ended.err
    assert "% of the labels are of classes that the model does not know: 'castle'" in ended.out


def test_a_missing_target_does_not_hide_a_changed_relation(run, folder, tmp_path):
    rows = pd.read_csv(folder / "more.csv")
    rows["price"] = 2 * rows["price"]
    rows.loc[3, "price"] = None
    rows.to_csv(tmp_path / "more.csv", index=False)
    ended = run("drift", folder / "price.gbmap", tmp_path / "more.csv")
    assert ended.code == 1
    assert f"{len(rows) - 1} labelled rows of {len(rows)}" in ended.out
    assert "the relation itself has changed" in ended.out


def test_what_changed_is_told_of_columns_that_bend_have_gaps_and_new_categories(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "hour": rng.integers(0, 24, 600),
            "temp": rng.normal(10, 3, 600),
            "day": rng.choice(["Monday", "Tuesday"], 600),
        }
    )
    frame.loc[::6, "temp"] = np.nan
    frame["sold"] = np.sin(frame["hour"] / 3) + (frame["day"] == "Monday") + 0.1 * frame["temp"].fillna(0)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = tmp_path / "sold.gbmap"
    run("fit", tmp_path / "rows.csv", "-t", "sold", "-o", model, "-m", 4, "--no-refine")

    def changes(**columns):
        frame.assign(**columns).to_csv(tmp_path / "new.csv", index=False)
        document = json.loads(run("drift", model, tmp_path / "new.csv", "--json").out)
        return {each["column"]: each["change"] for each in document["columns"]}

    moved = changes(hour=frame["hour"] + 6, temp=frame["temp"].fillna(10.0))
    was, now = map(float, re.fullmatch(r"mean (\S+) -> (\S+)", moved["hour"]).groups())
    assert was == pytest.approx(frame["hour"].mean(), abs=0.5)
    assert now == pytest.approx(frame["hour"].mean() + 6, rel=1e-3)
    assert re.fullmatch(r"missing 1[67]\S* % -> 0 %", moved["temp"])
    gone = changes(hour=frame["hour"].where(frame.index % 2 == 0), day="Sunday")
    assert gone["hour"] == "missing 0 % -> 50 %"
    assert gone["day"] == "values not seen before 0 % -> 100 %"
