"""gbmap drift over time: batches, a state that goes on, labels that come late, metrics and a picture."""

import json

import numpy as np
import pandas as pd
import pytest

from gbmap.cli._watching import _times
from gbmap.tables import TableError

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module")
def later(folder):
    """Houses by the hour: two weeks as before, then others."""
    rows = [pd.read_csv(folder / name, dtype=str) for name in ("more.csv", "houses.csv", "far.csv")]
    table = pd.concat([rows[0], rows[1].iloc[:136], rows[2]], ignore_index=True)
    table["id"] = [f"h{k}" for k in range(len(table))]
    when = pd.date_range("2025-03-03", periods=len(table), freq="h")
    table["when"] = when.strftime("%Y-%m-%dT%H:%M:%S")
    table.to_csv(folder / "later.csv", index=False)
    return table


def lines(ended):
    return [json.loads(line) for line in ended.out.splitlines()]


def watch(run, folder, table, *options):
    return run("drift", folder / "price.gbmap", table, *options)


def test_weeks_are_looked_at_one_by_one_and_the_change_is_dated(run, folder, later, tmp_path):
    shuffled = later.sample(frac=1, random_state=0)
    shuffled.to_csv(tmp_path / "shuffled.csv", index=False)
    ended = watch(run, folder, tmp_path / "shuffled.csv", "--time", "when", "--every", "week", "--json")
    assert ended.code == 1
    weeks = lines(ended)
    assert [week["n_rows"] for week in weeks] == [168, 168, 168, 32]
    assert [week["is_drifting"] for week in weeks] == [False, False, True, True]
    alarm = weeks[2]["new_alarms"][0]
    assert alarm["since_time"][:10] in ("2025-03-16", "2025-03-17")
    assert alarm["columns"][0] == "size"
    assert weeks[0]["time"] == "2025-03-09T23:00:00Z"
    text = watch(run, folder, tmp_path / "shuffled.csv", "--time", "when", "--every", "week").out
    assert text.startswith("Drift found; without any, the chance of this was at most 5 % over all looks.")
    assert alarm["summary"] in text


@pytest.mark.parametrize(
    ("every", "n_batches"), [("hour", 26), ("day", 2), ("month", 1), ("10", 3), (None, 2)]
)
def test_a_batch_is_a_period_or_a_number_of_rows(run, folder, later, tmp_path, every, n_batches):
    later.iloc[:26].to_csv(tmp_path / "some.csv", index=False)
    options = ["--time", "when", *(["--every", every] if every else [])]
    ended = watch(run, folder, tmp_path / "some.csv", *options, "--json")
    assert ended.code == 0
    assert len(lines(ended)) == n_batches


def test_rows_without_times_come_in_their_order(run, folder, later):
    told = lines(watch(run, folder, folder / "later.csv", "--every", 100, "--json"))
    assert [each["first_row"] for each in told] == [0, 100, 200, 300, 400, 500]
    assert told[-1]["n_rows"] == 36
    assert told[0]["time"] == ""


def test_a_state_goes_on_where_it_was_and_counts_no_row_twice(run, folder, later, tmp_path):
    state, options = tmp_path / "state.gbmap", ("--time", "when", "--every", "week", "--json")
    later.iloc[:336].to_csv(tmp_path / "first.csv", index=False)
    first = watch(run, folder, tmp_path / "first.csv", *options, "--state", state)
    second = watch(run, folder, folder / "later.csv", *options, "--state", state)
    at_once = watch(run, folder, folder / "later.csv", *options)
    assert (first.code, second.code, at_once.code) == (0, 1, 1)
    assert lines(first) + lines(second) == lines(at_once)
    note = "gbmap: note: 336 rows up to 2025-03-16T23:00:00Z left out: the state has seen them, "
    note += "or they came late.\n"
    assert second.err == note
    again = watch(run, folder, folder / "later.csv", *options, "--state", state)
    assert (again.code, again.out) == (1, "")  # an alarm stands


@pytest.mark.parametrize("grows", [True, False])
def test_rows_of_the_last_time_that_come_later_are_taken(run, folder, later, tmp_path, grows):
    state, options = tmp_path / "state.gbmap", ("--time", "day", "--every", "day", "--json")
    table = later.iloc[:60].assign(day=later["when"].str[:10])
    table.iloc[:40].to_csv(tmp_path / "noon.csv", index=False)
    table.iloc[0 if grows else 40 :].to_csv(tmp_path / "evening.csv", index=False)
    table.to_csv(tmp_path / "all.csv", index=False)
    tables = [tmp_path / name for name in ("noon.csv", "evening.csv", "all.csv")]
    n_rows = [
        sum(each["n_rows"] for each in lines(watch(run, folder, path, *options, "--state", state)))
        for path in tables
    ]
    assert n_rows == [40, 20, 0]


def test_labels_come_later_by_their_ids(run, folder, later, tmp_path):
    state, given = tmp_path / "state.gbmap", ("--state", tmp_path / "state.gbmap", "--id", "id", "--json")
    unlabelled = later.iloc[:100].assign(price="")
    unlabelled.to_csv(tmp_path / "rows.csv", index=False)
    unlabelled.iloc[:1].assign(id="h999").to_csv(tmp_path / "one.csv", index=False)
    table = later.iloc[:60][["id", "price"]]
    wrong = table.assign(price=(table["price"].astype(float) + 900).astype(str))
    wrong.to_csv(tmp_path / "labels.csv", index=False)
    assert lines(watch(run, folder, tmp_path / "rows.csv", *given))[0]["n_labelled"] == 0
    ended = watch(run, folder, tmp_path / "one.csv", *given, "--labels", tmp_path / "labels.csv")
    update = lines(ended)[-1]
    assert ended.code == 1
    assert (update["n_rows"], update["n_labelled"], update["n_unknown"]) == (0, 60, 0)
    assert update["mean_loss"] > 900**2 / 2
    assert update["new_alarms"][0]["source"] == "labels"
    assert state.exists()


def test_targets_that_are_missing_or_of_an_unknown_class_are_no_labels(run, folder, later, tmp_path):
    rows = later.iloc[:90].copy()
    rows.loc[:29, "class"] = ""
    rows.loc[30:39, "class"] = "a palace"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    ended = run("drift", folder / "class.gbmap", tmp_path / "rows.csv", "--every", 90, "--json")
    assert lines(ended)[0]["n_labelled"] == 50


def test_metrics_and_a_picture_are_written(run, folder, later, tmp_path):
    metrics, picture = tmp_path / "gbmap.prom", tmp_path / "life.png"
    ended = watch(
        run, folder, folder / "later.csv", "--every", 90, "--metrics", metrics, "--picture", picture
    )
    assert ended.code == 1
    assert 'gbmap_monitor_drift{model="price.gbmap"} 1\n' in metrics.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


def test_a_page_shows_the_batches_and_since_when(run, folder, later, tmp_path):
    pytest.importorskip("jinja2")
    numbers, page = tmp_path / "page.json", tmp_path / "page.html"
    partly = later.assign(price=later["price"].where(later.index % 2 == 0, ""))
    partly.sample(frac=1, random_state=0).to_csv(tmp_path / "new.csv", index=False)
    options = ["--time", "when", "--every", "week"]
    given = ["--new", tmp_path / "new.csv", *options, "--max-rows", 50, "--json-out", numbers, "-o", page]
    ended = run("report", "--model", folder / "price.gbmap", *given)
    assert ended.code == 0, ended.err
    assert "the target of 268 rows of 536 is missing" in ended.err
    told = json.loads(numbers.read_text())["drift"]["over_time"]
    weeks = lines(watch(run, folder, tmp_path / "new.csv", *options, "--json"))
    assert told["n_rows"] == [168, 168, 168, 32]
    assert told["error_name"] == "typical error (RMSE)"
    for error, loss in {"expected_error": "expected_loss", "known_error": "mean_loss"}.items():
        assert np.square(told[error]) == pytest.approx([week[loss] for week in weeks], rel=1e-4)
    found = [alarm["summary"] for week in weeks for alarm in week["new_alarms"]]
    assert [change["summary"] for change in told["changes"]] == found
    assert found[0] in ended.out


def test_a_fit_and_its_new_rows_over_time_have_a_page_too(run, folder, later, tmp_path):
    pytest.importorskip("jinja2")
    given = [
        "report",
        folder / "houses.csv",
        "-t",
        "price",
        "--drop",
        "class",
        "-m",
        2,
        "--l2",
        1,
        "--beta",
        5,
    ]
    ended = run(*given, "--max-rows", 20, "--every", 300, "-o", tmp_path / "page.html")
    assert ended.code == 2
    assert "--time and --every are about the rows of --new; name their table." in ended.err
    new = ["--new", folder / "later.csv", "--every", 300, "--json", "-o", tmp_path / "page.html"]
    document = json.loads(run(*given, "--max-rows", 20, *new).out)
    assert document["changes"][0].startswith("Since about row 3")
    assert 'id="time-chart"' in (tmp_path / "page.html").read_text()


def test_what_does_not_go_together_is_refused(run, folder, later, tmp_path):
    state = tmp_path / "state.gbmap"
    table = folder / "later.csv"
    asked = {
        "--every must be hour, day, week, month or a number of rows, got 0.": ["--every", "0"],
        "--every day needs --time, the column that says when; or give a number.": ["--every", "day"],
        "--time must name a column of": ["--time", "nothing"],
        "--out goes with one look only": ["--every", "9", "--out", tmp_path / "out.csv"],
        "--labels needs --id and --state": ["--labels", table],
        "--metrics must end in .prom or .txt": ["--metrics", tmp_path / "metrics"],
        "--every day needs dates in size": ["--time", "size", "--every", "day"],
    }
    for message, options in asked.items():
        ended = watch(run, folder, table, *options)
        assert (ended.code, ended.out) == (2, "")
        assert message in ended.err
    assert watch(run, folder, table, "--time", "city").code == 3
    assert not state.exists()


def test_a_state_of_another_model_or_level_or_one_that_is_damaged_is_refused(run, folder, later, tmp_path):
    state = tmp_path / "state.gbmap"
    assert watch(run, folder, folder / "more.csv", "--state", state).code == 0
    kept = state.read_bytes()
    other = run("drift", folder / "class.gbmap", folder / "more.csv", "--state", state)
    assert other.code == 3
    assert "is the state of another model's monitor" in other.err
    level = watch(run, folder, folder / "more.csv", "--state", state, "--confidence", 0.99)
    assert level.code == 2
    assert "was begun with --confidence 0.95, got 0.99" in level.err
    model = watch(run, folder, folder / "more.csv", "--state", folder / "class.gbmap")
    assert model.code == 3
    assert "must hold a monitor, got a TableModel" in model.err
    assert state.read_bytes() == kept
    state.write_bytes(kept[:-100] + bytes(100))
    damaged = watch(run, folder, folder / "more.csv", "--state", state)
    assert damaged.code == 3
    assert "is damaged" in damaged.err


@pytest.mark.parametrize(("first", "then"), [("when", "step"), ("step", "when")])
def test_a_state_with_times_of_another_kind_is_refused_in_a_sentence(
    run, folder, later, tmp_path, first, then
):
    later.iloc[:40].assign(step=range(40)).to_csv(tmp_path / "some.csv", index=False)
    given = ["--every", 20, "--state", tmp_path / "s.gbmap"]
    assert watch(run, folder, tmp_path / "some.csv", "--time", first, *given).code == 0
    ended = watch(run, folder, tmp_path / "some.csv", "--time", then, *given)
    assert ended.code == 2
    assert "--time must hold" in ended.err


def test_labels_of_one_table_are_taken_in_the_order_of_their_rows(run, folder, later, tmp_path):
    some = later.iloc[:300].assign(price=lambda rows: rows["price"].astype(float))
    some.loc[200:, "price"] *= 3
    some.drop(columns="price").to_csv(tmp_path / "some.csv", index=False)
    some[["id", "price"]].sample(frac=1, random_state=0).to_csv(tmp_path / "paid.csv", index=False)
    given = ["--time", "when", "--id", "id", "--state", tmp_path / "s.gbmap", "--json"]
    assert watch(run, folder, tmp_path / "some.csv", *given).code == 0
    ended = watch(run, folder, tmp_path / "some.csv", *given, "--labels", tmp_path / "paid.csv")
    assert ended.code == 1
    alarm = lines(ended)[-1]["new_alarms"][0]
    assert alarm["source"] == "labels"
    assert 195 <= alarm["since_row"] <= 205


@pytest.mark.parametrize(
    ("written", "order", "meant"),
    [
        (["25.12.2012 14:30", "1.2.2013"], "", ["2012-12-25T14:30Z", "2013-02-01T00:00Z"]),
        (["9/25/2012", "9/12/2012"], "", ["2012-09-25T00:00Z", "2012-09-12T00:00Z"]),
        (["09/12/2012"], "dmy", ["2012-12-09T00:00Z"]),
        (["2012-12-09T10:00:00+02:00"], "", ["2012-12-09T08:00Z"]),
    ],
)
def test_times_are_read_as_people_write_them(written, order, meant):
    found = _times(pd.Series(written), "new.csv", "when", order)
    assert found.tolist() == [pd.Timestamp(each) for each in meant]


def test_times_that_cannot_be_read_are_one_sentence():
    with pytest.raises(
        TableError, match="the day or the month may come first, such as '09/12/2012' in row 1"
    ):
        _times(pd.Series(["09/12/2012"]), "new.csv", "when", "")
    with pytest.raises(
        TableError, match=r"new.csv: column 'when' holds 'soon' in row 2, which is no date or time"
    ):
        _times(pd.Series(["25.12.2012", "soon"]), "new.csv", "when", "")
    for gap in (["2012-12-25", None], [3.0, np.nan]):
        with pytest.raises(
            TableError, match=r"new.csv: column 'when' is missing in row 2; --time must be there"
        ):
            _times(pd.Series(gap), "new.csv", "when", "")
