"""The fused pass over rows in memory, against the definition on standardised columns in float64."""

import numpy as np
import pytest
import scipy.sparse

from gbmap._core.activation import Identity, Softplus
from gbmap._core.ensemble import Ensemble
from gbmap._core.inputs import ColumnSample, Inputs
from gbmap._core.losses import Exponential, Hinge, Huber, LogLoss, Quantile, SquaredError
from gbmap._core.objective import Objective
from gbmap._core.rows import rows_that_tell
from gbmap._fit.columns import plan_inputs
from gbmap._rows import blocks, memory
from gbmap._rows.mapping import map_rows
from gbmap._rows.memory import MemoryRows
from gbmap._rows.standard import MemoryTable, in_standard_units
from gbmap._rows.threads import ThreadTeam, single_threaded_blas

LOSSES = [SquaredError(), Huber(0.5), Quantile(0.7, 0.1), LogLoss(), Exponential(), Hinge()]
ALL_LOSSES = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
ACTIVATIONS = pytest.mark.parametrize(
    "activation", [Softplus(5.0), Identity(1.0)], ids=["softplus", "identity"]
)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
SIGNS = np.array([1.0, -1.0, 1.0])
ONE = ThreadTeam(1)


@pytest.fixture(autouse=True, scope="module")
def one_blas_thread():
    """Hold BLAS as an open team does."""
    with single_threaded_blas():
        yield


def draw(n=300, p=4, dtype=np.float64, kind="dense", n_outputs=1):
    """Return X with means, scales and one constant column, and targets of labels -1 and +1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) * 10.0 ** np.arange(-1, p - 1) + 3 * 10.0 ** np.arange(-1, p - 1)
    X[:, -1] = 2.5
    if kind == "sparse":
        X[rng.random((n, p)) < 0.7] = 0
        X[:, -1] = 0
    X = X.astype(dtype)
    return (scipy.sparse.csr_array(X) if kind == "sparse" else X), rng.choice([-1.0, 1.0], (n, n_outputs))


def rows_of(X, targets, weight=None, residual=True, team=ONE, score=0.0, standardize=True):
    table = MemoryTable(X, targets, score, weight)
    return in_standard_units(table, team, standardize=standardize, residual=residual).rows


def random_weight(n):
    rng = np.random.default_rng(1)
    return rng.uniform(0.5, 2, n) * (rng.random(n) < 0.8)


def candidates(p, count=3):
    return np.random.default_rng(2).standard_normal((count, p + 2)) / np.sqrt(p)


def standardised(rows):
    """Return X in standard units, in float64."""
    X = rows.blocks.X
    X = X.toarray() if scipy.sparse.issparse(X) else X
    return (X.astype(np.float64) - rows.units.mean) * rows.units.inverse_scale


def slow_twin(rows, objective, output, thetas, signs):
    """Return what the fused pass should, by definition."""
    Z, y, F = standardised(rows), rows.y[output].astype(float), rows.F[output].astype(float)
    weight = np.ones(len(y)) if rows.weight is None else rows.weight.astype(float)
    sums = [objective.block_sums(theta, b, Z, y, F, weight) for theta, b in zip(thetas, signs)]
    return objective.finish(np.array(sums), weight.sum(), thetas)


@ALL_LOSSES
@DTYPES
@WEIGHTED
def test_the_function_that_a_solve_evaluates_has_the_bits_of_a_pass(loss, dtype, weighted):
    X, targets = draw(dtype=dtype)
    rows = rows_of(X, targets, random_weight(len(X)) if weighted else None)
    sample = rows.sample(200, np.random.default_rng(0))
    objective = Objective(loss, Softplus(5.0), 1e-2)
    for each in (rows, sample):
        for theta, sign in zip(candidates(4), SIGNS):
            value, gradient = each.function(objective, 0, sign)(theta)
            values, gradients = each.value_and_gradient(objective, 0, theta[None], np.array([sign]))
            assert value == values[0]
            np.testing.assert_array_equal(gradient, gradients[0])


@ALL_LOSSES
@ACTIVATIONS
@DTYPES
@WEIGHTED
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_pass_for_several_outputs_is_one_for_each(loss, activation, dtype, weighted, kind):
    X, targets = draw(dtype=dtype, kind=kind, n_outputs=2)
    rows = rows_of(X, targets, random_weight(X.shape[0]) if weighted else None)
    outputs, ridges = [1, 0, 1], [1e-2, np.arange(5.0), 1e-1]
    thetas, objectives = candidates(4), [Objective(loss, activation, ridge) for ridge in ridges]
    for each in (rows, rows.sample(200, np.random.default_rng(0))):
        answers = each.answer(objectives, outputs, thetas, SIGNS)
        for c, (value, gradient) in enumerate(answers):
            some = slice(c, c + 1)
            alone = each.value_and_gradient(objectives[c], outputs[c], thetas[some], SIGNS[some])
            tolerance = 1e-4 if dtype == np.float32 else 1e-12
            assert_same((value, gradient), (alone[0][0], alone[1][0]), tolerance)


@pytest.mark.usefixtures("small_blocks")
def test_a_pass_for_several_outputs_has_the_same_bits_for_any_number_of_threads():
    X, targets = draw(n_outputs=2)
    objectives = [Objective(LogLoss(), Softplus(5.0), 1e-2)] * 3
    found = []
    for n_threads in (1, 3):
        with ThreadTeam(n_threads) as team:
            answers = rows_of(X, targets, team=team).answer(objectives, [0, 1, 1], candidates(4), SIGNS)
        found.append(np.array([[value, *gradient] for value, gradient in answers]))
    np.testing.assert_array_equal(*found)


class Doubled(LogLoss):
    """A loss of one's own that takes over what it does not change."""

    def sum_and_gradient_inplace(self, y, f, weight, scratch):
        total = super().sum_and_gradient_inplace(y, f, weight, scratch)
        f *= 2
        return 2 * total


def test_a_loss_of_ones_own_counts_for_several_outputs_as_for_one():
    X, targets = draw(n_outputs=2)
    rows, objective = rows_of(X, targets), Objective(Doubled(), Softplus(5.0), 1e-2)
    answers = rows.answer([objective] * 2, [0, 1], candidates(4, 2), SIGNS[:2])
    for output, answer in enumerate(answers):
        some = slice(output, output + 1)
        alone = rows.value_and_gradient(objective, output, candidates(4, 2)[some], SIGNS[some])
        assert_same(answer, (alone[0][0], alone[1][0]), 1e-12)


def test_a_matrix_of_curvatures_is_made_of_the_rows_that_tell_it():
    rng = np.random.default_rng(0)
    told = np.concatenate([rng.uniform(1, 2, 400), np.full(600, 1e-4)])
    tell = rows_that_tell(told, 200)
    assert tell.max() < 400
    assert told[tell].sum() > 0.995 * told.sum()
    assert len(rows_that_tell(told, 20)) == 1000  # few columns take less time than the choice
    assert len(rows_that_tell(np.zeros(1000), 200)) == 1000


def assert_same(found, expected, tolerance):
    for each, other in zip(found, expected):
        np.testing.assert_allclose(each, other, rtol=tolerance, atol=tolerance * np.abs(other).max())


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut rows into blocks of at most 32."""
    monkeypatch.setattr(blocks, "_BLOCK_ROWS", (8, 32))
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 1 << 10)


@ALL_LOSSES
@ACTIVATIONS
@DTYPES
@WEIGHTED
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.usefixtures("small_blocks")
def test_fused_pass_equals_the_definition(loss, activation, dtype, weighted, kind):
    X, targets = draw(dtype=dtype, kind=kind, n_outputs=2)
    weight = random_weight(len(targets)) if weighted else None
    rows = rows_of(X, targets, weight, residual=loss.degree > 0)
    rows.F += np.random.default_rng(3).standard_normal(rows.F.shape).astype(dtype)
    objective, thetas = Objective(loss, activation, 0.02), candidates(X.shape[1])
    found = rows.value_and_gradient(objective, 1, thetas, SIGNS)
    assert rows.blocks.n_blocks > 5
    assert found[0].dtype == found[1].dtype == np.float64
    assert_same(found, slow_twin(rows, objective, 1, thetas, SIGNS), 1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize(("dtype", "ratio"), [(np.float32, 1e5), (np.float64, 1e12)])
@pytest.mark.usefixtures("small_blocks")
def test_fused_pass_keeps_the_digits_of_a_column_with_a_large_mean(dtype, ratio):
    X, targets = draw()
    X[:, 1] += ratio * X[:, 1].std()
    rows = rows_of(X.astype(dtype), targets)
    objective, thetas = Objective(SquaredError(), Softplus(5.0), 0.02), candidates(4)
    assert np.flatnonzero(rows.units.center).tolist() == [1]
    found = rows.value_and_gradient(objective, 0, thetas, SIGNS)
    assert_same(found, slow_twin(rows, objective, 0, thetas, SIGNS), 1e-5 if dtype == np.float32 else 1e-4)


@DTYPES
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_fused_pass_has_no_overflow_for_steep_learners(dtype, size):
    X, targets = draw(dtype=dtype)
    rows = rows_of(X, targets, residual=False)
    objective, thetas = Objective(LogLoss(), Softplus(5.0), 0.02), size * candidates(4)
    found = rows.value_and_gradient(objective, 0, thetas, SIGNS)
    expected = slow_twin(rows, objective, 0, thetas, SIGNS)
    assert_same(found, expected, 1e-11 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("scale", [1e-40, 1e-37, 1e-30, 1e30, 1e35])
def test_float32_columns_of_any_magnitude_work(scale):
    X, targets = draw()
    X = ((X - X.mean(axis=0)) / 10.0 ** np.arange(-1, 3) * [scale, 1, 1, 1]).astype(np.float32)
    rows = rows_of(X, targets)
    objective, thetas = Objective(SquaredError(), Softplus(5.0), 0.02), candidates(4)
    found = rows.value_and_gradient(objective, 0, thetas, SIGNS)
    assert all(np.isfinite(each).all() for each in found)
    if scale > 1e-40:
        assert_same(found, slow_twin(rows, objective, 0, thetas, SIGNS), 1e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@DTYPES
@pytest.mark.usefixtures("small_blocks")
def test_candidates_in_one_pass_equal_each_alone(kind, dtype):
    X, targets = draw(kind=kind, dtype=dtype)
    rows, thetas = rows_of(X, targets), candidates(X.shape[1])
    objective = Objective(SquaredError(), Softplus(5.0), 0.02)
    values, gradients = rows.value_and_gradient(objective, 0, thetas, SIGNS)
    for c in range(len(thetas)):
        value, gradient = rows.value_and_gradient(objective, 0, thetas[[c]], SIGNS[[c]])
        np.testing.assert_allclose(value[0], values[c], rtol=1e-14)
        np.testing.assert_allclose(gradient[0], gradients[c], rtol=1e-14)


@ALL_LOSSES
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_weights_equal_repetition(loss, kind):
    X, targets = draw(kind=kind)
    times = np.random.default_rng(4).integers(0, 4, len(targets))
    each = np.repeat(np.arange(len(targets)), times)
    residual = loss.degree > 0
    weighted, repeated = (
        rows_of(X, targets, times.astype(float), residual),
        rows_of(X[each], targets[each], None, residual),
    )
    objective, thetas = Objective(loss, Softplus(5.0), 0.02), candidates(4)
    assert_same(
        weighted.value_and_gradient(objective, 0, thetas, SIGNS),
        repeated.value_and_gradient(objective, 0, thetas, SIGNS),
        1e-12,
    )
    assert weighted.mean_loss(loss, 0) == pytest.approx(repeated.mean_loss(loss, 0), rel=1e-12)


@pytest.mark.sampled(2)
@DTYPES
@WEIGHTED
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.usefixtures("small_blocks")
def test_any_number_of_threads_gives_the_same_bits(dtype, kind, weighted):
    X, targets = draw(n=3000, dtype=dtype, kind=kind)
    weight = random_weight(3000) if weighted else None
    objective, thetas, found = Objective(LogLoss(), Softplus(5.0), 0.02), candidates(4), []
    for n_threads in (1, 2, 3, 4):
        with ThreadTeam(n_threads) as team:
            rows = rows_of(X, targets, weight, residual=False, team=team)
            passes = [rows.value_and_gradient(objective, 0, thetas, SIGNS) for _ in range(3)]
            ensemble = Ensemble.empty(4, 1, "softplus", rows.units.center)
            rows.add_last_learners(ensemble.append(thetas[0], 1, 5.0, 0, rows.units))
            numbers = [
                *passes[-1],
                rows.F,
                rows.mean_loss(LogLoss(), 0),
                rows.units.mean,
                rows.units.inverse_scale,
            ]
            assert all(np.array_equal(a, b) for one in passes for a, b in zip(one, passes[0]))
            found.append(b"".join(np.asarray(each).tobytes() for each in numbers))
    assert rows.blocks.n_blocks > 90
    assert len(set(found)) == 1


def test_a_memory_map_gives_the_same_bits_as_an_array(tmp_path):
    X, targets = draw(dtype=np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    objective = Objective(SquaredError(), Softplus(5.0), 0.02)
    found = [
        rows_of(each, targets).value_and_gradient(objective, 0, candidates(4), SIGNS) for each in (X, mapped)
    ]
    assert all(np.array_equal(a, b) for a, b in zip(*found))


def test_neither_x_nor_the_targets_nor_the_thetas_are_changed():
    X, targets = draw()
    X[:, 1] += 1e13
    thetas = candidates(4)
    before = X.copy(), targets.copy(), thetas.copy()
    rows = rows_of(X, targets)
    y = rows.y.copy()
    for loss in LOSSES:
        rows.value_and_gradient(Objective(loss, Softplus(5.0), 0.02), 0, thetas, SIGNS)
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, targets, thetas)))
    np.testing.assert_array_equal(rows.y, y)


def test_a_constant_column_has_no_part_in_value_and_gradient():
    X, targets = draw()
    rows, objective = rows_of(X, targets), Objective(SquaredError(), Softplus(5.0), 0.0)
    thetas = candidates(4)
    other = thetas.copy()
    other[:, 4] += 3.0  # the weight of the last, constant column
    found = rows.value_and_gradient(objective, 0, thetas, SIGNS)
    assert (found[1][:, 4] == 0).all()
    assert rows.units.n_active == 3
    assert all(
        np.array_equal(a, b) for a, b in zip(found, rows.value_and_gradient(objective, 0, other, SIGNS))
    )


@WEIGHTED
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("wide", [False, True])
@ALL_LOSSES
def test_gauss_newton_is_the_curvature_of_the_linearised_score(loss, kind, weighted, wide, monkeypatch):
    monkeypatch.setattr(memory, "FULL_MATRIX_COLUMNS", 3 if wide else 1000)
    X, targets = draw(kind=kind)
    weight = random_weight(len(targets)) if weighted else None
    all_rows = rows_of(X, targets, weight, residual=loss.degree > 0)
    sample = all_rows.sample(100, np.random.default_rng(0))
    theta, g = candidates(4)[0], Softplus(5.0)
    Z, y, F = standardised(sample), sample.y[0], sample.F[0]
    z = Z @ theta[1:-1] + theta[-1]
    J = np.column_stack([np.ones(len(y)), -g.slope(z)[:, None] * Z, -g.slope(z)])
    share = (np.ones(len(y)) if weight is None else sample.weight) / sample.weight_sum
    C = np.diag(loss.curvature(y, F + theta[0] - g.value(z)) * share)
    varies = Z.any(axis=0)  # a constant column stays out of the model
    expected = J.T @ C @ J + 2 * 0.02 * np.diag([0, *varies, 1])
    found = sample.gauss_newton(Objective(loss, g, 0.02), 0, theta, -1)
    is_full = kind == "dense" and not wide
    np.testing.assert_allclose(found, expected if is_full else np.diagonal(expected), rtol=1e-9, atol=1e-12)


@DTYPES
def test_gauss_newton_of_sparse_columns_with_large_means_has_a_positive_diagonal(dtype):
    X = np.random.default_rng(0).standard_normal((500, 20)) + (1e5 if dtype == np.float32 else 1e9)
    sample = rows_of(scipy.sparse.csr_array(X.astype(dtype)), X[:, :1]).sample(1000, np.random.default_rng(0))
    objective = Objective(SquaredError(), Identity(1.0), 1e-3)
    diagonal = sample.gauss_newton(objective, 0, np.zeros(22), 1)
    assert (diagonal > 0).all()


@WEIGHTED
@ALL_LOSSES
@pytest.mark.usefixtures("small_blocks")
def test_mean_loss_is_the_weighted_mean_at_a_shifted_score(loss, weighted):
    X, targets = draw(n_outputs=2)
    weight = random_weight(len(targets)) if weighted else None
    rows = rows_of(X, targets, weight, residual=False, score=np.linspace(-1, 1, 600).reshape(300, 2))
    before = rows.F.copy()
    for output in range(2):
        expected = np.average(loss.value(targets[:, output], rows.F[output] + 0.3), weights=weight)
        assert rows.mean_loss(loss, output, 0.3) == pytest.approx(expected, rel=1e-13)
    np.testing.assert_array_equal(rows.F, before)


def two_outputs(rows):
    """Return an ensemble of two stages of two outputs each, in the units of rows."""
    ensemble = Ensemble.empty(rows.blocks.n_columns, 2, "softplus", rows.units.center)
    for j, theta in enumerate(candidates(rows.blocks.n_columns, 4)):
        ensemble = ensemble.append(theta, (-1) ** j, 5.0, j % 2, rows.units)
    return ensemble


@DTYPES
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.usefixtures("small_blocks")
def test_advance_adds_the_embedding_in_standard_units(dtype, kind):
    X, targets = draw(kind=kind, dtype=dtype, n_outputs=2)
    rows = rows_of(X, 100 * targets + [7.0, -5.0])
    ensemble = two_outputs(rows)
    for j in range(4):
        rows.add_last_learners(ensemble[: j + 1])
    score = ensemble.score(X)
    expected = ((score - rows.units.target_mean) / rows.units.target_scale).T
    np.testing.assert_allclose(
        rows.F, expected, rtol=1e-12 if dtype == np.float64 else 1e-5, atol=1e-5 * (dtype == np.float32)
    )


def test_advance_gives_the_very_score_that_the_pass_foresaw():
    X, targets = draw()
    rows, objective = rows_of(X, targets), Objective(SquaredError(), Softplus(5.0), 0.0)
    theta = candidates(4)[0]
    value = rows.value_and_gradient(objective, 0, theta[None], np.array([-1.0]))[0][0]
    rows.add_last_learners(
        Ensemble.empty(4, 1, "softplus", rows.units.center).append(theta, -1, 5.0, 0, rows.units)
    )
    assert rows.mean_loss(SquaredError(), 0) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_sample_holds_distinct_rows_of_positive_weight(kind):
    X, targets = draw(kind=kind)
    weight = random_weight(300)
    sample = rows_of(X, targets, weight).sample(100, np.random.default_rng(0))
    assert (sample.n_rows, sample.complete) == (100, False)
    assert (sample.weight > 0).all()
    assert len(set(sample.weight)) == 100  # as distinct as the weights of the rows are
    assert sample.weight_sum == pytest.approx(sample.weight.sum())


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@WEIGHTED
def test_sample_of_a_small_set_is_the_whole_set(kind, weighted):
    X, targets = draw(kind=kind)
    weight = random_weight(300) if weighted else None
    rows = rows_of(X, targets, weight)
    sample = rows.sample(300, np.random.default_rng(0))
    kept = slice(None) if weight is None else weight > 0
    assert sample.complete
    np.testing.assert_array_equal(sample.y, rows.y[:, kept])
    np.testing.assert_allclose(standardised(sample), standardised(rows)[kept], rtol=1e-14, atol=1e-14)
    objective, thetas = Objective(SquaredError(), Softplus(5.0), 0.02), candidates(4)
    found = (each.value_and_gradient(objective, 0, thetas, SIGNS) for each in (rows, sample))
    assert_same(*found, 1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_scores_of_a_sample_follow_those_of_its_rows(kind):
    X, targets = draw(kind=kind, n_outputs=2)
    rows = rows_of(X, targets, np.arange(1.0, 301.0))
    sample = rows.sample(50, np.random.default_rng(0))
    which = sample.weight.astype(int) - 1
    ensemble = two_outputs(rows)
    for j in range(4):
        rows.add_last_learners(ensemble[: j + 1])
        np.testing.assert_array_equal(sample.F, rows.F[:, which])
    assert (sample.F != 0).all()


def test_sample_is_random_and_decided_by_the_generator():
    X, targets = draw()
    first, again, other = (
        rows_of(X, targets).sample(50, np.random.default_rng(seed)).blocks.X for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_mean_absolute_attribution_is_that_of_the_ensemble():
    X, targets = draw(n_outputs=2)
    weight = random_weight(300)
    rows = rows_of(X, 100 * targets, weight)
    ensemble = two_outputs(rows)
    mean = X.mean(axis=0)
    size = np.abs(ensemble.integrated_gradient(X, mean[None]))
    expected = np.average(size, axis=0, weights=weight)
    plain = Inputs.plain(X.shape[1])
    found = rows.mean_absolute_attribution(ensemble, mean, 1000, plain)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    few = np.average(size[::3], axis=0, weights=weight[::3])
    found = rows.mean_absolute_attribution(ensemble, mean, 100, plain)
    np.testing.assert_allclose(found, few, rtol=1e-12)


@WEIGHTED
def test_standard_units_have_mean_zero_and_spread_one(weighted):
    X, targets = draw(n_outputs=2)
    weight = random_weight(300) if weighted else None
    rows = rows_of(X, 40 * targets + 17, weight, score=np.linspace(-50, 50, 600).reshape(300, 2))
    for numbers in (rows.y.T, standardised(rows)[:, :3]):
        mean = np.average(numbers, axis=0, weights=weight)
        np.testing.assert_allclose(mean, 0, atol=1e-12)
        np.testing.assert_allclose(np.average((numbers - mean) ** 2, axis=0, weights=weight), 1, rtol=1e-12)
    assert (rows.F == 0).all()
    assert (standardised(rows)[:, 3] == 0).all()


def test_without_standardising_units_stay_the_users():
    X, targets = draw()
    rows = rows_of(X, 40 * targets + 17, standardize=False)
    np.testing.assert_array_equal(rows.units.inverse_scale, [1, 1, 1, 0])
    np.testing.assert_array_equal(rows.units.target_scale, 1)
    np.testing.assert_array_equal(standardised(rows)[:, :3], X[:, :3])
    assert rows.y.mean() == pytest.approx(0, abs=1e-12)


def test_label_losses_start_from_the_score_and_keep_their_labels():
    X, targets = draw(dtype=np.float32)
    rows = rows_of(X, targets, residual=False, score=0.5 * targets)
    np.testing.assert_array_equal(rows.y, targets.T)
    np.testing.assert_array_equal(rows.F, 0.5 * targets.T)
    assert rows.y.dtype == rows.F.dtype == np.float32


def test_more_rows_share_the_units_of_the_first():
    X, targets = draw(n_outputs=2)
    rows = rows_of(X[:200], 40 * targets[:200] + 17)
    more = MemoryTable(X[200:], 40 * targets[200:] + 17, 3.0).in_units(rows.units, rows.team, residual=True)
    assert more.units is rows.units
    expected = (40 * targets[200:] + 14 - rows.units.target_mean) / rows.units.target_scale
    np.testing.assert_allclose(more.y, expected.T, rtol=1e-14)


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (1000, 3), (999, 40), (5000, 2)])
@pytest.mark.parametrize("multiple", [1, 4])
@pytest.mark.usefixtures("small_blocks")
def test_blocks_cover_every_row_once(shape, multiple, monkeypatch):
    monkeypatch.setattr(blocks, "WORTH_THREADS", 0 if multiple > 1 else 10**9)
    layout = blocks.DenseBlocks(np.zeros(shape))
    bounds = [layout.bounds(block) for block in range(layout.n_blocks)]
    assert [i for i, _ in bounds] == [0, *(j for _, j in bounds[:-1])]
    assert bounds[-1][1] == shape[0]
    assert all(i < j <= i + 32 for i, j in bounds)


@pytest.mark.parametrize("n_jobs", [1, 2, None])
@pytest.mark.parametrize("n", [1, 5, 700])
def test_map_rows_equals_the_function_of_the_whole(n, n_jobs, monkeypatch):
    monkeypatch.setattr("gbmap._rows.mapping._CHUNK_NUMBERS", 64)
    X, _ = draw(n=n)
    found = map_rows(lambda x: x[:, :2] ** 2, X, 2, np.float64, n_jobs)
    np.testing.assert_array_equal(found, X[:, :2] ** 2)


def test_buffers_are_allocated_once_per_thread(monkeypatch):
    made = []
    monkeypatch.setattr(
        memory, "_Workspace", lambda rows, make=memory._Workspace: made.append(1) or make(rows)
    )
    X, targets = draw()
    rows = rows_of(X, targets)
    assert isinstance(rows, MemoryRows)
    for _ in range(5):
        rows.value_and_gradient(Objective(SquaredError(), Softplus(5.0), 0.02), 0, candidates(4), SIGNS)
    assert len(made) == 1


def bent_rows(X, targets, monkeypatch, **settings):
    """Return rows whose inputs are made as they are read."""
    monkeypatch.setattr(blocks, "_KEPT_BYTES", X.nbytes)
    sample = ColumnSample(X, np.ones(len(X)), np.isnan(X).any(axis=0))
    inputs = plan_inputs(sample, len(X), 5, np.arange(X.shape[1]) == X.shape[1] - 1, None)
    table = MemoryTable(X, targets).with_inputs(inputs)
    return in_standard_units(table, ONE, standardize=True, residual=True, **settings).rows


def draw_to_bend():
    """Return columns with a large mean, with a long tail, with gaps, and with codes that float32 confuses."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 4))
    X[:, 0] += 1e9
    X[:, 1] = np.exp(5 * X[:, 1])
    X[rng.random(len(X)) < 0.1, 2] = np.nan
    X[:, 3] = 2.0**24 + rng.integers(0, 3, len(X))
    return X, rng.standard_normal((len(X), 1))


def test_passes_in_float32_over_rows_of_float64_keep_the_digits_of_columns(monkeypatch):
    X, targets = draw_to_bend()
    wide, narrow = (bent_rows(X, targets, monkeypatch, may_narrow=may) for may in (False, True))
    assert (wide.F.dtype, narrow.F.dtype) == (np.float64, np.float32)
    objective, thetas = Objective(SquaredError(), Softplus(5.0), 0.01), candidates(wide.n_columns)
    for found, expected in zip(
        *(rows.value_and_gradient(objective, 0, thetas, SIGNS) for rows in (narrow, wide))
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    nothing = Ensemble.empty(wide.n_columns, 1, "softplus", wide.units.center)
    for rows in (wide, narrow):
        rows.add_last_learners(nothing.append(thetas[0], -1, 5.0, 0, wide.units))
    np.testing.assert_allclose(narrow.F, wide.F, rtol=1e-5, atol=1e-5)


def test_a_part_follows_the_scores_and_has_the_sums_of_its_rows(monkeypatch):
    X, targets = draw_to_bend()
    rows = bent_rows(X, targets, monkeypatch, may_narrow=True)
    part = rows.part(1_000, np.random.default_rng(0))
    chosen, theta = rows.samples[-1].chosen, candidates(rows.n_columns, 1)
    nothing = Ensemble.empty(rows.n_columns, 1, "softplus", rows.units.center)
    rows.add_last_learners(nothing.append(theta[0], 1, 5.0, 0, rows.units))
    np.testing.assert_array_equal(part.F, rows.F[:, chosen])
    assert not part.complete
    assert part.mean_loss(SquaredError(), 0) == pytest.approx(
        np.mean((rows.y - rows.F)[0, chosen].astype(np.float64) ** 2)
    )
    assert rows.part(10 * len(X), np.random.default_rng(0)) is None  # more than may be copied
