"""``n_components="auto"``: how many learners a fit keeps, wherever it goes on from."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1

import gbmap
from gbmap import GBMAPClassifier, GBMAPRegressor


def automatic(**params):
    return GBMAPRegressor(**{"n_components": "auto", "random_state": 0} | params)


@pytest.fixture(scope="module")
def rows():
    X, y = make_friedman1(1000, noise=1.0, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def fitted(rows):
    return automatic().fit(*rows[:2])


@pytest.mark.parametrize("n", [40, 400])
def test_noise_has_the_two_learners_of_a_map(n):
    rng = np.random.default_rng(0)
    model = automatic().fit(rng.standard_normal((n, 5)), rng.standard_normal(n))
    assert model.n_components_ == 2
    assert model.transform(np.zeros((1, 5))).shape == (1, 2)


def test_more_rows_afford_more_learners(rows, fitted):
    X, y = make_friedman1(8000, noise=1.0, random_state=1)
    assert 2 < fitted.n_components_ < automatic().fit(X, y).n_components_


def test_it_is_a_fit_with_that_number_which_is_about_as_good_as_any(rows, fitted):
    X, y, X_new, y_new = rows
    same = automatic(n_components=fitted.n_components_).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), same.predict(X))
    assert len(fitted.history_) == fitted.n_components_ + 1
    others = (automatic(n_components=m).fit(X, y).score(X_new, y_new) for m in (2, 5, 40))
    assert fitted.score(X_new, y_new) > max(others) - 0.02


def test_targets_and_classes_end_together(rows):
    X, y, *_ = rows
    both = automatic().fit(X, np.c_[y, np.random.default_rng(0).standard_normal(len(y))])
    assert both.ensemble_.n_outputs == 2
    assert len(both.ensemble_) == 2 * both.n_components_
    X, y = load_iris(return_X_y=True)
    assert GBMAPClassifier("auto", random_state=0).fit(X, y).score(X, y) > 0.95


def test_a_warm_start_and_a_checkpoint_end_where_one_fit_does(rows, fitted, tmp_path):
    X, y, *_ = rows
    again = automatic(warm_start=True).fit(X, y).fit(X, y)
    few = automatic(n_components=2, warm_start=True).fit(X, y)
    longer = few.set_params(n_components="auto").fit(X, y)
    path = tmp_path / "fit"
    stored = [clone(fitted).fit(X, y, checkpoint=path) for _ in range(2)]
    for model in (again, longer, *stored):
        assert model.n_components_ == fitted.n_components_
        np.testing.assert_array_equal(model.ensemble_.weights, fitted.ensemble_.weights)
    gbmap.save(fitted, path)
    assert gbmap.load(path).n_components == "auto"


def test_validation_rows_may_end_it_sooner(rows, fitted):
    X, y, *_ = rows
    rng = np.random.default_rng(0)
    unrelated = {"X_val": rng.standard_normal((50, 10)), "y_val": 100 * rng.standard_normal(50)}
    assert automatic(early_stopping=True).fit(X, y, **unrelated).n_components_ < fitted.n_components_


def test_a_ridge_that_is_given_tells_no_end(rows):
    with pytest.raises(ValueError, match="n_components='auto' needs l2_regularization='auto'"):
        automatic(l2_regularization=0.1).fit(*rows[:2])


def test_other_words_are_refused(rows):
    with pytest.raises(ValueError, match="The 'n_components' parameter"):
        automatic(n_components="many").fit(*rows[:2])
