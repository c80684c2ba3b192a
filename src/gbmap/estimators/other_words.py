"""What people try who know XGBoost, scikit-learn, UMAP or SHAP, answered with what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

_HOLD_OUT = "set early_stopping=True and n_iter_no_change when you make the model"
_ATTRIBUTIONS = "write gbmap.inspection.attributions(model, X, X_train)"

PARAMETERS = {
    "C": "write l2_regularization, which is larger for more of it",
    "alpha": "write l2_regularization",
    "early_stopping_rounds": "write early_stopping=True, n_iter_no_change=...",
    "eta": "there is no learning rate, since each learner is fitted in full",
    "learning_rate": "there is none, since each learner is fitted in full",
    "max_depth": "there are no trees; n_components says how many learners there are",
    "n_estimators": "write n_components",
    "n_neighbors": "DriftDetector has neighbours; the map has none",
    "num_boost_round": "write n_components",
    "objective": "write loss",
    "reg_lambda": "write l2_regularization",
    "seed": "write random_state",
}

FIT = {
    "cat_features": "text and categories are found; name others in categorical_features of the model",
    "categorical_feature": "name them in categorical_features when you make the model",
    "early_stopping_rounds": _HOLD_OUT,
    "eval_set": "write X_val=..., y_val=... for a model with early_stopping=True",
    "validation_data": "write X_val=..., y_val=... for a model with early_stopping=True",
    "weights": "write sample_weight",
}

ATTRIBUTES = {
    "best_iteration": "write n_components_",
    "coef_": "each row has its own; write gbmap.inspection.explain(model, X).coefficients",
    "embedding_": "the map is not kept; write model.transform(X)",
    "evals_result": "write loss_curve_ or validation_loss_curve_",
    "explain": "write gbmap.inspection.explain(model, X)",
    "inverse_transform": "the map cannot be inverted",
    "load": "write gbmap.load(path)",
    "load_model": "write gbmap.load(path)",
    "plot": "write gbmap.plots.EmbeddingDisplay.from_estimator(model, X, y)",
    "predict_std": "write model.predict(X, return_std=True)",
    "report": "write gbmap.report(model, X)",
    "save": "write gbmap.save(model, path)",
    "save_model": "write gbmap.save(model, path)",
    "shap_values": _ATTRIBUTIONS,
}

P = ParamSpec("P")
R = TypeVar("R")


def answering(words: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function answer keywords that it does not have by a sentence on what to write.

    Parameters
    ----------
    words : dict of str to str
        The sentences, by keyword.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function).parameters

        @wraps(function)
        def asked(*args: P.args, **keywords: P.kwargs) -> R:
            for name in keywords:
                if name in words and name not in own:
                    called = function.__qualname__
                    if "." in called:  # by the class that was asked, which may have inherited it
                        called = f"{type(args[0]).__name__}.{function.__name__}"
                    raise TypeError(f"{called}() takes no {name!r}: {words[name]}.")
            return function(*args, **keywords)

        return asked

    return decorate


class AnsweringAttributes:
    """An object that answers attributes which it does not have by a sentence on what to write."""

    _other_words: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # or any attribute at all would pass for one of its own

        def __getattr__(self, name: str) -> Any:
            if name in self._other_words:
                own = type(self).__name__
                raise AttributeError(
                    f"{own!r} object has no attribute {name!r}: {self._other_words[name]}.",
                    name=name,
                    obj=self,
                )
            return object.__getattribute__(self, name)  # which raises its own error again
