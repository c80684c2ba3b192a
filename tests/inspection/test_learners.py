"""The learners one by one: against direct computation, the loss curve of the fit, and R2."""

from dataclasses import replace
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel
from gbmap.inspection import learner_cards
from gbmap.losses import Loss

mpl.use("agg")


class LogCosh(Loss):
    def value(self, y, f):
        return np.logaddexp(y - f, f - y) - np.log(2)

    def gradient(self, y, f):
        return np.tanh(f - y)


def draw(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 30.0, 0.02, 5.0] + [0.0, 200.0, -1.0, 3.0]
    y = np.abs(X[:, 0]) + X[:, 1] / 30 + np.maximum(X[:, 3], 2) / 2 + 0.3 * rng.standard_normal(n)
    return X, 10 * y + 100


def classes(y, n_classes):
    return np.array(["a", "b", "c"])[:n_classes][np.digitize(y, np.quantile(y, [0.4, 0.7])[: n_classes - 1])]


def regressor(**options):
    return GBMAPRegressor(
        **{
            "n_components": 4,
            "knots": 0,
            "l2_regularization": 1e-3,
            "refine": False,
            "random_state": 0,
            **options,
        }
    )


def classifier(**options):
    return GBMAPClassifier(**{"n_components": 3, "l2_regularization": 1e-3, "random_state": 0, **options})


def half(X):
    return 50 + X[:, 1] / 6


MODELS = {
    "plain": (regressor(), "one"),
    "without units": (regressor(standardize=False, init=half, n_init=5), "one"),
    "linear": (regressor(activation="identity", n_components=2), "one"),
    "huber": (regressor(loss="huber", huber_delta=0.5), "one"),
    "quantile": (regressor(loss="quantile", quantile=0.8), "one"),
    "own loss": (regressor(loss=LogCosh()), "small"),
    "init": (regressor(init=LinearRegression()), "one"),
    "two targets": (regressor(), "two"),
    "two classes": (classifier(), "two classes"),
    "exponential": (classifier(loss="exponential"), "two classes"),
    "hinge": (classifier(loss="hinge"), "two classes"),
    "classes after init": (classifier(init=LogisticRegression(max_iter=10_000)), "two classes"),
    "three classes": (classifier(), "three classes"),
}
ALL_MODELS = pytest.mark.parametrize("name", MODELS)


@cache
def fitted(name):
    """Return a fitted model, and the rows and targets of its fit."""
    (model, target), (X, y) = MODELS[name], draw()
    y = {
        "one": y,
        "small": y / 10,
        "two": np.column_stack([y, 1e3 * np.sin(y)]),
        "two classes": classes(y, 2),
        "three classes": classes(y, 3),
    }[target]
    return model.fit(X, y), X, y


@ALL_MODELS
def test_on_the_training_rows_the_loss_curve_is_that_of_the_fit(name):
    model, X, y = fitted(name)
    cards = learner_cards(model, X, y)
    assert_allclose(cards.loss_curve, model.loss_curve_, rtol=1e-9)
    assert cards.explained_loss[0] == 0
    assert (np.diff(cards.explained_loss) >= -1e-9).all()
    assert cards.explained_loss[-1] > 0.1


@ALL_MODELS
def test_shares_and_spreads_are_those_of_the_embedding(name):
    model, X, _ = fitted(name)
    cards, ensemble, phi = learner_cards(model, X), model.ensemble_, model.transform(X)
    active = X @ ensemble.weights.T + ensemble.offsets > 0
    expected = np.ones(len(ensemble)) if model.activation == "identity" else active.mean(axis=0)
    assert_array_equal(cards.active_share, expected)
    assert_allclose(cards.contribution_spread, phi.std(axis=0), rtol=1e-9, atol=1e-12)
    assert_array_equal(cards.signs, ensemble.signs)
    assert_array_equal(cards.outputs, np.arange(len(ensemble)) % ensemble.n_outputs)
    assert_allclose(cards.weights, ensemble.weights * X.std(axis=0), rtol=1e-9)
    assert (cards.loss_curve, cards.explained_loss) == (None, None)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
@pytest.mark.parametrize("init", [None, half])
def test_the_share_explained_is_over_the_best_constant_on_these_rows(loss, init):
    X, y = draw()
    model = regressor(loss=loss, quantile=0.7, huber_delta=0.3, init=init).fit(X, y)
    X_new, y_new = draw(60, seed=1)
    cards, unit = learner_cards(model, X_new, y_new), np.std(y if init is None else y - init(X))
    base = 0.0 if init is None else init(X_new)

    def mean_loss(score):
        value = model._make_loss().value(y_new / unit, score / unit)
        return unit ** model._make_loss().degree * np.mean(value)

    least = minimize_scalar(
        lambda c: mean_loss(base + c), bounds=(-1e3, 1e3), method="bounded", options={"xatol": 1e-9}
    ).fun
    expected = [1 - mean_loss(f) / least for f in model.staged_predict(X_new)]
    assert_allclose(cards.explained_loss[1:], expected, rtol=1e-7)
    assert_allclose(cards.loss_curve, [mean_loss(base), *map(mean_loss, model.staged_predict(X_new))])


def test_for_squared_errors_the_share_explained_is_r2():
    X, y = draw()
    model = regressor(n_components=8, l2_regularization=1e-6).fit(X[:40], y[:40])
    for rows in (slice(0, 40), slice(40, None)):
        explained = learner_cards(model, X[rows], y[rows]).explained_loss
        expected = [r2_score(y[rows], f) for f in model.staged_predict(X[rows])]
        assert_allclose(explained[1:], expected, rtol=1e-10)
    assert (np.diff(explained)[1:] < 0).any()  # on rows that the model has not seen


def test_of_several_targets_the_share_explained_is_r2_weighted_by_variance():
    X, y = draw()
    Y = np.column_stack([y, np.cos(X[:, 0]), X[:, 3]])
    model = regressor().fit(X, Y)
    expected = [r2_score(Y, f, multioutput="variance_weighted") for f in model.staged_predict(X)]
    assert_allclose(learner_cards(model, X, Y).explained_loss[1:], expected, rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_classes_the_best_constants_are_the_log_odds_of_their_shares(n_classes):
    X, y = draw()
    y = classes(y, n_classes)
    model = classifier().fit(X, y)
    shares = np.array([np.mean(y == label) for label in (["b"] if n_classes == 2 else ["a", "b", "c"])])
    entropy = -np.mean(shares * np.log(shares) + (1 - shares) * np.log(1 - shares))
    cards = learner_cards(model, X, y)
    assert_allclose(cards.explained_loss[1:], 1 - cards.loss_curve[1:] / entropy, rtol=1e-9)


def test_a_fit_with_fewer_learners_has_the_first_cards():
    X, y = draw()
    long, short = (learner_cards(regressor(n_components=m).fit(X, y), X, y) for m in (4, 2))
    for name in ("signs", "active_share", "weights", "main_features", "half_spaces", "contribution_spread"):
        assert_array_equal(getattr(long, name)[:2], getattr(short, name))
    assert_array_equal(long.explained_loss[:3], short.explained_loss)


def test_rows_without_spread_have_no_loss_to_explain():
    X, y = draw()
    model = regressor().fit(X, y)
    assert np.isnan(learner_cards(model, X, np.full(len(X), 0.1)).explained_loss).all()
    two = classes(y, 2)
    only = two == "a"
    cards = learner_cards(classifier().fit(X, two), X[only], two[only])
    assert np.isnan(cards.explained_loss).all()
    assert np.isfinite(cards.loss_curve).all()


def test_a_class_that_is_not_among_the_rows_leaves_the_others_to_explain():
    X, y = draw()
    y = classes(y, 3)
    model = classifier().fit(X, y)
    kept = y != "b"
    cards = learner_cards(model, X[kept], y[kept])
    share = np.mean(y[kept] == "a")
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share)) * 2 / 3
    assert_allclose(cards.explained_loss[1:], 1 - cards.loss_curve[1:] / entropy, rtol=1e-9)


def mixed(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n),
            "city": rng.choice(["Oslo", "Rome", "Kyiv"], n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.gamma(2.0, 2e4, n)),
            "sex": rng.choice(["f", "m"], n),
            "note": rng.random(n),
        }
    )
    y = np.abs(X["age"] - 45) / 5 + 3.0 * (X["city"] == "Oslo") + 2.0 * (X["sex"] == "f")
    return X, (y + X["income"].fillna(0) / 2e4).to_numpy()


def mixed_pipeline(**options):
    before = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(), ["city"]),
        (OneHotEncoder(drop="first"), ["sex"]),
    )
    return make_pipeline(before, regressor(**options))


def test_through_a_pipeline_cards_are_in_the_users_columns():
    X, y = mixed()
    model = mixed_pipeline().fit(X, y)
    cards = learner_cards(model, X, y)
    w = model[-1].ensemble_.weights  # age, income, mark of income, three cities, sex
    filled = X["income"].fillna(X["income"].mean())
    assert_array_equal(cards.feature_names, X.columns)
    # The scaler divides by the deviation of the filled column.
    expected = np.column_stack([w[:, 0], np.ptp(w[:, 3:6], axis=1), w[:, 1], np.abs(w[:, 6]), np.zeros(4)])
    assert_allclose(cards.weights, expected, rtol=1e-9)
    assert filled.std(ddof=0) == pytest.approx(model[0].transformers_[0][1][-1].scale_[1])
    assert_allclose(cards.loss_curve, model[-1].loss_curve_, rtol=1e-9)
    assert not any("note" in text for text in [*cards.main_features, *cards.half_spaces])


def test_an_initial_model_that_wants_column_names_gets_them():
    X, y = mixed()
    X = X[["age", "note"]]

    def by_name(frame):
        return frame["age"].to_numpy() / 5

    model = regressor(init=by_name).fit(X, y)
    assert_allclose(learner_cards(model, X, y).loss_curve, model.loss_curve_, rtol=1e-9)
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), regressor(init=by_name)).fit(X, y)
    assert_allclose(learner_cards(scaled, X, y).loss_curve, scaled[-1].loss_curve_, rtol=1e-9)


def test_main_features_are_those_of_the_largest_weights():
    X, y = draw()
    frame = pd.DataFrame(X, columns=["one", "two", "three", "four"])
    model = regressor(n_components=3).fit(frame, y)
    weights = np.array([[1, -3, 2, 0.5], [0, -1, 0, 0], [0, 0, 0, 0]]) / X.std(axis=0)
    model.ensemble_ = replace(model.ensemble_, weights=weights, offsets=np.zeros(3))
    cards = learner_cards(model, frame)
    assert cards.main_features.tolist() == ["two, three, one", "two", "none"]
    assert (cards.half_spaces[2], cards.active_share[2]) == ("nowhere", 0)
    assert np.isnan(cards.half_space_precision[2])


def test_precision_and_coverage_of_the_words_are_those_of_a_reader_who_goes_by_them(read_words):
    X, y = draw()
    model = regressor(n_components=1).fit(X, y)
    weights = np.array([[1.0, 0.3, 0, 0]]) / X.std(axis=0)
    model.ensemble_ = replace(model.ensemble_, weights=weights, offsets=np.array([0.2]))
    cards = learner_cards(model, X)
    active = model.ensemble_.project(X)[:, 0] > 0
    read = read_words(cards.half_spaces[0], pd.DataFrame(X, columns=[f"x{k}" for k in range(4)]))
    assert cards.half_space_precision[0] == np.mean(active[read]) >= 0.8
    assert cards.half_space_coverage[0] == np.mean(read[active])


def test_the_parts_of_a_learner_add_up_to_its_projection():
    X, y = bent_table()
    model = regressor(knots=4).fit(X, y)
    cards, fitted = learner_cards(model, X, y), FittedModel.of(model)
    z = fitted.ensemble.project(fitted.read(X))
    for j, name in enumerate(cards.names):
        total = np.zeros(len(X))
        for part in cards.parts(name, n_features=9):
            column = X[part.feature]
            if part.share is None:
                at = np.interp(column, part.values, part.part)
                total += np.where(column.isna(), 0.0 if part.missing is None else part.missing, at)
            else:
                known = dict(zip(part.values, part.part))
                total += [known["missing" if pd.isna(v) else v if v in known else "other"] for v in column]
        assert_allclose(total, z[:, j] - z[:, j].mean(), atol=1e-6 * np.abs(z).max())


def test_parts_are_of_the_columns_that_matter_most_and_draw_themselves():
    X, y = bent_table()
    cards = learner_cards(regressor(knots=4).fit(X, y), X, y)
    for name, main in zip(cards.names, cards.main_features):
        assert (", ".join(str(part.feature) for part in cards.parts(name)) or "none") == main
    parts = cards.parts("f1", n_features=9)
    assert {part.share is None for part in parts} == {True, False}
    for part in parts:
        assert repr(part).startswith(f"ColumnPart: {part.feature}")
        assert len(part.to_frame()) == len(part.values)
        plt.close(part.plot().figure_)
    with pytest.raises(ValueError, match="learner must be a name from 'f1'"):
        cards.parts("f99")


@pytest.mark.parametrize("kind", ["polars", "sparse", "list"])
def test_any_kind_of_rows_and_targets_gives_the_same_cards(kind):
    X, y = draw()
    X = np.where(X > 0, X, 0.0)
    model = regressor().fit(X, y)
    expected = learner_cards(model, X, y)
    if kind == "polars":
        X, y = pl.DataFrame(X, schema=["x0", "x1", "x2", "x3"]), pl.Series(y)
        model = regressor().fit(X, y)
    elif kind == "sparse":
        X, y = scipy.sparse.coo_array(X), pd.Series(y, index=range(1000, 1090))
    else:
        X, y = X.tolist(), y.tolist()
    found = learner_cards(model, X, y)
    for name in ("active_share", "weights", "contribution_spread", "loss_curve", "explained_loss"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    assert found.half_spaces.tolist() == expected.half_spaces.tolist()


def test_the_frame_has_a_row_per_learner():
    X, y = draw()
    y = classes(y, 3)
    cards = learner_cards(classifier(n_components=2).fit(X, y), X, y)
    frame = cards.to_frame()
    assert frame["output"].tolist() == ["a", "b", "c"] * 2
    assert_array_equal(frame["explained_loss"], np.repeat(cards.explained_loss[1:], 3))
    assert_array_equal(frame["half_space"], cards.half_spaces)
    without = learner_cards(regressor().fit(*draw()), X).to_frame()
    assert not {"output", "explained_loss"} & set(without.columns)
    assert without.index.name == "learner"


def test_the_curve_and_a_card_are_drawn():
    X, y = draw()
    cards = learner_cards(regressor().fit(X, y), X, y)
    display = cards.plot()
    assert_allclose(display.ax_.lines[0].get_ydata(), cards.explained_loss)
    _, ax = plt.subplots()
    bars = cards.plot_card(1, n_features=2, ax=ax)
    assert bars.ax_ is ax
    assert_array_equal(np.abs(bars.values), np.sort(np.abs(cards.weights[1]))[::-1][:2])
    plt.close("all")


def test_faults_are_told_with_the_way_out():
    X, y = draw()
    model, two = regressor().fit(X, y), classes(y, 2)
    cards = learner_cards(model, X)
    with pytest.raises(ValueError, match="needs y; pass it to learner_cards"):
        cards.plot()
    with pytest.raises(
        ValueError, match="learner must be a name from 'f1' to 'f4', or a position below 4, got 4"
    ):
        cards.plot_card(4)
    with pytest.raises(ValueError, match="y must have as many rows as X, 90, got 5"):
        learner_cards(model, X, y[:5])
    with pytest.raises(ValueError, match="y must have as many targets as in the fit, 1, got 2"):
        learner_cards(model, X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"y must hold classes of the fit only, \['a', 'b'\], got \['z'\]"):
        learner_cards(classifier().fit(X, two), X, np.where(two == "a", "z", two))
    with pytest.raises(TypeError, match="model must be a fitted GBMAP"):
        learner_cards(LinearRegression().fit(X, y), X)


def bent_table(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "noise": rng.normal(size=n)})
    X["kind"] = rng.choice(["u", "v", "w"], n)
    X.loc[rng.random(n) < 0.2, "b"] = np.nan
    X.loc[rng.random(n) < 0.1, "kind"] = None
    return X, np.abs(X["a"]) + np.exp(X["b"].fillna(0)) + 3 * (X["kind"] == "u")


@pytest.mark.parametrize("options", [{}, {"monotonic_cst": [0, 1, 0, 0]}], ids=["free", "rising"])
def test_where_columns_bend_weights_are_mean_slopes_and_names_are_the_users(options):
    X, y = bent_table()
    model = regressor(knots=4, **options).fit(X, y)
    cards = learner_cards(model, X, y)
    assert_allclose(cards.explained_loss[-1], model.score(X, y))
    step = 1e-6
    fitted = FittedModel.of(model)
    for k, name in enumerate(["a", "b"]):
        known = X.assign(b=X["b"].fillna(fitted.inputs.fill[1]))
        z, moved = (
            fitted.ensemble.project(fitted.read(rows))
            for rows in (known, known.assign(**{name: known[name] + step}))
        )
        slope = (moved - z).mean(axis=0) / step
        assert_allclose(cards.weights[:, k], slope * X[name].std(ddof=0), rtol=0.02, atol=0.02)
    assert not any("from" in words for words in cards.half_spaces)
    named = {name for names in cards.main_features for name in names.split(", ")}
    assert named <= {*X.columns, "none"}
    active = fitted.ensemble.project(fitted.read(X)) > 0
    assert_allclose(cards.active_share, active.mean(axis=0))
    assert (cards.half_space_precision[np.isfinite(cards.half_space_precision)] >= 0.8).all()
    for draw_it in (cards.plot, lambda: cards.plot_card("f1")):
        plt.close(draw_it().figure_)


def test_a_column_whose_slopes_cancel_is_a_main_feature_all_the_same():
    x = np.linspace(-1, 1, 300)
    X = pd.DataFrame({"fold": x, "noise": np.random.default_rng(0).normal(size=300)})
    cards = learner_cards(regressor(n_components=1, knots=1).fit(X, np.abs(x)), X)
    assert cards.main_features[0].startswith("fold")
