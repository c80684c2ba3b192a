"""``refine``: how far it goes, what it keeps, and where it stops."""

import array_api_strict as strict
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression

import gbmap
from gbmap import GBMAPClassifier, GBMAPRegressor, GBMAPRegressorCV
from gbmap.losses import Loss


@pytest.fixture(scope="module")
def rows():
    X, y = make_friedman1(1500, noise=0.5, random_state=0)
    return X[:500], y[:500], X[500:], y[500:]


def regressor(**params):
    """A fit that is refined only if asked to."""
    usual = {"n_components": 6, "l2_regularization": 1e-3, "refine": False, "random_state": 0}
    return GBMAPRegressor(**usual | params)


@pytest.fixture(scope="module")
def refined(rows):
    X, y, *_ = rows
    return regressor(refine=True).fit(X, y)


@pytest.fixture(scope="module")
def refined_by_20(rows):
    X, y, *_ = rows
    return regressor(refine=20).fit(X, y)


def test_refinement_predicts_unseen_rows_better(rows, refined):
    X, y, X_new, y_new = rows
    plain = regressor().fit(X, y)
    assert refined.n_refinements_.shape == (1,)
    assert refined.n_refinements_[0] > 0
    assert 1 - refined.score(X_new, y_new) < 0.8 * (1 - plain.score(X_new, y_new))
    assert refined.loss_curve_[-1] < plain.loss_curve_[-1]


def test_a_number_is_so_many_iterations(rows):
    X, y, *_ = rows
    model = regressor(refine=7).fit(X, y)
    assert model.n_refinements_.tolist() == [7]
    np.testing.assert_array_equal(regressor(refine=0).fit(X, y).predict(X), regressor().fit(X, y).predict(X))


def test_the_loss_curve_is_that_of_the_staged_predictions(rows, refined_by_20):
    X, y, *_ = rows
    losses = [np.mean((y - f) ** 2) for f in refined_by_20.staged_predict(X)]
    np.testing.assert_allclose(refined_by_20.loss_curve_[1:], losses)


def test_weights_and_order_of_rows_leave_a_small_fit_alone(rows):
    X, y, *_ = rows
    model = regressor(refine=15, n_components=4)
    fitted, order = clone(model).fit(X, y), np.random.default_rng(0).permutation(len(y))
    for again in (clone(model).fit(X[order], y[order]), clone(model).fit(X, y, np.full(len(y), 2.0))):
        np.testing.assert_array_equal(again.ensemble_.weights, fitted.ensemble_.weights)


def test_rows_without_weight_are_not_there(rows):
    X, y, *_ = rows
    weight = np.r_[np.ones(300), np.zeros(200)]
    spoilt = np.where(weight > 0, y, 1e6)
    model = regressor(refine=True, n_components=4)
    weighted, fewer = clone(model).fit(X, spoilt, weight), clone(model).fit(X[:300], y[:300])
    assert fewer.n_refinements_[0] > 0
    np.testing.assert_allclose(weighted.predict(X), fewer.predict(X), rtol=1e-6)


def test_monotone_columns_stay_monotone(rows):
    X, y, X_new, _ = rows
    model = regressor(refine=40, monotonic_cst=[0, 0, 0, 1, 0, 0, 0, 0, 0, -1]).fit(X, y)
    assert model.n_refinements_[0] > 0
    slopes = model.ensemble_.gradient(X_new)[:, :, 0]
    assert slopes[:, 3].min() >= 0
    assert slopes[:, 9].max() <= 0


def test_targets_and_classes_are_refined_one_by_one(rows):
    X, y, X_new, y_new = rows
    both = regressor(refine=True, n_components=3).fit(
        X, np.c_[y, np.random.default_rng(0).standard_normal(len(y))]
    )
    assert (both.n_refinements_ > 0).all()
    labels = np.digitize(y, [11, 17])
    classifier = GBMAPClassifier(5, random_state=0, refine=10).fit(X, labels)
    assert (classifier.n_refinements_ > 0).all()
    assert (classifier.n_refinements_ <= 10).all()
    assert classifier.score(X_new, np.digitize(y_new, [11, 17])) > 0.75


@pytest.mark.parametrize("refine", [10, True])
def test_a_refined_fit_goes_on_with_warm_start_as_if_it_had_not_stopped(rows, refine):
    X, y, *_ = rows
    model = regressor(refine=refine, n_components=3, warm_start=True).fit(X, y)
    weights = model.ensemble_.weights
    np.testing.assert_array_equal(model.fit(X, y).ensemble_.weights, weights)
    model.set_params(n_components=5).fit(X, y)
    whole = regressor(refine=refine, n_components=5).fit(X, y)
    assert whole.n_refinements_[0] > 0
    np.testing.assert_array_equal(model.ensemble_.weights, whole.ensemble_.weights)
    np.testing.assert_array_equal(model.loss_curve_, whole.loss_curve_)


def test_learners_of_another_beta_are_not_refined(rows):
    X, y, *_ = rows
    model = regressor(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="refine must be 'auto' or False when learners of an earlier fit"):
        model.set_params(beta=1.0, refine=5, n_components=9).fit(X, y)
    model.set_params(refine="auto").fit(X, y)
    assert model.n_components_ == 9
    assert model.n_refinements_.tolist() == [0]


def test_a_fit_forgets_the_refinement_of_the_last_one(rows):
    X, y, *_ = rows
    model = regressor(refine=5).fit(X, np.c_[y, y]).set_params(refine=False).fit(X, y)
    assert model.n_refinements_.tolist() == [0]


def test_a_truth_value_of_numpy_is_one(rows):
    X, y, *_ = rows
    asked, usual = (regressor(refine=refine, n_components=3).fit(X, y) for refine in (np.True_, True))
    assert usual.n_refinements_[0] > 1
    np.testing.assert_array_equal(asked.n_refinements_, usual.n_refinements_)


class Quartic(Loss):
    degree = 4

    def value(self, y, f):
        return (y - f) ** 4

    def gradient(self, y, f):
        return 4 * (f - y) ** 3


@pytest.mark.parametrize("loss", ["huber", "quantile", Quartic()], ids=["huber", "quantile", "own"])
def test_learners_are_put_in_order_whatever_the_loss(rows, loss):
    X, y, *_ = rows
    model = regressor(refine=20, n_components=5, loss=loss).fit(X, y)
    assert np.abs(model.ensemble_.intercepts).max() < 100
    assert model.loss_curve_[1] < model.loss_curve_[0]
    assert model.loss_curve_[-1] < regressor(n_components=5, loss=loss).fit(X, y).loss_curve_[-1]


def test_the_axes_of_a_map_are_the_learners_that_tell_most_alone():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(800, 4))
    y = np.abs(X[:, 0]) + np.sin(2 * X[:, 1]) + np.maximum(X[:, 2], X[:, 3]) + 0.1 * rng.normal(size=800)
    for seed in range(3):
        model = GBMAPRegressor(10, refine=True, random_state=seed).fit(X, y)
        parts = model.transform(X) - model.transform(X).mean(axis=0)
        losses = np.mean((y - y.mean() - parts.T) ** 2, axis=1)
        assert losses[:2].tolist() == sorted(losses)[:2]


def test_rare_classes_are_put_in_order_too():
    X = np.random.default_rng(1).standard_normal((600, 4))
    y = np.abs(X).sum(axis=1) > 6
    model = GBMAPClassifier(8, random_state=0, refine=50).fit(X, y)
    assert np.abs(model.ensemble_.intercepts).max() < 100
    assert model.loss_curve_.max() == model.loss_curve_[0]


def test_a_checkpoint_leads_to_the_same_refined_fit(rows, tmp_path):
    X, y, *_ = rows
    path = tmp_path / "fit"
    whole, first, resumed = (regressor(refine=True, n_components=m) for m in (4, 2, 4))
    whole.fit(X, y)
    first.fit(X, y, checkpoint=path)
    resumed.fit(X, y, checkpoint=path)
    np.testing.assert_array_equal(resumed.ensemble_.weights, whole.ensemble_.weights)
    np.testing.assert_array_equal(resumed.n_refinements_, whole.n_refinements_)


def test_a_refined_model_is_stored(rows, refined, tmp_path):
    X, *_ = rows
    gbmap.save(refined, tmp_path / "model.gbmap")
    loaded = gbmap.load(tmp_path / "model.gbmap")
    np.testing.assert_array_equal(loaded.predict(X), refined.predict(X))
    np.testing.assert_array_equal(loaded.n_refinements_, refined.n_refinements_)


def test_coordinates_of_a_refined_model_sum_to_its_prediction(rows, refined_by_20):
    X, *_ = rows
    np.testing.assert_allclose(refined_by_20.transform(X).sum(axis=1), refined_by_20.predict(X))


@pytest.fixture(scope="module")
def many_rows():
    X, y = make_friedman1(20_500, 5, noise=0.5, random_state=0)
    return X, y


def test_arrays_of_another_library_are_refined_where_they_are(many_rows):
    X, y = many_rows
    here = regressor(refine=8, n_components=4).fit(X, y)
    there = regressor(refine=8, n_components=4).fit(strict.asarray(X), strict.asarray(y))
    assert there.n_refinements_.tolist() == [8]
    unrefined = regressor(n_components=4).fit(X, y)
    assert there.loss_curve_[-1] < unrefined.loss_curve_[-1]
    assert there.loss_curve_[-1] == pytest.approx(here.loss_curve_[-1], rel=0.1)


def test_an_initial_model_is_fitted_once(rows):
    X, y, X_new, y_new = rows
    seen = []

    class Counting(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(len(y))
            return super().fit(X, y, sample_weight)

    model = regressor(refine=True, n_components=4, init=Counting()).fit(X, y)
    assert seen == [500]
    assert model.score(X_new, y_new) > regressor(n_components=4, init=LinearRegression()).fit(X, y).score(
        X_new, y_new
    )


def test_rows_on_workers_are_refined_as_rows_in_memory(many_rows):
    X, y = many_rows
    here = regressor(refine=True, n_components=3).fit(X, y)
    there = regressor(refine=True, n_components=3).fit(da.from_array(X, 4000), da.from_array(y, 4000))
    assert here.n_refinements_[0] > 0
    np.testing.assert_array_equal(there.n_refinements_, here.n_refinements_)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-6)


def test_noise_is_not_learned_by_refinement():
    lost = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, noise = rng.standard_normal((1120, 8)), rng.standard_normal(1120)
        y = 0.5 * X[:, 0] + noise
        plain, refined = (
            GBMAPRegressor(6, refine=refine, random_state=0).fit(X[:120], y[:120]) for refine in (False, True)
        )
        lost.append(plain.score(X[120:], y[120:]) - refined.score(X[120:], y[120:]))
    assert np.mean(lost) < 0.01


def test_two_rows_leave_nothing_to_learn_in_the_end():
    X, y = np.array([[0.0, 1.0], [3.0, 2.0]]), np.array([1.0, 5.0])
    for seed in range(10):
        noisy = X + np.random.default_rng(seed).normal(size=X.shape)
        model = GBMAPRegressor(random_state=0).fit(noisy, y)
        assert np.isfinite(model.predict(noisy)).all()


def test_a_search_refines_the_chosen_model_if_its_estimator_is_refined(rows):
    X, y, X_new, y_new = rows
    plain, refined = (
        GBMAPRegressorCV(6, cv=3, random_state=0, estimator=GBMAPRegressor(refine=refine)).fit(X, y)
        for refine in (False, True)
    )
    assert refined.best_estimator_.n_refinements_[0] > 0
    assert refined.score(X_new, y_new) > plain.score(X_new, y_new)
    np.testing.assert_array_equal(refined.cv_losses_, plain.cv_losses_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
@pytest.mark.parametrize("scale", [1e-298, 1e-160, 1e-30])
def test_tiny_targets_in_their_own_units_leave_learners_finite(rows, scale, loss, dtype):
    X, y, *_ = rows
    model = GBMAPRegressor(2, loss=loss, standardize=False, refine=True, random_state=0)
    model.fit(X[:60].astype(dtype), scale * y[:60])
    assert np.isfinite(model.ensemble_.weights).all()
    assert model.loss_curve_[-1] <= model.loss_curve_[0]
