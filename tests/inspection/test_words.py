"""A learner in words: what is written must hold for the rows, as a reader would check it."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from gbmap import GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap._fitted.terms import Terms
from gbmap._fitted.words import HalfSpace, _best_threshold, half_space, standard_rows

COMPARE = {">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal}


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.normal(50, 12, n),
        "year": rng.integers(2000, 2010, n).astype(float),
        "income": rng.gamma(2.0, 2e4, n),
        "ratio": rng.normal(0, 3e-5, n),
    }
    return pd.DataFrame(columns)


def with_learner(X, weights, offset, *, before=None, activation="softplus"):
    """Return the fitted of a model that holds one learner with given weights of its inputs."""
    model = GBMAPRegressor(n_components=1, knots=0, activation=activation, random_state=0)
    model = model if before is None else make_pipeline(before, model)
    model.fit(X, np.arange(len(X), dtype=float))
    gbmap = model if before is None else model[-1]
    weights, offsets = np.array([weights], dtype=float), np.array([offset], dtype=float)
    gbmap.ensemble_ = replace(gbmap.ensemble_, weights=weights, offsets=offsets)
    return FittedModel.of(model)


def check(words, X):
    """Return whether each row of a frame satisfies an inequality, by reading it."""
    left, sign, right = re.fullmatch(r"(.+) (>|<|>=|<=) (\S+)", words).groups()
    total = 0.0
    for plus, factor, name in re.findall(r"([+-] )?(?:([\d.e+-]+) )?([a-z]\w*)", left):
        total = total + (-1 if plus == "- " else 1) * float(factor or 1) * X[name].to_numpy()
    return COMPARE[sign](total, float(right))


def test_one_weight_gives_a_threshold_on_one_column():
    fitted = with_learner(frame(), [2, 0, 0, 0], -91)
    assert half_space(fitted, 0) == "age > 45.5"
    assert half_space(fitted, 0, active=False) == "age <= 45.5"


def test_a_negative_first_weight_turns_the_inequality_round():
    fitted = with_learner(frame(), [-2, 0, 0, 0], 91)
    assert half_space(fitted, 0) == "age < 45.5"
    assert half_space(fitted, 0, active=False) == "age >= 45.5"


def test_terms_come_by_their_weight_in_standard_deviations_over_the_first_ones_coefficient():
    X = frame()
    scale = X.std(ddof=0).to_numpy()
    fitted = with_learner(X, np.array([0.5, 1, -0.8, 0]) / scale, 0)
    ratios = scale[1] / scale * [0.5, 1, -0.8, 0]
    left = f"year - {float(f'{-ratios[2]:.2g}'):.15g} income + {float(f'{ratios[0]:.2g}'):.15g} age"
    assert half_space(fitted, 0).startswith(f"{left} > ")
    assert half_space(fitted, 0, n_terms=2).startswith(left.rsplit(" + ", 1)[0] + " > ")


def test_inputs_left_out_stand_at_their_training_means():
    X = frame()
    fitted = with_learner(X, [1, 0.1, 0, 0], -40 - 0.1 * X["year"].mean())
    assert half_space(fitted, 0, n_terms=1) == "age > 40"


def test_terms_that_hardly_count_are_left_out():
    X = frame()
    scale = X.std(ddof=0).to_numpy()
    assert "income" not in half_space(with_learner(X, [1, 0, 0.04 * scale[0] / scale[2], 0], -50), 0)
    assert "income" in half_space(with_learner(X, [1, 0, 0.06 * scale[0] / scale[2], 0], -50), 0)


def test_thresholds_keep_the_digits_that_tell_rows_apart():
    assert half_space(with_learner(frame(), [0, 1, 0, 0], -2004.5), 0) == "year > 2004.5"
    assert half_space(with_learner(frame(), [0, 0, 0, 1e5], -1.234), 0) == "ratio > 1.23e-05"
    assert half_space(with_learner(frame(), [0, 0, 1e-3, 0], -123.456), 0) == "income > 123500"


def test_a_learner_without_weights_is_active_everywhere_or_nowhere():
    for offset, active, words in [
        (1, True, "everywhere"), (1, False, "nowhere"), (0, True, "nowhere"), (-1, False, "everywhere"),
    ]:  # fmt: skip
        fitted = with_learner(frame(), np.zeros(4), offset)
        assert half_space(fitted, 0, active=active) == words
        assert HalfSpace.of(fitted, 0).holds(frame().to_numpy()).all() == (offset > 0)


def test_learners_with_the_identity_activation_are_active_everywhere():
    fitted = with_learner(frame(), [1, 0, 0, 0], -1e6, activation="identity")
    assert half_space(fitted, 0) == "everywhere"
    assert half_space(fitted, 0, active=False) == "nowhere"
    assert HalfSpace.of(fitted, 0).holds(frame().to_numpy()).all()


@pytest.mark.parametrize(
    ("weights", "offset", "words", "complement"),
    [
        ([1, 0, 0, 0], -0.4, "city=Oslo", "not city=Oslo"),
        ([-1, 0, 0, 0], 0.4, "not city=Oslo", "city=Oslo"),
        ([0, 0, 0, 1], -0.4, "age missing", "not age missing"),
        ([1, 0, 0, 0], 0.4, "everywhere", "nowhere"),
        ([1, 0, 0, 0], -1.4, "nowhere", "everywhere"),
        ([1, -0.5, 0, 0], -0.2, "city=Oslo - 0.5 city=Rome > 0.2", "city=Oslo - 0.5 city=Rome <= 0.2"),
    ],
)
def test_categories_and_gaps_are_named(weights, offset, words, complement):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice(["Oslo", "Rome"], 90), "age": rng.normal(50, 12, 90)})
    X.loc[::3, "age"] = np.nan
    before = make_column_transformer(
        (OneHotEncoder(), ["city"]), (SimpleImputer(add_indicator=True), ["age"])
    )
    fitted = with_learner(X, weights, offset, before=before)
    assert half_space(fitted, 0) == words
    assert half_space(fitted, 0, active=False) == complement


@pytest.mark.parametrize("before", [None, StandardScaler(), MinMaxScaler((5, 6))], ids=str)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_what_is_written_is_what_holds_in_the_users_units(before, seed):
    rng, X = np.random.default_rng(seed), frame()
    fitted = with_learner(X, np.zeros(4), 0, before=before)
    inputs = np.asarray(fitted.read(X))
    weights = rng.standard_normal((1, 4)) / inputs.std(axis=0)
    offsets = -weights @ inputs.mean(axis=0) + rng.normal(0, 1, 1)
    fitted.model.ensemble_ = replace(fitted.ensemble, weights=weights, offsets=offsets)
    for rows in (None, standard_rows(fitted, inputs)):
        written = HalfSpace.of(fitted, 0, rows)
        assert_array_equal(check(written.words(), X), written.holds(inputs))
        assert_array_equal(check(written.words(active=False), X), ~written.holds(inputs))
    all_terms = HalfSpace.of(fitted, 0, n_terms=4).holds(inputs)
    assert (all_terms == (fitted.ensemble.project(inputs)[:, 0] > 0)).mean() > 0.95


def factor(n=400, n_copies=6):
    """Return columns of which some are noisy copies of one another, as those of real tables are."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((n, 1))
    copies = hidden + 0.3 * rng.standard_normal((n, n_copies))
    return np.hstack([copies, rng.standard_normal((n, 2))])


def agreement(fitted, X, rows):
    written, active = HalfSpace.of(fitted, 0, rows), fitted.ensemble.project(X)[:, 0] > 0
    return (written.holds(X) == active).mean()


def test_fitted_to_rows_the_words_tell_more_rows_where_columns_go_together():
    X = factor()
    # The three largest weights together point the other way than all of them.
    fitted = with_learner(X, [1.0, -0.9, -0.9, 0.8, 0.8, 0.8, 0.1, 0.1], 0.3)
    assert agreement(fitted, X, None) < 0.5
    assert agreement(fitted, X, standard_rows(fitted, X)) > 0.8
    assert half_space(fitted, 0, rows=standard_rows(fitted, X)) != half_space(fitted, 0)


def test_columns_without_weight_are_never_named():
    X = factor()
    X[:, 0] = X[:, 3:6].sum(axis=1)  # would say it best
    fitted = with_learner(X, [0, 0, 0, 1, 1, 1, 0.5, 0], 0)
    for n_terms in (1, 3, 8):
        inputs = HalfSpace.of(fitted, 0, standard_rows(fitted, X), n_terms=n_terms).inputs
        assert 1 <= len(inputs) <= n_terms
        assert set(inputs) <= {3, 4, 5, 6}


def test_a_column_that_another_one_stands_for_comes_after_one_that_says_something_new():
    X = factor()
    fitted = with_learner(X, [1, 1, 0, 0, 0, 0, 0.9, 0], 0)
    assert sorted(HalfSpace.of(fitted, 0, standard_rows(fitted, X), n_terms=2).inputs)[1] == 6
    assert sorted(HalfSpace.of(fitted, 0, n_terms=2).inputs) == [0, 1]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_fitted_to_rows_too_the_largest_term_comes_first(seed):
    X = factor()
    fitted = with_learner(X, np.random.default_rng(seed).standard_normal(8), 0)
    written = HalfSpace.of(fitted, 0, standard_rows(fitted, X))
    sizes = np.abs(written.coefficients) * X.std(axis=0)[written.inputs]
    assert (np.diff(sizes) <= 0.01 * sizes[0]).all()


def test_a_single_row_says_little_about_which_columns_go_together():
    X = factor()
    fitted = with_learner(X, [1, 0.8, 0.6, 0, 0, 0, 0.1, 0.1], 0)
    few = HalfSpace.of(fitted, 0, standard_rows(fitted, X[:1]))
    assert_array_equal(few.inputs, HalfSpace.of(fitted, 0).inputs)


def test_sparse_rows_give_the_words_of_dense_ones():
    X = np.where(factor() > 0.5, factor(), 0.0)
    fitted = with_learner(X, np.arange(1, 9) / 8, -1)
    sparse = scipy.sparse.csr_array(X)
    dense_words, sparse_words = (
        HalfSpace.of(fitted, 0, standard_rows(fitted, rows)) for rows in (X, fitted.read(sparse))
    )
    assert dense_words.words() == sparse_words.words()
    assert_array_equal(dense_words.holds(X), sparse_words.holds(fitted.read(sparse)))


def test_the_rows_that_words_are_fitted_to_are_bounded_and_the_same_each_time(monkeypatch):
    X = factor()
    fitted = with_learner(X, np.ones(8), 0)
    monkeypatch.setattr("gbmap._fitted.words._SAMPLE_NUMBERS", 800)
    rows = standard_rows(fitted, X)
    assert rows.shape == (100, 8)
    assert_array_equal(rows, standard_rows(fitted, X))
    assert len(np.unique(rows, axis=0)) == 100


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
        ["age", "year", "income", "age missing", "city missing", "city=Oslo", "city=Rome", "city=Turku"]
    )
    values = pd.DataFrame(terms.values(inputs), columns=terms.names)
    np.testing.assert_allclose(values["year"], X["year"])
    np.testing.assert_allclose(values["age"], X["age"].fillna(X["age"].median()), rtol=0.01)
    np.testing.assert_allclose(terms.standard(inputs).mean(axis=0), 0, atol=1e-9)
    assert_array_equal(values["city=Oslo"], X["city"] == "Oslo")
    assert_array_equal(values["age missing"], X["age"].isna())


@pytest.mark.parametrize("with_rows", [False, True])
def test_words_of_columns_that_bend_hold_as_they_are_written(with_rows):
    X, model = bent_model()
    fitted = FittedModel.of(model)
    inputs = fitted.read(X)
    rows = standard_rows(fitted, inputs) if with_rows else None
    known = X.assign(age=X["age"].fillna(fitted.inputs.fill[0]), **{"age missing": X["age"].isna()})
    for name in ("Oslo", "Rome", "Turku"):
        known[f"city={name}"] = X["city"] == name
    known["city missing"] = X["city"].isna()
    known = known.drop(columns="city")
    for j in range(len(fitted.ensemble)):
        written = HalfSpace.of(fitted, j, rows)
        assert "from" not in written.words()
        names = [name for name in sorted(known, key=len, reverse=True) if name in written.words()]
        text = written.words()
        for k, name in enumerate(names):
            text = text.replace(name, f"z{'abcdefgh'[k]}")
        columns = {f"z{'abcdefgh'[k]}": known[name].astype(float) for k, name in enumerate(names)}
        assert_array_equal(check(text, pd.DataFrame(columns)), written.holds(inputs))


def test_a_column_that_bends_but_always_rises_is_told_nearly_as_well_as_one_that_does_not():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=500), "b": rng.normal(size=500)})
    model = GBMAPRegressor(3, knots=4, random_state=0).fit(X, np.exp(X["a"]) + X["b"])
    fitted = FittedModel.of(model)
    inputs = fitted.read(X)
    rows = standard_rows(fitted, inputs)
    for j in range(3):
        active = fitted.ensemble.project(inputs)[:, j] > 0
        agreement = (HalfSpace.of(fitted, j, rows).holds(inputs) == active).mean()
        assert agreement >= max(0.85, active.mean(), 1 - active.mean())


def test_the_threshold_tells_the_most_rows_rightly():
    rng = np.random.default_rng(0)
    for _ in range(20):
        places, active = rng.normal(size=30).round(1), rng.random(30) < 0.5
        found = _best_threshold(places, active, 0.0)
        tried = [((places > each) == active).sum() for each in np.linspace(-5, 5, 2001) + 0.001]
        assert ((places > found) == active).sum() == max(tried)
    assert _best_threshold(np.ones(3), np.array([True, True, False]), 5.0) <= 1.0
