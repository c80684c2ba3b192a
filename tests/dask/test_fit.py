"""A fit of a Dask collection is the local fit, to the bit, however the rows were cut."""

import pickle
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from gbmap import GBMAPClassifier, GBMAPRegressor

N = 100_000
UNEVEN = (3, 30_000, 0, 1, 49_996, 20_000)
# Without bends and refinement, which two tests are about: a fit takes a quarter of the rounds.
PLAIN = {"knots": 0, "refine": False, "random_state": 0}


@pytest.fixture(scope="module")
def problem(problem):
    """Half of the rows: four blocks."""
    return tuple(each[:N] for each in problem)


@pytest.fixture(scope="module")
def local(problem):
    return GBMAPRegressor(2, **PLAIN).fit(*problem)


@pytest.mark.parametrize(("n_parts", "settings"), [(1, PLAIN), (3, {"random_state": 0}), (100, PLAIN)])
def test_fit_of_an_array_has_the_bits_of_the_local_fit(problem, parts, contents, n_parts, settings):
    X, y = problem
    parts(n_parts)
    local = GBMAPRegressor(2, **settings).fit(X, y)
    model = GBMAPRegressor(2, **settings).fit(
        da.from_array(X, chunks=(70_001, 3)), da.from_array(y, chunks=33_000)
    )
    np.testing.assert_array_equal(contents(model), contents(local))
    np.testing.assert_array_equal(model.predict(X[:100]), local.predict(X[:100]))


def test_parts_make_inputs_as_all_rows_do_where_only_parts_are_few_enough_to_keep_them(
    problem, parts, contents, monkeypatch
):
    X, y = problem
    monkeypatch.setattr("gbmap._rows.blocks._KEPT_BYTES", X.nbytes * 4)  # inputs have seven times that
    local = GBMAPRegressor(1, random_state=0).fit(X - X.mean(axis=0), y)
    parts(3)
    model = GBMAPRegressor(1, random_state=0).fit(da.from_array(X - X.mean(axis=0), chunks=50_000), y)
    assert model.ensemble_.weights.shape[1] >= 7 * X.shape[1]
    np.testing.assert_array_equal(contents(model), contents(local))


def test_uneven_and_empty_chunks_and_numpy_targets_change_no_bit(problem, local, contents):
    X, y = problem
    model = GBMAPRegressor(2, **PLAIN).fit(da.from_array(X, chunks=(UNEVEN, (4,))), y)
    np.testing.assert_array_equal(contents(model), contents(local))


@pytest.fixture(scope="module")
def frame(problem):
    X, y = problem
    return pd.DataFrame(X.astype(np.float64), columns=list("abcd")).assign(y=y)


def test_frame_of_unknown_lengths_has_the_bits_of_the_local_fit(frame, contents):
    local = GBMAPRegressor(2, **PLAIN).fit(frame[list("abcd")], frame["y"])
    table = dd.from_pandas(frame, npartitions=5).query("y > -100")
    model = GBMAPRegressor(2, **PLAIN).fit(table[list("abcd")], table["y"])
    np.testing.assert_array_equal(contents(model), contents(local))
    assert model.feature_names_in_.tolist() == list("abcd")
    array = table[list("abcd")].to_dask_array()  # of unknown lengths too
    again = GBMAPRegressor(2, **PLAIN).fit(array, table["y"].to_dask_array())
    np.testing.assert_array_equal(contents(again), contents(local))


def test_partitions_of_a_frame_may_be_empty_and_other_than_those_of_y(frame, contents):
    table = dd.from_pandas(frame, npartitions=5)
    without = table.map_partitions(lambda part: part.iloc[:0] if part.index[0] == 0 else part)
    X, y = without[list("abcd")], without["y"].repartition(npartitions=2)
    rows = frame.iloc[N // 5 :]
    local = GBMAPRegressor(1, **PLAIN).fit(rows[list("abcd")], rows["y"])
    np.testing.assert_array_equal(contents(GBMAPRegressor(1, **PLAIN).fit(X, y)), contents(local))


@pytest.mark.parametrize("weight_as", [np.asarray, lambda w: da.from_array(w, chunks=41_000)])
def test_weights_of_either_kind_have_the_bits_of_the_local_fit(problem, parts, contents, weight_as):
    X, y = problem
    parts(5)
    weight = np.random.default_rng(1).exponential(size=N) * (np.arange(N) % 3 > 0) * 1000
    local = GBMAPRegressor(1, **PLAIN).fit(X, y, weight)
    model = GBMAPRegressor(1, **PLAIN).fit(da.from_array(X, chunks=50_000), y, weight_as(weight))
    np.testing.assert_array_equal(contents(model), contents(local))


def test_weights_that_float32_takes_for_none_have_the_bits_of_the_local_fit(problem, parts, contents):
    X, y = problem
    parts(5)
    weight = np.where(np.random.default_rng(1).uniform(size=N) < 0.1, 1.0, 1e-60)
    local = GBMAPRegressor(1, **PLAIN).fit(X, y, weight)
    model = GBMAPRegressor(1, **PLAIN).fit(da.from_array(X, chunks=50_000), y, weight)
    np.testing.assert_array_equal(contents(model), contents(local))


@pytest.mark.parametrize("unit", [1e-200, 1e-25, 1e25])
def test_targets_of_any_spread_have_the_bits_of_the_local_fit(problem, parts, contents, unit):
    X, y = (each[:20_000] for each in problem)
    parts(3)
    weight = np.r_[0.0, np.ones(len(y) - 1)]
    target = np.r_[1e100, unit * y[1:]]
    local = GBMAPRegressor(1, **PLAIN).fit(X, target, weight)
    model = GBMAPRegressor(1, **PLAIN).fit(da.from_array(X, chunks=6_000), target, weight)
    np.testing.assert_array_equal(contents(model), contents(local))
    assert np.corrcoef(model.predict(X[1:]) / unit, y[1:])[0, 1] > 0.5


@pytest.mark.parametrize(("labels", "settings"), [(["no", "yes"], {"random_state": 0}), ([3, 5, 9], PLAIN)])
def test_classes_have_the_bits_of_the_local_fit(problem, parts, contents, labels, settings):
    X, y = problem
    parts(4)
    classes = np.array(labels)[np.digitize(y, [0.2, 1.0][: len(labels) - 1])]
    settings = {"class_weight": "balanced", **settings}
    local = GBMAPClassifier(2, **settings).fit(X, classes)
    model = GBMAPClassifier(2, **settings).fit(
        da.from_array(X, chunks=50_000), da.from_array(classes, chunks=60_000)
    )
    np.testing.assert_array_equal(contents(model), contents(local))
    np.testing.assert_array_equal(model.classes_, local.classes_)
    assert model.classes_.dtype == local.classes_.dtype


def test_several_targets_have_the_bits_of_the_local_fit(problem, contents):
    X, y = problem
    targets = np.column_stack([y, X[:, 0] - y])
    local = GBMAPRegressor(1, **PLAIN).fit(X, targets)
    model = GBMAPRegressor(1, **PLAIN).fit(
        da.from_array(X, chunks=50_000), da.from_array(targets, chunks=(80_000, 1))
    )
    np.testing.assert_array_equal(contents(model), contents(local))
    assert model.predict(X[:3]).shape == (3, 2)


def test_columns_beyond_float32_and_an_odd_one_have_the_bits_of_the_local_fit(problem, parts, contents):
    X, y = problem
    parts(3)
    X = X.copy()
    X[:, 1] *= 1e-32
    X[:, 3] = 1e-25 * np.arange(N)
    local = GBMAPRegressor(1, random_state=0).fit(X, y)
    model = GBMAPRegressor(1, random_state=0).fit(da.from_array(X, chunks=50_000), y)
    np.testing.assert_array_equal(contents(model), contents(local))


def test_few_rows_are_fitted_in_memory_where_their_order_does_not_count(problem, contents):
    X, y = (each[:500] for each in problem)
    local = GBMAPRegressor(2, random_state=0).fit(X[::-1].copy(), y[::-1])
    model = GBMAPRegressor(2, random_state=0).fit(da.from_array(X, chunks=100), da.from_array(y, chunks=70))
    np.testing.assert_array_equal(contents(model), contents(local))


def test_rows_that_are_not_cut_anew_give_the_same_loss(problem, local, contents):
    X, y = problem
    with dask.config.set({"gbmap.recut": False}):
        model = GBMAPRegressor(2, **PLAIN).fit(da.from_array(X, chunks=(UNEVEN, (4,))), y)
    assert (contents(model) != contents(local)).any()  # or the rows were cut after all
    assert model.loss_curve_[0] == pytest.approx(local.loss_curve_[0], rel=1e-6)
    assert abs(model.loss_curve_[-1] - local.loss_curve_[-1]) <= 10 * model.tol * local.loss_curve_[0]


@pytest.mark.parametrize("recut", [True, False])
def test_candidates_of_one_round_have_the_local_loss_and_gradient(problem, monkeypatch, recut):
    X, y = problem

    def evaluate(X):
        def first_round(problem, *rest):
            found.append(problem.rows.value_and_gradient(problem.objective, 0, thetas, np.array([1.0, -1.0])))
            raise InterruptedError

        thetas, found = np.random.default_rng(0).normal(size=(2, 6)), []
        monkeypatch.setattr("gbmap._fit.problem.boost", first_round)
        with pytest.raises(InterruptedError):
            GBMAPRegressor(knots=0, random_state=0).fit(X, y)
        return found[0]

    with dask.config.set({"gbmap.recut": recut}):
        values, gradients = evaluate(da.from_array(X, chunks=(UNEVEN, (4,))))
    expected_values, expected_gradients = evaluate(X)
    tolerance = 0 if recut else 1e-6
    np.testing.assert_allclose(values, expected_values, rtol=tolerance)
    np.testing.assert_allclose(gradients, expected_gradients, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["dask", "few rows of dask", "numpy"])
def test_validation_rows_may_be_anywhere(problem, contents, kind):
    X, y = problem
    n = 500 if kind == "few rows of dask" else 25_000
    watched = {"X_val": X[:n], "y_val": y[:n], "sample_weight_val": np.arange(n) % 3}
    settings = {"n_components": 3, "early_stopping": True, "n_iter_no_change": 1, **PLAIN}
    local = GBMAPRegressor(**settings).fit(X, y, **watched)
    if kind != "numpy":
        chunks = (10_000, 15_000, 25_000)
        watched = {name: da.from_array(each, chunks=c) for (name, each), c in zip(watched.items(), chunks)}
    model = GBMAPRegressor(**settings).fit(da.from_array(X, chunks=50_000), y, **watched)
    np.testing.assert_array_equal(contents(model), contents(local))
    np.testing.assert_array_equal(model.validation_loss_curve_, local.validation_loss_curve_)


def test_fit_goes_on_from_a_local_one_and_the_other_way_round(problem, local, contents):
    X, y = problem
    distributed = da.from_array(X, chunks=50_000)
    for first, then in ((X, distributed), (distributed, X)):
        model = GBMAPRegressor(1, warm_start=True, **PLAIN).fit(first, y)
        model.set_params(n_components=2).fit(then, y)
        np.testing.assert_array_equal(contents(model), contents(local))


def test_checkpoint_goes_on_in_other_parts_and_refuses_other_rows(problem, local, parts, contents, tmp_path):
    X, y = problem
    distributed = da.from_array(X, chunks=50_000)
    parts(2)
    GBMAPRegressor(1, **PLAIN).fit(distributed, y, checkpoint=tmp_path / "fit")
    parts(5)
    model = GBMAPRegressor(2, **PLAIN).fit(distributed, y, checkpoint=tmp_path / "fit")
    np.testing.assert_array_equal(contents(model), contents(local))
    GBMAPRegressor(2, **PLAIN).fit(distributed, y, checkpoint=tmp_path / "fit")  # nothing is left to do
    with pytest.raises(ValueError, match="that of another one"):
        GBMAPRegressor(2, **PLAIN).fit(distributed, y + 1, checkpoint=tmp_path / "fit")


def test_initial_model_is_applied_where_the_rows_are(frame):
    X, y = frame[list("abcd")], frame["y"]
    init = FrozenEstimator(LinearRegression().fit(X, y))
    local = GBMAPRegressor(1, init=init, **PLAIN).fit(X, y)
    table = dd.from_pandas(frame, npartitions=3)
    model = GBMAPRegressor(1, init=init, **PLAIN).fit(table[list("abcd")], table["y"])
    assert model.loss_curve_ == pytest.approx(local.loss_curve_, rel=1e-9)
    np.testing.assert_allclose(model.predict(X), local.predict(X), rtol=1e-4, atol=1e-4)


def test_model_and_fits_of_arrays_need_no_dask(problem, tmp_path):
    X, y = problem
    model = GBMAPRegressor(1, **PLAIN).fit(da.from_array(X, chunks=50_000), y)
    (tmp_path / "model").write_bytes(pickle.dumps((model, X[:50], model.predict(X[:50]))))
    code = (
        "import pickle, sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        "model, X, y = pickle.load(open(sys.argv[1], 'rb')); assert (model.predict(X) == y).all()\n"
        "model.fit(X, y).transform(X)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "model"], check=True)
