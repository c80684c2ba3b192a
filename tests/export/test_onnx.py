"""ONNX graphs, run by onnxruntime, say what the estimator says."""

import importlib
import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gbmap import GBMAPClassifier, GBMAPRegressor
from gbmap._fitted.model import FittedModel, dense
from gbmap.inspection import explain

pytest.importorskip("onnx")
pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import onnx  # noqa: E402
import skl2onnx  # noqa: E402
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType  # noqa: E402

from gbmap.onnx import as_inputs, register, to_onnx  # noqa: E402

X, Y = make_friedman1(200, n_features=5, random_state=0)
LEVELS = np.digitize(Y, [11, 16])
SPREAD = {np.float32: 1e-5, np.float64: 1e-12}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])

MODELS = {
    "regressor": lambda: GBMAPRegressor(6, knots=0, random_state=0).fit(X, Y),
    "bent": lambda: GBMAPRegressor(6, knots=5, random_state=0).fit(X, Y),
    "linear": lambda: GBMAPRegressor(2, activation="identity", random_state=0).fit(X, Y),
    "targets": lambda: GBMAPRegressor(4, random_state=0).fit(X, np.c_[Y, -Y, Y**2]),
    "linear targets": lambda: GBMAPRegressor(2, activation="identity", random_state=0).fit(X, np.c_[Y, -Y]),
    "monotone": lambda: GBMAPRegressor(4, monotonic_cst=[1, 0, 0, 1, 0], random_state=0).fit(X, Y),
    "sparse": lambda: GBMAPRegressor(4, random_state=0).fit(scipy.sparse.csr_array(X), Y),
    "sharp": lambda: GBMAPRegressor(4, beta=100.0, standardize=False, tol=1e-4, knots=0, random_state=0).fit(
        X, Y
    ),
    "two classes": lambda: GBMAPClassifier(5, random_state=0).fit(X, np.where(Y > 14, "high", "low")),
    "three classes": lambda: GBMAPClassifier(4, random_state=0).fit(X, LEVELS - 1),
    "exponential": lambda: GBMAPClassifier(4, loss="exponential", random_state=0).fit(X, Y > 14),
    "hinge": lambda: GBMAPClassifier(4, loss="hinge", random_state=0).fit(X, LEVELS),
}


@cache
def model_named(name):
    return MODELS[name]()


def run(onnx_model, rows):
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, as_inputs(onnx_model, rows))))


def all_outputs(model):
    if isinstance(model, GBMAPRegressor):
        return ["prediction", "embedding", "coefficients"]
    probabilities = ["probability"] if hasattr(model, "predict_proba") else []
    return ["label", *probabilities, "score", "embedding", "coefficients"]


def expected(model, rows, output):
    if output == "coefficients":
        return explain(model, rows).coefficients
    method = {"probability": "predict_proba", "score": "decision_function", "embedding": "transform"}
    return getattr(model, method.get(output, "predict"))(rows)


def away_from_knots(model, rows):
    """Return which rows no rounding brings to the other side of a knot, where coefficients jump."""
    fitted = FittedModel.of(model)
    numbers, source = dense(fitted.read_given(rows)), fitted.inputs.number_source
    scale = fitted.model.scale_[source]
    return ~(np.abs(numbers[:, source] - fitted.inputs.low) < 1e-5 * scale).any(axis=1)


def assert_agrees(model, rows, given, dtype):
    """In a type's digits; those of a sum count against the largest of what is added."""
    embedding = np.abs(model.transform(rows)).max(initial=1)
    for output, values in given.items():
        right = expected(model, rows, output)
        assert values.shape == right.shape
        if output == "label":
            np.testing.assert_array_equal(values, right)
            continue
        assert values.dtype == dtype
        size = embedding if output in ("score", "prediction") else np.abs(right).max(initial=1)
        if output == "coefficients" and dtype == np.float32:
            values, right = (each[away_from_knots(model, rows)] for each in (values, right))
        np.testing.assert_allclose(values, right, rtol=0, atol=SPREAD[dtype] * size, err_msg=output)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MODELS)
@DTYPES
def test_every_output_is_that_of_the_estimator_near_the_data_and_far_from_it(name, dtype):
    model = model_named(name)
    onnx_model = to_onnx(model, outputs=all_outputs(model), dtype=dtype)
    onnx.checker.check_model(onnx_model, full_check=True)
    for distance in (1, 1e6, 1e30):
        rows = (X.mean(axis=0) + distance * (X - X.mean(axis=0))).astype(dtype).astype(np.float64)
        assert_agrees(model, rows, run(onnx_model, rows), dtype)


@cache
def embedding_session(name, dtype):
    onnx_model = to_onnx(model_named(name), outputs=["embedding"], dtype=dtype)
    return onnxruntime.InferenceSession(onnx_model.SerializeToString())


@DTYPES
@pytest.mark.parametrize("name", ["regressor", "bent", "three classes"])
@given(rows=arrays(np.float32, (3, 5), elements=st.floats(-(2.0**100), 2.0**100, width=32)))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_the_embedding_of_any_row_is_right_to_the_digits_of_its_terms(name, dtype, rows):
    model = model_named(name)
    ensemble, rows = model.ensemble_, rows.astype(np.float64)
    (embedding,) = embedding_session(name, dtype).run(None, {"X": rows.astype(dtype)})
    fitted = FittedModel.of(model)
    sizes = np.abs(fitted.read(rows) - fitted.input_mean)
    terms = sizes @ np.abs(ensemble.weights.T) + np.abs(ensemble.offsets) + 1
    assert (np.abs(embedding - model.transform(rows)) <= SPREAD[dtype] * terms).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_graph_takes_any_number_of_rows(name, n_rows):
    model = model_named(name)
    given = run(to_onnx(model, outputs=all_outputs(model)), X[:n_rows])
    assert all(values.shape == (n_rows, *expected(model, X, k).shape[1:]) for k, values in given.items())


@pytest.mark.parametrize("name", ["two classes", "three classes"])
@DTYPES
def test_probabilities_stay_right_where_all_of_them_are_tiny_or_nearly_one(name, dtype):
    model = MODELS[name]()
    for shift in (-300.0, 300.0):
        m = model.n_components_
        model.ensemble_ = replace(model.ensemble_, intercepts=model.ensemble_.intercepts + shift / m)
        given = run(to_onnx(model, outputs=["probability"], dtype=dtype), X)["probability"]
        assert np.isfinite(given).all()
        rtol = 1e-3 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(given, model.predict_proba(X), rtol=rtol, atol=np.finfo(dtype).tiny)
        model.ensemble_ = replace(model.ensemble_, intercepts=model.ensemble_.intercepts - shift / m)


@pytest.mark.parametrize("knots", [0, 4])
@pytest.mark.parametrize(("dtype", "mean"), [(np.float32, 1e4), (np.float64, 1e12)])
def test_columns_with_a_large_mean_keep_their_digits(dtype, mean, knots):
    rows = (X + mean).astype(dtype)
    model = GBMAPRegressor(4, knots=knots, random_state=0).fit(rows, Y)
    given = run(to_onnx(model, dtype=dtype), rows)["prediction"]
    tolerance = {np.float32: 1e-5, np.float64: 1e-10}[dtype]
    np.testing.assert_allclose(given, model.predict(rows.astype(np.float64)), atol=tolerance * Y.std())


def test_a_target_with_a_large_mean_is_rounded_once():
    model = GBMAPRegressor(20, random_state=0).fit(X, Y + 1e5)
    given = run(to_onnx(model), X)["prediction"]
    assert np.abs(given - model.predict(X.astype(np.float32))).max() <= 1.01 * np.spacing(np.float32(1e5))


def test_float32_warns_of_a_column_that_it_blurs():
    model = GBMAPRegressor(2, random_state=0).fit(X + np.array([0, 0, 1e6, 0, 0]), Y)
    with pytest.warns(UserWarning, match=r"'x2' apart only to 0\.\d+ of its standard deviation"):
        to_onnx(model)
    to_onnx(model, dtype="float64")


@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e-60, 1), (1e60, 1), (1, 1e-60), (1, 1e60), (1e-30, 1e30)])
def test_float32_is_refused_for_numbers_that_it_cannot_hold(x_unit, y_unit):
    model = GBMAPRegressor(2, random_state=0).fit(X * x_unit, Y * y_unit)
    with pytest.raises(ValueError, match=r"dtype must be able to hold .* got float32; use float64"):
        to_onnx(model, outputs=["prediction", "coefficients"])
    given = run(to_onnx(model, dtype=np.float64), X * x_unit)["prediction"]
    np.testing.assert_allclose(given, model.predict(X * x_unit), rtol=1e-12)


@pytest.mark.parametrize(
    "classes",
    [
        ["no", "yes"],
        ['"; DROP TABLE x; --', "<b>\n\x00'é漢😀", "x" * 10_000],
        [3, 2**40],
        [-1, 0, 7],
        [False, True],
        np.array([1, 2], dtype=np.uint8),
    ],
)
def test_labels_come_back_as_they_were_whatever_they_are(classes):
    y = np.asarray(classes)[LEVELS % len(classes)]
    model = GBMAPClassifier(2, l2_regularization=0.01, random_state=0).fit(X, y)
    onnx_model = to_onnx(model)
    label = run(onnx_model, X)["label"]
    assert label.tolist() == model.predict(X).tolist()
    assert label.dtype.kind == {"U": "O", "u": "i"}.get(y.dtype.kind, y.dtype.kind)
    assert json.loads(metadata(onnx_model)["classes"]) == model.classes_.tolist()


def test_classes_that_onnx_has_no_type_for_are_refused_but_have_scores():
    y = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[(Y > 14) * 1]
    model = GBMAPClassifier(2, l2_regularization=0.01, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r'classes must be integers.*ask for outputs=\["score"\]'):
        to_onnx(model)
    assert run(to_onnx(model, outputs="score"), X)["score"].shape == (len(X),)


def metadata(onnx_model):
    return {entry.key: entry.value for entry in onnx_model.metadata_props}


def test_the_graph_tells_its_columns_version_and_shapes():
    pd = pytest.importorskip("pandas")
    names = ['"quoted"', "new\nline", "é漢😀", "x" * 10_000, "prediction"]
    model = GBMAPRegressor(3, random_state=0).fit(pd.DataFrame(X, columns=names), Y)
    onnx_model = to_onnx(model, name="prices", opset=15)
    assert json.loads(metadata(onnx_model)["feature_names"]) == names
    assert metadata(onnx_model)["gbmap_version"] == onnx_model.producer_version
    assert (
        onnx_model.doc_string == "GBMAPRegressor of 3 learners over 5 columns, giving prediction, embedding."
    )
    assert onnx_model.graph.name == "prices"
    assert [(each.domain, each.version) for each in onnx_model.opset_import] == [("", 15)]
    shapes = [
        [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        for value in (*onnx_model.graph.input, *onnx_model.graph.output)
    ]
    assert shapes == [["rows", 5], ["rows"], ["rows", 3]]


@pytest.mark.parametrize("opset", [13, 21])
def test_old_and_new_operator_sets_give_the_same(opset):
    model = model_named("three classes")
    given = run(to_onnx(model, outputs=all_outputs(model), opset=opset), X)
    assert_agrees(model, X, given, np.float32)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "regressor",
            {"outputs": ["label"]},
            r"outputs must be some of \['prediction', 'embedding'.*'label'",
        ),
        ("regressor", {"outputs": []}, r"outputs must be .* got \[\]"),
        ("regressor", {"outputs": ["embedding"] * 2}, "outputs must be .* each at most once"),
        ("hinge", {"outputs": ["probability"]}, "loss='hinge'"),
        ("regressor", {"dtype": np.float16}, "dtype must be float32 or float64, got float16"),
        ("regressor", {"opset": 12}, r"opset must be from 13 to \d+, .* got 12"),
        ("regressor", {"opset": 999}, "opset must be .* got 999"),
    ],
)
def test_wrong_arguments_are_told(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        to_onnx(model_named(name), **arguments)


def test_models_that_are_none_are_told():
    with pytest.raises(TypeError, match="got LinearRegression"):
        to_onnx(LinearRegression())
    with pytest.raises(NotFittedError):
        to_onnx(GBMAPRegressor())


@pytest.mark.parametrize("init", [LinearRegression(), lambda rows: np.asarray(rows)[:, 0]])
def test_an_init_model_is_refused_but_for_what_the_gbmap_adds_to_it(init):
    model = GBMAPRegressor(3, init=init, random_state=0).fit(X, Y)
    for outputs in (None, ["prediction"]):
        with pytest.raises(ValueError, match=r'no init model .* outputs=\["embedding"\]'):
            to_onnx(model, outputs=outputs)
    given = run(to_onnx(model, outputs=["embedding", "coefficients"], dtype=np.float64), X)
    f_0 = init(X) if callable(init) else model.init_.predict(X)
    np.testing.assert_allclose(f_0 + given["embedding"].sum(axis=1), model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(given["coefficients"], explain(model, X).coefficients, rtol=1e-10)


# Pipelines


def houses():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "area": rng.uniform(40, 250, 300),
            "age of 'it'": rng.uniform(0, 100, 300),
            "city": rng.choice(["Espoo", 'Ou"lu\n', "漢字😀"], 300),
            "rooms": rng.integers(1, 6, 300),
            "label": rng.normal(size=300),
            "new": rng.random(300) < 0.5,
        }
    )
    price = (2 * frame["area"] * (1 + (frame["city"] == "Espoo")) + frame["label"]).to_numpy()
    frame.loc[::7, "age of 'it'"] = np.nan
    return frame, price


def encoder():
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer(
        (numbers, ["area", "age of 'it'", "label"]),
        (OneHotEncoder(drop="first"), ["city", "rooms"]),
        remainder="passthrough",
    )


@DTYPES
@pytest.mark.parametrize("convert", ["pandas", "polars"])
def test_a_pipeline_over_a_frame_of_numbers_and_text_converts_as_a_whole(dtype, convert):
    frame, price = houses()
    if convert == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    model = make_pipeline(encoder(), GBMAPRegressor(5, l2_regularization=0.01, random_state=0)).fit(
        frame, price
    )
    onnx_model = to_onnx(model, frame, outputs=["prediction", "embedding", "coefficients"], dtype=dtype)
    assert [value.name for value in onnx_model.graph.input][:2] == ["area", "age_of__it_"]
    assert json.loads(metadata(onnx_model)["feature_names"]) == list(frame.columns)
    assert_agrees(model, frame, run(onnx_model, frame), dtype)


@pytest.mark.parametrize("bins", [[250], [150, 300]])
@DTYPES
def test_a_pipeline_of_a_classifier_converts_and_its_names_do_not_clash(bins, dtype):
    frame, price = houses()
    y = np.array(["low", "middle", "high"])[np.digitize(price, bins)]
    model = make_pipeline(encoder(), GBMAPClassifier(4, l2_regularization=0.01, random_state=0)).fit(frame, y)
    outputs = ["label", "probability", "embedding", "coefficients"]
    given = run(to_onnx(model, frame, outputs=outputs, dtype=dtype), frame)
    assert list(given) == ["label_1", *outputs[1:]]  # "label" is a column
    assert_agrees(model, frame, {"label": given.pop("label_1"), **given}, dtype)


@DTYPES
def test_an_encoder_takes_text_and_numbers_and_missing_text_is_a_category(dtype):
    frame, price = houses()
    frame.loc[::5, "city"] = np.nan
    frame = frame[["city", "rooms"]]
    model = make_pipeline(OneHotEncoder(), GBMAPRegressor(3, l2_regularization=0.01, random_state=0)).fit(
        frame, price
    )
    onnx_model = to_onnx(model, frame, dtype=dtype)
    assert [each.version for each in onnx_model.opset_import if not each.domain] == [17]
    assert_agrees(model, frame, run(onnx_model, frame), dtype)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=-3.5, add_indicator=True),
        SimpleImputer(missing_values=-1, add_indicator=True),
        SimpleImputer(keep_empty_features=True, add_indicator=True),
    ],
)
@DTYPES
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values:UserWarning")
def test_the_imputer_fills_drops_and_marks_as_scikit_learns_does(imputer, dtype):
    rows = X.copy()
    hole = imputer.missing_values
    rows[::3, 1], rows[::4, 2], rows[:, 3] = hole, hole, hole
    model = make_pipeline(imputer, GBMAPRegressor(3, l2_regularization=0.01, random_state=0)).fit(rows, Y)
    assert_agrees(model, rows, run(to_onnx(model, rows, dtype=dtype), rows), dtype)


def test_an_imputer_that_has_seen_no_gap_leaves_no_empty_tensor():
    model = make_pipeline(
        SimpleImputer(add_indicator=True), GBMAPRegressor(1, l2_regularization=0.01, random_state=0)
    ).fit(X, Y)
    onnx_model = to_onnx(model, X)
    assert all(0 not in tensor.dims for tensor in onnx_model.graph.initializer)
    assert_agrees(model, X, run(onnx_model, X), np.float32)


@pytest.mark.parametrize(
    "before",
    [
        PCA(3),
        make_column_transformer((StandardScaler(), [0, 1]), ("passthrough", [3])),
        make_pipeline(StandardScaler(), GBMAPRegressor(3, l2_regularization=0.01, random_state=0)),
    ],
)
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_other_steps_before_a_gbmap_convert_too(before, kind):
    pd = pytest.importorskip("pandas")
    rows = X if kind == "array" else pd.DataFrame(X, columns=list("abcde"))
    # Not with knots: the embedding is so flat in places that they lie within the digits of float32.
    model = make_pipeline(before, GBMAPRegressor(3, l2_regularization=0.01, random_state=0)).fit(rows, Y)
    assert_agrees(model, rows, run(to_onnx(model, rows), rows), np.float32)


def test_a_search_and_a_sparse_pipeline_convert():
    search = GridSearchCV(GBMAPRegressor(random_state=0), {"n_components": [1, 2]}, cv=2).fit(X, Y)
    np.testing.assert_allclose(run(to_onnx(search), X)["prediction"], search.predict(X), rtol=1e-5)
    rows = scipy.sparse.csr_array(X)
    model = make_pipeline(
        StandardScaler(with_mean=False), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)
    ).fit(rows, Y)
    np.testing.assert_allclose(run(to_onnx(model, rows), rows)["prediction"], model.predict(rows), rtol=1e-5)


def test_columns_with_hostile_names_convert_behind_a_column_transformer():
    pd = pytest.importorskip("pandas")
    names = ['"; drop', "a b", "a_b", "x" * 10_000, "prediction"]
    frame = pd.DataFrame(X, columns=names)
    before = make_column_transformer((StandardScaler(), names[:4:2]), ("passthrough", names[1:4:2]))
    model = make_pipeline(before, GBMAPRegressor(3, l2_regularization=0.01, random_state=0)).fit(frame, Y)
    given = run(to_onnx(model, frame), frame)
    assert list(given) == ["prediction_1", "embedding"]
    np.testing.assert_allclose(given["prediction_1"], model.predict(frame), rtol=1e-5)


def test_what_a_pipeline_needs_is_told():
    pd = pytest.importorskip("pandas")
    model = make_pipeline(StandardScaler(), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)).fit(
        X, Y
    )
    with pytest.raises(ValueError, match="X or initial_types must be given"):
        to_onnx(model)
    with pytest.raises(TypeError, match=r"X must be an array of numbers .* column 'x0' holds Object"):
        to_onnx(model, X.astype(object))
    with pytest.raises(TypeError, match="column 'e' holds Datetime"):
        to_onnx(model, pd.DataFrame(X, columns=list("abcde")).assign(e=pd.Timestamp("2020-01-01")))
    with pytest.raises(ValueError, match="empty name"):
        to_onnx(model, pd.DataFrame(X, columns=["", *"abcd"]))
    with pytest.raises(ValueError, match="X must have 5 columns, as the graph has, got 4"):
        as_inputs(to_onnx(model, X), X[:, :4])
    mixed = make_pipeline(PCA(3), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be followed back"):
        to_onnx(mixed, X, outputs=["coefficients"])


def test_initial_types_stand_in_for_rows():
    model = make_pipeline(StandardScaler(), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)).fit(
        X, Y
    )
    types = [("first", FloatTensorType([None, 2])), ("rest", FloatTensorType([None, 3]))]
    onnx_model = to_onnx(model, initial_types=types)
    assert list(as_inputs(onnx_model, X)) == ["first", "rest"]
    np.testing.assert_allclose(run(onnx_model, X)["prediction"], model.predict(X), rtol=1e-5)


class Doubled(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return 2 * X


def node(name):
    def convert(scope, operator, container):
        container.add_node(name, operator.inputs[0].full_name, operator.outputs[0].full_name)

    return convert


@pytest.mark.parametrize(
    ("converter", "width", "message"),
    [
        (node("Identity"), 5, r"differs by up to \d+(\.\d+)? standard deviations"),
        (node("Identity"), 4, "to 4 columns, but the GBMAP was fitted on 5"),
        (node("Not"), 5, "a graph that is not valid"),
    ],
)
def test_preprocessing_that_is_converted_wrongly_is_refused(converter, width, message):
    def shape(operator):
        operator.outputs[0].type = FloatTensorType([None, width])

    skl2onnx.update_registered_converter(Doubled, "TestDoubled", shape, converter)
    model = make_pipeline(Doubled(), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        to_onnx(model, X)


def test_float32_is_refused_where_the_scaler_would_lose_the_column():
    rows = X + np.array([1.7e9, 0, 0, 0, 0])
    model = make_pipeline(StandardScaler(), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)).fit(
        rows, Y
    )
    with pytest.raises(ValueError, match=r"standard deviations .* use dtype=float64"):
        to_onnx(model, rows)
    given = run(to_onnx(model, rows, dtype=np.float64), rows)["prediction"]
    np.testing.assert_allclose(given, model.predict(rows), rtol=1e-12)


# Inside of what skl2onnx converts


def by_skl2onnx(model, **arguments):
    register()
    rows = X.astype(np.float32)
    onnx_model = skl2onnx.to_onnx(model, rows, target_opset=17, **arguments)
    return onnxruntime.InferenceSession(onnx_model.SerializeToString()).run(None, {"X": rows})


def test_skl2onnx_converts_the_estimators_by_its_own_conventions():
    for name in ("regressor", "targets"):
        (given,) = by_skl2onnx(model_named(name))
        right = model_named(name).predict(X)
        np.testing.assert_allclose(given, right.reshape(len(X), -1), rtol=1e-4, atol=1e-4)
    for name in ("two classes", "three classes", "exponential"):
        model = model_named(name)
        label, probabilities = by_skl2onnx(model, options={"zipmap": False})
        assert label.tolist() == model.predict(X).tolist()
        np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)
        mapped = by_skl2onnx(model)[1][0]
        assert set(mapped) == set(model.classes_.tolist())


def test_skl2onnx_converts_a_calibrated_classifier_which_asks_for_scores():
    for inner in (
        GBMAPClassifier(3, l2_regularization=0.01, random_state=0),
        GBMAPClassifier(3, loss="hinge", l2_regularization=0.01, random_state=0),
    ):
        model = CalibratedClassifierCV(inner, cv=2).fit(X, LEVELS)
        label, probabilities = by_skl2onnx(model, options={"zipmap": False})
        assert label.tolist() == model.predict(X).tolist()
        np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)


def test_skl2onnx_passes_the_embedding_on_to_a_later_step_if_told_so():
    model = make_pipeline(
        GBMAPRegressor(4, l2_regularization=0.01, random_state=0), KNeighborsRegressor(metric="manhattan")
    ).fit(X, Y)
    (given,) = by_skl2onnx(model, options={GBMAPRegressor: {"embedding": True}})
    np.testing.assert_allclose(given[:, 0], model.predict(X), rtol=1e-4)
    with pytest.raises(ValueError, match="comes before KNeighborsRegressor, which wants its embedding"):
        by_skl2onnx(model)


def test_skl2onnx_is_refused_what_would_be_incomplete():
    with pytest.raises(ValueError, match="loss='hinge' does not give"):
        by_skl2onnx(model_named("hinge"))
    with pytest.raises(ValueError, match="no init model"):
        by_skl2onnx(GBMAPRegressor(2, init=LinearRegression(), random_state=0).fit(X, Y))
    with pytest.raises(ValueError, match=r"standard deviation of .* got float32"):
        by_skl2onnx(GBMAPRegressor(2, random_state=0).fit(X, 1e-60 * Y))


# Packages and documents


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    model = make_pipeline(StandardScaler(), GBMAPRegressor(2, l2_regularization=0.01, random_state=0)).fit(
        X, Y
    )
    with pytest.raises(ImportError, match=r'skl2onnx.* pip install "gbmap\[onnx\]"'):
        to_onnx(model, initial_types=[])
    to_onnx(model[-1])
    for name in [name for name in sys.modules if name.startswith("gbmap.onnx")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'onnx is needed for this; pip install "gbmap\[onnx\]"'):
        importlib.import_module("gbmap.onnx")


# --- the spread -----------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize(
    "name", ["regressor", "bent", "targets", "linear", "sparse", "two classes", "three classes"]
)
def test_the_spread_is_that_of_python(name, dtype):
    model = model_named(name)
    outputs = ["spread", *(["std"] if isinstance(model, GBMAPRegressor) else [])]
    rows = (2 * X).astype(dtype)
    found = run(to_onnx(model, outputs=outputs, dtype=dtype), rows)
    posterior = model.predictor_.known_posterior
    expected = posterior.deviation(model.ensemble_, FittedModel.of(model).read(rows.astype(np.float64)))
    rtol = 1e-3 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(found["spread"].reshape(len(X), -1), expected, rtol=rtol)
    assert found["spread"].ndim == (2 if model.ensemble_.n_outputs > 1 else 1)
    if "std" in outputs:
        std = model.predict(rows, return_std=True)[1]
        np.testing.assert_allclose(found["std"], std, rtol=rtol)


def test_the_spread_of_wide_rows_needs_few_directions():
    wide = np.random.default_rng(0).normal(size=(80, 300))
    model = GBMAPRegressor(20, random_state=0).fit(wide, wide[:, 0])
    assert model.predictor_.known_posterior.directions.shape[1] < 301
    found = run(to_onnx(model, outputs=["std"], dtype=np.float64), wide)["std"]
    np.testing.assert_allclose(found, model.predict(wide, return_std=True)[1], rtol=1e-6)


def test_a_classifier_has_no_std():
    with pytest.raises(ValueError, match="outputs must be some of"):
        to_onnx(model_named("two classes"), outputs=["std"])


# --- categories and gaps of the estimators' own ---------------------------------------------------


def wares(n=240, seed=0):
    """Return a frame of text, categories of numbers and of truths, truths, and numbers, with gaps."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "weight (kg)": rng.gamma(2.0, 3.0, n),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(5, 2, n)),
            "colour": rng.choice(np.array(["red", 'bl"u\n', "漢字😀", None], dtype=object), n),
            "shop": pd.Categorical(rng.choice(["north", "south"], n)),
            "grade": pd.Categorical(rng.integers(1, 4, n)),
            "sold": pd.Categorical(rng.random(n) < 0.5),
            "new": rng.random(n) < 0.5,
        }
    )
    frame.loc[0, "colour"] = "of one row"  # too few to be an input
    y = np.abs(frame["weight (kg)"] - 5) + 2.0 * (frame["colour"] == "red") + (frame["shop"] == "south")
    y += frame["age"].isna() + (frame["grade"] == 2) * 1.5 + (frame["sold"] == True) - frame["new"]  # noqa: E712
    return frame, y.to_numpy(dtype=float)


def odd_wares(dtype=np.float64):
    """Return rows beyond fences, and with categories and gaps that the fit has not seen."""
    frame = wares(12, seed=1)[0].astype({"shop": object, "grade": float, "sold": object, "new": object})
    numbers = ["weight (kg)", "age"]
    frame[numbers] = frame[numbers].astype(dtype).astype(np.float64)
    frame.loc[0, numbers], frame.loc[1, numbers], frame.loc[2, numbers] = 1e9, -1e9, np.nan
    frame.loc[3, ["colour", "shop"]] = "unknown"
    frame.loc[4, ["colour", "shop"]] = None
    frame.loc[5, "grade"], frame.loc[6, "grade"] = 7.0, np.nan
    frame.loc[7, ["sold", "new"]] = None
    frame.loc[8, "colour"], frame.loc[9, "colour"] = "of one row", np.nan
    return frame


@DTYPES
@pytest.mark.parametrize("knots", [0, 4])
def test_text_and_gaps_count_as_in_python(dtype, knots):
    (frame, y), rows = wares(), odd_wares(dtype)
    model = GBMAPRegressor(4, knots=knots, random_state=0).fit(frame, y)
    outputs = ["prediction", "embedding", "coefficients", "spread", "std"]
    onnx_model = to_onnx(model, outputs=outputs, dtype=dtype)
    assert [value.name for value in onnx_model.graph.input][:3] == ["weight__kg_", "age", "colour"]
    assert json.loads(metadata(onnx_model)["feature_names"]) == list(frame.columns)
    assert metadata(onnx_model)["missing_text"] == ""
    given = run(onnx_model, rows)
    spread, std = given.pop("spread"), given.pop("std")
    assert_agrees(model, rows, given, dtype)
    rtol = 1e-3 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(std, model.predict(rows, return_std=True)[1], rtol=rtol)
    inputs = FittedModel.of(model).read(rows)
    expected = model.predictor_.known_posterior.deviation(model.ensemble_, inputs)
    np.testing.assert_allclose(spread, expected[:, 0], rtol=rtol)


def test_text_of_polars_and_gaps_of_any_kind_are_taken():
    pl, (frame, y) = pytest.importorskip("polars"), wares()
    frame = frame[["weight (kg)", "age", "colour", "new"]]
    model = GBMAPClassifier(3, knots=3, random_state=0).fit(pl.from_pandas(frame), np.digitize(y, [3, 5]))
    onnx_model = to_onnx(model, dtype=np.float64)
    for rows in (pl.from_pandas(frame), frame.convert_dtypes(), odd_wares()[list(frame)]):
        rows = rows.astype({"new": "boolean"}) if rows.shape[0] == 12 else rows
        assert_agrees(model, rows, run(onnx_model, rows), np.float64)


def test_missing_text_is_told_by_hand_as_nothing_or_as_python_writes_it():
    frame, y = wares()
    frame = frame[["colour", "age"]]
    model = GBMAPRegressor(3, random_state=0).fit(frame, y)
    session = onnxruntime.InferenceSession(to_onnx(model, dtype=np.float64).SerializeToString())
    expected = model.predict(odd_wares().assign(colour=None)[["colour", "age"]])
    for text in ("", "nan", "None", None):
        texts = np.full((12, 1), text, dtype=object)
        found = session.run(["prediction"], {"colour": texts, "age": odd_wares()[["age"]].to_numpy()})[0]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_categories_that_are_called_like_a_missing_one_stay_categories():
    pd = pytest.importorskip("pandas")
    texts = np.array(["", "nan", "None", None, "<NA>"], dtype=object)
    frame = pd.DataFrame({"text": np.tile(texts, 20)}, dtype=object)
    model = GBMAPRegressor(2, random_state=0).fit(frame, np.tile([1.0, 5.0, 2.0, 9.0, 4.0], 20))
    onnx_model = to_onnx(model, dtype=np.float64)
    assert metadata(onnx_model)["missing_text"] == "missing 1"
    np.testing.assert_allclose(run(onnx_model, frame)["prediction"], model.predict(frame), rtol=1e-9)


@DTYPES
def test_numbers_that_are_named_as_categories_are_compared(dtype):
    rows = X.copy()
    rows[:, 0] = np.tile([0.1, 10.0, 20.0, np.nan], 50)
    model = GBMAPRegressor(3, categorical_features=[0], random_state=0).fit(rows, Y + (rows[:, 0] == 20))
    rows[:, 1:] = rows[:, 1:].astype(dtype)
    rows[:3, 0], rows[3, 1] = [5.0, -1.0, 1e9], np.nan
    onnx_model = to_onnx(model, dtype=dtype, outputs=["prediction", "embedding"])
    assert [value.name for value in onnx_model.graph.input] == ["X"]
    assert_agrees(model, rows, run(onnx_model, rows), dtype)


@DTYPES
@pytest.mark.parametrize("knots", [0, 4])
def test_a_missing_number_is_filled_in_a_column_that_never_missed_one(dtype, knots):
    model = GBMAPRegressor(3, knots=knots, random_state=0).fit(X, Y)
    rows = X[:20].astype(dtype)
    rows[::2, 1], rows[::3, 3] = np.nan, np.nan
    given = run(to_onnx(model, outputs=all_outputs(model), dtype=dtype), rows)
    assert_agrees(model, rows.astype(np.float64), given, dtype)


def test_marks_and_bends_behind_a_scaler_are_those_of_what_it_gives():
    rows = X.copy()
    rows[::4, 1] = np.nan
    model = make_pipeline(StandardScaler(), GBMAPRegressor(3, knots=4, random_state=0)).fit(rows, Y)
    rows[0], rows[1] = 1e9, -1e9
    onnx_model = to_onnx(model, rows, outputs=all_outputs(model[-1]), dtype=np.float64)
    assert_agrees(model, rows, run(onnx_model, rows), np.float64)


def test_skl2onnx_converts_a_model_of_text():
    register()
    frame, y = wares()
    frame = frame[["weight (kg)", "colour", "age"]].rename(columns={"weight (kg)": "weight"})
    rows = odd_wares().rename(columns={"weight (kg)": "weight"})[list(frame)]
    model = GBMAPRegressor(3, knots=3, random_state=0).fit(frame, y)
    kinds = [("weight", DoubleTensorType), ("colour", StringTensorType), ("age", DoubleTensorType)]
    onnx_model = skl2onnx.convert_sklearn(
        model, initial_types=[(name, kind([None, 1])) for name, kind in kinds], target_opset=17
    )
    (given,) = run(onnx_model, rows).values()
    np.testing.assert_allclose(given[:, 0], model.predict(rows), rtol=1e-9)
    with pytest.raises(ValueError, match=r"column 'colour' must be text in the graph, .* got numbers"):
        skl2onnx.convert_sklearn(model, initial_types=[("X", FloatTensorType([None, 3]))], target_opset=17)


def test_categories_that_a_tensor_cannot_tell_are_refused():
    pd = pytest.importorskip("pandas")
    y = np.tile([1.0, 2.0, 4.0], 20)

    def model_of(values):
        frame = pd.DataFrame({"kind": pd.Categorical(values * 20)})
        return GBMAPRegressor(1, random_state=0).fit(frame, y)

    for values in (list(pd.date_range("2020-01-01", periods=3)), ["a", 1, 2]):
        with pytest.raises(TypeError, match=r"all text or all numbers in ONNX, but column 'kind'"):
            to_onnx(model_of(values))
    close = model_of([2**24, 2**24 + 1, 2**24 + 2])
    with pytest.raises(ValueError, match=r"dtype must tell the categories of column 'kind' apart"):
        to_onnx(close)
    to_onnx(close, dtype=np.float64)
    frame = pd.DataFrame({"kind": ["a", "b", "c"] * 20})
    before = make_column_transformer(("passthrough", ["kind"]), verbose_feature_names_out=False)
    behind = make_pipeline(before.set_output(transform="pandas"), GBMAPRegressor(1, random_state=0))
    with pytest.raises(ValueError, match=r"column 'kind' must be numbers where preprocessing hands it"):
        to_onnx(behind.fit(frame, y), frame)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_at_a_knot_has_the_slope_to_the_right_of_it(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(10, 3, (800, 2))
    model = GBMAPRegressor(3, random_state=0).fit(X, np.sin(X[:, 0]) + np.cos(2 * X[:, 1]))
    rows = np.column_stack([knots[:4] for knots in model.knots_])  # training rows, not all of them float32's
    given = run(to_onnx(model, outputs=["coefficients"], dtype=dtype), rows)["coefficients"]
    for asked in (rows, rows.astype(dtype).astype(float)):
        np.testing.assert_allclose(given, explain(model, asked).coefficients, atol=1e-3)
