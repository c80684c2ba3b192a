"""From a fitted model to an ONNX graph."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import is_classifier

import gbmap
from gbmap._fitted.model import FittedModel
from gbmap._fitted.table_reader import without_tables
from gbmap._utils.optional import require
from gbmap._utils.scikit_learn import safe_indexing
from gbmap.onnx._columns import ML_OPSET, column_name, joined_columns, missing_text, text_columns
from gbmap.onnx._digits import refuse_lost_range
from gbmap.onnx._formulas import Formulas, output_type
from gbmap.onnx._graph import Graph, namer, rows_of, tensor_type
from gbmap.onnx._inputs import MISSING_TEXT, column_names, input_types, table, tensor_names
from gbmap.onnx._preprocessing import compare, convert_preprocessing
from gbmap.onnx._skl2onnx import refuse_init

onnx = require("onnx", "onnx")

# Squeeze, Softmax and Gemm mean what they do here from this operator set on.
_OLDEST_OPSET = 13
_COMPARED_ROWS = 100


def to_onnx(
    model: Any,
    X: Any = None,
    *,
    outputs: Iterable[str] | None = None,
    dtype: DTypeLike = np.float32,
    name: str = "gbmap",
    opset: int = 17,
    initial_types: list[tuple[str, Any]] | None = None,
) -> Any:
    """Return a fitted model as an ONNX graph of standard operators.

    Parameters
    ----------
    model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
        Fitted. Preprocessing is converted by skl2onnx.
    X : frame or array of shape (n, p), default=None
        For pipelines: rows such as the graph will be given. They tell the names and types of the
        columns, and the converted preprocessing must agree with the pipeline on the first hundred of
        them.
    outputs : sequence of str, default=None
        What the graph returns, in this order:

        - "prediction", of a regressor: (n,), or (n, K) for K targets;
        - "label", of a classifier: (n,), of int64, text, booleans or float64;
        - "probability", of a classifier whose loss gives them: (n, n_classes);
        - "score", of a classifier: its decision function, (n,) for two classes, else (n, n_classes);
        - "embedding": as `transform` gives it;
        - "coefficients": those of `gbmap.inspection.explain`, (n, p) or (n, p, K);
        - "spread": how far f would move with other weights that suit the data as well, the indicator of
          `gbmap.DriftDetector` with ``measure="spread"``; shaped as the prediction, (n,) or (n, K);
        - "std", of a regressor: the spread of a new y, as ``predict(X, return_std=True)`` tells it.

        None stands for the prediction, or the label and probability (else the score), and the
        embedding.
    dtype : {float32, float64}, default=float32
        The type of numbers throughout: inputs, constants and outputs.
    name : str, default="gbmap"
        The name of the graph.
    opset : int, default=17
        The version of ONNX's operator set, at least 13.
    initial_types : list of (str, skl2onnx type), default=None
        The inputs of a pipeline's graph, instead of X; nothing is compared then.

    Returns
    -------
    onnx_model : onnx.ModelProto
        With one input "X" of shape (n, p), or, if a pipeline tells the columns of a frame apart or the
        GBMAP was fitted to text, one of shape (n, 1) for each column, in the frame's order. n is free. The
        metadata hold the names of the columns and of the coordinates, the classes, the text that stands for
        a missing one, and the version of gbmap.

    See Also
    --------
    as_inputs : Rows in the form that the graph takes.
    register : Let skl2onnx convert larger models that hold a GBMAP.

    Notes
    -----
    Missing values count as for the estimator: NaN in numbers; in text "", or what ``str`` makes of None and
    NaN, unless that is a category. An unknown category is none of those of the fit. The graph does not check
    its input as the estimator does. In float64 it agrees with the estimator to rounding; in float32 to about
    1e-6 of the spread of y, unless y or a column has a mean far larger than its spread.

    Examples
    --------
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.onnx import to_onnx
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(random_state=0)
    >>> onnx_model = to_onnx(GBMAPRegressor(n_components=3, random_state=0).fit(X, y))
    >>> [output.name for output in onnx_model.graph.output]
    ['prediction', 'embedding']
    """
    fitted, kind = FittedModel.of(without_tables(model)), _float_type(dtype)
    chosen = _chosen_outputs(outputs, fitted.model)
    _refuse_opset(opset)
    refuse_lost_range(fitted.model, kind)
    if fitted.preprocessing is None:
        columns = list(fitted.feature_names)
        whole = _passing_on(fitted, columns, kind, name, opset)
    else:
        _refuse_text(fitted)
        columns, types = _told_columns(fitted, X, initial_types, kind)
        whole = convert_preprocessing(fitted, types, name, opset)
        if X is not None and initial_types is None:
            compare(whole, fitted, _first_rows(X))
    _append(whole.graph, fitted, chosen, kind)
    _describe(whole, fitted, chosen, columns)
    onnx.checker.check_model(whole, full_check=True)
    return whole


def _float_type(dtype: DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {kind}.")
    return kind


def _refuse_opset(opset: int) -> None:
    newest = onnx.defs.onnx_opset_version()
    if not _OLDEST_OPSET <= opset <= newest:
        raise ValueError(
            f"opset must be from {_OLDEST_OPSET} to {newest}, the newest of the installed onnx, got {opset}."
        )


def _chosen_outputs(outputs: Iterable[str] | None, model: Any) -> list[str]:
    main, further = ["prediction"], ["embedding", "coefficients", "spread"]
    if is_classifier(model):
        main = ["label", *(["probability"] if hasattr(model, "predict_proba") else []), "score"]
    else:
        further.append("std")
    possible = [*main, *further]
    if outputs is None:
        chosen = [*main[:2], "embedding"]
    else:
        chosen = [outputs] if isinstance(outputs, str) else list(outputs)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(possible):
        raise ValueError(
            f"outputs must be some of {possible} for this {type(model).__name__} with loss={model.loss!r}, "
            f"each at most once, got {chosen}."
        )
    if set(chosen) & set(main):
        refuse_init(model)
    return chosen


def _passing_on(fitted: FittedModel, columns: list[Any], kind: np.dtype[Any], name: str, opset: int) -> Any:
    """Return a model that gives its inputs: one, or one for each column if any is text."""
    opsets, of_text = [onnx.helper.make_opsetid("", opset)], text_columns(fitted)
    rows = [rows_of("X", kind, [len(columns)])]
    if of_text:
        opsets.append(onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET))
        kinds = [np.dtype(object) if k in of_text else kind for k in range(len(columns))]
        rows = [rows_of(each, own, [1]) for each, own in zip(tensor_names(columns), kinds)]
    return onnx.helper.make_model(
        onnx.helper.make_graph([], name, rows, rows),
        opset_imports=opsets,
        ir_version=onnx.helper.find_min_ir_version_for(opsets),
    )


def _told_columns(
    fitted: FittedModel, X: Any, initial_types: list[tuple[str, Any]] | None, kind: np.dtype[Any]
) -> tuple[list[Any], list[tuple[str, Any]]]:
    """Return the names of a pipeline's columns, and the inputs of its graph."""
    if initial_types is not None:
        return [name for name, _ in initial_types], initial_types
    if X is None:
        raise ValueError(
            "X or initial_types must be given to convert a pipeline; X may be some rows of the training "
            "data, which tell the names and types of the columns."
        )
    rows = _first_rows(X)
    return column_names(rows), input_types(fitted, rows, kind)


def _first_rows(X: Any) -> Any:
    X = table(X)
    return safe_indexing(X, list(range(min(X.shape[0], _COMPARED_ROWS))))


def _refuse_text(fitted: FittedModel) -> None:
    """Refuse text that comes from other steps, whose outputs are one tensor of numbers."""
    for k in text_columns(fitted):
        raise ValueError(
            f"column {column_name(fitted, k)!r} must be numbers where preprocessing hands it to the GBMAP, "
            "got text; encode it there, such as by OneHotEncoder, or fit the GBMAP to the frame itself."
        )


def _append(graph: Any, fitted: FittedModel, outputs: list[str], kind: np.dtype[Any]) -> None:
    """Put the model behind the outputs of a graph, which are what the GBMAP is given."""
    build = Graph(kind, namer(graph))
    given, width = [], 1 if len(graph.output) > 1 else fitted.inputs.n_columns
    for last in graph.output:
        found = last.type.tensor_type.elem_type
        is_kept = found in (tensor_type(kind), onnx.TensorProto.STRING)
        name = last.name if is_kept else build.cast(last.name, kind)
        given.append((name, width, found == onnx.TensorProto.STRING))
    formulas = Formulas(build, fitted, joined_columns(build, fitted, given))
    del graph.output[:]
    for output in outputs:
        name = build.add("Identity", getattr(formulas, output), output=build.unique(output))
        graph.output.append(rows_of(name, *output_type(fitted, output, kind)))
    graph.node.extend(build.nodes)
    graph.initializer.extend(build.constants)


def _describe(whole: Any, fitted: FittedModel, outputs: list[str], columns: list[Any]) -> None:
    model: Any = fitted.model
    whole.producer_name, whole.producer_version = "gbmap", gbmap.__version__
    whole.doc_string = (
        f"{type(model).__name__} of {len(model.ensemble_)} learners over {len(columns)} columns, "
        f"giving {', '.join(outputs)}."
    )
    facts = {
        "gbmap_version": gbmap.__version__,
        "feature_names": json.dumps([str(name) for name in columns]),
        "coordinate_names": json.dumps(model.get_feature_names_out().tolist()),
    }
    if text_columns(fitted):
        facts[MISSING_TEXT] = missing_text(fitted)
    if is_classifier(model):
        facts["classes"] = json.dumps(model.classes_.tolist(), default=str)
    onnx.helper.set_model_props(whole, facts)
