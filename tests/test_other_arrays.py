"""Arrays of other libraries than NumPy: they go in, and come out, and the work is done where they are.

What is not installed is skipped. PyTorch has an environment of its own (`make test-torch`), and its tests run
on a CUDA device too where there is one.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor, GBMAPRegressorCV, embedding_distances
from gbmap._core.activation import Identity, Softplus
from gbmap._core.arrays import asarray_like, to_numpy, wide
from gbmap._core.ensemble import Ensemble
from gbmap._core.losses import Exponential, Hinge, Huber, LogLoss, Quantile, SquaredError
from gbmap._core.objective import Objective
from gbmap._rows import device
from gbmap._rows.device import DeviceRows
from gbmap._rows.standard import DeviceTable, MemoryTable, in_standard_units
from gbmap._rows.threads import ThreadTeam
from gbmap.inspection import attributions, explain, model_difference, nearest_counterfactual, regions
from gbmap.losses import Loss


def imported(name):
    """Return a library, or None if it is not there."""
    try:
        return pytest.importorskip(name, exc_type=ImportError)
    except pytest.skip.Exception:
        return None


strict, jax, torch = imported("array_api_strict"), imported("jax"), imported("torch")
if imported("array_api_compat") is None:
    torch = None
has_cuda = torch is not None and torch.cuda.is_available()
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
needs_cuda = pytest.mark.skipif(not has_cuda, reason="there is no CUDA device")
needs_jax = pytest.mark.skipif(jax is None, reason="JAX is not installed")
needs_strict = pytest.mark.skipif(strict is None, reason="array-api-strict is not installed")


@dataclass(frozen=True)
class Library:
    """How arrays of a library are made, and how many digits its results have."""

    asarray: object
    single: bool = False  # floats are float32

    @property
    def rtol(self):
        return 2e-5 if self.single else 1e-9

    @property
    def loss_rtol(self):
        return 2e-3 if self.single else 1e-4

    def __call__(self, array):
        array = np.asarray(array)
        return self.asarray(array.astype(np.float32) if self.single and array.dtype.kind == "f" else array)


def on_device(array):
    """Return an array where NumPy cannot reach it, as on an accelerator."""
    return strict.asarray(array, device=strict.Device("device1"))


def on_cuda(array):
    return torch.asarray(array, device="cuda")


LIBRARIES = [
    pytest.param(Library(on_device), id="array-api-strict", marks=needs_strict),
    pytest.param(Library(lambda array: jax.numpy.asarray(array), single=True), id="jax", marks=needs_jax),
    pytest.param(Library(lambda array: torch.asarray(array)), id="torch", marks=needs_torch),
    pytest.param(Library(on_cuda), id="cuda", marks=needs_cuda),
    pytest.param(Library(on_cuda, single=True), id="cuda float32", marks=needs_cuda),  # the kernel's
]
everywhere = pytest.mark.parametrize("convert", LIBRARIES)


def at_night(library):
    return pytest.param(*library.values, id=library.id, marks=[*library.marks, pytest.mark.nightly])


# JAX compiles every operation for every shape. It waits where nothing is done for it alone.
with_jax_at_night = pytest.mark.parametrize(
    "convert", [at_night(library) if library.id == "jax" else library for library in LIBRARIES]
)
N = 23_000  # more than are fitted in memory
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 100]
y = np.abs(X[:, 0]) + np.tanh(X[:, 1] / 10) + 0.1 * rng.normal(size=N)
LABELS = np.digitize(y, np.quantile(y, [0.3, 0.6]))
WEIGHT = rng.uniform(0.5, 2, size=N)


# Fits of every kind: a model and its target. Some bend.
FITS = {
    "3 classes": (GBMAPClassifier(2, knots=0, random_state=0), LABELS),
    "2 classes": (GBMAPClassifier(2, knots=0, random_state=0), LABELS > 0),
    "huber": (GBMAPRegressor(2, loss="huber", knots=0, random_state=0), y),
    "quantile": (GBMAPRegressor(2, loss="quantile", knots=0, random_state=0), y),
    "raw": (GBMAPRegressor(2, standardize=False, random_state=0), y),
    "identity": (GBMAPRegressor(2, activation="identity", knots=0, random_state=0), y),
    "targets": (GBMAPRegressor(2, knots=0, random_state=0), np.column_stack([y, X[:, 0]])),
    "stopping": (GBMAPRegressor(6, knots=0, early_stopping=True, random_state=0), y),
    "monotone": (GBMAPRegressor(2, monotonic_cst=[1, 0, 0, -1], random_state=0), y),
    "exponential": (GBMAPClassifier(2, loss="exponential", knots=0, random_state=0), LABELS > 0),
    "hinge": (GBMAPClassifier(2, loss="hinge", knots=0, random_state=0), LABELS > 0),
    "weighted": (GBMAPClassifier(2, class_weight="balanced", knots=0, random_state=0), LABELS),
    "no weight": (GBMAPClassifier(1, class_weight={0: 0, 1: 1, 2: 1}, knots=0, random_state=0), LABELS),
    "refined": (GBMAPRegressor(2, refine=100, random_state=0), y),
}


def ends(curve):
    """Refined learners may have other constants between them, and so other losses on the way."""
    return curve[[0, -1]]


@cache
def losses_in_memory(kind):
    model, target = FITS[kind]
    return clone(model).fit(X, target).loss_curve_


# Last digits, which differ from library to library, do not matter to a fit in the paper's form.
plain_regressor = partial(GBMAPRegressor, knots=0, refine=False, random_state=0)


@pytest.fixture(scope="module")
def in_memory():
    return plain_regressor(3).fit(X, y)


@everywhere
@pytest.mark.parametrize("dispatch", [False, True])
def test_a_fit_is_that_of_the_same_numbers_in_memory(convert, dispatch, in_memory, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    rows = convert(X)
    with config_context(array_api_dispatch=dispatch):
        model = plain_regressor(3).fit(rows, convert(y))
        prediction, phi = model.predict(rows), model.transform(rows)
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=convert.loss_rtol)
    np.testing.assert_allclose(model.feature_importances_, in_memory.feature_importances_, rtol=0.02)
    assert type(prediction) is type(phi) is type(rows)
    assert prediction.device == phi.device == rows.device
    close = partial(np.testing.assert_allclose, rtol=convert.rtol, atol=convert.rtol)
    close(to_numpy(prediction), model.predict(X))
    close(to_numpy(phi), model.transform(X))
    for stage, expected in zip(model.staged_predict(rows), model.staged_predict(X), strict=True):
        close(to_numpy(stage), expected)


@with_jax_at_night
def test_a_sample_may_stay_where_the_rows_are(convert, in_memory, monkeypatch):
    monkeypatch.setattr(device, "_FEW_NUMBERS", 0)
    model = plain_regressor(3).fit(convert(X), convert(y))
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-3)


@with_jax_at_night
def test_rows_are_visited_in_parts_if_they_are_many(convert, in_memory, monkeypatch):
    monkeypatch.setattr(device, "_CHUNK_NUMBERS", 5_000 * X.shape[1])
    model = plain_regressor(3).fit(convert(X), convert(y))
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=convert.loss_rtol)
    assert model.transform(convert(X)).shape == (N, 3)


def rows_of(X, targets, weight, team, residual):
    """Return rows in standard units, in memory or where they are."""
    if isinstance(X, np.ndarray):
        table = MemoryTable(X, targets, 0.0, weight)
    else:
        table = DeviceTable(X, targets, 0.0, None if weight is None else asarray_like(weight, X))
    return in_standard_units(table, team, standardize=True, residual=residual).rows


@everywhere
@pytest.mark.parametrize("sign", [None, 1, -1], ids=["held", "rising", "falling"])
def test_curvature_is_the_same_where_the_rows_are(convert, sign, monkeypatch):
    monkeypatch.setattr(device, "_FEW_NUMBERS", 0)
    theta = np.random.default_rng(2).normal(size=X.shape[1] + 2)
    objective, found = Objective(LogLoss(), Softplus(2.0), 0.0), []
    for of in (np.asarray, convert):
        with ThreadTeam(1) as team:
            rows = rows_of(of(X[:500]), of(LABELS[:500, None]), None, team, residual=False)
            sample = rows.sample(500, np.random.default_rng(0))
            found.append(sample.curvature(objective, 0, theta, 500, sign).matrix())
            held = sample.curvature(objective, 0, theta, 500).matrix()
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3, atol=1e-4)
    if sign is not None:  # of the scores with the learner, which are no longer zero
        assert np.linalg.norm(found[1]) < 0.95 * np.linalg.norm(held)


@with_jax_at_night
def test_a_pass_over_wide_rows_takes_them_as_they_are(convert, monkeypatch):
    broad = convert(np.random.default_rng(1).normal(size=(N, 40)))
    monkeypatch.setattr(device, "_CHUNK_NUMBERS", 10 * N)  # room for some numbers a row, not for a copy of X
    with ThreadTeam(1) as team:
        rows = rows_of(broad, convert(y[:, None]), None, team, residual=True)
    parts = [part for part, *_ in rows._chunks(0)]
    assert len(parts) == 1
    assert parts[0] is rows.X


@everywhere
def test_few_rows_are_fitted_in_memory_to_the_same_bits(convert):
    model = GBMAPRegressor(2, random_state=0).fit(convert(X[:500]), convert(y[:500]))
    here = [to_numpy(convert(each[:500])) for each in (X, y)]
    expected = GBMAPRegressor(2, random_state=0).fit(*here)
    np.testing.assert_array_equal(model.ensemble_.weights, expected.ensemble_.weights)


@with_jax_at_night
@pytest.mark.parametrize("labels", [LABELS > 0, LABELS], ids=["two", "three"])
def test_classes_come_back_as_they_went_in(convert, labels):
    rows = convert(X)
    model = GBMAPClassifier(2, knots=0, random_state=0).fit(rows, convert(labels))
    assert model.classes_.tolist() == np.unique(labels).tolist()
    predicted = model.predict(rows)
    assert type(predicted) is type(rows)
    same = to_numpy(predicted) == model.predict(X)
    assert same.mean() > (0.999 if convert.single else 1 - 1e-9)
    close = partial(np.testing.assert_allclose, atol=convert.rtol)
    close(to_numpy(model.predict_proba(rows)), model.predict_proba(X))
    close(to_numpy(model.decision_function(rows)), model.decision_function(X), rtol=convert.rtol)
    for method in ("staged_predict_proba", "staged_decision_function"):
        *_, last = getattr(model, method)(rows)
        assert type(last) is type(rows)
        close(to_numpy(last), to_numpy(getattr(model, method[7:])(rows)), rtol=convert.rtol)
    assert model.score(rows, convert(labels)) == pytest.approx(model.score(X, labels), abs=1e-3)
    expected = losses_in_memory(f"{len(model.classes_)} classes")
    np.testing.assert_allclose(ends(model.loss_curve_), ends(expected), rtol=1e-3)


@with_jax_at_night
def test_only_labels_that_hardly_repeat_raise_a_doubt(convert):
    few = GBMAPClassifier(1, knots=0, max_iter=5, tol=0.1).fit(convert(X), convert(np.arange(len(X)) % 30))
    assert len(few.classes_) == 30
    with pytest.warns(UserWarning, match="could represent a regression problem"):
        GBMAPClassifier(1, knots=0, max_iter=5, tol=0.1).fit(convert(X[:60]), convert(np.arange(60) % 40))


@with_jax_at_night
def test_names_of_classes_stay_in_memory(convert):
    names = np.array(["low", "middle", "high"])[LABELS]
    model = GBMAPClassifier(1, random_state=0).fit(convert(X), names)
    assert model.predict(convert(X[:50])).tolist() == model.predict(X[:50]).tolist()


# A pass shows as much of a loss, and the rest is the same for every library.
KINDS = [
    pytest.param(
        *library.values,
        kind,
        id=f"{kind}-{library.id}",
        marks=[*library.marks, *([pytest.mark.nightly] if library.id == "jax" else [])],
    )
    for library in LIBRARIES
    for kind in FITS
    if "classes" not in kind
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("convert", "kind"), KINDS)
def test_every_kind_of_fit_reaches_the_loss_that_it_reaches_in_memory(convert, kind):
    model, target = FITS[kind]
    there = clone(model).fit(convert(X), convert(target)).loss_curve_
    np.testing.assert_allclose(ends(there), ends(losses_in_memory(kind)), rtol=2e-3)


@with_jax_at_night
def test_weights_and_rows_for_validation_may_lie_anywhere(convert):
    weight = WEIGHT
    watched = {"X_val": X[:99], "y_val": y[:99], "sample_weight_val": weight[:99]}
    expected = plain_regressor(2).fit(X, y, weight, **watched)
    for where in (convert, np.asarray):
        model = plain_regressor(2)
        model.fit(convert(X), y, where(weight), **{name: where(each) for name, each in watched.items()})
        found = ends(model.validation_loss_curve_)
        np.testing.assert_allclose(found, ends(expected.validation_loss_curve_), rtol=1e-3)


@with_jax_at_night
@pytest.mark.parametrize("sample", ["in memory", "where the rows are"])
@pytest.mark.parametrize("counted", [0.4, 0.004], ids=["many", "fewer than a sample has"])
def test_rows_without_weight_are_no_rows(convert, sample, counted, monkeypatch):
    weight = WEIGHT * (np.random.default_rng(1).uniform(size=N) < counted)
    weight[0] = 0.0
    kept = weight > 0
    rows, target = np.where(kept[:, None], X, -1e4).astype(np.float32), np.where(kept, y, -1e6)
    expected = plain_regressor(2).fit(X[kept], y[kept], weight[kept])
    if sample == "where the rows are":
        monkeypatch.setattr(device, "_FEW_NUMBERS", 0)
    model = plain_regressor(2).fit(convert(rows), convert(target), convert(weight))
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-2 if convert.single else 2e-3)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(model.scale_, expected.scale_, rtol=1e-4)
    if sample == "where the rows are":
        return
    added = np.abs(attributions(model, X[kept], model.mean_).values)
    spread = np.sqrt(np.cov(y[kept], aweights=weight[kept], ddof=0))
    expected = np.average(added, axis=0, weights=weight[kept]) / spread
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-4)


@with_jax_at_night
def test_knots_lie_amid_the_rows_that_have_weight(convert):
    weight = WEIGHT * (np.random.default_rng(1).uniform(size=N) < 0.004)
    kept = weight > 0
    expected = GBMAPRegressor(1, random_state=0).fit(X[kept], y[kept], weight[kept])
    model = GBMAPRegressor(1, random_state=0).fit(convert(X), convert(y), convert(weight))
    for found, knots in zip(model.knots_, expected.knots_, strict=True):
        np.testing.assert_allclose(found, knots, rtol=1e-6)


@everywhere
@pytest.mark.parametrize("unit", [1e-200, 1e-25, 1e25, 1e140])
def test_targets_of_any_spread_are_fitted(convert, unit):
    if convert.single and not 1e-30 < unit < 1e30:
        pytest.skip("float32 cannot hold them")
    model = plain_regressor(2).fit(convert(X), convert(y * unit))
    expected = plain_regressor(2).fit(X, y * unit)
    np.testing.assert_allclose(model._target_deviation, expected._target_deviation, rtol=1e-5)
    found, here = (np.mean((each.predict(X) / unit - y) ** 2) for each in (model, expected))
    np.testing.assert_allclose(found, here, rtol=2e-2)


@everywhere
def test_float32_turns_wide_where_it_cannot_hold_the_numbers(convert):
    rows, target = convert((X * [1, 1, 1e-37, 1]).astype(np.float32)), convert(y * 1e20)
    settings = {"n_components": 1, "standardize": False, "l2_regularization": 0.0, "random_state": 0}
    if wide(rows) == rows.dtype and not has_cuda:  # where they are lent to PyTorch, which has float64
        with pytest.raises(ValueError, match="switch on its 64-bit mode"):
            GBMAPRegressor(**settings).fit(rows, target)
        return
    here = GBMAPRegressor(**settings).fit(to_numpy(rows), to_numpy(target))
    there = GBMAPRegressor(**settings).fit(rows, target)
    np.testing.assert_allclose(there.loss_curve_, here.loss_curve_, rtol=1e-4)


@with_jax_at_night
def test_columns_far_from_zero_keep_their_digits(convert):
    far = (X + np.array([0, 1e4, 0, 1e4])).astype(np.float32)
    there, here = (plain_regressor(2).fit(as_(far), as_(y)) for as_ in (convert, np.asarray))
    assert there.ensemble_.center.any()
    np.testing.assert_allclose(ends(there.loss_curve_), ends(here.loss_curve_), rtol=2e-3)


@with_jax_at_night
def test_an_initial_model_starts_from_where_it_is(convert):
    first = GBMAPRegressor(1, random_state=0)
    model = GBMAPRegressor(2, init=first, random_state=0).fit(convert(X), convert(y))
    here, there = model.predict(X), to_numpy(model.predict(convert(X)))
    np.testing.assert_allclose(there, here, rtol=convert.rtol, atol=convert.rtol)
    assert model.loss_curve_[-1] < first.fit(X, y).loss_curve_[-1]


@pytest.mark.parametrize("loss", [SquaredError(), Huber(), Quantile(), LogLoss(), Exponential(), Hinge()])
@pytest.mark.parametrize(
    ("convert", "activation"),
    [
        *(
            pytest.param(*each.values, Softplus(2.0), id=f"{each.id}-softplus", marks=each.marks)
            for each in LIBRARIES
        ),
        *(
            pytest.param(*each.values, Identity(1.0), id=f"{each.id}-identity", marks=each.marks)
            for each in (at_night(library) if library.id == "jax" else library for library in LIBRARIES)
        ),
    ],
)
def test_a_pass_gives_the_sums_of_a_pass_in_memory(convert, loss, activation):
    targets = np.where(y > np.median(y), 1.0, -1.0)[:, None]
    thetas = np.random.default_rng(1).normal(size=(2, 6))
    results = []
    with ThreadTeam(1) as team:
        for rows, values in ((X, targets), (convert(X), convert(targets))):
            made = rows_of(rows, values, WEIGHT, team, residual=loss.degree > 0)
            objective = Objective(loss, activation, 0.1)
            results.append(made.value_and_gradient(objective, 0, thetas, np.array([1.0, -1.0])))
    assert isinstance(made, DeviceRows)
    for there, here in zip(*results):
        tolerance = 1e-3 if convert.single else 1e-8
        np.testing.assert_allclose(there, here, rtol=tolerance, atol=tolerance * np.abs(here).max())


@with_jax_at_night
def test_the_matrix_of_a_sample_is_that_of_one_in_memory(convert):
    objective, theta = Objective(LogLoss(), Softplus(2.0), 0.1), np.random.default_rng(1).normal(size=6)
    few, found = 2_000, []  # of more, that in memory takes a part
    targets = np.where(y[:few] > np.median(y), 1.0, -1.0)[:, None]
    with ThreadTeam(1) as team:
        for as_ in (np.asarray, convert):
            rows = rows_of(as_(X[:few]), as_(targets), None, team, residual=False)
            sample = rows.sample(few, np.random.default_rng(0))
            found.append(sample.gauss_newton(objective, 0, theta, -1))
    tolerance = 1e-4 if convert.single else 1e-8
    np.testing.assert_allclose(found[1], found[0], rtol=tolerance, atol=tolerance)


@everywhere
def test_rows_that_are_looked_at_once_follow_no_scores(convert):
    objective = Objective(SquaredError(), Softplus(2.0), 0.1)
    with ThreadTeam(1) as team:
        rows = rows_of(convert(X), convert(y[:, None]), None, team, residual=True)
        few = rows.activations(objective, 0, np.ones(6), 100)
    assert len(few.y) == 100
    assert not rows.samples  # else each learner would be added to them too


@with_jax_at_night
@pytest.mark.parametrize("few", [1 << 20, 0], ids=["in memory", "where the rows are"])
def test_scores_that_go_back_go_back_in_samples_too(convert, few, monkeypatch):
    monkeypatch.setattr(device, "_FEW_NUMBERS", few)
    targets = np.column_stack([y, X[:, 0]])
    with ThreadTeam(1) as team:
        rows = rows_of(convert(X), convert(targets), WEIGHT, team, residual=True)
        sample = rows.sample(5_000, np.random.default_rng(0))
        before = [[rows.remember(k) for k in range(2)], [to_numpy(F).copy() for F in sample.F]]
        ensemble = Ensemble.empty(4, 2, "softplus", rows.units.center)
        for k in range(2):
            ensemble = ensemble.append(np.ones(6), 1, 2.0, k, rows.units)
            rows.add_last_learners(ensemble)
            assert np.abs(to_numpy(sample.F[k]) - before[1][k]).min() > 0
        rows.restore(1, before[0][1])
        np.testing.assert_array_equal(to_numpy(sample.F[1]), before[1][1])
        assert np.abs(to_numpy(sample.F[0]) - before[1][0]).min() > 0
        rows.restore(0, before[0][0])
    np.testing.assert_array_equal(to_numpy(sample.F[0]), before[1][0])


@with_jax_at_night
@pytest.mark.parametrize(
    ("rows", "target", "message"),
    [
        (X[:, 0], y, r"X must be a matrix"),
        (X + 0j, y, r"X must hold real numbers"),
        (np.where(X > 3, np.inf, X), y, r"infinity|finite"),
        (X, np.where(y > 3, np.nan, y), r"y must be finite"),
        (X, y[:-1], rf"y must have as many rows as X, {N}"),
        (X, np.stack([y] * 2)[None], r"y must have one or two dimensions"),
    ],
    ids=["vector", "complex", "infinite", "nan target", "lengths", "cube"],
)
def test_what_cannot_be_fitted_is_named(convert, rows, target, message):
    with pytest.raises(ValueError, match=message):
        GBMAPRegressor(1).fit(convert(rows), convert(target))


@everywhere
def test_rows_to_watch_must_be_finite(convert):
    with pytest.raises(ValueError, match=r"X_val, .*: X must be finite"):
        GBMAPRegressor(1).fit(convert(X), convert(y), X_val=convert(np.where(X > 3, np.inf, X)), y_val=y)
    for row in range(30):  # some of which are set aside
        bad = np.where(np.arange(N)[:, None] == row, np.inf, X)
        with pytest.raises(ValueError, match="X must be finite"):
            GBMAPRegressor(1, early_stopping=True, random_state=0).fit(convert(bad), convert(y))


@everywhere
def test_rows_to_predict_must_be_finite_and_of_the_same_width(convert, in_memory):
    with pytest.raises(ValueError, match="X must be finite"):
        in_memory.predict(convert(np.full((2, 4), np.inf)))
    with pytest.raises(ValueError, match="3 features, but GBMAPRegressor is expecting 4"):
        in_memory.transform(convert(X[:, :3]))


@needs_strict
@pytest.mark.parametrize("swapped", [False, True])
@with_jax_at_night
def test_targets_may_be_of_another_library_or_device(convert, swapped, in_memory):
    of_X, of_y = (convert, strict.asarray)[:: -1 if swapped else 1]
    watched = {"X_val": of_y(X[:99]), "y_val": of_y(y[:99])}
    model = plain_regressor(3).fit(of_X(X), of_y(y), **watched)
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=convert.loss_rtol)
    labels = GBMAPClassifier(2, knots=0, random_state=0).fit(of_X(X), of_y(LABELS))
    np.testing.assert_allclose(labels.loss_curve_, losses_in_memory("3 classes"), rtol=1e-3)


class Table(Loss):
    """Squared error, given as the coefficients of a polynomial of the residual in an array."""

    degree = 2

    def __init__(self, of_squares):
        self.coefficients = np.array([0.0, 0.0, of_squares])

    def value(self, y, f):
        return float(self.coefficients[2]) * (y - f) ** 2

    def gradient(self, y, f):
        return 2 * float(self.coefficients[2]) * (f - y)


@with_jax_at_night
def test_a_loss_of_ones_own_may_hold_anything_and_change(convert):
    loss, in_memory = Table(1.0), plain_regressor(2, loss=Table(1.0), refine=False).fit(X, y)
    model = plain_regressor(2, loss=loss, refine=False).fit(convert(X), convert(y))
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=convert.loss_rtol)
    loss.coefficients[2] = 2.0
    again = clone(model).set_params(loss=loss, n_components=1).fit(convert(X), convert(y))
    np.testing.assert_allclose(again.loss_curve_, 2 * in_memory.loss_curve_[:2], rtol=0.02)


@with_jax_at_night
def test_a_fit_goes_on_by_warm_start_and_from_a_checkpoint(convert, tmp_path):
    rows, target = convert(X), convert(y)
    expected = plain_regressor(2).fit(rows, target, WEIGHT).ensemble_
    warm = plain_regressor(1, warm_start=True).fit(rows, target, WEIGHT)
    warm.set_params(n_components=2).fit(rows, target, WEIGHT)
    for n_components in (1, 2):
        stored = plain_regressor(n_components)
        stored.fit(rows, target, WEIGHT, checkpoint=tmp_path / "fit")
    for model in (warm, stored):
        np.testing.assert_allclose(model.ensemble_.weights, expected.weights, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="that of another one"):
        plain_regressor(2).fit(rows, convert(y + 1), WEIGHT, checkpoint=tmp_path / "fit")


@with_jax_at_night
@pytest.mark.parametrize("kind", ["columns", "rows", "turned"])
def test_rows_may_lie_anyhow_in_memory(convert, kind, in_memory):
    rows = {
        "columns": lambda: convert(np.repeat(X, 2, axis=1))[:, ::2],
        "rows": lambda: convert(np.repeat(X, 2, axis=0))[::2, :],
        "turned": lambda: convert(X.T.copy()).T,
    }[kind]()
    model = plain_regressor(3).fit(rows, convert(y))
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=convert.loss_rtol)
    np.testing.assert_allclose(to_numpy(model.predict(rows)), model.predict(X), rtol=1e-4, atol=1e-4)


@with_jax_at_night
@pytest.mark.parametrize("n_rows", [500, N])
def test_whole_numbers_and_truth_values_are_numbers(convert, n_rows):
    numbers, target = np.round(X[:n_rows]).astype(np.int32), y[:n_rows] > 1
    there = plain_regressor(1).fit(convert(numbers), convert(target))
    here = plain_regressor(1).fit(numbers, target)
    np.testing.assert_allclose(there.loss_curve_, here.loss_curve_, rtol=convert.loss_rtol)
    flags = convert(X[:n_rows] > [0, 5, 0, 100])
    assert plain_regressor(1).fit(flags, convert(y[:n_rows])).predict(flags).shape == (n_rows,)


@with_jax_at_night
def test_read_only_numbers_go_beside_the_rows(convert, in_memory):
    frozen = X[:99].copy()
    frozen.flags.writeable = False
    watched = {"X_val": frozen, "y_val": y[:99]}
    init = FrozenEstimator(in_memory)
    model = GBMAPRegressor(1, init=init, random_state=0).fit(convert(X), convert(y), **watched)
    backwards = {"X_val": frozen[::-1], "y_val": y[98::-1]}
    again = GBMAPRegressor(1, init=init, random_state=0).fit(convert(X), convert(y), **backwards)
    np.testing.assert_allclose(model.validation_loss_curve_, again.validation_loss_curve_, rtol=1e-4)


@with_jax_at_night
def test_what_is_asked_of_a_model_is_answered_in_memory(convert, in_memory):
    few, rows, target = X[:300], convert(X[:300]), convert(y[:300])
    close = partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-4)
    close(explain(in_memory, rows).coefficients, explain(in_memory, few).coefficients)
    for baseline, expected in ((rows, few), (rows[0, :], few[0])):
        found = attributions(in_memory, rows, baseline).values
        close(found, attributions(in_memory, few, expected).values)
    close(embedding_distances(in_memory, rows), embedding_distances(in_memory, few))
    found, expected = regions(in_memory, rows, target), regions(in_memory, few, y[:300])
    close(found.coefficients, expected.coefficients)
    close(found.mean_loss, expected.mean_loss)
    nearest = nearest_counterfactual(in_memory, rows[:1, :], 1.0)
    close(nearest.prediction_after, 1.0, atol=0.1)
    less = GBMAPRegressor(1, random_state=0).fit(X, y)
    found, expected = (model_difference(in_memory, less, each, n_components=1) for each in (rows, few))
    close(found.difference, expected.difference)
    close(in_memory.score(rows, target, target * 0 + 1), in_memory.score(few, y[:300]))


@everywhere
def test_drift_is_watched_for(convert, in_memory):
    few, rows = X[:300], convert(X[:300])
    other = slice(300, 600)
    found, expected = (
        DriftDetector(in_memory).fit(as_(few), as_(y[:300]), X_cal=as_(X[other]), y_cal=as_(y[other]))
        for as_ in (convert, np.asarray)
    )
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=1e-3)
    np.testing.assert_allclose(found.indicator(rows), expected.indicator(few), rtol=1e-3, atol=1e-3)
    later = found.assess(rows + 1.0, convert(y[:300]))
    assert later.shift == pytest.approx(expected.assess(few + 1.0, y[:300]).shift, rel=1e-3)


@with_jax_at_night
def test_a_search_fits_its_folds_where_the_rows_are(convert):
    settings = {"betas": [2.0, 5.0], "l2_regularizations": [1e-3], "cv": 2, "random_state": 0}
    few = [each[:400] for each in (X, y, WEIGHT)]
    there = GBMAPRegressorCV(n_components=2, **settings).fit(*map(convert, few))
    here = GBMAPRegressorCV(n_components=2, **settings).fit(*few)
    np.testing.assert_allclose(there.cv_losses_, here.cv_losses_, rtol=0.02)
    assert there.score(*map(convert, few)) == pytest.approx(here.score(*few), abs=0.01)


@pytest.mark.nightly
@needs_jax
def test_the_64_bit_mode_of_jax_counts_from_when_it_is_switched_on(in_memory):
    numpy = jax.numpy
    assert in_memory.predict(numpy.asarray(X)).dtype == np.float32
    with jax.enable_x64(True):
        rows = numpy.asarray(X)
        model = GBMAPRegressor(3, random_state=0).fit(rows, numpy.asarray(y))
        prediction = model.predict(rows)
    assert prediction.dtype == np.float64
    np.testing.assert_allclose(prediction, model.predict(X), rtol=1e-9)
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-6)
    assert not jax.config.jax_enable_x64


@needs_torch
@pytest.mark.parametrize("n_rows", [500, N])
def test_tensors_that_want_gradients_are_fitted_without_and_predicted_with_them(n_rows, in_memory):
    rows, target = (torch.asarray(each[:n_rows]).clone().requires_grad_() for each in (X, y))
    model = GBMAPRegressor(1, random_state=0).fit(rows, target, X_val=rows, y_val=target)
    expected = GBMAPRegressor(1, random_state=0).fit(X[:n_rows], y[:n_rows])
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-6)
    in_memory.predict(rows).sum().backward()
    np.testing.assert_allclose(rows.grad, explain(in_memory, X[:n_rows]).coefficients, atol=1e-9)


@needs_torch
@pytest.mark.parametrize("n_rows", [500, N])
def test_short_floats_are_widened(n_rows):
    rows, target = (torch.asarray(each[:n_rows]).bfloat16() for each in (X, y))
    expected = GBMAPRegressor(1, random_state=0).fit(*(each.double().numpy() for each in (rows, target)))
    model = GBMAPRegressor(1, random_state=0).fit(rows, target)
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-6)


@needs_torch
@pytest.mark.parametrize("n_rows", [500, N])
def test_sparse_tensors_are_refused_with_the_way_out(n_rows, in_memory):
    rows = torch.asarray(X[:n_rows]).to_sparse()
    for ask in (lambda: GBMAPRegressor(1).fit(rows, y[:n_rows]), lambda: in_memory.predict(rows)):
        with pytest.raises(ValueError, match=r"must be dense in PyTorch.*to_dense"):
            ask()


@needs_torch
def test_the_precision_of_products_is_left_as_it_was():
    chosen = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        rows = torch.asarray(X, dtype=torch.float32, device="cuda" if has_cuda else "cpu")
        model = GBMAPRegressor(2, loss="huber", refine=2, random_state=0).fit(rows, y)
        np.testing.assert_allclose(to_numpy(model.predict(rows)), model.predict(X), rtol=1e-4, atol=1e-5)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(chosen)


class OnCuda:
    """An array that says to be on a CUDA device, in one part or in several."""

    def __init__(self, *, parts):
        self.parts = parts

    def __dlpack_device__(self):
        if self.parts > 1:
            raise BufferError("in several parts")
        return 2, 0


@pytest.mark.skipif(has_cuda, reason="there is a CUDA device")
@pytest.mark.parametrize(("parts", "other"), [(1, 1), (2, 1), (1, 2)])
def test_what_pytorch_cannot_read_is_not_lent(parts, other):
    arrays = OnCuda(parts=parts), OnCuda(parts=other)
    assert device.lent(*arrays, Objective(LogLoss(), Softplus(1.0), 0.0)) == arrays


@needs_cuda
@pytest.mark.parametrize("loss", [LogLoss(), SquaredError()], ids=["log", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_candidates", [1, 2, 3])
def test_the_kernel_gives_the_sums_of_a_pass_in_memory(loss, weighted, n_candidates):
    target = np.sign(y - np.median(y)) if isinstance(loss, LogLoss) else y
    draw = np.random.default_rng(1)
    weight = draw.uniform(size=N) if weighted else None
    objective = Objective(loss, Softplus(2.0), 1e-3)
    near = X[:, :3]  # what lies far from zero is centred first, and then not the kernel's
    thetas, signs = draw.normal(size=(n_candidates, 5)), draw.choice([-1.0, 1.0], size=n_candidates)
    residual = isinstance(loss, SquaredError)
    there = [torch.asarray(each, device="cuda") for each in (near.astype(np.float32), target[:, None])]
    with ThreadTeam(1) as team:
        here = rows_of(near, target[:, None], weight, team, residual=residual)
        rows = rows_of(*device.lent(*there, objective), weight, team, residual=residual)
        assert rows._fused_for(objective) is not None
        for call in range(5):  # the later ones replay a graph
            if call == 4:
                here.F[0] += 0.5
                rows.F[0] = rows.F[0] + 0.5
            values, gradients = rows.value_and_gradient(objective, 0, thetas, signs)
            expected, slopes = here.value_and_gradient(objective, 0, thetas, signs)
            np.testing.assert_allclose(values, expected, rtol=1e-4)
            np.testing.assert_allclose(gradients, slopes, rtol=1e-3, atol=1e-3 * np.abs(slopes).max())


def test_arrays_of_cupy_come_back_as_they_went_in(in_memory):
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    rows, target = cupy.asarray(X, dtype=cupy.float32), cupy.asarray(y, dtype=cupy.float32)
    model = plain_regressor(3).fit(rows, target)
    prediction, phi = model.predict(rows), model.transform(rows)
    np.testing.assert_allclose(model.loss_curve_, in_memory.loss_curve_, rtol=1e-2)
    assert type(prediction) is type(phi) is type(rows)
    np.testing.assert_allclose(to_numpy(prediction), model.predict(X), atol=1e-2)
