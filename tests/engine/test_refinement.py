"""Learners evaluated and optimised together."""

from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import block_diag
from scipy.optimize import check_grad

from gbmap._core.activation import Softplus
from gbmap._core.boosting import boost, draw_samples
from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Huber, LogLoss, SquaredError
from gbmap._core.objective import Objective
from gbmap._core.posterior import numbers_together
from gbmap._core.problem import BoostingProblem, EvidenceSettings, Solver
from gbmap._core.refinement import refine, refined_ensemble
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


def test_each_of_several_learners_may_have_its_own_ridge():
    X, y = draw()
    rows, vector, ridges = rows_of(X, y), some_vector(), np.array([[1e-3], [0.2], [3.0]]) * np.ones(4)
    value, gradient = rows.joint_value_and_gradient(replace(OBJECTIVE, ridges=ridges), 0, vector, SIGNS)
    plain, its_gradient = rows.joint_value_and_gradient(OBJECTIVE, 0, vector, SIGNS)
    more = (ridges - 1e-3) * vector[1:].reshape(3, 4)
    assert value == pytest.approx(plain + (more * vector[1:].reshape(3, 4)).sum())
    np.testing.assert_allclose(gradient[1:], its_gradient[1:] + 2 * more.ravel())


@pytest.mark.parametrize("kind", LIBRARIES)
def test_numbers_that_rows_determine_are_those_of_all_learners_together(kind):
    X, y = draw(200)
    rows, ridges = rows_of(X, y, kind=kind), np.array([[1e-3], [0.02], [0.3]])
    sample = rows.sample(10_000, np.random.default_rng(0))
    start, ensemble = sample.some(1000, 1 << 20), boosted(rows, 3)
    evidence = EvidenceSettings(len(y), np.ones(1))
    problem = BoostingProblem(rows, None, [sample], OBJECTIVE, Solver(), evidence)
    thetas, signs = ensemble.standard(0, rows.units)
    found = numbers_together(start, problem, ensemble, 0, ridges)
    Z = np.column_stack([standard(X), np.ones(len(y))])
    slopes = signs / (1 + np.exp(-5 * Z @ thetas[:, 1:].T))
    J = (slopes[:, :, None] * Z[:, None]).reshape(len(y), -1)
    H = 2 * J.T @ J / len(y)
    expected = np.trace(H @ np.linalg.inv(H + 2 * np.diag(np.repeat(ridges, 4))))
    assert found == pytest.approx(expected, rel=1e-6)


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


@pytest.mark.parametrize("kind", ["memory", "device"])
def test_the_gauss_newton_matrices_are_the_second_derivatives_where_residuals_vanish(kind):
    X, _ = draw()
    vector = some_vector()
    thetas = vector[1:].reshape(3, -1)
    f = vector[0] + np.logaddexp(0, 5 * (standard(X) @ thetas[:, :-1].T + thetas[:, -1])) / 5 @ SIGNS
    rows = rows_of(X, f[:, None] * 2 + 1, kind=kind)
    scale, mean = rows.units.target_scale[0], rows.units.target_mean[0]
    rows.F[0] = (
        rows.F[0] + (2 * f + 1 - mean) / scale - f
        if kind == "memory"
        else strict.asarray((2 * f + 1 - mean) / scale - f)
    )
    sample = rows.sample(len(X), np.random.default_rng(0))
    found = sample.joint_gauss_newton(OBJECTIVE, 0, vector, SIGNS)
    matrix = block_diag(found.single[:, None], *found.blocks)
    step = 1e-5
    for k in range(len(vector)):
        e = step * np.eye(len(vector))[k]
        high, low = (
            rows.joint_value_and_gradient(OBJECTIVE, 0, vector + sign * e, SIGNS)[1] for sign in (1, -1)
        )
        same_block = matrix[k] != 0
        assert same_block.sum() == (1 if k == 0 else 4)
        np.testing.assert_allclose(
            matrix[k, same_block], ((high - low) / (2 * step))[same_block], rtol=1e-5, atol=1e-6
        )


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


def boosted(rows, n_stages, objective=OBJECTIVE):
    nothing = Ensemble.empty(rows.n_columns, 1, "softplus", rows.units.center)
    origin = rows.remember(0)
    samples = draw_samples(rows, Solver(), 0)
    problem = BoostingProblem(rows, None, samples, objective, Solver())
    *_, last = boost(problem, nothing, n_stages, 0)
    rows.restore(0, origin)
    return last.ensemble


def refined(n_stages=6, n_steps=400, rows=None, objective=OBJECTIVE, sample_rows=10_000):
    X, y = draw()
    rows = rows_of(X, y) if rows is None else rows
    ensemble = boosted(rows, n_stages)
    sample = rows.sample(sample_rows, np.random.default_rng(0))
    problem, ridges = (
        BoostingProblem(rows, None, [sample], objective, Solver()),
        np.full((n_stages, 1), objective.ridge),
    )
    found = refine(problem, ensemble, 0, ridges, n_steps)
    return X, y, rows, sample, ensemble, found


def value(rows, vector, signs):
    return rows.joint_value_and_gradient(OBJECTIVE, 0, vector, signs)[0]


def start_of(ensemble, rows):
    thetas, signs = ensemble.standard(0, rows.units)
    return np.append(thetas[:, 0].sum(), thetas[:, 1:]), signs


def test_refinement_lowers_the_objective_that_boosting_reached():
    *_, rows, _, ensemble, found = refined()
    start, signs = start_of(ensemble, rows)
    assert value(rows, found.vector, signs) < 0.8 * value(rows, start, signs)
    assert 10 < found.n_steps < 400
    np.testing.assert_array_equal(found.signs, signs)


def test_no_more_iterations_than_asked_for():
    assert refined(n_steps=5)[-1].n_steps == 5


def test_refinement_begins_on_a_part_of_many_rows():
    X, y = draw(n=20_000)
    rows = rows_of(X, y)
    counted = []
    rows.joint_value_and_gradient = lambda *args: (
        counted.append(1) or type(rows).joint_value_and_gradient(rows, *args)
    )
    *_, sample, ensemble, found = refined(rows=rows, sample_rows=4_000)
    assert not sample.complete
    assert found.n_steps > 2 * len(counted)  # most of them on the part
    start, signs = start_of(ensemble, rows)
    assert value(rows, found.vector, signs) < 0.8 * value(rows, start, signs)


def test_learners_stay_where_they_are_if_a_part_of_the_rows_misleads():
    X, y = draw(n=20_000)
    rows = rows_of(X, y)
    ensemble = boosted(rows, 2)
    sample = rows.sample(4_000, np.random.default_rng(0))
    sample.y[...] = 0.0  # these rows say something else
    problem = BoostingProblem(rows, None, [sample], OBJECTIVE, Solver())
    found = refine(problem, ensemble, 0, np.full((2, 1), 1e-3), 3)  # spent on them
    start, _ = start_of(ensemble, rows)
    assert found.n_steps == 0
    np.testing.assert_array_equal(found.vector, start)


def test_refined_learners_keep_the_sum_and_come_in_the_order_in_which_they_help():
    X, y, rows, sample, ensemble, found = refined()
    result = refined_ensemble(ensemble, [found], sample, rows.units, OBJECTIVE)
    few = sample.activations(OBJECTIVE, 0, found.vector, len(X))
    scores = few.F + found.vector[0] + few.g @ found.signs
    assert np.mean((few.y - scores) ** 2) == pytest.approx(
        np.mean((y[:, 0] - result.score(X)[:, 0]) ** 2) / y.var(), rel=1e-9
    )
    phi = result.embed(X)
    turning_up = phi - phi.mean(axis=0)  # before its turn, a learner counts as its mean
    weights, _ = ensemble.standard(0, rows.units)
    kept, _ = result.standard(0, rows.units)
    np.testing.assert_allclose(kept[1, 1:], weights[1, 1:], rtol=1e-9)  # the second axis of a map
    assert not np.allclose(kept[0, 1:], weights[0, 1:], rtol=1e-2)
    beside_both = [np.var(y[:, 0] - turning_up[:, [0, 1, j]].sum(axis=1)) for j in range(2, 6)]
    assert np.argmin(beside_both) == 0
    np.testing.assert_allclose(phi[:, 1:].mean(axis=0), 0, atol=1e-9 * y.std())


@pytest.mark.parametrize("n_learners", [2, 3])
def test_the_second_of_more_than_two_learners_stays_to_the_bit(n_learners):
    X, y = draw()
    rows = rows_of(X, y)
    ensemble = boosted(rows, n_learners)
    sample = rows.sample(400, np.random.default_rng(0))
    problem = BoostingProblem(rows, None, [sample], OBJECTIVE, Solver())
    found = refine(problem, ensemble, 0, np.full((n_learners, 1), 1e-3), 50)
    start, _ = start_of(ensemble, rows)
    assert found.n_steps > 0
    moved = (found.vector != start)[1:].reshape(n_learners, -1).any(axis=1)
    assert moved.tolist() == [True, n_learners == 2, True][:n_learners]


def test_a_class_that_no_row_of_the_order_has_leaves_coordinates_small():
    X, _ = draw(n=20_000)
    y = np.full((len(X), 1), -1.0)
    y[::5_000] = 1.0
    objective = Objective(LogLoss(), Softplus(1.0), 1e-3)
    rows = in_standard_units(
        MemoryTable(X, y, 0.0, None), ThreadTeam(1), standardize=True, residual=False
    ).rows
    ensemble = boosted(rows, 3, objective)
    sample = rows.sample(3_000, np.random.default_rng(1))
    problem = BoostingProblem(rows, None, [sample], objective, Solver())
    found = refine(problem, ensemble, 0, np.full((3, 1), 1e-3), 50)
    result = refined_ensemble(ensemble, [found], sample, rows.units, objective)
    assert np.abs(result.embed(X)).max() < 50
