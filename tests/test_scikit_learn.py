"""The estimators keep scikit-learn's promises."""

import re

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from gbmap import GBMAPClassifier, GBMAPClassifierCV, GBMAPRegressor, GBMAPRegressorCV

ESTIMATORS = [
    GBMAPRegressor(2),
    GBMAPClassifier(2),
    GBMAPRegressorCV(1, betas=[5.0], l2_regularizations=[1e-3], cv=2),
    GBMAPClassifierCV(1, betas=[5.0], l2_regularizations=[1e-3], cv=2),
]
VARIANTS = [
    GBMAPRegressor(1, loss="huber"),
    GBMAPRegressor(1, loss="quantile"),
    GBMAPRegressor(1, activation="identity"),
    GBMAPRegressor(1, standardize=False),
    GBMAPClassifier(1, loss="exponential"),
    GBMAPClassifier(1, loss="hinge"),
    GBMAPClassifier(1, standardize=False),
]
# They fit a model for every format of sparse rows, which are read before any setting counts.
OF_FORMATS = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}
OF_WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}


def checks_of(estimators, are_quick):
    """Return the checks of estimators, of which those that are not quick are for the night."""
    return [
        pytest.param(
            estimator,
            check,
            marks=[] if are_quick(check.func.__name__) else [pytest.mark.nightly],
            id=re.sub(r"\s", "", f"{estimator}-{check.func.__name__}"),
        )
        for each in estimators
        for estimator, check in estimator_checks_generator(each)
    ]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("estimator", "check"), checks_of(VARIANTS, lambda name: name not in OF_FORMATS))
def test_estimator_check_of_other_settings(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "check"), checks_of([GBMAPRegressor(), GBMAPClassifier()], OF_WEIGHTS.__contains__)
)
def test_estimator_check_of_the_default_settings(estimator, check):
    check(estimator)
