"""Where two models differ: known half-spaces are found, whatever form the models come in."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from gbmap import GBMAPRegressor
from gbmap.inspection import model_difference

DIRECTION = np.array([0.6, 0.0, -0.8])


def rows(n=400, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, 3))


def smooth(X):
    return 5 + np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]


def hinge(X, height=1.0):
    return height * np.maximum(X @ DIRECTION - 0.2, 0)


def friedman():
    X, y = make_friedman1(300, noise=0.5, random_state=0)
    first = LinearRegression().fit(X, y)
    second = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    return X, y, first, second


def assert_same(a, b):
    for name in ("signs", "coverage", "mean_difference", "explained", "difference", "coordinates"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert list(a.half_spaces) == list(b.half_spaces)
    assert (a.faithfulness, a.held_out_faithfulness) == (b.faithfulness, b.held_out_faithfulness)


@pytest.mark.parametrize("height", [2.0, -2.0, 2e-3 * smooth(rows()).std(), 1e9])
def test_a_known_half_space_is_found_whatever_the_size_of_the_difference(height):
    X = rows()
    found = model_difference(smooth, lambda X: smooth(X) + hinge(X, height), X, n_components=1)
    weights = found.model.ensemble_.weights[0]
    inside = X @ DIRECTION > 0.2
    assert weights @ DIRECTION > 0.999 * np.linalg.norm(weights)
    assert found.signs.tolist() == [np.sign(height)]
    assert found.coverage[0] == pytest.approx(inside.mean(), abs=0.02)
    assert found.mean_difference[0] == pytest.approx(hinge(X, height)[inside].mean(), rel=0.05)
    assert found.faithfulness > 0.99
    assert found.held_out_faithfulness > 0.99
    assert found.explained[0] > 0.99
    assert "x2" in found.half_spaces[0]
    assert "x1" not in found.half_spaces[0]
    assert found.half_space_precision[0] >= 0.8


def test_rows_outside_the_half_space_are_never_active_and_their_difference_is_measured():
    X = rows()
    found = model_difference(smooth, lambda X: smooth(X) + hinge(X), X, n_components=1)
    never = found.model.ensemble_.project(X)[:, 0] <= 0
    np.testing.assert_array_equal(found.never_active, never)
    size = np.abs(hinge(X))
    assert found.agreement.share == pytest.approx(never.mean())
    assert found.agreement.mean == pytest.approx(size[never].mean(), abs=1e-12)
    assert found.agreement.largest == pytest.approx(size[never].max(), abs=1e-12)
    assert found.agreement.ratio < 0.05


def test_models_that_differ_most_where_no_learner_is_active_are_not_said_to_agree():
    X = rows()
    found = model_difference(smooth, lambda X: smooth(X) + hinge(X) - 3.0, X, n_components=1)
    assert found.agreement.ratio > 1
    assert found.agreement.mean == pytest.approx(3.0, abs=0.01)


def test_agreement_is_not_a_number_if_some_learner_is_always_active():
    X = rows()
    found = model_difference(np.zeros(400), X @ DIRECTION, X, n_components=1, l2_regularization=1e-9)
    assert found.coverage[0] == 1
    assert found.agreement.share == 0
    assert np.isnan([found.agreement.mean, found.agreement.largest, found.agreement.ratio]).all()


def test_the_numbers_are_those_of_the_fitted_model():
    X, _, first, second = friedman()
    difference = second.predict(X) - first.predict(X) + 3
    found = model_difference(first, lambda X: second.predict(X) + 3, X, n_components=4)
    np.testing.assert_allclose(found.difference, difference, atol=1e-13)
    assert found.faithfulness == pytest.approx(r2_score(difference, found.model.predict(X)))
    phi, active = found.model.transform(X), found.model.ensemble_.project(X) > 0
    for j in range(4):
        left = difference - phi[:, : j + 1].sum(axis=1)
        assert found.explained[j] == pytest.approx(1 - (left @ left) / (difference @ difference))
        assert found.coverage[j] == active[:, j].mean()
        assert found.mean_difference[j] == pytest.approx(difference[active[:, j]].mean())
    np.testing.assert_array_equal(found.never_active, ~active.any(axis=1))


def test_more_than_the_rows_at_hand_is_asked_of_faithfulness():
    X = rows(200)
    noise = np.random.default_rng(1).standard_normal(200)
    found = model_difference(np.zeros(200), noise, X, n_components=10)
    assert found.faithfulness > 0.1
    assert found.held_out_faithfulness < 0.05
    assert np.isnan(model_difference(np.zeros(39), noise[:39], X[:39], n_components=1).held_out_faithfulness)


@given(seed=st.integers(0, 100))
@settings(max_examples=4, deadline=None, derandomize=True)
def test_swapped_models_have_the_opposite_differences_in_the_same_half_spaces(seed):
    X = rows(150, seed)
    one, other = smooth(X), smooth(X) + hinge(X) - hinge(-X, 0.5)
    there = model_difference(one, other, X, n_components=2, random_state=seed)
    back = model_difference(other, one, X, n_components=2, random_state=seed)
    np.testing.assert_array_equal(there.signs, -back.signs)
    np.testing.assert_allclose(there.mean_difference, -back.mean_difference, rtol=1e-3)
    np.testing.assert_allclose(there.explained, back.explained, rtol=1e-3)


def test_models_callables_and_arrays_are_the_same_question():
    X, _, first, second = friedman()
    found = model_difference(first, second, X, n_components=2)
    assert_same(found, model_difference(first, second, X, n_components=2))
    assert_same(found, model_difference(first.predict, pd.Series(second.predict(X)), X, n_components=2))
    assert_same(found, model_difference(first.predict(X).tolist(), second, X, n_components=2))


def test_searches_and_pipelines_are_models():
    X, y, first, second = friedman()
    search = GridSearchCV(LinearRegression(), {"fit_intercept": [True]}, cv=2).fit(X, y)
    found = model_difference(search, make_pipeline("passthrough", second), X, n_components=2)
    assert_same(found, model_difference(first, second, X, n_components=2))


def test_sparse_rows_give_what_dense_ones_do():
    X = np.where(rows() > 0.3, rows(), 0.0)
    dense = model_difference(np.zeros(400), hinge(X), X, n_components=2)
    sparse = model_difference(np.zeros(400), hinge(X), scipy.sparse.csr_array(X), n_components=2)
    np.testing.assert_allclose(sparse.explained, dense.explained, rtol=1e-3)
    assert sparse.coordinates.shape == (400, 2)


def test_two_classes_are_compared_in_log_odds():
    X, y = load_breast_cancer(return_X_y=True)
    first = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    second = RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(X, y)
    found = model_difference(first, second, X, n_components=3)
    log_odds = [
        np.log(p / (1 - p))
        for p in (np.clip(m.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6) for m in (first, second))
    ]
    np.testing.assert_allclose(found.difference, log_odds[1] - log_odds[0], atol=1e-9)
    assert found.output_names is None
    lift = found.lift(X, y)
    assert (lift.measure, lift.against) == ("accuracy", "y")
    assert lift.first_score == first.score(X, y)
    assert lift.second_score == second.score(X, y)
    assert found.lift(X).second_score == 1


def test_a_classifier_without_probabilities_and_scores_from_elsewhere_can_be_compared():
    X, y = load_breast_cancer(return_X_y=True)
    ridge = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, y)
    found = model_difference(ridge, np.zeros(len(X)), X, n_components=1)
    np.testing.assert_array_equal(found.difference, -ridge.decision_function(X))


def test_three_classes_are_three_outputs():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    y = names[y]
    first = LogisticRegression(max_iter=1000).fit(X, y)
    second = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(X, y)
    found = model_difference(first, second, X, n_components=2)
    assert found.difference.shape == found.never_active.shape == (150, 3)
    assert found.faithfulness.shape == found.agreement.ratio.shape == (3,)
    assert found.half_spaces.shape == found.mean_difference.shape == (6,)
    frame = found.to_frame()
    assert frame["output"].tolist() == names.tolist() * 2
    one = model_difference(np.zeros(150), found.difference[:, 1], X, n_components=2)
    assert found.explained[1] == pytest.approx(one.explained[0], rel=0.1)
    assert found.explained[found.outputs == 1][1] >= found.explained[found.outputs == 1][0]
    assert len(found.plot(output="virginica").names) == (found.coverage[[2, 5]] > 0).sum()
    lift = found.lift(X)
    assert lift.scores.shape == (3, 3)
    assert list(lift.to_frame().columns) == names.tolist()
    assert list(lift.plot().curves) == names.tolist()
    assert found.lift(X, y).second_score == second.score(X, y)
    with pytest.raises(ValueError, match="output must be one of"):
        found.plot()


def cars(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"origin": rng.choice(["Japan", "USA"], n), "weight": rng.normal(3000, 500, n)})
    y = X["weight"].to_numpy() / 100
    return X, y, y + np.where(X["origin"] == "USA", 4.0, 0.0)


def test_columns_of_text_go_through_preprocessing_and_come_back_in_words():
    X, first, second = cars()
    encoder = make_column_transformer((OneHotEncoder(), ["origin"]), (StandardScaler(), ["weight"]))
    found = model_difference(first, second, X, n_components=1, preprocessing=encoder)
    assert found.half_spaces[0] in ("origin is USA", "origin is Japan")
    assert found.half_space_precision[0] == found.half_space_coverage[0] == 1
    assert found.faithfulness > 0.99
    assert not hasattr(encoder, "transformers_")
    np.testing.assert_allclose(found.model.predict(X.head(2)), (second - first)[:2], atol=0.1)


def test_a_category_that_only_held_out_rows_have_is_no_error():
    X, first, second = cars()
    X.loc[np.random.default_rng(0).permutation(300)[0], "origin"] = "France"
    found = model_difference(first, second, X, n_components=1, preprocessing=make_column_transformer(
        (OneHotEncoder(), ["origin"]), remainder="passthrough"))  # fmt: skip
    assert found.held_out_faithfulness > 0.9


def test_lift_goes_from_the_first_model_towards_the_second():
    X, _, first, second = friedman()
    found = model_difference(first, second, X, n_components=6)
    lift = found.lift(X)
    assert (lift.measure, lift.against, len(lift.scores)) == ("R2", "second", 7)
    assert (np.diff(lift.scores) > -1e-12).all()
    assert lift.scores[0] >= lift.first_score - 1e-12
    assert lift.scores[-1] > lift.scores[0] + 0.1
    assert lift.second_score == 1
    assert lift.first_score == pytest.approx(r2_score(second.predict(X), first.predict(X)))
    assert lift.to_frame()["R2"].tolist() == lift.scores.tolist()


def test_lift_is_least_squares_on_the_rows_that_the_difference_was_learned_from():
    X, _, first, second = friedman()
    known, asked = X[:200], X[200:]
    y = make_friedman1(300, noise=0.5, random_state=0)[1][200:]
    found = model_difference(first, second, known, n_components=3)

    def features(X, k):
        return np.column_stack([first.predict(X), found.model.transform(X)[:, :k]])

    lift = found.lift(asked, y)
    for k in range(4):
        line = LinearRegression().fit(features(known, k), second.predict(known))
        assert lift.scores[k] == pytest.approx(line.score(features(asked, k), y), rel=1e-6)
    assert lift.first_score == pytest.approx(first.score(asked, y))
    assert lift.second_score == pytest.approx(second.score(asked, y))
    assert list(lift.plot().lines) == ["first", "second"]


def test_several_targets_are_compared_and_lifted_each_on_its_own():
    X, asked = rows(), rows(100, 1)
    pairs = [
        (smooth, lambda X: smooth(X) + hinge(X)),
        (lambda X: X[:, 0], lambda X: X[:, 0] - hinge(-X, 3)),
    ]
    first, second = (lambda X, i=i: np.column_stack([pair[i](X) for pair in pairs]) for i in range(2))
    found = model_difference(first, second, X, n_components=2)
    assert found.to_frame()["output"].tolist() == [0, 1, 0, 1]
    lift = found.lift(asked)
    assert lift.scores.shape == (3, 2)
    for k, pair in enumerate(pairs):
        alone = model_difference(*pair, X, n_components=2)
        mine = found.outputs == k
        np.testing.assert_allclose(found.mean_difference[mine][:1], alone.mean_difference[:1], rtol=0.05)
        np.testing.assert_allclose(found.explained[mine], alone.explained, atol=0.01)
        np.testing.assert_allclose(lift.scores[:, k], alone.lift(asked).scores, atol=0.01)
    truth = second(asked) + np.array([0.0, 1.0])
    assert found.lift(asked, truth).second_score[0] == 1
    assert found.lift(asked, truth).second_score[1] < 1


@pytest.mark.parametrize("shift", [0.0, 0.1, 1e-15])
def test_models_that_differ_by_a_constant_need_no_half_space(shift):
    X, _, first, _ = friedman()
    found = model_difference(first, lambda X: first.predict(X) + shift, X, n_components=3)
    constant = 0.0 if shift == 1e-15 else shift
    assert found.half_spaces.tolist() == ["nowhere"] * 3
    assert found.signs.tolist() == found.coverage.tolist() == [0, 0, 0]
    assert np.isnan(found.mean_difference).all()
    assert found.never_active.all()
    assert found.agreement.mean == found.agreement.largest == pytest.approx(constant, abs=1e-15)
    assert found.faithfulness == found.held_out_faithfulness == 1
    np.testing.assert_allclose(found.explained, 1)
    np.testing.assert_allclose(found.model.predict(X), constant, atol=1e-14)
    np.testing.assert_allclose(found.lift(X).scores, 1)
    assert len(found.plot().names) == 0


def test_float32_predictions_of_one_model_computed_twice_are_the_same():
    X = rows()
    noisy = (smooth(X) * (1 + 3e-7 * np.random.default_rng(0).choice([-1, 1], 400))).astype(np.float32)
    assert model_difference(smooth(X).astype(np.float32), noisy, X, n_components=1).agreement.largest == 0
    assert model_difference(smooth, noisy, X, n_components=1).agreement.largest == 0
    assert model_difference(smooth, noisy.astype(np.float64), X, n_components=1).agreement.largest != 0


def test_a_constant_output_beside_another_one_is_constant():
    X = rows()
    second = np.column_stack([hinge(X), np.full(400, 7.0)])
    found = model_difference(np.zeros((400, 2)), second, X, n_components=2)
    assert found.faithfulness[0] > 0.99
    assert found.faithfulness[1] == found.held_out_faithfulness[1] == 1
    assert found.signs[found.outputs == 1].tolist() == [0, 0]
    assert found.agreement.mean[1] == 7


def test_polars_and_pandas_rows_say_the_same():
    polars = pytest.importorskip("polars")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    forest = RandomForestRegressor(10, min_samples_leaf=10, random_state=0).fit(X.to_numpy(), y)
    arrays = np.zeros(len(X)), forest.predict(X.to_numpy())
    found = model_difference(*arrays, X, n_components=2)
    assert "x0" not in " ".join(found.half_spaces)
    assert_same(found, model_difference(*arrays, polars.from_pandas(X), n_components=2))


def test_the_bars_name_whole_half_spaces_and_what_they_cover():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X.columns = [f"a rather long name of {name}" for name in X]
    forest = RandomForestRegressor(10, min_samples_leaf=10, random_state=0).fit(X, y)
    found = model_difference(LinearRegression().fit(X, y), forest, X, n_components=3)
    display = found.plot()
    shown = found.coverage > 0
    np.testing.assert_array_equal(display.values, found.mean_difference[shown])
    for label, words in zip(display.ax_.get_yticklabels(), found.half_spaces[shown]):
        assert " ".join(label.get_text().split()).startswith(words)
        assert label.get_text().endswith("of rows)")
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


def test_the_frame_has_a_row_for_each_half_space():
    X = rows()
    found = model_difference(smooth, lambda X: smooth(X) + hinge(X), X, n_components=2)
    frame = found.to_frame()
    about = ["half_space", "sign", "coverage", "mean_difference", "explained"]
    assert frame.columns.tolist() == [*about, "half_space_precision", "half_space_coverage"]
    assert frame["half_space"].tolist() == found.half_spaces.tolist()
    assert frame["sign"].tolist() == found.signs.tolist()


def nothing(X):
    return np.zeros(len(X))


def labelled(n_classes):
    X = rows()
    return LogisticRegression().fit(X, np.arange(400) % n_classes)


@pytest.mark.parametrize(
    ("first", "second", "error", "message"),
    [
        (np.zeros(399), nothing, ValueError, r"first must give one prediction.*400 rows of X.*\(399,\)"),
        (nothing, np.zeros((400, 1, 1)), ValueError, r"second must give.*\(400, 1, 1\)"),
        (nothing, 3.0, ValueError, r"second must give.*\(\)"),
        (LinearRegression(), nothing, NotFittedError, "first must be fitted, but this LinearRegression"),
        (nothing, LogisticRegression(), NotFittedError, "second must be fitted"),
        (nothing, np.r_[np.nan, np.inf, np.zeros(398)], ValueError, "second must predict finite.*2 of the"),
        (np.full(400, "a"), nothing, TypeError, "first must predict numbers, got values such as.*'a'"),
        (nothing, np.zeros((400, 2)), ValueError, "same number of outputs, got 1 and 2"),
        (labelled(2), labelled(3), ValueError, r"same classes, got \[0, 1\] and \[0, 1, 2\]"),
        (labelled(3), nothing, ValueError, "same number of outputs, got 3 and 1"),
        (
            LinearRegression().fit(rows(), np.zeros(400)), labelled(2), ValueError,
            "two classifiers or two regressors, got LinearRegression and LogisticRegression",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(first, second, error, message):
    with pytest.raises(error, match=message):
        model_difference(first, second, rows())


def test_columns_of_text_need_no_preprocessing():
    X, first, second = cars()
    assert model_difference(first, second, X, n_components=1).faithfulness > 0.99


def test_steps_that_mix_columns_are_refused():
    with pytest.raises(ValueError, match=r"preprocessing must be of steps that lead back.*PCA"):
        model_difference(nothing, hinge, rows(), n_components=1, preprocessing=PCA(2))


def test_lift_refuses_arrays_and_targets_that_do_not_fit():
    X = rows()
    with pytest.raises(TypeError, match="lift needs second to predict further rows"):
        model_difference(nothing, hinge(X), X, n_components=1).lift(X)
    numbers = model_difference(nothing, hinge, X, n_components=1)
    with pytest.raises(
        ValueError, match=r"y must hold 1 number\(s\) for each of the 400 rows of X, got \(399,\)"
    ):
        numbers.lift(X, np.zeros(399))
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        numbers.lift(X, np.full(400, np.nan))
    classes = model_difference(
        labelled(2), clone(labelled(2)).fit(X, X[:, 0] > 0).decision_function, X, n_components=1
    )
    with pytest.raises(ValueError, match=r"classes of the models only, \[0, 1\], got \[2\] too"):
        classes.lift(X, np.full(400, 2))
    with pytest.raises(ValueError, match=r"one label for each of the 400 rows of X, got shape \(3,\)"):
        classes.lift(X, np.zeros(3))


def test_frames_with_text_and_gaps_need_no_preprocessing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(50, 9, 300), "kind": rng.choice(["u", "v", "w"], 300)})
    X.loc[::6, "size"] = np.nan
    second = 2.0 * (X["kind"] == "u").to_numpy() + X["size"].isna().to_numpy()
    difference = model_difference(np.zeros(300), second, X, n_components=3)
    assert difference.faithfulness > 0.99
    assert difference.held_out_faithfulness > 0.99
    told = " ".join(difference.half_spaces)
    assert "kind" in told
    assert "size" in told
    assert "from" not in told


def test_models_that_bend_are_compared_by_half_spaces_of_whole_columns():
    X = rows()
    models = [GBMAPRegressor(4, knots=k, random_state=0).fit(X, np.abs(X[:, 0]) + X[:, 1]) for k in (0, 4)]
    difference = model_difference(*models, X, n_components=3)
    assert difference.model.ensemble_.weights.shape == (3, 3)
    lift = difference.lift(X)
    assert lift.scores[-1] >= lift.scores[0] - 1e-9
