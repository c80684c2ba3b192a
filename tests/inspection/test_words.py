"""Rows in words: what is written must hold for the rows, as a reader would check it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from gbmap import GBMAPRegressor, TableModel
from gbmap._fitted.model import FittedModel
from gbmap._fitted.rules import Search
from gbmap._fitted.terms import Terms
from gbmap._fitted.words import Teller, told_by_weights
from gbmap.inspection import learner_cards, regions


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.normal(50, 12, n),
        "year": rng.integers(2000, 2010, n).astype(float),
        "income": rng.gamma(2.0, 2e4, n),
        "ratio": rng.normal(0, 3e-5, n),
    }
    return pd.DataFrame(columns)


def with_weights(X, weights, *, before=None, activation="softplus"):
    """Return the fitted of a model that holds one learner with given weights of its inputs."""
    model = GBMAPRegressor(n_components=1, knots=0, activation=activation, random_state=0)
    model = model if before is None else make_pipeline(before, model)
    model.fit(X, np.arange(len(X), dtype=float))
    gbmap = model if before is None else model[-1]
    gbmap.ensemble_ = replace(gbmap.ensemble_, weights=np.array([weights], dtype=float), offsets=np.zeros(1))
    return FittedModel.of(model)


def tell(X, is_meant, weights=None, before=None):
    """Return rows in words, by a model that looks at all columns alike."""
    X = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    numbers = X.select_dtypes("number")
    weights = 1 / numbers.std() if weights is None else weights
    fitted = with_weights(X, weights, before=before)
    return Teller(fitted, fitted.read(X)).tell(np.asarray(is_meant))


def test_one_threshold_is_told_by_a_round_number():
    X = frame()
    assert tell(X, X["age"] > 45.03).words == "age > 45"
    assert tell(X, X["age"] <= 45.03).words == "age <= 45"
    assert tell(X, X["year"] > 2004.5).words == "year > 2004"
    assert tell(X, X["income"] > 31_234).words in ("income > 31,000", "income > 31,200", "income > 31,250")
    assert "e" not in tell(X, X["ratio"] > 1.234e-5).words.removeprefix("ratio > ").replace("e-0", "")


def test_a_round_threshold_takes_next_to_nothing_from_the_precision():
    X = frame(2_000)
    for limit in np.quantile(X["income"], [0.1, 0.35, 0.6, 0.85]):
        told = tell(X, X["income"] > limit)
        assert min(told.precision, told.coverage) >= 0.975
        digits = told.words.removeprefix("income > ").replace(",", "").strip("0")
        assert len(digits) <= 3


def test_intervals_of_whole_numbers_are_told_by_the_numbers_in_them():
    X = frame(600)
    X["hour"] = np.arange(600) % 24
    assert tell(X, (X["hour"] > 8) & (X["hour"] <= 15)).words == "hour is 9 to 15"
    assert tell(X, X["hour"] == 9).words == "hour is 9"


def test_intervals_and_their_outsides_and_two_columns_are_told():
    X = frame(600)
    inside = (X["age"] > 40) & (X["age"] <= 60)
    assert tell(X, inside).words == "40 < age <= 60"
    assert set(tell(X, ~inside).words.split(" or ")) == {"age <= 40", "age > 60"}
    young_or_late = (X["age"] <= 40) | (X["year"] > 2006)
    assert set(tell(X, young_or_late).words.split(" or ")) == {"age <= 40", "year > 2006"}
    assert tell(X, ~young_or_late).words == "age > 40 and year <= 2006"


def test_all_rows_nearly_all_and_none_have_words_of_their_own():
    X = frame()
    told = [tell(X, np.arange(200) < n) for n in (200, 199, 0)]
    assert [each.words for each in told] == ["everywhere", "nearly everywhere", "nowhere"]
    assert [each.precision for each in told[:2]] == [1.0, 0.995]
    assert np.isnan(told[2].precision)


def test_where_no_short_rule_is_precise_the_columns_are_named_and_nothing_is_measured():
    X = frame(500)
    rng = np.random.default_rng(1)
    told = tell(X, rng.random(500) < 0.1 + 0.3 * (X["age"] > 50))
    assert told.words.startswith("by age, ")
    assert np.isnan([told.precision, told.coverage]).all()
    assert not told.has_rule


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_precision_and_coverage_are_those_of_a_reader_and_a_rule_is_never_below_80_percent(read_words, seed):
    rng, X = np.random.default_rng(seed), frame()
    slopes = rng.standard_normal(4) / X.std().to_numpy()
    places = (X - X.mean()) @ slopes + rng.normal(0, rng.uniform(0, 1), len(X))
    is_meant = (places > np.quantile(places, rng.uniform(0.05, 0.95))).to_numpy()
    told = tell(X, is_meant)
    if told.has_rule:
        read = read_words(told.words, X)
        assert told.precision == np.mean(is_meant[read]) >= 0.8
        assert told.coverage == np.mean(read[is_meant])
        assert len(told.words) <= 110


@pytest.mark.parametrize("before", [None, StandardScaler(), MinMaxScaler((5, 6))], ids=str)
def test_words_are_in_the_users_units(before):
    X = frame()
    assert tell(X, X["age"] > 45.03, [1, 1, 1, 1] if before else None, before=before).words == "age > 45"


def cities(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice(["Oslo", "Rome", "Turku", "Bern"], n), "age": rng.normal(50, 12, n)})
    X.loc[::4, "age"] = np.nan
    X.loc[::7, "city"] = None
    return X


def teller_of_cities(**options):
    X = cities()
    y = X["age"].fillna(0) + 9 * (X["city"] == "Oslo") + X["city"].isna()
    fitted = FittedModel.of(GBMAPRegressor(3, random_state=0, **options).fit(X, y))
    return X, Teller(fitted, fitted.read(X))


@pytest.mark.parametrize(
    ("meant", "words"),
    [
        (lambda X: X["city"] == "Oslo", "city is Oslo"),
        (lambda X: X["city"] != "Oslo", "city is not Oslo"),
        (lambda X: X["city"].isin(["Oslo", "Rome"]), "city is one of "),
        (lambda X: ~X["city"].isin(["Oslo", "Rome", "Bern"]), "city is none of "),
        (lambda X: X["city"].isna(), "city is missing"),
        (lambda X: X["age"].isna(), "age is missing"),
        (lambda X: X["age"].isna() | (X["city"] == "Oslo"), "age is missing or city is Oslo"),
    ],
)
@pytest.mark.parametrize("knots", [0, 3])
def test_categories_and_gaps_are_told_as_people_do(read_words, meant, words, knots):
    X, teller = teller_of_cities(knots=knots)
    told = teller.tell(meant(X).to_numpy())
    assert sorted(told.words.split(" or ")) == sorted(words.split(" or ")) or told.words.startswith(words)
    assert told.precision == told.coverage == 1
    assert_array_equal(read_words(told.words, X), meant(X))


def test_gaps_and_categories_of_a_pipeline_are_told_too():
    X = cities()
    X["city"] = X["city"].fillna("Rome")
    before = make_column_transformer(
        (OneHotEncoder(), ["city"]), (SimpleImputer(add_indicator=True), ["age"])
    )
    model = make_pipeline(before, GBMAPRegressor(2, knots=0, random_state=0))
    fitted = FittedModel.of(model.fit(X, X["age"].isna() + 2.0 * (X["city"] == "Oslo")))
    teller = Teller(fitted, fitted.read(X))
    assert teller.tell((X["city"] == "Oslo").to_numpy()).words == "city is Oslo"
    assert teller.tell(X["age"].isna().to_numpy()).words == "age is missing"


def test_a_column_of_zeros_and_ones_is_told_by_its_value():
    X = frame().assign(flag=np.arange(200) % 2)
    assert tell(X, X["flag"] == 1).words == "flag is 1"
    assert tell(X, X["flag"] == 0).words == "flag is 0"


@pytest.fixture(scope="module")
def hourly():
    rng, n = np.random.default_rng(0), 600
    when = pd.date_range("2022-01-01", periods=n, freq="7h")
    weekend = when.day_of_week >= 5
    demand = 50.0 * weekend + 30 * (when.hour >= 15) + 40 * (when >= "2022-05-01") + rng.normal(0, 3, n)
    table = pd.DataFrame({"when": when.strftime("%Y-%m-%d %H:%M"), "demand": demand.round(1)})
    return when, table, TableModel("demand", n_components=3, random_state=0).fit(table)


@pytest.mark.parametrize(
    ("meant", "words"),
    [
        (lambda when: when >= "2022-05-01", "when from 2022-05-01 on"),
        (lambda when: when < "2022-05-01", "when before 2022-05-01"),
        (lambda when: when.day_of_week >= 5, "when is Saturday or Sunday"),
        (lambda when: when.day_of_week < 5, "when is Monday to Friday"),
        (lambda when: when.day_of_week == 2, "when is a Wednesday"),
        (lambda when: when.hour >= 15, "hour of when > 14"),
    ],
)
def test_dates_are_told_as_dates(hourly, meant, words):
    when, table, model = hourly
    for asked in (model, model.model_):
        fitted = FittedModel.of(asked)
        told = Teller(fitted, fitted.read(model.features(table))).tell(np.asarray(meant(when)))
        assert told.words == words
        assert told.precision == told.coverage == 1


def test_the_day_of_the_year_has_a_date_beside_it(hourly):
    when, table, model = hourly
    fitted = FittedModel.of(model)
    early = np.asarray(when.day_of_year <= 59)
    told = Teller(fitted, fitted.read(model.features(table))).tell(early)
    assert told.words in ("when before 2022-03-01", "day of the year of when <= 59 (28 Feb)")


def test_a_name_that_only_looks_like_a_part_of_a_date_is_a_number():
    X = frame().rename(columns={"age": "age (days)"})
    assert tell(X, X["age (days)"] > 45.03).words == "age (days) > 45"


def test_learners_are_told_by_columns_that_matter_to_them():
    X = frame(500).assign(copy=lambda X: X["age"])
    fitted = with_weights(X, [0, 1 / 3, 0, 0, 1 / 12])
    teller = Teller(fitted, fitted.read(X))
    is_active = (X["age"] > 50).to_numpy()
    assert teller.learner(0, is_active).words == "copy > 50"
    assert teller.tell(is_active).words == "copy > 50"  # no learner looks at the age


def test_without_rows_the_columns_of_a_learner_are_named():
    X = frame()
    scale = X.std().to_numpy()
    assert told_by_weights(with_weights(X, [1, 3, 0, 0] / scale))[0].words == "by year, age"
    assert told_by_weights(with_weights(X, [0, 0, 0, 0]))[0].words == "nowhere"
    identity = with_weights(X, [0, 0, 0, 0], activation="identity")
    assert told_by_weights(identity)[0].words == "everywhere"


def test_sparse_rows_give_the_words_of_dense_ones():
    X = frame()
    fitted = with_weights(X, 1 / X.std())
    is_meant = (X["age"] > 50).to_numpy() & (X["year"] > 2004).to_numpy()
    rows = fitted.read(X)
    told = [Teller(fitted, each).tell(is_meant) for each in (rows, scipy.sparse.csr_array(rows))]
    assert told[0] == told[1]


def test_a_sample_finds_the_rule_and_all_rows_measure_it(monkeypatch, read_words):
    X = frame(1_000)
    monkeypatch.setattr("gbmap._fitted.words._SAMPLE_ROWS", 300)
    is_meant = (X["age"] + 1e-4 * X["income"] > 55).to_numpy()
    told = tell(X, is_meant)
    assert told == tell(X, is_meant)
    read = read_words(told.words, X)
    assert (told.precision, told.coverage) == (np.mean(is_meant[read]), np.mean(read[is_meant]))


def test_a_hundred_columns_a_dozen_of_them_text_read_well(read_words):
    rng, n = np.random.default_rng(0), 500
    X = pd.DataFrame({f"number {k}": rng.normal(size=n) * 10.0 ** (k % 5) for k in range(88)})
    for k in range(12):
        X[f"text {k}"] = rng.choice([f"level {j} of {k}" for j in range(3 + k)], n)
    y = np.abs(X["number 1"]) + 20 * (X["text 3"] == "level 1 of 3") * (X["number 0"] > 0)
    model = GBMAPRegressor(4, random_state=0).fit(X, y)
    cards, found = learner_cards(model, X, y), regions(model, X, y)
    told = [*cards.half_spaces, *found.descriptions, *found.half_spaces]
    assert max(map(len, told)) <= 120
    assert not any("=" in each.replace("<=", "") or "e+" in each or "e-" in each for each in told)
    active = FittedModel.of(model).ensemble.project(FittedModel.of(model).read(X)) > 0
    for j, words in enumerate(cards.half_spaces):
        if np.isfinite(cards.half_space_precision[j]):
            assert cards.half_space_precision[j] == np.mean(active[read_words(words, X), j])
            assert cards.half_space_precision[j] >= 0.8


def bent_frame(n=400, seed=0):
    """Numbers, one of them with gaps, and categories, also with gaps."""
    X = frame(n, seed)[["age", "year", "income"]]
    X["city"] = np.array(["Oslo", "Rome", "Turku"])[np.arange(n) % 3]
    X.loc[::5, "age"] = np.nan
    X.loc[::7, "city"] = None
    return X


def bent_model(**options):
    X = bent_frame()
    y = np.abs(X["year"] - 2004) + np.log(X["income"]) + X["age"].isna() + 3 * (X["city"] == "Oslo")
    return X, GBMAPRegressor(4, knots=4, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"monotonic_cst": [0, 0, 1, 0]}], ids=["free", "rising"])
def test_a_column_that_bends_is_one_term_in_the_users_units(options):
    X, model = bent_model(**options)
    fitted = FittedModel.of(model)
    inputs = fitted.read(X)
    terms = Terms.of(fitted)
    assert sorted(terms.names) == sorted(
        [
            "age",
            "year",
            "income",
            "age is missing",
            "city is missing",
            "city is Oslo",
            "city is Rome",
            "city is Turku",
        ]
    )
    values = pd.DataFrame(terms.values(inputs), columns=terms.names)
    assert_allclose(values["year"], X["year"])
    assert_allclose(values["age"], X["age"].fillna(X["age"].median()), rtol=0.01)
    assert_allclose(terms.standard(inputs).mean(axis=0), 0, atol=1e-9)
    assert_array_equal(values["city is Oslo"], X["city"] == "Oslo")
    assert_array_equal(values["age is missing"], X["age"].isna())


def test_rows_of_few_categories_are_told_by_these_and_those_of_many_by_none():
    towns = pd.Series(["Oslo"] * 45 + ["Turku"] * 40 + ["Rome"] * 15).repeat(4)
    rows = pd.DataFrame({"town": towns.to_numpy(), "x": np.linspace(-1, 1, 400)})
    model = GBMAPRegressor(n_components=1, knots=0, random_state=0).fit(
        rows, rows["x"] + (rows["town"] == "Rome")
    )
    fitted = FittedModel.of(model)
    teller = Teller(fitted, fitted.read(rows))
    everywhere, rome = np.ones(400, dtype=bool), rows["town"].to_numpy() == "Rome"
    assert teller.typical(everywhere, [0]) == "town Oslo or Turku (85 %)"
    assert teller.typical(rome, [0]) == "town Rome (100 %)"
    assert teller.typical(rome, [0, 1]) == "town Rome (100 %), x 0.734 to 0.97"
    rows["town"] = [f"town {k % 10}" for k in range(400)]
    fitted = FittedModel.of(
        GBMAPRegressor(n_components=1, knots=0, random_state=0).fit(rows, rows["town"] == "town 3")
    )
    assert Teller(fitted, fitted.read(rows)).typical(everywhere, [0]) == ""


@pytest.mark.parametrize(
    ("n_meant", "right", "total", "quality"),
    [
        (20, 16, 20, 1.25 * 16 / (20 + 5)),  # precise to 80 %, no more
        (20, 15, 19, 0.0),
        (20, 4, 4, 1.25 * 4 / (4 + 5)),  # a fifth of the rows that are meant, no fewer
        (20, 3, 3, 0.0),
        (5, 3, 3, 1.25 * 3 / (3 + 1.25)),  # three rows at least
        (5, 2, 2, 0.0),
        (2, 2, 2, 1.0),  # or all
        (50, 45, 50, 1.25 * 45 / (50 + 12.5)),
        (80, 80, 90, 1.25 * 10 / (10 + 5)),  # of the twenty others, ten, and none but these
        (80, 60, 60, 1.25 * 20 / (40 + 5)),
    ],
)
def test_a_rule_is_precise_and_tells_the_fewer_of_two_kinds_of_rows(n_meant, right, total, quality):
    search = Search(None, np.arange(100) < n_meant)
    assert search._quality(np.array(right), np.array(total)) == pytest.approx(quality)
