"""A solve ends at a minimum, or says that it has not."""

import numpy as np
import pytest

from gbmap._core.minimise import Stopping, minimise


def solve(evaluate, start, hessian, ftol=1e-6, max_iter=500, **options):
    known = None if hessian is None else lambda x: np.asarray(hessian, dtype=float)
    stopping = Stopping(1.0, ftol, max_iter)
    return minimise(evaluate, np.array(start, dtype=float), stopping, hessian=known, **options)


def bowl(x):
    difference = x - np.array([1.0, 2.0])
    return float(difference @ difference), 2 * difference


@pytest.mark.parametrize("hessian", [None, [2.0, 2.0], [[2.0, 0.5], [0.5, 2.0]]])
def test_a_bowl_has_its_minimum(hessian):
    found = solve(bowl, [3.0, -4.0], hessian)
    assert found.converged
    np.testing.assert_allclose(found.x, [1, 2], atol=1e-3)


def test_a_descent_ends_by_promise_where_newtons_step_led():
    stopping = Stopping(1.0, 1e-6, 500, by_promise=True)
    found = minimise(bowl, np.array([3.0, -4.0]), stopping, hessian=lambda x: 2 * np.eye(2), damping=0.0)
    assert (found.n_evaluations, found.converged) == (2, True)
    np.testing.assert_allclose(found.x, [1, 2], atol=1e-6)
    assert found.value == pytest.approx(bowl(found.x)[0])


def test_a_minimum_on_a_bound_is_one_though_the_function_slopes_there():
    bounds = np.array([0.0, -np.inf]), np.array([np.inf, 0.0])
    found = solve(bowl, [3.0, -4.0], [[2.0, 0.5], [0.5, 2.0]], bounds=bounds)
    assert found.converged
    np.testing.assert_allclose(found.x, [1, 0], atol=1e-3)


def test_a_line_search_that_fails_is_no_convergence():
    found = solve(lambda x: (bowl(x)[0], -bowl(x)[1]), [3.0, -4.0], [2.0, 2.0])
    assert not found.converged
    np.testing.assert_allclose(found.x, [3, -4])
    assert found.n_evaluations < 100


@pytest.mark.parametrize(("ftol", "converged"), [(0.15, True), (0.05, False)])
def test_a_solve_has_converged_where_all_there_is_to_gain_is_little_by_its_tolerance(ftol, converged):
    # No line search leaves the start, where the value is 40, all of which Newton's step would gain.
    found = solve(lambda x: (bowl(x)[0], -bowl(x)[1]), [3.0, -4.0], [2.0, 2.0], ftol=ftol)
    assert found.value == 40
    assert found.converged == converged  # 40 against ten times ftol times 40


def test_a_step_that_a_line_search_takes_back_has_gained_nothing():
    places = []

    def drop(x):  # lower everywhere else, but by far less than its slope promises
        places.append(x)
        assert len(places) < 1000
        is_start = np.allclose(x, [3, -4], rtol=0, atol=1e-12)
        return 40.0 if is_start else 39.999, np.array([-4e4, 12e4])

    found = solve(drop, [3.0, -4.0], [2.0, 2.0])
    assert not found.converged
    np.testing.assert_allclose(found.x, [3, -4])
    assert found.value == 40


def test_running_out_of_evaluations_is_no_convergence():
    # A Hessian so wrong that no line search is back within the evaluations that an iteration has.
    found = solve(lambda x: (float(x[0] ** 4), 4 * x**3), [1.0], [1e-12], max_iter=1)
    assert found.n_iter == 0
    assert not found.converged
