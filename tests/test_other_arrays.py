"""Arrays of other libraries than NumPy: they go in, and come out, and the work is done where they are."""

import array_api_strict
import numpy as np
import pytest
from sklearn import config_context

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core.activation import Identity, Softplus
from gbmap._core.arrays import to_numpy
from gbmap._core.losses import Exponential, Hinge, Huber, LogLoss, Quantile, SquaredError
from gbmap._core.objective import Objective
from gbmap._rows import as_rows, device
from gbmap._rows.device import DeviceRows
from gbmap._rows.threads import ThreadTeam
from gbmap.inspection import attributions

try:
    import torch
except ImportError:
    torch = None

LIBRARIES = [
    pytest.param(array_api_strict.asarray, id="array-api-strict"),
    pytest.param(
        lambda array: torch.asarray(array),
        id="torch",
        marks=pytest.mark.skipif(torch is None, reason="PyTorch is not installed"),
    ),
]
everywhere = pytest.mark.parametrize("convert", LIBRARIES)
N = 12_000  # more than are fitted in memory
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 1e3]
y = np.abs(X[:, 0]) + np.tanh(X[:, 1] / 10) + 0.1 * rng.normal(size=N)
LABELS = np.digitize(y, np.quantile(y, [0.3, 0.6]))


@pytest.fixture(scope="module")
def in_memory():
    return GBMAPRegressor(3, random_state=0).fit(X, y)


@everywhere
@pytest.mark.parametrize("dispatch", [False, True])
def test_a_fit_is_that_of_the_same_numbers_in_memory(convert, dispatch, in_memory, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    rows = convert(X)
    with config_context(array_api_dispatch=dispatch):
        model = GBMAPRegressor(3, random_state=0).fit(rows, convert(y))
        prediction, phi = model.predict(rows), model.transform(rows)
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-4)
    np.testing.assert_allclose(model.feature_importances_, in_memory.feature_importances_, rtol=0.02)
    assert type(prediction) is type(phi) is type(rows)
    np.testing.assert_allclose(to_numpy(prediction), model.predict(X), rtol=1e-9)
    np.testing.assert_allclose(to_numpy(phi), model.transform(X), rtol=1e-9)
    for stage, expected in zip(model.staged_predict(rows), model.staged_predict(X), strict=True):
        np.testing.assert_allclose(to_numpy(stage), expected, rtol=1e-9)


@everywhere
def test_a_sample_may_stay_where_the_rows_are(convert, in_memory, monkeypatch):
    monkeypatch.setattr(device, "_FEW_NUMBERS", 0)
    model = GBMAPRegressor(3, random_state=0).fit(convert(X), convert(y))
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-3)


@everywhere
def test_rows_are_visited_in_parts_if_they_are_many(convert, in_memory, monkeypatch):
    monkeypatch.setattr(device, "_CHUNK_NUMBERS", 5_000 * X.shape[1])
    model = GBMAPRegressor(3, random_state=0).fit(convert(X), convert(y))
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-4)
    assert model.transform(convert(X)).shape == (N, 3)


@everywhere
def test_a_pass_over_wide_rows_takes_them_as_they_are(convert, monkeypatch):
    wide = convert(rng.normal(size=(N, 40)))
    monkeypatch.setattr(device, "_CHUNK_NUMBERS", 10 * N)  # room for some numbers a row, not for a copy of X
    with ThreadTeam(1) as team:
        rows, _, _ = as_rows(wide, convert(y[:, None]), 0.0, None, team, standardize=True, residual=True)
    parts = [part for part, *_ in rows._chunks(0)]
    assert len(parts) == 1
    assert parts[0] is rows.X


@everywhere
def test_few_rows_are_fitted_in_memory_to_the_same_bits(convert):
    model = GBMAPRegressor(2, random_state=0).fit(convert(X[:500]), convert(y[:500]))
    np.testing.assert_array_equal(
        model.ensemble_.weights, GBMAPRegressor(2, random_state=0).fit(X[:500], y[:500]).ensemble_.weights
    )


@everywhere
@pytest.mark.parametrize("labels", [LABELS, (LABELS > 0).astype(np.int64)], ids=["three", "two"])
def test_classes_come_back_as_they_went_in(convert, labels):
    rows = convert(X)
    model = GBMAPClassifier(2, random_state=0).fit(rows, convert(labels))
    assert model.classes_.tolist() == np.unique(labels).tolist()
    predicted = model.predict(rows)
    assert type(predicted) is type(rows)
    np.testing.assert_array_equal(to_numpy(predicted), model.predict(X))
    np.testing.assert_allclose(to_numpy(model.predict_proba(rows)), model.predict_proba(X), rtol=1e-9)
    for method in ("staged_predict_proba", "staged_decision_function"):
        *_, last = getattr(model, method)(rows)
        assert type(last) is type(rows)
        np.testing.assert_array_equal(to_numpy(last), to_numpy(getattr(model, method[7:])(rows)))
    np.testing.assert_allclose(
        model.loss_curve_, GBMAPClassifier(2, random_state=0).fit(X, labels).loss_curve_, rtol=1e-3
    )


@everywhere
def test_only_labels_that_hardly_repeat_raise_a_doubt(convert):
    few = GBMAPClassifier(1, max_iter=5, tol=0.1).fit(convert(X), convert(np.arange(len(X)) % 30))
    assert len(few.classes_) == 30
    with pytest.warns(UserWarning, match="could represent a regression problem"):
        GBMAPClassifier(1, max_iter=5, tol=0.1).fit(convert(X[:60]), convert(np.arange(60) % 40))


@everywhere
def test_names_of_classes_stay_in_memory(convert):
    names = np.array(["low", "middle", "high"])[LABELS]
    model = GBMAPClassifier(1, random_state=0).fit(convert(X), names)
    assert model.predict(convert(X[:50])).tolist() == model.predict(X[:50]).tolist()


@everywhere
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (GBMAPRegressor(2, loss="huber", random_state=0), y),
        (GBMAPRegressor(2, loss="quantile", random_state=0), y),
        (GBMAPRegressor(2, standardize=False, random_state=0), y),
        (GBMAPRegressor(2, activation="identity", random_state=0), y),
        (GBMAPRegressor(2, random_state=0), np.column_stack([y, X[:, 0]])),
        (GBMAPRegressor(6, early_stopping=True, random_state=0), y),
        (GBMAPClassifier(2, loss="exponential", random_state=0), LABELS > 0),
        (GBMAPClassifier(2, loss="hinge", random_state=0), LABELS > 0),
        (GBMAPClassifier(2, class_weight="balanced", random_state=0), LABELS),
    ],
    ids=["huber", "quantile", "raw", "identity", "targets", "stopping", "exponential", "hinge", "weighted"],
)
def test_every_kind_of_fit_reaches_the_loss_that_it_reaches_in_memory(convert, model, target):
    target = target.astype(float) if target.dtype == bool else target
    there = model.fit(convert(X), convert(target)).loss_curve_
    np.testing.assert_allclose(there, model.fit(X, target).loss_curve_, rtol=2e-3)


@everywhere
def test_weights_and_rows_for_validation_may_lie_anywhere(convert):
    weight = rng.uniform(0.5, 2, size=N)
    watched = {"X_val": X[:99], "y_val": y[:99], "sample_weight_val": weight[:99]}
    expected = GBMAPRegressor(2, random_state=0).fit(X, y, weight, **watched)
    for where in (convert, np.asarray):
        model = GBMAPRegressor(2, random_state=0)
        model.fit(convert(X), y, where(weight), **{name: where(each) for name, each in watched.items()})
        np.testing.assert_allclose(model.validation_loss_curve_, expected.validation_loss_curve_, rtol=1e-3)


@everywhere
@pytest.mark.parametrize("sample", ["in memory", "where the rows are"])
@pytest.mark.parametrize("counted", [0.7, 0.004], ids=["many", "fewer than a sample has"])
def test_rows_without_weight_are_no_rows(convert, sample, counted, monkeypatch):
    draw = np.random.default_rng(1)
    weight = draw.uniform(0.5, 2, size=N) * (draw.uniform(size=N) < counted)
    weight[0] = 0.0
    kept = weight > 0
    rows, target = np.where(kept[:, None], X, -1e4).astype(np.float32), np.where(kept, y, -1e6)
    expected = GBMAPRegressor(2, random_state=0).fit(X[kept], y[kept], weight[kept])
    if sample == "where the rows are":
        monkeypatch.setattr(device, "_FEW_NUMBERS", 0)
    model = GBMAPRegressor(2, random_state=0).fit(convert(rows), convert(target), convert(weight))
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=2e-3)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.scale_, expected.scale_, rtol=1e-4)
    if sample == "where the rows are":
        return
    added = np.abs(attributions(model, X[kept], model.mean_).values)
    spread = np.sqrt(np.cov(y[kept], aweights=weight[kept], ddof=0))
    expected = np.average(added, axis=0, weights=weight[kept]) / spread
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-4)


@everywhere
def test_a_class_may_have_no_weight(convert):
    settings = {"n_components": 1, "class_weight": {0: 0, 1: 1, 2: 1}, "random_state": 0}
    model, expected = (GBMAPClassifier(**settings).fit(as_(X), as_(LABELS)) for as_ in (convert, np.asarray))
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-3)


@everywhere
@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_targets_of_any_spread_are_fitted(convert, unit):
    target = (y * unit).astype(np.float32)  # whose squares float32 cannot hold
    model, expected = (
        GBMAPRegressor(2, random_state=0).fit(as_(X), as_(target)) for as_ in (convert, np.asarray)
    )
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-3)
    assert model.loss_curve_[-1] < 0.2 * model.loss_curve_[0]


@everywhere
@pytest.mark.parametrize("unit", [1e-200, 1e140])
def test_a_spread_is_one_where_it_is_one_in_memory(convert, unit):
    if convert(y).dtype == convert(y.astype(np.float32)).dtype:
        pytest.skip("the library computes in float32")
    there, here = (
        GBMAPRegressor(1, random_state=0).fit(as_(X), as_(y * unit)) for as_ in (convert, np.asarray)
    )
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-3, atol=1e-3 * unit)


@everywhere
def test_float32_turns_wide_where_it_cannot_hold_the_numbers(convert):
    rows, target = (X * [1, 1, 1e-37, 1]).astype(np.float32), y * 1e20
    settings = {"n_components": 1, "standardize": False, "l2_regularization": 0.0, "random_state": 0}
    if convert(y).dtype == convert(y.astype(np.float32)).dtype:
        with pytest.raises(ValueError, match="switch on its 64-bit mode"):
            GBMAPRegressor(**settings).fit(convert(rows), convert(target))
        return
    there, here = (GBMAPRegressor(**settings).fit(as_(rows), as_(target)) for as_ in (convert, np.asarray))
    np.testing.assert_allclose(there.loss_curve_, here.loss_curve_, rtol=1e-4)


@everywhere
def test_an_initial_model_starts_from_where_it_is(convert):
    first = GBMAPRegressor(1, random_state=0)
    model = GBMAPRegressor(2, init=first, random_state=0).fit(convert(X), convert(y))
    np.testing.assert_allclose(to_numpy(model.predict(convert(X))), model.predict(X), rtol=1e-9)
    assert model.loss_curve_[-1] < first.fit(X, y).loss_curve_[-1]


@pytest.mark.parametrize("loss", [SquaredError(), Huber(), Quantile(), LogLoss(), Exponential(), Hinge()])
@pytest.mark.parametrize("activation", [Softplus(2.0), Identity(1.0)])
def test_a_pass_gives_the_sums_of_a_pass_in_memory(loss, activation):
    targets = np.where(y > np.median(y), 1.0, -1.0)[:, None]
    weight = rng.uniform(0.5, 2, size=N)
    thetas = rng.normal(size=(2, 6))
    results = []
    with ThreadTeam(1) as team:
        for rows, values in ((X, targets), (array_api_strict.asarray(X), array_api_strict.asarray(targets))):
            made, _, _ = as_rows(rows, values, 0.0, weight, team, standardize=True, residual=loss.degree > 0)
            objective = Objective(loss, activation, 0.1)
            results.append(made.value_and_gradient(objective, 0, thetas, np.array([1.0, -1.0])))
    assert isinstance(made, DeviceRows)
    for there, here in zip(*results):
        np.testing.assert_allclose(there, here, rtol=1e-8, atol=1e-10)


def test_the_matrix_of_a_sample_is_that_of_one_in_memory():
    objective, theta = Objective(LogLoss(), Softplus(2.0), 0.1), rng.normal(size=6)
    targets, found = np.where(y > np.median(y), 1.0, -1.0)[:, None], []
    with ThreadTeam(1) as team:
        for convert in (np.asarray, array_api_strict.asarray):
            rows, _, _ = as_rows(
                convert(X), convert(targets), 0.0, None, team, standardize=True, residual=False
            )
            sample = rows.sample(N, np.random.default_rng(0))
            found.append(sample.gauss_newton(objective, 0, theta, -1))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)


@everywhere
@pytest.mark.parametrize(
    ("rows", "target", "message"),
    [
        (X[:, 0], y, r"X must be a matrix"),
        (X + 0j, y, r"X must hold real numbers"),
        (np.where(X > 3, np.nan, X), y, r"NaN|infinity|finite"),
        (X, np.where(y > 3, np.nan, y), r"y must be finite"),
        (X, y[:-1], rf"y must have as many rows as X, {N}"),
        (X, np.stack([y] * 2)[None], r"y must have one or two dimensions"),
    ],
    ids=["vector", "complex", "nan", "nan target", "lengths", "cube"],
)
def test_what_cannot_be_fitted_is_named(convert, rows, target, message):
    with pytest.raises(ValueError, match=message):
        GBMAPRegressor(1).fit(convert(rows), convert(target))


@everywhere
def test_rows_to_watch_must_be_finite(convert):
    with pytest.raises(ValueError, match=r"X_val, .*: X must be finite"):
        GBMAPRegressor(1).fit(convert(X), convert(y), X_val=convert(np.where(X > 3, np.nan, X)), y_val=y)
    for row in range(30):  # some of which are set aside
        bad = np.where(np.arange(N)[:, None] == row, np.nan, X)
        with pytest.raises(ValueError, match="X must be finite"):
            GBMAPRegressor(1, early_stopping=True, random_state=0).fit(convert(bad), convert(y))


@everywhere
def test_rows_to_predict_must_be_finite_and_of_the_same_width(convert, in_memory):
    with pytest.raises(ValueError, match="X must be finite"):
        in_memory.predict(convert(np.full((2, 4), np.inf)))
    with pytest.raises(ValueError, match="3 features, but GBMAPRegressor is expecting 4"):
        in_memory.transform(convert(X[:, :3]))


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("swapped", [False, True])
def test_targets_may_be_of_another_library(swapped, in_memory):
    of_X, of_y = (torch.asarray, array_api_strict.asarray)[:: -1 if swapped else 1]
    model = GBMAPRegressor(3, random_state=0).fit(of_X(X), of_y(y))
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-4)


class OnCuda:
    """An array that says to be on a CUDA device, in one part or in several."""

    def __init__(self, *, parts):
        self.parts = parts

    def __dlpack_device__(self):
        if self.parts > 1:
            raise BufferError("in several parts")
        return 2, 0


@pytest.mark.skipif(torch is not None and torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize(("parts", "other"), [(1, 1), (2, 1), (1, 2)])
def test_what_pytorch_cannot_read_is_not_lent(parts, other):
    arrays = OnCuda(parts=parts), OnCuda(parts=other)
    assert device.lent(*arrays, Objective(LogLoss(), Softplus(1.0), 0.0)) == arrays


@pytest.mark.skipif(torch is None or not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("loss", [LogLoss(), SquaredError()], ids=["log", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_candidates", [1, 2, 3])
def test_the_kernel_gives_the_sums_of_a_pass_in_memory(loss, weighted, n_candidates):
    target = np.sign(y - np.median(y)) if isinstance(loss, LogLoss) else y
    weight = rng.uniform(size=N) if weighted else None
    objective = Objective(loss, Softplus(2.0), 1e-3)
    near = X[:, :3]  # what lies far from zero is centred first, and then not the kernel's
    thetas, signs = rng.normal(size=(n_candidates, 5)), rng.choice([-1.0, 1.0], size=n_candidates)
    settings = {"standardize": True, "residual": isinstance(loss, SquaredError)}
    there = [torch.asarray(each, device="cuda") for each in (near.astype(np.float32), target[:, None])]
    with ThreadTeam(1) as team:
        here, _, _ = as_rows(near, target[:, None], 0.0, weight, team, **settings)
        rows, _, _ = as_rows(*device.lent(*there, objective), 0.0, weight, team, **settings)
        assert rows._fused_for(objective) is not None
        for call in range(5):  # the later ones replay a graph
            if call == 4:
                here.F[0] += 0.5
                rows.F[0] = rows.F[0] + 0.5
            values, gradients = rows.value_and_gradient(objective, 0, thetas, signs)
            expected, slopes = here.value_and_gradient(objective, 0, thetas, signs)
            np.testing.assert_allclose(values, expected, rtol=1e-4)
            np.testing.assert_allclose(gradients, slopes, rtol=1e-3, atol=1e-3 * np.abs(slopes).max())


@pytest.mark.parametrize("dispatch", [False, True])
@pytest.mark.parametrize("library", ["cupy", "jax"])
def test_arrays_on_a_device_come_back_as_they_went_in(library, dispatch, in_memory, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    xp = pytest.importorskip("cupy" if library == "cupy" else "jax.numpy", exc_type=ImportError)
    rows, target = xp.asarray(X, dtype=xp.float32), xp.asarray(y, dtype=xp.float32)
    with config_context(array_api_dispatch=dispatch):
        model = GBMAPRegressor(3, random_state=0).fit(rows, target)
        prediction, phi = model.predict(rows), model.transform(rows)
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-2)
    assert type(prediction) is type(phi) is type(rows)
    np.testing.assert_allclose(to_numpy(prediction), model.predict(X), atol=1e-2)
