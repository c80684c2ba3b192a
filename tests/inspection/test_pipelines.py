"""Answers through scikit-learn's preprocessing are in the user's own columns and units."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.compose import make_column_transformer as tables
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.inspection.attribution import attributions
from gbmap.inspection.explanation import explain

NUMBERS = ["age", "income"]  # income has gaps
TEXT = ["city", "sex"]  # sex has gaps


@cache
def draw():
    """Return a frame of mixed types and a target, not to be changed."""
    rng, n = np.random.default_rng(0), 80
    income = rng.gamma(2.0, 2e4, n)
    city = rng.choice(["Oslo", "Rome", "Kyiv", "Bonn"], n, p=[0.5, 0.28, 0.15, 0.07])
    sex = rng.choice(np.array(["f", "m", None], dtype=object), n, p=[0.4, 0.4, 0.2])
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n),
            "city": city,
            "income": np.where(rng.random(n) < 0.2, np.nan, income),
            "year": rng.integers(2000, 2004, n),
            "sex": sex,
            "void": np.full(n, np.nan),
        }
    )
    y = np.abs(frame["age"] - 45) / 10 + income / 2e4 + 2.0 * (city == "Oslo") + (sex == "f")
    return frame, (y + (frame["year"] - 2001) ** 2).to_numpy()


def filled(*steps, **options):
    return make_pipeline(SimpleImputer(**options), *steps)


def hot(**options):
    return OneHotEncoder(**{"sparse_output": False, **options})


PIPELINES = {
    "scaled and one-hot": tables(
        (filled(StandardScaler(), add_indicator=True), NUMBERS),
        (OneHotEncoder(drop="first", handle_unknown="ignore"), TEXT),
    ),
    "without mean": tables((filled(StandardScaler(with_mean=False)), NUMBERS)),
    "without scale": tables((filled(StandardScaler(with_std=False)), NUMBERS)),
    "min-max": tables((filled(MinMaxScaler((-3, 1))), NUMBERS)),
    "robust": tables((filled(RobustScaler(unit_variance=True)), [*NUMBERS, "year"])),
    "robust without centre": tables((filled(RobustScaler(with_centering=False)), NUMBERS)),
    "robust without scale": tables((filled(RobustScaler(with_scaling=False)), NUMBERS)),
    "max-abs": tables((filled(MaxAbsScaler()), NUMBERS)),
    "scaled thrice": tables((filled(MinMaxScaler(), RobustScaler(), StandardScaler()), NUMBERS)),
    "scaled, then filled": tables((make_pipeline(StandardScaler(), SimpleImputer()), NUMBERS)),
    "used twice": tables((MinMaxScaler(), ["age", "year"]), (RobustScaler(), ["age"])),
    "void dropped": tables((filled(MinMaxScaler(), add_indicator=True), [*NUMBERS, "void"])),
    "void dropped, constant": tables((filled(strategy="constant", fill_value=7.0), ["void", *NUMBERS])),
    "void kept": tables((filled(keep_empty_features=True, add_indicator=True), ["void", *NUMBERS])),
    "most frequent": tables((filled(hot(), strategy="most_frequent"), TEXT), ("passthrough", ["age"])),
    "marked text": tables((filled(hot(), strategy="most_frequent", add_indicator=True), TEXT)),
    "marks beside values": tables(
        (make_union(filled(StandardScaler()), MissingIndicator()), NUMBERS), (MissingIndicator(), ["sex"])
    ),
    "all marks": tables((make_union(MissingIndicator(features="all"), SimpleImputer()), NUMBERS)),
    "rare": tables((OneHotEncoder(min_frequency=20), ["city"]), (StandardScaler(), ["age"])),
    "rare, one dropped": tables((hot(min_frequency=20, drop="first"), TEXT), ("passthrough", ["year"])),
    "of two, one dropped": tables((filled(hot(drop="if_binary"), strategy="most_frequent"), TEXT)),
    "one-hot, then scaled": tables((make_pipeline(hot(), StandardScaler()), TEXT), ("passthrough", ["age"])),
    "rest passes": tables((OneHotEncoder(), TEXT), ("drop", ["income", "void"]), remainder="passthrough"),
    "rest filled": tables((OneHotEncoder(), ["city"]), ("drop", ["sex", "void"]), remainder=filled()),
    "positions": tables((StandardScaler(), [3, 0]), (OneHotEncoder(), [-2])),
    "slices": tables((filled(), slice(2, 4)), (StandardScaler(), slice("age", "age"))),
    "masks": tables((MinMaxScaler(), [True, False, False, True, False, False]), (hot(), ["city"])),
    "selectors": tables(
        (filled(keep_empty_features=True), make_column_selector(dtype_include="number")),
        (OneHotEncoder(), make_column_selector(pattern="city|sex")),
    ),
    "nothing selected": tables((StandardScaler(), []), (OneHotEncoder(), ["city"])),
    "tables in tables": make_pipeline(
        tables((filled(), NUMBERS), ("passthrough", ["year"])),
        tables((StandardScaler(), [1]), remainder=MinMaxScaler()),
    ),
    "k best": make_pipeline(
        tables((filled(StandardScaler()), NUMBERS), (hot(), TEXT)), SelectKBest(f_regression, k=4)
    ),
    "passing steps": make_pipeline(
        "passthrough", FunctionTransformer(), tables(("passthrough", ["age", "year"])), "passthrough"
    ),
    "passing unions": make_pipeline(
        FeatureUnion([("no", "drop"), ("yes", tables(("passthrough", ["age", "year"])))]),
        make_union("passthrough", StandardScaler()),
    ),
}
# SimpleImputer says again at each transform which columns it drops.
pytestmark = pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
EACH = pytest.mark.parametrize("kind", PIPELINES)


def before_gbmap(steps, **options):
    return make_pipeline(clone(steps), GBMAPRegressor(3, random_state=0, **options))


@cache
def fitted(kind, activation="softplus"):
    return before_gbmap(PIPELINES[kind], activation=activation).fit(*draw())


def between_knots(frame):
    """Return rows whose numbers differ from those of training, where knots are: there is a derivative."""
    return frame.assign(**{name: frame[name] + 1e-3 * frame[name].std() for name in (*NUMBERS, "year")})


def derivative(model, frame, column):
    """Return the derivative of the prediction in a column, by differences of fourth order."""
    h = 1e-4 * frame[column].std()
    f = {k: model.predict(frame.assign(**{column: frame[column] + k * h})) for k in (-2, -1, 1, 2)}
    return (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)


def gain_over_swapped(model, rows, column):
    """Return each row's prediction, less its mean when the column's training values are swapped in."""
    values = draw()[0][column].to_numpy()
    copies = rows.loc[np.repeat(rows.index, len(values))].assign(**{column: np.tile(values, len(rows))})
    return model.predict(rows) - model.predict(copies).reshape(len(rows), -1).mean(axis=1)


@pytest.mark.sampled(2)
@EACH
@pytest.mark.parametrize("standardized", [False, True])
def test_the_local_model_in_the_users_columns_gives_the_prediction(kind, standardized):
    frame, model = draw()[0], fitted(kind)
    local = explain(model, frame, standardized=standardized)
    assert local.feature_names.tolist() == frame.columns.tolist()
    assert_allclose(local.intercepts + (local.coefficients * local.inputs).sum(axis=1), model.predict(frame))
    columns = FittedModel.of(model).columns
    assert_array_equal(local.inputs[:, columns.is_used & ~columns.is_number], 1)
    assert_array_equal(local.inputs[:, ~columns.is_used], 0)


@pytest.mark.sampled(2)
@EACH
def test_numeric_coefficients_are_derivatives_in_the_users_column(kind):
    frame, model = between_knots(draw()[0]), fitted(kind)
    local, is_number = explain(model, frame), FittedModel.of(model).columns.is_number
    for name in (*NUMBERS, "year"):
        k, given = frame.columns.get_loc(name), frame[name].notna().to_numpy()
        slope = derivative(model, frame, name)[given]
        assert_allclose(local.coefficients[given, k], slope, rtol=1e-6, atol=1e-7 * np.abs(slope).max())
        if is_number[k]:
            assert_allclose(local.inputs[given, k], frame.loc[given, name])


@pytest.mark.sampled(2, 1)
@EACH
def test_attributions_are_complete_and_zero_where_a_row_equals_the_baseline(kind):
    frame, model = draw()[0], fitted(kind)
    baseline = frame.iloc[[0]]  # without income and sex
    shares = attributions(model, frame, baseline)
    assert shares.feature_names.tolist() == frame.columns.tolist()
    assert_allclose(shares.base_values, np.repeat(model.predict(baseline), len(frame)))
    assert_allclose(shares.base_values + shares.values.sum(axis=1), model.predict(frame))
    same = (frame == baseline.iloc[0]) | (frame.isna() & baseline.iloc[0].isna())
    assert_array_equal(shares.values[same], 0)
    assert_array_equal(attributions(model, frame, frame.iloc[0]).values, shares.values)


@pytest.mark.sampled(2)
@EACH
def test_a_linear_model_splits_into_what_swapping_one_column_changes(kind):
    frame, model = draw()[0], fitted(kind, "identity")
    rows, is_number = frame.head(5), FittedModel.of(model).columns.is_number
    local, shares = explain(model, rows), attributions(model, rows, frame)
    for k, name in enumerate(frame.columns):
        expected = gain_over_swapped(model, rows, name)
        assert_allclose(local.contributions[:, k], expected, atol=1e-8)
        assert_allclose(shares.values[:, k], expected, atol=1e-8)
        if not is_number[k]:
            assert_allclose(local.coefficients[:, k], expected, atol=1e-8)


def test_a_column_both_scaled_and_one_hot_has_the_slope_of_its_number_and_the_share_of_both():
    frame, y = draw()
    encoder = OneHotEncoder(handle_unknown="ignore")
    steps = tables((StandardScaler(), ["year"]), (encoder, ["year"]))
    model = before_gbmap(steps, activation="identity", knots=0)  # years would be knots
    local, k = explain(model.fit(frame, y), frame), frame.columns.get_loc("year")
    # Off the years of training all marks are zero, so that only the number moves.
    assert_allclose(local.coefficients[:, k], derivative(model, frame, "year"))
    assert_allclose(local.contributions[:, k], gain_over_swapped(model, frame, "year"), atol=1e-8)
    assert_allclose(local.inputs[:, k], frame["year"])
    assert np.abs(local.contributions[:, k] - local.coefficients[:, k] * (frame["year"] - 2001)).max() > 0.1


def test_a_category_unknown_to_the_encoder_has_the_effect_that_it_has_in_the_prediction():
    model, frame = fitted("scaled and one-hot", "identity"), draw()[0]
    rows, k = frame.head(4).assign(city="Paris"), frame.columns.get_loc("city")
    with pytest.warns(UserWarning, match="unknown categories"):
        expected = gain_over_swapped(model, rows, "city")
    with pytest.warns(UserWarning, match="unknown categories"):
        local = explain(model, rows)
    assert_allclose(local.coefficients[:, k], expected, atol=1e-8)
    with pytest.warns(UserWarning, match="unknown categories"):
        shares = attributions(model, frame.head(4), rows.iloc[0])  # a Series without income and sex
    assert_allclose(shares.base_values + shares.values.sum(axis=1), model.predict(frame.head(4)))


@pytest.mark.parametrize("column", ["age", "city", "income", "sex"])
def test_what_one_column_alone_changes_is_its_share_alone(column):
    frame, model = draw()[0], fitted("scaled and one-hot")
    baseline = frame.iloc[[7]]
    rows = baseline.loc[np.repeat(baseline.index, len(frame))].assign(**{column: frame[column].to_numpy()})
    shares = attributions(model, rows, baseline)
    k = frame.columns.get_loc(column)
    change = model.predict(rows) - model.predict(baseline)
    assert np.abs(change).max() > 0.01
    assert_allclose(shares.values[:, k], change, atol=1e-12)
    assert_array_equal(np.delete(shares.values, k, axis=1), 0)


def test_standardized_counts_in_deviations_of_the_users_columns():
    frame, model = draw()[0], fitted("used twice")
    plain, standard = (explain(model, frame, standardized=each) for each in (False, True))
    for name in ("age", "year"):
        k = frame.columns.get_loc(name)
        assert_allclose(standard.coefficients[:, k], plain.coefficients[:, k] * frame[name].std(ddof=0))
        z = (frame[name] - frame[name].mean()) / frame[name].std(ddof=0)
        assert_allclose(standard.inputs[:, k], z, atol=1e-9)


@pytest.mark.parametrize("kind", ["scaled and one-hot", "rest passes", "all marks", "k best"])
def test_polars_frames_give_the_numbers_of_pandas_frames(kind):
    frame, y = draw()
    polars, ours = pl.from_pandas(frame), fitted(kind)
    theirs = before_gbmap(PIPELINES[kind]).fit(polars, y)
    local = explain(theirs, polars)
    assert local.feature_names.tolist() == frame.columns.tolist()
    assert_array_equal(local.coefficients, explain(ours, frame).coefficients)
    for mine, yours in [(frame.iloc[7], polars[7]), (frame.iloc[5:7], polars[5:7])]:
        shares = attributions(theirs, polars, yours)
        assert_array_equal(shares.values, attributions(ours, frame, mine).values)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["most frequent", "marks beside values", "passing unions", "k best"])
def test_steps_that_hand_over_frames_change_nothing(kind, library):
    frame, y = draw()
    model = before_gbmap(PIPELINES[kind]).set_output(transform=library).fit(frame, y)
    assert_array_equal(explain(model, frame).coefficients, explain(fitted(kind), frame).coefficients)


def test_order_and_number_of_columns_may_differ_where_the_pipeline_takes_them_by_name():
    frame, model = draw()[0], fitted("scaled and one-hot")
    expected = explain(model, frame)
    other = frame[frame.columns[::-1]].assign(more=1.0).drop(columns="void")
    found = explain(model, other)
    assert found.feature_names.tolist() == frame.columns.tolist()
    assert_array_equal(found.coefficients, expected.coefficients)
    shares = attributions(model, other, other.iloc[7])
    assert_array_equal(shares.values, attributions(model, frame, frame.iloc[7]).values)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: GridSearchCV(model, {"gbmapregressor__beta": [5.0]}, cv=2),
        lambda model: make_pipeline(model),
        lambda model: make_pipeline(model[:-1], make_pipeline(FunctionTransformer(), model[-1])),
        lambda model: make_pipeline(*model[:-1], GridSearchCV(model[-1], {"beta": [5.0]}, cv=2)),
    ],
)
def test_searches_and_pipelines_around_the_model_are_looked_through(wrap):
    frame, y = draw()
    model = wrap(before_gbmap(PIPELINES["scaled and one-hot"])).fit(frame, y)
    expected = explain(fitted("scaled and one-hot"), frame)
    assert_array_equal(explain(model, frame).coefficients, expected.coefficients)


def test_columns_without_names_are_numbered():
    X = np.random.default_rng(0).normal(3, 2, (60, 3))
    model = before_gbmap(make_union("passthrough", StandardScaler())).fit(X, np.abs(X[:, 0]) - X[:, 2])
    local = explain(model, X)
    assert local.feature_names.tolist() == ["x0", "x1", "x2"]
    assert_allclose(local.intercepts + (local.coefficients * X).sum(axis=1), model.predict(X))
    shares = attributions(model, X, X[3])
    assert_allclose(shares.values.sum(axis=1), model.predict(X) - model.predict(X[3:4]), atol=1e-12)


def test_inputs_are_named_by_column_category_and_gap():
    sex = draw()[0]["sex"]
    model = FittedModel.of(before_gbmap(PIPELINES["scaled and one-hot"], knots=0).fit(*draw()))
    missing = sex[sex.isna()].iloc[0]  # as pandas has it: None before version 3
    assert model.input_names.tolist() == [
        "age", "income", "income is missing", "city is Kyiv", "city is Oslo", "city is Rome", "sex is m",
        f"sex is {missing}",
    ]  # fmt: skip
    assert model.columns.has_rest.tolist() == [False, True, False, False, True, False]
    assert not FittedModel.of(fitted("rest passes")).columns.has_rest.any()


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_probabilities_are_explained_in_the_users_columns(loss):
    frame, y = draw()
    gbmap = GBMAPClassifier(3, loss=loss, random_state=0)
    model = make_pipeline(clone(PIPELINES["scaled and one-hot"]), gbmap).fit(frame, y > np.median(y))
    frame = between_knots(frame)
    local, h = explain(model, frame, probability=True), 1e-3
    p = {k: model.predict_proba(frame.assign(age=frame["age"] + k * h))[:, 1] for k in (-1, 0, 1)}
    assert_allclose(local.coefficients[:, 0], (p[1] - p[-1]) / (2 * h), atol=1e-6)
    assert_allclose(local.intercepts + (local.coefficients * local.inputs).sum(axis=1), p[0])


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        (PCA(2), "the step PCA"),
        (PolynomialFeatures(2), "the step PolynomialFeatures"),
        (KNNImputer(), "the step KNNImputer"),
        (FunctionTransformer(np.log1p), "func=log1p"),
        (MinMaxScaler(clip=True), "MinMaxScaler with clip=True"),
        (MaxAbsScaler(clip=True), "MaxAbsScaler with clip=True"),
        (make_pipeline(StandardScaler(), PCA(2)), "the step PCA"),
        (FeatureUnion([("a", StandardScaler())], transformer_weights={"a": 2.0}), "FeatureUnion with tr"),
        (
            ColumnTransformer([("a", MinMaxScaler(), [0])], transformer_weights={"a": 2.0}),
            "ColumnTransformer",
        ),
        (tables((OrdinalEncoder(), [0]), remainder="passthrough"), "the step OrdinalEncoder"),
    ],
)
def test_a_step_that_mixes_or_bends_columns_is_refused_with_a_way_out(steps, what):
    X = np.random.default_rng(0).uniform(1, 9, (50, 3)).round()
    model = make_pipeline(steps, GBMAPRegressor(2, random_state=0)).fit(X, X[:, 0])
    for ask in (lambda: explain(model, X), lambda: attributions(model, X, X[0])):
        with pytest.raises(
            ValueError, match=rf"{what}.* cannot be followed.* pass pipeline\[-1\] as the model"
        ):
            ask()
    assert explain(model[-1], model[:-1].transform(X)).coefficients.shape[0] == 50  # the way out


class Doubling(StandardScaler):
    """A scaler that gives its columns twice."""

    def transform(self, X):
        return np.hstack([super().transform(X)] * 2)


def test_a_step_that_gives_other_columns_than_its_base_class_is_noticed():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = make_pipeline(Doubling(), GBMAPRegressor(1, random_state=0)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"only 2 of the preprocessing's 4 outputs .* pass pipeline\[-1\]"):
        explain(model, X)


def test_a_step_that_reads_text_is_refused_too():
    texts = ["good wine", "bad wine", "good beer", "bad beer"]
    model = make_pipeline(CountVectorizer(), GBMAPRegressor(1, random_state=0)).fit(
        texts, [1.0, 0.0, 2.0, 1.0]
    )
    with pytest.raises(ValueError, match="the step CountVectorizer cannot be followed"):
        explain(model, texts)
