"""What was fitted: the rows, the columns, the task, the parameters and the versions."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn

import gbmap
from gbmap._utils.text import shortened
from gbmap.report._material import Material

_LONGEST_PARAMETER = 200


@dataclass(frozen=True)
class Fitted:
    """The model and its data."""

    estimator: str  # the class of the GBMAP
    preprocessing: list[str]  # the steps before it
    task: str  # "regression" or "classification"
    target: str
    classes: list[str] | None  # None for regression
    # As given, now or to the fit of a stored model. None if the model does not know, or for no new rows.
    n_training_rows: int | None
    n_held_out_rows: int | None
    n_new_rows: int | None
    # The user's columns, and what the preprocessing makes of them.
    n_columns: int
    n_inputs: int
    n_components: int  # learners (per output)
    loss: str
    ridges: list[float]  # of the last learner of each output
    is_ridge_found: bool  # by the fit, rather than given
    has_initial_model: bool  # whether boosting started from a model f_0
    parameters: dict[str, str]
    versions: dict[str, str]


def describe_fit(material: Material, n_training_rows: int | None, n_held_out_rows: int | None) -> Fitted:
    """Return what was fitted, to how many rows."""
    fitted = material.fitted
    model: Any = fitted.model
    steps = [] if fitted.preprocessing is None else [step for _, step in fitted.preprocessing.steps]
    return Fitted(
        estimator=type(model).__name__,
        preprocessing=[step if isinstance(step, str) else type(step).__name__ for step in steps],
        task="classification" if material.is_classifier else "regression",
        target=material.target_name,
        classes=material.classes if material.is_classifier else None,
        n_training_rows=n_training_rows,
        n_held_out_rows=n_held_out_rows,
        n_new_rows=None if material.new is None else material.new.n_given,
        n_columns=len(fitted.feature_names),
        n_inputs=int(model.n_features_in_),
        n_components=int(model.n_components_),
        loss=model.loss if isinstance(model.loss, str) else type(model.loss).__name__,
        ridges=np.atleast_1d(model.l2_regularization_).tolist(),
        is_ridge_found=model.l2_regularization == "auto",
        has_initial_model=model.init_ is not None,
        parameters={name: _shown(value) for name, value in model.get_params(deep=False).items()},
        versions={
            "gbmap": gbmap.__version__,
            "scikit-learn": sklearn.__version__,
            "NumPy": np.__version__,
            "SciPy": scipy.__version__,
            "Python": platform.python_version(),
        },
    )


def _shown(value: Any) -> str:
    return shortened(" ".join(repr(value).split()), _LONGEST_PARAMETER)
