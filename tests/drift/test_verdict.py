"""One verdict: what a person meets on the first day comes out right, and nothing is found in nothing."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1
from sklearn.ensemble import RandomForestRegressor

import gbmap
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap.datasets import load_paper_dataset
from gbmap.drift._facts import facts
from gbmap.drift._inference import larger_losses, ratio_interval, shift_p_values

PAPER = ["california", "airquality", "abalone"] if os.environ.get("GBMAP_DATA") else []
SETS = pytest.mark.parametrize("name", ["friedman", "breast-cancer", *PAPER])
LEVEL = 0.05
GOLDEN = Path(__file__).parents[1] / "files" / "golden"


def rows_of(name, n=3000):
    """Return rows as a frame, with a category that matters and a constant, and their labels."""
    if name == "friedman":
        X, y = make_friedman1(n, n_features=6, noise=1.0, random_state=0)
        X = pd.DataFrame(X, columns=list("abcdef"))
    elif name == "breast-cancer":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        X, y = X.iloc[:, :8], np.where(y == 1, "benign", "malignant")
    else:
        X, y = load_paper_dataset(name)[:2]
        X, y = pd.DataFrame(X).select_dtypes("number"), np.asarray(y)
    order = np.random.default_rng(0).permutation(len(X))[:n]
    X, y = X.iloc[order].reset_index(drop=True), np.asarray(y)[order]
    X.columns = [str(column) for column in X.columns]
    return X.assign(site=1.0, kind=np.random.default_rng(1).choice(["red", "blue", "green"], len(X))), y


@cache
def fitted(name):
    """Return a detector, new rows and their labels; half of the rows fit, a quarter calibrates."""
    X, y = rows_of(name)
    if y.dtype.kind == "f":
        y = y + y.std() * (X["kind"] == "red")
    model = (GBMAPRegressor if y.dtype.kind == "f" else GBMAPClassifier)(n_components=8, random_state=0)
    fit, check, new = np.split(np.arange(len(y)), [len(y) // 2, 3 * len(y) // 4])
    y = np.asarray(y)
    model.fit(X.iloc[fit], y[fit])
    detector = DriftDetector(model).fit(X.iloc[fit], y[fit], X_cal=X.iloc[check], y_cal=y[check])
    return detector, X.iloc[new].reset_index(drop=True), y[new]


def strongest(detector):
    """Return the number column that counts most."""
    names = detector.estimator_.feature_names_in_
    order = np.argsort(-detector.estimator_.feature_importances_)
    return next(names[k] for k in order if names[k] not in ("kind", "site"))


def kinds(verdict):
    return {(each.kind, each.column) for each in verdict.findings}


@SETS
def test_nothing_is_found_where_nothing_has_changed(name):
    detector, X, y = fitted(name)
    for labels in (y, None):
        verdict = detector.verdict(X, labels)
        assert (verdict.degree, verdict.cause, verdict.findings) == ("none", "none", ())


@SETS
def test_another_meaning_of_the_same_rows_is_told_by_labels_and_called_that(name):
    detector, X, y = fitted(name)
    other = 2 * y if y.dtype.kind == "f" else np.where(y == "benign", "malignant", "benign")
    verdict = detector.verdict(X, other)
    assert (verdict.degree, verdict.cause) == ("act", "relation")
    assert kinds(verdict) == {("loss", None)}
    assert "the columns look as before, so the relation itself has changed: fit anew" in verdict.summary
    assert f"{len(X):,} labelled rows" in verdict.summary


@SETS
@pytest.mark.parametrize("has_labels", [False, True])
def test_a_category_that_was_never_seen_is_named_and_its_rows_raise_the_alarm(name, has_labels):
    detector, X, y = fitted(name)
    strange = X.assign(kind="mauve")
    verdict = detector.verdict(strange, y if has_labels else None)
    assert verdict.cause == "rows"
    assert ("unseen", "kind") in kinds(verdict)
    assert "'mauve'" in verdict.summary
    assert (detector.predict(strange) == -1).all()
    assert detector.p_values(strange).max() <= LEVEL
    if y.dtype.kind == "f":  # where the category matters
        assert verdict.degree == "act"


@SETS
@pytest.mark.parametrize("share", [1 / 3, 1])
def test_a_column_that_is_missing_is_named_and_the_loss_to_expect_does_not_fall(name, share):
    detector, X, _ = fitted(name)
    column, gone = strongest(detector), np.random.default_rng(0).random(len(X)) < share
    holes = X.assign(**{column: X[column].mask(gone)})
    verdict = detector.verdict(holes)
    assert verdict.degree == "act"
    assert ("missing", column) in kinds(verdict)
    assert detector.estimate_loss(holes).mean >= detector.estimate_loss(X).mean
    assert (detector.predict(holes)[gone] == -1).all()


@SETS
def test_a_shuffled_column_that_counts_is_a_changed_relation(name):
    detector, X, y = fitted(name)
    rng = np.random.default_rng(0)
    shuffled = X.assign(**{column: rng.permutation(X[column]) for column in X.columns[:-2]})
    verdict = detector.verdict(shuffled, y)
    assert verdict.degree == "act"
    assert ("loss", None) in kinds(verdict)
    assert all(each.column is None for each in verdict.findings)


@SETS
def test_a_column_out_of_range_is_found_by_the_model_and_named(name):
    detector, X, _ = fitted(name)
    column = strongest(detector)
    verdict = detector.verdict(X.assign(**{column: X[column] + 2 * (X[column].max() - X[column].min())}))
    assert verdict.degree == "act"
    assert ("range", column) in kinds(verdict)
    assert {"alarms", "prediction"} & {each.kind for each in verdict.findings}


@SETS
def test_other_units_are_told(name):
    detector, X, _ = fitted(name)
    column = strongest(detector)
    verdict = detector.verdict(X.assign(**{column: X[column] / 1000}))
    assert ("units", column) in kinds(verdict)
    assert verdict.degree == "act"


@SETS
def test_a_constant_that_is_no_longer_one_asks_for_a_look(name):
    detector, X, y = fitted(name)
    verdict = detector.verdict(X.assign(site=np.arange(len(X)) % 3.0), y)
    assert verdict.degree == "look"
    assert ("constant", "site") in kinds(verdict)
    assert "column 'site' was always 1 and is not in" in verdict.summary


@SETS
def test_text_where_numbers_were_needs_no_model_to_be_told(name):
    detector, X, y = fitted(name)
    column = strongest(detector)
    verdict = detector.verdict(X.assign(**{column: "about " + X[column].astype(str)}), y)
    assert (verdict.degree, kinds(verdict)) == ("act", {("type", column)})
    assert verdict.metrics == {}


@pytest.mark.skipif(not PAPER, reason="GBMAP_DATA names no folder")
@pytest.mark.parametrize("name", ["airquality", "eeg-eye-state"])
def test_rows_of_another_time_are_told_from_those_of_the_fit(name):
    X, y = load_paper_dataset(name)[:2]
    X, y = pd.DataFrame(X).select_dtypes("number"), np.asarray(y)
    early, late = np.random.default_rng(0).permutation(len(y) // 2)[:1500], np.arange(len(y))[-500:]
    fit, check = early[:1000], early[1000:]
    model = (GBMAPRegressor if y.dtype.kind == "f" else GBMAPClassifier)(n_components=8, random_state=0)
    model.fit(X.iloc[fit], y[fit])
    detector = DriftDetector(model).fit(X.iloc[fit], y[fit], X_cal=X.iloc[check], y_cal=y[check])
    verdict = detector.verdict(X.iloc[late], y[late])
    assert verdict.degree == "act"
    assert "loss" in {each.kind for each in verdict.findings}


def test_changes_that_labels_show_to_do_no_harm_ask_for_a_look():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] + rng.normal(size=2000)
    detector = DriftDetector(GBMAPRegressor(3, random_state=0).fit(X[:1000], y[:1000]))
    detector.fit(X[:1000], y[:1000], X_cal=X[1000:], y_cal=y[1000:])
    new = rng.normal(size=(500, 2)) * 0.5 + [0.7, 0]
    labels = new[:, 0] + rng.normal(size=500)
    assert detector.verdict(new).degree == "act"
    verdict = detector.verdict(new, labels)
    assert verdict.degree == "look"
    assert "predictions are as good as before" in verdict.summary


@cache
def null_model(task, n_calibration):
    """Return a function that draws rows of a task, and a detector that was calibrated with so many."""
    rng = np.random.default_rng(n_calibration)

    def draw(n, rng=rng):
        X = rng.normal(size=(n, 4))
        X[:, 3] = np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(size=n))
        y = X[:, 0] ** 2 + X[:, 1] + rng.standard_t(3, size=n)
        frame = pd.DataFrame(X, columns=list("abcd")).assign(
            kind=rng.choice([f"k{i}" for i in range(30)], n, p=np.r_[np.full(3, 0.3), np.full(27, 0.1 / 27)])
        )
        return frame, y if task != "classes" else np.where(y > 1, "high", "low")

    X, y = draw(300)
    X_cal, y_cal = draw(n_calibration)
    weight = {"sample_weight": rng.uniform(0.5, 3, 300)} if task == "weights" else {}
    model = (GBMAPClassifier if task == "classes" else GBMAPRegressor)(n_components=5, random_state=0)
    return draw, DriftDetector(model.fit(X, y, **weight)).fit(X, y, X_cal=X_cal, y_cal=y_cal)


@pytest.mark.parametrize("task", ["numbers", "classes", "weights"])
def test_false_verdicts_keep_to_the_level(task):
    n_false, n_batches = 0, 0
    rng = np.random.default_rng(1)
    for n_calibration, n_rows, n_repeats in ((30, 20, 15), (300, 20, 15), (300, 300, 15), (30, 3000, 5)):
        draw, detector = null_model(task, n_calibration)
        for _ in range(n_repeats):
            X, y = draw(n_rows, rng)
            n_false += detector.verdict(X, y, level=0.1).degree != "none"
            n_batches += 1
    assert n_false <= binom.ppf(0.999, n_batches, 0.1)


def test_a_verdict_never_contradicts_its_own_numbers():
    detector, X, y = fitted("friedman")
    for batch in (
        X,
        X.assign(kind="mauve"),
        X.assign(a=np.nan),
        X.assign(b=X["b"] + 1),
    ):
        verdict = detector.verdict(batch, y)
        assert all((each.p_value <= verdict.level) == (each.degree != "none") for each in verdict.checks)
        assert all(each.p_value <= verdict.level for each in verdict.findings)
        degrees = [each.degree for each in verdict.findings]
        assert verdict.degree == (degrees[0] if degrees else "none")
        assert degrees == sorted(degrees)  # "act" comes before "look"
        assert verdict.share_of_alarms == np.mean(detector.predict(batch) == -1)
        told = detector.assess(batch, y).verdict.to_dict()
        assert told.pop("level") == pytest.approx(verdict.level)
        assert told == {key: value for key, value in verdict.to_dict().items() if key != "level"}
        alarms = detector.alarms(batch)
        np.testing.assert_array_equal(alarms["is_alarm"], alarms["p_value"] <= detector.false_alarm_rate)


def test_metrics_are_those_of_the_rows():
    detector, X, y = fitted("friedman")
    metrics = detector.verdict(X, y).metrics
    errors = y - detector.estimator_.predict(X)
    assert metrics["rmse"]["known"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert metrics["mae"]["known"] == pytest.approx(np.abs(errors).mean())
    detector, X, y = fitted("breast-cancer")
    metrics = detector.verdict(X, y).metrics
    p = detector.estimator_.predict_proba(X)
    assert metrics["accuracy"]["known"] == pytest.approx(detector.estimator_.score(X, y))
    true = p[np.arange(len(y)), (y == "malignant").astype(int)]
    assert metrics["log_loss"]["known"] == pytest.approx(-np.log(true).mean())
    assert metrics["accuracy"]["lower"] <= metrics["accuracy"]["expected"] <= metrics["accuracy"]["upper"]


def test_a_stored_detector_gives_the_same_verdict(tmp_path):
    detector, X, y = fitted("friedman")
    gbmap.save(detector, tmp_path / "detector.gbmap")
    loaded = gbmap.load(tmp_path / "detector.gbmap")
    strange = X.assign(kind="mauve", site=2.0)
    assert loaded.verdict(strange, y).to_dict() == detector.verdict(strange, y).to_dict()


def test_a_detector_of_an_earlier_version_says_what_it_can():
    detector = gbmap.load(GOLDEN / "format-1-detector.gbmap")
    X = np.random.default_rng(0).normal(size=(30, detector.n_features_in_))
    verdict = detector.verdict(X, np.full(30, 1e3))
    assert [each.kind for each in verdict.checks] == ["alarms", "expected_loss", "loss"]
    assert (verdict.degree, verdict.metrics) == ("act", {})
    assert verdict.summary.startswith("30 rows; ")
    assert detector.assess(X).verdict.summary == detector.verdict(X).summary


def test_without_reference_rows_there_is_a_verdict_too():
    X, y = rows_of("friedman", 900)
    detector = DriftDetector(GBMAPRegressor(5, random_state=0), measure="spread", random_state=0, cv=2)
    detector.fit(X[:600], y[:600])
    assert detector.verdict(X[600:], y[600:]).degree == "none"
    assert detector.verdict(X[600:].assign(a=np.nan)).degree == "act"


def test_a_foreign_model_has_a_verdict_with_the_facts_of_columns():
    X, y = make_friedman1(900, n_features=5, random_state=0)
    trees = RandomForestRegressor(20, random_state=0).fit(X[:300], y[:300])
    detector = DriftDetector(trees).fit(X[:300], y[:300], X_cal=X[300:600], y_cal=y[300:600])
    assert detector.verdict(X[600:], y[600:]).degree == "none"
    assert ("range", "x0") in kinds(detector.verdict(X[600:] + np.eye(5)[0] * 5))


def test_the_names_of_columns_are_told_as_inert_text():
    X, y = rows_of("friedman", 400)
    X = X.rename(columns={"kind": "ki\x1bnd\n"})
    detector = DriftDetector(GBMAPRegressor(2, random_state=0), random_state=0, cv=2).fit(X[:300], y[:300])
    summary = detector.verdict(X[300:].assign(**{"ki\x1bnd\n": "mau\x1bve"})).summary
    assert "\x1b" not in summary
    assert "\n" not in summary


@pytest.mark.parametrize(
    ("argument", "value"),
    [("delta", -1), ("delta", "much"), ("tolerated_alarms", 2), ("tolerated_increase", -0.1), ("level", 0)],
)
def test_what_cannot_be_tolerated_is_refused(argument, value):
    detector, X, _ = fitted("friedman")
    with pytest.raises(ValueError, match=f"{argument} must be a number .* got {value!r}"):
        detector.verdict(X[:5], **{argument: value})


# The tests by themselves


@pytest.mark.parametrize(("n", "n_before"), [(20, 200), (200, 20), (300, 300)])
def test_the_test_of_losses_keeps_its_level_for_losses_of_any_skew(n, n_before):
    rng = np.random.default_rng(0)
    p = [
        larger_losses(rng.standard_t(2, size=n) ** 2, rng.standard_t(2, size=n_before) ** 2)
        for _ in range(100)
    ]
    assert np.mean(np.array(p) <= 0.1) < 0.1 + 3 * np.sqrt(0.09 / 100)
    assert larger_losses(9 * rng.normal(size=100) ** 2, rng.normal(size=100) ** 2) < 0.001


def test_a_shift_is_judged_by_the_rows_held_out_whose_number_counts():
    spreads = np.ones(1), np.ones(1)
    few, many = (shift_p_values(np.array([3.0]), np.zeros(1), spreads, (1, n))[0][0] for n in (3, 3000))
    assert few > 0.1
    assert many < 0.01


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_an_interval_of_a_mean_covers_it(confidence):
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        losses, batch = rng.lognormal(sigma=0.7, size=100), rng.lognormal(sigma=0.7, size=100)
        low, high = ratio_interval(losses, np.full(100, losses.mean()), 100, confidence)
        hits += low * losses.mean() <= batch.mean() <= high * losses.mean()
    assert hits / 200 == pytest.approx(confidence, abs=0.08)


def test_every_fact_of_a_column_keeps_its_level():
    rng = np.random.default_rng(0)

    def draw(n):
        return pd.DataFrame(
            {
                "even": rng.random(n),
                "skew": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(size=n)),
                "kind": rng.choice([f"k{i}" for i in range(200)], n),
            }
        )

    p_values = {}
    for _ in range(60):
        X = draw(150)
        y = X["even"].to_numpy()
        model = GBMAPRegressor(1, random_state=0, knots=0, l2_regularization=1.0).fit(X[:100], y[:100])
        detector = DriftDetector(model).fit(X[:100], y[:100], X_cal=X[100:], y_cal=y[100:])
        profile = detector._drifter.monitored.profile
        for n in (5, 80):
            for fact in facts(profile, profile.batch(draw(n))):
                p_values.setdefault(fact.kind, []).append(fact.p_value)
    assert set(p_values) == {"missing", "unseen", "range", "units"}
    for found in p_values.values():
        assert np.mean(np.array(found) <= 0.1) < 0.15


def test_rows_that_miss_what_was_never_missing_raise_the_alarm_as_often_as_the_calibration_allows():
    X, digits = load_digits(return_X_y=True)
    X, y = X[:, 20:30], digits.astype(float)
    X_cal = X[600:800].copy()
    X_cal[:20, 0] = np.nan  # a tenth of the calibration rows is as strange
    model = GBMAPRegressor(3, random_state=0).fit(X[:600], y[:600])
    detector = DriftDetector(model).fit(X[:600], y[:600], X_cal=X_cal, y_cal=y[600:800])
    new = X[800:].copy()
    new[:, 0] = np.nan
    assert detector.threshold_ == np.inf
    assert (detector.p_values(new) == 21 / 201).all()
    assert (detector.predict(new) == 1).all()
    detector.set_threshold(false_alarm_rate=0.2)
    assert (detector.predict(new) == -1).all()
    assert np.isfinite(detector.indicator(new)).all()


def test_a_loss_is_explained_only_if_it_has_grown_and_praised_only_if_labels_show_it():
    detector, X, y = fitted("friedman")
    few = detector.verdict(X.assign(kind="mauve").iloc[:2], y[:2])
    assert few.degree != "none"
    assert few.check("loss").degree == "none"
    assert "explains the loss" not in few.summary
    assert "as good as before" not in detector.verdict(X.assign(site=2.0).iloc[:1], y[:1]).summary
    reached = X.assign(e=X["e"] * 40)
    perfect = detector.verdict(reached, detector.estimator_.predict(reached))
    assert perfect.degree == "look"
    assert "as good as before" in perfect.summary
    told = [each.advice for each in perfect.findings if each.column is None]
    assert told == ["look at it: labels show no larger loss"] * len(told) != []


@pytest.mark.parametrize("name", ["friedman", "breast-cancer"])
def test_labels_may_be_missing_in_some_rows_or_in_all(name):
    detector, X, y = fitted(name)
    other = 2 * y if y.dtype.kind == "f" else np.where(y == "benign", "malignant", "benign")
    some = other.astype(object)
    some[20:] = None
    verdict = detector.verdict(X, some)
    assert (verdict.degree, verdict.cause) == ("act", "relation")
    assert verdict.check("loss").now == detector.verdict(X[:20], other[:20]).check("loss").now
    assert (verdict.n_rows, verdict.n_labelled) == (len(X), 20)
    assert f"on 20 labelled rows of {len(X)}" in verdict.summary
    found = detector.assess(X, some)
    assert found.verdict.to_dict() == verdict.to_dict()
    assert found.mean_loss == verdict.check("loss").now
    assert np.nanmax(found.regions.mean_loss) > 0
    assert detector.verdict(X, [None] * len(X)).to_dict() == detector.verdict(X).to_dict()


@pytest.mark.parametrize("lost", [0, 40.0, None])
def test_no_mean_error_is_expected_above_its_root_mean_square(lost):
    detector, X, _ = fitted("friedman")
    column = strongest(detector)
    moved = X.assign(**{column: X[column].mask(X[column] > -9) if lost is None else X[column] + lost})
    metrics = detector.estimate_loss(moved).metrics
    assert (np.array(metrics["mae"]) <= np.array(metrics["rmse"])).all()
