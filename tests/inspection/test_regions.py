"""Regions against a row by row count, and descriptions against a reader who goes by them."""

import re
from collections import Counter

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core.ensemble import Ensemble
from gbmap.inspection import explain, learner_cards, regions

mpl.use("agg")


def draw(n=150, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.abs(X[:, 0]) + np.maximum(X[:, 1], 0.3) + 0.1 * rng.standard_normal(n)


def classes(y, n_classes):
    return np.array(["a", "b", "c"])[:n_classes][np.digitize(y, np.quantile(y, [0.4, 0.7])[: n_classes - 1])]


def regressor(**options):
    return GBMAPRegressor(**{"n_components": 4, "l2_regularization": 1e-3, "random_state": 0, **options})


def classifier(**options):
    return GBMAPClassifier(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0, **options})


def with_learners(X, weights, offsets):
    """Return a model whose learners have given weights."""
    weights, offsets = np.array(weights, dtype=float), np.array(offsets, dtype=float)
    m, p = weights.shape
    model = GBMAPRegressor(1, l2_regularization=1.0, random_state=0).fit(X, np.arange(len(X), dtype=float))
    model.ensemble_ = Ensemble(
        np.zeros(m), np.ones(m), weights, offsets, np.ones(m), np.zeros(m, int), "softplus", 1, np.zeros(p)
    )
    return model


def active(model, X, output=0):
    ensemble = model.ensemble_
    mine = ensemble.outputs == output
    return X @ ensemble.weights[mine].T + ensemble.offsets[mine] > 0


@given(seed=st.integers(0, 2**32 - 1), m=st.sampled_from([1, 7, 8, 9, 30]), max_regions=st.integers(1, 12))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_regions_are_the_patterns_counted_row_by_row(seed, m, max_regions):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 2))
    model = with_learners(X, rng.standard_normal((m, 2)), rng.standard_normal(m))
    found = regions(model, X, max_regions=max_regions)
    rows = [tuple(row) for row in active(model, X)]
    expected = sorted(Counter(rows).items(), key=lambda each: (-each[1], each[0]))
    assert found.n_patterns == len(expected)
    kept = expected[:max_regions]
    assert [tuple(pattern) for pattern in found.patterns] == [pattern for pattern, _ in kept]
    assert found.n_rows.tolist() == [count for _, count in kept]
    assert_allclose(found.share, found.n_rows / 60)
    position = {pattern: r for r, (pattern, _) in enumerate(kept)}
    assert found.labels.tolist() == [position.get(row, -1) for row in rows]
    assert_array_equal(found.assign(X), found.labels)


def test_new_rows_are_assigned_to_regions_left_out_patterns_and_unseen_ones():
    X = np.array([[1.0, 1], [2, 1], [3, 1], [-1, 1], [-2, 1], [1, -1]])
    model = with_learners(X, [[1, 0], [0, 1]], [0, 0])
    found = regions(model, X, max_regions=2)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, -1]
    assert found.assign([[9.0, 9], [-9, 9], [9, -9], [-9, -9]]).tolist() == [0, 1, -1, -2]


def test_assignment_outlives_another_fit_of_the_model():
    X, y = draw()
    model = regressor().fit(X, y)
    found = regions(model, X)
    model.set_params(n_components=1).fit(X, -y)
    assert_array_equal(found.assign(X), found.labels)


def test_two_hundred_learners_are_no_trouble():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    model = with_learners(X, rng.standard_normal((200, 2)), rng.standard_normal(200))
    found = regions(model, X, max_regions=5)
    assert_array_equal(found.patterns[found.labels[found.labels >= 0]], active(model, X)[found.labels >= 0])
    assert found.patterns.shape == (5, 200)


@pytest.mark.parametrize("init", [None, LinearRegression()])
def test_means_of_a_regression_are_those_of_its_rows(init):
    X, y = draw()
    y_new = y + X[:, 2]
    model = regressor(init=init).fit(X, y)
    found, f = regions(model, X, y_new), model.predict(X)
    local = explain(model, X).coefficients
    assert found.n_patterns > 3
    for r in range(len(found.n_rows)):
        mine = found.labels == r
        assert_allclose(found.mean_prediction[r], f[mine].mean())
        assert_allclose(found.mean_target[r], y_new[mine].mean())
        assert_allclose(found.mean_loss[r], np.square(y_new - f)[mine].mean())
        assert_allclose(found.bias[r], (y_new - f)[mine].mean(), atol=1e-12)
        assert_allclose(found.coefficients[r], local[mine].mean(axis=0))


def test_the_loss_is_the_one_of_the_fit():
    X, y = draw()
    for options in ({"loss": "huber", "huber_delta": 0.2}, {"loss": "quantile", "quantile": 0.9}):
        model = regressor(**options).fit(X, 50 * y)
        found = regions(model, X, 50 * y, max_regions=1000)
        assert_allclose(found.mean_loss @ found.share, model.loss_curve_[-1], rtol=1e-9)


def test_of_two_classes_the_bias_is_observed_less_expected_share_of_the_second():
    X, y = draw()
    y = classes(y, 2)
    model = classifier().fit(X, y)
    found, p = regions(model, X, y.tolist()), model.predict_proba(X)[:, 1]
    for r in range(len(found.n_rows)):
        mine = found.labels == r
        assert_allclose(found.mean_prediction[r], model.decision_function(X)[mine].mean())
        assert_allclose(found.mean_target[r], np.mean(y[mine] == "b"))
        assert_allclose(found.bias[r], np.mean(y[mine] == "b") - p[mine].mean(), atol=1e-12)
        assert_allclose(found.mean_loss[r], -np.log(np.where(y == "b", p, 1 - p))[mine].mean(), rtol=1e-9)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_of_three_classes_one_is_chosen(loss):
    X, y = draw()
    y = classes(y, 3)
    model = classifier(loss=loss).fit(X, y)
    for k, label in enumerate("abc"):
        found = regions(model, X, pd.Series(y, index=range(7, 157)), output=label)
        expected = model.predict_proba(X)[:, k] if loss == "log_loss" else model.predict(X) == label
        local = explain(model, X).coefficients[..., k]
        score, sign = model.decision_function(X)[:, k], np.where(y == label, 1.0, -1.0)
        assert_array_equal(found.patterns[found.labels], active(model, X, k))
        assert_array_equal(found.half_spaces, learner_cards(model, X).half_spaces[k::3])
        for r in range(len(found.n_rows)):
            mine = found.labels == r
            assert_allclose(
                found.bias[r], np.mean((y == label) - expected.astype(float), where=mine), atol=1e-12
            )
            assert_allclose(found.coefficients[r], local[mine].mean(axis=0))
            assert_allclose(found.mean_prediction[r], score[mine].mean())
            assert_allclose(found.mean_loss[r], model._make_loss().value(sign, score)[mine].mean())


def test_of_several_targets_one_is_chosen():
    X, y = draw()
    Y = np.column_stack([y, np.cos(X[:, 2])])
    model = regressor().fit(X, Y)
    found = regions(model, X, Y, output=1, max_regions=1000)
    assert_array_equal(found.patterns[found.labels], active(model, X, 1))
    residual = (Y - model.predict(X))[:, 1]
    assert_allclose(
        found.bias, [residual[found.labels == r].mean() for r in range(len(found.n_rows))], atol=1e-12
    )
    assert_allclose(found.mean_loss @ found.share, np.square(residual).mean())


def test_a_linear_model_has_one_region():
    X, y = draw()
    model = regressor(activation="identity", n_components=2).fit(X, y)
    found = regions(model, X, y)
    assert (found.patterns.tolist(), found.n_rows.tolist(), found.n_patterns) == ([[True, True]], [150], 1)
    assert (found.descriptions[0], found.precision[0], found.coverage[0]) == ("everywhere", 1, 1)
    assert [words.split(", ")[0] for words in found.half_spaces] == ["everywhere", "everywhere"]
    assert_array_equal(found.assign(100 * X), np.zeros(150))


@pytest.mark.parametrize("p", [3, 8])
def test_precision_and_coverage_are_those_of_a_reader(p, read_words):
    X, y = draw(p=p)
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(p)])
    found = regions(regressor(n_components=6).fit(X, y), X, max_regions=8)
    is_told = np.isfinite(found.precision)
    assert is_told.any()
    for r in np.flatnonzero(is_told):
        satisfying, inside = read_words(found.descriptions[r], table), found.labels == r
        assert found.precision[r] == np.mean(inside[satisfying]) >= 0.8
        assert found.coverage[r] == np.mean(satisfying[inside])
    assert all(words.startswith("by ") for words in found.descriptions[~is_told])
    assert np.isnan(found.coverage[~is_told]).all()


def test_descriptions_name_no_more_conditions_than_they_need():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 3))
    # The first splits the rows in halves; the others hold but for a few rows of the upper half.
    model = with_learners(X, [[1, 0, 0], [1, 1, 0], [1, 0, 1]], [0, 0.75, 0.75])
    found = regions(model, X)
    above = [pattern.all() for pattern in found.patterns].index(True)
    assert re.fullmatch(r"x0 > 0(\.0\d)?", found.descriptions[above])
    assert 0.95 < found.precision[above] < 1


def test_a_region_with_sides_along_columns_is_told_exactly():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 3))
    model = with_learners(X, np.eye(3), [0.6, -0.5, 0.2])
    found = regions(model, X)
    all_on = found.descriptions[[pattern.all() for pattern in found.patterns].index(True)]
    assert all_on == "x0 > -0.6 and x1 > 0.5 and x2 > -0.2"
    none_on = found.descriptions[[pattern.any() for pattern in found.patterns].index(False)]
    assert none_on == "x0 <= -0.6 and x1 <= 0.5 and x2 <= -0.2"
    assert (found.precision > 0.9).all()
    assert (found.coverage > 0.9).all()


def test_through_a_pipeline_regions_are_in_the_users_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice(["Oslo", "Rome", "Kyiv"], 200), "age": rng.normal(50, 12, 200)})
    y = np.abs(X["age"] - 45) / 5 + 3.0 * (X["city"] == "Oslo")
    before = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["age"]))
    model = make_pipeline(before, regressor()).fit(X, y)
    found = regions(model, X, y)
    local = explain(model, X).coefficients
    assert_array_equal(found.feature_names, ["city", "age"])
    assert_array_equal(found.patterns[found.labels], active(model[-1], before.fit_transform(X)))
    for r in range(len(found.n_rows)):
        assert_allclose(found.coefficients[r], local[found.labels == r].mean(axis=0))
    assert any("age" in words for words in found.descriptions)
    assert_array_equal(found.assign(X.head(20)), found.labels[:20])


@pytest.mark.parametrize("kind", ["polars", "pandas", "coo", "csc", "list", "float32"])
def test_any_kind_of_rows_gives_the_same_regions(kind):
    X, y = draw()
    X = np.where(X > 0, X, 0.0).astype(np.float32).astype(np.float64)
    names = ["x0", "x1", "x2"]
    make = {
        "polars": lambda: pl.DataFrame(X, schema=names),
        "pandas": lambda: pd.DataFrame(X, columns=names, index=range(150, 300)),
        "coo": lambda: scipy.sparse.coo_matrix(X),
        "csc": lambda: scipy.sparse.csc_matrix(X),
        "list": X.tolist,
        "float32": lambda: X.astype(np.float32),
    }[kind]
    bare = regressor().fit(X, y)
    model = regressor().fit(make(), y) if kind in ("polars", "pandas") else bare
    expected, found = regions(bare, X, y), regions(model, make(), y.tolist())
    assert_array_equal(found.labels, expected.labels)
    assert_allclose(found.coefficients, expected.coefficients, rtol=1e-6, atol=1e-9)
    assert_allclose(found.mean_loss, expected.mean_loss, rtol=1e-4)
    assert found.descriptions.tolist() == expected.descriptions.tolist()
    assert_array_equal(found.assign(make()), expected.labels)


def test_coefficients_of_large_regions_are_added_up_in_parts(monkeypatch):
    X, y = draw()
    model = regressor().fit(X, y)
    expected = regions(model, X).coefficients
    monkeypatch.setattr("gbmap.inspection.region._WORK_NUMBERS", 21)
    assert_allclose(regions(model, X).coefficients, expected, rtol=1e-12)


def test_the_frame_has_a_row_per_region():
    X = np.array([[1.0, 1], [2, 1], [3, 1], [-1, 1], [-2, 1], [-1, -1]])
    found = regions(with_learners(X, [[1, 0], [0, 1]], [0, 0]), X)
    frame = found.to_frame()
    assert frame["active_learners"].tolist() == ["f1, f2", "f2", "none"]
    assert frame["n_rows"].tolist() == [3, 2, 1]
    assert_array_equal(frame["description"], found.descriptions)
    assert not {"mean_target", "mean_loss", "bias"} & set(frame.columns)
    with_y = regions(with_learners(X, [[1, 0], [0, 1]], [0, 0]), X, np.arange(6.0))
    assert_allclose(with_y.to_frame()["mean_target"], [1.0, 3.5, 5.0])
    assert_allclose(with_y.to_frame()["bias"], with_y.bias)


def test_few_learners_tell_regions_apart_that_hold_most_rows():
    X = np.random.default_rng(0).normal(size=(400, 6))
    model = with_learners(X, np.diag([1.0, 1, 1, 1, 1, 3]), np.zeros(6))
    assert regions(model, X, max_regions=8).share.sum() < 0.5
    strongest = regions(model, X, n_learners=1)
    assert strongest.learner_names.tolist() == ["f6"]
    assert strongest.assign(X).tolist() == strongest.labels.tolist()
    assert strongest.precision.min() > 0.95
    found = regions(model, X, max_regions=8, n_learners="auto")
    assert found.patterns.shape == (8, 3)
    assert found.share.sum() == 1
    assert found.learner_names[-1] == "f6"
    for n_learners in (0, 1.5, "all"):
        with pytest.raises(ValueError, match=r'n_learners must be an integer of at least 1, "auto", or None'):
            regions(model, X, n_learners=n_learners)


def test_a_value_of_each_region_is_drawn():
    X, y = draw()
    found = regions(regressor().fit(X, y), X, y, max_regions=3)
    _, ax = plt.subplots()
    assert found.plot(ax=ax).ax_ is ax
    assert_array_equal([bar.get_width() for bar in ax.patches], found.mean_prediction)
    assert_array_equal(found.plot("mean_loss").values, found.mean_loss)
    assert found.plot().names[1].startswith("1: ")
    plt.close("all")


def test_faults_are_told_with_the_way_out():
    X, y = draw()
    model, three = regressor().fit(X, y), classes(y, 3)
    for max_regions in (0, 2.5, None):
        with pytest.raises(
            ValueError, match=f"max_regions must be an integer of at least 1, got {max_regions}"
        ):
            regions(model, X, max_regions=max_regions)
    with pytest.raises(ValueError, match=r"output must be one of \['a', 'b', 'c'\].*got None"):
        regions(classifier().fit(X, three), X)
    with pytest.raises(ValueError, match="y must have as many rows as X, 150, got 3"):
        regions(model, X, y[:3])
    with pytest.raises(ValueError, match=r"y must hold classes of the fit only.*got \['z'\]"):
        regions(classifier().fit(X, three), X, np.where(three == "a", "z", three), output="a")
    with pytest.raises(ValueError, match=r"value must be one of .*got 'loss'"):
        regions(model, X).plot("loss")
    with pytest.raises(ValueError, match="value='bias' needs y; pass it to regions"):
        regions(model, X).plot("bias")


def test_where_columns_bend_regions_are_patterns_with_the_users_columns_in_words():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    X["kind"] = rng.choice(["u", "v", "w"], 300)
    X.loc[::6, "b"] = np.nan
    y = np.abs(X["a"]) + np.exp(X["b"].fillna(0)) + 3 * (X["kind"] == "u")
    model = regressor(knots=4).fit(X, y)
    found = regions(model, X, y, max_regions=100)
    assert found.n_rows.sum() == 300
    assert_array_equal(found.assign(X), found.labels)
    assert_allclose(found.share @ found.mean_prediction, model.predict(X).mean())
    assert_allclose(found.share @ found.bias, (y - model.predict(X)).mean(), atol=1e-9)
    local = explain(model, X).coefficients
    for label in range(len(found.n_rows)):
        assert_allclose(found.coefficients[label], local[found.labels == label].mean(axis=0), atol=1e-9)
    assert found.coefficients.shape[1] == 4
    assert not any("from" in words for words in [*found.descriptions, *found.half_spaces])
    is_told = np.isfinite(found.precision)
    assert found.share[is_told].sum() > 0.6
    assert (found.precision[is_told] >= 0.8).all()
