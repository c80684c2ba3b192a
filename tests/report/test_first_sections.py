"""The first screen, the data and the performance of a report: beside NumPy, SciPy and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import auc, average_precision_score, confusion_matrix, r2_score, roc_auc_score

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor, TableModel
from gbmap.report import make_drift_report, make_report
from gbmap.report.contents.associations import Ranks, association
from gbmap.report.contents.summary import _way
from gbmap.report.page import number

N_TRAINING, N_HELD_OUT = 500, 200


def rows(n, seed, towns=("Oslo", "Turku", "Umeå")):
    """Return rows of which some lack a size, and their prices."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.gamma(4, 20, n), "town": rng.choice(towns, n, p=[0.6, 0.3, 0.1])})
    X["rooms"] = np.round(X["size"] / 25) + rng.integers(0, 3, n)
    X.loc[rng.random(n) < 0.1, "size"] = np.nan
    is_oslo = X["town"].astype(str) == "Oslo"
    y = X["size"].fillna(80) * 2 + 60 * is_oslo + rng.normal(0, 10, n)
    return X, y.rename("price")


@pytest.fixture(scope="module")
def houses():
    return *rows(N_TRAINING, 0), *rows(N_HELD_OUT, 1)


@pytest.fixture(scope="module")
def model(houses):
    return GBMAPRegressor(3, random_state=0).fit(*houses[:2])


def test_an_error_that_a_few_rows_make_is_not_called_typical(houses, model):
    X, y, X_test, y_test = houses
    page = make_report(model, X, y, X_test=X_test, y_test=y_test).to_html()
    assert "is typically off by" in page
    far = y_test.copy()
    far.iloc[:4] += 5000
    page = make_report(model, X, y, X_test=X_test, y_test=far).to_html()
    assert "typically off" not in page
    assert "in the root mean square, by a few large errors; half of the predictions by less than" in page


@pytest.fixture(scope="module")
def contents(houses, model):
    X, y, X_test, y_test = houses
    new = rows(150, 2, towns=("Oslo", "Turku", "Kyiv"))[0]
    new["size"] += 60
    return make_report(model, X, y, X_test=X_test, y_test=y_test, X_new=new, fit_seconds=1.5).to_dict()


@pytest.fixture(scope="module")
def flats(houses):
    """A model of classes, its report and its held-out rows."""
    X, y, X_test, y_test = houses
    y, y_test = (pd.Series(np.where(each > 200, "dear", "cheap"), name="class") for each in (y, y_test))
    fitted = GBMAPClassifier(2, random_state=0).fit(X, y)
    return fitted, make_report(fitted, X, y, X_test=X_test, y_test=y_test).to_dict(), X_test, y_test


def contender(contents, name):
    return next(each for each in contents["performance"]["contenders"] if name in each["name"])


def column_of(contents, name):
    names = contents["features"]["names"]
    return next(each for each in contents["data"]["columns"] if names[each["feature"]] == name)


def test_trees_are_those_of_scikit_learn_on_the_same_rows(houses, contents):
    X, y, X_test, y_test = (
        each.astype({"town": "category"}) if hasattr(each, "columns") else each for each in houses
    )
    trees = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    told = contender(contents, "HistGradientBoosting")
    assert_allclose(told["scores"]["r2"], r2_score(y_test, trees.predict(X_test)), atol=0.01)
    assert told["n_rows"] == N_TRAINING
    assert told["seconds"] > 0
    assert contender(contents, "GBMAP")["seconds"] == 1.5
    assert contender(contents, "ridge")["seconds"] > 0


def test_trees_of_many_rows_are_fitted_to_some_and_of_many_columns_to_none(houses, model, monkeypatch):
    X, y, X_test, y_test = houses
    given = {"X_test": X_test, "y_test": y_test, "max_rows": 20}
    monkeypatch.setattr("gbmap.report.contents.contenders._TREE_ROWS", 300)
    made = make_report(model, X, y, **given)
    assert contender(made.contents, "HistGradientBoosting")["n_rows"] == 300
    assert "300" in made.to_html()
    monkeypatch.setattr("gbmap.report.contents.contenders._MOST_COLUMNS", 2)
    names = [each["name"] for each in make_report(model, X, y, **given).contents["performance"]["contenders"]]
    assert names == ["GBMAP", "ridge regression", "a constant"]


def test_trees_meet_many_categories_empty_columns_and_classes_of_one_row():
    rng = np.random.default_rng(0)
    who = rng.permutation([f"n{i % 400}" for i in range(1200)])
    X = pd.DataFrame({"who": who, "x": rng.normal(size=1200), "never": np.nan})
    y = np.where(X["x"] > 0, "up", "down").astype(object)
    y[0] = "once"
    fitted = GBMAPClassifier(1, l2_regularization=1.0, random_state=0).fit(X, y)
    told = make_report(fitted, X, y, X_test=X[1:300], y_test=y[1:300], max_rows=20).contents
    assert contender(told, "HistGradientBoosting")["scores"]["accuracy"] > 0.95


def test_trees_are_left_out_where_each_of_many_classes_would_have_its_own():
    X, y = np.random.default_rng(0).normal(size=(330, 2)), np.arange(330) % 11
    fitted = GBMAPClassifier(1, l2_regularization=1.0, random_state=0).fit(X, y)
    told = make_report(fitted, X[:300], y[:300], X_test=X[300:], y_test=y[300:], max_rows=20).contents
    assert [each["name"] for each in told["performance"]["contenders"]][1] == "logistic regression"


def test_groups_of_predictions_are_counted_and_their_errors_measured(houses, model, contents):
    _, _, X_test, y_test = houses
    predicted, told = model.predict(X_test), contents["predictions"]
    error = y_test.to_numpy() - predicted
    assert (told["kind"], told["n_rows"], told["classes"]) == ("held out", N_HELD_OUT, None)
    assert_allclose(told["numbers"]["prediction"], predicted, atol=0.2)
    assert_allclose(told["numbers"]["target"], y_test, atol=0.2)
    assert_allclose(told["numbers"]["half_within"], np.median(np.abs(error)), rtol=1e-5)
    groups = told["numbers"]["groups"]
    assert [group["n_rows"] for group in groups] == [20] * 10
    highest = np.argsort(predicted)[-20:]
    assert_allclose(groups[-1]["typical_error"], np.sqrt(np.mean(error[highest] ** 2)), rtol=1e-5)
    assert_allclose(groups[-1]["lower_quartile"], np.quantile(error[highest], 0.25), rtol=1e-5)
    assert_allclose(groups[-1]["mean_target"], y_test.to_numpy()[highest].mean(), rtol=1e-5)


def test_classes_have_the_confusion_and_the_curves_of_scikit_learn(flats):
    fitted, contents, X_test, y_test = flats
    told = contents["predictions"]["classes"]
    counts = confusion_matrix(y_test, fitted.predict(X_test), labels=["cheap", "dear"])
    assert told["names"] == ["cheap", "dear"]
    assert told["confusion"] == counts.tolist()
    assert_allclose(told["found"], np.diag(counts) / counts.sum(axis=1), rtol=1e-3)
    assert_allclose(told["right"], np.diag(counts) / counts.sum(axis=0), rtol=1e-3)
    (dear,), is_dear, p = told["outputs"], y_test == "dear", fitted.predict_proba(X_test)[:, 1]
    assert_allclose(dear["area"], roc_auc_score(is_dear, p), rtol=1e-5)
    assert_allclose(dear["average_precision"], average_precision_score(is_dear, p), rtol=1e-5)
    drawn = auc(dear["false_positive_rate"], dear["true_positive_rate"])
    assert_allclose(drawn, dear["area"], atol=0.01)
    assert (dear["recall"][0], dear["recall"][-1]) == (pytest.approx(0, abs=0.05), 1)
    groups = dear["calibration"]
    assert sum(group["n_rows"] for group in groups) == len(y_test)
    assert_allclose(
        np.average([group["share"] for group in groups], weights=[20] * 10), is_dear.mean(), rtol=1e-3
    )
    assert all(group["lower"] <= group["share"] <= group["upper"] for group in groups)


def test_a_class_that_no_held_out_row_has_leaves_curves_empty(houses):
    X, y, X_test, _ = houses
    kinds = np.digitize(y, [150, 250])
    fitted = GBMAPClassifier(1, loss="hinge", random_state=0).fit(X, kinds)
    made = make_report(fitted, X, kinds, X_test=X_test, y_test=np.zeros(N_HELD_OUT, int), max_rows=20)
    first, second, third = made.contents["predictions"]["classes"]["outputs"]
    assert second["n_rows"] == third["n_rows"] == 0
    assert first["area"] is second["area"] is None
    assert second["recall"] == []
    assert first["calibration"] is None
    assert made.contents["predictions"]["classes"]["found"][1] is None
    assert "</html>" in made.to_html()


def test_columns_are_counted_in_training_and_new_rows(houses, contents):
    X, data = houses[0], contents["data"]
    assert (data["kinds"], data["n_rows"]) == (["training", "new"], [N_TRAINING, 150])
    assert (data["n_numbers"], data["n_categories"], data["n_dates"]) == (2, 1, 0)
    size, town, rooms = (column_of(contents, name) for name in ("size", "town", "rooms"))
    assert_allclose(size["missing"][0], X["size"].isna().mean(), rtol=1e-5)
    assert_allclose(data["incomplete"][0], X["size"].isna().mean(), rtol=1e-5)
    assert_allclose(size["numbers"][0]["median"], X["size"].median(), rtol=1e-5)
    counts, _ = np.histogram(np.clip(X["size"].dropna(), *np.array(size["edges"])[[0, -1]]), size["edges"])
    assert_allclose(size["shares"][0], counts / counts.sum(), atol=0.005)  # edges are rounded
    assert len(rooms["shares"][0]) == len(rooms["edges"]) - 1 == np.ptp(X["rooms"]) + 1  # a bar for each
    assert_allclose(sum(rooms["shares"][1]), 1, atol=1e-3)
    assert dict(zip(town["levels"], town["shares"][0]))["Turku"] == pytest.approx(
        (X["town"] == "Turku").mean(), abs=1e-3
    )
    assert size["difference"] > 0.5 > rooms["difference"]
    assert data["target"]["missing"] == [0.0, 1.0]  # new rows have no price
    assert data["target"]["difference"] is None


def test_categories_that_are_new_or_gone_are_told(contents):
    changes = {each["level"]: each for each in contents["data"]["changes"]}
    assert changes["Kyiv"]["is_unseen"]
    assert not changes["Umeå"]["is_unseen"]
    assert changes["Umeå"]["shares"][1] == 0
    assert "Oslo" not in changes  # whose share has changed by chance only


def test_one_table_has_no_changes(flats):
    data = flats[1]["data"]
    assert data["kinds"] == ["training"]
    assert data["changes"] == []
    assert all(each["difference"] is None for each in data["columns"])


def test_columns_that_go_together_are_told(houses, contents):
    X, y = houses[:2]
    known = X["size"].notna()
    (pair,) = contents["data"]["pairs"]
    names = {contents["features"]["names"][k] for k in pair["features"]}
    assert names == {"size", "rooms"}
    assert pair["correlation"] == pytest.approx(spearmanr(X["size"][known], X["rooms"][known])[0], abs=0.02)
    assert column_of(contents, "rooms")["association"] == pytest.approx(spearmanr(X["rooms"], y)[0], abs=1e-3)
    assert 0.2 < column_of(contents, "town")["association"] < 0.8


def test_associations_know_what_chance_brings():
    rng = np.random.default_rng(0)
    codes, other = rng.integers(0, 20, 300), rng.integers(0, 20, 300)
    numbers = Ranks.of_numbers(rng.normal(size=300))
    one = Ranks.of_codes(codes)
    assert association(one, one) == pytest.approx(1)
    assert association(one, Ranks.of_codes(other)) < 0.1  # uncorrected, it is about a quarter
    assert association(one, numbers) < 0.15
    assert association(one, Ranks.of_numbers(codes.astype(float))) == pytest.approx(1)
    assert np.isnan(association(Ranks.of_codes(np.zeros(300, int)), numbers))
    assert np.isnan(association(Ranks.of_numbers(np.full(300, np.nan)), numbers))


@pytest.mark.parametrize(
    ("means", "way"),
    [
        ([0, 1, 2, 3], "rises"),
        ([3, 2, 2, 0], "falls"),
        ([0, 3, 2.5, 5], "rises"),
        ([0, 3, 1, 4], "mostly rises"),
        ([4, 1, 3, 0], "mostly falls"),
        ([0, 2, 3, 1], "peak"),
        ([3, 0, 1, 3], "dip"),
        ([1, 2, 0, 3, 1], "bends"),
        ([1, 1, 1, 1], "mixed"),
    ],
)
def test_the_way_a_column_moves_predictions_is_named(means, way):
    middles = np.arange(len(means), dtype=float) * 10
    told = _way(middles, np.array(means, dtype=float))
    assert told.get("way", "mixed") == way
    if way == "peak":
        assert told["at"] == 20
    if way == "bends":
        assert (told["at"], told["lowest_at"]) == (30, 20)
    if way == "dip":
        assert told["at"] == 10


def test_what_matters_is_said_with_its_direction(contents):
    matters = {
        contents["features"]["names"][each["feature"]]: each for each in contents["summary"]["matters"]
    }
    assert next(iter(matters)) == "size"
    assert matters["size"]["way"] == "rises"
    assert (matters["town"]["way"], matters["town"]["highest"]) == ("levels", "Oslo")
    assert sum(each["share"] for each in matters.values()) == pytest.approx(1, abs=0.01)


def test_without_new_rows_the_alarm_of_held_out_rows_is_told(houses, model, flats):
    X, y, X_test, y_test = houses
    trust = flats[1]["summary"]["trust"]
    assert trust["n_rows"] == N_HELD_OUT
    assert 0 < trust["share_alarmed"] <= 0.05
    detector = DriftDetector(model).fit(X, y, X_cal=X_test, y_cal=y_test).set_threshold(false_alarm_rate=0.5)
    given = {"X_test": X_test, "y_test": y_test, "max_rows": 20}
    made = make_report(model, X, y, **given, detector=detector)
    share = np.mean(detector.predict(X_test) == -1)
    assert made.contents["summary"]["trust"]["share_alarmed"] == pytest.approx(share)
    assert make_report(model, X, y, X_test=X, y_test=y, max_rows=20).contents["summary"]["trust"] is None


def test_the_next_steps_fit_the_model_and_the_verdict(contents, flats):
    steps = contents["summary"]["steps"]
    assert steps[0]["command"] is None  # what the verdict asks for
    findings = contents["drift"]["findings"]
    of_columns = [each for each in findings if each["column"] is not None and each["degree"] == "act"]
    asked = (of_columns or findings)[0]
    named = f"column {asked['column']!r}: " if of_columns else ""
    assert steps[0]["text"].lower() == f"{named}{asked['advice']}".lower()
    assert "DriftDetector(model)" in steps[1]["command"]
    assert contents["drift"]["verdict"] == "act"
    assert steps[2]["text"] == "Predict them once that is settled"
    assert "gbmap.save(model" in flats[1]["summary"]["steps"][0]["command"]


def test_sparse_and_wide_tables_are_bounded():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 90), density=0.3, rng=rng, format="csr")
    y = np.asarray(X[:, [0]].todense()).ravel()
    fitted = GBMAPRegressor(1, l2_regularization=0.1, random_state=0).fit(X[:200], y[:200])
    data = make_report(fitted, X[:200], y[:200], X_test=X[200:], y_test=y[200:], max_rows=40).contents["data"]
    assert len(data["columns"]) == 60
    assert data["n_numbers"] == 90
    assert data["columns"][0]["feature"] == 0


@pytest.fixture(scope="module")
def table():
    """A model of a table with text, gaps, dates and a running number, and later rows of that table."""
    X, y = rows(400, 3)
    table = X.assign(price=y, id=range(len(X)))
    table["sold"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(400), unit="D")).strftime(
        "%Y-%m-%d"
    )
    later = table.sample(100, random_state=0).assign(town="Kyiv")
    return TableModel("price", n_components=2, l2_regularization=0.1).fit(table), table, later


def test_new_rows_lie_beside_those_that_a_stored_model_has_kept(table):
    model, given, later = table
    told = make_drift_report(model, later, max_rows=40).contents  # rows as the table has them
    data = told["data"]
    assert (data["kinds"], data["n_dates"]) == (["training", "new"], 1)
    assert [each["name"] for each in data["dropped"]] == ["id"]
    X = model.split(given)[0]
    size, days = column_of(told, "size"), column_of(told, "sold (days)")
    assert_allclose(size["missing"][0], X["size"].isna().mean(), rtol=1e-5)
    assert_allclose(size["numbers"][0]["mean"], X["size"].mean(), rtol=1e-5)
    assert days["kind"] == "date"
    assert days["numbers"][0]["least"] == X["sold (days)"].min()
    town = column_of(told, "town")
    for level, share in zip(town["levels"], town["shares"][0]):
        assert share == pytest.approx((X["town"] == level).mean(), abs=1e-3)
    assert {each["level"] for each in data["changes"] if each["is_unseen"]} == {"Kyiv"}
    assert told["predictions"] is None
    features = model.features(later)
    again = make_drift_report(model, features, max_rows=40).contents
    assert again["map"]["prediction"] == told["map"]["prediction"]


def test_labels_of_new_rows_show_how_a_stored_model_does_on_them(table):
    model, _, later = table
    made = make_drift_report(model, later, later["price"], max_rows=40)
    predictions = made.contents["predictions"]
    assert (predictions["kind"], predictions["n_rows"]) == ("new", 100)
    assert_allclose(predictions["numbers"]["prediction"], model.predict(later), atol=0.5)
    assert "model.detector_.predict" in made.contents["summary"]["steps"][1]["command"]
    assert "Scatter plot of true against predicted price of 100 new rows" in made.to_html()


def test_a_table_model_reads_its_own_tables(table):
    model, given, _ = table
    X, y, X_test, y_test = model.split(given)
    told = make_report(model, X, y, X_test=X_test, y_test=y_test, max_rows=40).contents
    assert told["data"]["n_dates"] == 1
    assert told["summary"]["steps"][1]["command"] == "gbmap.report(model, X_new)"
    direct = make_report(model.model_, X, y, X_test=X_test, y_test=y_test, max_rows=40).contents
    assert told["map"]["prediction"] == direct["map"]["prediction"]
    assert column_of(direct, "sold (days)")["kind"] == "date"  # as in words, by the names of its parts


def test_several_classes_have_a_curve_each():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.argmax(X, axis=1)
    fitted = GBMAPClassifier(1, random_state=0).fit(X[:200], y[:200])
    told = make_report(fitted, X[:200], y[:200], X_test=X[200:], y_test=y[200:], max_rows=20).contents
    p = fitted.predict_proba(X[200:])
    trees = HistGradientBoostingClassifier(random_state=0).fit(X[:200], y[:200])
    accuracy = contender(told, "HistGradientBoosting")["scores"]["accuracy"]
    assert accuracy == pytest.approx(trees.score(X[200:], y[200:]))
    for k, one in enumerate(told["predictions"]["classes"]["outputs"]):
        assert one["area"] == pytest.approx(roc_auc_score(y[200:] == k, p[:, k]), rel=1e-5)
        assert one["n_rows"] == np.sum(y[200:] == k)


@pytest.fixture(scope="module")
def dated():
    rng = np.random.default_rng(5)
    when = pd.Timestamp("2020-01-06") + pd.to_timedelta(rng.integers(0, 700, 300), unit="D")
    weekend = np.asarray(when.day_of_week) >= 5
    weight = rng.uniform(1, 50, 300)
    price = 9 * weekend + 0.02 * np.asarray((when - when.min()).days) + 0.1 * weight + 5
    columns = {"sold": when.strftime("%d.%m.%Y"), "weight": [f"{each:.1f} kg" for each in weight]}
    table = pd.DataFrame(columns).assign(price=[f"{each:.2f} €" for each in price])
    model = TableModel("price", n_components=4).fit(table)
    X, y, X_test, y_test = model.split(table)
    return make_report(model, X, y, X_test=X_test, y_test=y_test, max_rows=200)


def test_dates_and_units_are_told_as_the_table_has_them(dated):
    names, scales = (dated.contents["features"][key] for key in ("names", "scales"))
    assert dict(zip(names, scales))["sold (weekday)"] == "weekday"
    assert dict(zip(names, scales))["sold (days)"] == "days"
    matters = {names[each["feature"]]: each for each in dated.contents["summary"]["matters"]}
    assert matters["sold (weekday)"]["highest"] in ("Saturday", "Sunday")
    units = {names[each["feature"]]: each["unit"] for each in dated.contents["data"]["columns"]}
    assert (units["weight"], units["sold (days)"]) == ("kg", "")
    assert dated.contents["data"]["target"]["unit"] == "EUR"
    page = dated.to_html()
    assert "the later, the" in page
    assert f"{number(dated.contents['performance']['contenders'][0]['scores']['rmse'])} EUR</strong>" in page
