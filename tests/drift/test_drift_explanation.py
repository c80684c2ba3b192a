"""f - f_kNN splits into shares of the features and the local misfit, and adds up."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap.inspection import attributions


def regressor(**settings):
    return GBMAPRegressor(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0} | settings)


def make_rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] ** 2 + np.abs(X[:, 1]) + 0.1 * rng.normal(size=n)


def make_frame(n=200, seed=0):
    X, _ = make_rows(n, seed)
    kind = np.random.default_rng(seed + 1).choice(["red", "green", "blue"], n)
    frame = pd.DataFrame({"size": X[:, 0], "kind": kind, "age": 40 + 9 * X[:, 1]})
    return frame, X[:, 0] ** 2 + 2.0 * (kind == "red")


def neighbours(embedding, X, new, k):
    index = NearestNeighbors(n_neighbors=k, metric="manhattan").fit(embedding.transform(X))
    return index.kneighbors(embedding.transform(new), return_distance=False)


def assert_adds_up(explanation, differences, atol=1e-9):
    total = explanation.values.sum(axis=1) + explanation.misfit + explanation.remainder
    np.testing.assert_allclose(total, differences, atol=atol)
    np.testing.assert_allclose(explanation.differences, differences, atol=atol)
    np.testing.assert_allclose(explanation.extrapolation + explanation.misfit, differences, atol=atol)


@pytest.mark.parametrize("activation", ["softplus", "identity"])
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 60), scale=st.sampled_from([0.1, 1.0, 30.0]))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_the_parts_add_up_to_the_difference(activation, seed, k, scale):
    X, y = make_rows(60, seed % 1000)
    model = regressor(activation=activation).fit(X, y)
    new = np.random.default_rng(seed).normal(size=(7, 4)) * scale
    detector = DriftDetector(model, n_neighbors=k, distance_weight=0).fit(X, y)
    explanation = detector.explain(new)
    nearest = neighbours(model, X, new, k)
    assert_adds_up(explanation, model.predict(new) - y[nearest].mean(axis=1))
    np.testing.assert_allclose(np.abs(explanation.differences), detector.indicator(new), atol=1e-9)
    misfit = (model.predict(X) - y)[nearest].mean(axis=1)
    np.testing.assert_allclose(explanation.misfit, misfit, atol=1e-9)
    assert not explanation.remainder.any()


def test_with_one_neighbour_the_shares_are_the_attributions_against_it():
    X, y = make_rows()
    new = make_rows(5, seed=1)[0] * 3
    model = regressor().fit(X, y)
    explanation = DriftDetector(model, n_neighbors=1).fit(X, y).explain(new)
    nearest = neighbours(model, X, new, 1)[:, 0]
    for i in range(5):
        alone = attributions(model, new[[i]], X[nearest[i]])
        np.testing.assert_allclose(explanation.values[i], alone.values[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(explanation.misfit, model.predict(X[nearest]) - y[nearest], atol=1e-9)


def test_with_several_neighbours_the_shares_are_the_mean_of_the_attributions():
    X, y = make_rows()
    new = make_rows(5, seed=1)[0] * 3
    model = regressor().fit(X, y)
    explanation = DriftDetector(model, n_neighbors=4).fit(X, y).explain(new)
    for i, nearest in enumerate(neighbours(model, X, new, 4)):
        background = attributions(model, new[[i]], X[nearest])
        np.testing.assert_allclose(explanation.values[i], background.values[0], rtol=1e-9, atol=1e-12)


def test_a_row_far_out_along_one_column_is_explained_by_it():
    X, y = make_rows()
    explanation = (
        DriftDetector(regressor(), random_state=0).fit(X, y).explain([[9.0, 0, 0, 0], [0, 0, 0, 9.0]])
    )
    first, last = np.abs(explanation.values)
    assert first.argmax() == 0
    assert first[0] > 0.9 * first.sum()
    assert first[0] > 10 * last.max()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_for_classes_there_is_no_misfit(n_classes):
    X, y = make_rows()
    labels = np.array(["a", "b", "c"])[
        np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    ]
    model = GBMAPClassifier(2, random_state=0).fit(X, labels)
    new = make_rows(6, seed=1)[0] * 2
    explanation = DriftDetector(model).fit(X, labels).explain(new)
    score = model.decision_function
    assert_adds_up(explanation, score(new) - score(X)[neighbours(model, X, new, 5)].mean(axis=1), atol=1e-8)
    assert not explanation.misfit.any()
    assert explanation.values.shape == ((6, 4) if n_classes == 2 else (6, 4, 3))
    assert (explanation.output_names is None) == (n_classes == 2)
    if n_classes == 3:
        assert explanation.output_names.tolist() == ["a", "b", "c"]


def test_each_of_several_targets_has_parts_of_its_own():
    X, y = make_rows()
    Y, new = np.column_stack([y, 5 * X[:, 2]]), make_rows(6, seed=1)[0] * 2
    model = regressor().fit(X, Y)
    detector = DriftDetector(model, distance_weight=0).fit(X, Y)
    explanation = detector.explain(new)
    assert explanation.values.shape == (6, 4, 2)
    assert_adds_up(explanation, model.predict(new) - Y[neighbours(model, X, new, 5)].mean(axis=1))
    np.testing.assert_allclose(np.abs(explanation.differences).sum(axis=1), detector.indicator(new))


def test_with_an_initial_model_the_parts_are_those_of_what_is_added_to_it():
    X, y = make_rows()
    y, new = y + 5 * X[:, 2], make_rows(6, seed=1)[0] * 2
    model = regressor(init=LinearRegression()).fit(X, y)
    first = model.init_.predict
    explanation = DriftDetector(model).fit(X, y).explain(new)
    rest = (y - first(X))[neighbours(model, X, new, 5)].mean(axis=1)
    assert_adds_up(explanation, model.predict(new) - first(new) - rest, atol=1e-8)


def test_through_a_pipeline_the_shares_are_those_of_the_users_columns():
    frame, y = make_frame()
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["size", "age"])), regressor()
    ).fit(frame, y)
    explanation = DriftDetector(model, n_neighbors=1).fit(frame, y).explain(frame[:5])
    assert list(explanation.feature_names) == ["size", "kind", "age"]
    nearest = neighbours(model, frame, frame[:5], 1)[:, 0]
    for i in range(5):
        alone = attributions(model, frame[i : i + 1], frame[nearest[i] : nearest[i] + 1])
        np.testing.assert_allclose(explanation.values[i], alone.values[0], atol=1e-9)
    assert_adds_up(explanation, model.predict(frame[:5]) - y[nearest])


def test_what_a_foreign_model_does_beyond_its_gbmap_is_the_remainder():
    X, y = make_rows()
    new = make_rows(6, seed=1)[0] * 3
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    surrogate = regressor().fit(X, model.predict(X))
    explanation = DriftDetector(model, surrogate=regressor()).fit(X, y).explain(new)
    nearest = neighbours(surrogate, X, new, 5)

    def beyond(f):
        return f(new) - f(X)[nearest].mean(axis=1)

    assert_adds_up(explanation, model.predict(new) - y[nearest].mean(axis=1))
    np.testing.assert_allclose(explanation.values.sum(axis=1), beyond(surrogate.predict), atol=1e-9)
    np.testing.assert_allclose(explanation.extrapolation, beyond(model.predict), atol=1e-9)
    remainder = beyond(model.predict) - beyond(surrogate.predict)
    np.testing.assert_allclose(explanation.remainder, remainder, atol=1e-9)
    assert np.abs(remainder).max() > 0.1


def test_a_foreign_classifier_has_the_names_of_its_classes_and_no_misfit():
    X, y = make_rows()
    labels = np.array(["low", "mid", "top"])[np.searchsorted(np.quantile(y, [0.3, 0.6]), y)]
    detector = DriftDetector(
        LogisticRegression().fit(X, labels), surrogate=regressor(), distance_weight=0
    ).fit(X, labels)
    explanation = detector.explain(X[:4])
    assert explanation.output_names.tolist() == ["low", "mid", "top"]
    assert not explanation.misfit.any()
    np.testing.assert_allclose(np.abs(explanation.differences).sum(axis=1), detector.indicator(X[:4]))


def test_the_frame_has_a_column_a_part_and_a_row_a_row_and_output():
    X, y = make_rows()
    frame = DriftDetector(regressor()).fit(X, y, X_cal=-X, y_cal=y).explain(X[:3]).to_frame()
    assert list(frame.columns) == ["x0", "x1", "x2", "x3", "misfit", "remainder", "difference"]
    np.testing.assert_allclose(frame.iloc[:, :-1].sum(axis=1), frame["difference"], atol=1e-9)
    Y = np.column_stack([y, X[:, 2]])
    several = DriftDetector(regressor()).fit(X, Y, X_cal=-X, y_cal=Y).explain(X[:3])
    frame = several.to_frame()
    assert frame.index.tolist() == [(row, output) for row in range(3) for output in range(2)]
    np.testing.assert_allclose(frame.loc[(1, 0), ["x0", "x1", "x2", "x3"]], several.values[1, :, 0])


def test_the_plot_shows_the_parts_that_there_are():
    X, y = make_rows()
    explanation = DriftDetector(regressor()).fit(X, y, X_cal=-X, y_cal=y).explain(X[:3])
    display = explanation.plot(1)
    shown = {label.get_text() for label in display.ax_.get_yticklabels()}
    assert shown == {"x0", "x1", "x2", "x3", "local misfit"}
    assert len(explanation.plot(1, n_features=2).ax_.get_yticklabels()) == 2
    with pytest.raises(ValueError, match="row must be below 3"):
        explanation.plot(3)
    labels = y > np.median(y)
    of_classes = DriftDetector(GBMAPClassifier(1, random_state=0)).fit(X, labels, X_cal=-X, y_cal=labels)
    ticks = of_classes.explain(X[:3]).plot().ax_.get_yticklabels()
    assert "local misfit" not in {label.get_text() for label in ticks}
    plt.close("all")


def test_preprocessing_that_mixes_columns_has_an_indicator_but_no_explanation():
    X, y = make_rows()
    detector = DriftDetector(make_pipeline(PCA(2), regressor()), random_state=0).fit(X, y)
    assert np.isfinite(detector.indicator(X)).all()
    with pytest.raises(ValueError, match="the step PCA cannot be followed back"):
        detector.explain(X)


@pytest.mark.parametrize("makes_classes", [False, True])
def test_rows_blame_the_column_that_makes_them_strange_and_their_parts_add_up_as_ever(makes_classes):
    X, y = make_frame(400)
    y = X["kind"].to_numpy() if makes_classes else y
    X = X.assign(town=X["kind"].str[::-1])
    model = (GBMAPClassifier if makes_classes else GBMAPRegressor)(3, random_state=0).fit(X[:200], y[:200])
    detector = DriftDetector(model).fit(X[:200], y[:200], X_cal=X[200:], y_cal=y[200:])
    new = X[:90].copy()
    new.loc[:29, "age"] = np.nan
    new.loc[30:59, "town"] = "mauve"
    new.loc[10:19, "size"] = 50.0  # and is far besides
    found = detector.explain(new)
    assert set(found.because_of[:30]) == {"age"}
    assert set(found.because_of[30:60]) == {"town"}
    sizes = np.abs(found.values).reshape(90, 4, -1).sum(axis=2)
    assert found.because_of[60:].tolist() == found.feature_names[sizes[60:].argmax(axis=1)].tolist()
    assert found.strange.sum(axis=0).tolist() == [0, 0, 30, 30]
    assert "60 rows strange, most of them by age" in repr(found)
    assert "strange" not in repr(detector.explain(X))
    assert_adds_up(found, found.differences)
    np.testing.assert_allclose(
        np.abs(found.differences).reshape(90, -1).sum(axis=1), detector._measure(new).differences, atol=1e-9
    )
