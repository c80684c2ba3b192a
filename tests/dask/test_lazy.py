"""Predictions and embeddings of Dask collections are such collections too, computed when asked for."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from gbmap import GBMAPClassifier, GBMAPRegressor

N = 1_000
METHODS = ["predict", "transform", "decision_function", "predict_proba"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"), index=rng.permutation(N))


@pytest.fixture(scope="module", params=[["no", "yes"], [1, 2, 3]], ids=["two classes", "three classes"])
def classifier(request, rows):
    y = np.array(request.param)[np.digitize(rows["a"] + rows["b"] ** 2, [0.5, 2.0][: len(request.param) - 1])]
    return GBMAPClassifier(2, random_state=0).fit(rows, y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_arrays_give_arrays_of_known_type_and_shape(classifier, rows, method):
    X = rows.to_numpy()
    expected = getattr(classifier, method)(X)
    found = getattr(classifier, method)(da.from_array(X, chunks=((300, 0, 699, 1), (2, 1))))
    assert isinstance(found, da.Array)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    computed = found.compute()
    if computed.dtype.kind == "f":
        np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(computed, expected)


@pytest.mark.parametrize("method", METHODS)
def test_frames_give_frames_or_series_with_their_index(classifier, rows, method):
    expected = getattr(classifier, method)(rows)
    table = dd.from_pandas(rows, npartitions=3, sort=False)
    found = getattr(classifier, method)(table)
    computed = found.compute()
    assert isinstance(computed, pd.Series if expected.ndim == 1 else pd.DataFrame)
    assert computed.index.tolist() == rows.index.tolist()
    if expected.ndim == 2:
        columns = classifier.get_feature_names_out() if method == "transform" else classifier.classes_
        assert found.columns.tolist() == computed.columns.tolist() == list(columns)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(computed.to_numpy(), expected, rtol=1e-12, atol=1e-12)
    else:
        assert computed.tolist() == expected.tolist()


def test_float32_stays_float32_in_the_embedding(rows):
    X = rows.to_numpy(np.float32)
    model = GBMAPRegressor(2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    lazy = model.transform(da.from_array(X, chunks=400))
    assert lazy.dtype == lazy.compute().dtype == np.float32


def test_nothing_is_computed_before_it_is_asked_for(classifier, rows):
    def fail(block):
        raise AssertionError("a chunk was computed")

    table = dd.from_pandas(rows, npartitions=2, sort=False).map_partitions(fail, meta=rows.iloc[:0])
    lazy = classifier.predict(table)
    with pytest.raises(AssertionError, match="a chunk was computed"):
        lazy.compute()


def test_unknown_lengths_stay_unknown(classifier, rows):
    X = dd.from_pandas(rows, npartitions=2, sort=False).query("a > 0")
    expected = classifier.predict(rows.query("a > 0"))
    assert classifier.predict(X).compute().tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_wrong_columns_are_told_at_once(classifier, rows):
    table = dd.from_pandas(rows, npartitions=2, sort=False)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(table[["a", "c", "b"]])
    with pytest.raises(ValueError, match="expecting 3 features"):
        classifier.transform(table[["a", "b"]].to_dask_array(lengths=True))


def test_what_has_no_lazy_form_says_so(classifier, rows):
    for method in ("staged_predict", "staged_decision_function", "staged_predict_proba"):
        with pytest.raises(TypeError, match="rows in memory here"):
            next(getattr(classifier, method)(dd.from_pandas(rows, npartitions=2, sort=False)))
