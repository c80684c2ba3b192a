"""A table in, a table of as many rows out: predictions, coordinates, reasons."""

import io

import numpy as np
import pandas as pd
import pytest

import gbmap
from gbmap.cli._sample import Sample
from gbmap.tables import Table


def table(ended):
    assert ended.code == 0, ended.err
    return pd.read_csv(io.StringIO(ended.out), engine="pyarrow")


@pytest.fixture
def more(folder):
    return pd.read_csv(folder / "more.csv", dtype=str)


def test_predictions_are_those_of_the_library(run, folder, more):
    found = table(run("predict", folder / "price.gbmap", folder / "more.csv"))
    expected = gbmap.load(folder / "price.gbmap").predict(more)
    assert list(found.columns) == ["prediction"]
    np.testing.assert_array_equal(found["prediction"], expected)


def test_classes_come_with_their_probabilities(run, folder, more):
    found = table(run("predict", folder / "class.gbmap", folder / "more.csv"))
    model = gbmap.load(folder / "class.gbmap")
    names = ["probability_cheap", "probability_dear", "probability_usual"]
    assert list(found.columns) == ["prediction", *names]
    np.testing.assert_allclose(found[names], model.predict_proba(more), rtol=1e-12)
    assert (found["prediction"] == found[names].idxmax(axis=1).str.removeprefix("probability_")).all()


def test_alarms_can_be_added_and_columns_passed_on(run, folder, more):
    found = table(
        run("predict", folder / "price.gbmap", folder / "far.csv", "--drift", "-k", "id", "-k", "city")
    )
    assert list(found.columns) == [
        "id",
        "city",
        "prediction",
        "drift_indicator",
        "drift_p_value",
        "drift_alarm",
    ]
    detector = gbmap.load(folder / "price.gbmap").detector_
    np.testing.assert_array_equal(found["drift_alarm"], found["drift_indicator"] > detector.threshold_)
    assert found["drift_alarm"].mean() > 0.2
    assert found["drift_p_value"].between(0, 1).all()


def test_coordinates_add_up_to_the_prediction(run, folder):
    phi = table(run("transform", folder / "price.gbmap", folder / "more.csv"))
    found = table(run("predict", folder / "price.gbmap", folder / "more.csv"))
    assert list(phi.columns) == [f"f{j + 1}" for j in range(phi.shape[1])]
    assert 1 < phi.shape[1] <= 6
    np.testing.assert_allclose(phi.sum(axis=1), found["prediction"], rtol=1e-10)


def test_attributions_add_up_to_the_prediction_and_point_at_what_counts(run, folder):
    reasons = table(run("explain", folder / "price.gbmap", folder / "more.csv"))
    found = table(run("predict", folder / "price.gbmap", folder / "more.csv"))
    assert list(reasons.columns) == ["size", "age", "city", "sold", "noise", "base_value"]
    np.testing.assert_allclose(reasons.sum(axis=1), found["prediction"], rtol=1e-9)
    spread = reasons.std()
    assert spread["size"] > spread["age"] > 2 * spread["noise"]
    assert spread["city"] > 2 * spread["noise"]


def test_coefficients_are_slopes_of_the_prediction(run, folder, more, tmp_path):
    slopes = table(run("explain", folder / "price.gbmap", folder / "more.csv", "--kind", "coefficients"))
    model, step = gbmap.load(folder / "price.gbmap"), 1e-4
    features = model.features(more)
    moved = features.assign(size=features["size"] + step)
    difference = (model.model_.predict(moved) - model.model_.predict(features)) / step
    np.testing.assert_allclose(slopes["size"], difference, rtol=1e-3, atol=1e-6)
    scaled = table(
        run(
            "explain", folder / "price.gbmap", folder / "more.csv", "--kind", "coefficients", "--standardized"
        )
    )
    assert (scaled["size"] / slopes["size"]).std() < 1e-6
    assert (scaled["size"] / slopes["size"]).mean() > 20


def test_a_row_of_several_classes_has_reasons_for_each(run, folder):
    reasons = table(run("explain", folder / "class.gbmap", folder / "more.csv", "--keep", "id"))
    assert len(reasons) == 600
    assert list(reasons["output"][:6]) == ["cheap", "dear", "usual"] * 2
    assert reasons["id"].nunique() == 200
    assert (reasons["id"].to_numpy().reshape(-1, 3) == reasons["id"].to_numpy()[::3, None]).all()


@pytest.mark.parametrize("suffix", [".parquet", ".csv.gz", ".tsv", ".csv"])
def test_every_format_holds_the_same_numbers(run, folder, tmp_path, suffix):
    out = tmp_path / f"made{suffix}"
    ended = run("transform", folder / "price.gbmap", folder / "more.csv", "--keep", "id", "-o", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    found = (
        pd.read_parquet(out)
        if suffix == ".parquet"
        else pd.read_csv(out, sep="\t" if "tsv" in suffix else ",")
    )
    expected = table(run("transform", folder / "price.gbmap", folder / "more.csv", "--keep", "id"))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-12)


def test_pieces_of_a_table_give_what_the_whole_gives(run, folder, monkeypatch):
    given = ["predict", folder / "price.gbmap", folder / "more.csv", "--drift", "--keep", "id"]
    whole = run(*given)
    frames = Table.frames
    monkeypatch.setattr(Table, "frames", lambda table: frames(table, max_rows=37))
    assert run(*given).out == whole.out


def test_standard_input_gives_what_the_file_gives(run, folder):
    data = (folder / "more.csv").read_bytes()
    found = run("predict", folder / "price.gbmap", "-", "--quiet", stdin=data)
    assert found == run("predict", folder / "price.gbmap", folder / "more.csv")


@pytest.mark.posix("named pipes")
def test_a_pipe_that_has_a_path_is_read_once(run, folder, tmp_path):
    import os
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((folder / "more.csv").read_bytes()))
    writer.start()
    found = run("predict", folder / "price.gbmap", pipe, "--quiet")
    writer.join()
    assert found == run("predict", folder / "price.gbmap", folder / "more.csv")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--keep", "rent"], 2, "--keep must name columns of the table"),
        (["--out", "more.csv"], 2, "must not be a file that is read"),
        (["--out", "price.gbmap"], 2, "must not be a file that is read"),
    ],
)
def test_what_cannot_be_written_is_refused(run, folder, monkeypatch, options, code, message):
    monkeypatch.chdir(folder)
    before = (folder / "more.csv").read_bytes()
    ended = run("predict", "price.gbmap", "more.csv", *options)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert (folder / "more.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="size"), ["lacks the column 'size'"]),
        (
            lambda frame: frame.assign(size=frame["size"].where(frame.index != 41, "big")),
            ["'size'", "'big'", "row 42"],
        ),
        (
            lambda frame: frame.assign(sold=frame["sold"].where(frame.index != 7, "soon")),
            ["'sold'", "'soon'", "row 8"],
        ),
    ],
)
def test_a_bad_value_is_told_with_its_column_and_row_and_leaves_no_file(
    run, folder, more, tmp_path, change, words
):
    change(more).to_csv(tmp_path / "bad.csv", index=False)
    ended = run("predict", folder / "price.gbmap", tmp_path / "bad.csv", "-o", tmp_path / "out.csv")
    assert (ended.code, ended.out) == (3, "")
    assert all(word in ended.err for word in [*words, "bad.csv"])
    assert ended.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_a_table_without_rows_is_told_and_leaves_no_file(run, folder, more, tmp_path):
    more.head(0).to_csv(tmp_path / "empty.csv", index=False)
    ended = run("predict", folder / "price.gbmap", tmp_path / "empty.csv", "-o", tmp_path / "out.csv")
    assert ended.code == 3
    assert "empty.csv has no rows." in ended.err
    assert not (tmp_path / "out.csv").exists()


def test_a_sample_keeps_rows_in_order_each_with_the_same_chance():
    counts = np.zeros(40)
    for seed in range(300):
        sample = Sample(10, _random=np.random.default_rng(seed))
        for start in range(0, 40, 8):
            sample.add(pd.DataFrame({"x": np.arange(start, start + 8)}), np.arange(start, start + 8))
        kept = sample.features["x"].to_numpy()
        assert (np.diff(kept) > 0).all()
        np.testing.assert_array_equal(sample.targets, kept)
        counts[kept] += 1
    assert (sample.n_rows, counts.sum()) == (40, 3000)
    assert counts.min() > 45  # of 75 expected, with a deviation of 7.5
    assert counts.max() < 105


def test_a_terminal_sees_hostile_texts_as_text_and_a_file_gets_them_as_they_are(
    run, folder, more, monkeypatch
):
    import sys

    more.assign(id="\x1b[2J" + more["id"]).to_csv(folder / "hostile.csv", index=False)
    given = ["predict", folder / "price.gbmap", folder / "hostile.csv", "--keep", "id"]
    assert "\x1b[2J" in run(*given).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run(*given).out
    assert "\x1b" not in shown
    assert r"\x1b[2J" in shown


@pytest.mark.parametrize("command", ["predict", "transform", "explain", "drift"])
def test_pieces_of_a_table_are_let_go_so_that_memory_is_bounded(run, folder, tmp_path, monkeypatch, command):
    import weakref

    read, alive, frames = [], [], Table.frames

    def watched(table):
        for frame in frames(table, max_rows=20):
            read.append(weakref.ref(frame))
            alive.append(sum(each() is not None for each in read))
            yield frame
            del frame

    monkeypatch.setattr(Table, "frames", watched)
    ended = run(command, folder / "price.gbmap", folder / "more.csv", "-o", tmp_path / "out.csv")
    assert ended.code == 0, ended.err
    assert len(alive) == 10
    assert max(alive) <= 2


def test_a_column_kept_that_has_the_name_of_a_result_is_told_apart(run, folder, more):
    found = table(run("explain", folder / "price.gbmap", folder / "more.csv", "--keep", "size"))
    np.testing.assert_array_equal(found["size (kept)"], more["size"].astype(float))
    assert abs(found["size"].mean()) < found["size"].std()  # what it adds, not what it is


def test_a_column_that_is_kept_twice_is_there_once(run, folder, tmp_path):
    given = ["predict", folder / "price.gbmap", folder / "more.csv", "-k", "id", "-k", "city", "-k", "id"]
    assert list(table(run(*given)).columns) == ["id", "city", "prediction"]
    assert run(*given, "-o", tmp_path / "out.parquet").code == 0


OWN_NAMES = ["output", "base_value", "intercept", "prediction"]


@pytest.mark.parametrize("target", ["price", "class"])
@pytest.mark.parametrize("kind", ["attributions", "coefficients"])
def test_a_column_that_has_the_name_of_a_result_keeps_its_reasons(run, folder, tmp_path, target, kind):
    rows = pd.read_csv(folder / "houses.csv")[["size", "age", "city", "sold", "noise", target]]
    rows = rows.rename(columns=dict(zip(["size", "sold", "noise", "city"], OWN_NAMES)))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model, data = tmp_path / "m.gbmap", tmp_path / "rows.csv"
    assert run("fit", data, "-t", target, "-o", model, "-m", 2, "--beta", 5, "--l2", 1).code == 0
    given = ["explain", model, data, "--kind", kind]
    reasons = table(run(*given))
    own = {"attributions": "base_value", "coefficients": "intercept"}[kind]
    taken = {own} | ({"output"} if target == "class" else set())
    assert {f"{name} (column)" for name in taken} & set(reasons.columns) == {
        f"{name} (column)" for name in taken if kind == "attributions" or name != "base_value"
    }
    assert not reasons.columns.duplicated().any()
    if (target, kind) == ("price", "attributions"):
        np.testing.assert_allclose(reasons.sum(axis=1), table(run("predict", model, data))["prediction"])
        assert reasons["base_value"].nunique() == 1
    assert run(*given, "-k", "output", "-o", tmp_path / "out.parquet").code == 0
