"""Solves in step: what they find is what they find alone, and nothing hangs when something fails."""

from functools import partial

import numpy as np
import pytest

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core.lockstep import solve_in_lockstep
from gbmap._core.minimise import Stopping, end_of, minimising
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
    ids=["plain", "starts", "monotone", "classes"],
)
def test_a_fit_has_the_same_bits_with_its_races_in_step(model, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300)
    if isinstance(model, GBMAPClassifier):
        y = np.digitize(y, [0, 1])
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
    assert max(numbers) == 2 * model.n_init
    np.testing.assert_array_equal(together.weights, alone.weights)
    np.testing.assert_array_equal(together.signs, alone.signs)
