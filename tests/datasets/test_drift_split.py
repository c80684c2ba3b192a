"""drift_split: the halves, the search against a plain loop, and columns of every type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from gbmap.datasets import drift_split


def _numbers(n=200, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def _assert_same_rows(found, expected):
    for part in ("train", "test", "shifted"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


# --- the halves -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
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


def test_the_seed_decides_the_split_of_the_lower_half():
    def train(random_state):
        X = np.arange(60.0)[:, None]
        return drift_split(X, X[:, 0], None, feature=0, random_state=random_state).train.tolist()

    assert train(0) == train(0)
    generator = np.random.default_rng(0)
    drawn = [train(0), train(1), train(generator), train(generator), train(None), train(None)]
    assert len(set(map(tuple, drawn))) == 6


# --- the search -----------------------------------------------------------------------------------


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


def _thirds(score):
    return np.array(["u", "v", "w"])[np.searchsorted(np.quantile(score, [1 / 3, 2 / 3]), score)]


@pytest.mark.parametrize(
    ("estimator", "loss", "target"),
    [
        (LinearRegression(), _squared_error, lambda s: s),
        # Logistic regression: the logistic loss of its score and its log loss are the same number.
        (LogisticRegression(), _log_loss, lambda s: np.where(s > 0, "yes", "no")),
        (RidgeClassifier(), _logistic_loss_of_score, lambda s: np.where(s > 0, 3, 8)),
        (GaussianNB(), _log_loss, lambda s: np.where(s > 0, 1, -1)),
        (LogisticRegression(), _log_loss, _thirds),
    ],
    ids=["regression", "score", "score-only", "probability", "three-classes"],
)
@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_the_argmax_of_the_plain_loop(estimator, loss, target, seed):
    X = _numbers(80, 12, seed)  # of columns that are all alike another loss prefers another one
    y = target(X.sum(axis=1) + 4 * _numbers(80, 1, seed + 100)[:, 0])
    drifts, splits = [], []
    for j in range(12):
        split = drift_split(X, y, estimator, feature=j, random_state=seed)
        rest = np.delete(X, j, axis=1)
        model = estimator.fit(rest[split.train], y[split.train])
        b, a2 = (loss(model, rest[rows], y[rows]).mean() for rows in (split.shifted, split.test))
        drifts.append(b - a2)
        splits.append(split)
    best = splits[int(np.argmax(drifts))]
    found = drift_split(X, y, estimator, random_state=seed)
    assert found.feature == best.feature
    _assert_same_rows(found, best)


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
    upper = X[:, 1] > np.median(X[:, 1])
    y = np.where(upper, 1, -1)  # the lower half by column 1 is all -1
    assert drift_split(X, y, LogisticRegression(), random_state=0).feature != 1
    assert drift_split(X, y, LogisticRegression(), feature=1, random_state=0).feature == 1
    for columns, target in (([1, 1], y), ([0, 1], np.ones(200))):
        with pytest.raises(ValueError, match="every class of y; pass `feature`"):
            drift_split(X[:, columns], target, LogisticRegression(), random_state=0)
    three = np.where(upper, "c", np.where(X[:, 0] > 0, "b", "a"))
    assert drift_split(X, three, GaussianNB(), random_state=0).feature != 1


# --- frames and types of columns ------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_split_as_arrays_do_and_name_the_column(library):
    frames = pytest.importorskip(library)
    X = _numbers(101)
    y = X[:, 0] + np.exp(2 * X[:, 1])
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(["one", "two", "three"])})
    expected = drift_split(X, y, LinearRegression(), random_state=0)
    found = drift_split(frame, frames.Series(y), LinearRegression(), random_state=0)
    assert (expected.feature, found.feature) == (1, "two")
    _assert_same_rows(found, expected)


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


def _lower(X, feature):
    split = drift_split(X, np.zeros(len(X)), None, feature=feature, random_state=0)
    return sorted(np.concatenate([split.train, split.test]).tolist())


def test_ordered_categories_sort_by_their_order_others_and_text_by_their_characters():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    sizes, order = ["small", "big", "Huge", "big", "small", "Huge"], ["small", "big", "Huge"]
    by_order, by_characters = [0, 1, 4], [1, 2, 5]
    assert _lower(pd.DataFrame({"x": pd.Categorical(sizes, order, ordered=True)}), "x") == by_order
    assert _lower(pl.DataFrame({"x": pl.Series(sizes, dtype=pl.Enum(order))}), "x") == by_order
    assert _lower(pd.DataFrame({"x": pd.Categorical(sizes, order)}), "x") == by_characters
    assert _lower(pl.DataFrame({"x": pl.Series(sizes, dtype=pl.Categorical)}), "x") == by_characters
    assert _lower(pd.DataFrame({"x": sizes}), "x") == by_characters
    assert _lower(pl.DataFrame({"x": sizes}), "x") == by_characters
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


def test_objects_that_are_all_numbers_sort_as_numbers_others_as_text():
    for values, lower in (
        ([10, 9, 100, 8], [1, 3]),
        (["10", "9", "100", "8"], [0, 2]),
        ([10, "9", 100, "8"], [0, 2]),
    ):
        assert _lower(np.array(values, dtype=object)[:, None], 0) == lower


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"feature": 3}, r"feature must be a column of X, one of \[0, 1, 2\], got 3"),
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
        drift_split(**call)
