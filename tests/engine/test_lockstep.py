"""Solves in step: what they find is what they find alone, and nothing hangs when something fails."""

from functools import partial

import numpy as np
import pytest

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core import boosting
from gbmap._core.lockstep import end_of_search, solve_in_lockstep
from gbmap._core.minimise import Stopping, end_of, minimising
from gbmap._core.rows import Rows
from gbmap._rows.memory import MemoryRows

CENTRES = np.array([[1.0, 2.0], [-3.0, 0.5], [40.0, -7.0]])
SCALES = [1.0, 30.0, 1e-3]


def bowl(number, point):
    difference = point - CENTRES[number]
    return SCALES[number] * np.sum(difference**4), 4 * SCALES[number] * difference**3


def descent(max_iter=100):
    return minimising(np.zeros(2), Stopping(1.0, 1e-12, max_iter))


def test_each_solve_ends_as_it_does_alone():
    rounds = []

    def evaluate_all(numbers, points):
        rounds.append(numbers)
        return [bowl(*each) for each in zip(numbers, points, strict=True)]

    together = solve_in_lockstep([descent(), descent(max_iter=2), descent()], evaluate_all)
    solves = descent(), descent(max_iter=2), descent()
    alone = [end_of(solve, partial(bowl, number)) for number, solve in enumerate(solves)]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
        assert (one.value, one.n_evaluations) == (other.value, other.n_evaluations)
    assert rounds[0] == [0, 1, 2]
    assert len(rounds) == max(each.n_evaluations for each in alone)
    assert [0, 2] in rounds  # the solve with two iterations ended before the others


@pytest.mark.parametrize("failure", [MemoryError, KeyboardInterrupt])
def test_a_failing_evaluation_ends_all_solves(failure):
    def evaluate_all(numbers, points):
        raise failure

    with pytest.raises(failure):
        solve_in_lockstep([descent(), descent()], evaluate_all)


def test_a_solve_that_fails_says_so():
    def fails():
        yield np.zeros(2)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve_in_lockstep([descent(), fails()], lambda numbers, points: [bowl(0, point) for point in points])


@pytest.mark.parametrize(
    "model",
    [
        GBMAPRegressor(3, random_state=0),
        GBMAPRegressor(2, n_init=3, random_state=0),
        GBMAPRegressor(2, monotonic_cst=[1, 0, -1], random_state=0),
        GBMAPClassifier(2, random_state=0),
    ],
    ids=["plain", "starts", "monotone", "two classes"],
)
def test_a_fit_has_the_same_bits_with_its_races_in_step(model, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300)
    if isinstance(model, GBMAPClassifier):
        y = y > 0.5
    numbers = []
    evaluate = MemoryRows.value_and_gradient

    def counted(rows, objective, output, thetas, signs):
        numbers.append(len(thetas))
        return evaluate(rows, objective, output, thetas, signs)

    monkeypatch.setattr(MemoryRows, "value_and_gradient", counted)
    alone = model.fit(X, y).ensemble_
    assert max(numbers, default=1) == 1
    monkeypatch.setattr(MemoryRows, "shares_passes", lambda rows, objective: True)
    together = model.fit(X, y).ensemble_
    assert max(numbers) == 6  # three starts with both signs, here or in the trial of a linear part
    np.testing.assert_array_equal(together.weights, alone.weights)
    np.testing.assert_array_equal(together.signs, alone.signs)


SEVERAL_OUTPUTS = pytest.mark.parametrize(
    "model",
    [
        GBMAPRegressor(3, random_state=0, refine=False),
        GBMAPRegressor(2, n_init=3, l2_regularization=1e-3, random_state=0),
        GBMAPClassifier(3, random_state=0),
        GBMAPClassifier(2, activation="identity", random_state=0),
    ],
    ids=["numbers", "starts", "classes", "linear"],
)


def several_outputs(model, n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    scores = X @ rng.normal(size=(3, 4)) + np.abs(X[:, :1]) + 0.3 * rng.normal(size=(n_rows, 4))
    return X, scores.argmax(axis=1) if isinstance(model, GBMAPClassifier) else scores


@SEVERAL_OUTPUTS
def test_outputs_that_are_found_side_by_side_have_the_bits_of_those_found_alone(model, monkeypatch):
    X, y = several_outputs(model)
    monkeypatch.setattr(MemoryRows, "answer", Rows.answer)  # a pass for each, as alone
    together = model.fit(X, y).ensemble_
    monkeypatch.setattr(boosting, "search_side_by_side", lambda searches: list(map(end_of_search, searches)))
    alone = model.fit(X, y).ensemble_
    np.testing.assert_array_equal(together.weights, alone.weights)
    np.testing.assert_array_equal(together.intercepts, alone.intercepts)


@SEVERAL_OUTPUTS
def test_one_pass_for_all_outputs_finds_learners_as_good(model, monkeypatch):
    X, y = several_outputs(model)
    together = model.fit(X, y).loss_curve_
    monkeypatch.setattr(MemoryRows, "answer", Rows.answer)
    np.testing.assert_allclose(together, model.fit(X, y).loss_curve_, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("is_several", [False, True], ids=["one output", "several"])
def test_many_rows_of_several_outputs_are_a_sample_too(is_several, monkeypatch):
    X, y = several_outputs(GBMAPClassifier(), n_rows=20_500)
    model = GBMAPClassifier(1, knots=0, refine=False, random_state=0)
    evaluated = set()
    for name in ("block_sums", "block_sums_of"):
        sums = getattr(MemoryRows, name)

        def noted(rows, *args, sums=sums):
            evaluated.add((rows.n_rows, rows.units.identity))
            return sums(rows, *args)

        monkeypatch.setattr(MemoryRows, name, noted)
    model.fit(X, y if is_several else y > 1)
    assert (20_500, is_several) in evaluated  # of a sample are in standard units as they are
    assert (20_500, not is_several) not in evaluated
