"""Numbers, dates and truth values as people write them are read as they are meant, or asked for."""

import io
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gbmap
from gbmap import TableModel
from gbmap.tables import TableError, _numbers, open_table
from gbmap.tables._features import FeatureReader, gather
from gbmap.tables._progress import silent
from gbmap.tables._survey import Asked, survey

N = 40
Y = np.random.default_rng(0).integers(-300, 300, N)  # of which no mark tells how numbers are written


def cycle(*values):
    return [values[k % len(values)] for k in range(N)]


def tabs(columns, y=Y):
    return open_table(io.BytesIO(pd.DataFrame({**columns, "y": y}).to_csv(sep="\t", index=False).encode()))


def surveyed(columns, y=Y, *, drop=(), category=(), number=(), date=()):
    return survey(tabs(columns, y), "y", None, Asked.of(None, drop, category, number, date), silent)


def column_of(*values, **options):
    return surveyed({"x": cycle(*values)}, **options).columns[0]


def read(*values, others=None, **options):
    """Return a column as it is read, the first values of it."""
    columns = {"x": cycle(*values), **(others or {})}
    X, _ = gather(tabs(columns), surveyed(columns, **options), silent)
    return X.iloc[:, 0][: len(values)].tolist()


NUMBERS = {
    "thousands": (["1,234.56", "12", "-1,234,567"], [1234.56, 12, -1234567]),
    "decimal commas": (["1.234,56", "12", "-0,5", ",25"], [1234.56, 12, -0.5, 0.25]),
    "thousands alone": (["1,234,567", "1,234"], [1234567, 1234]),
    "thousands with points alone": (["1.234.567", "1.234"], [1234567, 1234]),
    "thousands beside short numbers": (["1,234", "999"], [1234, 999]),
    "spaces": (["1 234", "12 345,5", "7"], [1234, 12345.5, 7]),
    "narrow spaces": (["1\u202f234", "1\u00a0234\u00a0567", "7"], [1234, 1234567, 7]),
    "apostrophes": (["1'234.5", "1\u2019234", "7"], [1234.5, 1234, 7]),
    "exponents": (["1,5e3", "2,25E-2"], [1500, 0.0225]),
    "as in India": (["1,23,456.5", "12,34,567"], [123456.5, 1234567]),
    "dollars": (["$1,234.50", "-$5", "$-6", "($7.25)"], [1234.5, -5, -6, -7.25]),
    "euros": (["1.234,50 €", "€ 5", "7 EUR", "-8,5 Euro"], [1234.5, 5, 7, -8.5]),
    "francs": (["CHF 1'234.50", "Fr. 5"], [1234.5, 5]),
    "percent": (["12%", "12.5 %", "0"], [0.12, 0.125, 0]),
    "measures": (["12 kg", "1,234.5kg", "7"], [12, 1234.5, 7]),
    "signs": (["+1", "2-", "(3)", "\u22124"], [1, -2, -3, -4]),
    "yes and no": (["yes", "No", "Y", "n"], [1, 0, 1, 0]),
    "ja und nein": (["ja", "nein", "J"], [1, 0, 1]),
    "yes and zeros": (["yes", "0", "no", "1"], [1, 0, 0, 1]),
    "missing in many words": (["1.5", "n/a", "NULL", "-", "?", "\u2014", "#DIV/0!"], [1.5, *[np.nan] * 6]),
}


@pytest.mark.parametrize(("written", "meant"), NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_are_read_as_people_write_them(written, meant):
    np.testing.assert_allclose(read(*written), meant)


def test_what_was_recognised_is_said():
    assert column_of("1.234,50 €", "3 €").reading == "'1.234,50 €' is read as 1234.5"
    assert column_of("yes", "no").reading == "'yes' counts as 1, 'no' as 0"
    assert column_of("12.09.2012", "13.09.2012").reading == "'12.09.2012' is read as 2012-09-12"
    assert column_of("12%", "3%").reading == "'12%' is read as 0.12"
    for plain in (("1.5", "2"), ("a", "b"), ("2012-09-12", "2012-09-13"), ("true", "false")):
        assert column_of(*plain).reading == ""


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=8),
    st.sampled_from(["{:,.2f}", "{:_.2f}", "${:,.2f}", "{:.2f} EUR"]),
    st.booleans(),
)
def test_what_locales_write_comes_back(numbers, form, has_comma):
    other = str.maketrans(",.", ".,") if has_comma else {}
    written = [form.format(float(number)).replace("_", " ").translate(other) for number in numbers]
    np.testing.assert_allclose(read(*written, "11", "12"), [*map(float, numbers), 11, 12])


# --- what is open ---------------------------------------------------------------------------------


def test_an_open_number_is_asked_for_and_the_answer_taken():
    with pytest.raises(
        TableError, match=r"'x' holds '1,234' in row 1, .* say --number 'x'=point .* 'x'=comma"
    ):
        column_of("1,234", "2,500")
    assert read("1,234", "2,500", number={"x": "point"}) == [1234, 2500]
    assert read("1,234", "2,500", number={"x": "comma"}) == [1.234, 2.5]


@pytest.mark.parametrize(("other", "meant"), [("0.5", 1234), ("0,5", 1.234), ("1,234.5", 1234)])
def test_an_open_number_is_read_as_other_columns_are(other, meant):
    assert read("1,234", "2,500", others={"other": cycle(other, "7")})[0] == meant


def test_points_before_three_digits_are_decimals_unless_another_column_has_decimal_commas():
    assert read("1.234", "2.5") == [1.234, 2.5]
    assert read("1.234", "2.345") == [1.234, 2.345]
    assert read("1.234", "2.345", others={"other": cycle("0,5", "7")}) == [1234, 2345]


def test_points_that_all_stand_before_three_digits_beside_short_whole_numbers_set_off_thousands():
    areas = [f"{k % 9 + 1}.{100 + 7 * k}" for k in range(60)]

    def first_of(values):
        data = tabs({"x": values}, np.arange(len(values)) % 7)
        schema = survey(data, "y", None, Asked.of(None, (), (), (), ()), silent)
        X, _ = gather(data, schema, silent)
        return X["x"].iloc[0], schema.columns[0].reading

    assert first_of([*areas, "842"]) == (1100, "'1.100' is read as 1100")
    decimals = (1.1, "")
    assert first_of(areas) == decimals  # a program may have written so many digits
    assert first_of([*areas[:20] * 3, "842"]) == decimals  # few of them may be eighths
    assert first_of([*areas, "842", "0.5"]) == first_of([*areas, "842", "1842"]) == decimals


def test_a_column_of_both_marks_is_read_unless_one_of_its_values_is_open():
    assert read("1,5", "2.5") == [1.5, 2.5]
    with pytest.raises(TableError, match=r"holds '1.234' in row 3, in which the mark may set off thousands"):
        column_of("1,5", "2.5", "1.234")


def test_what_only_the_end_of_a_long_column_tells_holds_for_its_beginning():
    rows = 110_000
    values = ["1,234"] * (rows - 1) + ["1,5"]
    data = tabs({"x": values}, np.arange(rows) % 7 / 3)
    schema = survey(data, "y", None, Asked.of(None, (), (), (), ()), silent)
    X, _ = gather(data, schema, silent)
    assert set(X["x"]) == {1.234, 1.5}


def test_sizes_in_several_units_are_text_and_units_keep_their_case():
    assert column_of("500 g", "1 kg").kind == "category"
    assert column_of("500 g", "1 kg", number=["x"]).kind == "number"
    assert column_of("5 MW", "7.5 MW").form.unit == "MW"
    assert column_of("5 mW", "7.5 mW").kind == "category"  # which is no unit that is known


def test_every_currency_is_known_on_either_side_and_every_measure_after_a_number():
    currencies, measures = [*_numbers._CODES, *_numbers._SIGNS], _numbers._MEASURES
    written = [f"7.5 {unit}" for unit in (*currencies, *measures, *map(str.lower, currencies))]
    written += [f"{unit}7.5" for unit in currencies]
    parsed = _numbers.parse(pa.array(written))
    assert [text for text, value in zip(written, parsed.point) if value != 7.5] == []
    assert "" not in parsed.units


def test_a_number_has_one_sign_one_unit_and_both_brackets():
    written = ["(5", "5)", "+-5", "-5-", "-(5)", "(5-)", "$5 EUR", "EUR 5 kg", "5 % %", "$-(5"]
    assert not _numbers.parse(pa.array(written)).is_number.any()


def test_numbers_that_may_count_the_rows_of_a_longer_table_are_pointed_out():
    rng = np.random.default_rng(0)
    some = rng.permutation(6_000)[:2_000] + 1
    table = pd.DataFrame(
        {"Unnamed: 0": some, "grams": rng.integers(1, 6_000, 2_000), "y": rng.normal(size=2_000)}
    )
    columns = TableModel("y", n_components=1, reference_rows=0).fit(table).schema_.columns
    assert columns[0].kind == "number"
    assert columns[0].reading.endswith("if they count rows, --drop 'Unnamed: 0'")
    assert columns[1].reading == ""


def test_a_column_of_numbers_and_words_says_what_the_numbers_count_as():
    column = column_of("n/k", "1", "2", "3")
    assert column.kind == "category"
    assert column.reading.endswith("values are numbers, which count as categories")
    assert column_of("500 g", "1 kg").reading == ""


def test_a_time_of_day_that_tells_of_the_target_has_a_way_in():
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 1_440, 400)
    clock = [f"{each // 60:02}:{each % 60:02}" for each in minutes]
    table = pd.DataFrame({"at": clock, "x": rng.normal(size=400), "y": minutes / 60 + rng.normal(size=400)})
    with pytest.warns(
        UserWarning, match=r"column 'at' is left out .*; --date 'at'=%H:%M takes its times of day"
    ):
        TableModel("y", n_components=1, reference_rows=0).fit(table)
    model = TableModel("y", n_components=1, reference_rows=0).fit(table, date={"at": "%H:%M"})
    assert model.scores_["gbmap"]["r2"] > 0.9


def test_a_column_that_is_left_out_though_it_tells_of_the_target_is_named_loudly():
    rng = np.random.default_rng(0)
    y = rng.permutation(300).astype(float)
    columns = {"x": rng.normal(size=300), "lot": [f"lot no. {v:.0f}" for v in y], "nr": np.arange(300) + 7}
    table = pd.DataFrame(columns).assign(y=y)
    with pytest.warns(
        UserWarning, match=r"column 'lot' is left out as an identifier, but its numbers go with"
    ):
        model = TableModel("y", n_components=1, reference_rows=0).fit(table)
    told = {column.name: column.tells for column in model.schema_.columns}
    assert told == {"x": "", "lot": "its numbers go with the target (rank correlation 1.00)", "nr": ""}
    with pytest.warns(UserWarning, match=r"'nr' is left out as a running number, .* --number 'nr' takes it"):
        TableModel("y", n_components=1, reference_rows=0).fit(
            table.assign(lot="a", y=np.where(table["nr"] > 200, "late", "early"))
        )


def test_amounts_of_several_units_are_no_numbers_unless_asked_for():
    for values, units in (
        (("$5", "7 €"), r"several units, '\$', 'EUR'"),
        (("5%", "7"), "without a percent sign"),
    ):
        with pytest.raises(TableError, match=rf"column 'x' holds numbers .*{units}; mend it.*--number 'x'"):
            column_of(*values)
    assert read("$5", "7 €", number=["x"]) == [5, 7]
    assert read("50 %", "7", "3 kg", number=["x"]) == [0.5, 7, 3]
    assert column_of("$5", "7 €", category=["x"]).kind == "category"


DATES = {
    "points": (["12.09.2012", "1.2.13"], ["2012-09-12", "2013-02-01"]),
    "day first": (["09/12/2012", "25/12/2012"], ["2012-12-09", "2012-12-25"]),
    "month first": (["09/12/2012 3:45 pm", "12/25/2012"], ["2012-09-12 15:45", "2012-12-25"]),
    "midnight and noon": (["12/25/2012 12:00 AM", "12/25/2012 12:30 PM"], ["2012-12-25", "2012-12-25 12:30"]),
    "names": (["12 Sep 2012", "Sept. 3, 2012", "3. März 2012"], None),
    "names with days": (["Mon, 3 Sep 2012", "4-Okt-12"], ["2012-09-03", "2012-10-04"]),
    "slashes, year first": (["2012/9/3", "2012/10/30 14:05:06"], ["2012-09-03", "2012-10-30 14:05:06"]),
    "zones": (["2012-09-12T00:30+02:00", "12.09.2012 14:00 Z"], ["2012-09-11 22:30", "2012-09-12 14:00"]),
    "months": (["2012-09", "2012-10"], ["2012-09-01", "2012-10-01"]),
}


@pytest.mark.parametrize(("written", "meant"), DATES.values(), ids=DATES.keys())
def test_dates_are_read_as_people_write_them(written, meant):
    meant = meant or ["2012-09-12", "2012-09-03", "2012-03-03"]
    days = (pd.to_datetime(meant, format="ISO8601") - pd.Timestamp(0)) / pd.Timedelta("1D")
    np.testing.assert_allclose(read(*written), days)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)).map(
            lambda each: each.replace(microsecond=0)
        ),
        min_size=2,
        max_size=8,
        unique=True,
    ),
    st.sampled_from(
        ["%d.%m.%Y %H:%M:%S", "%d.%m.%y %H:%M:%S", "%b %d, %Y %I:%M:%S %p", "%A, %d %B %Y %H:%M:%S"]
    ),
)
def test_what_strftime_writes_comes_back(moments, form):
    found = read(*(each.strftime(form) for each in moments), date=["x"])
    np.testing.assert_allclose(
        found, [(each - datetime(1970, 1, 1)).total_seconds() / 86400 for each in moments]
    )


def test_an_open_date_is_asked_for_and_the_answer_taken():
    with pytest.raises(
        TableError, match=r"'x' holds '09/12/2012' in row 1, of which .* say --date 'x'=dmy or"
    ):
        column_of("09/12/2012", "10/11/2012")
    assert read("09/12/2012", "10/11/2012", date={"x": "dmy"}) == [15683, 15654]
    assert read("09/12/2012", "10/11/2012", date={"x": "mdy"}) == [15595, 15624]
    assert read("09/12/2012", "10/11/2012", others={"other": cycle("25/12/2012", "1/2/2012")}) == [
        15683,
        15654,
    ]
    assert read("20120912", "20120913", date={"x": "%Y%m%d"}) == [15595, 15596]
    with pytest.raises(TableError, match="holds '09/12/2012' in row 1, of which the day or the month"):
        column_of("09/12/2012", "25/11/2012", "11/25/2012")


def test_what_was_asked_for_reads_what_it_can_and_says_what_it_cannot():
    column = column_of("7", "8", "about 9", "9", number=["x"])
    assert (column.kind, column.n_missing) == ("number", N // 4)
    assert column.reason == "asked for; 10 values that are none count as missing"
    with pytest.raises(
        TableError, match=r"holds 'a' in row 1, and none of its values is a number \(--number\)"
    ):
        column_of("a", "b", number=["x"])
    with pytest.raises(TableError, match=r"none of its values is a date .*, or name their format"):
        column_of("20120912", "20120913", date=["x"])
    assert column_of(*map(str, range(N)), number=["x"]).kind == "number"  # though it is a running number


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": {"x": "dot"}}, "numbers in 'x' must be point or comma, .*, got 'dot'"),
        ({"date": {"x": "ymd"}}, "dates in 'x' must be dmy, mdy or a format such as .*, got 'ymd'"),
        ({"number": ["z"]}, r"has no column 'z' \(number\); it has 'x', 'y'"),
        ({"number": ["x"], "drop": ["x"]}, "'x' is asked for by --drop and --number; keep one of them"),
        ({"date": ["y"]}, "'y' is the target, and dates cannot be predicted; leave --date out"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(options, message):
    with pytest.raises(TableError, match=message):
        column_of("1", "2", **options)


# --- new files ------------------------------------------------------------------------------------


def features(columns, new, end=","):
    schema = surveyed(columns)
    text = "x" + end + "other\n" + "".join(f'"{each}"{end}1\n' for each in new)
    (batch,) = open_table(io.BytesIO(text.encode())).batches()
    (first, *_) = FeatureReader(schema).read(batch).values()
    return first.tolist()


def test_new_files_are_read_as_that_of_the_fit():
    assert features({"x": cycle("1.234,5", "2")}, ["1.234", "5"]) == [1234, 5]
    assert features({"x": cycle("1,234.5", "2")}, ["1,234", "5"]) == [1234, 5]
    assert features({"x": cycle("5 €", "7")}, ["6", "8 EUR"]) == [6, 8]
    assert features({"x": cycle("yes", "no")}, ["true", "N"]) == [1, 0]
    assert features({"x": cycle("09/12/2012", "09/25/2012")}, ["09/12/2012"]) == [15595]


def test_a_model_of_points_reads_decimal_commas_beside_semicolons_and_the_other_way_round():
    assert features({"x": cycle("1.5", "2.25")}, ["1,5", "1,234"], ";") == [1.5, 1.234]
    assert features({"x": cycle("1,5", "2,25")}, ["1.5", "7"], ",") == [1.5, 7]


@pytest.mark.parametrize(
    ("fitted", "new"),
    [
        (("1.5", "2.5"), "1,234"),
        (("1.234,5", "2"), "1.5"),
        (("1,234.5", "2"), "1,5"),
        (("12%", "5%"), "12"),
        (("12.5", "5"), "12%"),
        (("5 €", "7 €"), "$5"),
        (("25/12/2012", "1/2/2012"), "12/25/2012"),
        (("2012-12-25", "2012-12-26"), "09/12/2012"),
    ],
)
def test_what_would_be_read_otherwise_than_in_the_fit_is_an_error(fitted, new):
    with pytest.raises(
        TableError, match=r"column 'x' holds .* in row 1, which is no .*; the model was fitted to"
    ):
        features({"x": cycle(*fitted)}, [new])


def test_another_word_than_yes_and_no_is_called_that():
    with pytest.raises(
        TableError, match=r"'maybe' in row 1, which is no word for yes or no, as all were in the fit\.$"
    ):
        features({"x": cycle("yes", "no")}, ["maybe"])


def test_a_target_of_amounts_is_predicted_and_stored(tmp_path):
    x = np.linspace(-1, 1, 120)
    paid = [f"{1000 * v + 2000:,.2f} €".translate(str.maketrans(",.", ".,")) for v in x]
    data = open_table(io.BytesIO(pd.DataFrame({"x": x, "paid": paid}).to_csv(index=False, sep=";").encode()))
    model = TableModel("paid", n_components=2, l2_regularization=1e-3, refine=False).fit(data)
    assert model.schema_.task == "regression"
    assert model.schema_.target_reading == "'1.000,00 €' is read as 1000"
    gbmap.save(model, tmp_path / "m.gbmap")
    stored = gbmap.load(tmp_path / "m.gbmap")
    assert stored.schema_ == model.schema_
    np.testing.assert_allclose(stored.targets(pd.DataFrame({"paid": paid})), 1000 * x + 2000, atol=0.01)


def test_two_words_are_classes_by_themselves_and_more_are_truth():
    assert surveyed({"x": Y}, cycle("yes", "no")).target_kind == "text"
    schema = surveyed({"x": Y}, cycle("yes", "no", "Y", "N"))
    assert (schema.target_kind, schema.target_form.truth) == ("boolean", True)
