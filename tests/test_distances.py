"""The two distances: the chain of Eq. 8, certificates, outside references."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor, embedding_distances, path_distances

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=8, deadline=None, derandomize=True)


def random_model(seed, beta=5.0, m=8, p=4):
    """A model of noise, whose learners point anywhere, and rows around its data."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, p))
    model = GBMAPRegressor(
        m, beta=beta, knots=0, l2_regularization=1e-4, max_iter=20, tol=1e-3, random_state=0
    )
    return model.fit(X, rng.normal(size=60)), rng.normal(0, 2, (12, p))


def relu_variation(model, x, y):
    """The variation of the ReLU limit on a segment, exact from its breakpoints."""
    e = model.ensemble_
    z, d = e.project(x[None])[0], e.project(y[None])[0] - e.project(x[None])[0]
    with np.errstate(divide="ignore"):
        breaks = -z / np.where(d == 0, np.nan, d)
    u = np.sort(np.concatenate([[0, 1], breaks[(breaks > 0) & (breaks < 1)]]))
    h = (e.signs * np.maximum(z + u[:, None] * d, 0)).sum(axis=1)
    return np.abs(np.diff(h)).sum()


@given(seed=SEEDS, beta=st.sampled_from([0.3, 1.0, 5.0, 50.0]), log_tol=st.integers(-7, -1))
@FEW
def test_the_chain_of_inequalities_holds_and_the_bound_is_kept(seed, beta, log_tol):
    model, X = random_model(seed, beta)
    embedding = embedding_distances(model, X)
    path, bound = path_distances(model, X, tol=10.0**log_tol, return_bound=True)
    rounding = 1e-12 * embedding.max()
    difference = np.abs(model.predict(X)[:, None] - model.predict(X))
    assert (difference <= path + bound + rounding).all()
    assert (path >= difference - rounding).all()
    assert (path <= embedding + rounding).all()
    assert (bound <= 10.0**log_tol * embedding + rounding).all()
    assert (path + bound <= embedding + rounding).all()


@given(seed=SEEDS, beta=st.sampled_from([0.5, 5.0, 40.0]))
@settings(max_examples=4, deadline=None, derandomize=True)
def test_the_true_path_distance_lies_between_the_result_and_its_bound(seed, beta):
    model, X = random_model(seed, beta)
    path, bound = path_distances(model, X[:3], X[3:5], tol=1e-3, return_bound=True)
    for i in range(3):
        for j in range(2):
            x, d = X[i], X[3 + j] - X[i]

            def slope(u, x=x, d=d):
                return abs(model.ensemble_.gradient((x + u * d)[None])[0, :, 0] @ d)

            z = model.ensemble_.project(np.array([x, x + d]))
            with np.errstate(invalid="ignore"):  # null learners
                breaks = z[0] / (z[0] - z[1])
            inside = np.sort(breaks[(breaks > 0) & (breaks < 1)])
            true, error = quad(slope, 0, 1, points=inside if len(inside) else None, limit=500, epsabs=1e-9)
            assert path[i, j] - error - 1e-9 <= true <= path[i, j] + bound[i, j] + error + 1e-9


def test_a_fine_tolerance_meets_the_numerical_integral():
    model, X = random_model(1)
    path = path_distances(model, X[:1], X[1:2], tol=1e-8)[0, 0]
    u = np.linspace(0, 1, 200_001)[:, None]
    along = model.predict(X[:1] + u * (X[1:2] - X[:1]))
    assert path == pytest.approx(np.abs(np.diff(along)).sum(), rel=1e-7)


@given(seed=SEEDS)
@FEW
def test_sharp_softplus_meets_the_breakpoints_of_relu(seed):
    model, X = random_model(seed, beta=200.0)
    gap = 2 * (np.log(2) / model.ensemble_.beta).sum()
    path, bound = path_distances(model, X[:4], X[4:8], return_bound=True)
    expected = np.array([[relu_variation(model, x, y) for y in X[4:8]] for x in X[:4]])
    assert (np.abs(path - expected) <= gap + bound + 1e-9).all()


@given(seed=SEEDS)
@FEW
def test_the_embedding_distance_is_a_pseudo_metric_in_the_units_of_y(seed):
    model, X = random_model(seed)
    d = embedding_distances(model, X)
    np.testing.assert_allclose(d, cdist(model.transform(X), model.transform(X), "cityblock"), rtol=1e-10)
    np.testing.assert_array_equal(d, d.T)
    assert not np.diag(d).any()
    assert (d[:, :, None] <= d[:, None] + d.T[None] + 1e-9).all()


def test_both_bounds_are_tight_where_all_learners_rise_together():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = GBMAPRegressor(6, monotonic_cst=[1, 1, 1], random_state=0).fit(X, np.exp(X.sum(axis=1) / 2))
    low, high = X[:20], X[:20] + np.abs(X[20:40])
    path, embedding = (
        np.diag(path_distances(model, low, high)),
        np.diag(embedding_distances(model, low, high)),
    )
    rise = model.predict(high) - model.predict(low)
    np.testing.assert_allclose(path, rise, rtol=1e-9)
    np.testing.assert_allclose(embedding, rise, rtol=1e-9)


def test_columns_without_weight_do_not_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 2] = 7.0
    model = GBMAPRegressor(8, random_state=0).fit(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 3])
    moved = X[:20] + np.array([0, 0, 1000, 0])
    np.testing.assert_array_equal(embedding_distances(model, moved), embedding_distances(model, X[:20]))
    np.testing.assert_array_equal(path_distances(model, moved), path_distances(model, X[:20]))
    assert not np.diag(path_distances(model, X[:20], moved)).any()


@pytest.mark.parametrize("distances", [embedding_distances, path_distances])
def test_outputs_are_added_up_or_picked(distances):
    X, y = load_iris(return_X_y=True)
    model = GBMAPClassifier(4, random_state=0).fit(X, y)
    each = [distances(model, X[:9], X[50:60], output=k) for k in model.classes_]
    np.testing.assert_allclose(distances(model, X[:9], X[50:60]), sum(each), rtol=1e-12)
    with pytest.raises(ValueError, match=r"output must be one of \[0, 1, 2\].*got 3"):
        distances(model, X, output=3)


def test_a_linear_model_has_one_distance():
    X, y = load_diabetes(return_X_y=True)
    model = GBMAPRegressor(1, knots=0, activation="identity", random_state=0).fit(X, y)
    expected = np.abs(model.predict(X[:30])[:, None] - model.predict(X[:30]))
    path, bound = path_distances(model, X[:30], return_bound=True)
    np.testing.assert_allclose(path, expected, atol=1e-9)
    np.testing.assert_allclose(embedding_distances(model, X[:30]), expected, atol=1e-9)
    assert not bound.any()


def test_an_initial_model_does_not_count():
    X, y = make_friedman1(200, random_state=0)
    model = GBMAPRegressor(5, knots=0, init=LinearRegression(), random_state=0).fit(X, y)
    h = model.transform(X[:20]).sum(axis=1)
    assert (path_distances(model, X[:20]) >= np.abs(h[:, None] - h) - 1e-9).all()
    assert (path_distances(model, X[:20]) <= embedding_distances(model, X[:20]) + 1e-9).all()


@pytest.mark.parametrize("distances", [embedding_distances, path_distances])
def test_any_kind_of_rows_and_number_of_threads_gives_the_same(distances):
    X, y = make_friedman1(300, random_state=0)
    model = GBMAPRegressor(6, knots=0, random_state=0, n_jobs=1).fit(X, y)
    expected = distances(model, X, X[:100])
    for rows in (scipy.sparse.csr_array(X), np.asfortranarray(X)):
        np.testing.assert_allclose(distances(model, rows, X[:100]), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(distances(model.set_params(n_jobs=2), X, X[:100]), expected)
    np.testing.assert_allclose(distances(model, X)[:, :100], expected, rtol=1e-12)
    near = distances(model, X.astype(np.float32), X[:100].astype(np.float32))
    np.testing.assert_allclose(near, expected, atol=1e-5 * expected.max())


def test_a_pipeline_gives_the_distances_of_its_last_step():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(50, 9, 100), "kind": rng.choice(list("uvw"), 100)})
    y = X["size"] * (X["kind"] == "u")
    steps = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["kind"]))
    for before in (steps, make_pipeline(steps, PCA(3))):
        model = make_pipeline(before, GBMAPRegressor(4, random_state=0)).fit(X, y)
        for distances in (embedding_distances, path_distances):
            expected = distances(model[-1], model[:-1].transform(X))
            np.testing.assert_array_equal(distances(model, X), expected)


def test_neighbours_in_the_embedding_are_a_pipeline():
    X, y = make_friedman1(400, random_state=0)
    model = make_pipeline(GBMAPRegressor(6, random_state=0), KNeighborsRegressor(5, metric="manhattan")).fit(
        X, y
    )
    nearest = np.argsort(embedding_distances(model[0], X[:50], X), axis=1, kind="stable")[:, :5]
    np.testing.assert_allclose(model.predict(X[:50]), y[nearest].mean(axis=1), rtol=1e-9)


@pytest.mark.parametrize("tol", [0, -1.0, 1e-12, np.nan, "small"])
def test_an_impossible_tolerance_is_named(tol):
    model, X = random_model(0)
    with pytest.raises(ValueError, match="tol must be a number of at least 1e-09, got"):
        path_distances(model, X, tol=tol)


def test_other_columns_and_other_models_are_refused():
    model, X = random_model(0)
    with pytest.raises(ValueError, match="X has 3 features, but GBMAPRegressor is expecting 4"):
        embedding_distances(model, X, X[:, :3])
    with pytest.raises(TypeError, match=r"model must be a fitted GBMAP.*got LinearRegression"):
        path_distances(LinearRegression(), X)


def bent_table(n=300, seed=0):
    """Numbers, one of them with gaps, and a category: y bends in the first."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"size": rng.normal(50, 9, n), "age": rng.gamma(2.0, 20.0, n), "rank": rng.normal(size=n)}
    )
    X["kind"] = rng.choice(list("uvw"), n)
    X.loc[rng.random(n) < 0.2, "age"] = np.nan
    y = np.abs(X["size"] - 50) + 8 * (X["kind"] == "u") + X["age"].isna() * 5 + np.sin(X["rank"])
    return X, y


@pytest.fixture(scope="module")
def bent():
    X, y = bent_table()
    return X, GBMAPRegressor(6, knots=4, random_state=0).fit(X, y)


def numbers_between(X, i, j, u):
    """Rows on the line between two rows that are alike but for their numbers."""
    rows = pd.concat([X.iloc[[i]]] * len(u), ignore_index=True)
    for name in X.columns[:3]:
        rows[name] = X[name].iloc[i] + u * (X[name].iloc[j] - X[name].iloc[i])
    return rows


def test_where_columns_bend_the_variation_is_that_of_the_prediction_on_the_line(bent):
    X, model = bent
    alike = np.flatnonzero((X["kind"] == "u") & X["age"].notna())[:6]
    path, bound = path_distances(model, X.iloc[alike], tol=1e-7, return_bound=True)
    u = np.linspace(0, 1, 40_001)
    for i, j in [(0, 1), (2, 3), (5, 4)]:
        along = model.predict(numbers_between(X, alike[i], alike[j], u))
        assert path[i, j] == pytest.approx(np.abs(np.diff(along)).sum(), rel=1e-5)
    assert (bound <= 1e-4 * path.max()).all()


def test_where_columns_bend_the_result_and_its_bound_enclose_the_truth_and_the_difference(bent):
    X, model = bent
    rows = X[:40]
    difference = np.abs(model.predict(rows)[:, None] - model.predict(rows))
    fine, finer = path_distances(model, rows, tol=1e-8, return_bound=True)
    for tol in (1e-1, 1e-3):
        path, bound = path_distances(model, rows, tol=tol, return_bound=True)
        assert (path <= fine + finer + 1e-9).all()
        assert (fine <= path + bound + 1e-9).all()
        assert (path >= difference - 1e-9).all()
        np.testing.assert_array_equal(path, path.T)
        np.testing.assert_allclose(path_distances(model, rows, rows, tol=tol), path, atol=2 * bound.max())
    assert not np.diag(path).any()


def test_cutting_a_line_in_two_adds_up(bent):
    X, model = bent
    alike = np.flatnonzero((X["kind"] == "v") & X["age"].notna())[:2]
    ends = numbers_between(X, *alike, np.array([0.0, 0.37, 1.0]))
    path = path_distances(model, ends, tol=1e-8)
    assert path[0, 1] + path[1, 2] == pytest.approx(path[0, 2], rel=1e-6)


def test_a_line_from_a_gap_or_between_categories_leads_evenly_over(bent):
    X, model = bent
    row = X[X["age"].notna() & (X["kind"] == "u")].iloc[[0]]
    kind, gap = row.assign(kind="w"), row.assign(age=np.nan)
    for other in (kind, gap):
        path = path_distances(model, row, other, tol=1e-8)[0, 0]
        assert path >= abs(model.predict(row) - model.predict(other))[0] - 1e-9
        assert path <= embedding_distances(model, row, other)[0, 0] * (1 + 1e-9) or other is gap


def test_a_column_that_rises_and_falls_can_be_further_than_the_embedding_tells():
    x = np.linspace(-1, 1, 400)[:, None]
    model = GBMAPRegressor(1, knots=1, random_state=0).fit(x, np.abs(x[:, 0] - 0.2))
    ends = np.array([[-0.9], [0.9]])
    along = model.predict(np.linspace(-0.9, 0.9, 20_001)[:, None])
    assert embedding_distances(model, ends)[0, 1] < 0.6
    assert path_distances(model, ends)[0, 1] > 1.2
    assert path_distances(model, ends)[0, 1] == pytest.approx(np.abs(np.diff(along)).sum(), rel=1e-3)


def test_bent_paths_of_linear_learners_are_sums_over_their_pieces():
    X, y = make_friedman1(300, random_state=0)
    model = GBMAPRegressor(2, knots=3, activation="identity", random_state=0).fit(X, y)
    path, bound = path_distances(model, X[:1], X[1:2], return_bound=True)
    along = model.predict(X[:1] + np.linspace(0, 1, 40_001)[:, None] * (X[1:2] - X[:1]))
    assert path[0, 0] == pytest.approx(np.abs(np.diff(along)).sum(), rel=1e-4)
    assert not bound.any()


def test_bent_paths_are_the_same_for_any_number_of_threads_and_add_up_over_outputs(bent, monkeypatch):
    X, model = bent
    expected = path_distances(model, X[:30], X[30:60])
    monkeypatch.setattr("gbmap.distances._CUT_NUMBERS_AT_A_TIME", 1 << 12)
    for n_jobs in (1, 2):
        found = path_distances(model.set_params(n_jobs=n_jobs), X[:30], X[30:60])
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    model.set_params(n_jobs=None)
    classes = GBMAPClassifier(3, knots=2, random_state=0).fit(X, X["kind"].to_numpy() + "!")
    each = [path_distances(classes, X[:9], X[9:20], output=k) for k in classes.classes_]
    np.testing.assert_allclose(path_distances(classes, X[:9], X[9:20]), sum(each), rtol=1e-12)
