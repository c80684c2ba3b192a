"""Tests of gbmap.datasets: known answers, properties, and the loader with every source faked."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
import subprocess
import sys
import tracemalloc
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import Bunch

from gbmap import datasets
from gbmap.datasets import DriftSplit, drift_split, load_paper_dataset, make_clusters, make_synth_cos

# --- make_synth_cos -------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [5.0, -0.5])
def test_synth_cos_is_a_centred_sum_of_cosines_with_coefficients_of_norm_alpha(alpha):
    X, y = make_synth_cos(2000, 7, alpha=alpha, random_state=1)
    C = np.cos(X) - np.cos(X).mean(axis=0)
    coefficients, *_ = np.linalg.lstsq(C, y, rcond=None)
    assert X.shape == (2000, 7)
    assert X.dtype == y.dtype == np.float64
    assert abs(y.mean()) < 1e-12
    np.testing.assert_allclose(C @ coefficients, y, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(coefficients), abs(alpha), rtol=1e-10)


def test_synth_cos_rows_are_standard_normal():
    X, _ = make_synth_cos(50_000, 4, random_state=2)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=5 / np.sqrt(50_000))
    np.testing.assert_allclose(np.cov(X.T), np.eye(4), atol=0.04)


def test_rotation_keeps_y_and_all_distances_but_not_the_columns():
    X, y = make_synth_cos(300, 20, random_state=3)
    rotated, same_y = make_synth_cos(300, 20, rotate=True, random_state=3)
    np.testing.assert_array_equal(same_y, y)
    np.testing.assert_allclose(rotated @ rotated.T, X @ X.T, atol=1e-10)
    Q, *_ = np.linalg.lstsq(X, rotated, rcond=None)
    np.testing.assert_allclose(Q.T @ Q, np.eye(20), atol=1e-10)
    assert np.abs(np.diag(Q)).max() < 0.9


def test_rotation_hides_the_cosines_from_single_columns():
    X, y = make_synth_cos(5000, 30, rotate=True, random_state=4)
    C = np.cos(X) - np.cos(X).mean(axis=0)
    residual = y - C @ np.linalg.lstsq(C, y, rcond=None)[0]
    assert residual.var() > 0.5 * y.var()


def test_labels_follow_the_logistic_of_the_score():
    X, score = make_synth_cos(60_000, 3, random_state=5)
    same_X, labels = make_synth_cos(60_000, 3, task="classification", random_state=5)
    np.testing.assert_array_equal(same_X, X)
    assert labels.dtype == np.int64
    assert set(labels.tolist()) == {-1, 1}
    for rows in np.array_split(np.argsort(score), 12):
        probability = expit(score[rows])
        error = (labels[rows] == 1).mean() - probability.mean()
        assert abs(error) < 5 * np.sqrt((probability * (1 - probability)).mean() / len(rows))


def test_float32_is_the_rounded_float64_with_the_same_target():
    X, y = make_synth_cos(500, 6, rotate=True, random_state=6)
    rounded, same_y = make_synth_cos(500, 6, rotate=True, dtype="float32", random_state=6)
    assert rounded.dtype == np.float32
    np.testing.assert_array_equal(rounded, X.astype(np.float32))
    np.testing.assert_array_equal(same_y, y)


@pytest.mark.parametrize("block", [1, 10, 333])
def test_the_block_size_changes_nothing(monkeypatch, block):
    X, y = make_synth_cos(101, 3, random_state=7)
    monkeypatch.setattr(datasets, "_BLOCK", block)
    blocked, blocked_y = make_synth_cos(101, 3, random_state=7)
    np.testing.assert_array_equal(blocked, X)
    np.testing.assert_allclose(blocked_y, y, atol=1e-12)


def test_more_samples_extend_the_rows():
    few, _ = make_synth_cos(50, 4, rotate=True, random_state=8)
    many, _ = make_synth_cos(80, 4, rotate=True, random_state=8)
    np.testing.assert_allclose(many[:50], few, atol=1e-12)


def test_memory_stays_near_that_of_the_features():
    tracemalloc.start()
    try:
        X, _ = make_synth_cos(200_000, 50, task="classification", dtype=np.float32, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * X.nbytes  # all of X in float64 would take this much by itself


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be .* at least 1, got 0"),
        ({"n_samples": 2.5}, "n_samples must be an integer"),
        ({"n_features": True}, "n_features must be an integer"),
        ({"task": "ranking"}, "task must be 'regression' or 'classification', got 'ranking'"),
        ({"alpha": np.nan}, "alpha must be a finite number"),
        ({"dtype": int}, "dtype must be float32 or float64, got 'int64'"),
        ({"random_state": -1}, "random_state must be a non-negative int.*got -1"),
        ({"random_state": "seed"}, "random_state must be"),
    ],
)
def test_synth_cos_names_a_bad_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_synth_cos(**{"n_samples": 10, "n_features": 2, **arguments})


# --- seeds, for all that is random ----------------------------------------------------------------


def _synth_cos(random_state):
    return make_synth_cos(40, 3, task="classification", rotate=True, random_state=random_state)[0]


def _clusters(random_state):
    return make_clusters(random_state)[0]


def _drift_rows(random_state):
    X = np.arange(60.0).reshape(30, 2)
    return drift_split(X, X[:, 0], None, feature=0, random_state=random_state).train


RANDOM = pytest.mark.parametrize("draw", [_synth_cos, _clusters, _drift_rows])


@RANDOM
@pytest.mark.parametrize(
    "seed",
    [lambda: 3, lambda: np.int64(3), lambda: np.random.SeedSequence(3), lambda: np.random.default_rng(3)],
)
def test_equal_seeds_give_equal_numbers(draw, seed):
    np.testing.assert_array_equal(draw(seed()), draw(seed()))


@RANDOM
def test_other_seeds_and_no_seed_give_other_numbers(draw):
    kinds = (int, np.random.SeedSequence, np.random.default_rng, np.random.RandomState)
    drawn = [draw(kind(seed)) for kind in kinds for seed in (0, 1)] + [draw(None), draw(None)]
    assert len({a.tobytes() for a in drawn}) == 10


@RANDOM
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_advanced(draw, kind):
    generator = kind(0)
    first = draw(generator)
    assert not np.array_equal(first, draw(generator))
    np.testing.assert_array_equal(first, draw(kind(0)))


@RANDOM
def test_a_seed_sequence_is_left_as_it_was(draw):
    seed = np.random.SeedSequence(3)
    draw(seed)
    assert seed.n_children_spawned == 0


@RANDOM
@pytest.mark.parametrize("seed", [None, 0])
def test_the_global_state_is_neither_read_nor_changed(draw, seed):
    global_state = np.random.mtrand._rand
    before = global_state.get_state()
    first = draw(seed)
    after = global_state.get_state()
    np.testing.assert_array_equal(after[1], before[1])
    assert after[2:] == before[2:]
    if seed is None:  # the state did not move, and yet
        assert not np.array_equal(draw(seed), first)


# --- make_clusters --------------------------------------------------------------------------------


def test_clusters_lie_where_the_paper_puts_them():
    X, y, labels = make_clusters(random_state=0)
    assert X.shape == (3000, 8)
    assert y.shape == (3000,)
    assert labels.tolist() == ["a"] * 1000 + ["b1"] * 1000 + ["b2"] * 1000
    centres = {"a": [4] * 4 + [0] * 4, "b1": [0] * 4 + [4] * 4, "b2": [0] * 8}
    for label, centre in centres.items():
        cluster = X[labels == label]
        np.testing.assert_allclose(cluster.mean(axis=0), centre, atol=5 / np.sqrt(1000))
        np.testing.assert_allclose(np.cov(cluster.T), np.eye(8), atol=0.25)


def test_the_target_of_the_clusters_is_a_unit_vector_on_the_first_four_cosines():
    X, y, _ = make_clusters(random_state=1)
    u, *_ = np.linalg.lstsq(np.cos(X), y, rcond=None)  # no intercept: y is not centred
    np.testing.assert_allclose(np.cos(X) @ u, y, atol=1e-12)
    np.testing.assert_allclose(u[4:], 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(u), 1, rtol=1e-12)


# --- drift_split ----------------------------------------------------------------------------------


def _numbers(n=200, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-3, 3), min_size=4, max_size=40), st.integers(0, 2**32))
def test_the_parts_cover_all_rows_once_and_are_halves(values, seed):
    X = np.column_stack([np.zeros(len(values)), values])
    split = drift_split(X, values, None, feature=1, random_state=seed)
    parts = (split.train, split.test, split.shifted)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(values)))
    assert all(np.all(np.diff(part) > 0) for part in parts)
    assert 0 <= len(split.shifted) - len(split.train) - len(split.test) <= 1
    assert 0 <= len(split.train) - len(split.test) <= 1
    lower = [(values[i], i) for i in (*split.train, *split.test)]
    assert max(lower) < min((values[i], i) for i in split.shifted)  # ties keep the order of the rows


def test_the_chosen_column_is_the_one_made_to_drift():
    X = _numbers(400, 4)
    y = X[:, 0] + np.exp(2 * X[:, 2])
    split = drift_split(X, y, LinearRegression(), random_state=0)
    assert isinstance(split, DriftSplit)
    assert split.feature == 2
    assert X[split.shifted, 2].min() > max(X[split.train, 2].max(), X[split.test, 2].max())


def _squared_error(model, X, y):
    return (y - model.predict(X)) ** 2


def _log_loss(model, X, y):
    probability = model.predict_proba(X)
    return -np.log(
        [row[list(model.classes_).index(label)] for row, label in zip(probability, y, strict=True)]
    )


def _logistic_loss_of_score(model, X, y):
    sign = np.where(y == model.classes_[1], 1, -1)
    return np.log1p(np.exp(-sign * model.decision_function(X)))


def _quantiles(score, k, labels):
    return np.array(labels)[np.searchsorted(np.quantile(score, np.arange(1, k) / k), score)]


@pytest.mark.parametrize(
    ("estimator", "loss", "target"),
    [
        (LinearRegression(), _squared_error, lambda s: s),
        # Logistic regression: the logistic loss of its score and its log loss are the same number.
        (LogisticRegression(), _log_loss, lambda s: np.where(s > 0, "yes", "no")),
        (RidgeClassifier(), _logistic_loss_of_score, lambda s: np.where(s > 0, 3, 8)),
        (GaussianNB(), _log_loss, lambda s: np.where(s > 0, 1, -1)),
        (LogisticRegression(), _log_loss, lambda s: _quantiles(s, 3, ["u", "v", "w"])),
    ],
    ids=["regression", "score", "score-only", "probability", "three-classes"],
)
@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_the_argmax_of_the_plain_loop(estimator, loss, target, seed):
    X = _numbers(240, 4, seed)
    y = target(X[:, 0] * X[:, 1] + X[:, 2] - 0.3 * X[:, 3] ** 2 + 0.3 * _numbers(240, 1, seed + 100)[:, 0])
    drifts, splits = [], []
    for j in range(4):
        split = drift_split(X, y, estimator, feature=j, random_state=seed)
        rest = np.delete(X, j, axis=1)
        model = estimator.fit(rest[split.train], y[split.train])
        b, a2 = (loss(model, rest[rows], y[rows]).mean() for rows in (split.shifted, split.test))
        drifts.append(b - a2)
        splits.append(split)
    best = splits[int(np.argmax(drifts))]
    found = drift_split(X, y, estimator, random_state=seed)
    assert found.feature == best.feature
    for part in ("train", "test", "shifted"):
        np.testing.assert_array_equal(getattr(found, part), getattr(best, part))


def test_the_estimator_is_cloned():
    estimator = LinearRegression()
    drift_split(_numbers(), _numbers()[:, 0], estimator, random_state=0)
    assert not hasattr(estimator, "coef_")


def test_a_certain_mistake_has_a_finite_loss():
    class Certain(GaussianNB):
        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    X = _numbers()
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1, -1)
    assert drift_split(X, y, Certain(), random_state=0).feature == 0


def test_columns_whose_training_rows_lack_a_class_are_passed_over():
    X = _numbers()
    y = np.where(X[:, 1] > np.median(X[:, 1]), 1, -1)  # the lower half by column 1 is all -1
    assert drift_split(X, y, LogisticRegression(), random_state=0).feature != 1
    assert drift_split(X, y, LogisticRegression(), feature=1, random_state=0).feature == 1
    with pytest.raises(ValueError, match="every class of y; pass `feature`"):
        drift_split(X[:, [1, 1]], y, LogisticRegression(), random_state=0)
    with pytest.raises(ValueError, match="every class of y; pass `feature`"):
        drift_split(X, np.ones(200), LogisticRegression(), random_state=0)


def test_one_class_of_three_may_not_lack_either():
    X = _numbers()
    y = np.where(X[:, 1] > np.median(X[:, 1]), "c", np.where(X[:, 0] > 0, "b", "a"))
    assert drift_split(X, y, GaussianNB(), random_state=0).feature != 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_split_as_arrays_do_and_name_the_column(library):
    frames = pytest.importorskip(library)
    X = _numbers(101)
    y = X[:, 0] + np.exp(2 * X[:, 1])
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(["one", "two", "three"])})
    target = frames.Series(y)
    expected = drift_split(X, y, LinearRegression(), random_state=0)
    found = drift_split(frame, target, LinearRegression(), random_state=0)
    assert (expected.feature, found.feature) == (1, "two")
    for part in ("train", "test", "shifted"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_a_frame_with_text_goes_through_a_pipeline():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    city = rng.choice(["Bern", "Oslo", "Rome", "Wien"], size=300)
    X = pd.DataFrame({"size": rng.normal(size=300), "city": city, "age": rng.normal(size=300)})
    y = X["size"] + 20.0 * (city == "Wien")  # in the last city of the alphabet all is different
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=["object", "string"])),
        remainder="passthrough",
    )
    split = drift_split(X, y, make_pipeline(encode, LinearRegression()), random_state=0)
    assert split.feature == "city"
    assert max(city[split.train]) <= min(city[split.shifted])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_text_sorts_by_its_characters(library):
    frames = pytest.importorskip(library)
    X = frames.DataFrame({"x": [1, 2, 3, 4], "city": ["Wien", "Bern", "bern", "Oslo"]})
    assert _lower(X, "city") == [1, 3]


def _lower(X, feature):
    split = drift_split(X, np.zeros(len(X)), None, feature=feature, random_state=0)
    assert len(split.shifted) == len(X) // 2
    return sorted(np.concatenate([split.train, split.test]).tolist())


def test_ordered_categories_sort_by_their_order_others_by_their_characters():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    sizes, order = ["small", "big", "huge", "big", "small", "huge"], ["small", "big", "huge"]
    by_order, by_characters = [0, 1, 4], [1, 2, 3]
    assert _lower(pd.DataFrame({"x": pd.Categorical(sizes, order, ordered=True)}), "x") == by_order
    assert _lower(pl.DataFrame({"x": pl.Series(sizes, dtype=pl.Enum(order))}), "x") == by_order
    assert _lower(pd.DataFrame({"x": pd.Categorical(sizes, order)}), "x") == by_characters
    assert _lower(pl.DataFrame({"x": pl.Series(sizes, dtype=pl.Categorical)}), "x") == by_characters
    assert _lower(np.array(sizes)[:, None], 0) == by_characters


def test_missing_values_come_last():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    numbers, words = [None, 7.0, None, 5.0], [None, "z", None, "a"]
    columns = [
        np.array([np.nan, 7.0, np.nan, 5.0])[:, None],
        np.array([None, 7, np.nan, 5], dtype=object)[:, None],
        np.array(words, dtype=object)[:, None],
        *(pd.DataFrame({0: pd.array(numbers, dtype=kind)}) for kind in ("float64", "Int64")),
        *(pd.DataFrame({0: pd.array(words, dtype=kind)}) for kind in ("object", "string", "category")),
        pd.DataFrame({0: pd.Categorical(words, ["z", "a"], ordered=True)}),
    ]
    assert [_lower(X, 0) for X in columns] == [[1, 3]] * len(columns)
    assert _lower(pl.DataFrame({"x": numbers}), "x") == [1, 3]
    assert _lower(pl.DataFrame({"x": words}), "x") == [1, 3]


def test_numbers_in_an_array_of_objects_sort_as_numbers_and_digits_in_text_as_text():
    values = [10, 9, 100, 8]
    assert _lower(np.array(values, dtype=object)[:, None], 0) == [1, 3]
    assert _lower(np.array([str(v) for v in values], dtype=object)[:, None], 0) == [0, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"feature": 3}, "feature must be a column of X, one of 0, 1, 2, got 3"),
        ({"feature": "one"}, "feature must be a column of X"),
        ({"X": np.zeros(200)}, "X must be a 2-D array or a dataframe, got 1 dimension"),
        ({"X": csr_array(np.zeros((200, 3)))}, "X must be a dense array"),
        ({"X": np.zeros((200, 1))}, "X must have at least 2 columns.*pass `feature`"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(3)}, "at least 4, got 3 and 3"),
        ({"y": np.zeros(199)}, "same number of rows.*got 200 and 199"),
        ({"y": np.zeros((200, 2))}, "1d array"),
        ({"estimator": None}, "estimator must be a classifier or a regressor, got NoneType"),
        ({"estimator": KMeans()}, "estimator must be a classifier or a regressor, got KMeans"),
        ({"estimator": RidgeClassifier(), "y": np.arange(200) % 3}, "estimator must have predict_proba"),
    ],
)
def test_drift_split_names_a_bad_argument(arguments, message):
    call = {"X": _numbers(), "y": _numbers()[:, 0], "estimator": LinearRegression(), **arguments}
    with pytest.raises(ValueError, match=message):
        drift_split(call.pop("X"), call.pop("y"), call.pop("estimator"), **call)


def test_a_drift_split_is_frozen():
    split = drift_split(_numbers(), np.zeros(200), None, feature=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        split.feature = 1


# --- load_paper_dataset ---------------------------------------------------------------------------

REGRESSION = ["abalone", "airquality", "autompg", "california", "concrete", "cpu-small", "qm9-10k"]
REGRESSION += ["superconductor", "wine-red", "wine-white"]
CLASSIFICATION = ["breast-cancer", "diabetes", "eeg-eye-state", "german-credit"]
CLASSIFICATION += ["higgs-10k-h2o", "higgs-10k-openml-sample"]
NAMES = REGRESSION + CLASSIFICATION


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("GBMAP_DATA", raising=False)


@pytest.fixture
def known(monkeypatch):
    """Return a function that changes what is known of a data set."""

    def change(name, **changes):
        source = dataclasses.replace(datasets._SOURCES[name], **changes)
        monkeypatch.setattr(datasets, "_SOURCES", {**datasets._SOURCES, name: source})

    return change


@pytest.fixture
def data_folder(tmp_path, monkeypatch, known):
    """Return a function that writes a data set into the folder GBMAP_DATA."""
    pytest.importorskip("pandas")
    monkeypatch.setenv("GBMAP_DATA", str(tmp_path))

    def write(name, text, trusted=True):
        content = gzip.compress(text.encode())
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
        if trusted:
            known(name, sha256=hashlib.sha256(content).hexdigest())

    return write


def test_all_names_of_the_paper_are_known():
    assert list(datasets._SOURCES) == NAMES


def test_a_file_in_the_folder_comes_first(data_folder, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", None)  # calling it would fail
    data_folder("abalone", "Sex,Length,target\nM,0.5,15\nnone,0.25,7\nNA,1,9\n")
    X, y = load_paper_dataset("abalone")
    assert X.to_dict("list") == {"Sex": ["M", "none", "NA"], "Length": [0.5, 0.25, 1.0]}
    assert y.dtype == np.float64
    assert y.tolist() == [15.0, 7.0, 9.0]


def test_classes_in_the_folder_are_integers(data_folder):
    data_folder("higgs-10k-h2o", "m_bb,target\n0.5,1\n0.25,-1\n")
    X, y = load_paper_dataset("higgs-10k-h2o")
    assert X.shape == (2, 1)
    assert y.dtype == np.int64
    assert y.tolist() == [1, -1]


def test_a_file_with_another_checksum_is_refused(data_folder):
    data_folder("abalone", "Sex,target\nM,15\n", trusted=False)
    with pytest.raises(
        ValueError, match=r"abalone.csv.gz must have the SHA-256 checksum a69d.*, got .*replace"
    ):
        load_paper_dataset("abalone")


def test_a_file_that_is_not_in_the_folder_comes_from_the_public_source(data_folder):
    X, y = load_paper_dataset("breast-cancer")
    assert X.shape == (569, 30)
    assert y.shape == (569,)


def test_a_folder_that_does_not_exist_is_an_error(monkeypatch, tmp_path):
    pytest.importorskip("pandas")
    monkeypatch.setenv("GBMAP_DATA", str(tmp_path / "typo"))
    with pytest.raises(FileNotFoundError, match=r"GBMAP_DATA must name a folder, got .*typo"):
        load_paper_dataset("breast-cancer")


def test_an_unknown_name_is_an_error_that_lists_the_names():
    with pytest.raises(ValueError, match=f"name must be one of {', '.join(NAMES)}, got 'iris'"):
        load_paper_dataset("iris")


@pytest.mark.parametrize("name", ["qm9-10k", "higgs-10k-h2o", "higgs-10k-openml-sample"])
def test_a_set_without_a_public_source_names_the_folder(no_folder, name):
    pytest.importorskip("pandas")
    with pytest.raises(FileNotFoundError, match=f"{name} has no public source.*GBMAP_DATA.*{name}.csv.gz"):
        load_paper_dataset(name)


def test_breast_cancer_is_scikit_learns_with_benign_as_plus_one(no_folder):
    pytest.importorskip("pandas")
    X, y = load_paper_dataset("breast-cancer")
    bunch = sklearn.datasets.load_breast_cancer()
    np.testing.assert_array_equal(X.to_numpy(), bunch.data)
    assert list(X.columns) == list(bunch.feature_names)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y == 1, bunch.target_names[bunch.target] == "benign")
    np.testing.assert_array_equal(np.abs(y), 1)


def _fake_openml(monkeypatch, data, target):
    def fetch_openml(*, data_id, **options):
        assert options["as_frame"]
        calls.append(data_id)
        return Bunch(data=data, target=target)

    calls = []
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return calls


def test_auto_mpg_from_openml(no_folder, monkeypatch, known):
    pd = pytest.importorskip("pandas")
    raw = pd.DataFrame(
        {
            "cylinders": pd.Categorical(["8", "4", "4", "4"]),
            "displacement": [307.0, 97.0, 98.0, 121.0],
            "horsepower": [130.0, 88.0, np.nan, 113.0],
            "weight": [3504.0, 2130.0, 2046.0, 2234.0],
            "acceleration": [12.0, 14.5, 19.0, 12.5],
            "model": pd.Categorical(["70", "71", "71", "70"]),
            "origin": pd.Categorical(["1", "3", "1", "2"]),
        }
    )
    calls = _fake_openml(monkeypatch, raw, pd.Series([18.0, 27.0, 25.0, 26.0], name="class"))
    expected = pd.DataFrame(
        {
            "cylinders": [8, 4, 4],
            "displacement": [307.0, 97.0, 121.0],
            "horsepower": [130.0, 88.0, 113.0],
            "weight": [3504.0, 2130.0, 2234.0],
            "acceleration": [12.0, 14.5, 12.5],
            "year": [70, 71, 70],
            "origin": ["USA", "Japan", "Europe"],
        }
    )
    known("autompg", n=3, y_mean=71 / 3, x_level=datasets._level(expected))
    X, y = load_paper_dataset("autompg")
    assert calls == [196]
    pd.testing.assert_frame_equal(X, expected)
    assert y.tolist() == [18.0, 27.0, 26.0]

    raw["origin"] = ["1", "2", "3", "4"]  # no such country: missing, not the text "nan"
    with pytest.raises(OSError, match="autompg could not be loaded from openml 196: a value is missing"):
        load_paper_dataset("autompg")


def test_classes_from_openml(no_folder, monkeypatch, known):
    pd = pytest.importorskip("pandas")
    raw = pd.DataFrame({"age": [67, 22, 49], "housing": pd.Categorical(["own", "none", "own"])})
    target = pd.Series(pd.Categorical(["good", "bad", "good"]), name="class")
    calls = _fake_openml(monkeypatch, raw, target)
    level = (np.log([68, 23, 50]).mean() + np.log([4, 5, 4]).mean()) / 2
    known("german-credit", n=3, p=2, y_mean=1 / 3, x_level=level, text=frozenset({"housing"}))
    X, y = load_paper_dataset("german-credit")
    assert calls == [31]
    assert X.to_dict("list") == {"age": [67, 22, 49], "housing": ["own", "none", "own"]}
    assert not isinstance(X["housing"].dtype, pd.CategoricalDtype)
    assert y.dtype == np.int64
    assert y.tolist() == [1, -1, 1]


AIR = """\
Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);T;;
10/03/2004;18.00.00;2,6;1360;150;13,6;;
10/03/2004;19.00.00;-200;1292;-200;13,3;;
10/03/2004;20.00.00;2,2;1402;88;-200;;
10/03/2004;21.00.00;2,2;1376;-200;-200;;
10/03/2004;22.00.00;1,6;-200;-200;11,2;;
10/03/2004;23.00.00;1,2;1197;38;11,4;;
11/03/2004;00.00.00;1,2;1185;31;-200;;
;;;;;;;
;;;;;;;
"""


@pytest.fixture
def fake_uci(tmp_path, monkeypatch):
    """Return a function that serves an archive with one file, and a list of what was asked for."""
    pytest.importorskip("pandas")
    calls = []

    def serve(member, text):
        path = tmp_path / "archive.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, text)

        def fetch_file(url, sha256):
            calls.append((url, sha256))
            return path

        monkeypatch.setattr(sklearn.datasets, "fetch_file", fetch_file)
        return calls

    return serve


def test_air_quality_from_uci_fills_single_hours_and_drops_the_other_gaps(no_folder, fake_uci, known):
    calls = fake_uci("AirQualityUCI.csv", AIR)
    sensor, temperature = np.array([1360, 1292, 1286.5, 1197]), np.array([13.6, 13.3, 11.2, 11.4])
    level = (np.log1p(sensor).mean() + np.log1p(temperature).mean()) / 2
    known("airquality", n=4, p=2, y_mean=7.8 / 4, x_level=level)
    X, y = load_paper_dataset("airquality")
    [(url, sha256)] = calls
    assert url == "https://archive.ics.uci.edu/static/public/360/air+quality.zip"
    assert len(sha256) == 64
    assert list(X.columns) == ["PT08.S1(CO)", "T"]
    assert X.index.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(X["PT08.S1(CO)"], sensor)
    np.testing.assert_allclose(X["T"], temperature)
    np.testing.assert_allclose(y, [2.6, 2.4, 1.6, 1.2])  # 2.4 lies between 2.6 and 2.2


def test_wine_from_uci(no_folder, fake_uci, known):
    calls = fake_uci("winequality-white.csv", '"alcohol";"quality"\n9.5;5\n10.5;6\n')
    known("wine-white", n=2, p=1, y_mean=5.5, x_level=np.log([10.5, 11.5]).mean())
    X, y = load_paper_dataset("wine-white")
    assert calls[0][0].endswith("/186/wine+quality.zip")
    assert X.to_dict("list") == {"alcohol": [9.5, 10.5]}
    assert y.tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alcohol;quality\n9.5;5\n10.5;6\n10.5;6\n", r"the shape must be \(2, 1\), got \(3, 1\)"),
        ("alcohol;quality\n9.5;5\n;6\n", "a value is missing"),
        ("alcohol;quality\n9.5;5\n10.5;7\n", "the mean of the target must be 5.5, got 6"),
        ("alcohol;quality\n9.5;5\n10.6;6\n", "the level of the features must be 2.3.*, got 2.4"),
        ("alcohol;quality\n9.5;5\n10.5;six\n", "six"),
    ],
)
def test_a_public_source_with_other_data_is_refused(no_folder, fake_uci, known, text, message):
    fake_uci("winequality-red.csv", text)
    known("wine-red", n=2, p=1, y_mean=5.5, x_level=np.log([10.5, 11.5]).mean())
    way_out = "Set the environment variable GBMAP_DATA to a folder with wine-red.csv.gz"
    with pytest.raises(OSError, match=f"wine-red could not be loaded from uci .*{message}.*{way_out}"):
        load_paper_dataset("wine-red")


def test_an_archive_without_the_file_is_refused(no_folder, fake_uci):
    fake_uci("readme.txt", "")
    with pytest.raises(OSError, match=r"wine-red could not be loaded.*winequality-red\.csv.*GBMAP_DATA"):
        load_paper_dataset("wine-red")


@pytest.mark.parametrize(
    ("name", "fetcher", "error"),
    [
        ("abalone", "fetch_openml", urllib.error.URLError("no network")),
        ("superconductor", "fetch_file", OSError("no network")),
        ("california", "fetch_california_housing", ValueError("no network")),
    ],
)
def test_without_a_network_one_error_names_the_set_the_reason_and_the_way_out(
    no_folder, monkeypatch, name, fetcher, error
):
    pytest.importorskip("pandas")

    def fail(*args, **options):
        raise error

    monkeypatch.setattr(sklearn.datasets, fetcher, fail)
    with pytest.raises(OSError, match=f"{name} could not be loaded.*no network.*GBMAP_DATA.*{name}.csv.gz"):
        load_paper_dataset(name)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        load_paper_dataset("breast-cancer")


def test_the_module_needs_neither_pandas_nor_matplotlib():
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['matplotlib'] = None\n"
        "from gbmap.datasets import drift_split, make_synth_cos\n"
        "X, y = make_synth_cos(20, 2, random_state=0)\n"
        "print(len(drift_split(X, y, None, feature=0).shifted))"
    )
    source = str(Path(datasets.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("10", "")


@pytest.mark.skipif(
    "GBMAP_DATA" not in os.environ, reason="GBMAP_DATA names no folder with the real data sets"
)
@pytest.mark.parametrize("name", NAMES)
def test_the_real_files_are_what_the_table_says(name):
    X, y = load_paper_dataset(name)
    source = datasets._SOURCES[name]
    assert X.shape == (source.n, source.p)
    assert y.shape == (source.n,)
    assert y.dtype == (np.float64 if name in REGRESSION else np.int64)
    if name in CLASSIFICATION:
        assert sorted(set(y.tolist())) == [-1, 1]
    datasets._verify(X, y, source)  # so that public sources are held against the right numbers
    if source.kind == "openml":
        texts = {c for c in X if not np.issubdtype(X[c].to_numpy().dtype, np.number)}
        assert texts == source.text
    if source.columns is not None:
        assert tuple(X.columns) == source.columns
