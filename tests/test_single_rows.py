"""What a row is told does not depend on the rows beside it."""

import numpy as np
import pytest
import scipy.sparse

from gbmap import GBMAPClassifier, GBMAPRegressor, embedding_distances, path_distances
from gbmap.inspection import attributions, explain, regions

ROWS = [slice(0, 1), slice(5, 6), slice(3, 12), slice(40, 107), slice(298, 301)]


def make_rows(dtype=np.float64, mean=0.0):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(301, 7)) + mean).astype(dtype)
    return X, np.abs(X[:, 0] - mean) + X[:, 1] ** 2 + 0.1 * rng.normal(size=301)


@pytest.fixture(scope="module", params=[(np.float64, 0.0), (np.float64, 1e6), (np.float32, 0.0)])
def regressor(request):
    X, y = make_rows(*request.param)
    return GBMAPRegressor(9, random_state=0, tol=1e-2).fit(X, y), X


@pytest.fixture(scope="module", params=[2, 3])
def classifier(request):
    X, y = make_rows()
    labels = np.searchsorted(np.quantile(y, np.arange(1, request.param) / request.param), y)
    return GBMAPClassifier(9, random_state=0, tol=1e-2).fit(X, labels), X


def assert_each_alone_as_together(answer, X):
    together = answer(X)
    for rows in ROWS:
        np.testing.assert_array_equal(answer(X[rows]), together[rows])


def test_predictions_and_coordinates_are_the_same_to_the_bit(regressor):
    model, X = regressor
    assert_each_alone_as_together(model.predict, X)
    assert_each_alone_as_together(model.transform, X)


def test_scores_labels_and_probabilities_are_the_same_to_the_bit(classifier):
    model, X = classifier
    for answer in (model.decision_function, model.predict, model.predict_proba, model.transform):
        assert_each_alone_as_together(answer, X)


def test_sparse_rows_too_are_predicted_to_the_same_bits(regressor):
    model, X = regressor
    assert_each_alone_as_together(model.predict, scipy.sparse.csr_array(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_of_frames_are_read_alike_however_many_there_are(library):
    frames = pytest.importorskip(library)
    X, y = make_rows(np.float32)
    columns = {f"c{k}": X[:, k] for k in range(5)}
    columns["c1"] = np.where(np.arange(301) % 7 == 3, np.nan, columns["c1"].astype(np.float64))
    columns["whole"], columns["flag"] = np.arange(301) % 5, X[:, 5] > 0
    numbers = frames.DataFrame(columns)
    kinds = np.array(["red", "blue", "green"])[np.arange(301) % 3].tolist()
    kinds[5], kinds[41] = None, "red"
    for frame in (numbers, frames.DataFrame(columns | {"kind": kinds})):
        model = GBMAPRegressor(3, random_state=0, tol=1e-2).fit(frame, y)
        together = model.predict(frame)
        for rows in ROWS:
            np.testing.assert_array_equal(model.predict(frame[rows]), together[rows])


def test_distances_and_regions_are_the_same_to_the_bit(regressor):
    model, X = regressor
    assert_each_alone_as_together(lambda rows: embedding_distances(model, rows, X[:50]), X)
    assert_each_alone_as_together(regions(model, X).assign, X)


def test_explanations_are_the_same_to_rounding(regressor):
    model, X = regressor
    for answer, rtol in (
        (lambda rows: explain(model, rows).coefficients, 1e-12),
        (lambda rows: attributions(model, rows, X[:5]).values, 1e-12),
        # Pieces of a path end where numbers are equal but for rounding, which is that of X.
        (lambda rows: path_distances(model, rows, X[:9]), 1e-12 * max(1.0, np.abs(X).max() / 100)),
    ):
        together = answer(X)
        for rows in ROWS:
            np.testing.assert_allclose(answer(X[rows]), together[rows], rtol=rtol, atol=1e-9)
