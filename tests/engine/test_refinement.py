"""Learners evaluated and optimised together."""

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import check_grad

from gbmap._core.activation import Softplus
from gbmap._core.boosting import boost, draw_samples
from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Huber, LogLoss, RowLosses, SquaredError
from gbmap._core.objective import Objective
from gbmap._core.problem import BoostingProblem, Solver
from gbmap._core.refinement import _Validation, refine, refined_ensemble
from gbmap._rows.standard import DeviceTable, MemoryTable, in_standard_units
from gbmap._rows.threads import ThreadTeam

OBJECTIVE = Objective(SquaredError(), Softplus(5.0), 1e-3)
LIBRARIES = {"memory": np.asarray, "sparse": scipy.sparse.csr_array, "device": strict.asarray}
SIGNS = np.array([1.0, -1.0, 1.0])


def draw(n=400, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10.0 ** np.arange(p) + 5
    Z = (X - 5) / 10.0 ** np.arange(p)
    return X, (np.abs(Z[:, :1]) * Z[:, 1:2] + 0.1 * rng.standard_normal((n, 1))) * 20 + 7


def rows_of(X, y, weight=None, kind="memory", n_threads=1):
    targets = strict.asarray(y) if kind == "device" else y
    table = DeviceTable if kind == "device" else MemoryTable
    weight = strict.asarray(weight) if kind == "device" and weight is not None else weight
    made = table(LIBRARIES[kind](X), targets, 0.0, weight)
    return in_standard_units(made, ThreadTeam(n_threads), standardize=True, residual=True).rows


def standard(X, weight=None):
    centred = X - np.average(X, axis=0, weights=weight)
    return centred / np.sqrt(np.average(centred**2, axis=0, weights=weight))


def some_vector(p=3, seed=1):
    return np.random.default_rng(seed).standard_normal(1 + len(SIGNS) * (p + 1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_joint_pass_is_the_definition_wherever_rows_are(kind, weighted):
    X, y = draw()
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y)) if weighted else None
    rows, vector = rows_of(X, y, weight, kind), some_vector()
    Z, target = standard(X, weight), standard(y, weight)
    thetas = vector[1:].reshape(3, -1)
    z = Z @ thetas[:, :-1].T + thetas[:, -1]
    f = vector[0] + np.logaddexp(0, 5 * z) / 5 @ SIGNS
    expected = np.average((target[:, 0] - f) ** 2, weights=weight) + 1e-3 * (thetas**2).sum()
    value, gradient = rows.joint_value_and_gradient(OBJECTIVE, 0, vector, SIGNS)
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient.shape == vector.shape


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", LIBRARIES)
@pytest.mark.parametrize(
    "loss", [SquaredError(), LogLoss(), Huber(0.5)], ids=lambda loss: type(loss).__name__
)
def test_the_gradient_of_a_joint_pass_is_that_of_its_value(kind, loss, weighted):
    X, y = draw()
    y = np.where(y > np.median(y), 1.0, -1.0) if isinstance(loss, LogLoss) else y
    weight = np.random.default_rng(2).uniform(0, 2, len(y)) if weighted else None
    rows, objective = rows_of(X, y, weight, kind), Objective(loss, Softplus(2.0), 1e-2)

    def evaluate(vector):
        return rows.joint_value_and_gradient(objective, 0, vector, SIGNS)

    assert check_grad(lambda v: evaluate(v)[0], lambda v: evaluate(v)[1], some_vector()) < 1e-5


def test_a_joint_pass_has_the_same_bits_for_any_number_of_threads():
    X, y = draw(n=150_000)
    asked = [
        rows_of(X, y, n_threads=n).joint_value_and_gradient(OBJECTIVE, 0, some_vector(), SIGNS)
        for n in (1, 3)
    ]
    assert asked[0][0] == asked[1][0]
    np.testing.assert_array_equal(asked[0][1], asked[1][1])


def test_the_gauss_newton_matrix_is_the_second_derivative_where_residuals_vanish():
    X, _ = draw()
    rows, vector = rows_of(X, np.zeros((len(X), 1))), some_vector()
    thetas = vector[1:].reshape(3, -1)
    f = vector[0] + np.logaddexp(0, 5 * (standard(X) @ thetas[:, :-1].T + thetas[:, -1])) / 5 @ SIGNS
    rows.y[0] = f
    sample = rows.sample(len(X), np.random.default_rng(0))
    matrix = sample.joint_gauss_newton(OBJECTIVE, 0, vector, SIGNS)
    step = 1e-5
    for k in range(len(vector)):
        e = step * np.eye(len(vector))[k]
        high, low = (
            rows.joint_value_and_gradient(OBJECTIVE, 0, vector + sign * e, SIGNS)[1] for sign in (1, -1)
        )
        np.testing.assert_allclose(matrix[k], (high - low) / (2 * step), rtol=1e-5, atol=1e-6)


def test_learners_taken_to_standard_units_come_back_as_they_were():
    X, y = draw()
    rows = rows_of(X, y)
    ensemble = boosted(rows, 4)
    thetas, signs = ensemble.standard(0, rows.units)
    again = Ensemble.empty(3, 1, "softplus", rows.units.center)
    for theta, sign in zip(thetas, signs):
        again = again.append(theta, int(sign), 5.0, 0, rows.units)
    for name in ("intercepts", "weights", "offsets", "signs", "beta"):
        np.testing.assert_allclose(getattr(again, name), getattr(ensemble, name), rtol=1e-12, atol=1e-12)


def boosted(rows, n_stages):
    nothing = Ensemble.empty(rows.n_columns, 1, "softplus", rows.units.center)
    origin = rows.remember(0)
    samples = draw_samples(rows, Solver(), 0)
    problem = BoostingProblem(rows, None, samples, OBJECTIVE, Solver())
    *_, last = boost(problem, nothing, n_stages, 0)
    rows.restore(0, origin)
    return last.ensemble


def refined(n_stages=6, n_steps=50, validation_seed=None, **solver):
    X, y = draw()
    rows = rows_of(X, y)
    ensemble = boosted(rows, n_stages)
    validation_rows = None
    if validation_seed is not None:
        validation_rows = MemoryTable(*draw(seed=validation_seed)).in_units(
            rows.units, rows.team, residual=True
        )
    sample = rows.sample(10_000, np.random.default_rng(0))
    problem = BoostingProblem(rows, validation_rows, [sample], OBJECTIVE, Solver(**solver))
    found = refine(problem, ensemble, 0, n_steps)
    return X, y, rows, sample, ensemble, found


def test_refinement_lowers_the_objective_that_boosting_reached():
    *_, rows, _, ensemble, found = refined()
    thetas, signs = ensemble.standard(0, rows.units)
    start = np.append(thetas[:, 0].sum(), thetas[:, 1:])
    before, after = (
        rows.joint_value_and_gradient(OBJECTIVE, 0, vector, signs)[0] for vector in (start, found.vector)
    )
    assert after < 0.8 * before
    assert found.n_steps == 50
    np.testing.assert_array_equal(found.signs, signs)


def test_with_validation_rows_the_best_iteration_for_them_is_kept():
    *_, found = refined(validation_seed=7, n_steps=200)
    assert found.n_steps == np.argmin(found.curve) > 0
    shorter = refined(n_steps=found.n_steps)[-1]
    np.testing.assert_array_equal(shorter.vector, found.vector)


def test_refined_learners_keep_the_sum_and_come_in_the_order_in_which_they_help():
    X, y, rows, sample, ensemble, found = refined()
    result = refined_ensemble(ensemble, [found], sample, rows.units, OBJECTIVE)
    few = sample.activations(OBJECTIVE, 0, found.vector, len(X))
    scores = few.F + found.vector[0] + few.g @ found.signs
    assert np.mean((few.y - scores) ** 2) == pytest.approx(
        np.mean((y[:, 0] - result.score(X)[:, 0]) ** 2) / y.var(), rel=1e-9
    )
    phi = result.embed(X)
    alone = [np.var(y[:, 0] - phi[:, j]) for j in range(6)]
    assert np.argmin(alone) == 0
    beside_the_first = [np.var(y[:, 0] - phi[:, 0] - phi[:, j]) for j in range(1, 6)]
    assert np.argmin(beside_the_first) == 0
    assert np.mean(y[:, 0] - phi[:, 0]) == pytest.approx(0, abs=1e-5)


class Scripted:
    """Rows whose losses are five less the first number of a point, give or take as much as the second."""

    def joint_row_losses(self, objective, output, vector, signs):
        ones = np.ones(100)
        return RowLosses(5 - vector[0] + vector[1] * np.resize([-1.0, 1.0], 100), ones, ones)


@pytest.mark.parametrize(("gain", "n_best"), [(0.11, 2), (0.09, 0)])
def test_the_best_point_for_validation_rows_is_kept_unless_its_gain_may_be_chance(gain, n_best):
    points = np.array([[0.0, 0.0], [gain / 2, 1.0], [gain, 1.0], [gain / 2, 1.0]])
    validation = _Validation(Scripted(), OBJECTIVE, 0, SIGNS, points[0])
    assert not any(map(validation.is_over_at, points[1:]))
    point, nth = validation.best()
    assert nth == n_best
    np.testing.assert_array_equal(point, points[n_best])


def test_of_points_that_are_equally_good_for_validation_rows_the_first_is_kept_with_its_number():
    points = np.array([[0.0, 0.0], [1.0, 0.1], [1.0, 0.1]])
    validation = _Validation(Scripted(), OBJECTIVE, 0, SIGNS, points[0])
    first, second = points[1], points[2]
    validation.is_over_at(first), validation.is_over_at(second)
    point, nth = validation.best()
    assert nth == 1
    assert np.shares_memory(point, first)
