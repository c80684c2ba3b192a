"""A model as a SELECT statement gives in a database what it gives in Python, whatever names there are."""

import csv
import io
import math
import os
import re
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.compose import make_column_transformer as tables
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.sql import to_sql

ROOT = Path(__file__).parents[2]
PSQL = os.environ.get("GBMAP_POSTGRES")  # a command that takes statements from its input, such as "psql test"

# The databases: each makes a table of a frame, and returns the rows that a statement gives, by column.


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def as_stored(frame):
    """Return the rows as Python's own values, with None for NULL."""
    objects = frame.astype(object).where(frame.notna(), None)
    return [
        tuple(getattr(v, "item", lambda v=v: v)() for v in row) for row in objects.itertuples(index=False)
    ]


@contextmanager
def connect_sqlite():
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("SELECT exp(1.0), ln(1.0)")
        except sqlite3.OperationalError:  # built without mathematical functions
            connection.create_function("exp", 1, lambda x: None if x is None else math.exp(x))
            connection.create_function("sqrt", 1, lambda x: None if x is None else math.sqrt(x))
            connection.create_function("ln", 1, lambda x: None if x is None else math.log(x))
        yield connection


def store(connection, frame, table):
    if isinstance(connection, duckdb.DuckDBPyConnection):
        connection.register("a frame", frame)
        connection.execute(f'CREATE TABLE {quoted(table)} AS SELECT * FROM "a frame"')
        connection.unregister("a frame")
    else:
        connection.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, frame.columns))})")
        marks = ", ".join("?" * frame.shape[1])
        connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", as_stored(frame))


def fetch(connection, statement):
    cursor = connection.execute(statement)
    names = [column[0] for column in cursor.description]
    return dict(zip(names, map(list, zip(*cursor.fetchall()))))


def in_sqlite(frame, statement, table="t"):
    with connect_sqlite() as connection:
        store(connection, frame, table)
        return fetch(connection, statement)


def in_duckdb(frame, statement, table="t"):
    with duckdb.connect() as connection:
        store(connection, frame, table)
        return fetch(connection, statement)


def type_of(column):
    return {"f": "DOUBLE PRECISION", "i": "BIGINT", "b": "BOOLEAN"}.get(column.dtype.kind, "VARCHAR")


def in_postgresql(frame, statement, table="t"):
    columns = ", ".join(f"{quoted(name)} {type_of(frame[name])}" for name in frame.columns)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [["\\N" if v is None else v for v in row] for row in as_stored(frame)]
    )
    script = (
        f"CREATE TEMPORARY TABLE {quoted(table)} ({columns});\n"
        f"COPY {quoted(table)} FROM STDIN (FORMAT csv, NULL '\\N');\n{text.getvalue()}\\.\n"
        f"COPY ({statement}) TO STDOUT (FORMAT csv, NULL '\\N', HEADER, FORCE_QUOTE *);\n"
    )
    options = [*PSQL.split(), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1"]
    done = subprocess.run(options, input=script.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    names, *rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    return dict(zip(names, ([_read_back(v) for v in column] for column in zip(*rows))))


def _read_back(text):
    try:
        return {"\\N": None, "t": True, "f": False}[text]
    except KeyError:
        return float(text) if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?", text) else text


DATABASES = {"sqlite": in_sqlite, "duckdb": in_duckdb} | ({"postgresql": in_postgresql} if PSQL else {})
ENGINES = [(name, dialect) for name in DATABASES for dialect in ("portable", name)]
each_engine = pytest.mark.parametrize(("database", "dialect"), ENGINES)
each_database = pytest.mark.parametrize(("database", "dialect"), ENGINES[1::2])


def scored(model, frame, database, dialect, table="t", **options):
    return DATABASES[database](frame, to_sql(model, table, dialect=dialect, **options), table)


def stacked(result, prefix):
    """Return the columns whose names begin so, of shape (n, columns)."""
    return np.array([result[name] for name in result if name.startswith(prefix)], dtype=float).T


# The data and the models.


@cache
def numbers(n=120, p=4):
    """Return a frame of numbers, not to be changed."""
    X = np.random.default_rng(0).normal(1, 2, (n, p))
    return pd.DataFrame(X, columns=[f"column {k}" for k in range(p)])


def target(frame):
    X = frame.to_numpy()
    return np.abs(X[:, 0]) - X[:, 1] + np.maximum(X[:, 2], 0)


@cache
def regressor(activation="softplus", n_targets=1, knots=0):
    y = target(numbers())
    y = y if n_targets == 1 else np.column_stack([y * k + k for k in range(1, n_targets + 1)])
    return GBMAPRegressor(4, activation=activation, knots=knots, random_state=0).fit(numbers(), y)


@cache
def classifier(n_classes=3, loss="log_loss", names=("low", "middle", "it's high", "top")):
    y = np.array(names)[pd.qcut(target(numbers()), n_classes, labels=False)]
    model = GBMAPClassifier(3, loss=loss, l2_regularization=1e-3, knots=0, random_state=0)
    return model.fit(numbers(), y)


def extremes(scale=1e12):
    """Return rows with numbers of every size and sign, of which most saturate every learner."""
    rng = np.random.default_rng(1)
    sizes = np.geomspace(1e-300, scale, 40)
    X = rng.choice([-1.0, 1.0], (60, 4)) * rng.choice([0.0, 5e-324, *sizes], (60, 4))
    return pd.DataFrame(X, columns=numbers().columns)


def rounding(model, X):
    """Return how far rounding may move phi, of shape (n, M)."""
    ensemble, inputs = model.ensemble_, FittedModel.of(model).read(X)
    sizes = np.abs(inputs - ensemble.center) @ np.abs(ensemble.weights.T)
    return 1e-14 * (sizes + np.abs(ensemble.offsets) + np.abs(ensemble.intercepts))


def assert_embeds(result, model, X):
    gap = np.abs(stacked(result, "f") - model.transform(X))
    assert (gap <= 1e-9 * np.abs(model.transform(X)) + rounding(model, X)).all()


# Agreement with the estimators.


@each_engine
@pytest.mark.parametrize("activation", ["softplus", "identity"])
@pytest.mark.parametrize("knots", [0, 4])
@pytest.mark.parametrize("rows", [numbers, extremes])
def test_predictions_and_embedding_are_those_of_the_regressor(database, dialect, activation, knots, rows):
    model, frame = regressor(activation, knots=knots), rows()
    if database == "postgresql":
        frame = frame.where(frame.abs() > 1e-307, 0.0)  # an underflow is an error there
    result = scored(model, frame, database, dialect, outputs=["prediction", "embedding"])
    assert list(result) == ["prediction", "f1", "f2", "f3", "f4"]
    slack = rounding(model, frame).sum(axis=1)
    expected = model.predict(frame)
    assert (np.abs(result["prediction"] - expected) <= 1e-9 * np.abs(expected) + slack).all()
    assert_embeds(result, model, frame)


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
@given(
    rows=st.lists(st.tuples(*[st.floats(-1e100, 1e100, allow_subnormal=True)] * 4), min_size=1, max_size=8),
    model=st.sampled_from([regressor, classifier]),
)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_any_finite_row_is_embedded_as_in_python(database, rows, model):
    frame = pd.DataFrame(rows, columns=numbers().columns, dtype=float)
    assert_embeds(scored(model(), frame, database, "portable", outputs="embedding"), model(), frame)


@pytest.mark.sampled(2)
@each_engine
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("rows", [numbers, lambda: extremes(1e3)])
def test_labels_scores_and_probabilities_are_those_of_the_classifier(
    database, dialect, n_classes, loss, rows
):
    model, frame = classifier(n_classes, loss), rows()
    if database == "postgresql":
        frame = frame.where(frame.abs() > 1e-307, 0.0)
    result = scored(model, frame, database, dialect, outputs=["label", "score", "probability"])
    assert result["label"] == model.predict(frame).tolist()
    assert_allclose(stacked(result, "score").squeeze(), model.decision_function(frame), rtol=1e-9, atol=1e-9)
    assert_allclose(stacked(result, "probability"), model.predict_proba(frame), rtol=1e-9, atol=1e-300)
    several = [f"score_{name}" for name in model.classes_] if n_classes > 2 else ["score"]
    assert list(result) == ["label", *several, *(f"probability_{name}" for name in model.classes_)]


def test_the_smallest_probabilities_keep_their_digits():
    model, frame = classifier(2), extremes(1e3)
    smallest = model.predict_proba(frame).min(axis=1)
    assert ((smallest > 1e-300) & (smallest < 1e-100)).any(), "the rows are not extreme enough to tell"
    result = scored(model, frame, "duckdb", "duckdb", outputs="probability")
    assert_allclose(stacked(result, "probability").min(axis=1), smallest, rtol=1e-9, atol=1e-300)


@each_database
def test_several_targets_are_numbered(database, dialect):
    model = regressor(n_targets=3)
    result = scored(model, numbers(), database, dialect, outputs=["embedding", "prediction"])
    assert list(result)[-3:] == ["prediction_0", "prediction_1", "prediction_2"]
    assert len(result) == 3 * 4 + 3
    assert_allclose(stacked(result, "prediction"), model.predict(numbers()), rtol=1e-9, atol=1e-9)
    assert_embeds(result, model, numbers())


@each_database
@pytest.mark.parametrize(
    "labels", [[False, True], [3, -1], [0, 1, 2], [2.0, 7.0], ["", "'; DROP TABLE t; --"]], ids=str
)
def test_labels_come_back_as_they_were(database, dialect, labels):
    y = np.array(labels)[pd.qcut(target(numbers()), len(labels), labels=False)]
    model = GBMAPClassifier(2, random_state=0).fit(numbers(), y)
    assert scored(model, numbers(), database, dialect)["label"] == model.predict(numbers()).tolist()


@each_database
@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_equal_scores_the_first_class_wins(database, dialect, n_classes):
    model = clone(classifier(n_classes)).fit(numbers(), classifier(n_classes).predict(numbers()))
    ensemble = model.ensemble_[: 2 * model.ensemble_.n_outputs]
    zero = {name: np.zeros_like(getattr(ensemble, name)) for name in ("weights", "offsets", "intercepts")}
    model.ensemble_ = replace(ensemble, **zero, signs=np.repeat([1.0, -1.0], ensemble.n_outputs))
    assert_array_equal(model.decision_function(numbers()), 0)
    result = scored(model, numbers(), database, dialect, outputs=["label", "probability"])
    assert result["label"] == model.predict(numbers()).tolist() == [model.classes_[0]] * len(numbers())
    assert_allclose(stacked(result, "probability"), 1 / n_classes)


@each_database
@pytest.mark.parametrize("knots", [0, 3])
def test_columns_with_a_large_mean_keep_their_digits(database, dialect, knots):
    frame = numbers() * 1e-3 + 1e9
    model = GBMAPRegressor(3, knots=knots, random_state=0).fit(frame, target(numbers()))
    assert model.ensemble_.center.any() or knots
    result = scored(model, frame, database, dialect)
    assert_allclose(result["prediction"], model.predict(frame), rtol=1e-9, atol=1e-9)


@each_database
def test_models_without_a_slope_are_constants(database, dialect):
    model = GBMAPRegressor(2, random_state=0).fit(numbers(), np.full(len(numbers()), 7.5))
    assert not model.ensemble_.weights.any()
    result = scored(model, numbers(), database, dialect, outputs=["prediction", "embedding"])
    assert_allclose(result["prediction"], model.predict(numbers()))
    assert_embeds(result, model, numbers())


def test_numbers_keep_their_last_bit():
    model = GBMAPRegressor(1, activation="identity", random_state=0).fit(numbers(), target(numbers()))
    rng = np.random.default_rng(0)
    intercepts = rng.standard_normal(300) * 10.0 ** rng.integers(-4, 20, 300)
    many = model.ensemble_[np.zeros(300, dtype=int)]
    zero = {name: np.zeros_like(getattr(many, name)) for name in ("weights", "offsets")}
    model.ensemble_ = replace(many, **zero, intercepts=intercepts)
    result = scored(model, numbers().head(1), "duckdb", "duckdb", outputs="embedding")
    assert_array_equal(stacked(result, "f")[0], intercepts)


@pytest.mark.nightly
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_more_columns_and_learners_than_an_expression_may_be_deep(database):
    wide = numbers(20, 1100)
    model = GBMAPRegressor(1, tol=0.1, random_state=0).fit(wide, target(wide))
    rows = wide.head(2)
    assert_allclose(scored(model, rows, database, "portable")["prediction"], model.predict(rows), rtol=1e-9)
    model = GBMAPRegressor(1, activation="identity", random_state=0).fit(numbers(), target(numbers()))
    model.ensemble_ = model.ensemble_[np.zeros(1100, dtype=int)]
    rows = numbers().head(2)
    assert_allclose(scored(model, rows, database, "portable")["prediction"], model.predict(rows), rtol=1e-9)


def test_nothing_is_computed_twice():
    calls = {"exp": 0, "ln": 0}

    def counting(name, function):
        def counted(x):
            calls[name] += 1
            return function(x)

        return name, 1, counted

    model = classifier(3)
    outputs = ["label", "score", "probability", "embedding"]
    with connect_sqlite() as connection:
        connection.create_function(*counting("exp", math.exp))
        connection.create_function(*counting("ln", math.log))
        store(connection, numbers(), "t")
        for dialect in ("portable", "sqlite"):
            calls.update(exp=0, ln=0)
            fetch(connection, to_sql(model, "t", outputs=outputs, dialect=dialect))
            learners, classes = len(model.ensemble_), 3
            assert calls == {"ln": 120 * (learners + classes), "exp": 120 * (learners + 2 * classes)}


def test_no_exponential_leaves_the_normal_numbers():
    smallest = []
    with connect_sqlite() as connection:
        connection.create_function("exp", 1, lambda x: smallest.append(math.exp(x)) or smallest[-1])
        store(connection, extremes(), "t")
        result = fetch(connection, to_sql(classifier(3), "t", outputs=["probability", "embedding"]))
    assert np.finfo(float).tiny < min(smallest) < 1e-300  # PostgreSQL refuses others
    assert_embeds(result, classifier(3), extremes())


# What a table may hold.


@each_engine
@pytest.mark.parametrize("knots", [0, 3])
def test_a_number_that_is_missing_counts_as_in_python(database, dialect, knots):
    frame = numbers().assign(**{"column 3": 1.0})  # constant, so without weight
    y = np.where(target(numbers()) > 0, "yes", "no")
    model = GBMAPClassifier(2, knots=knots, random_state=0).fit(frame, y)
    rows = frame.head(3).copy()
    rows.iloc[0, 1] = None
    rows.iloc[1, 3] = None
    outputs = ["label", "score", "probability", "embedding"]
    result = scored(model, rows, database, dialect, outputs=outputs)
    assert result["label"] == model.predict(rows).tolist()
    assert_allclose(result["score"], model.decision_function(rows), rtol=1e-9)
    assert_allclose(stacked(result, "probability"), model.predict_proba(rows), rtol=1e-9)
    assert_allclose(stacked(result, "f"), model.transform(rows), rtol=1e-9)
    without = rows.drop(columns="column 3")
    assert scored(model, without, database, dialect)["label"] == model.predict(rows).tolist()


@each_engine
def test_the_label_and_probabilities_are_null_if_any_score_is(database, dialect):
    frame, y = mixed()
    model = make_pipeline(
        tables((hot(), ["city"]), (StandardScaler(), ["age"])),
        GBMAPClassifier(2, l2_regularization=0.01, random_state=0),
    ).fit(frame, pd.qcut(y, 3, labels=False))
    ensemble = model[-1].ensemble_
    weights = ensemble.weights.copy()
    weights[np.ix_(ensemble.outputs != 1, FittedModel.of(model).columns.source == 2)] = 0
    model[-1].ensemble_ = replace(ensemble, weights=weights)  # only the second class depends on the city
    rows = frame.head(2).assign(city=["Paris", "Oslo"])
    result = scored(model, rows, database, dialect, outputs=["label", "score", "probability"])
    given = {name for name, values in result.items() if values[0] is not None}
    assert given == {f"score_{model.classes_[0]}", f"score_{model.classes_[2]}"}
    assert None not in [values[1] for values in result.values()]


@pytest.mark.parametrize("dialect", ["portable", "duckdb"])
def test_nan_and_infinities_count_as_null(dialect):
    model = regressor()
    imputing = make_pipeline(SimpleImputer(), clone(model)).fit(numbers(), target(numbers()))
    with duckdb.connect() as connection:
        store(connection, numbers().head(4), "t")
        for i, value in enumerate(["nan", "inf", "-inf"]):
            connection.execute(f"""UPDATE t SET "column 1" = '{value}' WHERE rowid = {i}""")
        result = fetch(connection, to_sql(model, "t", dialect=dialect))["prediction"]
        filled = fetch(connection, to_sql(imputing, "t", dialect=dialect))["prediction"]
    rows = numbers().head(4).copy()
    rows.iloc[:3, 1] = None
    assert_allclose(result, model.predict(rows))
    assert_allclose(filled, imputing.predict(rows))


@pytest.mark.parametrize("steps", [StandardScaler(), OneHotEncoder()], ids=["scaled", "one-hot"])
def test_nan_is_the_category_or_the_gap_that_null_is(steps):
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0] * 5})
    model = make_pipeline(
        steps, SimpleImputer(add_indicator=True), GBMAPRegressor(1, l2_regularization=0.01, random_state=0)
    )
    model.fit(frame, frame["x"].fillna(9))
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest([1.0, 2.0, 'nan'::DOUBLE, NULL])::DOUBLE AS x")
        result = fetch(connection, to_sql(model, "t"))["prediction"]
    assert_allclose(result, model.predict(frame.iloc[[0, 1, 2, 2]]), rtol=1e-9)


@pytest.mark.parametrize("text", ["", "abc", "5"])
def test_in_sqlite_text_is_no_number(text):
    rows = numbers().head(2).astype(object)
    rows.iloc[0, 0] = text
    expected = regressor().predict(numbers().head(1).assign(**{"column 0": np.nan}))
    assert_allclose(scored(regressor(), rows, "sqlite", "sqlite")["prediction"][:1], expected)
    infinite = numbers().head(1).assign(**{"column 0": -math.inf})
    assert_allclose(scored(regressor(), infinite, "sqlite", "sqlite")["prediction"], expected)


@each_engine
def test_columns_may_be_of_any_numeric_type(database, dialect):
    frame = pd.DataFrame({"small": [1, 2, 3, 4] * 10, "flag": [True, False] * 20, "half": np.arange(40) / 2})
    if database == "postgresql":
        frame["flag"] = frame["flag"].astype(int)
    y = frame["small"] ** 2 + frame["flag"] - frame["half"]
    model = GBMAPRegressor(3, random_state=0).fit(frame, y)
    assert_allclose(scored(model, frame, database, dialect)["prediction"], model.predict(frame), rtol=1e-9)


@each_engine
def test_a_missing_column_is_an_error_and_not_a_constant(database, dialect):
    rows = numbers().drop(columns="column 1")
    with pytest.raises((sqlite3.OperationalError, duckdb.BinderException, AssertionError), match="column 1"):
        scored(regressor(), rows, database, dialect)


# Names.

HOSTILE = [
    'x"; DROP TABLE bystander; --',
    "x'; DROP TABLE bystander; --",
    "/* comment",
    "two\nlines -- and\r\ttabs",
    "\\",
    "Größe, 名前, 🙂",
    "select",
    "source",
    "{0} {name} %s ? :x $1",
    "x0",
    "k0",
    "f1",
    '"',
    "'",
    "a.b",
    "step_0",
    " ",
    "",
]


def hostile_for(database):
    # Only SQLite has empty names.
    return HOSTILE if database == "sqlite" else [name for name in HOSTILE if name]


@each_engine
def test_hostile_columns_stay_names(database, dialect):
    names = hostile_for(database)
    X = np.random.default_rng(0).normal(size=(60, len(names)))
    frame = pd.DataFrame(X, columns=names)
    model = GBMAPRegressor(2, random_state=0).fit(frame, X[:, 0] + np.abs(X[:, -1]))
    result = scored(model, frame, database, dialect, keep=names)
    assert list(result) == [*names, "prediction"]
    assert_allclose(result["prediction"], model.predict(frame), rtol=1e-9, atol=1e-9)
    for name in names:
        assert_allclose(result[name], frame[name])


@each_engine
@pytest.mark.parametrize("table", HOSTILE)
def test_hostile_tables_stay_names(database, dialect, table):
    if table in hostile_for(database):
        rows = numbers().head(3)
        result = scored(regressor(), rows, database, dialect, table)
        assert_allclose(result["prediction"], regressor().predict(rows), rtol=1e-9)


@each_engine
def test_hostile_classes_and_categories_stay_values(database, dialect):
    names = np.array([*HOSTILE, "plain"])
    frame = pd.DataFrame({"word": np.resize(names, 5 * len(names))})
    model = make_pipeline(
        OneHotEncoder(), GBMAPClassifier(1, activation="identity", l2_regularization=0.01, random_state=0)
    )
    model.fit(frame, frame["word"])
    rows = frame.drop_duplicates()
    assert_array_equal(model.predict(rows), rows["word"])
    result = scored(model, rows, database, dialect, outputs=["label", "probability"], keep="word")
    assert result["word"] == result["label"] == rows["word"].tolist()
    assert list(result)[2:] == [f"probability_{name}" for name in model.classes_]
    assert_allclose(stacked(result, "probability"), model.predict_proba(rows), rtol=1e-9)


@pytest.mark.parametrize("connect", [connect_sqlite, duckdb.connect])
def test_no_hostile_name_touches_another_table(connect):
    names = [name for name in HOSTILE if "bystander" in name]
    y = np.resize(names, 30)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=names)
    model = GBMAPClassifier(1, random_state=0).fit(frame, y)
    outputs = ["label", "probability"]
    with connect() as connection:
        connection.execute("CREATE TABLE bystander AS SELECT 1 AS one")
        for table in names:
            store(connection, frame, table)
            assert len(fetch(connection, to_sql(model, table, outputs=outputs))["label"]) == 30
        assert connection.execute("SELECT one FROM bystander").fetchall() == [(1,)]


@pytest.mark.parametrize("table", ["step_0", "STEP_1", "a_step_0", "source"])
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_a_table_called_like_a_step_is_read_all_the_same(database, table):
    result = scored(regressor(), numbers(), database, "portable", table)
    assert_allclose(result["prediction"], regressor().predict(numbers()), rtol=1e-9, atol=1e-9)


def test_a_schema_goes_before_the_table():
    with connect_sqlite() as connection:
        connection.execute("""ATTACH ':memory:' AS "it's" """)
        store(connection, numbers(), "t")
        connection.execute("""CREATE TABLE "it's".u AS SELECT * FROM t""")
        result = fetch(connection, to_sql(regressor(), ("it's", "u")))
    assert_allclose(result["prediction"], regressor().predict(numbers()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("connect", [connect_sqlite, duckdb.connect])
def test_the_statement_serves_as_a_view_and_as_a_subquery(connect):
    statement = to_sql(regressor(), "t", keep="id")
    with connect() as connection:
        store(connection, numbers().assign(id=range(120)), "t")
        connection.execute(f"CREATE VIEW scored AS {statement}")
        (of_view,) = connection.execute("SELECT prediction FROM scored WHERE id = 7").fetchone()
        (of_subquery,) = connection.execute(f"SELECT max(prediction) FROM ({statement}) AS q").fetchone()
    assert_allclose([of_view, of_subquery], [(p := regressor().predict(numbers()))[7], p.max()], rtol=1e-9)


def test_a_model_of_an_array_reads_the_columns_it_is_told():
    model = GBMAPRegressor(2, random_state=0).fit(numbers().to_numpy(), target(numbers()))
    turned = numbers()[numbers().columns[::-1]].assign(more=0.0)
    result = scored(model, turned, "duckdb", "duckdb", columns=list(numbers().columns))
    assert_allclose(result["prediction"], model.predict(numbers().to_numpy()), rtol=1e-9, atol=1e-9)
    renamed = numbers().rename(columns={"column 0": "zero"})
    result = scored(regressor(), renamed, "duckdb", "duckdb", columns=list(renamed.columns))
    assert_allclose(result["prediction"], regressor().predict(numbers()), rtol=1e-9, atol=1e-9)


# Preprocessing.


@cache
def mixed():
    """Return a frame of mixed types with gaps, and a target, not to be changed."""
    rng, n = np.random.default_rng(0), 80
    city = rng.choice(["Oslo", "Rome", "Kyiv's", "Bonn"], n, p=[0.5, 0.28, 0.15, 0.07])
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.gamma(2.0, 2e4, n)),
            "city": city.astype(object),
            "sex": rng.choice(np.array(["f", "m", np.nan], dtype=object), n, p=[0.4, 0.4, 0.2]),
            "year": rng.integers(2000, 2004, n),
            "retired": rng.random(n) < 0.3,
            "void": np.full(n, np.nan),
        }
    )
    y = np.abs(frame["age"] - 45) / 10 + 2.0 * (city == "Oslo") + (frame["sex"] == "f") + frame["retired"]
    return frame, (y + (frame["year"] - 2001) ** 2).to_numpy()


def filled(*steps, **options):
    return make_pipeline(SimpleImputer(**options), *steps)


def hot(**options):
    return OneHotEncoder(**{"sparse_output": False, **options})


NUMBERS, TEXT = ["age", "income"], ["city", "sex"]
PIPELINES = {
    "scaled and one-hot": tables(
        (filled(StandardScaler(), add_indicator=True), NUMBERS),
        (OneHotEncoder(drop="first", handle_unknown="ignore"), TEXT),
    ),
    "without mean": tables((filled(StandardScaler(with_mean=False)), NUMBERS)),
    "without scale": tables((filled(StandardScaler(with_std=False)), NUMBERS)),
    "min-max": tables((filled(MinMaxScaler((-3, 1))), NUMBERS)),
    "clipped": tables(
        (filled(StandardScaler(), MinMaxScaler(clip=True), MaxAbsScaler(clip=True)), NUMBERS),
    ),
    "robust": tables((filled(RobustScaler(unit_variance=True)), [*NUMBERS, "year"])),
    "robust without centre": tables((filled(RobustScaler(with_centering=False)), NUMBERS)),
    "max-abs": tables((filled(MaxAbsScaler()), NUMBERS)),
    "scaled, then filled": tables((make_pipeline(StandardScaler(), SimpleImputer()), NUMBERS)),
    "median": tables((filled(strategy="median"), NUMBERS)),
    "a number for a gap": tables((filled(missing_values=2001, strategy="constant", fill_value=1), ["year"])),
    "a word for a gap": tables(
        (
            filled(hot(), missing_values="Oslo", strategy="constant", fill_value="?", add_indicator=True),
            ["city"],
        )
    ),
    "void dropped": tables((filled(MinMaxScaler(), add_indicator=True), [*NUMBERS, "void"])),
    "void kept": tables((filled(keep_empty_features=True, add_indicator=True), ["void", *NUMBERS])),
    "most frequent": tables((filled(hot(), strategy="most_frequent"), TEXT), ("passthrough", ["age"])),
    "marked text": tables((filled(hot(), strategy="most_frequent", add_indicator=True), TEXT)),
    "marks beside values": tables(
        (make_union(filled(StandardScaler()), MissingIndicator()), NUMBERS), (MissingIndicator(), ["sex"])
    ),
    "encoded marks": tables((make_pipeline(MissingIndicator(), hot()), ["income"]), (hot(), ["sex"])),
    "rare": tables((OneHotEncoder(min_frequency=20), TEXT), (StandardScaler(), ["age"])),
    "rare, one dropped": tables((hot(min_frequency=20, drop="first"), TEXT), ("passthrough", ["year"])),
    "all rare, and dropped": tables((hot(min_frequency=0.99, drop="first"), TEXT), ("passthrough", ["year"])),
    "of two, one dropped": tables((filled(hot(drop="if_binary"), strategy="most_frequent"), TEXT)),
    "numbers and truths one-hot": tables((OneHotEncoder(), ["year", "retired"]), ("passthrough", ["age"])),
    "one-hot, then scaled": tables((make_pipeline(hot(), StandardScaler()), TEXT), ("passthrough", ["age"])),
    "rest passes": tables(
        (OneHotEncoder(), TEXT), ("drop", ["income", "void", "retired"]), remainder="passthrough"
    ),
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


@cache
def behind(kind):
    return make_pipeline(
        clone(PIPELINES[kind]), GBMAPRegressor(3, l2_regularization=0.01, random_state=0)
    ).fit(*mixed())


@pytest.mark.sampled(2)
@each_database
@pytest.mark.parametrize("kind", PIPELINES)
def test_a_pipeline_gives_its_predictions_from_the_raw_columns(database, dialect, kind):
    frame, model = mixed()[0], behind(kind)
    result = scored(model, frame, database, dialect, outputs=["prediction", "embedding"])
    assert_allclose(result["prediction"], model.predict(frame), rtol=1e-9, atol=1e-9)
    assert_allclose(stacked(result, "f"), model.transform(frame), rtol=1e-9, atol=1e-9)


@each_database
def test_values_beyond_those_of_training_are_clipped(database, dialect):
    rows = mixed()[0].head(4).assign(age=[-1e6, 0.0, 1e6, 50.0])
    expected = behind("clipped").predict(rows)
    assert_allclose(scored(behind("clipped"), rows, database, dialect)["prediction"], expected, rtol=1e-9)


@each_database
def test_a_gap_is_filled_by_the_pipeline_or_the_model_and_null_where_it_is_refused(database, dialect):
    rows = mixed()[0].head(3).copy()
    rows.loc[0, "age"] = None
    rows.loc[1, "city"] = np.nan
    result = scored(behind("most frequent"), rows, database, dialect)["prediction"]
    assert_allclose(result, behind("most frequent").predict(rows), rtol=1e-9)
    numbered = mixed()[0].head(2).astype({"year": float})
    numbered.loc[0, "year"] = None
    with pytest.raises(ValueError, match="contains NaN"):
        behind("a number for a gap").predict(numbered)
    assert scored(behind("a number for a gap"), numbered, database, dialect)["prediction"][0] is None


@each_database
@pytest.mark.parametrize("unknown", ["Paris", None])
def test_a_category_that_the_encoder_refuses_gives_null(database, dialect, unknown):
    frame, y = mixed()
    model = make_pipeline(
        tables((hot(), ["city"]), (StandardScaler(), ["age"])),
        GBMAPRegressor(2, l2_regularization=0.01, random_state=0),
    )
    model.fit(frame, y)
    rows = frame.head(3).assign(city=["Oslo", unknown, "Bonn"])
    with pytest.raises(ValueError, match="unknown categories"):
        model.predict(rows)
    result = scored(model, rows, database, dialect, outputs=["prediction", "embedding"])
    assert [values[1] for values in result.values()] == [None] * 3
    assert_allclose(
        np.array(result["prediction"], dtype=float)[[0, 2]], model.predict(rows.iloc[[0, 2]]), rtol=1e-9
    )


@each_database
@pytest.mark.parametrize(
    "options", [{}, {"drop": "first"}, {"min_frequency": 20}, {"min_frequency": 0.99}], ids=str
)
@pytest.mark.parametrize("handle", ["ignore", "infrequent_if_exist"])
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_a_category_that_the_encoder_passes_over_counts_as_in_python(database, dialect, options, handle):
    frame, y = mixed()
    model = make_pipeline(
        tables((hot(handle_unknown=handle, **options), ["city"]), ("passthrough", ["age"])),
        GBMAPRegressor(2, activation="identity", l2_regularization=0.01, random_state=0),
    ).fit(frame, y)
    rows = frame.head(4).assign(city=["Oslo", "Paris", None, "Bonn"])
    assert_allclose(scored(model, rows, database, dialect)["prediction"], model.predict(rows), rtol=1e-9)


def test_searches_and_pipelines_around_the_model_are_looked_through():
    search = GridSearchCV(behind("min-max"), {"gbmapregressor__beta": [2.0]}, cv=2).fit(*mixed())
    result = scored(make_pipeline(search.best_estimator_), mixed()[0], "duckdb", "duckdb")
    assert_allclose(result["prediction"], search.predict(mixed()[0]), rtol=1e-9)
    assert to_sql(search, "t") == to_sql(search.best_estimator_, "t")


def test_a_classifier_behind_preprocessing_gives_labels_and_probabilities():
    frame, y = mixed()
    classes = np.array(["a", "b", "c"])[pd.qcut(y, 3, labels=False)]
    model = make_pipeline(
        clone(PIPELINES["scaled and one-hot"]), GBMAPClassifier(2, l2_regularization=0.01, random_state=0)
    )
    model.fit(frame, classes)
    result = scored(model, frame, "duckdb", "duckdb", outputs=["label", "probability"])
    assert result["label"] == model.predict(frame).tolist()
    assert_allclose(stacked(result, "probability"), model.predict_proba(frame), rtol=1e-9)


class Doubling(StandardScaler):
    """A scaler that does something else."""

    def transform(self, X):
        return 2 * super().transform(X)


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        (PCA(2), "the step PCA"),
        (Doubling(), "the step Doubling"),
        (FunctionTransformer(np.abs), "a FunctionTransformer with func"),
        (make_pipeline(StandardScaler(), PCA(2)), "the step PCA"),
        (FeatureUnion([("a", StandardScaler())], transformer_weights={"a": 2.0}), "transformer_weights"),
        (
            ColumnTransformer([("a", MinMaxScaler(), [0])], transformer_weights={"a": 2.0}),
            "transformer_weights",
        ),
    ],
)
def test_steps_that_have_no_sql_are_refused_with_a_way_out(steps, what):
    model = make_pipeline(steps, GBMAPRegressor(1, l2_regularization=0.01, random_state=0)).fit(
        numbers(), target(numbers())
    )
    with pytest.raises(
        ValueError, match=rf"{what} cannot be written in SQL; pass pipeline\[-1\] as the model"
    ):
        to_sql(model, "t")
    names = [f"input {k}" for k in range(model[-1].n_features_in_)]
    inputs = pd.DataFrame(np.asarray(model[:-1].transform(numbers())), columns=names)
    result = scored(model[-1], inputs, "duckdb", "duckdb", columns=names)  # the way out
    assert_allclose(result["prediction"], model.predict(numbers()), rtol=1e-9, atol=1e-9)


def test_a_step_that_reads_text_is_refused_too():
    texts = ["good wine", "bad wine", "good beer", "bad beer"]
    model = make_pipeline(CountVectorizer(), GBMAPRegressor(1, l2_regularization=0.01, random_state=0)).fit(
        texts, [1.0, 0.0, 2.0, 1.0]
    )
    with pytest.raises(ValueError, match="the step CountVectorizer cannot be written in SQL"):
        to_sql(model, "t", columns=["text"])


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([None, np.nan, "a"], ValueError, "both None and NaN among its categories"),
        (pd.date_range("2020-01-01", periods=3), TypeError, "must be text, numbers or truth values"),
    ],
)
def test_categories_that_sql_cannot_tell_are_refused(values, error, message):
    frame = pd.DataFrame({"x": pd.Series(list(values) * 10, dtype=object if values[0] is None else None)})
    model = make_pipeline(OneHotEncoder(), GBMAPRegressor(1, l2_regularization=0.01, random_state=0)).fit(
        frame, np.arange(30.0) % 3
    )
    with pytest.raises(error, match=message):
        to_sql(model, "t")


# Initial models.


def started(kind, init, **options):
    base = regressor() if kind is GBMAPRegressor else classifier(options.pop("n_classes"))
    y = target(numbers()) if kind is GBMAPRegressor else base.predict(numbers())
    return kind(2, init=init, random_state=1, **options).fit(numbers(), y)


@each_database
@pytest.mark.parametrize(
    "make_init",
    [
        lambda: GBMAPRegressor(2, activation="identity", l2_regularization=0.01, random_state=0),
        lambda: GBMAPRegressor(1, init=GBMAPRegressor(1, random_state=0), random_state=0),
        lambda: FrozenEstimator(regressor()),
        lambda: make_pipeline(StandardScaler(), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)),
    ],
    ids=["linear", "twice", "frozen", "pipeline"],
)
def test_a_gbmap_that_boosting_started_from_is_part_of_the_statement(database, dialect, make_init):
    model = started(GBMAPRegressor, make_init())
    result = scored(model, numbers(), database, dialect, outputs=["prediction", "embedding"])
    assert_allclose(result["prediction"], model.predict(numbers()), rtol=1e-9, atol=1e-9)
    assert_embeds(result, model, numbers())
    assert np.abs(model.predict(numbers()) - model.transform(numbers()).sum(axis=1)).max() > 0.1


@each_database
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_a_classifier_that_boosting_started_from_enters_by_its_log_odds(database, dialect, n_classes, loss):
    init = GBMAPClassifier(2, loss=loss, random_state=0)
    model = started(GBMAPClassifier, init, n_classes=n_classes)
    rows = pd.concat([numbers(), 30 * numbers()])  # far off, the probabilities of init are clipped
    result = scored(model, rows, database, dialect, outputs=["label", "score"])
    assert_allclose(stacked(result, "score").squeeze(), model.decision_function(rows), rtol=1e-9, atol=1e-8)
    assert result["label"] == model.predict(rows).tolist()


@pytest.mark.parametrize(
    "init", [LinearRegression(), lambda X: np.zeros(len(X))], ids=["estimator", "callable"]
)
def test_another_initial_model_is_refused_with_a_way_out(init):
    model = started(GBMAPRegressor, init)
    with pytest.raises(ValueError, match=r'GBMAP as its init, or none.* got .*outputs="embedding"'):
        to_sql(model, "t")
    assert_embeds(scored(model, numbers(), "duckdb", "duckdb", outputs="embedding"), model, numbers())


# Faults.


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (
            regressor,
            {"outputs": "label"},
            ValueError,
            "one or more of prediction, embedding, spread, std for a GBMAPRegressor",
        ),
        (classifier, {"outputs": ["score", "odds"]}, ValueError, r"label, score, .* got \['score', 'odds'\]"),
        (classifier, {"outputs": ["label", "label"]}, ValueError, "each once"),
        (classifier, {"outputs": ()}, ValueError, "one or more of"),
        (classifier, {"outputs": 3}, TypeError, "outputs must be a name or a sequence of names, got 3"),
        (regressor, {"keep": None}, TypeError, "keep must be a name or a sequence of names, got None"),
        (regressor, {"keep": "Prediction"}, ValueError, "'Prediction' and 'prediction'; rename"),
        (regressor, {"keep": ["id", "id"]}, ValueError, "keep and outputs must give names"),
        (regressor, {"columns": ["a", "b"]}, ValueError, "as many names as in the fit, 4, got 2"),
        (
            regressor,
            {"columns": ["a", "b", "c", "A"]},
            ValueError,
            "differ by more than case, got 'a' and 'A'",
        ),
        (regressor, {"columns": [0, 1, 2, 3]}, TypeError, "columns must be a name or a sequence of names"),
        (regressor, {"columns": ["a", "b", "c", "d\0"]}, ValueError, "NUL"),
        (regressor, {"dialect": "klingon"}, ValueError, "dialect must be one of portable, .* got 'klingon'"),
        (regressor, {"table": ()}, ValueError, r"table must be a name, or schema and name, got \(\)"),
        (regressor, {"table": 7}, TypeError, "table must be a name or a sequence of names, got 7"),
        (GBMAPRegressor, {}, NotFittedError, "not fitted"),
        (LinearRegression, {}, TypeError, "model must be a fitted GBMAP"),
        (
            lambda: classifier(2, "hinge"),
            {"outputs": "probability"},
            ValueError,
            "loss='hinge', which gives none",
        ),
    ],
)
def test_a_wrong_argument_is_named_with_the_rule_and_the_way_out(model, options, error, message):
    with pytest.raises(error, match=message):
        to_sql(model(), **{"table": "t", **options})


def test_a_model_of_an_array_asks_for_the_names_of_columns():
    model = GBMAPRegressor(1, random_state=0).fit(numbers().to_numpy(), target(numbers()))
    with pytest.raises(ValueError, match="columns must name the 4 columns of the table"):
        to_sql(model, "t")


def test_classes_that_give_the_same_column_are_refused_where_they_do():
    model = classifier(2, names=("a", "A"))
    with pytest.raises(ValueError, match="'probability_A' and 'probability_a'"):
        to_sql(model, "t", outputs="probability")
    assert scored(model, numbers(), "duckdb", "duckdb")["label"] == model.predict(numbers()).tolist()


@pytest.mark.parametrize("field", ["weights", "offsets", "intercepts"])
def test_infinite_parameters_are_refused(field):
    model = clone(regressor()).fit(numbers(), target(numbers()))
    changed = np.full_like(getattr(model.ensemble_, field), math.inf)
    model.ensemble_ = replace(model.ensemble_, **{field: changed})
    with pytest.raises(ValueError, match="finite numbers only"):
        to_sql(model, "t")


# --- the spread -----------------------------------------------------------------------------------


def spread_of(model, X):
    inputs = FittedModel.of(model).read(X)
    return model.predictor_.known_posterior.deviation(model.ensemble_, inputs)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_spread_of_a_prediction_is_that_of_python(run, n_targets):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(3.0, 2.0, (60, 3)), columns=["a", "b", "c"])
    y = np.column_stack([np.abs(frame["a"] - 3) + rng.normal(size=60), frame["b"]])[:, :n_targets]
    model = GBMAPRegressor(4, random_state=0).fit(frame, y if n_targets > 1 else y[:, 0])
    new = 3 * frame
    found = run(new, to_sql(model, "t", outputs=["prediction", "std", "spread"]))
    mean, std = (each.reshape(60, -1) for each in model.predict(new, return_std=True))
    for name, expected in (("prediction", mean), ("std", std), ("spread", spread_of(model, new))):
        names = [name] if n_targets == 1 else [f"{name}_{k}" for k in range(n_targets)]
        assert_allclose(np.column_stack([found[each] for each in names]), expected, rtol=1e-6)


def test_the_spread_of_classes_through_a_pipeline_with_a_missing_value():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), GBMAPClassifier(4, random_state=0)).fit(frame, frame["a"] > 0)
    found = in_duckdb(frame, to_sql(model, "t", outputs="spread"))
    assert_allclose(found["spread"], spread_of(model[-1], model[0].transform(frame))[:, 0], rtol=1e-6)
    frame.loc[0, "c"] = np.nan
    found = in_sqlite(frame, to_sql(model, "t", outputs="spread"))
    assert_allclose(found["spread"], spread_of(model[-1], model[0].transform(frame))[:, 0], rtol=1e-6)


def test_a_spread_of_too_many_terms_is_refused():
    X = np.random.default_rng(0).normal(size=(90, 60))
    model = GBMAPRegressor(20, random_state=0).fit(X, X[:, 0])
    names = [f"x{k}" for k in range(60)]
    with pytest.raises(ValueError, match="37820 terms, more than 30000; use"):
        to_sql(model, "t", outputs="std", columns=names)


# --- bends, categories and gaps of the estimators' own --------------------------------------------


def wares(n=240, seed=0):
    """Return a frame of text, categories of numbers and of truths, truths, and numbers, with gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "weight": rng.gamma(2.0, 3.0, n),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(5, 2, n)),
            "colour": rng.choice(np.array(["red", "blue", "it's", "", None], dtype=object), n),
            "shop": pd.Categorical(rng.choice(["north", "south"], n)),
            "grade": pd.Categorical(rng.integers(1, 4, n)),
            "sold": pd.Categorical(rng.random(n) < 0.5),
            "new": rng.random(n) < 0.5,
        }
    )
    frame.loc[0, "colour"] = "of one row"  # too few to be an input
    y = np.abs(frame["weight"] - 5) + 2.0 * (frame["colour"] == "red") + (frame["shop"] == "south")
    y += frame["age"].isna() + (frame["grade"] == 2) * 1.5 + (frame["sold"] == True) - frame["new"]  # noqa: E712
    return frame, y.to_numpy(dtype=float)


def odd_wares():
    """Return rows beyond fences, and with categories and gaps that the fit has not seen."""
    frame = wares(12, seed=1)[0].astype({"shop": object, "grade": object, "sold": object, "new": object})
    frame["grade"] = frame["grade"].astype(float)
    frame.loc[0, ["weight", "age"]] = 1e9
    frame.loc[1, ["weight", "age"]] = -1e9
    frame.loc[2, ["weight", "age"]] = np.nan
    frame.loc[3, ["colour", "shop"]] = "unknown"
    frame.loc[4, ["colour", "shop"]] = None
    frame.loc[5, "grade"], frame.loc[6, "grade"] = 7.0, np.nan
    frame.loc[7, ["sold", "new"]] = None
    frame.loc[8, "colour"], frame.loc[9, "colour"] = "of one row", ""
    return frame


def stored_wares():
    """Return the same with columns of one type each, as databases have them."""
    return odd_wares().astype({"sold": "boolean", "new": "boolean"})


@cache
def model_of_wares(knots, kind=GBMAPRegressor):
    frame, y = wares()
    return kind(3, knots=knots, random_state=0).fit(frame, y if kind is GBMAPRegressor else y > np.median(y))


@each_engine
@pytest.mark.parametrize("knots", [0, 4])
def test_text_and_gaps_count_as_in_python(database, dialect, knots):
    if database == "postgresql":
        pytest.skip("it does not take truths for numbers")
    model, rows = model_of_wares(knots), odd_wares()
    outputs = ["prediction", "embedding", "std", "spread"]
    result = scored(model, stored_wares(), database, dialect, outputs=outputs)
    mean, std = model.predict(rows, return_std=True)
    assert_allclose(result["prediction"], mean, rtol=1e-9, atol=1e-9)
    assert_allclose(stacked(result, "f"), model.transform(rows), rtol=1e-9, atol=1e-9)
    assert_allclose(result["std"], std, rtol=1e-6)
    assert_allclose(result["spread"], spread_of(model, rows)[:, 0], rtol=1e-6)


@each_database
def test_labels_of_text_and_gaps_are_those_of_python(database, dialect):
    model, rows = model_of_wares(4, GBMAPClassifier), odd_wares()
    result = scored(model, stored_wares(), database, dialect, outputs=["label", "probability"])
    assert result["label"] == model.predict(rows).tolist()
    assert_allclose(stacked(result, "probability"), model.predict_proba(rows), rtol=1e-9)


@each_engine
def test_a_column_that_must_rise_has_pieces(database, dialect):
    frame, y = numbers(), target(numbers())
    model = GBMAPRegressor(3, knots=4, monotonic_cst=[0, -1, 1, 0], random_state=0).fit(frame, y)
    for rows in (frame, extremes(1e3)):
        result = scored(model, rows, database, dialect, outputs="embedding")
        assert_embeds(result, model, rows)


@each_database
def test_numbers_that_are_named_as_categories_are_compared(database, dialect):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 200) * 10.0, rng.normal(size=200)])
    X[::9, 0] = np.nan
    model = GBMAPRegressor(2, categorical_features=[0], knots=3, random_state=0)
    model.fit(X, np.sin(X[:, 1]) + (X[:, 0] == 20))
    X[:3, 0] = [5.0, -1.0, 1e9]
    frame = pd.DataFrame(X, columns=["kind", "size"])
    result = scored(model, frame, database, dialect, columns=["kind", "size"])
    assert_allclose(result["prediction"], model.predict(X), rtol=1e-9)


@each_database
def test_an_initial_model_makes_inputs_of_its_own(database, dialect):
    frame, y = wares()
    init = GBMAPRegressor(2, knots=2, categorical_features=["colour", "shop"], random_state=1)
    frame = frame[["weight", "age", "colour", "shop"]]
    model = GBMAPRegressor(2, init=init, knots=4, random_state=0).fit(frame, y)
    rows = odd_wares()[list(frame)]
    assert_allclose(scored(model, rows, database, dialect)["prediction"], model.predict(rows), rtol=1e-9)


@each_database
def test_bends_behind_a_scaler_are_those_of_what_it_gives(database, dialect):
    frame, y = wares()
    frame = frame[["weight", "age"]]
    model = make_pipeline(StandardScaler(), GBMAPRegressor(3, knots=4, random_state=0)).fit(frame, y)
    rows = odd_wares()[["weight", "age"]]
    assert_allclose(scored(model, rows, database, dialect)["prediction"], model.predict(rows), rtol=1e-9)


def test_a_column_is_read_once_for_all_its_bends():
    statement = to_sql(regressor(knots=4), "t", outputs="embedding")
    assert all(
        statement.count(f"CAST(source.{quoted(name)} AS DOUBLE PRECISION) END") == 1 for name in numbers()
    )


def test_categories_that_have_no_literal_are_refused():
    frame = pd.DataFrame({"day": pd.Categorical(pd.date_range("2020-01-01", periods=3).repeat(20))})
    model = GBMAPRegressor(1, random_state=0).fit(frame, np.repeat([1.0, 2.0, 4.0], 20))
    with pytest.raises(TypeError, match="text, numbers or truth values in SQL"):
        to_sql(model, "t")
