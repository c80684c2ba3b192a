"""One fit from a raw table to predictions, explanations and an alarm, and back from a file."""

import io
import sys
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

import gbmap
from gbmap._fitted.model import FittedModel
from gbmap.inspection import (
    attributions,
    coefficient_bounds,
    column_curve,
    explain,
    learner_cards,
    model_difference,
    nearest_counterfactual,
    prediction_interval_missing,
)
from gbmap.plots import EmbeddingDisplay, ExplanationDisplay
from gbmap.report import make_report
from gbmap.sql import to_sql
from gbmap.tables import TableError, TableModel, open_table
from gbmap.tables._holdout import split

CITY = 'ci"ty,\n<b>{0}'  # a name that has to be quoted, escaped and left as it is


def make_table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"u{k}" for k in range(n)],
            "age": rng.integers(18, 80, n).astype(float),
            CITY: rng.choice(["Oslo", "Turku", "Århus", "=1+1"], n),
            "when": (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 5000, n), unit="h")),
            "ok": rng.random(n) > 0.5,
        }
    )
    frame["y"] = frame.age / 20 + 2.0 * (frame[CITY] == "Oslo") + frame.ok + (frame.age > 50) * frame.ok
    frame["y"] += 0.1 * rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, CITY] = None
    frame["level"] = np.where(frame.y > 3.5, "high", "low")
    return frame


TABLE = make_table()
CHOSEN = {"beta": 5.0, "l2_regularization": 1e-3}
NOISE = 0.01 * np.random.default_rng(0).normal(size=len(TABLE))


@pytest.fixture(scope="module")
def regression():
    return TableModel("y", n_components=4, **CHOSEN).fit(TABLE, drop=["level"])


@pytest.fixture(scope="module")
def classification():
    return TableModel("level", n_components=4, **CHOSEN).fit(TABLE, drop=["y"])


def csv_of(frame):
    return open_table(io.BytesIO(frame.to_csv(index=False).encode()))


def test_the_spread_of_numbers_is_told_and_that_of_classes_refused(regression, classification):
    rows = TABLE.head(9)
    predicted, std = regression.predict(rows, return_std=True)
    expected = regression.model_.predict(regression.features(rows), return_std=True)
    np.testing.assert_array_equal([predicted, std], expected)
    with pytest.raises(ValueError, match=r"'level' holds classes; predict_proba tells how sure each is\.$"):
        classification.predict(rows, return_std=True)


@pytest.mark.parametrize("n_of_one_class", [1, 30])  # of which some are held out
def test_few_rows_a_class_are_doubted_once(n_of_one_class):
    data = pd.DataFrame({"x": np.random.default_rng(0).normal(size=120)})
    data["y"] = [f"c{max(0, k - n_of_one_class) // 1.25}" for k in range(120)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = TableModel("y", n_components=2).fit(data)
        model.score(data)
    doubts = [each for each in told if "unique classes" in str(each.message)]
    assert len(doubts) == 1


# --- fits -----------------------------------------------------------------------------------------


def test_a_fit_predicts_better_than_a_constant_and_says_how_well(regression):
    scores = regression.scores_
    assert list(scores) == ["gbmap", "linear", "constant"]
    assert scores["gbmap"]["r2"] > 0.85 > 0.02 > scores["constant"]["r2"]
    assert (regression.n_fitted_, regression.n_held_out_) == (480, 120)


def straight_inputs(model, X):
    fitted = FittedModel.of(model.model_)
    return fitted.read(X)[:, fitted.columns.kind != "bend"]


def test_the_scores_are_those_of_the_held_out_rows(regression, classification):
    X, y, X_test, y_test = regression.split(TABLE)
    inputs, test = (straight_inputs(regression, rows) for rows in (X, X_test))
    assert regression.scores_["gbmap"]["r2"] == r2_score(y_test, regression.model_.predict(X_test))
    scale = StandardScaler().fit(inputs)
    linear = RidgeCV(np.logspace(-2, 5, 15)).fit(scale.transform(inputs), y).predict(scale.transform(test))
    assert regression.scores_["linear"]["r2"] == pytest.approx(r2_score(y_test, linear), abs=1e-9)
    assert regression.scores_["constant"]["rmse"] == pytest.approx(np.sqrt(np.mean((y_test - y.mean()) ** 2)))

    X, y, X_test, y_test = classification.split(TABLE)
    p = classification.model_.predict_proba(X_test)
    found = classification.scores_["gbmap"]
    assert found["log_loss"] == pytest.approx(log_loss(y_test, p))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y_test == "low", p[:, 1]))
    scale = StandardScaler().fit(inputs := straight_inputs(classification, X))
    linear = LogisticRegression(max_iter=500).fit(scale.transform(inputs), y)
    test = scale.transform(straight_inputs(classification, X_test))
    assert classification.scores_["linear"]["accuracy"] == linear.score(test, y_test)


@pytest.mark.parametrize(
    ("y", "where"), [(["a", "b", "c", "d", "e", "f"] * 2, " in every class"), (range(12), "")]
)
def test_a_fit_that_can_hold_no_row_out_says_so(y, where):
    rows, settings = pd.DataFrame({"x": NOISE[:12], "y": y}), {"test_size": 0.03, **CHOSEN}
    with pytest.warns(UserWarning, match=f"no scores: too few rows{where} of the target 'y'"):
        assert TableModel("y", **settings).fit(rows).scores_ is None


def test_the_classes_are_in_the_order_of_their_probabilities(regression, classification):
    p = classification.predict_proba(TABLE)
    assert (classification.classes_[p.argmax(axis=1)] == classification.predict(TABLE)).all()
    assert not hasattr(regression, "classes_")
    assert not hasattr(TableModel("level"), "classes_")


def test_held_out_rows_are_no_fitted_rows_and_of_every_class_the_same_share():
    y = np.repeat(["a", "b", "rare"], [500, 100, 1])
    train, test = split(y, 0.2, classes=True, seed=0)
    assert sorted([*train, *test]) == list(range(601))
    assert [int((y[test] == c).sum()) for c in ("a", "b", "rare")] == [100, 20, 0]
    assert not np.array_equal(test, np.sort(split(y, 0.2, classes=True, seed=1)[1]))
    train, _ = split(y, 0.95, classes=True, seed=0)
    assert set(y[train]) == {"a", "b", "rare"}
    train, test = split(np.zeros(10), 0.0, classes=False, seed=0)
    assert (len(train), len(test)) == (10, 0)


def test_the_same_data_give_the_same_bits_from_any_source(regression, tmp_path):
    TABLE.to_parquet(tmp_path / "a.parquet")
    for data in (csv_of(TABLE), open_table(tmp_path / "a.parquet"), pl.from_pandas(TABLE)):
        again = clone(regression).fit(data, drop=["level"])
        assert again.schema_ == regression.schema_
        assert again.scores_ == regression.scores_
        np.testing.assert_array_equal(again.predict(TABLE), regression.predict(TABLE))
        assert again.detector_.threshold_ == regression.detector_.threshold_


def test_another_seed_gives_another_fit(regression):
    other = clone(regression).set_params(random_state=1).fit(TABLE, drop=["level"])
    assert other.scores_ != regression.scores_


def test_all_rows_can_be_fitted(regression):
    model = TableModel("y", n_components=2, test_size=0, **CHOSEN).fit(TABLE, drop=["level"])
    assert model.scores_ is None
    assert (model.n_fitted_, model.n_held_out_) == (600, 0)
    assert model.detector_.calibration_size_ == 600
    np.testing.assert_array_equal(
        model.detector_.estimator_.predict(model.features(TABLE)), model.predict(TABLE)
    )


def test_the_detector_keeps_so_many_rows_or_is_left_out():
    model = TableModel("y", n_components=2, reference_rows=50, **CHOSEN).fit(TABLE, drop=["level"])
    assert model.detector_._drifter.inputs.shape[0] == 50
    assert model.detector_.calibration_size_ == 50
    assert (
        TableModel("y", n_components=2, reference_rows=0, **CHOSEN).fit(TABLE, drop=["level"]).detector_
        is None
    )
    assert (
        TableModel("y", n_components=2, reference_rows=2, **CHOSEN).fit(TABLE, drop=["level"]).detector_
        is not None
    )


def test_the_detector_is_calibrated_with_the_held_out_rows(regression):
    held_out = regression.split(TABLE)[2]
    np.testing.assert_array_equal(
        np.sort(regression.detector_._calibration.indicators),
        np.sort(regression.detector_.indicator(held_out)),
    )


def test_the_detector_finds_drift(regression):
    new = make_table(seed=1)
    usual = regression.detector_.predict(regression.features(new))
    old = regression.detector_.predict(regression.features(new.assign(age=300.0)))
    assert (usual < 0).mean() < 0.15
    assert (old < 0).mean() > 0.95


def test_the_parameters_reach_the_estimator():
    model = TableModel("y", n_components=3, beta=2.0, l2_regularization=0.5, loss="huber", n_jobs=1)
    gbmap_step = model.fit(TABLE, drop=["level"]).model_
    for name in ("n_components", "beta", "l2_regularization", "loss", "n_jobs"):
        assert getattr(gbmap_step, name) == getattr(model, name)


def test_what_is_left_open_is_what_one_fit_finds():
    model = TableModel("y", reference_rows=0).fit(TABLE, drop=["level"])
    X, y, _, _ = model.split(TABLE)
    alone = gbmap.GBMAPRegressor("auto", refine=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.model_.predict(X), alone.predict(X))
    assert model.model_.l2_regularization_ == alone.l2_regularization_ > 0


def test_the_learners_may_be_refined():
    X, y = make_friedman1(400, noise=0.2, random_state=0)
    frame = pd.DataFrame(X).add_prefix("x").assign(y=y)
    plain, refined = (
        TableModel("y", n_components=4, refine=refine, reference_rows=0).fit(frame)
        for refine in (False, True)
    )
    assert refined.model_.n_refinements_[0] > 0
    assert refined.scores_["gbmap"]["r2"] > plain.scores_["gbmap"]["r2"]


def wide_table(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(48, 200))
    return pd.DataFrame(X).add_prefix("x").assign(target=X[:, :5].sum(axis=1) + rng.normal(size=48))


def few_patients(seed):
    return load_diabetes(as_frame=True).frame.sample(40, random_state=seed)


@pytest.mark.parametrize("make", [wide_table, few_patients])
def test_small_tables_are_predicted_better_than_by_a_constant(make):
    fits = [TableModel("target", reference_rows=0).fit(make(seed)) for seed in range(3)]
    own, constant = (
        np.mean([fit.scores_[name]["rmse"] ** 2 for fit in fits]) for name in ("gbmap", "constant")
    )
    assert own < constant


def test_a_loss_of_the_other_task_is_named():
    with pytest.raises(
        ValueError, match=r"loss must be one of squared_error, huber, quantile for regression"
    ):
        TableModel("y", loss="hinge").fit(TABLE, drop=["level"])


def test_a_detector_of_many_classes_keeps_few_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2600, 4)), columns=[*"abcd"]).assign(
        y=[f"c{i % 26}" for i in range(2600)]
    )
    detector = TableModel("y", n_components=8, l2_regularization=1.0, refine=False).fit(frame).detector_
    assert 1000 <= len(detector.reference_inputs_) < 2000  # of 2,080: they have 260 numbers and more each
    assert detector.calibration_size_ == 520


def test_progress_is_told():
    told = []
    TableModel("y", n_components=3, **CHOSEN).fit(
        TABLE, drop=["level"], progress=lambda *step: told.append(step)
    )
    assert [step for step in told if step[0] == "reading"] == [("reading", 600, None), ("reading", 600, 600)]
    assert list(dict.fromkeys(step[0] for step in told)) == ["reading", "fitting", "calibrating"]
    assert [step for step in told if step[0] == "fitting"] == [("fitting", k, 3) for k in range(4)]
    assert told[-1] == ("calibrating", 1, 1)


def test_progress_ends_though_a_fit_finds_that_fewer_learners_will_do():
    told = []
    model = TableModel("y", reference_rows=0).fit(TABLE, progress=lambda *step: told.append(step))
    n_learners = model.model_.n_components_
    assert n_learners < 50
    done = [step[1:] for step in told if step[0] == "fitting"][-1]
    assert n_learners <= done[0] == done[1] < 100


def test_columns_can_be_chosen_dropped_and_called_categories():
    model = TableModel("y", n_components=2, reference_rows=0, **CHOSEN)
    assert model.fit(TABLE, columns=["age", "ok"]).schema_.features == ["age", "ok"]
    schema = model.fit(TABLE, columns=["age", "ok"], drop=["ok"], category=["age"]).schema_
    assert (schema.features, schema.categories) == (["age"], ["age"])


def test_only_categories_or_only_numbers_make_a_model():
    for columns in ([CITY], ["age"], ["when"]):
        model = TableModel("level", n_components=2, **CHOSEN).fit(TABLE, columns=columns)
        assert model.predict(TABLE[columns]).shape == (600,)


def test_a_missing_category_is_a_category():
    word = pd.Series(["a", "b", None] * 200, dtype=object)
    model = TableModel("y", n_components=2, **CHOSEN).fit(
        pd.DataFrame({"word": word, "y": word.isna() + NOISE})
    )
    predicted = model.predict(pd.DataFrame({"word": ["a", "b", None, "new"]}))
    np.testing.assert_allclose(predicted[:3], [0, 0, 1], atol=0.05)
    assert predicted[3] != predicted[2]


def test_categories_of_one_row_are_no_inputs():
    data = TABLE[["y"]].assign(word=[f"w{int(k**0.6)}" for k in range(600)])
    model = TableModel("y", n_components=2, test_size=0, **CHOSEN).fit(data)
    counts = data.word.value_counts()
    (column,) = model.schema_.columns
    assert set(column.levels) == set(counts.index[counts >= 2]) < set(counts.index)
    assert model.model_.ensemble_.weights.shape[1] == len(column.levels)


def test_a_column_with_values_only_in_held_out_rows_is_no_trouble(regression):
    test = regression.split(TABLE)[2].index
    sparse = TABLE.assign(rare=np.nan)
    sparse.loc[test[:5], "rare"] = [1.0, 2.0, 3.0, 4.0, 5.0]
    model = TableModel("y", n_components=2, **CHOSEN).fit(sparse, drop=["level"])
    assert np.isfinite(model.predict(sparse)).all()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], np.integer),
        ([True, False, True], np.bool_),
        (["true", "false", "TRUE"], np.bool_),
        (["å", "b", "c"], str),
        ([1.5, 2.5, 3.5], str),
    ],
)
def test_classes_are_of_the_users_type(values, kind):
    y = pd.Series(values * 200, dtype=object if isinstance(values[0], str) else None)
    data = TABLE[["age"]].assign(y=y)
    model = TableModel("y", task="classification", n_components=2, reference_rows=0, **CHOSEN).fit(data)
    assert isinstance(model.predict(data)[0], kind)
    assert model.predict_proba(data).shape == (600, len(model.model_.classes_))
    assert model.evaluate(csv_of(data))["accuracy"] == model.score(data)


def test_wrong_parameters_are_named():
    for parameter, value in (("test_size", 1.0), ("task", "guess"), ("reference_rows", -1), ("target", 3)):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of TableModel must be"):
            TableModel(**{"target": "y", parameter: value}).fit(TABLE)


# --- new rows -------------------------------------------------------------------------------------


def test_new_rows_may_have_other_columns_in_any_order(regression):
    expected = regression.predict(TABLE)
    other = TABLE[TABLE.columns[::-1]].assign(extra="x").drop(columns=["y", "id"])
    for data in (other, csv_of(other), pl.from_pandas(other)):
        np.testing.assert_array_equal(regression.predict(data), expected)
    assert regression.transform(other).shape == (600, 4)
    np.testing.assert_allclose(regression.transform(other).sum(axis=1), expected)


def test_many_frames_are_one_table(regression):
    frames = list(csv_of(TABLE).frames(77))
    parts = np.concatenate([regression.predict(frame) for frame in frames])
    np.testing.assert_array_equal(parts, regression.predict(TABLE))


def test_missing_columns_are_named(regression):
    with pytest.raises(TableError, match=r"the frame lacks the columns 'age', 'when'; it has 'id', "):
        regression.predict(TABLE.drop(columns=["age", "when"]))
    with pytest.raises(TableError, match=r"the file lacks the column 'ok'; it has"):
        regression.predict(csv_of(TABLE.drop(columns="ok")))


def test_a_new_category_is_like_a_rare_one_and_a_missing_value_is_filled(regression):
    table, one = TABLE.copy(), TABLE.iloc[:1]
    table.loc[0, CITY] = "Bergen"
    model = TableModel("y", n_components=3, **CHOSEN).fit(table, drop=["level"])
    assert "Bergen" not in model.schema_.columns[2].levels
    predicted = [model.predict(one.assign(**{CITY: [city]}))[0] for city in ("Bergen", "Narvik", "Oslo")]
    assert predicted[0] == predicted[1] != predicted[2]
    assert np.isfinite(regression.predict(one.assign(age=None, when=None, ok=None, **{CITY: None}))).all()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", "old", "column 'age' holds 'old' in row 8, which is no finite number; .* numbers there"),
        (
            "age",
            "5 %",
            "column 'age' holds '5 %' in row 8, which is no number with a decimal point, as those",
        ),
        (
            "age",
            "1,234",
            "column 'age' holds '1,234' in row 8, which is no number with a decimal point, as those",
        ),
        ("when", "soon", "column 'when' holds 'soon' in row 8, which is no date; .* dates there"),
        (
            "when",
            "9/12/2024",
            "column 'when' holds .* is no date, of which the day or the month may come first",
        ),
        ("ok", "maybe", "column 'ok' holds 'maybe' in row 8, which is no finite number"),
    ],
)
def test_a_value_of_another_kind_is_named_with_its_row(regression, column, value, message):
    frame = TABLE.astype({column: object})
    frame.loc[7, column] = value
    with pytest.raises(TableError, match=f"^the file: {message}"):
        regression.predict(csv_of(frame))
    third = list(csv_of(frame).frames(3))[2]
    with pytest.raises(TableError, match=f"^the file: {message}"):
        regression.predict(third)


def test_infinite_numbers_count_as_missing_and_that_is_said(regression):
    infinite = TABLE.assign(age=[1.0, 2.0, np.inf, *[3.0] * 597])
    with pytest.warns(
        UserWarning, match="the frame: column 'age' holds infinite numbers, which count as missing"
    ):
        predicted = regression.predict(infinite)
    np.testing.assert_array_equal(predicted, regression.predict(infinite.replace(np.inf, np.nan)))
    with pytest.warns(UserWarning, match="the file: column 'age' holds infinite numbers"):
        np.testing.assert_array_equal(regression.predict(csv_of(infinite)), predicted)


def test_lists_in_place_of_text_are_refused(regression):
    with pytest.raises(TableError, match=r"has values of type list.*, where the fit had text"):
        regression.predict(TABLE.assign(**{CITY: [[1]] * 600}))


def test_targets_are_read_and_missing_ones_named(regression, classification):
    np.testing.assert_array_equal(regression.targets(TABLE), TABLE.y)
    assert classification.targets(TABLE).tolist() == TABLE.level.tolist()
    with pytest.raises(TableError, match="the target 'y' is missing in row 3"):
        regression.targets(TABLE.assign(y=[1.0, 2.0, None, *[3.0] * 597]))
    with pytest.raises(TableError, match="column 'y' holds 'x' in row 1, which is no number, as the"):
        regression.targets(TABLE.assign(y=["x"] * 600))


def test_an_evaluation_leaves_out_rows_without_a_target(regression, classification):
    half = TABLE.assign(y=TABLE.y.where(TABLE.index < 300))
    found = regression.evaluate(half)
    assert found["n_rows"] == 300
    assert found["r2"] == r2_score(TABLE.y[:300], regression.predict(TABLE[:300])) == regression.score(half)
    assert classification.evaluate(csv_of(TABLE))["accuracy"] == classification.score(TABLE)
    with pytest.raises(TableError, match="the frame has no row with a value of the target 'y'"):
        regression.evaluate(TABLE.assign(y=None))
    assert "log_loss" not in classification.evaluate(TABLE.assign(level="other"))


def test_a_table_without_rows_is_said(regression):
    with pytest.raises(TableError, match="the file has no rows"):
        regression.predict(csv_of(TABLE[:0]))


# --- explanations and files -----------------------------------------------------------------------


def test_explanations_are_in_the_users_columns(regression):
    X = regression.features(TABLE)
    explanation = explain(regression.model_, X)
    assert list(explanation.feature_names) == regression.schema_.features
    assert list(X) == regression.schema_.features
    strongest = np.abs(explanation.contributions).mean(axis=0)
    assert set(explanation.feature_names[np.argsort(strongest)[-3:]]) == {"age", CITY, "ok"}


def test_the_pipeline_is_exported_with_its_rare_and_missing_categories(regression):
    table = TABLE.assign(**{CITY: TABLE[CITY].where(TABLE.index > 3, "Bergen")})
    X, expected = regression.features(table), regression.predict(table)
    found = duckdb.connect().register("rows", X).execute(to_sql(regression.model_, "rows")).fetchnumpy()
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-9)


def test_a_model_comes_back_from_its_file_to_the_bit(regression, classification, tmp_path):
    for model in (regression, classification):
        gbmap.save(model, tmp_path / "m")
        loaded = gbmap.load(tmp_path / "m")
        X = model.features(TABLE)
        np.testing.assert_array_equal(loaded.predict(TABLE), model.predict(TABLE))
        np.testing.assert_array_equal(loaded.detector_.p_values(X), model.detector_.p_values(X))
        assert (loaded.schema_, loaded.scores_) == (model.schema_, model.scores_)
        assert loaded.get_params() == model.get_params()
        pd.testing.assert_frame_equal(loaded.features(TABLE), X)
        assert loaded.model_ is loaded.detector_.estimator_


def test_a_model_is_loaded_but_not_used_without_pyarrow_and_pandas(regression, tmp_path, monkeypatch):
    gbmap.save(regression, tmp_path / "m")
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    loaded = gbmap.load(tmp_path / "m")
    assert loaded.scores_ == regression.scores_
    with pytest.raises(ImportError, match=r'pip install "gbmap\[cli\]"'):
        loaded.predict(TABLE)


def test_hostile_names_are_stored_and_read_as_they_are(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    names = ["\t", '"', "\\", "__class__", "a" * 500, "\u202e", "ж{}", "'; drop", "%s", "..\\/"]
    names[0] = "\tx"
    data = pd.DataFrame(X, columns=names).assign(**{"<y>\n": y})
    model = TableModel("<y>\n", n_components=2, reference_rows=20, **CHOSEN).fit(data)
    gbmap.save(model, tmp_path / "m")
    loaded = gbmap.load(tmp_path / "m")
    assert loaded.schema_.features == names
    np.testing.assert_array_equal(loaded.predict(csv_of(data)), model.predict(data))


def test_an_unfitted_model_is_stored_and_can_be_fitted(tmp_path):
    gbmap.save(TableModel("y", n_components=2), tmp_path / "m")
    loaded = gbmap.load(tmp_path / "m")
    assert loaded.fit(TABLE, drop=["level"]).score(TABLE) > 0.5


QUESTIONS = {
    "explain": lambda model, X: explain(model, X).coefficients,
    "attributions": lambda model, X: attributions(model, X.head(9), X.iloc[3]).values,
    "curve": lambda model, X: column_curve(model, X, "when (hour)", rows=[1]).local,
    "bounds": lambda model, X: coefficient_bounds(model).upper,
    "interval": lambda model, X: prediction_interval_missing(model, X.head(3), ["age"], reference=X).upper,
    "counterfactual": lambda model, X: nearest_counterfactual(model, X.iloc[[5]], 4.0, bounds=X).cost,
    "cards": lambda model, X: learner_cards(model, X).weights,
    "distances": lambda model, X: gbmap.path_distances(model, X.head(4)),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_about_raw_tables_are_answered_in_features(regression, question):
    ask = QUESTIONS[question]
    of_features = ask(regression.model_, regression.features(TABLE))
    np.testing.assert_allclose(ask(regression, TABLE), of_features, rtol=1e-9)


def test_raw_tables_have_pictures_reports_differences_and_exports(regression):
    assert ExplanationDisplay.from_estimator(regression, TABLE, row=3).ax_.get_yticklabels()
    assert EmbeddingDisplay.from_estimator(regression, TABLE, color="when (hour)").ax_ is not None
    report = make_report(regression, TABLE[:400], TABLE.y[:400], X_test=TABLE[400:], y_test=TABLE.y[400:])
    assert "when (weekday)" in report.contents["features"]["names"]
    assert report.contents["map"]["labels"][0] == str(TABLE.index[0])
    difference = model_difference(lambda X: np.zeros(len(X)), regression, TABLE, n_components=2)
    assert difference.faithfulness > 0.5
    assert to_sql(regression, "t") == to_sql(regression.model_, "t")
    assert gbmap.TableModel is TableModel
    with pytest.raises(TypeError, match="an alarm of its own: take its detector_"):
        gbmap.DriftDetector(regression).fit(TABLE, TABLE.y)
