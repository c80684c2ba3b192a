"""The steps before a GBMAP, converted by skl2onnx and compared with what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from gbmap._fitted.model import FittedModel, dense
from gbmap._utils.optional import require
from gbmap.estimators import GBMAPClassifier, GBMAPRegressor
from gbmap.onnx._inputs import as_inputs
from gbmap.onnx._skl2onnx import convert_imputer, register, shape_of_imputer

onnx = require("onnx", "onnx")

# Standard deviations of what the GBMAP is given, in training.
_TOLERANCE = 0.01


def convert_preprocessing(fitted: FittedModel, types: list[tuple[str, Any]], name: str, opset: int) -> Any:
    """Return an onnx.ModelProto that gives what the GBMAP is given."""
    skl2onnx = require("skl2onnx", "onnx")
    register()
    whole = skl2onnx.convert_sklearn(
        fitted.preprocessing,
        name=name,
        initial_types=types,
        target_opset=opset,
        options={kind: {"embedding": True} for kind in (GBMAPRegressor, GBMAPClassifier)},
        custom_conversion_functions={SimpleImputer: convert_imputer},
        custom_shape_calculators={SimpleImputer: shape_of_imputer},
    )
    _set_opset(whole, opset)
    widths = [output.type.tensor_type.shape.dim[1].dim_value for output in whole.graph.output]
    if widths not in ([0], [fitted.model.n_features_in_]):  # 0 if skl2onnx does not know
        raise ValueError(
            f"skl2onnx converts the preprocessing to {sum(widths)} columns, but the GBMAP was fitted on "
            f"{fitted.model.n_features_in_}; convert pipeline[-1] alone, and preprocess elsewhere."
        )
    _refuse_invalid(whole)
    return whole


def _set_opset(whole: Any, opset: int) -> None:
    """Set the version that was asked for; skl2onnx names the lowest in which its nodes mean what they do."""
    others = [each for each in whole.opset_import if each.domain]
    opsets = [onnx.helper.make_opsetid("", opset), *others]
    del whole.opset_import[:]
    whole.opset_import.extend(opsets)
    whole.ir_version = max(whole.ir_version, onnx.helper.find_min_ir_version_for(opsets))


def _refuse_invalid(whole: Any) -> None:
    try:
        onnx.checker.check_model(whole, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ValueError(
            "skl2onnx converts the preprocessing to a graph that is not valid; use another dtype, or convert "
            "pipeline[-1] alone, and preprocess elsewhere."
        ) from error


def compare(whole: Any, fitted: FittedModel, rows: Any) -> None:
    """Refuse preprocessing that gives other numbers in ONNX than in the pipeline."""
    evaluator = require("onnx.reference", "onnx").ReferenceEvaluator(whole)
    converted = evaluator.run(None, as_inputs(whole, rows))[0]
    given = dense(fitted.read_given(rows))
    gap = np.abs(converted - given) / fitted.model.scale_
    gap[np.isnan(converted) & np.isnan(given)] = 0.0
    if not (gap <= _TOLERANCE).all():
        raise ValueError(
            f"skl2onnx converts the preprocessing to one that differs by up to {gap.max():.2g} standard "
            "deviations of a column on the rows of X; use dtype=float64, or convert pipeline[-1] alone, and "
            "preprocess elsewhere."
        )
