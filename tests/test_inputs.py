"""Bad input gets an error that names the argument and the rule; odd input works."""

from datetime import datetime

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import DataConversionWarning, NotFittedError

from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor
from gbmap.inspection import explain

BOTH = [GBMAPRegressor, GBMAPClassifier]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    return X, np.abs(X[:, 0]) + X[:, 1]


def make(cls, **options):
    return cls(**{"n_components": 3, "random_state": 0, **options})


def target(cls, y):
    return y if cls is GBMAPRegressor else y > 0.5


def put(array, where, value):
    changed = np.array(array, dtype=float)
    changed[where] = value
    return changed


def outputs(model, X):
    return model.predict(X) if isinstance(model, GBMAPRegressor) else model.decision_function(X)


# --- bad values -----------------------------------------------------------------------------------

BAD = [
    (np.inf, r"X contains infinity"),
    (-np.inf, r"X contains infinity"),
    (1e300, r"X must hold numbers of at most 1e\+150"),
    (-1e300, r"X must hold numbers of at most 1e\+150"),
]
FORMATS = {"dense": np.asarray, "csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array}


@pytest.mark.parametrize(("value", "message"), BAD)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("cls", BOTH)
def test_bad_values_in_x_are_refused(cls, form, value, message, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        make(cls).fit(FORMATS[form](put(X, (3, 1), value)), target(cls, y))


def test_bad_values_in_float32_x_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="X contains"):
        make(GBMAPRegressor).fit(put(X, (3, 1), np.inf).astype(np.float32), y)


def test_bad_values_are_refused_in_rows_set_aside_for_validation_too(data):
    X, y = data
    model = make(GBMAPRegressor, early_stopping=True, validation_fraction=0.5)
    for row in range(0, 80, 8):
        with pytest.raises(ValueError, match="X contains"):
            model.fit(put(X, (row, 1), np.inf), y)


def test_bad_values_are_refused_in_rows_of_weight_zero(data):
    X, y = data
    with pytest.raises(ValueError, match="X contains infinity"):
        make(GBMAPRegressor).fit(put(X, (3, 1), np.inf), y, sample_weight=put(np.ones(80), 3, 0))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "y contains NaN"), (np.inf, "y contains infinity"), (1e300, "y must hold numbers of at most")],
)
def test_bad_values_in_y_are_refused(value, message, standardize, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        make(GBMAPRegressor, standardize=standardize).fit(X, put(y, 3, value))
    with pytest.raises(ValueError, match=message):
        make(GBMAPRegressor, standardize=standardize).fit(X, np.column_stack([y, put(y, 3, value)]))


@pytest.mark.parametrize("method", ["predict", "transform"])
@pytest.mark.parametrize("cls", BOTH)
def test_bad_values_are_refused_at_prediction(cls, method, data):
    X, y = data
    model = make(cls).fit(X, target(cls, y))
    with pytest.raises(ValueError, match="X contains"):
        getattr(model, method)(put(X, (0, 0), np.inf))


@pytest.mark.parametrize("cls", BOTH)
def test_too_little_data_is_refused(cls, data):
    X, y = data
    with pytest.raises(ValueError, match=r"0 sample\(s\).*minimum of 2 is required"):
        make(cls).fit(X[:0], target(cls, y)[:0])
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2 is required"):
        make(cls).fit(X[:1], target(cls, y)[:1])
    with pytest.raises(ValueError, match=r"0 feature\(s\).*minimum of 1 is required"):
        make(cls).fit(X[:, :0], target(cls, y))


def test_one_class_is_refused(data):
    X, _ = data
    with pytest.raises(ValueError, match="y must hold at least 2 classes, got 1 class"):
        make(GBMAPClassifier).fit(X, np.ones(80))


def test_continuous_classes_are_refused(data):
    with pytest.raises(ValueError, match="continuous"):
        make(GBMAPClassifier).fit(*data)


def test_a_missing_target_is_refused(data):
    with pytest.raises(ValueError, match="requires y to be passed"):
        make(GBMAPRegressor).fit(data[0], None)


@pytest.mark.parametrize("cls", BOTH)
def test_wrong_lengths_are_refused(cls, data):
    X, y = data
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[80, 50\]"):
        make(cls).fit(X, target(cls, y)[:50])
    with pytest.raises(ValueError, match=r"sample_weight must .* each of the 80 rows, got .* \(50,\)"):
        make(cls).fit(X, target(cls, y), sample_weight=np.ones(50))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[80, 50\]"):
        make(cls).fit(X, target(cls, y), X_val=X, y_val=target(cls, y)[:50])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (put(np.ones(80), 3, -1), r"sample_weight must not be negative, got -1\."),
        (np.zeros(80), "sample_weight must leave some row a weight, got zeros only"),
        (put(np.ones(80), 3, np.nan), "sample_weight contains NaN"),
        (put(np.ones(80), 3, np.inf), "sample_weight contains infinity"),
        (np.ones((80, 2)), r"sample_weight must .* got an array of shape \(80, 2\)"),
        (np.nan, "sample_weight contains NaN"),
    ],
)
@pytest.mark.parametrize("cls", BOTH)
def test_bad_weights_are_refused(cls, weight, message, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        make(cls).fit(X, target(cls, y), sample_weight=weight)


@pytest.mark.parametrize("wanted", [{False: 0, True: 0}, {False: -1, True: 1}])
def test_class_weights_that_leave_nothing_are_refused(wanted, data):
    X, y = data
    with pytest.raises(ValueError, match="class_weight"):
        make(GBMAPClassifier, class_weight=wanted).fit(X, y > 0.5)


def test_huge_and_tiny_weights_are_as_good_as_any(data):
    X, y = data
    expected = make(GBMAPRegressor).fit(X, y).predict(X)
    for size in (1e-300, 2.0**-1060, 1e300):
        model = make(GBMAPRegressor).fit(X, y, sample_weight=np.full(80, size))
        assert_allclose(model.predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("cls", BOTH)
def test_text_in_an_array_is_refused(cls, data):
    with pytest.raises(
        ValueError, match=r"column 0 holds text such as .a.; name such columns in categorical_features"
    ):
        make(cls).fit(np.array([["a", "b"]] * 80), target(cls, data[1]))


def test_odd_shapes_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        make(GBMAPRegressor).fit(X[:, 0], y)
    with pytest.raises(ValueError, match="dim 3"):
        make(GBMAPRegressor).fit(X, np.ones((80, 2, 2)))
    with pytest.raises(ValueError, match="Complex data not supported"):
        make(GBMAPRegressor).fit(X + 0j, y)


# --- bad parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n_components", 0, r"int in the range \[1, inf\)"),
        ("n_components", 2.5, r"int in the range"),
        ("beta", 0, r"float in the range \(0.0, inf\)"),
        ("beta", -1.0, r"float in the range \(0.0, inf\)"),
        ("beta", np.nan, r"float in the range \(0.0, inf\)"),
        ("beta", np.inf, r"float in the range \(0.0, inf\)"),
        ("l2_regularization", -1e-3, r"float in the range \[0.0, inf\)"),
        ("loss", "nope", r"str among"),
        ("activation", "relu", r"str among"),
        ("init", 3, r"'fit'"),
        ("standardize", "yes", r"bool"),
        ("n_init", 0, r"int in the range \[1, inf\)"),
        ("max_iter", 0, r"int in the range \[1, inf\)"),
        ("tol", -1, r"float in the range \[0.0, inf\)"),
        ("validation_fraction", 1.0, r"float in the range \(0.0, 1.0\)"),
        ("n_iter_no_change", 0, r"int in the range \[1, inf\)"),
        ("random_state", "seed", r"RandomState"),
        ("verbose", -1, r"int in the range \[0, inf\)"),
    ],
)
@pytest.mark.parametrize("cls", BOTH)
def test_bad_parameters_are_refused_by_name_and_rule(cls, name, value, rule, data):
    X, y = data
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {cls.__name__} must be .*{rule}"):
        cls(**{name: value}).fit(X, target(cls, y))


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (GBMAPRegressor, "quantile", 1.0),
        (GBMAPRegressor, "huber_delta", 0.0),
        (GBMAPRegressor, "loss", "log_loss"),
        (GBMAPClassifier, "class_weight", "heavy"),
        (GBMAPClassifier, "loss", "squared_error"),
    ],
)
def test_bad_parameters_of_one_estimator_are_refused(cls, name, value, data):
    X, y = data
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {cls.__name__} must be"):
        cls(**{name: value}).fit(X, target(cls, y))


@pytest.mark.parametrize("constraints", [[1, 2, 0], [1, 0], {"a": 1}])
def test_bad_monotonic_constraints_are_refused(constraints, data):
    with pytest.raises(ValueError, match="monotonic_cst"):
        make(GBMAPRegressor, monotonic_cst=constraints).fit(*data)


def test_monotonic_constraints_need_two_classes(data):
    X, _ = data
    with pytest.raises(ValueError, match="monotonic_cst is for two classes only"):
        make(GBMAPClassifier, monotonic_cst=[1, 0, 0]).fit(X, np.arange(80) % 3)


@pytest.mark.parametrize("cls", BOTH)
def test_validation_rows_need_both_x_and_y(cls, data):
    X, y = data
    for half in ({"X_val": X}, {"y_val": target(cls, y)}):
        with pytest.raises(ValueError, match="X_val and y_val must be given together"):
            make(cls).fit(X, target(cls, y), **half)


def test_weights_of_validation_rows_are_checked(data):
    X, y = data
    with pytest.raises(ValueError, match="sample_weight_val must be None without X_val"):
        make(GBMAPRegressor).fit(X, y, sample_weight_val=np.ones(len(y)))
    model = make(GBMAPRegressor).fit(X, y, 2.0, X_val=X, y_val=y, sample_weight_val=2.0)
    assert_allclose(model.validation_loss_curve_, model.loss_curve_)
    for weight in (np.ones(3), -np.ones(len(y)), np.zeros(len(y)), np.full(len(y), np.nan)):
        with pytest.raises(ValueError, match="sample_weight_val must keep to the rules"):
            make(GBMAPRegressor).fit(X, y, X_val=X, y_val=y, sample_weight_val=weight)


@pytest.mark.parametrize("names", [np.array([0, 1, 2]), np.array(["a", "b", "c"])])
def test_an_unknown_class_in_y_val_is_refused(names, data):
    X, y = data
    known = names[(y > 0.5).astype(int)]
    with pytest.raises(ValueError, match=r"y_val must hold classes of the fit only.*(2|c)"):
        make(GBMAPClassifier).fit(X, known, X_val=X[:3], y_val=names)


def test_validation_rows_with_other_columns_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match=r"X_val.*: X has 2 features, but GBMAPRegressor is expecting 3"):
        make(GBMAPRegressor).fit(X, y, X_val=X[:, :2], y_val=y)
    with pytest.raises(ValueError, match="y_val"):
        make(GBMAPRegressor).fit(X, y, X_val=X, y_val=np.column_stack([y, y]))


def test_warm_start_with_fewer_components_is_refused_and_harmless(data):
    X, y = data
    model = make(GBMAPRegressor, warm_start=True).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"n_components=2 must be at least 3.*warm_start"):
        model.set_params(n_components=2).fit(X, y)
    assert_array_equal(model.predict(X), before)


def test_warm_start_with_other_columns_classes_or_targets_is_refused(data):
    X, y = data
    model = make(GBMAPRegressor, warm_start=True).fit(X, y).set_params(n_components=5)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.fit(X[:, :2], y)
    with pytest.raises(ValueError, match=r"(y|target).*warm_start|warm_start.*(y|target)"):
        model.fit(X, np.column_stack([y, -y]))
    model = make(GBMAPClassifier, warm_start=True).fit(X, y > 0.5).set_params(n_components=5)
    with pytest.raises(ValueError, match="y must hold classes of the fit only"):
        model.fit(X, np.arange(80) % 3)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (lambda X: np.ones((len(X), 2)), r"init must give 1 finite score.*\(80, 2\)"),
        (lambda X: np.full(len(X), np.nan), "init must give 1 finite score.*not finite"),
    ],
)
def test_a_bad_initial_model_is_refused(initial, message, data):
    with pytest.raises(ValueError, match=message):
        make(GBMAPRegressor, init=initial).fit(*data)


@pytest.mark.parametrize("cls", BOTH)
def test_an_unfitted_model_says_so(cls, data):
    for method in ("predict", "transform", "staged_predict", "get_feature_names_out"):
        with pytest.raises(NotFittedError, match=f"{cls.__name__} instance is not fitted yet"):
            list(getattr(cls(), method)(data[0]))


def test_an_unfitted_classifier_says_so(data):
    for method in ("predict_proba", "decision_function", "staged_predict_proba", "staged_decision_function"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            list(getattr(GBMAPClassifier(), method)(data[0]))


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_the_wrong_number_of_columns_is_refused_at_prediction(method, data):
    X, y = data
    model = make(GBMAPRegressor).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but GBMAPRegressor is expecting 3 features"):
        getattr(model, method)(X[:, :2])


def test_a_failed_fit_leaves_an_unfitted_model_unfitted(data):
    X, y = data
    model = make(GBMAPRegressor)
    with pytest.raises(ValueError, match="X contains infinity"):
        model.fit(put(X, (0, 0), np.inf), y)
    with pytest.raises(NotFittedError):
        model.predict(X)


# --- y as a column --------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_a_column_y_warns_and_is_taken_as_one_target(cls, data):
    X, y = data
    y = target(cls, y)
    expected = make(cls).fit(X, y)
    with pytest.warns(DataConversionWarning, match=r"y.*ravel\(\)"):
        model = make(cls).fit(X, y[:, None])
    assert model.predict(X).shape == (80,)
    assert_array_equal(outputs(model, X), outputs(expected, X))


# --- odd columns and targets ----------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, False])
def test_with_constant_columns_only_the_model_is_the_mean(standardize, data):
    _, y = data
    X = np.full((80, 2), 0.1)
    model = make(GBMAPRegressor, standardize=standardize).fit(X, y)
    assert_allclose(model.predict(X), y.mean(), rtol=1e-12)
    share = (y > 0.5).mean()
    model = make(GBMAPClassifier, standardize=standardize, tol=1e-12).fit(X, y > 0.5)
    assert_allclose(model.predict_proba(X)[:, 1], share, rtol=1e-4)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e100])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_constant_target_is_predicted_exactly(value, standardize, data):
    X, _ = data
    model = make(GBMAPRegressor, standardize=standardize).fit(X, np.full(80, value))
    assert_allclose(model.predict(X), value, rtol=1e-14, atol=0)
    assert_array_equal(model.feature_importances_, 0)


def test_more_columns_than_rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 60))
    y = X[:, 0]
    model = make(GBMAPRegressor, n_components=10).fit(X, y)
    assert model.score(X, y) > 0.9
    model = make(GBMAPClassifier, n_components=10).fit(X, y > 0)
    assert model.score(X, y > 0) == 1


def test_two_rows_are_enough(data):
    X, y = data
    model = make(GBMAPRegressor, n_components=10, l2_regularization=1e-3).fit(X[:2], y[:2])
    assert_allclose(model.predict(X[:2]), y[:2], atol=1e-2)


def test_collinear_and_repeated_columns(data):
    X, y = data
    model = make(GBMAPRegressor, n_components=8).fit(np.hstack([X, X, -X[:, :1] + X[:, 1:2]]), y)
    assert model.loss_curve_[-1] < 0.1 * y.var()


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e140])
def test_columns_of_any_magnitude_are_learned_from(scale, data):
    X, y = data
    expected = make(GBMAPRegressor).fit(X, y).predict(X)
    model = make(GBMAPRegressor).fit(X * scale, y)
    assert_allclose(model.predict(X * scale), expected, rtol=0, atol=1e-2 * y.std())


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_float32_columns_of_any_magnitude_are_learned_from(scale, data):
    X, y = (data[0] * scale).astype(np.float32), data[1]
    model = make(GBMAPRegressor, n_components=6).fit(X, y)
    assert np.mean((model.predict(X) - y) ** 2) < 0.2 * y.var()


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100])
def test_targets_of_any_magnitude_are_learned(scale, data):
    X, y = data
    expected = make(GBMAPRegressor).fit(X, y).predict(X)
    model = make(GBMAPRegressor).fit(X, y * scale)
    assert_allclose(model.predict(X) / scale, expected, rtol=0, atol=1e-2 * y.std())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", BOTH)
def test_denormal_numbers_do_no_harm(cls, dtype, data):
    X, y = data
    tiny = np.finfo(dtype).smallest_subnormal
    all_tiny = (np.round(X * 100) * tiny).astype(dtype)
    assert all_tiny.any()
    assert np.isfinite(outputs(make(cls).fit(all_tiny, target(cls, y)), all_tiny)).all()
    some_tiny = np.column_stack([X, all_tiny[:, 0]]).astype(dtype)
    some_tiny[:5, 0] = tiny
    model = make(cls, n_components=6).fit(some_tiny, target(cls, y))
    assert np.isfinite(outputs(model, some_tiny)).all()
    assert model.score(some_tiny, target(cls, y)) > 0.8


def test_a_large_mean_loses_no_accuracy(data):
    X, y = data
    expected = make(GBMAPRegressor, n_components=6).fit(X, y).score(X, y)
    for dtype, shift in ((np.float32, 1e4), (np.float64, 1e9)):
        shifted = (X + shift).astype(dtype)
        assert make(GBMAPRegressor, n_components=6).fit(shifted, y).score(shifted, y) > expected - 0.03


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16, np.longdouble, object])
@pytest.mark.parametrize("cls", BOTH)
def test_other_types_of_numbers_are_taken_as_numbers(cls, dtype, data):
    X, y = data
    X = np.clip(np.round(X * 4), 0, 12).astype(dtype)
    y = target(cls, y)
    model = make(cls).fit(X, y)
    expected = make(cls).fit(X.astype(np.float64), y)
    accuracy = 1e-3 if dtype in (np.int8, np.uint16, np.float16) else 1e-9  # these may become float32
    assert_allclose(outputs(model, X), outputs(expected, X.astype(np.float64)), rtol=0, atol=accuracy)


def test_lists_of_lists(data):
    X, y = data
    model = make(GBMAPRegressor).fit(X.tolist(), y.tolist())
    assert_array_equal(model.predict(X.tolist()), make(GBMAPRegressor).fit(X, y).predict(X))


def test_an_initial_callable_sees_an_array_whatever_was_given(data):
    X, y = data
    expected = make(GBMAPRegressor, init=lambda X: X[:, 0]).fit(X, y)
    model = make(GBMAPRegressor, init=lambda X: X[:, 0]).fit(X.tolist(), y.tolist())
    assert_array_equal(model.predict(X.tolist()), expected.predict(X))
    assert_array_equal(list(model.staged_predict(X.tolist())), list(expected.staged_predict(X)))


def test_integer_targets(data):
    X, y = data
    whole = np.round(3 * y).astype(int)
    model = make(GBMAPRegressor).fit(X, whole)
    assert model.predict(X).dtype == np.float64
    assert_array_equal(model.predict(X), make(GBMAPRegressor).fit(X, whole.astype(float)).predict(X))


@pytest.mark.parametrize(
    "names",
    [(0, 1), (-1, 1), (False, True), ("no", "yes"), (1.0, 2.0), (7, -3)],
)
def test_two_classes_of_any_name(names, data):
    X, y = data
    expected = make(GBMAPClassifier).fit(X, y > 0.5).predict(X)
    low, high = sorted(names)
    model = make(GBMAPClassifier).fit(X, np.where(y > 0.5, high, low))
    assert_array_equal(model.classes_, [low, high])
    assert_array_equal(model.predict(X), np.where(expected, high, low))


def test_classes_of_object_type(data):
    X, y = data
    names = np.array(["no", "yes"], dtype=object)[(y > 0.5).astype(int)]
    model = make(GBMAPClassifier).fit(X, names)
    assert_array_equal(model.predict(X), make(GBMAPClassifier).fit(X, names.astype(str)).predict(X))


# --- where the data lies --------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_memory_layout_does_not_matter(cls, data, tmp_path):
    X, y = data
    y = target(cls, y)
    expected = outputs(make(cls).fit(X, y), X)
    mapped = np.memmap(tmp_path / "X", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    mapped = np.memmap(tmp_path / "X", dtype=X.dtype, mode="r", shape=X.shape)
    wide = np.zeros((160, 6))
    wide[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    layouts = {
        "Fortran": np.asfortranarray(X),
        "memmap": mapped,
        "strided": wide[::2, ::2],
        "read-only": read_only,
        "big-endian": X.astype(">f8"),
    }
    for name, layout in layouts.items():
        model = make(cls).fit(layout, y)
        assert_allclose(outputs(model, layout), expected, rtol=1e-12, atol=1e-12, err_msg=name)


def test_nothing_given_is_modified(data):
    X, y = data
    weight = np.ones(80)
    given = [X.copy(), y.copy(), weight, X.copy(), y.copy()]
    before = [each.copy() for each in given]
    for each in given:
        each.flags.writeable = False
    model = make(GBMAPRegressor, early_stopping=True)
    model.fit(given[0], given[1], given[2], X_val=given[3], y_val=given[4])
    model.predict(given[0])
    model.transform(given[0])
    assert model.get_params() == make(GBMAPRegressor, early_stopping=True).get_params()
    for each, copy in zip(given, before, strict=True):
        assert_array_equal(each, copy)
    matrix = scipy.sparse.random_array((80, 3), density=0.4, rng=0, format="csr")
    copy = matrix.copy()
    make(GBMAPRegressor).fit(matrix, y).predict(matrix)
    assert_array_equal(matrix.data, copy.data)
    assert_array_equal(matrix.indices, copy.indices)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", BOTH)
def test_sparse_rows_give_what_dense_rows_give(cls, dtype, container, form):
    rng = np.random.default_rng(2)
    X = scipy.sparse.random_array((300, 8), density=0.3, rng=rng).toarray().astype(dtype)
    X[:, 5] = 0
    y = target(cls, 2 * X[:, 0] - np.abs(X[:, 1] - 0.5) + 1)
    matrix = getattr(scipy.sparse, f"{form}_{container}")(X)
    options = {"n_components": 2, "l2_regularization": 0.1, "tol": 1e-10}
    dense, sparse = make(cls, **options).fit(X, y), make(cls, **options).fit(matrix, y)
    accuracy = 1e-3 if dtype == np.float64 else 3e-2
    assert_allclose(sparse.loss_curve_, dense.loss_curve_, rtol=accuracy)
    spread = outputs(dense, X).std()
    assert_allclose(outputs(sparse, matrix), outputs(dense, X), rtol=0, atol=accuracy * spread)
    assert_allclose(sparse.transform(matrix), sparse.transform(X), rtol=0, atol=1e-5 * spread)
    assert isinstance(sparse.transform(matrix), np.ndarray)
    assert sparse.transform(matrix).dtype == dtype
    assert_array_equal(sparse.ensemble_.weights[:, 5], 0)


def repeated(counts, form, value=1.0):
    """Return counts as a matrix that holds as many entries of one value at each place."""
    rows, columns = np.nonzero(counts)
    times = counts[rows, columns]
    rows, columns = np.repeat(rows, times), np.repeat(columns, times)
    along, other = (rows, columns) if form == "csr" else (columns, rows)
    order = np.random.default_rng(0).permutation(len(along))
    order = order[np.argsort(along[order], kind="stable")]  # neither sorted nor side by side
    pointers = np.searchsorted(along[order], np.arange(counts.shape[form == "csc"] + 1))
    make = getattr(scipy.sparse, f"{form}_array")
    return make((np.full(len(order), value), other[order], pointers), shape=counts.shape)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_repeated_sparse_entries_add_up(form):
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.7, (300, 4))
    counts[:, 0] += 1  # ones, as often as the term occurs: constant to whoever does not add them up
    y = counts[:, 0] - np.maximum(counts[:, 1] - counts[:, 2], 0)
    matrix, X = repeated(counts, form), counts.astype(float)
    canonical = scipy.sparse.csr_array(X)
    assert not matrix.has_canonical_format
    before = [array.copy() for array in (matrix.data, matrix.indices, matrix.indptr)]
    sparse, dense = (make(GBMAPRegressor).fit(rows, y, X_val=rows, y_val=y) for rows in (matrix, canonical))
    assert_array_equal(sparse.predict(matrix), dense.predict(canonical))
    assert_array_equal(sparse.validation_loss_curve_, dense.validation_loss_curve_)
    assert_array_equal(sparse.mean_, dense.mean_)
    assert_allclose(sparse.transform(matrix), dense.transform(X), rtol=1e-12)
    assert_allclose(explain(sparse, matrix).coefficients, explain(dense, X).coefficients, rtol=1e-12)
    assert_allclose(
        DriftDetector(sparse).fit(matrix, y).indicator(matrix),
        DriftDetector(dense).fit(X, y).indicator(X),
        atol=1e-9,
    )
    for array, was in zip((matrix.data, matrix.indices, matrix.indptr), before):
        assert_array_equal(array, was)


def test_repeated_truth_values_are_one_as_in_an_array():
    counts = np.random.default_rng(2).poisson(0.7, (100, 3))
    y, matrix = counts[:, 0] > counts[:, 1], repeated(counts, "csr", value=True)
    model = make(GBMAPRegressor).fit(matrix, y)
    assert_array_equal(model.mean_, make(GBMAPRegressor).fit(scipy.sparse.csr_array(counts > 0), y).mean_)


def test_sparse_weights_are_repetitions_and_early_stopping_works():
    X = scipy.sparse.random_array((200, 6), density=0.5, rng=np.random.default_rng(3), format="csr")
    y = X.toarray()[:, 0]
    counts = np.arange(200) % 3
    weighted = make(GBMAPRegressor).fit(X, y, sample_weight=counts)
    indices = np.repeat(np.arange(200), counts)
    repeated = make(GBMAPRegressor).fit(X[indices], y[indices])
    assert_array_equal(weighted.ensemble_.weights, repeated.ensemble_.weights)
    model = make(GBMAPRegressor, early_stopping=True, n_components=5).fit(X, y)
    assert len(model.validation_loss_curve_) == model.n_components_ + 1


# --- frames ---------------------------------------------------------------------------------------


def frame(library, X, names):
    return pytest.importorskip(library).DataFrame({name: X[:, j] for j, name in enumerate(names)})


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", BOTH)
def test_frames_in(cls, dtype, library, data):
    X, y = data[0].astype(dtype), target(cls, data[1])
    table = frame(library, X, ["height", "width", "mass"])
    model = make(cls).fit(table, y)
    assert_array_equal(model.feature_names_in_, ["height", "width", "mass"])
    assert_array_equal(model.get_feature_names_out(), ["f1", "f2", "f3"])
    assert model.transform(table).dtype == dtype
    expected = make(cls).fit(X, y)
    assert_allclose(outputs(model, table), outputs(expected, X), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame(library, X, ["height", "mass", "width"]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_out(library, data):
    X, y = data
    names = ["height", "width", "mass"]
    table = frame(library, X, names)
    model = make(GBMAPRegressor).set_output(transform=library)
    phi = model.fit_transform(table, np.column_stack([y, -y]))
    assert isinstance(phi, type(table))
    assert list(phi.columns) == [f"f{j}_{k}" for j in (1, 2, 3) for k in (0, 1)]
    assert_array_equal(phi.to_numpy(), model.set_output(transform="default").transform(table))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_initial_callable_sees_the_frame_that_was_given(library, data):
    X, y = data
    table = frame(library, X, ["height", "width", "mass"])
    model = make(GBMAPRegressor, init=lambda X: X["width"], early_stopping=True).fit(table, y)
    f_0 = model.predict(table) - model.transform(table).sum(axis=1)
    assert_allclose(f_0, X[:, 1], rtol=0, atol=1e-12)


def test_frames_of_mixed_numbers(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame(
        {
            "real": X[:, 0].astype(np.float32),
            "whole": np.round(4 * X[:, 1]).astype(int),
            "flag": X[:, 2] > 0,
            "nullable": pd.array(np.round(4 * X[:, 2]).astype(int), dtype="Int64"),
        }
    )
    model = make(GBMAPRegressor).fit(table, pd.Series(y, name="y"), sample_weight=pd.Series(np.ones(80)))
    expected = make(GBMAPRegressor).fit(table.to_numpy(np.float64), y)
    assert_array_equal(model.predict(table), expected.predict(table.to_numpy(np.float64)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_dates_are_named(library, data):
    frames = pytest.importorskip(library)
    X, y = data
    frame = frames.DataFrame({"size": X[:, 0], "day": [datetime(2020, 1, 1 + k % 20) for k in range(80)]})
    with pytest.raises(ValueError, match=r"X must hold numbers or categories, but column 'day'.*Datetime"):
        make(GBMAPRegressor).fit(frame, y)


def test_a_column_that_is_no_number_any_more_gets_advice_for_new_rows(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame({"size": X[:, 0], "age": X[:, 1]})
    model = make(GBMAPRegressor).fit(frame, y)
    with pytest.raises(ValueError, match="column 'age' of X is of type String, where the fit had") as caught:
        model.predict(frame.assign(age="old"))
    assert "categorical_features" not in str(caught.value)


def test_types_of_columns_that_are_no_numbers_are_named_as_the_frame_does(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    for values, kind in (
        (pd.period_range("2020-01", periods=80, freq="M"), "period"),
        (X[:, 1] * 1j, "complex"),
    ):
        with pytest.raises(ValueError, match=f"column 'odd' is of type {kind}.* categorical_features"):
            make(GBMAPRegressor).fit(pd.DataFrame({"size": X[:, 0], "odd": values}), y)


@pytest.mark.parametrize("texts", [False, True])
def test_columns_of_one_name_are_refused_in_a_sentence(data, texts):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=["size", "age", "size"]).assign(**({"city": "Oslo"} if texts else {}))
    model = make(GBMAPRegressor).fit(frame.iloc[:, :2], y)
    for ask in (lambda: make(GBMAPRegressor).fit(frame, y), lambda: model.predict(frame)):
        with pytest.raises(
            ValueError, match=r"^X has more than one column 'size'; give each a name of its own"
        ):
            ask()


def test_missing_values_of_sparse_rows_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="X contains NaN"):
        make(GBMAPRegressor).fit(scipy.sparse.csr_array(put(X, (3, 1), np.nan)), y)


@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        (
            GBMAPClassifier(2),
            ["a", None] * 10,
            "y must hold labels of one kind, got NoneType and str; leave out",
        ),
        (GBMAPRegressor(2), ["a", "b"] * 10, "y must hold numbers, got such as .*use GBMAPClassifier"),
    ],
)
def test_labels_that_cannot_be_targets_are_named(estimator, y, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(np.zeros((20, 2)), y)
