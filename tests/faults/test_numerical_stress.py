"""Extreme numbers: a finite model whose loss does not rise, or a clear error; no warning, no hang."""

import re
import signal
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._core.activation import Softplus
from gbmap._core.objective import Objective

REGRESSION = ["squared_error", "huber", "quantile"]
CLASSIFICATION = ["log_loss", "exponential", "hinge"]
ALL_LOSSES = pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)
BOTH_UNITS = pytest.mark.parametrize("standardize", [True, False])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@contextmanager
def time_limit(seconds=60):
    """Turn a hang into an error, where there are alarms."""

    def give_up(*_):
        raise TimeoutError(f"not done in {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def make(loss, **options):
    cls = GBMAPRegressor if loss in REGRESSION else GBMAPClassifier
    return cls(**{"n_components": 2, "loss": loss, "random_state": 0, **options})


def target(loss, y):
    return y if loss in REGRESSION else y > np.median(y)


def inputs_of(model, X):
    """Return what the learners of a model are given of rows."""
    predictor = model.predictor_
    return predictor.fitted_inputs.inputs.of(predictor.read(X))


def assert_sound(model, X):
    """Assert that what a model tells about the rows of its fit is finite, and that its loss never rose.

    Of refined learners only all together have to lower it.
    """
    told = {
        "score": model.decision_function(X) if is_classifier(model) else model.predict(X),
        "embedding": model.transform(X),
        "gradient": model.ensemble_.gradient(inputs_of(model, X)),
        "loss": model.loss_curve_,
        "importance": model.feature_importances_,
        "mean": model.mean_,
        "scale": model.scale_,
        "weight": model.ensemble_.weights,
        "beta": model.ensemble_.beta,
    }
    if hasattr(model, "predict_proba"):
        told["probability"] = model.predict_proba(X)
    for name, numbers in told.items():
        assert np.isfinite(numbers).all(), name
    curve = model.loss_curve_
    if model.n_refinements_.any():
        curve = curve[[0, -1]]
    assert (np.diff(curve) <= 1e-5 * np.abs(curve[:-1]) + 1e-13 * abs(curve[0])).all(), curve


def fit_soundly(loss, X, y, sample_weight=None, **options):
    with time_limit():
        model = make(loss, **options).fit(X, y, sample_weight=sample_weight)
        assert_sound(model, X)
    return model


def ordinary(n=80, p=4, seed=0):
    """Return columns of unit size, and a target that is not linear in them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.abs(X[:, 0]) + X[:, -1] + 0.1 * rng.standard_normal(n)


# --- columns --------------------------------------------------------------------------------------

COLUMNS = {
    "1e30": lambda X: 1e30 * X,
    "1e-30": lambda X: 1e-30 * X,
    "1e30 in float32": lambda X: (1e30 * X).astype(np.float32),
    "1e-30 in float32": lambda X: (1e-30 * X).astype(np.float32),
    "1e37 in float32": lambda X: (1e37 * X).astype(np.float32),
    "1e37 in sparse float32": lambda X: scipy.sparse.csr_array((1e37 * X).astype(np.float32)),
    "1e140": lambda X: 1e140 * X,
    "1e-200": lambda X: 1e-200 * X,
    "1e-300": lambda X: 1e-300 * X,
    "each of another size": lambda X: X * 10.0 ** np.linspace(-30, 30, X.shape[1]),
    "each of another size in sparse float32": lambda X: scipy.sparse.csr_array(
        (X * 10.0 ** np.linspace(-30, 30, X.shape[1])).astype(np.float32)
    ),
    "heavy tails": lambda X: np.tan(X),
    "one outlier": lambda X: np.where(np.arange(len(X))[:, None] == 0, 1e12, X),
    "mean of 1e15": lambda X: 1e15 + X,
    "mean of 1e6 in float32": lambda X: (1e6 + X).astype(np.float32),
    "spread of 1e-14": lambda X: 1 + 1e-14 * X,
    "duplicated": lambda X: np.hstack([X, X, X]),
    "collinear": lambda X: X[:, :1] * np.arange(1, 6),
    "all but collinear": lambda X: X[:, :1] + 1e-9 * X,
    "constant": lambda X: np.full_like(X, 0.1),
    "one constant": lambda X: np.column_stack([X, np.full(len(X), 1e10)]),
    "one": lambda X: X[:, :1],
    "integers": lambda X: np.round(3 * X).astype(np.int64),
    "booleans": lambda X: X > 0,
    "float16": lambda X: X.astype(np.float16),
    "two values": lambda X: np.where(X > 0, 1e-3, 1e3),
    "empty categories": lambda X: (np.round(np.abs(X[:, :1])) == np.arange(30)).astype(float),
    "one row different": lambda X: np.eye(len(X))[:, :3],
    "more than rows": lambda X: np.hstack([np.sin(k * X) for k in range(1, 40)]),
}


@pytest.mark.sampled(14)
@BOTH_UNITS
@ALL_LOSSES
@pytest.mark.parametrize("columns", COLUMNS)
def test_columns_of_any_kind_give_a_sound_model(columns, loss, standardize):
    X, y = ordinary()
    fit_soundly(loss, COLUMNS[columns](X), target(loss, y), standardize=standardize)


@pytest.mark.parametrize("size", [1e37, 1e60, 1e140])
def test_columns_beyond_the_range_of_float32_bend_in_float64(size):
    X, y = ordinary(200)
    model = fit_soundly("squared_error", size * X, y)
    expected = make("squared_error").fit(X, y)
    assert all(len(knots) for knots in model.knots_)
    assert_allclose(model.predict(size * X), expected.predict(X), rtol=1e-4, atol=1e-4)
    rows = np.float32(1e37) * X.astype(np.float32)
    assert_allclose(model.predict(rows), model.predict(rows.astype(np.float64)), rtol=1e-4, atol=1e-4)


@BOTH_UNITS
@ALL_LOSSES
def test_two_rows_give_a_sound_model(loss, standardize):
    X = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 1.0]])
    model = fit_soundly(loss, X, np.array([0, 1]), standardize=standardize)
    assert_array_equal(model.predict(X) > 0.5, [False, True])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_ten_thousand_columns_give_a_sound_model(loss, standardize):
    X, y = ordinary(30, 10_000)
    fit_soundly(loss, X.astype(np.float32), target(loss, y), standardize=standardize)


@DTYPES
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_infinities_of_both_signs_are_refused_without_a_warning(loss, dtype):
    X, y = ordinary()
    model = make(loss).fit(X, target(loss, y))
    X = X.astype(dtype)
    X[::2], X[1::2] = np.inf, -np.inf
    for call in (lambda: make(loss).fit(X, target(loss, y)), lambda: model.predict(X)):
        with pytest.raises(ValueError, match="X contains infinity"):
            call()


# --- columns that are not standardised --------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shift", [-200.0, 200.0, 1e4])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e6])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_without_standardising_columns_far_from_zero_are_learned_from(loss, shift, scale):
    X, y = ordinary(200)
    y = target(loss, y)
    expected = make(loss, refine=False, knots=0).fit(X, y)
    model = fit_soundly(loss, scale * X + shift, y, standardize=False, l2_regularization=1e-14)
    assert model.loss_curve_[-1] < 2 * expected.loss_curve_[-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "sparse"])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "log_loss"])
def test_without_standardising_a_learner_is_a_minimum_in_the_units_of_x(loss, dtype):
    X, y = ordinary(200)
    X = X * [1.0, 30.0, 0.05, 5.0] + [0.0, 200.0, -1.0, 3.0]
    y = target(loss, 20 * y)
    given = scipy.sparse.csr_array(X) if dtype == "sparse" else X.astype(dtype)
    model = make(loss, n_components=1, standardize=False, l2_regularization=0.5, tol=1e-14, max_iter=5_000)
    model.fit(given, y)
    learner, residual = model.ensemble_, loss in REGRESSION
    objective = Objective(model._make_loss(), Softplus(5.0), 0.5 / 5)
    theta = np.concatenate([learner.intercepts, learner.weights[0], learner.offsets])

    def value(theta):
        targets = y if residual else 2.0 * y - 1
        sums = objective.block_sums(theta, int(learner.signs[0]), X, targets, np.zeros(200))
        return objective.finish(sums[None], 200, theta[None])[0][0]

    lowest, size = value(theta), np.array([1.0, *(1 / X.std(axis=0)), 1.0])
    steps = 1e-2 * np.random.default_rng(0).standard_normal((200, 6)) * size
    assert learner.weights.any()
    assert min(value(theta + step) for step in steps) > lowest - 1e-6 * abs(lowest)


# --- targets --------------------------------------------------------------------------------------


@pytest.mark.sampled(9)
@DTYPES
@BOTH_UNITS
@pytest.mark.parametrize("scale", [1e-298, 1e-290, 1e-160, 1e-30, 1e15, 1e30, 1e148])
@pytest.mark.parametrize("loss", REGRESSION)
def test_targets_of_any_size_give_a_sound_model(loss, scale, standardize, dtype):
    X, y = ordinary()
    model = fit_soundly(loss, X.astype(dtype), scale * y, standardize=standardize)
    phi = model.transform(X.astype(dtype))
    assert_allclose(phi.sum(axis=1) / scale, model.predict(X.astype(dtype)) / scale, rtol=1e-4, atol=1e-4)
    if standardize:
        assert np.mean((model.predict(X) / scale - y) ** 2) < 0.5 * y.var()


@BOTH_UNITS
@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (1e300, r"y must hold numbers of at most 1e\+150 in size, got .*; rescale it\."),
        (
            1e-300,
            r"y must have a standard deviation from 5e-300 to 5e\+300 for beta=5.0, or be constant, got",
        ),
        (1e-310, r"y must have a standard deviation from 5e-300"),
    ],
)
def test_targets_beyond_the_range_are_refused(scale, message, standardize):
    X, y = ordinary()
    with pytest.raises(ValueError, match=message):
        make("squared_error", standardize=standardize).fit(X, scale * y)


@pytest.mark.sampled(5)
@DTYPES
@BOTH_UNITS
@pytest.mark.parametrize("value", [0.0, 1e-310, -0.1, 1e20, 1e149])
@pytest.mark.parametrize("loss", REGRESSION)
def test_a_constant_target_of_any_size_is_predicted(loss, value, standardize, dtype):
    X, _ = ordinary()
    model = fit_soundly(loss, X.astype(dtype), np.full(80, value), standardize=standardize)
    assert_allclose(model.predict(X.astype(dtype)), value, rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("options", [{}, {"max_iter": 1}, {"quantile": 1e-6}, {"standardize": False}])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", REGRESSION)
def test_targets_with_heavy_tails_do_not_raise_the_loss(loss, seed, options):
    X, _ = ordinary()
    y = np.random.default_rng(seed).standard_cauchy(80)
    fit_soundly(loss, X, y, **options)
    fit_soundly(loss, X, np.column_stack([y, 1e100 * y]), **options)


def test_a_mean_that_is_worse_than_f_0_is_not_taken():
    X, y = np.zeros((100, 1)), np.zeros(100)
    y[0] = 1e6  # the mean is 1e4, far from the median
    model = fit_soundly("quantile", X, y)
    assert model.loss_curve_[1] <= model.loss_curve_[0]


@ALL_LOSSES
def test_validation_rows_of_another_size_are_watched_in_float32(loss):
    X, y = ordinary()
    X = X.astype(np.float32)
    far = 1e100 * y if loss in REGRESSION else target(loss, y)
    model = make(loss).fit(X, target(loss, y), X_val=X, y_val=far)
    assert np.isfinite(model.validation_loss_curve_).all()


# --- classes --------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_separable_classes_are_separated(loss, dtype):
    X, _ = ordinary(200)
    y = X[:, 1] > 0.3
    model = fit_soundly(loss, X.astype(dtype), y, l2_regularization=0.0)
    assert model.score(X.astype(dtype), y) == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"l2_regularization": 0.0}])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_a_rare_class_gives_a_sound_model(loss, n_classes, options):
    X, _ = ordinary(1000)
    y = np.arange(1000) % (n_classes - 1) + 1
    y[7] = 0
    fit_soundly(loss, X, y, **options)


def test_balanced_classes_of_which_one_weighs_nothing():
    X, y = ordinary()
    y, weight = np.digitize(y, np.quantile(y, [0.3, 0.6])), np.ones(80)
    weight[y == 0] = 0
    model = fit_soundly("log_loss", X, y, sample_weight=weight, class_weight="balanced")
    assert_array_equal(np.unique(model.predict(X)), [1, 2])


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@DTYPES
@pytest.mark.parametrize("activation", ["softplus", "identity"])
@pytest.mark.parametrize("strength", [0.0, 1e6])
@pytest.mark.parametrize("beta", [1e-3, 5.0, 1e6])
@ALL_LOSSES
def test_extreme_parameters_give_a_sound_model(loss, beta, strength, activation, dtype):
    X, y = ordinary()
    for standardize in (True, False):
        fit_soundly(
            loss, X.astype(dtype), target(loss, y), beta=beta, l2_regularization=strength,
            activation=activation, standardize=standardize,
        )  # fmt: skip


@pytest.mark.sampled(5)
@DTYPES
@pytest.mark.parametrize("beta", [0.1, 1e-2, 1e-3])
@ALL_LOSSES
def test_a_small_beta_learns_what_the_identity_learns(loss, beta, dtype):
    X, y = ordinary(200)
    X = X.astype(dtype)
    linear = make(loss, activation="identity", knots=0).fit(X, target(loss, y)).loss_curve_[-1]
    assert make(loss, beta=beta, knots=0).fit(X, target(loss, y)).loss_curve_[-1] < 1.05 * linear


# --- weights --------------------------------------------------------------------------------------

WEIGHTS = {
    "1e-300": lambda n: np.full(n, 1e-300),
    "1e300": lambda n: np.full(n, 1e300),
    "the largest": lambda n: np.full(n, np.finfo(float).max),
    "the smallest": lambda n: np.full(n, 5e-324),
    "zeros and ones": lambda n: np.arange(n) % 2.0,
    "over forty orders": lambda n: 10.0 ** np.linspace(-20, 20, n),
    "over all orders": lambda n: 10.0 ** np.linspace(-300, 300, n),
    "two rows": lambda n: (np.arange(n) < 2) * 1.0,
    "one row and dust": lambda n: np.where(np.arange(n) == 3, 1.0, 1e-20),
}


@pytest.mark.sampled(9)
@DTYPES
@pytest.mark.parametrize("weights", WEIGHTS)
@ALL_LOSSES
def test_weights_of_any_size_give_a_sound_model(loss, weights, dtype):
    X, y = ordinary()
    y = target(loss, y)
    if loss in CLASSIFICATION:
        y[:2] = [False, True]
    for standardize in (True, False):
        fit_soundly(loss, X.astype(dtype), y, WEIGHTS[weights](80), standardize=standardize)


# --- a search -------------------------------------------------------------------------------------

SCALES = [1.0, 1e-300, 1e-160, 1e-45, 1e-30, 1e6, 1e30, 1e38, 1e140]
EXTREMES = {
    "n": [2, 3, 20, 100],
    "columns": list(COLUMNS),
    "column_scale": SCALES,
    "shift": [0.0, 1.0, 1e8, -1e15],
    "dtype": [np.float64, np.float32, "sparse"],
    "y": ["smooth", "cauchy", "constant", "two targets", "noise"],
    "target_scale": [*SCALES, 1e-310, 1e148, 1e300],
    "target_shift": [0.0, 1.0, 1e12],
    "weights": [None, *WEIGHTS],
    "loss": REGRESSION + CLASSIFICATION,
    "options": [
        {},
        {"early_stopping": True},
        {"tol": 0.0},
        {"max_iter": 1},
        {"n_init": 2},
        {"quantile": 1e-6},
        {"huber_delta": 1e-12},
        {"huber_delta": 1e12},
        {"class_weight": "balanced"},
    ],
    "activation": ["softplus", "identity"],
    "beta": [5.0, 1e-6, 1e-3, 1e6, 1e9],
    "l2_regularization": [1e-3, 0.0, 1e-12, 1e6, 1e12],
    "standardize": [True, False],
    "seed": [0, 1, 2, 3],
}
CLEAR = [
    r"Input [Xy] contains infinity",
    r"y must hold numbers of at most 1e\+150",
    r"y must have a standard deviation from",
    r"y must hold at least 2 classes",
    r"X must hold numbers of at most 1e\+150",
    r"sample_weight must leave weight both on",
    r"sample_weight must leave some row a weight",
    r"class_weight must be non-negative",
    r"The least populated class",
    r"The (test|train)_size = \d+ should be greater or equal to the number of classes",
]


def rows_of(case):
    rng = np.random.default_rng(case["seed"])
    X = COLUMNS[case["columns"]](rng.standard_normal((case["n"], 4)))
    X = (X.toarray() if scipy.sparse.issparse(X) else X).astype(np.float64)
    X = case["column_scale"] * (X + case["shift"])
    if case["dtype"] == "sparse":
        return scipy.sparse.csr_array(X)
    return np.clip(X, -1e37, 1e37).astype(np.float32) if case["dtype"] == np.float32 else X


def targets_of(case):
    rng = np.random.default_rng(case["seed"] + 100)
    X = np.random.default_rng(case["seed"]).standard_normal((case["n"], 4))
    y = {
        "smooth": np.abs(X[:, 0]) + X[:, 1],
        "cauchy": rng.standard_cauchy(case["n"]),
        "constant": np.ones(case["n"]),
        "two targets": np.column_stack([X[:, 0], rng.standard_cauchy(case["n"])]),
        "noise": rng.standard_normal(case["n"]),
    }[case["y"]]
    if case["loss"] in REGRESSION:
        return case["target_scale"] * (y + case["target_shift"])
    return np.round(y if y.ndim == 1 else y[:, 0]).clip(-1, 1)


def fit_or_refusal(case, X, y):
    cls = GBMAPRegressor if case["loss"] in REGRESSION else GBMAPClassifier
    options = {
        name: case[name] for name in ("loss", "activation", "beta", "l2_regularization", "standardize")
    }
    options |= {name: value for name, value in case["options"].items() if hasattr(cls(), name)}
    weight = None if case["weights"] is None else WEIGHTS[case["weights"]](case["n"])
    try:
        return cls(3, random_state=case["seed"], **options).fit(X, y, sample_weight=weight), None
    except (ValueError, TypeError) as error:
        return None, str(error)


@given(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in EXTREMES.items()}))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_extremes_together_give_a_sound_model_or_a_clear_error(case):
    with np.errstate(all="ignore"):
        X, y = rows_of(case), targets_of(case)
    with time_limit():
        model, refusal = fit_or_refusal(case, X, y)
        if model is None:
            assert re.search("|".join(CLEAR), refusal), refusal
        else:
            assert_sound(model, X)


def test_a_row_that_a_sample_did_not_hold_cannot_end_an_exponential_fit():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30_000, 6)), rng.standard_normal(6)
    y = np.abs(X[:, 0]) + np.tanh(X @ w) + 0.1 * rng.standard_normal(30_000)
    curve = (
        GBMAPClassifier(3, loss="exponential", refine=False, random_state=0)
        .fit(X, y > np.median(y))
        .loss_curve_
    )
    assert (np.diff(curve) < -0.01).all()
