"""Solves in step: what they find is what they find alone, and nothing hangs when something fails."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core.lockstep import solve_in_lockstep
from gbmap._core.minimise import Stopping, minimise
from gbmap._rows.memory import MemoryRows

CENTRES = np.array([[1.0, 2.0], [-3.0, 0.5], [40.0, -7.0]])
SCALES = [1.0, 30.0, 1e-3]


def bowl(number, point):
    difference = point - CENTRES[number]
    return SCALES[number] * np.sum(difference**4), 4 * SCALES[number] * difference**3


def descent(evaluate, max_iter=100):
    return minimise(evaluate, np.zeros(2), Stopping(1.0, 1e-12, max_iter))


def test_each_solve_ends_as_it_does_alone():
    rounds = []

    def evaluate_all(numbers, points):
        rounds.append(numbers)
        return [bowl(*each) for each in zip(numbers, points, strict=True)]

    together = solve_in_lockstep([descent, partial(descent, max_iter=2), descent], evaluate_all)
    alone = [descent(partial(bowl, 0)), descent(partial(bowl, 1), 2), descent(partial(bowl, 2))]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
        assert (one.value, one.n_evaluations) == (other.value, other.n_evaluations)
    assert rounds[0] == [0, 1, 2]
    assert len(rounds) == max(each.n_evaluations for each in alone)
    assert [0, 2] in rounds  # the solve with two iterations ended before the others


@pytest.mark.parametrize("failure", [MemoryError, KeyboardInterrupt])
def test_a_failing_evaluation_ends_all_solves(failure):
    before = threading.active_count()

    def evaluate_all(numbers, points):
        raise failure

    with pytest.raises(failure):
        solve_in_lockstep([descent, descent], evaluate_all)
    assert threading.active_count() == before


def test_a_thread_that_cannot_be_started_leaves_none_waiting(monkeypatch):
    submit = ThreadPoolExecutor.submit

    def full(threads, *work):
        if threads._threads:
            raise RuntimeError("can't start new thread")
        return submit(threads, *work)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", full)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="new thread"):
        solve_in_lockstep([descent, descent], lambda numbers, points: [bowl(0, point) for point in points])
    assert threading.active_count() == before


def test_a_failing_solve_is_told_when_the_others_have_ended():
    def fails(evaluate):
        evaluate(np.zeros(2))
        raise ZeroDivisionError

    asked = []
    with pytest.raises(ZeroDivisionError):
        solve_in_lockstep(
            [fails, descent],
            lambda numbers, points: asked.append(numbers) or [bowl(0, points[0])] * len(numbers),
        )
    assert [1] in asked


def test_solves_know_what_their_caller_ignores():
    def overflows(evaluate):
        return np.float64(1e308) * evaluate(np.zeros(2))[0]

    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solve_in_lockstep([overflows], lambda numbers, points: [(10.0, points[0])]) == [np.inf]


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
    assert max(numbers) == 1
    monkeypatch.setattr(MemoryRows, "shares_passes", lambda rows, objective: True)
    together = model.fit(X, y).ensemble_
    assert max(numbers) == 2 * model.n_init
    np.testing.assert_array_equal(together.weights, alone.weights)
    np.testing.assert_array_equal(together.signs, alone.signs)
