"""One verdict: what a person meets on the first day comes out right, and nothing is found in nothing."""

import os
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, rankdata
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1
from sklearn.ensemble import RandomForestRegressor

import gbmap
from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap.datasets import load_paper_dataset
from gbmap.drift._facts import facts
from gbmap.drift._inference import larger_losses, moved_mean, one_is_new, shift_p_values
from gbmap.drift._intervals import _Tail, ratio_interval
from gbmap.drift._profile import Profile

PAPER = ["california", "airquality", "abalone"] if os.environ.get("GBMAP_DATA") else []
SETS = pytest.mark.parametrize("name", ["friedman", "breast-cancer", *PAPER])
LEVEL = 0.05
# Chance is asked a few times by day, and at night so often that a level is told which is off by little.
OFTEN = pytest.mark.parametrize("often", [1, pytest.param(3, marks=pytest.mark.nightly)])
GOLDEN = Path(__file__).parents[1] / "files" / "golden"


def rows_of(name, n=1600):
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
    assert ("stuck", "kind") not in kinds(verdict)  # it is told once
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
    below = detector.verdict(X.assign(**{column: X[column].min() - X[column].abs().max()}), None)
    text = next(each.text for each in below.findings if (each.kind, each.column) == ("range", column))
    assert "of the rows, down to -" in text
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
def test_a_column_that_holds_one_value_only_is_named_and_explains_the_loss(name):
    detector, X, y = fitted(name)
    column = strongest(detector)
    stuck = X.assign(**{column: X[column].iloc[0], "kind": "red"})
    verdict = detector.verdict(stuck)
    assert {("stuck", column), ("stuck", "kind")} <= kinds(verdict)
    assert f"column '{column}' holds " in verdict.summary
    labelled = detector.verdict(stuck, y)
    assert labelled.cause == "rows"
    if labelled.check("loss").degree == "act":
        degrees = {each.column: each.degree for each in labelled.findings if each.kind == "stuck"}
        assert degrees[column] == "act"
        assert labelled.summary.endswith("which explains the loss: find out why it no longer varies")
    one = detector.verdict(X.iloc[:1])  # one row holds one value anyway
    assert "stuck" not in {each.kind for each in one.findings}


@pytest.mark.parametrize(("share", "degree"), [(0.0, "none"), (0.08, "look"), (0.5, "act"), (1.0, "act")])
def test_classes_that_the_model_does_not_know_are_a_changed_relation(share, degree):
    detector, X, y = fitted("breast-cancer")
    new = np.where(np.arange(len(y)) < share * len(y), "unclear", y.astype(object))
    verdict = detector.verdict(X, new)
    assert (verdict.degree, verdict.cause) == (degree, "none" if share == 0 else "relation")
    assert verdict.n_labelled == np.sum(new != "unclear") * (share < 1)
    assert ("'unclear'" in verdict.summary) == (share > 0)
    strange = detector.verdict(X.assign(kind="mauve"), new)
    assert strange.cause == ("rows" if share == 0 else "both")
    assert "as good as before" not in strange.summary or share == 0


def test_classes_that_are_given_in_another_type_are_refused():
    X = np.random.default_rng(0).normal(size=(300, 1))
    y = (X[:, 0] > 0).astype(int)
    model = GBMAPClassifier(1, random_state=0, knots=0, l2_regularization=1.0).fit(X[:200], y[:200])
    detector = DriftDetector(model).fit(X[:200], y[:200], X_cal=X[200:], y_cal=y[200:])
    with pytest.raises(ValueError, match=r"y must hold classes of the fit only, \[0, 1\], got \['0', '1'\]"):
        detector.verdict(X[:50], y[:50].astype(str))


def test_a_new_category_in_a_few_of_many_rows_is_told_by_all_rows_that_had_it_not():
    detector, X, y = fitted("friedman")
    some = X.assign(kind=X["kind"].where(np.arange(len(X)) >= 20, "mauve"))
    assert ("unseen", "kind") in kinds(detector.verdict(some, y))


def test_one_value_that_no_row_had_before_is_rarely_in_many():
    rng = np.random.default_rng(0)
    p = []
    for _ in range(300):
        values = rng.zipf(1.5, size=150)
        new, counts = np.unique(values[100:], return_counts=True)
        p.append(one_is_new(int(counts[~np.isin(new, values[:100])].max(initial=0)), 50, 100))
    assert np.mean(np.array(p) <= 0.1) <= 0.1


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


@OFTEN
@pytest.mark.parametrize("task", ["numbers", "classes", "weights"])
def test_false_verdicts_keep_to_the_level(task, often):
    n_false, n_batches = 0, 0
    rng = np.random.default_rng(1)
    for n_calibration, n_rows, n_repeats in ((30, 20, 5), (300, 20, 5), (300, 300, 5), (30, 3000, 2)):
        draw, detector = null_model(task, n_calibration)
        for _ in range(often * n_repeats):
            X, y = draw(n_rows, rng)
            n_false += detector.verdict(X, y, level=0.1).degree != "none"
            n_batches += 1
    assert n_false <= binom.ppf(0.999, n_batches, 0.1)


def test_errors_that_have_grown_are_found_where_a_few_rows_decide_the_mean_square():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 2)), columns=["a", "b"])
    y = X["a"].to_numpy() + rng.normal(size=1500)
    y[::100] += 60  # a row of a hundred
    detector = DriftDetector(GBMAPRegressor(3, random_state=0).fit(X[:700], y[:700]))
    detector.fit(X[:700], y[:700], X_cal=X[700:1100], y_cal=y[700:1100])
    new, usual = X[1101:1200], y[1101:1200]
    predicted = detector.estimator_.predict(new)
    worse = predicted + 4 * (usual - predicted)
    verdict = detector.verdict(new, worse)
    rmse, mae = verdict.metrics["rmse"], verdict.metrics["mae"]
    assert rmse["known"] < rmse["held_out"]
    assert mae["known"] > 2 * mae["held_out"]
    assert (verdict.degree, verdict.cause) == ("act", "relation")
    assert verdict.findings[0].text.startswith("MAE is ")
    assert "RMSE" in verdict.summary
    assert "MAE" in verdict.summary
    assert detector.verdict(new, usual).degree == "none"
    strange = detector.verdict(new.assign(b=np.nan), predicted + 2.2 * (usual - predicted))
    assert strange.metrics["mae"]["known"] > 1.2 * mae["held_out"]
    assert strange.degree == "act"
    assert "as good as before" not in strange.summary


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


def test_labels_weaken_nothing_that_is_known_without_them():
    detector, X, y = fitted("friedman")
    moved = X.assign(b=X["b"] + 0.2)
    without, labelled = detector.verdict(moved), detector.verdict(moved, y)
    for each in without.checks:
        assert labelled.check(each.kind).p_value == each.p_value


def test_what_looks_worse_and_was_not_found_is_called_what_may_be_chance():
    detector, X, y = fitted("friedman")
    rng = np.random.default_rng(0)
    scale = 0.9 * y.std()
    for _ in range(20):  # until it looks like something and no more
        few = rng.permutation(len(X))[:6]
        verdict = detector.verdict(X.iloc[few], y[few] + scale * rng.normal(size=6))
        loss = verdict.check("loss")
        if loss.degree == "none" and loss.p_value < 1:
            break
        scale *= 0.8 if loss.degree == "act" else 1.1
    assert verdict.degree == "none"
    assert "on 6 labelled rows, which may be chance;" in verdict.summary
    assert "chance" not in detector.verdict(X, y).summary


def test_no_number_that_is_not_tolerated_stands_beside_a_verdict_of_none_without_a_word():
    detector, X, y = fitted("friedman")
    rng, n_worse = np.random.default_rng(0), 0
    for n in (2, 5, 20) * 4:
        some = rng.permutation(len(X))[:n]
        verdict = detector.verdict(X.iloc[some], y[some], tolerated_increase=0.01)
        loss, alarms = verdict.check("loss"), verdict.check("alarms")
        for check, most in ((loss, 1.01 * loss.before), (alarms, max(0.1, alarms.before + 0.01))):
            is_worse = check.now > most and check.degree == "none"
            n_worse += is_worse
            assert check.text.endswith(", which may be chance") == is_worse
        expected = verdict.summary.count("which may be chance")
        assert expected == sum(each.text.endswith("which may be chance") for each in (loss, alarms))
    assert n_worse > 3


def test_rows_of_which_more_is_predicted_may_lose_more_though_the_relation_is_the_same():
    rng = np.random.default_rng(0)
    size = rng.lognormal(sigma=0.8, size=(3000, 1))
    price = size[:, 0] * np.exp(0.3 * rng.normal(size=3000))
    detector = DriftDetector(GBMAPRegressor(4, random_state=0).fit(size[:800], price[:800]))
    detector.fit(size[:800], price[:800], X_cal=size[800:1600], y_cal=price[800:1600])
    large = np.flatnonzero(size[1600:, 0] > 1.5) + 1600
    verdict = detector.verdict(size[large], price[large])
    assert ("loss", None) in kinds(verdict)
    assert verdict.cause == "rows"
    assert detector.verdict(size[large], 1.5 * price[large]).cause == "both"


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


def test_the_p_value_of_larger_losses_is_that_of_all_permutations():
    rng, batches = np.random.default_rng(0), np.array(list(combinations(range(14), 7)))
    for shift in (0.0, 0.5, 1.0, 2.0):
        pooled = rng.exponential(size=14) + shift * (np.arange(14) < 7)
        means = [each[batches].mean(axis=1) for each in (pooled, rankdata(pooled))]
        p_value = 2 * min(np.mean(each >= each[0] * (1 - 1e-9)) for each in means)
        assert larger_losses(pooled[:7], pooled[7:]) == pytest.approx(min(1.0, p_value), rel=0.2, abs=3e-3)


def test_rare_losses_that_are_very_large_are_found_among_many_small_ones():
    rng = np.random.default_rng(0)
    few = np.where(np.arange(1000) < 5, 3.0, rng.exponential(0.05, size=1000))
    many = np.where(np.arange(5000) < 169, 5.0 + rng.random(5000), 0.002 + 1e-4 * rng.random(5000))
    assert larger_losses(many, few) < 0.002  # a third of a large one in a hundred; now three


def test_a_batch_that_loses_much_more_has_the_smallest_p_value_that_draws_could_give():
    assert larger_losses(np.arange(100.0, 200.0), np.arange(100.0)) == pytest.approx(2e-4)


@OFTEN
@pytest.mark.parametrize(("n", "n_before"), [(20, 200), (200, 20), (300, 300)])
def test_the_test_of_losses_keeps_its_level_for_losses_of_any_skew(n, n_before, often):
    rng = np.random.default_rng(0)
    p = [
        larger_losses(rng.standard_t(2, size=n) ** 2, rng.standard_t(2, size=n_before) ** 2)
        for _ in range(35 * often)
    ]
    assert np.mean(np.array(p) <= 0.1) < 0.1 + 3 * np.sqrt(0.09 / len(p))
    assert larger_losses(9 * rng.normal(size=100) ** 2, rng.normal(size=100) ** 2) < 0.001


@pytest.mark.parametrize("n", [1, 5])
def test_few_skewed_predictions_are_no_shift_and_ones_beyond_all_others_are(n):
    rng = np.random.default_rng(0)
    p = [moved_mean(rng.lognormal(sigma=2, size=n), rng.lognormal(sigma=2, size=99)) for _ in range(200)]
    assert np.mean(np.array(p) <= 0.1) < 0.1 + 3 * np.sqrt(0.09 / 200)
    known = rng.normal(size=999)
    for sign in (-1, 1):
        assert moved_mean(np.full(n, sign * 10.0), known) == pytest.approx(0.001 if n == 1 else 1e-4, rel=0.5)


def test_one_row_of_skewed_data_is_no_shift():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(900, 1))
    detector = DriftDetector(GBMAPRegressor(3, random_state=0).fit(X[:200], X[:200, 0]))
    detector.fit(X[:200], X[:200, 0], X_cal=X[200:300], y_cal=X[200:300, 0])
    found = [detector.verdict(X[[k]]).check("prediction").degree for k in range(300, 600)]
    assert found.count("none") == 300  # one row is the farthest of 101 with a chance of 1 / 101


def test_a_shift_is_judged_by_the_rows_held_out_whose_number_counts():
    spreads = np.ones(1), np.ones(1)
    few, many = (shift_p_values(np.array([3.0]), np.zeros(1), spreads, (1, n))[0][0] for n in (3, 3000))
    assert few > 0.1
    assert many < 0.01


@pytest.mark.parametrize("confidence", [pytest.param(0.5, marks=pytest.mark.nightly), 0.9])
def test_an_interval_of_a_mean_covers_it(confidence):
    rng, hits = np.random.default_rng(0), 0
    for _ in range(100):
        losses, batch = rng.lognormal(sigma=0.7, size=100), rng.lognormal(sigma=0.7, size=100)
        low, high = ratio_interval(losses, np.full(100, losses.mean()), 100, confidence)
        hits += low * losses.mean() <= batch.mean() <= high * losses.mean()
    assert hits / 100 == pytest.approx(confidence, abs=0.08)


@pytest.mark.parametrize("heaviness", [-0.4, 0.0, 0.2])
def test_the_tail_of_a_large_batch_has_the_moments_of_single_rows(heaviness, monkeypatch):
    monkeypatch.setattr(_Tail, "_posterior", lambda tail, n, rng: (np.full(n, heaviness), np.ones(n)))
    lost, expected = _Tail(2.0, np.ones(9), np.arange(9.0)).draw(
        np.full(4000, 1000), np.random.default_rng(0)
    )
    deviation = np.sqrt(1000 / (1 - 2 * heaviness)) / (1 - heaviness)  # of generalised Pareto variables
    assert lost.mean() == pytest.approx(1000 * (2 + 1 / (1 - heaviness)), rel=0.002)
    assert lost.std() == pytest.approx(deviation, rel=0.05)
    assert expected.mean() == pytest.approx(4000, rel=0.002)
    assert expected.std() == pytest.approx(np.sqrt(1000 * 60 / 9), rel=0.05)


def test_an_interval_of_the_mean_of_a_billion_rows_is_that_of_a_hundred_thousand():
    losses = np.random.default_rng(0).normal(size=300) ** 2
    many, most = (ratio_interval(losses, np.full(300, losses.mean()), n, 0.9) for n in (10**5, 10**9))
    assert most == pytest.approx(many, rel=0.1)


@pytest.mark.parametrize("n", [1000, pytest.param(100, marks=pytest.mark.nightly)])
def test_an_interval_covers_a_mean_that_a_few_large_losses_make(n):
    rng, hits, widths = np.random.default_rng(3), 0, []
    for _ in range(60):  # squared errors of lognormal noise: Student's bootstrap covers 48 of them
        losses, batch = ((rng.lognormal(sigma=0.7, size=n) - np.exp(0.245)) ** 2 for _ in range(2))
        low, high = ratio_interval(losses, np.full(n, losses.mean()), n, 0.9)
        hits += low * losses.mean() <= batch.mean() <= high * losses.mean()
        widths.append(high - low)
    assert hits >= 51
    assert np.median(widths) < 3  # and says something


@pytest.mark.parametrize(
    ("before", "now", "advice"),
    [
        (lambda x: x, lambda x: 1000 * x, "check its units"),
        (lambda x: x, lambda x: x + 20, "find out why; it is no change of units"),
        (lambda x: 1 + np.abs(x), lambda x: 1000 * (1 + np.abs(x)), "check its units"),
        (
            lambda x: 1 + np.abs(x),
            lambda x: -1000 * (1 + np.abs(x)),
            "find out why; it is no change of units",
        ),
    ],
)
def test_units_are_told_of_columns_that_one_number_may_have_multiplied(before, now, advice):
    x = np.random.default_rng(0).normal(size=(2, 200, 1))
    profile = Profile.of(before(x[0]), [None], np.zeros(1, bool))
    (fact,) = [each for each in facts(profile, profile.batch(now(x[1]))) if each.kind == "units"]
    assert (fact.advice, fact.p_value < 1e-6) == (advice, True)


def test_every_fact_of_a_column_keeps_its_level():
    rng = np.random.default_rng(0)

    def draw(n):
        return pd.DataFrame(
            {
                "even": rng.random(n),
                "skew": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(size=n)),
                "kind": rng.choice([f"k{i}" for i in range(200)], n),
                "often": rng.random(n) < 0.6,
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
    assert set(p_values) == {"missing", "unseen", "range", "units", "stuck"}
    for found in p_values.values():
        assert np.mean(np.array(found) <= 0.1) < 0.15


def test_strange_rows_are_the_same_by_what_columns_hold_and_by_codes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"]).assign(kind=rng.choice(["x", "y"], 300))
    X["many"] = [f"v{k}" for k in rng.integers(0, 200, 300)]  # of which new ones are no surprise
    X.loc[::7, "b"] = np.nan
    model = GBMAPRegressor(1, random_state=0, knots=0, l2_regularization=1.0).fit(X[:200], X["a"][:200])
    detector = DriftDetector(model).fit(X[:200], X["a"][:200], X_cal=X[200:], y_cal=X["a"][200:])
    for k, (column, value) in enumerate(
        [("kind", "new"), ("kind", None), ("a", np.nan), ("b", np.nan), ("many", "new")]
    ):
        X.loc[k::9, column] = value
    monitored = detector.gauge_.monitored
    strange = monitored.profile.strange_columns(X).any(axis=1)
    np.testing.assert_array_equal(monitored.read(X).strange, strange)
    np.testing.assert_array_equal(monitored.profile.strange_codes(monitored.fitted.read_given(X)), strange)
    expected = X["kind"].isin(["x", "y"]) & X["a"].notna()
    np.testing.assert_array_equal(strange, ~expected)


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
    strange = X.assign(kind="mauve")
    good = np.argsort(np.abs(y - detector.estimator_.predict(strange)))[:2]
    few = detector.verdict(strange.iloc[good], y[good])
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
