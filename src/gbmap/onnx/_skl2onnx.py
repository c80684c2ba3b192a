"""What skl2onnx is taught: the estimators, and scikit-learn's imputer in full."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.impute import SimpleImputer

from gbmap._fitted.model import FittedModel
from gbmap._utils.missing import is_missing
from gbmap._utils.optional import require
from gbmap._utils.typing import Array
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.onnx._columns import ML_OPSET, joined_columns, text_columns
from gbmap.onnx._digits import refuse_lost_range
from gbmap.onnx._formulas import Formulas, labels_of
from gbmap.onnx._graph import Graph

onnx = require("onnx", "onnx")


_EMBEDDING = "gbmap_embedding"


def register() -> None:
    """Teach skl2onnx to convert the estimators, so that it converts larger models which hold one.

    As elsewhere in skl2onnx, a regressor gives "variable" of shape (n, K), a classifier "label" and
    "probabilities". A GBMAP whose embedding feeds a later step needs the option ``"embedding": True``.

    Examples
    --------
    >>> import numpy as np, skl2onnx
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.onnx import register
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> register()
    >>> X, y = make_friedman1(random_state=0)
    >>> model = make_pipeline(GBMAPRegressor(5, random_state=0), KNeighborsRegressor(metric="manhattan"))
    >>> options = {GBMAPRegressor: {"embedding": True}}
    >>> onnx_model = skl2onnx.to_onnx(model.fit(X, y), X.astype(np.float32), options=options)
    """
    skl2onnx = require("skl2onnx", "onnx")
    of_any = {"embedding": [False, True]}
    of_classifiers: dict[str, list[Any]] = {
        "zipmap": [True, False, "columns"],
        "output_class_labels": [False, True],
        "raw_scores": [False, True],
        "nocl": [False],
    }
    for kind, options in ((GBMAPRegressor, of_any), (GBMAPClassifier, of_any | of_classifiers)):
        skl2onnx.update_registered_converter(
            kind, kind.__name__, _shape_of_model, _convert_model, parser=_parse, options=options
        )


def _types() -> Any:
    return require("skl2onnx.common.data_types", "onnx")


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Tell which outputs a model has."""
    if not scope.get_options(model, {"embedding": False})["embedding"]:
        name = "_parse_sklearn_classifier" if is_classifier(model) else "_parse_sklearn_simple_model"
        parse = getattr(require("skl2onnx._parse", "onnx"), name)
        return parse(scope, model, inputs, custom_parsers=custom_parsers)
    operator = scope.declare_local_operator(type(model).__name__, model)
    operator.inputs = inputs
    kind = _types().guess_tensor_type(inputs[0].type)
    operator.outputs.append(scope.declare_local_variable(_EMBEDDING, kind))
    return operator.outputs


def _shape_of_model(operator: Any) -> None:
    """Tell the types and shapes of a model's outputs."""
    types, model, outputs = _types(), operator.raw_operator, operator.outputs
    number = types.DoubleTensorType if _kind_of(operator) == np.float64 else types.FloatTensorType
    if _gives_embedding(operator):
        outputs[0].type = number([None, len(model.ensemble_)])
    elif is_classifier(model):
        is_text = labels_of(model).dtype == object
        outputs[0].type = (types.StringTensorType if is_text else types.Int64TensorType)([None])
        outputs[1].type = number([None, len(model.classes_)])
    else:
        outputs[0].type = number([None, model.ensemble_.n_outputs])


def _convert_model(scope: Any, operator: Any, container: Any) -> None:
    """Give the nodes of a model."""
    model = operator.raw_operator
    wanted, kind = _wanted_outputs(operator, container), _kind_of(operator)
    refuse_lost_range(model, kind)
    if wanted != ["embedding"]:
        refuse_init(model)
        _refuse_later_step(scope, operator)
    graph = Graph(kind, scope.get_unique_variable_name)
    fitted = FittedModel.of(model)
    formulas = Formulas(graph, fitted, _given_columns(graph, fitted, operator))
    for output, variable in zip(wanted, operator.outputs):
        tensor = getattr(formulas, output)
        if output == "label" and labels_of(model).dtype != object:
            tensor = graph.cast(tensor, np.int64)
        graph.add("Identity", tensor, output=variable.full_name)
    _hand_over(graph, container)


def _gives_embedding(operator: Any) -> bool:
    return bool(operator.outputs[0].raw_name == _EMBEDDING)


def _wanted_outputs(operator: Any, container: Any) -> list[str]:
    model = operator.raw_operator
    if _gives_embedding(operator):
        return ["embedding"]
    if not is_classifier(model):
        return ["scores"]
    if container.get_options(model, {"raw_scores": False})["raw_scores"]:
        return ["label", "class_scores"]
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"skl2onnx wants probabilities of a classifier, which loss={model.loss!r} does not give; pass "
            f'options={{{type(model).__name__}: {{"raw_scores": True}}}}, or use gbmap.onnx.to_onnx.'
        )
    return ["label", "probability"]


def refuse_init(model: Any) -> None:
    """Refuse a model of which f_0 would be missing."""
    if model.init_ is not None:
        raise ValueError(
            f"the model must have no init model to be converted, got {type(model.init_).__name__}; convert "
            'what the GBMAP adds by to_onnx(model, outputs=["embedding"]), of which it is the sum, '
            "and model.init_ by skl2onnx, and add the two."
        )


def _refuse_later_step(scope: Any, operator: Any) -> None:
    """Refuse to hand a prediction to a later step, which was fitted on the embedding."""
    made = {id(variable) for variable in operator.outputs}
    name = type(operator.raw_operator).__name__
    for later in scope.operators.values():
        if hasattr(later.raw_operator, "n_features_in_") and made & {id(each) for each in later.inputs}:
            raise ValueError(
                f"{name} comes before {type(later.raw_operator).__name__}, which wants its embedding; pass "
                f'options={{{name}: {{"embedding": True}}}} to skl2onnx.'
            )


def _kind_of(operator: Any) -> np.dtype[Any]:
    is_double = any(isinstance(each.type, _types().DoubleTensorType) for each in operator.inputs)
    return np.dtype(np.float64 if is_double else np.float32)


def _joined_inputs(graph: Graph, operator: Any) -> str:
    """Return the inputs of an operator side by side, in the graph's type."""
    parts = [graph.cast(variable.full_name, graph.kind) for variable in operator.inputs]
    return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)


def _given_columns(graph: Graph, fitted: FittedModel, operator: Any) -> str:
    """Return what a model is given, of shape (n, p), in the graph's type: text as codes."""
    if not text_columns(fitted):
        return _joined_inputs(graph, operator)
    tensors = []
    for variable in operator.inputs:
        is_text = isinstance(variable.type, _types().StringTensorType)
        name = variable.full_name if is_text else graph.cast(variable.full_name, graph.kind)
        tensors.append((name, variable.type.shape[1] or fitted.inputs.n_columns, is_text))
    return joined_columns(graph, fitted, tensors)


def _hand_over(graph: Graph, container: Any) -> None:
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        attributes = {part.name: onnx.helper.get_attribute_value(part) for part in node.attribute}
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_domain=node.domain,
            op_version=ML_OPSET if node.domain else None,  # skl2onnx would take its newest
            name=node.name,
            **attributes,
        )


def shape_of_imputer(operator: Any) -> None:
    """Tell how wide the output of a SimpleImputer is, which may drop columns and add marks."""
    imputer = operator.raw_operator
    n_marks = len(imputer.indicator_.features_) if imputer.add_indicator else 0
    operator.outputs[0].type = type(operator.inputs[0].type)([None, len(_kept_by(imputer)) + n_marks])


def convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """Give the nodes of a SimpleImputer.

    skl2onnx's own, which text is left to, has no marks of missing values, and no float64 in onnxruntime.
    """
    imputer = operator.raw_operator
    if isinstance(operator.inputs[0].type, _types().StringTensorType):
        registered = require("skl2onnx.common._registration", "onnx")
        registered.get_converter("SklearnSimpleImputer")(scope, operator, container)
        return
    graph = Graph(_kind_of(operator), scope.get_unique_variable_name)
    rows = _joined_inputs(graph, operator)
    mark = imputer.missing_values
    is_nan = is_missing(mark)
    missing = graph.add("IsNaN", rows) if is_nan else graph.add("Equal", rows, graph.constant(mark))
    fill = np.nan_to_num(imputer.statistics_.astype(np.float64))
    filled = graph.add("Where", missing, graph.constant(fill), rows)
    parts = [graph.add("Gather", filled, graph.tensor(_kept_by(imputer)), axis=1)]
    if imputer.add_indicator and len(imputer.indicator_.features_):  # not all evaluators can select none
        marks = graph.add("Gather", missing, graph.tensor(imputer.indicator_.features_), axis=1)
        parts.append(graph.cast(marks, graph.kind))
    graph.add("Concat", *parts, axis=1, output=operator.outputs[0].full_name)
    _hand_over(graph, container)


def _kept_by(imputer: SimpleImputer) -> Array:
    """Return the columns that an imputer keeps: those that have a value to fill in."""
    return np.flatnonzero([not is_missing(value) for value in imputer.statistics_])
