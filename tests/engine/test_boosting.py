"""One weak learner, and the boosting loop around it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from gbmap._core import finding, weak_learner
from gbmap._core.activation import Identity, Softplus
from gbmap._core.boosting import add_stages, boost, draw_samples, mean_losses
from gbmap._core.ensemble import Ensemble
from gbmap._core.lockstep import end_of_search
from gbmap._core.losses import Exponential, Hinge, Huber, LogLoss, Quantile, SquaredError
from gbmap._core.objective import Objective
from gbmap._core.problem import BoostingProblem, Solver
from gbmap._core.weak_learner import find_on_samples, fit_weak_learner, null_learner
from gbmap._rows.standard import MemoryTable, in_standard_units
from gbmap._rows.threads import ThreadTeam, single_threaded_blas

LOSSES = [SquaredError(), Huber(0.5), Quantile(0.7, 0.1), LogLoss(), Exponential(), Hinge()]
ALL_LOSSES = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
KINDS = pytest.mark.parametrize("kind", ["dense", "sparse"])
SQUARED = Objective(SquaredError(), Softplus(5.0), 1e-3)


@pytest.fixture(autouse=True, scope="module")
def one_blas_thread():
    """Hold BLAS as an open team does."""
    with single_threaded_blas():
        yield


def draw(n=300, p=3, n_outputs=1, labels=False, dtype=np.float64, kind="dense"):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) * 10.0 ** np.arange(p) + 5
    Z = (X - 5) / 10.0 ** np.arange(p)
    if kind == "sparse":
        X[rng.random((n, p)) < 0.5] = 0
    y = np.abs(Z[:, :1]) - Z[:, 1:2] + 0.1 * rng.standard_normal((n, n_outputs)) + np.arange(n_outputs)
    targets = np.where(y > np.median(y, axis=0), 1.0, -1.0) if labels else 20 * y + 7
    X = X.astype(dtype)
    return (scipy.sparse.csr_array(X) if kind == "sparse" else X), targets


def rows_of(X, targets, weight=None, residual=True):
    table = MemoryTable(X, targets, 0.0, weight)
    return in_standard_units(table, ThreadTeam(1), standardize=True, residual=residual).rows


def empty(rows, activation="softplus"):
    return Ensemble.empty(rows.blocks.n_columns, rows.n_outputs, activation, rows.units.center)


def stages(
    rows, objective, n_stages, ensemble=None, solver=None, seed=0, validation_rows=None, activation="softplus"
):
    ensemble = empty(rows, activation) if ensemble is None else ensemble
    solver = solver or Solver()
    samples = draw_samples(rows, solver, seed)
    problem = BoostingProblem(rows, validation_rows, samples, objective, solver)
    return list(boost(problem, ensemble, n_stages, seed))


def learner(rows, objective=SQUARED, seed=0, **solver):
    """Fit the first weak learner."""
    settings = Solver(**solver)
    rng = np.random.default_rng(seed)
    samples = [rows.sample(size, rng) for size in settings.sample_rows]
    problem = BoostingProblem(rows, None, samples, objective, settings)
    return end_of_search(fit_weak_learner(problem, 0, 1.0, np.random.default_rng(seed)))


def bits(ensemble):
    return [
        getattr(ensemble, name).tobytes() for name in ("intercepts", "signs", "weights", "offsets", "beta")
    ]


@pytest.mark.parametrize("activation", [Softplus(5.0), Softplus(0.1), Identity(1.0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_null_learner_is_zero_everywhere(activation, sign):
    theta = null_learner(replace(SQUARED, activation=activation), sign, 3)
    assert theta.shape == (5,)
    assert (theta[1:] == 0).all()
    assert theta[0] + sign * activation.value(np.zeros(1))[0] == 0


@pytest.mark.sampled(3)
@ALL_LOSSES
@DTYPES
@KINDS
def test_the_loss_never_rises_from_stage_to_stage(loss, dtype, kind):
    labels = loss.degree == 0
    X, targets = draw(n_outputs=2, labels=labels, dtype=dtype, kind=kind)
    rows = rows_of(X, targets, residual=not labels)
    objective = Objective(loss, Softplus(5.0), 1e-3)
    curve = [mean_losses(rows, loss), *(stage.losses for stage in stages(rows, objective, 6))]
    rises = np.diff(curve, axis=0)
    assert rises.max() <= 2 * np.finfo(dtype).eps * np.max(curve[0])
    assert (curve[-1] < 0.9 * curve[0]).all()


@ALL_LOSSES
def test_each_stage_ends_no_higher_than_it_began_with_the_ridge_counted_in(loss):
    labels = loss.degree == 0
    rows = rows_of(*draw(labels=labels), residual=not labels)
    before = mean_losses(rows, loss)[0]
    for stage in stages(rows, Objective(loss, Softplus(5.0), 0.05), 5):
        value = stage.solutions[0].value
        null = not stage.ensemble.weights[-1].any()
        assert null or stage.losses[0] < value <= before
        before = stage.losses[0]


@DTYPES
@pytest.mark.parametrize("ratio", [0.0, 500.0, 1e5])
def test_the_loss_does_not_rise_after_all_is_learnt(dtype, ratio):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((200, 2)) + ratio).astype(dtype)
    rows = rows_of(X, np.abs(rng.standard_normal((200, 1))))
    objective = Objective(SquaredError(), Softplus(5.0), 0.2)  # so strong a ridge that learners gain little
    curve = [1.0, *(stage.losses[0] for stage in stages(rows, objective, 15))]
    assert np.diff(curve).max() <= 2 * np.finfo(dtype).eps


@ALL_LOSSES
def test_the_mean_loss_of_a_stage_is_that_of_its_ensemble(loss):
    labels = loss.degree == 0
    X, targets = draw(n_outputs=2, labels=labels)
    rows = rows_of(X, targets, residual=not labels)
    last = stages(rows, Objective(loss, Softplus(5.0), 1e-3), 3)[-1]
    score = last.ensemble.score(X)
    scale = rows.units.target_scale
    expected = loss.value(targets / scale, score / scale).mean(axis=0)
    np.testing.assert_allclose(last.losses, expected, rtol=1e-10)


@DTYPES
@KINDS
def test_a_constant_target_needs_null_learners_only(dtype, kind):
    X, _ = draw(dtype=dtype, kind=kind)
    ensemble = stages(rows_of(X, np.full((300, 1), 1234.5)), SQUARED, 3)[-1].ensemble
    np.testing.assert_allclose(ensemble.weights, 0, atol=1e-12)
    np.testing.assert_allclose(ensemble.score(X), 1234.5, rtol=1e-12)


def test_columns_that_are_all_constant_leave_the_mean():
    targets = np.arange(20.0)[:, None]
    rows = rows_of(np.ones((20, 2)), targets)
    ensemble = stages(rows, SQUARED, 2)[-1].ensemble
    assert (ensemble.weights == 0).all()
    np.testing.assert_allclose(ensemble.score(np.ones((1, 2))), 9.5, rtol=1e-6)


def test_a_ridge_that_no_gain_can_pay_for_gives_null_learners():
    rows = rows_of(*draw())
    last = stages(rows, Objective(SquaredError(), Softplus(5.0), 1e6), 2)[-1]
    assert np.abs(last.ensemble.weights * [1, 10, 100]).max() < 1e-3
    assert last.losses[0] <= 1.0 + 1e-12


@pytest.mark.sampled(3)
@DTYPES
@KINDS
@pytest.mark.parametrize("sample_rows", [(100,), (40, 120), (10_000,)])
@pytest.mark.parametrize("weighted", [False, True])
def test_going_on_from_a_stored_ensemble_gives_the_bits_of_an_uninterrupted_fit(
    dtype, kind, sample_rows, weighted
):
    X, targets = draw(n_outputs=2, dtype=dtype, kind=kind)
    weight = np.random.default_rng(1).uniform(0, 2, 300) if weighted else None
    solver = Solver(sample_rows=sample_rows)
    whole = stages(rows_of(X, targets, weight), SQUARED, 4, solver=solver)
    for done in (1, 3):
        rest = stages(rows_of(X, targets, weight), SQUARED, 4, whole[done - 1].ensemble, solver)
        assert len(rest) == 4 - done
        assert bits(rest[-1].ensemble) == bits(whole[-1].ensemble)
        assert rest[-1].losses.tobytes() == whole[-1].losses.tobytes()


def test_a_short_fit_is_the_start_of_a_long_one():
    X, targets = draw(n_outputs=2)
    long, short = (stages(rows_of(X, targets), SQUARED, n)[-1].ensemble for n in (4, 2))
    assert bits(long[:4]) == bits(short)


def test_the_seed_decides():
    X, targets = draw()
    first, again, other = (
        stages(rows_of(X, targets), SQUARED, 2, seed=seed)[-1].ensemble for seed in (0, 0, 1)
    )
    assert bits(first) == bits(again)
    assert bits(first) != bits(other)


def test_each_learner_draws_from_a_stream_of_its_own(monkeypatch):
    draws = []

    def record(problem, output, unit, rng):
        draws.append(rng.random())
        return find_on_samples(problem, output, unit, rng)

    monkeypatch.setattr(finding, "find_on_samples", record)
    X, targets = draw(n_outputs=2)
    stages(rows_of(X, targets), SQUARED, 3)
    stages(rows_of(X, targets[:, :1]), SQUARED, 3)
    assert len(set(draws[:6])) == 6
    assert draws[6:] == draws[:6:2]  # those of the first output, whatever the others do


@KINDS
@pytest.mark.parametrize("sample_rows", [(100,), (40, 120), (10_000,)])
def test_monotone_columns_hold_exactly(kind, sample_rows):
    X, targets = draw(kind=kind)
    solver = Solver(monotone=np.array([1, 1, -1]), sample_rows=sample_rows)
    ensemble = stages(rows_of(X, targets), SQUARED, 6, solver=solver)[-1].ensemble
    slopes = ensemble.signs[:, None] * ensemble.weights
    assert (slopes * [1, 1, -1] >= 0).all()
    assert (ensemble.gradient(X)[:, :, 0] * [1, 1, -1] >= 0).all()
    free = stages(rows_of(X, targets), SQUARED, 6)[-1].ensemble
    assert (free.signs[:, None] * free.weights * [1, 1, -1] < 0).any()  # so the bounds had work to do


def test_a_zero_among_the_monotone_signs_leaves_its_column_free():
    rows = rows_of(*draw())
    free, held = learner(rows), learner(rows, monotone=np.zeros(3))
    assert held.value == pytest.approx(free.value, rel=1e-3)


@pytest.mark.parametrize(("bend", "sign"), [(1.0, 1), (-1.0, -1)])
def test_both_signs_are_tried_and_the_better_one_wins(bend, sign):
    X = np.linspace(-2, 2, 200)[:, None]
    solution = learner(rows_of(X, bend * np.maximum(X - 0.3, 0)))
    assert solution.sign == sign
    assert solution.value < 0.02


@ALL_LOSSES
def test_a_solution_is_stationary_and_its_value_that_of_its_theta(loss):
    labels = loss.degree == 0
    rows = rows_of(*draw(labels=labels), residual=not labels)
    objective = Objective(loss, Softplus(2.0), 1e-2)
    solution = learner(rows, objective, tol=1e-13, max_iter=5000)
    signs = np.array([float(solution.sign)])
    value, gradient = rows.value_and_gradient(objective, 0, solution.theta[None], signs)
    assert solution.value == pytest.approx(value[0], rel=1e-10)
    assert np.abs(gradient).max() < 1e-5
    assert solution.converged


@pytest.mark.parametrize("seed", range(8))
def test_a_solution_is_stationary_with_more_columns_than_rows(seed):
    X = np.random.default_rng(seed).standard_normal((60, 120))
    rows = rows_of(X, X[:, :5].sum(axis=1, keepdims=True))
    solution = learner(rows, replace(SQUARED, ridge=1e-5))
    _, gradient = rows.value_and_gradient(
        replace(SQUARED, ridge=1e-5), 0, solution.theta[None], np.array([float(solution.sign)])
    )
    assert solution.converged
    assert np.linalg.norm(gradient) < 0.01  # where a short step ended it, up to 0.5


@pytest.mark.parametrize("sample_rows", [(500,), (200, 600), (10_000,)])
def test_the_first_learner_with_identity_activation_is_ridge_regression(sample_rows):
    X, targets = draw(n=2000)
    rows, ridge = rows_of(X, targets), 0.05
    objective = Objective(SquaredError(), Identity(1.0), ridge)
    theta = learner(rows, objective, tol=1e-14, sample_rows=sample_rows).theta
    Z = np.column_stack([np.ones(2000), (X - X.mean(axis=0)) / X.std(axis=0), np.ones(2000)])
    A = Z.T @ Z / 2000 + ridge * np.diag([0.0, 1, 1, 1, 1])
    np.testing.assert_allclose(theta, np.linalg.solve(A, Z.T @ rows.y[0] / 2000), atol=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_what_counts_as_a_gain_depends_on_the_loss_and_not_on_its_unit(unit):
    X, y = draw()
    rows = in_standard_units(MemoryTable(X, y * unit), ThreadTeam(1), standardize=False, residual=True).rows
    last = stages(rows, Objective(SquaredError(), Identity(1.0), 0.0), 1, activation="identity")[-1]
    design = np.column_stack([X, np.ones(len(X))])
    residual = y - design @ np.linalg.lstsq(design, y)[0]
    assert last.losses[0] / unit**2 == pytest.approx(np.mean(residual**2), rel=1e-3)


def test_a_learner_found_by_way_of_a_sample_is_as_good_as_without():
    X, targets = draw(n=3000)
    rows = rows_of(X, targets)
    direct, coarse = learner(rows), learner(rows, sample_rows=(300,))
    assert coarse.value == pytest.approx(direct.value, rel=0.02)


def test_a_tolerance_beyond_the_digits_of_a_large_sample_is_met_on_the_rows():
    X, targets = draw(n=60_000)
    rows = rows_of(X, targets)
    plain = Objective(SquaredError(), Identity(1.0), 0.0)
    solver = Solver(tol=1e-14, sample_rows=(60_000,))
    (stage,) = stages(rows, plain, 1, solver=solver, activation="identity")
    assert rows.samples[0].rows.eps > rows.eps
    design = np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.lstsq(design, targets)[0][:-1, 0]
    np.testing.assert_allclose(stage.ensemble.weights[0], expected, rtol=1e-7)


def test_starts_are_gentle_and_steep_in_turn_each_with_both_signs(monkeypatch):
    starts, minimising = [], weak_learner.minimising

    def noted(start, *stopping, **options):
        starts.append(start)
        return minimising(start, *stopping, **options)

    monkeypatch.setattr(weak_learner, "minimising", noted)
    learner(rows_of(*draw()), n_init=3)
    lengths = [np.linalg.norm(start[1:-1]) for start in starts[:6]]
    np.testing.assert_allclose(lengths, [1, 1, 3, 3, 1, 1])
    np.testing.assert_array_equal(starts[0][1:], starts[1][1:])
    assert len({start[1:].tobytes() for start in starts[:6]}) == 3


def test_a_solve_that_runs_out_of_iterations_says_so():
    solution = learner(rows_of(*draw()), max_iter=1)
    assert not solution.converged
    assert solution.n_iter == 2  # one of the race, one of the polish


def test_a_constant_column_gets_weight_zero():
    X, targets = draw()
    X[:, 2] = 0.1
    ensemble = stages(rows_of(X, targets), SQUARED, 3)[-1].ensemble
    assert (ensemble.weights[:, 2] == 0).all()
    assert (ensemble.weights[:, :2] != 0).all()


def test_validation_rows_have_their_own_loss_and_change_nothing():
    X, targets = draw(n_outputs=2)
    rows = rows_of(X[:200], targets[:200])
    others = MemoryTable(X[200:], targets[200:]).in_units(rows.units, rows.team, residual=True)
    alone = stages(rows_of(X[:200], targets[:200]), SQUARED, 3)[-1]
    last = stages(rows, SQUARED, 3, validation_rows=others)[-1]
    scale = rows.units.target_scale
    expected = (((targets[200:] - last.ensemble.score(X[200:])) / scale) ** 2).mean(axis=0)
    np.testing.assert_allclose(last.validation_losses, expected, rtol=1e-10)
    assert bits(last.ensemble) == bits(alone.ensemble)
    assert np.isnan(alone.validation_losses).all()


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_shifting_and_scaling_x_or_y_changes_units_only(unit):
    X, targets = draw()
    plain = stages(rows_of(X, targets), SQUARED, 3)[-1]
    moved = stages(rows_of(unit * X + 3 * unit, unit * targets - 5 * unit), SQUARED, 3)[-1]
    np.testing.assert_allclose(moved.losses, plain.losses, rtol=1e-6)
    score = (moved.ensemble.score(unit * X + 3 * unit) + 5 * unit) / unit
    np.testing.assert_allclose(score, plain.ensemble.score(X), atol=1e-3 * targets.std())


def test_rows_without_weight_do_not_matter():
    X, targets = draw()
    weight = (np.arange(300) % 3 > 0).astype(float)
    noisy = np.where(weight[:, None] > 0, targets, 1e6)
    found, expected = (
        stages(rows_of(X, noisy, weight), SQUARED, 2),
        stages(rows_of(X[weight > 0], targets[weight > 0]), SQUARED, 2),
    )
    np.testing.assert_allclose(found[-1].losses, expected[-1].losses, rtol=1e-6)


def test_an_ensemble_is_added_to_fresh_rows_as_it_was_found():
    X, targets = draw(n_outputs=2)
    rows = rows_of(X, targets)
    ensemble = stages(rows, SQUARED, 3)[-1].ensemble
    fresh = rows_of(X, targets)
    add_stages(fresh, ensemble)
    assert fresh.F.tobytes() == rows.F.tobytes()
    add_stages(None, ensemble)  # no rows are nothing to do


def test_mean_losses_take_a_shift_for_each_output():
    rows = rows_of(*draw(n_outputs=2))
    found = mean_losses(rows, SquaredError(), np.array([0.0, 2.0]))
    np.testing.assert_allclose(found, [1.0, 5.0], rtol=1e-12)
