"""What people try who come from other libraries works, or is answered by what to write."""

import copy
import inspect
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import gbmap
from gbmap import GBMAPClassifier, GBMAPClassifierCV, GBMAPRegressor, GBMAPRegressorCV, TableModel

X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
Y = X["a"].abs()


@pytest.fixture(scope="module")
def model():
    return GBMAPRegressor(2, l2_regularization=0.1, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: GBMAPRegressor(n_estimators=100), "takes no 'n_estimators': write n_components"),
        (lambda: GBMAPClassifier(learning_rate=0.1), "takes no 'learning_rate': there is none"),
        (lambda: GBMAPRegressor(2).fit(X, Y, eval_set=[(X, Y)]), "takes no 'eval_set': write X_val="),
        (lambda: GBMAPRegressor(2).fit(X, Y, early_stopping_rounds=5), "set early_stopping=True"),
        (lambda: GBMAPRegressorCV(refine=True), r"write estimator=GBMAPRegressor\(refine=...\)"),
        (lambda: GBMAPClassifierCV(beta=5.0), r"takes no 'beta': write betas=\[...\]"),
        (lambda: GBMAPRegressorCV(refine=True), r"^GBMAPRegressorCV.__init__\(\) takes no 'refine': write "),
        (lambda: gbmap.report(GBMAPRegressor(2).fit(X, Y)), r"make_report\(model, X, y\)"),
        (lambda: gbmap.report(X, GBMAPRegressor(2).fit(X, Y)), r"takes a fitted model and new rows"),
    ],
)
def test_a_keyword_of_others_is_answered(call, answer):
    with pytest.raises(TypeError, match=answer):
        call()


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("save", r"write gbmap\.save\(model, path\)"),
        ("plot", r"write gbmap\.plots\.EmbeddingDisplay\.from_estimator"),
        ("coef_", r"write gbmap\.inspection\.explain\(model, X\)\.coefficients"),
        ("embedding_", r"write model\.transform\(X\)"),
        ("shap_values", r"write gbmap\.inspection\.attributions"),
    ],
)
def test_an_attribute_of_others_is_answered(model, name, answer):
    assert not hasattr(model, name)
    with pytest.raises(
        AttributeError, match=f"'GBMAPRegressor' object has no attribute '{name}': .*{answer}"
    ):
        getattr(model, name)
    with pytest.raises(AttributeError, match=f"'GBMAPClassifierCV' object .*{answer}"):
        getattr(GBMAPClassifierCV(), name)


def test_tables_and_the_package_answer_too():
    with pytest.raises(
        AttributeError, match=r"'TableModel' object has no attribute 'save': write gbmap\.save"
    ):
        TableModel("y").save("model.gbmap")
    for name, answer in {
        "explain": "it is gbmap.inspection.explain",
        "EmbeddingDisplay": "it is gbmap.plots.EmbeddingDisplay",
        "make_report": "it is gbmap.report.make_report",
        "GBMAP": "write GBMAPRegressor or GBMAPClassifier",
    }.items():
        with pytest.raises(AttributeError, match=answer):
            getattr(gbmap, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        gbmap.nonsense  # noqa: B018
    assert gbmap.plots.EmbeddingDisplay
    assert gbmap.inspection.explain


def test_the_package_answers_where_an_extra_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "gbmap.onnx", None)
    assert not hasattr(gbmap, "fit")
    with pytest.raises(AttributeError, match="write GBMAPRegressor or GBMAPClassifier"):
        gbmap.GBMAP()


def test_the_answers_change_nothing_else(model):
    assert next(iter(inspect.signature(GBMAPRegressor).parameters)) == "n_components"
    assert "X_val" in inspect.signature(GBMAPRegressor.fit).parameters
    for made in (clone(model).fit(X, Y), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(made.predict(X), model.predict(X))
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        GBMAPRegressor(nonsense=1)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        model.nonsense  # noqa: B018
    hinge = GBMAPClassifier(2, loss="hinge", l2_regularization=0.1).fit(X, Y > 1)
    with pytest.raises(AttributeError, match="predict_proba"):  # its own words
        hinge.predict_proba(X)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[["b", "a"]])
