"""What the columns of a table are, and what is predicted."""

import datetime
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gbmap.tables import TableError, TableModel, open_table
from gbmap.tables._features import gather
from gbmap.tables._progress import silent
from gbmap.tables._survey import Asked, survey

N = 200
rng = np.random.default_rng(0)
NOISE = rng.normal(size=N).round(3)


def surveyed(data, target="y", task=None, *, columns=None, drop=(), category=(), number=(), date=()):
    return survey(data, target, task, Asked.of(columns, drop, category, number, date), silent)


def frame_of(values, y=NOISE):
    return pd.DataFrame({"x": values, "y": y})


def column_of(values, **options):
    return surveyed(frame_of(values).assign(z=NOISE), **options).columns[0]


def as_csv(frame):
    return open_table(io.BytesIO(frame.to_csv(index=False).encode()))


def cycle(*values):
    return [values[k % len(values)] for k in range(N)]


# --- kinds ----------------------------------------------------------------------------------------

NUMBERS = {
    "floats": NOISE,
    "few whole numbers": cycle(1, 2, 3),
    "truth values": cycle(True, False),
    "words of truth": cycle("TRUE", "false"),
    "numbers as text": cycle("1", "+2", "-.5", "3.", "1e3", " 4 "),
    "with missing": cycle(1.5, None, 2.5),
    "as text with missing": cycle("1.5", "NA", "?"),
}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_are_numbers(values):
    assert column_of(values).kind == "number"


def test_numbers_are_read_as_written():
    data = frame_of(cycle("1", "+2", "-.5", "3.", "1e3", " 4 ", "TRUE", "false", "NA"))
    X, _ = gather(data, surveyed(data), silent)
    assert X["x"][:8].tolist() == [1, 2, -0.5, 3, 1000, 4, 1, 0]
    assert np.isnan(X["x"][8])


CATEGORIES = {
    "text": cycle("a", "b", "c"),
    "codes": cycle("12", "13", "1A"),
    "words that look like numbers": cycle("1_000", "0x1f", "1,2,3", "10 kg"),
    "other digits": cycle("\u0663", "\u0664"),
    "infinity among words": cycle("inf", "1", "much"),
    "times of day": cycle("12:30", "09:15"),
    "impossible dates": cycle("31/13/2024", "30.02.2024"),
    "yes without no": cycle("yes", None),
    "words for now": cycle("now", "today"),
    "categories by type": pd.Categorical(cycle(1, 2, 3)),
}


@pytest.mark.parametrize("values", CATEGORIES.values(), ids=CATEGORIES.keys())
def test_other_text_is_a_category(values):
    assert column_of(values).kind == "category"


def test_the_most_frequent_of_very_many_numbers_are_found_when_they_are_called_categories():
    numbers = np.r_[np.arange(60_000), np.full(40_000, 99_999)]
    data = pd.DataFrame({"x": numbers, "y": np.arange(100_000) % 7 / 3})
    assert surveyed(data, category=["x"]).columns[0].levels == ("99999",)


def test_a_category_knows_its_levels_the_most_frequent_first():
    assert column_of(cycle("b", "b", "a")).levels == ("b", "a")


START = pd.Timestamp("2024-02-28 23:30")
DATES = {
    "days": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
    "times": (START + pd.to_timedelta(np.arange(N), unit="h")).strftime("%Y-%m-%dT%H:%M:%S"),
    "times to the minute": (START + pd.to_timedelta(np.arange(N), unit="h")).strftime("%Y-%m-%d %H:%M"),
    "fractions and zones": cycle("2024-01-01T00:00:00.25Z", "2024-06-30 12:00+05:30", "2024-01-01T01:00-08"),
    "timestamps": pd.date_range("2024-01-01", periods=N, freq="h"),
    "timestamps of a zone": pd.date_range("2024-01-01", periods=N, freq="h", tz="Europe/Helsinki"),
    "dates": [datetime.date(2024, 1, 1 + k % 28) for k in range(N)],
    "with missing": cycle("2024-01-01", "", "2024-01-03"),
}


@pytest.mark.parametrize("values", DATES.values(), ids=DATES.keys())
def test_iso_dates_are_dates(values):
    assert column_of(values).kind == "date"


def test_a_date_is_read_as_what_varies_of_it():
    when = pd.date_range("2023-12-31 18:00", periods=N, freq="h")
    data = frame_of(when.strftime("%Y-%m-%dT%H:%M"))
    X, _ = gather(data, surveyed(data), silent)
    assert list(X) == ["x (days)", "x (day of year)", "x (weekday)", "x (hour)"]
    assert np.allclose(X["x (days)"], (when - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1))
    assert X["x (day of year)"].tolist() == when.day_of_year.tolist()
    assert X["x (weekday)"].tolist() == when.day_of_week.tolist()
    assert np.allclose(X["x (hour)"], when.hour)
    daily = frame_of(pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"))
    assert surveyed(daily).features == ["x (days)", "x (day of year)", "x (weekday)"]


def test_times_of_all_zones_are_one_moment_in_utc():
    data = frame_of(
        cycle("2024-01-01T12:00Z", "2024-01-01 17:30+05:30", "2024-01-01T04:00-0800", "2024-01-02")
    )
    X, _ = gather(data, surveyed(data), silent)
    assert len(set(X["x (days)"][:3])) == 1
    typed = pd.to_datetime(data["x"], utc=True, format="ISO8601").dt.tz_convert("Asia/Tokyo")
    typed = data.assign(x=typed)
    again, _ = gather(typed, surveyed(typed), silent)
    pd.testing.assert_frame_equal(X, again)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_are_the_same_days(unit):
    seconds = np.arange(N) * 50_000
    data = pa.table({"x": pa.array(seconds, pa.timestamp("s")).cast(pa.timestamp(unit)), "y": NOISE})
    X, _ = gather(data, surveyed(data), silent)
    assert np.allclose(X["x (days)"], seconds / 86_400, rtol=1e-12)


def test_dates_before_1970_have_their_weekday():
    data = frame_of(cycle("1969-12-28", "1969-12-29T06:00"))
    X, _ = gather(data, surveyed(data), silent)
    assert X["x (weekday)"][:2].tolist() == [6, 0]
    assert X["x (hour)"][:2].tolist() == [0, 6]
    assert X["x (day of year)"][:2].tolist() == [362, 363]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_spans_of_time_are_seconds_whatever_their_type_and_need_not_vary_to_be_kept(unit):
    seconds = np.arange(N)  # one more in every row, as those since a start
    data = pa.table({"x": pa.array(seconds, pa.duration("s")).cast(pa.duration(unit)), "y": NOISE})
    schema = surveyed(data)
    assert (schema.columns[0].kind, schema.columns[0].form.unit) == ("number", "s")
    assert schema.columns[0].reading == "spans of time count in seconds"
    X, _ = gather(data, schema, silent)
    assert X["x"].tolist() == seconds.tolist()


SPANS = pd.to_timedelta(rng.integers(0, 9_000, N), unit="s")


@pytest.mark.parametrize("frame_type", [pd.DataFrame, pl.DataFrame])
def test_times_of_day_are_hours(frame_type):
    times = [datetime.time(k % 24, 30) if k else None for k in range(N)]
    data = frame_type({"x": times, "y": NOISE})
    schema = surveyed(data)
    assert schema.columns[0].reading == "times of day count in hours"
    X, _ = gather(data, schema, silent)
    np.testing.assert_array_equal(X["x"], [np.nan, *(k % 24 + 0.5 for k in range(1, N))])


@pytest.mark.parametrize(
    "write", [as_csv, lambda frame: frame.assign(x=[each.isoformat() for each in frame.x])]
)
def test_spans_and_times_of_files_are_read_as_those_of_the_frames_that_they_hold(write):
    data = frame_of(SPANS - pd.Timedelta(hours=1))
    model = TableModel("y", n_components=2, reference_rows=0).fit(data)
    np.testing.assert_array_equal(model.predict(write(data)), model.predict(data))
    data = frame_of([datetime.time(k % 24, 30, k % 60) for k in range(N)])
    model = TableModel("y", n_components=2, reference_rows=0).fit(data)
    np.testing.assert_array_equal(model.predict(write(data)), model.predict(data))
    with pytest.raises(TableError, match="column 'x' holds 'noon' in row 1, which is no"):
        model.predict(frame_of(["noon"] * N))


def test_spans_of_time_can_be_predicted_as_seconds():
    data = frame_of(NOISE, SPANS)
    schema = surveyed(data)
    assert (schema.task, schema.target_reading) == ("regression", "spans of time count in seconds")
    assert surveyed(frame_of(NOISE, SPANS.floor("h"))).task == "regression"  # though only a few differ
    assert gather(data, schema, silent)[1].tolist() == SPANS.total_seconds().tolist()


def test_spans_of_time_are_read_in_new_tables_only_where_the_fit_had_them():
    spans = TableModel("y", n_components=2).fit(frame_of(SPANS))
    plain = TableModel("y", n_components=2).fit(frame_of(SPANS.total_seconds() / 60))
    seconds = frame_of(SPANS.total_seconds()).head()
    np.testing.assert_array_equal(spans.predict(seconds), spans.predict(frame_of(SPANS).head()))
    with pytest.raises(TableError, match=r"column 'x' holds spans of time, where the fit had numbers; turn"):
        plain.predict(frame_of(SPANS))
    with pytest.raises(TableError, match=r"column 'y' holds spans of time, where the fit had numbers; turn"):
        plain.score(frame_of(SPANS.total_seconds(), SPANS))


@pytest.mark.parametrize("freq", ["M", "Q", "h", "Y"])
def test_periods_are_dates_of_their_first_moment(freq, tmp_path):
    periods = pd.Series(pd.period_range("1990-01", periods=N, freq=freq))
    periods[3] = pd.NaT
    data = frame_of(periods)
    data.to_parquet(tmp_path / "periods.parquet")
    for table in (data, open_table(tmp_path / "periods.parquet")):
        schema = surveyed(table)
        assert schema.columns[0].kind == "date"
        assert schema.columns[0].reading.startswith("a period is read as its first moment")
        X, _ = gather(table, schema, silent)
        days = (periods.dt.to_timestamp() - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        np.testing.assert_allclose(X["x (days)"], days)


def test_periods_and_intervals_of_files_are_known_in_a_process_that_has_made_none(tmp_path):
    cut = pd.Series(pd.cut(np.arange(N) % 9, [-0.5, 3.5, 6.5])).astype("interval")
    data = frame_of(cut).assign(month=pd.period_range("1990-01", periods=N, freq="M"))
    data.to_parquet(tmp_path / "types.parquet")
    program = (
        "from gbmap.tables import TableModel, open_table\n"
        "model = TableModel('y', n_components=2, reference_rows=0).fit(open_table('types.parquet'))\n"
        "print({each.name: each.kind for each in model.schema_.columns})"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "{'x': 'category', 'month': 'date'}\n"


@pytest.mark.parametrize("kind", ["category", "interval"])
def test_intervals_are_categories_by_their_text(kind):
    cut = pd.Series(pd.cut(np.arange(N) % 9, [-0.5, 3.5, 6.5]))
    column = column_of(cut.astype(kind) if kind == "interval" else cut)
    assert (column.kind, column.levels) == ("category", ("(-0.5, 3.5]", "(3.5, 6.5]"))
    assert column.n_missing == (cut.isna()).sum()


def test_what_cannot_be_read_but_differs_is_named_loudly():
    data = frame_of(NOISE).assign(vector=[[1, k] for k in range(N)], same=[[1, 2]] * N)
    with pytest.warns(UserWarning, match="'vector' is left out, since values of type list") as told:
        TableModel("y", n_components=2, reference_rows=0).fit(data)
    assert len(told) == 1
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("order", "is_told"), [(np.arange(N), True), (np.arange(N)[::-1], True), (rng.permutation(N), False)]
)
def test_rows_in_the_order_of_a_date_are_told_that_later_ones_may_be_predicted_worse(order, is_told):
    when = pd.date_range("2024-01-01", periods=N)[order // 2]  # two rows a day
    reading = column_of(when).reading
    assert ("those after the last may be predicted worse than the ones held out" in reading) == is_told
    assert ("the rows are in its order" in column_of(when.strftime("%d.%m.%Y")).reading) == is_told


DROPPED = {
    "constant": (cycle(7), "constant: always '7'"),
    "constant in two writings": (cycle("7", "7.0"), "constant: always '7'"),
    "constant text": (cycle("a"), "constant: always 'a'"),
    "constant date": (cycle("2024-01-01", None), "constant where it is not missing"),
    "empty": (cycle(None), "empty"),
    "empty text": (cycle("", "NA", "?"), "empty"),
    "infinite": (cycle("inf", "-inf", None), "infinite wherever it is not missing"),
    "identifiers": ([f"id-{k}" for k in range(N)], "an identifier: it differs in every row"),
    "remarks": ([f"remark {k // 2}" for k in range(N)], "free text: hardly any of its values occurs often"),
    "addresses": ([f"10.1.20.{k}" for k in range(N)], "an identifier"),
    "a running number": (rng.permutation(N) - 50, "a running number, from -50 to 149"),
    "long codes": ([2**60 + 977 * k for k in range(N)], "an identifier: whole numbers of 16 digits or more"),
    "long codes as text": ([str(10**18 + 977 * k) for k in range(N)], "an identifier: whole numbers"),
    "long codes that floats do not tell apart": (
        pd.array([2**63 + 3 * k for k in range(N)], dtype="UInt64"),
        "an identifier: whole numbers",
    ),
    "lists": ([[1, 2]] * N, "values of type list<.*> are neither numbers, text nor dates"),
    "bytes": ([b"a"] * N, "values of type binary"),
}


@pytest.mark.parametrize(("values", "reason"), DROPPED.values(), ids=DROPPED.keys())
def test_columns_of_no_use_are_dropped_with_a_reason(values, reason):
    column = column_of(values)
    assert column.kind == "dropped"
    assert pd.Series([column.reason]).str.match(reason).all(), column.reason


@pytest.mark.parametrize(
    "values",
    [
        [*range(N - 1), 5],  # one twice
        [*range(N - 1), N + 7],  # a gap
        np.arange(N) / 2,
        range(0, 2 * N, 2),
        [0, 0, 3, 3, *range(4, N)],  # the same sum as 0, 1, 2, 3
        [10**18 + k // 2 for k in range(N)],  # long, but they repeat
        [1e18 * (k + 0.5) for k in range(N)],  # large measures
    ],
)
def test_other_whole_numbers_are_kept(values):
    assert column_of(values).kind == "number"


def test_rare_levels_beside_frequent_ones_are_no_identifier():
    column = column_of([*["common"] * 30, *(f"rare {k}" for k in range(N - 30))])
    assert column.kind == "category"


@pytest.mark.parametrize(
    ("bad", "good", "kind"), [("12 pears", "12", "finite numbers"), ("2023-02-29", "2023-02-28", "dates")]
)
def test_one_bad_value_among_many_is_named_with_its_row_and_the_way_out(bad, good, kind):
    values = [good, *(cycle(good, "13") if "numbers" in kind else cycle(good, "2024-01-01"))[1:]]
    values[123] = bad
    message = (
        rf"column 'x' holds '{bad}' in row 124, while 199 of its 200 values are {kind}; mend it, drop the "
        r"column, or take it for a category \(--category 'x'\)"
    )
    with pytest.raises(TableError, match=message):
        column_of(values)
    with pytest.raises(TableError, match=message):
        surveyed(as_csv(frame_of(values)))
    assert column_of(values, category=["x"]).kind == "category"
    values[50:60] = [bad] * 10  # too many for mistakes
    assert column_of(values).kind == "category"


@pytest.mark.parametrize("values", [cycle(1.5, np.inf, 2.5), cycle("1.5", "-INFINITY", "2.5")])
def test_infinite_numbers_count_as_missing_and_that_is_said(values):
    data = frame_of(values)
    column = column_of(values)
    assert (column.kind, column.n_missing) == ("number", N // 3 + 1)
    assert column.reason == "all of its values are numbers; 67 infinite ones count as missing"
    X, _ = gather(data, surveyed(data), silent)
    assert X["x"].isna().tolist() == [k % 3 == 1 for k in range(N)]
    schema = surveyed(frame_of(NOISE, values))
    assert (schema.n_without_target, len(gather(frame_of(NOISE, values), schema, silent)[1])) == (67, N - 67)


def test_the_row_is_right_in_a_long_file():
    values = ["1", "2"] * 60_000
    values[110_000] = "x"
    with pytest.raises(TableError, match="column 'x' holds 'x' in row 110,001"):
        surveyed(as_csv(pd.DataFrame({"x": values, "y": np.arange(120_000) % 7 / 3})))


def test_all_sources_give_the_same_schema_and_features():
    frame = pd.DataFrame(
        {
            "n": rng.normal(size=N),
            "when": pd.date_range("2024-01-01", periods=N, freq="7h"),
            "t": cycle("a", "b", None),
            "ok": cycle(True, False, True),
            "y": NOISE,
        }
    )
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    parquet.seek(0)
    schema = surveyed(frame)
    X, y = gather(frame, schema, silent)
    for other in (as_csv(frame), open_table(parquet), pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert surveyed(other) == schema
        again, y_again = gather(other, schema, silent)
        pd.testing.assert_frame_equal(X, again)
        np.testing.assert_array_equal(y, y_again)


def test_equal_texts_are_one_object_in_memory():
    words = ["Oslo", "Turku", *["Bergen"] * 50_000, "Oslo"]  # of more than one batch
    data = pd.DataFrame({"x": words, "y": np.arange(len(words)) % 7 / 3})
    X, _ = gather(as_csv(data), surveyed(data, category=["x"]), silent)
    assert X["x"].iloc[0] is X["x"].iloc[-1]


def test_objects_of_several_types_are_text():
    mixed = cycle(1, "a", None, 2.5)
    assert column_of(mixed).levels == ("1", "a", "2.5")


# --- the target -----------------------------------------------------------------------------------

TARGETS = {
    "decimals": (NOISE, "regression", "number", "'y' holds numbers with decimals"),
    "many whole numbers": (np.arange(N), "regression", "number", "'y' holds 200 different whole numbers"),
    "a few whole numbers": (cycle(1, 2, 3), "classification", "integer", "only 3 different whole numbers"),
    "truth": (cycle(True, False), "classification", "boolean", "'y' holds true and false"),
    "words of truth": (cycle("true", "False"), "classification", "boolean", "'y' holds true and false"),
    "text": (cycle("a", "b"), "classification", "text", "'y' holds text, 2 different values"),
    "dates": (cycle("2024-01-01", "2024-01-02"), "classification", "text", "'y' holds text"),
}


@pytest.mark.parametrize(("y", "task", "kind", "reason"), TARGETS.values(), ids=TARGETS.keys())
def test_the_task_is_guessed_and_the_reason_said(y, task, kind, reason):
    for data in (frame_of(NOISE, y), as_csv(frame_of(NOISE, y))):
        schema = surveyed(data)
        assert (schema.task, schema.target_kind) == (task, kind)
        assert reason in schema.task_reason


def test_few_rows_of_whole_numbers_are_no_classes():
    assert surveyed(pd.DataFrame({"x": NOISE[:15], "y": range(15)})).task == "regression"


def test_the_task_can_be_asked_for():
    schema = surveyed(frame_of(NOISE, cycle(1, 2, 3)), task="regression")
    assert (schema.task, schema.target_kind, schema.task_reason) == ("regression", "number", "asked for")
    schema = surveyed(frame_of(NOISE, cycle(0.5, 1.5)), task="classification")
    assert (schema.task, schema.target_kind) == ("classification", "text")


DAYS = pd.Series(pd.date_range("2020-01-01", periods=N))


@pytest.mark.parametrize("task", [None, "regression", "classification"])
@pytest.mark.parametrize(
    "y",
    [DAYS, DAYS.dt.strftime("%Y-%m-%d"), DAYS.dt.strftime("%d.%m.%Y"), ["?!", *map(str, DAYS[1:])]],
    ids=["moments", "ISO", "another way of writing", "one mistake"],
)
def test_a_target_of_dates_is_refused_with_one_way_out_whatever_the_task(y, task):
    with pytest.raises(TableError, match=r"'y' holds dates, .* column of numbers, such as the days since"):
        surveyed(frame_of(NOISE, y), task=task)


def test_a_categorical_column_of_rare_values_was_not_asked_for_and_is_dropped():
    assert column_of(pd.Categorical([f"id-{k}" for k in range(N)])).kind == "dropped"


def test_rows_without_a_target_are_left_out_and_counted():
    data = frame_of(NOISE, cycle(1.5, None, 2.25, 3.5))
    schema = surveyed(data)
    assert (schema.n_rows, schema.n_without_target) == (N, N // 4)
    X, y = gather(data, schema, silent)
    assert X["x"].tolist() == [v for k, v in enumerate(NOISE) if k % 4 != 1]
    assert set(y) == {1.5, 2.25, 3.5}


WRONG = {
    "no target": (frame_of(NOISE), {"target": "z"}, r"has no column 'z' \(target\); it has 'x', 'y'"),
    "nearly a column": (
        pd.DataFrame({f"c{k}": NOISE for k in range(20)} | {"price": NOISE}),
        {"target": "prise"},
        r"has no column 'prise' \(target\); it has 'price', 'c0', .* and 11 more\.",
    ),
    "no such column": (frame_of(NOISE), {"drop": ["q"]}, r"has no column 'q' \(drop\)"),
    "no such category": (frame_of(NOISE), {"category": ["q"]}, r"has no column 'q' \(category\)"),
    "no such feature": (frame_of(NOISE), {"columns": ["q"]}, r"has no column 'q' \(columns\)"),
    "dropped target": (frame_of(NOISE), {"drop": ["y"]}, "'y' is the target and cannot be dropped"),
    "target as category": (frame_of(NOISE), {"category": ["y"]}, "is the target; .* --task classification"),
    "a category of numbers that differ": (
        frame_of(rng.permutation(N) + 0.5),
        {"category": ["x"]},
        r"column 'x' cannot be a category .* none of its values occurs in 2 rows or more; leave that out",
    ),
    "one class": (
        frame_of(NOISE, cycle("a")),
        {},
        "the target 'y' is always 'a'; there is nothing to predict",
    ),
    "one class in two writings": (frame_of(NOISE, cycle("1", "1.0")), {}, "the target 'y' is always '1'"),
    "no values": (
        frame_of(NOISE, cycle(None)),
        {},
        "has 0 rows with a value of the target 'y'; a fit needs 10",
    ),
    "lists": (
        frame_of(NOISE, [[k] for k in range(N)]),
        {},
        r"the target 'y' has values of type list<.*>, which cannot be predicted",
    ),
    "too many classes": (
        frame_of(NOISE, [f"t{k}" for k in range(N)]),
        {},
        r"has 200 different values, more than the 100 classes .*; group them, or choose another target\.$",
    ),
    "text as numbers": (
        frame_of(NOISE, cycle("1", "x")),
        {"task": "regression"},
        r"column 'y' holds 'x' in row 2, which is no number; .* ask for --task classification",
    ),
    "much text as numbers": (
        frame_of(NOISE, [f"t{k}" for k in range(N)]),
        {"task": "regression"},
        r"holds 't0' in row 1, which is no number; mend the target, or choose another\.$",
    ),
    "many numbers as classes": (
        frame_of(NOISE),
        {"task": "classification"},
        r"more than the 100 classes that there may be; ask for --task regression\.$",
    ),
    "a bad target": (
        frame_of(NOISE, ["1.5", "oops", *cycle("1.5", "2.5")[2:]]),
        {},
        "holds 'oops' in row 2, while 199 of .* mend the target, or ask for --task classification",
    ),
    "nothing left": (
        frame_of(cycle("a")),
        {},
        "has no column to predict from: 'x' is dropped, constant: always 'a'",
    ),
    "a name that a date takes": (
        frame_of(DATES["days"]).assign(**{"x (days)": NOISE}),
        {},
        r"has a column 'x \(days\)' named like what is read from a date; rename it",
    ),
    "names twice": (pd.DataFrame(np.zeros((20, 2)), columns=["y", "y"]), {}, "has more than one column 'y'"),
    "names that read alike": (
        pd.DataFrame(np.zeros((20, 2)), columns=["1", 1]),
        {},
        "more than one column '1'",
    ),
}


@pytest.mark.parametrize(("data", "options", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_fitted_is_said_in_one_sentence(data, options, message):
    with pytest.raises(TableError, match=f"{message}") as caught:
        surveyed(data, **options)
    assert "\n" not in str(caught.value)


def test_other_things_than_tables_are_refused():
    for other in (np.zeros((20, 2)), [[1, 2]], {"x": [1]}, None, frame_of(NOISE).iloc[0]):
        with pytest.raises(TypeError, match="data must be a Table, or a frame of pandas or polars"):
            TableModel("y").fit(other)


@pytest.mark.parametrize("values", [[1.5] * N, [str(10**20 + k % 50) for k in range(N)], cycle("2", "2.0")])
@pytest.mark.parametrize("task", [None, "regression"])
def test_a_target_that_is_one_number_is_refused(values, task):
    with pytest.raises(TableError, match=r"target 'y' is always '.*there is nothing to predict"):
        surveyed(frame_of(NOISE, y=values), task=task)


def test_a_number_beyond_what_models_take_is_named_with_its_row():
    data = frame_of([*NOISE[1:], -1e151])
    with pytest.raises(TableError, match=r"column 'x' holds '-1e\+151' in row 200, beyond 1e\+150"):
        gather(data, surveyed(data), silent)
