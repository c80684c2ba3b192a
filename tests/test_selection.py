"""Parameters chosen by cross-validation: one fit a fold holds every number of learners."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.model_selection import GroupKFold, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbmap
from gbmap import GBMAPClassifier, GBMAPClassifierCV, GBMAPRegressor, GBMAPRegressorCV
from gbmap.inspection import explain
from gbmap.selection import race

X, y = make_friedman1(200, noise=1.0, random_state=0)


@pytest.fixture(scope="module")
def search():
    return GBMAPRegressorCV(8, betas=[2.0, 10.0], l2_regularizations=[1e-3, 0.1], cv=3, random_state=0).fit(
        X, y
    )


def test_the_losses_are_those_of_separate_fits_on_the_folds(search):
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    place = 2
    settings = search.candidates_[place]
    for k, (train, test) in enumerate(folds):
        for m in (1, 3, 5):
            model = GBMAPRegressor(m, random_state=0, **settings).fit(X[train], y[train])
            loss = np.mean((y[test] - model.predict(X[test])) ** 2)
            assert search.cv_losses_[place, k, m - 1] == pytest.approx(loss, rel=1e-6)


def test_the_lowest_mean_loss_is_chosen_and_fitted_to_all_rows(search):
    sizes = [67, 67, 66]
    mean = np.average(search.cv_losses_, axis=1, weights=sizes)
    assert mean.min() == pytest.approx(search.best_loss_)
    assert mean[search.best_index_, search.n_components_ - 1] == mean.min()
    chosen = {"beta": search.beta_, "l2_regularization": search.l2_regularization_}
    assert chosen == search.candidates_[search.best_index_]
    alone = GBMAPRegressor(search.n_components_, random_state=0, **chosen).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))
    np.testing.assert_array_equal(search.transform(X), alone.transform(X))


def test_one_standard_error_gives_no_more_learners_at_a_loss_within_it(search):
    simple = GBMAPRegressorCV(
        8, betas=[2.0, 10.0], l2_regularizations=[1e-3, 0.1], cv=3, one_standard_error=True, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(simple.cv_losses_, search.cv_losses_)
    assert simple.n_components_ < search.n_components_
    fold_losses = search.cv_losses_[search.best_index_, :, search.n_components_ - 1]
    assert simple.best_loss_ <= search.best_loss_ + fold_losses.std(ddof=1)


def choose(betas, ridges, losses):
    """Let a search choose by losses of shape (n_candidates, n_folds, n_components)."""
    search = GBMAPRegressorCV(one_standard_error=True)
    search.candidates_ = [{"beta": beta, "l2_regularization": ridge} for beta in betas for ridge in ridges]
    search.cv_losses_ = np.asarray(losses)
    cuts = np.array_split(np.arange(50), search.cv_losses_.shape[1])
    search._choose(race.Folds(None, None, None, [(test, test) for test in cuts]))
    return search


def test_a_standard_error_is_that_of_a_mean_of_folds():
    folds = 0.2 * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    error = folds.std(ddof=1) / np.sqrt(5)
    curves = [[[1 + factor * error + fold for factor in (3.0, 1.01, 0.99, 0.0)] for fold in folds]]
    search = choose([5.0], [0.1], curves)
    assert search.n_components_ == 3
    assert search.best_loss_ == pytest.approx(1 + 0.99 * error)


def test_of_as_many_learners_the_lowest_loss_is_taken():
    near = np.ones((4, 2, 3)) + np.array([[0.1], [-0.1]])
    near[2, :, 0] -= 0.01
    search = choose([2.0, 10.0], ["auto", 1.0], near)
    assert (search.best_index_, search.n_components_) == (2, 1)


@pytest.mark.parametrize("refine", [False, 3])
def test_candidates_are_compared_without_refinement_and_the_chosen_one_is_refined(refine):
    settings = {"betas": [5.0], "l2_regularizations": [0.1], "cv": 2, "random_state": 0}
    plain = GBMAPRegressorCV(3, **settings).fit(X, y)
    search = GBMAPRegressorCV(3, estimator=GBMAPRegressor(refine=refine), **settings).fit(X, y)
    np.testing.assert_array_equal(search.cv_losses_, plain.cv_losses_)
    alone = GBMAPRegressor(search.n_components_, l2_regularization=0.1, refine=refine, random_state=0)
    np.testing.assert_array_equal(search.predict(X), alone.fit(X, y).predict(X))


def test_the_ridge_is_found_by_each_fit_unless_numbers_are_given(search):
    found = GBMAPRegressorCV(4, betas=[5.0], random_state=0).fit(X, y)
    assert found.candidates_ == [{"beta": 5.0, "l2_regularization": "auto"}]
    alone = GBMAPRegressor(found.n_components_, random_state=0).fit(X, y)
    assert found.l2_regularization_ == alone.l2_regularization_ > 0
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))
    mixed = GBMAPRegressorCV(4, betas=[5.0], l2_regularizations=["auto", 1e3], random_state=0).fit(X, y)
    np.testing.assert_array_equal(mixed.cv_losses_[0], found.cv_losses_[0])
    assert mixed.best_index_ == 0


@pytest.mark.parametrize(
    ("n_components", "betas", "ridges", "told"),
    [
        (3, [1.0, 2.0, 5.0], [0.1], ["n_components_=3 is the most that was tried; raise n_components."]),
        (4, [5.0, 10.0], ["auto", 0.1, 1.0], []),
        (4, [5.0, 2.0, 1.0], [0.1], []),
        (4, [2.0, 1.0, 1.5], [0.1], ["beta=2 is the largest of betas; add larger ones."]),
        (4, [3.0, 2.0, 4.0], [0.1], ["beta=2 is the smallest of betas; add smaller ones."]),
        (
            4,
            [2.0],
            ["auto", 0.1, 0.2, 1.0],
            ["l2_regularization=0.1 is the smallest of l2_regularizations; add smaller ones."],
        ),
        (4, [2.0], ["auto", 0.1, 0.0, 1.0], []),
    ],
)
def test_a_choice_at_the_edge_of_what_was_tried_is_told(n_components, betas, ridges, told):
    search = GBMAPRegressorCV(n_components)
    search.candidates_ = [{"beta": beta, "l2_regularization": ridge} for beta in betas for ridge in ridges]
    search.n_components_ = 3
    assert list(search._edges({"beta": 2.0, "l2_regularization": 0.1})) == told


def test_edges_are_logged_and_kept(caplog):
    search = GBMAPRegressorCV(1, betas=[5.0], cv=2, random_state=0).fit(X, y)
    assert search.edges_ == ["n_components_=1 is the most that was tried; raise n_components."]
    assert caplog.messages == search.edges_


def test_a_ridge_of_zero_has_nothing_below():
    search = GBMAPRegressorCV(4)
    search.candidates_ = [{"beta": 2.0, "l2_regularization": ridge} for ridge in (0.0, 0.1, 1.0)]
    search.n_components_ = 3
    assert list(search._edges({"beta": 2.0, "l2_regularization": 0.0})) == []


def test_it_does_not_overfit_where_a_small_ridge_does():
    data, target = load_diabetes(return_X_y=True)
    search = GBMAPRegressorCV(6, betas=[2.0], cv=3, random_state=0)
    chosen = cross_val_score(search, data, target, cv=3).mean()
    small = GBMAPRegressor(l2_regularization=1e-3, random_state=0)
    assert chosen > 0.4 > cross_val_score(small, data, target, cv=3).mean()


def test_a_fold_whose_learners_no_longer_help_ends_early():
    noise = np.random.default_rng(0).normal(size=len(X))
    search = GBMAPRegressorCV(40, betas=[5.0], l2_regularizations=[1e-3], cv=2, random_state=0).fit(X, noise)
    assert (search.cv_losses_[0, :, -1] == search.cv_losses_[0, :, 30]).all()
    assert search.n_components_ < 10


@pytest.mark.parametrize(("n_vain", "ends"), [(9, False), (10, True)])
def test_ten_learners_in_a_row_that_have_not_helped_end_a_fold(n_vain, ends):
    assert race._is_past_best([3.0, 1.0, *[2.0] * n_vain]) == ends


def test_pairs_that_fall_behind_drop_out_and_the_others_are_grown_as_if_at_once(monkeypatch):
    monkeypatch.setattr(race, "_PATIENCE", 100)  # or a pair could end because its learners no longer help
    data, target = make_friedman1(80, random_state=0)
    grids = {"betas": [2.0, 10.0], "l2_regularizations": [1e-3, 1e-2, 0.1]}
    search = GBMAPRegressorCV(35, **grids, cv=2, n_jobs=1, random_state=0)
    grow, grown = race._grow, []

    def counted(so_far, n_components, *args):
        grown.append((n_components, so_far.model.beta, so_far.model.l2_regularization))
        return grow(so_far, n_components, *args)

    with monkeypatch.context() as patch:
        patch.setattr(race, "_grow", counted)
        raced = search.fit(data, target)
    assert {end: sum(each[0] == end for each in set(grown)) for end in (10, 30, 35)} == {10: 6, 30: 3, 35: 1}
    winner = [(35, each["beta"], each["l2_regularization"]) in grown for each in search.candidates_]
    monkeypatch.setattr(race, "heats", lambda n_candidates, n_components: [(n_components, n_candidates)])
    at_once = clone(search).fit(data, target)
    np.testing.assert_array_equal(at_once.cv_losses_[winner], raced.cv_losses_[winner])
    assert at_once.best_index_ == raced.best_index_
    np.testing.assert_array_equal(at_once.predict(data), raced.predict(data))


@pytest.mark.parametrize(
    ("n_candidates", "n_components", "expected"),
    [
        (6, 100, [(10, 6), (30, 3), (100, 1)]),
        (9, 12, [(10, 9), (12, 5)]),
        (3, 10, [(10, 3)]),
        (3, 31, [(10, 3), (30, 2), (31, 1)]),
        (2, 100, [(30, 2), (100, 1)]),
        (2, 30, [(30, 2)]),
        (1, 100, [(100, 1)]),
    ],
)
def test_half_go_on_after_ten_learners_and_one_after_thirty(n_candidates, n_components, expected):
    assert race.heats(n_candidates, n_components) == expected


def test_processes_give_the_same_choice_to_the_bit(search):
    settings = search.get_params(deep=False) | {"n_jobs": 2}
    np.testing.assert_array_equal(GBMAPRegressorCV(**settings).fit(X, y).cv_losses_, search.cv_losses_)


# Workers that let go of the shared X late, as on a busy machine.
THREE_CALLS_WITH_ONE_X = """
import sys
import numpy as np
from gbmap.selection.race import Folds

def hold(model, size, X, y, weight, cut):
    sys.held = X

folds = Folds(np.zeros((200_000, 1)), None, None, [(None, None)] * 3, n_jobs=2)
for _ in range(3):
    folds.each(hold, np.zeros((2, 3)), 1)
"""


@pytest.mark.nightly
def test_sharing_large_rows_between_processes_prints_nothing():
    done = subprocess.run([sys.executable, "-c", THREE_CALLS_WITH_ONE_X], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_classes_are_chosen_for_by_their_loss(tmp_path):
    data, target = load_breast_cancer(return_X_y=True, as_frame=True)
    names = np.array(["malignant", "benign"])[target]
    search = GBMAPClassifierCV(
        4, estimator=GBMAPClassifier(max_iter=200), cv=3, betas=[5.0], random_state=0
    ).fit(data, names)
    assert search.classes_.tolist() == ["benign", "malignant"]
    assert search.best_estimator_.max_iter == 200
    assert search.score(data, names) > 0.97
    assert search.predict_proba(data).shape == (len(data), 2)
    assert search.feature_names_in_.tolist() == data.columns.tolist()
    assert explain(search, data).coefficients.shape == data.shape
    gbmap.save(search, tmp_path / "search.gbmap")
    loaded = gbmap.load(tmp_path / "search.gbmap")
    np.testing.assert_array_equal(loaded.predict_proba(data), search.predict_proba(data))
    np.testing.assert_array_equal(loaded.cv_losses_, search.cv_losses_)


def test_hinge_has_no_probabilities():
    assert not hasattr(GBMAPClassifierCV(estimator=GBMAPClassifier(loss="hinge")), "predict_proba")


def test_weights_count():
    weight = np.where(X[:, 0] > 0.5, 1.0, 0.0)
    settings = {"betas": [5.0], "l2_regularizations": [0.1], "cv": 2, "random_state": 0}
    search = GBMAPRegressorCV(3, **settings).fit(X, y, weight)
    alone = GBMAPRegressor(search.n_components_, l2_regularization=0.1, random_state=0).fit(X, y, weight)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))


def test_held_out_rows_count_by_their_weights():
    weight = np.where(X[:, 0] > 0.5, 1.0 + X[:, 1] ** 2, 0.0)
    some, none = np.arange(100), np.flatnonzero(weight == 0)[-40:]
    folds = [(np.setdiff1d(np.arange(200), held_out), held_out) for held_out in (some, none)]
    settings = {"betas": [5.0], "l2_regularizations": [0.1], "cv": folds, "random_state": 0}
    search = GBMAPRegressorCV(3, **settings).fit(X, y, weight)
    train, test = folds[0]
    alone = GBMAPRegressor(3, l2_regularization=0.1, random_state=0).fit(X[train], y[train], weight[train])
    losses = [np.average((y[test] - f) ** 2, weights=weight[test]) for f in alone.staged_predict(X[test])]
    np.testing.assert_allclose(search.cv_losses_, [[losses]], rtol=1e-9)  # the other fold has no weight
    with pytest.raises(ValueError, match="sample_weight must leave weight on held-out rows"):
        GBMAPRegressorCV(3, **settings | {"cv": folds[1:]}).fit(X, y, weight)


def test_several_targets_and_pipelines_work():
    targets = np.column_stack([y, X[:, 0]])
    search = GBMAPRegressorCV(2, betas=[5.0], l2_regularizations=[0.1], cv=2, random_state=0)
    assert make_pipeline(StandardScaler(), search).fit(X, targets).predict(X).shape == (200, 2)


class RecordedGroupKFold(GroupKFold):
    """Keeps the groups of the rows to fit and of those held out."""

    def __init__(self, n_splits, seen):
        super().__init__(n_splits)
        self.seen = seen

    def __deepcopy__(self, memo):
        return self  # a clone of the search tells the same list

    def split(self, X, y=None, groups=None):
        for train, test in super().split(X, y, groups):
            self.seen.append([set(groups[train]), set(groups[test])])
            yield train, test


GROUPS = np.repeat(list("dbacfe"), [40, 20, 50, 30, 35, 25])


def group_search(seen, kind=GBMAPRegressorCV):
    return kind(2, betas=[5.0], l2_regularizations=[0.1], cv=RecordedGroupKFold(3, seen), random_state=0)


def assert_apart(seen, n_folds):
    assert len(seen) == n_folds
    assert all(fitted and held_out and not fitted & held_out for fitted, held_out in seen)


@pytest.mark.parametrize("is_routed", [False, True])
@pytest.mark.parametrize("kind", [GBMAPRegressorCV, GBMAPClassifierCV])
def test_folds_share_no_group(kind, is_routed):
    target = y > np.median(y) if kind is GBMAPClassifierCV else y
    weight = np.where(np.arange(200) % 2, 1.0, 3.0)
    with config_context(enable_metadata_routing=is_routed):
        search = group_search(seen := [], kind).fit(X, target, sample_weight=weight, groups=GROUPS)
        assert_apart(seen, 3)
        by_hand = clone(search).set_params(cv=list(GroupKFold(3).split(X, y, GROUPS)))
        by_hand.fit(X, target, weight)
        np.testing.assert_array_equal(search.cv_losses_, by_hand.cv_losses_)
        with pytest.raises(ValueError, match=r"^The 'groups' parameter should not be None\.$"):
            search.fit(X, target)
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[200, 200, 5\]"):
            search.fit(X, target, groups=GROUPS[:5])


def test_groups_reach_a_search_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), group_search(seen := []))
    pipeline.fit(X, y, gbmapregressorcv__groups=GROUPS)
    assert_apart(seen, 3)


def test_groups_and_weights_are_routed_through_a_pipeline_in_a_cross_validation():
    weight = np.where(np.arange(200) % 2, 1.0, 3.0)
    with config_context(enable_metadata_routing=True):
        search = (
            group_search(seen := []).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        outer = RecordedGroupKFold(2, seen_outside := [])
        given = {"groups": GROUPS, "sample_weight": weight}
        done = cross_validate(
            make_pipeline(scaler, search), X, y, cv=outer, params=given, return_estimator=True
        )
    assert_apart(seen_outside, 2)
    assert_apart(seen, 6)
    for k, (fitted, _) in enumerate(seen_outside):
        assert all(one | other == fitted for one, other in seen[3 * k : 3 * k + 3])
        rows = np.isin(GROUPS, list(fitted))
        alone = make_pipeline(StandardScaler(), group_search([])).fit(
            X[rows],
            y[rows],
            gbmapregressorcv__sample_weight=weight[rows],
            gbmapregressorcv__groups=GROUPS[rows],
        )
        np.testing.assert_array_equal(done["estimator"][k].predict(X), alone.predict(X))


def test_a_splitter_may_call_its_groups_something_else():
    with config_context(enable_metadata_routing=True):
        search = group_search([]).set_params(cv=GroupKFold(3).set_split_request(groups="patients"))
        assert search.fit(X, y, patients=GROUPS).cv_losses_.shape == (1, 3, 2)
        with pytest.raises(TypeError, match="unexpected argument"):
            search.fit(X, y, groups=GROUPS)
    with pytest.raises(TypeError, match=r"beside X, y, sample_weight and groups, got \['patients'\]; set"):
        search.fit(X, y, patients=GROUPS)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"betas": []}, ValueError, "parameter 'beta' need to be a non-empty sequence"),
        (
            {"betas": [0.0]},
            ValueError,
            r"'beta' parameter of GBMAPRegressor must be .* \(0.0, inf\). Got 0.0",
        ),
        ({"betas": [np.inf]}, ValueError, "'beta' parameter .* Got inf"),
        ({"betas": ["auto"]}, ValueError, "'beta' parameter .* Got 'auto'"),
        ({"l2_regularizations": [-1.0]}, ValueError, "'l2_regularization' parameter .* Got -1.0"),
        ({"l2_regularizations": [np.nan]}, ValueError, "'l2_regularization' parameter .* Got nan"),
        ({"l2_regularizations": ["much"]}, ValueError, "'l2_regularization' parameter .* Got 'much'"),
        ({"estimator": GBMAPClassifier()}, TypeError, "estimator must be a GBMAPRegressor or None"),
        ({"n_components": 0}, ValueError, "n_components"),
    ],
)
def test_what_cannot_be_searched_is_named(settings, error, message):
    with pytest.raises(error, match=message):
        GBMAPRegressorCV(**settings).fit(X, y)


def test_three_rows_are_the_fewest_that_make_folds():
    search = GBMAPRegressorCV(1, betas=[5.0], l2_regularizations=[0.1], cv=3, random_state=0)
    assert search.fit(X[:3], y[:3]).n_components_ == 1
    with pytest.raises(ValueError, match="X must have at least 3 rows for folds, got n_samples=2"):
        search.set_params(cv=2).fit(X[:2], y[:2])


def test_an_unfitted_search_has_no_results():
    search = GBMAPRegressorCV()
    for name in ("ensemble_", "n_features_in_", "feature_importances_"):
        assert not hasattr(search, name)


@pytest.mark.parametrize("rare", [0, 2])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_of_one_row_is_named(rare):
    labels = np.ones(200, dtype=int) if rare == 0 else np.arange(200) % 2
    labels[7] = rare
    with pytest.raises(ValueError, match=rf"got none of \[{rare}\]; leave out classes with few rows"):
        GBMAPClassifierCV(2, cv=3, random_state=0).fit(X, labels)
